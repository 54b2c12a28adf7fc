//! Sums, means and variances along axes.

use clathrate_ckks::CkksError;
use clathrate_ckks::encrypted_array::EncryptedArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::object::PyCiphertext;
use crate::errors::out_of_range;
use crate::numbers::{Whole, Wholes};

/// The axes of a reduction: a whole number, or a tuple of them.
#[derive(Debug)]
pub(super) struct Axes(Vec<i64>);

impl<'a, 'py> FromPyObject<'a, 'py> for Axes {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(axes) = data.cast::<PyTuple>() {
            let axis = |axis: Bound<'_, PyAny>| axis.extract::<Whole>().map(|Whole(axis)| axis);
            return axes.iter().map(axis).collect::<PyResult<_>>().map(Self);
        }
        Ok(Self(vec![data.extract::<Whole>()?.0]))
    }
}

impl PyCiphertext {
    /// What `work` makes of this array along axes; refuses a type or a target.
    fn reduce(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        (dtype, out): (Option<&Bound<'_, PyAny>>, Option<&Bound<'_, PyAny>>),
        work: impl FnOnce(&EncryptedArray, Option<&[i64]>) -> Result<EncryptedArray, CkksError> + Send,
    ) -> PyResult<Self> {
        if dtype.is_some() || out.is_some() {
            return Err(PyTypeError::new_err(
                "a reduction of a ciphertext has no `dtype` and no `out`: it is a new ciphertext of the same kind of numbers",
            ));
        }
        self.compute(py, |x| work(x, axis.as_ref().map(|Axes(axes)| &axes[..])))
    }
}

#[pymethods]
impl PyCiphertext {
    fn sum(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.reduce(py, axis, (dtype, out), |x, axes| x.sum(axes, keepdims))
    }

    fn prod(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.reduce(py, axis, (dtype, out), |x, axes| x.product(axes, keepdims))
    }

    fn mean(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.reduce(py, axis, (dtype, out), |x, axes| x.mean(axes, keepdims))
    }

    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn var(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        ddof: Whole,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.reduce(py, axis, (dtype, out), |x, axes| x.variance(axes, ddof.0, keepdims))
    }

    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let axes: Wholes = match shape.len() {
            1 => shape.get_item(0)?.extract().or_else(|_| shape.extract())?,
            _ => shape.extract()?,
        };
        let refuse = |value: i64| {
            out_of_range(py, "an axis of the shape", value, "use numbers above 0, and -1 once at most")
        };
        let unknown = axes.0.iter().filter(|Whole(axis)| *axis == -1).count();
        let size: usize = self.data().shape().iter().product();
        let known =
            axes.0.iter().filter(|Whole(axis)| *axis != -1).try_fold(1usize, |product, Whole(axis)| {
                let axis =
                    usize::try_from(*axis).ok().filter(|&axis| axis > 0).ok_or_else(|| refuse(*axis))?;
                product.checked_mul(axis).ok_or_else(|| refuse(i64::MAX))
            })?;
        if unknown > 1 {
            return Err(refuse(-1));
        }
        let length = |Whole(axis): Whole| usize::try_from(axis).unwrap_or(size / known);
        let wanted: Vec<usize> = axes.0.iter().copied().map(length).collect();
        self.compute(py, |x| x.reshaped(&wanted))
    }
}
