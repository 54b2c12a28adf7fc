//! Register passes of the transform: up to four stages on rows a stride apart, each word loaded and stored
//! once. Ranges: [`super::ntt`].

use std::arch::x86_64::*;

use super::lanes::{Constants, LANES, Lanes, add, load, multiply_high, multiply_low, splat, store, sub};

/// `(x, y) <- (x + w y, x - w y)`; ranges: [`super::ntt`].
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn forward_butterfly<const WIDE: bool>(
    c: &Constants,
    x: Lanes,
    y: Lanes,
    w: Lanes,
    w_quotient: Lanes,
) -> (Lanes, Lanes) {
    if WIDE {
        let t = c.mul_lazy(y, w, w_quotient);
        let x = c.reduce_by(x, c.two_q);
        (add(x, t), sub(add(x, c.two_q), t))
    } else {
        // Accumulating on x saves an addition; x - r = 2 x - (x + r).
        let h = multiply_high(c.zero, y, w_quotient);
        let sum = multiply_low(multiply_low(x, y, w), h, c.negative_q);
        (sum, sub(add(x, x), sum))
    }
}

/// `(x, y) <- (x + y, w (x - y))`. `bound`, if given, is a multiple of `q` above `y - x`, which is added to
/// the difference; `bias`, another multiple of `q`, is added to the product. Wide words need neither.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn inverse_butterfly<const WIDE: bool>(
    c: &Constants,
    x: Lanes,
    y: Lanes,
    w: Lanes,
    w_quotient: Lanes,
    bound: Option<Lanes>,
    bias: Lanes,
) -> (Lanes, Lanes) {
    let sum = add(x, y);
    if WIDE {
        (c.reduce_by(sum, c.two_q), c.mul_lazy(sub(add(x, c.two_q), y), w, w_quotient))
    } else {
        let difference = bound.map_or(sub(x, y), |bound| sub(add(x, bound), y));
        let h = multiply_high(c.zero, difference, w_quotient);
        (sum, multiply_low(multiply_low(bias, difference, w), h, c.negative_q))
    }
}

/// The factor at `table` and its quotient, each in every lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub unsafe fn broadcast(table: *const u64) -> (Lanes, Lanes) {
    // SAFETY: the caller's table holds the pair.
    unsafe { (splat(*table), splat(*table.add(1))) }
}

/// Stage `S` of a register pass on `R` vectors: one flat loop, so that the compiler unrolls all of it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub unsafe fn forward_stage<const S: usize, const R: usize, const WIDE: bool>(
    c: &Constants,
    v: &mut [Lanes; R],
    table: *const u64,
) {
    let half = R >> (S + 1);
    for butterfly in 0..R / 2 {
        let (group, i) = (butterfly / half, butterfly % half);
        // SAFETY: the table holds R - 1 pairs.
        let (w, quotient) = unsafe { broadcast(table.add(2 * ((1 << S) - 1 + group))) };
        let k = 2 * half * group + i;
        (v[k], v[k + half]) = forward_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient);
    }
}

/// Stage `S` of an inverse pass on `R` vectors, finest first.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_stage<const S: usize, const R: usize, const WIDE: bool>(
    c: &Constants,
    v: &mut [Lanes; R],
    table: *const u64,
    bound: Lanes,
) {
    let half = 1 << S;
    for butterfly in 0..R / 2 {
        let (group, i) = (butterfly / half, butterfly % half);
        // SAFETY: the table holds R - 1 pairs.
        let (w, quotient) = unsafe { broadcast(table.add(2 * ((R >> (S + 1)) - 1 + group))) };
        let k = 2 * half * group + i;
        (v[k], v[k + half]) =
            inverse_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient, Some(bound), c.zero);
    }
}

/// The last stage of the inverse: sums times `1/n`, differences times the table's `w/n`, all reduced to `[0,
/// q)`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_last_stage<const R: usize>(
    c: &Constants,
    v: &mut [Lanes; R],
    table: *const u64,
    bound: Lanes,
    scale: &[u64; 2],
) {
    // SAFETY: the table holds at least one pair.
    let (w, quotient) = unsafe { broadcast(table) };
    let (scale, scale_quotient) = (splat(scale[0]), splat(scale[1]));
    for k in 0..R / 2 {
        let (x, y) = (v[k], v[k + R / 2]);
        v[k] = c.reduce_by(c.mul_lazy(add(x, y), scale, scale_quotient), c.q);
        v[k + R / 2] = c.reduce_by(c.mul_lazy(sub(add(x, bound), y), w, quotient), c.q);
    }
}

/// The memory that a pass reads, in rows `stride` words apart, and that it writes, in rows `out_stride` words
/// apart.
#[derive(Clone, Copy)]
pub struct Places {
    pub x: *const u64,
    pub stride: usize,
    pub out: *mut u64,
    pub out_stride: usize,
}

impl Places {
    /// In place.
    pub fn same(x: *mut u64, stride: usize) -> Self {
        Self { x, stride, out: x, out_stride: stride }
    }
}

/// One register pass over `count` blocks of `R` strides of `stride` words.
///
/// # Safety
/// `x` holds `count * R * stride` words, `out` `count * R * out_stride`, which is not less, and `table`
/// `count * 2 (R - 1)`; 8 divides `stride`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub unsafe fn forward_radix<const K: usize, const R: usize, const WIDE: bool, const FIRST: bool>(
    c: &Constants,
    places: Places,
    table: *const u64,
    count: usize,
    offset: Lanes,
) {
    let Places { x, stride, out, out_stride } = places;
    for block in 0..count {
        // SAFETY: within the caller's words.
        unsafe {
            let x = x.add(block * R * stride);
            let out = out.add(block * R * out_stride);
            let table = table.add(block * 2 * (R - 1));
            for i in (0..stride).step_by(LANES) {
                let mut v = [c.zero; R];
                for k in 0..R {
                    v[k] = load(x.add(i + k * stride));
                    if FIRST && !WIDE && k < R / 2 {
                        v[k] = add(v[k], offset);
                    }
                }
                forward_stage::<0, R, WIDE>(c, &mut v, table);
                if K > 1 {
                    forward_stage::<1, R, WIDE>(c, &mut v, table);
                }
                if K > 2 {
                    forward_stage::<2, R, WIDE>(c, &mut v, table);
                }
                if K > 3 {
                    forward_stage::<3, R, WIDE>(c, &mut v, table);
                }
                for k in 0..R {
                    store(out.add(i + k * out_stride), v[k]);
                }
            }
        }
    }
}

/// One register pass of the inverse over `count` blocks of `R` strides, `COLUMNS` vectors of each row at a
/// time; `LAST` marks the pass that ends the transform.
///
/// # Safety
/// As [`forward_radix`]; `8 COLUMNS` divides `stride`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub unsafe fn inverse_radix<
    const K: usize,
    const R: usize,
    const COLUMNS: usize,
    const WIDE: bool,
    const LAST: bool,
>(
    c: &Constants,
    x: *mut u64,
    table: *const u64,
    count: usize,
    stride: usize,
    scale: &[u64; 2],
) {
    let bounds = [
        _mm512_slli_epi64(c.q, 3),
        _mm512_slli_epi64(c.q, 4),
        _mm512_slli_epi64(c.q, 5),
        _mm512_slli_epi64(c.q, 3),
    ];
    for block in 0..count {
        // SAFETY: within the caller's words.
        unsafe {
            let x = x.add(block * R * stride);
            let table = table.add(block * 2 * (R - 1));
            for i in (0..stride).step_by(COLUMNS * LANES) {
                let mut columns = [[c.zero; R]; COLUMNS];
                for (column, v) in columns.iter_mut().enumerate() {
                    for k in 0..R {
                        v[k] = load(x.add(i + column * LANES + k * stride));
                    }
                }
                let inner_stages = if LAST { K - 1 } else { K };
                if inner_stages > 0 {
                    columns.iter_mut().for_each(|v| inverse_stage::<0, R, WIDE>(c, v, table, bounds[0]));
                }
                if inner_stages > 1 {
                    columns.iter_mut().for_each(|v| inverse_stage::<1, R, WIDE>(c, v, table, bounds[1]));
                }
                if inner_stages > 2 {
                    columns.iter_mut().for_each(|v| inverse_stage::<2, R, WIDE>(c, v, table, bounds[2]));
                }
                for v in &mut columns {
                    if !WIDE && K > 3 {
                        v[0] = c.reduce_junk(v[0]);
                        v[R / 2] = c.reduce_junk(v[R / 2]);
                    }
                    if inner_stages > 3 {
                        inverse_stage::<3, R, WIDE>(c, v, table, bounds[3]);
                    }
                    if LAST {
                        inverse_last_stage::<R>(
                            c,
                            v,
                            table,
                            if WIDE { c.two_q } else { bounds[K - 1] },
                            scale,
                        );
                    }
                    if !WIDE && !LAST {
                        if K <= 3 {
                            v[0] = c.reduce_junk(v[0]);
                        } else {
                            v[1] = c.reduce_junk(v[1]);
                        }
                    }
                }
                for (column, v) in columns.iter().enumerate() {
                    for k in 0..R {
                        store(x.add(i + column * LANES + k * stride), v[k]);
                    }
                }
            }
        }
    }
}
