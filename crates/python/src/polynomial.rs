//! Polynomials of encrypted arrays: numbers in NumPy's conventions, plans, and the call.

use std::collections::BTreeMap;

use clathrate_arith::text::counted;
use clathrate_ckks::keys::Values;
use clathrate_ckks::{Polynomial, PolynomialBasis, PolynomialPlan, RankSteps};
use numpy::Complex64;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{array, to_numpy};
use crate::ciphertext::PyCiphertext;
use crate::errors::{check_scale, exception, out_of_range, raise};
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::PyParams;
use crate::run::detached;
use crate::text::report;

#[pyclass(frozen, module = "clathrate._native", name = "Polynomial")]
pub struct PyPolynomial {
    polynomial: Polynomial,
}

/// Numbers of one axis.
fn vector(data: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Complex64>> {
    let array = array(data)?;
    if array.shape.len() > 1 {
        let message = format!("{what} have shape {:?}: give them along one axis", array.shape);
        return Err(exception(data.py(), "ShapeError", message));
    }
    Ok(array.values.into_complex())
}

/// Complex numbers, or real ones where all imaginary parts are zero by construction.
fn values(numbers: Vec<Complex64>, complex: bool) -> Values {
    if complex { Values::Complex(numbers) } else { Values::Real(numbers.into_iter().map(|z| z.re).collect()) }
}

#[pymethods]
impl PyPolynomial {
    #[new]
    fn new(coefficients: &Bound<'_, PyAny>, basis: &str, domain: (Real, Real)) -> PyResult<Self> {
        let py = coefficients.py();
        let values = vector(coefficients, "coefficients")?;
        let domain = (domain.0.0, domain.1.0);
        let basis = PolynomialBasis::named(basis).map_err(|error| raise(py, error))?;
        let polynomial = Polynomial::new_complex(values, basis, domain).map_err(|error| raise(py, error))?;
        Ok(Self { polynomial })
    }

    #[staticmethod]
    fn fit_points(py: Python<'_>, degree: Option<Whole>, domain: (Real, Real)) -> PyResult<Bound<'_, PyAny>> {
        let domain = (domain.0.0, domain.1.0);
        let points = match degree {
            Some(Whole(degree)) => {
                let degree = usize::try_from(degree)
                    .map_err(|_| out_of_range(py, "`degree`", degree, "use 0 or more"))?;
                Polynomial::fit_points(degree, domain)
            }
            None => Polynomial::points_within(domain),
        };
        let points = points.map_err(|error| raise(py, error))?;
        let count = points.len();
        to_numpy(py, Values::Real(points), &[count])
    }

    #[staticmethod]
    fn of_values(
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        domain: (Real, Real),
        error: Option<Real>,
    ) -> PyResult<Self> {
        let (domain, values) = ((domain.0.0, domain.1.0), vector(values, "the function's values")?);
        let fitted = match error {
            None => Polynomial::from_fit_values(&values, domain),
            Some(Real(error)) => Polynomial::from_values_within(&values, error, domain),
        };
        Ok(Self { polynomial: fitted.map_err(|error| raise(py, error))? })
    }

    fn __call__<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(ciphertext) = x.cast::<PyCiphertext>() {
            let result = ciphertext.get().compute(py, |x| x.polynomial(&self.polynomial))?;
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

    fn plan(
        &self,
        py: Python<'_>,
        params: &PyParams,
        level: Option<Whole>,
        scale: Option<Real>,
        ranks: Option<&str>,
    ) -> PyResult<PyPolynomialPlan> {
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
            let plan = self.polynomial.plan_at(&params.params, level, scale)?;
            steps.map_or(Ok(plan.clone()), |steps| plan.with_rank_schedule(steps))
        })?;
        Ok(PyPolynomialPlan { plan })
    }

    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let coefficients = self.polynomial.coefficients().to_vec();
        let count = coefficients.len();
        to_numpy(py, values(coefficients, self.polynomial.is_complex()), &[count])
    }

    #[getter]
    fn is_complex(&self) -> bool {
        self.polynomial.is_complex()
    }

    #[getter]
    fn degree(&self) -> usize {
        self.polynomial.degree()
    }

    #[getter]
    fn basis(&self) -> &'static str {
        self.polynomial.basis().name()
    }

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
}

#[pyclass(frozen, module = "clathrate._native", name = "PolynomialPlan")]
pub struct PyPolynomialPlan {
    plan: PolynomialPlan,
}

#[pymethods]
impl PyPolynomialPlan {
    fn __call__(&self, py: Python<'_>, ciphertext: &PyCiphertext) -> PyResult<PyCiphertext> {
        ciphertext.compute(py, |x| x.planned_polynomial(&self.plan))
    }

    fn explain(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let explanation = self.plan.explain();
        report(py, &explanation, serde_json::to_string(&explanation))
    }

    #[getter]
    fn depth(&self) -> usize {
        self.plan.depth()
    }

    #[getter]
    fn products(&self) -> usize {
        self.plan.products()
    }

    #[getter]
    fn relinearisations(&self) -> usize {
        self.plan.relinearisations()
    }

    #[getter]
    fn rescales(&self) -> usize {
        self.plan.rescales()
    }

    #[getter]
    fn powers(&self) -> Vec<usize> {
        self.plan.powers()
    }

    #[getter]
    fn input_level(&self) -> usize {
        self.plan.input_level().0
    }

    #[getter]
    fn output_level(&self) -> usize {
        self.plan.output_level().0
    }

    #[getter]
    fn output_scale(&self) -> f64 {
        self.plan.output_scale()
    }

    #[getter]
    fn dropped(&self) -> usize {
        self.plan.dropped()
    }

    #[getter]
    fn degree(&self) -> usize {
        self.plan.degree()
    }

    #[getter]
    fn ranks(&self) -> BTreeMap<usize, usize> {
        let rows = self.plan.rank_schedule().map(|schedule| schedule.rows()).unwrap_or_default();
        rows.iter().map(|row| (row.level, row.rank)).collect()
    }

    #[getter]
    fn needs(&self, py: Python<'_>) -> PyResult<PyNeeds> {
        Ok(PyNeeds { needs: self.plan.needs().map_err(|error| raise(py, error))? })
    }

    #[getter]
    fn error(&self, py: Python<'_>) -> PyResult<f64> {
        self.plan.error(self.plan.fresh_error()).map_err(|error| raise(py, error))
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
