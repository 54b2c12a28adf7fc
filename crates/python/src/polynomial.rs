//! Polynomials of encrypted arrays: numbers in NumPy's conventions, plans, and the call.

use clathrate_arith::text::counted;
use std::collections::BTreeMap;

use clathrate_ckks::circuits::polynomial::{PolynomialExplanation, UNIT_DOMAIN};
use clathrate_ckks::keys::Values;
use clathrate_ckks::{Polynomial, PolynomialBasis, PolynomialPlan, RankSteps};
use numpy::Complex64;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyTuple};

use crate::arrays::{array, to_numpy};
use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, out_of_range, raise};
use crate::needs::PyNeeds;
use crate::operand::{Real, Whole};
use crate::params::{PyParams, from_json};
use crate::run::detached;

/// A polynomial with real or complex coefficients, of numbers and of encrypted arrays: `p(x)`.
///
/// As in `numpy.polynomial`: coefficients from the lowest degree up; the domain is mapped to [-1, 1], and the default domain is not mapped.
///
/// >>> p = cl.Polynomial.fit(lambda x: 1 / (1 + np.exp(-x)), 23, domain=(-8, 8))
/// >>> p(ct)                                 # encrypted, slots
/// >>> p(np.linspace(-8, 8))                 # in the clear
/// >>> print(p.plan(params).explain())       # levels, products, keys, precision
///
/// Parameters
/// ----------
/// coefficients : one axis, real or complex, at most 512. Complex ones take no more levels, and make the result complex.
/// basis : "power" (y^i) or "chebyshev" (T_i(y)); approximations of high degree need the latter.
/// domain : the interval (a, b) with y = (2 x - a - b) / (b - a). One more level than without, unless it is [-1/k, 1/k], [0, 2/k] or alike
///     for a whole number k, or the degree is 1.
///
/// Encrypted numbers must lie in the domain: outside it values grow fast and wrap around unnoticed.
///
/// Errors: `DataError` (empty, not finite, too many, no interval, another basis), `ShapeError` (more axes).
#[pyclass(frozen, module = "clathrate", name = "Polynomial")]
pub struct PyPolynomial {
    polynomial: Polynomial,
}

/// The domain of a polynomial without one.
const DEFAULT_DOMAIN: (Real, Real) = (Real(UNIT_DOMAIN.0), Real(UNIT_DOMAIN.1));

/// Numbers of one axis.
fn vector(data: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Complex64>> {
    let array = array(data)?;
    if array.shape.len() > 1 {
        let message = format!("{what} have shape {:?}: give them along one axis", array.shape);
        return Err(exception(data.py(), "ShapeError", message));
    }
    Ok(match array.values {
        Values::Real(values) => values.into_iter().map(Complex64::from).collect(),
        Values::Complex(values) => values,
    })
}

/// One number.
fn number(value: &Bound<'_, PyAny>) -> PyResult<Complex64> {
    match value.cast::<PyComplex>() {
        Ok(value) => Ok(Complex64::new(value.real(), value.imag())),
        Err(_) => value.extract::<Real>().map(|Real(value)| value.into()),
    }
}

/// Complex numbers, or real ones where all imaginary parts are zero by construction.
fn values(numbers: Vec<Complex64>, complex: bool) -> Values {
    if complex { Values::Complex(numbers) } else { Values::Real(numbers.into_iter().map(|z| z.re).collect()) }
}

#[pymethods]
impl PyPolynomial {
    #[new]
    #[pyo3(signature = (coefficients, basis="power", domain=DEFAULT_DOMAIN),
           text_signature = "(coefficients, basis='power', domain=(-1.0, 1.0))")]
    fn new(coefficients: &Bound<'_, PyAny>, basis: &str, domain: (Real, Real)) -> PyResult<Self> {
        let py = coefficients.py();
        let values = vector(coefficients, "coefficients")?;
        let domain = (domain.0.0, domain.1.0);
        let basis = PolynomialBasis::named(basis).map_err(|error| raise(py, error))?;
        let polynomial = Polynomial::new_complex(values, basis, domain).map_err(|error| raise(py, error))?;
        Ok(Self { polynomial })
    }

    /// The Chebyshev interpolant of a function on an interval: near its best approximation of that degree where it is smooth.
    ///
    /// Parameters
    /// ----------
    /// function : of an array of points, or of one number at a time; real or complex values.
    /// degree : at most 511.
    /// domain : the interval.
    ///
    /// Errors: `DataError` with the point where the function has no finite value; whatever the function raises.
    #[staticmethod]
    #[pyo3(signature = (function, degree, domain=DEFAULT_DOMAIN), text_signature = "(function, degree, domain=(-1.0, 1.0))")]
    fn fit(py: Python<'_>, function: &Bound<'_, PyAny>, degree: Whole, domain: (Real, Real)) -> PyResult<Self> {
        let domain = (domain.0.0, domain.1.0);
        let degree = usize::try_from(degree.0).map_err(|_| out_of_range(py, "`degree`", degree.0, "use 0 or more"))?;
        let points = Polynomial::fit_points(degree, domain).map_err(|error| raise(py, error))?;
        let count = points.len();
        let whole = to_numpy(py, Values::Real(points.clone()), &[count])?;
        let values = match function.call1((whole,)) {
            Ok(values) => vector(&values, "the function's values")?,
            // A function of numbers does not take arrays: `math.exp`, or one with an `if`.
            Err(error) if error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py) => {
                let values: PyResult<Vec<Complex64>> = points.iter().map(|&point| number(&function.call1((point,))?)).collect();
                values.inspect_err(|second| second.set_cause(py, Some(error)))?
            }
            Err(error) => return Err(error),
        };
        // A constant function may answer with one number.
        let values = if values.len() == 1 { vec![values[0]; count] } else { values };
        if values.len() != count {
            let message =
                format!("the function gave {} for {}: give one for each", counted(values.len(), "value"), counted(count, "point"));
            return Err(exception(py, "ShapeError", message));
        }
        Ok(Self { polynomial: Polynomial::from_fit_values(&values, domain).map_err(|error| raise(py, error))? })
    }

    /// `p(x)`: of a ciphertext (slots; with keys attached from degree 2 on) a ciphertext at the scale of its level, of numbers an array; complex where
    /// the coefficients or the numbers are.
    ///
    /// Errors: `LevelError` with the levels it takes, `MissingKeyError`, `ShapeError` unless slots, `DataError` where coefficients are too large.
    fn __call__<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(ciphertext) = x.cast::<PyCiphertext>() {
            let result = ciphertext.get().map(py, |evaluator, x| evaluator.evaluate_polynomial(x, &self.polynomial))?;
            return Ok(Bound::new(py, result)?.into_any());
        }
        let array = array(x)?;
        let complex = self.polynomial.is_complex() || array.values.is_complex();
        let results = match array.values {
            Values::Real(numbers) => numbers.into_iter().map(|x| self.polynomial.evaluate(x)).collect(),
            Values::Complex(numbers) => numbers.into_iter().map(|x| self.polynomial.evaluate(x)).collect(),
        };
        let result = to_numpy(py, values(results, complex), &array.shape)?;
        if array.shape.is_empty() { result.get_item(PyTuple::empty(py)) } else { Ok(result) }
    }

    /// The circuit for fresh ciphertexts at a level: counts, levels and keys before there is any ciphertext.
    ///
    /// Parameters
    /// ----------
    /// params : the parameters.
    /// level : of the input; the top if None.
    /// scale : of the input; the level's own if None.
    /// ranks : whether steps go to lower ranks where the modulus allows it and the rest of the circuit pays for it: "halves" of the rank, or
    ///     "single" steps, which need keys that are a possible weakness; the parameters' own rank throughout if None. `plan.ranks` tells them.
    ///
    /// Errors: `LevelError` with the levels it takes; `ScaleError`; `DataError` where coefficients are too large, and for other `ranks`.
    #[pyo3(signature = (params, level=None, scale=None, ranks=None))]
    fn plan(
        &self,
        py: Python<'_>,
        params: &PyParams,
        level: Option<Whole>,
        scale: Option<Real>,
        ranks: Option<&str>,
    ) -> PyResult<PyPolynomialPlan> {
        let level = params.level(py, level)?;
        let scale = Real::given(scale).unwrap_or_else(|| params.params.scale(level));
        let steps = match ranks {
            None => None,
            Some("halves") => Some(RankSteps::Halves),
            Some("single") => Some(RankSteps::Single),
            Some(other) => return Err(exception(py, "DataError", format!("ranks \"{other}\" is not known: use \"halves\" or \"single\""))),
        };
        let plan = detached(py, || {
            let plan = self.polynomial.plan_at(&params.params, level, scale)?;
            steps.map_or(Ok(plan.clone()), |steps| plan.with_rank_schedule(steps))
        })?;
        Ok(PyPolynomialPlan { plan })
    }

    /// The coefficients, lowest degree first: complex where one has an imaginary part.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let coefficients = self.polynomial.coefficients().to_vec();
        let count = coefficients.len();
        to_numpy(py, values(coefficients, self.polynomial.is_complex()), &[count])
    }

    /// Whether a coefficient has an imaginary part.
    #[getter]
    fn is_complex(&self) -> bool {
        self.polynomial.is_complex()
    }

    /// The degree: the last coefficient that is not zero; 0 for constants.
    #[getter]
    fn degree(&self) -> usize {
        self.polynomial.degree()
    }

    /// "power" or "chebyshev".
    #[getter]
    fn basis(&self) -> &'static str {
        self.polynomial.basis().name()
    }

    /// The interval that is mapped to [-1, 1].
    #[getter]
    fn domain(&self) -> (f64, f64) {
        self.polynomial.domain()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().polynomial == self.polynomial)
    }

    fn __hash__(&self) -> isize {
        // Equal polynomials have equal coefficients; 0.0 and -0.0 are equal, too.
        let word = |hash: u64, c: f64| hash.wrapping_mul(31).wrapping_add((c + 0.0).to_bits());
        let parts = self.polynomial.coefficients().iter().flat_map(|c| [c.re, c.im]);
        parts.fold(self.polynomial.degree() as u64, word) as isize
    }

    fn __repr__(&self) -> String {
        let (a, b) = self.polynomial.domain();
        format!("Polynomial(degree {}, {} basis on [{a}, {b}])", self.polynomial.degree(), self.polynomial.basis().name())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let arguments = (self.coefficients(py)?, self.basis(), self.domain()).into_pyobject(py)?;
        Ok((py.get_type::<Self>().into_any(), arguments))
    }
}

/// The circuit of a polynomial for inputs of one level and scale: `plan(ct)` carries it out.
#[pyclass(frozen, module = "clathrate", name = "PolynomialPlan")]
pub struct PyPolynomialPlan {
    plan: PolynomialPlan,
}

#[pymethods]
impl PyPolynomialPlan {
    /// Carries it out; a ciphertext above the plan's level is lowered to it.
    ///
    /// Errors: `LevelError`, `ScaleError` for a ciphertext of a lower level or another scale; `MissingKeyError`; `ShapeError` unless slots.
    fn __call__(&self, py: Python<'_>, ciphertext: &PyCiphertext) -> PyResult<PyCiphertext> {
        ciphertext.map(py, |evaluator, x| evaluator.run_polynomial(x, &self.plan))
    }

    /// What it will do: print it, or take its `to_dict()`.
    fn explain(&self) -> PyPolynomialExplanation {
        PyPolynomialExplanation { explanation: self.plan.explain() }
    }

    /// Levels it takes.
    #[getter]
    fn depth(&self) -> usize {
        self.plan.depth()
    }

    /// Products of ciphertexts.
    #[getter]
    fn products(&self) -> usize {
        self.plan.products()
    }

    /// Relinearisations: products that are summed share one, and each includes a rescale.
    #[getter]
    fn relinearisations(&self) -> usize {
        self.plan.relinearisations()
    }

    /// Other rescales.
    #[getter]
    fn rescales(&self) -> usize {
        self.plan.rescales()
    }

    /// Powers, or Chebyshev polynomials, that are computed.
    #[getter]
    fn powers(&self) -> Vec<usize> {
        self.plan.powers()
    }

    /// Level of the input.
    #[getter]
    fn input_level(&self) -> usize {
        self.plan.input_level().0
    }

    /// Level of the result.
    #[getter]
    fn output_level(&self) -> usize {
        self.plan.output_level().0
    }

    /// Scale of the result: the canonical one of its level, unless a single power leaves a segment of the chain on its way.
    #[getter]
    fn output_scale(&self) -> f64 {
        self.plan.output_scale()
    }

    /// Coefficients that are left out because they are below 2^-50 of the largest: rounding errors of whoever computed them.
    #[getter]
    fn dropped(&self) -> usize {
        self.plan.dropped()
    }

    /// Degree of the circuit: of the last coefficient that is not dropped.
    #[getter]
    fn degree(&self) -> usize {
        self.plan.degree()
    }

    /// Rank at each level, the input's first; empty where it is the parameters' own throughout.
    #[getter]
    fn ranks(&self) -> BTreeMap<usize, usize> {
        let rows = self.plan.rank_schedule().map(|schedule| schedule.rows()).unwrap_or_default();
        rows.iter().map(|row| (row.level, row.rank)).collect()
    }

    /// The keys it needs.
    #[getter]
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.plan.needs() }
    }

    /// A bound on the error's root mean square for a fresh input in the domain.
    #[getter]
    fn error(&self) -> f64 {
        self.plan.error(self.plan.fresh_error())
    }

    fn __repr__(&self) -> String {
        let dropped = match self.plan.dropped() {
            0 => String::new(),
            dropped => format!(" of {} given, {dropped} negligible coefficients dropped", self.plan.polynomial().degree()),
        };
        format!(
            "PolynomialPlan(degree {}{dropped}, levels {} to {}, {}, {})",
            self.plan.degree(),
            self.plan.input_level(),
            self.plan.output_level(),
            counted(self.plan.products(), "product"),
            counted(self.plan.relinearisations(), "relinearisation")
        )
    }
}

/// What a polynomial's plan will do: `print(plan.explain())`, or `plan.explain().to_dict()`.
#[pyclass(frozen, module = "clathrate", name = "PolynomialExplanation")]
pub struct PyPolynomialExplanation {
    explanation: PolynomialExplanation,
}

#[pymethods]
impl PyPolynomialExplanation {
    /// The figures by name.
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
