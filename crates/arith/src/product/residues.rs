//! Products of two matrices of residues, of which the left one is read by columns.

use super::{LeftMatrix, MAX_WEIGHT, SplitPlan, multiply_metered, same};
use crate::error::ArithError;
use crate::meter::{Meter, ProductCounts};
use crate::modulus::Modulus;

/// Rows of the product that are computed at a time: a bound on the memory of the left factor.
pub const BAND: usize = 1024;

/// Bits of the lower part of a residue of a modulus above 2^53, whose centred residues exceed [`MAX_WEIGHT`].
const LOW_BITS: u32 = 30;

/// Whether centred residues of `modulus` are at most [`MAX_WEIGHT`].
fn one_part(modulus: &Modulus) -> bool {
    modulus.value() / 2 <= MAX_WEIGHT
}

/// `out[i] <- sum_r left[r][positions[i]] right[r] mod q` for each group `right` of right factors, exactly:
/// `L^T R` for matrices of residues `L` and `R`.
///
/// Shapes: `left` inner rows of words; each of `right` inner rows of columns words; each of `out` as many
/// rows of columns words as there are `positions`. Range: residues below `q`. For moduli above 2^53 the left
/// factor is split into two parts of magnitude at most 2^30, with one product each.
///
/// # Errors
/// [`ArithError::Shape`], [`ArithError::TooLarge`] as [`super::multiply_mod`].
pub(crate) fn multiply_columns(
    out: &mut [Vec<&mut [u64]>],
    left: &[&[u64]],
    positions: &[usize],
    right: &[Vec<&[u64]>],
    modulus: &Modulus,
    (threads, meter): (usize, Option<&Meter>),
) -> Result<(), ArithError> {
    same("groups of rows of the product", right.len(), out.len())?;
    for row in left {
        if let Some(&position) = positions.iter().find(|&&position| position >= row.len()) {
            return Err(ArithError::Shape {
                what: "words of a row of the left factor",
                expected: position + 1,
                got: row.len(),
            });
        }
    }
    out.iter().try_for_each(|out| same("rows of the product", positions.len(), out.len()))?;
    for (band, positions) in positions.chunks(BAND).enumerate() {
        let words = columns_of(left, positions, modulus);
        let rows = band * BAND..band * BAND + positions.len();
        let part = |f: &dyn Fn(i64) -> i64| {
            LeftMatrix::new(positions.len(), left.len(), &words.iter().map(|&w| f(w)).collect::<Vec<_>>())
        };
        if one_part(modulus) {
            let matrix = part(&|w| w)?;
            for (out, right) in out.iter_mut().zip(right) {
                multiply_metered(&mut out[rows.clone()], &matrix, right, modulus, threads, meter)?;
            }
            continue;
        }
        let (high, low) = (part(&|w| rounded_high(w))?, part(&|w| w - (rounded_high(w) << LOW_BITS))?);
        let unit = modulus.multiplier(modulus.reduce(1 << LOW_BITS));
        for (out, right) in out.iter_mut().zip(right) {
            let out = &mut out[rows.clone()];
            multiply_metered(out, &high, right, modulus, threads, meter)?;
            let mut rest: Vec<Vec<u64>> = out.iter().map(|row| vec![0; row.len()]).collect();
            let mut rest_rows: Vec<&mut [u64]> = rest.iter_mut().map(Vec::as_mut_slice).collect();
            multiply_metered(&mut rest_rows, &low, right, modulus, threads, meter)?;
            for (out, rest) in out.iter_mut().zip(&rest) {
                out.iter_mut().zip(rest).for_each(|(x, &y)| *x = modulus.add(modulus.mul_shoup(*x, unit), y));
            }
        }
    }
    Ok(())
}

/// `w / 2^30`, rounded to the nearest integer.
fn rounded_high(w: i64) -> i64 {
    (w + (1 << (LOW_BITS - 1))) >> LOW_BITS
}

/// The centred residues at `positions` of every row, position after position.
fn columns_of(left: &[&[u64]], positions: &[usize], modulus: &Modulus) -> Vec<i64> {
    // A tile of rows and positions fits the first-level cache.
    const TILE: usize = 32;
    let mut words = vec![0i64; positions.len() * left.len()];
    for (block, rows) in left.chunks(TILE).enumerate() {
        for (place, positions) in positions.chunks(TILE).enumerate() {
            for (r, row) in rows.iter().enumerate() {
                for (i, &position) in positions.iter().enumerate() {
                    words[(place * TILE + i) * left.len() + block * TILE + r] = modulus.centre(row[position]);
                }
            }
        }
    }
    words
}

/// Unit operations of [`crate::Engine::combine_coefficients`] for one modulus and one right factor of
/// `columns` words in a row, on one thread.
#[must_use]
pub fn column_product_counts(rows: usize, inner: usize, columns: usize, modulus: &Modulus) -> ProductCounts {
    let half = modulus.value() / 2;
    let bounds = if one_part(modulus) {
        vec![half]
    } else {
        vec![rounded_high(half as i64) as u64, 1 << (LOW_BITS - 1)]
    };
    let mut counts = ProductCounts::default();
    for start in (0..rows).step_by(BAND) {
        for &bound in &bounds {
            counts += SplitPlan::choose(inner, bound, modulus.bits()).counts(BAND.min(rows - start), columns);
        }
    }
    counts
}
