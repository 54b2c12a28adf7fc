//! Errors of results: what they may be, and how much of that is left to the approximations of functions.

use super::RecordedFunction;
use super::forecast::ValueForecast;
use super::recording::{FINE, results_of};
use super::search::{CompileOptions, INEXACT, Miss, OTHER};
use crate::encrypted_array::ArrayOperation;

/// Functions whose errors are chosen one by one; the errors of more functions are chosen together.
const ONE_BY_ONE: usize = 16;

/// The part of an error that is left to the approximations of functions; the rest is for noise.
const SHARE: f64 = 0.5;

/// The part of its share that functions have at least, whatever the functions with a stated error take.
const LEAST: f64 = 0.25;

/// An error that is this much smaller shows how much a result depends on it.
const SMALLER: f64 = 1.0 / 16.0;

/// The largest error that is chosen for a function.
const LARGEST: f64 = 0.1;

/// What the errors of results may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'o> {
    options: &'o CompileOptions,
    /// Whether functions have errors that the caller stated.
    functions_state_errors: bool,
}

impl<'o> Limits<'o> {
    pub(super) fn new(function: &RecordedFunction, options: &'o CompileOptions) -> Self {
        let states = |operation: &ArrayOperation| matches!(operation.clone().error_mut(), Some(Some(_)));
        let functions_state_errors = function.graph.nodes.iter().any(|node| states(&node.operation));
        Self { options, functions_state_errors }
    }

    /// Whether there are any.
    pub(super) fn are_set(&self) -> bool {
        self.options.error.is_some() || self.options.relative_error.is_some()
    }

    /// The largest error that result `place` may have: infinite without a limit, `None` where a relative
    /// error refers to numbers of unknown size.
    pub(super) fn allowed(&self, place: usize, result: &ValueForecast) -> Option<f64> {
        let relative = match self.options.relative_error {
            Some(relative) => {
                let size = self.options.result_sizes.get(place).copied().or(result.bound);
                relative * size.filter(|size| size.is_finite() && *size > 0.0)?
            }
            None => f64::INFINITY,
        };
        Some(relative.min(self.options.error.unwrap_or(f64::INFINITY)))
    }

    /// Refuses a result whose error may be larger than allowed.
    pub(super) fn check(&self, place: usize, result: &ValueForecast) -> Result<(), Miss> {
        let (Some(found), Some(allowed)) =
            (result.error_bound.filter(|error| error.is_finite()), self.allowed(place, result))
        else {
            return Err(unknown_error());
        };
        if found <= allowed {
            return Ok(());
        }
        let factor = found / allowed;
        let reason =
            format!("the error may be {found:.1e}, more than {allowed:.1e}: {}", self.larger(factor * 1.05));
        Err(Miss::new(reason, INEXACT, factor))
    }

    /// The remedy of limits that are `factor` times as large.
    pub(super) fn larger(&self, factor: f64) -> String {
        let all = [("an error", self.options.error), ("a relative error", self.options.relative_error)];
        let named = |(what, limit): (&str, Option<f64>)| Some(format!("{what} of {:.1e}", limit? * factor));
        let all: Vec<String> = all.into_iter().filter_map(named).collect();
        let functions = if self.functions_state_errors { ", or smaller errors of the functions" } else { "" };
        format!("allow {}{functions}", all.join(" and "))
    }
}

/// Why an error may be unknown.
pub(super) fn unknown_error() -> Miss {
    let reason = "the error of a result is not known: declare a bound on every input, and compute no polynomials of complex numbers";
    Miss::new(reason.to_owned(), OTHER, 1.0)
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
    let dry_run = |function: &RecordedFunction| errors(limits, &results_of(function, FINE).ok()?);
    let all = dry_run(usual)?;
    let groups: Vec<&[usize]> = match places.len() {
        0..=ONE_BY_ONE => places.chunks(1).collect(),
        _ => vec![places],
    };
    // For each group the errors of all results that come of it.
    let mut shares = Vec::with_capacity(groups.len());
    for group in &groups {
        let mut function = usual.clone();
        for &place in *group {
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
            for &place in *group {
                let operation = &mut function.graph.nodes[place].operation;
                scale(operation, factor);
                if let Some(Some(error)) = operation.error_mut() {
                    *error = short(*error);
                }
            }
        }
    }
    Some(function)
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
