//! Keys: the owner's secret key, public keys, the switching keys of an evaluator, and the rules that decide
//! which keys an owner makes.
//!
//! The modules, lowest first: [`name`] names secrets and keys; [`definition`] defines each key; [`route`]
//! decides which keys an operation uses; [`needs`] lists the operations of a computation; [`requirements`]
//! turns these operations into keys by name; `budget` counts shared results; `secret` holds the owner's key;
//! `decrypt` decrypts; `evaluation` is a key set; `making` makes a key set.

mod budget;
mod decrypt;
pub mod definition;
pub mod derived;
mod evaluation;
mod making;
pub mod name;
mod named;
pub mod needs;
mod options;
pub mod price;
pub mod requirements;
pub mod route;
mod secret;
pub mod share;
pub mod tag;

pub(crate) use budget::Budget;
pub use budget::{SecretKeyMetadata, Shares};
pub use definition::KeyDefinition;
pub(crate) use evaluation::Found;
pub use evaluation::{EvaluationKeys, HeldKey, KeysOfShape};
pub use name::{KeyAddress, KeyName, RaisedMap, SecretName, Switch};
pub use needs::{Descent, KeyLevel, KeyNeeds, format_switch_rounds};
pub use options::{EncryptOptions, Lanes};
pub use price::{Cost, TransformCosts};
pub use requirements::KeyRequirements;
pub use route::Operation;
pub use secret::{PublicKey, SecretKey};
pub use share::HonestEvaluator;

pub use crate::encoding::values::{Values, ValuesRef};
pub use crate::progress::Progress;
