//! Moves of the degree in Eval form: against the same moves of coefficients, and every kernel against the
//! scalar one.
//!
//! All comparisons are exact.

use crate::common::{Words, engines, mixed_primes, views};
use clathrate_arith::kernels::components::MAX_PARTS;
use clathrate_arith::kernels::scalar::Roots;
use clathrate_arith::kernels::{self, Isa, RowKernel};
use clathrate_arith::primes::{is_prime, primitive_root};
use clathrate_arith::{Buffer, CpuEngine, Engine, Form, Modulus, Rows, Twist};

const TWISTS: [Twist; 2] = [Twist::Positive, Twist::Negative];

fn reverse(i: usize, bits: u32) -> usize {
    (0..bits).fold(0, |out, bit| out << 1 | (i >> bit & 1))
}

/// `sum_p X^(+-brv(p)) parts[p](X^g)`, coefficient by coefficient.
fn joined_coefficients(parts: &[&[u64]], twist: Twist, q: u64) -> Vec<u64> {
    let (gap, n) = (parts.len(), parts[0].len());
    let whole = gap * n;
    let mut out = vec![0; whole];
    for (p, part) in parts.iter().enumerate() {
        let power = reverse(p, gap.trailing_zeros());
        for (j, &value) in part.iter().enumerate() {
            let exponent = match twist {
                Twist::Positive => gap * j + power,
                Twist::Negative => 2 * whole + gap * j - power,
            } % (2 * whole);
            out[exponent % whole] = if exponent < whole { value } else { (q - value) % q };
        }
    }
    out
}

fn random(engine: &CpuEngine, moduli: &[u64], basis: &[usize], rows: usize, words: &mut Words) -> Buffer {
    let mut buffer = engine.scratch(rows);
    for row in 0..rows {
        buffer
            .row_mut(row)
            .iter_mut()
            .for_each(|word| *word = words.residue(moduli[basis[row % basis.len()]]));
    }
    buffer
}

/// The polynomials that components join to in `form`. Components may be two polynomials each, one after the
/// other.
fn join(engine: &CpuEngine, form: Form, parts: &[&Buffer], twist: Twist) -> Buffer {
    let rows = parts.first().map_or(0, |part| part.rows());
    let mut out = engine.scratch(rows);
    let polys = rows / BASIS.len();
    let chunks: Vec<Vec<Rows<'_>>> =
        parts.iter().map(|part| part.view().chunks(BASIS.len()).collect()).collect();
    let all: Vec<Rows<'_>> =
        (0..polys).flat_map(|poly| chunks.iter().map(move |chunks| chunks[poly])).collect();
    engine.join_components(form, out.view_mut(), &all, twist, &BASIS);
    if twist == Twist::Positive {
        let mut same = engine.scratch(rows);
        engine.join_samples(
            form,
            same.view_mut(),
            &parts.iter().map(|part| part.view()).collect::<Vec<_>>(),
            &BASIS,
        );
        assert_eq!(
            same.view(),
            out.view(),
            "parts of several polynomials, degree {}, {} parts",
            engine.degree(),
            parts.len()
        );
    }
    out
}

/// The components of `x`, of `small`'s degree.
fn split(engine: &CpuEngine, form: Form, small: &CpuEngine, x: &Buffer, twist: Twist) -> Vec<Buffer> {
    let (gap, rows) = (engine.degree() / small.degree(), x.rows());
    let mut out: Vec<Buffer> = (0..gap).map(|_| small.scratch(rows)).collect();
    let mut chunks: Vec<_> = out.iter_mut().map(|part| part.view_mut().chunks(BASIS.len())).collect();
    let mut parts = Vec::new();
    for _ in 0..rows / BASIS.len() {
        parts.extend(chunks.iter_mut().filter_map(Iterator::next));
    }
    engine.split_components(form, &mut parts, x.view(), twist, &BASIS);
    out
}

/// Two polynomials over moduli of all kernels' widths, out of order.
const BASIS: [usize; 5] = [1, 0, 4, 3, 11];

#[test]
fn joined_and_split_values_equal_joined_and_split_coefficients_at_every_degree_gap_engine_and_twist() {
    for log in (0..=7u32).chain([10, 13]) {
        let degree = 1usize << log;
        let moduli = mixed_primes(degree);
        let large = engines(degree, &moduli);
        for gap_log in 0..=log.min(if log < 10 { log } else { 5 }) {
            let (gap, small_degree) = (1usize << gap_log, degree >> gap_log);
            for (large, small) in large.iter().zip(engines(small_degree, &moduli)) {
                let rows = if log < 10 { 2 * BASIS.len() } else { BASIS.len() };
                let mut words = Words::new(u64::from(100 * log + gap_log));
                let coefficients: Vec<Buffer> =
                    (0..gap).map(|_| random(&small, &moduli, &BASIS, rows, &mut words)).collect();
                let transformed = |x: &Buffer| {
                    let mut x = x.clone();
                    small.forward_ntt(x.view_mut(), &BASIS);
                    x
                };
                let values: Vec<Buffer> = coefficients.iter().map(transformed).collect();
                let name = format!("{}, degree {degree}, gap {gap}", large.describe());
                for twist in TWISTS {
                    let joined = join(large, Form::Eval, &values.iter().collect::<Vec<_>>(), twist);
                    let mut expected = large.scratch(rows);
                    for row in 0..rows {
                        let parts: Vec<&[u64]> = coefficients.iter().map(|part| part.row(row)).collect();
                        expected.row_mut(row).copy_from_slice(&joined_coefficients(
                            &parts,
                            twist,
                            moduli[BASIS[row % BASIS.len()]],
                        ));
                    }
                    let from_coefficients =
                        join(large, Form::Coeff, &coefficients.iter().collect::<Vec<_>>(), twist);
                    assert!(from_coefficients == expected, "joined coefficients, {twist:?}, {name}");
                    assert!(
                        split(large, Form::Coeff, &small, &expected, twist) == coefficients,
                        "split coefficients, {twist:?}, {name}"
                    );
                    let mut first = small.scratch(rows);
                    large.first_component(Form::Coeff, first.view_mut(), expected.view(), &BASIS);
                    assert!(first == coefficients[0], "first of coefficients, {twist:?}, {name}");
                    large.forward_ntt(expected.view_mut(), &BASIS);
                    assert!(joined == expected, "joined, {twist:?}, {name}");
                    assert!(
                        split(large, Form::Eval, &small, &joined, twist) == values,
                        "split, {twist:?}, {name}"
                    );
                    // Place 0 alone.
                    let mut mean = small.scratch(rows);
                    large.first_component(Form::Eval, mean.view_mut(), joined.view(), &BASIS);
                    assert!(mean == values[0], "mean, {twist:?}, {name}");
                }
                let zero = small.zeroed(rows);
                let alone: Vec<&Buffer> =
                    std::iter::once(&values[0]).chain(std::iter::repeat_n(&zero, gap - 1)).collect();
                let mut repeated = large.scratch(rows);
                large.repeat(Form::Eval, repeated.view_mut(), values[0].view());
                assert!(repeated == join(large, Form::Eval, &alone, Twist::Positive), "repeated, {name}");
                large.repeat(Form::Coeff, repeated.view_mut(), coefficients[0].view());
                large.forward_ntt(repeated.view_mut(), &BASIS);
                assert!(
                    repeated == join(large, Form::Eval, &alone, Twist::Positive),
                    "repeated coefficients, {name}"
                );
                // Any values split and join back: both maps are bijections, not inverse on images alone.
                let any = random(large, &moduli, &BASIS, rows, &mut words);
                for twist in TWISTS {
                    let parts = split(large, Form::Eval, &small, &any, twist);
                    assert!(
                        join(large, Form::Eval, &parts.iter().collect::<Vec<_>>(), twist) == any,
                        "{twist:?}, {name}"
                    );
                }
            }
        }
    }
}

#[test]
fn splits_nest() {
    let moduli = mixed_primes(1024);
    for isa in Isa::available() {
        let engine = |degree: usize| CpuEngine::new(degree, &moduli, isa).expect("engine");
        for (log, logs) in [(6u32, [1u32, 1]), (6, [2, 1]), (6, [1, 4]), (10, [3, 2]), (10, [1, 2])] {
            let whole = engine(1 << log);
            let x = random(&whole, &moduli, &BASIS, BASIS.len(), &mut Words::new(3));
            let (middle, small) = (engine(1 << (log - logs[0])), engine(1 << (log - logs[0] - logs[1])));
            for twist in TWISTS {
                let at_once = split(&whole, Form::Eval, &small, &x, twist);
                let halves = split(&whole, Form::Eval, &middle, &x, twist);
                let in_two: Vec<Buffer> =
                    halves.iter().flat_map(|half| split(&middle, Form::Eval, &small, half, twist)).collect();
                assert!(at_once == in_two, "{isa:?}, degree 2^{log}, {logs:?}, {twist:?}");
            }
        }
    }
}

/// The prime of a step nearest below `bound`, if there is one.
fn prime_below(bound: u64, step: u64) -> Option<u64> {
    (1..=(bound - 2) / step).rev().map(|i| i * step + 1).find(|&candidate| is_prime(candidate))
}

/// The smallest prime, and both sides of the widths at which a kernel hands over to another.
fn edge_primes(degree: usize) -> Vec<u64> {
    let step = 2 * degree as u64;
    let above = |bound: u64| {
        (bound / step + 1..)
            .map(|i| i * step + 1)
            .find(|&candidate| is_prime(candidate))
            .expect("primes never end")
    };
    let mut primes = vec![above(2)];
    for bound in [1 << 45, 1 << 49, 1 << 50] {
        primes.extend(prime_below(bound, step));
        primes.push(above(bound));
    }
    primes.extend(prime_below(1 << 61, step));
    primes.sort_unstable();
    primes.dedup();
    primes
}

/// Rows that strain lazy ranges: all low, all high, alternating in runs of every length that a pass meets,
/// random.
fn edge_rows(words: &mut Words, len: usize, q: u64) -> Vec<Vec<u64>> {
    let top = q - 1;
    let mut rows = vec![vec![0; len], vec![top; len]];
    rows.extend([1, 2, 4, 8].map(|run| (0..len).map(|i| if i / run % 2 == 0 { top } else { 0 }).collect()));
    rows.push((0..len).map(|_| words.next() % q).collect());
    rows.push((0..len).map(|_| words.residue(q)).collect());
    rows
}

#[test]
fn every_kernel_equals_scalar_on_extreme_rows_and_leaves_residues() {
    for log in (1..=9u32).chain([13]) {
        let degree = 1usize << log;
        for q in edge_primes(degree) {
            let modulus = Modulus::new(q).expect("odd prime");
            let build = |isa: Isa| kernels::build(isa, &Roots::new(modulus, degree).expect("fits"));
            let kernels: Vec<Box<dyn RowKernel>> = Isa::available().into_iter().map(build).collect();
            let mut words = Words::new(q);
            for parts in [2, 4, MAX_PARTS].into_iter().filter(|&parts| parts <= degree) {
                let small = degree / parts;
                for row in edge_rows(&mut words, degree, q) {
                    for twist in TWISTS {
                        let run = |kernel: &dyn RowKernel| {
                            let (mut joined, mut split, mut mean) =
                                (vec![7; degree], vec![7; degree], vec![7; small]);
                            kernel.join_components(
                                &mut joined,
                                &row.chunks_exact(small).collect::<Vec<_>>(),
                                twist,
                            );
                            kernel.split_components(
                                &mut split.chunks_exact_mut(small).collect::<Vec<_>>(),
                                &row,
                                twist,
                            );
                            kernel.mean_of_neighbours(&mut mean, &row);
                            [joined, split, mean]
                        };
                        let expected = run(&*kernels[0]);
                        assert!(
                            expected.iter().flatten().all(|&value| value < q),
                            "residues, q {q}, degree {degree}, {parts} parts"
                        );
                        for kernel in &kernels[1..] {
                            assert!(
                                run(&**kernel) == expected,
                                "{:?}, q {q}, degree {degree}, {parts} parts, {twist:?}",
                                kernel.isa()
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn transforms_of_every_degree_and_kernel_use_powers_of_one_root() {
    let degrees: Vec<usize> = (1..=13).map(|log| 1 << log).collect();
    for q in mixed_primes(1 << 13) {
        let modulus = Modulus::new(q).expect("prime");
        for isa in Isa::available() {
            let mut above = None;
            for &degree in degrees.iter().rev() {
                // The value of X in the first slot is the root itself.
                let mut x = vec![0; degree];
                x[1] = 1;
                kernels::build(isa, &Roots::new(modulus, degree).expect("fits")).forward(&mut x);
                assert_eq!(x[0], primitive_root(&modulus, 2 * degree).expect("exists"));
                assert!(
                    above.is_none_or(|root| modulus.mul(root, root) == x[0]),
                    "{isa:?}, q {q}, degree {degree}"
                );
                above = Some(x[0]);
            }
        }
    }
}

#[test]
fn components_of_other_lengths_are_refused() {
    let moduli = mixed_primes(256);
    let refused = |work: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err();
    for isa in Isa::available() {
        let engine = |degree: usize| CpuEngine::new(degree, &moduli, isa).expect("engine");
        let (large, half, quarter) = (engine(256), engine(128), engine(64));
        let (x, part, short) = (large.zeroed(5), half.zeroed(5), quarter.zeroed(5));
        let rows = half.zeroed(4);
        for form in [Form::Coeff, Form::Eval] {
            let join = |parts: &[&Buffer]| {
                large.join_components(
                    form,
                    large.zeroed(5).view_mut(),
                    &views(parts.iter().copied()),
                    Twist::Positive,
                    &BASIS,
                );
            };
            assert!(!refused(&|| join(&[&part, &part])));
            for parts in
                [vec![], vec![&part], vec![&part, &short], vec![&short, &short], vec![&short, &short, &short]]
            {
                assert!(refused(&|| join(&parts)), "{} parts", parts.len());
            }
            assert!(refused(&|| join(&[&part, &rows])), "other rows");
            let (mut one, mut other) = (half.zeroed(5), quarter.zeroed(5));
            let parts = &mut [one.view_mut(), other.view_mut()];
            let split = std::panic::AssertUnwindSafe(|| {
                large.split_components(form, parts, x.view(), Twist::Positive, &BASIS)
            });
            assert!(std::panic::catch_unwind(split).is_err());
            assert!(refused(&|| large.first_component(form, half.zeroed(4).view_mut(), x.view(), &BASIS)));
        }
        let kernel =
            kernels::build(isa, &Roots::new(Modulus::new(moduli[0]).expect("prime"), 256).expect("fits"));
        let words = vec![0; 256];
        let parts: Vec<&[u64]> = words.chunks_exact(16).collect();
        assert!(
            refused(&|| kernel.join_components(&mut [0; 256], &parts, Twist::Positive)),
            "more than one pass"
        );
    }
}

#[test]
fn joined_masks_equal_samples_that_are_joined_and_then_embedded() {
    for (log, cases) in [
        (3u32, vec![(0, 3), (1, 1), (3, 0), (2, 1)]),
        (7, vec![(0, 7), (3, 4), (5, 2), (2, 2), (1, 6)]),
        (10, vec![(2, 8), (6, 3)]),
    ] {
        let degree = 1usize << log;
        let moduli = mixed_primes(degree);
        for (gap_log, neighbours_log) in cases {
            let (gap, neighbours, small) =
                (1usize << gap_log, 1usize << neighbours_log, degree >> (gap_log + neighbours_log));
            let name = format!("degree {degree}, {gap} samples, {neighbours} neighbours");
            let (larges, middles, smalls) =
                (engines(degree, &moduli), engines(degree / neighbours, &moduli), engines(small, &moduli));
            for ((large, middle), small) in larges.iter().zip(&middles).zip(&smalls) {
                // One modulus, and several; more polynomials than are read together.
                for (basis, polys) in [(&BASIS[..1], 3), (&BASIS[..], 2), (&BASIS[..2], 130 / neighbours + 1)]
                {
                    let rows = polys * neighbours * basis.len();
                    let mut words = Words::new(100 * gap_log as u64 + neighbours_log as u64);
                    let samples: Vec<Buffer> =
                        (0..gap).map(|_| random(small, &moduli, basis, rows, &mut words)).collect();
                    let parts: Vec<Rows<'_>> = samples.iter().map(Buffer::view).collect();
                    let mut joined = middle.scratch(rows);
                    middle.join_samples(Form::Coeff, joined.view_mut(), &parts, basis);
                    let chunks: Vec<Rows<'_>> = joined.view().chunks(basis.len()).collect();
                    let mut expected = large.scratch(rows / neighbours);
                    large.join_components(Form::Coeff, expected.view_mut(), &chunks, Twist::Negative, basis);
                    let mut found = large.scratch(rows / neighbours);
                    large.join_masks(found.view_mut(), &parts, basis);
                    assert!(found == expected, "{name}, {} moduli", basis.len());
                }
            }
        }
    }
}
