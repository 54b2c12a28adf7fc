//! Exact products of an integer matrix with matrices of residues, computed in floating point.
//!
//! [`multiply_mod`] is `out <- W U mod q` for a matrix `W` of signed integers and rows `U_j` of residues: it
//! splits both into digits small enough that every floating-point operation is exact ([`SplitPlan`] has the
//! proof), multiplies the digits by FP64 products of the `gemm` crate, and combines the sums modulo `q`.
//! [`multiply_f64`] is one such product, for comparisons. [`FractionProduct`] computes only the highest bits,
//! in one or two products.
//!
//! Depends on [`crate::modulus`], not on transforms or rings: a row is a row of words.

mod fractions;
mod loops;
mod residues;
mod split;

use std::ops::Range;

use crate::error::ArithError;
use crate::meter::{Meter, ProductCounts};
use crate::modulus::Modulus;
use crate::workers;
pub(crate) use fractions::multiply as multiply_fractions;
pub use fractions::{FractionPrimes, FractionProduct, MAX_SHIFT, RANGE};
use loops::Width;
pub(crate) use residues::multiply_columns;
pub use residues::{BAND as COLUMN_BAND, column_product_counts};
use split::MAX_INNER_BLOCK;
pub use split::{Slices, SplitPlan};

/// The largest magnitude of a weight.
pub const MAX_WEIGHT: u64 = 1 << 52;

/// Rows of the weights that are multiplied at a time.
const ROW_BLOCK: usize = 1024;

/// Columns, times slices of U, that are multiplied at a time: their digits and sums fit the second-level
/// cache for an inner dimension of a few hundred (measured at 2^8 to 2^10: 128 and 256 are best; 512 and more
/// take up to 2.3 times as long, most of it outside the passes, on fresh memory).
const STACKED_COLUMNS: usize = 256;

/// Minimum columns of a tile. Tiles are narrowed down to this width so that every thread gets a tile. If that
/// is not enough, the rows are divided among the threads too.
const MIN_COLUMNS: usize = 64;

/// A plaintext integer matrix, ready for exact products with rows of residues.
///
/// Shapes: rows x inner, row-major. Range: `|w| <= 2^52`. Holds one `f64` per entry. It is exact, and is
/// multiplied directly if the plan has one slice.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftMatrix {
    rows: usize,
    inner: usize,
    max_abs: u64,
    entries: Vec<f64>,
}

impl LeftMatrix {
    /// Takes `entries`, row after row.
    ///
    /// # Errors
    /// [`ArithError::Shape`] for an empty dimension or a count other than `rows * inner`,
    /// [`ArithError::TooLarge`] for an entry beyond `2^52`.
    pub fn new(rows: usize, inner: usize, entries: &[i64]) -> Result<Self, ArithError> {
        at_least_one("rows of the left matrix (at least one)", rows)?;
        at_least_one("columns of the left matrix (at least one)", inner)?;
        same("entries of the left matrix", rows.saturating_mul(inner), entries.len())?;
        let max_abs = entries.iter().map(|w| w.unsigned_abs()).max().unwrap_or(0);
        if max_abs > MAX_WEIGHT {
            return Err(ArithError::TooLarge {
                what: "an entry of the left matrix",
                value: max_abs,
                limit: MAX_WEIGHT,
            });
        }
        Ok(Self { rows, inner, max_abs, entries: entries.iter().map(|&w| w as f64).collect() })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// The largest magnitude of an entry.
    #[must_use]
    pub fn max_abs(&self) -> u64 {
        self.max_abs
    }

    /// The rows `rows` of the matrix whose columns are those named, with a column of zeroes for each `None`.
    ///
    /// # Errors
    /// [`ArithError::Shape`] where the selection is empty or beyond the matrix.
    pub fn select(&self, rows: Range<usize>, columns: &[Option<usize>]) -> Result<Self, ArithError> {
        at_least_one("selected rows of the left matrix (at least one)", rows.len())?;
        at_least_one("selected columns of the left matrix (at least one)", columns.len())?;
        if rows.end > self.rows {
            return Err(ArithError::Shape {
                what: "rows of the left matrix",
                expected: self.rows,
                got: rows.end,
            });
        }
        if let Some(&column) = columns.iter().flatten().find(|&&column| column >= self.inner) {
            return Err(ArithError::Shape {
                what: "columns of the left matrix",
                expected: self.inner,
                got: column,
            });
        }
        let row = |row: usize| {
            columns
                .iter()
                .map(move |column| column.map_or(0.0, |column| self.entries[row * self.inner + column]))
        };
        Ok(Self {
            rows: rows.len(),
            inner: columns.len(),
            max_abs: self.max_abs,
            entries: rows.flat_map(row).collect(),
        })
    }

    /// The entries, row after row.
    #[must_use]
    pub fn integers(&self) -> Vec<i64> {
        self.entries.iter().map(|&w| w as i64).collect()
    }

    /// The matrix divided by `2^shift`, of which its entries are multiples.
    #[must_use]
    pub fn shifted_down(&self, shift: u32) -> Self {
        let factor = (-f64::from(shift)).exp2();
        Self {
            max_abs: self.max_abs >> shift,
            entries: self.entries.iter().map(|w| w * factor).collect(),
            ..*self
        }
    }

    /// The sum of the squares of the entries of row `row`.
    #[must_use]
    pub fn sum_of_squares(&self, row: usize) -> f64 {
        self.entries[row * self.inner..][..self.inner].iter().map(|w| w * w).sum()
    }

    /// The plan of products with `modulus`.
    #[must_use]
    pub fn plan(&self, modulus: &Modulus) -> SplitPlan {
        SplitPlan::choose(self.inner, self.max_abs, modulus.bits())
    }

    /// Unit operations of one product with rows of `columns` residues modulo `modulus`, on one thread.
    #[must_use]
    pub fn counts(&self, modulus: &Modulus, columns: usize) -> ProductCounts {
        self.plan(modulus).counts(self.rows, columns)
    }

    /// The slices of the weights, lowest first, each rows x inner.
    fn slices(
        &self,
        plan: &SplitPlan,
        modulus: &Modulus,
        width: Width,
        meter: Option<&Meter>,
    ) -> Vec<Vec<f64>> {
        let word = |&entry: &f64| {
            let word = entry as i64;
            if plan.reduce_left { modulus.centre(modulus.reduce_i64(word)) } else { word }
        };
        let words: Vec<i64> = self.entries.iter().map(word).collect();
        (0..plan.left.count)
            .map(|index| {
                let mut slice = vec![0.0; words.len()];
                loops::digit_of_words(width, &mut slice, &words, plan.left, index);
                report(meter, ProductCounts { digits: words.len(), ..ProductCounts::default() });
                slice
            })
            .collect()
    }
}

/// `out <- W U mod q`, exactly.
///
/// ```text
/// out[i][l] = sum_j W[i][j] right[j][l] mod q
/// ```
///
/// Shapes: `left` rows x inner, `right` inner rows of columns words, `out` rows rows of columns words. Range:
/// `right` in `[0, q)`; results in `[0, q)`. Cost: [`SplitPlan::gemm_count`] floating-point products of the
/// full size, and a few passes over `right` and `out`. In addition to the arguments (and the packing buffers
/// of `gemm`), it allocates at most 8 MiB per thread, and one `f64` copy of the weights per slice where
/// [`SplitPlan::left`] has several. `threads` workers share the tiles of `out` (0 counts as 1); their number
/// does not change the result.
///
/// # Errors
/// [`ArithError::Shape`] where the rows do not fit each other or there are no columns,
/// [`ArithError::TooLarge`] for a residue not below `q` (`out` is then partly written).
///
/// Source: [pcmm-mambo, sec. 7.1, App. C]; differs: see [`SplitPlan`].
pub fn multiply_mod(
    out: &mut [&mut [u64]],
    left: &LeftMatrix,
    right: &[&[u64]],
    modulus: &Modulus,
    threads: usize,
) -> Result<(), ArithError> {
    multiply_metered(out, left, right, modulus, threads, None)
}

/// As [`multiply_mod`], reporting its unit operations to `meter`.
pub(crate) fn multiply_metered(
    out: &mut [&mut [u64]],
    left: &LeftMatrix,
    right: &[&[u64]],
    modulus: &Modulus,
    threads: usize,
    meter: Option<&Meter>,
) -> Result<(), ArithError> {
    same("rows of the right matrix", left.inner, right.len())?;
    same("rows of the product", left.rows, out.len())?;
    let columns = right[0].len();
    at_least_one("columns of the right matrix (at least one)", columns)?;
    right.iter().try_for_each(|row| same("length of a row of the right matrix", columns, row.len()))?;
    out.iter().try_for_each(|row| same("length of a row of the product", columns, row.len()))?;

    report(meter, ProductCounts { products: 1, ..ProductCounts::default() });
    let width = Width::detect();
    let plan = left.plan(modulus);
    let sliced = if plan.left.count > 1 || plan.reduce_left {
        left.slices(&plan, modulus, width, meter)
    } else {
        Vec::new()
    };
    let weights: Vec<&[f64]> =
        if sliced.is_empty() { vec![&left.entries] } else { sliced.iter().map(Vec::as_slice).collect() };
    let job = Job { plan, weights, inner: left.inner, right, modulus, width, meter };

    let threads = threads.max(1);
    let tiles = tiles(out, columns, STACKED_COLUMNS / plan.right.count, threads);
    workers::share_out(tiles, threads, Workspace::default, |tile, workspace| job.tile(tile, workspace))
}

/// `left * right` in double precision on one thread: the baseline for measurements of exact products.
///
/// Shapes: `left` rows x inner, `right` inner x columns, both row-major.
///
/// # Errors
/// [`ArithError::Shape`] where a matrix does not have as many entries as its shape.
pub fn multiply_f64(
    rows: usize,
    inner: usize,
    columns: usize,
    left: &[f64],
    right: &[f64],
) -> Result<Vec<f64>, ArithError> {
    same("entries of the left matrix", rows.saturating_mul(inner), left.len())?;
    same("entries of the right matrix", inner.saturating_mul(columns), right.len())?;
    let mut out = vec![0.0; rows.saturating_mul(columns)];
    gemm_rows(
        &mut out,
        View { entries: left, stride: inner },
        View { entries: right, stride: columns },
        rows,
        inner,
        columns,
    );
    Ok(out)
}

/// Rows of a matrix that lie `stride` apart.
#[derive(Clone, Copy)]
struct View<'a> {
    entries: &'a [f64],
    stride: usize,
}

/// `out <- left * right` with `out` contiguous.
fn gemm_rows(out: &mut [f64], left: View, right: View, rows: usize, inner: usize, columns: usize) {
    if rows == 0 || columns == 0 {
        return;
    }
    if inner == 0 {
        out.fill(0.0);
        return;
    }
    assert!(out.len() >= rows * columns && inner <= left.stride && columns <= right.stride);
    assert!(
        left.entries.len() >= (rows - 1) * left.stride + inner
            && right.entries.len() >= (inner - 1) * right.stride + columns
    );
    // SAFETY: the three matrices lie within their slices (asserted), `out` is borrowed mutably and so
    // overlaps neither operand, and the result is written without being read first.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            out.as_mut_ptr(),
            1,
            columns as isize,
            false,
            left.entries.as_ptr(),
            1,
            left.stride as isize,
            right.entries.as_ptr(),
            1,
            right.stride as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// A rectangle of the product: consecutive rows, consecutive columns.
struct Tile<'a> {
    first_row: usize,
    first_column: usize,
    rows: Vec<&'a mut [u64]>,
}

/// Divides the product into tiles of at most `widest` columns, at least one per thread where the tiles stay
/// wide enough.
fn tiles<'a>(out: &'a mut [&mut [u64]], columns: usize, widest: usize, threads: usize) -> Vec<Tile<'a>> {
    let mut blocks = columns.div_ceil(widest).next_multiple_of(threads);
    if columns / blocks < MIN_COLUMNS {
        blocks = columns.div_ceil(widest);
    }
    // Widths are multiples of a vector, because a partial vector takes as long as a full one.
    let width = columns.div_ceil(blocks).next_multiple_of(8);
    let blocks = columns.div_ceil(width);
    let band = if blocks >= threads { out.len() } else { out.len().div_ceil(threads.div_ceil(blocks)) };
    let mut tiles = Vec::new();
    for (index, band_rows) in out.chunks_mut(band).enumerate() {
        let mut rests: Vec<&'a mut [u64]> = band_rows.iter_mut().map(|row| &mut **row).collect();
        for first_column in (0..columns).step_by(width) {
            let mut rows = Vec::with_capacity(rests.len());
            rests = rests
                .into_iter()
                .map(|rest| {
                    let (head, tail) = rest.split_at_mut(width.min(columns - first_column));
                    rows.push(head);
                    tail
                })
                .collect();
            tiles.push(Tile { first_row: index * band, first_column, rows });
        }
    }
    tiles
}

/// The data that all tiles share.
struct Job<'a> {
    plan: SplitPlan,
    /// Slices of the weights, lowest first.
    weights: Vec<&'a [f64]>,
    inner: usize,
    right: &'a [&'a [u64]],
    modulus: &'a Modulus,
    width: Width,
    meter: Option<&'a Meter>,
}

/// One worker's memory: at most `8 (c + 32) (1024 + 2 * 1024)` bytes with `c` = [`STACKED_COLUMNS`] (rounding
/// to whole vectors adds up to 32), under 8 MiB.
#[derive(Default)]
struct Workspace {
    digits: Vec<f64>,
    products: Vec<f64>,
    sums: Vec<i64>,
}

impl Job<'_> {
    fn tile(&self, mut tile: Tile, workspace: &mut Workspace) -> Result<(), ArithError> {
        let columns = tile.rows[0].len();
        let stacked = columns * self.plan.right.count;
        for (slice, weights) in self.weights.iter().enumerate().rev() {
            for start in (0..self.inner).step_by(MAX_INNER_BLOCK) {
                let inner = MAX_INNER_BLOCK.min(self.inner - start);
                // If the inner dimension is one range, the digits are those of the slice before.
                let converted = slice + 1 < self.weights.len() && self.inner <= MAX_INNER_BLOCK;
                if !converted {
                    workspace.digits.resize(inner * stacked, 0.0);
                    self.convert(&mut workspace.digits, start, tile.first_column, columns)?;
                }
                // Horner's rule over the slices of the weights; within one slice the ranges add up.
                let carry = if start > 0 {
                    Some(0)
                } else if slice + 1 < self.weights.len() {
                    Some(self.plan.left.bits)
                } else {
                    None
                };
                for (block, out) in tile.rows.chunks_mut(ROW_BLOCK).enumerate() {
                    let first_row = tile.first_row + block * ROW_BLOCK;
                    let left =
                        View { entries: &weights[first_row * self.inner + start..], stride: self.inner };
                    self.block(out, left, inner, carry, workspace, stacked);
                }
            }
        }
        Ok(())
    }

    /// Digits of the residues of columns `first..first + columns` in a range of rows; the slices of a row are
    /// side by side.
    fn convert(
        &self,
        digits: &mut [f64],
        start: usize,
        first: usize,
        columns: usize,
    ) -> Result<(), ArithError> {
        let q = self.modulus.value();
        for (row, digits) in
            self.right[start..].iter().zip(digits.chunks_mut(columns * self.plan.right.count))
        {
            let row = &row[first..first + columns];
            if !loops::digits_of_residues(self.width, digits, columns, row, self.plan.right, q) {
                let value = row.iter().copied().max().unwrap_or(0);
                return Err(ArithError::TooLarge {
                    what: "a residue of the right matrix",
                    value,
                    limit: q - 1,
                });
            }
            report(self.meter, ProductCounts { digits: digits.len(), ..ProductCounts::default() });
        }
        Ok(())
    }

    /// Multiplies one block of weights with the converted digits and reduces into `out`.
    fn block(
        &self,
        out: &mut [&mut [u64]],
        left: View,
        inner: usize,
        carry: Option<u32>,
        workspace: &mut Workspace,
        stacked: usize,
    ) {
        let Workspace { digits, products, sums } = workspace;
        let (rows, columns) = (out.len(), out[0].len());
        products.resize((rows * stacked).max(products.len()), 0.0);
        let products = &mut products[..rows * stacked];
        let whole = inner <= self.plan.exact_block;
        if !whole {
            sums.clear();
            sums.resize(rows * stacked, 0);
        }
        for first in (0..inner).step_by(self.plan.exact_block) {
            let part = self.plan.exact_block.min(inner - first);
            let right = View { entries: &digits[first * stacked..], stride: stacked };
            gemm_rows(products, View { entries: &left.entries[first..], ..left }, right, rows, part, stacked);
            report(
                self.meter,
                ProductCounts { multiply_adds: rows * part * stacked, ..ProductCounts::default() },
            );
            if !whole {
                loops::add_products(self.width, sums, products);
                report(self.meter, ProductCounts { sums: products.len(), ..ProductCounts::default() });
            }
        }
        for (row, out) in out.iter_mut().enumerate() {
            if whole {
                loops::reduce_sums(
                    self.width,
                    out,
                    carry,
                    &products[row * stacked..][..stacked],
                    columns,
                    self.plan.right,
                    self.modulus,
                );
            } else {
                loops::reduce_sums(
                    self.width,
                    out,
                    carry,
                    &sums[row * stacked..][..stacked],
                    columns,
                    self.plan.right,
                    self.modulus,
                );
            }
            report(self.meter, ProductCounts { sums: stacked, ..ProductCounts::default() });
        }
    }
}

/// Reports executed operations to `meter`, if any.
fn report(meter: Option<&Meter>, counts: ProductCounts) {
    if let Some(meter) = meter {
        meter.add_product(counts);
    }
}

fn same(what: &'static str, expected: usize, got: usize) -> Result<(), ArithError> {
    if expected == got { Ok(()) } else { Err(ArithError::Shape { what, expected, got }) }
}

fn at_least_one(what: &'static str, got: usize) -> Result<(), ArithError> {
    if got > 0 { Ok(()) } else { Err(ArithError::Shape { what, expected: 1, got }) }
}
