//! The cosine polynomials of the modular reduction: fitted offline near whole numbers, or interpolated if
//! there is no fit for the range, degree and double angles.

use std::f64::consts::PI;

use serde::Deserialize;

use crate::circuits::polynomial::{Polynomial, PolynomialBasis};
use crate::error::CkksError;

/// Written by `scripts/fit_cosine.py`.
const FITS: &str = include_str!("../../../data/cosine.toml");

#[derive(Deserialize)]
struct File {
    cosine: Vec<Fit>,
}

#[derive(Deserialize)]
struct Fit {
    range: usize,
    degree: usize,
    doublings: usize,
    /// Coefficients of `T_0, T_2, ..`.
    even: Vec<f64>,
}

/// An even polynomial that approximates `cos(2 pi R t / 2^doublings)`, with `R = range - 3/4`, near the
/// points `t = (x - 1/4) / R` for whole numbers `x` of magnitude below `range`.
pub(super) fn cosine(range: usize, degree: usize, doublings: usize) -> Result<Polynomial, CkksError> {
    let file: File = toml::from_str(FITS).map_err(|error| CkksError::InvalidParams {
        reason: format!("the file of cosine polynomials: {error}"),
    })?;
    let fit = file
        .cosine
        .into_iter()
        .find(|fit| (fit.range, fit.degree, fit.doublings) == (range, degree, doublings));
    let coefficients: Vec<f64> = match fit {
        Some(fit) => fit.even.into_iter().flat_map(|c| [c, 0.0]).take(degree + 1).collect(),
        None => {
            let frequency = 2.0 * PI * radius(range) / (doublings as f64).exp2();
            let interpolant = Polynomial::fit(|t: f64| (frequency * t).cos(), degree, (-1.0, 1.0))?;
            // The function is even; the interpolant's odd coefficients are rounding errors.
            interpolant
                .coefficients()
                .iter()
                .enumerate()
                .map(|(index, c)| if index % 2 == 0 { c.re } else { 0.0 })
                .collect()
        }
    };
    Polynomial::new(coefficients, PolynomialBasis::Chebyshev, (-1.0, 1.0))
}

/// The largest magnitude of `x - 1/4`, for integer parts of magnitude below `range` and messages much smaller
/// than 1/4.
pub(super) fn radius(range: usize) -> f64 {
    range as f64 - 0.75
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_are_cosines_near_whole_numbers() {
        let file: File = toml::from_str(FITS).expect("the file");
        assert!(file.cosine.len() >= 5);
        for Fit { range, degree, doublings, .. } in file.cosine {
            let polynomial = cosine(range, degree, doublings).expect("polynomial");
            assert_eq!(polynomial.degree(), degree);
            let most = range as i64 - 1;
            for x in -most..=most {
                let x = x as f64;
                let expected = (2.0 * PI * (x - 0.25) / (doublings as f64).exp2()).cos();
                let error = (polynomial.evaluate_real((x - 0.25) / radius(range)) - expected).abs();
                assert!(
                    error < 1e-6,
                    "range {range}, degree {degree}, {doublings} double angles, x = {x}: {error:e}"
                );
            }
        }
    }
}
