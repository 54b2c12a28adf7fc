//! What keys a computation needs.

use std::collections::{BTreeMap, BTreeSet};

use clathrate_ckks::keys::{KeyLevel, Operation, Switch};
use clathrate_ckks::{KeyNeeds, SecretName};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{exception, out_of_range, raise};
use crate::layout::body_count;
use crate::numbers::{Whole, Wholes};
use crate::params::PyParams;

#[pyclass(frozen, module = "clathrate._native", name = "Needs")]
pub struct PyNeeds {
    pub needs: KeyNeeds,
}

/// The level as Python has it: None for the top.
fn level(key_level: KeyLevel) -> Option<usize> {
    match key_level {
        KeyLevel::Level(level) => Some(level),
        KeyLevel::Top => None,
    }
}

/// All ranks that reductions lead to, wherever they start.
fn collect_ranks(needs: &KeyNeeds, ranks: &mut BTreeSet<usize>) {
    ranks.extend(needs.reductions().map(|(rank, _)| rank));
    ranks.extend(needs.descents().iter().flat_map(|route| route.ranks.iter().copied()));
    needs.relatives().for_each(|(_, needs)| collect_ranks(needs, ranks));
}

/// How many bodies are brought under one mask, each with the level.
fn brought_together(needs: &KeyNeeds) -> BTreeMap<usize, KeyLevel> {
    let count = |(operation, key_level)| match operation {
        Operation::Switch(Switch::FormatSwitch { from: 1, to }) => Some((to, key_level)),
        _ => None,
    };
    needs.operations().filter_map(count).collect()
}

/// How many bodies are taken apart, each with the level: where each of them changes to the main secret at one
/// level.
fn taken_apart(needs: &KeyNeeds) -> BTreeMap<usize, KeyLevel> {
    let out = |count, index| {
        needs.key_level_of(Operation::Switch(Switch::ChangeSecret {
            from: SecretName::Body { count, index },
            to: SecretName::Main,
        }))
    };
    let first = |(operation, key_level)| match operation {
        Operation::Switch(Switch::ChangeSecret {
            from: SecretName::Body { count, index: 0 },
            to: SecretName::Main,
        }) => Some((count, key_level)),
        _ => None,
    };
    needs
        .operations()
        .filter_map(first)
        .filter(|&(count, key_level)| (1..count).all(|index| out(count, index) == Some(key_level)))
        .collect()
}

/// The rotations and the conjugation of arrays of several bodies under one mask, by the number of bodies.
fn report_of_bodies<'py>(py: Python<'py>, needs: &KeyNeeds) -> PyResult<BTreeMap<usize, Bound<'py, PyDict>>> {
    let mut reports = BTreeMap::<usize, Bound<'py, PyDict>>::new();
    for (operation, key_level) in needs.operations() {
        match operation {
            Operation::Rotate { secret: SecretName::Bodies(bodies), steps } => {
                let report = reports.entry(bodies).or_insert_with(|| PyDict::new(py));
                let rotations = report.get_item("rotations")?.unwrap_or_else(|| PyDict::new(py).into_any());
                rotations.set_item(steps, level(key_level))?;
                report.set_item("rotations", rotations)?;
            }
            Operation::Conjugate(SecretName::Bodies(bodies)) => {
                reports
                    .entry(bodies)
                    .or_insert_with(|| PyDict::new(py))
                    .set_item("conjugate", level(key_level))?;
            }
            _ => {}
        }
    }
    Ok(reports)
}

/// The figures of `Needs.to_dict`.
fn report<'py>(py: Python<'py>, needs: &KeyNeeds) -> PyResult<Bound<'py, PyDict>> {
    let report = PyDict::new(py);
    let single = [
        ("relinearise", Operation::Multiply),
        ("conjugate", Operation::Conjugate(SecretName::Main)),
        ("power_rotations", Operation::RotateByPowers),
    ];
    for (name, key_level) in
        single.into_iter().filter_map(|(name, operation)| Some((name, needs.key_level_of(operation)?)))
    {
        report.set_item(name, level(key_level))?;
    }
    let rotations = PyDict::new(py);
    needs.rotation_steps().try_for_each(|(step, key_level)| rotations.set_item(step, level(key_level)))?;
    report.set_item("rotations", rotations)?;
    if needs.reductions().next().is_some() {
        let ranks = PyDict::new(py);
        needs.reductions().try_for_each(|(rank, key_level)| ranks.set_item(rank, level(key_level)))?;
        report.set_item("ranks", ranks)?;
    }
    let masks = [("share_mask", brought_together(needs)), ("split_mask", taken_apart(needs))];
    for (name, counts) in masks.into_iter().filter(|(_, counts)| !counts.is_empty()) {
        report.set_item(
            name,
            counts
                .into_iter()
                .map(|(count, key_level)| (count, level(key_level)))
                .collect::<BTreeMap<_, _>>(),
        )?;
    }
    let bodies = report_of_bodies(py, needs)?;
    if !bodies.is_empty() {
        report.set_item("bodies", bodies)?;
    }
    let others = PyDict::new(py);
    for (operation, key_level) in needs.operations() {
        let apart = matches!(
            operation,
            Operation::Switch(Switch::ChangeSecret { from: SecretName::Body { .. }, to: SecretName::Main })
        );
        let other = matches!(
            operation,
            Operation::Switch(Switch::ChangeSecret { .. })
                | Operation::Switch(Switch::RaiseToSlots(_))
                | Operation::Switch(Switch::Pack { .. })
                | Operation::Switch(Switch::BodyParts { .. })
                | Operation::Switch(Switch::FormatSwitch { from: 2.., .. })
        );
        if other && !apart {
            others.set_item(operation.to_string(), level(key_level))?;
        }
    }
    if !others.is_empty() {
        report.set_item("others", others)?;
    }
    if needs.relatives().next().is_some() {
        let relatives = PyDict::new(py);
        needs.relatives().try_for_each(|(shape, needs)| {
            relatives.set_item((shape.degree, shape.rank), self::report(py, needs)?)
        })?;
        report.set_item("relatives", relatives)?;
    }
    if !needs.descents().is_empty() {
        let routes = PyList::empty(py);
        for route in needs.descents() {
            let entry = PyDict::new(py);
            entry.set_item("ranks", route.ranks.clone())?;
            entry.set_item("to_rlwe", route.to_rlwe)?;
            entry.set_item("level", level(route.key_level))?;
            entry.set_item("needs", self::report(py, &route.needs)?)?;
            routes.append(entry)?;
        }
        report.set_item("routes", routes)?;
    }
    Ok(report)
}

/// Needs in words.
fn describe(needs: &KeyNeeds) -> String {
    let key_level = |key_level: KeyLevel| match key_level {
        KeyLevel::Level(level) => format!("level {level}"),
        KeyLevel::Top => "top".to_owned(),
    };
    let mut parts: Vec<String> = Vec::new();
    let apart = taken_apart(needs);
    parts.extend(needs.operations().filter_map(|(operation, level)| match operation {
        // The changes of secret of all bodies are one operation here.
        Operation::Switch(Switch::ChangeSecret {
            from: SecretName::Body { count, index },
            to: SecretName::Main,
        }) if apart.contains_key(&count) => {
            (index == 0).then(|| format!("take {count} bodies apart: {}", key_level(level)))
        }
        _ => Some(format!("{operation}: {}", key_level(level))),
    }));
    parts.extend(needs.relatives().map(|(shape, needs)| format!("at {shape} ({})", describe(needs))));
    for route in needs.descents() {
        let rlwe = if route.to_rlwe { " and at rank 1 of the higher degree" } else { "" };
        parts.push(format!("the same at ranks {:?}{rlwe}: {}", route.ranks, key_level(route.key_level)));
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

/// Refuses a number of bodies with operations that arrays of several bodies under one mask do not have, or
/// without any.
fn check_bodies(py: Python<'_>, bodies: usize, products: bool, moves: bool) -> PyResult<()> {
    let reason = if products {
        "several bodies under one mask have no products of ciphertexts and no `power_rotations`: ask for these without `bodies`, and take \
         the bodies apart with `ct.split_mask()` first"
            .to_owned()
    } else if moves {
        return Ok(());
    } else {
        format!(
            "it says which arrays `rotations` and `conjugate` are for: ask for one of these, or for `shared_mask={bodies}`"
        )
    };
    Err(exception(py, "DataError", format!("`bodies` is {bodies}: {reason}")))
}

#[pymethods]
impl PyNeeds {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn new(
        py: Python<'_>,
        relinearise: bool,
        rotations: Wholes,
        conjugate: bool,
        level: Option<Whole>,
        power_rotations: bool,
        ranks: Wholes,
        single_steps: bool,
        to_rlwe: bool,
        shared_mask: Option<Whole>,
        bodies: Option<Whole>,
    ) -> PyResult<Self> {
        let key_level = match level.map(|level| level.0) {
            None => KeyLevel::Top,
            Some(level) => KeyLevel::Level(
                usize::try_from(level)
                    .map_err(|_| out_of_range(py, "`level`", level, "use 0 or more, or None"))?,
            ),
        };
        let rotations: Vec<i64> =
            rotations.0.into_iter().map(|step| step.steps(py)).collect::<PyResult<_>>()?;
        let bodies = bodies.map(|bodies| body_count(py, "`bodies`", bodies)).transpose()?;
        if let Some(bodies) = bodies {
            check_bodies(py, bodies, relinearise || power_rotations, conjugate || !rotations.is_empty())?;
        }
        let mut needs = match bodies {
            None => KeyNeeds::new().rotations(rotations, key_level),
            Some(bodies) => KeyNeeds::new().rotations_of_bodies(bodies, rotations, key_level),
        };
        if let Some(bodies) = shared_mask {
            needs = needs.shared_mask(body_count(py, "`shared_mask`", bodies)?, key_level);
        }
        if relinearise {
            needs = needs.relinearise(key_level);
        }
        if conjugate {
            needs = match bodies {
                None => needs.conjugate(key_level),
                Some(bodies) => needs.conjugation_of_bodies(bodies, key_level),
            };
        }
        if power_rotations {
            needs = needs.power_rotations(key_level);
        }
        if single_steps {
            needs = needs.single_steps();
        }
        let rank = |rank: &Whole| match usize::try_from(rank.0) {
            Ok(rank) if rank > 0 => Ok(rank),
            _ => Err(out_of_range(py, "a rank", rank.0, "use 1 or more")),
        };
        let ranks = ranks.0.iter().map(rank).collect::<PyResult<Vec<_>>>()?;
        if let Some(pair) = ranks.windows(2).find(|pair| pair[0] <= pair[1]) {
            let remedy = "name ranks from the highest to the lowest, as in [2, 1]";
            return Err(out_of_range(
                py,
                "the rank after another",
                format!("{} after {}", pair[1], pair[0]),
                remedy,
            ));
        }
        Ok(Self { needs: needs.along(&ranks, to_rlwe, key_level) })
    }

    #[getter]
    fn relinearise(&self) -> bool {
        self.needs.key_level_of(Operation::Multiply).is_some()
    }

    #[getter]
    fn conjugate(&self) -> bool {
        self.needs.key_level_of(Operation::Conjugate(SecretName::Main)).is_some()
    }

    #[getter]
    fn rotations(&self) -> Vec<i64> {
        self.needs.rotation_steps().map(|(step, _)| step).collect()
    }

    #[getter]
    fn power_rotations(&self) -> bool {
        self.needs.key_level_of(Operation::RotateByPowers).is_some()
    }

    #[getter]
    fn ranks(&self) -> Vec<usize> {
        let mut ranks = BTreeSet::new();
        collect_ranks(&self.needs, &mut ranks);
        ranks.into_iter().rev().collect()
    }

    #[getter]
    fn shared_masks(&self) -> Vec<usize> {
        let (together, apart) = (brought_together(&self.needs), taken_apart(&self.needs));
        together.into_keys().chain(apart.into_keys()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    #[getter]
    fn to_rlwe(&self) -> bool {
        self.needs.descents().iter().any(|route| route.to_rlwe)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report(py, &self.needs)
    }

    fn nbytes(&self, py: Python<'_>, params: &PyParams) -> PyResult<usize> {
        let params = &params.params;
        params
            .required_keys(&self.needs)
            .and_then(|keys| keys.bytes(params))
            .map_err(|error| raise(py, error))
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
        self.rotations().iter().fold(isize::from(self.relinearise()), |hash, &step| {
            hash.wrapping_mul(31).wrapping_add(step as isize)
        })
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.needs).map_err(|error| exception(py, "InternalError", error.to_string()))
    }

    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let needs = serde_json::from_str(text)
            .map_err(|error| exception(py, "DataError", format!("these are no needs: {error}")))?;
        Ok(Self { needs })
    }

    fn __repr__(&self) -> String {
        format!("Needs({})", describe(&self.needs))
    }
}
