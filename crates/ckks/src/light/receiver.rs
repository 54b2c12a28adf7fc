//! The server's side: messages of light clients become arrays, arrays become replies.

use std::ops::Range;

use clathrate_arith::text::counted;
use clathrate_lattice::{Bundle, Eval, Level, PolyRef, Rank};

use super::wire::{INTRODUCTION, REPLY, Reader, Terms, VERSION, Writer, pack, unpack, unreadable, write_secret};
use crate::arrays::memory::check_free;
use crate::arrays::places::Place;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Order, SecretName};
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::parameters::Params;
use crate::shape::ModuleShape;

const MESSAGE: &str = "a message of a light client";

/// What samples must have in common to be one array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub owner: KeyId,
    pub secret: SecretName,
    pub shape: ModuleShape,
    pub level: usize,
    pub scale_bits: u64,
    pub reversed: bool,
}

/// What a server knows of one client.
#[derive(Debug, Clone)]
pub struct Receiver {
    params: Params,
    terms: Terms,
}

impl Receiver {
    /// Takes a client's introduction.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for bytes that are no introduction; [`CkksError::WrongParams`] for other parameters; level errors.
    pub fn new(params: &Params, introduction: &[u8]) -> Result<Self, CkksError> {
        const WHAT: &str = "the introduction of a light client";
        let mut reader = Reader::new(introduction, INTRODUCTION, WHAT)?;
        let terms = Terms::read(&mut reader)?;
        reader.end()?;
        if terms.digest != *params.root()?.digest() {
            let value = format!("parameters of degree {} and rank {}", terms.degree, terms.rank);
            return Err(unreadable(WHAT, value, "the client was made for other parameters: take those"));
        }
        params.check_level(Level(terms.level))?;
        let (ring, basis) = (params.chain().ring(), params.chain().basis(Level(terms.level)));
        let own: Vec<(u64, usize)> = basis.indices().iter().map(|&index| (ring.moduli()[index].value(), index)).collect();
        if own != terms.moduli {
            return Err(unreadable(WHAT, "other primes".to_owned(), "the bytes are damaged: send them again"));
        }
        params.check_scale(terms.scale, Level(terms.level))?;
        let shape = ModuleShape { degree: terms.degree, rank: terms.rank };
        if shape.dimension() > params.root_shape().dimension() {
            let value = format!("samples of dimension {}", shape.dimension());
            return Err(unreadable(WHAT, value, "the bytes are damaged: send them again"));
        }
        let params = params.for_samples(shape)?;
        params.check_level(Level(terms.level))?;
        Ok(Self { params, terms })
    }

    /// The numbers of the messages, in their order, as an array of samples: of LWE samples in the shape `shape`, by default a vector; of samples of a higher degree a
    /// matrix with a row for each.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for bytes that are no message, or of another introduction; [`CkksError::Shape`] where the numbers do not fill the shape;
    /// [`CkksError::Empty`] without messages.
    pub fn receive(&self, messages: &[&[u8]], shape: Option<&[usize]>) -> Result<Ciphertext, CkksError> {
        let degree = self.terms.degree;
        // Expanding the masks takes far more memory than the messages.
        let bits = self.terms.sent_bits() as usize;
        self.check_memory(messages.iter().map(|message| message.len().saturating_sub(12) * 8 / bits / degree).sum())?;
        let samples = self.parsed(messages)?;
        let count = samples.len();
        let shape = match (shape, degree) {
            (None, 1) => vec![count],
            (Some(shape), 1) => shape.to_vec(),
            (None, _) => vec![count, degree],
            (Some(shape), _) => {
                if shape != [count, degree] {
                    let remedy = "samples of several numbers are the rows of a matrix".to_owned();
                    return Err(CkksError::Shape { operation: MESSAGE, left: shape.to_vec(), right: vec![count, degree], remedy });
                }
                shape.to_vec()
            }
        };
        if shape.iter().try_fold(1usize, |size, &axis| size.checked_mul(axis)) != Some(count * degree) {
            let remedy = format!("there are {}", counted(count * degree, "number"));
            return Err(CkksError::Shape { operation: MESSAGE, left: shape, right: vec![count * degree], remedy });
        }
        self.array(shape, &samples)
    }

    /// The masks of these counters, without the bodies that messages bring: what can be packed before the messages come. [hermes, sec. 5.4, the offline phase]
    ///
    /// # Errors
    /// [`CkksError::Empty`] without counters; [`CkksError::NotEnoughMemory`].
    pub fn masks(&self, counters: Range<u64>) -> Result<Ciphertext, CkksError> {
        let degree = self.terms.degree;
        let count = usize::try_from(counters.end.saturating_sub(counters.start)).unwrap_or(usize::MAX);
        self.check_memory(count)?;
        let samples: Vec<(u64, Vec<u128>)> = counters.map(|counter| (counter, vec![0; degree])).collect();
        self.array(if degree == 1 { vec![count] } else { vec![count, degree] }, &samples)
    }

    /// The bodies that the messages bring for these counters, by counter, then by number.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for bytes that are no message, or of another introduction, and for counters that are missing, outside the range, or there twice.
    pub(crate) fn bodies(&self, messages: &[&[u8]], counters: &Range<u64>) -> Result<Vec<u128>, CkksError> {
        let refuse = |counter: u64, remedy: String| {
            Err(CkksError::OutOfRange { what: "the counter of a sample", value: counter.to_string(), remedy })
        };
        let (degree, count) = (self.terms.degree, usize::try_from(counters.end - counters.start).unwrap_or(usize::MAX));
        let mut bodies: Vec<Option<Vec<u128>>> = vec![None; count];
        for (counter, numbers) in self.parsed(messages)? {
            if !counters.contains(&counter) {
                return refuse(counter, format!("these masks are for the counters {} to {}", counters.start, counters.end - 1));
            }
            if bodies[(counter - counters.start) as usize].replace(numbers).is_some() {
                return refuse(counter, "two messages have it: leave one of them out".to_owned());
            }
        }
        if let Some(missing) = bodies.iter().position(Option::is_none) {
            let remedy = format!("no message has it: all of the {} are needed", counted(count, "counter"));
            return refuse(counters.start + missing as u64, remedy);
        }
        Ok(bodies.into_iter().flatten().flatten().take(count * degree).collect())
    }

    /// A name for the client: a digest of its introduction.
    #[must_use]
    pub fn client_id(&self) -> [u8; 32] {
        let mut writer = Writer::default();
        self.terms.write(&mut writer);
        blake3::derive_key("clathrate light client v1", &writer.0)
    }

    /// The owner's key that the samples are for.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.terms.key_id
    }

    /// Refuses more samples than there is memory for.
    fn check_memory(&self, samples: usize) -> Result<(), CkksError> {
        let each = (self.terms.rank + 1) * self.terms.degree * self.terms.moduli.len() * 8;
        check_free(MESSAGE, samples.saturating_mul(each), "receive fewer messages at a time, and pack them before the next ones")
    }

    /// The counters and bodies of the samples in the messages.
    pub(super) fn parsed(&self, messages: &[&[u8]]) -> Result<Vec<(u64, Vec<u128>)>, CkksError> {
        let Terms { degree, dropped, .. } = self.terms;
        let (bits, modulus) = (self.terms.sent_bits(), self.terms.modulus());
        let mut samples: Vec<(u64, Vec<u128>)> = Vec::new();
        for message in messages {
            let mut reader = Reader { bytes: message, what: MESSAGE };
            if reader.array::<4>()? != self.terms.tag() {
                let remedy = "it belongs to another introduction: a client that was made again introduces itself again";
                return Err(unreadable(MESSAGE, "another seed".to_owned(), remedy));
            }
            let (counter, bytes) = (reader.word()?, reader.bytes);
            let count = bytes.len() * 8 / bits as usize;
            let whole = count > 0 && count.is_multiple_of(degree) && (count * bits as usize).div_ceil(8) == bytes.len();
            let end = counter.checked_add((count / degree) as u64);
            if !whole || end.is_none() {
                let value = format!("{} bytes for numbers of {bits} bits, {degree} in a sample", bytes.len());
                return Err(unreadable(MESSAGE, value, "the bytes are cut off: send them again"));
            }
            let numbers: Vec<u128> = (0..count).map(|index| unpack(bytes, index, bits) << dropped).collect();
            if numbers.iter().any(|&number| number >= modulus) {
                return Err(unreadable(MESSAGE, "a body beyond the modulus".to_owned(), "the bytes are damaged: send them again"));
            }
            samples.extend(numbers.chunks_exact(degree).enumerate().map(|(i, numbers)| (counter + i as u64, numbers.to_vec())));
        }
        Ok(samples)
    }

    /// First bytes of the client's messages.
    pub(super) fn tag(&self) -> [u8; 4] {
        self.terms.tag()
    }

    /// What samples must have in common to be one array.
    pub(super) fn kind(&self) -> Kind {
        let Terms { key_id: owner, secret, degree, rank, level, scale, reversed, .. } = self.terms;
        Kind { owner, secret, shape: ModuleShape { degree, rank }, level, scale_bits: scale.to_bits(), reversed }
    }

    /// Samples of clients of one kind as an array; `None` without samples.
    pub(super) fn joined(samples: &[(&Self, u64, &[u128])]) -> Result<Option<Ciphertext>, CkksError> {
        let Some((first, ..)) = samples.first() else { return Ok(None) };
        first.check_memory(samples.len())?;
        let bundles = samples.iter().map(|(receiver, counter, bodies)| receiver.bundle(*counter, bodies)).collect::<Result<Vec<_>, _>>()?;
        let degree = first.terms.degree;
        let shape = if degree == 1 { vec![samples.len()] } else { vec![samples.len(), degree] };
        first.of_bundles(shape, bundles).map(Some)
    }

    /// Samples as an array.
    fn array(&self, shape: Vec<usize>, samples: &[(u64, Vec<u128>)]) -> Result<Ciphertext, CkksError> {
        let bundles = samples.iter().map(|(counter, bodies)| self.bundle(*counter, bodies)).collect::<Result<Vec<_>, CkksError>>()?;
        self.of_bundles(shape, bundles)
    }

    /// The sample of a counter with these bodies.
    fn bundle(&self, counter: u64, numbers: &[u128]) -> Result<Bundle<Eval>, CkksError> {
        let (ring, basis) = (self.params.chain().ring(), self.params.chain().basis(Level(self.terms.level)));
        let body = |index: usize, words: &mut [u64]| {
            let modulus = &ring.moduli()[index];
            words.iter_mut().zip(numbers).for_each(|(word, &number)| *word = modulus.reduce_u128(number));
        };
        Ok(Bundle::counted(ring, &basis, Rank(self.terms.rank), &self.terms.seed, counter, body)?.into_eval())
    }

    fn of_bundles(&self, shape: Vec<usize>, bundles: Vec<Bundle<Eval>>) -> Result<Ciphertext, CkksError> {
        let Terms { degree, level, scale, .. } = self.terms;
        let order = if self.terms.reversed && degree > 1 { Order::BitReversed } else { Order::Natural };
        let layout = Layout::new(&shape, Encoding::Coefficients, degree)?.with_order(order);
        Ok(Ciphertext {
            params: self.params.clone(),
            key_id: self.terms.key_id,
            secret: self.terms.secret,
            shape,
            layout,
            level: Level(level),
            scale,
            bundles,
            estimate: Estimate::unknown(),
            footprint: None,
        })
    }

    /// The parameters of the samples.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }
}

/// The bytes of an array for a light client of its secret, the main one or a device's, which decrypts them. Of a ciphertext the whole mask is sent, and the bodies of the numbers.
///
/// # Errors
/// [`CkksError::Encoding`] unless coefficients; [`CkksError::Conversion`] for complex numbers and several bodies under one mask; [`CkksError::Symbol`];
/// [`CkksError::SecretWithoutKeys`] under the secret of several bodies.
pub fn reply(x: &Ciphertext) -> Result<Vec<u8>, CkksError> {
    const OPERATION: &str = "a reply to a light client";
    x.check_data(OPERATION)?;
    if !matches!(x.secret(), SecretName::Device(_)) {
        x.check_main(OPERATION)?;
    }
    if x.encoding() != Encoding::Coefficients {
        let (expected, got) = (Encoding::Coefficients.name().to_owned(), x.encoding().name().to_owned());
        return Err(CkksError::Encoding { operation: OPERATION, expected, got });
    }
    if x.is_complex() {
        let reason = "it takes real numbers".to_owned();
        return Err(CkksError::Conversion { operation: OPERATION, reason });
    }
    let (params, layout) = (x.params(), x.layout());
    if params.shape().dimension() != params.root_shape().dimension() {
        let reason = format!("degree and rank {} are a part of the secret: answer before the rank is reduced", params.shape());
        return Err(CkksError::Conversion { operation: OPERATION, reason });
    }
    let (ring, basis) = (params.chain().ring(), params.chain().basis(x.level()));
    let mut writer = Writer::default();
    writer.bytes(&REPLY);
    writer.bytes(&[VERSION]);
    writer.bytes(params.root()?.digest());
    writer.bytes(&x.key_id().0);
    write_secret(&mut writer, x.secret());
    writer.word(x.scale().to_bits());
    for word in [params.degree(), basis.len(), layout.rows * layout.columns, x.bundles().len()] {
        writer.word(word as u64);
    }
    for (index, bundle) in x.bundles().iter().enumerate() {
        let coefficients = bundle.clone().into_coeff();
        let entries: Vec<(usize, usize)> = (0..params.degree())
            .filter_map(|place| {
                let entry = layout.entry(Place { bundle: index, body: 0, index: place })?;
                Some((entry.row * layout.columns + entry.column, place))
            })
            .collect();
        writer.word(entries.len() as u64);
        let words = |poly: PolyRef<'_, clathrate_lattice::Coeff>| poly.download().to_vec();
        let masks: Vec<Vec<u64>> = coefficients.mask().iter().map(words).collect();
        let body = words(coefficients.bodies().at(0));
        for (prime, &modulus) in basis.indices().iter().enumerate() {
            let row = prime * params.degree()..(prime + 1) * params.degree();
            let numbers: Vec<u128> = masks.iter().flat_map(|mask| mask[row.clone()].iter().map(|&word| u128::from(word))).collect();
            writer.bytes(&pack(&numbers, ring.moduli()[modulus].bits()));
        }
        for (entry, place) in entries {
            writer.word(entry as u64);
            writer.word(place as u64);
            (0..basis.len()).for_each(|prime| writer.word(body[prime * params.degree() + place]));
        }
    }
    Ok(writer.0)
}
