//! Parameter sets.
//!
//! [`object`] is the class; the other files add methods by idea.

mod figures;
mod making;
mod object;

pub use making::preset_names;
pub use object::{PyParams, size};
