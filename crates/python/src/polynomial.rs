//! Polynomials of encrypted arrays: numbers in NumPy's conventions, plans, and the call.

use std::collections::BTreeMap;

use clathrate_arith::text::counted;
use clathrate_ckks::circuits::polynomial::{PolynomialExplanation, UNIT_DOMAIN};
use clathrate_ckks::keys::Values;
use clathrate_ckks::{Polynomial, PolynomialBasis, PolynomialPlan, RankSteps};
use numpy::Complex64;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyTuple};

use crate::arrays::{array, to_numpy};
use crate::ciphertext::PyCiphertext;
use crate::errors::{check_scale, exception, out_of_range, raise};
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::PyParams;
use crate::recipe::{Recipe, Reduced, arguments};
use crate::run::detached;
use crate::text::{report, report_html};

/// A polynomial that can be evaluated on numbers and on encrypted arrays: `p(x)`.
///
/// Every function of encrypted numbers is a polynomial near it; `Polynomial.fit` finds one. Coefficients and domains follow
/// `numpy.polynomial`: coefficients are ordered from the lowest degree up, and the domain is mapped to [-1, 1] before the polynomial is
/// evaluated. The default domain is not mapped.
///
/// Encrypted numbers must lie in the domain. Outside of it the values grow fast and wrap around modulo the ciphertext's modulus, which
/// nobody notices.
///
/// Parameters
/// ----------
/// coefficients : array_like
///     Real or complex numbers along one axis, at most 512.
/// basis : {"power", "chebyshev"}, optional
///     "power", the default, is the sum of c_i y**i, "chebyshev" the sum of c_i T_i(y) with the Chebyshev polynomials T_i. Approximations
///     of high degree need the latter.
/// domain : tuple of float, optional
///     The interval (a, b) that y = (2 x - a - b) / (b - a) maps to [-1, 1]. The mapping takes one level more, except for the default (-1,
///     1), for domains such as (-1 / k, 1 / k) and (0, 2 / k) with a whole number k, and at degree 1.
///
/// Raises
/// ------
/// DataError
///     Where there are no coefficients or too many, one is not finite, or the basis or the domain is not one.
/// ShapeError
///     Where the coefficients have more than one axis.
///
/// Examples
/// --------
/// >>> p = cl.Polynomial([1.0, 0.0, 2.0])
/// >>> p(3.0)
/// np.float64(19.0)
/// >>> secret_key.decrypt(p(ct)).round(4)
/// array([ 3.,  9., 19.])
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
    Ok(array.values.into_complex())
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

/// The values of a Python function of numbers or of arrays at points.
fn values_at(function: &Bound<'_, PyAny>, points: Vec<f64>) -> PyResult<Vec<Complex64>> {
    let (py, count) = (function.py(), points.len());
    let whole = to_numpy(py, Values::Real(points.clone()), &[count])?;
    let values = match function.call1((whole,)) {
        Ok(values) => vector(&values, "the function's values")?,
        // A function of numbers does not take arrays: `math.exp`, or one with an `if`.
        Err(error) if error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py) => {
            let values: PyResult<Vec<Complex64>> =
                points.iter().map(|&point| number(&function.call1((point,))?)).collect();
            values.inspect_err(|second| second.set_cause(py, Some(error)))?
        }
        Err(error) => return Err(error),
    };
    // A constant function may answer with one number.
    let values = if values.len() == 1 { vec![values[0]; count] } else { values };
    if values.len() != count {
        let message = format!(
            "the function gave {} for {}: give one for each",
            counted(values.len(), "value"),
            counted(count, "point")
        );
        return Err(exception(py, "ShapeError", message));
    }
    Ok(values)
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

    /// The polynomial that interpolates a function at Chebyshev points: close to the best approximation where the function is smooth.
    ///
    /// Parameters
    /// ----------
    /// function : callable
    ///     The function, of an array of points or of one number at a time.
    /// degree : int, optional
    ///     The degree, at most 511.
    /// domain : tuple of float, optional
    ///     The interval (a, b). The default is (-1.0, 1.0).
    /// error : float, optional
    ///     In place of a degree, the largest difference from the function that is allowed on the domain: the polynomial is the Chebyshev
    ///     series of the least degree that differs by no more at 2049 points of the domain. Functions with a kink need high degrees, and
    ///     those with a jump have none: `sign`, `relu` and `maximum` are for these.
    ///
    /// Returns
    /// -------
    /// Polynomial
    ///     A polynomial in the basis "chebyshev".
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where a value of the function is not finite, or the degree or the domain is out of range; where no degree up to 511 reaches the
    ///     error.
    /// TypeError
    ///     Unless either a degree or an error is given.
    /// ShapeError
    ///     Where the function does not give one value for each point.
    ///
    /// Examples
    /// --------
    /// >>> p = cl.Polynomial.fit(np.exp, 7)
    /// >>> p
    /// Polynomial(degree 7, chebyshev basis on [-1, 1])
    /// >>> bool(abs(p(0.5) - np.exp(0.5)) < 1e-6)
    /// True
    /// >>> cl.Polynomial.fit(np.tanh, domain=(-4, 4), error=1e-3).degree
    /// 19
    #[staticmethod]
    #[pyo3(signature = (function, degree=None, domain=DEFAULT_DOMAIN, *, error=None),
           text_signature = "(function, degree=None, domain=(-1.0, 1.0), *, error=None)")]
    fn fit(
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        degree: Option<Whole>,
        domain: (Real, Real),
        error: Option<Real>,
    ) -> PyResult<Self> {
        let domain = (domain.0.0, domain.1.0);
        let points = match (degree, error) {
            (Some(Whole(degree)), None) => {
                let degree = usize::try_from(degree)
                    .map_err(|_| out_of_range(py, "`degree`", degree, "use 0 or more"))?;
                Polynomial::fit_points(degree, domain)
            }
            (None, Some(_)) => Polynomial::points_within(domain),
            _ => {
                return Err(PyTypeError::new_err(
                    "a fit takes either a degree or an error: `fit(f, 15)` or `fit(f, error=1e-3)`",
                ));
            }
        };
        let points = points.map_err(|error| raise(py, error))?;
        let values = values_at(function, points)?;
        let fitted = match error {
            None => Polynomial::from_fit_values(&values, domain),
            Some(Real(error)) => Polynomial::from_values_within(&values, error, domain),
        };
        Ok(Self { polynomial: fitted.map_err(|error| raise(py, error))? })
    }

    /// `p(x)`: of a ciphertext in slots a ciphertext at the canonical scale of its level, of numbers an array. From degree 2 on the
    /// ciphertext needs attached keys.
    fn __call__<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(ciphertext) = x.cast::<PyCiphertext>() {
            let in_slots = ciphertext.get().brought_to_slots(py, ciphertext.get())?;
            let operand = in_slots.as_ref().unwrap_or_else(|| ciphertext.get());
            let result = operand
                .cleared(py)?
                .map_settled(py, |evaluator, x| evaluator.evaluate_polynomial(x, &self.polynomial))?;
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

    /// The circuit that evaluates the polynomial: its products, levels, keys and precision, before there is a ciphertext.
    ///
    /// Parameters
    /// ----------
    /// params : Params
    ///     The parameters.
    /// level : int, optional
    ///     The level of the input. None, the default, is that of `SecretKey.encrypt`.
    /// scale : float, optional
    ///     The scale of the input. None, the default, is the canonical scale of that level.
    /// ranks : {"halves", "single"}, optional
    ///     Lets the circuit reduce the rank where the modulus allows it and the rest of the circuit gains from it. "halves" reduces to
    ///     halves of the rank; "single" takes other steps too, whose keys are a possible weakness. None, the default, keeps the rank.
    ///     `PolynomialPlan.ranks` tells the result.
    ///
    /// Returns
    /// -------
    /// PolynomialPlan
    ///     The circuit: `plan(ct)` carries it out.
    ///
    /// Raises
    /// ------
    /// LevelError
    ///     Where the polynomial takes more levels than there are.
    /// ScaleError
    ///     Where the scale is not positive, or leaves the level no room.
    /// DataError
    ///     Where coefficients are too large, or `ranks` is something else.
    ///
    /// Examples
    /// --------
    /// >>> cl.Polynomial.fit(np.exp, 7).plan(params).depth
    /// 3
    #[pyo3(signature = (params, level=None, scale=None, ranks=None))]
    fn plan(
        slf: &Bound<'_, Self>,
        params: &Bound<'_, PyParams>,
        level: Option<Whole>,
        scale: Option<Real>,
        ranks: Option<&str>,
    ) -> PyResult<PyPolynomialPlan> {
        let (py, own) = (slf.py(), &slf.get().polynomial);
        let recipe = Recipe::new(&slf.getattr("plan")?, arguments!(py, params, level, scale, ranks));
        let params = params.get();
        let level = params.fresh_level(py, level)?;
        let scale = Real::given(scale);
        check_scale(py, "scale", scale, "or leave it out for the canonical scale of the level")?;
        let scale = scale.unwrap_or_else(|| params.params.scale(level));
        let steps = match ranks {
            None => None,
            Some("halves") => Some(RankSteps::Halves),
            Some("single") => Some(RankSteps::Single),
            Some(other) => {
                return Err(exception(
                    py,
                    "DataError",
                    format!("ranks \"{other}\" is not known: use \"halves\" or \"single\""),
                ));
            }
        };
        let plan = detached(py, || {
            let plan = own.plan_at(&params.params, level, scale)?;
            steps.map_or(Ok(plan.clone()), |steps| plan.with_rank_schedule(steps))
        })?;
        Ok(PyPolynomialPlan { plan, recipe })
    }

    /// The coefficients, lowest degree first: float64, or complex128 for a polynomial with complex coefficients.
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

    /// The degree: the index of the last coefficient that is not zero; 0 for constants.
    #[getter]
    fn degree(&self) -> usize {
        self.polynomial.degree()
    }

    /// The basis, "power" or "chebyshev".
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
        let word = |hash: u64, c: &Complex64| {
            let (re, im) = ((c.re + 0.0).to_bits(), (c.im + 0.0).to_bits());
            hash.wrapping_mul(31).wrapping_add(re).wrapping_mul(31).wrapping_add(im)
        };
        self.polynomial.coefficients().iter().fold(self.polynomial.degree() as u64, word) as isize
    }

    fn __repr__(&self) -> String {
        let (a, b) = self.polynomial.domain();
        format!(
            "Polynomial(degree {}, {} basis on [{a}, {b}])",
            self.polynomial.degree(),
            self.polynomial.basis().name()
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let arguments = (self.coefficients(py)?, self.basis(), self.domain()).into_pyobject(py)?;
        Ok((py.get_type::<Self>().into_any(), arguments))
    }
}

/// The circuit of a polynomial for inputs of one level and scale: `plan(ct)` carries it out.
///
/// `Polynomial.plan` makes it.
///
/// Examples
/// --------
/// >>> plan = cl.Polynomial([1.0, 0.0, 2.0]).plan(params)
/// >>> plan
/// PolynomialPlan(degree 2, levels 5 to 4, 1 product, 1 relinearisation)
/// >>> secret_key.decrypt(plan(ct)).round(4)
/// array([ 3.,  9., 19.])
#[pyclass(frozen, module = "clathrate", name = "PolynomialPlan")]
pub struct PyPolynomialPlan {
    plan: PolynomialPlan,
    recipe: Recipe,
}

#[pymethods]
impl PyPolynomialPlan {
    /// Carries the circuit out; a ciphertext above the plan's level is lowered to that level first.
    fn __call__(&self, py: Python<'_>, ciphertext: &PyCiphertext) -> PyResult<PyCiphertext> {
        // What is in the padding could be far outside the domain. At the plan's own level there is none to clear it.
        let settled = ciphertext.settled(py, &ciphertext.evaluator())?;
        let cleared =
            if settled.level() > self.plan.input_level() { Some(ciphertext.cleared(py)?) } else { None };
        cleared
            .as_ref()
            .unwrap_or(ciphertext)
            .map_settled(py, |evaluator, x| evaluator.run_polynomial(x, &self.plan))
    }

    /// For notebooks.
    fn _repr_html_(&self) -> String {
        report_html(&self.plan.explain().to_string())
    }

    /// What the circuit does, step by step, with its counts and its precision.
    ///
    /// Returns
    /// -------
    /// PolynomialExplanation
    ///     Print it, or read the figures from its `to_dict()`.
    ///
    /// Examples
    /// --------
    /// >>> cl.Polynomial([1.0, 0.0, 2.0]).plan(params).explain().to_dict()["degree"]
    /// 2
    fn explain(&self) -> PyPolynomialExplanation {
        PyPolynomialExplanation { explanation: self.plan.explain() }
    }

    /// The number of levels that the circuit takes.
    #[getter]
    fn depth(&self) -> usize {
        self.plan.depth()
    }

    /// The number of products of ciphertexts.
    #[getter]
    fn products(&self) -> usize {
        self.plan.products()
    }

    /// The number of relinearisations, the key switches that end products. Products that are summed share one relinearisation, which
    /// includes a rescale.
    #[getter]
    fn relinearisations(&self) -> usize {
        self.plan.relinearisations()
    }

    /// The number of rescales besides those of relinearisations.
    #[getter]
    fn rescales(&self) -> usize {
        self.plan.rescales()
    }

    /// The degrees of the powers, or Chebyshev polynomials, that are computed.
    #[getter]
    fn powers(&self) -> Vec<usize> {
        self.plan.powers()
    }

    /// The level of the input.
    #[getter]
    fn input_level(&self) -> usize {
        self.plan.input_level().0
    }

    /// The level of the result, which has the canonical scale of that level.
    #[getter]
    fn output_level(&self) -> usize {
        self.plan.output_level().0
    }

    /// The scale of the result: the canonical scale of its level, unless a single power leaves a segment of the chain on its way.
    #[getter]
    fn output_scale(&self) -> f64 {
        self.plan.output_scale()
    }

    /// The number of coefficients that are left out because they are below 2**-50 of the largest coefficient.
    #[getter]
    fn dropped(&self) -> usize {
        self.plan.dropped()
    }

    /// The degree of the circuit: the index of the last coefficient that is not dropped.
    #[getter]
    fn degree(&self) -> usize {
        self.plan.degree()
    }

    /// The rank at each level, the level of the input first; empty where the rank stays that of the parameters.
    #[getter]
    fn ranks(&self) -> BTreeMap<usize, usize> {
        let rows = self.plan.rank_schedule().map(|schedule| schedule.rows()).unwrap_or_default();
        rows.iter().map(|row| (row.level, row.rank)).collect()
    }

    /// The evaluation keys that the circuit needs.
    #[getter]
    fn needs(&self, py: Python<'_>) -> PyResult<PyNeeds> {
        Ok(PyNeeds { needs: self.plan.needs().map_err(|error| raise(py, error))? })
    }

    /// A bound on the root mean square of the error, for a fresh input in the domain.
    #[getter]
    fn error(&self, py: Python<'_>) -> PyResult<f64> {
        self.plan.error(self.plan.fresh_error()).map_err(|error| raise(py, error))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.recipe.reduce(py)
    }

    fn __repr__(&self) -> String {
        let dropped = match self.plan.dropped() {
            0 => String::new(),
            dropped => format!(
                " of {} given, {dropped} negligible coefficients dropped",
                self.plan.polynomial().degree()
            ),
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

/// What the circuit of a polynomial does, step by step, with its counts and its precision.
///
/// `PolynomialPlan.explain()` makes it; print it, or read the figures from `to_dict()`.
///
/// Examples
/// --------
/// >>> print(cl.Polynomial([1.0, 0.0, 2.0]).plan(params).explain())  # doctest: +ELLIPSIS
/// polynomial of degree 2...
#[pyclass(frozen, module = "clathrate", name = "PolynomialExplanation")]
pub struct PyPolynomialExplanation {
    explanation: PolynomialExplanation,
}

#[pymethods]
impl PyPolynomialExplanation {
    /// The figures by name.
    ///
    /// Returns
    /// -------
    /// dict
    ///     The figures; the dict can be written as JSON.
    ///
    /// Examples
    /// --------
    /// >>> cl.Polynomial([1.0, 0.0, 2.0]).plan(params).explain().to_dict()["depth"]
    /// 1
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report(py, serde_json::to_string(&self.explanation))
    }

    fn __str__(&self) -> String {
        self.explanation.to_string()
    }

    fn __repr__(&self) -> String {
        self.explanation.to_string()
    }
}
