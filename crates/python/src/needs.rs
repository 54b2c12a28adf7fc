//! What keys a computation needs.

use std::collections::BTreeSet;

use clathrate_ckks::KeyNeeds;
use clathrate_ckks::keys::{Operation, Reach};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{exception, out_of_range};
use crate::numbers::{Whole, Wholes};

/// The evaluation keys that a computation needs.
///
/// `SecretKey.evaluation_keys(needs)` makes exactly these keys. `trace` finds out the needs of a function, and `PolynomialPlan.needs`
/// states those of a polynomial. `a | b` needs what a or b needs.
///
/// Parameters
/// ----------
/// relinearise : bool, optional
///     Whether ciphertexts are multiplied with each other. The default is False.
/// rotations : sequence of int, optional
///     The steps of the rotations; positive steps rotate to the left, and 0 needs no key. There are none by default.
/// conjugate : bool, optional
///     Whether ciphertexts are conjugated. The default is False.
/// level : int, optional
///     The highest level of the ciphertexts that the keys serve. None, the default, is the highest level of the parameters. A lower level
///     makes keys smaller and faster.
/// power_rotations : bool, optional
///     Whether there are keys of the rotations by powers of two, of which every rotation is made. These keys live at the temporary rank,
///     which the parameters must have. The default is False.
/// ranks : sequence of int, optional
///     The ranks that the rank of ciphertexts is reduced to, one after the other, highest first, as in `[2, 1]`; each is at most half of
///     the one before. Everything else that is needed is needed at each of these ranks too. `Needs(..., ranks=...) | Needs(...)` needs the
///     second part at the parameters' own rank only.
/// single_steps : bool, optional
///     Allows ranks that are more than half of the one before. Keys of many such steps are a possible weakness, so that True is your word
///     that there are few of them. The default is False.
/// to_rlwe : bool, optional
///     Whether ciphertexts are converted to rank 1 at a higher degree, from the parameters' own rank and from each of `ranks`. Everything
///     else that is needed is needed there too. The default is False.
///
/// Raises
/// ------
/// DataError
///     Where levels, steps or ranks are out of range. Whether the parameters have the ranks is checked when keys are made.
///
/// Examples
/// --------
/// >>> cl.Needs(relinearise=True) | cl.Needs(rotations=[1], level=3)
/// Needs(relinearise: top, rotate 1: level 3)
#[pyclass(frozen, module = "clathrate", name = "Needs")]
pub struct PyNeeds {
    pub needs: KeyNeeds,
}

/// The level as Python has it: None for the top.
fn level(reach: Reach) -> Option<usize> {
    match reach {
        Reach::Level(level) => Some(level),
        Reach::Top => None,
    }
}

/// All ranks that reductions lead to, wherever they start.
fn collect_ranks(needs: &KeyNeeds, ranks: &mut BTreeSet<usize>) {
    ranks.extend(needs.reductions().map(|(rank, _)| rank));
    ranks.extend(needs.descents().iter().flat_map(|route| route.ranks.iter().copied()));
    needs.relatives().for_each(|(_, needs)| collect_ranks(needs, ranks));
}

/// The figures of `Needs.to_dict`.
fn report<'py>(py: Python<'py>, needs: &KeyNeeds) -> PyResult<Bound<'py, PyDict>> {
    let report = PyDict::new(py);
    let single =
        [("relinearise", Operation::Multiply), ("conjugate", Operation::Conjugate), ("power_rotations", Operation::RotateByPowers)];
    for (name, reach) in single.into_iter().filter_map(|(name, operation)| Some((name, needs.reach_of(operation)?))) {
        report.set_item(name, level(reach))?;
    }
    let rotations = PyDict::new(py);
    needs.rotation_steps().try_for_each(|(step, reach)| rotations.set_item(step, level(reach)))?;
    report.set_item("rotations", rotations)?;
    if needs.reductions().next().is_some() {
        let ranks = PyDict::new(py);
        needs.reductions().try_for_each(|(rank, reach)| ranks.set_item(rank, level(reach)))?;
        report.set_item("ranks", ranks)?;
    }
    if needs.relatives().next().is_some() {
        let relatives = PyDict::new(py);
        needs.relatives().try_for_each(|(shape, needs)| relatives.set_item((shape.degree, shape.rank), self::report(py, needs)?))?;
        report.set_item("relatives", relatives)?;
    }
    if !needs.descents().is_empty() {
        let routes = PyList::empty(py);
        for route in needs.descents() {
            let entry = PyDict::new(py);
            entry.set_item("ranks", route.ranks.clone())?;
            entry.set_item("to_rlwe", route.to_rlwe)?;
            entry.set_item("level", level(route.reach))?;
            entry.set_item("needs", self::report(py, &route.needs)?)?;
            routes.append(entry)?;
        }
        report.set_item("routes", routes)?;
    }
    Ok(report)
}

/// Needs in words.
fn describe(needs: &KeyNeeds) -> String {
    let reach = |reach: Reach| match reach {
        Reach::Level(level) => format!("level {level}"),
        Reach::Top => "top".to_owned(),
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(needs.operations().map(|(operation, level)| format!("{operation}: {}", reach(level))));
    parts.extend(needs.relatives().map(|(shape, needs)| format!("at {shape} ({})", describe(needs))));
    for route in needs.descents() {
        let rlwe = if route.to_rlwe { " and at rank 1 of the higher degree" } else { "" };
        parts.push(format!("the same at ranks {:?}{rlwe}: {}", route.ranks, reach(route.reach)));
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

#[pymethods]
impl PyNeeds {
    #[new]
    #[pyo3(signature = (relinearise=false, rotations=Wholes::default(), conjugate=false, level=None, *, power_rotations=false, ranks=Wholes::default(), single_steps=false, to_rlwe=false),
           text_signature = "(relinearise=False, rotations=(), conjugate=False, level=None, *, power_rotations=False, ranks=(), single_steps=False, to_rlwe=False)")]
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
    ) -> PyResult<Self> {
        let reach = match level.map(|level| level.0) {
            None => Reach::Top,
            Some(level) => Reach::Level(usize::try_from(level).map_err(|_| out_of_range(py, "`level`", level, "use 0 or more, or None"))?),
        };
        let rotations: Vec<i64> = rotations.0.into_iter().map(|step| step.steps(py)).collect::<PyResult<_>>()?;
        let mut needs = KeyNeeds::new().rotations(rotations, reach);
        if relinearise {
            needs = needs.relinearise(reach);
        }
        if conjugate {
            needs = needs.conjugate(reach);
        }
        if power_rotations {
            needs = needs.power_rotations(reach);
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
            return Err(out_of_range(py, "the rank after another", format!("{} after {}", pair[1], pair[0]), remedy));
        }
        Ok(Self { needs: needs.along(&ranks, to_rlwe, reach) })
    }

    /// Whether a relinearisation key is needed.
    #[getter]
    fn relinearise(&self) -> bool {
        self.needs.reach_of(Operation::Multiply).is_some()
    }

    /// Whether a conjugation key is needed.
    #[getter]
    fn conjugate(&self) -> bool {
        self.needs.reach_of(Operation::Conjugate).is_some()
    }

    /// The rotation steps that need a key, ascending.
    #[getter]
    fn rotations(&self) -> Vec<i64> {
        self.needs.rotation_steps().map(|(step, _)| step).collect()
    }

    /// Whether keys of rotations by powers of two at the temporary rank are needed.
    #[getter]
    fn power_rotations(&self) -> bool {
        self.needs.reach_of(Operation::RotateByPowers).is_some()
    }

    /// The ranks that are reduced to, highest first.
    #[getter]
    fn ranks(&self) -> Vec<usize> {
        let mut ranks = BTreeSet::new();
        collect_ranks(&self.needs, &mut ranks);
        ranks.into_iter().rev().collect()
    }

    /// Whether ciphertexts are converted to rank 1 at a higher degree.
    #[getter]
    fn to_rlwe(&self) -> bool {
        self.needs.descents().iter().any(|route| route.to_rlwe)
    }

    /// The highest level that each key is needed at.
    ///
    /// Returns
    /// -------
    /// dict
    ///     `{"relinearise": level, "conjugate": level, "rotations": {steps: level}}`, where the level None is the highest of the
    ///     parameters. Keys that are not needed are left out. Where they are needed also `"power_rotations": level`; `"ranks": {rank:
    ///     level}`; `"routes"`, a list of ranks and conversions with what is needed at each; and `"relatives": {(degree, rank): ...}`, the
    ///     needs at other degrees and ranks.
    ///
    /// Examples
    /// --------
    /// >>> cl.Needs(relinearise=True, rotations=[1], level=3).to_dict()
    /// {'relinearise': 3, 'rotations': {1: 3}}
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report(py, &self.needs)
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
        format!("Needs({})", describe(&self.needs))
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
