//! The one switch: everything non-linear that happens to a bundle.
//!
//! It takes `R` polynomials `u_i` whose contribution to body `b`'s phase is `u_i * T[i][b]`, with `T` known only to the key's
//! owner, and returns a bundle under new secrets with the same contribution:
//!
//! ```text
//! b'_b + <a', s'_b>  ~  sum_i u_i * T[i][b]
//! ```
//!
//! | operation | R | T | result |
//! |---|---|---|---|
//! | relinearise at rank k | k(k+1)/2 | s_i s_j | rank k |
//! | rotate, conjugate | k | s_i, under phi^-1(s) | rank k |
//! | change of secret | k | old secret | new secret |
//! | cross-relinearise, to rank k^ > k | k(k+1)/2 | s_i s_j | s and s', of rank k^ |
//! | rank-down, rank-reduce | k^ - k | s'_i | rank k |
//! | many bodies | k | s_{b,i} | m bodies, one mask |
//!
//! Steps: decompose -> inner product -> mod-down. Each can be shared: one decomposition under many keys (hoisting), one mod-down
//! after many products. [`key`] is what the owner makes; [`choice`] says in how many ways a level can switch, [`plan`] what one of them
//! precomputes, [`forms`] what the evaluator derives from keys for it; [`engine`] runs it, [`decomposed`] has the steps that the
//! key-decomposed engine adds, [`extended`] is a result before its mod-down, [`policy`] chooses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_arith::GadgetInput;

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::modulus::Division;
use crate::poly::{Basis, Coeff, Domain, Eval, Poly};

pub mod choice;
pub mod cost;
mod decomposed;
mod engine;
pub mod extended;
pub mod forms;
pub mod frame;
pub mod key;
pub mod plan;
pub mod policy;

pub use choice::{KeyShape, SwitchChoice};
pub use cost::{KernelTimes, MachineProfile, SwitchCounts};
pub use engine::Digits;
pub use extended::Extended;
pub use forms::{FormCache, KeyForms};
pub use frame::Frame;
pub use key::{SecretMatrix, SwitchKey};
pub use plan::SwitchPlan;
pub use policy::{MapRow, Planner, SwitchMap, SwitchPolicy};

/// Bytes of derived keys that a switcher keeps unless told otherwise.
pub const DEFAULT_FORM_BYTES: usize = 6 << 30;

/// Switches bundles of one chain; holds what each level precomputes.
#[derive(Debug)]
pub struct Switcher {
    chain: Arc<Chain>,
    gadget: Arc<Gadget>,
    policy: SwitchPolicy,
    /// Inputs that one key has at most: the key-decomposed engine's auxiliary modulus is made for them.
    inputs: usize,
    forms: Arc<FormCache>,
    plans: Mutex<HashMap<PlanId, Arc<SwitchPlan>>>,
}

/// What names a plan: the level, how it switches, and the level of the keys it borrows primes from.
type PlanId = (Level, SwitchChoice, Level);

impl Switcher {
    /// A switcher for `chain` with the keys of `gadget`, used as they were made.
    ///
    /// # Errors
    /// [`LatticeError::NoSpecialPrimes`] where the chain cannot switch; [`LatticeError::BasisMismatch`] where the gadget was made for
    /// another chain.
    pub fn new(chain: Arc<Chain>, gadget: Arc<Gadget>) -> Result<Self, LatticeError> {
        let policy = SwitchPolicy::Fixed(SwitchChoice::as_made(&chain));
        Self::with_policy(chain, gadget, policy, 1, DEFAULT_FORM_BYTES)
    }

    /// A switcher that chooses by `policy`, for keys of at most `inputs` inputs, keeping at most `form_bytes` of derived keys.
    ///
    /// # Errors
    /// As [`Switcher::new`].
    pub fn with_policy(
        chain: Arc<Chain>,
        gadget: Arc<Gadget>,
        policy: SwitchPolicy,
        inputs: usize,
        form_bytes: usize,
    ) -> Result<Self, LatticeError> {
        if chain.special_basis().is_empty() {
            return Err(LatticeError::NoSpecialPrimes);
        }
        gadget.check_chain(&chain)?;
        Ok(Self { chain, gadget, policy, inputs: inputs.max(1), forms: Arc::new(FormCache::new(form_bytes)), plans: Mutex::default() })
    }

    /// The same, keeping derived keys in `forms` together with other switchers.
    #[must_use]
    pub fn sharing(self, forms: Arc<FormCache>) -> Self {
        Self { forms, ..self }
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

    /// How it chooses.
    #[must_use]
    pub fn policy(&self) -> &SwitchPolicy {
        &self.policy
    }

    /// What a planning policy chose for keys of level `reach`; nothing where the policy is fixed.
    #[must_use]
    pub fn map(&self, reach: Level) -> Option<Arc<SwitchMap>> {
        match &self.policy {
            SwitchPolicy::Fixed(_) => None,
            SwitchPolicy::Planned(planner) => Some(planner.map(&self.chain, &self.gadget, reach, self.inputs)),
        }
    }

    /// The keys derived so far.
    #[must_use]
    pub fn forms(&self) -> &FormCache {
        &self.forms
    }

    /// The plan of `level` for keys of the chain's highest level.
    ///
    /// # Errors
    /// [`LatticeError::LevelOutOfRange`]; where the policy's choice does not fit the level, as [`KeyShape`] says.
    pub fn plan(&self, level: Level) -> Result<Arc<SwitchPlan>, LatticeError> {
        self.plan_for(level, self.chain.max_level())
    }

    /// The plan of `level` for keys of level `reach`: it borrows the primes of steps above `level` that those keys have.
    ///
    /// # Errors
    /// As [`Switcher::plan`]; [`LatticeError::KeyLevelTooLow`].
    pub fn plan_for(&self, level: Level, reach: Level) -> Result<Arc<SwitchPlan>, LatticeError> {
        self.check_levels(level, reach)?;
        let choice = self.policy.choose(&self.chain, &self.gadget, level, reach, self.inputs);
        self.plan_of_choice(choice, level, reach)
    }

    /// The plan of one choice, whatever the policy: for tests and benchmarks.
    ///
    /// # Errors
    /// As [`Switcher::plan_for`].
    pub fn plan_of_choice(&self, choice: SwitchChoice, level: Level, reach: Level) -> Result<Arc<SwitchPlan>, LatticeError> {
        self.check_levels(level, reach)?;
        let id = (level, choice, reach);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&id) {
            return Ok(plan.clone());
        }
        let shape = self.shape(choice, level, reach)?;
        let plan = Arc::new(SwitchPlan::new(&self.chain, &self.gadget, level, &Arc::new(shape))?);
        plans.insert(id, plan.clone());
        Ok(plan)
    }

    fn check_levels(&self, level: Level, reach: Level) -> Result<(), LatticeError> {
        self.chain.check_level(level)?;
        self.chain.check_level(reach)?;
        if level > reach {
            return Err(LatticeError::KeyLevelTooLow { key_level: reach.0, level: level.0 });
        }
        Ok(())
    }

    /// The shape of keys for `choice` at `level`: that of the highest level which can make the choice and does, so that all below share it.
    fn shape(&self, choice: SwitchChoice, level: Level, reach: Level) -> Result<KeyShape, LatticeError> {
        let fixed = matches!(self.policy, SwitchPolicy::Fixed(_));
        let chosen = |l: Level| fixed || self.policy.choose(&self.chain, &self.gadget, l, reach, self.inputs) == choice;
        let at = |l: Level| KeyShape::new(&self.chain, &self.gadget, choice, l, reach, self.inputs);
        let above = (level.0 + 1..=reach.0).rev().map(Level).filter(|&l| chosen(l)).find_map(|l| at(l).ok());
        above.map_or_else(|| at(level), Ok)
    }

    /// The level that `x` is at.
    fn level_of<D: Domain>(&self, x: &Poly<D>) -> Result<Level, LatticeError> {
        if !self.chain.ring().same_as(x.ring()) {
            return Err(LatticeError::RingMismatch { left: self.chain.ring().degree(), right: x.ring().degree() });
        }
        let (basis, max) = (x.basis(), self.chain.max_level());
        self.chain.level_of(basis).ok_or(LatticeError::BasisMismatch { left: basis.len(), right: self.chain.basis(max).len() })
    }

    /// Unit operations of one switch by `plan`, of `inputs` polynomials to `columns` (rank and bodies): what a planner's times come from.
    #[must_use]
    pub fn counts(&self, plan: &SwitchPlan, inputs: usize, columns: usize) -> SwitchCounts {
        cost::counts(&self.chain, &self.gadget, &plan.shape, plan.level(), inputs, columns)
    }

    /// Decomposes `u` for keys of the chain's highest level; reuse the digits under as many keys as there are.
    ///
    /// Cost with the hybrid engine: `l` inverse transforms, then `d (l + k) - l` forward ones: a digit's own rows need none. With the key-decomposed one:
    /// `l` inverse, `d r'` forward.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `u` is not over a level's basis; [`LatticeError::RingMismatch`].
    pub fn decompose(&self, u: &Poly<Eval>) -> Result<Digits, LatticeError> {
        self.decompose_by(&self.plan(self.level_of(u)?)?, u)
    }

    /// As [`Switcher::decompose`], by a plan of the caller's choice: [`Switcher::plan_for_keys`] finds the one that a set of keys shares.
    ///
    /// # Errors
    /// As [`Switcher::decompose`].
    pub fn decompose_by(&self, plan: &Arc<SwitchPlan>, u: &Poly<Eval>) -> Result<Digits, LatticeError> {
        self.check_inputs(plan, &[u])?;
        let coefficients = u.to_coeff();
        Ok(engine::decompose(plan, coefficients.data(), Some(u.data())))
    }

    /// As [`Switcher::decompose`], from Coeff form. Cost: `d (l + k)` forward transforms, or `d r'`. [klss, sec. 4.2, 4.3, step 1]
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `u` is not over a level's basis; [`LatticeError::RingMismatch`].
    pub fn decompose_coeff(&self, u: &Poly<Coeff>) -> Result<Digits, LatticeError> {
        Ok(engine::decompose(&self.plan(self.level_of(u)?)?, u.data(), None))
    }

    /// `sum_{i,j} d_ij * key_ij` over the extended modulus `P Q_l`: `P` times the switched bundle, to be added up with others
    /// before one [`Switcher::mod_down`]. [klss, sec. 4.2, step 2]
    ///
    /// # Errors
    /// [`LatticeError::KeyInputs`], [`LatticeError::KeyLevelTooLow`], [`LatticeError::KeyGadget`] where the key does not fit.
    pub fn inner_product(&self, inputs: &[&Digits], key: &SwitchKey) -> Result<Extended, LatticeError> {
        let first = inputs.first().ok_or(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: 0 })?;
        let plan = first.plan();
        for digits in inputs {
            self.check_plan(&digits.plan)?;
            if digits.level() != plan.level() {
                return Err(LatticeError::BasisMismatch { left: plan.extended().len(), right: digits.plan.extended().len() });
            }
            if digits.plan.shape != plan.shape {
                return Err(LatticeError::KeyGadget { key_digits: digits.polys.len(), digits: plan.digits.len() });
            }
        }
        engine::inner_product(plan, inputs, &self.reading(plan, inputs.len(), key)?)
    }

    fn reading(&self, plan: &Arc<SwitchPlan>, inputs: usize, key: &SwitchKey) -> Result<engine::Reading, LatticeError> {
        engine::check_key(plan, inputs, key)?;
        plan.shape.check_room(inputs)?;
        engine::reading(plan, inputs, key, self.forms.get(&plan.shape, key)?)
    }

    /// Derives now what a switch at `level` would derive from `key` on first use; tells the bytes it takes.
    ///
    /// # Errors
    /// As [`Switcher::inner_product`].
    pub fn prepare(&self, level: Level, key: &SwitchKey) -> Result<usize, LatticeError> {
        let plan = self.plan_for(level, key.level())?;
        self.reading(&plan, key.inputs(), key)?;
        Ok(plan.shape.bytes(key))
    }

    /// [`Switcher::decompose`] and [`Switcher::inner_product`] in one pass over the extended rows: for inputs that one key alone
    /// switches. The same result bit for bit; the digits never exist as a whole, so it moves less memory.
    ///
    /// # Errors
    /// As the two; [`LatticeError::BasisMismatch`] where the inputs differ in level.
    pub fn product(&self, inputs: &[&Poly<Eval>], key: &SwitchKey) -> Result<Extended, LatticeError> {
        let plan = self.plan_of(inputs, key)?;
        self.product_by(&plan, inputs, key)
    }

    /// As [`Switcher::product`], by a plan of the caller's choice.
    ///
    /// # Errors
    /// As [`Switcher::product`].
    pub fn product_by(&self, plan: &Arc<SwitchPlan>, inputs: &[&Poly<Eval>], key: &SwitchKey) -> Result<Extended, LatticeError> {
        self.check_inputs(plan, inputs)?;
        let reading = self.reading(plan, inputs.len(), key)?;
        let coefficients: Vec<Poly<Coeff>> = inputs.iter().map(|&u| u.to_coeff()).collect();
        let forms: Vec<GadgetInput<'_>> =
            coefficients.iter().zip(inputs).map(|(c, u)| GadgetInput { coefficients: c.data(), values: Some(u.data()) }).collect();
        engine::product(plan, &forms, &reading)
    }

    /// As [`Switcher::product`], from Coeff form: where what is to be decomposed was just divided there. [dpad-he, sec. 3.3.1, second stage]
    ///
    /// # Errors
    /// As [`Switcher::product`].
    pub fn product_coeff(&self, inputs: &[&Poly<Coeff>], key: &SwitchKey) -> Result<Extended, LatticeError> {
        let plan = self.plan_of(inputs, key)?;
        self.product_coeff_by(&plan, inputs, key)
    }

    /// As [`Switcher::product_coeff`], by a plan of the caller's choice.
    ///
    /// # Errors
    /// As [`Switcher::product`].
    pub fn product_coeff_by(&self, plan: &Arc<SwitchPlan>, inputs: &[&Poly<Coeff>], key: &SwitchKey) -> Result<Extended, LatticeError> {
        self.check_inputs(plan, inputs)?;
        let reading = self.reading(plan, inputs.len(), key)?;
        let forms: Vec<GadgetInput<'_>> = inputs.iter().map(|u| GadgetInput { coefficients: u.data(), values: None }).collect();
        engine::product(plan, &forms, &reading)
    }

    /// Refuses plans of another chain or gadget.
    fn check_plan(&self, plan: &SwitchPlan) -> Result<(), LatticeError> {
        if !self.chain.ring().same_as(plan.ring()) {
            return Err(LatticeError::RingMismatch { left: self.chain.ring().degree(), right: plan.ring().degree() });
        }
        let level = plan.level().min(self.chain.max_level());
        // The whole modulus ends with the special primes, and every plan has the last of them.
        let end = |basis: &Basis| basis.indices().last().copied();
        let same_chain = self.chain.basis(level) == *plan.basis() && end(&self.chain.special_basis()) == end(plan.extended());
        if !same_chain || plan.gadget != *self.gadget {
            return Err(LatticeError::KeyGadget { key_digits: plan.digits.len(), digits: self.gadget.digit_count(&self.chain, level) });
        }
        Ok(())
    }

    fn check_inputs<D: Domain>(&self, plan: &SwitchPlan, inputs: &[&Poly<D>]) -> Result<(), LatticeError> {
        self.check_plan(plan)?;
        for input in inputs {
            let level = self.level_of(input)?;
            if level != plan.level() {
                return Err(LatticeError::BasisMismatch { left: plan.basis().len(), right: input.basis().len() });
            }
        }
        Ok(())
    }

    /// The plan of the inputs' common level.
    fn plan_of<D: Domain>(&self, inputs: &[&Poly<D>], key: &SwitchKey) -> Result<Arc<SwitchPlan>, LatticeError> {
        let first = inputs.first().ok_or(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: 0 })?;
        inputs.iter().try_for_each(|u| first.check_same_basis(u))?;
        let level = self.level_of(first)?;
        if inputs.len() != key.inputs() {
            return Err(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: inputs.len() });
        }
        self.plan_for_keys(level, &[key])
    }

    /// The plan of `level` that all `keys` serve: the policy's, or, where keys derived for it would not fit the budget or have more
    /// inputs than this switcher is made for, the keys as they were made.
    ///
    /// # Errors
    /// [`LatticeError::KeyLevelTooLow`]; as [`Switcher::plan`].
    pub fn plan_for_keys(&self, level: Level, keys: &[&SwitchKey]) -> Result<Arc<SwitchPlan>, LatticeError> {
        let reach = keys.iter().map(|key| key.level()).min().unwrap_or(level);
        let plan = self.plan_for(level, reach)?;
        for key in keys {
            engine::check_key(&plan, key.inputs(), key)?;
            if plan.shape.check_room(key.inputs()).is_err() || self.forms.admit(&plan.shape, key)?.is_none() {
                return self.plan_of_choice(SwitchChoice::as_made(&self.chain), level, reach);
            }
        }
        Ok(plan)
    }

    /// `round(x / P)`: from the extended modulus back to the level's. [klss, sec. 4.2, step 3]
    ///
    /// # Errors
    /// None for what this switcher made.
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

    /// The whole switch in Eval form: decompose, inner product, mod-down.
    ///
    /// # Errors
    /// As its steps.
    pub fn switch(&self, inputs: &[&Poly<Eval>], key: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
        self.mod_down(&self.product(inputs, key)?)
    }

    /// The whole switch from and to Coeff form, the convention of [klss, sec. 4.2, 4.3]. Cost: `R d (l + k)` forward and
    /// `(k' + m') (l + k)` inverse transforms, or `R d r'` and `(k' + m') d~ r'`.
    ///
    /// # Errors
    /// As its steps.
    pub fn switch_coeff(&self, inputs: &[&Poly<Coeff>], key: &SwitchKey) -> Result<Bundle<Coeff>, LatticeError> {
        let plan = self.plan_of(inputs, key)?;
        self.switch_coeff_by(&plan, inputs, key)
    }

    /// As [`Switcher::switch_coeff`], by a plan of the caller's choice.
    ///
    /// # Errors
    /// As [`Switcher::switch_coeff`].
    pub fn switch_coeff_by(&self, plan: &Arc<SwitchPlan>, inputs: &[&Poly<Coeff>], key: &SwitchKey) -> Result<Bundle<Coeff>, LatticeError> {
        self.product_coeff_by(plan, inputs, key)?.to_coeff()?.divide(plan.frame.mod_down())
    }

    /// The division that ends a switch at `level`.
    ///
    /// # Errors
    /// [`LatticeError::LevelOutOfRange`].
    pub fn mod_down_division(&self, level: Level) -> Result<Division, LatticeError> {
        Ok(self.plan(level)?.frame.mod_down().clone())
    }
}
