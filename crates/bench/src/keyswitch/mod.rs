//! `clathrate-bench --set keyswitch`: every way to switch at every level, as the two papers on key switching
//! measure theirs.
//!
//! Sits above [`crate::timing`]; prints rows that `bench/pages/keyswitch.toml` lays out as the papers'
//! tables. [`setting`] is one parameter set with its key, [`cells`] says what is measured, [`sweep`] measures
//! fixed choices, [`split`] where their time goes, [`planned`] the plan's, [`operations`] whole products and
//! rotations, [`polynomial`] polynomials of ciphertexts.

mod cells;
mod operations;
mod planned;
mod polynomial;
mod setting;
mod split;
mod sweep;

use std::time::Duration;

use clathrate_ckks::Runtime;

use crate::failure::Failure;
use crate::timing::{Limits, Timer};
use setting::Setting;
use sweep::Sweep;

/// One switch, Eval form to Eval form, by a fixed choice.
pub const SWITCH: &str = "switch";
/// The same as the plan chooses.
pub const SWITCH_PLANNED: &str = "switch_planned";
/// The same with as much memory for derived keys as the plan wants.
pub const SWITCH_UNLIMITED: &str = "switch_unlimited";
/// A product of ciphertexts, relinearised.
pub const MULTIPLY: &str = "multiply";
/// One rotation.
pub const AUTOMORPHISM: &str = "automorphism";
/// A key of longer digits, derived from the key that travelled.
pub const EXPAND: &str = "expand";
/// A polynomial of a ciphertext.
pub const POLYNOMIAL: &str = "polynomial";

/// The parameter sets.
pub const PRESETS: [&str; 3] = ["klss_n15", "klss_n16", "level_aware"];

/// Long enough for a median at most levels of the largest sets, and short enough for some hundred of them.
const LIMITS: Limits = Limits { budget: Duration::from_millis(200), least: 5, most: 11 };

/// The parts of a switch.
const SPLIT_LIMITS: Limits = Limits { budget: Duration::from_millis(60), least: 3, most: 5 };

/// Quick runs.
const QUICK_LIMITS: Limits = Limits { budget: Duration::from_millis(10), least: 3, most: 5 };

/// Measures all of `only`, or all sets where that is empty.
pub fn run(timer: &Timer<'_>, only: &[&str], runtime: &Runtime) -> Result<(), Failure> {
    let timer = timer.with_limits(if timer.is_quick() { QUICK_LIMITS } else { LIMITS });
    for preset in PRESETS.into_iter().filter(|&preset| only.is_empty() || only.contains(&preset)) {
        switches(&timer, preset, runtime)?;
        if preset == polynomial::PRESET && timer.wants(POLYNOMIAL) {
            polynomial::run(&timer, preset, runtime)?;
        }
    }
    Ok(())
}

/// Everything of one set that needs a switcher and keys only.
fn switches(timer: &Timer<'_>, preset: &'static str, runtime: &Runtime) -> Result<(), Failure> {
    if ![SWITCH, SWITCH_PLANNED, SWITCH_UNLIMITED, MULTIPLY, AUTOMORPHISM, EXPAND]
        .iter()
        .any(|work| timer.wants(work))
    {
        return Ok(());
    }
    let Some(setting) = Setting::new(timer, preset, runtime)? else { return Ok(()) };
    let mut sweep = Sweep::new(&setting)?;
    if timer.wants(SWITCH) || timer.wants(SWITCH_PLANNED) {
        sweep.paper_cells()?;
        sweep.levels()?;
    }
    planned::run(&setting, &sweep)?;
    if preset == cells::EXPANSION_PRESET {
        sweep::expansions(&setting)?;
    }
    if preset == cells::OPERATIONS_PRESET {
        operations::run(&setting, &sweep)?;
    }
    Ok(())
}
