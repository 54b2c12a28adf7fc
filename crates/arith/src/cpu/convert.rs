//! Base conversions on the CPU, in blocks of coefficients that stay in the first-level cache.

use rayon::prelude::*;

use super::{CpuEngine, Work, distinct_rows};
use crate::aligned::AlignedWords;
use crate::buffer::{Rows, RowsMut};
use crate::conversion::{BaseConversion, Rounding};

/// Coefficients per block of a base conversion: a dozen rows of a block fit the first-level cache.
pub(super) const CONVERSION_BLOCK: usize = 512;

impl CpuEngine {
    /// Computes one block of the columns of a base conversion: the scaled sources `y_i`, then `z` if centred,
    /// `fraction.len()` words each.
    pub(super) fn prepare_block(
        &self,
        conversion: &BaseConversion,
        x: Rows<'_>,
        start: usize,
        columns: &mut [&mut [u64]],
        fraction: &mut [f64],
    ) {
        let sources = conversion.sources.len();
        let centred = conversion.rounding == Rounding::Centred;
        let (scaled, z) = columns.split_at_mut(sources);
        fraction.fill(0.0);
        for (i, row) in scaled.iter_mut().enumerate() {
            let kernel = self.tables[conversion.sources[i]].kernel();
            kernel.quotient(row, &x.row(i)[start..start + row.len()], None, conversion.prepare[i], false);
            if centred {
                kernel.add_fraction(fraction, row, conversion.inverse_moduli[i]);
            }
        }
        if let Some(z) = z.first_mut() {
            self.tables[conversion.sources[0]].kernel().round_fraction(z, fraction);
        }
    }

    /// Base conversion to some of the targets, in blocks that stay in the first-level cache from the scaling
    /// of the sources to the last target.
    fn convert_group(&self, conversion: &BaseConversion, x: Rows<'_>, targets: &mut [(usize, &mut [u64])]) {
        let block = CONVERSION_BLOCK.min(self.degree);
        let mut scaled = AlignedWords::zeroed(conversion.columns() * block);
        let mut fraction = vec![0f64; block];
        for start in (0..self.degree).step_by(block) {
            let mut columns: Vec<&mut [u64]> = scaled.chunks_exact_mut(block).collect();
            self.prepare_block(conversion, x, start, &mut columns, &mut fraction);
            let columns: Vec<&[u64]> = scaled.chunks_exact(block).collect();
            for (target, row) in targets.iter_mut() {
                let kernel = self.tables[conversion.targets[*target]].kernel();
                kernel.combine(
                    &mut row[start..start + block],
                    &columns,
                    &conversion.weights[*target],
                    conversion.y_bits,
                );
            }
        }
        self.count_conversion(conversion, targets.len());
    }

    /// A base conversion of complete rows: target `t` goes to row `out_rows[t]` of `out`.
    pub(super) fn convert_rows(
        &self,
        conversion: &BaseConversion,
        x: Rows<'_>,
        out: RowsMut<'_>,
        out_rows: &[usize],
    ) {
        assert!(x.rows() >= conversion.sources.len(), "one row per source modulus");
        assert_eq!(out_rows.len(), conversion.targets.len(), "one row per target modulus");
        let mut targets = distinct_rows(out.host(), self.degree, out_rows);
        let work = |group: &mut [(usize, &mut [u64])]| self.convert_group(conversion, x, group);
        match self.workers(Work::Transform, targets.len() * self.degree) {
            None => work(&mut targets),
            Some(pool) => {
                let size = targets.len().div_ceil(pool.current_num_threads()).max(1);
                pool.install(|| targets.par_chunks_mut(size).for_each(work));
            }
        }
    }
}
