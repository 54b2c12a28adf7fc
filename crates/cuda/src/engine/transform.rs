//! Transforms: one launch for rows that fit the memory that a block shares, two launches for longer ones.

use crate::device::Launch;

use super::base::DeviceEngine;
use super::tiling::Tiling;

/// Most units of a block of the passes; `ROW_UNITS` and `COLUMN_UNITS` of `kernels/transform.cuh`.
const ROW_UNITS: u32 = 512;
const COLUMN_UNITS: u32 = 256;

/// Values that a unit transforms at a time: fewer units than that leave some idle.
const VALUES: u32 = 8;

/// A row of a transform: the addresses of result and input, which may be equal, and the modulus.
pub(super) type TransformRow = [u64; 3];

/// A row of a transform of what a base conversion gives: the addresses of the result, the columns and the tables, the target, the address of a row that is subtracted
/// or 0, and the modulus.
pub(super) type ConvertedRow = [u64; 6];

impl DeviceEngine {
    fn pass<const N: usize>(&self, kernel: &'static str, rows: &[[u64; N]], (tiles, tile_words): (u32, u32), most_units: u32) {
        if rows.is_empty() {
            return;
        }
        let Tiling { log_height, log_lanes } = self.tiling;
        let head = [u64::from(self.log_degree()), u64::from(log_height), u64::from(log_lanes), self.tables.address()];
        let args = head.into_iter().chain(rows.iter().flatten().copied()).collect();
        let units = (tile_words / VALUES).clamp(1, self.device.limits().units.min(most_units));
        self.launch(Launch { kernel, grid: (tiles, rows.len() as u32), first_row: 0, units, shared_words: tile_words, args });
    }

    /// Tiles of a row in the pass over rows, and their words.
    fn tiles_of_rows(&self) -> (u32, u32) {
        let log_height = self.tiling.log_height;
        (1 << log_height, 1 << (self.log_degree() - log_height))
    }

    /// The same in the pass over columns.
    fn tiles_of_columns(&self) -> (u32, u32) {
        let Tiling { log_height, log_lanes } = self.tiling;
        (1 << (self.log_degree() - log_height - log_lanes), 1 << (log_height + log_lanes))
    }

    fn last_forward_pass(&self, rows: &[TransformRow]) {
        self.pass("forward_rows", rows, self.tiles_of_rows(), ROW_UNITS);
    }

    /// Forward transforms of rows.
    pub(super) fn forward(&self, rows: &[TransformRow]) {
        if self.tiling.log_height == 0 {
            return self.last_forward_pass(rows);
        }
        self.pass("forward_columns", rows, self.tiles_of_columns(), COLUMN_UNITS);
        self.last_forward_pass(&in_place(rows));
    }

    /// Base conversions and forward transforms of their results.
    pub(super) fn converted_forward(&self, rows: &[ConvertedRow]) {
        if self.tiling.log_height == 0 {
            return self.pass("converted_rows", rows, self.tiles_of_rows(), ROW_UNITS);
        }
        self.pass("converted_columns", rows, self.tiles_of_columns(), COLUMN_UNITS);
        let rows: Vec<TransformRow> = rows.iter().map(|&[out, _, _, _, _, modulus]| [out, out, modulus]).collect();
        self.last_forward_pass(&rows);
    }

    /// Inverse transforms of rows.
    pub(super) fn inverse(&self, rows: &[TransformRow]) {
        self.pass("inverse_rows", rows, self.tiles_of_rows(), ROW_UNITS);
        if self.tiling.log_height > 0 {
            self.pass("inverse_columns", &in_place(rows), self.tiles_of_columns(), COLUMN_UNITS);
        }
    }
}

/// The same rows from their results.
fn in_place(rows: &[TransformRow]) -> Vec<TransformRow> {
    rows.iter().map(|&[out, _, modulus]| [out, out, modulus]).collect()
}
