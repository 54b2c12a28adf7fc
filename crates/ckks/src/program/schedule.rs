//! The order in which the operations of a program are computed: one after the other, or side by side where
//! the engine has threads for several.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clathrate_arith::workers::WorkGroup;

use super::replay::{Replay, malformed};
use crate::encrypted_array::{ArrayGraph, EncryptedArray, GraphNode, GraphOperand};
use crate::error::CkksError;
use crate::progress::{Event, Progress, Steps};

/// One operation of a program as a piece of work: it takes values and gives one.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The number of the value that it gives: those of inputs come first.
    pub value: usize,
    /// The name of the stage that it belongs to, or else of its operation.
    pub name: String,
    /// The numbers of the values that it takes, each once.
    pub inputs: Vec<usize>,
    /// The predicted time of one thread in seconds.
    pub seconds: f64,
    /// The bytes of the value.
    pub bytes: usize,
}

/// The steps that a program counts to, whatever its operations: a step is a share of the predicted time.
pub(super) const STEPS: usize = 1000;

/// How long a thread without work waits before it asks whether the computation goes on.
const PATIENCE: Duration = Duration::from_millis(50);

/// The numbers of the values that a node takes, each once.
pub(super) fn values_of(node: &GraphNode) -> Vec<usize> {
    let mut values = Vec::with_capacity(node.operands.len());
    for operand in &node.operands {
        if let GraphOperand::Value(value) = *operand
            && !values.contains(&value)
        {
            values.push(value);
        }
    }
    values
}

/// The values of a graph while it is computed, and what is left to do.
pub(super) struct Values<'g> {
    graph: &'g ArrayGraph,
    values: Vec<Option<EncryptedArray>>,
    /// How many nodes and results still need each value.
    uses: Vec<usize>,
    /// Whether each node is left to compute.
    left: Vec<bool>,
}

impl<'g> Values<'g> {
    /// The values that are there already, by their numbers, and the nodes that `results` need beside them.
    pub(super) fn new(
        graph: &'g ArrayGraph,
        results: &[usize],
        known: BTreeMap<usize, EncryptedArray>,
    ) -> Result<Self, CkksError> {
        let count = graph.inputs + graph.nodes.len();
        let mut own = Self {
            graph,
            values: vec![None; count],
            uses: vec![0; count],
            left: vec![false; graph.nodes.len()],
        };
        for (value, array) in known {
            *own.values.get_mut(value).ok_or_else(|| malformed("a value is none of the graph"))? =
                Some(array);
        }
        for &result in results {
            *own.uses.get_mut(result).ok_or_else(|| malformed("a result is no value of the program"))? += 1;
        }
        for (index, node) in graph.nodes.iter().enumerate().rev() {
            let value = graph.inputs + index;
            if own.uses[value] > 0 && own.values[value].is_none() {
                own.left[index] = true;
                values_of(node).into_iter().for_each(|operand| own.uses[operand] += 1);
            }
        }
        // Values that nothing needs take no memory.
        own.values
            .iter_mut()
            .zip(&own.uses)
            .filter(|(_, uses)| **uses == 0)
            .for_each(|(value, _)| *value = None);
        Ok(own)
    }

    /// The nodes that are left to compute.
    pub(super) fn left(&self) -> impl Iterator<Item = usize> {
        self.left.iter().enumerate().filter(|(_, left)| **left).map(|(index, _)| index)
    }

    /// How many of the values that node `index` takes are not computed yet.
    fn waits_for(&self, index: usize) -> usize {
        let missing = |value: &usize| self.values[*value].is_none();
        values_of(&self.graph.nodes[index]).iter().filter(|value| missing(value)).count()
    }

    /// The encrypted arrays among the operands of node `index`, each in its place.
    fn operands(&self, index: usize) -> Vec<Option<EncryptedArray>> {
        let operand = |operand: &GraphOperand| match *operand {
            GraphOperand::Value(value) => self.values.get(value).cloned().flatten(),
            _ => None,
        };
        self.graph.nodes[index].operands.iter().map(operand).collect()
    }

    /// Takes the value of node `index`, and drops values that nothing needs any more.
    fn take(&mut self, index: usize, array: EncryptedArray) {
        let value = self.graph.inputs + index;
        self.left[index] = false;
        for operand in values_of(&self.graph.nodes[index]) {
            self.uses[operand] -= 1;
            if self.uses[operand] == 0 {
                self.values[operand] = None;
            }
        }
        if self.uses[value] > 0 {
            self.values[value] = Some(array);
        }
    }

    /// The values that are still needed, by their numbers; inputs are none of them.
    pub(super) fn needed(&self) -> impl Iterator<Item = (usize, &EncryptedArray)> {
        let numbered = self.values.iter().enumerate().skip(self.graph.inputs);
        numbered.filter_map(|(value, array)| Some((value, array.as_ref()?)))
    }

    pub(super) fn results(&self, results: &[usize]) -> Result<Vec<EncryptedArray>, CkksError> {
        let value = |&result: &usize| {
            let value = self.values.get(result).cloned().flatten();
            value.ok_or_else(|| malformed("a result is no value of the program"))
        };
        results.iter().map(value).collect()
    }

    /// The most nodes that could be computed side by side: of one length of the way from the inputs.
    pub(super) fn width(&self) -> usize {
        let mut depths = vec![0usize; self.values.len()];
        let mut counts = BTreeMap::<usize, usize>::new();
        for index in self.left() {
            let operands = values_of(&self.graph.nodes[index]);
            let depth = 1 + operands.into_iter().map(|value| depths[value]).max().unwrap_or(0);
            depths[self.graph.inputs + index] = depth;
            *counts.entry(depth).or_default() += 1;
        }
        counts.into_values().max().unwrap_or(0)
    }
}

/// Computes what is left, one node after the other; `seen` is called with the number of each value and the
/// value.
///
/// # Errors
/// Those of the operations and of `seen`.
pub(super) fn in_order(
    replay: &Replay<'_>,
    values: &mut Values<'_>,
    mut seen: impl FnMut(usize, &EncryptedArray) -> Result<(), CkksError>,
) -> Result<(), CkksError> {
    for index in values.left().collect::<Vec<_>>() {
        let array = replay.value(index, &values.operands(index))?;
        seen(replay.graph.inputs + index, &array)?;
        values.take(index, array);
    }
    Ok(())
}

/// How far a computation is: each of its tasks has a share of the steps.
struct Advance<'p> {
    steps: Steps<'p>,
    shares: Vec<f64>,
    /// The share of what is done, finished tasks and parts of others.
    done: Arc<Mutex<f64>>,
}

impl<'p> Advance<'p> {
    /// Of tasks with these predicted times, of which those that are not `left` are done.
    fn new(progress: &'p Progress, times: &[f64], left: &[bool]) -> Self {
        // Tasks of no predicted time count, too.
        let whole: f64 = times.iter().sum();
        let least = if whole > 0.0 { 1e-6 * whole } else { 1.0 };
        let whole = whole + least * times.len() as f64;
        let shares: Vec<f64> = times.iter().map(|time| (time + least) / whole).collect();
        let done = shares.iter().zip(left).filter(|(_, left)| !**left).map(|(share, _)| share).sum();
        Self { steps: progress.steps(STEPS), shares, done: Arc::new(Mutex::new(done)) }
    }

    /// The receiver of what task `index` reports about itself, and how much of it is done.
    fn part(&self, index: usize) -> (Progress, Arc<Mutex<f64>>) {
        let (done, own, share) = (self.done.clone(), Arc::new(Mutex::new(0.0)), self.shares[index]);
        let known = own.clone();
        let progress = self.steps.part(move |part, whole| {
            let fraction = part as f64 / whole.max(1) as f64;
            (steps_at(&done, share * advanced(&own, fraction)), STEPS)
        });
        (progress, known)
    }

    /// Reports that task `index` is done, of which `known` has been reported.
    fn finish(&self, index: usize, known: &Mutex<f64>) -> Result<(), CkksError> {
        let done = steps_at(&self.done, self.shares[index] * advanced(known, 1.0));
        Ok(self.steps.at(done, STEPS)?)
    }
}

/// Sets how much of a task is done; returns how much more that is.
fn advanced(known: &Mutex<f64>, fraction: f64) -> f64 {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let more = (fraction - *known).max(0.0);
    *known += more;
    more
}

/// Adds a share to what is done; returns the steps.
fn steps_at(done: &Mutex<f64>, more: f64) -> usize {
    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
    *done += more;
    // Only the end of the whole computation is the last step.
    ((*done * STEPS as f64) as usize).min(STEPS - 1)
}

/// What workers share.
struct Shared<'g> {
    values: Values<'g>,
    /// Nodes whose operands are there; the first of the graph is taken first, so that memory is that of their
    /// order.
    ready: BinaryHeap<Reverse<usize>>,
    /// The operands that each node waits for.
    waiting: Vec<usize>,
    /// The nodes that are not finished.
    unfinished: usize,
    /// The node that failed, and why; the first of the graph if several did.
    failure: Option<(usize, CkksError)>,
    /// Whether no more nodes begin.
    stops: bool,
}

impl Shared<'_> {
    /// Begins no more nodes, because node `index` failed.
    fn stop(&mut self, index: usize, error: CkksError) {
        if self.stops && matches!(error, CkksError::Cancelled) {
            // It gave up because another failed.
            return;
        }
        self.stops = true;
        if self.failure.as_ref().is_none_or(|(first, _)| index < *first) {
            self.failure = Some((index, error));
        }
    }
}

/// Called after each node with what copies the values that are still needed.
pub(super) type AfterNode<'a> =
    &'a (dyn Fn(&dyn Fn() -> Vec<(usize, EncryptedArray)>) -> Result<(), CkksError> + Sync);

/// Computes the value of a node from its operands, each in its place, unless the run has failed meanwhile.
pub(super) type Compute<'a> = &'a (
        dyn Fn(usize, &[Option<EncryptedArray>], &dyn Fn() -> bool) -> Result<EncryptedArray, CkksError>
            + Sync
    );

/// Nodes that are computed side by side.
struct Crew<'c, 'g> {
    run: Compute<'c>,
    inputs: usize,
    tasks: &'c [Task],
    /// The nodes that take each value.
    users: Vec<Vec<usize>>,
    advance: Advance<'c>,
    progress: &'c Progress,
    after: AfterNode<'c>,
    shared: Mutex<Shared<'g>>,
    /// Signals that a node has become ready, or that nothing more will.
    changed: Condvar,
    group: WorkGroup,
}

impl<'g> Crew<'_, 'g> {
    fn lock(&self) -> MutexGuard<'_, Shared<'g>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next node with its operands; waits for one. Nothing where all are done or one failed.
    fn next(&self) -> Option<(usize, Vec<Option<EncryptedArray>>)> {
        let mut shared = self.lock();
        loop {
            if shared.stops || shared.unfinished == 0 {
                return None;
            }
            if let Some(Reverse(index)) = shared.ready.pop() {
                return Some((index, shared.values.operands(index)));
            }
            let waited = self.changed.wait_timeout(shared, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            shared = waited.0;
            if waited.1.timed_out() {
                drop(shared);
                // Only the caller's thread may learn of an interruption.
                let cancelled = self.progress.report(Event::Working).err();
                shared = self.lock();
                if let Some(cancelled) = cancelled {
                    shared.stop(usize::MAX, cancelled.into());
                    self.changed.notify_all();
                }
            }
        }
    }

    fn compute(
        &self,
        index: usize,
        operands: &[Option<EncryptedArray>],
    ) -> Result<EncryptedArray, CkksError> {
        self.progress.report(Event::Stage(&self.tasks[index].name))?;
        let (part, known) = self.advance.part(index);
        let reporting =
            |operand: &Option<EncryptedArray>| operand.as_ref().map(|own| own.with_progress(&part));
        let operands: Vec<_> = operands.iter().map(reporting).collect();
        let array = (self.run)(index, &operands, &|| !self.lock().stops)?;
        self.advance.finish(index, &known)?;
        Ok(array)
    }

    /// Takes the value of a node; the nodes that waited for it alone are ready.
    fn take(&self, index: usize, array: EncryptedArray) {
        let mut shared = self.lock();
        let shared = &mut *shared;
        let value = self.inputs + index;
        shared.values.take(index, array);
        shared.unfinished -= 1;
        for &user in &self.users[value] {
            shared.waiting[user] -= 1;
            if shared.waiting[user] == 0 && shared.values.left[user] {
                shared.ready.push(Reverse(user));
            }
        }
        self.changed.notify_all();
    }

    /// Computes nodes until all are done or one failed.
    fn work(&self) {
        while let Some((index, operands)) = self.next() {
            let work = || {
                self.take(index, self.compute(index, &operands)?);
                (self.after)(&|| {
                    self.lock().values.needed().map(|(value, own)| (value, own.clone())).collect()
                })
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| self.group.run(work)));
            if !matches!(outcome, Ok(Ok(()))) {
                let mut shared = self.lock();
                self.changed.notify_all();
                match outcome {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => shared.stop(index, error),
                    Err(panic) => {
                        shared.stops = true;
                        drop(shared);
                        resume_unwind(panic);
                    }
                }
            }
        }
    }
}

/// Computes what is left of a graph on at most `workers` threads, this one among them; returns the values.
///
/// # Errors
/// Those of the operations: of several, that of the first node of the graph. [`CkksError::Cancelled`] where
/// the receiver of `progress` cancels.
pub(super) fn side_by_side<'g>(
    run: Compute<'_>,
    values: Values<'g>,
    tasks: &[Task],
    (workers, progress): (usize, &Progress),
    after: AfterNode<'_>,
) -> Result<Values<'g>, CkksError> {
    let times: Vec<f64> = tasks.iter().map(|task| task.seconds).collect();
    let waiting: Vec<usize> = (0..tasks.len()).map(|index| values.waits_for(index)).collect();
    let ready = values.left().filter(|&index| waiting[index] == 0).map(Reverse).collect();
    let unfinished = values.left().count();
    let advance = Advance::new(progress, &times, &values.left);
    advance.steps.at(steps_at(&advance.done, 0.0), STEPS)?;
    let mut users = vec![Vec::new(); values.values.len()];
    for (index, task) in tasks.iter().enumerate() {
        task.inputs.iter().for_each(|&value| users[value].push(index));
    }
    let shared = Shared { values, ready, waiting, unfinished, failure: None, stops: false };
    let crew = Crew {
        run,
        inputs: shared.values.graph.inputs,
        tasks,
        users,
        advance,
        progress,
        after,
        shared: Mutex::new(shared),
        changed: Condvar::new(),
        group: WorkGroup::default(),
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // If the system refuses a thread, the others do the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || crew.work());
        }
        crew.work();
    });
    let shared = crew.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    match shared.failure {
        Some((_, error)) => Err(error),
        None => {
            crew.advance.steps.finish()?;
            Ok(shared.values)
        }
    }
}
