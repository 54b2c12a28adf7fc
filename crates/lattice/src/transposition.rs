//! Transposition of an encrypted matrix whose rows are polynomials: from encryptions of `m_i = sum_j M[i][j] X^j` to encryptions of `sum_i M[i][j] X^i`.
//!
//! For the odd `h` modulo `2n`, the `n` automorphisms `phi_h: X -> X^h`,
//!
//! ```text
//! sum_i M[i][j] X^i  =  1/n sum_h X^(-j h) phi_h(F_(1/h)),        F_g = sum_i X^(i g) m_i
//! ```
//!
//! because `sum_h X^(h (c - j))` is `n` for `c = j` and 0 for the other `c` below `n`. The sums `F_g` for all `g`, and the outer sum for all `j`, are discrete Fourier
//! transforms whose roots of unity are powers of `X`: `n log n` sums of shifted polynomials each. So a transposition takes one automorphism for each row, all of them
//! different, and no other switch. Composed of about `2 sqrt(n)` automorphisms, each takes two or three switches.
//!
//! The rows are divided by `n` modulo the primes first, so errors of the rows keep their size; those of the switches, one for each `h`, add up.
//!
//! Source: the problem is that of Park (EUROCRYPT 2025), "Ciphertext-ciphertext matrix multiplication: fast for large matrices"; the formula is derived here.

use clathrate_arith::GaloisElement;

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::multiply::inverse_element;
use crate::poly::{Coeff, Eval};

/// A row of a matrix; absent rows are zero.
pub type Row = Option<Bundle<Coeff>>;

/// An automorphism `X -> X^(+-5^steps)`: a rotation of the slots, then perhaps a conjugation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The rotation, in `0..n/2`.
    pub steps: usize,
    /// Whether a conjugation follows.
    pub conjugate: bool,
}

impl Turn {
    /// All automorphisms of degree `degree`.
    pub fn all(degree: usize) -> impl Iterator<Item = Self> {
        (0..degree / 2).flat_map(|steps| [false, true].map(|conjugate| Self { steps, conjugate }))
    }

    /// `h`: the power of `X` that `X` is sent to.
    fn power(self, degree: usize) -> usize {
        let power = GaloisElement::rotation(self.steps as i64, degree).value();
        if self.conjugate { 2 * degree - power } else { power }
    }
}

/// The transposed matrix of the rows `rows`, one for each power of `X`; absent rows are zero. Of the result the rows `wanted` are computed.
///
/// `turn` applies an automorphism to the message of a bundle under the same secret. It is called for each automorphism but the identity.
///
/// # Errors
/// [`LatticeError::PolynomialCount`] unless there is an entry of `rows` and of `wanted` for each power of `X`; [`LatticeError::EmptyShape`] without any row; as
/// [`Bundle::check_same_shape`]; the errors of `turn`.
pub fn transpose<E: From<LatticeError>>(
    mut rows: Vec<Row>,
    wanted: &[bool],
    turn: &mut dyn FnMut(Turn, Bundle<Eval>) -> Result<Bundle<Eval>, E>,
) -> Result<Vec<Row>, E> {
    let first = rows.iter().flatten().next().ok_or(LatticeError::EmptyShape { what: "the number of rows", got: 0 })?;
    rows.iter().flatten().try_for_each(|row| first.check_same_shape(row))?;
    let (ring, basis) = (first.ring().clone(), first.basis().clone());
    let degree = ring.degree();
    for got in [rows.len(), wanted.len()] {
        if got != degree {
            return Err(LatticeError::PolynomialCount { what: "a transposed matrix", expected: degree, got }.into());
        }
    }
    let inverse = |&index: &usize| ring.moduli()[index].inverse(degree as u64).expect("the degree is a power of two, the primes are odd");
    let inverse: Vec<u64> = basis.indices().iter().map(inverse).collect();
    rows.iter_mut().flatten().for_each(|row| row.mul_constants_assign(&inverse));
    let mut sums = forward(rows, 1)?;
    let mut turned: Vec<Row> = (0..degree).map(|_| None).collect();
    for by in Turn::all(degree) {
        let power = by.power(degree);
        let element = GaloisElement::new(power, degree).map_err(LatticeError::from)?;
        let source = inverse_element(element, degree)?.value();
        let sum = sums[(source - 1) / 2].take();
        turned[(power - 1) / 2] = match sum {
            Some(sum) if power != 1 => Some(turn(by, sum.into_eval())?.into_coeff()),
            sum => sum,
        };
    }
    Ok(backward(turned, 1, wanted)?)
}

/// `F_h = sum_i X^(s h i) rows[i]` for the odd `h` below twice the number of rows, where `s` times that number is `n`; entry `(h - 1) / 2` of the result.
fn forward(rows: Vec<Row>, step: usize) -> Result<Vec<Row>, LatticeError> {
    let count = rows.len();
    if count == 1 || rows.iter().all(Option::is_none) {
        return Ok(rows);
    }
    let (mut even, mut odd) = (Vec::with_capacity(count / 2), Vec::with_capacity(count / 2));
    for (index, row) in rows.into_iter().enumerate() {
        if index % 2 == 0 { even.push(row) } else { odd.push(row) }
    }
    let (even, odd) = (forward(even, 2 * step)?, forward(odd, 2 * step)?);
    let (mut sums, mut differences) = (Vec::with_capacity(count), Vec::with_capacity(count / 2));
    for (index, (even, odd)) in even.into_iter().zip(odd).enumerate() {
        let (sum, difference) = butterfly(even, odd.map(|odd| shifted(&odd, step * (2 * index + 1))).transpose()?)?;
        sums.push(sum);
        differences.push(difference);
    }
    sums.append(&mut differences);
    Ok(sums)
}

/// The inverse of [`forward`], times the number of rows; rows that are not wanted are absent.
fn backward(mut sums: Vec<Row>, step: usize, wanted: &[bool]) -> Result<Vec<Row>, LatticeError> {
    let count = sums.len();
    if !wanted.contains(&true) {
        return Ok((0..count).map(|_| None).collect());
    }
    if count == 1 {
        return Ok(sums);
    }
    let degree = count * step;
    let second = sums.split_off(count / 2);
    let (mut even, mut odd) = (Vec::with_capacity(count / 2), Vec::with_capacity(count / 2));
    for (index, (first, second)) in sums.into_iter().zip(second).enumerate() {
        let (sum, difference) = butterfly(first, second)?;
        even.push(sum);
        odd.push(difference.map(|bundle| shifted(&bundle, 2 * degree - step * (2 * index + 1))).transpose()?);
    }
    let half = |parity: usize| wanted.iter().copied().skip(parity).step_by(2).collect::<Vec<_>>();
    let (even, odd) = (backward(even, 2 * step, &half(0))?, backward(odd, 2 * step, &half(1))?);
    Ok(even.into_iter().zip(odd).flat_map(|(even, odd)| [even, odd]).collect())
}

/// `x + y` and `x - y`, where absent bundles are zero.
fn butterfly(x: Row, y: Row) -> Result<(Row, Row), LatticeError> {
    Ok(match (x, y) {
        (None, None) => (None, None),
        (Some(x), None) => (Some(x.clone()), Some(x)),
        (None, Some(y)) => {
            let mut negative = y.clone();
            negative.negate_assign();
            (Some(y), Some(negative))
        }
        (Some(mut x), Some(y)) => {
            let difference = x.difference(&y)?;
            x.add_assign(&y)?;
            (Some(x), Some(difference))
        }
    })
}

/// `X^power` times the bundle.
fn shifted(bundle: &Bundle<Coeff>, power: usize) -> Result<Bundle<Coeff>, LatticeError> {
    Bundle::from_polys(bundle.view().mul_monomial(power), bundle.rank())
}
