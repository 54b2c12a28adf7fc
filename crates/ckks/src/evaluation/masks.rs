//! Changes of the secret: bringing bundles under one mask, splitting masks again, and switching to another
//! secret.
//!
//! ```text
//! share_mask       (a_b; b_b) under s, b in 0..m      ->    (a'; b'_0 .. b'_{m-1}) under s'_0 .. s'_{m-1},    in one switch or in rounds
//! split_mask       (a; b_0 .. b_{m-1})                ->    (a_b; b'_b) under s
//! change_secret    (a; b_0 .. b_{m-1}) under one      ->    under another
//! ```
//!
//! Source: [pcmm-mambo, sec. 3.2, 3.3, 3.4]; differs: any rank, rounds of any number of bundles.

use clathrate_lattice::switch::Digits;
use clathrate_lattice::{Bodies, Bundle, Eval, Rank};

use super::evaluator::{Evaluator, KeyQuery};
use crate::arrays::ciphertext::check_bodies;
use crate::arrays::{BodyAxis, Ciphertext, SecretName};
use crate::error::CkksError;
use crate::keys::{Found, KeyName, Operation, Switch, format_switch_rounds};

/// The operation's name in errors.
const SHARE: &str = "bringing bundles under one mask";
const SPLIT: &str = "taking bodies apart";
const CHANGE: &str = "a change of the secret";

impl Evaluator {
    /// The same array with `bodies` bodies under each mask. The bodies are chunks of a row if rows have
    /// several chunks, otherwise rows. If their number is not a multiple of `bodies`, the last bodies are
    /// zero.
    ///
    /// Takes one switch for each mask with the keys of
    /// [`KeyNeeds::shared_mask`](crate::KeyNeeds::shared_mask), and several with only the keys of
    /// [`KeyNeeds::shared_mask_in_rounds`](crate::KeyNeeds::shared_mask_in_rounds), which are smaller. A dry
    /// run assumes the former.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`]; [`CkksError::WrongSecret`] unless under the main secret;
    /// [`CkksError::OutOfRange`] for a number of bodies; level errors.
    pub fn share_mask(&self, x: &Ciphertext, bodies: usize) -> Result<Ciphertext, CkksError> {
        self.share_mask_along(x, bodies, None)
    }

    /// [`Evaluator::share_mask`] along a given axis.
    pub fn share_mask_along(
        &self,
        x: &Ciphertext,
        bodies: usize,
        axis: Option<BodyAxis>,
    ) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        x.check_main(SHARE)?;
        let in_rounds = !self.holds(x, Operation::Switch(Switch::FormatSwitch { from: 1, to: bodies }))
            && self.holds_rounds(x, bodies);
        if in_rounds {
            self.share_mask_in_rounds(x, bodies, axis)
        } else {
            self.format_switched(x, bodies, axis)
        }
    }

    /// Whether the evaluator has the keys of all rounds to `bodies` bodies.
    pub(crate) fn holds_rounds(&self, x: &Ciphertext, bodies: usize) -> bool {
        format_switch_rounds(bodies)
            .into_iter()
            .all(|(from, to)| self.holds(x, Operation::Switch(Switch::FormatSwitch { from, to })))
    }

    /// [`Evaluator::share_mask_along`] in rounds ([`format_switch_rounds`]), with the keys of
    /// [`KeyNeeds::shared_mask_in_rounds`](crate::KeyNeeds::shared_mask_in_rounds). Each round brings a few
    /// bundles under one mask and adds the noise of a switch. [pcmm-mambo, sec. 3.3]
    pub fn share_mask_in_rounds(
        &self,
        x: &Ciphertext,
        bodies: usize,
        axis: Option<BodyAxis>,
    ) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        x.check_main(SHARE)?;
        let rounds = format_switch_rounds(bodies);
        // All rounds use one axis.
        let axis = x.layout.with_bodies(bodies, axis)?.body_axis();
        rounds
            .into_iter()
            .try_fold(x.clone(), |shared, (_, to)| self.format_switched(&shared, to, Some(axis)))
    }

    /// Brings bundles under masks of `bodies` bodies each, by one switch for each mask.
    fn format_switched(
        &self,
        x: &Ciphertext,
        bodies: usize,
        axis: Option<BodyAxis>,
    ) -> Result<Ciphertext, CkksError> {
        let from = x.layout.bodies();
        let layout = x.layout.with_bodies(bodies, axis)?;
        let operation = Operation::Switch(Switch::FormatSwitch { from, to: bodies });
        let found = self.keys_of(KeyQuery::new(SHARE, operation, x).switching(layout.bundles()))?;
        let mut shared = Vec::with_capacity(if x.is_symbol() { 0 } else { layout.bundles() });
        if let Some(key) = found.as_ref().map(|found| found.only(SHARE)).transpose()? {
            let (ring, basis) = (x.params.chain().ring(), x.params.chain().basis(x.level));
            let zero = Bundle::zero(ring, &basis, Rank(x.params.rank()), Bodies(from))?;
            for index in 0..layout.bundles() {
                // The bodies of a bundle of `x` stay neighbours; if the first body has no entries, none has.
                let member = |first: usize| {
                    layout
                        .polynomial_at(index, first)
                        .map_or(&zero, |polynomial| &x.bundles[x.layout.seat(polynomial).0])
                };
                let members: Vec<&Bundle<Eval>> = (0..bodies).step_by(from).map(member).collect();
                shared.push(Bundle::format_switch(&members, key.switcher()?, key.key())?);
            }
        }
        let shared = Ciphertext { secret: SecretName::Bodies(bodies), ..x.with_layout(layout, shared) };
        self.switched(&x.params, shared, operation, x.level, 1.0)
    }

    /// The same array with one body in each bundle, under the main secret. All bodies of a bundle share the
    /// decomposition of the mask.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`] without the keys of [`KeyNeeds::shared_mask`](crate::KeyNeeds::shared_mask);
    /// [`CkksError::Unsuitable`] unless under the secret of several bodies; level errors.
    pub fn split_mask(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let SecretName::Bodies(count) = x.secret else {
            let reason = format!(
                "the array is under the secret \"{}\", with one body in each bundle already",
                x.secret
            );
            return Err(CkksError::Unsuitable { operation: SPLIT, reason });
        };
        let layout = x.layout.with_bodies(1, None)?;
        let out = |index| {
            Operation::Switch(Switch::ChangeSecret {
                from: SecretName::Body { count, index },
                to: SecretName::Main,
            })
        };
        // The last bundles may have bodies without entries, which are dropped.
        let held_in = |body: usize| {
            (0..x.layout.bundles()).filter(|&index| x.layout.polynomial_at(index, body).is_some()).count()
        };
        let find = |index| self.keys_of(KeyQuery::new(SPLIT, out(index), x).switching(held_in(index)));
        let found = (0..count).map(find).collect::<Result<Vec<_>, _>>()?;
        let found: Vec<Found<'_>> = found.into_iter().flatten().collect();
        let held = found.iter().map(|found| found.only(SPLIT)).collect::<Result<Vec<_>, _>>()?;
        let mut bundles: Vec<Option<Bundle<Eval>>> =
            vec![None; if held.is_empty() { 0 } else { layout.bundles() }];
        if let Some(first) = held.first() {
            let switcher = first.switcher()?;
            let keys: Vec<_> = held.iter().map(|key| key.key()).collect();
            let tables = switcher.tables_for_keys(x.level, &keys)?;
            for (index, bundle) in x.bundles.iter().enumerate() {
                let digits = bundle.decompose_mask(switcher, &tables)?;
                let digits: Vec<&Digits> = digits.iter().collect();
                for (body, key) in keys.iter().enumerate() {
                    let Some(polynomial) = x.layout.polynomial_at(index, body) else { continue };
                    let mut switched = switcher.mod_down(&switcher.inner_product(&digits, key)?)?;
                    switched.add_message(0, bundle.bodies().at(body))?;
                    bundles[layout.seat(polynomial).0] = Some(switched);
                }
            }
        }
        let bundles =
            bundles.into_iter().collect::<Option<Vec<_>>>().ok_or(CkksError::Symbol { operation: SPLIT })?;
        let split = Ciphertext { secret: SecretName::Main, ..x.with_layout(layout, bundles) };
        // All bodies of a bundle share one decomposition of the mask.
        for index in 1..count {
            let name = KeyName::Switch(Switch::ChangeSecret {
                from: SecretName::Body { count, index },
                to: SecretName::Main,
            });
            let shared = held_in(index) as f64 / x.layout.bundles() as f64;
            let key_level = self.key_level(&x.params, out(index), x.level);
            self.record(x, || {
                Ok(x.params
                    .key_definition(name)?
                    .serving(key_level)
                    .decomposition_cost(x.level)?
                    .times(-shared))
            })?;
        }
        self.switched(&x.params, split, out(0), x.level, 1.0)
    }

    /// The same array under another secret for the same number of bodies.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`]; [`CkksError::OutOfRange`] for a secret of another number of bodies;
    /// [`CkksError::Unsuitable`] to or from the secret of the temporary rank or of a smaller ring, under
    /// which no arrays are stored; level errors.
    pub fn change_secret(&self, x: &Ciphertext, to: SecretName) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_bodies(&x.layout, to)?;
        if [x.secret, to].contains(&SecretName::Temporary) {
            let reason = "products and rotations use the secret of the temporary rank on their way; no array is under it".to_owned();
            return Err(CkksError::Unsuitable { operation: CHANGE, reason });
        }
        if matches!(to, SecretName::Embedded(_)) {
            let reason =
                "arrays are under the secret of a smaller ring on the way of a product alone: take a MatrixPlan with that ring".to_owned();
            return Err(CkksError::Unsuitable { operation: CHANGE, reason });
        }
        if x.secret == to {
            return Ok(x.clone());
        }
        self.switched_secret(x, to)
    }

    /// [`Evaluator::change_secret`] to any secret with keys.
    pub(crate) fn switched_secret(&self, x: &Ciphertext, to: SecretName) -> Result<Ciphertext, CkksError> {
        let operation = Operation::Switch(Switch::ChangeSecret { from: x.secret, to });
        let found = self.keys_of(KeyQuery::new(CHANGE, operation, x))?;
        let bundles = self.applied(found.as_ref(), x)?;
        self.switched(
            &x.params,
            Ciphertext { secret: to, ..x.with(bundles, x.level, x.scale) },
            operation,
            x.level,
            1.0,
        )
    }
}
