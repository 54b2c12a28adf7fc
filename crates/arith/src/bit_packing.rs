//! Packed residues: eight words of `bits` bits each in `bits` bytes, and runs of such vectors.
//!
//! A switching key is read from memory once per switch; eight 36-bit residues take 36 bytes packed, and 64
//! bytes as words. Eight residues end at a byte for every `bits`, so packed vectors are addressed by bytes.
//! Lane `k` starts at bit `k bits`; all is little-endian. `bits = 64` means plain words.

/// Residues per packed vector.
pub const VECTOR: usize = 8;

/// Widest packed residue: a lane and its offset within a byte fit one word.
pub const MAX_PACKED_BITS: u32 = 57;

/// Bytes that may be read beyond the last vector of a run.
pub const OVERREAD: usize = 64;

/// A strided run of packed vectors: vector `i`, slot `s` is the `bits` bytes from `i * stride + s * bits` on.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The bytes from the first vector on, with at least [`OVERREAD`] bytes after the last vector.
    pub bytes: &'a [u8],
    /// Bits per residue.
    pub bits: u32,
    /// Bytes from one vector's slots to the next one's.
    pub stride: usize,
    /// The bytes of the run of the same shape that is read after this one, to be prefetched; empty where that
    /// run follows in memory.
    pub next: &'a [u8],
}

impl<'a> Run<'a> {
    /// The run from coefficient `start` on, a multiple of [`VECTOR`].
    #[must_use]
    pub fn after(&self, start: usize) -> Self {
        let at = start / VECTOR * self.stride;
        Self { bytes: &self.bytes[at..], next: self.next.get(at..).unwrap_or_default(), ..*self }
    }

    /// This run with `next`, possibly a run of other factors, to be prefetched. A run of another shape is not
    /// prefetched.
    #[must_use]
    pub fn before(self, next: Run<'a>) -> Self {
        if (next.stride, next.bits) == (self.stride, self.bits) {
            Self { next: next.bytes, ..self }
        } else {
            self
        }
    }
}

/// A run to be written.
#[derive(Debug)]
pub struct RunMut<'a> {
    /// The bytes from the first vector on; bytes after the last vector belong to other runs.
    pub bytes: &'a mut [u8],
    /// Bits per residue.
    pub bits: u32,
    /// Bytes from one vector's slots to the next one's.
    pub stride: usize,
}

/// The width to which residues below `1 << bits` are packed: `bits`, or 64 where `bits` exceeds
/// [`MAX_PACKED_BITS`].
#[must_use]
pub fn packed_bits(bits: u32) -> u32 {
    if bits <= MAX_PACKED_BITS { bits } else { 64 }
}

/// The eight residues of one packed vector.
#[must_use]
pub fn unpack(bytes: &[u8], bits: u32) -> [u64; VECTOR] {
    let mask = u64::MAX >> (64 - bits);
    // Eight bytes follow the first byte of a lane, except near the end of a slice.
    let word = |at: usize| match bytes[at..].first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => bytes[at..].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    std::array::from_fn(|lane| {
        let at = lane * bits as usize;
        (word(at / 8) >> (at % 8)) & mask
    })
}

/// Writes eight residues, each below `1 << bits`, as one packed vector of `bits` bytes.
pub fn pack(bytes: &mut [u8], bits: u32, lanes: &[u64; VECTOR]) {
    let bytes = &mut bytes[..bits as usize];
    // Whole words are written; the unwritten bits of a lane stay in `rest`, below the next lane.
    let (mut rest, mut held, mut at) = (0u128, 0, 0);
    for &lane in lanes {
        rest |= u128::from(lane) << held;
        held += bits;
        if held >= 64 {
            bytes[at..at + 8].copy_from_slice(&(rest as u64).to_le_bytes());
            rest >>= 64;
            held -= 64;
            at += 8;
        }
    }
    let end = bytes.len() - at;
    bytes[at..].copy_from_slice(&(rest as u64).to_le_bytes()[..end]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_vectors_come_back_at_every_width() {
        for bits in (1..=MAX_PACKED_BITS).chain([64]) {
            let top = u64::MAX >> (64 - bits);
            let lanes: [u64; VECTOR] = std::array::from_fn(|i| match i {
                0 => top,
                1 => 0,
                _ => 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i as u64 + 1) & top,
            });
            let mut bytes = vec![0xa5; bits as usize + 3];
            pack(&mut bytes, bits, &lanes);
            assert_eq!(unpack(&bytes, bits), lanes, "{bits} bits");
            assert_eq!(bytes[bits as usize..], [0xa5; 3], "{bits} bits write beyond their bytes");
        }
    }
}
