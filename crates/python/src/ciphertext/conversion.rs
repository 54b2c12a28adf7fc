//! Conversions between slots and coefficients, asked for or where an operation needs one.

use clathrate_ckks::Encoding;
use clathrate_ckks::error::ErrorKind;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::errors::out_of_range;
use crate::numbers::Whole;
use crate::run::detached;

impl PyCiphertext {
    /// This array in the encoding `to`: converted, by a plan that the parameters keep, where it has the other
    /// one.
    pub(super) fn converted(&self, py: Python<'_>, to: Encoding, levels: Option<Whole>) -> PyResult<Self> {
        if self.data.encoding() == to {
            return Ok(self.again(py));
        }
        let refused = |value: i64| out_of_range(py, "`levels`", value, "use 1 or more");
        let levels =
            levels.map(|Whole(value)| usize::try_from(value).map_err(|_| refused(value))).transpose()?;
        let evaluator = self.evaluator();
        let data = self.settled(py, &evaluator)?;
        let plans = &self.params.get().conversions;
        let result = detached(py, || evaluator.convert(&data, &*plans.plan(&data, levels)?))?;
        self.beside(py, result)
    }

    /// This array converted to slots, for an operation that is defined there alone, with the keys of
    /// `holder`. Absent where it is in slots, where levels are the caller's affair, and where keys are
    /// missing: the operation then says which encoding it needs.
    pub(crate) fn brought_to_slots(&self, py: Python<'_>, holder: &Self) -> PyResult<Option<Self>> {
        if self.data.encoding() == Encoding::Slots || !self.is_automatic() || !holder.has_keys() {
            return Ok(None);
        }
        let evaluator = holder.evaluator();
        let data = self.settled(py, &evaluator)?;
        let plans = &self.params.get().conversions;
        let work = || match plans.plan(&data, None) {
            Ok(plan) if plan.has_keys_in(&evaluator) => evaluator.convert(&data, &plan).map(Some),
            Err(error) if error.kind() == ErrorKind::Level => Err(error),
            _ => Ok(None),
        };
        detached(py, work)?.map(|result| holder.beside(py, result)).transpose()
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
