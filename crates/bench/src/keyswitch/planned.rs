//! The planned switch at each level, in turns with the fastest fixed method of the sweep.

use clathrate_ckks::parameters::DEFAULT_KEY_EXPANSION;
use clathrate_lattice::switch::{SwitchMethod, SwitchPolicy};
use serde_json::json;

use super::cells::{UNLIMITED, level_primes};
use super::setting::{Setting, choice_extra};
use super::sweep::{Sweep, switch};
use super::{SWITCH_PLANNED, SWITCH_UNLIMITED};
use crate::failure::Failure;

/// Measures the plan at every level, with the default and with unlimited memory for derived keys.
pub fn run(setting: &Setting<'_>, sweep: &Sweep<'_>) -> Result<(), Failure> {
    for (work, expansion) in [(SWITCH_PLANNED, DEFAULT_KEY_EXPANSION), (SWITCH_UNLIMITED, UNLIMITED)] {
        if setting.timer.wants(work) {
            levels(setting, sweep, work, expansion)?;
        }
    }
    Ok(())
}

fn levels(setting: &Setting<'_>, sweep: &Sweep<'_>, work: &str, expansion: f64) -> Result<(), Failure> {
    let (timer, key) = (setting.timer, &setting.key);
    let planned = setting.planning(expansion)?;
    let fixed = setting.switcher(SwitchPolicy::Fixed(SwitchMethod::as_made(setting.chain())))?;
    let Some(map) = setting.map(&planned) else { return Ok(()) };
    // Keeps the derived keys of one method at a time, because several may not fit.
    let mut held: Option<(SwitchMethod, Option<SwitchMethod>)> = None;
    for &primes in level_primes(setting.preset) {
        let level = setting.level(primes)?;
        let plan = planned.tables_for(level, key.level())?;
        let best = if work == SWITCH_PLANNED { sweep.best(primes, |_| true) } else { None };
        if held.is_some_and(|held| held != (plan.method(), best)) {
            planned.derived_keys().clear();
            fixed.derived_keys().clear();
        }
        held = Some((plan.method(), best));
        let label = format!("{} ({expansion} keys' bytes)", setting.label(primes, plan.method()));
        if let Some(reason) = setting.lacking_form(setting.key_bytes(&plan)) {
            timer.absent(work, &label, &reason)?;
            continue;
        }
        let input = setting.input(level)?;
        let noise = setting.noise_of_switch(&switch(&planned, &plan, &input, key)?, &input)?;
        let mut extra = setting.extra(&plan);
        let times = match best {
            Some(choice) => {
                let rival = fixed.tables_of_method(choice, level, key.level())?;
                let (times, rivals) = timer.measure_both(
                    || switch(&planned, &plan, &input, key),
                    || switch(&fixed, &rival, &input, key),
                )?;
                let mut best_fixed = choice_extra(choice);
                best_fixed.insert("median_ms".to_owned(), json!(rivals.median()));
                extra.insert("best_fixed".to_owned(), json!(best_fixed));
                times
            }
            None => timer.measure(|| switch(&planned, &plan, &input, key))?,
        };
        extra.insert("noise_bits".to_owned(), json!(noise));
        extra.insert("expansion".to_owned(), json!(expansion));
        extra.insert("derived_bytes_of_all_levels".to_owned(), json!(map.derived_bytes));
        extra
            .insert("predicted_ms".to_owned(), json!(map.rows.get(level.0).map(|row| row.nanoseconds / 1e6)));
        timer.print((work, &label), &times, &extra)?;
    }
    planned.derived_keys().clear();
    fixed.derived_keys().clear();
    Ok(())
}
