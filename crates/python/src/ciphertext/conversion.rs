//! Conversions between slots and coefficients.

use clathrate_ckks::Encoding;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::errors::out_of_range;
use crate::numbers::Whole;

impl PyCiphertext {
    fn converted(&self, py: Python<'_>, to: Encoding, levels: Option<Whole>) -> PyResult<Self> {
        let refused = |value: i64| out_of_range(py, "`levels`", value, "use 1 or more");
        let levels =
            levels.map(|Whole(value)| usize::try_from(value).map_err(|_| refused(value))).transpose()?;
        self.compute(py, |x| x.converted(to, levels))
    }
}

#[pymethods]
impl PyCiphertext {
    fn to_slots(&self, py: Python<'_>, levels: Option<Whole>) -> PyResult<Self> {
        self.converted(py, Encoding::Slots, levels)
    }

    fn to_coefficients(&self, py: Python<'_>, levels: Option<Whole>) -> PyResult<Self> {
        self.converted(py, Encoding::Coefficients, levels)
    }
}
