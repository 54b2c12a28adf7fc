//! Reproducible search for NTT-friendly primes.

use crate::error::ArithError;
use crate::modulus::{MAX_MODULUS_BITS, Modulus};

/// Deterministic Miller-Rabin for 64-bit words (the first twelve primes decide below 3.3 * 10^24).
#[must_use]
pub fn is_prime(n: u64) -> bool {
    const WITNESSES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    for p in WITNESSES {
        if n.is_multiple_of(p) {
            return n == p;
        }
    }
    let mul = |x: u64, y: u64| (u128::from(x) * u128::from(y) % u128::from(n)) as u64;
    let pow = |mut base: u64, mut e: u64| {
        let mut result = 1;
        while e > 0 {
            if e & 1 == 1 {
                result = mul(result, base);
            }
            base = mul(base, base);
            e >>= 1;
        }
        result
    };
    let shift = (n - 1).trailing_zeros();
    let odd = (n - 1) >> shift;
    WITNESSES.iter().all(|&witness| {
        let mut x = pow(witness, odd);
        if x == 1 || x == n - 1 {
            return true;
        }
        for _ in 1..shift {
            x = mul(x, x);
            if x == n - 1 {
                return true;
            }
        }
        false
    })
}

/// The primes congruent to 1 mod `step` nearest to `target`, nearest first (of two equally near, the larger
/// first), skipping those in `used`. Deterministic: the same arguments give the same primes everywhere.
pub fn primes_near(target: f64, step: u64, used: &[u64]) -> impl Iterator<Item = u64> {
    let used = used.to_vec();
    // The candidate at or just below the target.
    let base = ((target as u64).saturating_sub(1) / step) * step + 1;
    let mut up = base.checked_add(step);
    let mut down = Some(base);
    std::iter::from_fn(move || {
        loop {
            let distance = |c: u64| (c as f64 - target).abs();
            let candidate = match (up, down) {
                (Some(u), Some(d)) if distance(u) <= distance(d) => {
                    up = u.checked_add(step);
                    u
                }
                (_, Some(d)) => {
                    down = d.checked_sub(step).filter(|&c| c > 2);
                    d
                }
                (Some(u), None) => {
                    up = u.checked_add(step);
                    u
                }
                (None, None) => return None,
            };
            if candidate >> MAX_MODULUS_BITS != 0 {
                up = None;
                continue;
            }
            if !used.contains(&candidate) && is_prime(candidate) {
                return Some(candidate);
            }
        }
    })
}

/// The largest `count` primes of exactly `bits` bits congruent to 1 mod `step`, largest first, skipping
/// `used`.
///
/// # Errors
/// [`ArithError::NotEnoughPrimes`] where the range holds fewer.
pub fn largest_primes(bits: u32, step: u64, count: usize, used: &[u64]) -> Result<Vec<u64>, ArithError> {
    let mut found = Vec::with_capacity(count);
    let shortage = |found: usize| ArithError::NotEnoughPrimes { found, wanted: count, bits, step };
    if !(2..=MAX_MODULUS_BITS).contains(&bits) || step >> (bits - 1) != 0 {
        return if count == 0 { Ok(found) } else { Err(shortage(0)) };
    }
    let mut candidate = (((1u64 << bits) - 2) / step) * step + 1;
    while found.len() < count {
        if candidate >> (bits - 1) == 0 {
            return Err(shortage(found.len()));
        }
        if !used.contains(&candidate) && is_prime(candidate) {
            found.push(candidate);
        }
        if candidate < step {
            return Err(shortage(found.len()));
        }
        candidate -= step;
    }
    Ok(found)
}

/// A primitive `order`-th root of unity modulo a prime, `order` a power of two: `g^((q - 1) / order)` for the
/// smallest quadratic non-residue `g`.
///
/// The power has exact order `order` if and only if `g^((q - 1) / 2) = -1`, which does not depend on `order`.
/// So the same prime always gives the same root, and the roots of all orders are powers of one another,
///
/// ```text
/// root(m) = root(k m)^k    for powers of two k, m with k m | q - 1
/// ```
///
/// on which changes of the degree rely.
///
/// # Errors
/// [`ArithError::NoRootOfUnity`] where `order` does not divide `q - 1`.
pub fn primitive_root(modulus: &Modulus, order: usize) -> Result<u64, ArithError> {
    let q = modulus.value();
    let missing = ArithError::NoRootOfUnity { modulus: q, order };
    if order == 0 || !order.is_power_of_two() || !(q - 1).is_multiple_of(order as u64) {
        return Err(missing);
    }
    if order == 1 {
        return Ok(1);
    }
    (2..q.min(10_000))
        .map(|g| modulus.pow(g, (q - 1) / order as u64))
        .find(|&root| modulus.pow(root, order as u64 / 2) == q - 1)
        .ok_or(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primality_known_answers() {
        for p in [2u64, 3, 97, 65537, (1 << 61) - 1, 0xffff_ffff_0000_0001] {
            assert!(is_prime(p), "{p}");
        }
        // Carmichael numbers, strong pseudoprimes, squares.
        for c in [0u64, 1, 4, 561, 3_215_031_751, 3_825_123_056_546_413_051, 65537 * 65537] {
            assert!(!is_prime(c), "{c}");
        }
    }

    #[test]
    fn found_primes_are_distinct_sized_and_congruent() {
        let step = 1 << 18;
        let primes = largest_primes(36, step, 20, &[]).expect("enough");
        for (i, &p) in primes.iter().enumerate() {
            assert!(is_prime(p) && p % step == 1 && p >> 35 == 1);
            assert!(!primes[..i].contains(&p));
        }
        let more = largest_primes(36, step, 5, &primes).expect("enough");
        assert!(more.iter().all(|p| !primes.contains(p)));
        let near: Vec<u64> = primes_near((1u64 << 40) as f64, step, &[]).take(10).collect();
        assert!(near.windows(2).all(|w| w[0].abs_diff(1 << 40) <= w[1].abs_diff(1 << 40)));
    }

    #[test]
    fn too_few_primes_is_an_error_with_the_count() {
        let error = largest_primes(20, 1 << 18, 50, &[]).expect_err("cannot exist");
        assert!(matches!(error, ArithError::NotEnoughPrimes { wanted: 50, .. }), "{error}");
    }

    #[test]
    fn primitive_root_has_exact_order() {
        for &p in &largest_primes(45, 1 << 18, 3, &[]).expect("enough") {
            let modulus = Modulus::new(p).expect("prime");
            let root = primitive_root(&modulus, 1 << 18).expect("exists");
            assert_eq!(modulus.pow(root, 1 << 17), p - 1);
        }
        assert!(primitive_root(&Modulus::new(7).expect("ok"), 4).is_err());
    }

    #[test]
    fn primitive_roots_of_all_orders_are_powers_of_one_another() {
        let mut primes = vec![3, 5, 17, 97, 257, 65537];
        for bits in [29, 36, 45, 50, 60, 61] {
            primes.extend(largest_primes(bits, 1 << 18, 4, &[]).expect("enough"));
        }
        for p in primes {
            let modulus = Modulus::new(p).expect("prime");
            let orders = (0..=(p - 1).trailing_zeros().min(18)).map(|log| 1usize << log);
            let roots: Vec<u64> =
                orders.map(|order| primitive_root(&modulus, order).expect("divides")).collect();
            assert_eq!(roots[..2], [1, p - 1]);
            for (log, pair) in roots.windows(2).enumerate() {
                assert_eq!(modulus.mul(pair[1], pair[1]), pair[0], "prime {p}, order 2^{log}");
            }
        }
    }
}
