//! The tables that one level precomputes for one switching method: the base conversions of its digits, and
//! its moduli.

use std::sync::Arc;

use clathrate_arith::{DigitExtension, Rounding};

use super::frame::Frame;
use super::klss::Recombination;
use super::method::SwitchMethod;
use super::representation::KeyRepresentation;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::noise::{NoiseDigit, NoiseDigits};
use crate::poly::Basis;
use crate::ring::Ring;

/// Precomputed tables of one method at one level.
#[derive(Debug)]
pub struct SwitchTables {
    pub(super) gadget: Gadget,
    pub(super) representation: Arc<KeyRepresentation>,
    /// The level, its modulus and its extended modulus.
    pub(super) frame: Arc<Frame>,
    /// The primes over which digits and keys are multiplied: those of the extended modulus (hybrid) or the
    /// auxiliary primes (KLSS).
    pub(super) product_basis: Basis,
    pub(super) digits: Vec<DigitExtension>,
    /// Converts products over the auxiliary primes to the extended basis; only for the KLSS method.
    pub(super) recombination: Option<Recombination>,
}

impl SwitchTables {
    /// The tables of `level` for keys in `representation`.
    pub(super) fn new(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        representation: &Arc<KeyRepresentation>,
    ) -> Result<Self, LatticeError> {
        let ring = chain.ring().clone();
        let (basis, special) = (chain.basis(level), representation.special.clone());
        let extended = basis.join(&special);
        let product_basis =
            representation.klss.as_ref().map_or_else(|| extended.clone(), |digits| digits.auxiliary.clone());
        let mut digits = Vec::new();
        for run in &representation.runs {
            // Each prime of a merged digit is scaled by the inverse cofactor of its own base digit, because
            // the merged key component is the sum of the components of the base digits.
            let members = run
                .clone()
                .flat_map(|digit| gadget.digits()[digit].indices().iter().map(move |&i| (digit, i)));
            let own: Vec<(usize, usize)> = members.filter(|&(_, i)| basis.row_of(i).is_some()).collect();
            let Some(first) = own.first().and_then(|&(_, i)| basis.row_of(i)) else { break };
            let constants: Vec<u64> =
                own.iter().map(|&(digit, i)| gadget.inverse_constant(chain, i, digit, &special)).collect();
            let own: Vec<usize> = own.into_iter().map(|(_, i)| i).collect();
            let targets: Vec<usize> =
                product_basis.indices().iter().copied().filter(|i| !own.contains(i)).collect();
            let conversion = ring
                .engine()
                .base_conversion(&own, &targets, &constants, Rounding::Centred)
                .ok_or(LatticeError::BasisMismatch { left: own.len(), right: targets.len() })?;
            digits.push(if representation.klss.is_some() {
                DigitExtension::foreign(first, conversion)
            } else {
                DigitExtension::new(first, constants, conversion, extended.len())
            });
        }
        let recombination =
            representation.klss.as_ref().map(|key| Recombination::new(&ring, key, &extended)).transpose()?;
        let frame = Arc::new(Frame::new(chain, level, special)?);
        Ok(Self {
            gadget: gadget.clone(),
            representation: representation.clone(),
            frame,
            product_basis,
            digits,
            recombination,
        })
    }

    /// The level, its modulus and its extended modulus.
    #[must_use]
    pub fn frame(&self) -> &Arc<Frame> {
        &self.frame
    }

    /// The level.
    #[must_use]
    pub fn level(&self) -> Level {
        self.frame.level()
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> SwitchMethod {
        self.representation.method
    }

    /// Number of digits at this level: `d`.
    #[must_use]
    pub fn digit_count(&self) -> usize {
        self.digits.len()
    }

    /// Number of key digits that this level uses, `d~`, and of auxiliary primes, `r'`; only for the KLSS
    /// method.
    #[must_use]
    pub fn key_digits(&self) -> Option<(usize, usize)> {
        self.recombination
            .as_ref()
            .map(|recombination| (recombination.groups().len(), self.product_basis.len()))
    }

    /// Bytes of the key that these tables derive from a generated key with `inputs` inputs and `columns`
    /// polynomials in each entry; 0 where the generated key is used unchanged.
    #[must_use]
    pub fn derived_bytes(&self, inputs: usize, columns: usize) -> usize {
        self.representation.bytes_for(self.ring(), inputs, columns)
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        self.frame.ring()
    }

    /// The level's ciphertext primes.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        self.frame.basis()
    }

    /// The special primes.
    #[must_use]
    pub fn special(&self) -> &Basis {
        &self.representation.special
    }

    /// Ciphertext primes, then special primes.
    #[must_use]
    pub fn extended(&self) -> &Basis {
        self.frame.extended()
    }

    /// Bits of each digit, truncated to the level's primes.
    #[must_use]
    pub fn log2_digits(&self) -> Vec<f64> {
        self.digits
            .iter()
            .map(|digit| Basis::new(digit.conversion().sources().iter().copied()).log2(self.ring()))
            .collect()
    }

    /// The digits of the noise formulas: the size of each is truncated to the level's primes. Components of
    /// primes above the level count too: their messages vanish at this level, but their errors do not.
    #[must_use]
    pub fn noise_digits(&self) -> NoiseDigits {
        let runs = self.representation.runs.iter().map(ExactSizeIterator::len);
        let digits = self
            .log2_digits()
            .into_iter()
            .zip(runs)
            .map(|(log2_size, components)| NoiseDigit { log2_size, components });
        NoiseDigits { digits: digits.collect(), log2_special: self.log2_special() }
    }

    /// Bits of the special modulus.
    #[must_use]
    pub fn log2_special(&self) -> f64 {
        self.special().log2(self.ring())
    }
}
