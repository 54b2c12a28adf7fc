//! The secret key, which decrypts, and the public key, which encrypts for its owner.

use std::collections::BTreeMap;
use std::sync::Arc;

use clathrate_lattice::{Bodies, Bundle, Degree, Rank, SecretRng};
use zeroize::Zeroizing;

use super::budget::Budget;
use super::encrypt::{Encryptor, Outline};
use super::options::EncryptOptions;
use super::randomness::Randomness;
use crate::arrays::Ciphertext;
use crate::encoding::plaintext::Plaintext;
use crate::encoding::values::ValuesRef;
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::names::SecretName;
use crate::parameters::{Params, Runtime};
use crate::progress::Progress;

/// The owner's key, which encrypts, decrypts and makes all other keys. Its `Debug` text contains no secret.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let vector = owner.encrypt(&[1.0, 2.0, 3.0])?;
/// let matrix = owner.encrypt_array(&[1.0, 2.0, 3.0, 4.0], &[2, 2], EncryptOptions::default())?;
/// assert_eq!((vector.shape(), matrix.shape()), (&[3][..], &[2, 2][..]));
/// let numbers = owner.decrypt(&vector)?.into_real()?;
/// assert!(numbers.iter().zip([1.0, 2.0, 3.0]).all(|(number, expected)| (number - expected).abs() < 1e-6));
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Clone)]
pub struct SecretKey {
    pub(super) params: Params,
    pub(super) id: KeyId,
    /// One copy in memory, which clones of the key share.
    pub(super) secret: Arc<clathrate_lattice::SecretKey>,
    /// The seed from which all other secrets are drawn, so that the same owner has the same secrets at any
    /// time. It is on the heap, because moving a value leaves a copy at its old place.
    pub(super) seed: Arc<Zeroizing<Vec<u8>>>,
    /// Secrets of other libraries by number, which are not stored with the key.
    pub(super) outside: BTreeMap<u64, Arc<Zeroizing<Vec<i8>>>>,
    /// The budget of shared results, if there is one. Copies of the key share the count.
    pub(super) budget: Option<Budget>,
    pub(super) progress: Progress,
    pub(super) randomness: Randomness,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey({:?}, {}, redacted)", self.params, self.id)
    }
}

impl SecretKey {
    /// A new key, drawn from the operating system's entropy.
    ///
    /// # Errors
    /// [`CkksError::Lattice`] where entropy fails.
    pub fn generate(params: &Params) -> Result<Self, CkksError> {
        Self::generate_with(params, &mut SecretRng::from_os()?)
    }

    /// A new key, drawn from `rng`, whose seed tests fix.
    pub fn generate_with(params: &Params, rng: &mut SecretRng) -> Result<Self, CkksError> {
        let secret = clathrate_lattice::SecretKey::generate(
            Degree(params.degree()),
            Rank(params.rank()),
            Bodies(1),
            params.distribution_of(params.rank()),
            rng,
        )?;
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let mut seed = Zeroizing::new(vec![0; 32]);
        rng.fill_bytes(&mut seed);
        Ok(Self::from_parts(params, KeyId(id), secret, seed, None))
    }

    pub(crate) fn from_parts(
        params: &Params,
        id: KeyId,
        secret: clathrate_lattice::SecretKey,
        seed: Zeroizing<Vec<u8>>,
        budget: Option<Budget>,
    ) -> Self {
        Self {
            params: params.clone(),
            id,
            secret: Arc::new(secret),
            seed: Arc::new(seed),
            outside: BTreeMap::new(),
            budget,
            progress: Progress::none(),
            randomness: Randomness::default(),
        }
    }

    /// The same key, which reports each bundle that it encrypts or decrypts and each evaluation key that it
    /// makes to `progress`.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// The same key, which draws from `rng`, whose seed tests fix. The key and its clones share this
    /// generator, one operation at a time, so a receiver of progress reports must not start another
    /// operation. Without this call, keys draw from the operating system's entropy. Light clients always do,
    /// so that no two of them have the same masks.
    #[must_use]
    pub fn with_rng(self, rng: SecretRng) -> Self {
        Self { randomness: Randomness::of(rng), ..self }
    }

    /// The same key with another runtime, for example on another device.
    pub fn under(&self, runtime: &Runtime) -> Result<Self, CkksError> {
        Ok(Self { params: self.params.under(runtime)?, ..self.clone() })
    }

    /// The seed of the other secrets, for storage by the key's owner.
    pub(crate) fn seed(&self) -> &[u8] {
        &self.seed
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public name of this secret.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The secret itself.
    #[must_use]
    pub fn secret(&self) -> &clathrate_lattice::SecretKey {
        &self.secret
    }

    /// Encrypts a vector with the default [`EncryptOptions`]: in slots, at [`Params::fresh_level`].
    pub fn encrypt<'v>(&self, values: impl Into<ValuesRef<'v>>) -> Result<Ciphertext, CkksError> {
        let values = values.into();
        self.encrypt_array(values, &[values.len()], EncryptOptions::default())
    }

    /// Encrypts an array. Masks are stored as seeds, so a fresh ciphertext's file has half the ciphertext's
    /// size (at rank 1), and less than half with several bodies under one mask.
    ///
    /// Shapes: `values` row-major of `shape`, at most six axes.
    ///
    /// # Errors
    /// [`CkksError::Shape`], [`CkksError::NotFinite`], [`CkksError::TooLarge`], [`CkksError::Empty`],
    /// [`CkksError::Unsuitable`], [`CkksError::OutOfRange`], level and scale errors; [`CkksError::Insecure`]
    /// for more bodies under one mask than the parameters protect; [`CkksError::Cancelled`].
    pub fn encrypt_array<'v>(
        &self,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        options: EncryptOptions,
    ) -> Result<Ciphertext, CkksError> {
        self.randomness
            .draw(|rng| self.encryptor(options.secret())?.array(values.into(), shape, options, rng))
    }

    fn encryptor(&self, name: SecretName) -> Result<Encryptor<'_>, CkksError> {
        let (ring, secret) = (self.params.chain().ring(), self.named(name)?);
        Ok(Encryptor {
            params: &self.params,
            key_id: self.id,
            progress: &self.progress,
            variance: self.params.noise_model().fresh_secret(),
            zero: Box::new(move |basis, rng| Ok(Bundle::encrypt_zero(&secret, ring, basis, rng)?)),
        })
    }

    /// A public key, which encrypts at any level. It has no receiver of progress, and its encryptions draw
    /// from the operating system's entropy.
    ///
    /// # Errors
    /// [`CkksError::Lattice`] where entropy fails.
    pub fn public_key(&self) -> Result<PublicKey, CkksError> {
        self.randomness.draw(|rng| {
            let top = self.params.max_level();
            self.params.check_fresh(SecretName::Main, top)?;
            let chain = self.params.chain();
            let key =
                clathrate_lattice::PublicKey::generate(&self.secret, chain.ring(), &chain.basis(top), rng)?;
            Ok(PublicKey::from_parts(&self.params, self.id, key))
        })
    }

    /// Encrypts an encoded array at its level and scale, under the main secret or, if its layout has several
    /// bodies, under the secret of as many bodies.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`]; [`CkksError::Insecure`] for more bodies under one mask than the parameters
    /// protect; [`CkksError::Lattice`] where entropy fails; [`CkksError::Cancelled`].
    pub fn encrypt_encoded(&self, plaintext: &Plaintext) -> Result<Ciphertext, CkksError> {
        self.randomness.draw(|rng| {
            self.params.check_same(plaintext.params(), "the plaintext")?;
            let (level, layout) = (plaintext.level(), *plaintext.layout());
            let secret =
                if layout.bodies() == 1 { SecretName::Main } else { SecretName::Bodies(layout.bodies()) };
            self.params.check_fresh(secret, level)?;
            let encryptor = self.encryptor(secret)?;
            let outline =
                Outline { secret, shape: plaintext.shape(), layout, level, scale: plaintext.scale() };
            let encrypted =
                encryptor.messages(outline, rng, |polynomial| Ok(plaintext.messages().get(polynomial)))?;
            Ok(encrypted.freshly(None, encryptor.variance, true))
        })
    }
}

/// Encrypts for the owner of the secret key, and may be published.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let anyone = owner.public_key()?;
/// let z = anyone.encrypt(&[Complex64::new(1.0, -2.0)])?;
/// let number = owner.decrypt(&z)?.into_complex()[0];
/// assert!((number - Complex64::new(1.0, -2.0)).norm() < 1e-6);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PublicKey {
    pub(crate) params: Params,
    pub(crate) id: KeyId,
    /// One copy in memory, which clones of the key share.
    pub(crate) key: Arc<clathrate_lattice::PublicKey>,
    pub(crate) progress: Progress,
    pub(crate) randomness: Randomness,
}

impl PublicKey {
    pub(crate) fn from_parts(params: &Params, id: KeyId, key: clathrate_lattice::PublicKey) -> Self {
        Self {
            params: params.clone(),
            id,
            key: Arc::new(key),
            progress: Progress::none(),
            randomness: Randomness::default(),
        }
    }

    /// The same key, whose encryptions report to `progress`.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// The same key, which draws from `rng` as [`SecretKey::with_rng`] does.
    #[must_use]
    pub fn with_rng(self, rng: SecretRng) -> Self {
        Self { randomness: Randomness::of(rng), ..self }
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public name of the secret that this key encrypts for.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Encrypts a vector with the default [`EncryptOptions`]: in slots, at [`Params::fresh_level`].
    pub fn encrypt<'v>(&self, values: impl Into<ValuesRef<'v>>) -> Result<Ciphertext, CkksError> {
        let values = values.into();
        self.encrypt_array(values, &[values.len()], EncryptOptions::default())
    }

    /// Encrypts an array, under the main secret.
    ///
    /// # Errors
    /// As [`SecretKey::encrypt_array`]; [`CkksError::WrongSecret`] for several bodies under one mask.
    pub fn encrypt_array<'v>(
        &self,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        options: EncryptOptions,
    ) -> Result<Ciphertext, CkksError> {
        if options.bodies.is_some() {
            let remedy = "encrypt without `bodies` and bring the bundles under one mask with share_mask";
            let (operation, secret) = ("an encryption by the public key", options.secret());
            return Err(CkksError::secret_without_keys(operation, secret, remedy));
        }
        let encryptor = Encryptor {
            params: &self.params,
            key_id: self.id,
            progress: &self.progress,
            variance: self.params.noise_model().fresh_public(),
            zero: Box::new(|basis, rng| Ok(self.key.encrypt_zero(basis, rng)?)),
        };
        self.randomness.draw(|rng| encryptor.array(values.into(), shape, options, rng))
    }
}
