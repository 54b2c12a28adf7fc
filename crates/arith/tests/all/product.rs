//! Exact modular products over floating point, against integers, at every edge of their bounds.

use std::collections::BTreeSet;
use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::product::{LeftMatrix, MAX_WEIGHT, SplitPlan, multiply_f64, multiply_mod};
use clathrate_arith::{ArithError, Buffer, CpuEngine, Engine, Isa, Meter, Modulus, ProductCounts};
use num_bigint::BigInt;

const MODULI: [u64; 9] = [
    3,
    7,
    (1 << 29) - 3,
    (1 << 40) - 87,
    (1 << 45) - 55,
    (1 << 50) - 27,
    (1 << 53) - 111,
    (1 << 60) - 93,
    (1 << 61) - 1,
];
const WEIGHT_BOUNDS: [u64; 7] = [1, 1 << 8, 1 << 13, 1 << 18, 1 << 31, 1 << 40, MAX_WEIGHT];

struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn weight(&mut self, bound: u64) -> i64 {
        self.below(2 * bound + 1) as i64 - bound as i64
    }
}

/// Schoolbook: |sum| < inner * 2^52 * 2^61 fits an i128 for every shape here.
fn schoolbook(rows: usize, inner: usize, weights: &[i64], right: &[Vec<u64>], q: u64) -> Vec<Vec<u64>> {
    (0..rows)
        .map(|i| {
            let mut sums = vec![0i128; right[0].len()];
            for (w, row) in weights[i * inner..][..inner].iter().zip(right) {
                sums.iter_mut().zip(row).for_each(|(sum, &u)| *sum += i128::from(*w) * i128::from(u));
            }
            sums.iter().map(|sum| sum.rem_euclid(i128::from(q)) as u64).collect()
        })
        .collect()
}

fn product(
    rows: usize,
    inner: usize,
    weights: &[i64],
    right: &[Vec<u64>],
    q: u64,
    threads: usize,
) -> Vec<Vec<u64>> {
    let left = LeftMatrix::new(rows, inner, weights).expect("valid");
    // Old contents must not shine through.
    let mut out = vec![vec![u64::MAX; right[0].len()]; rows];
    let mut views: Vec<&mut [u64]> = out.iter_mut().map(Vec::as_mut_slice).collect();
    let right: Vec<&[u64]> = right.iter().map(Vec::as_slice).collect();
    multiply_mod(&mut views, &left, &right, &Modulus::new(q).expect("odd"), threads).expect("fits");
    out
}

fn check(
    rows: usize,
    inner: usize,
    columns: usize,
    q: u64,
    mut weight: impl FnMut(usize) -> i64,
    mut residue: impl FnMut(usize) -> u64,
) {
    let weights: Vec<i64> = (0..rows * inner).map(&mut weight).collect();
    let right: Vec<Vec<u64>> =
        (0..inner).map(|j| (0..columns).map(|l| residue(j * columns + l)).collect()).collect();
    let expected = schoolbook(rows, inner, &weights, &right, q);
    assert!(product(rows, inner, &weights, &right, q, 1) == expected, "{rows} x {inner} x {columns} mod {q}");
}

#[test]
fn product_of_random_entries_is_exact_for_every_modulus_and_weight_bound() {
    let (mut a, mut b) = (Stream(1), Stream(2));
    for q in MODULI {
        for bound in WEIGHT_BOUNDS {
            check(13, 37, 29, q, |_| a.weight(bound), |_| b.below(q));
        }
    }
}

#[test]
fn product_of_extreme_entries_is_exact_for_every_modulus_and_weight_bound() {
    for q in MODULI {
        for bound in WEIGHT_BOUNDS {
            let w = bound as i64;
            // Sums as large as they get, for the residues whose centred values are largest, smallest, and -1.
            for u in [q - 1, q / 2, q / 2 + 1, 1, 0] {
                check(3, 1031, 9, q, |_| w, |_| u);
                check(3, 1031, 9, q, |_| -w, |_| u);
            }
            check(
                9,
                257,
                17,
                q,
                |i| if i % 2 == 0 { w } else { -w },
                |i| if i % 2 == 0 { q / 2 } else { q / 2 + 1 },
            );
            check(
                9,
                257,
                17,
                q,
                |i| if i % 3 == 0 { w } else { 1 - w },
                |i| [q - 1, q / 2, q / 2 + 1, 0, 1][i % 5],
            );
        }
    }
}

#[test]
fn product_of_digits_near_their_bound_is_exact() {
    // Every digit of every residue within a thousandth of the largest, every weight too, one sign: the sums
    // come as close to 2^53 as they can, over terms whose low bits are random, so that a bound one bit too
    // wide shows as a wrong result.
    let (inner, mut a) = (2048, Stream(11));
    for q in MODULI.into_iter().filter(|&q| q > 1 << 28) {
        for bound in
            [(1 << 13) - 1, (1 << 18) - 1, (1 << 21) - 1, (1 << 24) - 1, (1 << 31) - 1, (1 << 40) - 1]
        {
            let slices = LeftMatrix::new(1, inner, &vec![bound; inner])
                .expect("valid")
                .plan(&Modulus::new(q).expect("odd"))
                .right();
            let residues: Vec<u64> = (0..inner * 8)
                .map(|_| {
                    let digits = (0..slices.count as u32).map(|j| {
                        let top = j + 1 == slices.count as u32;
                        let largest =
                            if top { (q / 2) >> (slices.bits * j) } else { (1 << slices.bits >> 1) - 1 };
                        (largest - a.below(largest / 1000 + 1)) << (slices.bits * j)
                    });
                    digits.sum::<u64>().min(q / 2)
                })
                .collect();
            let weights: Vec<i64> =
                (0..inner * 8).map(|_| bound - a.below(bound as u64 / 1000 + 1) as i64).collect();
            check(8, inner, 8, q, |i| weights[i], |i| residues[i]);
        }
    }
}

#[test]
fn product_of_every_shape_is_exact() {
    let (mut a, mut b) = (Stream(3), Stream(4));
    let shapes = [
        (1, 1, 1),
        (1, 1, 100),
        (1, 100, 1),
        (100, 1, 1),
        (1, 1000, 3),
        (2, 3, 5),
        (7, 2, 11),
        (31, 37, 41),
        (64, 64, 64),
        (65, 127, 129),
        (3, 1024, 1031),
        (1031, 3, 7),
        (2, 5, 4099),
        (5, 2049, 13),
        (2, 3001, 2),
        (1025, 9, 520),
        (24, 8, 1048),
    ];
    for (rows, inner, columns) in shapes {
        for (q, bound) in [((1 << 45) - 55, 1 << 13), ((1 << 61) - 1, 1 << 40), ((1 << 29) - 3, 1 << 20)] {
            check(rows, inner, columns, q, |_| a.weight(bound), |_| b.below(q));
        }
    }
}

#[test]
fn product_beyond_one_range_of_the_inner_dimension_is_exact() {
    let (mut a, mut b) = (Stream(5), Stream(6));
    for (q, bound) in
        [((1 << 61) - 1, MAX_WEIGHT), ((1 << 45) - 55, 1 << 13), ((1 << 60) - 93, 1 << 18), (3, MAX_WEIGHT)]
    {
        check(4, 9001, 6, q, |_| a.weight(bound), |_| b.below(q));
        check(4, 4097, 6, q, |_| bound as i64, |_| q - 1);
        check(4, 4097, 6, q, |_| -(bound as i64), |_| q / 2);
    }
}

#[test]
fn product_agrees_with_big_integers() {
    let (rows, inner, columns, q) = (5, 611, 7, (1u64 << 61) - 1);
    let (mut a, mut b) = (Stream(7), Stream(8));
    let weights: Vec<i64> = (0..rows * inner).map(|_| a.weight(MAX_WEIGHT)).collect();
    let right: Vec<Vec<u64>> = (0..inner).map(|_| (0..columns).map(|_| b.below(q)).collect()).collect();
    let out = product(rows, inner, &weights, &right, q, 1);
    for i in 0..rows {
        for l in 0..columns {
            let sum: BigInt =
                (0..inner).map(|j| BigInt::from(weights[i * inner + j]) * BigInt::from(right[j][l])).sum();
            assert_eq!((sum - BigInt::from(out[i][l])) % BigInt::from(q), BigInt::from(0));
            assert!(out[i][l] < q);
        }
    }
}

#[test]
fn product_is_the_same_for_any_number_of_threads() {
    let (mut a, mut b) = (Stream(9), Stream(10));
    let q = (1 << 45) - 55;
    // Wide enough for tiles of columns, too narrow for them (bands of rows), and a single element.
    for (rows, inner, columns) in [(33, 70, 1500), (70, 33, 20), (1, 1, 1)] {
        let weights: Vec<i64> = (0..rows * inner).map(|_| a.weight(1 << 30)).collect();
        let right: Vec<Vec<u64>> = (0..inner).map(|_| (0..columns).map(|_| b.below(q)).collect()).collect();
        let one = product(rows, inner, &weights, &right, q, 1);
        assert!(one == schoolbook(rows, inner, &weights, &right, q));
        for threads in [0, 2, 3, 16] {
            assert!(product(rows, inner, &weights, &right, q, threads) == one, "{threads} threads");
        }
    }
}

#[test]
fn plan_keeps_its_bounds_for_every_size() {
    for inner in [1, 2, 3, 100, 1000, 1 << 10, 1 << 14, 1 << 20] {
        for weight_bits in 0..=52 {
            for modulus_bits in 2..=61 {
                let plan = SplitPlan::choose(inner, 1 << weight_bits, modulus_bits);
                let digits = u128::from(plan.left().max_digit) * u128::from(plan.right().max_digit);
                assert!(
                    plan.exact_block() >= 1 && plan.exact_block() as u128 * digits <= 1 << 53,
                    "{}",
                    plan.explain()
                );
                assert!(plan.gemm_count() == plan.left().count * plan.right().count);
            }
        }
    }
}

#[test]
fn plan_of_small_weights_takes_two_products() {
    let plan = SplitPlan::choose(1 << 10, 1 << 12, 45);
    assert_eq!((plan.gemm_count(), plan.exact_block()), (2, 1 << 10), "{}", plan.explain());
    // The parameters of the paper, which takes three whole products; two in blocks of the inner dimension are
    // cheaper.
    assert_eq!(SplitPlan::choose(1 << 14, 1 << 18, 58).gemm_count(), 2);
    assert_eq!(SplitPlan::choose(1 << 10, 1 << 12, 30).gemm_count(), 1);
}

#[test]
fn left_matrix_refuses_what_does_not_fit() {
    assert!(matches!(LeftMatrix::new(0, 3, &[]), Err(ArithError::Shape { expected: 1, got: 0, .. })));
    assert!(matches!(LeftMatrix::new(3, 0, &[]), Err(ArithError::Shape { expected: 1, got: 0, .. })));
    assert!(matches!(LeftMatrix::new(2, 3, &[0; 5]), Err(ArithError::Shape { expected: 6, got: 5, .. })));
    assert!(matches!(LeftMatrix::new(usize::MAX, 2, &[0; 5]), Err(ArithError::Shape { .. })));
    for w in [MAX_WEIGHT as i64 + 1, -(MAX_WEIGHT as i64) - 1, i64::MAX, i64::MIN] {
        let error = LeftMatrix::new(1, 2, &[0, w]).expect_err("too large");
        assert_eq!(
            error,
            ArithError::TooLarge {
                what: "an entry of the left matrix",
                value: w.unsigned_abs(),
                limit: MAX_WEIGHT
            }
        );
    }
    let left = LeftMatrix::new(1, 2, &[MAX_WEIGHT as i64, -(MAX_WEIGHT as i64)]).expect("at the limit");
    assert_eq!((left.rows(), left.inner(), left.max_abs()), (1, 2, MAX_WEIGHT));
}

#[test]
fn product_refuses_shapes_that_do_not_fit() {
    let left = LeftMatrix::new(2, 3, &[1; 6]).expect("valid");
    let modulus = Modulus::new(17).expect("odd");
    let run = |out: [usize; 2], right: &[usize]| {
        let mut out = out.map(|length| vec![0u64; length]);
        let mut out: Vec<&mut [u64]> = out.iter_mut().map(Vec::as_mut_slice).collect();
        let right: Vec<Vec<u64>> = right.iter().map(|&length| vec![1; length]).collect();
        let right: Vec<&[u64]> = right.iter().map(Vec::as_slice).collect();
        multiply_mod(&mut out, &left, &right, &modulus, 1)
    };
    assert_eq!(run([4, 4], &[4, 4, 4]), Ok(()));
    assert!(matches!(run([4, 4], &[4, 4]), Err(ArithError::Shape { expected: 3, got: 2, .. })));
    assert!(matches!(run([4, 4], &[4, 4, 5]), Err(ArithError::Shape { expected: 4, got: 5, .. })));
    assert!(matches!(run([4, 3], &[4, 4, 4]), Err(ArithError::Shape { expected: 4, got: 3, .. })));
    assert!(matches!(run([0, 0], &[0, 0, 0]), Err(ArithError::Shape { expected: 1, got: 0, .. })));
    let rows: [&[u64]; 3] = [&[1], &[1], &[1]];
    assert!(matches!(
        multiply_mod(&mut [], &left, &rows, &modulus, 1),
        Err(ArithError::Shape { expected: 2, got: 0, .. })
    ));
}

#[test]
fn product_refuses_residues_beyond_the_modulus() {
    let left = LeftMatrix::new(1, 1, &[1]).expect("valid");
    for q in MODULI {
        let modulus = Modulus::new(q).expect("odd");
        for value in [q, q + 1, 1 << 63, u64::MAX] {
            for threads in [1, 2] {
                let mut row = vec![0; 300];
                row[299] = value;
                let error = multiply_mod(&mut [&mut vec![0; 300]], &left, &[&row], &modulus, threads)
                    .expect_err("not reduced");
                assert_eq!(
                    error,
                    ArithError::TooLarge { what: "a residue of the right matrix", value, limit: q - 1 }
                );
            }
        }
    }
}

#[test]
fn plain_product_multiplies_and_checks_shapes() {
    let out = multiply_f64(2, 3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        .expect("fits");
    assert_eq!(out, [4.0, 5.0, 10.0, 11.0]);
    assert_eq!(multiply_f64(2, 0, 2, &[], &[]), Ok(vec![0.0; 4]));
    assert!(matches!(
        multiply_f64(2, 3, 2, &[0.0; 5], &[0.0; 6]),
        Err(ArithError::Shape { expected: 6, got: 5, .. })
    ));
    assert!(matches!(
        multiply_f64(2, 3, 2, &[0.0; 6], &[0.0; 7]),
        Err(ArithError::Shape { expected: 6, got: 7, .. })
    ));
}

/// What an engine of `threads` threads counts while it multiplies rows modulo each of `moduli`, and what the
/// plans say.
fn counted(
    moduli: &[u64],
    degree: usize,
    left: &LeftMatrix,
    threads: usize,
) -> Vec<(ProductCounts, ProductCounts)> {
    let meter = Arc::new(Meter::default());
    let pool = CpuEngine::thread_pool(threads).expect("threads");
    let engine = CpuEngine::new(degree, moduli, Isa::Scalar)
        .expect("engine")
        .with_threads(pool)
        .sharing_small_work()
        .with_meter(meter.clone());
    let mut words = Stream(3);
    let mut count = |index: usize, q: u64| {
        let mut row = || {
            let mut row = engine.zeroed(1);
            engine.upload(row.view_mut(), &(0..degree).map(|_| words.below(q)).collect::<Vec<_>>());
            row
        };
        let right: Vec<Buffer> = (0..left.inner()).map(|_| row()).collect();
        let mut out: Vec<Buffer> = (0..left.rows()).map(|_| engine.scratch(1)).collect();
        let views: Vec<_> = right.iter().map(Buffer::view).collect();
        let mut targets: Vec<_> = out.iter_mut().map(Buffer::view_mut).collect();
        meter.take();
        engine.combine(&mut targets, left, &views, &[index]).expect("fits");
        (meter.take().product, left.counts(&engine.moduli()[index], degree))
    };
    moduli.iter().enumerate().map(|(index, &q)| count(index, q)).collect()
}

#[test]
fn counts_of_a_plan_are_those_of_the_loops() {
    let degree = 16;
    // 97 is small enough that weights are reduced modulo it first.
    let mut moduli = vec![97];
    for bits in [24, 30, 45, 58, 60] {
        moduli.extend(largest_primes(bits, 2 * degree as u64, 1, &[]).expect("a prime"));
    }
    let mut weights = Stream(4);
    let mut plans = BTreeSet::new();
    // Single entries, single rows and columns; one range of the inner dimension, one and a bit, two, two and
    // a bit; more rows than one block has.
    for (rows, inner) in
        [(1, 1), (1, 9), (9, 1), (5, 7), (2, 1023), (2, 1024), (2, 1025), (1, 2048), (3, 2500), (1025, 3)]
    {
        for bound in WEIGHT_BOUNDS {
            let entries: Vec<i64> = (0..rows * inner)
                .map(|i| if i == 0 { bound as i64 } else { weights.weight(bound) })
                .collect();
            let left = LeftMatrix::new(rows, inner, &entries).expect("valid");
            for (place, (observed, stated)) in counted(&moduli, degree, &left, 1).into_iter().enumerate() {
                let plan = left.plan(&Modulus::new(moduli[place]).expect("odd"));
                assert_eq!(observed, stated, "{rows} x {inner}, weights to {bound}: {}", plan.explain());
                assert_eq!(observed.multiply_adds, rows * inner * degree * plan.gemm_count());
                plans.insert((plan.left().count, plan.exact_block() < inner.min(1024)));
            }
        }
    }
    // Whole and cut weights, each with sums of one block and of several.
    assert!(
        [(1, false), (1, true), (2, false), (2, true)].iter().all(|kind| plans.contains(kind)),
        "{plans:?}"
    );
}

#[test]
fn counts_on_several_threads_repeat_conversions_alone() {
    let moduli = largest_primes(45, 128, 1, &[]).expect("a prime");
    let left = LeftMatrix::new(40, 3, &[1 << 40; 120]).expect("valid");
    let (observed, stated) = counted(&moduli, 64, &left, 3)[0];
    assert!(observed.digits >= stated.digits, "{observed:?} {stated:?}");
    assert_eq!(ProductCounts { digits: stated.digits, ..observed }, stated);
}
