//! Keys of the CKKS layer: what encrypts, what decrypts, what an evaluator holds.

use std::collections::BTreeMap;

use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::multiply::Tensor;
use clathrate_lattice::{Basis, Bundle, Coeff, Crossing, Eval, Level, Poly, SecretRng, SwitchKey, Switcher};
use rustfft::num_complex::Complex64;

use crate::ciphertext::{Ciphertext, Encoding, Layout};
use crate::decode::{check_guard, deciding_basis, decode_coefficients, encode_coefficients};
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::needs::KeyNeeds;
use crate::params::Params;
use crate::shape::ModuleShape;

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
        let remedy = format!("the shape needs {size} values");
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

    /// Exactly the evaluation keys that `needs` states.
    ///
    /// # Errors
    /// `NoSpecialPrimes` where the parameters cannot switch; level errors.
    pub fn evaluation_keys(&self, needs: &KeyNeeds, progress: Progress<'_>) -> Result<EvaluationKeys, CkksError> {
        self.evaluation_keys_rng(needs, progress, &mut SecretRng::from_os()?)
    }

    /// As [`SecretKey::evaluation_keys`] with given randomness.
    ///
    /// # Errors
    /// As [`SecretKey::evaluation_keys`].
    pub fn evaluation_keys_rng(&self, needs: &KeyNeeds, progress: Progress<'_>, rng: &mut SecretRng) -> Result<EvaluationKeys, CkksError> {
        let needs = &self.params.resolve(needs)?.flattened(self.params.shape());
        let total = self.key_count(needs)?;
        let mut done = 0;
        let mut tick = || {
            let go_on = progress(done, total);
            done += 1;
            if go_on { Ok(()) } else { Err(CkksError::Cancelled) }
        };
        let keys = self.make_keys(needs, &mut tick, rng)?;
        progress(total, total);
        Ok(keys)
    }

    /// How many keys `needs` are; refused before one is made where they cannot be.
    fn key_count(&self, needs: &KeyNeeds) -> Result<usize, CkksError> {
        let crossing = self.params.crossing().is_some() && needs.relinearisation().is_some();
        if needs.powers().is_some() && self.params.temporary().is_none() {
            return Err(CkksError::NoTemporaryRank { operation: "rotations by powers of two" });
        }
        let mut count =
            needs.rotation_steps().count() + usize::from(needs.relinearisation().is_some()) + usize::from(needs.conjugation().is_some());
        count += usize::from(needs.relinearisation().is_some() && self.params.direct(Level(0)).is_some());
        count += usize::from(crossing || needs.powers().is_some()) + needs.powers().map_or(0, |_| self.powers().len());
        for (rank, _) in needs.reductions() {
            let from = self.params.rank();
            if rank == 0 || rank >= from {
                return Err(CkksError::RankStep { from, to: rank, remedy: format!("reduce to 1 to {}", from.saturating_sub(1)) });
            }
            if rank > from.div_ceil(2) && !needs.allows_single_steps() {
                let remedy = format!(
                    "reduce to {} or less, or say `single_steps`: keys for many steps of less than half are a possible weakness",
                    from.div_ceil(2)
                );
                return Err(CkksError::RankStep { from, to: rank, remedy });
            }
            self.params.at_rank(rank)?;
            count += 1;
        }
        for (shape, relative) in needs.relatives() {
            count += self.relative(&self.params.relative(shape)?)?.key_count(relative)?;
        }
        Ok(count)
    }

    /// The rotations by powers of two, left and right, up to half the slots.
    fn powers(&self) -> Vec<GaloisElement> {
        let (slots, degree) = (self.params.slot_count() as i64, self.params.degree());
        let mut elements = Vec::new();
        let mut step = 1;
        while step < slots {
            for element in [GaloisElement::rotation(step, degree), GaloisElement::rotation(-step, degree)] {
                if !elements.contains(&element) {
                    elements.push(element);
                }
            }
            step *= 2;
        }
        elements
    }

    fn make_keys(
        &self,
        needs: &KeyNeeds,
        tick: &mut dyn FnMut() -> Result<(), CkksError>,
        rng: &mut SecretRng,
    ) -> Result<EvaluationKeys, CkksError> {
        let (chain, top, degree) = (self.params.chain(), self.params.max_level(), self.params.degree());
        let mut keys = EvaluationKeys::none(&self.params, self.id);
        // The further secret of the temporary rank lives as long as the making of these keys.
        let temporary = match self.params.temporary() {
            Some(temporary) if needs.powers().is_some() || (needs.relinearisation().is_some() && self.params.rank() > 1) => {
                let rank = temporary.rank - self.params.rank();
                let distribution = self.params.distribution_of(rank);
                let extra = clathrate_lattice::SecretKey::generate(degree, rank, 1, distribution, rng)?;
                Some((temporary, self.secret.join_rank(&extra)?))
            }
            _ => None,
        };
        if let Some((_, secret)) = &temporary {
            tick()?;
            let crossing = needs.relinearisation().filter(|_| self.params.rank() > 1);
            let reach = crossing.max(needs.powers()).map_or(top, |reach| reach.level(top));
            keys.rank_down = Some(SwitchKey::rank_down(chain, self.params.gadget()?, reach, secret, self.params.rank(), rng)?);
        }
        if let Some(reach) = needs.relinearisation() {
            tick()?;
            let reach = reach.level(top);
            keys.relinearisation = Some(match &temporary {
                Some((temporary, secret)) if self.params.rank() > 1 => {
                    SwitchKey::cross_relinearisation(temporary.chain(), &temporary.gadget, reach, &self.secret, secret, rng)?
                }
                _ => SwitchKey::relinearisation(chain, self.params.gadget()?, reach, &self.secret, rng)?,
            });
            if let Some((temporary, most)) = self.params.direct(Level(0)).and_then(|temporary| Some((temporary, temporary.direct_level?))) {
                tick()?;
                let key = SwitchKey::relinearisation(temporary.chain(), &temporary.gadget, reach.min(most), &self.secret, rng)?;
                keys.direct = Some(key);
            }
        }
        let rotations = needs.rotation_steps().map(|(steps, reach)| (GaloisElement::rotation(steps, degree), reach));
        let conjugation = needs.conjugation().map(|reach| (GaloisElement::conjugation(degree), reach));
        for (element, reach) in rotations.chain(conjugation) {
            tick()?;
            if keys.galois.get(&element).is_some_and(|key| key.key.level() >= reach.level(top)) {
                continue; // two steps may be one rotation
            }
            let phi = Automorphism::new(element, degree);
            let key = SwitchKey::automorphism(chain, self.params.gadget()?, reach.level(top), &self.secret, &phi, rng)?;
            keys.galois.insert(element, GaloisKey { phi, key });
        }
        if let (Some(reach), Some((temporary, secret))) = (needs.powers(), &temporary) {
            for element in self.powers() {
                tick()?;
                let phi = Automorphism::new(element, degree);
                let key = SwitchKey::automorphism(temporary.chain(), &temporary.gadget, reach.level(top), secret, &phi, rng)?;
                keys.powers.insert(element, GaloisKey { phi, key });
            }
        }
        for (rank, reach) in needs.reductions() {
            tick()?;
            let lower = self.params.at_rank(rank)?;
            let reach = reach.level(lower.max_level());
            let key = SwitchKey::rank_down(lower.chain(), lower.gadget()?, reach, &self.secret, rank, rng)?;
            keys.reductions.insert(rank, (lower, key));
        }
        for (shape, relative) in needs.relatives() {
            let owner = self.relative(&self.params.relative(shape)?)?;
            keys.relatives.insert(shape, owner.make_keys(relative, tick, rng)?);
        }
        Ok(keys)
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

/// One automorphism's key.
#[derive(Debug, Clone)]
pub struct GaloisKey {
    pub(crate) phi: Automorphism,
    pub(crate) key: SwitchKey,
}

/// What an evaluator needs to compute: no secret among it.
#[derive(Debug, Clone)]
pub struct EvaluationKeys {
    pub(crate) params: Params,
    pub(crate) id: KeyId,
    /// To the temporary rank, where products go through it.
    pub(crate) relinearisation: Option<SwitchKey>,
    /// To the rank itself over the widened chain, for the levels where that is secure.
    pub(crate) direct: Option<SwitchKey>,
    /// Back from the temporary rank.
    pub(crate) rank_down: Option<SwitchKey>,
    pub(crate) galois: BTreeMap<GaloisElement, GaloisKey>,
    /// Of powers of two, at the temporary rank.
    pub(crate) powers: BTreeMap<GaloisElement, GaloisKey>,
    /// By the rank they lead to, with the parameters there.
    pub(crate) reductions: BTreeMap<usize, (Params, SwitchKey)>,
    /// Keys of the same secret at other shapes.
    pub(crate) relatives: BTreeMap<ModuleShape, EvaluationKeys>,
}

/// How products of ciphertexts are relinearised.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Relineariser<'a> {
    /// By one switch.
    Direct(&'a Switcher, &'a SwitchKey),
    /// Through the temporary rank.
    Crossing(Crossing<'a>, &'a SwitchKey),
}

impl Relineariser<'_> {
    /// Relinearised, not rescaled.
    pub(crate) fn relinearise(self, tensor: &Tensor) -> Result<Bundle<Eval>, CkksError> {
        Ok(match self {
            Self::Direct(switcher, key) => tensor.relinearise(switcher, key)?,
            Self::Crossing(crossing, key) => tensor.cross_relinearise(crossing, key)?,
        })
    }

    /// Relinearised and rescaled by one division.
    pub(crate) fn relinearise_rescale(self, tensor: &Tensor) -> Result<Bundle<Eval>, CkksError> {
        Ok(match self {
            Self::Direct(switcher, key) => tensor.relinearise_rescale(switcher, key)?,
            Self::Crossing(crossing, key) => tensor.cross_relinearise_rescale(crossing, key)?,
        })
    }
}

impl EvaluationKeys {
    /// No keys yet.
    pub(crate) fn none(params: &Params, id: KeyId) -> Self {
        Self {
            params: params.clone(),
            id,
            relinearisation: None,
            direct: None,
            rank_down: None,
            galois: BTreeMap::new(),
            powers: BTreeMap::new(),
            reductions: BTreeMap::new(),
            relatives: BTreeMap::new(),
        }
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Which secret they belong to.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The keys at `shape`, wherever in the family they are.
    ///
    /// # Errors
    /// [`CkksError::NoRelativeKeys`].
    pub fn relative(&self, shape: ModuleShape) -> Result<&Self, CkksError> {
        self.find(shape).ok_or_else(|| {
            let shapes: Vec<String> = self.shapes().iter().map(ToString::to_string).collect();
            CkksError::NoRelativeKeys { shape, available: shapes.join(", ") }
        })
    }

    fn find(&self, shape: ModuleShape) -> Option<&Self> {
        if self.params.shape() == shape {
            return Some(self);
        }
        self.relatives.values().find_map(|keys| keys.find(shape))
    }

    /// The shapes there are keys for, their own first.
    #[must_use]
    pub fn shapes(&self) -> Vec<ModuleShape> {
        let mut shapes = vec![self.params.shape()];
        shapes.extend(self.relatives.values().flat_map(Self::shapes));
        shapes
    }

    /// The ranks there are reduction keys for, from the rank of these parameters.
    pub fn reduced_ranks(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.reductions.keys().copied()
    }

    /// The relinearisation key: to the temporary rank, where products go through it.
    ///
    /// # Errors
    /// [`CkksError::NoRelinearisationKey`].
    pub fn relinearisation(&self) -> Result<&SwitchKey, CkksError> {
        self.relinearisation.as_ref().ok_or(CkksError::NoRelinearisationKey)
    }

    /// How products at `level` are relinearised.
    pub(crate) fn relineariser(&self, level: Level) -> Result<Relineariser<'_>, CkksError> {
        let key = self.relinearisation()?;
        match self.params.crossing() {
            Some(temporary) if let Some(direct) = self.direct.as_ref().filter(|direct| level <= direct.level()) => {
                Ok(Relineariser::Direct(&temporary.switcher, direct))
            }
            None => Ok(Relineariser::Direct(self.params.switcher()?, key)),
            Some(_) => Ok(Relineariser::Crossing(self.crossing()?, key)),
        }
    }

    /// The way to the temporary rank and back.
    pub(crate) fn crossing(&self) -> Result<Crossing<'_>, CkksError> {
        let temporary = self.params.temporary().ok_or(CkksError::NoTemporaryRank { operation: "a crossing" })?;
        let down = self.rank_down.as_ref().ok_or(CkksError::NoRelinearisationKey)?;
        Ok(Crossing { wide: &temporary.switcher, base: self.params.switcher()?, down })
    }

    /// The key of a reduction to `rank`, and the parameters there.
    ///
    /// # Errors
    /// [`CkksError::NoReductionKey`], naming those there are.
    pub fn reduction(&self, rank: usize) -> Result<(&Params, &SwitchKey), CkksError> {
        let found = self.reductions.get(&rank).map(|(params, key)| (params, key));
        found.ok_or_else(|| {
            let ranks: Vec<String> = self.reductions.keys().map(ToString::to_string).collect();
            let available = if ranks.is_empty() { "none".to_owned() } else { ranks.join(", ") };
            CkksError::NoReductionKey { from: self.params.rank(), to: rank, available }
        })
    }

    /// The key of a rotation by `steps`.
    ///
    /// # Errors
    /// [`CkksError::NoRotationKey`], naming those there are.
    pub fn rotation(&self, steps: i64) -> Result<&GaloisKey, CkksError> {
        let element = GaloisElement::rotation(steps, self.params.degree());
        self.galois.get(&element).ok_or_else(|| CkksError::NoRotationKey { steps, available: self.available() })
    }

    /// The key at the temporary rank of a rotation by `steps`, plus or minus a power of two.
    pub(crate) fn power(&self, steps: i64) -> Option<&GaloisKey> {
        self.powers.get(&GaloisElement::rotation(steps, self.params.degree()))
    }

    /// Whether every rotation can be made of rotations by powers of two.
    #[must_use]
    pub fn has_powers(&self) -> bool {
        !self.powers.is_empty()
    }

    /// The conjugation key.
    ///
    /// # Errors
    /// [`CkksError::NoConjugationKey`].
    pub fn conjugation(&self) -> Result<&GaloisKey, CkksError> {
        self.galois.get(&GaloisElement::conjugation(self.params.degree())).ok_or(CkksError::NoConjugationKey)
    }

    /// The rotation steps there are keys for, in `[0, slots)`; those made of powers of two not among them.
    #[must_use]
    pub fn rotation_steps(&self) -> Vec<i64> {
        let degree = self.params.degree();
        let mut element = 1usize;
        let mut steps = Vec::new();
        for step in 0..(degree / 2) as i64 {
            if let Ok(galois) = GaloisElement::new(element, degree)
                && self.galois.contains_key(&galois)
            {
                steps.push(step);
            }
            element = element * 5 % (2 * degree);
        }
        steps
    }

    fn available(&self) -> String {
        let slots = self.params.slot_count() as i64;
        let signed = |step: i64| if step > slots / 2 { step - slots } else { step };
        let steps: Vec<String> = self.rotation_steps().into_iter().map(|step| signed(step).to_string()).collect();
        if steps.is_empty() { "none".to_owned() } else { steps.join(", ") }
    }

    /// The switching keys of this shape, each with the switcher that reads it.
    pub(crate) fn own_keys(&self) -> impl Iterator<Item = (&Switcher, &SwitchKey)> {
        let (base, temporary) = (self.params.switcher().ok(), self.params.temporary().map(|temporary| &temporary.switcher));
        let up = if self.params.crossing().is_some() { temporary } else { base };
        let relinearisation = self.relinearisation.iter().map(move |key| (up, key));
        let direct = self.direct.iter().map(move |key| (temporary, key));
        let down = self.rank_down.iter().map(move |key| (base, key));
        let galois = self.galois.values().map(move |galois| (base, &galois.key));
        let powers = self.powers.values().map(move |galois| (temporary, &galois.key));
        let reductions = self.reductions.values().map(|(lower, key)| (lower.switcher().ok(), key));
        let all = relinearisation.chain(direct).chain(down).chain(galois).chain(powers).chain(reductions);
        all.filter_map(|(switcher, key)| Some((switcher?, key)))
    }

    /// All switching keys, those of other shapes last.
    pub(crate) fn switch_keys(&self) -> Vec<&SwitchKey> {
        let mut keys: Vec<&SwitchKey> = self.own_keys().map(|(_, key)| key).collect();
        self.relatives.values().for_each(|relative| keys.extend(relative.switch_keys()));
        keys
    }

    /// Bytes in memory, masks expanded.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.switch_keys().into_iter().map(SwitchKey::bytes).sum()
    }
}
