//! Uniform public masks from a stored seed: BLAKE3 as an extendable-output function.
//!
//! # Construction
//! All output is BLAKE3 in keyed mode under the 256-bit seed. The message is an injective encoding of the
//! purpose of the output:
//!
//! ```text
//! message = len(label) | label | len(domain) | domain | count | indices[0] | .. | indices[count - 1]
//! label   = "clathrate mask 1" for residues, "clathrate seed 1" for derived seeds
//! ```
//!
//! with every length, count and index a little-endian 64-bit word. A derived seed is the first 32 bytes of
//! output. A stream of residues reads the output as little-endian 64-bit words `x_0, x_1, ..`; each request
//! takes the words in order, skips those with `x >= q * floor(2^64 / q)` and returns `x mod q` for the
//! others. Residues are therefore exactly uniform. They depend on the order of the requests and on their
//! moduli, but not on how requests for one modulus are split into rows.

use clathrate_arith::Modulus;

use super::error::SamplingError;

const MASK_LABEL: &str = "clathrate mask 1";
const SEED_LABEL: &str = "clathrate seed 1";

/// Largest read from the XOF at once: enough for the widest vector code of BLAKE3, small enough for the
/// first-level cache.
const MAX_READ_BYTES: usize = 16 * 1024;
/// Reads are multiples of this: sixteen 64-byte blocks, which the widest vector code produces at once.
const READ_STEP_BYTES: usize = 1024;
const WORD_BYTES: usize = 8;
/// Words tested for rejection at once; for moduli well below 2^61, all words of nearly every batch are
/// accepted.
const BATCH: usize = 16;

/// 256-bit public seed of a mask. Files store the seed instead of the mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MaskSeed(pub [u8; 32]);

impl MaskSeed {
    /// A fresh seed from the operating system's entropy.
    ///
    /// # Errors
    /// [`SamplingError::NoEntropy`] if the system gives none.
    pub fn random() -> Result<Self, SamplingError> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| SamplingError::NoEntropy { reason: error.to_string() })?;
        Ok(Self(bytes))
    }

    /// The seed of part `index` of `domain`: independent of every other (domain, index) and of every mask of
    /// this seed.
    #[must_use]
    pub fn derive(&self, domain: &str, index: u64) -> Self {
        Self(*absorb(self, SEED_LABEL, domain, &[index]).finalize().as_bytes())
    }
}

/// Feeds the message described in the module documentation to BLAKE3 keyed with `seed`.
fn absorb(seed: &MaskSeed, label: &str, domain: &str, indices: &[u64]) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_keyed(&seed.0);
    for text in [label, domain] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.update(&(indices.len() as u64).to_le_bytes());
    for index in indices {
        hasher.update(&index.to_le_bytes());
    }
    hasher
}

/// A stream of uniform residues from a public seed, domain-separated by a name and indices.
pub struct MaskXof {
    reader: blake3::OutputReader,
    /// Output that was read but not yet used: `buffer[position..filled]`, whole words.
    buffer: Vec<u8>,
    position: usize,
    filled: usize,
}

impl std::fmt::Debug for MaskXof {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("MaskXof")
            .field("unread_bytes", &(self.filled - self.position))
            .finish_non_exhaustive()
    }
}

impl MaskXof {
    /// The stream of `seed` for (`domain`, `indices`); streams that differ in any of the three are
    /// independent.
    #[must_use]
    pub fn new(seed: &MaskSeed, domain: &str, indices: &[u64]) -> Self {
        let reader = absorb(seed, MASK_LABEL, domain, indices).finalize_xof();
        Self { reader, buffer: Vec::new(), position: 0, filled: 0 }
    }

    /// Fills `row` with the stream's next residues, exactly uniform in `[0, q)`.
    ///
    /// Cost: `row.len() * 2^64 / (q * floor(2^64 / q))` words of BLAKE3 output on average, at most 1/8 above
    /// `row.len()`.
    pub fn fill_uniform(&mut self, modulus: &Modulus, row: &mut [u64]) {
        // 2^64 - (2^64 mod q): never 0 after wrapping, since an odd q >= 3 does not divide 2^64.
        let accepted_below = ((u64::MAX % modulus.value() + 1) % modulus.value()).wrapping_neg();
        let mut done = 0;
        while done < row.len() {
            if self.position == self.filled {
                self.refill((row.len() - done).saturating_mul(WORD_BYTES));
            }
            let take = (self.filled - self.position).min((row.len() - done) * WORD_BYTES);
            let words = &self.buffer[self.position..self.position + take];
            self.position += take;
            done += accept(modulus, accepted_below, words.as_chunks().0, &mut row[done..]);
        }
    }

    /// Reads about `wanted_bytes` of output; the stream does not depend on the sizes of the reads.
    fn refill(&mut self, wanted_bytes: usize) {
        let size = wanted_bytes.min(MAX_READ_BYTES).next_multiple_of(READ_STEP_BYTES);
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        self.reader.fill(&mut self.buffer[..size]);
        self.position = 0;
        self.filled = size;
    }
}

/// Writes the residues of the accepted words to the front of `row` and returns their number. `row` is at
/// least as long as `words`.
fn accept(modulus: &Modulus, accepted_below: u64, words: &[[u8; WORD_BYTES]], row: &mut [u64]) -> usize {
    let mut written = 0;
    for batch in words.chunks(BATCH) {
        let largest = batch.iter().fold(0, |largest, &bytes| u64::from_le_bytes(bytes).max(largest));
        let targets = &mut row[written..];
        if largest < accepted_below {
            for (target, &bytes) in targets.iter_mut().zip(batch) {
                *target = modulus.reduce(u64::from_le_bytes(bytes));
            }
            written += batch.len();
        } else {
            let accepted =
                batch.iter().map(|&bytes| u64::from_le_bytes(bytes)).filter(|&word| word < accepted_below);
            for (target, word) in targets.iter_mut().zip(accepted) {
                *target = modulus.reduce(word);
                written += 1;
            }
        }
    }
    written
}
