//! The switcher: for one chain, chooses the method of each level, precomputes its tables, and runs the steps
//! of a switch.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_arith::GadgetInput;

use super::cache::DerivedKeyCache;
use super::cost::{self, SwitchCounts};
use super::extended::Extended;
use super::hybrid::{self, Digits};
use super::key::SwitchKey;
use super::method::SwitchMethod;
use super::planner::{MethodMap, SwitchPolicy};
use super::representation::KeyRepresentation;
use super::tables::SwitchTables;
use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::modulus::Division;
use crate::poly::{Basis, Coeff, Domain, Eval, Poly, PolyRef};

/// Default budget of a switcher for derived keys, in bytes.
pub const DEFAULT_DERIVED_KEY_BYTES: usize = 6 << 30;

/// Switches bundles of one chain; holds the precomputed tables of each level.
#[derive(Debug)]
pub struct Switcher {
    chain: Arc<Chain>,
    gadget: Arc<Gadget>,
    policy: SwitchPolicy,
    /// Largest number of inputs of one key, for which the auxiliary modulus of the KLSS method is chosen.
    inputs: usize,
    derived: Arc<DerivedKeyCache>,
    tables: Mutex<HashMap<TablesId, Arc<SwitchTables>>>,
    /// The planner's choices, by the highest level of the keys and the purpose.
    maps: Mutex<HashMap<(Level, Purpose), Arc<MethodMap>>>,
}

/// The use for which switches are planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Purpose {
    /// Single switches.
    Switch,
    /// The rotations of a linear transform, whose sums are multiplied with plaintexts before the mod-down.
    /// The hybrid method gives them in Eval form, in which plaintexts multiply; KLSS would need a transform
    /// for each.
    Transform,
}

/// Identifies tables: the level, the method, and the level of the keys, whose unused primes may serve as
/// special primes.
type TablesId = (Level, SwitchMethod, Level);

/// The inputs as views.
fn views<'a, D: Domain, P: Copy + Into<PolyRef<'a, D>>>(inputs: &[P]) -> Vec<PolyRef<'a, D>> {
    inputs.iter().map(|&input| input.into()).collect()
}

impl Switcher {
    /// A switcher for `chain` that uses the keys generated with `gadget` unchanged (hybrid method).
    ///
    /// # Errors
    /// [`LatticeError::NoSpecialPrimes`] where the chain has none; [`LatticeError::BasisMismatch`] where the
    /// gadget was made for another chain.
    pub fn new(chain: Arc<Chain>, gadget: Arc<Gadget>) -> Result<Self, LatticeError> {
        let policy = SwitchPolicy::Fixed(SwitchMethod::as_made(&chain));
        Self::with_policy(chain, gadget, policy, 1, DEFAULT_DERIVED_KEY_BYTES)
    }

    /// A switcher that chooses methods by `policy`, for keys of at most `inputs` inputs, and caches at most
    /// `derived_bytes` bytes of derived keys.
    pub fn with_policy(
        chain: Arc<Chain>,
        gadget: Arc<Gadget>,
        policy: SwitchPolicy,
        inputs: usize,
        derived_bytes: usize,
    ) -> Result<Self, LatticeError> {
        if chain.special_basis().is_empty() {
            return Err(LatticeError::NoSpecialPrimes);
        }
        gadget.check_chain(&chain)?;
        Ok(Self {
            chain,
            gadget,
            policy,
            inputs: inputs.max(1),
            derived: Arc::new(DerivedKeyCache::new(derived_bytes)),
            tables: Mutex::default(),
            maps: Mutex::default(),
        })
    }

    /// The same switcher with the cache `derived`, which it shares with other switchers.
    #[must_use]
    pub fn sharing(self, derived: Arc<DerivedKeyCache>) -> Self {
        Self { derived, ..self }
    }

    /// The chain.
    #[must_use]
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The gadget of the keys.
    #[must_use]
    pub fn gadget(&self) -> &Gadget {
        &self.gadget
    }

    /// The policy by which methods are chosen.
    #[must_use]
    pub fn policy(&self) -> &SwitchPolicy {
        &self.policy
    }

    /// The method that a planner chose at each level, for keys of level `key_level`; `None` where the policy
    /// is fixed.
    #[must_use]
    pub fn map(&self, key_level: Level) -> Option<Arc<MethodMap>> {
        self.map_for(key_level, Purpose::Switch)
    }

    fn map_for(&self, key_level: Level, purpose: Purpose) -> Option<Arc<MethodMap>> {
        let SwitchPolicy::Planned(planner) = &self.policy else { return None };
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        let planned = || {
            Arc::new(match purpose {
                Purpose::Switch => planner.map(&self.chain, &self.gadget, key_level, self.inputs),
                Purpose::Transform => planner.hybrid_map(&self.chain, &self.gadget, key_level),
            })
        };
        Some(maps.entry((key_level, purpose)).or_insert_with(planned).clone())
    }

    /// The method of `level` for keys of level `key_level`.
    fn method(&self, level: Level, key_level: Level, purpose: Purpose) -> SwitchMethod {
        match &self.policy {
            SwitchPolicy::Fixed(method) => *method,
            SwitchPolicy::Planned(_) => {
                let row = self.map_for(key_level, purpose).and_then(|map| map.rows.get(level.0).copied());
                row.map_or_else(|| SwitchMethod::as_made(&self.chain), |row| row.method)
            }
        }
    }

    /// The cache of derived keys.
    #[must_use]
    pub fn derived_keys(&self) -> &DerivedKeyCache {
        &self.derived
    }

    /// The tables of `level` for keys of the chain's highest level.
    ///
    /// # Errors
    /// [`LatticeError::LevelOutOfRange`]; [`LatticeError::FewFreePrimes`], [`LatticeError::DigitTooLarge`],
    /// [`LatticeError::FewAuxiliaryPrimes`] where the policy's method is impossible at the level.
    pub fn tables(&self, level: Level) -> Result<Arc<SwitchTables>, LatticeError> {
        self.tables_for(level, self.chain.max_level())
    }

    /// The tables of `level` for keys of level `key_level`, whose primes of steps above `level` may serve as
    /// special primes.
    ///
    /// # Errors
    /// As [`Switcher::tables`]; [`LatticeError::KeyLevelTooLow`].
    pub fn tables_for(&self, level: Level, key_level: Level) -> Result<Arc<SwitchTables>, LatticeError> {
        self.tables_planned(level, key_level, Purpose::Switch)
    }

    /// [`Switcher::tables_for`] for the rotations of a linear transform: the fastest hybrid method, unless
    /// the policy fixes another method.
    pub fn transform_tables_for(
        &self,
        level: Level,
        key_level: Level,
    ) -> Result<Arc<SwitchTables>, LatticeError> {
        self.tables_planned(level, key_level, Purpose::Transform)
    }

    fn tables_planned(
        &self,
        level: Level,
        key_level: Level,
        purpose: Purpose,
    ) -> Result<Arc<SwitchTables>, LatticeError> {
        self.check_levels(level, key_level)?;
        self.cached_tables((level, self.method(level, key_level, purpose), key_level), purpose)
    }

    /// The tables of a given method, independent of the policy: for tests and benchmarks.
    pub fn tables_of_method(
        &self,
        method: SwitchMethod,
        level: Level,
        key_level: Level,
    ) -> Result<Arc<SwitchTables>, LatticeError> {
        self.check_levels(level, key_level)?;
        self.cached_tables((level, method, key_level), Purpose::Switch)
    }

    fn cached_tables(&self, id: TablesId, purpose: Purpose) -> Result<Arc<SwitchTables>, LatticeError> {
        let (level, ..) = id;
        let mut known = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tables) = known.get(&id) {
            return Ok(tables.clone());
        }
        let representation = Arc::new(self.representation(id, purpose)?);
        let tables = Arc::new(SwitchTables::new(&self.chain, &self.gadget, level, &representation)?);
        known.insert(id, tables.clone());
        Ok(tables)
    }

    fn check_levels(&self, level: Level, key_level: Level) -> Result<(), LatticeError> {
        self.chain.check_level(level)?;
        self.chain.check_level(key_level)?;
        if level > key_level {
            return Err(LatticeError::KeyLevelTooLow { key_level: key_level.0, level: level.0 });
        }
        Ok(())
    }

    /// The key representation for `method` at `level`. It is made for the highest level that uses the method,
    /// so that all levels with this method share it.
    fn representation(
        &self,
        (level, method, key_level): TablesId,
        purpose: Purpose,
    ) -> Result<KeyRepresentation, LatticeError> {
        let fixed = matches!(self.policy, SwitchPolicy::Fixed(_));
        let at =
            |l: Level| KeyRepresentation::new(&self.chain, &self.gadget, method, l, key_level, self.inputs);
        let above = (level.0 + 1..=key_level.0)
            .rev()
            .map(Level)
            .filter(|&l| fixed || self.method(l, key_level, purpose) == method)
            .find_map(|l| at(l).ok());
        above.map_or_else(|| at(level), Ok)
    }

    /// The level of `x`.
    fn level_of<D: Domain>(&self, x: PolyRef<'_, D>) -> Result<Level, LatticeError> {
        if !self.chain.ring().same_as(x.ring()) {
            return Err(LatticeError::RingMismatch {
                left: self.chain.ring().degree(),
                right: x.ring().degree(),
            });
        }
        let (basis, max) = (x.basis(), self.chain.max_level());
        self.chain
            .level_of(basis)
            .ok_or(LatticeError::BasisMismatch { left: basis.len(), right: self.chain.basis(max).len() })
    }

    /// Unit operations of one switch by `tables`, of `inputs` polynomials to `columns` (rank and bodies).
    #[must_use]
    pub fn counts(&self, tables: &SwitchTables, inputs: usize, columns: usize) -> SwitchCounts {
        cost::counts(&self.chain, &self.gadget, &tables.representation, tables.level(), inputs, columns)
    }

    /// Unit operations of decomposing `inputs` polynomials by `tables`: the work that several rotations of
    /// one ciphertext share.
    #[must_use]
    pub fn decomposition_counts(&self, tables: &SwitchTables, inputs: usize) -> SwitchCounts {
        cost::decomposition_counts(&self.chain, &self.gadget, &tables.representation, tables.level(), inputs)
    }

    /// Unit operations of multiplying the digits of `inputs` polynomials with a key of `columns` polynomials,
    /// by `tables`.
    #[must_use]
    pub fn inner_product_counts(&self, tables: &SwitchTables, inputs: usize, columns: usize) -> SwitchCounts {
        cost::inner_product_counts(
            &self.chain,
            &self.gadget,
            &tables.representation,
            tables.level(),
            (inputs, columns),
        )
    }

    /// Unit operations of the mod-down of `columns` polynomials, by `tables`.
    #[must_use]
    pub fn mod_down_counts(&self, tables: &SwitchTables, columns: usize) -> SwitchCounts {
        cost::division_counts(&self.chain, &self.gadget, &tables.representation, tables.level(), columns)
    }

    /// Unit operations that are saved if a product of `columns` polynomials by `tables` shares one mod-down
    /// with a product by `other`, of the same ring.
    #[must_use]
    pub fn shared_mod_down_counts(
        &self,
        tables: &SwitchTables,
        other: &SwitchTables,
        columns: usize,
    ) -> SwitchCounts {
        let shared = (&other.representation.special, columns);
        cost::shared_mod_down_counts(
            &self.chain,
            &self.gadget,
            &tables.representation,
            tables.level(),
            shared,
        )
    }

    /// Decomposes `u` into digits, for keys of the chain's highest level. The digits can be multiplied with
    /// any number of keys.
    ///
    /// Cost with the hybrid method: `l` inverse transforms, then `d (l + k) - l` forward transforms, because
    /// the rows of a digit's own primes need none. With KLSS: `l` inverse and `d r'` forward transforms.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `u` is not over a level's basis; [`LatticeError::RingMismatch`].
    pub fn decompose<'a>(&self, u: impl Into<PolyRef<'a, Eval>>) -> Result<Digits, LatticeError> {
        let u = u.into();
        self.decompose_by(&self.tables(self.level_of(u)?)?, u)
    }

    /// [`Switcher::decompose`] with given tables. [`Switcher::tables_for_keys`] gives tables that several
    /// keys can share.
    pub fn decompose_by<'a>(
        &self,
        tables: &Arc<SwitchTables>,
        u: impl Into<PolyRef<'a, Eval>>,
    ) -> Result<Digits, LatticeError> {
        let u = u.into();
        self.check_inputs(tables, &[u])?;
        let coefficients = u.to_coeff();
        Ok(hybrid::decompose(tables, coefficients.rows(), Some(u.rows())))
    }

    /// [`Switcher::decompose`] from Coeff form. Cost: `d (l + k)` forward transforms, or `d r'`. [klss, sec.
    /// 4.2, 4.3, step 1]
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `u` is not over a level's basis; [`LatticeError::RingMismatch`].
    pub fn decompose_coeff<'a>(&self, u: impl Into<PolyRef<'a, Coeff>>) -> Result<Digits, LatticeError> {
        let u = u.into();
        Ok(hybrid::decompose(&self.tables(self.level_of(u)?)?, u.rows(), None))
    }

    /// `sum_{i,j} d_ij * key_ij` over the extended modulus `P Q_l`: `P` times the switched bundle, which can
    /// be added to others before one [`Switcher::mod_down`]. [klss, sec. 4.2, step 2]
    ///
    /// # Errors
    /// [`LatticeError::KeyInputs`], [`LatticeError::KeyLevelTooLow`], [`LatticeError::KeyGadget`] where the
    /// key does not fit.
    pub fn inner_product(&self, inputs: &[&Digits], key: &SwitchKey) -> Result<Extended, LatticeError> {
        let first = inputs.first().ok_or(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: 0 })?;
        let tables = first.tables();
        for digits in inputs {
            self.check_plan(&digits.tables)?;
            if digits.level() != tables.level() {
                return Err(LatticeError::BasisMismatch {
                    left: tables.extended().len(),
                    right: digits.tables.extended().len(),
                });
            }
            if digits.tables.representation != tables.representation {
                return Err(LatticeError::KeyGadget {
                    key_digits: digits.polys.len(),
                    digits: tables.digits.len(),
                });
            }
        }
        hybrid::inner_product(tables, inputs, &self.reading(tables, inputs.len(), key)?)
    }

    pub(super) fn reading(
        &self,
        tables: &Arc<SwitchTables>,
        inputs: usize,
        key: &SwitchKey,
    ) -> Result<hybrid::Reading, LatticeError> {
        hybrid::check_key(tables, inputs, key)?;
        tables.representation.check_headroom(inputs)?;
        hybrid::reading(tables, inputs, key, self.derived.get(&tables.representation, key)?)
    }

    /// Derives the representation of `key` for `level`, which the first switch would derive otherwise.
    /// Returns its bytes.
    pub fn derive(&self, level: Level, key: &SwitchKey) -> Result<usize, LatticeError> {
        let tables = self.tables_for(level, key.level())?;
        self.reading(&tables, key.inputs(), key)?;
        Ok(tables.representation.bytes_for(key.ring(), key.inputs(), key.columns()))
    }

    /// [`Switcher::decompose`] and [`Switcher::inner_product`] in one pass over the rows, for inputs that
    /// only one key switches. The result is the same bit for bit. Less memory is moved, because complete
    /// digits are never stored.
    ///
    /// # Errors
    /// As [`Switcher::decompose`] and [`Switcher::inner_product`]; [`LatticeError::BasisMismatch`] where the
    /// inputs differ in level.
    pub fn product<'a, P>(&self, inputs: &[P], key: &SwitchKey) -> Result<Extended, LatticeError>
    where
        P: Copy + Into<PolyRef<'a, Eval>>,
    {
        let inputs = views(inputs);
        let tables = self.tables_of(&inputs, key)?;
        self.product_by(&tables, &inputs, key)
    }

    /// [`Switcher::product`] with given tables.
    pub fn product_by<'a, P>(
        &self,
        tables: &Arc<SwitchTables>,
        inputs: &[P],
        key: &SwitchKey,
    ) -> Result<Extended, LatticeError>
    where
        P: Copy + Into<PolyRef<'a, Eval>>,
    {
        let inputs = views(inputs);
        self.check_inputs(tables, &inputs)?;
        let reading = self.reading(tables, inputs.len(), key)?;
        let coefficients: Vec<Poly<Coeff>> = inputs.iter().map(PolyRef::to_coeff).collect();
        let forms: Vec<GadgetInput<'_>> = coefficients
            .iter()
            .zip(&inputs)
            .map(|(c, u)| GadgetInput { coefficients: c.rows(), values: Some(u.rows()) })
            .collect();
        hybrid::product(tables, &forms, &reading)
    }

    /// [`Switcher::product`] from Coeff form, for results of a division in that form. [dpad-he, sec. 3.3.1,
    /// second stage]
    pub fn product_coeff<'a, P>(&self, inputs: &[P], key: &SwitchKey) -> Result<Extended, LatticeError>
    where
        P: Copy + Into<PolyRef<'a, Coeff>>,
    {
        let inputs = views(inputs);
        let tables = self.tables_of(&inputs, key)?;
        self.product_coeff_by(&tables, &inputs, key)
    }

    /// [`Switcher::product_coeff`] with given tables.
    pub fn product_coeff_by<'a, P>(
        &self,
        tables: &Arc<SwitchTables>,
        inputs: &[P],
        key: &SwitchKey,
    ) -> Result<Extended, LatticeError>
    where
        P: Copy + Into<PolyRef<'a, Coeff>>,
    {
        let inputs = views(inputs);
        self.check_inputs(tables, &inputs)?;
        let reading = self.reading(tables, inputs.len(), key)?;
        let forms: Vec<GadgetInput<'_>> =
            inputs.iter().map(|u| GadgetInput { coefficients: u.rows(), values: None }).collect();
        hybrid::product(tables, &forms, &reading)
    }

    /// Refuses tables of another chain or gadget.
    fn check_plan(&self, tables: &SwitchTables) -> Result<(), LatticeError> {
        if !self.chain.ring().same_as(tables.ring()) {
            return Err(LatticeError::RingMismatch {
                left: self.chain.ring().degree(),
                right: tables.ring().degree(),
            });
        }
        let level = tables.level().min(self.chain.max_level());
        // All tables of a chain have the chain's last special prime, so tables with another last prime belong
        // to another chain.
        let end = |basis: &Basis| basis.indices().last().copied();
        let same_chain = self.chain.basis(level) == *tables.basis()
            && end(&self.chain.special_basis()) == end(tables.extended());
        if !same_chain || tables.gadget != *self.gadget {
            return Err(LatticeError::KeyGadget {
                key_digits: tables.digits.len(),
                digits: self.gadget.digit_count(&self.chain, level),
            });
        }
        Ok(())
    }

    fn check_inputs<D: Domain>(
        &self,
        tables: &SwitchTables,
        inputs: &[PolyRef<'_, D>],
    ) -> Result<(), LatticeError> {
        self.check_plan(tables)?;
        for input in inputs {
            let level = self.level_of(*input)?;
            if level != tables.level() {
                return Err(LatticeError::BasisMismatch {
                    left: tables.basis().len(),
                    right: input.basis().len(),
                });
            }
        }
        Ok(())
    }

    /// The tables of the inputs' common level.
    fn tables_of<D: Domain>(
        &self,
        inputs: &[PolyRef<'_, D>],
        key: &SwitchKey,
    ) -> Result<Arc<SwitchTables>, LatticeError> {
        let first = inputs.first().ok_or(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: 0 })?;
        inputs.iter().try_for_each(|u| first.check_same_basis(*u))?;
        let level = self.level_of(*first)?;
        if inputs.len() != key.inputs() {
            return Err(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: inputs.len() });
        }
        self.tables_for_keys(level, &[key])
    }

    /// The tables of `level` for several keys: those of the policy's method, or, if the derived keys would
    /// exceed the budget or a key has more inputs than the switcher supports, the tables for generated keys.
    ///
    /// # Errors
    /// [`LatticeError::KeyLevelTooLow`]; as [`Switcher::tables`].
    pub fn tables_for_keys(
        &self,
        level: Level,
        keys: &[&SwitchKey],
    ) -> Result<Arc<SwitchTables>, LatticeError> {
        self.admitted_tables(level, keys, Purpose::Switch)
    }

    /// [`Switcher::tables_for_keys`] for the rotations of a linear transform.
    pub fn transform_tables_for_keys(
        &self,
        level: Level,
        keys: &[&SwitchKey],
    ) -> Result<Arc<SwitchTables>, LatticeError> {
        self.admitted_tables(level, keys, Purpose::Transform)
    }

    fn admitted_tables(
        &self,
        level: Level,
        keys: &[&SwitchKey],
        purpose: Purpose,
    ) -> Result<Arc<SwitchTables>, LatticeError> {
        let key_level = keys.iter().map(|key| key.level()).min().unwrap_or(level);
        let tables = self.tables_planned(level, key_level, purpose)?;
        for key in keys {
            hybrid::check_key(&tables, key.inputs(), key)?;
            if tables.representation.check_headroom(key.inputs()).is_err()
                || self.derived.admit(&tables.representation, key)?.is_none()
            {
                return self.tables_of_method(SwitchMethod::as_made(&self.chain), level, key_level);
            }
        }
        Ok(tables)
    }

    /// `round(x / P)` over the level's modulus. [klss, sec. 4.2, step 3]
    ///
    /// # Errors
    /// None for sums that this switcher computed.
    pub fn mod_down(&self, x: &Extended) -> Result<Bundle<Eval>, LatticeError> {
        x.divide(x.frame.mod_down())
    }

    /// `round(x / (P q_l))`: mod-down and rescale by the last step in one division.
    ///
    /// # Errors
    /// [`LatticeError::NoLevelLeft`] at level 0.
    pub fn mod_down_rescale(&self, x: &Extended) -> Result<Bundle<Eval>, LatticeError> {
        x.divide(x.frame.mod_down_rescale()?)
    }

    /// The complete switch in Eval form: decompose, inner product, mod-down.
    ///
    /// # Errors
    /// As [`Switcher::product`].
    pub fn switch<'a, P>(&self, inputs: &[P], key: &SwitchKey) -> Result<Bundle<Eval>, LatticeError>
    where
        P: Copy + Into<PolyRef<'a, Eval>>,
    {
        self.mod_down(&self.product(inputs, key)?)
    }

    /// The complete switch from and to Coeff form, the convention of [klss, sec. 4.2, 4.3]. Cost: `R d (l +
    /// k)` forward and `(k' + m') (l + k)` inverse transforms, or `R d r'` and `(k' + m') d~ r'`.
    ///
    /// # Errors
    /// As [`Switcher::product`].
    pub fn switch_coeff<'a, P>(&self, inputs: &[P], key: &SwitchKey) -> Result<Bundle<Coeff>, LatticeError>
    where
        P: Copy + Into<PolyRef<'a, Coeff>>,
    {
        let inputs = views(inputs);
        let tables = self.tables_of(&inputs, key)?;
        self.switch_coeff_by(&tables, &inputs, key)
    }

    /// [`Switcher::switch_coeff`] with given tables.
    pub fn switch_coeff_by<'a, P>(
        &self,
        tables: &Arc<SwitchTables>,
        inputs: &[P],
        key: &SwitchKey,
    ) -> Result<Bundle<Coeff>, LatticeError>
    where
        P: Copy + Into<PolyRef<'a, Coeff>>,
    {
        self.product_coeff_by(tables, inputs, key)?.to_coeff()?.divide(tables.frame.mod_down())
    }

    /// The division that ends a switch at `level`.
    ///
    /// # Errors
    /// [`LatticeError::LevelOutOfRange`].
    pub fn mod_down_division(&self, level: Level) -> Result<Division, LatticeError> {
        Ok(self.tables(level)?.frame.mod_down().clone())
    }
}
