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

use super::EncryptedArray;
use crate::arrays::{Ciphertext, Encoding, Layout};
use crate::circuits::linear::gather::gather;
use crate::error::CkksError;
use crate::evaluation::Evaluator;

/// The operation's name in errors.
const CONTRACTION: &str = "a sum of products of encrypted numbers";

/// Maximum of the products in all sums: their places are lists in memory.
pub(super) const MAX_TERMS: usize = 1 << 22;

/// Refuses sums of more products than [`MAX_TERMS`].
pub(super) fn check_terms(count: usize) -> Result<(), CkksError> {
    if count <= MAX_TERMS {
        return Ok(());
    }
    let remedy = format!("at most {MAX_TERMS}: take the sums in parts");
    Err(CkksError::OutOfRange { what: "the products of encrypted numbers", value: count.to_string(), remedy })
}

/// The entries of both factors of each term.
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
        let holder = self.holder(other);
        let evaluator = &holder.evaluator;
        let slots =
            |own: &Self| Ok::<_, CkksError>(own.brought_to_slots(holder)?.unwrap_or_else(|| own.clone()));
        let (left, right) = (slots(self)?.settled_by(evaluator)?, slots(other)?.settled_by(evaluator)?);
        left.check_room_for_another(CONTRACTION)?;
        holder.beside(contract(evaluator, &left, &right, shape, terms)?)
    }
}

fn contract(
    evaluator: &Evaluator,
    x: &Ciphertext,
    y: &Ciphertext,
    shape: &[usize],
    terms: Terms<'_>,
) -> Result<Ciphertext, CkksError> {
    check_terms(terms.left.len())?;
    let result = Layout::new(shape, Encoding::Slots, x.params().degree())?;
    let entries = result.rows() * result.columns();
    if terms.left.len() != terms.right.len()
        || terms.left.is_empty()
        || !terms.left.len().is_multiple_of(entries)
    {
        return Err(CkksError::Shape {
            operation: CONTRACTION,
            left: vec![terms.left.len()],
            right: vec![terms.right.len()],
            remedy: format!("give the same number of factors on both sides for each of {entries} entries"),
        });
    }
    // A row of the result starts where a row of lanes would, or a polynomial.
    let stride = result.capacity() * result.chunks();
    let numbers = if result.rows() == 1 { result.columns() } else { result.rows() * stride };
    let slots = x.params().slot_count();
    let lanes = (slots / numbers.next_power_of_two()).max(1);
    let count = terms.left.len() / entries;
    let rows = count.next_multiple_of(lanes.min(count.next_power_of_two()));
    let wide = Layout::new(&[rows, numbers], Encoding::Slots, x.params().degree())?;
    let wide = if wide.chunks() == 1 { wide.with_lanes(None)? } else { wide };
    let factors = |x: &Ciphertext, places: &[usize]| {
        let mut sources = vec![None; rows * numbers];
        for (index, &place) in places.iter().enumerate() {
            let (term, entry) = (index / entries, index % entries);
            let at = entry / result.columns() * stride + entry % result.columns();
            sources[term * numbers + at] = Some(place);
        }
        gather(evaluator, x, &[rows, numbers], Some(wide), &sources)
    };
    let (left, right) = (factors(x, terms.left)?, factors(y, terms.right)?);
    let sums = evaluator.sum_of_rows(&evaluator.multiply(&left, &right)?)?;
    let lanes = (sums.layout().period() / result.capacity()).max(1);
    let layout =
        if result.rows() > 1 && result.chunks() == 1 { result.with_lanes(Some(lanes))? } else { result };
    let layout = layout.of_numbers(sums.is_complex()).with_padding(sums.padding());
    Ok(sums.rearranged(shape.to_vec(), layout))
}
