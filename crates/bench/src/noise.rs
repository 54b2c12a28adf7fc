//! The check of every timed result: its error is measured, and the error of a wrong result is large.

use clathrate_lattice::{Eval, Poly};

use crate::failure::Failure;

/// Maximum bits of the error of a result: far below any scale here, far above any noise.
const MAX_NOISE_BITS: f64 = 30.0;

/// Bits of the largest coefficient of `phase - expected`.
///
/// # Errors
/// [`Failure::noise`] if it is not a small integer that is the same modulo every prime: then the result is
/// wrong.
pub fn noise_bits(phase: Poly<Eval>, expected: &Poly<Eval>) -> Result<f64, Failure> {
    let mut difference = phase;
    difference.sub_assign(expected)?;
    let difference = difference.into_coeff();
    let moduli = difference.ring().moduli();
    let centred = |row: usize, index: usize| {
        let q = moduli[index].value() as i64;
        let words = difference.download_row(row).into_owned();
        words.into_iter().map(move |x| if x as i64 > q / 2 { x as i64 - q } else { x as i64 })
    };
    let indices = difference.basis().indices();
    // A small integer is the same modulo every prime.
    let agree =
        indices.iter().enumerate().all(|(row, &index)| centred(row, index).eq(centred(0, indices[0])));
    let largest = centred(0, indices[0]).map(i64::unsigned_abs).max().unwrap_or(0) as f64;
    let bits = largest.max(1.0).log2();
    if agree && bits <= MAX_NOISE_BITS { Ok(bits) } else { Err(Failure::noise(bits, agree, MAX_NOISE_BITS)) }
}
