//! A computation on arrays as data, and how a function of arrays becomes one: by running it on symbols that
//! write down each operation.
//!
//! Values are numbered: the inputs first, then the results of the nodes, in an order in which operands come
//! before what is computed from them. A graph knows shapes and numbers, and neither parameters nor levels nor
//! keys.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::EncryptedArray;
use super::operand::{Operand, PlainArray, PlainInput};
use super::operation::{ArrayOperation, PlacesId};
use crate::encoding::values::{Values, hash_words, words_of};
use crate::error::CkksError;

/// The operation's name in errors.
const RECORDING: &str = "the recording of a program";

/// What a node takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphOperand {
    /// An encrypted array, by its number.
    Value(usize),
    /// A real number, by which a product takes a level.
    Number(f64),
    /// A number of an integer type, by which a product takes no level.
    Integer(f64),
    /// Plain numbers, by their place in [`ArrayGraph::constants`].
    Constant(usize),
    /// Plain numbers that are given when the graph is computed, by their place among them.
    Plain(usize),
}

/// One operation of a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphNode {
    /// What is done.
    pub operation: ArrayOperation,
    /// With what.
    pub operands: Vec<GraphOperand>,
    /// The names of the stages that the operation belongs to, with slashes between; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// In a repeated part of a function, the number of the operation in that part: the nodes of all its
    /// repetitions have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<usize>,
}

/// A computation on encrypted arrays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArrayGraph {
    /// The number of arrays that it is given; their values have the numbers from 0 on.
    pub inputs: usize,
    /// The operations; their results have the numbers behind those of the inputs.
    pub nodes: Vec<GraphNode>,
    /// Plain numbers that operations take.
    pub constants: Vec<Arc<PlainArray>>,
    /// Lists of places that operations take; nothing stands for a zero.
    pub places: Vec<Arc<Vec<Option<usize>>>>,
}

impl ArrayGraph {
    /// The graph without operations, numbers and lists that the values `results` do not depend on, and the
    /// numbers of these values there.
    #[must_use]
    pub fn pruned(&self, results: &[usize]) -> (Self, Vec<usize>) {
        let inputs = self.inputs;
        let mut used = vec![false; inputs + self.nodes.len()];
        used[..inputs].fill(true);
        results.iter().for_each(|&result| used[result] = true);
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if used[inputs + index] {
                for operand in &node.operands {
                    if let GraphOperand::Value(value) = *operand {
                        used[value] = true;
                    }
                }
            }
        }
        let number_of: Vec<usize> = used
            .iter()
            .scan(0, |next, &used| Some(std::mem::replace(next, *next + usize::from(used))))
            .collect();
        let mut pruned = Self { inputs, ..Self::default() };
        let (mut constants, mut lists) = (HashMap::new(), HashMap::new());
        for (node, _) in self.nodes.iter().zip(&used[inputs..]).filter(|(_, used)| **used) {
            let operand = |operand: &GraphOperand| match *operand {
                GraphOperand::Value(value) => GraphOperand::Value(number_of[value]),
                GraphOperand::Constant(constant) => {
                    GraphOperand::Constant(*constants.entry(constant).or_insert_with(|| {
                        pruned.constants.push(self.constants[constant].clone());
                        pruned.constants.len() - 1
                    }))
                }
                number => number,
            };
            let operands = node.operands.iter().map(operand).collect();
            let mut operation = node.operation.clone();
            for list in operation.lists_mut() {
                *list = PlacesId(*lists.entry(list.0).or_insert_with(|| {
                    pruned.places.push(self.places[list.0].clone());
                    pruned.places.len() - 1
                }));
            }
            pruned.nodes.push(GraphNode { operation, operands, ..node.clone() });
        }
        (pruned, results.iter().map(|&result| number_of[result]).collect())
    }
}

impl ArrayGraph {
    /// The numbers of all values, those together that are the same operation of a repeated part.
    pub(crate) fn alike(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = (0..self.inputs).map(|value| vec![value]).collect();
        let mut known = HashMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let value = self.inputs + index;
            match node.origin.and_then(|origin| known.get(&origin).copied()) {
                Some(group) => {
                    let group: &mut Vec<usize> = &mut groups[group];
                    group.push(value);
                }
                None => {
                    node.origin.and_then(|origin| known.insert(origin, groups.len()));
                    groups.push(vec![value]);
                }
            }
        }
        groups
    }
}

/// The error for what another recording gave out.
fn foreign() -> CkksError {
    let reason = "an operand is a symbol of another program: give it to this one as an input".to_owned();
    CkksError::Unsuitable { operation: RECORDING, reason }
}

/// What a recording has so far.
#[derive(Debug, Default)]
struct State {
    graph: ArrayGraph,
    /// Whether an operation is at work: those that it calls are its own affair.
    inside: bool,
    /// Constants and lists by a digest, so that each is stored once.
    constants: HashMap<[u8; 32], usize>,
    places: HashMap<[u8; 32], usize>,
    /// The repeated parts that are being recorded, the outermost first.
    repeats: Vec<Repeat>,
    /// The numbers of operations in repeated parts, and of inner parts, by part and place.
    origins: HashMap<(usize, usize), usize>,
}

/// A part of a function that is computed several times, while it is recorded.
#[derive(Debug)]
struct Repeat {
    /// Its number among the origins.
    number: usize,
    /// The place of the next operation or inner part in it.
    place: usize,
}

/// Writes down what is computed from the arrays that it gave out.
#[derive(Debug, Clone)]
pub struct GraphRecorder {
    state: Arc<Mutex<State>>,
    /// Its number in this process.
    number: u64,
}

/// The number of the next recording.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Default for GraphRecorder {
    fn default() -> Self {
        Self { state: Arc::default(), number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

/// A value of a recording.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    recorder: GraphRecorder,
    value: usize,
}

/// A digest of numbers and their shape.
pub(crate) fn digest_of(values: &PlainArray) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[u8::from(values.values.is_complex())]);
    values.shape.iter().for_each(|&axis| {
        hasher.update(&(axis as u64).to_le_bytes());
    });
    hasher.update(b"/");
    match &values.values {
        Values::Real(values) => hash_words(&mut hasher, values.iter().map(|value| value.to_bits())),
        Values::Complex(values) => hash_words(&mut hasher, words_of(values)),
    }
    *hasher.finalize().as_bytes()
}

impl State {
    fn constant(&mut self, array: PlainArray) -> usize {
        let graph = &mut self.graph;
        *self.constants.entry(digest_of(&array)).or_insert_with(|| {
            graph.constants.push(Arc::new(array));
            graph.constants.len() - 1
        })
    }

    /// The number of what is next in the innermost repeated part.
    fn origin(&mut self) -> Option<usize> {
        let repeat = self.repeats.last_mut()?;
        let key = (repeat.number, repeat.place);
        repeat.place += 1;
        let next = self.origins.len();
        Some(*self.origins.entry(key).or_insert(next))
    }

    fn places(&mut self, list: Vec<Option<usize>>) -> PlacesId {
        let mut hasher = blake3::Hasher::new();
        hash_words(&mut hasher, list.iter().map(|place| place.map_or(u64::MAX, |place| place as u64)));
        let graph = &mut self.graph;
        PlacesId(*self.places.entry(*hasher.finalize().as_bytes()).or_insert_with(|| {
            graph.places.push(Arc::new(list));
            graph.places.len() - 1
        }))
    }
}

/// Marks the recording as inside of an operation while it lives.
struct Inside<'a>(&'a GraphRecorder);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.lock().inside = false;
    }
}

impl GraphRecorder {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The symbol `array` as the next input.
    ///
    /// # Errors
    /// [`CkksError::Symbol`] for an array with data.
    pub fn input(&self, array: &EncryptedArray) -> Result<EncryptedArray, CkksError> {
        if !array.data().is_symbol() {
            return Err(CkksError::Symbol { operation: RECORDING });
        }
        let mut state = self.lock();
        let value = state.graph.inputs;
        state.graph.inputs += 1;
        Ok(EncryptedArray { recorded: Some(Recorded { recorder: self.clone(), value }), ..array.clone() })
    }

    /// Numbers that stand for plain input `index` while functions are recorded.
    #[must_use]
    pub fn plain(&self, numbers: PlainArray, index: usize) -> PlainArray {
        PlainArray { input: Some(PlainInput { recording: self.number, index }), ..numbers }
    }

    /// Marks what is recorded from here on as one repetition of a part of the function, which is the first
    /// one of a new part, or, where `again`, the next one of the part that is being recorded.
    fn begin_repetition(&self, again: bool) {
        let mut state = self.lock();
        if again {
            if let Some(repeat) = state.repeats.last_mut() {
                repeat.place = 0;
            }
            return;
        }
        // Parts outside of all others have numbers that no place in a part has.
        let number = state.origin().unwrap_or(usize::MAX - state.graph.nodes.len());
        state.repeats.push(Repeat { number, place: 0 });
    }

    fn end_repetitions(&self) {
        self.lock().repeats.pop();
    }

    /// What has been recorded so far.
    #[must_use]
    pub fn graph(&self) -> ArrayGraph {
        self.lock().graph.clone()
    }

    /// The number of the value that `array` is.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for an array of another recording, or computed by what is not recorded.
    pub fn value_of(&self, array: &EncryptedArray) -> Result<usize, CkksError> {
        let reason = match &array.recorded {
            Some(recorded) if Arc::ptr_eq(&recorded.recorder.state, &self.state) => return Ok(recorded.value),
            Some(_) => return Err(foreign()),
            None if array.data().is_symbol() => {
                "an array was computed by an operation that is no part of programs, such as a change of the rank, or by a plan of its own, or by a thread beside this one"
            }
            None => "an operand is encrypted already: give it to the program as an input",
        };
        Err(CkksError::Unsuitable { operation: RECORDING, reason: reason.to_owned() })
    }

    /// The list `places` as an argument of an operation.
    pub(crate) fn places(&self, places: impl IntoIterator<Item = Option<usize>>) -> PlacesId {
        self.lock().places(places.into_iter().collect())
    }

    /// The result of `work`, which is `operation` on `operands`, as the next value.
    ///
    /// # Errors
    /// Those of `work` and of [`GraphRecorder::value_of`].
    pub(crate) fn record(
        &self,
        operation: ArrayOperation,
        operands: &[Operand<'_>],
        work: impl FnOnce() -> Result<EncryptedArray, CkksError>,
    ) -> Result<EncryptedArray, CkksError> {
        let operands = operands.iter().map(|operand| {
            Ok(match operand {
                Operand::Encrypted(array) => GraphOperand::Value(self.value_of(array)?),
                Operand::Number(number) => GraphOperand::Number(*number),
                Operand::Integer(number) => GraphOperand::Integer(*number),
                Operand::Plain(PlainArray { input: Some(input), .. }) => {
                    if input.recording != self.number {
                        return Err(foreign());
                    }
                    GraphOperand::Plain(input.index)
                }
                Operand::Plain(array) => GraphOperand::Constant(self.lock().constant(array.clone())),
            })
        });
        let operands = operands.collect::<Result<Vec<_>, CkksError>>()?;
        self.lock().inside = true;
        let result = {
            let _inside = Inside(self);
            work()?
        };
        let stage = result.evaluator.open_stage();
        let mut state = self.lock();
        let origin = state.origin();
        state.graph.nodes.push(GraphNode { operation, operands, stage, origin });
        let value = state.graph.inputs + state.graph.nodes.len() - 1;
        Ok(EncryptedArray { recorded: Some(Recorded { recorder: self.clone(), value }), ..result })
    }
}

impl EncryptedArray {
    /// Who writes down the operations on this array; none on data, in dry runs alone, and inside of an
    /// operation that is written down itself.
    pub(crate) fn recorder(&self) -> Option<&GraphRecorder> {
        let recorder = &self.recorded.as_ref()?.recorder;
        (!recorder.lock().inside).then_some(recorder)
    }

    /// Whether operations on this array are written down.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.recorder().is_some()
    }

    /// While this array is recorded, calls `work` with a function to be called before each repetition but the
    /// first of what `work` computes, so that programs make the same choices for all of them.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn repeating<R, E>(&self, work: impl FnOnce(&dyn Fn()) -> Result<R, E>) -> Result<R, E> {
        let Some(recorder) = self.recorder() else { return work(&|| ()) };
        recorder.begin_repetition(false);
        let result = work(&|| recorder.begin_repetition(true));
        recorder.end_repetitions();
        result
    }

    /// The recorder of one of two operands.
    pub(crate) fn recorder_with<'a>(&'a self, other: &Operand<'a>) -> Option<&'a GraphRecorder> {
        self.recorder().or_else(|| match *other {
            Operand::Encrypted(other) => other.recorder(),
            _ => None,
        })
    }

    /// Refuses an operation that programs do not have.
    pub(super) fn check_unrecorded(&self) -> Result<(), CkksError> {
        match self.recorder() {
            None => Ok(()),
            Some(_) => {
                let reason = "it depends on parameters, which a program chooses when it is compiled: leave it out, or compute with `keys_for` and `with_keys`";
                Err(CkksError::Unsuitable {
                    operation: "an operation of ciphertexts in a program",
                    reason: reason.to_owned(),
                })
            }
        }
    }
}
