//! Programs: functions recorded on symbols, compiled, stored and run.

use std::sync::atomic::{AtomicBool, Ordering};

use clathrate_ckks::encrypted_array::PlainArray;
use clathrate_ckks::file::FileReader;
use clathrate_ckks::program::{
    Arrangement, CompileOptions, Executor, FunctionRecording, OwnerPart, Pass, Program, ProgramInput,
    RecordedFunction, RunOptions, STORE_PAUSE, Task, ValueForecast,
};
use clathrate_ckks::{CkksError, Encoding, Evaluator};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{Array, PyPlainSymbol, array, to_numpy};
use crate::ciphertext::PyCiphertext;
use crate::errors::{out_of_range, raise};
use crate::evaluation_keys::{PyEvaluationKeys, attachable};
use crate::executor::{PyExecutor, PyValueFiles, ValueFiles, files_of, to_python, value_of};
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::{attached, computing, detached, file_bytes, running, transferring};
use crate::runtime::PyRuntime;
use crate::saving::{save, to_bytes};
use crate::text::hex;
use crate::trace::PyRecording;

/// An input: its name, its shape, whether it is complex, the bound on its numbers, whether it is in slots,
/// whether rows share polynomials, and whether it is plain.
type Input = (String, Vec<usize>, bool, Option<Real>, bool, bool, bool);

fn input_of((name, shape, is_complex, bound, in_slots, lanes, is_plain): Input) -> ProgramInput {
    let encoding = if in_slots { Encoding::Slots } else { Encoding::Coefficients };
    ProgramInput { name, shape, is_complex, bound: Real::given(bound), is_plain, encoding, lanes }
}

#[pyclass(frozen, module = "clathrate._native", name = "FunctionRecording")]
pub struct PyFunctionRecording {
    recording: FunctionRecording,
}

#[pymethods]
impl PyFunctionRecording {
    #[new]
    fn new(py: Python<'_>, inputs: Vec<Input>) -> PyResult<Self> {
        let inputs: Vec<ProgramInput> = inputs.into_iter().map(input_of).collect();
        Ok(Self { recording: detached(py, || FunctionRecording::new(&inputs))? })
    }

    fn symbols(&self, py: Python<'_>) -> PyResult<Vec<PyCiphertext>> {
        let symbols = self.recording.symbols();
        let Some(first) = symbols.first() else { return Ok(Vec::new()) };
        let params = Py::new(py, PyParams::from_core(first.data().params().clone()))?;
        Ok(symbols
            .iter()
            .map(|symbol| PyCiphertext::recorded(symbol.clone(), params.clone_ref(py)))
            .collect())
    }

    fn plain(&self) -> Vec<PyPlainSymbol> {
        let plain = self.recording.plain().iter().cloned();
        plain.map(|numbers| PyPlainSymbol { numbers }).collect()
    }

    // `arrangement` is JSON.
    fn finish(
        &self,
        py: Python<'_>,
        results: Vec<Py<PyCiphertext>>,
        arrangement: &str,
    ) -> PyResult<PyRecordedFunction> {
        let arrangement: Arrangement = serde_json::from_str(arrangement).map_err(|error| {
            out_of_range(py, "the arrangement of results", error.to_string(), "use lists")
        })?;
        let results: Vec<_> = results.iter().map(|result| &result.get().array).collect();
        let function = self.recording.finish(&results, arrangement).map_err(|error| raise(py, error))?;
        Ok(PyRecordedFunction { function })
    }
}

#[pyclass(frozen, module = "clathrate._native", name = "RecordedFunction")]
pub struct PyRecordedFunction {
    function: RecordedFunction,
}

#[pymethods]
impl PyRecordedFunction {
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        self.function.digest().map(|digest| hex(&digest)).map_err(|error| raise(py, error))
    }

    fn batched(&self, py: Python<'_>, count: Whole, lanes: bool) -> PyResult<Self> {
        let count =
            usize::try_from(count.0).map_err(|_| out_of_range(py, "`batch`", count.0, "use 1 or more"))?;
        let function = detached(py, || self.function.batched(count, lanes))?;
        Ok(Self { function })
    }

    fn with_usual_errors(&self) -> Self {
        Self { function: self.function.clone().with_usual_errors() }
    }
}

/// What was tried: the name, and seconds and bytes of keys, or why it does not serve.
type Tried = (String, Option<(f64, usize)>, String);

#[pyfunction]
#[allow(clippy::too_many_arguments)] // as many as keywords
pub fn compile_functions(
    py: Python<'_>,
    functions: Vec<Py<PyRecordedFunction>>,
    error: Option<Real>,
    relative_error: Option<Real>,
    result_sizes: Vec<f64>,
    security: Real,
    key_bytes: Option<Whole>,
    memory: Option<Whole>,
    passes: Option<Vec<String>>,
    params: Option<&PyParams>,
    runtime: Option<&Bound<'_, PyRuntime>>,
) -> PyResult<(PyProgram, Vec<Tried>)> {
    let bytes = |name: &'static str, bytes: Option<Whole>| {
        let bytes = bytes.map(|Whole(value)| {
            usize::try_from(value).map_err(|_| out_of_range(py, name, value, "use 1 or more"))
        });
        bytes.transpose()
    };
    let passes = match passes {
        Some(names) => names.iter().map(|name| Pass::named(name)).collect::<Result<_, _>>(),
        None => Ok(Pass::ALL.to_vec()),
    };
    let options = CompileOptions {
        error: Real::given(error),
        relative_error: Real::given(relative_error),
        result_sizes,
        security: security.0,
        key_bytes: bytes("`key_bytes`", key_bytes)?,
        memory: bytes("`memory`", memory)?,
        passes: passes.map_err(|error| raise(py, error))?,
        params: match (params, runtime) {
            (Some(params), Some(_)) => {
                Some(params.params.under(&PyRuntime::given(runtime)).map_err(|error| raise(py, error))?)
            }
            (params, _) => params.map(|params| params.params.clone()),
        },
        runtime: PyRuntime::given(runtime),
    };
    let functions: Vec<RecordedFunction> =
        functions.iter().map(|function| function.get().function.clone()).collect();
    let (program, tried) = computing(py, |_| Program::compiled(&functions, &options))?;
    let tried = tried
        .into_iter()
        .map(|own| match own.outcome {
            Ok(found) => (own.name, Some(found), String::new()),
            Err(reason) => (own.name, None, reason),
        })
        .collect();
    Ok((PyProgram::new(py, program)?, tried))
}

/// A result: its shape, whether it is complex, its encoding, its level, the bound on its numbers, the root
/// mean square of its errors and the bound on them.
type ResultRow = (Vec<usize>, bool, &'static str, usize, Option<f64>, Option<f64>, Option<f64>);

/// An input, as [`Input`].
type InputRow = (String, Vec<usize>, bool, Option<f64>, bool, bool, bool);

fn input_row(input: &ProgramInput) -> InputRow {
    let in_slots = input.encoding == Encoding::Slots;
    (
        input.name.clone(),
        input.shape.clone(),
        input.is_complex,
        input.bound,
        in_slots,
        input.lanes,
        input.is_plain,
    )
}

// JSON.
fn arrangement(py: Python<'_>, arrangement: &Arrangement) -> PyResult<String> {
    serde_json::to_string(arrangement)
        .map_err(|_| raise(py, CkksError::Internal { operation: "the results of a program" }))
}

fn result_row(result: &ValueForecast) -> ResultRow {
    (
        result.shape.clone(),
        result.is_complex,
        result.encoding.name(),
        result.level.0,
        result.bound,
        result.error_rms,
        result.error_bound,
    )
}

/// The nodes as JSON, plain numbers, lists of places, and the numbers of the results.
type Parts<'py> = (String, Vec<Bound<'py, PyAny>>, Vec<Vec<i64>>, Vec<usize>);

#[pyclass(frozen, module = "clathrate._native", name = "Program")]
pub struct PyProgram {
    program: Program,
    params: Py<PyParams>,
}

impl PyProgram {
    pub fn new(py: Python<'_>, program: Program) -> PyResult<Self> {
        let params = Py::new(py, PyParams::from_core(program.params().clone()))?;
        Ok(Self { program, params })
    }

    // What computes with these keys, and keeps encoded plaintexts with the parameters.
    fn evaluator(&self, py: Python<'_>, keys: Option<&Py<PyEvaluationKeys>>) -> PyResult<Evaluator> {
        let evaluator = match keys {
            Some(keys) => keys.get().evaluator(None).map_err(|error| raise(py, error))?,
            None => Evaluator::new(self.program.params()),
        };
        Ok(evaluator.keeping(&self.params.get().plans))
    }

    // About the bytes of its file.
    fn size(&self) -> usize {
        8 * self
            .program
            .graph()
            .constants
            .iter()
            .map(|constant| constant.shape().iter().product::<usize>())
            .sum::<usize>()
    }
}

/// Plain inputs.
fn plain_arrays(plain: &[Bound<'_, PyAny>]) -> PyResult<Vec<PlainArray>> {
    plain.iter().map(|given| array(given).map(Array::plain)).collect()
}

#[pymethods]
impl PyProgram {
    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    #[getter]
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.program.forecast().needs().clone() }
    }

    #[getter]
    fn inputs(&self) -> Vec<InputRow> {
        self.program.inputs().iter().map(input_row).collect()
    }

    fn for_owner(&self, py: Python<'_>) -> PyOwnerPart {
        PyOwnerPart { part: self.program.for_owner(), params: self.params.clone_ref(py) }
    }

    #[getter]
    fn level(&self) -> usize {
        self.program.choices().level.0
    }

    #[getter]
    fn bootstrap_below(&self) -> Option<usize> {
        self.program.choices().bootstrap_below.map(|level| level.0)
    }

    #[getter]
    fn results(&self) -> Vec<ResultRow> {
        self.program.forecast().results().iter().map(result_row).collect()
    }

    // JSON.
    #[getter]
    fn arrangement(&self, py: Python<'_>) -> PyResult<String> {
        arrangement(py, self.program.arrangement())
    }

    #[getter]
    fn key_bytes(&self) -> usize {
        self.program.forecast().key_bytes()
    }

    #[getter]
    fn recording(&self) -> PyRecording {
        PyRecording::new(self.program.forecast().recording().clone())
    }

    // The seconds by the library's own prices, which are the same on every machine.
    #[getter]
    fn price(&self) -> f64 {
        self.program.forecast().price() * 1e-9
    }

    #[getter]
    fn bootstraps(&self) -> usize {
        self.program.forecast().recording().bootstraps()
    }

    // Of each task: the value that it gives, its name, the values that it takes, seconds, and bytes.
    #[getter]
    fn tasks(&self) -> Vec<(usize, String, Vec<usize>, f64, usize)> {
        let row =
            |task: &Task| (task.value, task.name.clone(), task.inputs.clone(), task.seconds, task.bytes);
        self.program.tasks().iter().map(row).collect()
    }

    #[getter]
    fn operations(&self) -> usize {
        self.program.graph().nodes.len()
    }

    #[getter]
    fn values(&self) -> Vec<ResultRow> {
        self.program.forecast().values().iter().map(result_row).collect()
    }

    // The nodes as JSON, the plain numbers, and the lists of places, -1 for none.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py>> {
        let graph = self.program.graph();
        let nodes = serde_json::to_string(&graph.nodes)
            .map_err(|_| raise(py, CkksError::Internal { operation: "the operations of a program" }))?;
        let constants = graph.constants.iter().map(|own| to_numpy(py, own.values().clone(), own.shape()));
        let place = |place: &Option<usize>| place.map_or(-1, |place| place as i64);
        let places = graph.places.iter().map(|list| list.iter().map(place).collect()).collect();
        Ok((nodes, constants.collect::<PyResult<Vec<_>>>()?, places, self.program.results().to_vec()))
    }

    fn graph_text(&self) -> String {
        self.program.graph_text()
    }

    fn explain(&self) -> String {
        self.program.to_string()
    }

    // `executor` is a Python object as `PyExecutor` says, and how many operations it is given at a time.
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn run(
        &self,
        py: Python<'_>,
        keys: Option<&Bound<'_, PyAny>>,
        inputs: Vec<Py<PyCiphertext>>,
        plain: Vec<Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
        store: Option<FilePath>,
        executor: Option<(Py<PyAny>, usize)>,
    ) -> PyResult<Vec<PyCiphertext>> {
        let keys = keys.map(attachable).transpose()?;
        let evaluator = self.evaluator(py, keys.as_ref())?;
        let inputs: Vec<_> = inputs.iter().map(|input| input.get().array.data().clone()).collect();
        let plain = plain_arrays(&plain)?;
        let executor =
            executor.map(|(object, workers)| PyExecutor::new(object, workers, self.program.params()));
        let is_stopped = AtomicBool::new(false);
        let results = running(py, progress, "run", |progress| {
            let options = RunOptions {
                store: store.as_deref().map(|folder| (folder, STORE_PAUSE)),
                executor: executor.as_ref().map(|own| own as &dyn Executor),
            };
            let evaluator = evaluator.with_progress(progress.clone());
            let results = self.program.run_with(&evaluator, &inputs, &plain, options);
            let stopped = matches!(results, Err(CkksError::Cancelled));
            is_stopped.store(stopped, Ordering::Relaxed);
            results
        });
        // The exception that stopped the run says more than that it was stopped.
        let failure = executor.and_then(PyExecutor::failure).filter(|_| is_stopped.into_inner());
        let results = results.map_err(|error| failure.unwrap_or(error))?;
        results.into_iter().map(|data| PyCiphertext::with(py, data, &self.params, keys.as_ref())).collect()
    }

    // Refuses what is no keys, and inputs that a run refuses.
    fn check(
        &self,
        py: Python<'_>,
        keys: Option<&Bound<'_, PyAny>>,
        inputs: Vec<Py<PyCiphertext>>,
        plain: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        keys.map(attachable).transpose()?;
        let inputs: Vec<_> = inputs.iter().map(|input| input.get().array.data().clone()).collect();
        self.program.check(&inputs, &plain_arrays(&plain)?).map_err(|error| raise(py, error))
    }

    // One operation of a run: the file of its value from those of the values that it takes.
    fn compute<'py>(
        &self,
        py: Python<'py>,
        keys: Option<&Bound<'_, PyAny>>,
        value: usize,
        operands: Vec<(usize, ValueFiles)>,
        plain: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<PyValueFiles<'py>> {
        let keys = keys.map(attachable).transpose()?;
        let evaluator = self.evaluator(py, keys.as_ref())?;
        let plain = plain_arrays(&plain)?;
        let found = computing(py, |progress| {
            let params = self.program.params();
            let operands = operands.iter().map(|(number, files)| Ok((*number, value_of(files, params)?)));
            let operands = operands.collect::<Result<Vec<_>, CkksError>>()?;
            let evaluator = evaluator.with_progress(progress.clone());
            files_of(&self.program.compute(&evaluator, value, operands, &plain)?)
        })?;
        Ok(to_python(py, &found))
    }

    // How the names of the files begin in which a run stores values.
    fn stored_prefix(
        &self,
        py: Python<'_>,
        inputs: Vec<Py<PyCiphertext>>,
        plain: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let inputs: Vec<_> = inputs.iter().map(|input| input.get().array.data().clone()).collect();
        self.program.stored_prefix(&inputs, &plain_arrays(&plain)?).map_err(|error| raise(py, error))
    }

    // As `run`, with every value in place of the results.
    fn run_all(
        &self,
        py: Python<'_>,
        keys: Py<PyEvaluationKeys>,
        inputs: Vec<Py<PyCiphertext>>,
        plain: Vec<Bound<'_, PyAny>>,
        seen: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let evaluator = self.evaluator(py, Some(&keys))?;
        let inputs: Vec<_> = inputs.iter().map(|input| input.get().array.data().clone()).collect();
        let plain = plain_arrays(&plain)?;
        let mut failure = None;
        let run = attached(py, || {
            self.program.run_seen(&evaluator, &inputs, &plain, |number, value| {
                // A product at level 0 has no level left to be rescaled.
                let given = value.settled().unwrap_or_else(|_| value.data().clone());
                let told = PyCiphertext::with(py, given, &self.params, Some(&keys))
                    .and_then(|value| seen.call1((number, value)));
                told.map(drop).map_err(|error| {
                    failure = Some(error);
                    CkksError::Cancelled
                })
            })
        });
        match failure {
            Some(error) => Err(error),
            None => run.map(drop),
        }
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &self.program, &path, overwrite, self.size())
    }

    #[staticmethod]
    fn load(
        py: Python<'_>,
        path: FilePath,
        runtime: Option<&Bound<'_, PyRuntime>>,
        allow_insecure: bool,
    ) -> PyResult<Self> {
        let runtime = PyRuntime::given(runtime);
        let program = transferring(py, "loading", file_bytes(&path), |progress| {
            let reader = FileReader::open(&path)?.with_progress(progress.clone());
            Program::from_reader(&reader, allow_insecure, &runtime)
        })?;
        Self::new(py, program)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, &self.program, self.size())
    }
}

#[pyclass(frozen, module = "clathrate._native", name = "OwnerPart")]
pub struct PyOwnerPart {
    part: OwnerPart,
    params: Py<PyParams>,
}

impl PyOwnerPart {
    pub fn new(py: Python<'_>, part: OwnerPart) -> PyResult<Self> {
        let params = Py::new(py, PyParams::from_core(part.params().clone()))?;
        Ok(Self { part, params })
    }
}

#[pymethods]
impl PyOwnerPart {
    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    #[getter]
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.part.needs().clone() }
    }

    #[getter]
    fn inputs(&self) -> Vec<InputRow> {
        self.part.inputs().iter().map(input_row).collect()
    }

    #[getter]
    fn level(&self) -> usize {
        self.part.level().0
    }

    #[getter]
    fn results(&self) -> Vec<ResultRow> {
        self.part.results().iter().map(result_row).collect()
    }

    #[getter]
    fn arrangement(&self, py: Python<'_>) -> PyResult<String> {
        arrangement(py, self.part.arrangement())
    }

    #[getter]
    fn key_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.part.key_bytes().map_err(|error| raise(py, error))
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &self.part, &path, overwrite, 0)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, &self.part, 0)
    }
}
