//! What one level precomputes for switching: its digits' conversions and its divisions.

use std::sync::OnceLock;

use clathrate_arith::{BaseConversion, DigitExtension, Rounding};

use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::modulus::Division;
use crate::poly::Basis;
use crate::ring::Ring;

/// The switch at one level: ciphertext primes, special primes, digits.
#[derive(Debug)]
pub struct SwitchPlan {
    pub(super) ring: Ring,
    pub(super) gadget: Gadget,
    pub(super) level: Level,
    pub(super) basis: Basis,
    pub(super) extended: Basis,
    pub(super) digits: Vec<DigitExtension>,
    /// `P` modulo the level's primes.
    pub(super) special_product: Vec<u64>,
    mod_down: Division,
    rescale_divisors: Option<(Basis, Basis)>,
    mod_down_rescale: OnceLock<Result<Division, LatticeError>>,
}

impl SwitchPlan {
    /// The plan of `level` with the chain's special primes.
    pub(super) fn new(chain: &Chain, gadget: &Gadget, level: Level) -> Result<Self, LatticeError> {
        let ring = chain.ring().clone();
        let moduli = ring.moduli();
        let (basis, special) = (chain.basis(level), chain.special_basis());
        let extended = basis.join(&special);
        let mut digits = Vec::new();
        for (digit, primes) in gadget.digits().iter().enumerate() {
            let own: Vec<usize> = primes.indices().iter().copied().filter(|&i| basis.row_of(i).is_some()).collect();
            let Some(first) = own.first().and_then(|&i| basis.row_of(i)) else { break };
            let constants: Vec<u64> = own.iter().map(|&i| gadget.inverse_constant(chain, i, digit, &special)).collect();
            let target_primes: Vec<usize> = extended.indices().iter().copied().filter(|i| !own.contains(i)).collect();
            let conversion = BaseConversion::new(moduli, &own, &target_primes, &constants, Rounding::Centred)
                .ok_or(LatticeError::BasisMismatch { left: own.len(), right: target_primes.len() })?;
            digits.push(DigitExtension::new(first, constants, conversion, extended.len()));
        }
        let special_product = basis
            .indices()
            .iter()
            .map(|&i| special.indices().iter().fold(1, |product, &p| moduli[i].mul(product, moduli[p].value())))
            .collect();
        let mod_down = Division::new(&ring, &special, &basis)?;
        let rescale_divisors =
            level.0.checked_sub(1).map(|below| (Basis::new(chain.step(level)).join(&special), chain.basis(Level(below))));
        Ok(Self {
            ring,
            gadget: gadget.clone(),
            level,
            basis,
            extended,
            digits,
            special_product,
            mod_down,
            rescale_divisors,
            mod_down_rescale: OnceLock::new(),
        })
    }

    /// The level.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Number of digits at this level.
    #[must_use]
    pub fn digit_count(&self) -> usize {
        self.digits.len()
    }

    /// Ciphertext primes, then special primes.
    #[must_use]
    pub fn extended(&self) -> &Basis {
        &self.extended
    }

    /// Division by the special modulus.
    #[must_use]
    pub fn mod_down(&self) -> &Division {
        &self.mod_down
    }

    /// Division by the special modulus and the last step together.
    ///
    /// # Errors
    /// [`LatticeError::NoLevelLeft`] at level 0.
    pub fn mod_down_rescale(&self) -> Result<&Division, LatticeError> {
        let made = self.mod_down_rescale.get_or_init(|| {
            let (divisors, kept) = self.rescale_divisors.as_ref().ok_or(LatticeError::NoLevelLeft)?;
            Division::new(&self.ring, divisors, kept)
        });
        made.as_ref().map_err(Clone::clone)
    }
}
