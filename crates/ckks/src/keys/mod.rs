//! Keys: the owner's secret key, public keys, the switching keys of an evaluator, and the requirements that say which are made.

pub mod derived;
mod evaluation;
mod making;
pub mod needs;
mod secret;
pub mod share;

pub(crate) use evaluation::Relineariser;
pub use evaluation::{EvaluationKeys, GaloisKey};
pub use needs::{KeyNeeds, Reach, Route};
pub use secret::{EncryptOptions, PublicKey, SecretKey};

pub use crate::encoding::values::Values;

/// Called with (done, total); answers whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize) -> bool;
