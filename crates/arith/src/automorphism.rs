//! The ring automorphisms `X -> X^g`, in both domains.

use crate::error::ArithError;
use crate::kernels::blocks::BlockPermutation;
use crate::kernels::scalar::bit_reverse;
use crate::modulus::Modulus;

/// An odd exponent `g` below `2n`: the automorphism `X -> X^g`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GaloisElement(usize);

impl GaloisElement {
    /// Checks `element` at ring degree `degree`.
    ///
    /// # Errors
    /// [`ArithError::InvalidGaloisElement`] where it is even or not below `2 * degree`.
    pub fn new(element: usize, degree: usize) -> Result<Self, ArithError> {
        if element.is_multiple_of(2) || element >= 2 * degree {
            return Err(ArithError::InvalidGaloisElement { element, degree });
        }
        Ok(Self(element))
    }

    /// The element that rotates slots left by `steps` (right when negative): `5^steps mod 2n`.
    #[must_use]
    pub fn rotation(steps: i64, degree: usize) -> Self {
        let order = (degree / 2).max(1) as i64;
        let mask = 2 * degree - 1;
        let mut element = 1usize;
        let mut power = 5 & mask;
        let mut e = steps.rem_euclid(order);
        while e > 0 {
            if e & 1 == 1 {
                element = (element * power) & mask;
            }
            power = (power * power) & mask;
            e >>= 1;
        }
        Self(element)
    }

    /// The element of complex conjugation: `2n - 1`.
    #[must_use]
    pub fn conjugation(degree: usize) -> Self {
        Self(2 * degree - 1)
    }

    /// The exponent.
    #[must_use]
    pub const fn value(self) -> usize {
        self.0
    }
}

/// The precomputed permutation of one automorphism at one degree.
#[derive(Debug, Clone)]
pub struct Automorphism {
    element: GaloisElement,
    degree: usize,
    eval: EvalOrder,
}

/// The permutation of the Eval form.
#[derive(Debug, Clone)]
enum EvalOrder {
    /// `out[i] = in[source[i]]`, for degrees below a block.
    Words(Vec<u32>),
    /// A permutation of blocks of eight. The low three bits of slot `i = 8 b + j` are the top three of
    /// `brv(i)`, so its exponent `(2 brv(i) + 1) g mod 2n` has low bits that depend on `b` only: `b`
    /// determines the source block. The top three bits are `c_b + brv(j) g mod 8` for some `c_b`, so there
    /// are at most eight orders.
    Blocks(BlockPermutation),
}

impl Automorphism {
    /// Prepares `X -> X^g` at `degree`.
    #[must_use]
    pub fn new(element: GaloisElement, degree: usize) -> Self {
        let log = degree.trailing_zeros();
        let mask = 2 * degree - 1;
        // Slot i of the Eval form holds the value at psi^(2 brv(i) + 1); phi_g(a)(psi^e) = a(psi^(e g)).
        let source: Vec<u32> = (0..degree)
            .map(|i| {
                let exponent = ((2 * bit_reverse(i, log) + 1) * element.value()) & mask;
                bit_reverse((exponent - 1) / 2, log) as u32
            })
            .collect();
        let eval = BlockPermutation::recognise(&source).map_or(EvalOrder::Words(source), EvalOrder::Blocks);
        Self { element, degree, eval }
    }

    /// The Galois element.
    #[must_use]
    pub fn element(&self) -> GaloisElement {
        self.element
    }

    /// The degree that the automorphism was prepared for.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// `out <- phi(x)`, both rows in Eval form.
    pub fn apply_eval(&self, out: &mut [u64], x: &[u64]) {
        assert_eq!(out.len(), self.degree, "a row has as many words as the automorphism's degree");
        self.apply_eval_from(out, 0, x);
    }

    /// Writes words `start..start + out.len()` of `phi(x)`, for a row `x` in Eval form. `start` and the
    /// length are multiples of 8, or `out` is the complete row.
    pub fn apply_eval_from(&self, out: &mut [u64], start: usize, x: &[u64]) {
        match &self.eval {
            EvalOrder::Words(source) => {
                out.iter_mut()
                    .zip(&source[start..])
                    .for_each(|(target, &source)| *target = x[source as usize]);
            }
            EvalOrder::Blocks(permutation) => {
                assert_eq!(x.len(), self.degree, "a row has as many words as the automorphism's degree");
                permutation.apply_within(out, start, x, 0);
            }
        }
    }

    /// In Eval form, the aligned block of `phi(x)` at `start` is a permutation of an aligned block of `x`,
    /// because the low bits of an exponent determine the low bits of its multiples. Returns the first word of
    /// that block of `x`. `length`, the words of a block, is a power of two; `start` is a multiple of it.
    #[must_use]
    pub fn source_of(&self, start: usize, length: usize) -> usize {
        let word = match &self.eval {
            EvalOrder::Words(source) => source[start] as usize,
            EvalOrder::Blocks(permutation) => permutation.source_of(start),
        };
        word / length * length
    }

    /// [`Automorphism::apply_eval_from`] where `x` holds only the words from `from` on, the result of
    /// [`Automorphism::source_of`].
    pub fn apply_eval_within(&self, out: &mut [u64], start: usize, x: &[u64], from: usize) {
        match &self.eval {
            EvalOrder::Words(source) => {
                out.iter_mut()
                    .zip(&source[start..])
                    .for_each(|(target, &source)| *target = x[source as usize - from]);
            }
            EvalOrder::Blocks(permutation) => permutation.apply_within(out, start, x, from),
        }
    }

    /// `out <- phi(x)`, both rows in Coeff form.
    pub fn apply_coeff(&self, out: &mut [u64], x: &[u64], modulus: &Modulus) {
        let mask = 2 * self.degree - 1;
        let mut exponent = 0;
        for &value in x {
            let index = exponent & (self.degree - 1);
            out[index] = if exponent >= self.degree { modulus.neg(value) } else { value };
            exponent = (exponent + self.element.value()) & mask;
        }
    }
}

/// `out <- x * X^power` in Coeff form, `power` in `[0, 2n)`.
pub fn mul_monomial(out: &mut [u64], x: &[u64], power: usize, modulus: &Modulus) {
    let degree = x.len();
    let power = power % (2 * degree);
    let (shift, flip) = (power % degree, power >= degree);
    let signed = |value: u64, negative: bool| if negative { modulus.neg(value) } else { value };
    for (i, &value) in x.iter().enumerate() {
        let target = i + shift;
        if target < degree {
            out[target] = signed(value, flip);
        } else {
            out[target - degree] = signed(value, !flip);
        }
    }
}

/// Takes every `gap`-th coefficient starting at `offset`: the part of `x` in `X^offset Z[X^gap]`, as an
/// element of the subring of degree `x.len() / gap`.
pub fn subring_extract(out: &mut [u64], x: &[u64], gap: usize, offset: usize) {
    for (target, value) in out.iter_mut().zip(x[offset..].iter().step_by(gap)) {
        *target = *value;
    }
}

/// Writes `x` to every `gap`-th coefficient of `out` starting at `offset`: the embedding `x(X) -> X^offset
/// x(X^gap)`. The other coefficients of `out` keep their values.
pub fn subring_embed(out: &mut [u64], x: &[u64], gap: usize, offset: usize) {
    for (target, value) in out[offset..].iter_mut().step_by(gap).zip(x) {
        *target = *value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apply_eval_every_element_of_small_degrees_equals_the_definition() {
        for log in 0..=8u32 {
            let degree = 1usize << log;
            let x: Vec<u64> = (0..degree as u64).map(|i| 3 * i + 5).collect();
            for g in (1..2 * degree).step_by(2) {
                let automorphism = Automorphism::new(GaloisElement::new(g, degree).expect("odd"), degree);
                let mut out = vec![0; degree];
                automorphism.apply_eval(&mut out, &x);
                // The slot of psi^e is brv((e - 1) / 2); phi_g(a)(psi^e) = a(psi^(e g)).
                for e in (1..2 * degree).step_by(2) {
                    let slot = |exponent: usize| bit_reverse((exponent % (2 * degree)) / 2, log);
                    assert_eq!(out[slot(e)], x[slot(e * g)], "degree {degree}, g {g}, exponent {e}");
                }
            }
        }
    }

    #[test]
    fn apply_eval_large_degrees_go_by_blocks() {
        for log in [3u32, 10, 16, 17] {
            let degree = 1usize << log;
            for g in [1, 3, 5, 25 % (2 * degree), degree + 1, 2 * degree - 1] {
                let automorphism = Automorphism::new(GaloisElement::new(g, degree).expect("odd"), degree);
                assert!(matches!(automorphism.eval, EvalOrder::Blocks(_)), "degree {degree}, g {g}");
            }
        }
    }
}
