//! Columns of encrypted arrays in coefficients: selected exactly in every layout, with what is left in the
//! padding; what does not fit is refused, and later operations are right whatever the padding holds.

use std::ops::Range;

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::arrays::Place;
use clathrate_ckks::circuits::encrypted_matrix::multiply_transposed;
use clathrate_ckks::circuits::encrypted_matrix::transpose;
use clathrate_ckks::circuits::prepared::{PreparedOptions, PreparedPlan};
use clathrate_ckks::encoding::decode_coefficients;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Lanes, Values};
use clathrate_ckks::{
    BodyAxis, Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Order, Padding, Params, SecretKey,
};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

fn coefficients() -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() }
}

fn lanes() -> EncryptOptions {
    EncryptOptions { lanes: Some(Lanes::Most), ..coefficients() }
}

/// Rank 1 at degree 64, rank 2 at degree 32, rank 3 at degree 16.
fn sets() -> [Params; 3] {
    let of = |degree: usize, rank: usize| {
        let rest = "steps = [[30, 30], [40], [40]]\nspecial = [42, 42]\nlog2_scale = 40\ninsecure = true\n";
        custom(&format!("name = \"rank {rank}\"\ndegree = {degree}\nrank = {rank}\n{rest}"))
    };
    [params("insecure_tiny"), of(32, 2), of(16, 3)]
}

fn numbers(sk: &SecretKey, x: &Ciphertext) -> Vec<Complex64> {
    sk.decrypt(x).expect("decrypt").into_complex()
}

/// The columns `range` of an array with rows of `columns` numbers.
fn picked<T: Copy>(values: &[T], columns: usize, range: &Range<usize>) -> Vec<T> {
    values.chunks(columns).flat_map(|row| row[range.clone()].to_vec()).collect()
}

/// The coefficients of every body of every bundle.
fn phases_of(sk: &SecretKey, x: &Ciphertext) -> Vec<Vec<Vec<f64>>> {
    let owner =
        if x.params() == sk.params() { sk.clone() } else { sk.relative(x.params()).expect("a relative") };
    let secret = owner.named(x.secret()).expect("secret");
    let decode = |phase: clathrate_lattice::Poly<_>| {
        decode_coefficients(&phase.into_coeff(), x.scale(), true).expect("all primes")
    };
    x.bundles()
        .iter()
        .map(|bundle| bundle.phase(&secret).expect("phase").into_iter().map(decode).collect())
        .collect()
}

/// Whether the padding holds a number; bodies without entries have to hold zero.
fn holds_numbers(sk: &SecretKey, x: &Ciphertext) -> bool {
    let mut found = false;
    for (bundle, bodies) in phases_of(sk, x).iter().enumerate() {
        for (body, phase) in bodies.iter().enumerate() {
            let held = x.layout().polynomial_at(bundle, body).is_some();
            for (index, value) in phase.iter().enumerate() {
                let padding = x.layout().entry(Place { bundle, body, index }).is_none();
                assert!(held || value.abs() < 1e-4, "a body without entries holds {value}: {:?}", x.layout());
                found |= held && padding && value.abs() > 1e-4;
            }
        }
    }
    found
}

/// Numbers that are not near zero.
fn away_from_zero(count: usize, seed: u64) -> Vec<f64> {
    noise(count, seed).iter().map(|x| x + 0.01f64.copysign(*x)).collect()
}

/// Selects on data and on a symbol; asserts the numbers, the padding and the layout.
fn select(sk: &SecretKey, x: &Ciphertext, range: Range<usize>) -> Result<Ciphertext, CkksError> {
    select_from(sk, (x, &numbers(sk, x)), range)
}

/// As [`select`], of an array with these numbers.
fn select_from(
    sk: &SecretKey,
    (x, before): (&Ciphertext, &[Complex64]),
    range: Range<usize>,
) -> Result<Ciphertext, CkksError> {
    let ev = Evaluator::new(sk.params());
    let y = ev.select_columns(x, range.clone())?;
    let mut shape = x.shape().to_vec();
    *shape.last_mut().expect("columns") = range.len();
    assert_eq!((y.shape(), y.level(), y.scale()), (&shape[..], x.level(), x.scale()));
    y.layout().check(&shape, x.params().degree()).expect("a layout");
    assert_eq!(
        numbers(sk, &y),
        picked(before, x.layout().columns(), &range),
        "{range:?} of {:?}",
        x.layout()
    );
    let dirty = holds_numbers(sk, &y);
    assert!(!dirty || y.padding() == Padding::Dirty, "{range:?} of {:?}", x.layout());
    if x.layout().components() == 1 && x.padding() == Padding::Zero {
        assert_eq!(y.padding() == Padding::Dirty, dirty, "{range:?} of {:?}", x.layout());
    }
    let recorder = Evaluator::recording(sk.params());
    let symbol =
        Ciphertext::symbol_with(x.params(), x.shape(), *x.layout(), x.secret(), x.level(), x.scale())
            .expect("a symbol");
    let symbol = recorder.take_symbol(symbol, Some(1.0)).expect("a symbol");
    let planned = recorder.select_columns(&symbol, range).expect("a dry run");
    assert_eq!((planned.shape(), planned.layout()), (y.shape(), y.layout()));
    assert_eq!((planned.bound(), planned.error_rms()), (symbol.bound(), symbol.error_rms()), "bounds stay");
    assert!(recorder.needs().is_empty());
    Ok(y)
}

/// Ranges with ends around the first and the last multiples of the capacity.
fn ranges(columns: usize, capacity: usize) -> Vec<Range<usize>> {
    let near = |step: usize| [0, 1, 2, 3, capacity / 2, capacity - 1].map(|add| step * capacity + add);
    let mut ends: Vec<usize> = (0..=columns / capacity)
        .flat_map(near)
        .chain([columns - 1, columns])
        .filter(|&end| end <= columns)
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let pair = |&a: &usize| ends.iter().filter(move |&&b| a < b).map(move |&b| a..b).collect::<Vec<_>>();
    ends.iter().flat_map(pair).collect()
}

/// Ranges of `x`: selected where they start at a chunk or stay within one, else refused.
fn check_all(sk: &SecretKey, x: &Ciphertext) -> usize {
    let (columns, capacity) = (x.layout().columns(), x.layout().capacity());
    let (before, mut refused) = (numbers(sk, x), 0);
    // Arrays of many bundles take longer.
    let every = 1 + x.bundles().len() / 8;
    for range in ranges(columns, capacity).into_iter().step_by(every) {
        let fits = range.start % capacity == 0 || range.start / capacity == (range.end - 1) / capacity;
        let selected = select_from(sk, (x, &before), range.clone());
        if fits {
            selected.unwrap_or_else(|error| panic!("{range:?} of {:?}: {error}", x.layout()));
        } else {
            refused += 1;
            assert_refused!(
                selected,
                CkksError::Unsuitable { .. },
                &format!("a multiple of {capacity}"),
                "select"
            );
        }
    }
    refused
}

#[test]
fn every_range_is_exact_at_every_degree() {
    let mut refused = 0;
    for params in sets() {
        let (sk, ev) = (secret(&params, 3), Evaluator::new(&params));
        for shape in [&[1][..], &[64], &[2, 5], &[66], &[2, 150]] {
            let count = shape.iter().product();
            for complex in [false, true] {
                let data = away_from_zero(2 * count, 7);
                let values = if complex {
                    Values::Complex(data.chunks(2).map(|pair| Complex64::new(pair[0], pair[1])).collect())
                } else {
                    Values::Real(data[..count].to_vec())
                };
                let x = encrypt_as(&sk, &values, shape, coefficients(), 5);
                for gap in [1, 2, 8, params.degree()] {
                    refused += check_all(&sk, &ev.to_mlwe(&x, params.rank() * gap).expect("a lower degree"));
                }
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn numbers_that_lie_apart_are_selected() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 3);
    for (capacity, columns) in [(1, 3), (4, 3), (8, 8), (16, 21)] {
        for values in [Values::Real(away_from_zero(2 * columns, 1)), Values::Complex(complex(2 * columns, 1))]
        {
            let options = EncryptOptions { capacity: Some(capacity), ..coefficients() };
            check_all(&sk, &encrypt_as(&sk, &values, &[2, columns], options, 5));
        }
    }
    // Samples that were packed lie apart as well.
    let x = encrypt_as(&sk, &Values::Real(away_from_zero(10, 2)), &[2, 5], coefficients(), 5);
    let rank2 = Evaluator::new(&params).to_mlwe(&x, 2).expect("rank 2");
    let ev = evaluator(&sk, &rank2.params().rlwe_needs(KeyLevel::Top));
    check_all(&sk, &ev.to_rlwe(&rank2).expect("rank 1"));
}

#[test]
fn polynomials_are_divided_by_a_power_of_x() {
    let params = params("insecure_tiny");
    let (sk, ev, n) = (secret(&params, 3), Evaluator::new(&params), params.degree());
    for values in [Values::Real(away_from_zero(n, 3)), Values::Complex(complex(n / 2, 3))] {
        let x = encrypt_as(&sk, &values, &[values.len()], coefficients(), 5);
        let before = phases_of(&sk, &x)[0][0].clone();
        for (start, end) in [(1, 2), (5, 9), (n / 2 - 1, n / 2)] {
            let after = phases_of(&sk, &ev.select_columns(&x, start..end).expect("columns"))[0][0].clone();
            let expected: Vec<f64> = (0..n)
                .map(|i| if i + start < n { before[i + start] } else { -before[i + start - n] })
                .collect();
            assert_eq!(after, expected, "{start}..{end}");
        }
    }
}

#[test]
fn rows_that_share_polynomials_keep_their_places() {
    for params in sets() {
        let (sk, ev) = (secret(&params, 3), Evaluator::new(&params));
        for (rows, columns) in [(1, 3), (5, 3), (16, 8), (7, params.degree() / 2), (33, 1), (9, 5)] {
            let x = encrypt_as(
                &sk,
                &Values::Real(away_from_zero(rows * columns, 1)),
                &[rows, columns],
                lanes(),
                5,
            );
            let (lanes, capacity) = (x.layout().lanes(), x.layout().capacity());
            assert!(lanes > 1);
            check_all(&sk, &x);
            for range in ranges(columns, capacity) {
                let y = ev.select_columns(&x, range.clone()).expect("columns");
                assert_eq!(
                    (y.layout().lanes(), y.layout().capacity(), y.bundles().len()),
                    (lanes, capacity, x.bundles().len())
                );
                // They come apart, and a selection of a selection is one.
                let apart = ev.to_mlwe(&y, params.rank() * lanes).expect("rows");
                assert_eq!(numbers(&sk, &apart), numbers(&sk, &y));
                let last = ev.select_columns(&y, range.len() - 1..range.len()).expect("a column");
                assert_eq!(
                    numbers(&sk, &last),
                    picked(&numbers(&sk, &y), range.len(), &(range.len() - 1..range.len()))
                );
                // Files keep the layout.
                let bytes = y.to_file_bytes().expect("a file");
                let file = FileReader::from_bytes(&bytes).expect("a file");
                let again = Ciphertext::from_reader(&file, &params).expect("a ciphertext");
                assert_eq!((again.layout(), numbers(&sk, &again)), (y.layout(), numbers(&sk, &y)));
            }
        }
    }
}

#[test]
fn rows_under_one_mask_are_selected_together() {
    let params = params("insecure_tiny");
    let (sk, ev) = (secret(&params, 3), Evaluator::new(&params));
    let needs = KeyNeeds::new().shared_mask(3, KeyLevel::Top);
    for (rows, columns, lanes) in [(5, 7, None), (7, 3, Some(Lanes::Most)), (4, 130, None)] {
        let options = EncryptOptions { bodies: Some(3), axis: Some(BodyAxis::Rows), lanes, ..coefficients() };
        let x =
            encrypt_as(&sk, &Values::Real(away_from_zero(rows * columns, 1)), &[rows, columns], options, 5);
        check_all(&sk, &x);
        if lanes.is_none() {
            check_all(&sk, &ev.to_mlwe(&x, 4).expect("a lower degree"));
            let y = ev.select_columns(&x, 1..3).expect("columns");
            let split = evaluator(&sk, &needs).split_mask(&y).expect("one body each");
            assert_eq!(split.padding(), Padding::Dirty);
            let errors = numbers(&sk, &split)
                .iter()
                .zip(numbers(&sk, &y))
                .map(|(a, b)| (a - b).norm())
                .fold(0.0, f64::max);
            assert!(errors < 1e-6, "{errors:e}");
        }
    }
}

#[test]
fn chunks_under_one_mask_are_selected_by_whole_masks() {
    let params = params("insecure_tiny");
    let (sk, ev) = (secret(&params, 3), Evaluator::new(&params));
    // Five chunks of 64 under masks of two; a last mask with one.
    let options = EncryptOptions { bodies: Some(2), axis: Some(BodyAxis::Chunks), ..coefficients() };
    let x = encrypt_as(&sk, &Values::Real(away_from_zero(2 * 300, 1)), &[2, 300], options, 5);
    for range in
        [0..128, 128..256, 0..256, 128..300, 256..300, 256..280, 260..300, 0..100, 128..200, 0..290, 257..258]
    {
        select(&sk, &x, range).expect("whole masks");
    }
    for range in [0..64, 0..1, 64..128, 64..300, 192..256, 1..5, 70..80, 128..192, 0..192, 140..150] {
        assert_refused!(
            select(&sk, &x, range),
            CkksError::Unsuitable { .. },
            "2 bodies share a mask",
            "split_mask"
        );
    }
    assert_refused!(select(&sk, &x, 1..300), CkksError::Unsuitable { .. }, "a multiple of 64");
    // Split into components, a chunk is not cut: a component might be left without a number.
    let low = ev.to_mlwe(&x, 4).expect("a lower degree");
    for range in [0..128, 128..256, 128..300] {
        select(&sk, &low, range).expect("whole masks");
    }
    for range in [0..65, 0..100, 256..257] {
        assert_refused!(select(&sk, &low, range), CkksError::Unsuitable { .. }, "share a mask", "split_mask");
    }
    // A row of one chunk: the other bodies hold zero.
    let one = encrypt_as(&sk, &Values::Real(away_from_zero(2 * 40, 1)), &[2, 40], options, 5);
    check_all(&sk, &one);
}

#[test]
fn what_does_not_fit_is_refused() {
    let params = params("insecure_tiny");
    let (sk, ev) = (secret(&params, 3), Evaluator::new(&params));
    let data = Values::Real(noise(12, 1));
    let x = encrypt_as(&sk, &data, &[2, 6], coefficients(), 5);
    assert_refused!(ev.select_columns(&x, 3..3), CkksError::Empty { .. }, "no entries", "[2, 0]");
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = ev.select_columns(&x, 4..1);
    assert_refused!(backwards, CkksError::Empty { .. }, "no entries", "[2, 0]");
    assert_refused!(ev.select_columns(&x, 3..7), CkksError::OutOfRange { .. }, "the array has 6");
    assert_refused!(
        ev.select_columns(&x, usize::MAX - 1..usize::MAX),
        CkksError::OutOfRange { .. },
        "the array has 6"
    );
    let slots = encrypt_as(
        &sk,
        &data,
        &[2, 6],
        EncryptOptions { encoding: Some(Encoding::Slots), ..coefficients() },
        5,
    );
    assert_refused!(ev.select_columns(&slots, 3..5), CkksError::NoKeys { .. }, "a rotation");
    assert_eq!(ev.select_columns(&slots, 0..6).expect("all columns").layout(), slots.layout());
    let reversed =
        encrypt_as(&sk, &data, &[2, 6], EncryptOptions { order: Order::BitReversed, ..coefficients() }, 5);
    assert_refused!(ev.select_columns(&reversed, 3..5), CkksError::Unsuitable { .. }, "natural order");
    let number = encrypt_as(&sk, &Values::Real(vec![0.5]), &[], coefficients(), 5);
    assert_refused!(ev.select_columns(&number, 0..1), CkksError::Shape { .. }, "no columns");
    let other = Evaluator::new(&crate::common::params("insecure_small"));
    assert!(matches!(other.select_columns(&x, 0..1), Err(CkksError::WrongParams { .. })));
}

#[test]
fn sums_products_and_rows_ignore_the_padding() {
    for params in sets() {
        let (sk, ev) = (secret(&params, 3), Evaluator::new(&params));
        let (rows, n) = (5, params.degree());
        let columns = n + 6;
        let rows_of = |seed: u64| noise(rows * columns, seed);
        for (capacity, range) in [(n, 3..n - 2), (n / 2, n / 2 + 1..n - 1), (n, n..n + 4)] {
            let options = EncryptOptions { capacity: Some(capacity), ..coefficients() };
            let width = range.len();
            let x = encrypt_as(&sk, &Values::Real(rows_of(1)), &[rows, columns], options, 5);
            let part = select(&sk, &x, range.clone()).expect("columns");
            assert_eq!(part.padding(), Padding::Dirty);
            let a = picked(&rows_of(1), columns, &range);
            let b = noise(rows * width, 2);
            let fresh = encrypt_as(&sk, &Values::Real(b.clone()), &[rows, width], options, 6);
            let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            for total in
                [ev.add(&part, &fresh), ev.add(&fresh, &part), ev.add_plain(&part, &Values::Real(b.clone()))]
            {
                let total = total.expect("a sum");
                assert_eq!(total.padding(), Padding::Dirty);
                assert_close(&decrypt(&sk, &total), &sum, 1e-6);
            }
            // W @ x, and rows of it, and both one below the other.
            let weights = noise(3 * rows, 4);
            let w = Weights::encode(&ev, 3, rows, &weights, &part).expect("weights");
            let product = ev.rescale(&w.multiply(&ev, &part).expect("a product")).expect("rescaled");
            let entry =
                |i: usize, j: usize| (0..rows).map(|r| weights[i * rows + r] * a[r * width + j]).sum::<f64>();
            let expected: Vec<f64> =
                (0..3 * width).map(|index| entry(index / width, index % width)).collect();
            assert_eq!(product.padding(), Padding::Dirty);
            assert_close(&decrypt(&sk, &product), &expected, 1e-5);
            let selected = ev.select_rows(&part, &[4, 0, 4]).expect("rows");
            let both = ev.concatenate(&[&fresh, &selected]).expect("one below the other");
            assert_eq!(both.padding(), Padding::Dirty);
            let expected = [&b[..], &a[4 * width..], &a[..width], &a[4 * width..]].concat();
            assert_close(&decrypt(&sk, &both), &expected, 1e-6);
            // To LWE samples, which have no padding, and to every degree above.
            let samples = ev.to_lwe(&part).expect("samples");
            assert_eq!((samples.padding(), samples.bundles().len()), (Padding::Zero, rows * width));
            assert_close(&decrypt(&sk, &samples), &a, 1e-6);
        }
    }
}

#[test]
fn padding_stays_behind_the_numbers_through_moves_and_packing() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 3);
    let (rows, columns) = (3, 50);
    let data = away_from_zero(rows * columns, 1);
    let x = encrypt_as(&sk, &Values::Real(data.clone()), &[rows, columns], coefficients(), 5);
    for range in [0..3, 7..20, 49..50, 1..50] {
        let part = Evaluator::new(&params).select_columns(&x, range.clone()).expect("columns");
        let expected = picked(&data, columns, &range);
        for gap in [2, 8, 64] {
            let low = Evaluator::new(&params).to_mlwe(&part, gap).expect("a lower degree");
            assert_close(&decrypt(&sk, &low), &expected, 1e-6);
            let needs = low.params().rlwe_needs(KeyLevel::Top);
            let pack = pack_step(params.degree(), params.degree() / gap, params.degree());
            let ev = evaluator(&sk, &needs.operation(pack, KeyLevel::Top));
            for up in [ev.to_rlwe(&low).expect("rank 1"), ev.pack(&low, &[]).expect("rank 1")] {
                assert_eq!(up.layout().whole_degree(), 64);
                assert_close(&decrypt(&sk, &up), &expected, 1e-5);
                assert!(up.padding() == Padding::Dirty || !holds_numbers(&sk, &up), "{range:?} by {gap}");
            }
        }
    }
    // A product of columns of rows in lanes is packed into lanes again.
    let x = encrypt_as(&sk, &Values::Real(data[..6 * 8].to_vec()), &[6, 8], lanes(), 5);
    for range in [0..2, 3..4, 2..7] {
        let ev = evaluator(&sk, &KeyNeeds::new().operation(pack_step(64, 8, 64), KeyLevel::Top));
        let part = ev.select_columns(&x, range.clone()).expect("columns");
        let weights = noise(2 * 6, 9);
        let w = Weights::encode(&ev, 2, 6, &weights, &part).expect("weights");
        let product = ev.rescale(&w.multiply(&ev, &part).expect("a product")).expect("rescaled");
        let packed = ev.pack_rows(&product, &[]).expect("lanes");
        assert_eq!((packed.layout().lanes(), packed.padding()), (8, Padding::Dirty));
        let a = picked(&data[..48], 8, &range);
        let width = range.len();
        let entry = |i: usize, j: usize| (0..6).map(|r| weights[i * 6 + r] * a[r * width + j]).sum::<f64>();
        let expected: Vec<f64> = (0..2 * width).map(|index| entry(index / width, index % width)).collect();
        assert_close(&decrypt(&sk, &packed), &expected, 1e-5);
    }
}

/// `x^T y` and `x^T` of columns of two matrices.
fn of_columns(
    ev: &Evaluator,
    x: [&Ciphertext; 2],
    [left, right]: [&Range<usize>; 2],
) -> Result<[Ciphertext; 2], CkksError> {
    let (x, y) = (ev.select_columns(x[0], left.clone())?, ev.select_columns(x[1], right.clone())?);
    Ok([ev.rescale(&multiply_transposed(ev, &x, &y)?)?, transpose(ev, &x)?])
}

#[test]
fn products_of_encrypted_matrices_ignore_the_padding() {
    for params in sets() {
        let (sk, n) = (secret(&params, 3), params.degree());
        let short = if params.rank() == 1 { lanes() } else { coefficients() };
        for (columns, left, right, options) in [
            (12, 3..8, 1..5, short),
            (n, n - 4..n - 1, 5..9, coefficients()),
            (n + 9, n + 1..n + 4, n..n + 9, coefficients()),
        ] {
            let inner = 6;
            let (a, b) = (noise(inner * columns, 1), noise(inner * columns, 2));
            let x = encrypt_as(&sk, &Values::Real(a.clone()), &[inner, columns], options, 5);
            let y = encrypt_as(&sk, &Values::Real(b.clone()), &[inner, columns], options, 6);
            let recorder = Evaluator::recording(&params);
            let symbol =
                Ciphertext::symbol_with(x.params(), x.shape(), *x.layout(), x.secret(), x.level(), x.scale())
                    .expect("a symbol");
            let symbol = recorder.take_symbol(symbol, Some(1.0)).expect("a symbol");
            of_columns(&recorder, [&symbol, &symbol], [&left, &right]).expect("a dry run");
            let ev = evaluator(&sk, &recorder.needs());
            let [product, turned] = of_columns(&ev, [&x, &y], [&left, &right]).expect("on data");
            let (a, b) = (picked(&a, columns, &left), picked(&b, columns, &right));
            let (rows, width) = (left.len(), right.len());
            let entry =
                |i: usize, j: usize| (0..inner).map(|r| a[r * rows + i] * b[r * width + j]).sum::<f64>();
            let expected: Vec<f64> =
                (0..rows * width).map(|index| entry(index / width, index % width)).collect();
            let whole = right.end == columns && right.start == n;
            assert_eq!(
                (product.shape(), product.padding()),
                (&[rows, width][..], if whole { Padding::Zero } else { Padding::Dirty })
            );
            assert_close(&decrypt(&sk, &product), &expected, 1e-5);
            // The transposed matrix has zeros behind its rows.
            assert_eq!(turned.padding(), Padding::Zero);
            assert!(!holds_numbers(&sk, &turned));
            let expected: Vec<f64> =
                (0..rows * inner).map(|index| a[index % inner * rows + index / inner]).collect();
            assert_close(&decrypt(&sk, &turned), &expected, 1e-5);
        }
    }
}

#[test]
fn prepared_matrices_multiply_a_part_of_the_columns() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let (rows, inner, columns) = (5, 9, 30);
    let (weights, data) = (noise(rows * inner, 1), noise(inner * columns, 2));
    let options = EncryptOptions { bodies: Some(2), axis: Some(BodyAxis::Rows), ..lanes() };
    let x = encrypt_as(&sk, &Values::Real(data.clone()), &[inner, columns], options, 5);
    let plan = PreparedPlan::new(rows, inner, &weights, &x, PreparedOptions::default()).expect("a plan");
    let ev = evaluator(&sk, &plan.needs());
    let matrix = plan.prepare(&ev).expect("a matrix");
    for range in [3..9, 29..30, 0..17] {
        let part = ev.select_columns(&x, range.clone()).expect("columns");
        let product = matrix.multiply(&ev, &part).expect("a product");
        let (a, width) = (picked(&data, columns, &range), range.len());
        let entry =
            |i: usize, j: usize| (0..inner).map(|r| weights[i * inner + r] * a[r * width + j]).sum::<f64>();
        let expected: Vec<f64> = (0..rows * width).map(|index| entry(index / width, index % width)).collect();
        assert_eq!(product.padding(), Padding::Dirty);
        assert_close(&decrypt(&sk, &product), &expected, 1e-2);
    }
}

#[test]
fn light_clients_get_the_selected_numbers_alone() {
    let params = params("insecure_tiny");
    let (sk, ev) = (secret(&params, 3), Evaluator::new(&params));
    let client = sk.light_client(&light(1, Level(0), None)).expect("a client");
    let receiver = receiver_of(&sk, &client);
    let options = EncryptOptions { level: Some(Level(0)), ..coefficients() };
    let data = noise(2 * 40, 1);
    let x = encrypt_as(&sk, &Values::Real(data.clone()), &[2, 40], options, 5);
    let selected = ev.select_columns(&x, 30..37).expect("columns");
    let (whole, part) = (receiver.reply(&x).expect("a reply"), receiver.reply(&selected).expect("a reply"));
    assert!(part.len() < whole.len());
    assert_close(&client.decrypt(&part).expect("numbers"), &picked(&data, 40, &(30..37)), 1e-4);
}

#[test]
fn a_dry_run_counts_the_products_with_powers_of_x() {
    let params = params("insecure_tiny");
    let cost = |columns: Range<usize>| {
        let recorder = Evaluator::recording(&params);
        let x =
            recorder.symbol(&[3, 150], Encoding::Coefficients, params.max_level(), 1.0).expect("a symbol");
        recorder.select_columns(&x, columns).expect("columns");
        recorder.recorded().cost()
    };
    let primes = params.chain().basis(params.max_level()).len();
    assert_eq!(cost(5..20).hadamard_products, (3 * 2 * primes) as f64);
    assert_eq!(cost(5..20).transforms, primes as f64);
    for free in [0..150, 0..7, 64..150, 128..129] {
        assert_eq!(cost(free).nanoseconds, 0.0);
    }
}
