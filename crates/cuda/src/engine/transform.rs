//! Transforms: one launch for rows that fit the shared memory of a block, two launches for longer rows.

use crate::device::Launch;

use super::base::DeviceEngine;
use super::tiling::Tiling;

/// Largest number of units of a block in each pass; `ROW_UNITS` and `COLUMN_UNITS` of
/// `kernels/transform.cuh`.
const ROW_UNITS: u32 = 512;
const COLUMN_UNITS: u32 = 256;

/// Values that a unit transforms at a time. A block has one unit for each group of them, so that no unit is
/// idle.
const VALUES: u32 = 8;

/// A row of a transform: the addresses of result and input, which may be equal, and the modulus.
pub(super) type TransformRow = [u64; 3];

/// A row of a base conversion and the transform of its result: the addresses of the result, the columns and
/// the tables, the index of the target, the address of a row that is subtracted or 0, and the modulus.
pub(super) type ConvertedRow = [u64; 6];

/// The shape of the tiles of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tiles {
    Rows,
    Columns,
}

impl DeviceEngine {
    fn pass<const N: usize>(&self, kernel: &'static str, rows: &[[u64; N]], tiles: Tiles) {
        if rows.is_empty() {
            return;
        }
        let Tiling { log_height, log_lanes } = self.tiling;
        let head = [
            u64::from(self.log_degree()),
            u64::from(log_height),
            u64::from(log_lanes),
            self.tables.address(),
        ];
        let args = head.into_iter().chain(rows.iter().flatten().copied()).collect();
        let (log_tile, most_units) = match tiles {
            Tiles::Rows => (self.log_degree() - log_height, ROW_UNITS),
            Tiles::Columns => (log_height + log_lanes, COLUMN_UNITS),
        };
        let (units, grid) =
            (self.units_of(log_tile, most_units), (1 << (self.log_degree() - log_tile), rows.len() as u32));
        self.launch(Launch { kernel, grid, first_row: 0, units, shared_words: 1 << log_tile, args });
    }

    fn units_of(&self, log_tile: u32, most_units: u32) -> u32 {
        ((1 << log_tile) / VALUES).clamp(1, self.device.limits().units.min(most_units))
    }

    /// Forward transforms of rows.
    pub(super) fn forward(&self, rows: &[TransformRow]) {
        if self.tiling.log_height == 0 {
            return self.pass("forward_rows", rows, Tiles::Rows);
        }
        self.pass("forward_columns", rows, Tiles::Columns);
        self.pass("forward_rows", &in_place(rows), Tiles::Rows);
    }

    /// Base conversions and forward transforms of their results.
    pub(super) fn converted_forward(&self, rows: &[ConvertedRow]) {
        if self.tiling.log_height == 0 {
            return self.pass("converted_rows", rows, Tiles::Rows);
        }
        self.pass("converted_columns", rows, Tiles::Columns);
        let rows: Vec<TransformRow> =
            rows.iter().map(|&[out, _, _, _, _, modulus]| [out, out, modulus]).collect();
        self.pass("forward_rows", &rows, Tiles::Rows);
    }

    /// Inverse transforms of rows.
    pub(super) fn inverse(&self, rows: &[TransformRow]) {
        self.pass("inverse_rows", rows, Tiles::Rows);
        if self.tiling.log_height > 0 {
            self.pass("inverse_columns", &in_place(rows), Tiles::Columns);
        }
    }
}

/// The same rows, with the results as inputs.
fn in_place(rows: &[TransformRow]) -> Vec<TransformRow> {
    rows.iter().map(|&[out, _, modulus]| [out, out, modulus]).collect()
}
