//! The explanation of a polynomial's plan, as data and as text.

use crate::keys::Operation;
use std::fmt;

use serde::Serialize;

use super::PolynomialBasis;
use super::node::{Node, Value};
use super::plan::PolynomialPlan;

impl PolynomialPlan {
    /// The explanation of the plan.
    #[must_use]
    pub fn explain(&self) -> PolynomialExplanation {
        let segment = |level| self.params.segment(level).name.clone();
        PolynomialExplanation {
            degree: self.degree,
            given_degree: self.polynomial.degree(),
            basis: self.polynomial.basis().name(),
            domain: self.polynomial.domain(),
            complex: self.is_complex(),
            dropped: self.dropped,
            input_level: self.input.0.0,
            output_level: self.output_level().0,
            depth: self.depth(),
            log2_input_scale: self.input.1.log2(),
            log2_output_scale: self.output_scale().log2(),
            log2_canonical_scale: self.params.scale(self.output_level()).log2(),
            ends_canonical: self.ends_canonical(),
            input_segment: segment(self.input.0),
            output_segment: segment(self.output_level()),
            powers: self.powers(),
            products: self.products(),
            relinearisations: self.relinearisations(),
            rescales: self.rescales(),
            relinearisation_level: self
                .needs()
                .ok()
                .and_then(|needs| needs.key_level_of(Operation::Multiply))
                .map(|key_level| key_level.level(self.params.max_level()).0),
            error: self.error(self.fresh_error()).ok(),
            nodes: self.nodes.iter().map(|node| self.row(node)).collect(),
        }
    }

    fn row(&self, node: &Node) -> NodeRow {
        let symbol = if self.polynomial.basis() == PolynomialBasis::Power { "y^" } else { "T" };
        let value = match node.value {
            Value::Rescaled => "x rescaled".to_owned(),
            Value::Mapped => "y".to_owned(),
            Value::Power(index) => format!("{symbol}{index}"),
            Value::Lowered(index) => format!("{symbol}{index} lowered"),
            Value::Part(degree) => format!("part of degree {degree}"),
        };
        NodeRow {
            value,
            level: node.level.0,
            log2_scale: node.scale.log2(),
            products: node.products.len(),
            terms: node.linear.len(),
        }
    }
}

/// One node of an explanation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeRow {
    /// The value that the node computes.
    pub value: String,
    /// Level of the node's value.
    pub level: usize,
    /// Binary logarithm of the value's scale.
    pub log2_scale: f64,
    /// Products of ciphertexts in the node.
    pub products: usize,
    /// Multiples of values in the node.
    pub terms: usize,
}

/// The explanation by [`PolynomialPlan::explain`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolynomialExplanation {
    /// Degree without dropped coefficients.
    pub degree: usize,
    /// Degree of the given polynomial: index of the last nonzero coefficient.
    pub given_degree: usize,
    /// Name of the basis.
    pub basis: &'static str,
    /// The interval that is mapped to `[-1, 1]`.
    pub domain: (f64, f64),
    /// Whether coefficients are complex.
    pub complex: bool,
    /// Number of dropped coefficients: those below 2^-50 of the largest, which are rounding errors of their
    /// computation.
    pub dropped: usize,
    /// Level of the input.
    pub input_level: usize,
    /// Level of the result.
    pub output_level: usize,
    /// Number of levels that the circuit takes.
    pub depth: usize,
    /// Binary logarithm of the input's scale.
    pub log2_input_scale: f64,
    /// Binary logarithm of the result's scale.
    pub log2_output_scale: f64,
    /// Binary logarithm of the canonical scale of the result's level.
    pub log2_canonical_scale: f64,
    /// Whether the result has the canonical scale.
    pub ends_canonical: bool,
    /// The segment of the input's level.
    pub input_segment: String,
    /// The segment of the result's level.
    pub output_segment: String,
    /// Computed powers (or Chebyshev polynomials).
    pub powers: Vec<usize>,
    /// Products of ciphertexts.
    pub products: usize,
    /// Relinearisations, each fused with a rescale.
    pub relinearisations: usize,
    /// Other rescales.
    pub rescales: usize,
    /// Highest level that the relinearisation key must serve; `None` if no key is needed.
    pub relinearisation_level: Option<usize>,
    /// Bound on the root mean square of the result's error for a fresh input; `None` if the parameters cannot
    /// have the keys.
    pub error: Option<f64>,
    /// The nodes of the circuit, in order.
    pub nodes: Vec<NodeRow>,
}

impl fmt::Display for PolynomialExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let complex = if self.complex { ", complex coefficients" } else { "" };
        writeln!(
            f,
            "polynomial of degree {} in the {} basis on [{}, {}]{complex}",
            self.degree, self.basis, self.domain.0, self.domain.1
        )?;
        if self.dropped > 0 {
            write!(
                f,
                "  dropped    {} coefficients below 2^-50 of the largest, as rounding errors",
                self.dropped
            )?;
            if self.given_degree > self.degree {
                write!(f, "; degree {} was given", self.given_degree)?;
            }
            writeln!(f)?;
        }
        writeln!(
            f,
            "  levels     {} to {}: {} in all; scale 2^{:.2} to 2^{:.2}",
            self.input_level, self.output_level, self.depth, self.log2_input_scale, self.log2_output_scale
        )?;
        if self.input_segment != self.output_segment {
            writeln!(f, "  segments   from \"{}\" to \"{}\"", self.input_segment, self.output_segment)?;
        }
        if !self.ends_canonical {
            writeln!(
                f,
                "  scale      the result's 2^{:.2} is not the canonical 2^{:.2}",
                self.log2_output_scale, self.log2_canonical_scale
            )?;
        }
        let powers = self.powers.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        writeln!(f, "  powers     {}", if powers.is_empty() { "none" } else { &powers })?;
        writeln!(
            f,
            "  work       {} products of ciphertexts, {} relinearisations with a rescale, {} other rescales",
            self.products, self.relinearisations, self.rescales
        )?;
        match self.relinearisation_level {
            Some(level) => writeln!(f, "  keys       relinearisation, up to level {level}")?,
            None => writeln!(f, "  keys       none")?,
        }
        match self.error {
            Some(error) => writeln!(
                f,
                "  precision  error of a fresh input at most 2^{:.1} (root mean square)",
                error.log2()
            )?,
            None => writeln!(f, "  precision  unknown: these parameters cannot have the keys")?,
        }
        write!(
            f,
            "  nodes      {:<22}{:>6}{:>9}{:>10}{:>7}",
            "value", "level", "scale", "products", "terms"
        )?;
        for node in &self.nodes {
            let scale = format!("2^{:.2}", node.log2_scale);
            write!(
                f,
                "\n             {:<22}{:>6}{:>9}{:>10}{:>7}",
                node.value, node.level, scale, node.products, node.terms
            )?;
        }
        Ok(())
    }
}
