//! Names of secrets, of switching keys, and of the operations that need these keys. Names are plain data,
//! which files and errors contain.

mod key;
mod operation;
mod secret;

pub use key::{KeyAddress, KeyName, RaisedMap, Switch};
pub use operation::Operation;
pub use secret::SecretName;
