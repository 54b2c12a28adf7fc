//! Sums of products of the numbers of two encrypted arrays in slots: products of matrices and vectors, and
//! other contractions of two arrays.
//!
//! ```text
//! z[i] = sum_t x[left(t, i)] y[right(t, i)]
//! ```
//!
//! Both arrays are gathered into one with a row for each `t`, whose number `i` is the factor of `z[i]`. Rows
//! share polynomials. After one product of these arrays the rows are added, which leaves the sums in the
//! places of every row, so that the result lies as an array whose rows share polynomials. It takes two
//! levels. An 8 x 8 product has 512 terms; an array of 8 192 slots repeats them 16 times.

use super::{ArrayOperation, EncryptedArray, PlainArray};
use crate::arrays::{Ciphertext, Encoding, Layout};
use crate::circuits::linear::convolution::Call;
use crate::circuits::linear::gather::{gather, in_lanes, map_numbers};
use crate::circuits::linear::{Convolution, Placement};
use crate::encoding::values::Values;
use crate::error::CkksError;
use crate::evaluation::Evaluator;

/// The operation's name in errors.
const CONTRACTION: &str = "a sum of products of encrypted numbers";

/// Maximum of the products in all sums: their places are lists in memory.
const MAX_TERMS: usize = 1 << 22;

/// Refuses sums of more products than [`MAX_TERMS`].
pub(super) fn check_terms(count: usize) -> Result<(), CkksError> {
    if count <= MAX_TERMS {
        return Ok(());
    }
    let remedy = format!("at most {MAX_TERMS}: take the sums in parts");
    Err(CkksError::OutOfRange { what: "the products of encrypted numbers", value: count.to_string(), remedy })
}

/// The factors of each term of sums of products.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// The place of the left factor of each term, counted along the rows of its array: all terms `t = 0` in
    /// the order of the result's entries, then all terms `t = 1`, ..
    pub left: &'a [usize],
    /// As `left`, for the right factor.
    pub right: &'a [usize],
}

impl EncryptedArray {
    /// The array of shape `shape` whose entries are the sums of the products `terms`, in slots, not yet
    /// rescaled. It takes one level for the places of the factors and one for the product.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless there are as many left as right factors, the same number for each entry;
    /// [`CkksError::OutOfRange`] for entries that an array does not have, and for more than 2048 distances
    /// that numbers of an array move; [`CkksError::Encoding`] for arrays in coefficients without the keys to
    /// convert them; [`CkksError::Unsuitable`] for shared masks; missing keys; level errors.
    pub fn contracted(&self, other: &Self, shape: &[usize], terms: Terms<'_>) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder_with(&other.into()) {
            let [left, right] =
                [terms.left, terms.right].map(|places| graph.places(places.iter().copied().map(Some)));
            let operation = ArrayOperation::Contracted { shape: shape.to_vec(), left, right };
            let operands = [self.into(), other.into()];
            return graph.record(operation, &operands, || self.contracted(other, shape, terms));
        }
        let holder = self.holder(other);
        let evaluator = &holder.evaluator;
        let slots =
            |own: &Self| Ok::<_, CkksError>(own.brought_to_slots(holder)?.unwrap_or_else(|| own.clone()));
        let (left, right) = (slots(self)?.settled_by(evaluator)?, slots(other)?.settled_by(evaluator)?);
        left.check_room_for_another(CONTRACTION)?;
        if terms.left.len() != terms.right.len() {
            return Err(CkksError::Shape {
                operation: CONTRACTION,
                left: vec![terms.left.len()],
                right: vec![terms.right.len()],
                remedy: "give as many left as right factors".to_owned(),
            });
        }
        let sums = Sums::new(&left, shape, terms.left.len())?;
        let (left, right) =
            (sums.rows_of(evaluator, &left, terms.left)?, sums.rows_of(evaluator, &right, terms.right)?);
        holder.beside(sums.added(evaluator, &evaluator.multiply(&left, &right)?)?)
    }

    /// The array of shape `shape` whose entries are sums of this array's entries at `sources`, those with `t
    /// = 0` first, in slots. It takes a level for their places.
    ///
    /// # Errors
    /// As [`EncryptedArray::contracted`].
    pub(super) fn sums_of(&self, shape: &[usize], sources: &[usize]) -> Result<Self, CkksError> {
        self.in_slots()?.map_settled(|evaluator, x| {
            let sums = Sums::new(x, shape, sources.len())?;
            sums.added(evaluator, &sums.rows_of(evaluator, x, sources)?)
        })
    }

    /// The array of shape `shape` whose entry `i` is the sum of the entries `sources[t n + i]` of this one,
    /// each times `factors[t n + i]`, for an array of `n` entries, in slots. It takes a level, a product with
    /// a plaintext for each distance that a number moves, and rotations that grow with the root of their
    /// number.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless there is a factor for each source, and the same number for each entry;
    /// [`CkksError::OutOfRange`] for entries that the array does not have, and for more than 2048 distances;
    /// [`CkksError::NotFinite`] for factors; [`CkksError::Encoding`] for an array in coefficients without the
    /// keys to convert it; [`CkksError::Unsuitable`] for shared masks; missing keys; level errors.
    pub fn mapped(&self, shape: &[usize], sources: &[usize], factors: &[f64]) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let sources_of = graph.places(sources.iter().copied().map(Some));
            let operation = ArrayOperation::Mapped { shape: shape.to_vec(), sources: sources_of };
            let values = Values::Real(factors.to_vec());
            let factors_of = PlainArray::new(values, vec![factors.len()]);
            let operands = [self.into(), factors_of.into()];
            return graph.record(operation, &operands, || self.mapped(shape, sources, factors));
        }
        check_terms(sources.len())?;
        self.in_slots()?.map_settled(|evaluator, x| map_numbers(evaluator, x, shape, sources, factors))
    }
}

impl EncryptedArray {
    /// The convolution of images `(.., channels, rows, columns)` with a kernel `(channels of the result,
    /// channels / groups, rows, columns)`, in slots, as networks have it: the kernel is not reversed. It
    /// takes a level.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for shapes that do not fit; [`CkksError::OutOfRange`] for strides, dilations and
    /// groups of 0, and for more than 2048 distances that numbers move in all polynomials;
    /// [`CkksError::NotFinite`] for weights; [`CkksError::Encoding`] for an array in coefficients without the
    /// keys to convert it; [`CkksError::Unsuitable`] for a complex kernel and for shared masks;
    /// [`CkksError::TooLarge`]; missing keys; level errors.
    pub fn convolved(&self, kernel: &PlainArray, convolution: Convolution) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::Convolved { convolution, from: None, to: None };
            // How a result lies best is found when all is recorded.
            return graph.record(operation, &[self.into(), kernel.clone().into()], || {
                let call = Call { convolution, kernel: kernel.kernel(), from: None, to: None };
                self.in_slots()?.map_settled(|evaluator, x| call.outlined(evaluator, x))
            });
        }
        self.convolved_at(kernel, convolution, [None, None])
    }

    /// [`EncryptedArray::convolved`] of images that are at other places of this array, the first of
    /// `placements`, and whose result is put to other places, the second one.
    ///
    /// # Errors
    /// Those of [`EncryptedArray::convolved`], and [`CkksError::Shape`] for places that are not there.
    pub(crate) fn convolved_at(
        &self,
        kernel: &PlainArray,
        convolution: Convolution,
        [from, to]: [Option<Placement<'_>>; 2],
    ) -> Result<Self, CkksError> {
        let call = Call { convolution, kernel: kernel.kernel(), from, to };
        self.in_slots()?.map_settled(|evaluator, x| call.run(evaluator, x))
    }
}

/// How the terms of sums lie: a row for each `t`, in which the terms of the entries lie as the entries do in
/// the result.
struct Sums {
    result: Layout,
    shape: Vec<usize>,
    rows: Layout,
    /// Numbers of a row between the first entries of two rows of the result.
    stride: usize,
}

impl Sums {
    /// Sums of `terms` numbers in all as an array of shape `shape`.
    fn new(x: &Ciphertext, shape: &[usize], terms: usize) -> Result<Self, CkksError> {
        check_terms(terms)?;
        let degree = x.params().degree();
        let result = Layout::new(shape, Encoding::Slots, degree)?;
        let entries = result.rows() * result.columns();
        if terms == 0 || !terms.is_multiple_of(entries) {
            return Err(CkksError::Shape {
                operation: CONTRACTION,
                left: vec![terms],
                right: shape.to_vec(),
                remedy: format!("give the same number of terms for each of {entries} entries"),
            });
        }
        // A row of the result starts where a row of lanes would, or a polynomial.
        let stride = result.capacity() * result.chunks();
        let numbers = if result.rows() == 1 { result.columns() } else { result.rows() * stride };
        let lanes = (x.params().slot_count() / numbers.next_power_of_two()).max(1);
        let count = terms / entries;
        let count = count.next_multiple_of(lanes.min(count.next_power_of_two()));
        let rows = in_lanes(&[count, numbers], degree)?;
        Ok(Self { result, shape: shape.to_vec(), rows, stride })
    }

    /// The entries of `x` at `places` as rows of terms.
    fn rows_of(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        places: &[usize],
    ) -> Result<Ciphertext, CkksError> {
        let (columns, numbers) = (self.result.columns(), self.rows.columns());
        let entries = self.result.rows() * columns;
        let mut sources = vec![None; self.rows.rows() * numbers];
        for (index, &place) in places.iter().enumerate() {
            let (term, entry) = (index / entries, index % entries);
            sources[term * numbers + entry / columns * self.stride + entry % columns] = Some(place);
        }
        gather(evaluator, x, &[self.rows.rows(), numbers], Some(self.rows), &sources)
    }

    /// The sum of all rows as the result.
    fn added(&self, evaluator: &Evaluator, terms: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let sums = evaluator.sum_of_rows(terms)?;
        let result = self.result;
        let lanes = (sums.layout().period() / result.capacity()).max(1);
        let layout =
            if result.rows() > 1 && result.chunks() == 1 { result.with_lanes(Some(lanes))? } else { result };
        let layout = layout.of_numbers(sums.is_complex()).with_padding(sums.padding());
        Ok(sums.rearranged(self.shape.clone(), layout))
    }
}
