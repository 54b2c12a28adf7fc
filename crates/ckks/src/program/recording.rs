//! Symbols for recordings: they never run out of levels, and have room for every number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_lattice::Level;

use super::Choices;
use super::arrangement::Arrangement;
use super::input::ProgramInput;
use super::replay::Replay;
use crate::arrays::Ciphertext;
use crate::circuits::automatic::AutomaticPlans;
use crate::encoding::Matrix;
use crate::encrypted_array::{
    ArrayGraph, EncryptedArray, GraphOperand, GraphRecorder, PlainArray, digest_of,
};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::evaluator::{AutomaticBootstraps, LevelsNeeded};
use crate::functions::usual_error;
use crate::parameters::{Params, ParamsSpec, Runtime};

/// Bits of the steps of the modulus and of the scale while a function is recorded, and of a scale that leaves
/// next to no noise.
pub(super) const USUAL: u32 = 40;
pub(super) const FINE: u32 = 56;

/// Levels of these parameters, more than any chain of 128 bits of security has. An array below
/// [`LEAST_LEVEL`] is at the highest level again, so that large numbers have room, too.
const LEVELS: usize = 62;
const LEAST_LEVEL: usize = 30;

/// The degree, in the middle of those that programs use.
const DEGREE: usize = 1 << 14;

/// The parameters with scales of `bits` under which functions are recorded; nothing is ever encrypted with
/// them.
pub(super) fn recording_params(bits: u32) -> Result<Params, CkksError> {
    static MADE: Mutex<BTreeMap<u32, Params>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(params) = made.get(&bits) {
        return Ok(params.clone());
    }
    let log2_scale = f64::from(bits);
    let mut steps = vec![vec![log2_scale; 2]];
    steps.resize(LEVELS + 1, vec![log2_scale]);
    let spec =
        ParamsSpec::of_chain("recording", DEGREE, (steps, vec![log2_scale + 4.0; 8]), log2_scale, true);
    let params = Params::new(spec, &Runtime::default())?;
    made.insert(bits, params.clone());
    Ok(params)
}

/// The recording evaluator of these parameters, whose symbols never run out of levels.
pub(super) fn recording_evaluator(bits: u32) -> Result<Evaluator, CkksError> {
    Ok(Evaluator::recording(&recording_params(bits)?).bootstrapping_with(FreeLevels))
}

/// Brings symbols to the highest level again, for nothing.
#[derive(Debug)]
struct FreeLevels;

impl AutomaticBootstraps for FreeLevels {
    fn bootstrapped(
        &self,
        _: &Evaluator,
        x: &Ciphertext,
        headroom: LevelsNeeded,
    ) -> Result<Option<Ciphertext>, CkksError> {
        let needed = match headroom {
            LevelsNeeded::Depth(levels) => levels,
            LevelsNeeded::Level(level) => level.0,
        };
        let top = x.params().max_level();
        if x.level().0 >= LEAST_LEVEL.max(needed) || x.level() == top {
            return Ok(None);
        }
        Ok(Some(x.as_symbol_at(top)?))
    }

    fn product(&self, _: &Evaluator, _: &Ciphertext, _: Matrix<'_>) -> Result<Option<Ciphertext>, CkksError> {
        Ok(None)
    }

    fn explained(&self, _: &Evaluator, _: &Ciphertext, _: Matrix<'_>) -> Result<Option<String>, CkksError> {
        Ok(None)
    }
}

/// A recording of a function, and the symbols that the function is called with.
#[derive(Debug)]
pub struct FunctionRecording {
    recorder: GraphRecorder,
    inputs: Vec<ProgramInput>,
    symbols: Vec<EncryptedArray>,
    plain: Vec<PlainArray>,
}

impl RecordedFunction {
    /// The function whose approximations have the usual errors where the caller stated none, as if it ran on
    /// arrays at once; otherwise compilation chooses these errors.
    #[must_use]
    pub fn with_usual_errors(mut self) -> Self {
        self.state_usual_errors();
        self
    }

    /// States the usual errors where there are none, and gives these operations.
    pub(super) fn state_usual_errors(&mut self) -> Vec<usize> {
        let mut places = Vec::new();
        for (place, node) in self.graph.nodes.iter_mut().enumerate() {
            let error = usual_error(&node.operation);
            if let Some(own) = node.operation.error_mut().filter(|own| own.is_none()) {
                *own = Some(error);
                places.push(place);
            }
        }
        places
    }

    /// A digest of everything that a program of this function depends on.
    ///
    /// # Errors
    /// [`CkksError::Internal`] for numbers that JSON cannot express, which no recording has.
    pub fn digest(&self) -> Result<[u8; 32], CkksError> {
        let described = (&self.graph.nodes, &self.inputs, &self.results, &self.arrangement);
        let text = serde_json::to_vec(&described)
            .map_err(|_| CkksError::Internal { operation: "the digest of a function" })?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(text.len() as u64).to_le_bytes()).update(&text);
        for constant in &self.graph.constants {
            hasher.update(&digest_of(constant));
        }
        for list in &self.graph.places {
            hasher.update(&(list.len() as u64).to_le_bytes());
            list.iter().for_each(|place| {
                hasher.update(&place.map_or(u64::MAX, |place| place as u64).to_le_bytes());
            });
        }
        Ok(*hasher.finalize().as_bytes())
    }

    /// The inputs that are encrypted.
    pub(super) fn encrypted(&self) -> impl Iterator<Item = &ProgramInput> {
        self.inputs.iter().filter(|input| !input.is_plain)
    }

    /// The inputs that are given in the clear.
    pub(super) fn plain(&self) -> impl Iterator<Item = &ProgramInput> {
        self.inputs.iter().filter(|input| input.is_plain)
    }
}

/// The shape of each value of a function.
///
/// # Errors
/// Those of recording it once more.
pub(super) fn value_shapes(function: &RecordedFunction) -> Result<Vec<Vec<usize>>, CkksError> {
    let recording = FunctionRecording::new(&function.inputs)?;
    let plans = AutomaticPlans::new(recording_evaluator(USUAL)?.params());
    let plain: Vec<Arc<PlainArray>> = recording.plain.iter().cloned().map(Arc::new).collect();
    let graph = &function.graph;
    // The level is that of the symbols.
    let choices = Choices::at(Level(0));
    let replay = Replay { graph, choices: &choices, bootstraps: &plans, plain: &plain };
    let mut values: Vec<Option<EncryptedArray>> = recording.symbols.iter().cloned().map(Some).collect();
    for (index, node) in graph.nodes.iter().enumerate() {
        let operand = |operand: &GraphOperand| match *operand {
            GraphOperand::Value(value) => values.get(value).cloned().flatten(),
            _ => None,
        };
        let operands: Vec<Option<EncryptedArray>> = node.operands.iter().map(operand).collect();
        values.push(Some(replay.value(index, &operands)?));
    }
    Ok(values.iter().flatten().map(|value| value.data().shape().to_vec()).collect())
}

/// A function of encrypted arrays as a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedFunction {
    pub(super) graph: ArrayGraph,
    pub(super) inputs: Vec<ProgramInput>,
    pub(super) results: Vec<usize>,
    pub(super) arrangement: Arrangement,
}

impl FunctionRecording {
    /// A recording with these inputs.
    ///
    /// # Errors
    /// Those of the layouts, and [`CkksError::OutOfRange`] for a bound that is no positive number.
    pub fn new(inputs: &[ProgramInput]) -> Result<Self, CkksError> {
        let evaluator = recording_evaluator(USUAL)?;
        let params = evaluator.params().clone();
        let recorder = GraphRecorder::default();
        let symbol = |input: &ProgramInput| {
            let symbol = input.symbol(&evaluator, params.max_level())?;
            recorder.input(&EncryptedArray::new(symbol, &evaluator))
        };
        let encrypted = inputs.iter().filter(|input| !input.is_plain);
        let symbols = encrypted.map(symbol).collect::<Result<Vec<_>, _>>()?;
        let plain = inputs
            .iter()
            .filter(|input| input.is_plain)
            .enumerate()
            .map(|(index, input)| Ok(recorder.plain(input.largest_numbers()?, index)));
        let plain = plain.collect::<Result<Vec<_>, CkksError>>()?;
        Ok(Self { recorder, inputs: inputs.to_vec(), symbols, plain })
    }

    /// What stands for the plain inputs while the function is recorded: to be used as it is, as the operand
    /// of encrypted arrays.
    #[must_use]
    pub fn plain(&self) -> &[PlainArray] {
        &self.plain
    }

    /// The symbols of the encrypted inputs, that the function is to be called with.
    #[must_use]
    pub fn symbols(&self) -> &[EncryptedArray] {
        &self.symbols
    }

    /// What was computed from the symbols, with the arrays among the results of the function, which returns
    /// them in `arrangement`. Operations whose results are not used are left out.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for an arrangement of others; [`CkksError::Unsuitable`] for a result that
    /// was not computed from the symbols, by operations that programs have.
    pub fn finish(
        &self,
        results: &[&EncryptedArray],
        arrangement: Arrangement,
    ) -> Result<RecordedFunction, CkksError> {
        arrangement.check(results.len())?;
        let results =
            results.iter().map(|result| self.recorder.value_of(result)).collect::<Result<Vec<_>, _>>()?;
        let (graph, results) = self.recorder.graph().pruned(&results);
        Ok(RecordedFunction { graph, inputs: self.inputs.clone(), results, arrangement })
    }
}
