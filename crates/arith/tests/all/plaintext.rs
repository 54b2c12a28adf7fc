//! Sums of products with packed plaintexts through the engine, against products of single residues in 128-bit
//! integers.
//!
//! Every instruction set, one thread and two, primes at each width boundary, plaintexts of every degree that
//! divides the ring's, inputs that lack the last moduli. All comparisons are exact.

use std::sync::Arc;

use crate::common::{Words, engines, views};
use clathrate_arith::primes::largest_primes;
use clathrate_arith::{
    ArithError, Buffer, Counts, CpuEngine, Engine, FactorShape, Factors, Isa, Meter, PlaintextSum, Rows,
};

/// Polynomials of each input.
const POLYS: usize = 3;

/// One prime of each width; all have roots of unity of order `2 degree`.
fn primes(degree: usize) -> Vec<u64> {
    let widths = [20, 29, 36, 44, 45, 46, 49, 50, 51, 57, 58, 60];
    widths
        .iter()
        .filter_map(|&bits| largest_primes(bits, 2 * degree as u64, 1, &[]).ok())
        .map(|found| found[0])
        .collect()
}

/// Several polynomials over `moduli`, one after another.
fn random_polys(engine: &CpuEngine, moduli: &[usize], polys: usize, words: &mut Words) -> Buffer {
    let mut buffer = engine.zeroed(polys * moduli.len());
    for row in 0..buffer.rows() {
        let q = engine.moduli()[moduli[row % moduli.len()]].value();
        buffer.row_mut(row).iter_mut().for_each(|word| *word = words.residue(q));
    }
    buffer
}

fn random(engine: &CpuEngine, moduli: &[usize], words: &mut Words) -> Buffer {
    random_polys(engine, moduli, 1, words)
}

/// Packed plaintexts over all moduli of a ring of their own degree, and the same unpacked.
fn plaintexts(engine: &CpuEngine, terms: usize, words: &mut Words) -> (Factors, Vec<Buffer>) {
    let moduli: Vec<usize> = (0..engine.moduli().len()).collect();
    let plain: Vec<Buffer> = (0..terms).map(|_| random(engine, &moduli, words)).collect();
    let mut packed =
        engine.zeroed_factors(FactorShape { groups: 1, terms, columns: 1, packed: true }, &moduli);
    let sources: Vec<Vec<Rows<'_>>> = plain.iter().map(|poly| vec![poly.view()]).collect();
    engine.pack_factors(&mut packed, 0, &sources, &moduli);
    (packed, plain)
}

/// Holds the engine to the definition for sums with plaintexts of several degrees.
fn check(engine: &CpuEngine, small: &[usize], words: &mut Words) {
    let (degree, all) = (engine.degree(), engine.moduli().len());
    let values: Vec<u64> = engine.moduli().iter().map(|modulus| modulus.value()).collect();
    // The product's moduli stand backwards and some are left out, so that rows of the plaintexts are not the
    // product's.
    let moduli: Vec<usize> = (0..all).rev().step_by(2).collect();
    let mut inputs: Vec<Buffer> = (0..4).map(|_| random_polys(engine, &moduli, POLYS, words)).collect();
    inputs.insert(1, random_polys(engine, &moduli[..2], POLYS, words));
    let xs = views(&inputs);
    // Inputs of each sum: one, several with repetitions, zero ones first, last and between, none but a zero
    // one, and no terms at all.
    let inputs: [&[usize]; 7] =
        [&[0], &[0, 2, 3, 4], &[1, 0, 1, 1, 2, 2, 1], &[3, 1], &[1], &[], &[4, 3, 2, 1, 0]];
    let mut made = Vec::new();
    for &degree in small {
        let own = CpuEngine::new(degree, &values, Isa::Scalar).expect("engine");
        made.extend(inputs.iter().map(|inputs| (degree, *inputs, plaintexts(&own, inputs.len(), words))));
    }
    let sums: Vec<PlaintextSum<'_>> = made
        .iter()
        .map(|(_, inputs, (packed, _))| PlaintextSum { plaintexts: packed, rows: &moduli, inputs })
        .collect();
    // Outputs that were in use before.
    let mut out: Vec<Buffer> = sums.iter().map(|_| random_polys(engine, &moduli, POLYS, words)).collect();
    engine.plaintext_products(
        &mut out.iter_mut().map(Buffer::view_mut).collect::<Vec<_>>(),
        &xs,
        &sums,
        &moduli,
    );
    for ((small, inputs, (_, plain)), out) in made.iter().zip(&out) {
        let gap = degree / small;
        for poly in 0..POLYS {
            for (row, &modulus) in moduli.iter().enumerate() {
                let q = u128::from(values[modulus]);
                for (at, &got) in out.row(poly * moduli.len() + row).iter().enumerate() {
                    let rows = |input: usize| xs[input].rows() / POLYS;
                    let terms = inputs.iter().zip(plain).filter(|(input, _)| row < rows(**input));
                    let products = terms.map(|(&input, plain)| {
                        u128::from(xs[input].row(poly * rows(input) + row)[at])
                            * u128::from(plain.row(modulus)[at / gap])
                            % q
                    });
                    let expected = (products.sum::<u128>() % q) as u64;
                    let name = engine.describe();
                    assert_eq!(
                        got, expected,
                        "{name}, degree {degree}, plaintexts of {small}, inputs {inputs:?}, row {row}, word {at}"
                    );
                }
            }
        }
    }
}

#[test]
fn products_with_packed_plaintexts_of_every_smaller_degree_equal_the_definition() {
    for degree in [1usize, 2, 8, 64, 1024] {
        let small: Vec<usize> = (0..=degree.ilog2()).map(|log| 1 << log).collect();
        for engine in engines(degree, &primes(degree)) {
            check(&engine, &small, &mut Words::new(degree as u64));
        }
    }
}

#[test]
fn products_with_packed_plaintexts_cross_block_boundaries() {
    // Two blocks of the product; plaintexts of one block, of two, of less than a packed vector.
    for engine in engines(8192, &primes(8192)[..4]) {
        check(&engine, &[2, 16, 2048, 4096, 8192], &mut Words::new(3));
    }
}

#[test]
fn meter_counts_one_hadamard_product_per_term_polynomial_and_row_that_is_there() {
    let meter = Arc::new(Meter::default());
    let engine = CpuEngine::new(64, &primes(64)[..4], Isa::Scalar).expect("engine").with_meter(meter.clone());
    let small = engine.of_degree(8).expect("engine");
    let (mut words, moduli) = (Words::new(5), [0, 1, 2, 3]);
    let inputs = [
        random_polys(&engine, &moduli, POLYS, &mut words),
        random_polys(&engine, &moduli[..3], POLYS, &mut words),
    ];
    let (full, _) = plaintexts(&engine, 2, &mut words);
    let (repeated, _) = plaintexts(&small, 3, &mut words);
    let sum = |plaintexts, inputs| PlaintextSum { plaintexts, rows: &moduli, inputs };
    let sums = [sum(&full, &[0, 1]), sum(&repeated, &[0, 0, 1])];
    let mut out = [engine.scratch(POLYS * 4), engine.scratch(POLYS * 4)];
    meter.take();
    engine.plaintext_products(
        &mut out.iter_mut().map(Buffer::view_mut).collect::<Vec<_>>(),
        &views(&inputs),
        &sums,
        &moduli,
    );
    // Three products with the input of four rows, two with that of three.
    assert_eq!(meter.take(), Counts { hadamard: POLYS * (3 * 4 + 2 * 3), ..Counts::default() });
    // An engine at another degree reports to the same meter: transforms of plaintexts count.
    small.forward_ntt(small.zeroed(4).view_mut(), &moduli);
    assert_eq!(meter.take(), Counts { forward: 4, ..Counts::default() });
}

#[test]
fn engine_at_another_degree_has_the_same_moduli_kernels_and_threads() {
    for engine in engines(64, &primes(64)) {
        let small = engine.at_degree(8).expect("engine");
        assert_eq!((small.degree(), small.moduli()), (8, engine.moduli()));
        assert_eq!((small.describe(), small.memory_kind()), (engine.describe(), engine.memory_kind()));
    }
    // All primes have roots of unity of order 2 * 64, but none of order 2 * 2^17.
    let engine = CpuEngine::new(64, &primes(64), Isa::Scalar).expect("engine");
    let error = engine.at_degree(1 << 17).expect_err("no root");
    assert_eq!(error, ArithError::NoRootOfUnity { modulus: primes(64)[0], order: 1 << 18 });
    assert_eq!(engine.at_degree(3).expect_err("no power of two"), ArithError::InvalidDegree { degree: 3 });
}
