//! Programs: functions of encrypted arrays as values that can be inspected, stored, sent and run anywhere.
//!
//! A function is run once on symbols ([`FunctionRecording`]), which write down its operations. From this
//! graph [`Program::compile`] chooses parameters, levels and bootstraps, by dry runs of the graph. An owner
//! makes keys for a program ([`Forecast::needs`]) and encrypts its inputs ([`Program::options`]); whoever has
//! the program, the keys and the inputs runs it ([`Program::run`]).
//!
//! ```
//! use clathrate_ckks::encrypted_array::EncryptedArray;
//! use clathrate_ckks::prelude::*;
//! use clathrate_ckks::program::{Arrangement, CompileOptions, FunctionRecording, Program, ProgramInput};
//!
//! // x^2 + 1 of 100 numbers up to 3, to within 1e-6.
//! let input = ProgramInput::new("x", &[100]).with_bound(3.0);
//! let recording = FunctionRecording::new(&[input])?;
//! let x = &recording.symbols()[0];
//! let y = x.mul(x)?.add(1.0)?;
//! let options = CompileOptions { error: Some(1e-6), ..CompileOptions::default() };
//! let program = Program::compile(&[recording.finish(&[&y], Arrangement::Array(0))?], &options)?;
//!
//! let owner = SecretKey::generate(program.params())?;
//! let keys = owner.evaluation_keys(program.forecast().needs())?;
//! let x = owner.encrypt_array(&[2.0; 100], &[100], program.options(0)?)?;
//!
//! let results = program.run(&Evaluator::with_keys(keys), &[x], &[])?;
//! assert!((owner.decrypt(&results[0])?.into_real()?[7] - 5.0).abs() < 1e-6);
//! # Ok::<(), CkksError>(())
//! ```

mod arrangement;
mod batch;
mod budget;
mod executor;
mod forecast;
mod grids;
mod input;
mod limits;
mod moves;
mod owner;
mod passes;
mod recording;
mod replay;
mod schedule;
mod search;
mod stored;
mod stored_run;
mod text;

pub use arrangement::Arrangement;
pub use executor::{Executor, TaskValue};
pub use forecast::{Forecast, ValueForecast};
pub use input::ProgramInput;
pub use limits::CompileOptions;
pub use owner::{OwnerMetadata, OwnerPart};
pub use passes::{Pass, Saving};
pub use recording::{FunctionRecording, RecordedFunction};
pub use schedule::Task;
pub use search::Candidate;
pub use stored::ProgramMetadata;
pub use stored_run::STORE_PAUSE;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clathrate_arith::workers::threads_for;
use clathrate_lattice::Level;

use crate::arrays::{Ciphertext, count_of};
use crate::circuits::automatic::AutomaticPlans;
use crate::encrypted_array::{ArrayGraph, EncryptedArray, GraphNode, GraphOperand, PlainArray};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::keys::EncryptOptions;
use crate::parameters::Params;
use budget::with_intervals;
use replay::{MOST_NUMBERS, Replay, malformed};
use schedule::{AfterNode, Compute, Values, in_order, side_by_side, values_of};
use stored_run::StoredRun;
use text::operation_name;

/// The choices that a program takes beside its graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// The level at which inputs are encrypted.
    pub level: Level,
    /// The level below which operations bootstrap their operands by themselves.
    pub bootstrap_below: Option<Level>,
    /// The values that are gathered once they are computed, so that rows share polynomials as far as they
    /// fit, ascending.
    pub gathered: Vec<usize>,
    /// The values that are bootstrapped once they are computed, and gathered, ascending.
    pub bootstrapped: Vec<usize>,
}

impl Choices {
    /// Inputs at this level, and nothing else.
    #[must_use]
    pub fn at(level: Level) -> Self {
        Self { level, bootstrap_below: None, gathered: Vec::new(), bootstrapped: Vec::new() }
    }

    /// Whether anything is bootstrapped.
    #[must_use]
    pub fn bootstraps(&self) -> bool {
        self.bootstrap_below.is_some() || !self.bootstrapped.is_empty()
    }
}

/// A function of encrypted arrays with everything that was chosen for it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Program {
    params: Params,
    function: Arc<RecordedFunction>,
    choices: Choices,
    forecast: Arc<Forecast>,
    bootstraps: AutomaticPlans,
    /// The operations as tasks, once they were asked for.
    tasks: Arc<OnceLock<Vec<Task>>>,
    /// What was saved by writing the function differently, where the program was compiled and not read.
    savings: Arc<[Saving]>,
}

impl Program {
    /// A program of a function with these parameters and choices, whose dry run must succeed.
    ///
    /// # Errors
    /// Those of the dry run.
    pub fn new(params: &Params, function: RecordedFunction, choices: Choices) -> Result<Self, CkksError> {
        let function = Arc::new(with_intervals(function)?);
        let program =
            Self::with_plans(params, &function, choices, &AutomaticPlans::new(params), f64::INFINITY)?;
        program.ok_or(CkksError::Internal { operation: "a dry run" })
    }

    /// As [`Program::new`], with plans of bootstraps that programs with the same parameters share; `None`
    /// where the price is above `limit`.
    fn with_plans(
        params: &Params,
        function: &Arc<RecordedFunction>,
        choices: Choices,
        bootstraps: &AutomaticPlans,
        limit: f64,
    ) -> Result<Option<Self>, CkksError> {
        check_function(function)?;
        for (list, what) in [(&choices.gathered, "gathered"), (&choices.bootstrapped, "bootstrapped")] {
            if !list.is_sorted_by(|one, next| one < next) {
                return Err(malformed(&format!("the values that are {what} are not in ascending order")));
            }
            if list.last().is_some_and(|&last| last >= function.graph.inputs + function.graph.nodes.len()) {
                return Err(malformed(&format!("a value that is {what} is none of the graph")));
            }
        }
        let forecast = Forecast::of(params, function, &choices, bootstraps, limit)?;
        Ok(forecast.map(|forecast| Self {
            params: params.clone(),
            function: function.clone(),
            choices,
            forecast: Arc::new(forecast),
            bootstraps: bootstraps.clone(),
            tasks: Arc::default(),
            savings: Arc::default(),
        }))
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The operations.
    #[must_use]
    pub fn graph(&self) -> &ArrayGraph {
        &self.function.graph
    }

    /// The arrays that it computes on, encrypted and plain ones, in the order of the function's.
    #[must_use]
    pub fn inputs(&self) -> &[ProgramInput] {
        &self.function.inputs
    }

    /// The numbers of the values that are its results.
    #[must_use]
    pub fn results(&self) -> &[usize] {
        &self.function.results
    }

    /// How the function returns its results.
    #[must_use]
    pub fn arrangement(&self) -> &Arrangement {
        &self.function.arrangement
    }

    /// What was chosen for it.
    #[must_use]
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// What it needs, costs and gives.
    #[must_use]
    pub fn forecast(&self) -> &Forecast {
        &self.forecast
    }

    /// What each pass saved when the program was compiled; a program from a file does not know that.
    #[must_use]
    pub fn savings(&self) -> &[Saving] {
        &self.savings
    }

    /// How input `index` is encrypted.
    ///
    /// # Errors
    /// As [`OwnerPart::options`].
    pub fn options(&self, index: usize) -> Result<EncryptOptions, CkksError> {
        self.for_owner().options(index)
    }

    /// The operations as pieces of work, in an order in which they can be done.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        let (graph, costs) = (self.graph(), self.forecast.costs());
        let task = |(index, node): (usize, &GraphNode)| {
            let value = graph.inputs + index;
            let (nanoseconds, bytes) = costs[value];
            let name =
                if node.stage.is_empty() { operation_name(&node.operation) } else { node.stage.clone() };
            Task { value, name, inputs: values_of(node), seconds: nanoseconds * 1e-9, bytes }
        };
        self.tasks.get_or_init(|| graph.nodes.iter().enumerate().map(task).collect())
    }

    /// The results for encrypted inputs and those in the clear, each in their order, computed with the keys
    /// of `evaluator`. Operations that do not depend on each other run at the same time where the engine has
    /// threads. Steps are shares of the predicted time.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for inputs of other shapes; [`CkksError::Unsuitable`] for an input that is
    /// encrypted in another way than [`Program::options`] says; [`CkksError::OutOfRange`] for another number
    /// of inputs, and for plain numbers above their bound; missing keys; those of the operations.
    pub fn run<A: Clone + Into<Arc<Ciphertext>>>(
        &self,
        evaluator: &Evaluator,
        inputs: &[A],
        plain: &[PlainArray],
    ) -> Result<Vec<Arc<Ciphertext>>, CkksError> {
        self.run_with(evaluator, inputs, plain, RunOptions::default())
    }

    /// As [`Program::run`], with values that are stored meanwhile, or operations that others compute.
    ///
    /// # Errors
    /// As [`Program::run`], those of the folder and its files, and those of the executor.
    pub fn run_with<A: Clone + Into<Arc<Ciphertext>>>(
        &self,
        evaluator: &Evaluator,
        inputs: &[A],
        plain: &[PlainArray],
        options: RunOptions<'_>,
    ) -> Result<Vec<Arc<Ciphertext>>, CkksError> {
        let inputs: Vec<Arc<Ciphertext>> = inputs.iter().cloned().map(Into::into).collect();
        let given = self.given(evaluator, &inputs, plain)?;
        let Some((folder, pause)) = options.store else {
            return self.run_given(&given, BTreeMap::new(), evaluator, (options.executor, &|_| Ok(())));
        };
        let (stored, known) = StoredRun::open(self, (&inputs, plain), (folder, pause), &given.evaluator)?;
        let after: AfterNode<'_> = &|needed| stored.store(needed);
        let results = self.run_given(&given, known, evaluator, (options.executor, after))?;
        stored.finish()?;
        Ok(results)
    }

    /// Whether a run takes these inputs; a run checks that, too.
    ///
    /// # Errors
    /// As [`Program::run`] for inputs.
    pub fn check(&self, inputs: &[Arc<Ciphertext>], plain: &[PlainArray]) -> Result<(), CkksError> {
        self.check_inputs(inputs)?;
        self.plain_inputs(plain).map(drop)
    }

    /// How the names of the files begin in which [`Program::run_with`] stores values of a run with these
    /// inputs; the number of the value and `.clt` follow.
    ///
    /// # Errors
    /// [`CkksError::Internal`] for inputs that have no digest, which none has.
    pub fn stored_prefix(
        &self,
        inputs: &[Arc<Ciphertext>],
        plain: &[PlainArray],
    ) -> Result<String, CkksError> {
        stored_run::prefix(self, inputs, plain)
    }

    /// The results of checked inputs and values that are `known` already.
    fn run_given(
        &self,
        given: &Given,
        known: BTreeMap<usize, EncryptedArray>,
        evaluator: &Evaluator,
        (executor, after): (Option<&dyn Executor>, AfterNode<'_>),
    ) -> Result<Vec<Arc<Ciphertext>>, CkksError> {
        let mut arrays = given.arrays.clone();
        arrays.extend(known);
        let values = Values::new(self.graph(), self.results(), arrays)?;
        let replay = self.replay(given);
        let here: Compute<'_> = &|index, operands, _| replay.value(index, operands);
        let values = match executor {
            None => {
                let workers = threads_for(values.width(), self.params.chain().ring().engine().workers());
                side_by_side(here, values, self.tasks(), (workers, evaluator.progress()), after)?
            }
            Some(executor) => {
                let there: Compute<'_> =
                    &|index, operands, goes_on| self.sent(executor, (index, operands), goes_on, given);
                let workers = executor.workers().min(values.width());
                side_by_side(there, values, self.tasks(), (workers, evaluator.progress()), after)?
            }
        };
        values.results(self.results())?.iter().map(EncryptedArray::settled).collect()
    }

    /// The value of node `index` as an executor computes it.
    fn sent(
        &self,
        executor: &dyn Executor,
        (index, operands): (usize, &[Option<EncryptedArray>]),
        goes_on: &dyn Fn() -> bool,
        given: &Given,
    ) -> Result<EncryptedArray, CkksError> {
        let (value, node) = (self.graph().inputs + index, &self.graph().nodes[index]);
        let numbered = node.operands.iter().zip(operands).filter_map(|(operand, array)| match operand {
            GraphOperand::Value(number) => Some((*number, TaskValue::of(array.as_ref()?))),
            _ => None,
        });
        // An operand that is taken twice is sent once.
        let numbered: BTreeMap<usize, TaskValue> = numbered.collect();
        let found = executor.compute(value, numbered.into_iter().collect(), goes_on)?;
        self.check_value(value, &found)?;
        Ok(found.with(&given.evaluator))
    }

    /// The value with this number, from those that its operation takes, with their numbers, and the plain
    /// inputs: what an [`Executor`] asks for. The values are those of a run, and the results have the same
    /// bits wherever they are computed.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for values that cannot be the program's; missing keys; those of the
    /// operation.
    pub fn compute(
        &self,
        evaluator: &Evaluator,
        value: usize,
        operands: Vec<(usize, TaskValue)>,
        plain: &[PlainArray],
    ) -> Result<TaskValue, CkksError> {
        let given = Given {
            evaluator: self.bootstrapping(evaluator)?,
            arrays: BTreeMap::new(),
            plain: self.plain_inputs(plain)?,
        };
        let index = value.checked_sub(self.graph().inputs);
        let node = index.and_then(|index| Some((index, self.graph().nodes.get(index)?)));
        let (index, node) = node.ok_or_else(|| malformed("there is no such operation"))?;
        let mut arrays = BTreeMap::new();
        for (number, operand) in operands {
            self.check_value(number, &operand)?;
            arrays.insert(number, operand.with(&given.evaluator));
        }
        let operand = |operand: &GraphOperand| match operand {
            GraphOperand::Value(number) => match arrays.get(number) {
                Some(array) => Ok(Some(array.clone())),
                None => Err(malformed("an operand was not given")),
            },
            _ => Ok(None),
        };
        let operands: Vec<_> = node.operands.iter().map(operand).collect::<Result<_, _>>()?;
        Ok(TaskValue::of(&self.replay(&given).value(index, &operands)?))
    }

    /// Refuses an array that cannot be the value with this number.
    fn check_value(&self, value: usize, given: &TaskValue) -> Result<(), CkksError> {
        self.params.check_related(given.data.params(), "a value of the program")?;
        if let Some((sum, count)) = &given.sum_of {
            self.params.check_related(sum.params(), "a value of the program")?;
            if !(1..=MOST_NUMBERS).contains(count) {
                return Err(malformed("a mean of no numbers"));
            }
        }
        if self.forecast.values().get(value).is_some_and(|forecast| forecast.allows(&given.data)) {
            return Ok(());
        }
        Err(CkksError::Unsuitable {
            operation: "an operation of a program",
            reason: format!(
                "an array cannot be value {value} of this program: use the same program everywhere"
            ),
        })
    }

    /// As [`Program::run`], one operation after the other; `seen` is called with the number of each value and
    /// the value once it is computed, the inputs first.
    ///
    /// # Errors
    /// As [`Program::run`], and those of `seen`.
    pub fn run_seen<A: Clone + Into<Arc<Ciphertext>>>(
        &self,
        evaluator: &Evaluator,
        inputs: &[A],
        plain: &[PlainArray],
        mut seen: impl FnMut(usize, &EncryptedArray) -> Result<(), CkksError>,
    ) -> Result<Vec<EncryptedArray>, CkksError> {
        let inputs: Vec<Arc<Ciphertext>> = inputs.iter().cloned().map(Into::into).collect();
        let given = self.given(evaluator, &inputs, plain)?;
        given.arrays.iter().try_for_each(|(&value, array)| seen(value, array))?;
        let mut values = Values::new(self.graph(), self.results(), given.arrays.clone())?;
        in_order(&self.replay(&given), &mut values, seen)?;
        values.results(self.results())
    }

    fn replay<'r>(&'r self, given: &'r Given) -> Replay<'r> {
        let (choices, bootstraps) = (&self.choices, &self.bootstraps);
        Replay { graph: self.graph(), choices, bootstraps, plain: &given.plain }
    }

    /// The inputs of a run, checked, at the program's level, gathered and bootstrapped where it says so.
    fn given(
        &self,
        evaluator: &Evaluator,
        inputs: &[Arc<Ciphertext>],
        plain: &[PlainArray],
    ) -> Result<Given, CkksError> {
        self.check_inputs(inputs)?;
        let plain = self.plain_inputs(plain)?;
        let evaluator = self.bootstrapping(evaluator)?;
        let mut given = Given { evaluator, arrays: BTreeMap::new(), plain };
        for (value, input) in inputs.iter().enumerate() {
            let input = match input.level() == self.choices.level {
                true => input.clone(),
                false => Arc::new(given.evaluator.drop_to_level(input, self.choices.level)?),
            };
            let array = self.replay(&given).finished(value, EncryptedArray::new(input, &given.evaluator))?;
            given.arrays.insert(value, array);
        }
        Ok(given)
    }

    /// The plain inputs of a run, checked.
    fn plain_inputs(&self, plain: &[PlainArray]) -> Result<Vec<Arc<PlainArray>>, CkksError> {
        let expected: Vec<_> = self.function.plain().collect();
        check_count(&expected, plain.len(), "the number of plain inputs")?;
        expected.iter().zip(plain).try_for_each(|(input, given)| input.check_plain(given))?;
        Ok(plain.iter().cloned().map(Arc::new).collect())
    }

    /// What computes, and bootstraps as the program says.
    fn bootstrapping(&self, evaluator: &Evaluator) -> Result<Evaluator, CkksError> {
        match self.choices.bootstrap_below {
            Some(below) => evaluator.clone().bootstrapping_by(&self.bootstraps, Some(below)),
            None => Ok(evaluator.without_bootstrapping()),
        }
    }

    /// Refuses inputs that are encrypted in another way than the program expects.
    fn check_inputs(&self, inputs: &[Arc<Ciphertext>]) -> Result<(), CkksError> {
        let expected: Vec<_> = self.function.encrypted().collect();
        check_count(&expected, inputs.len(), "the number of encrypted inputs")?;
        for (input, own) in expected.iter().zip(inputs) {
            self.params.check_related(own.params(), "an input of the program")?;
            let remedy = "encrypt it for the program";
            if own.shape() != input.shape {
                return Err(CkksError::Shape {
                    operation: "a program",
                    left: input.shape.clone(),
                    right: own.shape().to_vec(),
                    remedy: format!("the input \"{}\" has another shape: {remedy}", input.name),
                });
            }
            let layout = input.layout(self.params.degree())?;
            let differs = if own.layout().with_padding(layout.padding()) != layout {
                Some(format!("its numbers lie as {}, and the program expects {layout}", own.layout()))
            } else if own.level() < self.choices.level {
                Some(format!(
                    "it is at level {}, and the program takes level {}",
                    own.level(),
                    self.choices.level
                ))
            } else if own.is_complex() != input.is_complex {
                Some(
                    "its numbers are complex where the program expects real ones, or the other way"
                        .to_owned(),
                )
            } else {
                match (own.bound(), input.bound) {
                    (Some(own), Some(bound)) if own > bound => Some(format!(
                        "its numbers may be up to {own:e}, and the program expects at most {bound:e}"
                    )),
                    _ => None,
                }
            };
            if let Some(reason) = differs {
                return Err(CkksError::Unsuitable {
                    operation: "a program",
                    reason: format!("the input \"{}\": {reason}: {remedy}", input.name),
                });
            }
        }
        Ok(())
    }
}

/// What a run does beside computing.
#[derive(Default, Clone, Copy)]
pub struct RunOptions<'r> {
    /// A folder in which the values that are needed next are stored from time to time, and the least time
    /// between two stores: a run of the same program on the same inputs that was killed goes on from there. A
    /// finished run leaves nothing in the folder. Whoever can write to the folder decides the results: values
    /// that cannot be the program's are refused, and other numbers are not noticed.
    pub store: Option<(&'r Path, Duration)>,
    /// Who computes the operations; this process by itself where it is `None`.
    pub executor: Option<&'r dyn Executor>,
}

/// What a run is given: encrypted inputs by the numbers of their values, and plain ones.
struct Given {
    /// What computes, and bootstraps as the program says.
    evaluator: Evaluator,
    arrays: BTreeMap<usize, EncryptedArray>,
    plain: Vec<Arc<PlainArray>>,
}

/// Refuses another number of inputs than there are.
fn check_count(expected: &[&ProgramInput], count: usize, what: &'static str) -> Result<(), CkksError> {
    if expected.len() == count {
        return Ok(());
    }
    let names: Vec<&str> = expected.iter().map(|input| input.name.as_str()).collect();
    let remedy = match names.len() {
        0 => "the program has no inputs of this kind".to_owned(),
        all => format!("the program has {all}, in this order: {}", names.join(", ")),
    };
    Err(CkksError::OutOfRange { what, value: count.to_string(), remedy })
}

/// Refuses inputs that are larger than dry runs allocate.
fn check_sizes(inputs: &[ProgramInput]) -> Result<(), CkksError> {
    for input in inputs {
        if count_of(&input.shape) > MOST_NUMBERS {
            return Err(CkksError::OutOfRange {
                what: "the shape of an input",
                value: format!("{:?} of \"{}\"", input.shape, input.name),
                remedy: format!("use at most {MOST_NUMBERS} numbers"),
            });
        }
    }
    Ok(())
}

/// Refuses a function whose operands, constants and results are not there.
fn check_function(function: &RecordedFunction) -> Result<(), CkksError> {
    let graph = &function.graph;
    let known = |value: usize, before: usize| {
        if value < before { Ok(()) } else { Err(malformed("an operand is no value that comes before")) }
    };
    let plain = function.plain().count();
    check_sizes(&function.inputs)?;
    let plain_numbers = function.plain().map(|input| count_of(&input.shape));
    if plain_numbers.fold(0, usize::saturating_add) > MOST_NUMBERS / 2 {
        return Err(malformed("plain inputs have too many numbers together"));
    }
    if graph.inputs != function.encrypted().count() {
        return Err(malformed("the number of inputs is not that of their descriptions"));
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        for operand in &node.operands {
            match *operand {
                GraphOperand::Value(value) => known(value, graph.inputs + index)?,
                GraphOperand::Constant(constant) if constant >= graph.constants.len() => {
                    return Err(malformed("there is no such constant"));
                }
                GraphOperand::Plain(input) if input >= plain => {
                    return Err(malformed("there is no such plain input"));
                }
                _ => {}
            }
        }
    }
    for list in graph.nodes.iter().flat_map(|node| node.operation.lists()) {
        if list.0 >= graph.places.len() {
            return Err(malformed("there is no such list of places"));
        }
    }
    function.arrangement.check(function.results.len())?;
    function.results.iter().try_for_each(|&result| known(result, graph.inputs + graph.nodes.len()))?;
    let mut needed = vec![false; graph.inputs + graph.nodes.len()];
    let taken = graph.nodes.iter().flat_map(values_of);
    taken.chain(function.results.iter().copied()).for_each(|value| needed[value] = true);
    match needed.iter().skip(graph.inputs).all(|&needed| needed) {
        true => Ok(()),
        false => Err(malformed("nothing takes the value of an operation")),
    }
}
