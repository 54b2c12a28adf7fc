//! Random polynomials of a ciphertext, with digits of one prime at all levels and with the plan.
//! [level-aware, Table 4]
//!
//! Uses only the parameters and the scheme's evaluator, whose switchers are compared.

use std::sync::Arc;
use std::time::Instant;

use clathrate_ckks::circuits::polynomial::UNIT_DOMAIN;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::Values;
use clathrate_ckks::parameters::Switching;
use clathrate_ckks::{
    Encoding, Evaluator, KeyNeeds, Params, Plaintext, Polynomial, PolynomialBasis, Runtime, SecretKey,
};
use clathrate_lattice::switch::SwitchMethod;
use serde_json::json;

use super::POLYNOMIAL;
use super::setting::params;
use crate::failure::Failure;
use crate::timing::{Extra, Timer};
use clathrate_arith::sequence::numbers;

/// The set of [level-aware, Table 4].
pub const PRESET: &str = "level_aware";

/// Degrees of the paper's polynomials.
const DEGREES: [usize; 3] = [8, 16, 32];

/// Both bases: the paper's, and the one for approximations.
const BASES: [PolynomialBasis; 2] = [PolynomialBasis::Power, PolynomialBasis::Chebyshev];

/// Largest error of a slot with which a row is printed: far above the noise at degree 2^16 and a scale of
/// 2^44.
const TOLERANCE: f64 = 1e-4;

/// Measures degrees 8, 16, 32 in both bases, from the highest level.
pub fn run(timer: &Timer<'_>, preset: &str, runtime: &Runtime) -> Result<(), Failure> {
    for (keys, switching) in
        [("fixed", Switching::Fixed(SwitchMethod::hybrid(1))), ("planned", Switching::Fastest)]
    {
        let params = params(timer, preset, &Runtime { switching, ..runtime.clone() })?;
        under(timer, preset, keys, &params)?;
    }
    Ok(())
}

fn under(timer: &Timer<'_>, preset: &str, keys: &str, params: &Params) -> Result<(), Failure> {
    let secret = SecretKey::generate(params)?;
    let needs = KeyNeeds::new().relinearise(KeyLevel::Top);
    let evaluator = Evaluator::with_keys(Arc::new(secret.evaluation_keys(&needs)?));
    let (count, top) = (params.slot_count(), params.max_level());
    let xs: Vec<f64> = numbers(30).take(count).collect();
    let plaintext = Plaintext::encode(params, &xs, &[count], Encoding::Slots, top, params.scale(top))?;
    let ciphertext = secret.encrypt_encoded(&plaintext)?;
    for degree in DEGREES {
        for basis in BASES {
            // The magnitudes of the coefficients sum to at most 1, so values stay in the unit interval.
            let coefficients: Vec<f64> =
                numbers(degree as u64).take(degree + 1).map(|c| c / (degree + 1) as f64).collect();
            let polynomial = Polynomial::new(coefficients, basis, UNIT_DOMAIN)?;
            let plan = polynomial.plan(params, top)?;
            let start = Instant::now();
            let result = plan.run(&evaluator, &ciphertext)?;
            let first = start.elapsed().as_secs_f64() * 1e3;
            let error = match secret.decrypt(&result)? {
                Values::Real(found) => found
                    .iter()
                    .zip(&xs)
                    .map(|(y, &x)| (y - polynomial.evaluate_real(x)).abs())
                    .fold(0.0, f64::max),
                Values::Complex(_) => f64::INFINITY,
            };
            if error.is_nan() || error > TOLERANCE {
                return Err(Failure::slot_error(error, TOLERANCE));
            }
            let mut extra = Extra::new();
            let fields = json!({
                "preset": preset,
                "primes": params.chain().basis(top).len(),
                "ring_degree": params.degree(),
                "degree": degree,
                "basis": basis.name(),
                "keys": keys,
                "depth": plan.depth(),
                "relinearisations": plan.relinearisations(),
                "max_error": error,
                // The first run derives keys for later runs.
                "first_ms": first,
                "quick": timer.is_quick(),
            });
            extra.extend(fields.as_object().cloned().unwrap_or_default());
            let label = format!("{preset} degree={degree} {} {keys}", basis.name());
            let times = timer.measure(|| Ok(plan.run(&evaluator, &ciphertext)?))?;
            timer.print((POLYNOMIAL, &label), &times, &extra)?;
        }
    }
    Ok(())
}
