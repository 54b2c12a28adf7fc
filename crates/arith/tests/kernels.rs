//! Every kernel this machine has gives the scalar kernel's results bit for bit, and the scalar kernel gives the definition's.

use clathrate_arith::kernels::{self, Isa, RowKernel};
use clathrate_arith::ntt::reference_forward;
use clathrate_arith::primes::{is_prime, primitive_root};
use clathrate_arith::{ArithError, Modulus};

/// A small generator, so that failures repeat.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn row(&mut self, len: usize, bound: u64) -> Vec<u64> {
        (0..len).map(|_| self.word() % bound).collect()
    }
}

fn prime_below(bound: u64, step: u64) -> Option<u64> {
    let mut candidate = (bound - 2) / step * step + 1;
    while candidate > step {
        if is_prime(candidate) {
            return Some(candidate);
        }
        candidate -= step;
    }
    None
}

fn prime_above(bound: u64, step: u64) -> u64 {
    let mut candidate = (bound / step + 1) * step + 1;
    while !is_prime(candidate) {
        candidate += step;
    }
    candidate
}

/// The smallest prime of a degree, and both sides of every width at which some kernel changes its ways.
fn edge_primes(degree: usize) -> Vec<u64> {
    let step = 2 * degree as u64;
    let stages = u64::from(degree.trailing_zeros());
    let mut bounds =
        vec![(1 << 52) / (4 * stages + 1).max(64), (1 << 51) / (stages + 2), 1 << 31, 1 << 36, 1 << 45, 1 << 46, 1 << 49, 1 << 50];
    bounds.sort_unstable();
    let mut primes = vec![prime_above(2, step)];
    for bound in bounds {
        primes.extend(prime_below(bound, step));
        primes.push(prime_above(bound, step));
    }
    primes.extend(prime_below(1 << 61, step));
    primes.sort_unstable();
    primes.dedup();
    primes
}

fn all_kernels(modulus: Modulus, degree: usize) -> Vec<Box<dyn RowKernel>> {
    let build = |isa: Isa| kernels::build(isa, modulus, degree).expect("prime fits the degree");
    Isa::available().into_iter().map(build).collect()
}

/// Rows that strain the lazy ranges: all low, all high, both, one spike, random.
fn edge_rows(random: &mut Random, len: usize, q: u64) -> Vec<Vec<u64>> {
    let top = q - 1;
    vec![
        vec![0; len],
        vec![top; len],
        (0..len).map(|i| if i % 2 == 0 { top } else { 0 }).collect(),
        (0..len).map(|i| if i < len / 2 { 0 } else { top }).collect(),
        (0..len).map(|i| if i + 1 == len { top } else { 0 }).collect(),
        random.row(len, q),
        random.row(len, q),
    ]
}

#[test]
fn scalar_transform_small_degrees_equals_the_definition() {
    let mut random = Random(1);
    for degree in [1usize, 2, 4, 8, 32, 64, 256] {
        for q in edge_primes(degree) {
            let modulus = Modulus::new(q).expect("odd prime");
            let kernel = kernels::build(Isa::Scalar, modulus, degree).expect("fits");
            for row in edge_rows(&mut random, degree, q) {
                let mut x = row.clone();
                kernel.forward(&mut x);
                assert_eq!(x, reference_forward(&modulus, &row).expect("fits"), "degree {degree}, q {q}");
            }
        }
    }
}

#[test]
fn scalar_transform_large_degrees_has_the_definitions_slots() {
    let mut random = Random(2);
    for log in 9..=17u32 {
        let degree = 1usize << log;
        let q = prime_below(1 << 45, 2 * degree as u64).expect("exists");
        let modulus = Modulus::new(q).expect("odd prime");
        let psi = primitive_root(&modulus, 2 * degree).expect("fits");
        let row = random.row(degree, q);
        let mut x = row.clone();
        kernels::build(Isa::Scalar, modulus, degree).expect("fits").forward(&mut x);
        for slot in [0, 1, degree / 2, degree - 1] {
            let root = modulus.pow(psi, 2 * (slot.reverse_bits() >> (usize::BITS - log)) as u64 + 1);
            let value = row.iter().rev().fold(0, |sum, &c| modulus.add(modulus.mul(sum, root), c));
            assert_eq!(x[slot], value, "degree {degree}, slot {slot}");
        }
    }
}

#[test]
fn every_transform_every_degree_and_width_equals_scalar_and_inverts() {
    let mut random = Random(3);
    for log in 0..=17u32 {
        let degree = 1usize << log;
        let mut primes = edge_primes(degree);
        if log > 12 {
            // The widths that matter, to keep the run short.
            let limit = (1u64 << 52) / u64::from((4 * log + 1).max(64));
            primes.retain(|&q| q.abs_diff(limit) < 1 << 32 || q < 1 << 32 || q.abs_diff(1 << 50) < 1 << 32 || q > 1 << 60);
        }
        for q in primes {
            let kernels = all_kernels(Modulus::new(q).expect("odd prime"), degree);
            for row in edge_rows(&mut random, degree, q) {
                let mut spectrum = row.clone();
                kernels[0].forward(&mut spectrum);
                let mut coefficients = row.clone();
                kernels[0].inverse(&mut coefficients);
                for kernel in &kernels {
                    let mut x = row.clone();
                    kernel.forward(&mut x);
                    assert!(x == spectrum, "forward, {:?}, degree {degree}, q {q}", kernel.isa());
                    kernel.inverse(&mut x);
                    assert!(x == row, "inverse of forward, {:?}, degree {degree}, q {q}", kernel.isa());
                    kernel.inverse(&mut x);
                    assert!(x == coefficients, "inverse, {:?}, degree {degree}, q {q}", kernel.isa());
                }
            }
        }
    }
}

/// Calls `check(modulus, scalar kernel, kernel)` for all kernels and element-wise edge primes.
fn each_kernel(check: impl Fn(&Modulus, &dyn RowKernel, &dyn RowKernel)) {
    let mut primes = edge_primes(4);
    primes.extend([3, 5, 7].into_iter().filter(|q| q % 8 == 1));
    for q in primes {
        let modulus = Modulus::new(q).expect("odd prime");
        let kernels = all_kernels(modulus, 4);
        for kernel in &kernels {
            check(&modulus, &*kernels[0], &**kernel);
        }
    }
}

#[test]
fn elementwise_every_tail_length_equals_scalar() {
    each_kernel(|modulus, scalar, kernel| {
        let q = modulus.value();
        let mut random = Random(4);
        for len in 0..=40 {
            for y in edge_rows(&mut random, len, q) {
                for x in edge_rows(&mut random, len, q) {
                    let label = format!("{:?}, q {q}, length {len}", kernel.isa());
                    let same = |work: &dyn Fn(&dyn RowKernel, &mut [u64]), name: &str| {
                        let (mut expected, mut got) = (x.clone(), x.clone());
                        work(scalar, &mut expected);
                        work(kernel, &mut got);
                        assert_eq!(got, expected, "{name}, {label}");
                        assert!(got.iter().all(|&value| value < q), "{name} leaves residues, {label}");
                    };
                    same(&|kernel, x| kernel.add_assign(x, &y), "add");
                    same(&|kernel, x| kernel.sub_assign(x, &y), "sub");
                    same(&|kernel, x| kernel.negate_assign(x), "negate");
                    same(&|kernel, x| kernel.mul_assign(x, &y), "mul");
                    for w in [0, 1, q - 1, q / 2] {
                        same(&|kernel, x| kernel.mul_constant_assign(x, modulus.multiplier(w)), "mul_constant");
                        same(&|kernel, x| kernel.sub_mul_constant_assign(x, &y, modulus.multiplier(w)), "sub_mul_constant");
                        same(&|kernel, x| kernel.add_mul_constant_assign(x, &y, modulus.multiplier(w)), "add_mul_constant");
                    }
                }
            }
        }
    });
}

#[test]
fn mul_constant_words_up_to_61_bits_equals_division() {
    each_kernel(|modulus, _, kernel| {
        let q = modulus.value();
        let mut random = Random(5);
        let edges = [0, 1, (1 << 52) - 1, 1 << 52, (1 << 52) + 1, (1 << 61) - 1, q - 1, q];
        for top in [q, 1 << 51, 1 << 52, 1 << 53, 1 << 61] {
            let words: Vec<u64> = edges.into_iter().filter(|&word| word < top).chain(random.row(29, top)).collect();
            for w in [1, q - 1, random.word() % q] {
                let mut x = words.clone();
                kernel.mul_constant_assign(&mut x, modulus.multiplier(w));
                let expected: Vec<u64> = words.iter().map(|&x| (u128::from(x) * u128::from(w) % u128::from(q)) as u64).collect();
                assert_eq!(x, expected, "{:?}, q {q}, w {w}", kernel.isa());
            }
        }
    });
}

fn views(rows: &[Vec<u64>]) -> Vec<&[u64]> {
    rows.iter().map(Vec::as_slice).collect()
}

#[test]
fn dot_up_to_many_terms_of_largest_residues_equals_scalar() {
    each_kernel(|modulus, scalar, kernel| {
        let q = modulus.value();
        let mut random = Random(6);
        for len in [5usize, 37] {
            for terms in (0..=200).step_by(if len == 5 { 1 } else { 13 }) {
                let largest = vec![vec![q - 1; len]; terms];
                let some: Vec<Vec<u64>> = (0..terms).map(|_| random.row(len, q)).collect();
                for (xs, ys) in [(&largest, &largest), (&some, &largest), (&some, &some)] {
                    for accumulate in [false, true] {
                        let (mut expected, mut got) = (vec![q - 1; len], vec![q - 1; len]);
                        scalar.dot(&mut expected, &views(xs), &views(ys), accumulate);
                        kernel.dot(&mut got, &views(xs), &views(ys), accumulate);
                        assert_eq!(got, expected, "{:?}, q {q}, {terms} terms, length {len}", kernel.isa());
                    }
                }
            }
        }
    });
}

#[test]
fn dot_more_terms_than_any_accumulator_holds_equals_the_closed_form() {
    each_kernel(|modulus, _, kernel| {
        let q = modulus.value();
        let row = vec![q - 1; 16];
        for terms in [4094usize, 4095, 4096, 8191, 9000] {
            let rows = vec![row.as_slice(); terms];
            let mut out = vec![q - 1; 16];
            kernel.dot(&mut out, &rows, &rows, true);
            // (q - 1)^2 = 1 and q - 1 = -1.
            assert_eq!(out, vec![modulus.reduce(terms as u64 - 1); 16], "{:?}, q {q}, {terms} terms", kernel.isa());
        }
    });
}

#[test]
fn combine_extreme_words_of_every_width_equals_scalar() {
    each_kernel(|modulus, scalar, kernel| {
        let q = modulus.value();
        let mut random = Random(7);
        for y_bits in [8u32, 20, 36, 45, 50, 51, 52, 53, 61] {
            for terms in [0usize, 1, 2, 3, 4, 5, 17, 70] {
                for len in [1usize, 8, 39] {
                    let top = (1u64 << y_bits) - 1;
                    let weights = if terms % 2 == 0 { vec![q - 1; terms] } else { random.row(terms, q) };
                    let largest = vec![vec![top; len]; terms];
                    let some: Vec<Vec<u64>> = (0..terms).map(|_| random.row(len, top + 1)).collect();
                    for ys in [largest, some] {
                        let (mut expected, mut got) = (vec![1; len], vec![2; len]);
                        scalar.combine(&mut expected, &views(&ys), &weights, y_bits);
                        kernel.combine(&mut got, &views(&ys), &weights, y_bits);
                        assert_eq!(got, expected, "{:?}, q {q}, {y_bits} bits, {terms} terms", kernel.isa());
                    }
                }
            }
        }
    });
}

#[test]
fn fractions_equal_scalar_to_the_bit() {
    each_kernel(|modulus, scalar, kernel| {
        let q = modulus.value();
        let mut random = Random(8);
        for len in 0..=40 {
            for bound in [q, 1 << 61] {
                let inverse = 1.0 / q.max(bound) as f64;
                let start: Vec<f64> = random.row(len, 1 << 40).into_iter().map(|word| word as f64 / (1u64 << 33) as f64).collect();
                let (mut expected, mut got) = (start.clone(), start);
                for _ in 0..3 {
                    let x = random.row(len, bound);
                    scalar.add_fraction(&mut expected, &x, inverse);
                    kernel.add_fraction(&mut got, &x, inverse);
                }
                let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&got), bits(&expected), "{:?}, length {len}", kernel.isa());
                // Ties as well.
                for (i, value) in expected.iter_mut().enumerate() {
                    if i % 3 == 0 {
                        *value = i as f64 + 0.5;
                    }
                }
                if let Some(last) = expected.last_mut() {
                    *last = f64::from((1u32 << 31) - 1);
                }
                let (mut rounded, mut by_kernel) = (vec![7; len], vec![8; len]);
                scalar.round_fraction(&mut rounded, &expected);
                kernel.round_fraction(&mut by_kernel, &expected);
                assert_eq!(by_kernel, rounded, "{:?}, length {len}", kernel.isa());
            }
        }
    });
}

#[test]
fn reduce_signed_whole_range_equals_division() {
    each_kernel(|modulus, _, kernel| {
        let q = modulus.value();
        let mut random = Random(9);
        let signed = q.cast_signed();
        let edges =
            [0, 1, -1, signed, -signed, signed - 1, 1 - signed, 1 << 52, -(1 << 52), (1 << 52) - 1, i64::MAX, i64::MIN, i64::MIN + 1];
        for len in 0..=40usize {
            for shift in [0, 10, 14, 40, 62] {
                let mut values: Vec<i64> = (0..len).map(|_| random.word().cast_signed() >> shift).collect();
                if shift == 0 {
                    values.iter_mut().zip(edges).for_each(|(value, edge)| *value = edge);
                }
                let mut x = vec![u64::MAX; len];
                kernel.reduce_signed(&mut x, &values);
                let expected: Vec<u64> = values.iter().map(|&value| i128::from(value).rem_euclid(i128::from(q)) as u64).collect();
                assert_eq!(x, expected, "{:?}, q {q}, length {len}", kernel.isa());
            }
        }
    });
}

#[test]
fn isa_names_round_trip_and_unknown_ones_are_refused() {
    let available = Isa::available();
    assert_eq!(available[0], Isa::Scalar);
    assert!(available.is_sorted(), "slowest first");
    for isa in available {
        assert_eq!(Isa::named(isa.name()), Ok(isa));
    }
    assert!(matches!(Isa::named("abacus"), Err(ArithError::IsaUnavailable { .. })));
}

#[test]
fn wide_modulus_falls_to_a_kernel_that_takes_it() {
    let q = prime_above(1 << 60, 256);
    let modulus = Modulus::new(q).expect("odd prime");
    for isa in Isa::available() {
        let kernel = kernels::build(isa, modulus, 128).expect("fits");
        assert!(kernel.isa() <= isa);
        assert_ne!(kernel.isa(), Isa::Ifma, "60 bits are beyond the 52-bit multiplier");
    }
    let narrow = Modulus::new(prime_below(1 << 50, 256).expect("exists")).expect("odd prime");
    for isa in Isa::available() {
        assert_eq!(kernels::build(isa, narrow, 128).expect("fits").isa(), isa);
    }
}
