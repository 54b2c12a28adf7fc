//! The passes before and after the floating-point products: from residues to digits, and from sums to
//! residues.
//!
//! Plain Rust that the compiler vectorises, compiled once per instruction set; every version gives the same
//! bits, because every step is either integer or decided by the bounds of [`super::split::SplitPlan`]. Sits
//! below [`super`].

use super::split::Slices;
use crate::modulus::Modulus;

/// Elements processed together: their temporaries fit the first-level cache.
const CHUNK: usize = 128;

/// `1.5 * 2^52`: adding it rounds a double of magnitude below `2^51` to an integer, ties to even, held in the
/// low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Instruction sets the passes are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// Every width this machine has, slowest first.
    pub(crate) fn available() -> Vec<Width> {
        #[allow(unused_mut)]
        let mut widths = vec![Width::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                widths.push(Width::Avx2);
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                widths.push(Width::Avx512);
            }
        }
        widths
    }

    /// The fastest width of this machine.
    pub(crate) fn detect() -> Width {
        Self::available().last().copied().unwrap_or(Width::Portable)
    }
}

/// Compiles `$body` once per instruction set and dispatches on a [`Width`].
macro_rules! per_width {
    ($(#[$doc:meta])* $name:ident => $body:ident<$($generic:ident: $bound:ident),*>($($arg:ident: $ty:ty),*) -> $out:ty) => {
        $(#[$doc])*
        pub(crate) fn $name<$($generic: $bound),*>(width: Width, $($arg: $ty),*) -> $out {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<$($generic: $bound),*>($($arg: $ty),*) -> $out {
                $body($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,fma")]
            fn avx512<$($generic: $bound),*>($($arg: $ty),*) -> $out {
                $body($($arg),*)
            }
            match width {
                Width::Portable => $body($($arg),*),
                // SAFETY: a width exists only where `Width::available` has found its instructions.
                #[cfg(target_arch = "x86_64")]
                Width::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Width::Avx512 => unsafe { avx512($($arg),*) },
            }
        }
    };
}

per_width! {
    /// Digits of one row of residues: `out[j * stride + l]` is digit `j` of the centred `row[l]`. True if
    /// every residue is below `q`.
    digits_of_residues => digits_of_residues_body<>(out: &mut [f64], stride: usize, row: &[u64], slices: Slices, q: u64) -> bool
}

per_width! {
    /// Digit `index` of signed words.
    digit_of_words => digit_of_words_body<>(out: &mut [f64], words: &[i64], slices: Slices, index: usize) -> ()
}

per_width! {
    /// `sums <- sums + products`. Range: products are integers of magnitude at most `2^53`; no sum reaches
    /// `2^62`.
    add_products => add_products_body<>(sums: &mut [i64], products: &[f64]) -> ()
}

per_width! {
    /// `out[l] <- 2^carry out[l] + sum_j 2^(bits j) sums[j * stride + l] mod q`, or without the first term
    /// when there is no carry.
    ///
    /// Range: as [`super::split::SplitPlan`], step 4.
    reduce_sums => reduce_sums_body<T: Sum>(out: &mut [u64], carry: Option<u32>, sums: &[T], stride: usize, slices: Slices, modulus: &Modulus) -> ()
}

per_width! {
    /// `fractions[l] <- fractions[l] + row[l] unit`, modulo `2^128`, for the centred residues of `row` modulo
    /// `q`.
    add_residue_fractions => add_residue_fractions_body<>(fractions: &mut [u128], row: &[u64], unit: u128, q: u64) -> ()
}

per_width! {
    /// Fractions of one lane as doubles in `[-1/2, 1/2]`; `lane` is (the lane, the number of lanes). With
    /// `upper`, the nearest multiples of `2^-upper`, followed by the remainders.
    doubles_of_fractions => doubles_of_fractions_body<>(out: &mut [f64], fractions: &[u128], lane: (usize, usize), upper: Option<u32>) -> ()
}

per_width! {
    /// Adds the products modulo 1, as words of 64 bits after the binary point.
    add_fractions => add_fractions_body<>(sums: &mut [u64], products: &[f64]) -> ()
}

per_width! {
    /// The multiples `F whole + floor(F rest / 2^64) mod q` of the centred fractions `F 2^-64`, at the places
    /// of one lane of `out`, to which they are added if `add`.
    multiples_of_fractions => multiples_of_fractions_body<>(
        out: &mut [u64], lane: (usize, usize), fractions: &[u64], factors: (u64, u64), add: bool, modulus: &Modulus) -> ()
}

#[inline(always)]
fn add_residue_fractions_body(fractions: &mut [u128], row: &[u64], unit: u128, q: u64) {
    for (fraction, &u) in fractions.iter_mut().zip(row) {
        let centred = i128::from(centred(u, q / 2, q)) as u128;
        *fraction = fraction.wrapping_add(unit.wrapping_mul(centred));
    }
}

#[inline(always)]
fn doubles_of_fractions_body(
    out: &mut [f64],
    fractions: &[u128],
    (lane, lanes): (usize, usize),
    upper: Option<u32>,
) {
    let unit = 0.5 / (1u64 << 63) as f64;
    let columns = fractions.len() / lanes;
    let Some(bits) = upper else {
        for (double, &fraction) in out.iter_mut().zip(fractions[lane..].iter().step_by(lanes)) {
            *double = (fraction >> 64) as i64 as f64 * unit;
        }
        return;
    };
    let (uppers, lowers) = out.split_at_mut(columns);
    let half = 1u128 << (127 - bits);
    let (mask, small) = (!(2 * half - 1), unit / power_of_two(bits));
    for ((above, below), &fraction) in
        uppers.iter_mut().zip(lowers).zip(fractions[lane..].iter().step_by(lanes))
    {
        let kept = fraction.wrapping_add(half) & mask;
        *above = (kept >> 64) as i64 as f64 * unit;
        // The rest has 128 - bits bits with its sign: the highest 64 of these.
        *below = ((fraction.wrapping_sub(kept) << bits) >> 64) as i64 as f64 * small;
    }
}

#[inline(always)]
fn add_fractions_body(sums: &mut [u64], products: &[f64]) {
    let unit = 2.0 * (1u64 << 63) as f64;
    for (sum, &y) in sums.iter_mut().zip(products) {
        let fraction = y - y.round_ties_even();
        *sum = sum.wrapping_add((fraction * unit) as i64 as u64);
    }
}

#[inline(always)]
fn multiples_of_fractions_body(
    out: &mut [u64],
    (lane, lanes): (usize, usize),
    fractions: &[u64],
    (whole, rest): (u64, u64),
    add: bool,
    modulus: &Modulus,
) {
    for (word, &fraction) in out[lane..].iter_mut().step_by(lanes).zip(fractions) {
        let signed = fraction as i64;
        let below = (i128::from(signed) * i128::from(rest)) >> 64;
        let mut value = modulus.reduce_i64(below as i64);
        if whole != 0 {
            value = modulus.add(value, modulus.mul(modulus.reduce_i64(signed), whole));
        }
        *word = if add { modulus.add(*word, value) } else { value };
    }
}

#[inline(always)]
fn digits_of_residues_body(out: &mut [f64], stride: usize, row: &[u64], slices: Slices, q: u64) -> bool {
    let half_q = q / 2;
    let mut overflow = 0u64;
    if slices.count == 1 {
        for (digit, &u) in out[..row.len()].iter_mut().zip(row) {
            overflow |= q.wrapping_sub(1).wrapping_sub(u) | u;
            *digit = centred(u, half_q, q) as f64;
        }
        return overflow >> 63 == 0;
    }
    let (half, mask) = (1i64 << (slices.bits - 1), (1i64 << slices.bits) - 1);
    let mut rest = [0i64; CHUNK];
    for (chunk, words) in row.chunks(CHUNK).enumerate() {
        let start = chunk * CHUNK;
        let rest = &mut rest[..words.len()];
        for (r, &u) in rest.iter_mut().zip(words) {
            overflow |= q.wrapping_sub(1).wrapping_sub(u) | u;
            *r = centred(u, half_q, q);
        }
        for j in 0..slices.count - 1 {
            let digits = &mut out[j * stride + start..][..words.len()];
            for (digit, r) in digits.iter_mut().zip(rest.iter_mut()) {
                let d = (r.wrapping_add(half) & mask) - half;
                *r = r.wrapping_sub(d) >> slices.bits;
                *digit = d as f64;
            }
        }
        let digits = &mut out[(slices.count - 1) * stride + start..][..words.len()];
        for (digit, &r) in digits.iter_mut().zip(rest.iter()) {
            *digit = r as f64;
        }
    }
    overflow >> 63 == 0
}

#[inline(always)]
fn centred(u: u64, half_q: u64, q: u64) -> i64 {
    (if u > half_q { u.wrapping_sub(q) } else { u }) as i64
}

#[inline(always)]
fn digit_of_words_body(out: &mut [f64], words: &[i64], slices: Slices, index: usize) {
    if slices.count == 1 {
        for (digit, &w) in out.iter_mut().zip(words) {
            *digit = w as f64;
        }
        return;
    }
    let (half, mask) = (1i64 << (slices.bits - 1), (1i64 << slices.bits) - 1);
    for (digit, &w) in out.iter_mut().zip(words) {
        let mut rest = w;
        for _ in 0..index {
            rest = (rest - ((rest.wrapping_add(half) & mask) - half)) >> slices.bits;
        }
        *digit = if index + 1 == slices.count {
            rest as f64
        } else {
            ((rest.wrapping_add(half) & mask) - half) as f64
        };
    }
}

#[inline(always)]
fn add_products_body(sums: &mut [i64], products: &[f64]) {
    for (sum, product) in sums.iter_mut().zip(products) {
        *sum += product.integer();
    }
}

/// A sum of products of digits: a double holding an integer, or the integer.
pub(crate) trait Sum: Copy {
    /// Its value.
    fn integer(self) -> i64;
    /// Its value within a relative `2^-53`.
    fn approximate(self) -> f64;
}

impl Sum for f64 {
    #[inline(always)]
    fn integer(self) -> i64 {
        debug_assert!(self.abs() <= super::split::EXACT_LIMIT as f64);
        // SAFETY: an integer of magnitude at most 2^53 (SplitPlan, step 2): finite and within an i64.
        unsafe { self.to_int_unchecked::<i64>() }
    }

    #[inline(always)]
    fn approximate(self) -> f64 {
        self
    }
}

impl Sum for i64 {
    #[inline(always)]
    fn integer(self) -> i64 {
        self
    }

    #[inline(always)]
    fn approximate(self) -> f64 {
        self as f64
    }
}

#[inline(always)]
fn reduce_sums_body<T: Sum>(
    out: &mut [u64],
    carry: Option<u32>,
    sums: &[T],
    stride: usize,
    slices: Slices,
    modulus: &Modulus,
) {
    // The common counts get their own loops, whose inner sums unroll.
    match slices.count {
        1 => reduce_sums_of::<T, 1>(out, carry, sums, stride, slices.bits, modulus),
        2 => reduce_sums_of::<T, 2>(out, carry, sums, stride, slices.bits, modulus),
        3 => reduce_sums_of::<T, 3>(out, carry, sums, stride, slices.bits, modulus),
        4 => reduce_sums_of::<T, 4>(out, carry, sums, stride, slices.bits, modulus),
        5 => reduce_sums_of::<T, 5>(out, carry, sums, stride, slices.bits, modulus),
        6 => reduce_sums_of::<T, 6>(out, carry, sums, stride, slices.bits, modulus),
        7 => reduce_sums_of::<T, 7>(out, carry, sums, stride, slices.bits, modulus),
        _ => reduce_sums_of::<T, 8>(out, carry, sums, stride, slices.bits, modulus),
    }
}

#[inline(always)]
fn reduce_sums_of<T: Sum, const S: usize>(
    out: &mut [u64],
    carry: Option<u32>,
    sums: &[T],
    stride: usize,
    bits: u32,
    modulus: &Modulus,
) {
    let q = modulus.value();
    let inverse = 1.0 / q as f64;
    let length = out.len();
    let rows: [&[T]; S] = std::array::from_fn(|j| &sums[j * stride..][..length]);
    let scales: [f64; S] = std::array::from_fn(|j| power_of_two(bits * j as u32));
    let (shift, keep) = carry.map_or((0, 0), |shift| (shift, u64::MAX));
    let carry_scale = power_of_two(shift);
    for l in 0..length {
        let carried = out[l] & keep;
        let mut exact = carried << shift;
        let mut approximate = carried as i64 as f64 * carry_scale;
        for j in 0..S {
            let sum = rows[j][l];
            exact = exact.wrapping_add((sum.integer() as u64) << (bits * j as u32));
            approximate += sum.approximate() * scales[j];
        }
        let quotient = (approximate * inverse + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits());
        let remainder = exact.wrapping_sub(quotient.wrapping_mul(q));
        // The remainder is in (-q, q). As a word, it is larger than itself plus q if it is negative, and
        // smaller otherwise.
        out[l] = remainder.min(remainder.wrapping_add(q));
    }
}

/// `2^exponent`, `exponent < 1024`.
#[inline(always)]
fn power_of_two(exponent: u32) -> f64 {
    f64::from_bits(u64::from(1023 + exponent) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize, below: u64, seed: u64) -> Vec<u64> {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        (0..count).map(|i| if i < 2 { (below - 1) * i as u64 } else { next() % below }).collect()
    }

    #[test]
    fn digits_recompose_and_stay_within_their_bound_at_every_width() {
        for (q, bits) in [(3u64, 2), ((1 << 29) - 3, 29), ((1 << 45) - 55, 45), ((1 << 61) - 1, 61)] {
            for max_abs_w in [1, 1 << 13, 1 << 52] {
                let slices = super::super::split::SplitPlan::choose(1000, max_abs_w, bits).right;
                let row = words(2 * CHUNK + 5, q, 7);
                let mut first = None;
                for width in Width::available() {
                    let mut out = vec![f64::NAN; slices.count * row.len()];
                    assert!(digits_of_residues(width, &mut out, row.len(), &row, slices, q));
                    for (l, &u) in row.iter().enumerate() {
                        let value: i128 = (0..slices.count)
                            .map(|j| (out[j * row.len() + l] as i128) << (slices.bits * j as u32))
                            .sum();
                        assert_eq!(value.rem_euclid(i128::from(q)) as u64, u);
                        assert!(
                            (0..slices.count)
                                .all(|j| out[j * row.len() + l].abs() <= slices.max_digit as f64)
                        );
                    }
                    assert_eq!(first.get_or_insert(out.clone()), &out, "{width:?}");
                }
            }
        }
    }

    #[test]
    fn residue_out_of_range_is_seen_at_every_width() {
        let q = (1 << 45) - 55;
        let slices = super::super::split::SplitPlan::choose(1000, 1 << 13, 45).right;
        for width in Width::available() {
            for bad in [q, q + 1, u64::MAX] {
                for place in [0, 7, 130] {
                    let mut row = vec![0; 131];
                    row[place] = bad;
                    assert!(
                        !digits_of_residues(width, &mut vec![0.0; 131 * slices.count], 131, &row, slices, q),
                        "{bad} at {place}"
                    );
                }
            }
        }
    }

    #[test]
    fn digits_of_words_recompose_and_stay_within_their_bound_at_every_width() {
        for bound in [1u64, 255, 1 << 13, 1 << 40, 1 << 52] {
            let slices = super::super::split::SplitPlan::choose(1024, bound, 61).left;
            let signed = |w: u64| w as i64 - bound as i64;
            let values: Vec<i64> =
                [0, bound, 2 * bound].into_iter().chain(words(101, 2 * bound + 1, 3)).map(signed).collect();
            for width in Width::available() {
                let mut sums = vec![0i128; values.len()];
                for index in 0..slices.count {
                    let mut digits = vec![f64::NAN; values.len()];
                    digit_of_words(width, &mut digits, &values, slices, index);
                    assert!(digits.iter().all(|digit| digit.abs() <= slices.max_digit as f64));
                    sums.iter_mut()
                        .zip(&digits)
                        .for_each(|(sum, &digit)| *sum += (digit as i128) << (slices.bits * index as u32));
                }
                assert!(sums.iter().zip(&values).all(|(&sum, &value)| sum == i128::from(value)), "{width:?}");
            }
        }
    }

    #[test]
    fn sums_reduce_as_integers_do_at_every_width() {
        let length = CHUNK + 3;
        for (q, bits) in [(3u64, 2), ((1 << 29) - 3, 29), ((1 << 45) - 55, 45), ((1 << 61) - 1, 61)] {
            for max_abs_w in [1, 1 << 13, 1 << 21, 1 << 40, 1 << 52] {
                let plan = super::super::split::SplitPlan::choose(1024, max_abs_w, bits);
                let modulus = Modulus::new(q).expect("odd");
                let slices = plan.right;
                // Sums of both signs, as large as 1024 terms can make them.
                let whole = 1024 * plan.left.max_digit * slices.max_digit;
                let part = plan.exact_block as u64 * plan.left.max_digit * slices.max_digit;
                let sums: Vec<i64> = words(slices.count * length, 2 * whole + 1, 5)
                    .iter()
                    .map(|&v| v as i64 - whole as i64)
                    .collect();
                let products: Vec<f64> = words(slices.count * length, 2 * part + 1, 6)
                    .iter()
                    .map(|&v| (v as i64 - part as i64) as f64)
                    .collect();
                let old = words(length, q, 9);
                for width in Width::available() {
                    let mut added = sums.iter().map(|sum| sum / 2).collect::<Vec<_>>();
                    add_products(width, &mut added, &products);
                    assert!((0..added.len()).all(|i| added[i] == sums[i] / 2 + products[i] as i64));
                    for carry in [None, Some(0), Some(plan.left.bits)] {
                        let reference = |l: usize, value: &dyn Fn(usize) -> i64| {
                            let total: i128 = (0..slices.count)
                                .map(|j| {
                                    let digit = i128::from(value(j * length + l)).rem_euclid(i128::from(q));
                                    digit * ((1i128 << (slices.bits * j as u32)) % i128::from(q))
                                        % i128::from(q)
                                })
                                .sum();
                            let carried = carry.map_or(0, |shift| i128::from(old[l]) << shift);
                            (total + carried).rem_euclid(i128::from(q)) as u64
                        };
                        let mut out = old.clone();
                        reduce_sums(width, &mut out, carry, &sums, length, slices, &modulus);
                        assert!(
                            (0..length).all(|l| out[l] == reference(l, &|i| sums[i])),
                            "{width:?} {q} {max_abs_w} {carry:?}"
                        );
                        let mut out = old.clone();
                        reduce_sums(width, &mut out, carry, &products, length, slices, &modulus);
                        assert!(
                            (0..length).all(|l| out[l] == reference(l, &|i| products[i] as i64)),
                            "{width:?} {q} {max_abs_w} {carry:?}"
                        );
                    }
                }
            }
        }
    }
}
