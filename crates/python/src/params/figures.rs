//! What parameters tell: sizes, security, scales, primes, reports, and the parameters at other degrees and ranks.

use clathrate_ckks::ModuleShape;
use clathrate_ckks::parameters::Segment;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::object::{PyParams, size};
use crate::errors::raise;
use crate::explanation::PyExplanation;
use crate::numbers::Whole;
use crate::primes::{Primes, roots_of_unity};
use crate::run::detached;
use crate::runtime::PyRuntime;
use crate::switching_report::PySwitchingReport;
use crate::text::{hex, report_html};

#[pymethods]
impl PyParams {
    /// For notebooks.
    fn _repr_html_(&self) -> String {
        report_html(&self.params.explain().to_string())
    }

    /// Moduli, security, sizes and expected precision of this set.
    ///
    /// Returns
    /// -------
    /// Explanation
    ///     Print it, or read the figures from its `to_dict()`.
    ///
    /// Examples
    /// --------
    /// >>> params.explain().to_dict()["max_level"]
    /// 5
    fn explain(&self) -> PyExplanation {
        PyExplanation::new(self.params.explain())
    }

    /// How each level switches keys: method, digits, predicted times, memory.
    ///
    /// Parameters
    /// ----------
    /// level : int, optional
    ///     The highest level that the keys serve. None, the default, is `max_level`.
    ///
    /// Returns
    /// -------
    /// SwitchingReport
    ///     Print it, or read its `rows`.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where the parameters have no special primes, so that there are no keys to switch with.
    /// LevelError
    ///     Where there is no such level.
    ///
    /// Examples
    /// --------
    /// >>> [row["level"] for row in params.switching_report(level=2).rows]
    /// [0, 1, 2]
    #[pyo3(signature = (level=None))]
    fn switching_report(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<PySwitchingReport> {
        let highest = self.level(py, level)?;
        detached(py, || self.params.switching_report(Some(highest))).map(PySwitchingReport::new)
    }

    /// The canonical scale of a level: the scale of fresh ciphertexts there, and of rescaled products from the level above.
    ///
    /// The scale is the factor between the numbers of an array and the integers that are encrypted. All ciphertexts of one level that have
    /// its canonical scale can be added.
    ///
    /// Parameters
    /// ----------
    /// level : int, optional
    ///     The level. None, the default, is `max_level`.
    ///
    /// Returns
    /// -------
    /// float
    ///     The scale.
    ///
    /// Raises
    /// ------
    /// LevelError
    ///     Where there is no such level.
    ///
    /// Examples
    /// --------
    /// >>> params.scale() == 2.0**40
    /// True
    #[pyo3(signature = (level=None))]
    fn scale(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<f64> {
        Ok(self.params.scale(self.level(py, level)?))
    }

    /// The segment of the chain that a level belongs to.
    ///
    /// A segment is a run of levels with one nominal scale.
    ///
    /// Parameters
    /// ----------
    /// level : int, optional
    ///     The level. None, the default, is `max_level`.
    ///
    /// Returns
    /// -------
    /// dict
    ///     `name`, `log2_scale` and `levels`, the lowest and the highest level.
    ///
    /// Raises
    /// ------
    /// LevelError
    ///     Where there is no such level.
    ///
    /// Examples
    /// --------
    /// >>> params.segment()["log2_scale"]
    /// 40.0
    #[pyo3(signature = (level=None))]
    fn segment<'py>(&self, py: Python<'py>, level: Option<Whole>) -> PyResult<Bound<'py, PyDict>> {
        segment_dict(py, self.params.segment(self.level(py, level)?))
    }

    /// The segments of the chain as dicts like that of `segment`, the lowest first; one segment where none were given.
    #[getter]
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.params.segments().iter().map(|segment| segment_dict(py, segment)).collect()
    }

    /// The segments whose steps do not match their scale: where repeated products of ciphertexts lose the scale, and why.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.params.scale_warnings().iter().map(ToString::to_string).collect()
    }

    /// The bits of the ciphertext modulus at a level.
    ///
    /// Parameters
    /// ----------
    /// level : int, optional
    ///     The level. None, the default, is `max_level`.
    ///
    /// Returns
    /// -------
    /// float
    ///     The binary logarithm of the product of steps 0 to `level`.
    ///
    /// Raises
    /// ------
    /// LevelError
    ///     Where there is no such level.
    ///
    /// Examples
    /// --------
    /// >>> round(params.log2_q(0)), round(params.log2_q(1))
    /// (60, 100)
    #[pyo3(signature = (level=None))]
    fn log2_q(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<f64> {
        Ok(self.params.log2_q(self.level(py, level)?))
    }

    /// The name of the set, for people.
    #[getter]
    fn name(&self) -> &str {
        &self.params.spec().name
    }

    /// The ring degree n: the number of coefficients of a polynomial.
    #[getter]
    fn degree(&self) -> usize {
        self.params.degree()
    }

    /// The module rank k: the number of polynomials in the mask of a ciphertext.
    #[getter]
    fn rank(&self) -> usize {
        self.params.rank()
    }

    /// The rank at which products switch keys before they come back to `rank`, or None where they switch keys at `rank`.
    #[getter]
    fn temporary_rank(&self) -> Option<usize> {
        self.params.temporary().map(|temporary| temporary.rank)
    }

    /// Parameters of the same degree, moduli and secret at another rank: those of the ciphertexts that `Ciphertext.to_rank` gives.
    ///
    /// A lower rank is secure for shorter moduli only, so `max_level` of the result may be lower.
    ///
    /// Parameters
    /// ----------
    /// rank : int
    ///     The rank, 1 to the rank of this set.
    ///
    /// Returns
    /// -------
    /// Params
    ///     Parameters whose `max_level` is the highest level that is secure at this rank.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where the rank is out of range, or no level is secure there.
    ///
    /// Examples
    /// --------
    /// >>> four = cl.Params.preset("insecure_dpad")
    /// >>> four.rank, four.at_rank(2).rank
    /// (4, 2)
    fn at_rank(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        detached(py, || self.params.at_rank(rank)).map(Self::from_core)
    }

    /// Parameters of the same moduli, scales and secret at another degree and rank.
    ///
    /// Degree times rank must not be larger than here, and the degree at most this degree times the largest power of two in this rank.
    /// Ciphertexts get there by `Ciphertext.to_rank`, `to_rlwe` and `to_mlwe`, or are encrypted there by `SecretKey.relative(...)`.
    ///
    /// Parameters
    /// ----------
    /// degree : int, optional
    ///     The ring degree. None, the default, keeps the degree.
    /// rank : int, optional
    ///     The rank. None, the default, keeps the rank.
    ///
    /// Returns
    /// -------
    /// Params
    ///     Parameters whose `max_level` is the highest level that is secure at this degree and rank.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where no conversion leads to this degree and rank, or no level is secure there.
    ///
    /// Examples
    /// --------
    /// >>> cl.Params.preset("insecure_dpad").relative(degree=1024, rank=1).degree
    /// 1024
    #[pyo3(signature = (*, degree=None, rank=None))]
    fn relative(&self, py: Python<'_>, degree: Option<Whole>, rank: Option<Whole>) -> PyResult<Self> {
        let degree = degree.map_or(Ok(self.degree()), |degree| size(py, "degree", degree))?;
        let rank = rank.map_or(Ok(self.rank()), |rank| size(py, "rank", rank))?;
        detached(py, || self.params.relative(ModuleShape { degree, rank })).map(Self::from_core)
    }

    /// Parameters of the same moduli, scales and secret at rank 1 and the degree of equal dimension: degree times rank.
    ///
    /// These are the parameters of the ciphertexts that `Ciphertext.to_rlwe` gives. Where the rank is not a power of two, the odd factor of
    /// the rank stays: rank 6 leads to rank 3 at twice the degree.
    ///
    /// Returns
    /// -------
    /// Params
    ///     The parameters there.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where the degree would be above 2**17.
    ///
    /// Examples
    /// --------
    /// >>> four = cl.Params.preset("insecure_dpad")
    /// >>> (four.degree, four.rank), (four.rlwe().degree, four.rlwe().rank)
    /// ((256, 4), (1024, 1))
    fn rlwe(&self, py: Python<'_>) -> PyResult<Self> {
        detached(py, || self.params.relative(self.params.rlwe_shape())).map(Self::from_core)
    }

    /// The number of complex slots of a polynomial: n / 2.
    #[getter]
    fn slot_count(&self) -> usize {
        self.params.slot_count()
    }

    /// The highest level: the number of rescales that a fresh ciphertext allows.
    #[getter]
    fn max_level(&self) -> usize {
        self.params.max_level().0
    }

    /// The estimated security in bits, of all keys that the set has.
    #[getter]
    fn security_bits(&self) -> f64 {
        self.params.security_bits()
    }

    /// The bits of the largest modulus of a key: all steps and the special primes.
    #[getter]
    fn log2_qp(&self) -> f64 {
        self.params.log2_qp()
    }

    /// Whether the estimated security is below 128 bits.
    #[getter]
    fn insecure(&self) -> bool {
        self.params.is_insecure()
    }

    /// A digest of everything that two parties must agree on, as 64 hexadecimal digits. Files carry it.
    #[getter]
    fn digest(&self) -> String {
        hex(self.params.digest())
    }

    /// How these parameters run: threads, instruction set, key switching, memory for derived keys.
    #[getter]
    fn runtime(&self) -> PyRuntime {
        PyRuntime::of(self.params.runtime())
    }

    /// The primes, by what they are for.
    ///
    /// A dict that can be written as JSON. `steps` has one list per level, level 0 first: the modulus at level l is the product of steps 0
    /// to l. `special` has the special primes of key switching, `temporary` the primes that lengthen them at the temporary rank,
    /// `auxiliary` the primes that the KLSS method computes modulo, which are a part of no modulus. In this order the primes are numbered
    /// from 0; seeded masks depend on the number (docs/file-format.md). All primes are congruent to 1 modulo twice the degree. A set that
    /// `at_rank`, `relative` or `rlwe` gave has the primes of the set it came from, also those of levels above its own `max_level`.
    #[getter]
    fn primes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Primes { steps, special, temporary, auxiliary } = Primes::of(&self.params);
        let primes = PyDict::new(py);
        primes.set_item("steps", steps)?;
        primes.set_item("special", special)?;
        primes.set_item("temporary", temporary)?;
        primes.set_item("auxiliary", auxiliary)?;
        Ok(primes)
    }

    /// For each prime the root of unity of its number-theoretic transform.
    ///
    /// A dict from primes to roots, in the order of `primes`. The root psi is a primitive 2n-th root of unity modulo the prime. Files and
    /// memory hold polynomials as their values at the odd powers of psi, in bit-reversed order (docs/file-format.md).
    #[getter]
    fn roots_of_unity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let roots = PyDict::new(py);
        for (prime, root) in roots_of_unity(&self.params).map_err(|error| raise(py, error))? {
            roots.set_item(prime, root)?;
        }
        Ok(roots)
    }
}

fn segment_dict<'py>(py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("name", &segment.name)?;
    fields.set_item("log2_scale", segment.log2_scale)?;
    fields.set_item("levels", segment.levels)?;
    Ok(fields)
}
