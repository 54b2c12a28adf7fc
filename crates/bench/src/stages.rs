//! Times of the stages of a circuit, from the reports of its progress.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clathrate_ckks::keys::EvaluationKeys;
use clathrate_ckks::{Ciphertext, CkksError, Evaluator, Event, Progress};

use crate::failure::Failure;
use crate::timing::Times;

/// An evaluator whose stages are timed.
pub struct Staged {
    evaluator: Evaluator,
    marks: Arc<Mutex<Vec<(String, Instant)>>>,
}

/// The times of several runs in milliseconds: in total, and of each stage in order.
#[derive(Default)]
pub struct StageTimes {
    whole: Vec<f64>,
    stages: Vec<(String, Vec<f64>)>,
}

impl Staged {
    /// An evaluator with these keys.
    pub fn new(keys: EvaluationKeys) -> Self {
        let marks: Arc<Mutex<Vec<(String, Instant)>>> = Arc::default();
        let own = marks.clone();
        let evaluator = Evaluator::with_keys(keys).with_progress(Progress::new(move |event| {
            if let Event::Stage(stage) = event {
                own.lock().unwrap_or_else(PoisonError::into_inner).push((stage.to_owned(), Instant::now()));
            }
            true
        }));
        Self { evaluator, marks }
    }

    /// Runs `work` without timing it.
    pub fn with<T>(&self, work: impl FnOnce(&Evaluator) -> Result<T, CkksError>) -> Result<T, Failure> {
        Ok(work(&self.evaluator)?)
    }

    /// The result of `work`; adds its times to `times`.
    pub fn time(
        &self,
        times: &mut StageTimes,
        work: impl FnOnce(&Evaluator) -> Result<Ciphertext, CkksError>,
    ) -> Result<Ciphertext, Failure> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let start = Instant::now();
        let result = work(&self.evaluator)?;
        let end = Instant::now();
        times.whole.push((end - start).as_secs_f64() * 1e3);
        let round = times.whole.len();
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = marks.iter().skip(1).map(|(_, at)| *at).chain([end]);
        // A stage that runs several times in one circuit is listed once, with the sum of its times.
        for ((stage, at), end) in marks.iter().zip(ends) {
            let took = (end - *at).as_secs_f64() * 1e3;
            let place = times.stages.iter().position(|(name, _)| name == stage).unwrap_or_else(|| {
                times.stages.push((stage.clone(), Vec::new()));
                times.stages.len() - 1
            });
            let own = &mut times.stages[place].1;
            own.resize(round, 0.0);
            own[round - 1] += took;
        }
        Ok(result)
    }
}

impl StageTimes {
    /// The total times.
    pub fn whole(&self) -> Times {
        Times::new(self.whole.clone())
    }

    /// The median of each stage, in order.
    pub fn medians(self) -> Vec<(String, f64)> {
        self.stages.into_iter().map(|(stage, times)| (stage, Times::new(times).median())).collect()
    }
}
