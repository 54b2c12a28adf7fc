//! How much of the errors that results may have is left to the approximations of functions.

use super::forecast::{Forecast, ValueForecast};
use super::limits::Limits;
use super::recording::{FINE, USUAL, recording_evaluator};
use super::schedule::values_of;
use super::{Choices, RecordedFunction};
use crate::circuits::automatic::AutomaticPlans;
use crate::encrypted_array::{ArrayOperation, GraphNode};
use crate::error::CkksError;
use crate::functions::state_interval;

/// Functions whose errors are chosen one by one; the errors of more functions are chosen together.
const ONE_BY_ONE: usize = 16;

/// The part of an error that is left to the approximations of functions; the rest is for noise.
const SHARE: f64 = 0.5;

/// The part of its share that functions have at least, whatever the functions with a stated error take.
const LEAST: f64 = 0.25;

/// The part of an error that approximations and what the caller stated may take together, before errors are
/// chosen again, and how often they are.
const MOST: f64 = 0.8;
const CORRECTIONS: usize = 4;

/// An error that is this much smaller shows how much a result depends on it.
const SMALLER: f64 = 1.0 / 16.0;

/// The largest error that is chosen for a function.
const LARGEST: f64 = 0.1;

/// The results of a function on symbols without noise that never run out of levels.
pub(super) fn results_without_noise(function: &RecordedFunction) -> Result<Vec<ValueForecast>, CkksError> {
    let evaluator = recording_evaluator(FINE)?;
    let params = evaluator.params().clone();
    let choices = Choices::at(params.max_level());
    Ok(Forecast::by(evaluator, function, &choices, &AutomaticPlans::new(&params))?.results().to_vec())
}

/// The errors of all results beside those that they may have; `None` where one is unknown.
fn errors(limits: &Limits<'_>, results: &[ValueForecast]) -> Option<Vec<(f64, f64)>> {
    let of = |(place, result): (usize, &ValueForecast)| {
        Some((result.error_bound.filter(|error| error.is_finite())?, limits.allowed(place, result)?))
    };
    results.iter().enumerate().map(of).collect()
}

/// The function with an error for each of its approximations. Where the caller stated none, it is chosen such
/// that all of them together take a share of the error that a result may have; each of a few functions takes
/// as much as the others. Without a limit, and where errors are unknown, it is the usual one.
pub(super) fn with_errors(function: &RecordedFunction, limits: &Limits<'_>) -> RecordedFunction {
    let mut usual = function.clone();
    let places = usual.state_usual_errors();
    if places.is_empty() || !limits.are_set() {
        return usual;
    }
    chosen(&usual, &places, limits).unwrap_or(usual)
}

/// The function with chosen errors at `places`, where it has the usual ones.
fn chosen(usual: &RecordedFunction, places: &[usize], limits: &Limits<'_>) -> Option<RecordedFunction> {
    let dry_run = |function: &RecordedFunction| errors(limits, &results_without_noise(function).ok()?);
    let all = dry_run(usual)?;
    let inputs = usual.graph.inputs;
    let of_functions = |group: Vec<usize>| {
        group
            .iter()
            .filter_map(|value| value.checked_sub(inputs))
            .filter(|own| places.contains(own))
            .collect()
    };
    let alike =
        usual.graph.alike().into_iter().map(of_functions).filter(|group: &Vec<usize>| !group.is_empty());
    let mut groups: Vec<Vec<usize>> = alike.collect();
    if groups.len() > ONE_BY_ONE {
        groups = vec![places.to_vec()];
    }
    // For each group the errors of all results that come of it.
    let mut shares = Vec::with_capacity(groups.len());
    for group in &groups {
        let mut function = usual.clone();
        for &place in group {
            scale(&mut function.graph.nodes[place].operation, SMALLER);
        }
        let less = dry_run(&function)?;
        let share =
            |((own, _), (less, _)): (&(f64, f64), &(f64, f64))| (own - less).max(0.0) / (1.0 - SMALLER);
        shares.push(all.iter().zip(&less).map(share).collect::<Vec<f64>>());
    }
    let mut function = usual.clone();
    for (group, share) in groups.iter().zip(&shares) {
        let factor = all.iter().enumerate().map(|(result, &(error, allowed))| {
            let of_groups: f64 = shares.iter().map(|share| share[result]).sum();
            let others = (error - of_groups).max(0.0);
            let left = (SHARE * allowed - others).max(SHARE * LEAST * allowed);
            if share[result] > 0.0 { left / (shares.len() as f64 * share[result]) } else { f64::INFINITY }
        });
        let factor = factor.fold(f64::INFINITY, f64::min);
        if factor.is_finite() {
            for &place in group {
                shorten(&mut function.graph.nodes[place].operation, factor);
            }
        }
    }
    // A function of a function may be off by more than both shares tell.
    for _ in 0..CORRECTIONS {
        let found = dry_run(&function)?;
        let excess = found.iter().map(|&(error, allowed)| error / (MOST * allowed)).fold(0.0, f64::max);
        if excess <= 1.0 {
            break;
        }
        for &place in places {
            shorten(&mut function.graph.nodes[place].operation, MOST / excess);
        }
    }
    Some(function)
}

/// Multiplies the error of an approximation, and rounds it down.
fn shorten(operation: &mut ArrayOperation, factor: f64) {
    scale(operation, factor);
    if let Some(Some(error)) = operation.error_mut() {
        *error = short(*error);
    }
}

/// The function with an interval for each of its approximations: of those that the caller left to the
/// numbers, by the bounds that these have with the errors that were chosen.
///
/// # Errors
/// Those of the dry run, and of the functions.
pub(super) fn with_intervals(mut function: RecordedFunction) -> Result<RecordedFunction, CkksError> {
    let mut stated = function.clone();
    let states_all = |own: &GraphNode| {
        let mut stated = own.operation.clone();
        matches!(state_interval(&mut stated, 0.0), Ok(()) if stated == own.operation)
    };
    if function.graph.nodes.iter().all(states_all) {
        return Ok(function);
    }
    stated.state_usual_errors();
    let evaluator = recording_evaluator(USUAL)?;
    let params = evaluator.params().clone();
    let choices = Choices::at(params.max_level());
    let forecast = Forecast::by(evaluator, &stated, &choices, &AutomaticPlans::new(&params))?;
    for node in &mut function.graph.nodes {
        let bounds = values_of(node).into_iter().filter_map(|value| forecast.values()[value].bound);
        state_interval(&mut node.operation, bounds.fold(0.0, f64::max))?;
    }
    Ok(function)
}

/// Multiplies the error of an approximation.
fn scale(operation: &mut ArrayOperation, factor: f64) {
    if let Some(Some(error)) = operation.error_mut() {
        *error *= factor;
    }
}

/// An error as it is chosen: two digits of it, rounded down, so that it reads well.
fn short(error: f64) -> f64 {
    let error = error.min(LARGEST);
    let shorter = format!("{:.1e}", error * 0.95);
    shorter.parse().map_or(error, |shorter: f64| shorter.min(error))
}
