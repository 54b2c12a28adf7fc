//! Parameters from sizes, presets, text and files, and to text and files.

use std::path::Path;

use clathrate_ckks::file::{FileError, FileReader};
use clathrate_ckks::parameters::Segment;
use clathrate_ckks::{CkksError, Params, ParamsSpec, Runtime};
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

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
        Self::from_core(params).warned(py)
    }

    /// Warns in Python where products of ciphertexts collapse.
    fn warned(self, py: Python<'_>) -> PyResult<Self> {
        for warning in self.params.scale_warnings() {
            let message = std::ffi::CString::new(warning.to_string())?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
        }
        Ok(self)
    }
}

#[pymethods]
impl PyParams {
    #[new]
    #[pyo3(signature = (*, degree, steps, log2_scale=Real(0.0), special=Reals::default(), rank=Whole(1), temporary_rank=None, temporary=Reals::default(), secret_weight=None, digit_bits=None, insecure=false, below_128=false, name="custom".to_owned(), segments=Vec::new(), ephemeral_weight=None, ephemeral_special=None, bootstrap_key_bytes=None, bootstrap_log2_failure=None, runtime=None, device=None),
           text_signature = "(*, degree, steps, log2_scale=0.0, special=(), rank=1, temporary_rank=None, temporary=(), secret_weight=None, digit_bits=None, insecure=False, below_128=False, name='custom', segments=(), ephemeral_weight=None, ephemeral_special=None, bootstrap_key_bytes=None, bootstrap_log2_failure=None, runtime=None, device=None)")]
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
        Self::build(py, spec, PyRuntime::given_on(py, runtime, device)?)?.warned(py)
    }

    /// A parameter set by its name.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     One of the names that `preset_names()` lists.
    /// runtime : Runtime, optional
    ///     How to run. None, the default, is `Runtime()`.
    /// device : str, optional
    ///     Where to compute, "cpu" or "cuda", in place of what the runtime says.
    ///
    /// Returns
    /// -------
    /// Params
    ///     The parameter set.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where there is no preset of that name, or no level can switch keys as the runtime asks.
    ///
    /// Examples
    /// --------
    /// >>> cl.Params.preset("insecure_tiny").max_level
    /// 4
    #[staticmethod]
    #[pyo3(signature = (name, runtime=None, *, device=None))]
    fn preset(
        py: Python<'_>,
        name: &str,
        runtime: Option<&Bound<'_, PyRuntime>>,
        device: Option<&str>,
    ) -> PyResult<Self> {
        let spec = clathrate_ckks::parameters::preset(name).map_err(|error| raise(py, error))?;
        Self::build(py, spec, PyRuntime::given_on(py, runtime, device)?)
    }

    /// The preset with which a function of encrypted arrays runs fastest, found by dry runs, without keys and data.
    ///
    /// Every preset is tried but those whose names begin with "insecure", "paper" or "bench". Where none serves without a bootstrap, chains
    /// of degrees 2^13 to 2^16 are made for the computation, of which the fastest has the name "custom", and presets that bootstrap are
    /// tried. The time is predicted, with one thread.
    ///
    /// Parameters
    /// ----------
    /// function : callable
    ///     The computation, as `trace` takes it: it gets one array for each shape.
    /// *shapes : sequence of int or Input
    ///     The shapes of the arrays, or `Input` values, which also have options of their own.
    /// error : float, optional
    ///     The most that the bound on the result's error (`Ciphertext.error_bound`) may be: of the noise, without what functions such as
    ///     `sigmoid` differ by from what they approximate. None, the default, sets no limit.
    /// bound : float, optional
    ///     The largest magnitude of the numbers. The default is 1.0.
    /// security : float, optional
    ///     The least security in bits, up to 256. The default is 128.
    /// runtime : Runtime, optional
    ///     How to run. None, the default, is `Runtime()`.
    /// **options
    ///     Further keywords of `trace`, such as `encoding`.
    ///
    /// Returns
    /// -------
    /// ParamsChoice
    ///     The parameters, the dry run with its keys, times and bytes, and what was tried.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where neither a preset nor a chain of its own runs the computation; the message says what they lack.
    /// DataError
    ///     For an error or a bound that is not positive.
    ///
    /// Examples
    /// --------
    /// >>> choice = cl.Params.for_circuit(lambda x: (x**4).sum(), (1000,), error=1e-3)
    /// >>> choice.params.max_level >= 2, choice.trace.seconds > 0
    /// (True, True)
    #[staticmethod]
    #[pyo3(signature = (function, *shapes, error=None, bound=Real(1.0), security=Real(128.0), runtime=None, **options),
           text_signature = "(function, *shapes, error=None, bound=1.0, security=128, runtime=None, **options)")]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn for_circuit<'py>(
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        shapes: &Bound<'py, PyTuple>,
        error: Option<Real>,
        bound: Real,
        security: Real,
        runtime: Option<&Bound<'py, PyRuntime>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = options.map_or_else(|| PyDict::new(py), Clone::clone);
        let arguments = (function, shapes, Real::given(error), bound.0, security.0, runtime, options);
        py.import("clathrate._choose")?.getattr("for_circuit")?.call1(arguments)
    }

    /// Parameters from TOML text, whose fields are the arguments of the constructor.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///     The text, as `to_toml` gives it. In TOML every step is a list: `steps = [[30, 30], [40]]`.
    /// runtime : Runtime, optional
    ///     How to run. None, the default, is `Runtime()`.
    /// device : str, optional
    ///     Where to compute, "cpu" or "cuda", in place of what the runtime says.
    /// allow_insecure : bool, optional
    ///     Whether a set below 128 bits of security is taken, for tests. The default is False: whether that is enough is for the caller to
    ///     say, not for whoever wrote the text.
    ///
    /// Returns
    /// -------
    /// Params
    ///     The parameter set.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where the text does not specify a parameter set.
    /// SecurityError
    ///     Where the set has less than 128 bits of security, and `allow_insecure` or the set itself does not accept that.
    ///
    /// Examples
    /// --------
    /// >>> cl.Params.from_toml(params.to_toml(), allow_insecure=True) == params
    /// True
    #[staticmethod]
    #[pyo3(signature = (text, runtime=None, *, device=None, allow_insecure=false))]
    fn from_toml(
        py: Python<'_>,
        text: &str,
        runtime: Option<&Bound<'_, PyRuntime>>,
        device: Option<&str>,
        allow_insecure: bool,
    ) -> PyResult<Self> {
        Self::parse(py, text, allow_insecure, PyRuntime::given_on(py, runtime, device)?)
    }

    /// Parameters from a TOML file, whose fields are the arguments of the constructor.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     A text file of at most 1 MiB.
    /// runtime : Runtime, optional
    ///     How to run. None, the default, is `Runtime()`.
    /// device : str, optional
    ///     Where to compute, "cpu" or "cuda", in place of what the runtime says.
    /// allow_insecure : bool, optional
    ///     Whether a set below 128 bits of security is taken, for tests. The default is False: whether that is enough is for the caller to
    ///     say, not for whoever wrote the file.
    ///
    /// Returns
    /// -------
    /// Params
    ///     The parameter set.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be read.
    /// ParamsError
    ///     Where the text does not specify a parameter set.
    /// SecurityError
    ///     Where the set has less than 128 bits of security, and `allow_insecure` or the set itself does not accept that.
    ///
    /// Examples
    /// --------
    /// >>> with open("params.toml", "w") as file:
    /// ...     size = file.write(params.to_toml())
    /// >>> cl.Params.from_file("params.toml", allow_insecure=True) == params
    /// True
    #[staticmethod]
    #[pyo3(signature = (path, runtime=None, *, device=None, allow_insecure=false))]
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

    /// Parameters from a file that `save` wrote.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    /// runtime : Runtime, optional
    ///     How to run. None, the default, is `Runtime()`: a file states what to compute, never how to run.
    /// device : str, optional
    ///     Where to compute, "cpu" or "cuda", in place of what the runtime says.
    /// allow_insecure : bool, optional
    ///     Whether a set below 128 bits of security is taken, for tests. The default is False: whether that is enough is for the caller to
    ///     say, not for whoever wrote the file.
    ///
    /// Returns
    /// -------
    /// Params
    ///     The parameter set.
    ///
    /// Raises
    /// ------
    /// FileFormatError
    ///     Where the file does not hold parameters, or is damaged.
    /// SecurityError
    ///     Where the set has less than 128 bits of security, and `allow_insecure` does not accept that.
    /// FileAccessError
    ///     Where the file cannot be read.
    ///
    /// Examples
    /// --------
    /// >>> size = params.save("params.clt")
    /// >>> cl.Params.load("params.clt", allow_insecure=True) == params
    /// True
    #[staticmethod]
    #[pyo3(signature = (path, runtime=None, *, device=None, allow_insecure=false))]
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

    /// The same parameters on another device.
    ///
    /// Parameters
    /// ----------
    /// device : str
    ///     "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.
    ///
    /// Returns
    /// -------
    /// Params
    ///     The parameters; what is made with them is on that device, and computes there.
    ///
    /// Raises
    /// ------
    /// DeviceError
    ///     Where there is no such device, or no driver for it.
    ///
    /// Examples
    /// --------
    /// >>> params.to("cpu") == params
    /// True
    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let params = detached(py, || self.params.under(&self.params.runtime().clone().on(device)?))?;
        Ok(Self::from_core(params))
    }

    /// Writes the parameters to a file.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
    /// overwrite : bool, optional
    ///     Whether a file that exists may be replaced. The default is True; for secret keys it is False.
    ///
    /// Returns
    /// -------
    /// int
    ///     The length of the file in bytes.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.
    ///
    /// Examples
    /// --------
    /// >>> size = params.save("params.clt")
    #[pyo3(signature = (path, overwrite=true))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &self.params, &path, overwrite, 0)
    }

    /// The specification as TOML text.
    ///
    /// Returns
    /// -------
    /// str
    ///     Text that `from_toml` reads.
    ///
    /// Examples
    /// --------
    /// >>> print(params.to_toml().splitlines()[0])
    /// name = "insecure_small"
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        toml::to_string(self.params.spec()).map_err(|error| exception(py, "InternalError", error.to_string()))
    }

    /// Pickles the specification and the runtime; a forced instruction set stays with this machine.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String, PyRuntime))> {
        let rebuild = py.import("clathrate._pickle")?.getattr("rebuild_params")?;
        Ok((rebuild, (self.to_toml(py)?, PyRuntime::of(self.params.runtime()).for_any_machine())))
    }
}

/// The names of the parameter sets that `Params.preset` knows.
///
/// Names that start with "insecure" are small sets for tests; names that start with "paper" are sets of published papers.
///
/// Returns
/// -------
/// list of str
///     The names.
///
/// Examples
/// --------
/// >>> "matmul" in cl.preset_names()
/// True
#[pyfunction]
pub fn preset_names() -> Vec<String> {
    clathrate_ckks::parameters::preset_names()
}
