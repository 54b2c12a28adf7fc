//! Parameters, their explanation, and what this machine can do.

use clathrate_arith::Isa;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::parameters::{Explanation, Segment};
use clathrate_ckks::tune;
use clathrate_ckks::{CkksError, ModuleShape, Params, ParamsSpec, Runtime};
use clathrate_lattice::Level;
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{exception, raise};
use crate::files::FilePath;
use crate::operand::{Real, Reals, Whole, list, wrong_list};
use crate::run::detached;
use crate::runtime::{MIB, Options, SwitchingOption};
use crate::switching::PySwitchingPlan;

/// Largest specification read from a text file, in bytes.
const TEXT_LIMIT_BYTES: u64 = 1 << 20;

/// What a pickle of parameters calls `rebuild_params` with: TOML, threads, switching, key expansion, key cache in MiB.
type RuntimeArguments<'py> = (String, usize, Bound<'py, PyAny>, Option<f64>, Option<f64>);

/// A checked, immutable parameter set: ring, modulus chain, scale, and how to compute with them.
///
/// `Params(degree=..., steps=..., log2_scale=...)` makes one from sizes; `Params.preset(name)` takes one of `preset_names()`.
///
/// Parameters
/// ----------
/// degree : ring degree n, a power of two from 2**3 to 2**17.
/// steps : bits of the primes of each modulus step, level 0 first; a number is a step of one prime. `[[30, 30], 40, 40]` has levels 0 to 2. Sizes may
///     be fractions of a bit: `[[29.5, 29.5], 45.8]`.
/// log2_scale : bits of the scale at the top level; not needed with `segments`.
/// special : bits of the special primes; without any there are no switching keys (no products of ciphertexts, no rotations).
/// segments : consecutive levels with a scale of their own, `{"name": "ordinary", "log2_scale": 45.8, "levels": (1, 13)}` each, every level in one.
///     Without: one scale for the whole chain, `log2_scale`.
/// rank : module rank k, 1 to 64; 1 is ordinary CKKS.
/// temporary_rank : rank k^ > k by way of which products and `power_rotations` switch keys: faster, and smaller keys, at ranks above 1. Needs
///     `temporary`. None: keys are switched directly.
/// temporary : bits of the primes that lengthen the special modulus there.
/// secret_weight : non-zero coefficients of the secret; None for uniform ternary.
/// digit_bits : most bits of a switching digit; None for as many as the special modulus has.
/// insecure : accept any security (tests only); every file made from the set is marked.
/// below_128 : accept a published set a little below 128 bits.
/// name : a name for people.
/// threads : worker threads, 1 if None. isa : a forced instruction set ("scalar", "avx2", "ifma"), the fastest if None.
/// switching : how levels switch: "fastest" (planned for this machine), "as_made" (nothing is derived from keys), or one way at every level:
///     ("hybrid", r) or ("decomposed", r, r_tilde), with r special primes and key digits of r_tilde primes. Results agree up to noise.
/// key_expansion : bytes that may be derived from one key, in multiples of its own, inf for any; 4 if None.
/// key_cache_mib : MiB of derived keys kept in all, of all keys together; 6144 if None.
///
/// A `UserWarning` tells of steps that do not match the scale, with the level at which repeated products of ciphertexts collapse.
///
/// Errors: `ParamsError`, also for a way of switching that fits no level; `SecurityError` below 128 bits; `DataError` for options out of range.
#[pyclass(frozen, module = "clathrate", name = "Params")]
pub struct PyParams {
    pub params: Params,
}

/// Modulus steps as written: for each, one prime's bits or several.
struct Steps(Vec<Reals>);

impl<'a, 'py> FromPyObject<'a, 'py> for Steps {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let wanted = "a list with the bits of each step, such as [60, 40] or [[30, 30], 40]";
        let step = |step: &Bound<'py, PyAny>| match step.extract::<Real>() {
            Ok(one) => Ok(Reals(vec![one])),
            Err(_) => step.extract::<Reals>().map_err(|error| wrong_list(data, wanted, error)),
        };
        list(data, wanted)?.iter().map(step).collect::<PyResult<_>>().map(Self)
    }
}

/// A segment as written: a dict of its fields.
struct SegmentOption(Segment);

/// What a wrong segment is told.
const SEGMENT_REMEDY: &str = "a segment is {\"name\": str, \"log2_scale\": float, \"levels\": (lowest, highest)}";

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
        let levels = (size(py, "a level of `segments`", lowest)?, size(py, "a level of `segments`", highest)?);
        let (name, log2_scale) =
            (field("name")?.extract().map_err(|_| wrong())?, Real::given(field("log2_scale")?.extract().ok()).ok_or_else(wrong)?);
        Ok(Self(Segment { name, log2_scale, levels }))
    }
}

/// A number of things, as core code takes it.
pub fn size(py: Python<'_>, what: &str, value: Whole) -> PyResult<usize> {
    usize::try_from(value.0).map_err(|_| {
        let reason = format!("{what} {} is out of range: use a positive number", value.0);
        raise(py, CkksError::InvalidParams { reason })
    })
}

impl PyParams {
    pub fn build(py: Python<'_>, spec: ParamsSpec, runtime: Runtime) -> PyResult<Self> {
        detached(py, move || Params::new(spec, &runtime)).map(|params| Self { params })
    }

    fn parse(py: Python<'_>, text: &str, runtime: Runtime) -> PyResult<Self> {
        let spec: ParamsSpec = toml::from_str(text)
            .map_err(|error| raise(py, CkksError::InvalidParams { reason: format!("the text is no specification: {error}") }))?;
        Self::build(py, spec, runtime)
    }

    /// Warns in Python where products of ciphertexts collapse.
    fn warned(self, py: Python<'_>) -> PyResult<Self> {
        for warning in self.params.scale_warnings() {
            let message = std::ffi::CString::new(warning.to_string())?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
        }
        Ok(self)
    }

    /// `params` as Python knows them: `near`, where they are the same.
    pub fn of(py: Python<'_>, params: &Params, near: &Py<Self>) -> PyResult<Py<Self>> {
        if near.get().params == *params { Ok(near.clone_ref(py)) } else { Py::new(py, Self { params: params.clone() }) }
    }

    /// A level, or the top.
    pub fn level(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<Level> {
        let Some(Whole(value)) = level else { return Ok(self.params.max_level()) };
        match usize::try_from(value) {
            Ok(value) if value <= self.params.max_level().0 => Ok(Level(value)),
            _ => Err(exception(py, "LevelError", format!("level {value} is out of range: use 0 to {}", self.params.max_level()))),
        }
    }
}

#[pymethods]
impl PyParams {
    #[new]
    #[pyo3(signature = (*, degree, steps, log2_scale=Real(0.0), special=Reals::default(), rank=Whole(1), temporary_rank=None, temporary=Reals::default(), secret_weight=None, digit_bits=None, insecure=false, below_128=false, name="custom".to_owned(), segments=Vec::new(), threads=None, isa=None, switching=SwitchingOption::default(), key_expansion=None, key_cache_mib=None),
           text_signature = "(*, degree, steps, log2_scale=0.0, special=(), rank=1, temporary_rank=None, temporary=(), secret_weight=None, digit_bits=None, insecure=False, below_128=False, name='custom', segments=(), threads=None, isa=None, switching='fastest', key_expansion=None, key_cache_mib=None)")]
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
        threads: Option<Whole>,
        isa: Option<String>,
        switching: SwitchingOption,
        key_expansion: Option<Real>,
        key_cache_mib: Option<Real>,
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
            log2_scale: log2_scale.0,
            segments: segments.into_iter().map(|segment| segment.0).collect(),
            secret_weight: secret_weight.map(|weight| size(py, "secret_weight", weight)).transpose()?,
            ephemeral_weight: None,
            ephemeral_special: None,
            digit_bits: Real::given(digit_bits),
            insecure,
            below_128,
        };
        Self::build(py, spec, Options { threads, isa, switching, key_expansion, key_cache_mib }.runtime(py)?)?.warned(py)
    }

    /// The preset called `name`; `preset_names()` lists them.
    ///
    /// The other arguments are those of the constructor: how to run, not what to compute.
    ///
    /// Errors: `ParamsError` for unknown names; those of the constructor.
    #[staticmethod]
    #[pyo3(signature = (name, threads=None, isa=None, switching=SwitchingOption::default(), key_expansion=None, key_cache_mib=None),
           text_signature = "(name, threads=None, isa=None, switching='fastest', key_expansion=None, key_cache_mib=None)")]
    fn preset(
        py: Python<'_>,
        name: &str,
        threads: Option<Whole>,
        isa: Option<String>,
        switching: SwitchingOption,
        key_expansion: Option<Real>,
        key_cache_mib: Option<Real>,
    ) -> PyResult<Self> {
        let spec = clathrate_ckks::parameters::preset(name).map_err(|error| raise(py, error))?;
        Self::build(py, spec, Options { threads, isa, switching, key_expansion, key_cache_mib }.runtime(py)?)
    }

    /// Parameters from TOML text with the fields of the constructor.
    ///
    /// Errors: `ParamsError`, `SecurityError`.
    #[staticmethod]
    #[pyo3(signature = (text, threads=None, isa=None, switching=SwitchingOption::default(), key_expansion=None, key_cache_mib=None),
           text_signature = "(text, threads=None, isa=None, switching='fastest', key_expansion=None, key_cache_mib=None)")]
    fn from_toml(
        py: Python<'_>,
        text: &str,
        threads: Option<Whole>,
        isa: Option<String>,
        switching: SwitchingOption,
        key_expansion: Option<Real>,
        key_cache_mib: Option<Real>,
    ) -> PyResult<Self> {
        Self::parse(py, text, Options { threads, isa, switching, key_expansion, key_cache_mib }.runtime(py)?)
    }

    /// Parameters from a TOML file of at most 1 MiB.
    ///
    /// Errors: `FileAccessError`, `ParamsError`, `SecurityError`.
    #[staticmethod]
    #[pyo3(signature = (path, threads=None, isa=None, switching=SwitchingOption::default(), key_expansion=None, key_cache_mib=None),
           text_signature = "(path, threads=None, isa=None, switching='fastest', key_expansion=None, key_cache_mib=None)")]
    fn from_file(
        py: Python<'_>,
        path: FilePath,
        threads: Option<Whole>,
        isa: Option<String>,
        switching: SwitchingOption,
        key_expansion: Option<Real>,
        key_cache_mib: Option<Real>,
    ) -> PyResult<Self> {
        let text = read_text(&path).map_err(|source| {
            raise(py, CkksError::File(clathrate_ckks::file::FileError::Io { path: path.to_path_buf(), action: "read", source }))
        })?;
        Self::parse(py, &text, Options { threads, isa, switching, key_expansion, key_cache_mib }.runtime(py)?)?.warned(py)
    }

    /// Parameters from a file that `save` wrote.
    ///
    /// Errors: `FileFormatError`, `FileAccessError`.
    #[staticmethod]
    #[pyo3(signature = (path, threads=None, isa=None, switching=SwitchingOption::default(), key_expansion=None, key_cache_mib=None),
           text_signature = "(path, threads=None, isa=None, switching='fastest', key_expansion=None, key_cache_mib=None)")]
    fn load(
        py: Python<'_>,
        path: FilePath,
        threads: Option<Whole>,
        isa: Option<String>,
        switching: SwitchingOption,
        key_expansion: Option<Real>,
        key_cache_mib: Option<Real>,
    ) -> PyResult<Self> {
        let runtime = Options { threads, isa, switching, key_expansion, key_cache_mib }.runtime(py)?;
        let params = detached(py, move || Params::from_reader(&FileReader::open(&path)?, &runtime))?;
        Ok(Self { params })
    }

    /// Writes the parameters to `path`, which is replaced at once or not at all. Returns the file's bytes.
    ///
    /// Errors: `FileAccessError`.
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<u64> {
        detached(py, || Ok(self.params.save(&path)?))
    }

    /// Degree, chain, security, sizes and expected precision; print it, or take its `to_dict()`.
    fn explain(&self) -> PyExplanation {
        PyExplanation { explanation: self.params.explain() }
    }

    /// How each level switches with keys of `level` (the top if None): engine, digits, predicted times, bytes. Print it, or read its `rows`.
    ///
    /// Errors: `ParamsError` where there are no special primes; `LevelError`.
    #[pyo3(signature = (level=None))]
    fn switching_report(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<PySwitchingPlan> {
        let reach = self.level(py, level)?;
        detached(py, || self.params.switching_report(Some(reach))).map(|plan| PySwitchingPlan { plan })
    }

    /// The canonical scale of a level: fresh ciphertexts there have it, and rescaled products of the level above.
    ///
    /// Errors: `LevelError`.
    #[pyo3(signature = (level=None))]
    fn scale(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<f64> {
        Ok(self.params.scale(self.level(py, level)?))
    }

    /// The segment of a level: its `name`, `log2_scale` and `levels` (lowest, highest).
    ///
    /// Errors: `LevelError`.
    #[pyo3(signature = (level=None))]
    fn segment<'py>(&self, py: Python<'py>, level: Option<Whole>) -> PyResult<Bound<'py, PyDict>> {
        segment_dict(py, self.params.segment(self.level(py, level)?))
    }

    /// The segments of the chain, the lowest first; one where none were given.
    #[getter]
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.params.segments().iter().map(|segment| segment_dict(py, segment)).collect()
    }

    /// Segments whose steps do not match their scale: where repeated products of ciphertexts collapse, and why.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.params.scale_warnings().iter().map(ToString::to_string).collect()
    }

    /// Bits of the ciphertext modulus at a level, the top if None.
    ///
    /// Errors: `LevelError`.
    #[pyo3(signature = (level=None))]
    fn log2_q(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<f64> {
        Ok(self.params.log2_q(self.level(py, level)?))
    }

    /// The specification as TOML text, for `from_toml`.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        toml::to_string(self.params.spec()).map_err(|error| exception(py, "InternalError", error.to_string()))
    }

    /// Name of the set.
    #[getter]
    fn name(&self) -> &str {
        &self.params.spec().name
    }

    /// Ring degree n: coefficients of a polynomial.
    #[getter]
    fn degree(&self) -> usize {
        self.params.degree()
    }

    /// Module rank k.
    #[getter]
    fn rank(&self) -> usize {
        self.params.rank()
    }

    /// The temporary rank k^, or None.
    #[getter]
    fn temporary_rank(&self) -> Option<usize> {
        self.params.temporary().map(|temporary| temporary.rank)
    }

    /// Parameters of the same degree at rank `rank`: what `Ciphertext.to_rank` leads to. `max_level` is the highest level that is secure there.
    ///
    /// Errors: `ParamsError` for ranks out of range, and where no level is secure.
    fn at_rank(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        detached(py, || self.params.at_rank(rank)).map(|params| Self { params })
    }

    /// Parameters of another shape: the same moduli, scales and secret at another degree and rank, where the module dimension is not larger.
    ///
    /// None: as it is here. `SecretKey.relative` encrypts there.
    ///
    /// Errors: `ParamsError` for shapes that no conversion leads to, and where no level is secure.
    #[pyo3(signature = (*, degree=None, rank=None))]
    fn relative(&self, py: Python<'_>, degree: Option<Whole>, rank: Option<Whole>) -> PyResult<Self> {
        let degree = degree.map_or(Ok(self.degree()), |degree| size(py, "degree", degree))?;
        let rank = rank.map_or(Ok(self.rank()), |rank| size(py, "rank", rank))?;
        detached(py, || self.params.relative(ModuleShape { degree, rank })).map(|params| Self { params })
    }

    /// Parameters of rank 1 and equal module dimension: what `Ciphertext.to_rlwe` leads to. Where the rank is not a power of two, its odd part
    /// stays.
    ///
    /// Errors: `ParamsError` where the degree would be beyond 2**17.
    fn rlwe(&self, py: Python<'_>) -> PyResult<Self> {
        detached(py, || self.params.relative(self.params.rlwe_shape())).map(|params| Self { params })
    }

    /// Complex slots of a polynomial: n / 2.
    #[getter]
    fn slot_count(&self) -> usize {
        self.params.slot_count()
    }

    /// Highest level: how many rescales there are.
    #[getter]
    fn max_level(&self) -> usize {
        self.params.max_level().0
    }

    /// Estimated bits of security.
    #[getter]
    fn security_bits(&self) -> f64 {
        self.params.security_bits()
    }

    /// Bits of the largest key modulus, special primes included.
    #[getter]
    fn log2_qp(&self) -> f64 {
        self.params.log2_qp()
    }

    /// Whether the estimate is below 128 bits.
    #[getter]
    fn insecure(&self) -> bool {
        self.params.is_insecure()
    }

    /// Hexadecimal digest of everything two parties must agree on.
    #[getter]
    fn digest(&self) -> String {
        hex(self.params.digest())
    }

    /// Worker threads.
    #[getter]
    fn threads(&self) -> usize {
        self.params.threads()
    }

    /// How levels switch, as it was asked for.
    #[getter]
    fn switching<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        SwitchingOption(self.params.runtime().switching).to_python(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().params == self.params)
    }

    fn __hash__(&self) -> u64 {
        let digest = self.params.digest();
        digest[..8].iter().fold(0, |hash, &byte| hash << 8 | u64::from(byte))
    }

    fn __repr__(&self) -> String {
        format!(
            "Params(\"{}\", degree={}, rank={}, max_level={}, security_bits={:.0}{})",
            self.name(),
            self.degree(),
            self.rank(),
            self.max_level(),
            self.security_bits(),
            if self.insecure() { ", INSECURE" } else { "" }
        )
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }

    /// Pickles the specification, the thread count and the options of switching; a forced instruction set stays with this machine.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, RuntimeArguments<'py>)> {
        let rebuild = py.import("clathrate._pickle")?.getattr("rebuild_params")?;
        let runtime = self.params.runtime();
        let cache_mib = runtime.key_cache_bytes.map(|bytes| bytes as f64 / MIB);
        Ok((rebuild, (self.to_toml(py)?, self.threads(), self.switching(py)?, runtime.key_expansion, cache_mib)))
    }
}

fn segment_dict<'py>(py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("name", &segment.name)?;
    fields.set_item("log2_scale", segment.log2_scale)?;
    fields.set_item("levels", segment.levels)?;
    Ok(fields)
}

fn read_text(path: &std::path::Path) -> std::io::Result<String> {
    use std::io::Read;
    let file = std::fs::File::open(path)?;
    let mut text = String::new();
    file.take(TEXT_LIMIT_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TEXT_LIMIT_BYTES {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "a specification has at most 1 MiB"));
    }
    Ok(text)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON text as Python objects.
pub fn from_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}

/// What a parameter set means in numbers: `print(params.explain())`, or `params.explain().to_dict()`.
#[pyclass(frozen, module = "clathrate", name = "Explanation")]
pub struct PyExplanation {
    explanation: Explanation,
}

#[pymethods]
impl PyExplanation {
    /// The figures by name: bits for `log2_*`, `*_bits`; MiB for `*_mib`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&self.explanation).map_err(|error| exception(py, "InternalError", error.to_string()))?;
        from_json(py, &text)
    }

    fn __str__(&self) -> String {
        self.explanation.to_string()
    }

    fn __repr__(&self) -> String {
        self.explanation.to_string()
    }
}

/// Names of the presets.
#[pyfunction]
pub fn preset_names() -> Vec<String> {
    clathrate_ckks::parameters::preset_names()
}

/// What this machine runs: `version`, `kernels` (name to whether it runs here), `fastest`, `chosen` (after the environment
/// variable `CLATHRATE_ISA`), `cpus`, `engine` (what a small parameter set gets), `profile` (`state`, `path` and `message` of the machine
/// profile that `tune` stores; the state is "ready", "absent", "broken", "foreign": of another instruction set, or "off": `CLATHRATE_PROFILE` is "none").
///
/// Errors: `ParamsError` where `CLATHRATE_ISA` names an instruction set this machine lacks.
#[pyfunction]
pub fn doctor(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let available = Isa::available();
    let kernels = PyDict::new(py);
    for isa in [Isa::Scalar, Isa::Avx2, Isa::Ifma] {
        kernels.set_item(isa.name(), available.contains(&isa))?;
    }
    let chosen = Isa::detect().map_err(|error| raise(py, error.into()))?;
    let sample = detached(py, || Params::preset("insecure_tiny", &Runtime::default()))?;
    let report = PyDict::new(py);
    report.set_item("version", env!("CARGO_PKG_VERSION"))?;
    report.set_item("kernels", kernels)?;
    report.set_item("fastest", available.last().map(|isa| isa.name()))?;
    report.set_item("chosen", chosen.name())?;
    report.set_item("cpus", std::thread::available_parallelism().map_or(1, usize::from))?;
    report.set_item("engine", sample.explain().engine)?;
    let stored = tune::stored(chosen);
    let profile = PyDict::new(py);
    profile.set_item("state", stored.state())?;
    profile.set_item("path", stored.path())?;
    profile.set_item("message", stored.to_string())?;
    report.set_item("profile", profile)?;
    Ok(report)
}
