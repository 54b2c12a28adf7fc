//! Programs as files: parameters and choices in the metadata, the graph as JSON in a section, the plain
//! numbers and the lists of places as words in two others.
//!
//! A file is trusted in nothing: sizes are compared with the bytes that are there before anything is
//! allocated, and a program is only made if its dry run succeeds.

use std::io::{Seek, Write};
use std::sync::Arc;

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;
use serde::{Deserialize, Serialize};

use super::{Arrangement, Choices, Program, ProgramInput, RecordedFunction};
use crate::encoding::values::Values;
use crate::encrypted_array::{ArrayGraph, ArrayOperation, GraphNode, PlainArray};
use crate::error::CkksError;
use crate::file::{FileError, FileKind, FileLabel, FileReader, FileWriter, Stored};
use crate::parameters::{Params, ParamsSpec, Runtime};
use crate::store::{expect_mark, inconsistent, label};

/// The version of the operations of graphs: a program of another version is refused.
const OPERATIONS_VERSION: u32 = 2;

/// The most bytes of the text of a graph: far more than the nodes of any function take.
const GRAPH_LIMIT_BYTES: u64 = 1 << 26;

/// Metadata of a program.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramMetadata {
    spec: ParamsSpec,
    operations_version: u32,
    inputs: Vec<ProgramInput>,
    /// The numbers of the values that are results.
    results: Vec<usize>,
    arrangement: Arrangement,
    level: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bootstrap_below: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gathered: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bootstrapped: Vec<usize>,
}

/// The shape of plain numbers, which are in a section of all of them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredConstant {
    shape: Vec<usize>,
    #[serde(default)]
    is_complex: bool,
}

/// The section `graph`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredGraph {
    nodes: Vec<GraphNode>,
    constants: Vec<StoredConstant>,
    /// The lengths of the lists of places.
    places: Vec<usize>,
}

const GRAPH: &str = "graph";
const NUMBERS: &str = "numbers";
const PLACES: &str = "places";

/// The word of a place where there is none.
const NOWHERE: u64 = u64::MAX;

fn write_words<W: Write + Seek>(
    writer: &mut FileWriter<W>,
    name: &str,
    count: usize,
    words: impl Iterator<Item = u64> + Clone,
) -> Result<(), FileError> {
    writer.write_section(name, 8 * count as u64, |target| {
        let mut words = words.clone();
        words.try_for_each(|word| target.write_all(&word.to_le_bytes()))
    })
}

impl Stored for Program {
    type Metadata = ProgramMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::Program, self.params())
    }

    fn file_metadata(&self) -> ProgramMetadata {
        let choices = self.choices();
        ProgramMetadata {
            spec: self.params().spec().clone(),
            operations_version: OPERATIONS_VERSION,
            inputs: self.inputs().to_vec(),
            results: self.results().to_vec(),
            arrangement: self.arrangement().clone(),
            level: choices.level.0,
            bootstrap_below: choices.bootstrap_below.map(|level| level.0),
            gathered: choices.gathered.clone(),
            bootstrapped: choices.bootstrapped.clone(),
        }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        let graph = self.graph();
        let stored = StoredGraph {
            nodes: graph.nodes.clone(),
            constants: graph
                .constants
                .iter()
                .map(|constant| StoredConstant {
                    shape: constant.shape.clone(),
                    is_complex: constant.values.is_complex(),
                })
                .collect(),
            places: graph.places.iter().map(|list| list.len()).collect(),
        };
        let text =
            serde_json::to_vec(&stored).map_err(|error| FileError::Metadata { reason: error.to_string() })?;
        writer.add_section(GRAPH, &text)?;
        let numbers = graph.constants.iter().flat_map(|constant| match &constant.values {
            Values::Real(values) => values.iter().map(|value| value.to_bits()).collect::<Vec<_>>(),
            Values::Complex(values) => {
                values.iter().flat_map(|value| [value.re.to_bits(), value.im.to_bits()]).collect()
            }
        });
        let count = graph.constants.iter().map(|constant| word_count(&constant.values)).sum();
        write_words(writer, NUMBERS, count, numbers)?;
        let places = graph.places.iter().flat_map(|list| list.iter());
        let words = places.map(|place| place.map_or(NOWHERE, |place| place as u64));
        write_words(writer, PLACES, graph.places.iter().map(|list| list.len()).sum(), words)
    }
}

fn word_count(values: &Values) -> usize {
    match values {
        Values::Real(values) => values.len(),
        Values::Complex(values) => 2 * values.len(),
    }
}

/// The sum of lengths, refused where it is larger than any file.
fn total(lengths: impl Iterator<Item = Option<usize>>) -> Result<usize, CkksError> {
    let sum = lengths.into_iter().try_fold(0usize, |sum, length| sum.checked_add(length?));
    sum.ok_or_else(|| inconsistent("the lengths of plain numbers or lists overflow"))
}

impl StoredConstant {
    /// The words that it takes; `None` for a product beyond the integers.
    fn words(&self) -> Option<usize> {
        let count = self.shape.iter().try_fold(1usize, |product, &axis| product.checked_mul(axis))?;
        count.checked_mul(if self.is_complex { 2 } else { 1 })
    }

    fn with_words(&self, words: &[u64]) -> PlainArray {
        let values = if self.is_complex {
            let (pairs, _) = words.as_chunks::<2>();
            let number = |&[re, im]: &[u64; 2]| Complex64::new(f64::from_bits(re), f64::from_bits(im));
            Values::Complex(pairs.iter().map(number).collect())
        } else {
            Values::Real(words.iter().map(|&word| f64::from_bits(word)).collect())
        };
        PlainArray::new(values, self.shape.clone())
    }
}

impl Program {
    /// A program from a file. Parameters below 128 bits of security are only accepted with `allow_insecure`.
    ///
    /// # Errors
    /// [`CkksError::File`] for a file that is no program, is of another version of the operations, or
    /// contradicts itself; [`CkksError::Insecure`]; those of the program's dry run.
    pub fn from_reader(
        reader: &FileReader<'_>,
        allow_insecure: bool,
        runtime: &Runtime,
    ) -> Result<Self, CkksError> {
        reader.expect_kind(FileKind::Program)?;
        reader.verify_all()?;
        let metadata: ProgramMetadata = reader.metadata()?;
        if metadata.operations_version != OPERATIONS_VERSION {
            return Err(inconsistent(&format!(
                "the program has operations of version {}, and this library has version {OPERATIONS_VERSION}: compile it again",
                metadata.operations_version
            )));
        }
        let params = Params::received(metadata.spec, allow_insecure, runtime)?;
        reader.expect_parameters(&params.parameter_id())?;
        expect_mark(reader, &params)?;
        let section = reader.section(GRAPH)?;
        if section.bytes().len() as u64 > GRAPH_LIMIT_BYTES {
            return Err(inconsistent("the graph is longer than any function's"));
        }
        let stored: StoredGraph =
            serde_json::from_slice(section.bytes()).map_err(|error| inconsistent(&error.to_string()))?;
        let states_nothing = |node: &GraphNode| {
            let has_no_error = matches!(node.operation.clone().error_mut(), Some(None));
            has_no_error || matches!(node.operation, ArrayOperation::Smooth { domain: None, .. })
        };
        if stored.nodes.iter().any(states_nothing) {
            return Err(inconsistent("a function states no interval or no error"));
        }
        let numbers = reader.words(NUMBERS, total(stored.constants.iter().map(StoredConstant::words))?)?;
        let places = reader.words(PLACES, total(stored.places.iter().map(|&length| Some(length)))?)?;
        let mut rest: &[u64] = &numbers;
        let mut constants = Vec::with_capacity(stored.constants.len());
        for constant in &stored.constants {
            let (own, others) = rest.split_at(constant.words().unwrap_or(0));
            constants.push(Arc::new(constant.with_words(own)));
            rest = others;
        }
        let mut rest: &[u64] = &places;
        let mut lists = Vec::with_capacity(stored.places.len());
        for &length in &stored.places {
            let (own, others) = rest.split_at(length);
            let place = |&word: &u64| (word != NOWHERE).then_some(word as usize);
            lists.push(Arc::new(own.iter().map(place).collect()));
            rest = others;
        }
        let graph = ArrayGraph {
            inputs: metadata.inputs.iter().filter(|input| !input.is_plain).count(),
            nodes: stored.nodes,
            constants,
            places: lists,
        };
        let function = RecordedFunction {
            graph,
            inputs: metadata.inputs,
            results: metadata.results,
            arrangement: metadata.arrangement,
        };
        let choices = Choices {
            level: Level(metadata.level),
            bootstrap_below: metadata.bootstrap_below.map(Level),
            gathered: metadata.gathered,
            bootstrapped: metadata.bootstrapped,
        };
        Self::new(&params, function, choices)
    }
}
