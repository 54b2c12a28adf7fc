//! Functions of encrypted arrays that are no polynomials, approximated to an error that the caller states.
//!
//! [`Approximation`] and [`Softmax`] are values that depend on the function, the error and the interval of
//! the numbers alone, and can be evaluated on plain numbers and on encrypted arrays. Methods of
//! [`EncryptedArray`](crate::encrypted_array::EncryptedArray) ([`sigmoid`], [`sign`], [`softmax`], ..) derive
//! the interval from the bound on the numbers where none is given; [`plain`] has the same functions of plain
//! numbers, with the results that the encrypted computation has without noise. The latest approximations are
//! kept, so that a function of several arrays is fitted once.
//!
//! [`sigmoid`]: crate::encrypted_array::EncryptedArray::sigmoid
//! [`sign`]: crate::encrypted_array::EncryptedArray::sign
//! [`softmax`]: crate::encrypted_array::EncryptedArray::softmax

mod approximation;
mod arrays;
mod cache;
mod curve;
mod domain;
mod minimax;
pub mod plain;
mod signs;
mod softmax;

pub use approximation::Approximation;
pub(crate) use arrays::{state_interval, usual_error};
pub use curve::SmoothFunction;
pub use softmax::Softmax;
