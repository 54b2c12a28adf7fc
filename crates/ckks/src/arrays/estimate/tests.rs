//! Tests of how errors add up, on estimates without arrays.

use super::bounds::{deviations, product_deviations};
use super::*;
use crate::arrays::layout::{Encoding, Layout};

/// Arrays joined along an axis, each number in one slot.
fn joined_by(parts: &[Estimate], along: Along) -> Estimate {
    let layout = Layout::new(&[parts.len(), 8], Encoding::Slots, 16).expect("a layout");
    Estimate::side_by_side((parts, &vec![1; parts.len()]), along, &layout)
}

fn rms(x: &Estimate) -> f64 {
    x.slot_errors().0
}

#[test]
fn independent_errors_add_in_squares_and_equal_ones_linearly() {
    let (x, y) = (Estimate::fresh(1.0, 3.0), Estimate::fresh(1.0, 4.0));
    assert!(
        (rms(&x.clone().plus(y.clone())) - 5.0).abs() < 1e-12
            && (rms(&x.clone().minus(y.clone())) - 5.0).abs() < 1e-12
    );
    assert!((rms(&x.clone().plus(x.clone())) - 6.0).abs() < 1e-12);
    // The same switch of the same array has the same noise.
    let switched = |x: Estimate| x.with_error(2.0);
    assert!((rms(&switched(x.clone()).plus(switched(x.clone()))) - 2.0 * 13f64.sqrt()).abs() < 1e-12);
    assert!((rms(&switched(x.clone()).plus(switched(y.clone()))) - 33f64.sqrt()).abs() < 1e-12);
}

#[test]
fn polynomials_of_one_array_have_their_own_errors() {
    let x = Estimate::fresh(2.0, 3.0);
    let cube = || x.clone().multiply(x.clone()).multiply(x.clone());
    let one = || Estimate::number(Complex64::from(1.0));
    // The mean squares of 3 t^2 - 1, 1 - 2 t and 2 t for numbers spread evenly over [-2, 2].
    for (found, mean_square) in [
        (cube().minus(x.clone()), 9.0 * 16.0 / 5.0 - 6.0 * 4.0 / 3.0 + 1.0),
        (x.clone().minus(cube()), 9.0 * 16.0 / 5.0 - 6.0 * 4.0 / 3.0 + 1.0),
        (x.clone().multiply(one().minus(x.clone())), 1.0 + 4.0 * 4.0 / 3.0),
        (x.clone().multiply(x.clone().scale(-1.0).plus(one())), 1.0 + 4.0 * 4.0 / 3.0),
        (one().minus(x.clone()).multiply(one().plus(x.clone())), 4.0 * 4.0 / 3.0),
    ] {
        let product_of_errors = 9.0f64.powi(2) * 40.0;
        let (own, wanted) = (rms(&found).powi(2), 9.0 * mean_square);
        assert!((wanted..wanted + product_of_errors).contains(&(own * (1.0 + 1e-12))), "{own} and {wanted}");
    }
    // At the worst numbers, 16 x^5 - 20 x^3 + 5 x has a slope of at most 25 on [-1, 1]; the magnitudes of its
    // terms give 145. For complex numbers only the latter holds.
    let chebyshev = |x: Estimate| {
        let square = x.clone().multiply(x.clone());
        let cube = square.clone().multiply(x.clone());
        cube.clone().multiply(square).scale(16.0).minus(cube.scale(20.0)).plus(x.scale(5.0)).slot_errors().1
    };
    let x = Estimate::encrypted(1.0, 1e-9, (0.0, 0.0), None, false);
    assert!((25.0..25.0 * 1.1).contains(&(chebyshev(x.clone()) * 1e9)));
    assert!((chebyshev(x.of_complex(true)) * 1e9 - 145.0).abs() < 1e-6);
    // Errors of the same size that may differ do not cancel at worst.
    let switched = |x: Estimate| x.with_errors(1.0, 1.0);
    let x = Estimate::exact(2.0);
    assert!((switched(x.clone()).minus(switched(x)).slot_errors().1 - 2.0).abs() < 1e-12);
    // A larger bound keeps the function; moving numbers to other places does not.
    let x = Estimate::fresh(2.0, 3.0);
    let difference = |x: Estimate| rms(&x.clone().multiply(x.clone()).minus(x));
    assert!(difference(x.clone()) < difference(x.clone().rotated(1, 64)));
    assert_eq!(Estimate::from_text(&cube().to_text()), Some(cube()));
}

#[test]
fn products_multiply_errors_with_typical_and_with_largest_numbers() {
    let (x, y) = (Estimate::fresh(2.0, 1e-3), Estimate::exact(3.0));
    let (typical, worst) = x.clone().multiply(y.clone()).slot_errors();
    assert!((typical - 3.0 * EVEN * 1e-3).abs() < 1e-12 && (worst - 3e-3).abs() < 1e-12);
    let square = x.clone().multiply(x.clone());
    assert!(
        (square.slot_errors().1 - 4e-3).abs() < 1e-4
            && square.magnitude == 4.0
            && (square.mean - 4.0 / 3.0).abs() < 1e-12
    );
}

#[test]
fn sums_of_independent_numbers_grow_with_the_root_and_common_errors_with_the_count() {
    let x = Estimate::fresh(1.0, 1.0);
    let sum = x.clone().sum(Along::Columns, (100, 100), 128);
    assert!((rms(&sum) - 10.0).abs() < 1e-12);
    // Places without a number have errors, too.
    let padded = x.clone().sum(Along::Columns, (25, 100), 128);
    assert!((rms(&padded) - 10.0).abs() < 1e-12 && padded.magnitude == 25.0);
    // Errors that are the same in all numbers add linearly.
    assert!((rms(&sum.clone().sum(Along::Columns, (100, 100), 1)) - 1000.0).abs() < 1e-9);
    // Rotations of one array depend on each other: at worst all errors are the same.
    let rotated = x.clone().plus(x.clone().rotated(1, 64));
    assert!((rms(&rotated) - 2f64.sqrt()).abs() < 1e-12);
    assert!(rotated.clone().sum(Along::Columns, (64, 64), 64).slot_errors().1 >= 2.0 * 8.0);
}

#[test]
fn more_sources_than_are_told_apart_stay_bounds() {
    let many: Vec<Estimate> = (0..40).map(|_| Estimate::fresh(1.0, 1.0)).collect();
    let sum = many.iter().skip(1).fold(many[0].clone(), |sum, x| sum.plus(x.clone()));
    assert!(rms(&sum) >= 40f64.sqrt() - 1e-9 && rms(&sum) <= 2.0 * 40f64.sqrt(), "{}", rms(&sum));
    let twice = sum.clone().plus(sum.clone());
    assert!(rms(&twice) >= 2.0 * 40f64.sqrt() - 1e-9);
}

#[test]
fn sources_that_are_no_longer_told_apart_add_linearly_when_they_come_again() {
    let large = (0..MAX_SOURCES).map(|_| Estimate::fresh(1.0, 10.0)).reduce(Estimate::plus).expect("arrays");
    let x = Estimate::fresh(1.0, 1.0);
    let sum = (0..1000).fold(large.clone(), |sum, _| sum.plus(x.clone()));
    assert!(sum.slot_errors().1 >= 1000.0, "{:?}", sum.slot_errors());
    // The same holds after storing and reading, and under new names after a sum of places.
    let again = (0..100).fold(large.clone(), |sum, _| {
        let stored = sum.plus(x.clone());
        Estimate::from_stored(Some(stored.magnitude), stored.stored()).expect("sound")
    });
    assert!(again.slot_errors().1 >= 100.0);
    let summed = |x: &Estimate| x.clone().sum(Along::Columns, (4, 4), 4);
    let later = (0..100).fold(summed(&large.plus(x.clone())), |sum, _| sum.plus(summed(&x)));
    assert!(later.slot_errors().1 >= 200.0, "{:?}", later.slot_errors());
    // The squares of different errors add.
    let many = (0..500).map(|_| Estimate::fresh(1.0, 1.0)).reduce(Estimate::plus).expect("arrays");
    assert!(many.slot_errors().1 < 1.5 * 500f64.sqrt(), "{:?}", many.slot_errors());
}

#[test]
fn arrays_side_by_side_have_the_errors_of_all_of_them() {
    let (x, y) = (Estimate::fresh(1.0, 1.0), Estimate::fresh(2.0, 1.0));
    let beside = joined_by(&[x.clone(), y.clone()], Along::Rows);
    assert!(beside.magnitude == 2.0 && (beside.slot_errors().1 - 1.0).abs() < 1e-12);
    // The same array in many parts.
    let others = (0..256).map(|_| joined_by(&[Estimate::fresh(1.0, 1.0), y.clone()], Along::Rows));
    assert!(others.reduce(Estimate::plus).expect("arrays").slot_errors().1 >= 256.0);
    let with_its_own = beside.clone().plus(y.clone());
    assert!(with_its_own.slot_errors().1 >= 2.0);
    // The same array many times, alone and with another array.
    let same = joined_by(&vec![x.clone(); 100], Along::Rows).sum(Along::Rows, (100, 100), 8);
    assert!(same.slot_errors().1 >= 100.0);
    let twins: Vec<Estimate> =
        (0..100).map(|index| if index % 2 == 0 { x.clone() } else { y.clone() }).collect();
    let twins = joined_by(&twins, Along::Rows).sum(Along::Rows, (100, 100), 8);
    assert!(twins.slot_errors().1 >= 50.0 * 2f64.sqrt(), "{:?}", twins.slot_errors());
    let nested = joined_by(&[beside, x], Along::Rows).sum(Along::Rows, (3, 3), 8);
    assert!(nested.slot_errors().1 >= 5f64.sqrt());
    // Different arrays have independent errors.
    let apart: Vec<Estimate> = (0..100).map(|_| Estimate::fresh(1.0, 1.0)).collect();
    let sum = joined_by(&apart, Along::Rows).sum(Along::Rows, (100, 100), 8);
    assert!((sum.slot_errors().1 - 10.0).abs() < 1e-9 && (rms(&sum) - 10.0).abs() < 1e-9);
}

#[test]
fn what_leaves_the_numbers_leaves_their_name() {
    let x = Estimate::fresh(1.0, 1.0);
    let switched = |x: Estimate| x.with_error(2.0);
    for same in
        [x.clone().scale(1.0), x.clone().scale(-1.0).scale(-1.0), x.clone().plus(Estimate::exact(0.0))]
    {
        let twice = switched(x.clone()).plus(switched(same));
        assert!((rms(&twice) - 20f64.sqrt()).abs() < 1e-12, "{twice:?}");
    }
    // Errors that are the same in all places stay so after a rotation.
    let one = x.mapped(Along::Columns, &MatrixNorms::of_matrix(&[1.0; 64], 8), (0.0, 0.0));
    let sum = (0..8).map(|steps| one.clone().rotated(steps, 64)).reduce(Estimate::plus).expect("arrays");
    assert!(sum.slot_errors().1 >= 8.0 * 8f64.sqrt() * 0.99, "{:?}", sum.slot_errors());
}

#[test]
fn files_hold_what_is_known() {
    let x = Estimate::fresh(2.0, 1.0).plus(Estimate::fresh(1.0, 0.5));
    let again = Estimate::from_stored(Some(3.0), x.stored()).expect("sound");
    assert_eq!(again, x);
    assert!(Estimate::unknown().stored().is_none());
    let empty = Estimate::from_stored(None, None).expect("sound");
    assert!(empty.slot_errors().0.is_infinite() && empty.magnitude.is_infinite());
    // Values that no array has are refused.
    assert_eq!(Estimate::from_stored(Some(-1.0), x.stored()), None);
    assert_eq!(Estimate::from_stored(Some(-1.0), None), None);
    assert_eq!(Estimate::from_stored(Some(f64::NAN), x.stored()), None);
}

#[test]
fn turns_add_up_and_squares_of_different_arrays_are_different() {
    let x = Estimate::fresh(1.0, 1.0);
    let rotated = |x: &Estimate, steps| x.clone().rotated(steps, 64);
    let twice = |x: Estimate, y: Estimate| rms(&x.plus(y));
    for (one, other) in [
        (rotated(&x, 3), rotated(&x, 67)),
        (rotated(&rotated(&x, 5), 9), rotated(&x, 14)),
        (rotated(&rotated(&x, 7), -7), x.clone()),
    ] {
        assert_eq!(one.name, other.name);
        assert!((twice(one, other) - 2.0).abs() < 1e-12);
    }
    assert!((twice(rotated(&x, 3), rotated(&x, 4)) - 2f64.sqrt()).abs() < 1e-12);
    let square = |x: Estimate| x.clone().multiply(x);
    assert_ne!(square(x.clone()).name, square(Estimate::fresh(1.0, 1.0)).name);
    let y = Estimate::fresh(1.0, 1.0);
    assert_eq!(x.clone().multiply(y.clone()).name, y.multiply(x).name);
}

/// `x` minus its mean over `count` numbers along an axis, with noise of the sum in all slots of a polynomial.
fn centred(x: &Estimate, along: Along, count: usize, noise: f64) -> Estimate {
    let noise = Estimate::exact(0.0).with_error(noise);
    let sum = x.clone().sum(along, (count, count), 256).in_slots(256, 1).with_noise_of_halves(
        noise,
        along,
        (count, 256),
        true,
    );
    x.clone().minus(sum.scale(1.0 / count as f64))
}

#[test]
fn differences_from_a_mean_are_known_to_add_up_to_zero() {
    let x = Estimate::fresh(1.0, 1e-9);
    let square = |x: &Estimate| x.clone().multiply(x.clone());
    let sum = |x: &Estimate, along| x.clone().sum(along, (64, 64), 256);
    let d = centred(&x, Along::Columns, 64, 0.0);
    // Differences are up to 2 and the squares of all of them sum to at most 64; the squares of some, and sums
    // along the other axis, have no such bound.
    assert_eq!(
        (d.magnitude, square(&d).magnitude, sum(&square(&d), Along::Columns).magnitude),
        (2.0, 4.0, 64.0)
    );
    assert!(sum(&square(&d), Along::Rows).magnitude == 256.0);
    assert!(sum(&square(&d).selected_columns(&(0..64)), Along::Columns).magnitude == 256.0);
    assert!(sum(&square(&d.clone().rotated(1, 64)), Along::Columns).magnitude == 256.0);
    assert!(
        sum(&square(&d.clone().plus(Estimate::number(Complex64::from(0.5)))), Along::Columns).magnitude
            == 64.0 * 6.25
    );
    // |d|^3 is at most 2 d^2.
    assert!(sum(&square(&d).multiply(d.clone()), Along::Columns).magnitude == 128.0);
    // A single square's error is at worst 4 times the number's error; the root mean square of all errors is
    // half of that.
    assert!(square(&d).slot_errors().1 > 4e-9);
    let own = sum(&square(&d), Along::Columns).total(|source| f64::from(u8::from(!source.hidden))).1;
    assert!((2.0 * 8e-9..2.0 * 8e-9 * 1.01).contains(&own), "{own}");
    // Also in two steps along two axes, where the first may hold all of the sum.
    let both = |x: &Estimate| sum(&sum(x, Along::Rows), Along::Columns);
    let d = x.clone().minus(both(&x).scale(1.0 / 4096.0));
    assert!((sum(&square(&d), Along::Rows).magnitude, both(&square(&d)).magnitude) == (256.0, 4096.0));
    // For differences along one axis of differences along another, neither bound holds.
    let mean = sum(&x, Along::Rows).scale(1.0 / 64.0);
    let d = x.clone().minus(mean).multiply(centred(&x, Along::Columns, 64, 0.0));
    assert!(both(&d).magnitude == 4.0 * 4096.0);
    let again = Estimate::from_stored(Some(d.magnitude), d.stored()).expect("sound");
    assert_eq!(again, d);
}

#[test]
fn the_error_of_a_mean_is_no_error_of_a_variance() {
    let x = Estimate::exact(1.0);
    let square = |x: &Estimate| x.clone().multiply(x.clone());
    let d = centred(&x, Along::Columns, 256, 1e-9);
    assert!((d.slot_errors().1 * 256.0 - 1e-9).abs() < 1e-15);
    // The part of the rotations' noise that is the same in all slots, times numbers that sum to zero, sums to
    // zero.
    let is_left = |x: &Estimate| {
        x.sources.iter().any(|source| source.alike[1] >= 256.0 && source.centred == [false; 2])
    };
    assert!(is_left(&d) && !is_left(&square(&d)) && !is_left(&square(&d.clone().scale(-3.0)).scale(0.1)));
    let mask = Estimate::plain(1, ((1.0, 0.5, 0.25), [1.0; 2]), (false, false));
    for other in [
        square(&d).multiply(mask.clone()),
        square(&d.clone().multiply(mask)),
        d.clone().multiply(Estimate::exact(1.0)).multiply(d.clone()),
        d.clone().plus(Estimate::number(Complex64::from(1.0))).multiply(d.clone()),
        square(&d.clone().selected_columns(&(0..256))),
        d.clone().rotated(1, 256).multiply(d.clone()),
        square(&d.clone().applied(2, (1.0, 0.5, 0.0), (2.0, 2.0))),
    ] {
        assert!(is_left(&other), "{other:?}");
    }
    // In the sum the error is marked as hidden.
    let sum = |x: &Estimate| x.clone().sum(Along::Columns, (256, 256), 256);
    assert!(
        sum(&square(&d)).sources.iter().any(|source| source.hidden)
            && sum(&d).sources.iter().all(|source| !source.hidden)
    );
}

#[test]
fn errors_that_means_over_repetitions_do_not_have_are_in_the_slots() {
    // The errors of 16 numbers, each in 16 slots, have sums that differ between slots.
    let x = Estimate::fresh(1.0, 1e-9);
    let sum = |x: &Estimate| x.clone().sum(Along::Columns, (16, 16), 16).in_slots(256, 1);
    let d = x.clone().minus(sum(&x).scale(1.0 / 16.0));
    let variance = |x: &Estimate| sum(&x.clone().multiply(x.clone()));
    let layout = |columns: usize| Layout::new(&[1, columns], Encoding::Slots, 512).expect("a layout");
    let [few, many] = [16, 256].map(|columns| {
        variance(&d).error_bound(&layout(columns)) / variance(&x).error_bound(&layout(columns))
    });
    assert!(few < 1.01 && many > 1.3, "{few} and {many}");
}

#[test]
fn no_bound_has_fewer_deviations_than_the_least() {
    for count in [0.0, 0.5, 1.0, 1e6] {
        assert!(deviations(count) >= LEAST_DEVIATIONS && product_deviations(count) >= LEAST_DEVIATIONS);
    }
}
