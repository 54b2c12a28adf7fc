//! Names of secrets, of switching keys, and of the operations that need them: plain data, which errors
//! mention.

mod key;
mod operation;
mod secret;

pub use key::{KeyAddress, KeyName, RaisedMap, Switch};
pub use operation::Operation;
pub use secret::SecretName;
