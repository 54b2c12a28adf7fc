//! Declared bounds on the numbers of ciphertexts: carried through operations, kept in files, and refusals of
//! what might wrap around.

use crate::common::{decrypt, params, secret};
use clathrate_ckks::circuits::matrix::Weights;
use clathrate_ckks::encrypted_array::EncryptedArray;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::functions::SmoothFunction;
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Lanes};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Level, Params, Polynomial, PolynomialBasis,
    SecretKey,
};

const VALUES: [f64; 4] = [1.0, -2.0, 0.5, 3.0];

fn declared(owner: &SecretKey, bound: f64) -> Ciphertext {
    owner
        .encrypt_array(&VALUES, &[4], EncryptOptions { bound: Some(bound), ..EncryptOptions::default() })
        .expect("made")
}

fn evaluator(owner: &SecretKey) -> Evaluator {
    let needs =
        KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1, 2], KeyLevel::Top).conjugate(KeyLevel::Top);
    Evaluator::with_keys(owner.evaluation_keys(&needs).expect("made"))
}

/// The largest bound at the scale and level of `x`.
fn headroom(x: &Ciphertext) -> f64 {
    (x.params().log2_q(x.level()) - 2.0 - x.scale().log2()).exp2()
}

fn assert_bound(x: &Ciphertext, expected: f64) {
    let bound = x.bound().expect("a bound");
    assert!((bound / expected - 1.0).abs() < 1e-12, "{bound} instead of {expected}");
}

#[test]
fn operations_carry_the_bound_through() {
    let owner = secret(&params("insecure_small"), 7);
    let e = evaluator(&owner);
    let (x, y) = (declared(&owner, 4.0), declared(&owner, 3.0));
    assert_bound(&x, 4.0);
    let product = e.multiply(&x, &y).unwrap();
    let mut sum = x.clone();
    e.add_assign(&mut sum, &y).unwrap();
    let mut into = x.clone();
    e.add_into(&mut into, &x, &y).unwrap();
    let column = owner
        .encrypt_array(
            &VALUES,
            &[4, 1],
            EncryptOptions {
                bound: Some(4.0),
                encoding: Some(Encoding::Coefficients),
                ..EncryptOptions::default()
            },
        )
        .unwrap();
    let weights = Weights::new(2, 4, &[1.0, -2.0, 0.0, 3.0, 1.0, 1.0, 1.0, 1.0], 1.0).unwrap();
    let low = e.drop_to_level(&x, Level(1)).unwrap();
    let cases: Vec<(Ciphertext, f64)> = vec![
        (e.add(&x, &y).unwrap(), 7.0),
        (e.add(&low, &y).unwrap(), 7.0),
        (e.sub(&x, &y).unwrap(), 7.0),
        (sum, 7.0),
        (into, 7.0),
        (e.negate(&x).unwrap(), 4.0),
        (e.add_plain(&x, &[0.0, -5.0, 1.0, 0.0]).unwrap(), 9.0),
        (e.add_constant(&x, clathrate_ckks::Complex64::new(3.0, 4.0)).unwrap(), 9.0),
        (e.multiply_plain(&x, &[0.5, -2.0, 1.0, 0.0]).unwrap(), 8.0),
        (e.multiply_scalar(&x, -2.5).unwrap(), 10.0),
        (e.multiply_integer(&x, -3).unwrap(), 12.0),
        (e.rescale(&product).unwrap(), 12.0),
        (product, 12.0),
        (e.multiply_rescale(&x, &y).unwrap(), 12.0),
        (low, 4.0),
        (e.rotate(&x, 1).unwrap(), 4.0),
        (e.conjugate(&x).unwrap(), 4.0),
        (e.total(&x).unwrap(), 16.0),
        (e.total_weighted(&x, &[1.0, -1.0, 0.5, 0.0]).unwrap(), 10.0),
        (e.total(&column).unwrap(), 4.0),
        (e.sum_of_rows(&column).unwrap(), 16.0),
        (e.broadcast_to(&x, &[3, 4]).unwrap(), 4.0),
        (weights.multiply(&e, &column).unwrap(), 24.0),
    ];
    for (index, (result, expected)) in cases.iter().enumerate() {
        let bound = result.bound().unwrap_or_else(|| panic!("case {index} lost its bound"));
        assert!((bound / expected - 1.0).abs() < 1e-12, "case {index}: {bound} instead of {expected}");
    }
    // One operand without a bound leaves none.
    let plain = owner.encrypt(&VALUES).unwrap();
    assert_eq!((plain.bound(), e.add(&x, &plain).unwrap().bound()), (None, None));
    assert_eq!(e.multiply(&plain, &x).unwrap().bound(), None);
}

#[test]
fn polynomials_are_bounded_on_their_domain_alone() {
    let owner = secret(&params("insecure_deep"), 8);
    let e = Evaluator::with_keys(owner.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top)).unwrap());
    let x = declared(&owner, 4.0);
    let polynomial =
        |low, high| Polynomial::new([0.0, 0.0, 1.0], PolynomialBasis::Chebyshev, (low, high)).unwrap();
    // T_2 is at most 1 on its domain, whatever the general rules say.
    let inside = polynomial(-4.0, 4.0).apply(&e, &x).unwrap();
    let bound = inside.bound().expect("a bound");
    assert!((1.0..1.01).contains(&bound), "{bound}");
    let refused = polynomial(-3.0, 4.0).apply(&e, &x).unwrap_err();
    assert!(
        matches!(&refused, CkksError::TooLarge { reason, .. } if reason.contains("the polynomial is made for"))
            && refused.to_string().contains("from -4 to 4"),
        "{refused}"
    );
    // The remedies: a domain that holds the numbers, or another bound.
    polynomial(-3.0, 4.0).apply(&e, &x.with_bound(Some(3.0)).unwrap()).unwrap();
    // A bound on magnitudes says nothing of the sign: of a domain on one side of zero it holds no numbers.
    for (low, high) in [(0.5, 4.0), (0.0, 4.0), (-4.0, 0.0), (-4.0, -1.0), (0.5, 100.0)] {
        let refused = polynomial(low, high).apply(&e, &x).unwrap_err().to_string();
        assert!(refused.contains("with_bound(None)"), "{refused}");
        // The remedy: the caller's word.
        let by_word = polynomial(low, high).apply(&e, &x.with_bound(None).unwrap()).unwrap();
        assert_eq!(by_word.with_bound(Some(1.0)).unwrap().bound(), Some(1.0));
    }
}

/// Functions of all numbers take intervals that hold those of the bound; functions of numbers above zero take
/// the caller's word for the sign.
#[test]
fn functions_take_intervals_that_hold_the_numbers_of_the_bound() {
    let owner = secret(&params("insecure_deep"), 8);
    let e = Evaluator::with_keys(owner.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top)).unwrap());
    let x = EncryptedArray::new(declared(&owner, 4.0), &e);
    let free = EncryptedArray::new(declared(&owner, 4.0).with_bound(None).unwrap(), &e);
    for function in SmoothFunction::ALL {
        for (domain, holds) in
            [((0.5, 4.0), false), ((0.5, 3.0), false), ((-4.0, 4.0), true), ((-3.0, 5.0), false)]
        {
            let above_zero = function.is_above_zero();
            if above_zero && domain.0 < 0.0 {
                continue;
            }
            let found = x.smooth(function, 1e-1, Some(domain));
            let takes = holds || (above_zero && domain.1 >= 4.0);
            assert_eq!(found.is_ok(), takes, "{} on {domain:?}: {:?}", function.name(), found.err());
            free.smooth(function, 1e-1, Some(domain)).expect("without a bound");
        }
    }
}

#[test]
fn numbers_above_the_bound_and_bounds_without_room_are_refused() {
    let params = params("insecure_small");
    let owner = secret(&params, 9);
    let public = owner.public_key().unwrap();
    for bound in [2.5, 0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = EncryptOptions { bound: Some(bound), ..EncryptOptions::default() };
        assert!(
            matches!(owner.encrypt_array(&VALUES, &[4], options), Err(CkksError::OutOfRange { .. })),
            "{bound}"
        );
        assert!(
            matches!(public.encrypt_array(&VALUES, &[4], options), Err(CkksError::OutOfRange { .. })),
            "{bound}"
        );
    }
    let options = EncryptOptions { bound: Some(3.0), level: Some(Level(0)), ..EncryptOptions::default() };
    let largest = headroom(&public.encrypt_array(&VALUES, &[4], options).unwrap());
    let with = |bound| owner.encrypt_array(&VALUES, &[4], EncryptOptions { bound: Some(bound), ..options });
    assert_bound(&with(0.999 * largest).unwrap(), 0.999 * largest);
    let refused = with(1.001 * largest).unwrap_err();
    assert!(
        matches!(&refused, CkksError::TooLarge { reason } if reason.contains("by the bound on the inputs") && reason.contains("level 0 ")),
        "{refused}"
    );
}

#[test]
fn results_that_might_wrap_around_are_refused() {
    let owner = secret(&params("insecure_small"), 10);
    let e = evaluator(&owner);
    let at = |level, bound| {
        owner
            .encrypt_array(
                &VALUES,
                &[4],
                EncryptOptions { bound: Some(bound), level: Some(Level(level)), ..EncryptOptions::default() },
            )
            .unwrap()
    };
    let largest = headroom(&at(0, 3.0));
    let x = at(0, 0.6 * largest);
    let mut sum = x.clone();
    let high = at(2, 0.6 * largest);
    let results = [
        e.add(&x, &x),
        e.sub(&x, &x),
        e.add_assign(&mut sum, &x).map(|()| x.clone()),
        e.add_plain(&x, &[0.5 * largest; 4]),
        e.multiply_integer(&x, 2),
        e.total(&x),
        e.multiply(&high, &high).and_then(|y| e.rescale(&y)).and_then(|y| e.drop_to_level(&y, Level(0))),
    ];
    for (index, result) in results.into_iter().enumerate() {
        let error = result.expect_err("refused");
        assert!(
            matches!(&error, CkksError::TooLarge { reason, .. } if reason.contains("by the bound on the inputs")),
            "case {index}: {error}"
        );
    }
    assert_eq!(decrypt(&owner, &sum), decrypt(&owner, &x), "unchanged by what was refused");
    // Nothing is known of arrays without a bound.
    let plain = owner
        .encrypt_array(&VALUES, &[4], EncryptOptions { level: Some(Level(0)), ..EncryptOptions::default() })
        .unwrap();
    e.multiply_integer(&plain, 2).unwrap();
}

#[test]
fn products_with_matrices_that_wrap_around_for_numbers_of_1_are_refused() {
    let set = params("insecure_matmul");
    let owner = secret(&set, 11);
    let e = Evaluator::new(&set);
    let encrypted = |bound| {
        owner.encrypt_array(&[0.5], &[1, 1], EncryptOptions { bound, ..EncryptOptions::default() }).unwrap()
    };
    let x = encrypted(None);
    let largest = headroom(
        &e.rescale(&Weights::encode(&e, 1, 1, &[1.0], &x).unwrap().multiply(&e, &x).unwrap()).unwrap(),
    );
    let product = |weight: f64, x: &Ciphertext| Weights::encode(&e, 1, 1, &[weight], x)?.multiply(&e, x);
    product(0.999 * largest, &x).unwrap();
    let error = product(1.001 * largest, &x).unwrap_err();
    let CkksError::TooLarge { reason } = error else { panic!("{error}") };
    assert!(
        reason.contains("along a row of the matrix") && reason.contains("scale the matrix down"),
        "{reason}"
    );
    // A bound says more than the guess that numbers are of magnitude 1.
    let small = product(1.001 * largest, &encrypted(Some(0.5))).unwrap();
    assert_bound(&small, 0.5 * 1.001 * largest);
    assert!(
        matches!(product(0.999 * largest, &encrypted(Some(2.0))), Err(CkksError::TooLarge { reason, .. }) if reason.contains("by the bound on the inputs"))
    );
}

#[test]
fn files_keep_the_bound_and_older_ones_have_none() {
    let set: Params = params("insecure_small");
    let owner = secret(&set, 12);
    let read = |x: &Ciphertext| {
        let file = x.to_file_bytes().unwrap();
        let reader = FileReader::from_bytes(&file).unwrap();
        (reader.metadata_text().contains("bound"), Ciphertext::from_reader(&reader, &set).unwrap().bound())
    };
    assert_eq!(read(&declared(&owner, 4.0)), (true, Some(4.0)));
    assert_eq!(read(&owner.encrypt(&VALUES).unwrap()), (false, None));
}

#[test]
fn sums_of_rows_in_lanes_are_checked_at_the_scale_of_their_mask() {
    let params = params("insecure_small");
    let owner = secret(&params, 12);
    let needs = KeyNeeds::new().rotations([1, -1, 2, -2, 4, -4], KeyLevel::Top);
    let e = crate::common::evaluator(&owner, &needs);
    let at = |bound| {
        let (lanes, encoding) = (Some(Lanes::Most), Some(Encoding::Slots));
        let options = EncryptOptions {
            bound: Some(bound),
            level: Some(Level(1)),
            lanes,
            encoding,
            ..EncryptOptions::default()
        };
        owner.encrypt_array(&[0.5; 16], &[2, 8], options).unwrap()
    };
    // The mask is encoded at the scale of the step below, so the unrescaled product has room for this much,
    // and the array before for more.
    let x = at(1.0);
    let sum = e.total_in_lanes(&x, 1.0).unwrap();
    assert!(sum.scale() > x.scale() && headroom(&sum) < headroom(&x));
    assert_bound(&sum, 8.0);
    let most = headroom(&sum) / 8.0;
    assert_bound(&e.total_in_lanes(&at(0.999 * most), 1.0).unwrap(), 8.0 * 0.999 * most);
    let refused = e.total_in_lanes(&at(1.001 * most), 1.0).unwrap_err();
    assert!(
        matches!(&refused, CkksError::TooLarge { reason } if reason.contains("by the bound on the inputs") && reason.contains("level 1 ")),
        "{refused}"
    );
}
