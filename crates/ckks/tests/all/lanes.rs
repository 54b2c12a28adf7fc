//! Rows that share polynomials in slots: every operation against plain arithmetic on the entries, on every
//! slot, and on dry runs whose keys suffice.

use std::sync::Arc;

use crate::common::measure::noise;
use crate::common::{assert_close, decrypt, params, secret};
use clathrate_ckks::circuits::polynomial::UNIT_DOMAIN;
use clathrate_ckks::encoding::decode_coefficients;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{EncryptOptions, Lanes};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Layout, LinearTransform, Padding, Params,
    Polynomial, PolynomialBasis, SecretKey,
};

const TOLERANCE: f64 = 1e-5;

/// Rows and columns, and lanes where not as many as there is room for. Degree 64 has 32 slots.
const CASES: [([usize; 2], Option<usize>); 9] = [
    ([3, 5], None),
    ([8, 4], None),
    ([9, 3], None),
    ([9, 4], Some(2)),
    ([2, 16], None),
    ([5, 1], None),
    ([40, 1], None),
    ([1, 5], Some(4)),
    ([33, 2], Some(8)),
];

fn set() -> Params {
    params("insecure_tiny")
}

fn options(lanes: Option<usize>) -> EncryptOptions {
    let lanes = Some(lanes.map_or(Lanes::Most, Lanes::Of));
    EncryptOptions { encoding: Some(Encoding::Slots), lanes, ..EncryptOptions::default() }
}

fn in_slots() -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() }
}

/// What runs on the array `x`, with an evaluator that has exactly the keys that a dry run found; the dry
/// run's level and scale are those of the result.
fn run(
    sk: &SecretKey,
    x: &Ciphertext,
    work: impl Fn(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>,
) -> Ciphertext {
    let recorder = Evaluator::recording(sk.params());
    let symbol =
        Ciphertext::symbol_with(x.params(), x.shape(), *x.layout(), x.secret(), x.level(), x.scale())
            .expect("a symbol");
    let symbol = recorder.take_symbol(symbol, Some(1.0)).expect("a symbol");
    let planned = work(&recorder, &symbol).expect("a dry run");
    let needs = recorder.needs();
    let evaluator = if needs.is_empty() {
        Evaluator::new(sk.params())
    } else {
        Evaluator::with_keys(Arc::new(sk.evaluation_keys(&needs).expect("keys")))
    };
    let result = work(&evaluator, x).expect("the computation");
    assert_eq!(
        (result.level(), result.scale(), result.shape()),
        (planned.level(), planned.scale(), planned.shape())
    );
    assert_eq!(result.layout(), planned.layout());
    assert_slots(sk, &result);
    result
}

/// Asserts that every slot holds what the layout says: each number in all of its copies, and zero in padding
/// that is said to be zero.
fn assert_slots(sk: &SecretKey, x: &Ciphertext) {
    let (layout, numbers) = (x.layout(), decrypt(sk, x));
    layout.check(x.shape(), x.params().degree()).expect("a layout");
    let secret = sk.named(x.secret()).expect("secret");
    for (index, bundle) in x.bundles().iter().enumerate() {
        let phase = bundle.phase(&secret).expect("phase").remove(0);
        let coefficients = decode_coefficients(&phase.into_coeff(), x.scale(), true).expect("all primes");
        let slots = x.params().encoder().evaluate(&coefficients, x.params().slot_count());
        let mut held = vec![None; layout.period()];
        for (position, entry) in layout.held(index) {
            held[position..position + layout.copies()].fill(Some(numbers[entry]));
        }
        for (slot, value) in slots.iter().enumerate() {
            let expected =
                held[slot % layout.period()].or((layout.padding() == Padding::Zero).then_some(0.0));
            if let Some(expected) = expected {
                assert!(
                    (value.re - expected).abs() < TOLERANCE,
                    "{layout}: slot {slot} of polynomial {index} is {value}, not {expected}"
                );
            }
        }
    }
}

/// Every case, encrypted, with its numbers.
fn each(mut test: impl FnMut(&SecretKey, &Ciphertext, &[f64], [usize; 2])) {
    let params = set();
    let sk = secret(&params, 1);
    for (seed, (shape, lanes)) in CASES.into_iter().enumerate() {
        let data = noise(shape[0] * shape[1], seed as u64 + 1);
        let x = sk.encrypt_array(&data, &shape, options(lanes)).expect("encrypt");
        assert_eq!(x.layout().bundles(), shape[0].div_ceil(x.layout().lanes()));
        test(&sk, &x, &data, shape);
    }
}

/// `sums[c]` over rows, or over columns.
fn sums(data: &[f64], [rows, columns]: [usize; 2], of_rows: bool) -> Vec<f64> {
    let entry = |row: usize, column: usize| data[row * columns + column];
    if of_rows {
        (0..columns).map(|column| (0..rows).map(|row| entry(row, column)).sum()).collect()
    } else {
        (0..rows).map(|row| (0..columns).map(|column| entry(row, column)).sum()).collect()
    }
}

#[test]
fn arrays_are_encrypted_stored_and_decrypted() {
    each(|sk, x, data, _| {
        assert_slots(sk, x);
        assert_close(&decrypt(sk, x), data, TOLERANCE);
        let bytes = x.to_file_bytes().expect("a file");
        let read = Ciphertext::from_reader(&FileReader::from_bytes(&bytes).expect("a container"), x.params())
            .expect("read");
        assert_eq!(read.layout(), x.layout());
        assert_close(&decrypt(sk, &read), data, TOLERANCE);
    });
}

#[test]
fn entries_are_multiplied_and_mapped_one_by_one() {
    let polynomial =
        Polynomial::new([0.5, 1.0, 0.25], PolynomialBasis::Power, UNIT_DOMAIN).expect("a polynomial");
    each(|sk, x, data, _| {
        let square = run(sk, x, |ev, x| ev.multiply_rescale(x, x));
        assert_close(&decrypt(sk, &square), &data.iter().map(|v| v * v).collect::<Vec<_>>(), TOLERANCE);
        let mapped = run(sk, x, |ev, x| polynomial.apply(ev, x));
        assert_close(
            &decrypt(sk, &mapped),
            &data.iter().map(|v| 0.5 + v + 0.25 * v * v).collect::<Vec<_>>(),
            TOLERANCE,
        );
        let plain = run(sk, x, |ev, x| ev.rescale(&ev.multiply_plain(&ev.add_plain(x, data)?, data)?));
        assert_close(&decrypt(sk, &plain), &data.iter().map(|v| 2.0 * v * v).collect::<Vec<_>>(), TOLERANCE);
    });
}

#[test]
fn rows_are_added_and_repeated() {
    each(|sk, x, data, shape| {
        let sum = run(sk, x, |ev, x| ev.sum_of_rows(x));
        let expected = sums(data, shape, true);
        assert_close(&decrypt(sk, &sum), &expected, TOLERANCE);
        assert!(sum.layout().is_plain(), "{}", sum.layout());
        // A row is in all lanes.
        let centred = run(sk, x, |ev, x| {
            let sum = ev.sum_of_rows(x)?;
            let (x, sum) = ev.broadcast_pair(x, &sum, "a difference")?;
            ev.sub(&x, &sum)
        });
        let expected: Vec<f64> =
            data.iter().enumerate().map(|(index, v)| v - expected[index % shape[1]]).collect();
        assert_close(&decrypt(sk, &centred), &expected, TOLERANCE);
        let cleared = run(sk, &centred, |ev, x| ev.rescale(&ev.clear_padding(x)?).or_else(|_| Ok(x.clone())));
        assert_close(&decrypt(sk, &cleared), &expected, TOLERANCE);
    });
}

#[test]
fn numbers_of_rows_are_added_and_repeated() {
    each(|sk, x, data, shape| {
        if x.layout().lanes() == 1 {
            return;
        }
        let settled = |ev: &Evaluator, x: &Ciphertext, factor: f64| {
            let total = ev.total_in_lanes(x, factor)?;
            if total.awaits_rescale() { ev.rescale(&total) } else { Ok(total) }
        };
        let total = run(sk, x, |ev, x| settled(ev, x, 1.0));
        let expected = sums(data, shape, false);
        assert_close(&decrypt(sk, &total), &expected, TOLERANCE);
        assert_eq!((total.shape(), total.padding()), (&[shape[0], 1][..], Padding::Zero));
        let halves = run(sk, x, |ev, x| settled(ev, x, 0.5));
        assert_close(&decrypt(sk, &halves), &expected.iter().map(|v| v / 2.0).collect::<Vec<_>>(), TOLERANCE);
        // The column is a vector as well, and back.
        if shape[0] > 1 {
            let vector = run(sk, &total, |_, x| x.clone().reshaped(&[shape[0]]));
            assert_close(&decrypt(sk, &vector), &expected, TOLERANCE);
            let double = run(sk, &vector, |ev, x| ev.add_plain(x, &expected));
            assert_close(
                &decrypt(sk, &double),
                &expected.iter().map(|v| 2.0 * v).collect::<Vec<_>>(),
                TOLERANCE,
            );
            let column = vector.reshaped(&[shape[0], 1]).expect("a column");
            assert_eq!(column.layout(), total.layout());
        }
        let centred = run(sk, x, |ev, x| {
            let total = settled(ev, x, 1.0)?;
            let (x, total) = ev.broadcast_pair(x, &total, "a difference")?;
            ev.sub(&x, &total)
        });
        let expected: Vec<f64> =
            data.iter().enumerate().map(|(index, v)| v - expected[index / shape[1]]).collect();
        assert_close(&decrypt(sk, &centred), &expected, TOLERANCE);
    });
}

#[test]
fn a_vector_is_a_column_whose_rows_share_polynomials() {
    let params = set();
    let sk = secret(&params, 1);
    for count in [2, 5, 32, 40] {
        let data = noise(count, 3);
        let vector = sk.encrypt_array(&data, &[count], in_slots()).expect("encrypt");
        let column = run(&sk, &vector, |_, x| x.clone().reshaped(&[count, 1]));
        assert_close(&decrypt(&sk, &column), &data, TOLERANCE);
        assert_eq!(column.layout().lanes(), count.next_power_of_two().min(32));
        let sum = run(&sk, &column, |ev, x| ev.sum_of_rows(x));
        assert_close(&decrypt(&sk, &sum), &[data.iter().sum()], TOLERANCE);
    }
}

#[test]
fn ranges_of_columns_cross_polynomials() {
    let params = set();
    let sk = secret(&params, 1);
    for (shape, capacity) in [(&[29][..], 8), (&[33], 16), (&[2, 21], 4), (&[3, 40], 32), (&[9], 1)] {
        let columns = shape[shape.len() - 1];
        let data = noise(shape.iter().product(), 5);
        let capacity = Some(capacity);
        let x = sk
            .encrypt_array(&data, shape, EncryptOptions { capacity, ..in_slots() })
            .expect("encrypt")
            .with_bound(Some(1.0))
            .expect("a bound");
        for start in 0..columns {
            for end in (start + 1..=columns).filter(|end| (start + end) % 3 == 0 || columns < 12) {
                let picked = run(&sk, &x, |ev, x| {
                    let picked = ev.select_columns(x, start..end)?;
                    if picked.awaits_rescale() { ev.rescale(&picked) } else { Ok(picked) }
                });
                let expected: Vec<f64> =
                    data.chunks(columns).flat_map(|row| row[start..end].to_vec()).collect();
                let got = decrypt(&sk, &picked);
                assert_close(&got, &expected, TOLERANCE);
                let bound = picked.error_bound().expect("a bound");
                let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst <= bound, "{start}..{end} of {shape:?}: {worst} of {bound}");
            }
        }
    }
}

#[test]
fn arrays_of_several_polynomials_are_joined() {
    let params = set();
    let sk = secret(&params, 1);
    for (rows, lengths) in [
        (1, &[40, 3][..]),
        (1, &[3, 40]),
        (1, &[64, 32, 1]),
        (1, &[33, 1, 33]),
        (1, &[5, 7, 70, 2, 90]),
        (2, &[20, 13]),
        (3, &[32, 40]),
        (1, &[31, 1]),
    ] {
        let shape = |columns: usize| if rows == 1 { vec![columns] } else { vec![rows, columns] };
        let data: Vec<Vec<f64>> =
            lengths.iter().map(|&columns| noise(rows * columns, columns as u64)).collect();
        let all: Vec<f64> = (0..rows)
            .flat_map(|row| {
                data.iter().zip(lengths).flat_map(move |(data, &columns)| &data[row * columns..][..columns])
            })
            .copied()
            .collect();
        let total: usize = lengths.iter().sum();
        let x = sk.encrypt_array(&all, &shape(total), in_slots()).expect("encrypt");
        let joined = run(&sk, &x, |ev, x| {
            let mut start = 0;
            let mut parts = Vec::new();
            for &columns in lengths {
                let part = ev.select_columns(x, start..start + columns)?;
                parts.push(if part.awaits_rescale() { ev.rescale(&part)? } else { part });
                start += columns;
            }
            ev.rescale(&ev.join_columns(&parts.iter().collect::<Vec<_>>())?)
        });
        assert_close(&decrypt(&sk, &joined), &all, TOLERANCE);
        assert_eq!(joined.padding(), Padding::Zero);
    }
}

#[test]
fn rows_are_picked_and_joined() {
    each(|sk, x, data, [rows, columns]| {
        let lanes = x.layout().lanes();
        for row in [0, rows / 2, rows - 1] {
            let picked = run(sk, x, |ev, x| {
                let row = ev.select_rows(x, &[row])?;
                if row.awaits_rescale() { ev.rescale(&row) } else { Ok(row) }
            });
            assert_close(&decrypt(sk, &picked), &data[row * columns..(row + 1) * columns], TOLERANCE);
            assert_eq!((picked.layout().lanes(), picked.shape()), (1, &[1, columns][..]));
        }
        let ev = Evaluator::new(sk.params());
        if lanes > 1 && rows > lanes {
            let first: Vec<usize> = (0..lanes).collect();
            let group = run(sk, x, |ev, x| ev.select_rows(x, &first));
            assert_close(&decrypt(sk, &group), &data[..lanes * columns], TOLERANCE);
            let both = run(sk, &group, |ev, group| ev.concatenate(&[group, group]));
            assert_close(
                &decrypt(sk, &both),
                &[&data[..lanes * columns], &data[..lanes * columns]].concat(),
                TOLERANCE,
            );
            let longer = ev.concatenate(&[&group, x]).expect("joined");
            assert_close(&decrypt(sk, &longer), &[&data[..lanes * columns], data].concat(), TOLERANCE);
            assert_slots(sk, &longer);
            let refused = ev.select_rows(x, &[0, 2]).expect_err("a part of a polynomial");
            assert!(refused.to_string().contains("pick one row"), "{refused}");
        }
        if lanes > 1 && !rows.is_multiple_of(lanes) {
            let refused = ev.concatenate(&[x, x]).expect_err("free places");
            assert!(refused.to_string().contains("places free"), "{refused}");
        }
    });
}

#[test]
fn rows_are_mapped_by_a_matrix() {
    each(|sk, x, data, [rows, columns]| {
        let capacity = x.layout().capacity();
        for images in [1, columns, capacity] {
            let weights = noise(images * columns, 9);
            let transform = LinearTransform::from_matrix(&weights, images, columns).expect("a map");
            if x.layout().lanes() == 1 && transform.slots() != capacity {
                continue;
            }
            let mapped = run(sk, x, |ev, x| transform.apply(ev, x));
            let image = |row: usize, j: usize| {
                (0..columns).map(|i| weights[j * columns + i] * data[row * columns + i]).sum::<f64>()
            };
            let expected: Vec<f64> = (0..rows)
                .flat_map(|row| (0..images).map(move |j| (row, j)))
                .map(|(row, j)| image(row, j))
                .collect();
            assert_close(&decrypt(sk, &mapped), &expected, 1e-4);
        }
    });
}

#[test]
fn what_would_mix_rows_is_refused() {
    let params = set();
    let sk = secret(&params, 1);
    let x = sk.encrypt_array(&noise(15, 1), &[3, 5], options(None)).expect("encrypt");
    let ev = Evaluator::with_keys(Arc::new(
        sk.evaluation_keys(&KeyNeeds::new().rotations([1], clathrate_ckks::keys::KeyLevel::Top))
            .expect("keys"),
    ));
    assert!(matches!(ev.rotate(&x, 1), Err(CkksError::Unsuitable { .. })));
    let too_long = LinearTransform::from_matrix(&noise(5 * 16, 2), 16, 5).expect("a map");
    let refused = too_long.apply(&ev, &x).expect_err("longer rows");
    assert!(refused.to_string().contains("with 8 slots for each"), "{refused}");
    // Another number of lanes is another place.
    let other = sk.encrypt_array(&noise(15, 1), &[3, 5], in_slots()).expect("encrypt");
    assert!(
        matches!(ev.add(&x, &other), Err(CkksError::Unsuitable { reason, .. }) if reason.contains("laid out differently")),
        "{:?}",
        ev.add(&x, &other).err()
    );
    // There is no room for as many lanes, or copies.
    let layout = Layout::new(&[3, 5], Encoding::Slots, 64).expect("a layout");
    assert!(matches!(layout.with_lanes(Some(8)), Err(CkksError::OutOfRange { .. })));
    assert!(matches!(layout.with_lanes(Some(3)), Err(CkksError::OutOfRange { .. })));
    assert!(matches!(layout.with_copies(8), Err(CkksError::OutOfRange { .. })));
    assert!(matches!(layout.with_copies(0), Err(CkksError::OutOfRange { .. })));
    let in_coefficients = Layout::new(&[3, 5], Encoding::Coefficients, 64).expect("a layout");
    assert!(matches!(in_coefficients.with_copies(2), Err(CkksError::OutOfRange { .. })));
    // Padding of lanes without a row would enter the sum of all rows.
    let row = sk.encrypt_array(&noise(5, 4), &[5], in_slots()).expect("encrypt");
    let (x, row) = ev.broadcast_pair(&x, &row, "a difference").expect("broadcast");
    let dirty = ev.sub(&x, &row).expect("a difference");
    assert_eq!(dirty.padding(), Padding::Dirty);
    assert!(
        matches!(ev.sum_of_rows(&dirty), Err(CkksError::Unsuitable { reason, .. }) if reason.contains("padding that is not zero"))
    );
}
