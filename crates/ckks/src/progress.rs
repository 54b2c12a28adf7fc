//! Progress reports and cancellation of long operations.

/// The progress callback of a long operation. Its arguments are the finished and the total number of steps;
/// it returns whether to continue.
///
/// Functions whose names end in `_with_progress` take a callback and return
/// [`CkksError::Cancelled`](crate::CkksError::Cancelled) if it returns `false`. The same functions without
/// the suffix report nothing.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let owner = SecretKey::generate(&Params::preset("insecure_small", &Runtime::default())?)?;
/// let mut calls = Vec::new();
/// let mut progress = |done, total| {
///     calls.push((done, total));
///     true
/// };
/// owner.encrypt_array_with_progress(&[1.0, 2.0, 3.0, 4.0], &[2, 2], EncryptOptions::default(), &mut progress)?;
/// assert_eq!(calls, [(0, 2), (1, 2), (2, 2)]);
/// let stopped = owner.evaluation_keys_with_progress(&KeyNeeds::new().relinearise(KeyLevel::Top), &mut |_, _| false);
/// assert!(matches!(stopped, Err(CkksError::Cancelled)));
/// # Ok::<(), CkksError>(())
/// ```
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize) -> bool;
