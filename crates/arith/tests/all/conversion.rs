//! Base conversion against big integers: centred and approximate, every shape, width and instruction set.
//!
//! Nothing here is statistical: every comparison is exact. The one freedom is the documented one, a residue
//! within `2^-45 D` of `D / 2`, where the centred representative may be either neighbour, the same for all
//! targets.

use crate::common::{Words, engines, mixed_primes};
use clathrate_arith::{BaseConversion, Engine, Modulus, Rounding};
use clathrate_testkit::oracle;
use num_bigint::BigInt;
use num_traits::Zero;

/// Widest distance from `D / 2`, as `D / 2^this`, at which the centred representative may be either one.
const BOUNDARY_BITS: u32 = 45;

/// Values modulo `d` that try every edge, then random ones, `count` in all.
fn values(d: &BigInt, moduli: &[Modulus], count: usize, words: &mut Words) -> Vec<BigInt> {
    let half: BigInt = d / 2;
    let step = |bits: u32| d >> bits;
    let mut values = vec![
        BigInt::zero(),
        BigInt::from(1),
        d - 1,
        half.clone(),
        &half + 1,
        &half - 1,
        &half - step(44),
        &half + step(44) + 1,
        &half - step(20),
        &half + step(20) + 1,
        step(44),
        d - step(44),
    ];
    // One residue at its largest, the others 0: the value -D/q_i (D/q_i)^-1.
    for i in 0..moduli.len() {
        let rows: Vec<Vec<u64>> =
            (0..moduli.len()).map(|j| vec![if i == j { moduli[j].value() - 1 } else { 0 }]).collect();
        let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
        values.extend(oracle::compose(&rows, moduli));
    }
    while values.len() < count {
        let wide = (0..moduli.len() + 1).fold(BigInt::zero(), |x, _| (x << 64u32) + words.next());
        values.push(wide % d);
    }
    // The edges come first, but not always at the same lanes.
    let shift = (words.next() % count as u64) as usize;
    values.truncate(count);
    values.rotate_left(shift);
    values
}

/// Converts on every engine and compares with the definition in big integers.
fn check(degree: usize, sources: &[usize], targets: &[usize], rounding: Rounding, words: &mut Words) {
    let primes = mixed_primes(degree);
    let all: Vec<Modulus> = primes.iter().map(|&q| Modulus::new(q).expect("prime")).collect();
    let from: Vec<Modulus> = sources.iter().map(|&s| all[s]).collect();
    let d = oracle::product(&from);
    let wanted = values(&d, &from, degree, words);
    // The conversion multiplies by c, so that the input is v / c.
    let constants: Vec<u64> = from.iter().map(|q| 1 + words.next() % (q.value() - 1)).collect();
    let conversion =
        BaseConversion::new(&all, sources, targets, &constants, rounding).expect("distinct primes");
    assert_eq!((conversion.sources(), conversion.targets()), (sources, targets));
    // Rows of the input before `first`, and of the output beside `out_rows`, are not the conversion's.
    let first = (words.next() % 3) as usize;
    let out_rows: Vec<usize> = (0..targets.len()).map(|t| targets.len() - t).collect();
    let untouched = 0x0bad_u64;
    let mut previous: Option<Vec<u64>> = None;
    for engine in engines(degree, &primes) {
        let mut x = engine.zeroed(first + sources.len());
        x.host_mut().fill(untouched);
        for (i, (q, &c)) in from.iter().zip(&constants).enumerate() {
            let inverse = q.inverse(c).expect("prime");
            for (word, v) in x.row_mut(first + i).iter_mut().zip(&wanted) {
                *word = q.mul(oracle::residue(v, q), inverse);
            }
        }
        let before = x.clone();
        let mut out = engine.zeroed(targets.len() + 2);
        out.host_mut().fill(untouched);
        engine.convert(&conversion, x.view().slice(first..x.rows()), out.view_mut(), &out_rows);
        let name = engine.describe();
        assert!(x == before, "{name}: the input stays");
        for row in [0, targets.len() + 1] {
            assert!(
                out.row(row).iter().all(|&word| word == untouched),
                "{name}: row {row} is nobody's target"
            );
        }
        for (lane, v) in wanted.iter().enumerate() {
            let got: Vec<u64> = out_rows.iter().map(|&row| out.row(row)[lane]).collect();
            let of = |integer: &BigInt| -> Vec<u64> {
                targets.iter().map(|&t| oracle::residue(integer, &all[t])).collect()
            };
            match rounding {
                Rounding::Centred => {
                    let centred = oracle::centre(v, &d);
                    let other = if centred > BigInt::zero() { &centred - &d } else { &centred + &d };
                    let off: BigInt = v * 2 - &d;
                    let near = &(off.magnitude() << (BOUNDARY_BITS - 1)) < d.magnitude();
                    assert!(
                        got == of(&centred) || near && got == of(&other),
                        "{name}: {sources:?} -> {targets:?}, lane {lane}, {v}"
                    );
                }
                Rounding::Approximate => {
                    let sum = from.iter().fold(BigInt::zero(), |sum, q| {
                        let cofactor = &d / q.value();
                        let unit = q.inverse(oracle::residue(&cofactor, q)).expect("prime");
                        sum + q.mul(oracle::residue(v, q), unit) * cofactor
                    });
                    assert!(
                        (&sum - v) % &d == BigInt::zero() && sum < &d * sources.len(),
                        "the definition itself"
                    );
                    assert_eq!(got, of(&sum), "{name}: {sources:?} -> {targets:?}, lane {lane}, {v}");
                }
            }
        }
        match &previous {
            None => previous = Some(out.host().to_vec()),
            Some(first) => assert_eq!(
                first.as_slice(),
                out.host(),
                "{name}: every engine to the bit, at the boundary too"
            ),
        }
    }
}

#[test]
fn conversion_of_1_to_12_primes_to_1_to_12_primes_is_the_definition() {
    let mut words = Words::new(1);
    let count = mixed_primes(32).len();
    for sources in 1..=12 {
        for targets in 1..=12 {
            // Any cut of the mixed list: widths from 29 to 60 bits meet on both sides.
            let start = (words.next() % count as u64) as usize;
            let picks: Vec<usize> = (0..sources + targets).map(|i| (start + i) % count).collect();
            for rounding in [Rounding::Centred, Rounding::Approximate] {
                check(32, &picks[..sources], &picks[sources..], rounding, &mut words);
            }
        }
    }
}

#[test]
fn conversion_at_degrees_of_less_and_more_than_a_block_is_the_definition() {
    let mut words = Words::new(2);
    for degree in [1, 2, 4, 8, 512, 1024] {
        for (sources, targets) in
            [(vec![0, 7, 3], vec![9, 1, 5, 2]), (vec![8], vec![0]), (vec![1, 9, 10], vec![])]
        {
            for rounding in [Rounding::Centred, Rounding::Approximate] {
                check(degree, &sources, &targets, rounding, &mut words);
            }
        }
    }
}

#[test]
fn conversion_between_primes_of_one_width_is_the_definition() {
    let mut words = Words::new(3);
    let widths = crate::common::WIDTHS;
    for width in 0..widths.len() {
        let same: Vec<usize> = (0..mixed_primes(64).len()).filter(|i| i % widths.len() == width).collect();
        let (sources, targets) = same.split_at(same.len() / 2);
        for rounding in [Rounding::Centred, Rounding::Approximate] {
            check(64, sources, targets, rounding, &mut words);
        }
    }
}

#[test]
fn conversion_from_a_repeated_prime_is_refused() {
    let moduli: Vec<Modulus> = mixed_primes(8).iter().map(|&q| Modulus::new(q).expect("prime")).collect();
    for rounding in [Rounding::Centred, Rounding::Approximate] {
        assert!(BaseConversion::new(&moduli, &[2, 4, 2], &[0], &[1, 1, 1], rounding).is_none());
    }
}
