//! Decryption, for the owner of the key, and with flooding noise for results that are shared.

use std::borrow::Cow;

use clathrate_lattice::{Bundle, Coeff, Eval, EvalSecret, Poly, SecretRng};
use zeroize::Zeroizing;

use super::budget::{Budget, Shares};
use super::secret::SecretKey;
use super::share::{FLOOD_WORD_BITS, HonestEvaluator, MAX_FLOOD_BITS};
use crate::arrays::Ciphertext;
use crate::encoding::chunks::read_coefficients;
use crate::encoding::values::Values;
use crate::encoding::{check_guard, deciding_basis, decode_coefficients, wide_to_poly};
use crate::error::CkksError;

/// `count` integers uniform in `[-2^(bits - 1), 2^(bits - 1))`, drawn in two parts if they are longer than a
/// word.
fn flooding_noise(rng: &mut SecretRng, count: usize, bits: u32) -> Result<Zeroizing<Vec<i128>>, CkksError> {
    let (low, high) =
        if bits <= FLOOD_WORD_BITS { (bits, 0) } else { (FLOOD_WORD_BITS, bits - FLOOD_WORD_BITS) };
    let mut word = Zeroizing::new(vec![0i64; count]);
    rng.flooding_uniform(&mut word, low)?;
    let mut noise = Zeroizing::new(word.iter().map(|&value| i128::from(value)).collect::<Vec<_>>());
    if high > 0 {
        rng.flooding_uniform(&mut word, high)?;
        // The lower part starts at 0, so that each integer of the range is exactly one sum of both parts.
        let shifted =
            |(value, &upper): (&mut i128, &i64)| *value += (1i128 << (low - 1)) + (i128::from(upper) << low);
        noise.iter_mut().zip(word.iter()).for_each(shifted);
    }
    Ok(noise)
}

/// The generator of flooding noise, and the noise's bits per coefficient.
struct Flooding<'r> {
    rng: &'r mut SecretRng,
    bits: u32,
}

/// The phases of one bundle's bodies, with flooding noise if it was requested.
///
/// The noise of a body is drawn once and added to its phase modulo any primes that are asked for. A phase is
/// read a second time, modulo all primes, if the first primes do not determine its numbers; fresh noise for
/// the second reading would reveal a second function of the error.
struct Phases<'p> {
    bundle: &'p Bundle<Eval>,
    noise: Vec<Zeroizing<Vec<i128>>>,
}

impl<'p> Phases<'p> {
    fn new(bundle: &'p Bundle<Eval>, flooding: Option<&mut Flooding<'_>>) -> Result<Self, CkksError> {
        let noise = match flooding {
            Some(Flooding { rng, bits }) => (0..bundle.body_count())
                .map(|_| flooding_noise(rng, bundle.ring().degree(), *bits))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(Self { bundle, noise })
    }

    /// The phases modulo the primes of `secret`.
    fn over(&self, secret: &EvalSecret) -> Result<Vec<Poly<Coeff>>, CkksError> {
        let mut phases: Vec<_> = self.bundle.phase_over(secret)?.into_iter().map(Poly::into_coeff).collect();
        for (phase, noise) in phases.iter_mut().zip(&self.noise) {
            phase.add_assign(&wide_to_poly(self.bundle.ring(), phase.basis(), noise))?;
        }
        Ok(phases)
    }
}

impl SecretKey {
    /// Decrypts to the array's numbers, row-major; real unless the array was complex. [`Values::into_real`]
    /// turns them into a vector.
    ///
    /// Only for the key's owner: the error of an approximate decryption carries information about the secret.
    /// The party that computed the ciphertext must learn neither the numbers nor whether decryption failed:
    /// from either, changed ciphertexts reveal the secret, one coefficient every few queries. Results of an
    /// evaluator that computed what was asked are shared through [`SecretKey::decrypt_to_share`].
    ///
    /// # Errors
    /// [`CkksError::WrongParams`], [`CkksError::WrongSecret`]; [`CkksError::TooLarge`] where the message
    /// fills the modulus. This check finds most overflows but not all: a number that wrapped around to less
    /// than a quarter of the modulus looks valid, which is every second number if they are spread evenly.
    /// [`CkksError::Cancelled`].
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Result<Values, CkksError> {
        self.reading(ciphertext)?.decrypt_with(ciphertext, None)
    }

    /// Decrypts with flooding noise: uniform in `[-2^(bits-1), 2^(bits-1))` on every coefficient of the
    /// phase, in units of the scaled integers.
    ///
    /// If `flood_bits` is `lambda` bits above a bound on the circuit's error, the revealed numbers are within
    /// statistical distance `2^-lambda` of numbers that do not depend on the error, per coefficient and
    /// query. The caller bounds the error ([`Ciphertext::flood_bits`] computes the number of bits). Queries
    /// are counted if the key has a budget ([`SecretKey::with_share_budget`]); otherwise the caller counts
    /// them. The numbers lose `flood_bits` of the scale's bits.
    ///
    /// The error has a bound only if the evaluator computed what was asked. Another evaluator can add
    /// multiples of the secret to the result, and read them from the numbers or from a failed decryption;
    /// noise that leaves the numbers useful does not hide them. By [`HonestEvaluator`] the caller states that
    /// the evaluator is honest, or that the result was computed again and is the same
    /// ([`Ciphertext::same_as`]).
    ///
    /// # Errors
    /// As [`SecretKey::decrypt`]; [`CkksError::OutOfRange`] unless `1 <= flood_bits <= 118` and below the
    /// modulus, and where the budget of shared results is spent; [`CkksError::File`] where the count cannot
    /// be written to the key's file; [`CkksError::Lattice`] where entropy fails.
    pub fn decrypt_to_share(
        &self,
        ciphertext: &Ciphertext,
        flood_bits: u32,
        _: HonestEvaluator,
    ) -> Result<Values, CkksError> {
        let key = self.reading(ciphertext)?;
        let headroom = key.params.log2_q(ciphertext.level);
        if !(1..=MAX_FLOOD_BITS).contains(&flood_bits) || f64::from(flood_bits) + 2.0 > headroom {
            let remedy = format!(
                "use 1 to {} bits at level {}",
                (headroom as u32).saturating_sub(2).min(MAX_FLOOD_BITS),
                ciphertext.level
            );
            return Err(CkksError::OutOfRange { what: "flood_bits", value: flood_bits.to_string(), remedy });
        }
        self.randomness.draw(|rng| {
            // The query is counted before anything is decrypted, so a query that fails later, or whose result
            // is lost, is spent.
            self.budget.iter().try_for_each(|budget| budget.record(self.id))?;
            key.decrypt_with(ciphertext, Some(&mut Flooding { rng, bits: flood_bits }))
        })
    }

    /// This key at the ciphertext's degree and rank; an error if this key does not decrypt the ciphertext.
    fn reading(&self, ciphertext: &Ciphertext) -> Result<Cow<'_, Self>, CkksError> {
        let key = if self.params != ciphertext.params && self.params.is_related(&ciphertext.params) {
            Cow::Owned(self.relative(&ciphertext.params)?)
        } else {
            Cow::Borrowed(self)
        };
        key.params.check_same(&ciphertext.params, "the ciphertext")?;
        ciphertext.check_data("decryption")?;
        key.id.check_same(ciphertext.key_id, "the ciphertext")?;
        Ok(key)
    }

    fn decrypt_with(
        &self,
        ciphertext: &Ciphertext,
        mut flooding: Option<&mut Flooding<'_>>,
    ) -> Result<Values, CkksError> {
        let (layout, secret) = (ciphertext.layout(), self.named(ciphertext.secret)?);
        let mut numbers = Values::zeros(layout.rows() * layout.columns(), layout.is_complex());
        let (short, is_short) = deciding_basis(&self.params, ciphertext.level);
        // The secret modulo the first primes; modulo all primes only if these do not determine a number.
        let Some(first) = ciphertext.bundles.first() else { return Ok(numbers) };
        let (short, mut whole) = (secret.to_eval(first.ring(), &short)?, None);
        let mut steps = self.progress.steps(ciphertext.bundles.len());
        for (index, bundle) in ciphertext.bundles.iter().enumerate() {
            steps.begin()?;
            let phases = Phases::new(bundle, flooding.as_deref_mut())?;
            let (of_short, mut of_all) = (phases.over(&short)?, None);
            for (body, phase) in of_short.iter().enumerate() {
                let Some(polynomial) = layout.polynomial_at(index, body) else { continue };
                let (phase, coefficients) = match decode_coefficients(phase, ciphertext.scale, !is_short) {
                    Some(values) => (phase, values),
                    None => {
                        if of_all.is_none() {
                            let whole = match &mut whole {
                                Some(whole) => whole,
                                none => none.insert(secret.to_eval(bundle.ring(), bundle.basis())?),
                            };
                            of_all = Some(phases.over(whole)?);
                        }
                        let phase = of_all.as_ref().and_then(|phases| phases.get(body)).unwrap_or(phase);
                        (phase, decode_coefficients(phase, ciphertext.scale, true).unwrap_or_default())
                    }
                };
                // The check reads the flooded phase if there is flooding noise, so that its outcome reveals
                // no more than the numbers do.
                check_guard(&self.params, &coefficients, ciphertext.scale, ciphertext.level)?;
                read_coefficients(
                    &self.params,
                    (phase, &coefficients),
                    ciphertext.scale,
                    layout,
                    polynomial,
                    &mut numbers,
                );
            }
        }
        steps.finish()?;
        Ok(numbers)
    }
}

impl SecretKey {
    /// The same key with a budget: [`SecretKey::decrypt_to_share`] counts results and refuses after `results`
    /// of them.
    ///
    /// The count is stored with the key ([`Stored::save`](crate::file::Stored::save)). A key that was stored
    /// with a count, or read from a file with a count, counts in that file before it decrypts; any other key
    /// counts in memory until it is stored. A copy of the file has its own count.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a key that has a budget already.
    pub fn with_share_budget(&self, results: u64) -> Result<Self, CkksError> {
        if let Some(Shares { budget, left }) = self.shares() {
            let remedy = format!(
                "this key has one of {budget} already, of which {left} are left, and noise hides no more: make a new secret key"
            );
            return Err(CkksError::OutOfRange {
                what: "a further budget of shared results",
                value: results.to_string(),
                remedy,
            });
        }
        Ok(Self { budget: Some(Budget::of(results)), ..self.clone() })
    }

    /// How many results the key may share in total, and how many are left; `None` for a key without a budget.
    #[must_use]
    pub fn shares(&self) -> Option<Shares> {
        self.budget.as_ref().map(|budget| budget.shares(self.id))
    }

    /// The count, for storage.
    pub(crate) fn budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::EncryptOptions;
    use crate::parameters::{Params, Runtime};

    /// A phase modulo few primes and modulo all primes has the same noise, because the bound on the
    /// statistical distance holds for one function of the error.
    #[test]
    fn noise_is_drawn_once_for_all_primes_that_a_phase_is_read_with() {
        let params = Params::preset("insecure_small", &Runtime::default()).expect("preset");
        let key = SecretKey::generate(&params).expect("key");
        for (bodies, bits) in [(None, 20), (None, 90), (Some(3), 20), (Some(3), 118)] {
            let options = EncryptOptions { bodies, ..EncryptOptions::default() };
            let ct = key.encrypt_array(&[0.5; 24], &[3, 8], options).expect("encrypted");
            let (short, is_short) = deciding_basis(&params, ct.level);
            assert!(is_short, "the level has primes that are read later");
            let secret = key.named(ct.secret).expect("named");
            let mut flooding = Flooding { rng: &mut SecretRng::from_os().expect("entropy"), bits };
            let bundle = &ct.bundles[0];
            let short_form = secret.to_eval(bundle.ring(), &short).expect("fits");
            let whole_form = secret.to_eval(bundle.ring(), bundle.basis()).expect("fits");
            let plain = Phases::new(bundle, None).expect("phases").over(&short_form).expect("phases");
            let phases = Phases::new(bundle, Some(&mut flooding)).expect("phases");
            let (first, again) =
                (phases.over(&short_form).expect("phases"), phases.over(&whole_form).expect("phases"));
            assert_eq!(first.len(), bodies.unwrap_or(1));
            for ((first, again), plain) in first.iter().zip(&again).zip(&plain) {
                assert_ne!(first, plain, "{bits} bits of noise");
                assert_eq!(*first, again.restrict(&short).expect("a prefix"), "{bits} bits");
            }
            // Each body, and each further reading of the same bundle, gets fresh noise.
            let noise: Vec<_> = phases
                .noise
                .iter()
                .chain(&Phases::new(bundle, Some(&mut flooding)).expect("phases").noise)
                .cloned()
                .collect();
            assert!(
                noise
                    .iter()
                    .enumerate()
                    .all(|(index, one)| noise[index + 1..].iter().all(|other| one[..] != other[..]))
            );
        }
    }
}
