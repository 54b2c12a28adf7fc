//! The latest approximations, which are kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::curve::Curve;
use crate::circuits::polynomial::Polynomial;
use crate::error::CkksError;

/// Approximations that are kept, at most 8 KiB each.
const MAX_KEPT: usize = 256;

/// What polynomials were asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wanted {
    /// One polynomial that is within an error of a curve on an interval.
    Fit { curve: Curve, error: f64, domain: (f64, f64) },
    /// The polynomials of a sign.
    Sign { margin: f64, error: f64, bound: f64 },
}

/// Polynomials, one applied to the values of the one before.
pub(super) type Composition = Arc<[Polynomial]>;

/// The latest ones, the one that was used last in front.
static KEPT: Mutex<VecDeque<(Wanted, Composition)>> = Mutex::new(VecDeque::new());

/// The polynomials that are `wanted`, kept from an earlier call or found by `find`.
///
/// # Errors
/// Those of `find`; errors are not kept.
pub(super) fn kept_or(
    wanted: Wanted,
    find: impl FnOnce() -> Result<Vec<Polynomial>, CkksError>,
) -> Result<Composition, CkksError> {
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept().iter().find(|(known, _)| *known == wanted).map(|(_, found)| found.clone());
    // The lock is free meanwhile: a search takes long.
    let found = match known {
        Some(found) => found,
        None => find()?.into(),
    };
    let mut kept = kept();
    kept.retain(|(known, _)| *known != wanted);
    kept.push_front((wanted, found.clone()));
    kept.truncate(MAX_KEPT);
    Ok(found)
}

/// The polynomial of least degree that is within `error` of `curve` on `domain`.
///
/// # Errors
/// Those of [`Polynomial::fit_within`].
pub(super) fn fitted(curve: Curve, error: f64, domain: (f64, f64)) -> Result<Composition, CkksError> {
    kept_or(Wanted::Fit { curve, error, domain }, || {
        let polynomial = Polynomial::fit_within(|x| curve.at(x), error, domain)?;
        let above_zero = matches!(curve, Curve::Smooth(function) if function.is_above_zero());
        Ok(vec![if above_zero { polynomial.by_word() } else { polynomial }])
    })
}
