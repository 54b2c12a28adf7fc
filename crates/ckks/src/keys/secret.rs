//! The secret key, which decrypts, and the public key, which encrypts for its owner.

use clathrate_lattice::{Basis, Bundle, Coeff, Eval, Level, Poly, SecretDistribution, SecretRng};
use zeroize::Zeroizing;

use super::name::SecretName;
use super::progress::Progress;
use crate::arrays::{Ciphertext, Encoding, Layout};
use crate::encoding::plaintext::Plaintext;
use crate::encoding::values::{Values, check_values, coefficients_of};
use crate::encoding::{check_guard, deciding_basis, decode_coefficients, encode_coefficients};
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::parameters::Params;

/// Domain-separation string of the seeds of named secrets.
const NAMED_SECRET_DOMAIN: &str = "clathrate named secret v1";

/// Choices of an encryption; the default is slots for vectors, coefficients for matrices, at the top level.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EncryptOptions {
    /// How entries sit in polynomials.
    pub encoding: Option<Encoding>,
    /// The level; absent for the top.
    pub level: Option<Level>,
    /// The scale; absent for the level's canonical one.
    pub scale: Option<f64>,
}

fn encrypt_with(
    params: &Params,
    key_id: KeyId,
    values: &Values,
    shape: &[usize],
    options: EncryptOptions,
    progress: Progress<'_>,
    mut zero: impl FnMut(&Basis) -> Result<Bundle<Eval>, CkksError>,
) -> Result<Ciphertext, CkksError> {
    let encoding =
        options.encoding.unwrap_or(if shape.len() == 2 && !values.is_complex() { Encoding::Coefficients } else { Encoding::Slots });
    let layout = Layout::new(shape, encoding, params.degree())?;
    check_values(values, shape, encoding)?;
    let level = options.level.unwrap_or(params.max_level());
    params.check_level(level)?;
    let scale = options.scale.unwrap_or(params.scale(level));
    params.check_scale(scale, level)?;
    let basis = params.chain().basis(level);
    let mut bundles = Vec::with_capacity(layout.bundles());
    for index in 0..layout.bundles() {
        if !progress(index, layout.bundles()) {
            return Err(CkksError::Cancelled);
        }
        let coefficients = coefficients_of(params, values, layout.entries(index), encoding, layout.capacity);
        let message = encode_coefficients(params, &coefficients, scale, level)?;
        let mut bundle = zero(&basis)?;
        bundle.add_message(0, &message)?;
        bundles.push(bundle);
    }
    progress(layout.bundles(), layout.bundles());
    Ok(Ciphertext {
        params: params.clone(),
        key_id,
        shape: shape.to_vec(),
        encoding,
        complex: values.is_complex(),
        level,
        scale,
        bundles,
        symbol: None,
    })
}

/// The owner's key: encrypts, decrypts, makes the other keys. Never printed, never part of another object.
#[derive(Clone)]
pub struct SecretKey {
    pub(super) params: Params,
    pub(super) id: KeyId,
    pub(super) secret: clathrate_lattice::SecretKey,
    /// What all other secrets of the parameters are drawn from: the same owner makes the same ones at any time.
    seed: Zeroizing<[u8; 32]>,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey({:?}, {}, redacted)", self.params, self.id)
    }
}

impl SecretKey {
    /// A fresh key from the operating system's entropy.
    ///
    /// # Errors
    /// [`CkksError::Lattice`] where entropy fails.
    pub fn generate(params: &Params) -> Result<Self, CkksError> {
        Self::generate_with(params, &mut SecretRng::from_os()?)
    }

    /// A key drawn from `rng`: tests fix its seed.
    ///
    /// # Errors
    /// As [`SecretKey::generate`].
    pub fn generate_with(params: &Params, rng: &mut SecretRng) -> Result<Self, CkksError> {
        let secret = clathrate_lattice::SecretKey::generate(params.degree(), params.rank(), 1, params.distribution_of(params.rank()), rng)?;
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut());
        Ok(Self { params: params.clone(), id: KeyId(id), secret, seed })
    }

    /// The same secret for a relative of these parameters: split, combined or cut to its shape. A cut secret is nested in this one.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`] for parameters of another family, or of a larger dimension than this key's.
    pub fn relative(&self, params: &Params) -> Result<Self, CkksError> {
        self.params.check_related(params, "the parameters")?;
        let (from, to) = (self.params.shape(), params.shape());
        if to.dimension() > from.dimension() {
            self.params.check_same(params, "the parameters")?;
        }
        // Components are in an order in which cutting and moving commute: cut where the degree is the smaller one.
        let secret = if to.degree <= from.degree {
            self.secret.split_degree(to.degree)?.truncate_rank(to.rank)?
        } else {
            self.secret.truncate_rank(to.dimension() / from.degree)?.combine_degree(to.degree)?
        };
        Ok(Self { params: params.clone(), id: self.id, secret, seed: self.seed.clone() })
    }

    /// The secret called `name` at this shape. Secrets other than the main one are drawn from this key's seed, each with randomness of its own, so
    /// that keys made at different times fit together.
    ///
    /// # Errors
    /// [`CkksError::NoTemporaryRank`], [`CkksError::NoEphemeralSecret`] where the parameters have no such secret; [`CkksError::OutOfRange`] for bodies that
    /// do not exist.
    pub fn named(&self, name: SecretName) -> Result<clathrate_lattice::SecretKey, CkksError> {
        let (degree, rank) = (self.params.degree(), self.params.rank());
        let draw = |label: String, rank: usize, distribution| {
            let mut hasher = blake3::Hasher::new_derive_key(NAMED_SECRET_DOMAIN);
            hasher.update(self.seed.as_ref());
            hasher.update(format!("{label} at {}", self.params.shape()).as_bytes());
            let mut rng = SecretRng::from_seed(*hasher.finalize().as_bytes());
            clathrate_lattice::SecretKey::generate(degree, rank, 1, distribution, &mut rng)
        };
        let body = |count: usize, index: usize| draw(format!("body {index} of {count}"), rank, self.params.distribution_of(rank));
        Ok(match name {
            SecretName::Main => self.secret.clone(),
            SecretName::Temporary => {
                let temporary = self.params.temporary().ok_or(CkksError::NoTemporaryRank { operation: "a key of the temporary rank" })?;
                let further = temporary.rank - rank;
                self.secret.join_rank(&draw("temporary".to_owned(), further, self.params.distribution_of(further))?)?
            }
            SecretName::Ephemeral => {
                let encapsulation = self.params.encapsulation().ok_or(CkksError::NoEphemeralSecret)?;
                draw("ephemeral".to_owned(), rank, SecretDistribution::FixedWeight(encapsulation.weight))?
            }
            SecretName::Body { count, index } => body(count, index)?,
            SecretName::Bodies(count) => {
                let mut coefficients = Zeroizing::new(Vec::with_capacity(count * rank * degree));
                for index in 0..count {
                    coefficients.extend_from_slice(body(count, index)?.all_coefficients());
                }
                let distribution = self.params.distribution_of(rank);
                clathrate_lattice::SecretKey::from_coefficients(degree, rank, count, distribution, coefficients)?
            }
        })
    }

    pub(crate) fn from_parts(params: &Params, id: KeyId, secret: clathrate_lattice::SecretKey, seed: Zeroizing<[u8; 32]>) -> Self {
        Self { params: params.clone(), id, secret, seed }
    }

    /// What the other secrets are drawn from: for storage by the key's owner.
    pub(crate) fn seed(&self) -> &Zeroizing<[u8; 32]> {
        &self.seed
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Its public name.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The secret itself.
    #[must_use]
    pub fn secret(&self) -> &clathrate_lattice::SecretKey {
        &self.secret
    }

    /// Encrypts an array; masks are seeded, so a fresh ciphertext's file is half its size (at rank 1).
    ///
    /// # Errors
    /// [`CkksError::NotFinite`], [`CkksError::ValueTooLarge`], [`CkksError::Empty`], [`CkksError::Encoding`], level and scale errors.
    pub fn encrypt(
        &self,
        values: &Values,
        shape: &[usize],
        options: EncryptOptions,
        progress: Progress<'_>,
    ) -> Result<Ciphertext, CkksError> {
        let mut rng = SecretRng::from_os()?;
        self.encrypt_rng(values, shape, options, progress, &mut rng)
    }

    /// As [`SecretKey::encrypt`] with given randomness: tests fix its seed.
    ///
    /// # Errors
    /// As [`SecretKey::encrypt`].
    pub fn encrypt_rng(
        &self,
        values: &Values,
        shape: &[usize],
        options: EncryptOptions,
        progress: Progress<'_>,
        rng: &mut SecretRng,
    ) -> Result<Ciphertext, CkksError> {
        let ring = self.params.chain().ring().clone();
        encrypt_with(&self.params, self.id, values, shape, options, progress, |basis| {
            Ok(Bundle::encrypt_zero(&self.secret, &ring, basis, rng)?)
        })
    }

    /// Decrypts to the array's numbers, row-major; real unless the array was complex.
    ///
    /// For the key's owner: approximate decryptions carry information about the secret in their error, so share results
    /// through [`SecretKey::decrypt_to_share`].
    ///
    /// # Errors
    /// [`CkksError::WrongParams`], [`CkksError::WrongSecret`]; [`CkksError::Overflow`] where the message fills the modulus. That finds
    /// most overflows, not all: a number that wrapped to less than a quarter of the modulus is like any other, every second one if they are
    /// spread evenly.
    pub fn decrypt(&self, ciphertext: &Ciphertext, progress: Progress<'_>) -> Result<Values, CkksError> {
        self.decrypt_with(ciphertext, progress, &mut |_| Ok(()))
    }

    /// Decrypts with flooding noise: uniform in `[-2^(bits-1), 2^(bits-1))` on every coefficient of the phase, in units of the scaled integers.
    ///
    /// Chosen `lambda` bits above a bound on the circuit's error, what is revealed is within `2^-lambda` of independent of that
    /// error, per query: the caller bounds the error and counts the queries. The numbers lose `flood_bits` of the scale's bits.
    ///
    /// # Errors
    /// As [`SecretKey::decrypt`]; [`CkksError::OutOfRange`] unless `1 <= flood_bits <= 62` and below the modulus.
    pub fn decrypt_to_share(&self, ciphertext: &Ciphertext, flood_bits: u32, progress: Progress<'_>) -> Result<Values, CkksError> {
        let room = self.params.log2_q(ciphertext.level);
        if !(1..=62).contains(&flood_bits) || f64::from(flood_bits) + 2.0 > room {
            let remedy = format!("use 1 to {} bits at level {}", (room as u32).saturating_sub(2).min(62), ciphertext.level);
            return Err(CkksError::OutOfRange { what: "flood_bits", value: flood_bits.to_string(), remedy });
        }
        let mut rng = SecretRng::from_os()?;
        self.decrypt_with(ciphertext, progress, &mut |phase| {
            let mut noise = zeroize::Zeroizing::new(vec![0i64; phase.ring().degree()]);
            rng.flooding_uniform(&mut noise, flood_bits)?;
            Ok(phase.add_assign(&Poly::from_signed(phase.ring(), phase.basis(), &noise))?)
        })
    }

    fn decrypt_with(
        &self,
        ciphertext: &Ciphertext,
        progress: Progress<'_>,
        flood: &mut dyn FnMut(&mut Poly<Coeff>) -> Result<(), CkksError>,
    ) -> Result<Values, CkksError> {
        if self.params != ciphertext.params && self.params.is_related(&ciphertext.params) {
            return self.relative(&ciphertext.params)?.decrypt_with(ciphertext, progress, flood);
        }
        self.params.check_same(&ciphertext.params, "the ciphertext")?;
        ciphertext.check_data("decryption")?;
        self.id.check_same(ciphertext.key_id, "the ciphertext")?;
        let layout = ciphertext.layout()?;
        let size = layout.rows * layout.columns;
        let mut real = Vec::with_capacity(if ciphertext.complex { 0 } else { size });
        let mut complex = Vec::with_capacity(if ciphertext.complex { size } else { 0 });
        let (short, is_short) = deciding_basis(&self.params, ciphertext.level);
        for (index, bundle) in ciphertext.bundles.iter().enumerate() {
            if !progress(index, ciphertext.bundles.len()) {
                return Err(CkksError::Cancelled);
            }
            let mut phase = self.phase(bundle, &short)?;
            flood(&mut phase)?;
            let coefficients = match decode_coefficients(&phase, ciphertext.scale, !is_short) {
                Some(values) => values,
                None => {
                    let mut phase = self.phase(bundle, bundle.basis())?;
                    flood(&mut phase)?;
                    decode_coefficients(&phase, ciphertext.scale, true).unwrap_or_default()
                }
            };
            // On the flooded phase, where there is a flood: the answer tells nothing that the numbers would not.
            check_guard(&self.params, &coefficients, ciphertext.scale, ciphertext.level)?;
            let count = layout.entries(index).len();
            match (ciphertext.encoding, ciphertext.complex) {
                (Encoding::Coefficients, _) => real.extend_from_slice(&coefficients[..count]),
                (Encoding::Slots, false) => {
                    real.extend(self.params.encoder().evaluate(&coefficients, layout.capacity)[..count].iter().map(|v| v.re));
                }
                (Encoding::Slots, true) => {
                    complex.extend_from_slice(&self.params.encoder().evaluate(&coefficients, layout.capacity)[..count])
                }
            }
        }
        progress(ciphertext.bundles.len(), ciphertext.bundles.len());
        Ok(if ciphertext.complex { Values::Complex(complex) } else { Values::Real(real) })
    }

    /// The phase of a bundle modulo the primes of `basis`.
    fn phase(&self, bundle: &Bundle<Eval>, basis: &Basis) -> Result<Poly<Coeff>, CkksError> {
        Ok(bundle.phase_over(&self.secret, basis)?.swap_remove(0).into_coeff())
    }

    /// A public key, which encrypts at any level.
    ///
    /// # Errors
    /// [`CkksError::Lattice`] where entropy fails.
    pub fn public_key(&self) -> Result<PublicKey, CkksError> {
        self.public_key_rng(&mut SecretRng::from_os()?)
    }

    /// As [`SecretKey::public_key`] with given randomness.
    ///
    /// # Errors
    /// As [`SecretKey::public_key`].
    pub fn public_key_rng(&self, rng: &mut SecretRng) -> Result<PublicKey, CkksError> {
        let chain = self.params.chain();
        let key = clathrate_lattice::PublicKey::generate(&self.secret, chain.ring(), &chain.basis(self.params.max_level()), rng)?;
        Ok(PublicKey { params: self.params.clone(), id: self.id, key })
    }
}

impl SecretKey {
    /// Encrypts an encoded array, at its level and scale.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`]; [`CkksError::Lattice`] where entropy fails.
    pub fn encrypt_encoded(&self, plaintext: &Plaintext) -> Result<Ciphertext, CkksError> {
        self.encrypt_encoded_rng(plaintext, &mut SecretRng::from_os()?)
    }

    /// As [`SecretKey::encrypt_encoded`] with given randomness: tests fix its seed.
    ///
    /// # Errors
    /// As [`SecretKey::encrypt_encoded`].
    pub fn encrypt_encoded_rng(&self, plaintext: &Plaintext, rng: &mut SecretRng) -> Result<Ciphertext, CkksError> {
        self.params().check_same(plaintext.params(), "the plaintext")?;
        let (chain, level) = (self.params().chain(), plaintext.level());
        let basis = chain.basis(level);
        let encrypt = |message: &Poly<Eval>| -> Result<_, CkksError> {
            let mut bundle = Bundle::encrypt_zero(self.secret(), chain.ring(), &basis, rng)?;
            bundle.add_message(0, message)?;
            Ok(bundle)
        };
        Ok(Ciphertext {
            params: self.params().clone(),
            key_id: self.id(),
            shape: plaintext.shape().to_vec(),
            encoding: plaintext.encoding(),
            complex: plaintext.is_complex(),
            level,
            scale: plaintext.scale(),
            bundles: plaintext.messages().iter().map(encrypt).collect::<Result<_, _>>()?,
            symbol: None,
        })
    }
}

/// Encrypts for the owner of the secret key; safe to give away.
#[derive(Debug, Clone)]
pub struct PublicKey {
    pub(crate) params: Params,
    pub(crate) id: KeyId,
    pub(crate) key: clathrate_lattice::PublicKey,
}

impl PublicKey {
    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Which secret it encrypts for.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Encrypts an array.
    ///
    /// # Errors
    /// As [`SecretKey::encrypt`].
    pub fn encrypt(
        &self,
        values: &Values,
        shape: &[usize],
        options: EncryptOptions,
        progress: Progress<'_>,
    ) -> Result<Ciphertext, CkksError> {
        let mut rng = SecretRng::from_os()?;
        encrypt_with(&self.params, self.id, values, shape, options, progress, |basis| Ok(self.key.encrypt_zero(basis, &mut rng)?))
    }
}
