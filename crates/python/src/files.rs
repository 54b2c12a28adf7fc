//! Files by kind, and the same bytes in memory.

use std::sync::Arc;

use clathrate_ckks::circuits::prepared::PreparedMatrix;
use clathrate_ckks::file::{FileKind, FileReader};
use clathrate_ckks::program::{OwnerPart, Program};
use clathrate_ckks::{
    Ciphertext, CkksError, EvaluationKeys, LinearTransformPlan, Params, PublicKey, Runtime,
};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, raise};
use crate::evaluation_keys::PyEvaluationKeys;
use crate::linear::PyLinearTransformPlan;
use crate::matrix::PyPreparedMatrix;
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::program::{PyOwnerPart, PyProgram};
use crate::public_key::PyPublicKey;
use crate::run::{attached, detached, file_bytes, transferring};
use crate::runtime::PyRuntime;
use crate::text::{from_json, hex};

/// What a file holds, as far as it can be loaded without naming its kind.
enum Loaded {
    Params(Params),
    PublicKey(PublicKey),
    EvaluationKeys(Arc<EvaluationKeys>),
    Ciphertext(Box<Ciphertext>),
    Plan(Arc<LinearTransformPlan>),
    Matrix(Box<PreparedMatrix>),
    Program(Box<Program>),
    OwnerPart(Box<OwnerPart>),
    /// A kind that needs its own function, or none yet.
    Refused(FileKind),
    /// The kind needs parameters, and none were given.
    ParamsMissing(FileKind),
    /// A runtime was given, and the kind runs as its parameters do.
    RuntimeNeedless(FileKind),
}

/// Reads what the file holds: parameters and programs with `runtime` and, below 128 bits of security, with
/// `allow_insecure`; the other kinds with `params`.
fn read(
    reader: &FileReader<'_>,
    params: Option<&Params>,
    runtime: Option<&Runtime>,
    allow_insecure: bool,
) -> Result<Loaded, CkksError> {
    let kind = reader.label().kind;
    if runtime.is_some() && !matches!(kind, FileKind::Params | FileKind::Program | FileKind::OwnerPart) {
        return Ok(Loaded::RuntimeNeedless(kind));
    }
    Ok(match (kind, params) {
        (FileKind::Params, _) => Loaded::Params(Params::from_reader(
            reader,
            allow_insecure,
            runtime.unwrap_or(&PyRuntime::given(None)),
        )?),
        (FileKind::Program, _) => Loaded::Program(Box::new(Program::from_reader(
            reader,
            allow_insecure,
            runtime.unwrap_or(&PyRuntime::given(None)),
        )?)),
        (FileKind::OwnerPart, _) => Loaded::OwnerPart(Box::new(OwnerPart::from_reader(
            reader,
            allow_insecure,
            runtime.unwrap_or(&PyRuntime::given(None)),
        )?)),
        (FileKind::PublicKey, Some(params)) => Loaded::PublicKey(PublicKey::from_reader(reader, params)?),
        (FileKind::EvaluationKeys, Some(params)) => {
            Loaded::EvaluationKeys(Arc::new(EvaluationKeys::from_reader(reader, params)?))
        }
        (FileKind::Ciphertext, Some(params)) => {
            Loaded::Ciphertext(Box::new(Ciphertext::from_reader(reader, params)?))
        }
        (FileKind::Plan, Some(params)) => {
            Loaded::Plan(Arc::new(LinearTransformPlan::from_reader(reader, params)?))
        }
        (FileKind::PreparedMatrix, Some(params)) => {
            Loaded::Matrix(Box::new(PreparedMatrix::from_reader(reader, params)?))
        }
        (
            FileKind::PublicKey
            | FileKind::EvaluationKeys
            | FileKind::Ciphertext
            | FileKind::Plan
            | FileKind::PreparedMatrix,
            None,
        ) => Loaded::ParamsMissing(kind),
        (
            FileKind::SecretKey
            | FileKind::AuthenticationKey
            | FileKind::Plaintext
            | FileKind::PreparedSamples,
            _,
        ) => Loaded::Refused(kind),
    })
}

impl Loaded {
    fn into_python(self, py: Python<'_>, params: Option<Py<PyParams>>) -> PyResult<Bound<'_, PyAny>> {
        let given = || {
            params
                .as_ref()
                .map(|params| params.clone_ref(py))
                .ok_or_else(|| PyTypeError::new_err("`params` is missing"))
        };
        Ok(match self {
            Self::Params(params) => Bound::new(py, PyParams::from_core(params))?.into_any(),
            Self::Program(program) => Bound::new(py, PyProgram::new(py, *program)?)?.into_any(),
            Self::OwnerPart(part) => Bound::new(py, PyOwnerPart::new(py, *part)?)?.into_any(),
            Self::PublicKey(key) => {
                Bound::new(py, PyPublicKey { key: Arc::new(key), params: given()? })?.into_any()
            }
            Self::EvaluationKeys(keys) => Bound::new(py, PyEvaluationKeys::new(keys, given()?))?.into_any(),
            Self::Ciphertext(data) => Bound::new(py, PyCiphertext::new(py, *data, &given()?)?)?.into_any(),
            Self::Plan(plan) => Bound::new(py, PyLinearTransformPlan { plan })?.into_any(),
            Self::Matrix(matrix) => {
                Bound::new(py, PyPreparedMatrix::new(*matrix).map_err(|error| raise(py, error))?)?.into_any()
            }
            Self::ParamsMissing(kind) => {
                let message =
                    format!("the file holds {kind}: pass the parameters too, as in `cl.load(path, params)`");
                return Err(exception(py, "FileKindError", message));
            }
            Self::RuntimeNeedless(kind) => {
                let message = format!(
                    "the file holds {kind}, which runs as `params` does: give the runtime to the parameters"
                );
                return Err(exception(py, "FileKindError", message));
            }
            Self::Refused(FileKind::PreparedSamples) => {
                let message = "the file holds prepared masks, which serve once: take it on purpose, with `PreparedSamples.take`";
                return Err(exception(py, "FileFormatError", message.to_owned()));
            }
            Self::Refused(FileKind::AuthenticationKey) => {
                let message = "the file holds an authentication key: load it on purpose, with `AuthenticationKey.load(path, params)`";
                return Err(exception(py, "FileFormatError", message.to_owned()));
            }
            Self::Refused(FileKind::SecretKey) => {
                let message =
                    "the file holds a secret key: load it on purpose, with `SecretKey.load(path, params)`";
                return Err(exception(py, "FileFormatError", message.to_owned()));
            }
            Self::Refused(kind) => {
                return Err(exception(
                    py,
                    "FileFormatError",
                    format!("the file holds {kind}, which cannot be loaded here"),
                ));
            }
        })
    }
}

#[pyfunction]
pub fn load<'py>(
    py: Python<'py>,
    path: FilePath,
    params: Option<Py<PyParams>>,
    runtime: Option<&Bound<'py, PyRuntime>>,
    allow_insecure: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let own = params.as_ref().map(|params| &params.get().params);
    let runtime = runtime.map(|runtime| PyRuntime::given(Some(runtime)));
    let loaded = transferring(py, "loading", file_bytes(&path), |progress| {
        let reader = FileReader::open(&path)?.with_progress(progress.clone());
        read(&reader, own, runtime.as_ref(), allow_insecure)
    })?;
    loaded.into_python(py, params)
}

#[pyfunction]
pub fn from_bytes<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    params: Option<Py<PyParams>>,
    runtime: Option<&Bound<'py, PyRuntime>>,
    allow_insecure: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let view = py.import("builtins")?.getattr("memoryview")?.call1((data,))?;
    let own = params.as_ref().map(|params| &params.get().params);
    let runtime = runtime.map(|runtime| PyRuntime::given(Some(runtime)));
    let runtime = runtime.as_ref();
    // NumPy refuses empty buffers.
    let loaded = if view.getattr("nbytes")?.extract::<usize>()? == 0 {
        attached(py, || read(&FileReader::from_bytes(&[])?, own, runtime, allow_insecure))?
    } else {
        let bytes = view.call_method1("cast", ("B",))?;
        let array = py.import("numpy")?.call_method1("frombuffer", (bytes, "uint8"))?;
        let array = array.cast::<PyArray1<u8>>()?.try_readonly()?;
        let constant = !array.getattr("flags")?.getattr("writeable")?.extract::<bool>()?;
        let slice = array.as_slice()?;
        match constant {
            true => transferring(py, "from_bytes", slice.len() as u64, |progress| {
                let reader = FileReader::from_bytes(slice)?.with_progress(progress.clone());
                read(&reader, own, runtime, allow_insecure)
            })?,
            // Others could write while we read: keep Python code out meanwhile.
            false => attached(py, || read(&FileReader::from_bytes(slice)?, own, runtime, allow_insecure))?,
        }
    };
    loaded.into_python(py, params)
}

#[pyfunction]
pub fn inspect(py: Python<'_>, path: FilePath, verify: bool) -> PyResult<Bound<'_, PyDict>> {
    let reader = detached(py, || {
        let reader = FileReader::open(&path)?;
        if verify {
            reader.verify_all()?;
        }
        Ok(reader)
    })?;
    let label = reader.label();
    let report = PyDict::new(py);
    report.set_item("kind", label.kind.to_string())?;
    report.set_item("parameters", label.parameter_name.as_deref())?;
    report.set_item("parameter_digest", hex(&label.parameter_digest))?;
    report.set_item("insecure", label.insecure)?;
    report.set_item("bytes", reader.total_bytes())?;
    report.set_item("metadata", from_json(py, reader.metadata_text())?)?;
    let sections = PyDict::new(py);
    for section in reader.sections() {
        sections.set_item(section.name(), section.length)?;
    }
    report.set_item("sections", sections)?;
    Ok(report)
}
