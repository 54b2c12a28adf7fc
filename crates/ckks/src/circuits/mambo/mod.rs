//! Matrix products inside a bootstrap (MaMBo): `W X` for a known `W`, at a high level, in little more than
//! the time of the bootstrap.
//!
//! ```text
//! inside    slots to coefficients, to level 1   ->   W times rows of coefficients   ->   level 0   ->   raise, coefficients to slots, modular reduction
//! before    W times rows of slots, one level above the bootstrap   ->   bootstrap
//! ```
//!
//! Coefficients at level 1 have the shortest modulus at which a product is possible, and plain matrix
//! products are fastest in coefficients. If several rows of `c` slots share a polynomial,
//! slots-to-coefficients moves each row to the coefficients of `X^(l + L i)` for one `l`. These are the `L`
//! lanes of a planned product ([`MatrixPlan`]). The lanes are in bit-reversed order, which is a permutation
//! of the rows and columns of `W`. The product keeps the order within a lane, and coefficients-to-slots
//! undoes the bit reversal.
//!
//! Rows that fill polynomials can be multiplied in slots, because a combination of polynomials is the same
//! combination of their contents. If slots-to-coefficients comes first, that takes one more level and a
//! longer modulus, but only the polynomials of the product are bootstrapped. If it comes last, and the
//! bootstrap has one round, the product is at level 1 and ends where the modulus is raised.
//!
//! Source: [pcmm-mambo, sec. 6.3, options 1 to 3]. The product may be any that a matrix plan has. The product
//! of the paper, with one ring switch before and one after it, is an exact product in a smaller ring.
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

/// The place of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Between slots-to-coefficients and the raise, at level 1, for rows of any number of slots. [pcmm-mambo,
    /// sec. 6.3, option 1]
    #[default]
    Inside,
    /// Before the bootstrap, for rows that fill polynomials: one level above it, or at level 1 if
    /// slots-to-coefficients comes last and there is one round. [pcmm-mambo, sec. 6.3, options 2 and 3]
    Before,
}

impl Placement {
    /// Both places.
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

/// The options of a plan of a product inside a bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MamboOptions {
    /// The bootstrap. Its option `product` follows from the placement.
    pub bootstrap: BootstrapOptions,
    /// The product. Its level and lanes follow from the bootstrap.
    pub matrix: MatrixOptions,
    /// The place of the product.
    pub placement: Placement,
    /// Whether to choose the number of bodies under a mask that makes the whole fastest, as
    /// [`BootstrapPlan::for_batch`] does, instead of the number in the options of the bootstrap.
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
