//! Repeats operations, takes medians, prints rows.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clathrate_arith::machine;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::output::Output;

/// Fields of a row in addition to its times.
pub type Extra = Map<String, Value>;

/// Maximum number of timed runs of one operation.
const MAX_RUNS: usize = 50;

/// Factor of the budget after which runs end, even below the minimum number of runs.
const MAX_BUDGETS: u32 = 8;

/// Limits of repetition.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Repeats until this much time has been measured.
    pub budget: Duration,
    /// Minimum number of runs, unless they take eight budgets.
    pub least: usize,
    /// Maximum number of runs.
    pub most: usize,
}

impl Limits {
    fn want_more(self, runs: usize, spent: Duration) -> bool {
        runs < self.most && (spent < self.budget || (runs < self.least && spent < MAX_BUDGETS * self.budget))
    }
}

/// Times of some runs in milliseconds, ascending.
#[derive(Debug, Clone)]
pub struct Times {
    sorted: Vec<f64>,
}

impl Times {
    /// The times of runs in any order.
    pub fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self { sorted: times }
    }

    /// The median.
    pub fn median(&self) -> f64 {
        let middle = self.sorted.len() / 2;
        if self.sorted.len().is_multiple_of(2) {
            f64::midpoint(self.sorted[middle - 1], self.sorted[middle])
        } else {
            self.sorted[middle]
        }
    }
}

/// The limits of repetition and the wanted operations.
pub struct Timer<'a> {
    output: Output,
    only: &'a [&'static str],
    quick: bool,
    limits: Limits,
}

/// Time that `f` takes, without freeing its result.
fn once<T>(f: &mut impl FnMut() -> Result<T, Failure>) -> Result<Duration, Failure> {
    let start = Instant::now();
    let result = black_box(f()?);
    let took = start.elapsed();
    drop(result);
    Ok(took)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl<'a> Timer<'a> {
    /// A timer that prints to `output`, for the operations in `only`, or for all if it is empty.
    pub fn new(output: Output, quick: bool, only: &'a [&'static str]) -> Self {
        let (budget, least) = if quick { (150, 2) } else { (800, 3) };
        Self {
            output,
            only,
            quick,
            limits: Limits { budget: Duration::from_millis(budget), least, most: MAX_RUNS },
        }
    }

    /// The same timer with other limits.
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self { limits, ..*self }
    }

    /// Whether fewer runs are wanted.
    pub fn is_quick(&self) -> bool {
        self.quick
    }

    /// Whether `work` is wanted.
    pub fn wants(&self, work: &str) -> bool {
        self.only.is_empty() || self.only.contains(&work)
    }

    /// Times of `f` after one untimed run; `before` precedes each run and is not timed.
    pub fn measure_after<T>(
        &self,
        mut before: impl FnMut(),
        mut f: impl FnMut() -> Result<T, Failure>,
    ) -> Result<Times, Failure> {
        before();
        once(&mut f)?;
        let (mut times, mut spent) = (Vec::new(), Duration::ZERO);
        while self.limits.want_more(times.len(), spent) {
            before();
            let took = once(&mut f)?;
            spent += took;
            times.push(milliseconds(took));
        }
        Ok(Times::new(times))
    }

    /// Times of `f` after one untimed run.
    pub fn measure<T>(&self, f: impl FnMut() -> Result<T, Failure>) -> Result<Times, Failure> {
        self.measure_after(|| (), f)
    }

    /// Times of `f`, and the result of `check` for its first result, which is freed before the timed runs.
    /// The first run is only counted if it took longer than eight budgets; then it is the only one.
    pub fn measure_checked<T, U>(
        &self,
        mut f: impl FnMut() -> Result<T, Failure>,
        check: impl FnOnce(T) -> Result<U, Failure>,
    ) -> Result<(U, Times), Failure> {
        let start = Instant::now();
        let result = black_box(f()?);
        let first = start.elapsed();
        let checked = check(result)?;
        let (mut times, mut spent) = (Vec::new(), Duration::ZERO);
        if first > MAX_BUDGETS * self.limits.budget {
            times.push(milliseconds(first));
            return Ok((checked, Times::new(times)));
        }
        while self.limits.want_more(times.len(), spent) {
            let took = once(&mut f)?;
            spent += took;
            times.push(milliseconds(took));
        }
        Ok((checked, Times::new(times)))
    }

    /// Times of two operations in turns, so that a slow machine affects both.
    pub fn measure_both<T, U>(
        &self,
        mut f: impl FnMut() -> Result<T, Failure>,
        mut g: impl FnMut() -> Result<U, Failure>,
    ) -> Result<(Times, Times), Failure> {
        once(&mut f)?;
        once(&mut g)?;
        let (mut fs, mut gs, mut spent) = (Vec::new(), Vec::new(), Duration::ZERO);
        while self.limits.want_more(fs.len(), spent) {
            let (took_f, took_g) = (once(&mut f)?, once(&mut g)?);
            spent += took_f.max(took_g);
            fs.push(milliseconds(took_f));
            gs.push(milliseconds(took_g));
        }
        Ok((Times::new(fs), Times::new(gs)))
    }

    /// Times of several operations in turns, after one untimed run of each.
    pub fn measure_turns<T>(
        &self,
        works: &mut [Box<dyn FnMut() -> Result<T, Failure> + '_>],
    ) -> Result<Vec<Times>, Failure> {
        works.iter_mut().try_for_each(|work| once(work).map(drop))?;
        let (mut times, mut spent) = (vec![Vec::new(); works.len()], Duration::ZERO);
        while times.first().is_some_and(|first| self.limits.want_more(first.len(), spent)) {
            let mut longest = Duration::ZERO;
            for (work, times) in works.iter_mut().zip(&mut times) {
                let took = once(work)?;
                longest = longest.max(took);
                times.push(milliseconds(took));
            }
            spent += longest;
        }
        Ok(times.into_iter().map(Times::new).collect())
    }

    /// Prints a note that is not a row.
    pub fn note(&self, text: &str) {
        self.output.note(text);
    }

    /// Times `f` after one untimed run and prints a row; a run has `parts` parts, and times are per part.
    pub fn time<T>(
        &self,
        names: (&str, &str),
        parts: usize,
        extra: &Extra,
        f: impl FnMut() -> Result<T, Failure>,
    ) -> Result<(), Failure> {
        let mut times = self.measure(f)?;
        times.sorted.iter_mut().for_each(|time| *time /= parts as f64);
        self.print(names, &times, extra)
    }

    /// Prints a row.
    pub fn print(&self, (work, params): (&str, &str), times: &Times, extra: &Extra) -> Result<(), Failure> {
        let median = times.median();
        let mut extra = extra.clone();
        if let Some(bytes) = extra.get("bytes").and_then(Value::as_f64) {
            // The bytes that a run reads, in 10^9 bytes per second.
            extra.insert("gb_per_s".to_owned(), json!(bytes / median / 1e6));
        }
        self.output.row(&json!({
            "work": work,
            "params": params,
            "who": "clathrate",
            "median_ms": median,
            "min_ms": times.sorted.first(),
            "max_ms": times.sorted.last(),
            "runs": times.sorted.len(),
            "extra": extra,
        }))
    }

    /// Whether `bytes` of memory are free for an operation. If not, prints a row that says so.
    pub fn has_memory(&self, work: &str, params: &str, bytes: u64) -> Result<bool, Failure> {
        let Some(memory) = machine::memory().filter(|memory| memory.free_bytes < bytes) else {
            return Ok(true);
        };
        let reason =
            format!("{} MiB of free memory, about {} are needed", memory.free_bytes >> 20, bytes >> 20);
        self.absent(work, params, &reason).map(|()| false)
    }

    /// Prints a row for an operation that was not timed.
    pub fn absent(&self, work: &str, params: &str, reason: &str) -> Result<(), Failure> {
        self.output.row(&json!({ "work": work, "params": params, "who": "clathrate", "absent": reason }))
    }
}
