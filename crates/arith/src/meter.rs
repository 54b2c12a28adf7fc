//! Counting the passes over rows that an engine executes, to hold algorithms to the papers' cost tables.
//!
//! The loops that execute a pass report it, fused operations from inside, so that a count is an observation and not a formula. An engine without a
//! meter checks one `Option` for each row.

use std::sync::atomic::{AtomicUsize, Ordering};

/// One kind of pass over one row of one polynomial. [klss, sec. 4]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// A forward transform.
    Forward,
    /// An inverse transform.
    Inverse,
    /// A Hadamard product of an inner product or a ring product.
    Hadamard,
    /// A Hadamard product of a base conversion with more than one source (a single prime needs none, as the papers count).
    Conversion,
    /// A Hadamard product by the inverse of what a division divides by: one per row of the quotient.
    Division,
}

/// Passes over rows, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Forward transforms.
    pub forward: usize,
    /// Inverse transforms.
    pub inverse: usize,
    /// Hadamard products of inner products and ring products.
    pub hadamard: usize,
    /// Hadamard products of base conversions with more than one source.
    pub conversion: usize,
    /// Hadamard products by the inverse of what a division divides by.
    pub division: usize,
}

impl Counts {
    /// All transforms.
    #[must_use]
    pub fn ntt(&self) -> usize {
        self.forward + self.inverse
    }
}

/// Adds up passes, from any thread.
#[derive(Debug, Default)]
pub struct Meter {
    passes: [AtomicUsize; 5],
}

impl Meter {
    /// Adds `rows` passes of one kind.
    pub fn add(&self, pass: Pass, rows: usize) {
        self.passes[pass as usize].fetch_add(rows, Ordering::Relaxed);
    }

    /// The counts since the last call, which starts them anew.
    pub fn take(&self) -> Counts {
        let take = |pass: Pass| self.passes[pass as usize].swap(0, Ordering::Relaxed);
        Counts {
            forward: take(Pass::Forward),
            inverse: take(Pass::Inverse),
            hadamard: take(Pass::Hadamard),
            conversion: take(Pass::Conversion),
            division: take(Pass::Division),
        }
    }
}
