//! Counts the passes over rows that an engine executes, so that algorithms can be compared with the papers'
//! cost tables.
//!
//! The loops that execute a pass report it, inside fused operations too, so counts are observed and not
//! calculated. An engine without a meter checks one `Option` for each row.

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
    /// A Hadamard product of a base conversion with more than one source (a single prime needs none, as the
    /// papers count).
    Conversion,
    /// A Hadamard product by the inverse of the divisor of a division: one per row of the quotient.
    Division,
}

/// Numbers of unit operations of exact matrix products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProductCounts {
    /// Products of a matrix with rows of residues modulo one prime.
    pub products: usize,
    /// Multiply-adds of the floating-point products.
    pub multiply_adds: usize,
    /// Digits of weights and residues, each converted to a double.
    pub digits: usize,
    /// Number of results that are read: results of floating-point products that are added to integer sums or
    /// reduced modulo the prime, and integer sums that are reduced.
    pub sums: usize,
}

impl std::ops::AddAssign for ProductCounts {
    fn add_assign(&mut self, other: Self) {
        self.products += other.products;
        self.multiply_adds += other.multiply_adds;
        self.digits += other.digits;
        self.sums += other.sums;
    }
}

/// Numbers of passes over rows, by kind, and of unit operations of matrix products.
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
    /// Hadamard products by the inverse of the divisor of a division.
    pub division: usize,
    /// Unit operations of exact matrix products, which count words and not rows.
    pub product: ProductCounts,
}

impl Counts {
    /// All transforms.
    #[must_use]
    pub fn ntt(&self) -> usize {
        self.forward + self.inverse
    }
}

/// Sums of passes, to which any thread can add.
#[derive(Debug, Default)]
pub struct Meter {
    passes: [AtomicUsize; 5],
    products: AtomicUsize,
    multiply_adds: AtomicUsize,
    digits: AtomicUsize,
    sums: AtomicUsize,
}

impl Meter {
    /// Adds `rows` passes of one kind.
    pub fn add(&self, pass: Pass, rows: usize) {
        self.passes[pass as usize].fetch_add(rows, Ordering::Relaxed);
    }

    /// Adds unit operations of exact matrix products.
    pub fn add_product(&self, counts: ProductCounts) {
        self.products.fetch_add(counts.products, Ordering::Relaxed);
        self.multiply_adds.fetch_add(counts.multiply_adds, Ordering::Relaxed);
        self.digits.fetch_add(counts.digits, Ordering::Relaxed);
        self.sums.fetch_add(counts.sums, Ordering::Relaxed);
    }

    /// Returns the counts since the last call and resets them to 0.
    pub fn take(&self) -> Counts {
        let take = |pass: Pass| self.passes[pass as usize].swap(0, Ordering::Relaxed);
        Counts {
            forward: take(Pass::Forward),
            inverse: take(Pass::Inverse),
            hadamard: take(Pass::Hadamard),
            conversion: take(Pass::Conversion),
            division: take(Pass::Division),
            product: ProductCounts {
                products: self.products.swap(0, Ordering::Relaxed),
                multiply_adds: self.multiply_adds.swap(0, Ordering::Relaxed),
                digits: self.digits.swap(0, Ordering::Relaxed),
                sums: self.sums.swap(0, Ordering::Relaxed),
            },
        }
    }
}
