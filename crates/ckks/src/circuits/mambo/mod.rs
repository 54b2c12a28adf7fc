//! Matrix products inside a bootstrap (MaMBo): `W X` for a known `W`, at a high level, in the time of the
//! bootstrap and little more.
//!
//! ```text
//! inside    slots to coefficients, to level 1   ->   W times rows of coefficients   ->   level 0   ->   raise, coefficients to slots, modular reduction
//! before    W times rows of slots, one level above the bootstrap   ->   bootstrap
//! ```
//!
//! Coefficients at level 1 have the shortest modulus at which a product is possible, and are how matrix
//! products want their rows. Slots-to-coefficients leaves a row of `c` slots, of several that share a
//! polynomial, in the coefficients of `X^(l + L i)`: a lane, of which a planned product ([`MatrixPlan`]) has
//! `L`. The lanes are in bit-reversed order, which is a permutation of the rows and columns of `W`; the order
//! within a lane is the same before and after, and so it is when slots come back.
//!
//! Rows that fill polynomials can be multiplied in slots, because a combination of polynomials is one of what
//! they hold. Where slots-to-coefficients comes first that takes a level more and a longer modulus, but the
//! bootstrap then has the polynomials of the product alone; where it comes last, the product is at level 1
//! and ends where the modulus is raised.
//!
//! Source: [pcmm-mambo, sec. 6.3, options 1 to 3]. The product is any of those that a matrix plan has; the
//! paper's, with a ring switch down and one back, is an exact product in a smaller ring.
//!
//! [`MatrixPlan`]: super::matrix_plan::MatrixPlan

mod plan;
mod run;

pub use plan::MamboPlan;
pub use run::MamboMatrix;

use std::fmt;

use super::bootstrap::BootstrapOptions;
use super::matrix_plan::MatrixOptions;

/// The operation's name in errors.
const MAMBO: &str = "a product inside a bootstrap";

/// Where the product is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Between slots-to-coefficients and the raise: at level 1, of rows of any number of slots. [pcmm-mambo,
    /// sec. 6.3, option 1]
    #[default]
    Inside,
    /// Before the bootstrap, of rows that fill polynomials: one level above, or at level 1 where
    /// slots-to-coefficients comes last. [pcmm-mambo, sec. 6.3, options 2 and 3]
    Before,
}

impl Placement {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Inside, Self::Before];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Before => "before",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a plan of a product inside a bootstrap may choose.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MamboOptions {
    /// The bootstrap; that it has a level for a product goes without saying.
    pub bootstrap: BootstrapOptions,
    /// The product. Level and lanes follow from the bootstrap.
    pub matrix: MatrixOptions,
    /// Where the product is.
    pub placement: Placement,
    /// Whether the number of bodies under a mask is the one that makes the whole fastest, as
    /// [`BootstrapPlan::for_batch`] chooses it, and not that of the options of the bootstrap.
    ///
    /// [`BootstrapPlan::for_batch`]: super::bootstrap::BootstrapPlan::for_batch
    pub fastest_bodies: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_have_names() {
        assert_eq!(Placement::ALL.map(|placement| placement.to_string()), ["inside", "before"]);
    }
}
