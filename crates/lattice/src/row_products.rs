//! Products of a plain matrix with encrypted rows that share a mask, by keys that are made for the matrix in
//! advance.
//!
//! `m` bodies share a mask `a`. A body is a polynomial of degree `N` that holds `k` rows of the matrix `M`:
//! row `(c, r)` is in body `c`, at the powers of `X` that are `r` modulo `k`. Let `e_r` be the component of
//! degree `N / k` at these powers. A row of the product `W M` is
//!
//! ```text
//! sum_(c,r) w_(c,r) e_r(b_c + a s_c)  =  sum_(c,r) w_(c,r) e_r(b_c)  +  sum_l e_l(a) sum_(c,p) w_(c, l + p) Y^[l + p >= k] e_p(s_c)
//! ```
//!
//! with `Y = X^k`. The first sum is a product of `W` with the bodies. The second sum is linear in the `k`
//! components of `a`, and its factors depend only on `W` and the secrets. So a key that switches
//! `e_l(a)(X^k)` from these factors to one secret is made once for `W`, as a combination, with the entries of
//! `W`, of keys that switch from `e_p(s_c)(X^k)`
//! ([`SecretMatrix::parts`](crate::switch::SecretMatrix::parts)). `k` rows of the product are one polynomial
//! and take one key: row `t` of the `k` is multiplied by `X^t`.
//!
//! Only the highest bits of the product of `W` with the bodies are computed ([`FractionProduct`]), because a
//! rescale follows. So `W M` takes a decomposition of the mask, a product with keys and a mod-down for each
//! `k` rows, and one floating-point product of matrices.
//!
//! More than `m k` rows have several masks, whose components are switched together.
//!
//! Source: [pcmm-mambo, sec. 4.3, App. B (Algorithms 3 and 4), sec. 5]; differs: the two algorithms are one
//! (`k` = 1 is Algorithm 3); one switch gives the rows of the result as ciphertexts of degree `N`, without
//! ModPack; the components of `a` and not those of the secrets are embedded, so that rows of one polynomial
//! need the keys of one secret; the division by `P` and the rescale are one division.

use clathrate_arith::kernels::scalar::bit_reverse;
use clathrate_arith::product::{FractionProduct, LeftMatrix};
use clathrate_arith::{Rows, RowsMut};

use crate::bundle::Bundle;
use crate::chain::Level;
use crate::error::LatticeError;
use crate::noise::{NoiseDigits, NoiseModel};
use crate::poly::{Basis, Coeff, Eval, Poly, Polys};
use crate::ring::Ring;
use crate::switch::{Digits, SwitchKey, SwitchMethod, Switcher};

/// Rows of the weights for which keys are combined at a time, which bounds the memory. The entries of the key
/// are unpacked again for each block.
const ROW_BLOCK: usize = 1024;

/// The distribution of rows to polynomials and masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowShape {
    /// Rows in a polynomial, a power of two.
    pub lanes: usize,
    /// Bodies under a mask.
    pub bodies: usize,
}

impl RowShape {
    /// Number of masks for `rows` rows.
    #[must_use]
    pub fn masks(self, rows: usize) -> usize {
        rows.div_ceil(self.lanes * self.bodies)
    }

    /// Number of polynomials for `rows` rows.
    #[must_use]
    pub fn polys(self, rows: usize) -> usize {
        rows.div_ceil(self.lanes)
    }
}

/// A matrix with the keys for its products.
#[derive(Debug)]
pub struct PreparedMatrix {
    /// The matrix, divided by `2^shift`.
    left: LeftMatrix,
    shift: u32,
    shape: RowShape,
    /// For each polynomial of the result, the key for the components of all masks.
    keys: Vec<SwitchKey>,
}

impl PreparedMatrix {
    /// Makes the keys for products with `left`, whose entries are multiples of `2^shift`, from `key`, which
    /// switches the parts of the secrets of all bodies ([`crate::switch::SecretMatrix::parts`], of degree `N
    /// / lanes`). `progress` is called with the numbers of completed and of all steps; if it returns `false`,
    /// the work stops and the result is `None`.
    ///
    /// Cost: `lanes masks` exact products of `left` with all entries of `key`. Memory: the result and,
    /// unpacked, the entries of `key` for one digit and the entries of 1024 rows of the result.
    ///
    /// # Errors
    /// [`LatticeError::KeyInputs`] where the key was made for another number of bodies or lanes;
    /// [`LatticeError::DegreeChange`] where the lanes do not divide the degree.
    pub fn new(
        left: &LeftMatrix,
        shift: u32,
        shape: RowShape,
        switcher: &Switcher,
        key: &SwitchKey,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Option<Self>, LatticeError> {
        let RowShape { lanes, bodies } = shape;
        let ring = key.ring();
        if lanes == 0 || bodies == 0 || key.inputs() != bodies * lanes {
            return Err(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: bodies * lanes });
        }
        ring.subring(ring.degree() / lanes)?;
        let (masks, polys, digits) = (shape.masks(left.inner()), shape.polys(left.rows()), key.digit_count());
        let monomial = |power: usize| monomial(ring, key, power);
        let shifts: Vec<Poly<Eval>> = (0..lanes).map(monomial).collect();
        // Multiplication by Y, which only polynomials with several lanes need.
        let wrap = if lanes > 1 { Some(monomial(lanes)) } else { None };
        let block = (ROW_BLOCK / lanes).max(1);
        let total = polys.div_ceil(block) * digits * lanes * masks;
        let (mut done, mut keys) = (0, Vec::with_capacity(polys));
        for first in (0..polys).step_by(block) {
            let rows = first * lanes..((first + block) * lanes).min(left.rows());
            let mut entries: Vec<Vec<Option<Bundle<Eval>>>> =
                vec![vec![None; masks * lanes * digits]; rows.len().div_ceil(lanes)];
            for digit in 0..digits {
                let mut inputs: Vec<Bundle<Eval>> =
                    (0..key.inputs()).map(|input| key.entry(input, digit)).collect();
                for component in 0..lanes {
                    if let Some(wrap) = wrap.as_ref().filter(|_| component > 0) {
                        // From this component on, component + p >= lanes also for p = lanes - component.
                        inputs
                            .iter_mut()
                            .skip(lanes - component)
                            .step_by(lanes)
                            .try_for_each(|input| input.mul_poly_assign(wrap))?;
                    }
                    let inputs: Vec<&Bundle<Eval>> = inputs.iter().collect();
                    for mask in 0..masks {
                        if !progress(done, total) {
                            return Ok(None);
                        }
                        done += 1;
                        let column = |input: usize| {
                            mask * lanes * bodies
                                + input / lanes * lanes
                                + (component + input % lanes) % lanes
                        };
                        let columns: Vec<Option<usize>> = (0..inputs.len())
                            .map(|input| Some(column(input)).filter(|&column| column < left.inner()))
                            .collect();
                        let mut combined =
                            Bundle::combine(&left.select(rows.clone(), &columns)?, &inputs)?.into_iter();
                        for poly in &mut entries {
                            let mut sum = combined.next();
                            for shift in &shifts[1..] {
                                if let (Some(sum), Some(mut row)) = (&mut sum, combined.next()) {
                                    row.mul_poly_assign(shift)?;
                                    sum.add_assign(&row)?;
                                }
                            }
                            poly[(mask * lanes + component) * digits + digit] = sum;
                        }
                    }
                }
            }
            for entries in entries {
                let entries: Vec<Bundle<Eval>> = entries.into_iter().flatten().collect();
                keys.push(SwitchKey::from_entries(
                    switcher.chain(),
                    key.gadget(),
                    key.level(),
                    masks * lanes,
                    None,
                    &entries,
                )?);
            }
        }
        progress(total, total);
        Ok(Some(Self { left: left.shifted_down(shift), shift, shape, keys }))
    }

    /// A prepared matrix from its parts ([`PreparedMatrix::left`], [`PreparedMatrix::keys`]), for example
    /// from a file.
    ///
    /// # Errors
    /// [`LatticeError::KeyInputs`] where there is not one key for each polynomial of the result, or a key was
    /// made for another number of components.
    pub fn from_parts(
        left: LeftMatrix,
        shift: u32,
        shape: RowShape,
        keys: Vec<SwitchKey>,
    ) -> Result<Self, LatticeError> {
        let (inputs, polys) = (shape.masks(left.inner()) * shape.lanes, shape.polys(left.rows()));
        if keys.len() != polys {
            return Err(LatticeError::KeyInputs { key_inputs: keys.len(), inputs: polys });
        }
        if let Some(key) = keys.iter().find(|key| key.inputs() != inputs) {
            return Err(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs });
        }
        Ok(Self { left, shift, shape, keys })
    }

    /// For each polynomial of the result, the key for the components of all masks.
    #[must_use]
    pub fn keys(&self) -> &[SwitchKey] {
        &self.keys
    }

    /// The matrix, divided by `2^shift`.
    #[must_use]
    pub fn left(&self) -> &LeftMatrix {
        &self.left
    }

    /// The distribution of rows to polynomials and masks.
    #[must_use]
    pub fn shape(&self) -> RowShape {
        self.shape
    }

    /// Bytes of the keys.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.keys.iter().map(SwitchKey::bytes).sum()
    }

    /// The rescaled product, one level below, as bundles of one body with `lanes` rows each. `bundles` are
    /// the masks with their bodies, in the order of their rows. `progress` is called with the numbers of
    /// completed and of all polynomials; if it returns `false`, the result is `None`.
    ///
    /// Cost: for each mask `lanes` decompositions; for each polynomial of the result the products of all
    /// digits with a key and one mod-down; one or two floating-point products of matrices.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without bundles; [`LatticeError::BodiesMismatch`] where their number or
    /// their numbers of bodies do not fit the matrix; [`LatticeError::NoLevelLeft`] at level 0; as
    /// [`Switcher::inner_product`].
    pub fn multiply(
        &self,
        bundles: &[&Bundle<Eval>],
        products: usize,
        switcher: &Switcher,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Option<Vec<Bundle<Eval>>>, LatticeError> {
        let first =
            bundles.first().ok_or(LatticeError::EmptyShape { what: "the number of bundles", got: 0 })?;
        let (chain, ring) = (switcher.chain(), first.ring());
        let masks = self.shape.masks(self.left.inner());
        if bundles.len() != masks {
            return Err(LatticeError::BodiesMismatch { left: masks, right: bundles.len() });
        }
        bundles.iter().try_for_each(|bundle| first.check_same_shape(bundle))?;
        if first.body_count() != self.shape.bodies {
            return Err(LatticeError::BodiesMismatch { left: self.shape.bodies, right: first.body_count() });
        }
        let top = chain.basis(chain.max_level()).len();
        let level = chain
            .level_of(first.basis())
            .ok_or(LatticeError::BasisMismatch { left: first.basis().len(), right: top })?;
        let below = level.0.checked_sub(1).map(Level).ok_or(LatticeError::NoLevelLeft)?;
        let key_level = self.keys.iter().map(SwitchKey::level).min().unwrap_or(level);
        let tables = switcher.tables_of_method(SwitchMethod::as_made(chain), level, key_level)?;
        let bodies = self.product_of_bodies(bundles, products, chain.basis(below).clone())?;
        let small = ring.subring(ring.degree() / self.shape.lanes)?;
        let mut digits: Vec<Digits> = Vec::with_capacity(masks * self.shape.lanes);
        for mask in bundles.iter().flat_map(|bundle| bundle.mask()) {
            if self.shape.lanes == 1 {
                digits.push(switcher.decompose_by(&tables, mask)?);
                continue;
            }
            let components = mask.split_components(&small)?;
            for power in 0..self.shape.lanes {
                let component = components.at(bit_reverse(power, self.shape.lanes.trailing_zeros()));
                digits.push(switcher.decompose_by(&tables, &component.iota(ring)?)?);
            }
        }
        let digits: Vec<&Digits> = digits.iter().collect();
        let mut results = Vec::with_capacity(self.keys.len());
        for (index, (key, body)) in self.keys.iter().zip(&bodies).enumerate() {
            if !progress(index, self.keys.len()) {
                return Ok(None);
            }
            let mut switched = switcher.mod_down_rescale(&switcher.inner_product(&digits, key)?)?;
            switched.add_message(0, body)?;
            results.push(switched);
        }
        progress(self.keys.len(), self.keys.len());
        Ok(Some(results))
    }

    /// The product of the matrix with the bodies, rescaled to the primes `kept`.
    fn product_of_bodies(
        &self,
        bundles: &[&Bundle<Eval>],
        products: usize,
        kept: Basis,
    ) -> Result<Polys<Eval>, LatticeError> {
        let (ring, basis) = (bundles[0].ring(), bundles[0].basis());
        let inputs: Vec<Polys<Coeff>> = bundles.iter().map(|bundle| bundle.bodies().to_coeff()).collect();
        let right: Vec<Rows<'_>> = inputs
            .iter()
            .flat_map(|polys| polys.iter().map(|poly| poly.rows()).collect::<Vec<_>>())
            .collect();
        let right = &right[..self.shape.polys(self.left.inner())];
        let mut out: Polys<Coeff> = Polys::scratch(ring, &kept, self.keys.len());
        let mut targets: Vec<RowsMut<'_>> = out.view_mut().into_rows().chunks(kept.len()).collect();
        let product = FractionProduct { lanes: self.shape.lanes, products, shift: self.shift };
        ring.engine().combine_fractions(
            &mut targets,
            &self.left,
            right,
            product,
            basis.indices(),
            kept.indices(),
        )?;
        Ok(out.into_eval())
    }
}

/// `X^power` over the modulus of a key.
fn monomial(ring: &Ring, key: &SwitchKey, power: usize) -> Poly<Eval> {
    let mut coefficients = vec![0; ring.degree()];
    // The power is N where every row has one coefficient, and X^N = -1.
    coefficients[power % ring.degree()] = if power < ring.degree() { 1 } else { -1 };
    Poly::from_signed(ring, key.basis(), &coefficients).into_eval()
}

/// The parts of the error of a product: variances of a coefficient, in units of the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProductNoise {
    /// The errors of the rows, combined and rescaled.
    pub input: f64,
    /// The errors of the keys.
    pub switch: f64,
    /// The rounding of the mod-down and of the bodies to integers.
    pub rounding: f64,
    /// The floating-point product.
    pub float: f64,
}

impl ProductNoise {
    /// The noise of a polynomial of the result, for its row with the largest noise. `weights` holds the sum
    /// of squared integer weights of each of its rows; `variance` is that of the errors of the encrypted
    /// rows; a rescale divides by `2^log2_step`; the keys have the given digits and special modulus; the
    /// result is modulo `2^log2_modulus`; the floating-point product has the given deviation, as a fraction
    /// of the modulus, and number of ranges.
    #[must_use]
    pub fn of(
        model: &NoiseModel,
        weights: &[f64],
        variance: f64,
        digits: &NoiseDigits,
        (log2_step, log2_modulus): (f64, f64),
        (float_deviation, ranges): (f64, usize),
    ) -> Self {
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let all: f64 = weights.iter().sum();
        let step = (-2.0 * log2_step).exp2();
        // A component of the mask has N / lanes coefficients and is multiplied with the errors of the `lanes`
        // rows' weights; there are `lanes` components.
        let one = model.products_over(1, digits);
        Self {
            input: variance * largest * step,
            switch: one * all * step,
            // The body is rounded once more for each range of the floating-point product, downwards: a mean
            // of 1/2 and a variance of 1/12 each.
            rounding: model.rounding() + (ranges * ranges) as f64 / 4.0 + ranges as f64 / 12.0,
            float: (float_deviation * log2_modulus.exp2()).powi(2),
        }
    }

    /// The variance of the total error.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.input + self.switch + self.rounding + self.float
    }
}
