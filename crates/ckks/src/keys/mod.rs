//! Keys: the owner's secret key, public keys, the switching keys of an evaluator, and the rules that decide
//! which keys an owner makes.
//!
//! The modules, lowest first: [`definition`] defines what the keys of [`names`](crate::names) are; [`route`]
//! decides which keys an operation uses; [`needs`] lists the operations of a computation; [`requirements`]
//! turns these operations into keys by name; `budget` counts shared results; `randomness` supplies the random
//! generator; `encrypt` encrypts with the secret or the public key; `secret` holds these two keys; `decrypt`
//! decrypts; `evaluation` is a key set; `making` makes a key set.

mod budget;
mod decrypt;
pub mod definition;
pub mod derived;
mod encrypt;
mod evaluation;
mod making;
mod named;
pub mod needs;
mod options;
pub mod price;
mod randomness;
pub mod requirements;
pub mod route;
mod secret;
pub mod share;
pub mod tag;

pub use crate::cost::{Cost, TransformCosts};
pub use crate::names::{KeyAddress, KeyName, Operation, RaisedMap, SecretName, Switch};
pub(crate) use budget::Budget;
pub use budget::{SecretKeyMetadata, Shares};
pub use definition::KeyDefinition;
pub(crate) use evaluation::Found;
pub use evaluation::{EvaluationKeys, HeldKey, KeysOfShape};
pub use needs::{Descent, KeyLevel, KeyNeeds, format_switch_rounds};
pub use options::{EncryptOptions, Lanes};
pub use requirements::KeyRequirements;
pub use secret::{PublicKey, SecretKey};
pub use share::HonestEvaluator;

pub use crate::encoding::values::{Values, ValuesRef};
