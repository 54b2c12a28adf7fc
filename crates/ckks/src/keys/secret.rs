//! The secret key, which decrypts, and the public key, which encrypts for its owner.

use std::collections::BTreeMap;
use std::sync::Arc;

use clathrate_lattice::{Basis, Bodies, Bundle, Degree, Eval, Rank, SecretRng};
use zeroize::Zeroizing;

use super::budget::Budget;
use super::name::SecretName;
use super::options::EncryptOptions;
use crate::arrays::memory::check_free;
use crate::arrays::{Ciphertext, Estimate};
use crate::embedding::Rounding;
use crate::encoding::chunks::encode_polynomial;
use crate::encoding::encode::deciding_magnitude;
use crate::encoding::plaintext::Plaintext;
use crate::encoding::values::{ValuesRef, check_values};
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::parameters::{Params, Runtime};
use crate::progress::Progress;

fn encrypt_with(
    params: &Params,
    key_id: KeyId,
    values: ValuesRef<'_>,
    shape: &[usize],
    options: EncryptOptions,
    (progress, variance): (Progress<'_>, f64),
    rng: &mut SecretRng,
    zero: impl Fn(&Basis, &mut SecretRng) -> Result<Bundle<Eval>, CkksError>,
) -> Result<Ciphertext, CkksError> {
    let layout = options.layout(shape, values.is_complex(), params.degree())?;
    check_values(values, shape, &layout)?;
    let level = options.level.unwrap_or(params.fresh_level());
    params.check_level(level)?;
    params.check_fresh(options.secret(), level)?;
    let scale = options.scale.unwrap_or(params.scale(level));
    params.check_scale(scale, level)?;
    options.check_bound(values)?;
    params.check_bound(options.bound.unwrap_or(f64::INFINITY), scale, level)?;
    let basis = params.chain().basis(level);
    let words = (params.rank() + layout.bodies).saturating_mul(basis.len()).saturating_mul(params.degree());
    check_free(
        "encrypting this array",
        layout.bundles().saturating_mul(words).saturating_mul(8),
        "put several rows into each polynomial (`lanes`), transpose it, so that few long rows fill theirs, or encrypt a part of it at a time",
    )?;
    let largest = deciding_magnitude(options.bound, values, scale);
    // Two encryptions of one array have different errors.
    let rounding = Rounding::random(rng);
    let mut bundles = Vec::with_capacity(layout.bundles());
    for index in 0..layout.bundles() {
        if !progress(index, layout.bundles()) {
            return Err(CkksError::Cancelled);
        }
        let message = |polynomial: usize| {
            let rounding = rounding.of_case(polynomial as u64);
            encode_polynomial(params, (values, largest), &layout, polynomial, (scale, rounding), level)
        };
        let messages =
            (0..layout.bodies).map(|body| layout.polynomial_at(index, body).map(message).transpose());
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        let mut bundle = zero(&basis, rng)?;
        for (body, message) in messages.iter().enumerate() {
            message.iter().try_for_each(|message| bundle.add_message(body, message))?;
        }
        bundles.push(bundle);
    }
    progress(layout.bundles(), layout.bundles());
    let encrypted = Ciphertext {
        params: params.clone(),
        key_id,
        secret: options.secret(),
        shape: shape.to_vec(),
        layout,
        level,
        scale,
        bundles,
        estimate: Estimate::unknown(),
        footprint: None,
    };
    Ok(encrypted.freshly(options.bound, variance, false))
}

/// The owner's key: encrypts, decrypts, makes the other keys. Never printed, never part of another object.
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
    pub(super) secret: clathrate_lattice::SecretKey,
    /// The seed of all other secrets of the parameters, so that the same owner draws the same secrets at any
    /// time. On the heap, because a value that is moved leaves a copy where it was.
    pub(super) seed: Zeroizing<Vec<u8>>,
    /// Secrets of other libraries by number, which are not stored with the key.
    pub(super) outside: BTreeMap<u64, Arc<Zeroizing<Vec<i8>>>>,
    /// How many more results may be shared, where that is limited. Copies of the key count together.
    pub(super) budget: Option<Budget>,
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
        Ok(Self {
            params: params.clone(),
            id: KeyId(id),
            secret,
            seed,
            outside: BTreeMap::new(),
            budget: None,
        })
    }

    pub(crate) fn from_parts(
        params: &Params,
        id: KeyId,
        secret: clathrate_lattice::SecretKey,
        seed: Zeroizing<Vec<u8>>,
        budget: Option<Budget>,
    ) -> Self {
        Self { params: params.clone(), id, secret, seed, outside: BTreeMap::new(), budget }
    }

    /// The same key under another runtime, such as on another device.
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

    /// Encrypts a vector with the default choices of [`EncryptOptions`]: in slots, at the highest level.
    pub fn encrypt<'v>(&self, values: impl Into<ValuesRef<'v>>) -> Result<Ciphertext, CkksError> {
        let values = values.into();
        self.encrypt_array(values, &[values.len()], EncryptOptions::default())
    }

    /// Encrypts an array; masks are seeded, so a fresh ciphertext's file is half its size (at rank 1), and
    /// less with several bodies under one mask.
    ///
    /// Shapes: `values` row-major of `shape`, at most two axes.
    ///
    /// # Errors
    /// [`CkksError::Shape`], [`CkksError::NotFinite`], [`CkksError::ValueTooLarge`], [`CkksError::Empty`],
    /// [`CkksError::NoRoom`], [`CkksError::OutOfRange`], level and scale errors; [`CkksError::Insecure`] for
    /// more bodies under one mask than the parameters protect.
    pub fn encrypt_array<'v>(
        &self,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        options: EncryptOptions,
    ) -> Result<Ciphertext, CkksError> {
        self.encrypt_array_with_progress(values, shape, options, &mut |_, _| true)
    }

    /// As [`SecretKey::encrypt_array`]; `progress` is called for each bundle.
    ///
    /// # Errors
    /// As [`SecretKey::encrypt_array`]; [`CkksError::Cancelled`].
    pub fn encrypt_array_with_progress<'v>(
        &self,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        options: EncryptOptions,
        progress: Progress<'_>,
    ) -> Result<Ciphertext, CkksError> {
        self.encrypt_by(values.into(), shape, options, progress, &mut SecretRng::from_os()?)
    }

    /// As [`SecretKey::encrypt_array`] with given randomness: tests fix its seed.
    pub fn encrypt_array_rng<'v>(
        &self,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        options: EncryptOptions,
        rng: &mut SecretRng,
    ) -> Result<Ciphertext, CkksError> {
        self.encrypt_by(values.into(), shape, options, &mut |_, _| true, rng)
    }

    fn encrypt_by(
        &self,
        values: ValuesRef<'_>,
        shape: &[usize],
        options: EncryptOptions,
        progress: Progress<'_>,
        rng: &mut SecretRng,
    ) -> Result<Ciphertext, CkksError> {
        let (ring, secret) = (self.params.chain().ring().clone(), self.named(options.secret())?);
        let noise = (progress, self.params.noise_model().fresh_secret());
        encrypt_with(&self.params, self.id, values, shape, options, noise, rng, |basis, rng| {
            Ok(Bundle::encrypt_zero(&secret, &ring, basis, rng)?)
        })
    }

    /// A public key, which encrypts at any level.
    ///
    /// # Errors
    /// [`CkksError::Lattice`] where entropy fails.
    pub fn public_key(&self) -> Result<PublicKey, CkksError> {
        self.public_key_rng(&mut SecretRng::from_os()?)
    }

    /// As [`SecretKey::public_key`] with given randomness.
    pub fn public_key_rng(&self, rng: &mut SecretRng) -> Result<PublicKey, CkksError> {
        self.params.check_fresh(SecretName::Main, self.params.max_level())?;
        let chain = self.params.chain();
        let key = clathrate_lattice::PublicKey::generate(
            &self.secret,
            chain.ring(),
            &chain.basis(self.params.max_level()),
            rng,
        )?;
        Ok(PublicKey { params: self.params.clone(), id: self.id, key })
    }
}

impl SecretKey {
    /// Encrypts an encoded array, at its level and scale, under the main secret or under the secret of as
    /// many bodies as its layout has.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`]; [`CkksError::Insecure`] for more bodies under one mask than the parameters
    /// protect; [`CkksError::Lattice`] where entropy fails.
    pub fn encrypt_encoded(&self, plaintext: &Plaintext) -> Result<Ciphertext, CkksError> {
        self.encrypt_encoded_rng(plaintext, &mut SecretRng::from_os()?)
    }

    /// As [`SecretKey::encrypt_encoded`] with given randomness: tests fix its seed.
    pub fn encrypt_encoded_rng(
        &self,
        plaintext: &Plaintext,
        rng: &mut SecretRng,
    ) -> Result<Ciphertext, CkksError> {
        self.params().check_same(plaintext.params(), "the plaintext")?;
        let (chain, level, layout) = (self.params().chain(), plaintext.level(), *plaintext.layout());
        let name = if layout.bodies == 1 { SecretName::Main } else { SecretName::Bodies(layout.bodies) };
        self.params().check_fresh(name, level)?;
        let (basis, secret) = (chain.basis(level), self.named(name)?);
        let mut encrypt = |index: usize| -> Result<_, CkksError> {
            let mut bundle = Bundle::encrypt_zero(&secret, chain.ring(), &basis, rng)?;
            for body in 0..layout.bodies {
                let message = layout
                    .polynomial_at(index, body)
                    .and_then(|polynomial| plaintext.messages().get(polynomial));
                message.map_or(Ok(()), |message| bundle.add_message(body, message))?;
            }
            Ok(bundle)
        };
        let bundles = (0..layout.bundles()).map(&mut encrypt).collect::<Result<_, _>>()?;
        let encrypted = Ciphertext {
            params: self.params().clone(),
            key_id: self.id(),
            secret: name,
            shape: plaintext.shape().to_vec(),
            layout,
            level,
            scale: plaintext.scale(),
            bundles,
            estimate: Estimate::unknown(),
            footprint: None,
        };
        Ok(encrypted.freshly(None, self.params().noise_model().fresh_secret(), true))
    }
}

/// Encrypts for the owner of the secret key; safe to give away.
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
    pub(crate) key: clathrate_lattice::PublicKey,
}

impl PublicKey {
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

    /// Encrypts a vector with the default choices of [`EncryptOptions`]: in slots, at the highest level.
    pub fn encrypt<'v>(&self, values: impl Into<ValuesRef<'v>>) -> Result<Ciphertext, CkksError> {
        let values = values.into();
        self.encrypt_array(values, &[values.len()], EncryptOptions::default())
    }

    /// Encrypts an array, under the main secret.
    ///
    /// # Errors
    /// As [`SecretKey::encrypt_array`]; [`CkksError::SecretWithoutKeys`] for several bodies under one mask.
    pub fn encrypt_array<'v>(
        &self,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        options: EncryptOptions,
    ) -> Result<Ciphertext, CkksError> {
        self.encrypt_array_with_progress(values, shape, options, &mut |_, _| true)
    }

    /// As [`PublicKey::encrypt_array`]; `progress` is called for each bundle.
    ///
    /// # Errors
    /// As [`PublicKey::encrypt_array`]; [`CkksError::Cancelled`].
    pub fn encrypt_array_with_progress<'v>(
        &self,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        options: EncryptOptions,
        progress: Progress<'_>,
    ) -> Result<Ciphertext, CkksError> {
        if options.bodies.is_some() {
            let remedy = "encrypt without `bodies` and bring the bundles under one mask with share_mask";
            let (operation, secret) = ("an encryption by the public key", options.secret().to_string());
            return Err(CkksError::SecretWithoutKeys { operation, secret, remedy });
        }
        let mut rng = SecretRng::from_os()?;
        let noise = (progress, self.params.noise_model().fresh_public());
        encrypt_with(&self.params, self.id, values.into(), shape, options, noise, &mut rng, |basis, rng| {
            Ok(self.key.encrypt_zero(basis, rng)?)
        })
    }
}
