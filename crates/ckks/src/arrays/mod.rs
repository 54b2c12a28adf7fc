//! Encrypted arrays: layouts (the bundle, body and slot or coefficient of each number), secrets and error
//! estimates.

mod changes;
pub mod ciphertext;
pub mod comparison;
pub mod digits;
pub mod estimate;
pub mod layout;
pub mod memory;
pub mod places;

pub use crate::names::SecretName;
pub use ciphertext::Ciphertext;
pub use comparison::Comparison;
pub use estimate::Estimate;
pub(crate) use layout::count_of;
pub use layout::{BodyAxis, Encoding, Layout, Order, Padding};
pub use places::{Entry, Part, Place};
