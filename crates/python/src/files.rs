//! Files by kind, the same bytes in memory, and pickles made of them.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clathrate_ckks::file::{FileKind, FileReader};
use clathrate_ckks::{Ciphertext, CkksError, EvaluationKeys, Params, PublicKey, Runtime};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ciphertext::PyCiphertext;
use crate::errors::exception;
use crate::keys::{PyEvaluationKeys, PyPublicKey};
use crate::operand::Whole;
use crate::params::{PyParams, from_json, hex};
use crate::run::{attached, detached};

/// A path as Python has them: `str`, `bytes` or `os.PathLike`, decoded as the file system encodes names.
pub struct FilePath(PathBuf);

impl<'a, 'py> FromPyObject<'a, 'py> for FilePath {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(data.py().import("os")?.call_method1("fsdecode", (data,))?.extract()?))
    }
}

impl Deref for FilePath {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// What `__reduce_ex__` gives: the rebuilding function, and parameters and bytes to call it with.
pub type BufferAndRebuild<'py> = (Bound<'py, PyAny>, (Py<PyParams>, Bound<'py, PyAny>));

/// `bytes` as a read-only uint8 array, without a copy.
pub fn to_array(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Bound<'_, PyAny>> {
    let array = PyArray1::from_vec(py, bytes).into_any();
    array.getattr("flags")?.setattr("writeable", false)?;
    Ok(array)
}

/// A pickle of a file's bytes: out of band from protocol 5 on, else within.
pub fn reduce<'py>(bytes: Bound<'py, PyAny>, params: &Py<PyParams>, protocol: Whole) -> PyResult<BufferAndRebuild<'py>> {
    let py = bytes.py();
    let buffer =
        if protocol.0 >= 5 { py.import("pickle")?.getattr("PickleBuffer")?.call1((bytes,))? } else { bytes.call_method0("tobytes")? };
    Ok((py.import("clathrate._pickle")?.getattr("rebuild")?, (params.clone_ref(py), buffer)))
}

/// What a file can hold and be loaded as without asking for it by name.
enum Loaded {
    Params(Params),
    PublicKey(PublicKey),
    EvaluationKeys(Arc<EvaluationKeys>),
    Ciphertext(Ciphertext),
    /// A kind that needs its own function, or none yet.
    Refused(FileKind),
    /// The kind needs parameters, and none were given.
    ParamsMissing(FileKind),
}

fn read(reader: &FileReader<'_>, params: Option<&Params>) -> Result<Loaded, CkksError> {
    let kind = reader.label().kind;
    Ok(match (kind, params) {
        (FileKind::Params, _) => Loaded::Params(Params::from_reader(reader, &Runtime::default())?),
        (FileKind::PublicKey, Some(params)) => Loaded::PublicKey(PublicKey::from_reader(reader, params)?),
        (FileKind::EvaluationKeys, Some(params)) => Loaded::EvaluationKeys(Arc::new(EvaluationKeys::from_reader(reader, params)?)),
        (FileKind::Ciphertext, Some(params)) => Loaded::Ciphertext(Ciphertext::from_reader(reader, params)?),
        (FileKind::PublicKey | FileKind::EvaluationKeys | FileKind::Ciphertext, None) => Loaded::ParamsMissing(kind),
        (FileKind::SecretKey | FileKind::Plaintext | FileKind::Plan, _) => Loaded::Refused(kind),
    })
}

impl Loaded {
    fn into_python(self, py: Python<'_>, params: Option<Py<PyParams>>) -> PyResult<Bound<'_, PyAny>> {
        let given = || params.as_ref().map(|params| params.clone_ref(py)).ok_or_else(|| PyTypeError::new_err("`params` is missing"));
        Ok(match self {
            Self::Params(params) => Bound::new(py, PyParams { params })?.into_any(),
            Self::PublicKey(key) => Bound::new(py, PyPublicKey { key: Arc::new(key), params: given()? })?.into_any(),
            Self::EvaluationKeys(keys) => Bound::new(py, PyEvaluationKeys { keys, params: given()? })?.into_any(),
            Self::Ciphertext(data) => Bound::new(py, PyCiphertext::new(py, data, &given()?)?)?.into_any(),
            Self::ParamsMissing(kind) => {
                return Err(PyTypeError::new_err(format!("the file holds {kind}: pass the parameters too, `load(path, params)`")));
            }
            Self::Refused(FileKind::SecretKey) => {
                let message = "the file holds a secret key: load it on purpose, with `SecretKey.load(path, params)`";
                return Err(exception(py, "FileFormatError", message.to_owned()));
            }
            Self::Refused(kind) => {
                return Err(exception(py, "FileFormatError", format!("the file holds {kind}, which cannot be loaded here")));
            }
        })
    }
}

/// What the file at `path` holds: `Params`, `PublicKey`, `EvaluationKeys` or `Ciphertext`; all but the first need `params`.
///
/// Errors: `FileFormatError` (no file of ours, truncated, corrupted, of a newer version, a secret key), `FileAccessError`,
/// `WrongParamsError`; `TypeError` where `params` is missing.
#[pyfunction]
#[pyo3(signature = (path, params=None))]
pub fn load(py: Python<'_>, path: FilePath, params: Option<Py<PyParams>>) -> PyResult<Bound<'_, PyAny>> {
    let own = params.as_ref().map(|params| &params.get().params);
    let loaded = detached(py, || read(&FileReader::open(&path)?, own))?;
    loaded.into_python(py, params)
}

/// As `load`, from anything with a buffer (`bytes`, `memoryview`, a uint8 array): read in place, copied once into its polynomials.
///
/// Errors: those of `load`; `TypeError` for what has no contiguous buffer.
#[pyfunction]
#[pyo3(signature = (data, params=None))]
pub fn from_bytes<'py>(py: Python<'py>, data: &Bound<'py, PyAny>, params: Option<Py<PyParams>>) -> PyResult<Bound<'py, PyAny>> {
    let view = py.import("builtins")?.getattr("memoryview")?.call1((data,))?;
    let own = params.as_ref().map(|params| &params.get().params);
    // NumPy refuses empty buffers.
    let loaded = if view.getattr("nbytes")?.extract::<usize>()? == 0 {
        attached(py, || read(&FileReader::from_bytes(&[])?, own))?
    } else {
        let bytes = view.call_method1("cast", ("B",))?;
        let array = py.import("numpy")?.call_method1("frombuffer", (bytes, "uint8"))?;
        let array = array.cast::<PyArray1<u8>>()?.try_readonly()?;
        let constant = !array.getattr("flags")?.getattr("writeable")?.extract::<bool>()?;
        let slice = array.as_slice()?;
        match constant {
            true => detached(py, || read(&FileReader::from_bytes(slice)?, own))?,
            // Others could write while we read: keep Python code out meanwhile.
            false => attached(py, || read(&FileReader::from_bytes(slice)?, own))?,
        }
    };
    loaded.into_python(py, params)
}

/// What a file says of itself: `kind`, `parameters` (their name, None in files that do not state one), `parameter_digest`, `insecure`, `bytes`, `metadata`, `sections` (name to bytes).
///
/// `verify` compares the checksum of every section too. Nothing secret is in it, whatever the file.
///
/// Errors: `FileFormatError`, `FileAccessError`.
#[pyfunction]
#[pyo3(signature = (path, verify=true))]
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
