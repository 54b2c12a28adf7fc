//! The nodes of a polynomial's circuit.

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;
use serde::Serialize;

/// The value that a node computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// The input divided by its step, because it is not rescaled.
    Rescaled,
    /// The input mapped to `[-1, 1]`, or brought to the canonical scale.
    Mapped,
    /// `y^i` or `T_i(y)`.
    Power(usize),
    /// The same power at a lower level, with the canonical scale of that level.
    Lowered(usize),
    /// A part of this degree; the last part is the complete polynomial.
    Part(usize),
}

/// How a node's scale is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scaling {
    /// The operand's scale; the node does not rescale.
    Kept,
    /// The operand's scale divided by the step of the rescale.
    Divided,
    /// The product of the factors' scales divided by the step of the rescale.
    Factors,
    /// The canonical scale of the node's level.
    Canonical,
    /// The scale that the sum with the value needs.
    Asked,
}

/// A product inside a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Product {
    pub left: usize,
    pub right: usize,
    /// Whether the product counts twice.
    pub twice: bool,
}

/// One node of a circuit: a sum of products and multiples at one scale, then one relinearisation and one
/// rescale.
///
/// Value 0 is the input; node `i` computes value `i + 1`.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub(super) value: Value,
    pub(super) products: Vec<Product>,
    pub(super) linear: Vec<(usize, Complex64)>,
    pub(super) constant: Complex64,
    pub(super) scaling: Scaling,
    pub(super) level: Level,
    pub(super) scale: f64,
    /// A bound on the node's value for inputs in the domain.
    pub(super) magnitude: f64,
}

impl Node {
    /// The value that the node computes.
    #[must_use]
    pub fn value(&self) -> Value {
        self.value
    }

    /// Level of the result.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Scale of the result.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Number of products of ciphertexts in the node, which share one relinearisation.
    #[must_use]
    pub fn products(&self) -> usize {
        self.products.len()
    }

    /// Number of multiples of values in the node.
    #[must_use]
    pub fn terms(&self) -> usize {
        self.linear.len()
    }

    /// Whether the node ends with a rescale.
    #[must_use]
    pub fn rescales(&self) -> bool {
        self.scaling != Scaling::Kept
    }

    /// Whether the node has a complex factor or constant.
    pub(super) fn is_complex(&self) -> bool {
        self.constant.im != 0.0 || self.linear.iter().any(|(_, c)| c.im != 0.0)
    }

    /// The level of the node's operands.
    pub(super) fn working_level(&self) -> Level {
        Level(self.level.0 + usize::from(self.rescales()))
    }

    pub(super) fn operands(&self) -> impl Iterator<Item = usize> {
        self.products
            .iter()
            .flat_map(|product| [product.left, product.right])
            .chain(self.linear.iter().map(|term| term.0))
    }
}
