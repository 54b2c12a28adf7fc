//! Arrays that do not fill their slots: every operation against plain arithmetic, on the entries and on what
//! the padding holds.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::encoding::decode_coefficients;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Values};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Padding, Params, Polynomial, PolynomialBasis,
    SecretKey,
};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

const TOLERANCE: f64 = 1e-6;

/// An array: its shape, and slots per polynomial where that is not what the row needs.
struct Case {
    shape: Vec<usize>,
    capacity: Option<usize>,
}

fn cases() -> Vec<Case> {
    let of = |shape: &[usize], capacity| Case { shape: shape.to_vec(), capacity };
    let mut cases: Vec<Case> = [1, 3, 5, 7, 8].map(|columns| of(&[columns], Some(8))).into();
    cases.extend([
        of(&[5], Some(16)),
        of(&[3, 5], None),
        of(&[2, 3], Some(16)),
        of(&[], None),
        of(&[1], Some(32)),
    ]);
    cases
}

/// Degree 64: 32 slots, four levels.
fn set() -> Params {
    params("insecure_tiny")
}

fn needs() -> KeyNeeds {
    KeyNeeds::new()
        .relinearise(KeyLevel::Top)
        .conjugate(KeyLevel::Top)
        .rotations([1, 2, 4, 8, 16, -1], KeyLevel::Top)
}

fn encrypt_case(sk: &SecretKey, case: &Case, seed: u64) -> (Ciphertext, Vec<Complex64>) {
    let data = phases(case.shape.iter().product(), seed);
    let options = EncryptOptions {
        encoding: Some(Encoding::Slots),
        capacity: case.capacity,
        ..EncryptOptions::default()
    };
    (encrypt_as(sk, &Values::Complex(data.clone()), &case.shape, options, seed as u8), data)
}

/// All slots of every body of every bundle.
fn slots(sk: &SecretKey, x: &Ciphertext) -> Vec<Vec<Complex64>> {
    let owner =
        if x.params() == sk.params() { sk.clone() } else { sk.relative(x.params()).expect("a relative") };
    let secret = owner.named(x.secret()).expect("secret");
    let decode = |phase| decode_coefficients(&phase, x.scale(), true).expect("all primes");
    x.bundles()
        .iter()
        .flat_map(|bundle| bundle.phase(&secret).expect("phase"))
        .map(|phase| x.params().encoder().evaluate(&decode(phase.into_coeff()), x.layout().capacity()))
        .collect()
}

/// The slots of the array's rows with their padding: what `entries`, row after row, and a number for every
/// padding slot make.
fn filled(x: &Ciphertext, entries: &[Complex64], padding: f64) -> Vec<Vec<Complex64>> {
    let layout = x.layout();
    let polynomial = |index: usize| {
        let mut slots = vec![Complex64::from(padding); layout.capacity()];
        layout.entries(index, 0).enumerate().for_each(|(t, entry)| slots[t] = entries[entry]);
        slots
    };
    (0..layout.polynomials()).map(polynomial).collect()
}

fn assert_slots(what: &str, got: &[Vec<Complex64>], expected: &[Vec<Complex64>]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (got, expected) in got.iter().zip(expected) {
        let worst = got.iter().zip(expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(worst < TOLERANCE, "{what}: {worst:e}, {got:?} for {expected:?}");
    }
}

/// Asserts entries, the padding's numbers, and the padding's state: dirty where some slot of it holds a
/// number and may, zero else.
fn assert_padded(sk: &SecretKey, what: &str, x: &Ciphertext, entries: &[Complex64], padding: f64) {
    let got = slots(sk, x);
    assert_slots(what, &got, &filled(x, entries, padding));
    let expected = if padding != 0.0 && x.layout().has_padding() { Padding::Dirty } else { Padding::Zero };
    assert_eq!(x.padding(), expected, "{what}");
}

fn zip(a: &[Complex64], b: &[Complex64], f: impl Fn(Complex64, Complex64) -> Complex64) -> Vec<Complex64> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

/// An array whose padding holds a number: `x - broadcast`.
fn dirtied(ev: &Evaluator, sk: &SecretKey, x: &Ciphertext, number: f64) -> Ciphertext {
    let layout = x.layout();
    let options = EncryptOptions {
        encoding: Some(Encoding::Slots),
        level: Some(x.level()),
        ..EncryptOptions::default()
    };
    let mut shape = x.shape().to_vec();
    shape.pop();
    shape.push(1);
    let column = encrypt_as(sk, &Values::Complex(vec![number.into(); layout.rows()]), &shape, options, 90);
    let repeated = ev.broadcast(&column, layout.columns()).expect("broadcast");
    assert_eq!(repeated.layout().capacity(), layout.capacity(), "the same slots");
    ev.sub(x, &repeated).expect("difference")
}

/// Cases whose capacity is the natural one: those that broadcasts combine with.
fn natural_cases() -> Vec<Case> {
    let of = |shape: &[usize]| Case { shape: shape.to_vec(), capacity: None };
    [&[1][..], &[3], &[5], &[7], &[8], &[3, 5], &[37], &[2, 33], &[2, 64]].map(of).into()
}

#[test]
fn fresh_arrays_and_plaintexts_are_zero_in_the_padding() {
    let params = set();
    let sk = secret(&params, 1);
    let ev = Evaluator::new(&params);
    for case in cases().iter().chain(&natural_cases()) {
        let (x, data) = encrypt_case(&sk, case, 1);
        assert_padded(&sk, "fresh", &x, &data, 0.0);
        let plain = ev
            .encode(&Values::Complex(data.clone()), &case.shape, Encoding::Slots, x.level(), x.scale())
            .expect("encode");
        assert_padded(&sk, "encoded", &sk.encrypt_encoded(&plain).expect("encrypt"), &data, 0.0);
    }
    // A tail of 5 of 32 slots in the second chunk.
    let (x, _) = encrypt_case(&sk, &Case { shape: vec![37], capacity: None }, 1);
    assert_eq!((x.layout().capacity(), x.layout().chunks(), x.layout().entries_in(1)), (32, 2, 5));
}

#[test]
fn entry_by_entry_operations_leave_zero_padding_zero() {
    let params = set();
    let sk = secret(&params, 2);
    let ev = evaluator(&sk, &needs());
    for case in cases().iter().chain(&natural_cases()) {
        let ((x, a), (y, b)) = (encrypt_case(&sk, case, 2), encrypt_case(&sk, case, 3));
        let plain = Values::Complex(b.clone());
        let check = |what: &str,
                     result: Result<Ciphertext, CkksError>,
                     f: &dyn Fn(Complex64, Complex64) -> Complex64| {
            let result = result.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_padded(&sk, what, &result, &zip(&a, &b, f), 0.0);
        };
        check("sum", ev.add(&x, &y), &|a, b| a + b);
        check("difference", ev.sub(&x, &y), &|a, b| a - b);
        check("negative", ev.negate(&x), &|a, _| -a);
        check("plaintext sum", ev.add_plain(&x, &plain), &|a, b| a + b);
        // A number in every entry: the padding stays what it is.
        check("number", ev.add_plain(&x, &Values::Real(vec![0.75; a.len()])), &|a, _| a + 0.75);
        check("product", ev.multiply(&x, &y), &|a, b| a * b);
        check("rescaled product", ev.multiply_rescale(&x, &y), &|a, b| a * b);
        check("square", ev.square(&x), &|a, _| a * a);
        check("plaintext product", ev.multiply_plain(&x, &plain), &|a, b| a * b);
        check("rescaled", ev.multiply_plain(&x, &plain).and_then(|z| ev.rescale(&z)), &|a, b| a * b);
        check("integer multiple", ev.multiply_integer(&x, -3), &|a, _| -3.0 * a);
        check("multiple", ev.multiply_scalar(&x, 0.3), &|a, _| 0.3 * a);
        check("lower level", ev.drop_to_level(&x, Level(1)), &|a, _| a);
        check("conjugate", ev.conjugate(&x), &|a, _| a.conj());
        check("cleared", ev.clear_padding(&x), &|a, _| a);
        assert_eq!(
            ev.clear_padding(&x).expect("nothing to clear").scale(),
            x.scale(),
            "no level is spent where there is nothing to clear"
        );
    }
}

#[test]
fn polynomials_clear_what_they_put_into_the_padding() {
    let params = set();
    let sk = secret(&params, 3);
    let ev = evaluator(&sk, &needs());
    for coefficients in [vec![0.5, 1.0, -0.25], vec![0.0, 1.0, 0.5], vec![-0.5]] {
        for basis in [PolynomialBasis::Power, PolynomialBasis::Chebyshev] {
            let p = Polynomial::new(coefficients.clone(), basis, (-1.0, 1.0)).expect("polynomial");
            for case in cases().iter().chain(&natural_cases()) {
                let (x, a) = encrypt_case(&sk, case, 4);
                let result = p.apply(&ev, &x).expect("polynomial");
                let expected: Vec<Complex64> = a.iter().map(|&a| p.evaluate(a)).collect();
                assert_padded(&sk, "polynomial", &result, &expected, 0.0);
            }
            // Dirty padding stays dirty: p of what it holds, without p(0).
            let case = Case { shape: vec![5], capacity: None };
            let (x, a) = encrypt_case(&sk, &case, 4);
            let dirty = dirtied(&ev, &sk, &x, 0.25);
            let result = p.apply(&ev, &dirty).expect("polynomial");
            let expected: Vec<Complex64> = a.iter().map(|&a| p.evaluate(a - 0.25)).collect();
            assert_slots(
                "polynomial",
                &slots(&sk, &result),
                &filled(&result, &expected, p.evaluate_real(-0.25) - p.evaluate_real(0.0)),
            );
            assert_eq!(result.padding(), Padding::Dirty);
        }
    }
}

#[test]
fn rotations_turn_the_padded_row_and_say_that_entries_left_it() {
    let params = set();
    let sk = secret(&params, 4);
    let ev = evaluator(&sk, &needs());
    for case in cases() {
        let (x, a) = encrypt_case(&sk, &case, 5);
        let capacity = x.layout().capacity();
        for step in [1i64, -1, 2, 3, capacity as i64, 0] {
            let turned = ev.rotate(&x, step).expect("rotation");
            let mut expected = filled(&x, &a, 0.0);
            expected.iter_mut().for_each(|row| row.rotate_left(step.rem_euclid(capacity as i64) as usize));
            assert_slots("rotation", &slots(&sk, &turned), &expected);
            let moves = step.rem_euclid(capacity as i64) != 0 && x.layout().has_padding();
            assert_eq!(
                turned.padding(),
                if moves { Padding::Dirty } else { Padding::Zero },
                "{:?} by {step}",
                case.shape
            );
            // What left the row would come back as if it were an entry: said, not done.
            let again = ev.rotate(&turned, 1);
            if moves {
                assert_refused!(
                    again,
                    CkksError::Unsuitable { .. },
                    "padding that is not zero",
                    "a rotation",
                    "clear_padding",
                    &format!("in {capacity} places")
                );
                assert!(ev.rotate(&turned, capacity as i64).is_ok(), "nothing turns");
                // Cleared, zeros come in.
                let cleared = ev.rescale(&ev.clear_padding(&turned).expect("cleared")).expect("rescale");
                let kept = filled(
                    &x,
                    &expected.iter().flat_map(|row| row[..x.layout().columns()].to_vec()).collect::<Vec<_>>(),
                    0.0,
                );
                assert_slots("cleared", &slots(&sk, &cleared), &kept);
                assert_eq!(cleared.padding(), Padding::Zero);
                assert!(ev.rotate(&cleared, 1).is_ok());
            } else if capacity > 1 {
                assert!(again.is_ok());
            }
        }
        let many = ev.rotate_many(&x, &[0, 1]).expect("rotations");
        let dirty = if x.layout().has_padding() { Padding::Dirty } else { Padding::Zero };
        assert_eq!((many[0].padding(), many[1].padding()), (Padding::Zero, dirty));
    }
}

#[test]
fn states_of_the_padding_join_as_the_numbers_do() {
    let params = set();
    let sk = secret(&params, 5);
    let ev = evaluator(&sk, &needs());
    for case in natural_cases() {
        let ((x, a), (y, b)) = (encrypt_case(&sk, &case, 6), encrypt_case(&sk, &case, 7));
        let (dx, dy) = (dirtied(&ev, &sk, &x, 0.5), dirtied(&ev, &sk, &y, -0.25));
        let (a, b) = (zip(&a, &a, |a, _| a - 0.5), zip(&b, &b, |b, _| b + 0.25));
        let clear: Vec<Complex64> = zip(&b, &b, |b, _| b - 0.25);
        assert_padded(&sk, "dirty", &dx, &a, -0.5);
        assert_padded(
            &sk,
            "dirty + dirty",
            &ev.add(&dx, &dy).expect("sum"),
            &zip(&a, &b, |a, b| a + b),
            -0.25,
        );
        assert_padded(
            &sk,
            "dirty + clear",
            &ev.add(&dx, &y).expect("sum"),
            &zip(&a, &clear, |a, b| a + b),
            -0.5,
        );
        assert_padded(
            &sk,
            "clear - dirty",
            &ev.sub(&y, &dx).expect("difference"),
            &zip(&a, &clear, |a, b| b - a),
            0.5,
        );
        assert_padded(
            &sk,
            "dirty * dirty",
            &ev.multiply_rescale(&dx, &dy).expect("product"),
            &zip(&a, &b, |a, b| a * b),
            -0.125,
        );
        assert_padded(
            &sk,
            "dirty * clear",
            &ev.multiply_rescale(&dx, &y).expect("product"),
            &zip(&a, &clear, |a, b| a * b),
            0.0,
        );
        assert_padded(
            &sk,
            "clear * dirty",
            &ev.multiply(&y, &dx).expect("product"),
            &zip(&a, &clear, |a, b| a * b),
            0.0,
        );
        assert_padded(&sk, "negative", &ev.negate(&dx).expect("negative"), &zip(&a, &a, |a, _| -a), 0.5);
        assert_padded(
            &sk,
            "multiple",
            &ev.multiply_integer(&dx, 3).expect("multiple"),
            &zip(&a, &a, |a, _| 3.0 * a),
            -1.5,
        );
        assert_padded(
            &sk,
            "conjugate",
            &ev.conjugate(&dx).expect("conjugate"),
            &zip(&a, &a, |a, _| a.conj()),
            -0.5,
        );
        assert_padded(&sk, "lower", &ev.drop_to_level(&dx, Level(1)).expect("lower"), &a, -0.5);
        let plain = Values::Complex(b.clone());
        assert_padded(
            &sk,
            "plaintext sum",
            &ev.add_plain(&dx, &plain).expect("sum"),
            &zip(&a, &b, |a, b| a + b),
            -0.5,
        );
        assert_padded(
            &sk,
            "plaintext product",
            &ev.multiply_plain(&dx, &plain).expect("product"),
            &zip(&a, &b, |a, b| a * b),
            0.0,
        );
        let cleared = ev.clear_padding(&dx).expect("cleared");
        assert_padded(&sk, "cleared", &cleared, &a, 0.0);
        if dx.layout().has_padding() {
            assert_padded(&sk, "rescaled", &ev.rescale(&cleared).expect("rescale"), &a, 0.0);
            assert_refused!(
                ev.total(&dx),
                CkksError::Unsuitable { .. },
                "padding that is not zero",
                "the sum of a row",
                "clear_padding"
            );
        }
        // Files keep the state.
        let stored = dx.to_file_bytes().expect("file");
        let again = Ciphertext::from_reader(&FileReader::from_bytes(&stored).expect("readable"), &params)
            .expect("file");
        assert_eq!(again.layout(), dx.layout());
        if x.layout().has_padding() {
            assert_eq!(again.padding(), Padding::Dirty);
        }
    }
}

#[test]
fn totals_are_the_sums_of_rows_and_of_nothing_else() {
    let params = set();
    let sk = secret(&params, 6);
    let ev = evaluator(&sk, &needs());
    for case in cases().iter().chain(&natural_cases()) {
        let (x, a) = encrypt_case(&sk, case, 8);
        let total = ev.total(&x).expect("total");
        let columns = x.layout().columns();
        let sums: Vec<Complex64> = a.chunks(columns).map(|row| row.iter().sum()).collect();
        let mut shape = case.shape.clone();
        shape.pop();
        shape.push(1);
        assert_eq!((total.shape(), total.layout().capacity(), total.layout().chunks()), (&shape[..], 1, 1));
        assert_padded(&sk, "total", &total, &sums, 0.0);
        // A fresh array of one column combines with it.
        let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
        let column = encrypt_as(&sk, &Values::Complex(sums.clone()), &shape, options, 9);
        assert_padded(
            &sk,
            "difference",
            &ev.sub(&total, &column).expect("one layout"),
            &vec![Complex64::default(); sums.len()],
            0.0,
        );
        // Repeated, it is in every slot: entries and padding.
        let repeated = ev.broadcast(&total, columns).expect("broadcast");
        let entries: Vec<Complex64> = sums.iter().flat_map(|&sum| vec![sum; columns]).collect();
        let expected: Vec<Vec<Complex64>> = (0..repeated.layout().polynomials())
            .map(|index| {
                vec![entries[repeated.layout().entries(index, 0).start]; repeated.layout().capacity()]
            })
            .collect();
        assert_slots("broadcast", &slots(&sk, &repeated), &expected);
        assert_eq!(repeated.padding() == Padding::Dirty, repeated.layout().has_padding());
    }
}

#[test]
fn mean_and_variance_of_rows_that_do_not_fill_their_slots_are_right() {
    let params = set();
    let sk = secret(&params, 7);
    let ev = evaluator(&sk, &needs());
    for columns in [1usize, 3, 5, 7, 8, 20, 37] {
        let rows = 2;
        let data = noise(rows * columns, 10);
        let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
        let x = encrypt_as(&sk, &Values::Real(data.clone()), &[rows, columns], options, 10);
        let count = columns as f64;
        // An integer factor and a cleared padding that was zero leave the scale as it is.
        let settled = |z: Ciphertext| if z.scale() == x.scale() { Ok(z) } else { ev.rescale(&z) };
        let means = ev
            .total(&x)
            .and_then(|total| ev.multiply_scalar(&total, 1.0 / count))
            .and_then(settled)
            .expect("mean");
        let c = ev.sub(&x, &ev.broadcast(&means, columns).expect("broadcast")).expect("centred");
        let clear_mean: Vec<f64> = data.chunks(columns).map(|row| row.iter().sum::<f64>() / count).collect();
        assert_close(&decrypt(&sk, &means), &clear_mean, TOLERANCE);
        if x.layout().has_padding() {
            // The sum of c would be that of the padding: -(capacity - columns) mean.
            assert_refused!(
                ev.total(&c),
                CkksError::Unsuitable { .. },
                "padding that is not zero",
                &format!("rows of {columns} entries"),
                "clear_padding"
            );
            assert_refused!(
                ev.total(&ev.square(&c).expect("square")),
                CkksError::Unsuitable { .. },
                "padding that is not zero",
                "clear_padding"
            );
        }
        let centred = ev.clear_padding(&c).and_then(|cleared| {
            if cleared.scale() == c.scale() { Ok(cleared) } else { ev.rescale(&cleared) }
        });
        let centred = centred.expect("cleared");
        assert_close(&decrypt(&sk, &ev.total(&centred).expect("total")), &vec![0.0; rows], TOLERANCE);
        let variance = ev
            .multiply_rescale(&centred, &centred)
            .and_then(|square| ev.total(&square))
            .expect("sum of squares");
        let clear: Vec<f64> = data
            .chunks(columns)
            .zip(&clear_mean)
            .map(|(row, mean)| row.iter().map(|v| (v - mean).powi(2)).sum::<f64>())
            .collect();
        assert_close(&decrypt(&sk, &variance), &clear, 1e-5);
    }
}

#[test]
fn matrix_products_of_padded_rows_keep_the_padding_apart() {
    let params = set();
    let sk = secret(&params, 8);
    let ev = evaluator(&sk, &needs());
    let weights = noise(2 * 3, 1);
    for columns in [1usize, 3, 5, 7, 37] {
        let case = Case { shape: vec![3, columns], capacity: None };
        let (x, a) = encrypt_case(&sk, &case, 11);
        for (x, a, padding) in [
            (x.clone(), a.clone(), None),
            (dirtied(&ev, &sk, &x, 0.5), zip(&a, &a, |a, _| a - 0.5), Some(-0.5)),
        ] {
            let product = Weights::encode(&ev, 2, 3, &weights, &x)
                .expect("weights")
                .multiply(&ev, &x)
                .expect("product");
            let entries: Vec<Complex64> = (0..2 * columns)
                .map(|i| (0..3).map(|k| weights[i / columns * 3 + k] * a[k * columns + i % columns]).sum())
                .collect();
            // The padding of a row of the product is that row's combination of the paddings.
            let got = slots(&sk, &product);
            let layout = product.layout();
            for (index, got) in got.iter().enumerate() {
                let row = layout.polynomial(index).0;
                let tail = padding.unwrap_or(0.0) * weights[row * 3..(row + 1) * 3].iter().sum::<f64>();
                let mut expected = vec![Complex64::from(tail); layout.capacity()];
                layout.entries(index, 0).enumerate().for_each(|(t, entry)| expected[t] = entries[entry]);
                assert_slots("matrix product", std::slice::from_ref(got), &[expected]);
            }
            assert_eq!(
                product.padding() == Padding::Dirty,
                padding.is_some() && layout.has_padding(),
                "{columns} columns"
            );
        }
    }
}

#[test]
fn moves_between_shapes_and_secrets_carry_the_padding() {
    let params = custom(
        "name = \"four\"\ndegree = 32\nrank = 4\nsteps = [[30, 30], [40], [40], [40], [40]]\nspecial = [42, 42]\nlog2_scale = 40\ninsecure = true\n",
    );
    let sk = secret(&params, 9);
    let two = params.at_rank(2).expect("rank 2");
    let needs = KeyNeeds::new()
        .merge(&params.rlwe_needs(KeyLevel::Top))
        .reduce_to(2, KeyLevel::Top)
        .shared_mask(2, KeyLevel::Top)
        .rotations([1, 2, 4, 8], KeyLevel::Top)
        .rotations_of_bodies(2, [1, 2, 4], KeyLevel::Top);
    let ev = evaluator(&sk, &needs);
    for columns in [1usize, 3, 5, 7] {
        let case = Case { shape: vec![3, columns], capacity: None };
        let (x, a) = encrypt_case(&sk, &case, 12);
        let dirty = dirtied(&ev, &sk, &x, 0.5);
        for (x, a, padding) in [(x.clone(), a.clone(), 0.0), (dirty, zip(&a, &a, |a, _| a - 0.5), -0.5)] {
            let high = ev.to_rlwe(&x).expect("rank 1");
            assert_padded(&sk, "to_rlwe", &high, &a, padding);
            assert_padded(&sk, "to_mlwe", &ev.to_mlwe(&high, 8).expect("rank 8"), &a, padding);
            let low = ev.drop_to_level(&x, two.max_level()).and_then(|x| ev.to_rank(&x, 2)).expect("rank 2");
            assert_padded(&sk, "to_rank", &low, &a, padding);
            assert_padded(&sk, "to_rank", &ev.to_rank(&low, 4).expect("rank 4"), &a, padding);
            let shared = ev.share_mask(&x, 2).expect("shared");
            // Three rows under two masks: the fourth body is zero, whatever the rows' padding holds.
            let all = slots(&sk, &shared);
            assert_slots("share_mask", &all[..3], &filled(&x, &a, padding));
            assert_slots("share_mask", &all[3..], &[vec![Complex64::default(); x.layout().capacity()]]);
            assert_eq!(shared.padding(), x.padding());
            assert_padded(&sk, "split_mask", &ev.split_mask(&shared).expect("split"), &a, padding);
            // Under shared masks the same rules hold.
            if x.layout().has_padding() && padding != 0.0 {
                assert_refused!(
                    ev.rotate(&shared, 1),
                    CkksError::Unsuitable { .. },
                    "padding that is not zero",
                    "a rotation"
                );
                assert_refused!(
                    ev.total(&shared),
                    CkksError::Unsuitable { .. },
                    "padding that is not zero",
                    "the sum of a row"
                );
            }
            let cleared = ev.clear_padding(&shared).expect("one mask for all rows");
            assert_slots(
                "clear_padding",
                &slots(&sk, &cleared)[..3],
                &filled(&x, &a, if x.layout().has_padding() { 0.0 } else { padding }),
            );
            let total = ev.total(&cleared).expect("total");
            let sums: Vec<Complex64> = a.chunks(columns).map(|row| row.iter().sum()).collect();
            assert_slots("total", &slots(&sk, &total)[..3], &filled(&total, &sums, 0.0)[..3]);
            assert_eq!((total.layout().bodies(), total.shape()), (2, &[3, 1][..]));
        }
    }
}

#[test]
fn coefficients_are_zero_behind_the_last_entry() {
    let params = set();
    let sk = secret(&params, 10);
    let ev = Evaluator::new(&params);
    for columns in [1usize, 3, 5, 63, 69] {
        let data = noise(2 * columns, 13);
        let options = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
        let x = encrypt_as(&sk, &Values::Real(data.clone()), &[2, columns], options, 13);
        let weights = noise(4, 2);
        let product =
            Weights::encode(&ev, 2, 2, &weights, &x).expect("weights").multiply(&ev, &x).expect("product");
        for x in [ev.add(&x, &x), ev.add_plain(&x, &data), ev.multiply_scalar(&x, -0.4), Ok(product)] {
            let x = x.expect("a linear operation");
            assert_eq!(x.padding(), Padding::Zero);
            for (index, bundle) in x.bundles().iter().enumerate() {
                let phase = bundle.phase(sk.secret()).expect("phase").swap_remove(0).into_coeff();
                let coefficients = decode_coefficients(&phase, x.scale(), true).expect("all primes");
                let entries = x.layout().entries(index, 0).len();
                let worst = coefficients[entries..].iter().fold(0.0f64, |worst, v| worst.max(v.abs()));
                assert!(worst < 1e-7, "{columns} columns, bundle {index}: {worst:e}");
            }
        }
        let total = ev.total(&x).expect("a sum of coefficients");
        assert_eq!(total.padding(), Padding::Dirty, "other sums are in the other coefficients");
        assert_close(
            &decrypt(&sk, &total),
            &data.chunks(columns).map(|row| row.iter().sum::<f64>()).collect::<Vec<_>>(),
            TOLERANCE,
        );
        for refused in [ev.broadcast(&total, 3), ev.broadcast(&x, 3), ev.rotate(&x, 1)] {
            assert_refused!(refused, CkksError::Encoding { .. }, "needs the encoding slots");
        }
    }
    let (x, _) = encrypt_case(&sk, &Case { shape: vec![5], capacity: None }, 1);
    assert_refused!(ev.broadcast(&x, 3), CkksError::Shape { .. }, "[5]", "arrays of one column");
}
