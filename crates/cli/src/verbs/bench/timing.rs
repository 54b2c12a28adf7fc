//! Repeats, takes the median, prints rows.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::console::Console;
use crate::failure::Failure;

/// What is known of a row beside its times.
pub type Extra = Map<String, Value>;

/// Most timed runs of one operation.
const MOST_RUNS: usize = 50;

/// How long to repeat, and which operations.
pub struct Timer<'a> {
    console: &'a Console,
    only: &'a [String],
    quick: bool,
    /// Repeat until this much time has been measured.
    budget: Duration,
    /// At least so many runs, unless they take eight budgets.
    least: usize,
}

impl<'a> Timer<'a> {
    /// A timer that prints to `console`.
    pub fn new(console: &'a Console, quick: bool, only: &'a [String]) -> Self {
        let (budget, least) = if quick { (150, 2) } else { (800, 3) };
        Self { console, only, quick, budget: Duration::from_millis(budget), least }
    }

    /// Whether fewer runs are asked for.
    pub fn is_quick(&self) -> bool {
        self.quick
    }

    /// Whether `work` is asked for.
    pub fn wants(&self, work: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == work)
    }

    /// Times `f` and prints a row; one run does `parts` parts, and times are per part. One run goes before the timed ones.
    pub fn time<T>(
        &self,
        (work, params): (&str, &str),
        parts: usize,
        extra: &Extra,
        mut f: impl FnMut() -> Result<T, Failure>,
    ) -> Result<(), Failure> {
        black_box(f()?);
        let (mut times, mut spent) = (Vec::new(), Duration::ZERO);
        while times.len() < MOST_RUNS && (spent < self.budget || (times.len() < self.least && spent < 8 * self.budget)) {
            let start = Instant::now();
            let result = black_box(f()?);
            let took = start.elapsed();
            // Freeing the result is not part of the operation.
            drop(result);
            spent += took;
            times.push(took.as_secs_f64() * 1e3 / parts as f64);
        }
        times.sort_by(f64::total_cmp);
        let (middle, runs) = (times.len() / 2, times.len());
        let median = if runs % 2 == 0 { f64::midpoint(times[middle - 1], times[middle]) } else { times[middle] };
        let mut extra = extra.clone();
        if let Some(bytes) = extra.get("bytes").and_then(Value::as_f64) {
            // What a run reads of memory, in 10^9 bytes per second.
            extra.insert("gb_per_s".to_owned(), json!(bytes / median / 1e6));
        }
        self.console.line(&json!({
            "work": work,
            "params": params,
            "who": "clathrate",
            "median_ms": median,
            "min_ms": times[0],
            "max_ms": times[runs - 1],
            "runs": runs,
            "extra": extra,
        }))
    }

    /// Prints a row for what could not be timed.
    pub fn absent(&self, work: &str, params: &str, reason: &str) -> Result<(), Failure> {
        self.console.line(&json!({ "work": work, "params": params, "who": "clathrate", "absent": reason }))
    }
}
