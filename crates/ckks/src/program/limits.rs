//! What a program must satisfy, and how far one misses that.

use super::RecordedFunction;
use super::forecast::ValueForecast;
use super::passes::Pass;
use crate::error::CkksError;
use crate::parameters::{Params, Runtime};

/// What a program must satisfy.
#[derive(Debug, Clone)]
pub struct CompileOptions {
    /// The largest error of a result: the difference from what the function gives, approximations of
    /// functions included. Absent for what a scale of 40 bits gives, or less where that does not fit, beside
    /// the usual errors of functions.
    pub error: Option<f64>,
    /// The largest error of a result, relative to its largest number.
    pub relative_error: Option<f64>,
    /// The largest magnitude in each result, to which `relative_error` refers; empty for the bounds on the
    /// results.
    pub result_sizes: Vec<f64>,
    /// The least bits of security.
    pub security: f64,
    /// The most bytes of evaluation keys in memory.
    pub key_bytes: Option<usize>,
    /// The most bytes of arrays, evaluation keys and encoded plaintexts in memory.
    pub memory: Option<usize>,
    /// The ways to write the function differently that are tried.
    pub passes: Vec<Pass>,
    /// The parameters; absent for those with the least predicted time.
    pub params: Option<Params>,
    /// Engine, threads and choices of the parameters that are made.
    pub runtime: Runtime,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            error: None,
            relative_error: None,
            result_sizes: Vec::new(),
            security: SECURITY,
            key_bytes: None,
            memory: None,
            passes: Pass::ALL.to_vec(),
            params: None,
            runtime: Runtime::default(),
        }
    }
}

/// Bits of security below which a set would have to be marked.
pub(super) const SECURITY: f64 = 128.0;

/// Why parameters do not serve, and how far they miss: the kind of reason, the nearest first, and the factor.
#[derive(Debug)]
pub(super) struct Miss {
    pub(super) reason: String,
    pub(super) kind: u8,
    pub(super) factor: f64,
    /// What stopped the dry run, if it did.
    pub(super) error: Option<Box<CkksError>>,
}

/// The kinds of misses, the nearest first: an error that is too large, a budget that is too small, a modulus
/// that is too long, levels that are too few, and all others.
pub(super) const INEXACT: u8 = 0;
pub(super) const OVER_BUDGET: u8 = 1;
pub(super) const TOO_LONG: u8 = 2;
pub(super) const TOO_DEEP: u8 = 3;
pub(super) const OTHER: u8 = 4;

impl Miss {
    pub(super) fn new(reason: String, kind: u8, factor: f64) -> Self {
        Self { reason, kind, factor, error: None }
    }

    /// What stopped a dry run, whatever the parameters.
    pub(super) fn of(error: CkksError) -> Self {
        Self { reason: error.to_string(), kind: OTHER, factor: 1.0, error: Some(Box::new(error)) }
    }

    /// The same reason.
    pub(super) fn copy(&self) -> Self {
        Self::new(self.reason.clone(), self.kind, self.factor)
    }

    /// Whether less has to change than for `other`: an error and a budget are numbers of the same kind.
    pub(super) fn is_nearer(&self, other: &Self) -> bool {
        let kind = |miss: &Self| miss.kind.max(OVER_BUDGET);
        (kind(self), self.factor) < (kind(other), other.factor)
    }
}

/// A limit that is named as a remedy is larger than what was found by this: it is rounded to two digits, and
/// noise takes a part.
pub(super) const REMEDY: f64 = 1.1;

/// What the errors of results may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'o> {
    options: &'o CompileOptions,
    /// Whether functions have errors that the caller stated.
    functions_state_errors: bool,
}

impl<'o> Limits<'o> {
    pub(super) fn new(function: &RecordedFunction, options: &'o CompileOptions) -> Self {
        let functions_state_errors = function.graph.nodes.iter().any(|node| node.operation.error().is_some());
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
        let reason = format!(
            "the error may be {found:.2e}, more than {}: {}",
            digits(allowed),
            self.larger(factor * REMEDY)
        );
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

/// A number to three digits, without zeros at their end.
fn digits(number: f64) -> String {
    let short = format!("{number:.2e}");
    short.parse::<f64>().map_or(short, |number| format!("{number:e}"))
}

/// Why an error may be unknown.
pub(super) fn unknown_error() -> Miss {
    let reason = "the error of a result is not known: declare a bound on every input, and compute no polynomials of complex numbers";
    Miss::new(reason.to_owned(), OTHER, 1.0)
}
