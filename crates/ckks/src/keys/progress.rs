//! How long operations report.

/// Called with (done, total); answers whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize) -> bool;
