//! LWE samples of other libraries: under that library's secret, of any dimension, modulo a power of two or
//! any other number.
//!
//! ```text
//! owner      SecretKey::with_outside_secret    the owner of both secrets makes keys that pack samples from one to the other
//! server     Params::outside_samples           every word times Q / q, rounded: samples modulo the primes of level 0
//!            SamplesPlan::run      numbers in slots
//! ```
//!
//! The modulus switch rounds the `K + 1` words of a sample. Under a secret of weight `h` this adds an error
//! of variance `(h + 1) / 12` to the phase, which is small compared with the scale. The samples are as secure
//! as in the library they come from.
//!
//! Source: the bridge from LWE to CKKS of CHIMERA (Boura et al., 2020) and PEGASUS (Lu et al., 2021), by
//! [hermes, sec. 4.5].

use clathrate_lattice::shape::Rank;
use clathrate_lattice::{Bundle, Level};

use crate::arrays::memory::check_free;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, SecretName};
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// The name of imported samples in errors.
const WHAT: &str = "samples of another library";

/// The modulus of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideModulus {
    /// `2^bits`, 1 to 64: a discretised torus.
    PowerOfTwo(u32),
    /// Any number from 2 up.
    Number(u64),
}

impl OutsideModulus {
    fn value(self) -> Option<u128> {
        match self {
            Self::PowerOfTwo(bits) => (1..=64).contains(&bits).then(|| 1 << bits),
            Self::Number(number) => (number >= 2).then_some(u128::from(number)),
        }
    }
}

/// The sign of the mask in the phase of a sample `(a, b)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// `b - <a, s>`, as in TFHE and most texts on LWE.
    Difference,
    /// `b + <a, s>`, as in this crate.
    Sum,
}

/// LWE samples of another library.
#[derive(Debug, Clone, Copy)]
pub struct OutsideSamples<'a> {
    /// `dimension + 1` words below the modulus for each sample, the body last.
    pub words: &'a [u64],
    /// Length of the secret vector.
    pub dimension: usize,
    /// The modulus.
    pub modulus: OutsideModulus,
    /// How the phase is computed from a sample.
    pub phase: Phase,
    /// The scale: the factor by which the numbers were multiplied modulo `modulus`. [`Params::outside_scale`]
    /// computes it from a plan's scale.
    pub scale: f64,
    /// The number that the owner gave to the secret
    /// ([`SecretKey::with_outside_secret`](crate::SecretKey::with_outside_secret)).
    pub secret: u64,
}

impl Params {
    /// The scale modulo `modulus` that becomes `scale` when the samples are switched to level 0.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for an impossible modulus.
    pub fn outside_scale(&self, scale: f64, modulus: OutsideModulus) -> Result<f64, CkksError> {
        let own = self.log2_q(Level(0)).exp2();
        Ok(scale * (checked(modulus)? as f64 / own))
    }

    /// Switches samples of another library to the modulus of level 0, as a vector of LWE samples for
    /// [`SamplesPlan::run`](crate::circuits::samples::SamplesPlan::run). `key_id` names the owner's key.
    /// The samples are padded with zeros to a dimension that is a power of two.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for an impossible modulus, a word that is not below it, a dimension of 0 or
    /// above that of these parameters, an incomplete last sample, or a level 0 of more than 62 bits;
    /// [`CkksError::Empty`] without samples; [`CkksError::ScaleOutOfRange`]; [`CkksError::NotEnoughMemory`].
    pub fn outside_samples(
        &self,
        key_id: KeyId,
        samples: &OutsideSamples<'_>,
    ) -> Result<Ciphertext, CkksError> {
        let &OutsideSamples { words, dimension, modulus, phase, scale, secret } = samples;
        let refuse = |value: String, remedy: String| Err(CkksError::OutOfRange { what: WHAT, value, remedy });
        let (from, most) = (checked(modulus)?, self.root_shape().dimension());
        if dimension == 0 || dimension > most {
            return refuse(format!("of dimension {dimension}"), format!("these parameters take 1 to {most}"));
        }
        if words.is_empty() {
            return Err(CkksError::no_entries([0]));
        }
        if !words.len().is_multiple_of(dimension + 1) {
            return refuse(
                format!("{} words", words.len()),
                format!("give {} for each sample: the mask, then the body", dimension + 1),
            );
        }
        if let Some(place) = words.iter().position(|&word| u128::from(word) >= from) {
            let value = format!("the word {} at place {place}", words[place]);
            return refuse(value, format!("give words below the modulus {from}"));
        }
        let shape = ModuleShape { degree: 1, rank: dimension.next_power_of_two() };
        let params = self.for_samples(shape)?;
        let (ring, basis) = (params.chain().ring(), params.chain().basis(Level(0)));
        let moduli: Vec<_> = basis.indices().iter().map(|&index| ring.moduli()[index]).collect();
        let to: u128 = moduli.iter().map(|q| u128::from(q.value())).product();
        if to >> 62 != 0 {
            return refuse(
                format!("to a level 0 of {:.1} bits", self.log2_q(Level(0))),
                "use parameters whose level 0 has at most 62 bits".to_owned(),
            );
        }
        let scale = scale * (to as f64 / from as f64);
        params.check_scale(scale, Level(0))?;
        let count = words.len() / (dimension + 1);
        let bytes = count.saturating_mul((shape.rank + 1) * basis.len() * 8);
        check_free(WHAT, bytes, "take fewer at a time, and bootstrap them before the next ones")?;
        // A word below 2^64 times a modulus below 2^62, and half the divisor.
        let switched = |word: u64| (u128::from(word) * to + from / 2) / from % to;
        let bundle = |sample: &[u64]| {
            let fill = |poly: usize, prime: usize, target: &mut [u64]| {
                let q = &moduli[prime];
                let word = match poly {
                    body if body == shape.rank => q.reduce_u128(switched(sample[dimension])),
                    mask if mask < dimension => {
                        let word = q.reduce_u128(switched(sample[mask]));
                        if phase == Phase::Difference { q.sub(0, word) } else { word }
                    }
                    _ => 0,
                };
                target.fill(word);
            };
            Ok(Bundle::from_words(ring, &basis, Rank(shape.rank), &fill)?.into_eval())
        };
        let bundles = words.chunks_exact(dimension + 1).map(bundle).collect::<Result<Vec<_>, CkksError>>()?;
        let layout = Layout::new(&[count], Encoding::Coefficients, 1)?;
        let secret = SecretName::Outside(secret);
        Ok(Ciphertext {
            params,
            key_id,
            secret,
            shape: vec![count],
            layout,
            level: Level(0),
            scale,
            bundles,
            estimate: Estimate::unknown(),
            footprint: None,
        })
    }
}

fn checked(modulus: OutsideModulus) -> Result<u128, CkksError> {
    modulus.value().ok_or_else(|| CkksError::OutOfRange {
        what: "the modulus of samples of another library",
        value: format!("{modulus:?}"),
        remedy: "use a power of two of 1 to 64 bits, or a number from 2 up".to_owned(),
    })
}
