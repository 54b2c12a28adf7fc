//! Who computes the operations of a program: this process, or others on its behalf.

use std::sync::Arc;

use super::ValueForecast;
use crate::arrays::Ciphertext;
use crate::encrypted_array::EncryptedArray;
use crate::error::CkksError;
use crate::evaluation::Evaluator;

/// A value of a program without keys: as it is stored, and sent to whoever computes with it.
#[derive(Debug, Clone)]
pub struct TaskValue {
    /// The array.
    pub data: Arc<Ciphertext>,
    /// Where the array is a mean: the sum, and the number that it is divided by.
    pub sum_of: Option<(Arc<Ciphertext>, usize)>,
}

impl TaskValue {
    pub(super) fn of(array: &EncryptedArray) -> Self {
        Self { data: array.data().clone(), sum_of: array.mean_of().cloned() }
    }

    /// The array, which computes by `evaluator`.
    pub(super) fn with(self, evaluator: &Evaluator) -> EncryptedArray {
        let array = EncryptedArray::new(self.data, evaluator);
        match self.sum_of {
            Some((sum, count)) => array.with_mean_of(sum, count),
            None => array,
        }
    }
}

/// Computes operations of a program on behalf of [`Program::run_with`](super::Program::run_with), for example
/// in other processes.
pub trait Executor: Sync {
    /// How many operations it is given at the same time.
    fn workers(&self) -> usize;

    /// The value with this number, from those that its operation takes, with their numbers: what
    /// [`Program::compute`](super::Program::compute) returns wherever the keys are, in the memory of the
    /// run's device. The run has failed and waits for nothing more once `goes_on` returns false.
    ///
    /// # Errors
    /// Those of the operation, and of the way there and back.
    fn compute(
        &self,
        value: usize,
        operands: Vec<(usize, TaskValue)>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<TaskValue, CkksError>;
}

/// What a bound may be larger by than the same bound of a dry run.
const ROUNDED: f64 = 1.0 + 1e-9;

impl ValueForecast {
    /// Whether an array may be this value: its shape, level and encoding are those of the dry run, and its
    /// bound is no larger.
    pub(super) fn allows(&self, data: &Ciphertext) -> bool {
        let bounded = match (data.bound(), self.bound) {
            (Some(own), Some(most)) => own <= most * ROUNDED,
            (own, most) => own.is_some() || most.is_none(),
        };
        data.shape() == self.shape
            && data.level() == self.level
            && data.encoding() == self.encoding
            && data.is_complex() == self.is_complex
            && bounded
    }
}
