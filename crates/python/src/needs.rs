//! What keys a computation needs.

use clathrate_ckks::KeyNeeds;
use clathrate_ckks::needs::Reach;
use pyo3::prelude::*;

use crate::errors::{exception, out_of_range};
use crate::operand::Whole;

/// The evaluation keys a computation needs; `SecretKey.evaluation_keys` makes exactly these. `|` merges.
///
/// Parameters
/// ----------
/// relinearise : products of ciphertexts.
/// rotations : rotation steps, left when positive; 0 needs no key.
/// conjugate : complex conjugation.
/// level : highest level the keys must serve; the top if None. Lower is smaller and faster.
#[pyclass(frozen, module = "clathrate", name = "Needs")]
pub struct PyNeeds {
    pub needs: KeyNeeds,
}

#[pymethods]
impl PyNeeds {
    #[new]
    #[pyo3(signature = (relinearise=false, rotations=Vec::new(), conjugate=false, level=None),
           text_signature = "(relinearise=False, rotations=(), conjugate=False, level=None)")]
    fn new(py: Python<'_>, relinearise: bool, rotations: Vec<Whole>, conjugate: bool, level: Option<Whole>) -> PyResult<Self> {
        let reach = match level.map(|level| level.0) {
            None => Reach::Top,
            Some(level) => Reach::Level(usize::try_from(level).map_err(|_| out_of_range(py, "`level`", level, "use 0 or more, or None"))?),
        };
        let rotations: Vec<i64> = rotations.into_iter().map(|step| step.steps(py)).collect::<PyResult<_>>()?;
        let mut needs = KeyNeeds::new().rotations(rotations, reach);
        if relinearise {
            needs = needs.relinearise(reach);
        }
        if conjugate {
            needs = needs.conjugate(reach);
        }
        Ok(Self { needs })
    }

    /// Whether a relinearisation key is needed.
    #[getter]
    fn relinearise(&self) -> bool {
        self.needs.relinearisation().is_some()
    }

    /// Whether a conjugation key is needed.
    #[getter]
    fn conjugate(&self) -> bool {
        self.needs.conjugation().is_some()
    }

    /// Rotation steps, ascending.
    #[getter]
    fn rotations(&self) -> Vec<i64> {
        self.needs.rotation_steps().map(|(step, _)| step).collect()
    }

    /// Highest level of each key: `{"relinearise": level, "conjugate": level, "rotations": {steps: level}}`, None for the top.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let level = |reach: Reach| match reach {
            Reach::Level(level) => Some(level),
            Reach::Top => None,
        };
        let report = pyo3::types::PyDict::new(py);
        if let Some(reach) = self.needs.relinearisation() {
            report.set_item("relinearise", level(reach))?;
        }
        if let Some(reach) = self.needs.conjugation() {
            report.set_item("conjugate", level(reach))?;
        }
        let rotations = pyo3::types::PyDict::new(py);
        for (step, reach) in self.needs.rotation_steps() {
            rotations.set_item(step, level(reach))?;
        }
        report.set_item("rotations", rotations)?;
        Ok(report.into_any())
    }

    fn __or__(&self, other: PyRef<'_, Self>) -> Self {
        Self { needs: self.needs.clone().merge(&other.needs) }
    }

    fn __bool__(&self) -> bool {
        !self.needs.is_empty()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().needs == self.needs)
    }

    fn __hash__(&self) -> isize {
        // Few and small: equality does the work.
        self.rotations().iter().fold(isize::from(self.relinearise()), |hash, &step| hash.wrapping_mul(31).wrapping_add(step as isize))
    }

    fn __repr__(&self) -> String {
        let reach = |reach: Reach| match reach {
            Reach::Level(level) => format!("level {level}"),
            Reach::Top => "top".to_owned(),
        };
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.needs.relinearisation().map(|level| format!("relinearise: {}", reach(level))));
        parts.extend(self.needs.conjugation().map(|level| format!("conjugate: {}", reach(level))));
        parts.extend(self.needs.rotation_steps().map(|(step, level)| format!("rotate {step}: {}", reach(level))));
        format!("Needs({})", if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let text = serde_json::to_string(&self.needs).map_err(|error| exception(py, "InternalError", error.to_string()))?;
        Ok((py.import("clathrate._pickle")?.getattr("rebuild_needs")?, (text,)))
    }

    #[staticmethod]
    fn _from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let needs = serde_json::from_str(text).map_err(|error| exception(py, "DataError", format!("these are no needs: {error}")))?;
        Ok(Self { needs })
    }
}
