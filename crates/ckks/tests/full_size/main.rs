//! The same at secure, full-size parameters: minutes and gigabytes, behind `make test-full`.

mod bootstrap;
#[path = "../all/common/mod.rs"]
mod common;
mod encrypted_matrix;
mod matrix_price;
mod prepared;
mod presets;
mod samples;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whoever holds this computes alone: the keys of two such cases have no room beside each other, and each
/// disturbs the other's times.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
