//! Products of two matrices of residues, the left one read by coefficients, beside exact integers.

use clathrate_arith::primes::largest_primes;
use clathrate_arith::product::{COLUMN_BAND, column_product_counts};
use clathrate_arith::{ArithError, CpuEngine, Engine, Isa, Meter, Modulus, Rows, RowsMut};

const DEGREE: usize = 64;

/// Words from a fixed generator.
fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

fn engine(bits: &[u32], threads: usize) -> (CpuEngine, Vec<u64>) {
    let mut moduli: Vec<u64> = Vec::new();
    for &bits in bits {
        moduli.extend(largest_primes(bits, 2 * DEGREE as u64, 1, &moduli).expect("a prime"));
    }
    let pool = CpuEngine::thread_pool(threads).expect("threads");
    (
        CpuEngine::new(DEGREE, &moduli, Isa::detect().expect("kernels"))
            .expect("an engine")
            .with_threads(pool)
            .sharing_small_work(),
        moduli,
    )
}

/// Polynomials with residues modulo each of `moduli`, `polys` of them in each row.
fn rows(moduli: &[u64], count: usize, polys: usize, next: &mut impl FnMut() -> u64) -> Vec<Vec<u64>> {
    let poly = |next: &mut dyn FnMut() -> u64| {
        moduli.iter().flat_map(|&q| (0..DEGREE).map(|_| next() % q).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    (0..count).map(|_| (0..polys).flat_map(|_| poly(next)).collect()).collect()
}

fn product(
    engine: &CpuEngine,
    left: &[Vec<u64>],
    positions: &[usize],
    right: &[Vec<u64>],
    moduli: usize,
) -> Result<Vec<Vec<u64>>, ArithError> {
    let mut out: Vec<Vec<u64>> = vec![vec![u64::MAX; right[0].len()]; positions.len()];
    let left: Vec<Rows<'_>> = left.iter().map(|words| Rows::of_words(words, DEGREE)).collect();
    let right: Vec<Rows<'_>> = right.iter().map(|words| Rows::of_words(words, DEGREE)).collect();
    let mut targets: Vec<RowsMut<'_>> =
        out.iter_mut().map(|words| RowsMut::of_words(words, DEGREE)).collect();
    engine.combine_coefficients(&mut targets, &left, positions, &right, &(0..moduli).collect::<Vec<_>>())?;
    Ok(out)
}

#[test]
fn products_are_exact_for_all_sizes_of_primes() {
    for (bits, inner, polys, positions) in [
        (&[20][..], 5, 1, vec![0, 3, 63]),
        (&[29, 36, 45], 40, 2, (0..64).collect()),
        (&[53, 54], 7, 3, vec![5, 5, 1]),
        (&[60, 61, 20], 33, 1, (0..64).rev().collect()),
        (&[61], 1, 1, vec![17]),
    ] {
        let (engine, moduli) = engine(bits, 1);
        let mut next = words(bits[0].into());
        let (left, mut right) = (rows(&moduli, inner, 1, &mut next), rows(&moduli, inner, polys, &mut next));
        // The largest residues, where sums are largest.
        right[0]
            .chunks_mut(DEGREE)
            .enumerate()
            .for_each(|(row, words)| words.fill(moduli[row % moduli.len()] - 1));
        let got = product(&engine, &left, &positions, &right, moduli.len()).expect("a product");
        for (position, got) in positions.iter().zip(&got) {
            for (index, &word) in got.iter().enumerate() {
                let (row, column) = (index / DEGREE, index % DEGREE);
                let (prime, q) = (row % moduli.len(), u128::from(moduli[row % moduli.len()]));
                let term = |r: usize| {
                    u128::from(left[r][prime * DEGREE + position])
                        * u128::from(right[r][row * DEGREE + column])
                        % q
                };
                assert_eq!(
                    u128::from(word),
                    (0..inner).map(term).sum::<u128>() % q,
                    "{bits:?}, {position}, row {row}, column {column}"
                );
            }
        }
        let (two, _) = self::engine(bits, 2);
        assert_eq!(
            product(&two, &left, &positions, &right, moduli.len()).expect("a product"),
            got,
            "two threads"
        );
    }
}

#[test]
fn counts_are_those_that_run() {
    for bits in [30, 45, 60] {
        let (engine, moduli) = engine(&[bits], 1);
        let meter = std::sync::Arc::new(Meter::default());
        let engine = engine.with_meter(meter.clone());
        let mut next = words(9);
        // A residue of the largest magnitude decides how the left factor is cut.
        let (mut left, right) = (rows(&moduli, 20, 1, &mut next), rows(&moduli, 20, 1, &mut next));
        left[0][0] = moduli[0] / 2;
        product(&engine, &left, &(0..DEGREE).collect::<Vec<_>>(), &right, 1).expect("a product");
        let modulus = Modulus::new(moduli[0]).expect("a prime");
        assert_eq!(meter.take().product, column_product_counts(DEGREE, 20, DEGREE, &modulus), "{bits} bits");
        // More rows than are computed at a time.
        let positions: Vec<usize> = (0..2 * COLUMN_BAND + 3).map(|position| position % DEGREE).collect();
        product(&engine, &left, &positions, &right, 1).expect("a product");
        assert_eq!(
            meter.take().product,
            column_product_counts(positions.len(), 20, DEGREE, &modulus),
            "{bits} bits, in bands"
        );
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (engine, moduli) = engine(&[40], 1);
    let mut next = words(3);
    let (left, right) = (rows(&moduli, 3, 1, &mut next), rows(&moduli, 4, 1, &mut next));
    assert!(matches!(product(&engine, &left, &[0], &right, 1), Err(ArithError::Shape { .. })));
    assert!(matches!(product(&engine, &left, &[DEGREE], &right[..3], 1), Err(ArithError::Shape { .. })));
    let mut unreduced = right[..3].to_vec();
    unreduced[1][7] = moduli[0];
    assert!(matches!(product(&engine, &left, &[0], &unreduced, 1), Err(ArithError::TooLarge { .. })));
}
