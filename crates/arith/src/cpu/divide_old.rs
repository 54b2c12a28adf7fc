//! The end of a division on the CPU: a few rows at a time, from the remainder's conversion to the quotient, while they are near.

use super::CpuEngine;
use crate::buffer::Buffer;
use crate::conversion::BaseConversion;
use crate::engine::{Dividend, Engine};

/// Rows that share one reading of the divisors' rows.
const ROWS: usize = 4;

/// Words of a block of the conversion.
const BLOCK: usize = 4096;

pub(super) fn divide(
    engine: &CpuEngine,
    conversion: &BaseConversion,
    x: &Buffer,
    coeff: Option<Dividend<'_>>,
    eval: Option<Dividend<'_>>,
    constants: &[u64],
    transform: bool,
) -> Buffer {
    let targets = conversion.targets.len();
    assert!(constants.len() == targets && x.rows() >= conversion.sources.len(), "one constant per target, one row per source");
    assert!(coeff.iter().chain(&eval).all(|part| part.rows.len() == targets), "one row of each part per target");
    assert!(transform || eval.is_none(), "parts in Eval form meet results in Eval form");
    let prepared = engine.prepare(conversion, x, 0);
    let degree = engine.degree;
    let mut out = engine.scratch(targets);
    let mut groups: Vec<&mut [u64]> = out.host_mut().chunks_mut(ROWS * degree).collect();
    engine.each(&mut groups, |group, rows| {
        let first = group * ROWS;
        for start in (0..degree).step_by(BLOCK) {
            let span = start..(start + BLOCK).min(degree);
            let columns: Vec<&[u64]> = (0..prepared.rows()).map(|column| &prepared.row(column)[span.clone()]).collect();
            for (target, row) in (first..).zip(rows.chunks_exact_mut(degree)) {
                let kernel = engine.tables[conversion.targets[target]].kernel();
                kernel.combine(&mut row[span.clone()], &columns, &conversion.weights[target], conversion.y_bits);
            }
        }
        for (target, row) in (first..).zip(rows.chunks_exact_mut(degree)) {
            let (index, kernel) = (conversion.targets[target], engine.tables[conversion.targets[target]].kernel());
            let w = engine.moduli[index].multiplier(constants[target]);
            if let Some(part) = coeff {
                kernel.sub_mul_constant_assign(row, part.residues.row(part.rows[target]), w);
            }
            if transform {
                kernel.forward(row);
            }
            match (coeff, eval) {
                (None, Some(part)) => kernel.sub_mul_constant_assign(row, part.residues.row(part.rows[target]), w),
                // The remainder has met its constant.
                (Some(_), Some(part)) => {
                    let negative = engine.moduli[index].multiplier(engine.moduli[index].neg(constants[target]));
                    kernel.add_mul_constant_assign(row, part.residues.row(part.rows[target]), negative);
                }
                (None, None) => kernel.mul_constant_assign(row, w),
                (Some(_), None) => {}
            }
        }
    });
    out
}
