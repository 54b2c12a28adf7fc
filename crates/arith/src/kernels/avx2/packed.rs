//! Sums of products with packed factors on 256-bit vectors.
//!
//! A packed vector is eight residues, four to a register. Unpacking four residues takes two loads of 16
//! bytes, each with the bytes of two neighbours (which begin at most 8 bytes apart and take 8 bytes each),
//! one shuffle within the halves, one shift and one mask. The sums are computed as for unpacked rows.

use std::arch::x86_64::*;

use super::{Avx2Row, LANES, load};
use crate::bit_packing::{OVERREAD, Run, VECTOR};

/// Words per pass over the columns: the factors of a pass fit the first-level cache.
const BLOCK: usize = 64;

/// Constants to unpack four of the eight residues of a packed vector.
#[derive(Clone, Copy)]
struct Unpacking {
    /// First byte of each pair of residues.
    pairs: [usize; 2],
    gather: __m256i,
    shift: __m256i,
    mask: __m256i,
}

impl Unpacking {
    /// For residues `first..first + 4` of `bits` bits; unpacked words (64 bits) need no special case.
    #[target_feature(enable = "avx2,fma")]
    fn new(bits: u32, first: usize) -> Self {
        let starts: [usize; LANES] = std::array::from_fn(|lane| (first + lane) * bits as usize);
        let pairs = [starts[0] / 8, starts[2] / 8];
        let mut gather = [0u8; 32];
        for (lane, bytes) in gather.chunks_exact_mut(8).enumerate() {
            for (i, byte) in bytes.iter_mut().enumerate() {
                *byte = (starts[lane] / 8 - pairs[lane / 2] + i) as u8;
            }
        }
        let shifts = starts.map(|start| start as u64 % 8);
        Self {
            pairs,
            // SAFETY: 32 bytes.
            gather: unsafe { load(gather.as_ptr().cast()) },
            // SAFETY: four words.
            shift: unsafe { load(shifts.as_ptr()) },
            mask: _mm256_set1_epi64x((u64::MAX >> (64 - bits)).cast_signed()),
        }
    }

    /// # Safety
    /// `source`, where the packed vector begins, is valid for reading [`OVERREAD`] bytes.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn load(&self, source: *const u8) -> __m256i {
        // At 64 bits the last pair begins at byte 48, at fewer bits before it, so every load ends within
        // OVERREAD bytes. SAFETY: guaranteed by the caller.
        let (low, high) = unsafe {
            (
                _mm_loadu_si128(source.add(self.pairs[0]).cast()),
                _mm_loadu_si128(source.add(self.pairs[1]).cast()),
            )
        };
        let bytes = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), self.gather);
        _mm256_and_si256(_mm256_srlv_epi64(bytes, self.shift), self.mask)
    }
}

impl Avx2Row {
    /// As [`crate::kernels::RowKernel::dot_packed`], on whole packed vectors only; returns the number of
    /// words computed.
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn dot_packed_vectors(
        &self,
        out: &mut [&mut [u64]],
        xs: &[&[u64]],
        factors: Run<'_>,
        accumulate: bool,
    ) -> usize {
        let Some(length) = out.first().map(|column| column.len()) else { return 0 };
        assert!(out.iter().all(|column| column.len() == length), "columns of one call have equal lengths");
        assert!(xs.iter().all(|x| x.len() == length), "rows of one call have equal lengths");
        let (whole, columns, bits) = (length / VECTOR * VECTOR, out.len(), factors.bits as usize);
        if whole > 0 && !xs.is_empty() {
            let end = (whole / VECTOR - 1) * factors.stride + (xs.len() * columns - 1) * bits + OVERREAD;
            assert!(
                end <= factors.bytes.len(),
                "a run ends {OVERREAD} bytes after its last slot begins, or later"
            );
        }
        let halves = [Unpacking::new(factors.bits, 0), Unpacking::new(factors.bits, LANES)];
        for start in (0..whole).step_by(BLOCK) {
            let end = whole.min(start + BLOCK);
            for (p, out) in out.iter_mut().enumerate() {
                self.sums(&mut out[start..end], xs.len(), accumulate, |j, i| {
                    let offset = (start + i) / VECTOR * factors.stride + (j * columns + p) * bits;
                    // SAFETY: `sums` reads only whole vectors below `whole`; the assertion above covers the
                    // run up to their last slot.
                    unsafe {
                        let y = halves[i / LANES % 2].load(factors.bytes.as_ptr().add(offset));
                        (load(xs[j].as_ptr().add(start + i)), y)
                    }
                });
            }
        }
        whole
    }
}
