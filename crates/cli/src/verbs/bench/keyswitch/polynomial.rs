//! Random polynomials of a ciphertext, under digits of one prime throughout and under the plan. [level-aware, Table 4]

use clathrate_ckks::Runtime;

use super::POLYNOMIAL;
use crate::failure::Failure;
use crate::verbs::bench::timing::Timer;

/// The set of [level-aware, Table 4].
pub const PRESET: &str = "level_aware";

/// Measures degrees 8, 16, 32 in both bases.
pub fn run(timer: &Timer<'_>, preset: &str, _runtime: &Runtime) -> Result<(), Failure> {
    timer.absent(POLYNOMIAL, preset, "polynomials of ciphertexts are not measured yet")
}
