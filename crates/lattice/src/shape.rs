//! One type for each number of a shape: ring degree, rank and number of bodies.
//!
//! A bundle has a mask of `k` polynomials (its rank) and `m` bodies, all of them of `n` coefficients (the
//! ring degree). Functions with several of these numbers, or one of them and a count, take these types, so
//! that the compiler refuses arguments in the wrong order. Functions with one such argument and accessors use
//! plain numbers.
//!
//! ```
//! use clathrate_lattice::{Bodies, Degree, LatticeError, Rank, SecretDistribution, SecretKey, SecretRng};
//!
//! let rng = &mut SecretRng::from_os()?;
//! let secret = SecretKey::generate(Degree(8), Rank(3), Bodies(2), SecretDistribution::UniformTernary, rng)?;
//! assert_eq!((secret.degree(), secret.rank(), secret.bodies()), (8, 3, 2));
//! assert_eq!(format!("{}, {}, {}", Degree(8), Rank(3), Bodies(2)), "8, 3, 2");
//! # Ok::<(), LatticeError>(())
//! ```
//!
//! ```compile_fail,E0308
//! # use clathrate_lattice::{Bodies, Degree, LatticeError, Rank, SecretDistribution, SecretKey, SecretRng};
//! # let rng = &mut SecretRng::from_os()?;
//! let swapped = SecretKey::generate(Degree(8), Bodies(2), Rank(3), SecretDistribution::UniformTernary, rng)?;
//! # Ok::<(), LatticeError>(())
//! ```

use std::fmt;

/// Ring degree `n`: the number of coefficients of a polynomial of `Z[X] / (X^n + 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Degree(pub usize);

/// Rank `k`: the number of polynomials of a mask, and of the secret of one body. The dimension of an LWE
/// sample is the rank at degree 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub usize);

/// Number of bodies `m` that share one mask. Each body has its own secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bodies(pub usize);

impl fmt::Display for Degree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Bodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
