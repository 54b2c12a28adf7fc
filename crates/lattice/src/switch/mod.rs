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
//! | change of secret, rank-down | k | old secret | new secret |
//! | many bodies | k | s_{b,i} | m bodies, one mask |
//!
//! Steps: decompose -> inner product -> mod-down. Each can be shared: one decomposition under many keys (hoisting), one mod-down
//! after many products. [`key`] is what the owner makes, [`plan`] what a level precomputes, [`hybrid`] the engine.

use std::sync::{Arc, OnceLock};

use clathrate_arith::GadgetInput;

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::modulus::Division;
use crate::poly::{Coeff, Domain, Eval, Poly};

mod hybrid;
pub mod key;
pub mod plan;

pub use hybrid::Digits;
pub use key::{SecretMatrix, SwitchKey};
pub use plan::SwitchPlan;

/// Switches bundles of one chain; holds what each level precomputes.
#[derive(Debug)]
pub struct Switcher {
    chain: Arc<Chain>,
    gadget: Arc<Gadget>,
    plans: Vec<OnceLock<Result<Arc<SwitchPlan>, LatticeError>>>,
}

impl Switcher {
    /// A switcher for `chain` with the keys of `gadget`.
    ///
    /// # Errors
    /// [`LatticeError::NoSpecialPrimes`] where the chain cannot switch; [`LatticeError::BasisMismatch`] where the gadget was made for
    /// another chain.
    pub fn new(chain: Arc<Chain>, gadget: Arc<Gadget>) -> Result<Self, LatticeError> {
        if chain.special_basis().is_empty() {
            return Err(LatticeError::NoSpecialPrimes);
        }
        gadget.check_chain(&chain)?;
        let plans = (0..=chain.max_level().0).map(|_| OnceLock::new()).collect();
        Ok(Self { chain, gadget, plans })
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

    /// What `level` precomputes, made on first use.
    ///
    /// # Errors
    /// [`LatticeError::LevelOutOfRange`].
    pub fn plan(&self, level: Level) -> Result<Arc<SwitchPlan>, LatticeError> {
        self.chain.check_level(level)?;
        self.plans[level.0].get_or_init(|| SwitchPlan::new(&self.chain, &self.gadget, level).map(Arc::new)).clone()
    }

    /// The level that `x` is at.
    fn level_of<D: Domain>(&self, x: &Poly<D>) -> Result<Level, LatticeError> {
        if !self.chain.ring().same_as(x.ring()) {
            return Err(LatticeError::RingMismatch { left: self.chain.ring().degree(), right: x.ring().degree() });
        }
        let (basis, max) = (x.basis(), self.chain.max_level());
        self.chain.level_of(basis).ok_or(LatticeError::BasisMismatch { left: basis.len(), right: self.chain.basis(max).len() })
    }

    /// Decomposes `u` for switching; reuse the digits under as many keys as there are.
    ///
    /// Cost: `l` inverse transforms, then `d (l + k) - l` forward ones: a digit's own rows need none.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `u` is not over a level's basis; [`LatticeError::RingMismatch`].
    pub fn decompose(&self, u: &Poly<Eval>) -> Result<Digits, LatticeError> {
        Ok(hybrid::decompose(&*self.plan(self.level_of(u)?)?, u))
    }

    /// As [`Switcher::decompose`], from Coeff form. Cost: `d (l + k)` forward transforms. [klss, sec. 4.2, step 1]
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `u` is not over a level's basis; [`LatticeError::RingMismatch`].
    pub fn decompose_coeff(&self, u: &Poly<Coeff>) -> Result<Digits, LatticeError> {
        Ok(hybrid::decompose_coeff(&*self.plan(self.level_of(u)?)?, u))
    }

    /// `sum_{i,j} d_ij * key_ij` over the extended modulus `P Q_l`: `P` times the switched bundle, to be added up with others
    /// before one [`Switcher::mod_down`]. [klss, sec. 4.2, step 2]
    ///
    /// # Errors
    /// [`LatticeError::KeyInputs`], [`LatticeError::KeyLevelTooLow`], [`LatticeError::KeyGadget`] where the key does not fit.
    pub fn inner_product(&self, inputs: &[&Digits], key: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
        let first = inputs.first().ok_or(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: 0 })?;
        hybrid::inner_product(&*self.plan(first.level)?, inputs, key)
    }

    /// [`Switcher::decompose`] and [`Switcher::inner_product`] in one pass over the extended rows: for inputs that one key alone
    /// switches. The same result bit for bit; the digits never exist as a whole, so it moves less memory.
    ///
    /// # Errors
    /// As the two; [`LatticeError::BasisMismatch`] where the inputs differ in level.
    pub fn product(&self, inputs: &[&Poly<Eval>], key: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
        let plan = self.plan_of(inputs, key)?;
        let coefficients: Vec<Poly<Coeff>> = inputs.iter().map(|&u| u.clone().into_coeff()).collect();
        let forms: Vec<GadgetInput<'_>> =
            coefficients.iter().zip(inputs).map(|(c, u)| GadgetInput { coefficients: c.data(), values: Some(u.data()) }).collect();
        hybrid::product(&plan, &forms, key)
    }

    /// The plan of the inputs' common level.
    fn plan_of<D: Domain>(&self, inputs: &[&Poly<D>], key: &SwitchKey) -> Result<Arc<SwitchPlan>, LatticeError> {
        let first = inputs.first().ok_or(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: 0 })?;
        inputs.iter().try_for_each(|u| first.check_same_basis(u))?;
        self.plan(self.level_of(first)?)
    }

    /// `round(x / P)`: from the extended modulus back to the level's. [klss, sec. 4.2, step 3]
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` is not over an extended basis of `level`.
    pub fn mod_down(&self, level: Level, x: &Bundle<Eval>) -> Result<Bundle<Eval>, LatticeError> {
        x.divide(self.plan(level)?.mod_down())
    }

    /// `round(x / (P q_l))`: mod-down and rescale by the last step in one division.
    ///
    /// # Errors
    /// [`LatticeError::NoLevelLeft`] at level 0; [`LatticeError::BasisMismatch`].
    pub fn mod_down_rescale(&self, level: Level, x: &Bundle<Eval>) -> Result<Bundle<Eval>, LatticeError> {
        x.divide(self.plan(level)?.mod_down_rescale()?)
    }

    /// `sum + P * x` over the extended modulus: lets a term that needs no switch join a sum before its mod-down.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` is not over a level's basis, or `sum` not over that level's extended basis.
    pub fn add_lifted(&self, sum: &mut Poly<Eval>, x: &Poly<Eval>) -> Result<(), LatticeError> {
        let plan = self.plan(self.level_of(x)?)?;
        if !sum.ring().same_as(x.ring()) || sum.basis() != plan.extended() {
            return Err(LatticeError::BasisMismatch { left: sum.basis().len(), right: plan.extended().len() });
        }
        hybrid::add_lifted(&plan, sum, x);
        Ok(())
    }

    /// The whole switch in Eval form: decompose, inner product, mod-down.
    ///
    /// # Errors
    /// As its steps.
    pub fn switch(&self, inputs: &[&Poly<Eval>], key: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
        self.product(inputs, key)?.divide(self.plan_of(inputs, key)?.mod_down())
    }

    /// The whole switch from and to Coeff form, the convention of [klss, sec. 4.2]. Cost: `R d (l + k)` forward and
    /// `(k' + m') (l + k)` inverse transforms.
    ///
    /// # Errors
    /// As its steps.
    pub fn switch_coeff(&self, inputs: &[&Poly<Coeff>], key: &SwitchKey) -> Result<Bundle<Coeff>, LatticeError> {
        let plan = self.plan_of(inputs, key)?;
        let forms: Vec<GadgetInput<'_>> = inputs.iter().map(|u| GadgetInput { coefficients: u.data(), values: None }).collect();
        hybrid::product(&plan, &forms, key)?.into_coeff().divide(plan.mod_down())
    }

    /// The division that ends a switch at `level`.
    ///
    /// # Errors
    /// [`LatticeError::LevelOutOfRange`].
    pub fn mod_down_division(&self, level: Level) -> Result<Division, LatticeError> {
        Ok(self.plan(level)?.mod_down().clone())
    }
}
