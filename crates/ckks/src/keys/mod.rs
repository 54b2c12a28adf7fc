//! Keys of the CKKS layer: what encrypts, what decrypts; what an evaluator holds is in `evaluation`, how the owner makes it in `making`.

use clathrate_arith::text::counted;
use clathrate_lattice::{Basis, Bundle, Coeff, Eval, Level, Poly, SecretRng};
use rustfft::num_complex::Complex64;

use crate::ciphertext::{Ciphertext, Encoding, Layout};
use crate::decode::{check_guard, deciding_basis, decode_coefficients, encode_coefficients};
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::params::Params;

mod evaluation;
mod making;

pub(crate) use evaluation::Relineariser;
pub use evaluation::{EvaluationKeys, GaloisKey};

/// Called with (done, total); answers whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize) -> bool;

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

/// The numbers of an array, row-major.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Real numbers.
    Real(Vec<f64>),
    /// Complex numbers; slots only.
    Complex(Vec<Complex64>),
}

impl Values {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::Complex(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether they are complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        matches!(self, Self::Complex(_))
    }

    /// Refuses NaN and infinities, by flat index.
    ///
    /// # Errors
    /// [`CkksError::NotFinite`].
    pub fn check_finite(&self) -> Result<(), CkksError> {
        let bad = match self {
            Self::Real(values) => values.iter().position(|v| !v.is_finite()).map(|i| (i, values[i])),
            Self::Complex(values) => {
                values.iter().position(|v| !v.is_finite()).map(|i| (i, if values[i].re.is_finite() { values[i].im } else { values[i].re }))
            }
        };
        bad.map_or(Ok(()), |(index, value)| Err(CkksError::NotFinite { index, value }))
    }
}

/// The polynomial coefficients (unscaled) that hold `values[range]`.
pub(crate) fn coefficients_of(
    params: &Params,
    values: &Values,
    range: std::ops::Range<usize>,
    encoding: Encoding,
    capacity: usize,
) -> Vec<f64> {
    match (encoding, values) {
        (Encoding::Coefficients, Values::Real(values)) => values[range].to_vec(),
        // Complex numbers have no place among coefficients: refused before.
        (Encoding::Coefficients, Values::Complex(values)) => values[range].iter().map(|v| v.re).collect(),
        (Encoding::Slots, values) => {
            let mut slots = vec![Complex64::default(); capacity];
            match values {
                Values::Real(values) => slots.iter_mut().zip(&values[range]).for_each(|(slot, &v)| *slot = v.into()),
                Values::Complex(values) => slots.iter_mut().zip(&values[range]).for_each(|(slot, &v)| *slot = v),
            }
            params.encoder().embed(&slots)
        }
    }
}

/// Refuses arrays that cannot be encoded so.
pub(crate) fn check_values(values: &Values, shape: &[usize], encoding: Encoding) -> Result<(), CkksError> {
    let size: usize = shape.iter().product();
    if size != values.len() {
        let remedy = format!("the shape needs {}", counted(size, "value"));
        return Err(CkksError::Shape { operation: "encode", left: shape.to_vec(), right: vec![values.len()], remedy });
    }
    if encoding == Encoding::Coefficients && values.is_complex() {
        return Err(CkksError::Encoding {
            operation: "complex data",
            expected: Encoding::Slots.name().to_owned(),
            got: encoding.name().to_owned(),
        });
    }
    values.check_finite()
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
    Ok(Ciphertext { params: params.clone(), key_id, shape: shape.to_vec(), encoding, complex: values.is_complex(), level, scale, bundles })
}

/// The owner's key: encrypts, decrypts, makes the other keys. Never printed, never part of another object.
#[derive(Debug, Clone)]
pub struct SecretKey {
    params: Params,
    id: KeyId,
    secret: clathrate_lattice::SecretKey,
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
        Ok(Self { params: params.clone(), id: KeyId(id), secret })
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
        Ok(Self { params: params.clone(), id: self.id, secret })
    }

    pub(crate) fn from_parts(params: &Params, id: KeyId, secret: clathrate_lattice::SecretKey) -> Self {
        Self { params: params.clone(), id, secret }
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
            let mut phase = self.phase(&bundle.restrict(&short)?)?;
            flood(&mut phase)?;
            let coefficients = match decode_coefficients(&phase, ciphertext.scale, !is_short) {
                Some(values) => values,
                None => {
                    let mut phase = self.phase(bundle)?;
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

    fn phase(&self, bundle: &Bundle<Eval>) -> Result<Poly<Coeff>, CkksError> {
        Ok(bundle.phase(&self.secret)?.swap_remove(0).into_coeff())
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
