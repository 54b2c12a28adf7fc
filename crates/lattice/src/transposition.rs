//! Transposition of an encrypted matrix whose rows are polynomials: from encryptions of `m_i = sum_j M[i][j]
//! X^j` to encryptions of `sum_i M[i][j] X^i`.
//!
//! For the odd `h` modulo `2n`, the `n` automorphisms `phi_h: X -> X^h`,
//!
//! ```text
//! sum_i M[i][j] X^i  =  1/n sum_h X^(-j h) phi_h(F_(1/h)),        F_g = sum_i X^(i g) m_i
//! ```
//!
//! because `sum_h X^(h (c - j))` is `n` for `c = j` and 0 for the other `c` below `n`. So a transposition
//! takes `n` different automorphisms and no other switch. With keys for about `2 sqrt(n)` automorphisms, each
//! automorphism takes two or three switches.
//!
//! The sums are discrete Fourier transforms whose roots of unity are powers of `X`. In Eval form, each place
//! has a root `zeta`, and the value of `F_g` there is `sum_i zeta^(i g) m_i(zeta)`: a value of the polynomial
//! with the coefficients `m_i(zeta)`. So the sums at one place are a transform of the ring's degree, followed
//! by an automorphism that moves the value at `zeta^g` to place `g`. A transposition of words converts
//! between matrices whose rows are polynomials and matrices whose rows are places.
//!
//! The sums are divided by `n` modulo the primes before the automorphisms, so errors of the rows keep their
//! size. The errors of the `n` switches add up.
//!
//! Source: the problem is that of Park (EUROCRYPT 2025), "Ciphertext-ciphertext matrix multiplication: fast
//! for large matrices"; the formula is derived here.

use clathrate_arith::kernels::scalar::bit_reverse;
use clathrate_arith::{Automorphism, GaloisElement, RowsMut};

use crate::error::LatticeError;
use crate::multiply::inverse_element;
use crate::poly::{Coeff, Domain, Eval, Polys};

/// An automorphism `X -> X^(+-5^steps)`: a rotation of the slots, possibly followed by a conjugation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotAutomorphism {
    /// The rotation, in `0..n/2`.
    pub steps: usize,
    /// Whether a conjugation follows.
    pub conjugate: bool,
}

impl SlotAutomorphism {
    /// All automorphisms at degree `degree`.
    pub fn all(degree: usize) -> impl Iterator<Item = Self> {
        (0..degree / 2).flat_map(|steps| [false, true].map(|conjugate| Self { steps, conjugate }))
    }

    /// The exponent `h` of `X -> X^h`.
    fn power(self, degree: usize) -> usize {
        let power = GaloisElement::rotation(self.steps as i64, degree).value();
        if self.conjugate { 2 * degree - power } else { power }
    }
}

/// The rows `wanted` of the transposed matrix of `rows`, which has one entry for each power of `X`. Rows
/// `None` are zero. Every row has the same number of polynomials, such as mask and body of a ciphertext, and
/// each of them is transposed.
///
/// `automorphism` applies an automorphism to the message of a ciphertext under the same secret. It is called
/// for every automorphism, including the identity, and may return another number of polynomials than it gets:
/// a mask without a body counts as one with body 0.
///
/// Cost: a transform of each row's polynomials before the automorphisms and one after them, and two
/// transpositions of all words each.
///
/// # Errors
/// [`LatticeError::PolynomialCount`] where `rows` does not have an entry for each power of `X`, or rows have
/// different numbers of polynomials; [`LatticeError::EmptyShape`] where all rows are `None`;
/// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where rows differ; the errors of
/// `automorphism`.
pub fn transpose<E: From<LatticeError>>(
    rows: Vec<Option<Polys<Eval>>>,
    wanted: &[usize],
    automorphism: &mut dyn FnMut(SlotAutomorphism, Polys<Eval>) -> Result<Polys<Eval>, E>,
) -> Result<Vec<Polys<Eval>>, E> {
    let first = rows
        .iter()
        .flatten()
        .next()
        .ok_or(LatticeError::EmptyShape { what: "the number of rows", got: 0 })?;
    let (ring, basis, count) = (first.ring().clone(), first.basis().clone(), first.len());
    let degree = ring.degree();
    let rows: Vec<Polys<Eval>> =
        rows.into_iter().map(|row| row.unwrap_or_else(|| Polys::zero(&ring, &basis, count))).collect();
    let mut sums: Vec<Option<Polys<Eval>>> = sums(rows)?.into_iter().map(Some).collect();
    let inverse = |&index: &usize| {
        ring.moduli()[index].inverse(degree as u64).expect("the degree is a power of two, the primes are odd")
    };
    let inverse: Vec<u64> = basis.indices().iter().map(inverse).collect();
    // The place whose root is psi^power. Lists are in the order of places.
    let place = |power: usize| bit_reverse((power - 1) / 2, degree.trailing_zeros());
    let mut automorphic: Vec<Option<Polys<Eval>>> = (0..degree).map(|_| None).collect();
    for by in SlotAutomorphism::all(degree) {
        let power = by.power(degree);
        let source =
            inverse_element(GaloisElement::new(power, degree).map_err(LatticeError::from)?, degree)?.value();
        let Some(mut sum) = sums[place(source)].take() else { continue };
        sum.view_mut().mul_constants_assign(&inverse);
        automorphic[place(power)] = Some(automorphism(by, sum)?);
    }
    let mut result: Vec<Option<Polys<Eval>>> =
        columns(automorphic.into_iter().flatten().collect())?.into_iter().map(Some).collect();
    let factor: Vec<u64> =
        basis.indices().iter().map(|&index| ring.moduli()[index].reduce(degree as u64)).collect();
    let take = |&row: &usize| {
        let got = result.get_mut(row).and_then(Option::take);
        let mut polys = got.ok_or(LatticeError::PolynomialCount {
            what: "a transposed matrix",
            expected: degree,
            got: row + 1,
        })?;
        polys.view_mut().mul_constants_assign(&factor);
        Ok(polys)
    };
    wanted.iter().map(take).collect()
}

/// Transposes the words: polynomial `c` of the result has, modulo each prime, word `c` of every row.
fn transpose_words<D: Domain>(rows: &mut [Polys<D>]) -> Result<(), LatticeError> {
    let Some(first) = rows.first() else { return Ok(()) };
    let (ring, basis, count) = (first.ring().clone(), first.basis().clone(), first.len());
    let (expected, got) = (ring.degree(), rows.len());
    if got != expected || rows.iter().any(|row| row.len() != count) {
        return Err(LatticeError::PolynomialCount { what: "a transposed matrix", expected, got });
    }
    if let Some(other) = rows.iter().find(|row| !row.ring().same_as(&ring)) {
        return Err(LatticeError::RingMismatch { left: expected, right: other.ring().degree() });
    }
    if let Some(other) = rows.iter().find(|row| *row.basis() != basis) {
        return Err(LatticeError::BasisMismatch { left: basis.len(), right: other.basis().len() });
    }
    let mut rows: Vec<RowsMut<'_>> = rows.iter_mut().map(|polys| polys.view_mut().into_rows()).collect();
    ring.engine().transpose(&mut rows);
    Ok(())
}

/// `X -> X^e`, or its inverse, where `psi^e` is the root of place `place` in Eval form.
fn automorphism_of(place: usize, degree: usize, inverse: bool) -> Result<Automorphism, LatticeError> {
    let element = GaloisElement::new(2 * bit_reverse(place, degree.trailing_zeros()) + 1, degree)?;
    Ok(Automorphism::new(if inverse { inverse_element(element, degree)? } else { element }, degree))
}

/// `F_g = sum_i X^(i g) rows[i]`, for the powers `g` in the order of places.
fn sums(mut rows: Vec<Polys<Eval>>) -> Result<Vec<Polys<Eval>>, LatticeError> {
    transpose_words(&mut rows)?;
    let values = |(place, column): (usize, Polys<Eval>)| {
        // The words at one place are coefficients now.
        let values = column.read_as::<Coeff>().into_eval();
        Ok(values.view().automorphism(&automorphism_of(place, values.ring().degree(), false)?))
    };
    let mut sums = rows.into_iter().enumerate().map(values).collect::<Result<Vec<_>, LatticeError>>()?;
    transpose_words(&mut sums)?;
    Ok(sums)
}

/// `1/n sum_h X^(-j h) automorphic[h]` for all `j`; `automorphic` is in the order of places.
fn columns(mut automorphic: Vec<Polys<Eval>>) -> Result<Vec<Polys<Eval>>, LatticeError> {
    transpose_words(&mut automorphic)?;
    let coefficients = |(place, column): (usize, Polys<Eval>)| {
        let column = column.view().automorphism(&automorphism_of(place, column.ring().degree(), true)?);
        Ok(column.into_coeff().read_as::<Eval>())
    };
    let mut columns =
        automorphic.into_iter().enumerate().map(coefficients).collect::<Result<Vec<_>, LatticeError>>()?;
    transpose_words(&mut columns)?;
    Ok(columns)
}
