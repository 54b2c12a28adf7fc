//! Every kernel this machine has gives the scalar kernel's results bit for bit, and the scalar kernel gives
//! the definition's.

use clathrate_arith::bit_packing::{self, OVERREAD, Run, RunMut, VECTOR};
use clathrate_arith::kernels::scalar::Roots;
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
    let mut bounds = vec![
        (1 << 52) / (4 * stages + 1).max(64),
        (1 << 51) / (stages + 2),
        1 << 31,
        1 << 36,
        1 << 45,
        1 << 46,
        1 << 49,
        1 << 50,
    ];
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
    let build = |isa: Isa| kernels::build(isa, &Roots::new(modulus, degree).expect("fits"));
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
            let kernel = kernels::build(Isa::Scalar, &Roots::new(modulus, degree).expect("fits"));
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
        kernels::build(Isa::Scalar, &Roots::new(modulus, degree).expect("fits")).forward(&mut x);
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
            primes.retain(|&q| {
                q.abs_diff(limit) < 1 << 32 || q < 1 << 32 || q.abs_diff(1 << 50) < 1 << 32 || q > 1 << 60
            });
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
                    same(&|kernel, out| kernel.add(out, &x, &y), "add to a third");
                    same(&|kernel, out| kernel.sub(out, &x, &y), "sub to a third");
                    same(&|kernel, x| kernel.negate_assign(x), "negate");
                    same(&|kernel, x| kernel.mul_assign(x, &y), "mul");
                    for w in [0, 1, q - 1, q / 2] {
                        same(
                            &|kernel, x| kernel.mul_constant_assign(x, modulus.multiplier(w)),
                            "mul_constant",
                        );
                        same(
                            &|kernel, x| kernel.sub_mul_constant_assign(x, &y, modulus.multiplier(w)),
                            "sub_mul_constant",
                        );
                        same(
                            &|kernel, x| kernel.add_mul_constant_assign(x, &y, modulus.multiplier(w)),
                            "add_mul_constant",
                        );
                        for (far, y) in [(false, None), (true, None), (false, Some(&y)), (true, Some(&y))] {
                            let quotient = |kernel: &dyn RowKernel, x: &mut [u64]| {
                                let dividend = x.to_vec();
                                x.fill(u64::MAX);
                                kernel.quotient(
                                    x,
                                    &dividend,
                                    y.map(Vec::as_slice),
                                    modulus.multiplier(w),
                                    far,
                                );
                            };
                            same(&quotient, "quotient");
                        }
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
            let words: Vec<u64> =
                edges.into_iter().filter(|&word| word < top).chain(random.row(29, top)).collect();
            for w in [1, q - 1, random.word() % q] {
                let mut x = words.clone();
                kernel.mul_constant_assign(&mut x, modulus.multiplier(w));
                let expected: Vec<u64> =
                    words.iter().map(|&x| (u128::from(x) * u128::from(w) % u128::from(q)) as u64).collect();
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
            assert_eq!(
                out,
                vec![modulus.reduce(terms as u64 - 1); 16],
                "{:?}, q {q}, {terms} terms",
                kernel.isa()
            );
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
                let start: Vec<f64> = random
                    .row(len, 1 << 40)
                    .into_iter()
                    .map(|word| word as f64 / (1u64 << 33) as f64)
                    .collect();
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
        let edges = [
            0,
            1,
            -1,
            signed,
            -signed,
            signed - 1,
            1 - signed,
            1 << 52,
            -(1 << 52),
            (1 << 52) - 1,
            i64::MAX,
            i64::MIN,
            i64::MIN + 1,
        ];
        for len in 0..=40usize {
            for shift in [0, 10, 14, 40, 62] {
                let mut values: Vec<i64> = (0..len).map(|_| random.word().cast_signed() >> shift).collect();
                if shift == 0 {
                    values.iter_mut().zip(edges).for_each(|(value, edge)| *value = edge);
                }
                let mut x = vec![u64::MAX; len];
                kernel.reduce_signed(&mut x, &values);
                let expected: Vec<u64> =
                    values.iter().map(|&value| i128::from(value).rem_euclid(i128::from(q)) as u64).collect();
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
        let kernel = kernels::build(isa, &Roots::new(modulus, 128).expect("fits"));
        assert!(kernel.isa() <= isa);
        assert_ne!(kernel.isa(), Isa::Ifma, "60 bits are beyond the 52-bit multiplier");
    }
    let narrow = Modulus::new(prime_below(1 << 50, 256).expect("exists")).expect("odd prime");
    for isa in Isa::available() {
        assert_eq!(kernels::build(isa, &Roots::new(narrow, 128).expect("fits")).isa(), isa);
    }
}

/// Packed vectors of `slots` slots each, with bytes of others between them and after them; and the residues,
/// by slot.
struct PackedRows {
    bytes: Vec<u8>,
    bits: u32,
    stride: usize,
    rows: Vec<Vec<u64>>,
}

/// What the bytes of others hold.
const FOREIGN: u8 = 0x5a;

impl PackedRows {
    fn new(rows: Vec<Vec<u64>>, len: usize, bits: u32, gap: usize) -> Self {
        let stride = rows.len() * bits as usize + gap;
        let vectors = len.div_ceil(VECTOR);
        let mut bytes = vec![FOREIGN; vectors * stride + OVERREAD];
        for vector in 0..vectors {
            for (slot, row) in rows.iter().enumerate() {
                let lanes = std::array::from_fn(|lane| row.get(vector * VECTOR + lane).copied().unwrap_or(0));
                bit_packing::pack(&mut bytes[vector * stride + slot * bits as usize..], bits, &lanes);
            }
        }
        Self { bytes, bits, stride, rows }
    }

    fn run(&self) -> Run<'_> {
        Run { bytes: &self.bytes, bits: self.bits, stride: self.stride, next: &[] }
    }
}

/// The widths a modulus' residues are packed to: their own, a wider one, and words.
fn packed_widths(modulus: &Modulus) -> Vec<u32> {
    let own = bit_packing::packed_bits(modulus.bits());
    let mut widths = vec![own, (own + 5).min(bit_packing::MAX_PACKED_BITS.max(own)), 64];
    widths.dedup();
    widths
}

#[test]
fn dot_packed_every_shape_of_largest_residues_equals_scalar_and_division() {
    each_kernel(|modulus, scalar, kernel| {
        let q = modulus.value();
        let mut random = Random(10);
        for bits in packed_widths(modulus) {
            for (terms, columns, len) in [
                (0usize, 2usize, 9usize),
                (1, 1, 8),
                (1, 2, 3),
                (3, 3, 16),
                (4, 1, 33),
                (11, 2, 24),
                (17, 4, 8),
                (40, 2, 16),
                (19, 5, 40),
                (7, 6, 72),
                (5, 11, 80),
                (70, 1, 8),
                (2, 0, 8),
            ] {
                for largest in [true, false] {
                    let mut row = |_| if largest { vec![q - 1; len] } else { random.row(len, q) };
                    let xs: Vec<Vec<u64>> = (0..terms).map(&mut row).collect();
                    let start: Vec<Vec<u64>> = (0..columns).map(&mut row).collect();
                    // Terms beyond those that are summed, as in a prefix.
                    let factors =
                        PackedRows::new((0..(terms + 1) * columns).map(&mut row).collect(), len, bits, 3);
                    for accumulate in [false, true] {
                        let run = |kernel: &dyn RowKernel| {
                            let mut out = start.clone();
                            let mut targets: Vec<&mut [u64]> =
                                out.iter_mut().map(Vec::as_mut_slice).collect();
                            kernel.dot_packed(&mut targets, &views(&xs), factors.run(), accumulate);
                            out
                        };
                        let got = run(kernel);
                        let label = format!(
                            "{:?}, q {q}, {bits} bits, {terms} terms, {columns} columns, length {len}",
                            kernel.isa()
                        );
                        assert!(got == run(scalar), "{label}");
                        for (p, got) in got.iter().enumerate() {
                            for i in 0..len {
                                let first = if accumulate { start[p][i] } else { 0 };
                                let expected = (0..terms).fold(first, |sum, j| {
                                    modulus.add(sum, modulus.mul(xs[j][i], factors.rows[j * columns + p][i]))
                                });
                                assert_eq!(got[i], expected, "{label}, column {p}, word {i}");
                            }
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn dot_packed_more_terms_than_any_accumulator_holds_equals_the_closed_form() {
    each_kernel(|modulus, _, kernel| {
        let q = modulus.value();
        let row = vec![q - 1; 8];
        for terms in [4095usize, 4096, 9001] {
            for columns in [1usize, 2] {
                let factors = PackedRows::new(
                    vec![row.clone(); terms * columns],
                    8,
                    bit_packing::packed_bits(modulus.bits()),
                    0,
                );
                let mut out = vec![row.clone(); columns];
                let mut targets: Vec<&mut [u64]> = out.iter_mut().map(Vec::as_mut_slice).collect();
                kernel.dot_packed(&mut targets, &vec![row.as_slice(); terms], factors.run(), true);
                // (q - 1)^2 = 1 and q - 1 = -1.
                assert_eq!(
                    out,
                    vec![vec![modulus.reduce(terms as u64 - 1); 8]; columns],
                    "{:?}, q {q}, {terms} terms",
                    kernel.isa()
                );
            }
        }
    });
}

#[test]
fn packed_sums_write_their_own_bytes_only_and_equal_scalar() {
    each_kernel(|modulus, scalar, kernel| {
        let q = modulus.value();
        let mut random = Random(11);
        for bits in packed_widths(modulus) {
            for len in [0usize, 1, 4, 8, 16, 37, 40] {
                let label = format!("{:?}, q {q}, {bits} bits, length {len}", kernel.isa());
                let rows: Vec<Vec<u64>> =
                    (0..9).map(|i| if i < 5 { vec![q - 1; len] } else { random.row(len, q) }).collect();
                let add = |parts: &[usize]| -> Vec<u64> {
                    (0..len).map(|i| parts.iter().fold(0, |sum, &p| modulus.add(sum, rows[p][i]))).collect()
                };
                let slots: Vec<Vec<usize>> = vec![
                    vec![0],
                    vec![0, 1, 2, 3, 4, 5, 6, 7, 8],
                    vec![],
                    vec![8],
                    vec![7, 6],
                    vec![5, 5, 5],
                ];
                let expected = PackedRows::new(slots.iter().map(|parts| add(parts)).collect(), len, bits, 5);
                let vectors = len.div_ceil(VECTOR);
                for kernel in [scalar, kernel] {
                    // Made of rows.
                    let mut bytes = vec![FOREIGN; expected.bytes.len()];
                    let parts: Vec<Vec<&[u64]>> = slots
                        .iter()
                        .map(|parts| parts.iter().map(|&p| rows[p].as_slice()).collect())
                        .collect();
                    kernel.pack_sums(RunMut { bytes: &mut bytes, bits, stride: expected.stride }, &parts);
                    assert!(bytes == expected.bytes, "packed, {label}");
                    // To the last byte of what is its own.
                    let own = (vectors * expected.stride).saturating_sub(5);
                    kernel.pack_sums(
                        RunMut { bytes: &mut bytes[..own], bits, stride: expected.stride },
                        &parts,
                    );
                    assert!(bytes == expected.bytes, "packed without room behind, {label}");
                    // Made of packed ones.
                    let source = PackedRows::new(rows.clone(), len, bits, 2);
                    bytes.fill(FOREIGN);
                    kernel.sum_packed(
                        RunMut { bytes: &mut bytes[..own], bits, stride: expected.stride },
                        source.run(),
                        &slots,
                        vectors,
                    );
                    assert!(bytes == expected.bytes, "summed, {label}");
                    for parts in &slots {
                        let mut out = vec![u64::MAX; len];
                        kernel.unpack_sum(&mut out, source.run(), parts);
                        assert!(out == add(parts), "unpacked, {label}");
                    }
                }
            }
        }
    });
}

#[test]
fn packed_sums_change_width_between_packed_residues_and_words() {
    each_kernel(|modulus, _, kernel| {
        let q = modulus.value();
        let mut random = Random(12);
        let rows: Vec<Vec<u64>> = (0..3).map(|_| random.row(24, q)).collect();
        let widths = packed_widths(modulus);
        for from in &widths {
            for to in &widths {
                let source = PackedRows::new(rows.clone(), 24, *from, 0);
                let mut expected = PackedRows::new(vec![rows[2].clone(), rows[0].clone()], 24, *to, 0);
                let wanted =
                    std::mem::replace(&mut expected.bytes, vec![FOREIGN; 6 * *to as usize + OVERREAD]);
                let out = RunMut { bytes: &mut expected.bytes, bits: *to, stride: expected.stride };
                kernel.sum_packed(out, source.run(), &[vec![2], vec![0]], 3);
                assert!(expected.bytes == wanted, "{:?}, q {q}, {from} to {to} bits", kernel.isa());
            }
        }
    });
}
