//! Closed-form noise: variances per coefficient, named like the operations they describe.
//!
//! Model: error coefficients are independent and centred; residues modulo a large number are uniform. Every figure is the
//! *variance* of one coefficient of the phase error, in units of the plaintext's integers. [`bound`] turns a variance into a bound
//! that holds for all coefficients with a stated probability. Tests measure every operation against these.

use crate::sampling::{ERROR_BOUND, ERROR_STANDARD_DEVIATION};

/// What a formula needs to know of a shape and its secret.
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

    /// A rescale by `D`: `v / D^2` plus the rounding.
    #[must_use]
    pub fn rescale(&self, variance: f64, log2_divisor: f64) -> f64 {
        variance * (-2.0 * log2_divisor).exp2() + self.rounding()
    }

    /// A product with a plaintext polynomial of mean square coefficient `mean_square`: `v n mean_square`.
    #[must_use]
    pub fn multiply_plain(&self, variance: f64, mean_square: f64) -> f64 {
        variance * self.degree as f64 * mean_square
    }

    /// A product of two ciphertexts before relinearisation: `n (v_x m_y + v_y m_x + v_x v_y)` with `m` the mean squares of the
    /// messages' coefficients.
    #[must_use]
    pub fn multiply(&self, x: (f64, f64), y: (f64, f64)) -> f64 {
        let ((variance_x, square_x), (variance_y, square_y)) = (x, y);
        self.degree as f64 * (variance_x * square_y + variance_y * square_x + variance_x * variance_y)
    }

    /// What a switch of `inputs` polynomials adds before its mod-down, over the extended modulus:
    /// `sigma^2 R n sum_j D_j^2 / 12` for digits of the given sizes.
    #[must_use]
    pub fn switch_products(&self, inputs: usize, log2_digits: &[f64]) -> f64 {
        self.coalesced_products(inputs, &single(log2_digits))
    }

    /// The same for digits that meet a sum of several components of the key each, `(log2 D_j, len_j)`: `sigma^2 R n sum_j len_j D_j^2 / 12`.
    /// A sum of components has the sum of their errors. Source: [level-aware, sec. 4.3, Noise Analysis]; differs: variances, not maxima.
    #[must_use]
    pub fn coalesced_products(&self, inputs: usize, digits: &[(f64, usize)]) -> f64 {
        let digits: f64 = digits.iter().map(|&(bits, components)| components as f64 * (2.0 * bits).exp2()).sum();
        ERROR_STANDARD_DEVIATION.powi(2) * (inputs * self.degree) as f64 * digits / 12.0
    }

    /// What a whole switch adds: its products over `P^2`, plus the rounding of the mod-down.
    #[must_use]
    pub fn switch(&self, inputs: usize, log2_digits: &[f64], log2_special: f64) -> f64 {
        self.coalesced_switch(inputs, &single(log2_digits), log2_special)
    }

    /// What a whole switch adds with digits as in [`NoiseModel::coalesced_products`].
    #[must_use]
    pub fn coalesced_switch(&self, inputs: usize, digits: &[(f64, usize)], log2_special: f64) -> f64 {
        self.coalesced_products(inputs, digits) * (-2.0 * log2_special).exp2() + self.rounding()
    }

    /// What a cross-relinearisation adds, both stages with one mod-down: the first one's products over `P^`, the rounding of the `high` polynomials
    /// that come down, the second one's products over `P`, the rounding of the result. Source: [dpad-he, sec. 3.4]; differs: variances, not maxima.
    #[must_use]
    pub fn crossing(&self, inputs: usize, wide: (&[(f64, usize)], f64), high: usize, base: (&[(f64, usize)], f64)) -> f64 {
        let products =
            |inputs, (digits, log2_special): (&[(f64, usize)], f64)| self.coalesced_products(inputs, digits) * (-2.0 * log2_special).exp2();
        let high_rounding = (high * self.degree) as f64 * self.secret_variance / 12.0;
        products(inputs, wide) + high_rounding + products(high, base) + self.rounding()
    }

    /// What no coefficient of a switch's error exceeds, whatever the randomness, for ternary secrets:
    ///
    /// ```text
    /// (1 + k n) / 2  +  R n ||e|| sum_j len_j D_j / (2 P)
    /// ```
    ///
    /// the roundings of body and mask, and digits of at most `D_j / 2` times `len_j` errors of at most `||e||`, [`ERROR_BOUND`].
    /// Source: [level-aware, sec. 4.3, Noise Analysis]; differs: any rank and number of inputs, each digit with its own size, no slack of 1
    /// (the division rounds to the nearest).
    #[must_use]
    pub fn switch_limit(&self, inputs: usize, digits: &[(f64, usize)], log2_special: f64) -> f64 {
        let rounding = (1.0 + (self.rank * self.degree) as f64) / 2.0;
        let digits: f64 = digits.iter().map(|&(bits, components)| components as f64 * (bits - log2_special).exp2()).sum();
        rounding + (inputs * self.degree) as f64 * ERROR_BOUND as f64 * digits / 2.0
    }
}

/// Digits that meet one component each.
fn single(log2_digits: &[f64]) -> Vec<(f64, usize)> {
    log2_digits.iter().map(|&bits| (bits, 1)).collect()
}

/// A bound for `count` centred near-Gaussian coefficients of the given variance that fails with probability at most
/// `2^-log2_failure`: `sqrt(2 ln 2 (log2_failure + log2(count) + 1) v)` (union and Chernoff bounds).
#[must_use]
pub fn bound(variance: f64, count: usize, log2_failure: f64) -> f64 {
    (2.0 * std::f64::consts::LN_2 * (log2_failure + (count as f64).log2() + 1.0) * variance).sqrt()
}
