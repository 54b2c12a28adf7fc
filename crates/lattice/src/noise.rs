//! Closed formulas for the noise of each operation, as variances per coefficient.
//!
//! Model: error coefficients are independent and centred; residues modulo a large number are uniform. Every
//! figure is the *variance* of one coefficient of the phase error, in units of the plaintext's integers.
//! [`bound`] converts a variance to a bound that holds for all coefficients with a given probability. Tests
//! compare measured noise of every operation with these formulas.
//!
//! The `canonical_` figures are heuristic bounds from the literature on the canonical embedding norm, the
//! largest `|e(zeta)|` over the roots `zeta` of `X^n + 1`. The variance of `e(zeta)` is `n` times a
//! coefficient's variance. The rules are: 6 standard deviations bound one value, 16 times the product of two
//! standard deviations bounds a product of two values, and the bound of a sum is the sum of the bounds.
//! [dpad-he, sec. A.1]

use crate::sampling::{ERROR_BOUND, ERROR_STANDARD_DEVIATION};
use crate::shape::{Degree, Rank};

/// A digit as the noise of its product with a key sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseDigit {
    /// The binary logarithm of the digit's size `D`.
    pub log2_size: f64,
    /// The number of key components whose sum the digit is multiplied with: more than one for merged digits.
    pub components: usize,
}

/// What the noise of a switch depends on besides the shapes and the secret.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseDigits {
    /// The digits that are multiplied with the key.
    pub digits: Vec<NoiseDigit>,
    /// The binary logarithm of the special modulus `P`, by which the products are divided.
    pub log2_special: f64,
}

impl NoiseDigits {
    /// Unmerged digits: each is multiplied with one key component.
    #[must_use]
    pub fn unmerged(log2_digits: &[f64], log2_special: f64) -> Self {
        let digits = log2_digits.iter().map(|&log2_size| NoiseDigit { log2_size, components: 1 }).collect();
        Self { digits, log2_special }
    }
}

/// The properties of a shape and its secret that noise formulas depend on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseModel {
    /// Ring degree `n`.
    pub degree: usize,
    /// Rank `k`.
    pub rank: usize,
    /// Expected square of one secret coefficient (2/3 for uniform ternary).
    pub secret_variance: f64,
}

impl NoiseModel {
    /// `k n E[s^2]`: expected squared norm of one body's secret.
    #[must_use]
    pub fn secret_norm(&self) -> f64 {
        (self.rank * self.degree) as f64 * self.secret_variance
    }

    /// A fresh encryption with the secret key: `sigma^2`.
    #[must_use]
    pub fn fresh_secret(&self) -> f64 {
        ERROR_STANDARD_DEVIATION.powi(2)
    }

    /// A fresh encryption with the public key: `sigma^2 (1 + ||s||^2 + k n 2/3)` for a ternary ephemeral.
    #[must_use]
    pub fn fresh_public(&self) -> f64 {
        let ephemeral = (self.rank * self.degree) as f64 * 2.0 / 3.0;
        ERROR_STANDARD_DEVIATION.powi(2) * (1.0 + self.secret_norm() + ephemeral)
    }

    /// Rounding every polynomial of a bundle to an integer: `(1 + ||s||^2) / 12`.
    #[must_use]
    pub fn rounding(&self) -> f64 {
        (1.0 + self.secret_norm()) / 12.0
    }

    /// A rescale by `D`: `v / D^2` plus [the rounding](NoiseModel::rounding).
    #[must_use]
    pub fn rescale(&self, variance: f64, log2_divisor: f64) -> f64 {
        variance * (-2.0 * log2_divisor).exp2() + self.rounding()
    }

    /// A product with a plaintext polynomial of mean square coefficient `mean_square`: `v n mean_square`.
    #[must_use]
    pub fn multiply_plain(&self, variance: f64, mean_square: f64) -> f64 {
        variance * self.degree as f64 * mean_square
    }

    /// A product of two ciphertexts before relinearisation: `n (v_x m_y + v_y m_x + v_x v_y)` with `m` the
    /// mean squares of the messages' coefficients.
    #[must_use]
    pub fn multiply(&self, x: (f64, f64), y: (f64, f64)) -> f64 {
        let ((variance_x, square_x), (variance_y, square_y)) = (x, y);
        self.degree as f64 * (variance_x * square_y + variance_y * square_x + variance_x * variance_y)
    }

    /// The noise of the products of a switch of `inputs` polynomials, over the extended modulus, before the
    /// mod-down: `sigma^2 R n sum_j D_j^2 / 12` for digits of the given sizes.
    #[must_use]
    pub fn switch_products(&self, inputs: usize, log2_digits: &[f64]) -> f64 {
        self.coalesced_products(inputs, &NoiseDigits::unmerged(log2_digits, 0.0))
    }

    /// [`NoiseModel::switch_products`] for merged digits of size `D_j`, each multiplied with the sum of
    /// `len_j` key components: `sigma^2 R n sum_j len_j D_j^2 / 12`, because the errors of the components add
    /// up. Source: [level-aware, sec. 4.3, Noise Analysis]; differs: variances, not maxima.
    #[must_use]
    pub fn coalesced_products(&self, inputs: usize, digits: &NoiseDigits) -> f64 {
        self.products_divided(inputs, &digits.digits, 0.0)
    }

    /// [`NoiseModel::coalesced_products`] divided by `P^2`. Each digit is divided before it is squared,
    /// because the square of a digit of 512 or more bits overflows a double.
    #[must_use]
    pub fn products_over(&self, inputs: usize, digits: &NoiseDigits) -> f64 {
        self.products_divided(inputs, &digits.digits, digits.log2_special)
    }

    fn products_divided(&self, inputs: usize, digits: &[NoiseDigit], log2_divisor: f64) -> f64 {
        let digits: f64 = digits
            .iter()
            .map(|digit| digit.components as f64 * (2.0 * (digit.log2_size - log2_divisor)).exp2())
            .sum();
        ERROR_STANDARD_DEVIATION.powi(2) * (inputs * self.degree) as f64 * digits / 12.0
    }

    /// The noise that a switch adds: the noise of its products, divided by `P^2`, plus the rounding of the
    /// mod-down.
    #[must_use]
    pub fn switch(&self, inputs: usize, log2_digits: &[f64], log2_special: f64) -> f64 {
        self.coalesced_switch(inputs, &NoiseDigits::unmerged(log2_digits, log2_special))
    }

    /// The noise that a switch adds with merged digits.
    #[must_use]
    pub fn coalesced_switch(&self, inputs: usize, digits: &NoiseDigits) -> f64 {
        self.products_over(inputs, digits) + self.rounding()
    }

    /// The noise that a cross-relinearisation with one mod-down adds: the products of the first stage divided
    /// by `P^`, the rounding of the `high` polynomials that the rank-down switches, the products of the
    /// rank-down divided by `P`, and the rounding of the result. Source: [dpad-he, sec. 3.4]; differs:
    /// variances, not maxima.
    #[must_use]
    pub fn cross_relinearisation(
        &self,
        inputs: usize,
        wide: &NoiseDigits,
        high: usize,
        base: &NoiseDigits,
    ) -> f64 {
        let high_rounding = (high * self.degree) as f64 * self.secret_variance / 12.0;
        self.products_over(inputs, wide) + high_rounding + self.coalesced_switch(high, base)
    }

    /// The noise that `count` rotations at a temporary rank and the rank-down add: for each rotation, the
    /// products of a switch divided by `P^` and the rounding at rank `k^ = k + high`; then a switch with
    /// special modulus `P`. The first rotation has `k` non-zero inputs, the others have `k^`. Source:
    /// [dpad-he, Algorithm 2]
    #[must_use]
    pub fn rank_hoisted_rotation(
        &self,
        count: usize,
        wide: &NoiseDigits,
        high: usize,
        base: &NoiseDigits,
    ) -> f64 {
        let Some(further) = count.checked_sub(1) else { return 0.0 };
        let at_high = Self { rank: self.rank + high, ..*self };
        let products = self.products_over(self.rank + further * at_high.rank, wide);
        products + count as f64 * at_high.rounding() + self.coalesced_switch(high, base)
    }

    /// A worst-case bound of every coefficient of a switch's error, for all ternary secrets and all errors:
    ///
    /// ```text
    /// (1 + k n) / 2  +  R n ||e|| sum_j len_j D_j / (2 P)
    /// ```
    ///
    /// The first term bounds the roundings of body and mask. The second bounds the products of digits, at
    /// most `D_j / 2`, with sums of `len_j` errors, each at most `||e||`, which is [`ERROR_BOUND`]. Source:
    /// [level-aware, sec. 4.3, Noise Analysis]; differs: any rank and number of inputs, each digit with its
    /// own size, no slack of 1 (the division rounds to the nearest).
    #[must_use]
    pub fn switch_limit(&self, inputs: usize, digits: &NoiseDigits) -> f64 {
        let rounding = (1.0 + (self.rank * self.degree) as f64) / 2.0;
        rounding + self.products_limit(inputs, digits)
    }

    fn products_limit(&self, inputs: usize, NoiseDigits { digits, log2_special }: &NoiseDigits) -> f64 {
        let digits: f64 = digits
            .iter()
            .map(|digit| digit.components as f64 * (digit.log2_size - log2_special).exp2())
            .sum();
        (inputs * self.degree) as f64 * ERROR_BOUND as f64 * digits / 2.0
    }

    /// [`NoiseModel::switch_limit`] for a cross-relinearisation with one mod-down: the products of the first
    /// stage, the rounding of the polynomials that the rank-down switches, and the switch of the rank-down.
    #[must_use]
    pub fn cross_relinearisation_limit(
        &self,
        inputs: usize,
        wide: &NoiseDigits,
        high: usize,
        base: &NoiseDigits,
    ) -> f64 {
        let high_rounding = (high * self.degree) as f64 / 2.0;
        self.products_limit(inputs, wide) + high_rounding + self.switch_limit(high, base)
    }

    /// [`NoiseModel::switch_limit`] for the rotations of [`NoiseModel::rank_hoisted_rotation`].
    #[must_use]
    pub fn rank_hoisted_rotation_limit(
        &self,
        count: usize,
        wide: &NoiseDigits,
        high: usize,
        base: &NoiseDigits,
    ) -> f64 {
        let at_high = Self { rank: self.rank + high, ..*self };
        count as f64 * at_high.switch_limit(at_high.rank, wide) + self.switch_limit(high, base)
    }

    /// The heuristic bound of a switch's error in the canonical embedding norm:
    ///
    /// ```text
    /// 8 d sigma R n max_j D_j / (sqrt(3) P)  +  sqrt(3 n)  +  16 k n sqrt(E[s^2] / 12)
    /// ```
    ///
    /// The terms are `16 sigma n D / sqrt(12)` for each of the `d R` products of a digit and an error, `6
    /// sqrt(n / 12)` for the rounding of the body, and one product of a rounding and a secret for each mask
    /// polynomial. The last term is `8 sqrt(2) k n / 3` for ternary secrets, whose variance is 2/3. For a
    /// digit merged from `len` base digits, the error is `sqrt(len)` times as large. Source: [dpad-he, Lemma
    /// 3.1]; differs: the lemma's proof prints the bound of a product as `16 sigma_1 sigma_2 n^2` and the
    /// body's rounding as `sqrt(3) n`, but continues with `n` and `sqrt(3 n)`, which are used here.
    #[must_use]
    pub fn canonical_switch(&self, inputs: usize, digits: &NoiseDigits) -> f64 {
        self.canonical_products(inputs, digits) + self.canonical_rounding()
    }

    fn canonical_products(&self, inputs: usize, NoiseDigits { digits, log2_special }: &NoiseDigits) -> f64 {
        let largest = digits
            .iter()
            .map(|digit| (digit.components as f64).sqrt() * (digit.log2_size - log2_special).exp2())
            .fold(0.0, f64::max);
        let products = (digits.len() * inputs * self.degree) as f64;
        8.0 / 3f64.sqrt() * ERROR_STANDARD_DEVIATION * products * largest
    }

    fn canonical_rounding(&self) -> f64 {
        let (degree, mask) = (self.degree as f64, (self.rank * self.degree) as f64);
        (3.0 * degree).sqrt() + 16.0 * mask * (self.secret_variance / 12.0).sqrt()
    }

    /// [`NoiseModel::canonical_switch`] for a cross-relinearisation: a switch of `inputs` polynomials to rank
    /// `k^ = k + high`, then one of `high` polynomials to rank `k`.
    ///
    /// ```text
    /// 8 mu sigma R n max_j D^_j / (sqrt(3) P^)  +  8 d sigma (k^ - k) n max_j D_j / (sqrt(3) P)  +  2 sqrt(3 n)  +  16 (k^ + k) n sqrt(E[s^2] / 12)
    /// ```
    ///
    /// This bound counts the roundings of two mod-downs. The cross-relinearisation of this crate rounds every
    /// polynomial only once, so its bound by the same rules would be smaller by `sqrt(3 n)` and `16 k n
    /// sqrt(E[s^2] / 12)`. Source: [dpad-he, Lemma 3.2].
    #[must_use]
    pub fn canonical_cross_relinearisation(
        &self,
        inputs: usize,
        wide: &NoiseDigits,
        high: usize,
        base: &NoiseDigits,
    ) -> f64 {
        let at_high = Self { rank: self.rank + high, ..*self };
        at_high.canonical_switch(inputs, wide) + self.canonical_switch(high, base)
    }
}

/// The difference of [`NoiseModel::canonical_switch`] and [`NoiseModel::canonical_cross_relinearisation`] for
/// a relinearisation of ternary secrets at rank `k`, where digits are as large as the special moduli:
///
/// ```text
/// (4 / sqrt(3)) sigma n ((d - mu) k (k + 1) - 2 d (k^ - k))  -  sqrt(3 n)  -  8 sqrt(2) k^ n / 3
/// ```
///
/// Source: [dpad-he, sec. 3.4]; differs: the paper leaves out `sigma`, `2 d (k^ - k)` and `sqrt(3 n)`. The
/// noise of the rank-down's products is of the same order as the gain: with `k^ = 2 k` there is a gain only
/// if `d (k - 1) > mu (k + 1)`, so never at rank 1.
#[must_use]
pub fn canonical_gain(Degree(degree): Degree, ranks: (Rank, Rank), digits: usize, wide_digits: usize) -> f64 {
    let ((Rank(rank), Rank(high)), degree) = (ranks, degree as f64);
    let products = (digits as f64 - wide_digits as f64) * (rank * (rank + 1)) as f64
        - 2.0 * (digits * (high - rank)) as f64;
    4.0 / 3f64.sqrt() * ERROR_STANDARD_DEVIATION * degree * products
        - (3.0 * degree).sqrt()
        - 8.0 * 2f64.sqrt() / 3.0 * high as f64 * degree
}

/// A bound for `count` centred near-Gaussian coefficients of the given variance that fails with probability
/// at most `2^-log2_failure`: `sqrt(2 ln 2 (log2_failure + log2(count) + 1) v)` (union and Chernoff bounds).
#[must_use]
pub fn bound(variance: f64, count: usize, log2_failure: f64) -> f64 {
    (2.0 * std::f64::consts::LN_2 * (log2_failure + (count as f64).log2() + 1.0) * variance).sqrt()
}
