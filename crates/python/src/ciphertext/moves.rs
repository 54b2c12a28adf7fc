//! Rotations, and the same numbers at other levels, ranks and degrees.

use clathrate_ckks::{Ciphertext, CkksError, Evaluator, SecretName};
use pyo3::prelude::*;

use super::attributes::python_shape;
use super::object::PyCiphertext;
use crate::errors::raise_for_key;
use crate::numbers::{Whole, Wholes};
use crate::packing_plan::PyPackingPlan;
use crate::params::size;
use crate::run::detached_with;

impl PyCiphertext {
    /// The real or the imaginary part of complex numbers.
    fn part(
        &self,
        py: Python<'_>,
        part: fn(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>,
    ) -> PyResult<Self> {
        let needs = self.needs_under_secret("conjugate=True");
        let converted = self.brought_to_slots(py, self)?;
        converted.as_ref().unwrap_or(self).map_factor(py, |error| raise_for_key(py, error, &needs), part)
    }
}

#[pymethods]
impl PyCiphertext {
    fn drop_to_level(&self, py: Python<'_>, level: Whole) -> PyResult<Self> {
        let level = self.params.get().level(py, Some(level))?;
        // A product that stays at its level is not rescaled.
        if level == self.data.level() {
            return Ok(self.again(py));
        }
        self.map_settled(py, |evaluator, x| evaluator.drop_to_level(x, level))
    }

    fn rotate(&self, py: Python<'_>, steps: Whole) -> PyResult<Self> {
        let steps = steps.steps(py)?;
        let needs = self.needs_under_secret(&format!("rotations=[{steps}]"));
        self.map_needing(py, &needs, |evaluator, x| evaluator.rotate(x, steps))
    }

    fn rotate_many(&self, py: Python<'_>, steps: Wholes) -> PyResult<Vec<Self>> {
        let steps: Vec<i64> = steps.0.into_iter().map(|step| step.steps(py)).collect::<PyResult<_>>()?;
        let evaluator = self.evaluator();
        let data = &*self.settled(py, &evaluator)?;
        let needs = self.needs_under_secret(&format!("rotations={steps:?}"));
        let rotated = detached_with(
            py,
            |error| raise_for_key(py, error, &needs),
            || evaluator.rotate_many(data, &steps),
        )?;
        rotated.into_iter().map(|data| self.beside(py, data)).collect()
    }

    fn conj(&self, py: Python<'_>) -> PyResult<Self> {
        let needs = self.needs_under_secret("conjugate=True");
        let converted = self.brought_to_slots(py, self)?;
        converted.as_ref().unwrap_or(self).map_needing(py, &needs, |evaluator, x| evaluator.conjugate(x))
    }

    fn real_part(&self, py: Python<'_>) -> PyResult<Self> {
        if self.data.is_complex() { self.part(py, Evaluator::real_part) } else { Ok(self.again(py)) }
    }

    fn imaginary_part(&self, py: Python<'_>) -> PyResult<Self> {
        if self.data.is_complex() {
            self.part(py, Evaluator::imaginary_part)
        } else {
            self.map(py, |evaluator, x| evaluator.imaginary_part(x))
        }
    }

    fn to_rank(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        self.map_settled(py, |evaluator, x| evaluator.to_rank(x, rank))
    }

    fn to_rlwe(&self, py: Python<'_>) -> PyResult<Self> {
        // Under the main secret the missing keys have errors of their own, which name `to_rlwe=True`.
        let (shape, bodies) = (python_shape(self.data.shape()), self.data.layout().bodies);
        let needs = format!("cl.trace(lambda x: x.to_rlwe(), {shape}, params=params, bodies={bodies}).needs");
        self.map_needing(py, &needs, |evaluator, x| evaluator.to_rlwe(x))
    }

    fn pack(&self, py: Python<'_>, plan: &PyPackingPlan, lanes: bool) -> PyResult<Self> {
        let plan = plan.plan.clone();
        let pack = move |evaluator: &Evaluator, x: &Ciphertext| {
            if lanes { evaluator.pack_rows_by(x, &plan) } else { evaluator.pack_by(x, &plan) }
        };
        let needs = match self.data.secret() {
            SecretName::Device(number) => format!("cl.PackingPlan(params, device={number}).needs"),
            _ => "cl.PackingPlan(params).needs".to_owned(),
        };
        self.map_needing(py, &needs, pack)
    }

    fn to_mlwe(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        self.map(py, |evaluator, x| evaluator.to_mlwe(x, rank))
    }

    fn to_lwe(&self, py: Python<'_>) -> PyResult<Self> {
        self.map(py, |evaluator, x| evaluator.to_lwe(x))
    }
}
