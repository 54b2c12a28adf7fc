//! How long operations report their progress and are cancelled.

/// Hears how far a long operation is: called with (steps done, steps in all), it answers whether to go on.
///
/// Functions whose names end in `_with_progress` take one, and return [`CkksError::Cancelled`](crate::CkksError::Cancelled) where the answer is `false`. The
/// same functions without the suffix report nothing.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize) -> bool;
