//! What a program needs, costs and gives: a dry run of its graph.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use clathrate_lattice::Level;
use serde::{Deserialize, Serialize};

use super::replay::Replay;
use super::schedule::{Values, in_order};
use super::{Choices, RecordedFunction};
use crate::arrays::{Ciphertext, Encoding};
use crate::circuits::automatic::AutomaticPlans;
use crate::circuits::linear::gather::{in_lanes, is_movable};
use crate::encrypted_array::EncryptedArray;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::recording::Recording;
use crate::keys::{Cost, KeyNeeds};
use crate::parameters::Params;

/// What is known of one value of a program before it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueForecast {
    /// The shape.
    pub shape: Vec<usize>,
    /// Whether the numbers are complex.
    pub is_complex: bool,
    /// Slots or coefficients.
    pub encoding: Encoding,
    /// The level.
    #[serde(with = "level_number")]
    pub level: Level,
    /// The largest magnitude of the numbers, if it is known.
    pub bound: Option<f64>,
    /// The root mean square of the errors, if it is known.
    pub error_rms: Option<f64>,
    /// A bound on the errors, if it is known.
    pub error_bound: Option<f64>,
}

/// A level in files: its number.
mod level_number {
    use clathrate_lattice::Level;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(level: &Level, serializer: S) -> Result<S::Ok, S::Error> {
        level.0.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
        usize::deserialize(deserializer).map(Level)
    }
}

/// What a dry run of a program found.
#[derive(Debug, Clone)]
pub struct Forecast {
    recording: Recording,
    values: Vec<ValueForecast>,
    results: Vec<ValueForecast>,
    /// The predicted nanoseconds and the bytes of each value.
    costs: Vec<(f64, usize)>,
    /// Whether each value has twice as many polynomials as its numbers fill, or more.
    is_sparse: Vec<bool>,
    key_bytes: usize,
}

impl ValueForecast {
    fn of(array: &Ciphertext) -> Self {
        Self {
            shape: array.shape().to_vec(),
            is_complex: array.is_complex(),
            encoding: array.encoding(),
            level: array.level(),
            bound: array.bound(),
            error_rms: array.error_rms(),
            error_bound: array.error_bound(),
        }
    }
}

/// Whether a gather makes fewer than half as many polynomials of an array.
fn lies_sparsely(array: &Ciphertext) -> bool {
    let fewest = in_lanes(array.shape(), array.params().degree());
    is_movable(array) && fewest.is_ok_and(|fewest| array.layout().polynomials() >= 2 * fewest.polynomials())
}

impl Forecast {
    /// The dry run of a function; `None` where its price is above `limit`, which the dry run finds out on the
    /// way.
    pub(super) fn of(
        params: &Params,
        function: &RecordedFunction,
        choices: &Choices,
        bootstraps: &AutomaticPlans,
        limit: f64,
    ) -> Result<Option<Self>, CkksError> {
        let mut evaluator = Evaluator::recording(params);
        if choices.bootstrap_below.is_some() {
            evaluator = evaluator.bootstrapping_by(bootstraps, choices.bootstrap_below)?;
        }
        Self::within(evaluator, function, choices, bootstraps, limit)
    }

    /// The dry run of a function by an evaluator that records.
    pub(super) fn by(
        evaluator: Evaluator,
        function: &RecordedFunction,
        choices: &Choices,
        bootstraps: &AutomaticPlans,
    ) -> Result<Self, CkksError> {
        let forecast = Self::within(evaluator, function, choices, bootstraps, f64::INFINITY)?;
        forecast.ok_or(CkksError::Internal { operation: "a dry run" })
    }

    fn within(
        evaluator: Evaluator,
        function: &RecordedFunction,
        choices: &Choices,
        bootstraps: &AutomaticPlans,
        limit: f64,
    ) -> Result<Option<Self>, CkksError> {
        let plain = function.plain().map(|input| input.largest_numbers().map(Arc::new));
        let plain = plain.collect::<Result<Vec<_>, CkksError>>()?;
        let symbols = function
            .encrypted()
            .map(|input| Ok(EncryptedArray::new(input.symbol(&evaluator, choices.level)?, &evaluator)));
        let symbols = symbols.collect::<Result<Vec<_>, CkksError>>()?;
        let graph = &function.graph;
        let count = graph.inputs + graph.nodes.len();
        let (mut values, mut costs) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut is_sparse, mut before, is_over) = (Vec::with_capacity(count), 0.0, Cell::new(false));
        let mut seen = |_, value: &EncryptedArray| {
            let Cost { nanoseconds: all, price, .. } = evaluator.predicted_cost();
            costs.push((all - before, value.data().predicted_bytes()));
            before = all;
            values.push(ValueForecast::of(value.data()));
            is_sparse.push(lies_sparsely(value.data()));
            is_over.set(price > limit);
            if is_over.get() { Err(CkksError::Cancelled) } else { Ok(()) }
        };
        let replay = Replay { graph, choices, bootstraps, plain: &plain };
        let computed = || {
            let mut known = BTreeMap::new();
            for (value, symbol) in symbols.into_iter().enumerate() {
                let symbol = replay.finished(value, symbol)?;
                seen(value, &symbol)?;
                known.insert(value, symbol);
            }
            let mut computed = Values::new(graph, &function.results, known)?;
            in_order(&replay, &mut computed, seen).map(|()| computed)
        };
        let computed = match computed() {
            Err(_) if is_over.get() => return Ok(None),
            computed => computed?,
        };
        let found = computed.results(&function.results)?;
        let results = found.iter().map(|result| Ok(ValueForecast::of(&*result.settled()?)));
        let mut results = results.collect::<Result<Vec<_>, CkksError>>()?;
        let transposed = function.arrangement.transposed();
        let views = results.iter_mut().zip(transposed).filter(|(_, transposed)| *transposed);
        views.for_each(|(result, _)| result.shape.reverse());
        let recording = evaluator.recorded();
        let params = evaluator.params();
        let key_bytes = params.required_keys(recording.needs())?.bytes(params)?;
        Ok(Some(Self { recording, values, results, costs, is_sparse, key_bytes }))
    }

    /// The evaluation keys, each for the highest level that it is used at.
    #[must_use]
    pub fn needs(&self) -> &KeyNeeds {
        self.recording.needs()
    }

    /// Costs by stage and memory.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// All values: the inputs, then the result of each operation, before its rescale.
    #[must_use]
    pub fn values(&self) -> &[ValueForecast] {
        &self.values
    }

    /// The results, rescaled, in the shapes in which the function returns them.
    #[must_use]
    pub fn results(&self) -> &[ValueForecast] {
        &self.results
    }

    /// The predicted nanoseconds of one thread and the bytes of each of [`Forecast::values`].
    pub(super) fn costs(&self) -> &[(f64, usize)] {
        &self.costs
    }

    /// Whether each of [`Forecast::values`] has twice as many polynomials as its numbers fill, or more.
    pub(super) fn is_sparse(&self) -> &[bool] {
        &self.is_sparse
    }

    /// The bytes of the evaluation keys in memory.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// The bytes of arrays, keys and encoded plaintexts together.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.key_bytes + self.recording.peak_array_bytes() + self.recording.plaintext_bytes()
    }

    /// The time by prices that are the same on every machine, by which programs are chosen.
    #[must_use]
    pub fn price(&self) -> f64 {
        self.recording.cost().price
    }

    /// The largest bound on an error; `None` where one is not known.
    #[must_use]
    pub fn error_bound(&self) -> Option<f64> {
        self.results
            .iter()
            .map(|result| result.error_bound)
            .try_fold(0.0, |most, own| Some(f64::max(most, own?)))
    }

    /// The largest bound on a number, of the results that have one.
    pub(super) fn largest(&self) -> Option<f64> {
        self.results.iter().filter_map(|result| result.bound).reduce(f64::max)
    }

    /// The lowest level of a result.
    pub(super) fn lowest_level(&self) -> Level {
        self.results.iter().map(|result| result.level).min().unwrap_or(Level(0))
    }
}
