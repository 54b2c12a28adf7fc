//! Linear maps of slots, given by the numbers on their diagonals.
//!
//! ```text
//! y_j = sum_s d_s[j] x_(j + s),    indices modulo the number of slots
//! ```
//!
//! so diagonal `s` multiplies the array rotated left by `s`. A matrix `M` has `d_s[j] = M[j][j + s]`. Source:
//! Halevi and Shoup (CRYPTO 2014), sec. 4.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use rustfft::num_complex::Complex64;

use super::diagonal::{Diagonal, DiagonalPart, PlacedNumber};
use super::matrix::check_entries;
use super::values::{ValuesRef, hash_words};
use crate::arrays::estimate::{MatrixNorms, mixed_name};
use crate::error::CkksError;

/// The name of a linear transform in errors.
pub(crate) const LINEAR: &str = "a linear transform";

/// Entries that are zero are not stored.
const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// A linear map from rows of `columns` numbers to rows of `rows` numbers, both in the first of `slots` slots.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let swap_and_halve = LinearTransform::from_matrix(&[0.0, 1.0, 0.5, 0.0], 2, 2)?;
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let plan = swap_and_halve.plan(&params, params.max_level())?;
/// let evaluator = Evaluator::with_keys(owner.evaluation_keys(&plan.needs()?)?);
/// let y = plan.run(&evaluator, &owner.encrypt(&[3.0, 4.0])?)?;
/// let numbers = owner.decrypt(&y)?.into_real()?;
/// assert!((numbers[0] - 4.0).abs() < 1e-5 && (numbers[1] - 1.5).abs() < 1e-5);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LinearTransform {
    rows: usize,
    columns: usize,
    slots: usize,
    /// The period of all diagonals: a power of two that divides `slots`.
    period: usize,
    /// By shift in `[0, slots)`, one period of each diagonal that is not zero.
    diagonals: BTreeMap<usize, Diagonal>,
    /// The largest sum of magnitudes along a row.
    row_sum: f64,
    /// Computed when it is first asked for: it takes as long as to read all numbers.
    measured: OnceLock<Measured>,
    /// Names this map among all maps; computed when it is first asked for, too.
    digest: OnceLock<[u8; 32]>,
}

/// What follows from all numbers of a map.
#[derive(Debug, Clone)]
struct Measured {
    norms: MatrixNorms,
    /// By shift, the largest squared magnitude on the diagonal.
    largest_squares: BTreeMap<usize, f64>,
}

impl PartialEq for LinearTransform {
    fn eq(&self, other: &Self) -> bool {
        let sizes = |map: &Self| (map.rows, map.columns, map.slots, map.period);
        sizes(self) == sizes(other) && self.diagonals == other.diagonals
    }
}

/// The entries of a matrix as they lie: row after row of `width` numbers, or the same of its transpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowMatrix<'v> {
    pub(crate) values: ValuesRef<'v>,
    /// The numbers from one row to the next.
    pub(crate) width: usize,
    /// Whether these are the rows of the transpose, so that columns follow one another.
    pub(crate) transposed: bool,
}

/// How the entries of a matrix become diagonals of a map of `slots` slots, where the numbers of a row repeat
/// after `numbers` slots, and the results after `results`; all are powers of two.
///
/// ```text
/// results >= numbers    y_s = sum_(d < numbers) M[s][(s + d) mod numbers] x_(s + d)
/// results < numbers     z_s = sum_(d < results) M[s mod results][s + d] x_(s + d),    y_r = sum of z_s over all s = r mod results
/// ```
///
/// The map gives `z`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fold {
    pub(crate) slots: usize,
    pub(crate) numbers: usize,
    pub(crate) results: usize,
}

impl Fold {
    /// Numbers and results that do not repeat.
    pub(crate) fn none(slots: usize) -> Self {
        Self { slots, numbers: slots, results: slots }
    }

    /// The shift and the slot of an entry of a block.
    pub(crate) fn place(self, row: usize, column: usize) -> (usize, usize) {
        let distance = column + self.slots - row;
        if self.results < self.numbers {
            let shift = distance % self.results;
            (shift, (column + self.slots - shift) % self.slots)
        } else {
            (distance % self.numbers, row)
        }
    }
}

/// Entries that are looked at together: most matrices that are large have few that are not zero.
const TOGETHER: usize = 16;

impl RowMatrix<'_> {
    /// Calls `entry` with row, column, value and place of each entry of a block that is not zero.
    pub(crate) fn for_each(
        self,
        (top, left): (usize, usize),
        (rows, columns): (usize, usize),
        mut entry: impl FnMut(usize, usize, Complex64, usize),
    ) {
        let ((top, lines), (left, count)) =
            if self.transposed { ((left, columns), (top, rows)) } else { ((top, rows), (left, columns)) };
        let mut told = |line: usize, at: usize, value: Complex64, index: usize| {
            if self.transposed { entry(at, line, value, index) } else { entry(line, at, value, index) }
        };
        for line in 0..lines {
            let first = (top + line) * self.width + left;
            match self.values {
                ValuesRef::Real(values) => {
                    let is_zero = |value: f64| value == 0.0;
                    non_zero(&values[first..first + count], is_zero, |at, value| {
                        told(line, at, Complex64::from(value), first + at);
                    });
                }
                ValuesRef::Complex(values) => {
                    let is_zero = |value: Complex64| value == ZERO;
                    non_zero(&values[first..first + count], is_zero, |at, value| {
                        told(line, at, value, first + at);
                    });
                }
            }
        }
    }
}

impl RowMatrix<'_> {
    /// Whether an entry has an imaginary part.
    pub(crate) fn is_complex(self) -> bool {
        match self.values {
            ValuesRef::Real(_) => false,
            ValuesRef::Complex(values) => values.iter().any(|value| value.im != 0.0),
        }
    }

    /// The norms of the whole matrix.
    pub(crate) fn norms(self, [rows, columns]: [usize; 2]) -> MatrixNorms {
        let (mut of_rows, mut of_columns) = (vec![(ZERO, 0.0, 0.0); rows], vec![ZERO; columns]);
        self.for_each((0, 0), (rows, columns), |row, column, value, _| {
            let own = &mut of_rows[row];
            *own = (own.0 + value, own.1 + magnitude(value), own.2 + value.norm_sqr());
            of_columns[column] += value;
        });
        let name = mixed_name(self.values.name(), mixed_name(columns as u64, u64::from(self.transposed)));
        MatrixNorms::new(name, &of_rows, &of_columns, columns)
    }
}

/// Calls `entry` with place and value of each number that is not zero.
fn non_zero<T: Copy>(values: &[T], is_zero: impl Fn(T) -> bool, mut entry: impl FnMut(usize, T)) {
    for (chunk, together) in values.chunks(TOGETHER).enumerate() {
        // Without a branch for each number.
        if together.iter().fold(true, |zero, &value| zero & is_zero(value)) {
            continue;
        }
        for (at, &value) in together.iter().enumerate() {
            if !is_zero(value) {
                entry(chunk * TOGETHER + at, value);
            }
        }
    }
}

/// Maximum of the numbers in all diagonals: 1 GiB.
const MAX_NUMBERS: usize = 1 << 26;

/// Refuses maps whose diagonals take too much memory.
fn check_size(diagonals: usize, length: usize) -> Result<(), CkksError> {
    if diagonals.saturating_mul(length) <= MAX_NUMBERS {
        return Ok(());
    }
    let remedy = format!(
        "at most {MAX_NUMBERS} numbers in all diagonals: cut the matrix into blocks, or give only the diagonals that are not zero"
    );
    let value = format!("{diagonals} diagonals of {length} numbers");
    Err(CkksError::OutOfRange { what: "the size of a linear transform", value, remedy })
}

impl LinearTransform {
    /// The map with the given diagonals, by shift; negative shifts are rotations to the right. A diagonal may
    /// be given by one period, whose length divides `slots`. Diagonals of the same shift are added.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] unless `slots` and the lengths are powers of two, and no length exceeds
    /// `slots`; [`CkksError::NotFinite`].
    pub fn from_diagonals(
        slots: usize,
        diagonals: impl IntoIterator<Item = (i64, Vec<Complex64>)>,
    ) -> Result<Self, CkksError> {
        let refuse = |what: &'static str, value: usize, remedy: String| {
            Err(CkksError::OutOfRange { what, value: value.to_string(), remedy })
        };
        if !slots.is_power_of_two() {
            return refuse(
                "the number of slots of a linear transform",
                slots,
                "use a power of two".to_owned(),
            );
        }
        let given: Vec<(i64, Vec<Complex64>)> = diagonals.into_iter().collect();
        let mut period = 1;
        for (_, diagonal) in &given {
            if !diagonal.len().is_power_of_two() || diagonal.len() > slots {
                return refuse(
                    "the length of a diagonal",
                    diagonal.len(),
                    format!("use a power of two up to {slots}, one period of the diagonal"),
                );
            }
            if let Some(index) = diagonal.iter().position(|value| !value.is_finite()) {
                return Err(CkksError::NotFinite { index, value: diagonal[index].norm(), shape: None });
            }
            period = period.max(diagonal.len());
        }
        check_size(given.len().min(slots), period)?;
        let mut sums: BTreeMap<usize, Vec<Complex64>> = BTreeMap::new();
        for (shift, diagonal) in given {
            let sum =
                sums.entry(shift.rem_euclid(slots as i64) as usize).or_insert_with(|| vec![ZERO; period]);
            sum.iter_mut().zip(diagonal.iter().cycle()).for_each(|(sum, value)| *sum += value);
            if let Some(index) = sum.iter().position(|value| !value.is_finite()) {
                return Err(CkksError::NotFinite { index, value: sum[index].norm(), shape: None });
            }
        }
        let diagonals = sums.into_iter().map(|(shift, sum)| (shift, Diagonal::whole(sum))).collect();
        Ok(Self::new([slots; 2], (slots, period), diagonals))
    }

    /// The map whose diagonals have these numbers, and zeros, by shift; numbers in one place are added.
    ///
    /// # Errors
    /// [`CkksError::NotFinite`]; [`CkksError::OutOfRange`] where the numbers take too much memory.
    pub(crate) fn from_entries(
        slots: usize,
        diagonals: impl IntoIterator<Item = (usize, Vec<PlacedNumber>)>,
    ) -> Result<Self, CkksError> {
        let diagonals: BTreeMap<usize, Diagonal> = diagonals
            .into_iter()
            .map(|(shift, entries)| (shift, Diagonal::of_entries(slots, entries)))
            .collect();
        check_size(diagonals.values().map(Diagonal::bytes).sum::<usize>() / size_of::<Complex64>(), 1)?;
        for (index, value) in diagonals.values().flat_map(Diagonal::entries) {
            if !value.is_finite() {
                return Err(CkksError::NotFinite { index, value: value.norm(), shape: None });
            }
        }
        Ok(Self::new([slots; 2], (slots, slots), diagonals))
    }

    /// The map with these diagonals, of which some may be zero.
    fn new(
        [rows, columns]: [usize; 2],
        (slots, period): (usize, usize),
        diagonals: BTreeMap<usize, Diagonal>,
    ) -> Self {
        Self {
            rows,
            columns,
            slots,
            period,
            diagonals,
            row_sum: 0.0,
            measured: OnceLock::new(),
            digest: OnceLock::new(),
        }
        .reduced()
    }

    /// The product with a real or complex matrix, row-major `rows x columns`. The number of slots is the
    /// larger side, rounded up to a power of two; results from `rows` on are zero, and slots from `columns`
    /// on are ignored.
    ///
    /// # Errors
    /// [`CkksError::Empty`], [`CkksError::Shape`] where the number of values is not `rows * columns`;
    /// [`CkksError::NotFinite`]; [`CkksError::OutOfRange`] where the diagonals take too much memory.
    pub fn from_matrix<'v>(
        values: impl Into<ValuesRef<'v>>,
        rows: usize,
        columns: usize,
    ) -> Result<Self, CkksError> {
        let values = values.into();
        check_entries((rows, columns), values.len(), LINEAR)?;
        let slots = rows.max(columns).next_power_of_two();
        let matrix = RowMatrix { values, width: columns, transposed: false };
        Self::block(matrix, ((0, 0), (rows, columns)), Fold::none(slots))
    }

    /// The map of a block of `rows x columns` entries of `matrix` that begins at `place`. If numbers or
    /// results repeat, it is a map of all slots. Zeros take little time: of a large matrix most may be.
    ///
    /// # Errors
    /// [`CkksError::NotFinite`]; [`CkksError::OutOfRange`] where the diagonals take too much memory.
    pub(crate) fn block(
        matrix: RowMatrix<'_>,
        (place, (rows, columns)): ((usize, usize), (usize, usize)),
        fold: Fold,
    ) -> Result<Self, CkksError> {
        let slots = fold.slots;
        let (rows_of_map, columns_of_map) =
            if fold.numbers.min(fold.results) < slots { (slots, slots) } else { (rows, columns) };
        let (mut counts, mut invalid) = (vec![0usize; slots], None);
        matrix.for_each(place, (rows, columns), |j, i, value, index| {
            counts[fold.place(j, i).0] += 1;
            if !value.is_finite() && invalid.is_none() {
                invalid = Some(CkksError::NotFinite { index, value: value.norm(), shape: None });
            }
        });
        check_size(counts.iter().filter(|&&count| count > 0).count(), slots)?;
        if let Some(invalid) = invalid {
            return Err(invalid);
        }
        let mut parts: Vec<DiagonalPart> =
            counts.into_iter().map(|count| DiagonalPart::new(slots, count)).collect();
        matrix.for_each(place, (rows, columns), |j, i, value, _| {
            let (shift, slot) = fold.place(j, i);
            parts[shift].put(slot, value);
        });
        let diagonals =
            parts.into_iter().enumerate().map(|(shift, part)| (shift, part.whole(slots))).collect();
        Ok(Self::new([rows_of_map, columns_of_map], (slots, slots), diagonals))
    }

    /// Names this map among all maps, for plans that are kept.
    pub(crate) fn digest(&self) -> [u8; 32] {
        *self.digest.get_or_init(|| {
            let mut hasher = blake3::Hasher::new();
            for size in [self.rows, self.columns, self.slots, self.period] {
                hasher.update(&size.to_le_bytes());
            }
            for (shift, diagonal) in &self.diagonals {
                hasher.update(&shift.to_le_bytes());
                hash_words(&mut hasher, diagonal.words());
            }
            *hasher.finalize().as_bytes()
        })
    }

    /// Bytes of the numbers on the diagonals.
    pub(crate) fn bytes(&self) -> usize {
        self.diagonals.values().map(Diagonal::bytes).sum()
    }

    /// Whether every number is mapped to zero.
    #[must_use]
    pub(crate) fn is_zero(&self) -> bool {
        self.diagonals.is_empty()
    }

    /// This map with `rows` and `columns` instead of all slots; `None` if it uses slots beyond them.
    #[must_use]
    pub fn of_shape(mut self, rows: usize, columns: usize) -> Option<Self> {
        // Entry i of a diagonal's period is in the rows i, i + period, .., and in the columns (i + shift) mod
        // period, ..; only the last of each must be checked.
        let last = self.slots - self.period;
        let outside = |(&shift, diagonal): (&usize, &Diagonal)| {
            let beyond = |i: usize| last + i >= rows || last + (i + shift) % self.period >= columns;
            diagonal.entries().any(|(i, _)| beyond(i))
        };
        if rows == 0 || columns == 0 || rows.max(columns) > self.slots || self.diagonals.iter().any(outside) {
            return None;
        }
        (self.rows, self.columns) = (rows, columns);
        (self.measured, self.digest) = (OnceLock::new(), OnceLock::new());
        Some(self)
    }

    /// The same map for each of `lanes` contiguous rows of `capacity` slots. Rotations do not wrap around
    /// within a row, so there are up to twice as many diagonals.
    ///
    /// # Errors
    /// [`CkksError::Shape`] if a row of this map has more than `capacity` numbers; [`CkksError::OutOfRange`]
    /// if the diagonals take too much memory.
    pub fn in_lanes(&self, capacity: usize, lanes: usize) -> Result<Self, CkksError> {
        if self.rows.max(self.columns) > capacity {
            let remedy = format!(
                "rows share polynomials, with {capacity} slots for each: add columns of zeros before encryption, or encrypt with lanes=1"
            );
            return Err(CkksError::Shape {
                operation: LINEAR,
                left: vec![lanes, capacity],
                right: vec![self.rows, self.columns],
                remedy,
            });
        }
        check_size(2 * self.diagonals.len(), capacity)?;
        let slots = capacity * lanes;
        let mut diagonals: BTreeMap<usize, Vec<PlacedNumber>> = BTreeMap::new();
        for (&shift, diagonal) in &self.diagonals {
            for (first, value) in diagonal.entries() {
                for j in (first..self.rows).step_by(self.period) {
                    let i = (j + shift) % self.slots;
                    if i < self.columns {
                        diagonals.entry((i + slots - j) % slots).or_default().push((j as u32, value));
                    }
                }
            }
        }
        let diagonals = diagonals
            .into_iter()
            .map(|(shift, entries)| (shift, Diagonal::of_entries(capacity, entries)))
            .collect();
        Ok(Self::new([slots; 2], (slots, capacity), diagonals))
    }

    /// Removes zero diagonals, shortens the period and computes the row sum.
    fn reduced(mut self) -> Self {
        self.diagonals.retain(|_, diagonal| !diagonal.is_zero());
        while self.period > 1 && self.diagonals.values().all(Diagonal::repeats) {
            self.period /= 2;
            self.diagonals.values_mut().for_each(Diagonal::halve);
        }
        let mut sums = vec![0.0; self.period];
        for (place, value) in self.diagonals.values().flat_map(Diagonal::entries) {
            sums[place] += magnitude(value);
        }
        self.row_sum = sums.into_iter().fold(0.0, f64::max);
        (self.measured, self.digest) = (OnceLock::new(), OnceLock::new());
        self
    }

    /// The map `x -> next(self(x))`.
    ///
    /// # Errors
    /// [`CkksError::Shape`] if the results of this map do not fit the inputs of the next one.
    pub fn then(&self, next: &Self) -> Result<Self, CkksError> {
        if (self.slots, self.rows) != (next.slots, next.columns) {
            let remedy = "the first map's results must be the second map's inputs".to_owned();
            return Err(CkksError::Shape {
                operation: LINEAR,
                left: vec![self.rows, self.columns],
                right: vec![next.rows, next.columns],
                remedy,
            });
        }
        let period = self.period.max(next.period);
        let mut diagonals: BTreeMap<usize, Vec<Complex64>> = BTreeMap::new();
        let right: Vec<(usize, Cow<'_, [Complex64]>)> =
            self.diagonals.iter().map(|(&inner, diagonal)| (inner, diagonal.numbers())).collect();
        for (&outer, left) in &next.diagonals {
            let left = left.numbers();
            for (inner, right) in &right {
                let sum = diagonals.entry((outer + inner) % self.slots).or_insert_with(|| vec![ZERO; period]);
                // Runs in which no index wraps around its period, a power of two.
                let mut j = 0;
                while j < period {
                    let (i, k) = (j & (next.period - 1), (j + outer) & (self.period - 1));
                    let run = (next.period - i).min(self.period - k);
                    let factors = left[i..i + run].iter().zip(&right[k..k + run]);
                    sum[j..j + run].iter_mut().zip(factors).for_each(|(sum, (x, y))| *sum += x * y);
                    j += run;
                }
            }
        }
        let diagonals = diagonals.into_iter().map(|(shift, sum)| (shift, Diagonal::whole(sum))).collect();
        Ok(Self::new([next.rows, self.columns], (self.slots, period), diagonals))
    }

    /// The map times `factor`.
    #[must_use]
    pub fn scaled(mut self, factor: Complex64) -> Self {
        let scaled = |(shift, diagonal): (usize, Diagonal)| (shift, diagonal.scaled(factor));
        self.diagonals = self.diagonals.into_iter().map(scaled).collect();
        self.reduced()
    }

    /// The image of a plain row of `columns` numbers.
    ///
    /// # Errors
    /// [`CkksError::Shape`].
    pub fn evaluate(&self, x: &[Complex64]) -> Result<Vec<Complex64>, CkksError> {
        if x.len() != self.columns {
            let remedy = format!("give {} numbers", self.columns);
            return Err(CkksError::Shape {
                operation: LINEAR,
                left: vec![self.rows, self.columns],
                right: vec![x.len()],
                remedy,
            });
        }
        let at = |index: usize| x.get(index % self.slots).copied().unwrap_or(ZERO);
        let entry = |j: usize| {
            self.diagonals.iter().map(|(&shift, diagonal)| diagonal.at(j % self.period) * at(j + shift)).sum()
        };
        Ok((0..self.rows).map(entry).collect())
    }

    /// Numbers of a result row.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Numbers of an input row.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Slots of the rotations.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The period of the diagonals; the plaintexts have this many slots.
    #[must_use]
    pub fn period(&self) -> usize {
        self.period
    }

    /// The shifts of the diagonals that are not zero, ascending, in `[0, slots)`.
    pub fn shifts(&self) -> impl Iterator<Item = usize> {
        self.diagonals.keys().copied()
    }

    /// One period of the diagonal with this shift; `None` where the diagonal is zero.
    #[must_use]
    pub fn diagonal(&self, shift: i64) -> Option<Cow<'_, [Complex64]>> {
        self.diagonals.get(&(shift.rem_euclid(self.slots as i64) as usize)).map(Diagonal::numbers)
    }

    /// `count` numbers of diagonal `shift`, rotated right by `steps`: the factor before a rotation left by
    /// `steps`.
    pub(crate) fn rotated_diagonal(&self, shift: i64, steps: i64, count: usize) -> Vec<Complex64> {
        let mut rotated = vec![ZERO; count];
        let Some(diagonal) = self.diagonals.get(&(shift.rem_euclid(self.slots as i64) as usize)) else {
            return rotated;
        };
        let steps = steps.rem_euclid(self.period as i64) as usize;
        for (place, value) in diagonal.entries() {
            let first = (place + steps) & (self.period - 1);
            (first..count).step_by(self.period).for_each(|j| rotated[j] = value);
        }
        rotated
    }

    /// Whether a diagonal has an imaginary part.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.diagonals.values().flat_map(Diagonal::entries).any(|(_, value)| value.im != 0.0)
    }

    /// The norms of the map.
    pub(crate) fn norms(&self) -> MatrixNorms {
        self.measured().norms
    }

    /// The largest squared magnitude on the diagonal with this shift; 0 where the diagonal is zero.
    pub(crate) fn largest_square(&self, shift: usize) -> f64 {
        self.measured().largest_squares.get(&shift).copied().unwrap_or(0.0)
    }

    fn measured(&self) -> &Measured {
        self.measured.get_or_init(|| {
            let largest =
                |own: &Diagonal| own.entries().map(|(_, value)| value.norm_sqr()).fold(0.0, f64::max);
            let largest_squares =
                self.diagonals.iter().map(|(&shift, diagonal)| (shift, largest(diagonal))).collect();
            Measured { norms: self.measured_norms(), largest_squares }
        })
    }

    fn measured_norms(&self) -> MatrixNorms {
        let mut rows = vec![(ZERO, 0.0, 0.0); self.period];
        let mut columns = vec![ZERO; self.period];
        let mut name = 0;
        for (&shift, diagonal) in &self.diagonals {
            for (i, value) in diagonal.entries() {
                let row = &mut rows[i];
                *row = (row.0 + value, row.1 + magnitude(value), row.2 + value.norm_sqr());
                columns[(i + shift) & (self.period - 1)] += value;
            }
            name = diagonal.words().fold(mixed_name(name, shift as u64), mixed_name);
        }
        MatrixNorms::new(name, &rows, &columns, self.columns)
    }

    /// The largest sum of magnitudes along a row of the matrix: the factor by which the map can enlarge
    /// numbers.
    #[must_use]
    pub fn row_sum(&self) -> f64 {
        self.row_sum
    }
}

/// The magnitude of a number, from its square if that neither overflows nor vanishes, which is faster.
fn magnitude(value: Complex64) -> f64 {
    let square = value.norm_sqr();
    if square.is_normal() || value == ZERO { square.sqrt() } else { value.norm() }
}
