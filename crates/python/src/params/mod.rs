//! Parameter sets.
//!
//! [`object`] is the class; the other files add methods by idea.

mod figures;
mod making;
mod object;
mod warnings;

pub use making::preset_names;
pub use object::{PyParams, size};
pub use warnings::{insecurity, warn_insecure, warn_unbounded};
