//! `clathrate-bench --set dpad`: RNS-CKKS, ModHE and DPad-HE at the paper's parameters. [dpad-he, sec. 5]
//!
//! Sits above [`crate::timing`]; prints rows that `bench/pages/dpad.toml` lays out as the paper's tables.
//! [`sets`] names the parameters, [`setting`] is one set with its secret and switchers, [`circuit`]
//! ciphertexts of known numbers, [`multiply`] times products, [`rotations`] rotations one after the other,
//! [`conversion`] moves between MLWE and RLWE, [`squaring`] repeated squaring through all levels.

mod circuit;
mod conversion;
mod multiply;
mod rotations;
mod sets;
mod setting;
mod squaring;

use std::time::Duration;

use clathrate_ckks::Runtime;

use crate::failure::Failure;
use crate::timing::{Limits, Timer};
pub use sets::{SETS, direct, names};

/// A product of ciphertexts, relinearised and rescaled.
pub const MULTIPLY: &str = "multiply_rescale";
/// A ciphertext between MLWE and RLWE.
pub const CONVERSION: &str = "conversion";
/// `x, x^2, x^4, ..` through all levels.
pub const SQUARING: &str = "repeated_squaring";
/// Rotations one after the other.
pub const ROTATIONS: &str = "rotations";

/// Something to be timed.
type Work<'a, T> = Box<dyn FnMut() -> Result<T, Failure> + 'a>;

/// Three runs even of some hundred milliseconds.
const LIMITS: Limits = Limits { budget: Duration::from_millis(500), least: 3, most: 31 };

/// Products: three runs even of seconds.
const PRODUCT_LIMITS: Limits = Limits { budget: Duration::from_millis(900), ..LIMITS };

/// Quick runs.
const QUICK_LIMITS: Limits = Limits { budget: Duration::from_millis(5), least: 3, most: 5 };

/// Measures all sets, or those of `only`.
pub fn run(timer: &Timer<'_>, only: &[&str], runtime: &Runtime) -> Result<(), Failure> {
    let limited = |limits| timer.with_limits(if timer.is_quick() { QUICK_LIMITS } else { limits });
    let (timer, patient) = (limited(LIMITS), limited(PRODUCT_LIMITS));
    let wanted = |name: &str| only.is_empty() || only.contains(&name);
    for set in sets::SETS.iter().filter(|set| wanted(set.name) && timer.wants(MULTIPLY)) {
        multiply::run(&patient, set, runtime)?;
    }
    if timer.wants(ROTATIONS) {
        rotations::run(&timer, wanted, runtime)?;
    }
    for set in sets::SETS.iter().filter(|set| wanted(set.name) && timer.wants(CONVERSION)) {
        conversion::run(&timer, set, runtime)?;
    }
    for set in sets::SETS.iter().filter(|set| wanted(set.name) && timer.wants(SQUARING)) {
        squaring::run(&timer, set, runtime)?;
    }
    Ok(())
}
