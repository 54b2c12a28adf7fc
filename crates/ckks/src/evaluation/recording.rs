//! The recording of a dry run: operations that need keys, uses of each key, costs by stage, and memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use clathrate_lattice::Level;

use crate::arrays::memory::MemoryMeter;
use crate::error::CkksError;
use crate::keys::{Cost, KeyAddress, KeyLevel, KeyNeeds, KeyRequirements, Operation};
use crate::parameters::Params;

/// The cost of one stage of a circuit.
#[derive(Debug, Clone, PartialEq)]
pub struct StageCost {
    /// The stage's name; nested stages are joined by a slash.
    pub name: String,
    /// Unit operations and predicted time of one thread.
    pub cost: Cost,
}

/// Whether the encoded plaintexts of a plan are kept for its next use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// As long as the plan.
    Always,
    /// With the plan by an evaluator, within its byte budget.
    WithinBudget,
    /// They are encoded for each use.
    Never,
}

/// Encoded plaintexts that one use of a plan takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeededPlaintexts {
    /// The plan's name.
    pub(crate) plan: [u8; 32],
    pub(crate) keeping: Keeping,
    /// Bytes of all of them, and of the diagonals that the plan keeps to encode them.
    pub(crate) bytes: usize,
    /// Bytes of those that are encoded together where they are not kept.
    pub(crate) bytes_at_once: usize,
    /// The cost of encoding them.
    pub(crate) cost: Cost,
    /// How often they are encoded for one use where they are not kept.
    pub(crate) times: usize,
}

/// The encoded plaintexts of a computation that runs again and again.
#[derive(Debug, Clone, Default)]
struct Plaintexts {
    /// By the name of the plan, whether they are kept.
    plans: BTreeMap<[u8; 32], bool>,
    /// Bytes that plans keep for as long as they exist.
    held: usize,
    /// Bytes that an evaluator keeps within its budget.
    kept: usize,
    /// The most bytes that are encoded together and dropped.
    dropped: usize,
    /// The cost of encoding those that are kept, in the first run.
    first: Cost,
}

/// Everything that a dry run records.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    needs: KeyNeeds,
    uses: BTreeMap<(KeyAddress, Level), usize>,
    /// Costs by stage, in the order in which the stages were first entered.
    stages: Vec<StageCost>,
    /// Names of the open stages, outermost first.
    open: Vec<String>,
    /// The polynomials that are bootstrapped, each time.
    bootstraps: usize,
    meter: Arc<MemoryMeter>,
    plaintexts: Plaintexts,
    /// How often each recorded operation counts: a circuit that runs for each bundle on data runs once on
    /// symbols.
    repeats: Repeats,
    /// The needs for which keys will be made, if known.
    made_for: Option<KeyNeeds>,
}

/// A count of repetitions, 1 by default.
#[derive(Debug, Clone, Copy)]
struct Repeats(usize);

impl Default for Repeats {
    fn default() -> Self {
        Self(1)
    }
}

/// The name of the stage for operations outside of any stage.
const NO_STAGE: &str = "operations";

impl Recording {
    /// The recording of a computation whose keys are made for `needs`.
    pub(crate) fn made_for(needs: KeyNeeds) -> Self {
        Self { made_for: Some(needs), ..Self::default() }
    }

    /// The highest level that the keys of `operation` at the shape of `params` serve, if known.
    pub(crate) fn key_level(&self, root: &Params, params: &Params, operation: Operation) -> Option<Level> {
        let key_level = self
            .made_for
            .as_ref()
            .and_then(|needs| needs.key_level_at(root.shape(), params.shape(), operation));
        key_level.map(|key_level| key_level.level(params.max_level()))
    }

    /// Multiplies all further counts by `count`; returns the previous factor, for [`Recording::end_repeat`].
    pub(crate) fn repeat(&mut self, count: usize) -> usize {
        let before = self.repeats.0;
        self.repeats.0 = before * count;
        before
    }

    /// Restores the factor that [`Recording::repeat`] returned.
    pub(crate) fn end_repeat(&mut self, before: usize) {
        self.repeats.0 = before;
    }

    /// Records `operation` on `bundles` bundles at the shape of `params`, and its cost; `root` has the shape
    /// for which the needs are stated.
    pub(crate) fn write(
        &mut self,
        root: &Params,
        params: &Params,
        operation: Operation,
        level: Level,
        (bundles, cost): (usize, Cost),
    ) -> Result<(), CkksError> {
        params.check_level(level)?;
        let route = params
            .full_route(operation, level)
            .ok_or_else(|| params.missing_key(operation, std::iter::empty()))?;
        let need = |needs: KeyNeeds| needs.operation(operation, KeyLevel::Level(level.0));
        let needs = std::mem::take(&mut self.needs);
        self.needs =
            if params == root { need(needs) } else { needs.relative(params.shape(), &need(KeyNeeds::new())) };
        for key in route.keys() {
            *self.uses.entry((key, level)).or_default() += bundles * self.repeats.0;
        }
        self.add_cost(cost);
        Ok(())
    }

    /// Adds the bootstraps of so many polynomials.
    pub(crate) fn add_bootstraps(&mut self, polynomials: usize) {
        self.bootstraps += polynomials * self.repeats.0;
    }

    /// The number of bootstraps of a polynomial.
    #[must_use]
    pub fn bootstraps(&self) -> usize {
        self.bootstraps
    }

    /// Adds `cost` to the open stage.
    pub(crate) fn add_cost(&mut self, cost: Cost) {
        let cost = cost.times(self.repeats.0 as f64);
        let name = if self.open.is_empty() { NO_STAGE.to_owned() } else { self.open.join("/") };
        match self.stages.iter_mut().find(|stage| stage.name == name) {
            Some(stage) => stage.cost += cost,
            None => self.stages.push(StageCost { name, cost }),
        }
    }

    /// Adds the plaintexts of one use of a plan. Those that are kept are encoded in the first run alone; the
    /// cost of others is part of the open stage. An evaluator keeps those that it needs first, while they fit
    /// ([`KeptPlans`](super::kept::KeptPlans)), or others that it needs more often, which costs less than
    /// counted here.
    pub(crate) fn add_plaintexts(&mut self, needed: NeededPlaintexts, budget: usize) {
        let NeededPlaintexts { plan, keeping, bytes, bytes_at_once, cost, times } = needed;
        let own = &mut self.plaintexts;
        let is_kept = match own.plans.get(&plan) {
            Some(&is_kept) => is_kept,
            None => {
                let is_kept = match keeping {
                    Keeping::Always => true,
                    Keeping::WithinBudget => own.kept.saturating_add(bytes) <= budget,
                    Keeping::Never => false,
                };
                if is_kept {
                    *(if keeping == Keeping::Always { &mut own.held } else { &mut own.kept }) += bytes;
                    own.first += cost;
                }
                own.plans.insert(plan, is_kept);
                is_kept
            }
        };
        if !is_kept {
            own.dropped = own.dropped.max(bytes_at_once);
            self.add_cost(cost.times(times as f64));
        }
    }

    /// Bytes of encoded plaintexts: those that are kept from run to run, and the most that are encoded
    /// together and dropped.
    #[must_use]
    pub fn plaintext_bytes(&self) -> usize {
        self.plaintexts.held + self.plaintexts.kept + self.plaintexts.dropped
    }

    /// The cost of encoding the plaintexts that are kept: the first run takes so much more than others.
    #[must_use]
    pub fn encoding_cost(&self) -> Cost {
        self.plaintexts.first
    }

    pub(crate) fn enter(&mut self, name: &str) {
        self.open.push(name.to_owned());
    }

    pub(crate) fn leave(&mut self) {
        self.open.pop();
    }

    /// The names of the open stages with slashes between them; empty outside of stages.
    pub(crate) fn open_stage(&self) -> String {
        self.open.join("/")
    }

    pub(crate) fn meter(&self) -> &Arc<MemoryMeter> {
        &self.meter
    }

    /// The recorded operations, each with the highest level at which it is used.
    #[must_use]
    pub fn needs(&self) -> &KeyNeeds {
        &self.needs
    }

    /// The keys by name, each with the highest level that it must serve.
    pub fn keys(&self, params: &Params) -> Result<KeyRequirements, CkksError> {
        params.required_keys(&self.needs)
    }

    /// How often each key is used at each level, on the routes that a complete key set gives.
    pub fn uses(&self) -> impl Iterator<Item = (KeyAddress, Level, usize)> {
        self.uses.iter().map(|(&(key, level), &count)| (key, level, count))
    }

    /// Costs by stage, in the order in which the stages were first entered.
    #[must_use]
    pub fn stages(&self) -> &[StageCost] {
        &self.stages
    }

    /// Cost of the whole computation, with plaintexts encoded that are kept.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let mut sum = Cost::default();
        self.stages.iter().for_each(|stage| sum += stage.cost);
        sum
    }

    /// The peak of the bytes of all arrays in use, without keys and without scratch memory of operations.
    #[must_use]
    pub fn peak_array_bytes(&self) -> usize {
        self.meter.peak()
    }
}

/// Bytes per mebibyte.
const MIB: f64 = 1_048_576.0;

fn line(f: &mut fmt::Formatter<'_>, name: &str, cost: &Cost, width: usize) -> fmt::Result {
    let Cost { nanoseconds, transforms, hadamard_products, multiply_adds, key_bytes, .. } = *cost;
    let (milliseconds, key_mib) = (nanoseconds / 1e6, key_bytes / MIB);
    writeln!(
        f,
        "  {name:width$}  {milliseconds:>12.3}  {transforms:>10}  {hadamard_products:>17}  {multiply_adds:>13}  {key_mib:>12.2}"
    )
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width =
            self.stages.iter().map(|stage| stage.name.chars().count()).fold("stage".len(), usize::max);
        writeln!(
            f,
            "  {:width$}  {:>12}  {:>10}  {:>17}  {:>13}  {:>12}",
            "stage", "milliseconds", "transforms", "Hadamard products", "multiply-adds", "MiB of keys"
        )?;
        self.stages.iter().try_for_each(|stage| line(f, &stage.name, &stage.cost, width))?;
        line(f, "all", &self.cost(), width)?;
        writeln!(f, "  arrays take at most {:.2} MiB at once", self.peak_array_bytes() as f64 / MIB)?;
        if self.plaintext_bytes() > 0 {
            writeln!(
                f,
                "  encoded plaintexts take {:.2} MiB, and {:.3} ms more in the first run",
                self.plaintext_bytes() as f64 / MIB,
                self.encoding_cost().nanoseconds / 1e6
            )?;
        }
        f.write_str("  predicted for one thread; keys are counted each time they are read")
    }
}
