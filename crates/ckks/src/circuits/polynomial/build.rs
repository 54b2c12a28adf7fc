//! Builds the nodes of a polynomial's circuit.
//!
//! Depth: `ceil(log2 (degree + 1))` levels. A domain other than `[-1, 1]` takes one more level, unless its
//! map is a product with an integer (`[-1/k, 1/k]`) or the degree is 1, where the coefficients absorb the
//! map. An input that is not rescaled, or has no canonical scale, takes one more level. A single power with
//! an integer coefficient, with or without a constant, takes `ceil(log2 degree)` levels. Complex coefficients
//! take no further level: a complex constant in all slots is the polynomial `a + b X^{n/2}`, because
//! `X^{n/2}` has the value `i` in every slot.

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::node::{Node, Product, Scaling, Value};
use super::powers::{chain_for, depth_of, operands};
use super::split::Part;
use super::{Polynomial, PolynomialBasis, UNIT_DOMAIN, ZERO, bound_on_interval};
use crate::evaluation::levels::same_scale;
use crate::parameters::Params;

/// Coefficients below this fraction of the largest coefficient are dropped, because they are rounding errors
/// of their computation.
const NEGLIGIBLE: f64 = 1.0 / (1u64 << 50) as f64;

/// Maximum of an integer factor that is applied without a level; it takes 16 bits of the room for messages.
const LARGEST_FREE_FACTOR: f64 = 65536.0;

/// If all squarings together would move the scale away from the canonical scale by more than this many bits,
/// the scale is corrected first.
const DRIFT_BITS: f64 = 1.0;

/// The coefficients up to the last that is not negligible, with negligible real and imaginary parts set to
/// zero, and the number of dropped coefficients.
pub(super) fn significant(coefficients: &[Complex64]) -> (Vec<Complex64>, usize) {
    let largest = coefficients.iter().fold(0.0f64, |largest, c| largest.max(c.norm()));
    let part = |x: f64| if x.abs() < largest * NEGLIGIBLE { 0.0 } else { x };
    let mut kept: Vec<Complex64> =
        coefficients.iter().map(|c| Complex64::new(part(c.re), part(c.im))).collect();
    let dropped =
        coefficients.iter().zip(&kept).filter(|&(&given, &kept)| given != ZERO && kept == ZERO).count();
    kept.truncate(kept.iter().rposition(|&c| c != ZERO).map_or(1, |last| last + 1));
    (kept, dropped)
}

const ONE: Complex64 = Complex64::new(1.0, 0.0);

/// Whether a factor needs no level: its real and imaginary parts are integers.
fn is_free(factor: Complex64) -> bool {
    factor.re.fract() == 0.0 && factor.im.fract() == 0.0 && factor.norm() <= LARGEST_FREE_FACTOR
}

/// Builds the nodes; depths count levels from the input.
pub(super) struct Builder<'p> {
    params: &'p Params,
    basis: PolynomialBasis,
    /// Level and scale of the value that becomes `y`.
    level: Level,
    scale: f64,
    nodes: Vec<Node>,
    depths: Vec<usize>,
}

impl<'p> Builder<'p> {
    pub(super) fn new(params: &'p Params, basis: PolynomialBasis, level: Level, scale: f64) -> Self {
        Self { params, basis, level, scale, nodes: Vec::new(), depths: vec![0] }
    }

    /// Adds a node and returns the index of its value.
    fn push(
        &mut self,
        value: Value,
        scaling: Scaling,
        products: Vec<Product>,
        linear: Vec<(usize, Complex64)>,
        (constant, magnitude): (Complex64, f64),
    ) -> usize {
        let node =
            Node { value, products, linear, constant, scaling, level: Level(0), scale: 0.0, magnitude };
        let below = node.operands().map(|operand| self.depths[operand]).max().unwrap_or(0);
        self.depths.push(below + usize::from(node.rescales()));
        self.nodes.push(node);
        self.nodes.len()
    }

    fn canonical(&self) -> bool {
        same_scale(self.scale, self.params.scale(self.level))
    }

    /// Goes down one level, if there is one, and sets the scale to `scale` of the upper level.
    fn descend(&mut self, scale: impl Fn(&Params, Level) -> f64) {
        if self.level.0 > 0 {
            self.scale = scale(self.params, self.level);
            self.level = Level(self.level.0 - 1);
        }
    }

    /// The nodes of the circuit, without levels and scales, and its number of levels.
    pub(super) fn build(
        mut self,
        polynomial: &Polynomial,
        coefficients: Vec<Complex64>,
    ) -> (Vec<Node>, usize) {
        let mut y = 0;
        // An input with such a scale is a product that is not rescaled.
        while self.level.0 > 0
            && (self.scale / self.params.scale(self.level)).log2()
                > self.params.step_product(self.level).log2() / 2.0
        {
            y = self.push(Value::Rescaled, Scaling::Divided, vec![], vec![(y, ONE)], (ZERO, 1.0));
            let divided = self.scale;
            self.descend(|params, level| divided / params.step_product(level));
        }
        let (alpha, beta) = if polynomial.domain() == UNIT_DOMAIN { (1.0, 0.0) } else { polynomial.map() };
        match coefficients[..] {
            [constant] => {
                // The polynomial is constant, so the result does not depend on the input.
                self.push(Value::Part(0), Scaling::Kept, vec![], vec![], (constant, constant.norm()));
            }
            [c0, c1] => {
                let (factor, constant) = (c1 * alpha, c0 + c1 * beta);
                let kept = is_free(factor) && self.canonical();
                if !(kept && factor == ONE && constant == ZERO) {
                    let scaling = if kept { Scaling::Kept } else { Scaling::Asked };
                    self.push(
                        Value::Part(1),
                        scaling,
                        vec![],
                        vec![(y, factor)],
                        (constant, bound_on_interval(&coefficients, self.basis)),
                    );
                }
            }
            _ => {
                let drift =
                    (self.scale / self.params.scale(self.level)).log2().abs() * coefficients.len() as f64;
                if !is_free(alpha.into()) || drift > DRIFT_BITS {
                    y = self.push(
                        Value::Mapped,
                        Scaling::Canonical,
                        vec![],
                        vec![(y, alpha.into())],
                        (beta.into(), 1.0),
                    );
                    self.descend(|params, level| params.scale(Level(level.0 - 1)));
                } else if (alpha, beta) != (1.0, 0.0) {
                    y = self.push(
                        Value::Mapped,
                        Scaling::Kept,
                        vec![],
                        vec![(y, alpha.into())],
                        (beta.into(), 1.0),
                    );
                }
                self.nonlinear(y, polynomial, coefficients);
            }
        }
        let depth = self.depths[self.depths.len() - 1];
        (self.nodes, depth)
    }

    /// Adds the nodes of a polynomial of degree 2 or more in `y`.
    fn nonlinear(&mut self, y: usize, polynomial: &Polynomial, mut coefficients: Vec<Complex64>) {
        let degree = coefficients.len() - 1;
        let whole = bound_on_interval(&coefficients, self.basis);
        let single = coefficients[1..degree].iter().all(|&c| c == ZERO) && is_free(coefficients[degree]);
        if single && self.canonical() {
            let power = self.monomial(y, degree);
            if (coefficients[degree], coefficients[0]) != (ONE, ZERO) {
                self.push(
                    Value::Part(degree),
                    Scaling::Kept,
                    vec![],
                    vec![(power, coefficients[degree])],
                    (coefficients[0], whole),
                );
            }
            return;
        }
        // p(y) = r(T_2(y)) for even p.
        let (mut base, mut stride) = (y, 1);
        while coefficients.len() > 2 && coefficients.iter().skip(1).step_by(2).all(|&c| c == ZERO) {
            stride *= 2;
            base = self.power(stride, base, base, None);
            coefficients = coefficients.iter().copied().step_by(2).collect();
        }
        if let [constant, factor] = coefficients[..] {
            self.push(Value::Part(degree), Scaling::Asked, vec![], vec![(base, factor)], (constant, whole));
            return;
        }
        let split = polynomial.split_of(&coefficients, self.basis);
        let mut powers = std::collections::BTreeMap::from([(1, base)]);
        for (&index, &(a, b)) in &split.chain {
            let subtracted = powers.get(&(a - b)).copied();
            let value = self.power(index * stride, powers[&a], powers[&b], subtracted);
            powers.insert(index, value);
        }
        let mut parts = Vec::with_capacity(split.parts.len());
        for Part { products, linear, constant, degree, magnitude, .. } in &split.parts {
            let products = products
                .iter()
                .map(|&(part, power)| Product { left: parts[part], right: powers[&power], twice: false })
                .collect();
            let linear = linear.iter().map(|&(power, c)| (powers[&power], c)).collect();
            parts.push(self.push(
                Value::Part(*degree * stride),
                Scaling::Asked,
                products,
                linear,
                (*constant, *magnitude),
            ));
        }
    }

    /// `y^index` from its factors; in the Chebyshev basis `subtracted` is `T_{a-b}`, or `None` for `T_0 = 1`.
    fn power(&mut self, index: usize, left: usize, right: usize, subtracted: Option<usize>) -> usize {
        let chebyshev = self.basis == PolynomialBasis::Chebyshev;
        let products = vec![Product { left, right, twice: chebyshev }];
        let (linear, constant) = match subtracted {
            Some(value) if chebyshev && left != right => (vec![(value, -ONE)], ZERO),
            _ if chebyshev => (vec![], -ONE),
            _ => (vec![], ZERO),
        };
        self.push(Value::Power(index), Scaling::Factors, products, linear, (constant, 1.0))
    }

    /// `y^degree` at a canonical scale: factors of unequal depth are brought to the level and canonical scale
    /// of the deeper factor.
    fn monomial(&mut self, y: usize, degree: usize) -> usize {
        let chain = chain_for(&[degree], self.basis);
        let mut powers = std::collections::BTreeMap::from([(1, y)]);
        for (&index, &(a, b)) in &chain {
            let mut right = powers[&b];
            if depth_of(b) < depth_of(a) {
                right =
                    self.push(Value::Lowered(b), Scaling::Canonical, vec![], vec![(right, ONE)], (ZERO, 1.0));
            }
            let subtracted = operands((a, b), self.basis).nth(2).and_then(|i| powers.get(&i).copied());
            let value = self.power(index, powers[&a], right, subtracted);
            powers.insert(index, value);
        }
        powers[&degree]
    }
}
