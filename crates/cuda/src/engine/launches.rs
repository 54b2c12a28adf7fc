//! Launches of kernels whose units do not share memory.

use crate::device::Launch;
use crate::memory::{DEFAULT_UNITS, or_panic};

use super::base::DeviceEngine;

impl DeviceEngine {
    fn units(&self) -> u32 {
        DEFAULT_UNITS.min(self.device.limits().units)
    }

    /// One unit for each of `words` words.
    pub(super) fn each_word(&self, kernel: &'static str, words: usize, args: Vec<u64>) {
        self.each_word_of(kernel, words, 1, args);
    }

    /// Runs a kernel, in several launches where the grid exceeds the device's limit in y.
    pub(super) fn launch(&self, launch: Launch) {
        launch.pieces(self.device.limits().grid_y).for_each(|piece| or_panic(self.device.launch(&piece)));
    }

    /// One unit for each of `words` words, in each of `rows` rows of the grid.
    pub(super) fn each_word_of(&self, kernel: &'static str, words: usize, rows: usize, args: Vec<u64>) {
        if words == 0 || rows == 0 {
            return;
        }
        let units = self.units();
        let grid = ((words as u64).div_ceil(u64::from(units)) as u32, rows as u32);
        self.launch(Launch { kernel, grid, first_row: 0, units, shared_words: 0, args });
    }

    /// One unit for each word of each row of a list. The arguments are `head`, then the entries of the list.
    pub(super) fn each_listed<const N: usize>(&self, kernel: &'static str, head: &[u64], rows: &[[u64; N]]) {
        let args = head.iter().chain(rows.iter().flatten()).copied().collect();
        self.each_word_of(kernel, self.degree, rows.len(), args);
    }

    /// `log_degree` and the table of moduli: the head of kernels that work on lists of rows.
    pub(super) fn list_head(&self) -> [u64; 2] {
        [u64::from(self.log_degree()), self.tables.address()]
    }

    /// Indices of moduli as words. Checks that they are indices of this engine, because kernels read its
    /// table with them.
    pub(super) fn moduli_words<'m>(&self, moduli: &'m [usize]) -> impl Iterator<Item = u64> + use<'m> {
        assert!(moduli.iter().all(|&modulus| modulus < self.moduli.len()), "moduli of this engine");
        words(moduli)
    }

    /// The index of the modulus, the value and the quotient of a factor.
    pub(super) fn factor(&self, modulus: usize, value: u64) -> [u64; 3] {
        let factor = self.moduli[modulus].multiplier(value);
        [modulus as u64, factor.value, factor.quotient]
    }
}

/// Indices as words.
pub(super) fn words(indices: &[usize]) -> impl Iterator<Item = u64> + '_ {
    indices.iter().map(|&index| index as u64)
}
