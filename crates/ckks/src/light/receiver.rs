//! The server's side: converts messages of light clients to arrays, and arrays to replies.

use std::ops::Range;

use clathrate_arith::text::counted;
use clathrate_lattice::{Bundle, Eval, Level, PolyRef, Rank};
use clathrate_samples::key::split;
use clathrate_samples::wire::{
    INTRODUCTION, REPLY, Reader, Serial, VERSION, Writer, pack, unpack, unreadable, write_device,
};
use clathrate_samples::{ClientKey, Terms};

use super::authentication::AuthenticationKey;
use crate::arrays::memory::check_free;
use crate::arrays::places::Place;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Order, SecretName};
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::parameters::Params;
use crate::shape::ModuleShape;

const MESSAGE: &str = "a message of a light client";

/// The properties that samples of one array have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The number of the device whose secret encrypts; `None` for the main secret.
    pub device: Option<u64>,
    /// Degree and rank.
    pub shape: ModuleShape,
    /// The level.
    pub level: usize,
    /// The bits of the scale, so that kinds can be compared.
    pub scale_bits: u64,
    /// Whether the numbers are in bit-reversed order.
    pub reversed: bool,
}

/// The server's state of one client.
#[derive(Debug, Clone)]
pub struct Receiver {
    params: Params,
    terms: Terms,
    key: ClientKey,
}

/// An authenticated message.
#[derive(Debug, Clone, Copy)]
pub struct Opened<'m> {
    /// The counter of the first sample.
    pub counter: u64,
    /// Number of samples.
    pub count: usize,
    /// The bodies of the samples.
    pub bodies: &'m [u8],
}

impl Receiver {
    /// Reads the introduction of a client that the owner of `key` made.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for bytes that are not an introduction, or that no client of the owner made;
    /// [`CkksError::WrongSecret`] for a client of another owner; [`CkksError::WrongParams`] for other
    /// parameters; level errors.
    pub fn new(params: &Params, introduction: &[u8], key: &AuthenticationKey) -> Result<Self, CkksError> {
        const WHAT: &str = "the introduction of a light client";
        let mut reader = Reader::new(split(introduction, WHAT)?.0, INTRODUCTION, WHAT)?;
        let terms = Terms::read(&mut reader)?;
        reader.end()?;
        // The bytes are authenticated before anything is computed from them, such as transform tables.
        key.key_id().check_same(KeyId(terms.key_id), "a light client")?;
        let key = key.of_client(&terms);
        key.open(&[], introduction, WHAT)?;
        if terms.digest != *params.root()?.digest() {
            let value = format!("parameters of degree {} and rank {}", terms.degree, terms.rank);
            return Err(
                unreadable(WHAT, value, "the client was made for other parameters: take those").into()
            );
        }
        params.check_level(Level(terms.level))?;
        let (ring, basis) = (params.chain().ring(), params.chain().basis(Level(terms.level)));
        let own: Vec<(u64, usize)> =
            basis.indices().iter().map(|&index| (ring.moduli()[index].value(), index)).collect();
        if own != terms.moduli {
            return Err(unreadable(
                WHAT,
                "other primes".to_owned(),
                "the bytes are damaged: send them again",
            )
            .into());
        }
        params.check_scale(terms.scale, Level(terms.level))?;
        let shape = ModuleShape { degree: terms.degree, rank: terms.rank };
        if shape.dimension() > params.root_shape().dimension() {
            let value = format!("samples of dimension {}", shape.dimension());
            return Err(unreadable(WHAT, value, "the bytes are damaged: send them again").into());
        }
        let params = params.for_samples(shape)?;
        params.check_level(Level(terms.level))?;
        Ok(Self { params, terms, key })
    }

    /// The numbers of the messages, in order, as an array of samples. LWE samples have shape `shape`, by
    /// default a vector; samples of a higher degree are the rows of a matrix.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for bytes that are not a message, or belong to another introduction;
    /// [`CkksError::Shape`] if the numbers do not fill the shape; [`CkksError::Empty`] without messages.
    pub fn receive(&self, messages: &[&[u8]], shape: Option<&[usize]>) -> Result<Ciphertext, CkksError> {
        let degree = self.terms.degree;
        let opened = messages.iter().map(|message| self.opened(message)).collect::<Result<Vec<_>, _>>()?;
        let count = opened.iter().map(|message| message.count).sum();
        // The expanded masks take far more memory than the messages.
        self.check_memory(count)?;
        let shape = match (shape, degree) {
            (None, 1) => vec![count],
            (Some(shape), 1) => shape.to_vec(),
            (None, _) => vec![count, degree],
            (Some(shape), _) => {
                if shape != [count, degree] {
                    let remedy = "samples of several numbers are the rows of a matrix".to_owned();
                    return Err(CkksError::Shape {
                        operation: MESSAGE,
                        left: shape.to_vec(),
                        right: vec![count, degree],
                        remedy,
                    });
                }
                shape.to_vec()
            }
        };
        if shape.iter().try_fold(1usize, |size, &axis| size.checked_mul(axis)) != Some(count * degree) {
            let remedy = format!("there are {}", counted(count * degree, "number"));
            return Err(CkksError::Shape {
                operation: MESSAGE,
                left: shape,
                right: vec![count * degree],
                remedy,
            });
        }
        self.array(shape, opened.iter().flat_map(|message| self.samples(message)))
    }

    /// Samples with the masks of these counters and zero bodies, which can be packed before the messages
    /// arrive. [hermes, sec. 5.4, the offline phase]
    ///
    /// # Errors
    /// [`CkksError::Empty`] without counters; [`CkksError::NotEnoughMemory`].
    pub fn masks(&self, counters: Range<u64>) -> Result<Ciphertext, CkksError> {
        let degree = self.terms.degree;
        let count = usize::try_from(counters.end.saturating_sub(counters.start)).unwrap_or(usize::MAX);
        self.check_memory(count)?;
        self.array(
            if degree == 1 { vec![count] } else { vec![count, degree] },
            counters.map(|counter| (counter, vec![0; degree])),
        )
    }

    /// The bodies of the messages for these counters, ordered by counter and then by number.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for bytes that are not a message, or belong to another introduction, and for
    /// counters that are missing, outside of the range, or duplicate.
    pub(crate) fn bodies(&self, messages: &[&[u8]], counters: &Range<u64>) -> Result<Vec<u128>, CkksError> {
        let refuse = |counter: u64, remedy: String| {
            Err(CkksError::OutOfRange { what: "the counter of a sample", value: counter.to_string(), remedy })
        };
        let (degree, count) =
            (self.terms.degree, usize::try_from(counters.end - counters.start).unwrap_or(usize::MAX));
        let mut bodies: Vec<Option<Vec<u128>>> = vec![None; count];
        for message in messages {
            for (counter, numbers) in self.samples(&self.opened(message)?) {
                if !counters.contains(&counter) {
                    return refuse(
                        counter,
                        format!(
                            "these masks are for the counters {} to {}",
                            counters.start,
                            counters.end - 1
                        ),
                    );
                }
                if bodies[(counter - counters.start) as usize].replace(numbers).is_some() {
                    return refuse(counter, "two messages have it: leave one of them out".to_owned());
                }
            }
        }
        if let Some(missing) = bodies.iter().position(Option::is_none) {
            let remedy = format!("no message has it: all of the {} are needed", counted(count, "counter"));
            return refuse(counters.start + missing as u64, remedy);
        }
        Ok(bodies.into_iter().flatten().flatten().take(count * degree).collect())
    }

    /// The client's name: a digest of its introduction.
    #[must_use]
    pub fn client_id(&self) -> [u8; 32] {
        let mut writer = Writer::default();
        self.terms.write(&mut writer);
        blake3::derive_key("clathrate light client v1", &writer.0)
    }

    /// The id of the owner's key.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        KeyId(self.terms.key_id)
    }

    /// Refuses samples that need more memory than is free.
    fn check_memory(&self, samples: usize) -> Result<(), CkksError> {
        let each = (self.terms.rank + 1) * self.terms.degree * self.terms.moduli.len() * 8;
        check_free(
            MESSAGE,
            samples.saturating_mul(each),
            "receive fewer messages at a time, and pack them before the next ones",
        )
    }

    /// Authenticates a message and checks that it is complete.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for bytes that are not a message, belong to another introduction, or were
    /// not made by the client.
    pub fn opened<'m>(&self, message: &'m [u8]) -> Result<Opened<'m>, CkksError> {
        let (degree, bits, modulus) = (self.terms.degree, self.terms.sent_bits(), self.terms.modulus());
        if (Reader { bytes: message, what: MESSAGE }).array::<4>()? != self.terms.prefix() {
            let remedy =
                "it belongs to another introduction: a client that was made again introduces itself again";
            return Err(unreadable(MESSAGE, "another seed".to_owned(), remedy).into());
        }
        let mut reader =
            Reader { bytes: self.key.open(&self.terms.message_context(), message, MESSAGE)?, what: MESSAGE };
        reader.array::<4>()?;
        let (counter, bodies) = (reader.word()?, reader.bytes);
        let numbers = bodies.len() * 8 / bits as usize;
        let whole = numbers > 0
            && numbers.is_multiple_of(degree)
            && (numbers * bits as usize).div_ceil(8) == bodies.len();
        let count = numbers / degree;
        if !whole || counter.checked_add(count as u64).is_none() {
            let value = format!("{} bytes for numbers of {bits} bits, {degree} in a sample", bodies.len());
            return Err(unreadable(MESSAGE, value, "make the message with a client of this release").into());
        }
        if (0..numbers).any(|index| unpack(bodies, index, bits) << self.terms.dropped >= modulus) {
            return Err(unreadable(
                MESSAGE,
                "a body beyond the modulus".to_owned(),
                "make the message with a client of this release",
            )
            .into());
        }
        Ok(Opened { counter, count, bodies })
    }

    /// The bodies of sample `index`, unpacked from the bodies of a message.
    pub(super) fn numbers(&self, bodies: &[u8], index: usize) -> Vec<u128> {
        let Terms { degree, dropped, .. } = self.terms;
        (index * degree..(index + 1) * degree)
            .map(|place| unpack(bodies, place, self.terms.sent_bits()) << dropped)
            .collect()
    }

    /// The counters and bodies of a message's samples.
    fn samples<'m>(&'m self, message: &Opened<'m>) -> impl Iterator<Item = (u64, Vec<u128>)> + 'm {
        let Opened { counter, count, bodies } = *message;
        (0..count).map(move |index| (counter + index as u64, self.numbers(bodies, index)))
    }

    /// The first bytes of the client's messages.
    #[must_use]
    pub fn prefix(&self) -> [u8; 4] {
        self.terms.prefix()
    }

    /// The number that the owner drew for the client.
    #[must_use]
    pub fn serial(&self) -> Serial {
        self.terms.serial
    }

    /// The root mean square of the error of the dropped bits, in units of the numbers.
    pub(crate) fn truncation(&self) -> f64 {
        f64::from(self.terms.dropped).exp2() / (12f64.sqrt() * self.terms.scale)
    }

    /// The properties that samples of one array have in common.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let Terms { device, degree, rank, level, scale, reversed, .. } = self.terms;
        Kind { device, shape: ModuleShape { degree, rank }, level, scale_bits: scale.to_bits(), reversed }
    }

    /// Samples of clients of one kind as an array; `None` without samples. Each sample is given by its
    /// receiver, its counter, the bodies of its message, and its index in the message.
    pub fn joined(samples: &[(&Self, u64, &[u8], usize)]) -> Result<Option<Ciphertext>, CkksError> {
        let Some((first, ..)) = samples.first() else { return Ok(None) };
        first.check_memory(samples.len())?;
        let bundle = |&(receiver, counter, bodies, index): &(&Self, u64, &[u8], usize)| {
            receiver.bundle(counter, &receiver.numbers(bodies, index))
        };
        let bundles = samples.iter().map(bundle).collect::<Result<Vec<_>, _>>()?;
        let degree = first.terms.degree;
        let shape = if degree == 1 { vec![samples.len()] } else { vec![samples.len(), degree] };
        first.of_bundles(shape, bundles).map(Some)
    }

    /// Samples as an array.
    fn array(
        &self,
        shape: Vec<usize>,
        samples: impl Iterator<Item = (u64, Vec<u128>)>,
    ) -> Result<Ciphertext, CkksError> {
        let bundles = samples
            .map(|(counter, bodies)| self.bundle(counter, &bodies))
            .collect::<Result<Vec<_>, CkksError>>()?;
        self.of_bundles(shape, bundles)
    }

    /// The sample with this counter and these bodies.
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
            key_id: KeyId(self.terms.key_id),
            secret: SecretName::of_device(self.terms.device),
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
    /// The reply that carries an array to this client, under the main secret or a device's secret. It
    /// contains each ciphertext's complete mask, and the bodies of the entries.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless coefficients; [`CkksError::Unsuitable`] for complex numbers and for
    /// samples of a smaller dimension; [`CkksError::Symbol`]; [`CkksError::WrongSecret`] under other
    /// secrets.
    pub fn reply(&self, x: &Ciphertext) -> Result<Vec<u8>, CkksError> {
        let mut bytes = reply_bytes(x)?;
        self.key.seal(&[], &mut bytes);
        Ok(bytes)
    }
}

/// The bytes of a reply, without a tag.
fn reply_bytes(x: &Ciphertext) -> Result<Vec<u8>, CkksError> {
    const OPERATION: &str = "a reply to a light client";
    x.check_data(OPERATION)?;
    let device = x.secret().device_number();
    if device.is_none() {
        x.check_main(OPERATION)?;
    }
    if x.encoding() != Encoding::Coefficients {
        let (expected, got) = (Encoding::Coefficients.name().to_owned(), x.encoding().name().to_owned());
        return Err(CkksError::Encoding { operation: OPERATION, expected, got });
    }
    if x.is_complex() {
        let reason = "it takes real numbers".to_owned();
        return Err(CkksError::Unsuitable { operation: OPERATION, reason });
    }
    let (params, layout) = (x.params(), x.layout());
    if params.shape().dimension() != params.root_shape().dimension() {
        let reason = format!(
            "degree and rank {} are a part of the secret: answer before the rank is reduced",
            params.shape()
        );
        return Err(CkksError::Unsuitable { operation: OPERATION, reason });
    }
    let (ring, basis) = (params.chain().ring(), params.chain().basis(x.level()));
    let mut writer = Writer::default();
    writer.bytes(&REPLY);
    writer.bytes(&[VERSION]);
    writer.bytes(params.root()?.digest());
    writer.bytes(&x.key_id().0);
    write_device(&mut writer, device);
    writer.word(x.scale().to_bits());
    for word in [params.degree(), basis.len(), layout.rows() * layout.columns(), x.bundles().len()] {
        writer.word(word as u64);
    }
    for (index, bundle) in x.bundles().iter().enumerate() {
        let coefficients = bundle.clone().into_coeff();
        let entries: Vec<(usize, usize)> = (0..params.degree())
            .filter_map(|place| {
                let entry = layout.entry(Place { bundle: index, body: 0, index: place })?;
                Some((entry.row * layout.columns() + entry.column, place))
            })
            .collect();
        writer.word(entries.len() as u64);
        let words = |poly: PolyRef<'_, clathrate_lattice::Coeff>| poly.download().to_vec();
        let masks: Vec<Vec<u64>> = coefficients.mask().iter().map(words).collect();
        let body = words(coefficients.bodies().at(0));
        for (prime, &modulus) in basis.indices().iter().enumerate() {
            let row = prime * params.degree()..(prime + 1) * params.degree();
            let numbers: Vec<u128> = masks
                .iter()
                .flat_map(|mask| mask[row.clone()].iter().map(|&word| u128::from(word)))
                .collect();
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
