//! Parameters from sizes, presets, text and files, and to text and files.

use std::path::Path;

use clathrate_ckks::file::{FileError, FileReader};
use clathrate_ckks::parameters::Segment;
use clathrate_ckks::{CkksError, Params, ParamsSpec, Runtime};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::object::{PyParams, size};
use crate::errors::{exception, raise};
use crate::numbers::{Real, Reals, Whole, list, wrong_type};
use crate::paths::FilePath;
use crate::run::detached;
use crate::runtime::PyRuntime;
use crate::saving::save;

/// Largest specification read from a text file, in bytes.
const TEXT_LIMIT_BYTES: u64 = 1 << 20;

/// Modulus steps as written: for each, one prime's bits or several.
struct Steps(Vec<Reals>);

impl<'a, 'py> FromPyObject<'a, 'py> for Steps {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let wanted = "a list with the bits of each step, such as [60, 40] or [[30, 30], 40]";
        let step = |step: &Bound<'py, PyAny>| match step.extract::<Real>() {
            Ok(one) => Ok(Reals(vec![one])),
            Err(_) => step.extract::<Reals>().map_err(|error| wrong_type(data, wanted, error)),
        };
        list(data, wanted)?.iter().map(step).collect::<PyResult<_>>().map(Self)
    }
}

/// A segment as written: a dict of its fields.
struct SegmentOption(Segment);

/// What a wrong segment is told.
const SEGMENT_REMEDY: &str =
    "a segment is {\"name\": str, \"log2_scale\": float, \"levels\": (lowest, highest)}";

impl<'a, 'py> FromPyObject<'a, 'py> for SegmentOption {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let wrong = || PyTypeError::new_err(SEGMENT_REMEDY);
        let fields = data.cast::<PyDict>().map_err(|_| wrong())?;
        let field = |name: &str| fields.get_item(name)?.ok_or_else(wrong);
        let (lowest, highest) = field("levels")?.extract::<(Whole, Whole)>().map_err(|_| wrong())?;
        if fields.len() > 3 {
            return Err(wrong());
        }
        let py = data.py();
        let levels =
            (size(py, "a level of `segments`", lowest)?, size(py, "a level of `segments`", highest)?);
        let (name, log2_scale) = (
            field("name")?.extract().map_err(|_| wrong())?,
            Real::given(field("log2_scale")?.extract().ok()).ok_or_else(wrong)?,
        );
        Ok(Self(Segment { name, log2_scale, levels }))
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let file = std::fs::File::open(path)?;
    let mut text = String::new();
    file.take(TEXT_LIMIT_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TEXT_LIMIT_BYTES {
        return Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            "a specification has at most 1 MiB",
        ));
    }
    Ok(text)
}

impl PyParams {
    fn parse(py: Python<'_>, text: &str, allow_insecure: bool, runtime: Runtime) -> PyResult<Self> {
        let spec: ParamsSpec = toml::from_str(text).map_err(|error| {
            raise(py, CkksError::InvalidParams { reason: format!("the text is no specification: {error}") })
        })?;
        let params = detached(py, move || Params::received(spec, allow_insecure, &runtime))?;
        Ok(Self::from_core(params))
    }
}

#[pymethods]
impl PyParams {
    #[new]
    fn new(
        py: Python<'_>,
        degree: Whole,
        steps: Steps,
        log2_scale: Real,
        special: Reals,
        rank: Whole,
        temporary_rank: Option<Whole>,
        temporary: Reals,
        secret_weight: Option<Whole>,
        digit_bits: Option<Real>,
        insecure: bool,
        below_128: bool,
        name: String,
        segments: Vec<SegmentOption>,
        ephemeral_weight: Option<Whole>,
        ephemeral_special: Option<Whole>,
        bootstrap_key_bytes: Option<Whole>,
        bootstrap_log2_failure: Option<Real>,
        runtime: Option<&Bound<'_, PyRuntime>>,
        device: Option<&str>,
    ) -> PyResult<Self> {
        let sizes = |sizes: Reals| sizes.0.into_iter().map(|Real(bits)| bits).collect::<Vec<f64>>();
        let spec = ParamsSpec {
            name,
            degree: size(py, "degree", degree)?,
            rank: size(py, "rank", rank)?,
            steps: steps.0.into_iter().map(sizes).collect(),
            special: sizes(special),
            temporary: sizes(temporary),
            temporary_rank: temporary_rank.map(|rank| size(py, "temporary_rank", rank)).transpose()?,
            relative: None,
            segments: segments.into_iter().map(|segment| segment.0).collect(),
            log2_scale: log2_scale.0,
            secret_weight: secret_weight.map(|weight| size(py, "secret_weight", weight)).transpose()?,
            ephemeral_weight: ephemeral_weight
                .map(|weight| size(py, "ephemeral_weight", weight))
                .transpose()?,
            ephemeral_special: ephemeral_special
                .map(|count| size(py, "ephemeral_special", count))
                .transpose()?,
            bootstrap_key_bytes: bootstrap_key_bytes
                .map(|bytes| size(py, "bootstrap_key_bytes", bytes))
                .transpose()?
                .map(|bytes| bytes as u64),
            bootstrap_log2_failure: Real::given(bootstrap_log2_failure),
            digit_bits: Real::given(digit_bits),
            insecure,
            below_128,
        };
        Self::build(py, spec, PyRuntime::given_on(py, runtime, device)?)
    }

    #[staticmethod]
    fn preset(
        py: Python<'_>,
        name: &str,
        runtime: Option<&Bound<'_, PyRuntime>>,
        device: Option<&str>,
    ) -> PyResult<Self> {
        let spec = clathrate_ckks::parameters::preset(name).map_err(|error| raise(py, error))?;
        Self::build(py, spec, PyRuntime::given_on(py, runtime, device)?)
    }

    #[staticmethod]
    fn from_toml(
        py: Python<'_>,
        text: &str,
        runtime: Option<&Bound<'_, PyRuntime>>,
        device: Option<&str>,
        allow_insecure: bool,
    ) -> PyResult<Self> {
        Self::parse(py, text, allow_insecure, PyRuntime::given_on(py, runtime, device)?)
    }

    #[staticmethod]
    fn from_file(
        py: Python<'_>,
        path: FilePath,
        runtime: Option<&Bound<'_, PyRuntime>>,
        device: Option<&str>,
        allow_insecure: bool,
    ) -> PyResult<Self> {
        let text = read_text(&path).map_err(|source| {
            raise(py, CkksError::File(FileError::Io { path: path.to_path_buf(), action: "read", source }))
        })?;
        Self::parse(py, &text, allow_insecure, PyRuntime::given_on(py, runtime, device)?)
    }

    #[staticmethod]
    fn load(
        py: Python<'_>,
        path: FilePath,
        runtime: Option<&Bound<'_, PyRuntime>>,
        device: Option<&str>,
        allow_insecure: bool,
    ) -> PyResult<Self> {
        let runtime = PyRuntime::given_on(py, runtime, device)?;
        let params =
            detached(py, move || Params::from_reader(&FileReader::open(&path)?, allow_insecure, &runtime))?;
        Ok(Self::from_core(params))
    }

    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let params = detached(py, || self.params.under(&self.params.runtime().clone().on(device)?))?;
        Ok(Self::from_core(params))
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &self.params, &path, overwrite, 0)
    }

    fn runtime_for_any_machine(&self) -> PyRuntime {
        PyRuntime::of(self.params.runtime()).for_any_machine()
    }

    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        toml::to_string(self.params.spec()).map_err(|error| exception(py, "InternalError", error.to_string()))
    }
}

#[pyfunction]
pub fn preset_names() -> Vec<String> {
    clathrate_ckks::parameters::preset_names()
}
