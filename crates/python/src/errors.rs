//! Errors of the core as Python exceptions: one class per kind. The message is the core's, except where its
//! remedy has another name in Python.
//!
//! The classes are Python (`clathrate.errors`), looked up when raised, so that they can derive from
//! `ValueError`, `LookupError` and `OSError` and be pickled.

use std::any::Any;
use std::io;
use std::path::Path;

use clathrate_arith::text::counted;
use clathrate_arith::{DeviceError, OutOfMemory};
use clathrate_ckks::error::{ErrorKind, SAME_SECRET_REMEDY};
use clathrate_ckks::file::FileError;
use clathrate_ckks::keys::{Operation, Switch};
use clathrate_ckks::{CkksError, ModuleShape, SecretName};
use clathrate_lattice::LatticeError;
use pyo3::prelude::*;
use pyo3::types::PyFloat;

fn class_name(error: &CkksError) -> &'static str {
    match error.kind() {
        ErrorKind::Params => "ParamsError",
        ErrorKind::Security => "SecurityError",
        ErrorKind::Value => "DataError",
        ErrorKind::Shape => "ShapeError",
        ErrorKind::Scale => "ScaleError",
        ErrorKind::Level => "LevelError",
        ErrorKind::MissingKey => "MissingKeyError",
        ErrorKind::WrongParams => "WrongParamsError",
        ErrorKind::WrongSecret => "WrongSecretError",
        ErrorKind::File => "FileFormatError",
        ErrorKind::Io => "FileAccessError",
        ErrorKind::Random => "RandomError",
        ErrorKind::Cancelled => "CancelledError",
        ErrorKind::Memory => "NotEnoughMemoryError",
        ErrorKind::Device => "DeviceError",
        ErrorKind::Internal => "InternalError",
    }
}

/// The exception `class` of `clathrate.errors`.
pub fn exception(py: Python<'_>, class: &str, message: String) -> PyErr {
    let make = || py.import("clathrate.errors")?.getattr(class)?.call1((message,));
    make().map_or_else(|error| error, PyErr::from_value)
}

/// `error` as an exception.
pub fn raise(py: Python<'_>, error: CkksError) -> PyErr {
    if let CkksError::File(FileError::Io { path, source, .. }) = &error {
        if source.kind() == io::ErrorKind::AlreadyExists {
            let message = format!(
                "{} exists: save to another path, or replace the file with `overwrite=True`",
                path.display()
            );
            return io_exception(py, message, path, source.raw_os_error(), source.kind());
        }
        return io_exception(py, error.to_string(), path, source.raw_os_error(), source.kind());
    }
    if let CkksError::File(FileError::SecretKeyInTheWay { path }) = &error {
        let message = format!(
            "{} holds a secret key, which may be the only copy: save to another path; only `secret_key.save(path, overwrite=True)` replaces it",
            path.display()
        );
        return io_exception(py, message, path, None, io::ErrorKind::AlreadyExists);
    }
    exception(py, class_name(&error), python_message(&error).unwrap_or_else(|| error.to_string()))
}

/// How the keys of a whole computation are made, as far as it is known when they are.
const KEYS_FOR: &str =
    "make keys with `secret_key.keys_for(function, x.shape)`, which finds those of the whole function,";

/// The message of an error whose remedy is a Python call: the core's own words name types and functions of
/// Rust.
fn python_message(error: &CkksError) -> Option<String> {
    Some(match error {
        CkksError::InBatch { index, error } => {
            format!("array {index} of the batch: {}", python_message(error)?)
        }
        CkksError::Insecure { .. } => {
            error.to_string().replace("`allow_insecure`", "`allow_insecure=True`")
        }
        CkksError::TablesTooLarge { bytes, .. } => error.to_string().replace(
            "`table_bytes` of the runtime",
            &format!("the limit with `cl.Runtime(table_mib={})`", bytes.div_ceil(1 << 20)),
        ),
        CkksError::NoKeys { operation } => format!(
            "{operation} needs evaluation keys, and the ciphertext carries none (files and pickles leave them out): attach them with \
             `ct = ct.with_keys(keys)`, where the owner of the secret makes `keys = secret_key.keys_for(function, x.shape)`, and a server or \
             a worker reads `keys = cl.load(path, params)`"
        ),
        CkksError::MissingKeys { operation, count, bytes, names } => format!(
            "{operation} needs {}, {:.2} GiB, that the attached keys do not have: {names}; make keys with \
             `secret_key.evaluation_keys(plan.needs)`",
            counted(*count, "key"),
            *bytes as f64 / f64::from(1 << 30)
        ),
        CkksError::MissingKey { operation, shape, held } => missing_key(*operation, *shape, held),
        CkksError::NoRelativeKeys { shape, available } => format!(
            "a ciphertext of degree {} and rank {} needs keys of that shape, and the attached keys have (degree x rank): {available}; make keys \
             with `cl.keys.Needs(..., ranks=[...])` or `cl.keys.Needs(..., to_rlwe=True)`",
            shape.degree, shape.rank
        ),
        CkksError::WrongSecret { reason } => reason.replace(
            SAME_SECRET_REMEDY,
            "with `ct.share_mask(...)` or `ct.split_mask()`, those of a device by `ct.pack(cl.plans.PackingPlan(params, device=...))`",
        ),
        CkksError::Encoding { operation, expected, got } => format!(
            "{operation} needs the encoding \"{expected}\", and \"{got}\" was given: encrypt the array with `encoding=\"{expected}\"`"
        ),
        CkksError::Shape {
            operation: operation @ "a product of a matrix and a vector", left, right, ..
        } => {
            format!(
                "{operation}: shapes {left:?} and {right:?} do not fit: take the inner products, `[x.dot(row) for row in W]`, or \
             `cl.functions.stack([x.dot(row).reshape(1) for row in W])` as one array, whose numbers are a polynomial each; with `encoding=\"slots\"` \
             the vector is multiplied as it is, by rotations"
            )
        }
        CkksError::Shape { operation: "a product of the numbers of a row", .. } => {
            error.to_string().replace("with one row in each polynomial", "without `lanes`")
        }
        CkksError::Shape { operation: "a sum", left, right, .. } => {
            let [rows] = right[..] else { return None };
            format!(
                "sums of the {rows} rows of an array of shape {left:?} in coefficients are in as many polynomials, and no vector: keep the axis \
                 with `keepdims=True`, or encrypt the array with `encoding=\"slots\"`"
            )
        }
        CkksError::Shape { operation: "a repetition of one number", .. } => error.to_string().replace(
            "of sums of rows keep the column,",
            "of sums of rows keep the column with `keepdims=True`, as in `x - x.sum(axis=1, keepdims=True)`,",
        ),
        CkksError::Lattice(LatticeError::MemoryMismatch { left, right }) => {
            format!(
                "one operand is in the memory of `{left}`, the other in that of `{right}`: bring both to one device with `to`, such as `ct.to(\"cpu\")`"
            )
        }
        CkksError::Lattice(LatticeError::KeyLevelTooLow { key_level, level }) => format!(
            "the key serves levels up to {key_level}, and the ciphertext is at level {level}: lower the ciphertext with \
             `ct.drop_to_level({key_level})`, or make keys with `cl.keys.Needs(..., level={level})`"
        ),
        _ => return None,
    })
}

/// The message of a missing key, with the calls that make it.
fn missing_key(operation: Operation, shape: ModuleShape, held: &str) -> String {
    let needs = needs_of(operation);
    match operation {
        Operation::Multiply => {
            format!(
                "multiplying ciphertexts needs a relinearisation key, and the attached keys have none: {KEYS_FOR} or `{needs}`"
            )
        }
        Operation::Conjugate(SecretName::Main) => format!(
            "conjugation needs a key, and the attached keys have none: {KEYS_FOR} or `{needs}`; for arrays of complex numbers `keys_for` and \
             `trace` take `is_complex=True`"
        ),
        Operation::Rotate { secret: SecretName::Main, steps } => {
            format!(
                "rotation by {steps} needs a key, and the attached keys have {held}: {KEYS_FOR} or `{needs}`"
            )
        }
        Operation::ReduceRank(to) => format!(
            "a reduction from rank {} to {to} needs a key, and the attached keys have reductions to: {held}; make keys with `{needs}`",
            shape.rank
        ),
        _ => {
            let bodies = match operation {
                Operation::Rotate { secret: SecretName::Bodies(bodies), .. }
                | Operation::Conjugate(SecretName::Bodies(bodies)) => format!(", bodies={bodies}"),
                Operation::Switch(Switch::ChangeSecret { from: SecretName::Body { count, .. }, .. }) => {
                    format!(", bodies={count}")
                }
                _ => String::new(),
            };
            format!(
                "to {operation} at degree and rank {shape} needs a key, and the attached keys have: {held}; make keys with \
                 `secret_key.keys_for(function, x.shape{bodies})`, which finds those of the whole function, or with `{needs}`"
            )
        }
    }
}

/// The needs of an operation, as Python code.
fn needs_of(operation: Operation) -> String {
    match operation {
        Operation::Multiply => "cl.keys.Needs(relinearise=True)".to_owned(),
        Operation::Conjugate(SecretName::Bodies(bodies)) => {
            format!("cl.keys.Needs(conjugate=True, bodies={bodies})")
        }
        Operation::Conjugate(_) => "cl.keys.Needs(conjugate=True)".to_owned(),
        Operation::Rotate { secret: SecretName::Bodies(bodies), steps } => {
            format!("cl.keys.Needs(rotations=[{steps}], bodies={bodies})")
        }
        Operation::Rotate { steps, .. } => format!("cl.keys.Needs(rotations=[{steps}])"),
        Operation::RotateByPowers => "cl.keys.Needs(power_rotations=True)".to_owned(),
        Operation::ReduceRank(to) => format!("cl.keys.Needs(ranks=[{to}])"),
        Operation::Switch(switch) => match switch {
            Switch::FormatSwitch { from: 1, to: count }
            | Switch::ChangeSecret { from: SecretName::Body { count, .. }, .. } => {
                format!("cl.keys.Needs(shared_mask={count})")
            }
            Switch::ChangeSecret { to, .. } if to.is_ephemeral() => {
                "cl.plans.BootstrapPlan(params).needs".to_owned()
            }
            Switch::ChangeSecret { to, .. } => {
                format!("cl.plans.trace(lambda x: x.change_secret(\"{to}\"), ...).needs")
            }
            Switch::Pack { under: SecretName::Device(number), .. } => {
                format!("cl.plans.PackingPlan(params, device={number}).needs")
            }
            Switch::Pack { onto: SecretName::Ephemeral, .. } => {
                "cl.plans.SamplesPlan(params).needs".to_owned()
            }
            Switch::Pack { .. } => "cl.plans.PackingPlan(params).needs".to_owned(),
            Switch::RaiseToSlots(_) => "cl.plans.BootstrapPlan(params).needs".to_owned(),
            Switch::FormatSwitch { .. } | Switch::BodyParts { .. } => {
                "cl.plans.MatrixPlan(params, W, x.shape[1]).needs".to_owned()
            }
        },
    }
}

/// An `OSError` with the fields that Python's own have: `errno`, `strerror`, `filename`.
fn io_exception(
    py: Python<'_>,
    message: String,
    path: &Path,
    number: Option<i32>,
    kind: io::ErrorKind,
) -> PyErr {
    let class = if kind == io::ErrorKind::NotFound { "MissingFileError" } else { "FileAccessError" };
    let error = exception(py, class, message);
    // Decoration: a failure here must not hide the error itself.
    let _ = decorate(error.value(py), path, number, kind);
    error
}

fn decorate(error: &Bound<'_, PyAny>, path: &Path, number: Option<i32>, kind: io::ErrorKind) -> PyResult<()> {
    let py = error.py();
    error.setattr("filename", path.as_os_str())?;
    let number = match number {
        Some(number) => number,
        // Found by us and not by the system, which would have said the same.
        None => py.import("errno")?.getattr(errno_name(kind))?.extract()?,
    };
    error.setattr("errno", number)?;
    error.setattr("strerror", py.import("os")?.call_method1("strerror", (number,))?)
}

/// The name in Python's `errno` module for a kind of error that came without a number.
const fn errno_name(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::NotFound => "ENOENT",
        io::ErrorKind::PermissionDenied => "EACCES",
        io::ErrorKind::AlreadyExists => "EEXIST",
        io::ErrorKind::IsADirectory => "EISDIR",
        io::ErrorKind::NotADirectory => "ENOTDIR",
        io::ErrorKind::FileTooLarge => "EFBIG",
        io::ErrorKind::OutOfMemory => "ENOMEM",
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => "EINVAL",
        _ => "EIO",
    }
}

/// The exception for a panic: what a device refused, memory that is not there, or a bug of ours, told as an
/// error and not as an abort.
pub fn internal(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    // Both come as panics, because operations on residues have no results.
    if let Some(error) = panic.downcast_ref::<DeviceError>() {
        return raise(py, CkksError::Device(error.clone()));
    }
    if let Some(error) = panic.downcast_ref::<OutOfMemory>() {
        return exception(py, "NotEnoughMemoryError", error.to_string());
    }
    let reason = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
    exception(py, "InternalError", format!("a bug in Clathrate, please report it: {reason}"))
}

/// An argument out of its range.
pub fn out_of_range(
    py: Python<'_>,
    what: &'static str,
    value: impl ToString,
    remedy: impl ToString,
) -> PyErr {
    raise(py, CkksError::OutOfRange { what, value: value.to_string(), remedy: remedy.to_string() })
}

/// Refuses a scale that is no positive number, and names one; whether the modulus has room for the scale is
/// the core's question.
///
/// # Errors
/// `ScaleError`.
pub fn check_scale(py: Python<'_>, name: &str, scale: Option<f64>, example: &str) -> PyResult<()> {
    match scale.filter(|scale| !(scale.is_finite() && *scale > 0.0)) {
        None => Ok(()),
        Some(scale) => {
            let shown = PyFloat::new(py, scale).repr()?;
            Err(exception(py, "ScaleError", format!("`{name}` is {shown}: use a positive number, {example}")))
        }
    }
}
