//! Parameter sets.
//!
//! [`object`] is the class; the other files add methods by idea.

mod figures;
mod making;
mod object;

pub use making::{insecurity, preset_names, warn_insecure, warn_unbounded};
pub use object::{PyParams, size};
