//! The modulus raise, alone or with the first map from coefficients to slots.
//!
//! After encapsulation a ciphertext `(a, b)` modulo `q0` is under the sparse secret `s'`. Read as integers,
//! `v = b + a s' = m + q0 I`. With the diagonals `d_j` of the first map and `phi_j(nu_j x) = d_j phi_j(x)`,
//!
//! ```text
//! sum_j phi_j(nu_j v) = sum_j phi_j(nu_j b) + sum_j phi_j(a) phi_j(nu_j s')
//! ```
//!
//! With a key that encrypts the `phi_j(nu_j s')` under `s`, a switch computes the second sum
//! ([`Switcher::raised_product`]). The first sum is a plain polynomial. It is small, so about three primes
//! suffice to compute it. Diagonals are rounded at a scale that is larger by a product `t` of primes than the
//! wanted growth of the scale. The division by `t` in the switch removes it, so that the map takes no level.
//!
//! Source: [bootstrapping study], sec. 3.2.
//!
//! [`Switcher::raised_product`]: clathrate_lattice::Switcher::raised_product

use std::sync::OnceLock;

use clathrate_arith::Automorphism;
use clathrate_lattice::modulus::Division;
use clathrate_lattice::{Basis, Bundle, Eval, Level, Poly, Raise};

use crate::arrays::{Ciphertext, SecretName};
use crate::circuits::linear::LinearTransform;
use crate::circuits::linear::factors::diagonals_error;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::evaluator::KeyQuery;
use crate::keys::{Cost, Found, KeyName, Operation, RaisedMap, Switch};
use crate::parameters::{KeyModulus, Params};

/// The operation's name in errors.
const RAISE: &str = "a modulus raise";

/// The bits by which the plain sum stays below half the modulus of its computation.
const MARGIN_BITS: f64 = 2.0;

/// The modulus raise.
#[derive(Debug)]
pub(super) struct ModRaise {
    pub(super) method: RaiseMethod,
    /// The level of the raised array.
    pub(super) level: Level,
    /// The scale of the raised array. Its numbers are `v / (q0 R)` for the raised phase `v`.
    pub(super) scale: f64,
}

/// The method of the modulus raise.
#[derive(Debug)]
pub(super) enum RaiseMethod {
    /// The lift alone. It also multiplies the phase by an integer, so that the noise of the change to the
    /// main secret is small against the message.
    Plain {
        /// The lift.
        lift: Box<Raise>,
        /// The integer.
        guard: i128,
    },
    /// The lift with the first map from coefficients to slots.
    Mapped(Box<RaisedTransform>),
}

/// The tables of the raise with one map.
#[derive(Debug)]
pub(super) struct RaisedTransform {
    params: Params,
    map: RaisedMap,
    /// The square of the relative error of rounding the diagonals.
    rounding: f64,
    level: Level,
    /// Lifts the mask to all primes of the key.
    mask: Raise,
    /// Lifts the body to the primes of the plain sum. `division` then divides the sum, and `sum` lifts the
    /// quotient to the level's primes.
    body: Raise,
    division: Division,
    sum: Raise,
    /// The diagonals over the primes of the plain sum. They are encoded on first use, because a plan may only
    /// be compared with others and dropped.
    plain: OnceLock<Vec<(Automorphism, Poly<Eval>)>>,
}

impl RaisedTransform {
    /// The tables of `map`, for a raise to the highest level; `transform` is its linear map,
    /// [`Params::raised_map`].
    ///
    /// # Errors
    /// [`CkksError::Unsupported`] if the parameters have no raise keys; the errors of
    /// [`Params::key_definition`].
    pub(super) fn new(
        params: &Params,
        map: RaisedMap,
        transform: &LinearTransform,
    ) -> Result<Self, CkksError> {
        params.check_raised_map(map)?;
        let chain = params.key_switching(KeyModulus::Raise)?.switcher.chain();
        let level = params.max_level();
        let (ring, base) = (chain.ring(), params.chain().basis(Level(0)));
        let divisors = Basis::new(chain.step(chain.max_level()));
        // The plain sum is at most q0 / 2 times the growth of the map and the scale of its diagonals. A
        // coefficient is at most the largest slot.
        let growth = transform.row_sum() * (params.degree() as f64).sqrt();
        let wanted = params.log2_q(Level(0)) + growth.log2() + f64::from(map.log2_scale) + MARGIN_BITS;
        let bits_of = |index: usize| (ring.moduli()[index].value() as f64).log2();
        let mut kept: Vec<usize> = params.chain().basis(level).indices().to_vec();
        kept.sort_by(|&x, &y| bits_of(y).total_cmp(&bits_of(x)).then(x.cmp(&y)));
        let mut count = 1;
        while Basis::new(kept[..count].iter().copied()).log2(ring) + divisors.log2(ring) < wanted
            && count < kept.len()
        {
            count += 1;
        }
        kept.truncate(count);
        kept.sort_unstable();
        let kept = Basis::new(kept);
        let plain_basis = kept.join(&divisors);
        Ok(Self {
            params: params.clone(),
            map,
            rounding: diagonals_error(transform, f64::from(map.log2_scale).exp2()),
            level,
            mask: Raise::new(ring, &base, &chain.key_basis(chain.max_level()))?,
            body: Raise::new(ring, &base, &plain_basis)?,
            division: Division::new(ring, &divisors, &kept)?,
            sum: Raise::new(ring, &kept, &params.chain().basis(level))?,
            plain: OnceLock::new(),
        })
    }

    /// The diagonals over the primes of the plain sum, with their rotations.
    fn plain(&self) -> Result<&[(Automorphism, Poly<Eval>)], CkksError> {
        if let Some(plain) = self.plain.get() {
            return Ok(plain);
        }
        let ring = self.params.key_switching(KeyModulus::Raise)?.switcher.chain().ring();
        let plain = self.params.raised_diagonals(self.map, ring, self.body.to())?;
        Ok(self.plain.get_or_init(|| plain))
    }

    /// The square of the relative error of rounding the diagonals.
    pub(super) const fn rounding(&self) -> f64 {
        self.rounding
    }

    /// The image of `x` under the raise and the map. `x` is at level 0 under the ephemeral secret; the result
    /// is under the main secret, or that of the shared masks, with this scale.
    pub(super) fn run(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        scale: f64,
    ) -> Result<Ciphertext, CkksError> {
        let query = KeyQuery::new(RAISE, Operation::Switch(Switch::RaiseToSlots(self.map)), x)
            .under(&self.params)
            .at(self.level)
            .without_cost();
        let found = evaluator.keys_of(query)?;
        evaluator.record(x, || self.cost(x))?;
        let raised = x.try_map(self.level, scale, |bundle| self.bundle(bundle, found.as_ref()))?;
        let secret =
            if self.map.bodies == 1 { SecretName::Main } else { SecretName::Bodies(self.map.bodies) };
        Ok(Ciphertext { secret, ..raised })
    }

    fn bundle(&self, bundle: &Bundle<Eval>, found: Option<&Found<'_>>) -> Result<Bundle<Eval>, CkksError> {
        let held = found.ok_or(CkksError::NoKeys { operation: RAISE })?.only(RAISE)?;
        let switcher = held.switcher()?;
        let plain = self.plain()?;
        let phis: Vec<_> = plain.iter().map(|(phi, _)| phi.clone()).collect();
        let mask = self.mask.raise_all(bundle.mask())?;
        let product = switcher.raised_product(mask.view(), &phis, held.key())?;
        drop(mask);
        let mut raised = switcher.mod_down_rescale(&product)?;
        for body in 0..bundle.body_count() {
            let integers = self.body.raise(bundle.bodies().at(body))?;
            let mut sum: Option<Poly<Eval>> = None;
            for (phi, nu) in plain {
                let mut product = integers.clone();
                product.mul_assign(nu)?;
                let turned = product.automorphism(phi);
                match &mut sum {
                    None => sum = Some(turned),
                    Some(sum) => sum.add_assign(&turned)?,
                }
            }
            let sum = sum.ok_or(CkksError::Internal { operation: RAISE })?.into_coeff();
            let divided = self.division.divide_coeff(&sum)?;
            raised.add_message(body, &self.sum.raise_coeff(&divided)?.into_eval())?;
        }
        Ok(raised)
    }

    /// The cost for one bundle.
    fn cost(&self, x: &Ciphertext) -> Result<Cost, CkksError> {
        let params = &self.params;
        let definition = params.key_definition(KeyName::Switch(Switch::RaiseToSlots(self.map)))?;
        let chain = definition.chain()?;
        let (all, top, base) = (
            chain.key_basis(chain.max_level()).len(),
            params.chain().basis(self.level).len(),
            params.chain().basis(Level(0)).len(),
        );
        let (masks, bodies) = (params.rank(), x.layout.bodies());
        let columns = masks + bodies;
        let (plain, diagonals) = (self.body.to().len(), self.map.diagonals());
        let special = all - top;
        // The lifts of masks and bodies, the plain sums, and the division of the switched sum.
        let transforms = masks * (base + all) + bodies * (base + 2 * plain + top) + columns * (special + top);
        let products = masks * diagonals * columns * all + bodies * diagonals * plain;
        let conversions =
            columns * ((special + 1) * top) + masks * (base + 1) * all + bodies * (plain + 1) * top;
        let time = params.timed_whole(|profile| {
            let times = profile.at(params.degree());
            transforms as f64 * times.transform[0]
                + products as f64 * times.product
                + conversions as f64 * times.convert
        });
        Ok(Cost {
            transforms: transforms as f64,
            hadamard_products: products as f64,
            key_bytes: definition.bytes(definition.most)? as f64,
            ..time
        })
    }
}
