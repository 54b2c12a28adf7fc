//! Rotations, and the same numbers at other levels, ranks and degrees.

use clathrate_ckks::{Ciphertext, Evaluator};
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::numbers::{Whole, Wholes};
use crate::packing_plan::PyPackingPlan;
use crate::params::size;
use crate::run::computing;

#[pymethods]
impl PyCiphertext {
    fn drop_to_level(&self, py: Python<'_>, level: Whole) -> PyResult<Self> {
        let level = self.params.get().level(py, Some(level))?;
        self.compute(py, |x| {
            // A product that stays at its level is not rescaled.
            if level == x.data().level() {
                return Ok(x.clone());
            }
            x.map_settled(|evaluator, x| evaluator.drop_to_level(x, level))
        })
    }

    fn rotate(&self, py: Python<'_>, steps: Whole) -> PyResult<Self> {
        let steps = steps.steps(py)?;
        self.compute(py, |x| x.rotate(steps))
    }

    fn rotate_many(&self, py: Python<'_>, steps: Wholes) -> PyResult<Vec<Self>> {
        let steps: Vec<i64> = steps.0.into_iter().map(|step| step.steps(py)).collect::<PyResult<_>>()?;
        let x = &self.array;
        let rotated = computing(py, |progress| x.with_progress(progress).rotate_many(&steps))?;
        rotated.iter().map(|array| self.beside(py, array)).collect()
    }

    fn conj(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.conjugate())
    }

    fn real_part(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.real_part())
    }

    fn imaginary_part(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.imaginary_part())
    }

    fn to_rank(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        self.compute(py, |x| x.map_settled(|evaluator, x| evaluator.to_rank(x, rank)))
    }

    fn to_rlwe(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.map_settled(Evaluator::to_rlwe))
    }

    fn pack(&self, py: Python<'_>, plan: &PyPackingPlan, lanes: bool) -> PyResult<Self> {
        let plan = plan.plan.clone();
        let pack = move |evaluator: &Evaluator, x: &Ciphertext| {
            if lanes { plan.run_on_rows(evaluator, x) } else { plan.run(evaluator, x) }
        };
        self.compute(py, |x| x.map_settled(pack))
    }

    fn to_mlwe(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        self.compute(py, |x| x.map(|evaluator, x| evaluator.to_mlwe(x, rank)))
    }

    fn to_lwe(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.map(Evaluator::to_lwe))
    }
}
