//! The constants and factors of an engine in the device's memory.

use std::sync::Arc;

use clathrate_arith::kernels::scalar::{RootPowers, Roots};
use clathrate_arith::{ArithError, BaseConversion, Modulus, Rounding};

use crate::device::{Butterflies, Device};
use crate::memory::Allocation;

/// Words of one modulus; `struct Modulus` of `kernels/modular.cuh`.
const MODULUS_WORDS: usize = 10;

/// The bits below which a modulus can have butterflies of doubles, and of words of 32 bits;
/// `kernels/butterflies.cuh`.
const DOUBLE_BITS: u32 = 50;
const SHORT_BITS: u32 = 30;

/// The arithmetic of a modulus's butterflies, by its number in `kernels/modular.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    /// Words of 64 bits.
    Words = 0,
    /// Doubles.
    Doubles = 1,
    /// Words of 32 bits.
    ShortWords = 2,
}

impl Arithmetic {
    /// The arithmetic for the transforms of a modulus on a device.
    pub(super) fn of(modulus: &Modulus, device: Butterflies) -> Self {
        let below = |bits: u32| modulus.value() >> bits == 0;
        match () {
            () if device.short_words && below(SHORT_BITS) => Self::ShortWords,
            () if device.doubles && below(DOUBLE_BITS) => Self::Doubles,
            () => Self::Words,
        }
    }

    /// A power of a root in the form that the butterflies read; `None` for words of 64 bits, which read a
    /// value and its quotient.
    fn factor(self, power: u64, modulus: &Modulus) -> Option<u64> {
        match self {
            Self::Words => None,
            Self::Doubles => Some((power as f64).to_bits()),
            Self::ShortWords => Some(((power << 32) / modulus.value()) << 32 | power),
        }
    }
}

/// The table of moduli, and the factors of their transforms.
#[derive(Debug)]
pub(super) struct Tables {
    moduli: Allocation,
    /// The factors to which the addresses in the table point.
    _factors: Vec<Allocation>,
}

impl Tables {
    pub(super) fn new(
        device: &Arc<dyn Device>,
        moduli: &[Modulus],
        degree: usize,
    ) -> Result<Self, ArithError> {
        let mut words = Vec::with_capacity(moduli.len() * MODULUS_WORDS);
        let mut factors = Vec::with_capacity(2 * moduli.len());
        for modulus in moduli {
            let roots = RootPowers::new(&Roots::new(*modulus, degree)?);
            let pairs = |powers: &[u64]| -> Vec<u64> {
                let pair = |&power: &u64| {
                    let factor = modulus.multiplier(power);
                    [factor.value, factor.quotient]
                };
                powers.iter().flat_map(pair).collect()
            };
            let (forward, inverse) = (
                Allocation::of(device, &pairs(&roots.forward)),
                Allocation::of(device, &pairs(&roots.inverse)),
            );
            let (high, low) = modulus.barrett();
            let scale = modulus.multiplier(roots.inverse_degree);
            words.extend([
                modulus.value(),
                high,
                low,
                forward.address(),
                inverse.address(),
                scale.value,
                scale.quotient,
            ]);
            factors.extend([forward, inverse]);
            let arithmetic = Arithmetic::of(modulus, device.butterflies());
            words.push(arithmetic as u64);
            for powers in [&roots.forward, &roots.inverse] {
                let own: Option<Vec<u64>> =
                    powers.iter().map(|&power| arithmetic.factor(power, modulus)).collect();
                let own = own.map(|own| Allocation::of(device, &own));
                words.push(own.as_ref().map_or(0, Allocation::address));
                factors.extend(own);
            }
        }
        Ok(Self { moduli: Allocation::of(device, &words), _factors: factors })
    }

    /// The address of the table of moduli.
    pub(super) fn address(&self) -> u64 {
        self.moduli.address()
    }
}

/// The tables of a conversion in the layout of `kernels/conversion.cuh`.
pub(super) fn conversion_tables(conversion: &BaseConversion, moduli: &[Modulus]) -> Vec<u64> {
    let (sources, targets) = (conversion.sources(), conversion.targets());
    let centred = conversion.rounding() == Rounding::Centred;
    let mut words = vec![sources.len() as u64, targets.len() as u64, u64::from(centred), 0];
    for (&source, factor) in sources.iter().zip(conversion.prepare_factors()) {
        let factor = moduli[source].multiplier(factor);
        let inverse = 1.0 / moduli[source].value() as f64;
        words.extend([source as u64, factor.value, factor.quotient, inverse.to_bits()]);
    }
    for (&target, weights) in targets.iter().zip(conversion.weights()) {
        words.push(target as u64);
        words.extend(weights);
    }
    words
}
