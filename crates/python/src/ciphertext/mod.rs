//! Encrypted arrays with NumPy's operators.
//!
//! [`object`] is the class and how its methods find evaluation keys; the other files add methods by idea.

mod attributes;
mod bootstrap;
mod conversion;
mod masks;
mod moves;
mod object;
mod operand;
mod operators;
mod products;
mod reductions;
mod rows;
mod storage;
mod transposed;

pub use bootstrap::{bootstrap_batch, bootstrap_samples};
pub use object::PyCiphertext;
pub use rows::{chosen, hstack, vstack};
pub use transposed::PyTransposed;
