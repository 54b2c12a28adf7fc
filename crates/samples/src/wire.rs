//! The bytes that light clients send and receive, little-endian; see `docs/light-client.md`.

use clathrate_arith::Modulus;
use clathrate_arith::kernels::scalar::bit_reverse;
use clathrate_lattice::MaskSeed;

use crate::error::SampleError;

/// The first bytes of an introduction.
pub const INTRODUCTION: [u8; 4] = *b"CLLI";
/// The first bytes of a reply.
pub const REPLY: [u8; 4] = *b"CLLR";
/// The first bytes of a stored state.
pub const STATE: [u8; 4] = *b"CLLS";
/// The first bytes of the context of a message's tag.
pub const MESSAGE: [u8; 4] = *b"CLLM";

/// The version of these formats.
pub const VERSION: u8 = 3;

/// Minimum of the bits per number in a message, such that a message's length determines its count of numbers.
pub const MIN_BITS: u32 = 8;

/// Maximum of the bits of the modulus, such that residues can be composed in 128 bits.
pub const MAX_BITS: u32 = 120;

/// A number that the owner draws for a client; clients made from one state share it, with different seeds.
pub type Serial = [u8; 16];

/// The name of a client: a digest of its introduction.
pub type ClientId = [u8; 32];

/// The terms by which one client encrypts.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Digest of the parameters at their root degree and rank.
    pub digest: [u8; 32],
    /// The name of the owner's secret key.
    pub key_id: [u8; 16],
    /// The owner's number for the client.
    pub serial: Serial,
    /// The number of the device whose secret encrypts; `None` for the main secret.
    pub device: Option<u64>,
    /// Degree of a sample.
    pub degree: usize,
    /// Number of polynomials of a sample's mask.
    pub rank: usize,
    /// The level of the samples.
    pub level: usize,
    /// The scale of the samples.
    pub scale: f64,
    /// Number of low bits that are dropped from each body.
    pub dropped: u32,
    /// Whether a sample's numbers are in bit-reversed order.
    pub reversed: bool,
    /// The moduli of the level, each with its index in the ring.
    pub moduli: Vec<(u64, usize)>,
    /// The seed of the masks.
    pub seed: MaskSeed,
}

/// The error for bytes that cannot be used.
pub fn unreadable(what: &'static str, value: String, remedy: &str) -> SampleError {
    SampleError::OutOfRange { what, value, remedy: remedy.to_owned() }
}

/// Writes fields one after the other.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Writes bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes a word.
    pub fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
    }
}

/// Reads fields one after the other.
pub struct Reader<'b> {
    /// The bytes that are left.
    pub bytes: &'b [u8],
    /// Names the bytes, for errors.
    pub what: &'static str,
}

impl<'b> Reader<'b> {
    /// Checks the first bytes and the version.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`].
    pub fn new(bytes: &'b [u8], magic: [u8; 4], what: &'static str) -> Result<Self, SampleError> {
        let mut reader = Self { bytes, what };
        let (first, version) = (reader.array::<4>()?, reader.array::<1>()?);
        if first != magic {
            return Err(unreadable(
                what,
                format!("bytes that begin with {first:02x?}"),
                "give the bytes as the other side wrote them",
            ));
        }
        if version != [VERSION] {
            return Err(unreadable(what, format!("version {}", version[0]), "this release reads version 3"));
        }
        Ok(reader)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`] if fewer are left.
    pub fn slice(&mut self, length: usize) -> Result<&'b [u8], SampleError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(length) else {
            let value = format!("{} bytes where {length} are needed", self.bytes.len());
            return Err(unreadable(self.what, value, "the bytes are cut off: send them again"));
        };
        self.bytes = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`] if fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], SampleError> {
        let mut array = [0; N];
        array.copy_from_slice(self.slice(N)?);
        Ok(array)
    }

    /// The next word.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`] if fewer bytes are left.
    pub fn word(&mut self) -> Result<u64, SampleError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A word below `limit`.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`] for a larger word.
    pub fn number(&mut self, limit: u64, field: &str) -> Result<usize, SampleError> {
        let word = self.word()?;
        if word < limit {
            return Ok(word as usize);
        }
        Err(unreadable(self.what, format!("{field} {word}"), "the bytes are damaged: send them again"))
    }

    /// Refuses further bytes.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`].
    pub fn end(self) -> Result<(), SampleError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(unreadable(
            self.what,
            format!("{} bytes too many", self.bytes.len()),
            "give one of them at a time",
        ))
    }
}

/// Writes which secret encrypts: 0 and a zero word for the main secret, 1 and its number for a device's.
pub fn write_device(writer: &mut Writer, device: Option<u64>) {
    writer.bytes(&[u8::from(device.is_some())]);
    writer.word(device.unwrap_or(0));
}

/// Reads what [`write_device`] wrote.
///
/// # Errors
/// [`SampleError::OutOfRange`].
pub fn read_device(reader: &mut Reader<'_>) -> Result<Option<u64>, SampleError> {
    match (reader.array::<1>()?, reader.word()?) {
        ([0], 0) => Ok(None),
        ([1], number) => Ok(Some(number)),
        ([kind], _) => Err(unreadable(
            reader.what,
            format!("a secret of kind {kind}"),
            "the bytes are damaged: send them again",
        )),
    }
}

/// The name of the secret.
#[must_use]
pub fn secret_name(device: Option<u64>) -> String {
    device.map_or_else(|| "main".to_owned(), |number| format!("device:{number}"))
}

impl Terms {
    /// Writes all terms.
    pub fn write(&self, writer: &mut Writer) {
        self.write_fixed(writer);
        writer.bytes(&self.seed.0);
    }

    /// Writes the terms that the owner chose, which are all terms except the seed.
    pub fn write_fixed(&self, writer: &mut Writer) {
        writer.bytes(&self.digest);
        writer.bytes(&self.key_id);
        writer.bytes(&self.serial);
        write_device(writer, self.device);
        for word in [
            self.degree,
            self.rank,
            self.level,
            self.dropped as usize,
            usize::from(self.reversed),
            self.moduli.len(),
        ] {
            writer.word(word as u64);
        }
        writer.word(self.scale.to_bits());
        for &(modulus, index) in &self.moduli {
            writer.word(modulus);
            writer.word(index as u64);
        }
    }

    /// Reads what [`Terms::write`] wrote.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`] for fields that no client has.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, SampleError> {
        let (digest, key_id) = (reader.array()?, reader.array()?);
        let (serial, device) = (reader.array()?, read_device(reader)?);
        let degree = reader.number((1 << 17) + 1, "the degree")?;
        let rank = reader.number((1 << 17) + 1, "the rank")?;
        let (level, dropped) = (reader.number(1 << 16, "level")?, reader.number(64, "dropped bits")?);
        let (reversed, primes) = (reader.number(2, "order")? == 1, reader.number(9, "primes")?);
        let scale = f64::from_bits(reader.word()?);
        let modulus =
            |reader: &mut Reader<'_>| Ok((reader.word()?, reader.number(1 << 16, "the number of a prime")?));
        let moduli = (0..primes).map(|_| modulus(reader)).collect::<Result<Vec<_>, SampleError>>()?;
        let seed = MaskSeed(reader.array()?);
        let terms = Self {
            digest,
            key_id,
            serial,
            device,
            degree,
            rank,
            level,
            scale,
            dropped: dropped as u32,
            reversed,
            moduli,
            seed,
        };
        if terms.is_sound() {
            Ok(terms)
        } else {
            Err(unreadable(reader.what, "fields that do not fit each other".to_owned(), "send them again"))
        }
    }

    /// Whether a client can encrypt by these terms.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.degree.is_power_of_two()
            && self.degree.checked_mul(self.rank).is_some_and(|dimension| (1..=1 << 18).contains(&dimension))
            && self.scale.is_finite()
            && self.scale > 0.0
            && !self.moduli.is_empty()
            && self.moduli.iter().all(|&(q, _)| Modulus::new(q).is_ok())
            && self.moduli.iter().map(|&(q, _)| q.ilog2() + 1).sum::<u32>() <= MAX_BITS
            && self.dropped.saturating_add(MIN_BITS) <= self.modulus_bits()
    }

    /// The modulus of the bodies.
    pub fn modulus(&self) -> u128 {
        self.moduli.iter().map(|&(q, _)| u128::from(q)).product()
    }

    /// Bits of the modulus.
    pub fn modulus_bits(&self) -> u32 {
        self.modulus().ilog2() + 1
    }

    /// The context of a message's tag: the magic of messages, and the seed.
    pub fn message_context(&self) -> [u8; 36] {
        let mut context = [0; 36];
        context[..4].copy_from_slice(&MESSAGE);
        context[4..].copy_from_slice(&self.seed.0);
        context
    }

    /// Bits of a body in a message.
    pub fn sent_bits(&self) -> u32 {
        self.modulus_bits() - self.dropped
    }

    /// For each coefficient of a sample, the index of its number.
    pub fn places(&self) -> Vec<usize> {
        let bits = self.degree.trailing_zeros();
        (0..self.degree).map(|place| if self.reversed { bit_reverse(place, bits) } else { place }).collect()
    }

    /// The first bytes of messages, which identify their introduction.
    pub fn prefix(&self) -> [u8; 4] {
        [self.seed.0[0], self.seed.0[1], self.seed.0[2], self.seed.0[3]]
    }
}

/// The number below the product of the moduli that has these residues.
pub fn composed(residues: &[u64], moduli: &[Modulus]) -> u128 {
    // Mixed radix: each digit is computed modulo its modulus.
    let (mut value, mut product) = (0u128, 1u128);
    for (&residue, modulus) in residues.iter().zip(moduli) {
        let known = modulus.reduce_u128(value);
        let digit = modulus
            .mul(modulus.sub(residue, known), modulus.inverse(modulus.reduce_u128(product)).unwrap_or(0));
        value += u128::from(digit) * product;
        product *= u128::from(modulus.value());
    }
    value
}

/// Packs numbers of `bits` bits, lowest bit first.
pub fn pack(numbers: &[u128], bits: u32) -> Vec<u8> {
    let mut bytes = vec![0u8; (numbers.len() * bits as usize).div_ceil(8)];
    for (i, &number) in numbers.iter().enumerate() {
        let start = i * bits as usize;
        let shifted = (number << (start % 8)).to_le_bytes();
        bytes[start / 8..].iter_mut().zip(shifted).for_each(|(byte, part)| *byte |= part);
    }
    bytes
}

/// Number `index` of the bytes of [`pack`]; at most [`MAX_BITS`] bits, so that it is within 16 bytes.
pub fn unpack(bytes: &[u8], index: usize, bits: u32) -> u128 {
    let start = index * bits as usize;
    let bytes = &bytes[start / 8..];
    let mut window = [0u8; 16];
    let length = bytes.len().min(window.len());
    window[..length].copy_from_slice(&bytes[..length]);
    (u128::from_le_bytes(window) >> (start % 8)) & ((1 << bits) - 1)
}
