//! Eight residues in one 512-bit register: the basic operations of this kernel's vector code.
//!
//! The 52-bit multiplier reads the low 52 bits of its factors, so bits from 52 on of a factor may have any
//! value ("junk" below). An "exact" word has no junk.

use std::arch::x86_64::*;

use crate::modulus::Modulus;

/// Eight 64-bit lanes.
pub type Lanes = __m512i;

/// Lanes per vector.
pub const LANES: usize = 8;

/// Bits of the multiplier's factors.
pub const FACTOR_BITS: u32 = 52;

/// `floor(w * 2^52 / q)`, the quotient that belongs to a constant factor `w < q`.
pub fn quotient52(w: u64, q: u64) -> u64 {
    ((u128::from(w) << FACTOR_BITS) / u128::from(q)) as u64
}

/// The constants of one modulus, as scalar words.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    pub modulus: Modulus,
    pub q: u64,
    /// `2^52 - q`: adding a product with it subtracts a product with `q`, modulo 2^52.
    pub negative_q: u64,
    /// `floor(2^52 / q)`.
    pub inverse: u64,
}

impl Words {
    /// Range: `q < 2^50`.
    pub fn new(modulus: Modulus) -> Self {
        let q = modulus.value();
        Self { modulus, q, negative_q: (1 << FACTOR_BITS) - q, inverse: quotient52(1, q) }
    }
}

/// The constants of one modulus in every lane.
#[derive(Clone, Copy)]
pub struct Constants {
    pub zero: Lanes,
    pub q: Lanes,
    pub two_q: Lanes,
    pub negative_q: Lanes,
    pub inverse: Lanes,
    /// The low 52 bits.
    pub mask: Lanes,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn new(words: &Words) -> Self {
        Self {
            zero: _mm512_setzero_si512(),
            q: splat(words.q),
            two_q: splat(2 * words.q),
            negative_q: splat(words.negative_q),
            inverse: splat(words.inverse),
            mask: splat((1 << FACTOR_BITS) - 1),
        }
    }

    /// `x - bound` where that is not negative, else `x`. Range: `x` exact.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn reduce_by(&self, x: Lanes, bound: Lanes) -> Lanes {
        _mm512_min_epu64(x, sub(x, bound))
    }

    /// `y * w mod q` for the low 52 bits of `y`. Range: the low 52 bits of the output are in `[0, 2q)`; there
    /// is junk from bit 52 on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn mul_junk(&self, y: Lanes, w: Lanes, w_quotient: Lanes) -> Lanes {
        let h = multiply_high(self.zero, y, w_quotient);
        multiply_low(multiply_low(self.zero, y, w), h, self.negative_q)
    }

    /// `y * w mod q` for the low 52 bits of `y`. Range: output exact, in `[0, 2q)`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn mul_lazy(&self, y: Lanes, w: Lanes, w_quotient: Lanes) -> Lanes {
        _mm512_and_si512(self.mul_junk(y, w, w_quotient), self.mask)
    }

    /// `x mod q` for the low 52 bits of `x`. Range: the low 52 bits of the output are in `[0, 2q)`; there is
    /// junk from bit 52 on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn reduce_junk(&self, x: Lanes) -> Lanes {
        let h = multiply_high(self.zero, x, self.inverse);
        multiply_low(x, h, self.negative_q)
    }

    /// `x mod q` for the low 52 bits of `x`. Range: output exact, in `[0, q)`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn reduce(&self, x: Lanes) -> Lanes {
        self.reduce_by(_mm512_and_si512(self.reduce_junk(x), self.mask), self.q)
    }
}

/// `x` in every lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn splat(x: u64) -> Lanes {
    _mm512_set1_epi64(x.cast_signed())
}

/// `x + y` modulo 2^64.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn add(x: Lanes, y: Lanes) -> Lanes {
    _mm512_add_epi64(x, y)
}

/// `x - y` modulo 2^64.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn sub(x: Lanes, y: Lanes) -> Lanes {
    _mm512_sub_epi64(x, y)
}

/// `sum + floor(x y / 2^52)` for the low 52 bits of `x` and `y`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn multiply_high(sum: Lanes, x: Lanes, y: Lanes) -> Lanes {
    _mm512_madd52hi_epu64(sum, x, y)
}

/// `sum + (x y mod 2^52)` for the low 52 bits of `x` and `y`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn multiply_low(sum: Lanes, x: Lanes, y: Lanes) -> Lanes {
    _mm512_madd52lo_epu64(sum, x, y)
}

/// Eight words from memory of any alignment.
///
/// # Safety
/// `source` is valid for reading eight words.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub unsafe fn load(source: *const u64) -> Lanes {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm512_loadu_si512(source.cast()) }
}

/// Eight words to memory of any alignment.
///
/// # Safety
/// `target` is valid for writing eight words.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub unsafe fn store(target: *mut u64, x: Lanes) {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm512_storeu_si512(target.cast(), x) }
}
