//! Products of an integer matrix with residues of which only the highest bits are computed, by one or two
//! floating-point products of matrices.
//!
//! ```text
//! out ~ (Q' / Q) (W U mod Q)  mod Q'          for Q' a product of some of the primes of Q
//! ```
//!
//! A matrix `U` of integers modulo `Q` is read as fractions `U / Q`, modulo 1. `W U / Q` modulo 1 is computed
//! in double precision, and its multiple by `Q'` is the result. So the product and the division that follows
//! it take one or two floating-point products, where exact products take several for each prime.
//!
//! Steps:
//!
//! 1. *Fractions.* `u / Q mod 1 = sum_i u_i ((Q / q_i)^-1 mod q_i) / q_i mod 1`, with 128 bits after the
//!    binary point, which wrap around at 1. Residues are centred, and the factor of `u_i` is rounded to the
//!    nearest, so the errors, at most `|u_i| 2^-129`, have no common sign. Weights that are multiples of a
//!    power of two shift the fractions instead.
//! 2. *Product.* With one product the fraction is rounded to a double. With two, the upper part has only `h`
//!    bits, so that its sums are exact; the lower part is the next 64 bits, rounded to a double, and at most
//!    `2^-h / 2`.
//! 3. *Modulo 1.* `y - round(y)` is exact in double precision. Inner dimensions above [`RANGE`] are divided
//!    into ranges, whose sums are added modulo 1.
//! 4. *Result.* The fraction times `Q'`, rounded down, for each prime of `Q'`.
//!
//! The last bits depend on the order of the sums, which the `gemm` crate chooses for each kind of processor.
//! They do not depend on the number of threads, because the tiles do not depend on it.
//!
//! Source: [pcmm-mambo, sec. 5]; differs: fractions of residues modulo several primes, a second product for
//! more precision, ranges whose sums are added modulo 1.

use super::loops::{self, Width};
use super::{LeftMatrix, View, at_least_one, gemm_rows, report, same};
use crate::error::ArithError;
use crate::meter::{Meter, ProductCounts};
use crate::modulus::Modulus;

/// Inner dimension of one floating-point product.
pub const RANGE: usize = 4096;

/// Largest shift with which the constants are computed in double words.
pub const MAX_SHIFT: u32 = 60;

/// Widest tile: columns of one floating-point product, times products.
const WIDEST: usize = 256;

/// Narrowest tile.
const NARROWEST: usize = 32;

/// Rows of the weights that are multiplied at a time.
const ROW_BLOCK: usize = 1024;

/// How a product of fractions is computed, and how polynomials hold the rows of the matrices.
///
/// A polynomial holds `lanes` neighbouring rows: row `r` is in polynomial `r / lanes`, and its entry `c` is
/// the coefficient `c lanes + r % lanes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FractionProduct {
    /// Rows of a matrix that one polynomial holds.
    pub lanes: usize,
    /// Floating-point products: 1 or 2.
    pub products: usize,
    /// The weights are the entries of the left matrix times `2^shift`. Fractions are shifted instead, modulo
    /// 1, which is exact.
    pub shift: u32,
}

/// The primes of the residues from which fractions are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FractionPrimes {
    /// Bits of the largest prime.
    pub bits: u32,
    /// Number of primes.
    pub count: usize,
}

impl FractionPrimes {
    /// Standard deviation of a fraction's error. It comes from rounding the factors of the residues, each by
    /// at most 2^-129.
    fn units(self) -> f64 {
        (self.count as f64).sqrt() * 2f64.powi(self.bits as i32 - 129) / 6.0
    }
}

impl FractionProduct {
    /// Bits of the upper part of a fraction with which its sums are exact, for rows of `inner` entries of
    /// magnitude at most `max_abs`. If it is 0, two products are no more precise than one.
    #[must_use]
    pub fn upper_bits(inner: usize, max_abs: u64) -> u32 {
        let terms = inner.clamp(1, RANGE).next_power_of_two().trailing_zeros();
        let weight = 64 - max_abs.max(1).leading_zeros();
        // |upper| <= 2^(h - 1) in units of 2^-h, so that every sum is at most 2^(terms + weight + h - 1) <=
        // 2^53 of these units.
        54u32.saturating_sub(terms + weight).min(40)
    }

    /// Predicted standard deviation of the result's error, as a fraction of `Q'`, for rows of entries with
    /// this sum of squares and uniform fractions. Every addition rounds a partial sum, which grows as the
    /// square root of the number of its terms. `gemm` may sum in any order; the prediction assumes the worst
    /// order, one term after another. Infinite for two products without an upper part.
    #[must_use]
    pub fn deviation(&self, inner: usize, max_abs: u64, sum_of_squares: f64, primes: FractionPrimes) -> f64 {
        let inner = inner.max(1);
        let range = inner.min(RANGE) as f64;
        let ranges = Self::ranges(inner) as f64;
        let upper = Self::upper_bits(inner, max_abs);
        if self.products > 1 && upper == 0 {
            return f64::INFINITY;
        }
        let uniform = 1.0 / 12f64.sqrt();
        // Deviation of the sum over a range, in units of the fractions' size.
        let sum = (sum_of_squares / ranges).sqrt() * uniform;
        // A rounding is uniform within half a unit of the last place: 0.4 * 2^-53 of the rounded number on
        // average.
        let rounding = 0.4 * 2f64.powi(-53);
        // Partial sum i has i / range of the mean square of the full sum, so the squared roundings add up to
        // range / 2.
        let float = sum * rounding * ((range + 1.0) / 2.0 + 1.0).sqrt() * ranges.sqrt();
        let size = if self.products == 1 { 1.0 } else { 2f64.powi(-(upper as i32)) };
        // The bits below the 64 bits that are used.
        let words = size * 2f64.powi(-64);
        let inputs = sum_of_squares.sqrt() * words.hypot(primes.units());
        // The result has 64 bits behind the binary point for each range.
        (float * size).hypot(inputs).hypot(2f64.powi(-64) * ranges)
    }

    /// [`FractionProduct::deviation`] for engines that multiply all 128 bits of a fraction as integers
    /// ([`crate::Engine::multiplies_whole_fractions`]).
    #[must_use]
    pub fn deviation_of_whole_fractions(sum_of_squares: f64, primes: FractionPrimes) -> f64 {
        (sum_of_squares.sqrt() * primes.units()).hypot(2f64.powi(-64))
    }

    /// For each of `moduli`, the factor by which a residue is multiplied to give its part of the fraction,
    /// modulo `2^128`. For engines that implement the product themselves.
    ///
    /// # Errors
    /// [`ArithError::Shape`] where a modulus is not coprime to the others, [`ArithError::TooLarge`] for a
    /// shift above [`MAX_SHIFT`].
    pub fn units(&self, moduli: &[&Modulus]) -> Result<Vec<u128>, ArithError> {
        check_shift(self.shift)?;
        Ok(sources(moduli, self.shift)?.into_iter().map(|source| source.unit).collect())
    }

    /// For each prime `q` of `moduli`, whose product is `Q'`: `w = floor(Q' / 2^64) mod q` and `r = Q' mod
    /// 2^64`. The multiple of a fraction `F 2^-64` by `Q'` is `F w + floor(F r / 2^64)` modulo `q`.
    #[must_use]
    pub fn multiples(moduli: &[&Modulus]) -> Vec<(u64, u64)> {
        targets(moduli).into_iter().map(|target| (target.whole, target.rest)).collect()
    }

    /// Number of ranges into which the inner dimension is divided.
    #[must_use]
    pub fn ranges(inner: usize) -> usize {
        inner.max(1).div_ceil(RANGE)
    }

    /// Unit operations of the product of a matrix of `rows` x `inner` with rows of `columns` fractions.
    #[must_use]
    pub fn counts(&self, rows: usize, inner: usize, columns: usize) -> ProductCounts {
        ProductCounts {
            products: 1,
            multiply_adds: rows * inner * columns * self.products,
            digits: inner * columns * self.products,
            sums: rows * columns * self.products * Self::ranges(inner),
        }
    }
}

/// A prime, and the factor of its residue in a fraction: `2^(128 + shift) ((Q / q)^-1 mod q) / q`, rounded,
/// modulo `2^128`.
#[derive(Clone, Copy)]
struct Source {
    modulus: u64,
    unit: u128,
}

fn sources(moduli: &[&Modulus], shift: u32) -> Result<Vec<Source>, ArithError> {
    let own = |(index, modulus): (usize, &&Modulus)| {
        let others = moduli.iter().enumerate().filter(|&(other, _)| other != index);
        let product =
            others.fold(1, |product, (_, other)| modulus.mul(product, modulus.reduce(other.value())));
        let value = modulus.inverse(product).ok_or(ArithError::Shape {
            what: "distinct primes of residues",
            expected: 1,
            got: 0,
        })?;
        let q = u128::from(modulus.value());
        // floor(2^64 value / q) 2^(64 + shift), and of the rest 64 + shift more bits, rounded.
        let (upper, rest) = ((u128::from(value) << 64) / q, (u128::from(value) << 64) % q);
        let (lower, last) = ((rest << 64) / q, (rest << 64) % q);
        let mut unit = ((upper << 64) + lower) << shift;
        // The shift moves further bits into the 128 bits.
        let (more, behind) = ((last << shift) / q, (last << shift) % q);
        unit = unit.wrapping_add(more).wrapping_add(u128::from(2 * behind >= q));
        Ok(Source { modulus: modulus.value(), unit })
    };
    moduli.iter().enumerate().map(own).collect()
}

/// A prime of `Q'`: the fraction `F 2^-64` gives `F floor(Q' / 2^64) + floor(F (Q' mod 2^64) / 2^64)`.
struct Target<'m> {
    modulus: &'m Modulus,
    /// `floor(Q' / 2^64) mod q`.
    whole: u64,
    /// `Q' mod 2^64`.
    rest: u64,
}

fn targets<'m>(moduli: &[&'m Modulus]) -> Vec<Target<'m>> {
    let rest = moduli.iter().fold(1u64, |product, modulus| product.wrapping_mul(modulus.value()));
    let long =
        moduli.iter().try_fold(1u64, |product, modulus| product.checked_mul(modulus.value())).is_none();
    let own = |&modulus: &&'m Modulus| {
        // Q' is a multiple of q, so that floor(Q' / 2^64) = -(Q' mod 2^64) / 2^64 modulo q.
        let inverse = modulus.inverse(modulus.reduce_u128(1 << 64)).unwrap_or(0);
        let whole = if long { modulus.neg(modulus.mul(modulus.reduce(rest), inverse)) } else { 0 };
        Target { modulus, whole, rest }
    };
    moduli.iter().map(own).collect()
}

/// The data that all tiles share.
struct Job<'a> {
    product: FractionProduct,
    left: &'a LeftMatrix,
    /// For each polynomial its rows of residues.
    right: &'a [Vec<&'a [u64]>],
    sources: Vec<Source>,
    targets: Vec<Target<'a>>,
    upper_bits: u32,
    width: Width,
    meter: Option<&'a Meter>,
}

/// Neighbouring columns of all polynomials of the result: for each polynomial and prime the words of these
/// columns.
struct Tile<'a> {
    first: usize,
    columns: usize,
    out: Vec<Vec<&'a mut [u64]>>,
}

/// One worker's memory.
#[derive(Default)]
struct Workspace {
    fractions: Vec<u128>,
    digits: Vec<f64>,
    products: Vec<f64>,
    sums: Vec<u64>,
}

fn check_shift(shift: u32) -> Result<(), ArithError> {
    if shift > MAX_SHIFT {
        return Err(ArithError::TooLarge {
            what: "the shift of the weights",
            value: u64::from(shift),
            limit: u64::from(MAX_SHIFT),
        });
    }
    Ok(())
}

/// `out ~ (Q' / Q) (W U mod Q) mod Q'`. `right[p]` holds the rows of polynomial `p` modulo the primes `from`,
/// in Coeff form; `out` likewise modulo `to`.
///
/// Coefficients of the result beyond the rows of the matrix are zero.
///
/// # Errors
/// [`ArithError::Shape`] where polynomials and matrix do not fit each other; [`ArithError::TooLarge`] for two
/// products of weights that leave no exact upper part, and for a shift above [`MAX_SHIFT`].
pub(crate) fn multiply(
    out: &mut [Vec<&mut [u64]>],
    left: &LeftMatrix,
    right: &[Vec<&[u64]>],
    product: FractionProduct,
    (from, to): (&[&Modulus], &[&Modulus]),
    threads: usize,
    meter: Option<&Meter>,
) -> Result<(), ArithError> {
    let lanes = product.lanes;
    at_least_one("rows in a polynomial", lanes)?;
    check_shift(product.shift)?;
    if product.products > 1 && FractionProduct::upper_bits(left.inner, left.max_abs) == 0 {
        return Err(ArithError::TooLarge {
            what: "a weight of two floating-point products",
            value: left.max_abs,
            limit: 1 << 40,
        });
    }
    at_least_one("primes of the residues", from.len())?;
    at_least_one("primes of the result", to.len())?;
    same("polynomials of the right matrix", left.inner.div_ceil(lanes), right.len())?;
    same("polynomials of the product", left.rows.div_ceil(lanes), out.len())?;
    let degree = right[0].first().map_or(0, |row| row.len());
    at_least_one("columns of the right matrix (at least one)", degree / lanes)?;
    same("coefficients that rows of the matrix share evenly", degree / lanes * lanes, degree)?;
    for rows in right {
        same("primes of a polynomial of the right matrix", from.len(), rows.len())?;
        rows.iter().try_for_each(|row| same("length of a row of the right matrix", degree, row.len()))?;
    }
    for rows in out.iter() {
        same("primes of a polynomial of the product", to.len(), rows.len())?;
        rows.iter().try_for_each(|row| same("length of a row of the product", degree, row.len()))?;
    }
    report(meter, ProductCounts { products: 1, ..ProductCounts::default() });
    let job = Job {
        product,
        left,
        right,
        sources: sources(from, product.shift)?,
        targets: targets(to),
        upper_bits: FractionProduct::upper_bits(left.inner, left.max_abs),
        width: Width::detect(),
        meter,
    };
    let columns = degree / lanes;
    // Does not depend on the number of threads, so neither does the result.
    let width = (columns / 8).clamp(NARROWEST, WIDEST / product.products).min(columns);
    let tiles = tiles(out, columns, width, lanes);
    crate::workers::share_out(tiles, threads, Workspace::default, |tile, workspace| {
        job.tile(tile, workspace);
        Ok(())
    })
}

fn tiles<'a>(out: &'a mut [Vec<&mut [u64]>], columns: usize, width: usize, lanes: usize) -> Vec<Tile<'a>> {
    let mut rests: Vec<Vec<&'a mut [u64]>> =
        out.iter_mut().map(|rows| rows.iter_mut().map(|row| &mut **row).collect()).collect();
    let mut tiles = Vec::with_capacity(columns.div_ceil(width));
    for first in (0..columns).step_by(width) {
        let columns = width.min(columns - first);
        let cut = |rows: &mut Vec<&'a mut [u64]>| {
            let (heads, tails) =
                std::mem::take(rows).into_iter().map(|row| row.split_at_mut(columns * lanes)).unzip();
            *rows = tails;
            heads
        };
        tiles.push(Tile { first, columns, out: rests.iter_mut().map(cut).collect() });
    }
    tiles
}

impl Job<'_> {
    fn tile(&self, mut tile: Tile, workspace: &mut Workspace) {
        let (lanes, parts, columns) = (self.product.lanes, self.product.products, tile.columns);
        let stacked = columns * parts;
        let polys = (ROW_BLOCK / lanes).max(1);
        for start in (0..self.left.inner).step_by(RANGE) {
            let inner = RANGE.min(self.left.inner - start);
            self.convert(workspace, start, inner, &tile);
            for (block, out) in tile.out.chunks_mut(polys).enumerate() {
                let first_row = block * polys * lanes;
                let rows = (out.len() * lanes).min(self.left.rows - first_row);
                workspace.products.resize((rows * stacked).max(workspace.products.len()), 0.0);
                let products = &mut workspace.products[..rows * stacked];
                let left = View {
                    entries: &self.left.entries[first_row * self.left.inner + start..],
                    stride: self.left.inner,
                };
                gemm_rows(
                    products,
                    left,
                    View { entries: &workspace.digits, stride: stacked },
                    rows,
                    inner,
                    stacked,
                );
                report(
                    self.meter,
                    ProductCounts {
                        multiply_adds: rows * inner * stacked,
                        sums: rows * stacked,
                        ..ProductCounts::default()
                    },
                );
                workspace.sums.resize(columns, 0);
                for row in 0..out.len() * lanes {
                    let sums = &mut workspace.sums[..];
                    sums.fill(0);
                    for part in products.chunks_exact(columns).skip(row * parts).take(if row < rows {
                        parts
                    } else {
                        0
                    }) {
                        loops::add_fractions(self.width, sums, part);
                    }
                    for (target, words) in self.targets.iter().zip(out[row / lanes].iter_mut()) {
                        let lane = (row % lanes, lanes);
                        loops::multiples_of_fractions(
                            self.width,
                            words,
                            lane,
                            sums,
                            (target.whole, target.rest),
                            start > 0,
                            target.modulus,
                        );
                    }
                }
            }
        }
    }

    /// Computes the fractions of the rows `start..start + inner` in the tile's columns. The upper and the
    /// lower parts of a row are side by side.
    fn convert(&self, workspace: &mut Workspace, start: usize, inner: usize, tile: &Tile) {
        let (lanes, parts, columns) = (self.product.lanes, self.product.products, tile.columns);
        let stacked = columns * parts;
        workspace.digits.resize(RANGE.min(self.left.inner) * stacked, 0.0);
        workspace.fractions.resize(columns * lanes, 0);
        for poly in start / lanes..(start + inner).div_ceil(lanes) {
            let fractions = &mut workspace.fractions[..];
            fractions.fill(0);
            for (source, row) in self.sources.iter().zip(&self.right[poly]) {
                let row = &row[tile.first * lanes..][..columns * lanes];
                loops::add_residue_fractions(self.width, fractions, row, source.unit, source.modulus);
            }
            for lane in 0..lanes {
                let row = poly * lanes + lane;
                if row < start || row >= start + inner {
                    continue;
                }
                let digits = &mut workspace.digits[(row - start) * stacked..][..stacked];
                let upper = (parts > 1).then_some(self.upper_bits);
                loops::doubles_of_fractions(self.width, digits, fractions, (lane, lanes), upper);
            }
        }
        report(self.meter, ProductCounts { digits: inner * stacked, ..ProductCounts::default() });
    }
}
