//! Several bodies under one mask: bundles brought together and taken apart, and the places without a number.

use clathrate_ckks::{Evaluator, SecretName};
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::errors::out_of_range;
use crate::layout::{body_axis, body_count};
use crate::numbers::Whole;

#[pymethods]
impl PyCiphertext {
    fn share_mask(&self, py: Python<'_>, bodies: Whole, axis: Option<&str>) -> PyResult<Self> {
        let (bodies, axis) = (body_count(py, "`bodies`", bodies)?, body_axis(py, axis)?);
        self.compute(py, |x| x.map_settled(|evaluator, x| evaluator.share_mask_along(x, bodies, axis)))
    }

    fn split_mask(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.map_settled(Evaluator::split_mask))
    }

    fn change_secret(&self, py: Python<'_>, secret: &str) -> PyResult<Self> {
        let unknown = || {
            out_of_range(
                py,
                "the name of a secret",
                format!("{secret:?}"),
                "use \"main\" or, for device 7, \"device:7\"",
            )
        };
        let to = SecretName::parse(secret).ok_or_else(unknown)?;
        self.compute(py, |x| x.map_settled(|evaluator, x| evaluator.change_secret(x, to)))
    }

    fn clear_padding(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.clear_padding())
    }

    fn sum_rows(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.sum_rows())
    }

    fn repeat_column(&self, py: Python<'_>, columns: Whole) -> PyResult<Self> {
        let count = usize::try_from(columns.0).ok().filter(|&count| count > 0);
        let columns = count.ok_or_else(|| out_of_range(py, "`columns`", columns.0, "use 1 or more"))?;
        self.compute(py, |x| x.repeat_column(columns))
    }

    #[getter]
    fn secret(&self) -> String {
        self.data().secret().to_string()
    }

    #[getter]
    fn bodies(&self) -> usize {
        self.data().layout().bodies()
    }
}
