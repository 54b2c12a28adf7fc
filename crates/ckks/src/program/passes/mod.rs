//! Passes: a function written in another way, which computes the same faster or with fewer levels.
//!
//! A pass makes one graph of another one and knows nothing of parameters. It is kept where a dry run finds
//! that its graph is better and its errors are no larger, so a rule may be simple where it mostly helps.

mod common;
mod draft;
mod factors;
mod maps;
mod polynomials;
mod products;

use serde::{Deserialize, Serialize};

use super::forecast::{Forecast, ValueForecast};
use super::recording::{USUAL, recording_evaluator};
use super::schedule::values_of;
use super::{Choices, RecordedFunction};
use crate::circuits::automatic::AutomaticPlans;
use crate::encrypted_array::ArrayGraph;
use crate::error::CkksError;
use draft::Draft;

/// A way to write a function differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// What is computed several times is computed once.
    Common,
    /// Sums of powers of one value become one polynomial.
    Polynomials,
    /// Sums of moved and weighted numbers of one array become one linear map.
    Maps,
    /// Products of several values are arranged so that they take the fewest levels, and sums of products read
    /// the axes of their factors in any order.
    Products,
    /// Plain factors, scales of functions among them, are multiplied into plain numbers next to them.
    Factors,
}

impl Pass {
    /// All passes, in their order.
    pub const ALL: [Self; 5] = [Self::Common, Self::Polynomials, Self::Maps, Self::Products, Self::Factors];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Polynomials => "polynomials",
            Self::Maps => "maps",
            Self::Products => "products",
            Self::Factors => "factors",
        }
    }

    /// The pass of this name.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`], with the names that there are.
    pub fn named(name: &str) -> Result<Self, CkksError> {
        Self::ALL.into_iter().find(|own| own.name() == name).ok_or_else(|| CkksError::OutOfRange {
            what: "a pass",
            value: format!("{name:?}"),
            remedy: format!("use some of {}", Self::ALL.map(Self::name).join(", ")),
        })
    }

    fn of(self, draft: &mut Draft<'_>) {
        match self {
            Self::Common => common::merge(draft),
            Self::Polynomials => polynomials::gather(draft),
            Self::Maps => maps::gather(draft),
            Self::Products => products::balance(draft),
            Self::Factors => factors::merge(draft),
        }
    }
}

/// What a pass saved, by dry runs with the same parameters for all functions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saving {
    /// The pass.
    pub pass: Pass,
    /// Operations before and after it.
    pub operations: (usize, usize),
    /// Levels that one result takes, the one that takes most, before and after it.
    pub levels: (usize, usize),
    /// The share of the time that it saves.
    pub time: f64,
}

/// Values of one function by a dry run with the parameters of recordings, which have levels for everything.
struct Known {
    values: Vec<ValueForecast>,
    results: Vec<ValueForecast>,
    /// The levels that lie between the inputs and each value.
    depths: Vec<usize>,
    depth: usize,
    price: f64,
}

/// The levels on the longest way to each value. A value that was brought to a higher level again takes none.
fn depths(graph: &ArrayGraph, values: &[ValueForecast]) -> Vec<usize> {
    let mut depths = vec![0; graph.inputs];
    for (index, node) in graph.nodes.iter().enumerate() {
        let own = values[graph.inputs + index].level.0;
        let through = |value: usize| depths[value] + values[value].level.0.saturating_sub(own);
        let depth = values_of(node).into_iter().map(through).max();
        depths.push(depth.unwrap_or(0));
    }
    depths
}

impl Known {
    fn of(function: &RecordedFunction) -> Result<Self, CkksError> {
        let evaluator = recording_evaluator(USUAL)?;
        let params = evaluator.params().clone();
        let choices = Choices::at(params.max_level());
        let forecast = Forecast::by(evaluator, function, &choices, &AutomaticPlans::new(&params))?;
        let (values, results) = (forecast.values().to_vec(), forecast.results().to_vec());
        let depths = depths(&function.graph, &values);
        // Results are rescaled once more than their values.
        let total = |(&value, result): (&usize, &ValueForecast)| {
            depths[value] + values[value].level.0.saturating_sub(result.level.0)
        };
        let depth = function.results.iter().zip(&results).map(total).max().unwrap_or(0);
        Ok(Self { values, results, depths, depth, price: forecast.price() })
    }

    /// How many times as large as those of `other` its errors by noise are; infinite where one is known of
    /// `other` alone.
    fn excess(&self, other: &Self) -> f64 {
        let excess =
            |(own, other): (&ValueForecast, &ValueForecast)| match (own.error_bound, other.error_bound) {
                (Some(own), Some(other)) => own / other.max(f64::MIN_POSITIVE),
                (None, Some(_)) => f64::INFINITY,
                (_, None) => 1.0,
            };
        self.results.iter().zip(&other.results).map(excess).fold(1.0, f64::max)
    }

    /// Whether it takes a shorter modulus than `other` to the same errors, or the same levels and less time.
    fn is_better(&self, other: &Self) -> bool {
        let excess = self.excess(other).log2();
        if self.depth == other.depth {
            return self.price < other.price && excess <= MOST_EXCESS;
        }
        // Larger errors take a longer scale, and each level is as long as the scale.
        let bits = |depth: usize, excess: f64| depth as f64 * (f64::from(USUAL) + excess);
        bits(self.depth, excess) < bits(other.depth, 0.0)
    }
}

/// The bits by which errors may grow where nothing but time is saved.
const MOST_EXCESS: f64 = 1.0;

/// The function after `passes`, each of which is kept where it makes the function better, and what each
/// saved. A function that no dry run succeeds with is left as it is.
pub(super) fn applied(function: &RecordedFunction, passes: &[Pass]) -> (RecordedFunction, Vec<Saving>) {
    let mut best = function.clone();
    let mut savings = Vec::new();
    let with_errors = |function: &RecordedFunction| Known::of(&function.clone().with_usual_errors());
    if passes.is_empty() {
        return (best, savings);
    }
    let Ok(mut known) = with_errors(&best) else { return (best, savings) };
    for &pass in passes {
        let next = Draft::of(&best, &known.values, &known.depths).finish(|draft| pass.of(draft));
        if next.graph == best.graph {
            continue;
        }
        let Ok(found) = with_errors(&next) else { continue };
        if !found.is_better(&known) {
            continue;
        }
        savings.push(Saving {
            pass,
            operations: (best.graph.nodes.len(), next.graph.nodes.len()),
            levels: (known.depth, found.depth),
            time: 1.0 - found.price / known.price.max(f64::MIN_POSITIVE),
        });
        (best, known) = (next, found);
    }
    (best, savings)
}
