//! The level and the scale of every node, and the check that values fit their modulus.
//!
//! Each node is computed at the lowest level that its uses allow, because ciphertexts are smaller there. The
//! scale of a power follows from its factors. The scale of a part is the one that its sum needs; the scale of
//! its coefficients is chosen accordingly. The result has the canonical scale of its level.
//!
//! If the circuit leaves a segment of the chain, a power has the scale `x y / q` of its factors, which need
//! not be canonical, and parts get the canonical scale of the lower segment.

use clathrate_lattice::Level;

use super::ZERO;
use super::node::{Node, Scaling};
use super::plan::PolynomialPlan;
use crate::error::CkksError;
use crate::evaluation::levels::same_scale;

/// Maximum bits of a scaled coefficient, which must be exact in an `i128`.
const INTEGER_BITS: f64 = 120.0;

impl PolynomialPlan {
    /// Gives each node the highest working level among the nodes that use its value; `output` is the level of
    /// the result.
    pub(super) fn assign_levels(&mut self, output: Level) {
        let mut levels = vec![output; self.nodes.len() + 1];
        levels[..self.nodes.len()].fill(Level(0));
        for index in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[index];
            node.level = levels[index + 1];
            let working = node.working_level();
            for operand in node.operands() {
                levels[operand] = levels[operand].max(working);
            }
        }
        debug_assert!(levels[0] <= self.input.0, "the depth fits");
    }

    /// Sets the scales that follow from operands, then, from the result backwards, the scales that sums need.
    pub(super) fn assign_scales(&mut self) {
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            let (canonical, divisor) = (self.params.scale(node.level), self.divisor(node));
            let scale = match node.scaling {
                Scaling::Kept => node.linear.first().map_or(canonical, |term| self.scale_of(term.0)),
                Scaling::Divided => self.scale_of(node.linear[0].0) / divisor,
                Scaling::Factors => {
                    self.scale_of(node.products[0].left) * self.scale_of(node.products[0].right) / divisor
                }
                Scaling::Canonical | Scaling::Asked => canonical,
            };
            self.nodes[index].scale = if same_scale(scale, canonical) { canonical } else { scale };
        }
        // Quotients precede the sums that contain them; going backwards, the scale of a sum is known before
        // its quotients.
        for index in (0..self.nodes.len()).rev() {
            let node = &self.nodes[index];
            if node.scaling == Scaling::Asked {
                let sum = self.sum_scale(node);
                let asked: Vec<_> = node
                    .products
                    .iter()
                    .map(|product| (product.left, sum / self.scale_of(product.right)))
                    .collect();
                asked.into_iter().for_each(|(part, scale)| self.nodes[part - 1].scale = scale);
            }
        }
    }

    /// The step by which a node rescales; 1 if it does not.
    fn divisor(&self, node: &Node) -> f64 {
        if node.rescales() { self.params.step_product(node.working_level()) } else { 1.0 }
    }

    /// The common scale of a node's terms.
    pub(super) fn sum_scale(&self, node: &Node) -> f64 {
        node.scale * self.divisor(node)
    }

    /// Refuses sums that exceed their modulus, and coefficients that rounding would lose.
    pub(super) fn check(&self) -> Result<(), CkksError> {
        for node in &self.nodes {
            self.params.check_scale(node.scale, node.level)?;
            for (scale, level) in [(self.sum_scale(node), node.working_level()), (node.scale, node.level)] {
                // The message needs one bit for its sign, and one bit of the modulus is a guard that detects
                // overflows.
                let (needed, headroom) =
                    ((node.magnitude * scale + 1.0).log2() + 1.0, self.params.log2_q(level) - 1.0);
                let headroom = if node.constant == ZERO {
                    headroom
                } else {
                    headroom.min(INTEGER_BITS + self.divisor(node).log2())
                };
                if needed > headroom {
                    return Err(CkksError::value_too_large(
                        node.magnitude,
                        scale.log2(),
                        needed,
                        headroom,
                        level.0,
                    ));
                }
            }
            for &(operand, c) in &node.linear {
                let factor_scale = self.sum_scale(node) / self.scale_of(operand);
                let (needed, headroom) = ((c.norm() * factor_scale).log2(), INTEGER_BITS);
                if needed > headroom {
                    return Err(CkksError::value_too_large(
                        c.norm(),
                        factor_scale.log2(),
                        needed,
                        headroom,
                        node.level.0,
                    ));
                }
                let fixed = !node.rescales() || node.scaling == Scaling::Divided;
                if !fixed && factor_scale < self.divisor(node).sqrt() {
                    let remedy = format!(
                        "the step below level {} leaves coefficients too few bits; use steps of one size",
                        node.working_level()
                    );
                    let value = format!("2^{:.1}", factor_scale.log2());
                    return Err(CkksError::OutOfRange {
                        what: "the scale left for coefficients",
                        value,
                        remedy,
                    });
                }
            }
        }
        Ok(())
    }
}
