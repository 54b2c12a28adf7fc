//! Packed factors on the 52-bit multiplier: unpacks and packs vectors of eight residues of `b` bits, and
//! computes sums of packed residues and of products with them.
//!
//! **Unpacking.** Lane `k` starts at bit `k b`. Unpacking is one load of 64 bytes, one permutation that gives
//! every lane the eight bytes from `floor(k b / 8)` on, one shift by `k b mod 8` and one mask (the multiplier
//! itself ignores only bits above 52). A lane ends at most 7 + 57 bits into its word, and the bytes of the
//! last lane end within the 64.
//!
//! **Packing.** The lanes are shifted to their position within a byte. Two permutations then collect, for
//! each output byte, the byte of the lane in which the output byte begins, and the lowest byte of a lane that
//! begins inside the output byte. With at least eight bits per lane, no third lane can be involved.
//!
//! Sums of products have the ranges of [`super::elementwise`]. The scalar kernel handles words beyond the
//! last whole vector and packs narrower residues.

use std::arch::x86_64::*;
use std::ops::Range;

use super::elementwise::ElementWords;
use super::lanes::{Constants, LANES, Lanes, add, load, multiply_high, multiply_low, splat, store};
use crate::bit_packing::{Run, RunMut};

/// Bits of the narrowest residues that are packed here, so that a byte holds parts of at most two lanes.
const MIN_BITS: u32 = 8;

/// Bytes of a load.
const LOAD: usize = 64;

/// Prefetch distance, in bytes that are read. Eight residues of 36 bits are consumed within two cycles; at
/// that rate the hardware prefetcher reaches half of the memory bandwidth. A run with a [`Run::next`]
/// prefetches that run instead.
const FETCH_BYTES: usize = 8192;

/// The prefetch distance in bytes of `run`, rounded up to whole vectors, where `used` bytes of each vector
/// are read.
fn fetch_distance(run: &Run<'_>, used: usize) -> usize {
    FETCH_BYTES.div_ceil(used.max(1)) * run.stride
}

/// Columns summed in one pass over the terms; each has two accumulators, all in registers.
const COLUMNS: usize = 5;

/// Vectors per pass if there are more columns: the words that a pass reads fit the first-level cache.
const COLUMN_BLOCK: usize = 8;

/// Constants to unpack eight residues of one width; they are plain words where `PACKED` is false.
#[derive(Clone, Copy)]
struct Unpacking<const PACKED: bool> {
    gather: Lanes,
    shift: Lanes,
    mask: Lanes,
}

impl<const PACKED: bool> Unpacking<PACKED> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    fn new(bits: u32) -> Self {
        let starts = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), splat(u64::from(bits)));
        let bytes = _mm512_srli_epi64::<3>(starts);
        // For each byte of a lane: the index of the lane's first byte, plus 0 to 7.
        let gather =
            add(_mm512_mullo_epi64(bytes, splat(0x0101_0101_0101_0101)), splat(0x0706_0504_0302_0100));
        Self { gather, shift: _mm512_and_si512(starts, splat(7)), mask: splat(u64::MAX >> (64 - bits)) }
    }

    /// The eight residues at `source`.
    ///
    /// # Safety
    /// `source` is valid for reading [`LOAD`] bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    unsafe fn load(&self, source: *const u8) -> Lanes {
        // SAFETY: guaranteed by the caller.
        let bytes = unsafe { load(source.cast()) };
        if !PACKED {
            return bytes;
        }
        _mm512_and_si512(
            _mm512_srlv_epi64(_mm512_permutexvar_epi8(self.gather, bytes), self.shift),
            self.mask,
        )
    }
}

/// Constants to pack eight lanes; they are stored as plain words where `PACKED` is false.
#[derive(Clone, Copy)]
struct Packing<const PACKED: bool> {
    shift: Lanes,
    begins: Lanes,
    enters: Lanes,
    /// Bytes in which a lane begins after the first bit.
    entered: __mmask64,
    /// Bytes of a packed vector.
    used: __mmask64,
}

impl<const PACKED: bool> Packing<PACKED> {
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    fn new(bits: u32) -> Self {
        let bits = bits as usize;
        let (mut begins, mut enters, mut entered) = ([0u8; LOAD], [0u8; LOAD], 0u64);
        for byte in 0..bits {
            let lane = 8 * byte / bits;
            begins[byte] = (8 * lane + byte - lane * bits / 8) as u8;
            if (lane + 1) * bits < 8 * (byte + 1) {
                enters[byte] = (8 * (lane + 1)) as u8;
                entered |= 1 << byte;
            }
        }
        let starts = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), splat(bits as u64));
        Self {
            shift: _mm512_and_si512(starts, splat(7)),
            // SAFETY: 64 bytes each.
            begins: unsafe { load(begins.as_ptr().cast()) },
            // SAFETY: as above.
            enters: unsafe { load(enters.as_ptr().cast()) },
            entered,
            used: u64::MAX >> (64 - bits),
        }
    }

    /// Writes eight residues below `1 << bits` to the `bits` bytes at `target`.
    ///
    /// # Safety
    /// `target` is valid for writing as many bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    unsafe fn store(&self, target: *mut u8, x: Lanes) {
        if !PACKED {
            // SAFETY: guaranteed by the caller.
            return unsafe { store(target.cast(), x) };
        }
        let x = _mm512_sllv_epi64(x, self.shift);
        let bytes = _mm512_or_si512(
            _mm512_permutexvar_epi8(self.begins, x),
            _mm512_maskz_permutexvar_epi8(self.entered, self.enters, x),
        );
        // SAFETY: guaranteed by the caller.
        unsafe { _mm512_mask_storeu_epi8(target.cast(), self.used, bytes) };
    }
}

/// Prefetches the cache line of `address`.
#[inline]
#[allow(unused_unsafe, reason = "later standard libraries call it safe")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
fn prefetch(address: *const u8) {
    // SAFETY: a prefetch cannot fault, whatever its address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

/// Asserts that `source` is long enough to read slots `0..slots` of `vectors` vectors, with the bytes that a
/// load reads beyond them.
fn check_source(source: &Run<'_>, vectors: usize, slots: usize) {
    let end = (vectors.max(1) - 1) * source.stride + (slots.max(1) - 1) * source.bits as usize + LOAD;
    assert!(
        vectors == 0 || slots == 0 || end <= source.bytes.len(),
        "a run ends {LOAD} bytes after its last slot begins, or later"
    );
}

/// Asserts that `target` is long enough to write slots `0..slots` of `vectors` vectors.
fn check_target(target: &RunMut<'_>, vectors: usize, slots: usize) {
    let end = (vectors.max(1) - 1) * target.stride + slots * target.bits as usize;
    assert!(vectors == 0 || slots == 0 || end <= target.bytes.len(), "a run has all its slots");
}

/// The largest of `slots`, plus 1; 0 if there are none.
fn slots_named<'a>(slots: impl IntoIterator<Item = &'a usize>) -> usize {
    slots.into_iter().max().map_or(0, |slot| slot + 1)
}

/// The factors of sums of products, and which of the columns are summed.
struct Product<'a> {
    xs: &'a [&'a [u64]],
    factors: Run<'a>,
    /// The first column that is summed.
    first: usize,
    /// Columns of the factors.
    columns: usize,
    accumulate: bool,
}

impl ElementWords {
    /// As [`crate::kernels::RowKernel::dot_packed`], on whole vectors only; returns the number of words
    /// computed.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    pub fn dot_packed(
        &self,
        out: &mut [&mut [u64]],
        xs: &[&[u64]],
        factors: Run<'_>,
        accumulate: bool,
    ) -> usize {
        let Some(length) = out.first().map(|column| column.len()) else { return 0 };
        assert!(out.iter().all(|column| column.len() == length), "columns of one call have equal lengths");
        assert!(xs.iter().all(|x| x.len() == length), "rows of one call have equal lengths");
        let vectors = length / LANES;
        check_source(&factors, vectors, xs.len() * out.len());
        match factors.bits {
            64 => self.dot_unpacked(Unpacking::<false>::new(64), out, xs, factors, accumulate),
            bits => self.dot_unpacked(Unpacking::<true>::new(bits), out, xs, factors, accumulate),
        }
        vectors * LANES
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    fn dot_unpacked<const PACKED: bool>(
        &self,
        unpacking: Unpacking<PACKED>,
        out: &mut [&mut [u64]],
        xs: &[&[u64]],
        factors: Run<'_>,
        accumulate: bool,
    ) {
        let columns = out.len();
        let vectors = out.first().map_or(0, |column| column.len()) / LANES;
        let step = if columns <= COLUMNS { vectors } else { COLUMN_BLOCK };
        for start in (0..vectors).step_by(step.max(1)) {
            let range = start..vectors.min(start + step);
            for (chunk, out) in out.chunks_mut(COLUMNS).enumerate() {
                let product = Product { xs, factors, first: chunk * COLUMNS, columns, accumulate };
                // Enough accumulators that an addition does not wait for the previous one.
                match out.len() {
                    1 => self.dot_columns::<PACKED, 1, 4>(unpacking, out, &product, range.clone()),
                    2 => self.dot_columns::<PACKED, 2, 2>(unpacking, out, &product, range.clone()),
                    3 => self.dot_columns::<PACKED, 3, 2>(unpacking, out, &product, range.clone()),
                    4 => self.dot_columns::<PACKED, 4, 1>(unpacking, out, &product, range.clone()),
                    _ => self.dot_columns::<PACKED, COLUMNS, 1>(unpacking, out, &product, range.clone()),
                }
            }
        }
    }

    /// The sums of `C` columns, each computed as `S` partial sums over every `S`th term. The caller checks
    /// the run with `check_source`, and that all rows and columns contain `vectors`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    fn dot_columns<const PACKED: bool, const C: usize, const S: usize>(
        &self,
        unpacking: Unpacking<PACKED>,
        out: &mut [&mut [u64]],
        product: &Product<'_>,
        vectors: Range<usize>,
    ) {
        let Product { xs, factors: Run { bytes, bits, stride, next }, first, columns, accumulate } = *product;
        assert!(out.len() == C && first + C <= columns);
        let out: [*mut u64; C] = std::array::from_fn(|p| out[p].as_mut_ptr());
        let (c, carry) = self.sum_constants();
        let chunk = self.product_terms();
        let (slot, term) = (bits as usize, columns * bits as usize);
        let ahead = fetch_distance(&product.factors, xs.len() * term);
        for vector in vectors {
            let at = bytes.as_ptr().wrapping_add(vector * stride + first * slot);
            let fetch = if next.is_empty() {
                at.wrapping_add(ahead)
            } else {
                next.as_ptr().wrapping_add(vector * stride + first * slot)
            };
            // The loop prefetches the line of each load's last byte; the line of the first load's first byte
            // is prefetched here.
            prefetch(fetch);
            let word = vector * LANES;
            let mut sums = [c.zero; C];
            if accumulate {
                for p in 0..C {
                    // SAFETY: every column has this vector.
                    sums[p] = unsafe { load(out[p].add(word)) };
                }
            }
            let mut start = 0;
            while start < xs.len() {
                let end = xs.len().min(start + chunk);
                let mut low = [[c.zero; C]; S];
                let mut high = [[c.zero; C]; S];
                low[0] = sums;
                let step = |j: usize, low: &mut [Lanes; C], high: &mut [Lanes; C]| {
                    // SAFETY: every row has this vector; the run has this term's slots, and 64 bytes from the
                    // start of the last one.
                    unsafe {
                        let x = load(xs.get_unchecked(j).as_ptr().add(word));
                        for p in 0..C {
                            let offset = j * term + p * slot;
                            prefetch(fetch.wrapping_add(offset + LOAD - 1));
                            let y = unpacking.load(at.add(offset));
                            low[p] = multiply_low(low[p], x, y);
                            high[p] = multiply_high(high[p], x, y);
                        }
                    }
                };
                let mut j = start;
                while j + S <= end {
                    for s in 0..S {
                        step(j + s, &mut low[s], &mut high[s]);
                    }
                    j += S;
                }
                while j < end {
                    step(j, &mut low[0], &mut high[0]);
                    j += 1;
                }
                for p in 0..C {
                    let total = |parts: &[[Lanes; C]; S]| {
                        parts[1..].iter().fold(parts[0][p], |sum, part| add(sum, part[p]))
                    };
                    sums[p] = c.reduce_sum(total(&low), total(&high), carry);
                }
                start = end;
            }
            for p in 0..C {
                // SAFETY: every column has this vector.
                unsafe { store(out[p].add(word), sums[p]) };
            }
        }
    }

    /// As [`crate::kernels::RowKernel::pack_sums`]; returns false, with nothing done, where the scalar kernel
    /// must do the work.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    pub fn pack_sums(&self, out: &mut RunMut<'_>, slots: &[Vec<&[u64]>]) -> bool {
        let length = slots.iter().flatten().next().map_or(0, |row| row.len());
        if !length.is_multiple_of(LANES) || out.bits < MIN_BITS {
            return false;
        }
        assert!(slots.iter().flatten().all(|row| row.len() == length), "rows of one call have equal lengths");
        check_target(out, length / LANES, slots.len());
        match out.bits {
            64 => self.pack_rows(Packing::<false>::new(64), out, slots, length),
            bits => self.pack_rows(Packing::<true>::new(bits), out, slots, length),
        }
        true
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    fn pack_rows<const PACKED: bool>(
        &self,
        packing: Packing<PACKED>,
        out: &mut RunMut<'_>,
        slots: &[Vec<&[u64]>],
        length: usize,
    ) {
        let (c, _) = self.sum_constants();
        for vector in 0..length / LANES {
            let target = out.bytes.as_mut_ptr().wrapping_add(vector * out.stride);
            for (slot, rows) in slots.iter().enumerate() {
                let mut sum = c.zero;
                for row in rows {
                    // SAFETY: every row has this vector.
                    sum = c.reduce_by(add(sum, unsafe { load(row.as_ptr().add(vector * LANES)) }), c.q);
                }
                // SAFETY: the run has this slot.
                unsafe { packing.store(target.add(slot * out.bits as usize), sum) };
            }
        }
    }

    /// As [`crate::kernels::RowKernel::sum_packed`]; returns false, with nothing done, where the scalar
    /// kernel must do the work.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    pub fn sum_packed(
        &self,
        out: &mut RunMut<'_>,
        source: Run<'_>,
        slots: &[Vec<usize>],
        count: usize,
    ) -> bool {
        if out.bits != source.bits || out.bits < MIN_BITS {
            return false;
        }
        check_source(&source, count, slots_named(slots.iter().flatten()));
        check_target(out, count, slots.len());
        match out.bits {
            64 => self.sum_slots(
                Unpacking::<false>::new(64),
                Packing::<false>::new(64),
                out,
                source,
                slots,
                count,
            ),
            bits => self.sum_slots(
                Unpacking::<true>::new(bits),
                Packing::<true>::new(bits),
                out,
                source,
                slots,
                count,
            ),
        }
        true
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    fn sum_slots<const PACKED: bool>(
        &self,
        unpacking: Unpacking<PACKED>,
        packing: Packing<PACKED>,
        out: &mut RunMut<'_>,
        source: Run<'_>,
        slots: &[Vec<usize>],
        count: usize,
    ) {
        let (c, _) = self.sum_constants();
        let bits = source.bits as usize;
        let ahead = fetch_distance(&source, slots.iter().map(Vec::len).sum::<usize>() * bits);
        for vector in 0..count {
            let from = source.bytes.as_ptr().wrapping_add(vector * source.stride);
            let target = out.bytes.as_mut_ptr().wrapping_add(vector * out.stride);
            for (slot, parts) in slots.iter().enumerate() {
                // SAFETY: both runs have these slots.
                unsafe {
                    packing
                        .store(target.add(slot * bits), sum_named(&c, &unpacking, from, bits, parts, ahead))
                };
            }
        }
    }

    /// As [`crate::kernels::RowKernel::unpack_sum`], on whole vectors only; returns the number of words
    /// computed.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    pub fn unpack_sum(&self, out: &mut [u64], source: Run<'_>, slots: &[usize]) -> usize {
        check_source(&source, out.len() / LANES, slots_named(slots));
        match source.bits {
            64 => self.unpack_row(Unpacking::<false>::new(64), out, source, slots),
            bits => self.unpack_row(Unpacking::<true>::new(bits), out, source, slots),
        }
        out.len() / LANES * LANES
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
    fn unpack_row<const PACKED: bool>(
        &self,
        unpacking: Unpacking<PACKED>,
        out: &mut [u64],
        source: Run<'_>,
        slots: &[usize],
    ) {
        let (c, _) = self.sum_constants();
        let bits = source.bits as usize;
        let ahead = fetch_distance(&source, slots.len() * bits);
        for (vector, out) in out.chunks_exact_mut(LANES).enumerate() {
            let from = source.bytes.as_ptr().wrapping_add(vector * source.stride);
            // SAFETY: the run has these slots, a chunk has eight words.
            unsafe { store(out.as_mut_ptr(), sum_named(&c, &unpacking, from, bits, slots, ahead)) };
        }
    }
}

/// The sum of `slots` of the vector at `from`; prefetches the same slots `ahead` bytes later.
///
/// # Safety
/// From the start of each of these slots on, [`LOAD`] bytes are valid for reading.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma,avx512bw,avx512vbmi")]
unsafe fn sum_named<const PACKED: bool>(
    c: &Constants,
    unpacking: &Unpacking<PACKED>,
    from: *const u8,
    bits: usize,
    slots: &[usize],
    ahead: usize,
) -> Lanes {
    let mut sum = c.zero;
    for slot in slots {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let at = from.add(slot * bits);
            prefetch(at.wrapping_add(ahead));
            prefetch(at.wrapping_add(ahead + LOAD - 1));
            sum = c.reduce_by(add(sum, unpacking.load(at)), c.q);
        }
    }
    sum
}
