//! The device's side: encryption of messages and decryption of replies.

use std::collections::VecDeque;
use std::fmt;

use clathrate_arith::Modulus;
use clathrate_arith::machine::{self, Shortage};
use clathrate_arith::process::ProcessMark;
use clathrate_arith::text::counted;
use clathrate_lattice::counted::{mask_times_secret, reduced};
use clathrate_lattice::rounding::{Rounding, quotient, rounded_126};
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::{SecretDistribution, SecretRng};
use zeroize::Zeroizing;

use crate::error::SampleError;
use crate::key::{ClientKey, split};
use crate::tag::TAG_BYTES;
use crate::wire::{
    INTRODUCTION, REPLY, Reader, STATE, Terms, VERSION, Writer, composed, pack, read_device, secret_name,
    unpack, unreadable,
};

/// Encrypts and decrypts with a secret and a counter; needs no ring and no tables.
///
/// The owner makes clients (`SecretKey::light_client` of `clathrate_ckks`, with an example), and a device
/// reads its state ([`LightClient::from_bytes`]).
pub struct LightClient {
    terms: Terms,
    key: ClientKey,
    /// The moduli, prepared for arithmetic.
    moduli: Vec<Modulus>,
    /// The coefficients of the secret's polynomials at the owner's degree and rank.
    secret: Zeroizing<Vec<i8>>,
    /// The secret of samples of a smaller dimension, if they have one: the coefficients of its polynomials at
    /// the samples' degree.
    part: Option<Zeroizing<Vec<i8>>>,
    /// Degree of the owner's polynomials.
    whole_degree: usize,
    next: u64,
    /// Products of [`LightClient::precompute`] for the counters from `next` on.
    ready: VecDeque<Products>,
    rng: SecretRng,
    /// The process that drew the seed, because a copy in a forked process would use the same masks.
    process: ProcessMark,
}

const WHAT: &str = "the state of a light client";

/// What the tag of a state covers beside its bytes.
const STATE_CONTEXT: &[u8] = b"clathrate state of a light client";

fn unfit() -> SampleError {
    let value = "a secret that is not ternary, or does not fit the terms of the samples".to_owned();
    unreadable(WHAT, value, "take the state, or the terms and the secret, as the owner made them")
}

/// Maximum length of a state: two secrets of the largest dimension, and the terms.
pub const MAX_STATE_BYTES: usize = (1 << 19) + 4096;

/// The products of one mask with the secret, for each modulus.
type Products = Vec<Zeroizing<Vec<u64>>>;

/// The complete secret, and the secret of samples if these have a smaller dimension.
pub type Secrets = (Zeroizing<Vec<i8>>, Option<Zeroizing<Vec<i8>>>);

impl fmt::Debug for LightClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "LightClient(degree {}, level {}, next counter {}, redacted)",
            self.terms.degree, self.terms.level, self.next
        )
    }
}

impl LightClient {
    /// A client with a new seed, which encrypts by `terms` and authenticates with `key`. The secrets are the
    /// coefficients of the owner's polynomials, of degree `whole_degree`, and those of the samples' secret if
    /// the samples have a smaller dimension. Only the owner makes new clients. Range: coefficients are -1, 0
    /// or 1.
    ///
    /// # Errors
    /// [`SampleError::Sampling`] if random generation fails; [`SampleError::OutOfRange`] for terms and
    /// secrets that do not fit each other.
    pub fn new(
        mut terms: Terms,
        key: ClientKey,
        (secret, part): Secrets,
        whole_degree: usize,
    ) -> Result<Self, SampleError> {
        let (whole, own) = (secret.len(), terms.degree.saturating_mul(terms.rank));
        let fits = terms.is_sound()
            && whole_degree.is_power_of_two()
            && whole_degree >= terms.degree
            && whole.is_multiple_of(whole_degree)
            && whole >= own
            && part.as_ref().map_or(whole, |part| part.len()) == own;
        if !fits {
            return Err(unfit());
        }
        let mut rng = SecretRng::from_os()?;
        terms.seed = rng.mask_seed();
        let moduli = terms.moduli.iter().filter_map(|&(q, _)| Modulus::new(q).ok()).collect();
        let process = ProcessMark::here();
        Ok(Self {
            terms,
            key,
            moduli,
            secret,
            part,
            whole_degree,
            next: 0,
            ready: VecDeque::new(),
            rng,
            process,
        })
    }

    /// The number of the device whose secret encrypts; `None` for the main secret.
    #[must_use]
    pub fn device(&self) -> Option<u64> {
        self.terms.device
    }

    /// The introduction, which the server needs once, before messages. It contains no secret.
    #[must_use]
    pub fn introduction(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bytes(&INTRODUCTION);
        writer.bytes(&[VERSION]);
        self.terms.write(&mut writer);
        self.key.seal(&[], &mut writer.0);
        writer.0
    }

    /// The state, which contains the secret, for storage on the device. A client made from it draws a new
    /// seed and restarts its counter, so that no mask is used twice even if an old copy of the state is
    /// restored. The server needs a new introduction of that client.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut writer = Writer::default();
        writer.bytes(&STATE);
        writer.bytes(&[VERSION]);
        self.terms.write(&mut writer);
        let part = self.part.iter().flat_map(|part| part.iter());
        // Growing the vector would leave copies of the secret in freed memory.
        writer.0.reserve_exact(
            self.key.bytes().len()
                + 16
                + self.secret.len()
                + self.part.as_ref().map_or(0, |part| part.len())
                + TAG_BYTES,
        );
        writer.bytes(self.key.bytes());
        for word in [self.whole_degree, self.secret.len()] {
            writer.word(word as u64);
        }
        writer.0.extend(self.secret.iter().chain(part).map(|&c| c as u8));
        self.key.seal(STATE_CONTEXT, &mut writer.0);
        Zeroizing::new(writer.0)
    }

    /// A client from a stored state.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`] for bytes that are not a state; [`SampleError::Sampling`] if random
    /// generation fails.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SampleError> {
        let mut reader = Reader::new(bytes, STATE, WHAT)?;
        let terms = Terms::read(&mut reader)?;
        let key = ClientKey::new(Zeroizing::new(reader.array()?));
        let whole_degree = reader.number((1 << 17) + 1, "the degree")?;
        let (whole, own) = (reader.number((1 << 18) + 1, "the dimension")?, terms.degree * terms.rank);
        let mut secret_of = |length: usize| {
            Ok::<_, SampleError>(Zeroizing::new(
                reader.slice(length)?.iter().map(|&c| c as i8).collect::<Vec<_>>(),
            ))
        };
        let secret = secret_of(whole)?;
        let part = if own == whole { None } else { Some(secret_of(own)?) };
        reader.slice(TAG_BYTES)?;
        reader.end()?;
        key.open(STATE_CONTEXT, bytes, WHAT).map_err(|_| {
            let remedy = "it was damaged where it was stored: make a client anew from the owner's key";
            unreadable(WHAT, "bytes that do not fit their tag".to_owned(), remedy)
        })?;
        let mut coefficients = secret.iter().chain(part.iter().flat_map(|part| part.iter()));
        if coefficients.any(|c| !(-1..=1).contains(c)) {
            return Err(unfit());
        }
        Self::new(terms, key, (secret, part), whole_degree)
    }

    /// The counter of the next sample.
    #[must_use]
    pub fn next_counter(&self) -> u64 {
        self.next
    }

    /// Bits per number in a message.
    #[must_use]
    pub fn bits_per_number(&self) -> u32 {
        self.terms.sent_bits()
    }

    /// Estimated bits of security of the samples, with a uniform ternary secret of their dimension, at their
    /// modulus. Keys of the same secret with a larger modulus may have fewer.
    #[must_use]
    pub fn security_bits(&self) -> f64 {
        let log2_q = self.terms.moduli.iter().map(|&(modulus, _)| (modulus as f64).log2()).sum();
        estimated_bits(self.terms.degree * self.terms.rank, log2_q, SecretDistribution::UniformTernary)
    }

    /// The count of numbers under one mask.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.terms.degree
    }

    /// Expands the masks of the next `samples` samples and multiplies them by the secret in advance, so that
    /// later encryptions take a small part of their time. The products take 8 bytes for each number and
    /// modulus, and must be protected like the secret. [hermes, sec. 5.4, the offline phase]
    ///
    /// # Errors
    /// [`SampleError::NotEnoughMemory`].
    pub fn precompute(&mut self, samples: usize) -> Result<(), SampleError> {
        let bytes = samples.saturating_mul(self.terms.degree * self.terms.moduli.len() * size_of::<u64>());
        const OPERATION: &str = "what a light client computes ahead";
        let needed = bytes as u64;
        machine::check_free(needed).map_err(|shortage| match shortage {
            Shortage::Limit(value) => unreadable(
                "the environment variable CLATHRATE_MEMORY_LIMIT",
                value,
                "give a whole number of bytes",
            ),
            Shortage::Free(free) => {
                let remedy = "compute fewer samples ahead";
                SampleError::NotEnoughMemory { operation: OPERATION, needed, free, remedy }
            }
        })?;
        let counters =
            self.next.saturating_add(self.ready.len() as u64)..self.next.saturating_add(samples as u64);
        let secret = self.samples_secret();
        let made: Vec<Products> = counters.map(|counter| self.products(&secret, counter)).collect();
        self.ready.extend(made);
        Ok(())
    }

    /// The number of unused samples of [`LightClient::precompute`].
    #[must_use]
    pub fn precomputed(&self) -> usize {
        self.ready.len()
    }

    /// The secret of the samples at their degree.
    fn samples_secret(&self) -> Zeroizing<Vec<i8>> {
        self.part.clone().unwrap_or_else(|| self.split_secret(self.terms.degree))
    }

    /// The products of the mask of `counter` with the secret.
    fn products(&self, secret: &[i8], counter: u64) -> Products {
        let product = |(modulus, &(_, index)): (&Modulus, &(u64, usize))| {
            mask_times_secret(&self.terms.seed, counter, (modulus, index), secret, self.terms.degree)
        };
        self.moduli.iter().zip(&self.terms.moduli).map(product).collect()
    }

    /// Encrypts numbers to a message of 28 bytes plus [`LightClient::bits_per_number`] bits per number.
    pub fn encrypt(&mut self, numbers: &[f64]) -> Result<Vec<u8>, SampleError> {
        self.encrypt_at(self.next, numbers)
    }

    /// [`LightClient::encrypt`] with counters from `counter` on.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`] for a counter that was used or skipped before, if the count of numbers is
    /// not a multiple of the degree, and for a number too large for the modulus; [`SampleError::Empty`]
    /// without numbers; [`SampleError::NotFinite`]. The counter advances only if a message is returned.
    pub fn encrypt_at(&mut self, counter: u64, numbers: &[f64]) -> Result<Vec<u8>, SampleError> {
        let Terms { degree, scale, .. } = self.terms;
        if numbers.is_empty() {
            return Err(SampleError::Empty);
        }
        if !numbers.len().is_multiple_of(degree) {
            let remedy =
                format!("a sample holds {}: fill the last one with zeros", counted(degree, "number"));
            return Err(SampleError::OutOfRange {
                what: "the count of numbers of a light client",
                value: numbers.len().to_string(),
                remedy,
            });
        }
        if counter < self.next {
            let remedy = format!(
                "a counter must not be used twice, because two messages under one mask can be compared: use {} or more",
                self.next
            );
            return Err(SampleError::OutOfRange {
                what: "the counter of a light client",
                value: counter.to_string(),
                remedy,
            });
        }
        if !self.process.holds() {
            let (value, remedy) = (
                "a copy in a forked process".to_owned(),
                "make a client from its state there, which draws a seed of its own".to_owned(),
            );
            return Err(SampleError::OutOfRange { what: "the counter of a light client", value, remedy });
        }
        let samples = numbers.len() / degree;
        let after = counter.checked_add(samples as u64).ok_or_else(|| {
            unreadable(
                "the counter of a light client",
                counter.to_string(),
                "it is near its end: make a client with a new seed",
            )
        })?;
        // Checks all numbers before it reports one, so that the branches do not depend on numbers that are
        // encrypted.
        let modulus = self.terms.modulus();
        // The error of the encryption, and half of the largest number in the dropped bits.
        let margin = 64.0 + f64::from(self.terms.dropped).exp2() / 2.0;
        let fits = |number: f64| number.abs() * scale + margin < modulus as f64 / 2.0;
        if !numbers.iter().fold(true, |all, &number| all & fits(number)) {
            self.refuse(numbers, margin, fits)?;
        }
        let (places, secret) = (self.terms.places(), self.samples_secret());
        // Products for skipped counters are useless.
        self.ready.drain(..self.ready.len().min(usize::try_from(counter - self.next).unwrap_or(usize::MAX)));
        self.next = counter;
        let (bits, dropped) = (self.terms.sent_bits(), self.terms.dropped);
        let mut bodies = Vec::with_capacity(numbers.len());
        for (sample, numbers) in numbers.chunks_exact(degree).enumerate() {
            let products =
                self.ready.pop_front().unwrap_or_else(|| self.products(&secret, counter + sample as u64));
            self.next = counter + sample as u64 + 1;
            let mut errors = Zeroizing::new(vec![0i64; degree]);
            self.rng.gaussian(&mut errors);
            for ((place, &t), dither) in
                places.iter().enumerate().zip(Rounding::random(&mut self.rng).dithers())
            {
                let number = numbers[t];
                let message = rounded_126(number * scale, dither) + i128::from(errors[place]);
                let residue = |(modulus, product): (&Modulus, &Zeroizing<Vec<u64>>)| {
                    modulus.sub(modulus.reduce_i128(message), product[place])
                };
                let residues: Vec<u64> = self.moduli.iter().zip(&products).map(residue).collect();
                let kept = (composed(&residues, &self.moduli) + ((1u128 << dropped) >> 1)) >> dropped;
                // A body that would be rounded to the modulus is rounded to 0. The sent bits are public.
                bodies.push(if kept << dropped >= modulus { 0 } else { kept });
            }
        }
        debug_assert_eq!(self.next, after);
        let mut message = Writer::default();
        message.bytes(&self.terms.prefix());
        message.word(counter);
        message.bytes(&pack(&bodies, bits));
        self.key.seal(&self.terms.message_context(), &mut message.0);
        Ok(message.0)
    }

    /// The error for the first number that is not finite, or else the first that does not fit.
    fn refuse(&self, numbers: &[f64], margin: f64, fits: impl Fn(f64) -> bool) -> Result<(), SampleError> {
        if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(SampleError::NotFinite { index, value: numbers[index] });
        }
        let Some(&value) = numbers.iter().find(|&&number| !fits(number)) else { return Ok(()) };
        let Terms { scale, level, .. } = self.terms;
        let (needed, headroom) =
            ((value.abs() * scale + margin).log2(), (self.terms.modulus() as f64).log2() - 1.0);
        let remedy = format!(
            "at scale 2^{:.2} it needs {needed:.1} bits, and level {level} has room for {headroom:.1}: scale the numbers down, or make the client at a higher level",
            scale.log2()
        );
        Err(SampleError::OutOfRange {
            what: "a number of a light client",
            value: format!("{value:e}"),
            remedy,
        })
    }

    /// Decrypts a reply of the server to numbers in row-major order.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`] for bytes that are not a reply, and for a reply of other parameters, under
    /// another secret of the same owner, for another client, or changed; [`SampleError::OtherOwner`] for the
    /// reply to another owner's client.
    pub fn decrypt(&self, reply: &[u8]) -> Result<Vec<f64>, SampleError> {
        const WHAT: &str = "a reply to a light client";
        let (content, _) = split(reply, WHAT)?;
        let mut reader = Reader::new(content, REPLY, WHAT)?;
        let digest = reader.array::<32>()?;
        if digest != self.terms.digest {
            return Err(unreadable(
                WHAT,
                "other parameters".to_owned(),
                "the reply is for a client of other parameters",
            ));
        }
        let (found, expected) = (reader.array()?, self.terms.key_id);
        if found != expected {
            return Err(SampleError::OtherOwner { what: WHAT, found, expected });
        }
        let under = read_device(&mut reader)?;
        if under != self.terms.device {
            let value = format!("an array under the secret \"{}\"", secret_name(under));
            let remedy = format!(
                "this client reads \"{}\": change the array to that secret before the reply",
                secret_name(self.terms.device)
            );
            return Err(SampleError::OutOfRange { what: WHAT, value, remedy });
        }
        // The reply is authenticated before its data are multiplied with the secret.
        self.key.open(&[], reply, WHAT)?;
        let scale = f64::from_bits(reader.word()?);
        let (degree, primes) = (reader.number(1 << 18, "the degree")?, reader.number(1 << 16, "primes")?);
        if degree > self.whole_degree || primes > self.moduli.len() {
            let value = format!("ciphertexts of degree {degree} modulo {primes} primes");
            let remedy = format!(
                "this client reads degrees up to {} and {} primes: bring the array to a lower degree (to_mlwe) or to level {} (drop_to_level) before the reply",
                self.whole_degree,
                self.moduli.len(),
                self.terms.level
            );
            return Err(SampleError::OutOfRange { what: WHAT, value, remedy });
        }
        let entries = reader.number(1 << 32, "the count of entries")?;
        let bundles = reader.number(1 << 32, "the count of ciphertexts")?;
        let damaged = || {
            unreadable(
                WHAT,
                "fields that do not fit each other".to_owned(),
                "the bytes are damaged: ask again",
            )
        };
        if primes == 0
            || !degree.is_power_of_two()
            || !(scale.is_finite() && scale > 0.0)
            || entries.saturating_mul(9) > reply.len()
        {
            return Err(damaged());
        }
        let moduli = &self.moduli[..primes];
        let modulus: i128 = moduli.iter().map(|q| i128::from(q.value())).product();
        let secret = self.split_secret(degree);
        let words = secret.len();
        let mut numbers = vec![f64::NAN; entries];
        for _ in 0..bundles {
            let count = reader.number(degree as u64 + 1, "the count of numbers")?;
            let mask = |q: &Modulus| {
                let bytes = reader.slice((words * q.bits() as usize).div_ceil(8))?;
                Ok((0..words).map(|index| unpack(bytes, index, q.bits()) as u64).collect::<Vec<_>>())
            };
            let masks = moduli.iter().map(mask).collect::<Result<Vec<_>, SampleError>>()?;
            for _ in 0..count {
                let (entry, place) =
                    (reader.number(entries as u64, "entry")?, reader.number(degree as u64, "place")?);
                let mut residues = Zeroizing::new(Vec::with_capacity(primes));
                for (q, mask) in moduli.iter().zip(&masks) {
                    let body = reader.word()?;
                    if body >= q.value() {
                        return Err(damaged());
                    }
                    residues.push(q.add(body, product_at(mask, &secret, degree, place, q)));
                }
                let phase = composed(&residues, moduli) as i128;
                // Branch-free: all ones if the phase is more than half, the sign of the difference.
                let centred = phase - (modulus & ((modulus / 2 - phase) >> (i128::BITS - 1)));
                numbers[entry] = quotient(centred, 0, scale);
            }
        }
        reader.end()?;
        // Reads all numbers before the branch, which reveals that some are missing but not which.
        let complete = numbers.iter().fold(true, |complete, number| complete & !number.is_nan());
        if complete { Ok(numbers) } else { Err(damaged()) }
    }

    /// The secret's polynomials at a lower degree: component `p` of a polynomial holds the powers of `X`
    /// congruent to `brv(p)` modulo the number of components.
    fn split_secret(&self, degree: usize) -> Zeroizing<Vec<i8>> {
        let gap = self.whole_degree / degree;
        let bits = gap.trailing_zeros();
        let mut split = Zeroizing::new(Vec::with_capacity(self.secret.len()));
        for poly in self.secret.chunks_exact(self.whole_degree) {
            for component in 0..gap {
                let first = if bits == 0 { 0 } else { component.reverse_bits() >> (usize::BITS - bits) };
                split.extend(poly[first..].iter().step_by(gap));
            }
        }
        split
    }
}

/// Coefficient `place` of `<a, s>` modulo `q`.
fn product_at(mask: &[u64], secret: &[i8], degree: usize, place: usize, q: &Modulus) -> u64 {
    let mut sum = 0i128;
    for (mask, secret) in mask.chunks_exact(degree).zip(secret.chunks_exact(degree)) {
        // X^i times X^j is plus or minus the wanted power.
        for (i, &word) in mask.iter().enumerate() {
            let (j, sign) = if i <= place { (place - i, 1) } else { (degree + place - i, -1) };
            sum += i128::from(word) * i128::from(secret[j] * sign);
        }
    }
    reduced(q, sum)
}
