//! Samples of other libraries.

use clathrate_ckks::SecretName;
use clathrate_ckks::outside::{OutsideModulus, OutsideSamples, Phase};
use numpy::{PyArray2, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, out_of_range};
use crate::evaluation_keys::PyEvaluationKeys;
use crate::numbers::Real;
use crate::run::detached;
use crate::samples::PySamplesPlan;

/// A modulus of samples of another library: 2 to 2^64.
fn modulus_of(py: Python<'_>, modulus: &Bound<'_, PyAny>) -> PyResult<OutsideModulus> {
    match modulus.extract::<u128>() {
        Ok(value) if value == 1 << 64 => Ok(OutsideModulus::PowerOfTwo(64)),
        Ok(value) => {
            let number = u64::try_from(value).ok().filter(|&number| number >= 2).map(OutsideModulus::Number);
            number.ok_or_else(|| out_of_range(py, "`modulus`", value, "use a whole number from 2 to 2^64"))
        }
        Err(_) => Err(out_of_range(py, "`modulus`", modulus, "use a whole number from 2 to 2^64")),
    }
}

/// The words of samples, row after row, and the words in a row.
fn words_of(words: &Bound<'_, PyAny>) -> PyResult<(Vec<u64>, usize)> {
    let py = words.py();
    let wanted = || {
        PyTypeError::new_err(
            "`words` is a matrix of unsigned integers, such as dtype uint64 or uint32, with a row for each sample",
        )
    };
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asarray", (words,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let (&[_, columns], "u") = (&shape[..], kind.as_str()) else { return Err(wanted()) };
    let wide = numpy.call_method1("ascontiguousarray", (array, "uint64"))?;
    let wide = wide.cast_into::<PyArray2<u64>>().map_err(|_| wanted())?;
    Ok((wide.to_vec()?, columns))
}

#[pymethods]
impl PySamplesPlan {
    fn outside_scale(&self, py: Python<'_>, modulus: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let modulus =
            modulus.map_or(Ok(OutsideModulus::PowerOfTwo(64)), |modulus| modulus_of(py, modulus))?;
        detached(py, || self.plan.half_bootstrap().params().outside_scale(self.plan.scale(), modulus))
    }

    fn outside_samples<'py>(
        &self,
        py: Python<'py>,
        words: &Bound<'py, PyAny>,
        keys: Py<PyEvaluationKeys>,
        modulus: Option<&Bound<'py, PyAny>>,
        scale: Option<Real>,
        phase: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let SecretName::Outside(secret) = self.plan.secret() else {
            let message = "the plan is for samples of this library: make one with `outside`, the number of the other secret".to_owned();
            return Err(exception(py, "DataError", message));
        };
        let modulus =
            modulus.map_or(Ok(OutsideModulus::PowerOfTwo(64)), |modulus| modulus_of(py, modulus))?;
        let phase = match phase {
            "difference" => Phase::Difference,
            "sum" => Phase::Sum,
            other => {
                return Err(out_of_range(
                    py,
                    "`phase`",
                    format!("\"{other}\""),
                    "use \"difference\" or \"sum\"",
                ));
            }
        };
        let (words, columns) = words_of(words)?;
        let (own, params) = (keys.get(), self.plan.half_bootstrap().params());
        let samples = detached(py, || {
            let scale =
                Real::given(scale).map_or_else(|| params.outside_scale(self.plan.scale(), modulus), Ok)?;
            let samples = OutsideSamples {
                words: &words,
                dimension: columns.saturating_sub(1),
                modulus,
                phase,
                scale,
                secret,
            };
            self.plan.outside_samples(own.keys.id(), &samples)
        })?;
        Bound::new(py, PyCiphertext::new(py, samples, &own.params)?)?
            .call_method1("with_keys", (keys.clone_ref(py), py.None()))
    }
}
