//! Several bodies under one mask: bundles brought together and taken apart, and the places without a number.

use clathrate_ckks::SecretName;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::errors::out_of_range;
use crate::layout::{body_axis, body_count};
use crate::numbers::Whole;

#[pymethods]
impl PyCiphertext {
    fn share_mask(&self, py: Python<'_>, bodies: Whole, axis: Option<&str>) -> PyResult<Self> {
        let (bodies, axis) = (body_count(py, "`bodies`", bodies)?, body_axis(py, axis)?);
        let needs = format!("cl.Needs(shared_mask={bodies})");
        self.map_needing(py, &needs, |evaluator, x| evaluator.share_mask_along(x, bodies, axis))
    }

    fn split_mask(&self, py: Python<'_>) -> PyResult<Self> {
        let needs = format!("cl.Needs(shared_mask={})", self.data.layout().bodies);
        self.map_needing(py, &needs, |evaluator, x| evaluator.split_mask(x))
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
        let needs = format!("cl.trace(lambda x: x.change_secret({secret:?}), ...).needs");
        self.map_needing(py, &needs, |evaluator, x| evaluator.change_secret(x, to))
    }

    fn clear_padding(&self, py: Python<'_>) -> PyResult<Self> {
        self.map_settled(py, |evaluator, x| evaluator.clear_padding(x))
    }

    fn sum_rows(&self, py: Python<'_>) -> PyResult<Self> {
        self.totals(py)
    }

    fn repeat_column(&self, py: Python<'_>, columns: Whole) -> PyResult<Self> {
        let count = usize::try_from(columns.0).ok().filter(|&count| count > 0);
        let columns = count.ok_or_else(|| out_of_range(py, "`columns`", columns.0, "use 1 or more"))?;
        self.map(py, |evaluator, x| evaluator.broadcast(x, columns))
    }

    #[getter]
    fn secret(&self) -> String {
        self.data.secret().to_string()
    }

    #[getter]
    fn bodies(&self) -> usize {
        self.data.layout().bodies
    }
}

impl PyCiphertext {
    /// The `Needs` of an operation under this ciphertext's secret, as Python code: `arguments` say which
    /// operation.
    pub(super) fn needs_under_secret(&self, arguments: &str) -> String {
        match self.data.secret() {
            SecretName::Bodies(bodies) => format!("cl.Needs({arguments}, bodies={bodies})"),
            _ => format!("cl.Needs({arguments})"),
        }
    }
}
