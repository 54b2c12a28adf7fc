//! Linear operations over the extended modulus: bit for bit where they are exact, within the predicted
//! rounding where a mod-down rounds.
//!
//! Every test runs for keys as generated, the hybrid method and KLSS, ranks 1 and 2, bodies 1 and 3, one
//! thread and two.

use crate::common::linear::{Kind, Setting, kinds};
use crate::common::{integers, variance};
use clathrate_arith::{ArithError, Automorphism};
use clathrate_lattice::noise::bound;
use clathrate_lattice::switch::hoisted::BabyStep;
use clathrate_lattice::switch::{Extended, SwitchMethod};
use clathrate_lattice::{
    Bodies, Bundle, Eval, LatticeError, PackedCombination, PackedPlaintexts, Poly, Rank, SwitchKey,
};
use num_bigint::BigInt;
use num_traits::{Signed, Zero};

/// The chance that a bound fails: `2^-40` per check.
const LOG2_FAILURE: f64 = 40.0;

/// Runs `test` for every kind; what it returns is the same for one thread and two.
fn for_all_kinds<T: PartialEq>(degree: usize, seed: u8, mut test: impl FnMut(&mut Setting) -> T) {
    for pair in kinds().chunks_exact(2) {
        let results: Vec<T> = pair.iter().map(|&kind| test(&mut Setting::new(kind, degree, seed))).collect();
        assert!(results[0] == results[1], "one thread and two differ, {:?}", pair[0]);
    }
}

/// Uniform sums as switches leave them: in Eval form for the hybrid method, in Coeff form for KLSS.
fn switched(setting: &mut Setting, count: usize) -> Vec<Extended> {
    let phi = setting.phi(1);
    let key = setting.rotation_key(&phi);
    let mut sums = Vec::new();
    for _ in 0..count {
        let input = setting.uniform();
        let sum = setting.switcher.product(&input.mask().iter().collect::<Vec<_>>(), &key).expect("product");
        assert!(
            std::sync::Arc::ptr_eq(sum.frame(), setting.tables.frame()),
            "switched by the method that is tested"
        );
        sums.push(sum);
    }
    sums
}

fn eval(x: &Extended) -> Bundle<Eval> {
    x.to_eval().expect("not empty")
}

/// Checks that measured errors have the predicted variance and are below the bound it gives.
fn check_noise(measured: &[f64], predicted: f64, what: &str) {
    let ratio = variance(measured) / predicted;
    assert!((0.8..1.25).contains(&ratio), "{what}: measured over predicted variance is {ratio:.3}");
    let limit = bound(predicted, measured.len(), LOG2_FAILURE);
    assert!(measured.iter().all(|error| error.abs() <= limit), "{what}: over the bound {limit}");
}

#[test]
fn hoisted_linear_combination_differs_from_plain_rotations_by_predicted_rounding() {
    for_all_kinds(1024, 1, |setting| {
        let (ct, messages) = setting.encrypt(12);
        let digits = ct.decompose_mask(&setting.switcher, &setting.tables).expect("digits");
        let frame = setting.tables.frame().clone();
        let (mut plain, mut expected): (Option<Bundle<Eval>>, Vec<Poly<Eval>>) = (None, Vec::new());
        let (mut extended, mut plaintexts, mut squares) = (Vec::new(), Vec::new(), 0.0);
        for steps in [0i64, 1, 3, -2, 7] {
            let (phi, (p, square)) = (setting.phi(steps), setting.plaintext(6));
            // The unrotated term is exact in both ways.
            let mut rotated = if steps == 0 {
                extended.push(Extended::lift_of(&ct, &frame).expect("lift"));
                ct.clone()
            } else {
                let key = setting.rotation_key(&phi);
                extended.push(ct.rotate_extended(&phi, &digits, &setting.switcher, &key).expect("rotate"));
                squares += square;
                ct.rotate(&phi, &setting.switcher, &key).expect("rotate")
            };
            let low = p.restrict(&setting.basis()).expect("ciphertext primes");
            rotated.mul_poly_assign(&low).expect("product");
            match &mut plain {
                Some(sum) => sum.add_assign(&rotated).expect("sum"),
                None => plain = Some(rotated),
            }
            for (body, message) in messages.iter().enumerate() {
                let mut term = message.automorphism(&phi);
                term.mul_assign(&low).expect("product");
                match expected.get_mut(body) {
                    Some(sum) => sum.add_assign(&term).expect("sum"),
                    None => expected.push(term),
                }
            }
            plaintexts.push(p);
        }
        let terms: Vec<(&Extended, &Poly<Eval>)> = extended.iter().zip(&plaintexts).collect();
        let hoisted =
            setting.switcher.mod_down(&Extended::linear_combination(&terms).expect("sum")).expect("mod-down");
        // The products of digits and keys are the same integers both ways. What differs: the plain way rounds
        // each rotation and multiplies the rounding by its plaintext, the hoisted way rounds the sum.
        let (model, plain) = (setting.model(), plain.expect("terms"));
        let predicted = model.multiply_plain(model.rounding(), squares) + model.rounding();
        check_noise(
            &setting.difference(&plain, &hoisted),
            predicted,
            &format!("difference, {:?}", setting.kind),
        );
        // And the hoisted result is the linear transform: products' noise times the plaintexts, the fresh
        // noise likewise, one rounding.
        let all = squares + mean_square(&plaintexts[0]);
        let total = model.multiply_plain(setting.products(setting.kind.rank), squares)
            + model.multiply_plain(model.fresh_secret(), all)
            + model.rounding();
        check_noise(
            &setting.errors(&hoisted, Some(&expected)),
            total,
            &format!("linear transform, {:?}", setting.kind),
        );
        hoisted
    });
}

/// Mean square of a plaintext's coefficients.
fn mean_square(p: &Poly<Eval>) -> f64 {
    let values = integers(p);
    values.iter().map(|value| value.to_string().parse::<f64>().expect("a number").powi(2)).sum::<f64>()
        / values.len() as f64
}

#[test]
fn giant_steps_over_the_extended_modulus_differ_from_plain_ones_by_predicted_rounding() {
    for_all_kinds(1024, 2, |setting| {
        let (ct, _) = setting.encrypt(12);
        let digits = ct.decompose_mask(&setting.switcher, &setting.tables).expect("digits");
        let frame = setting.tables.frame().clone();
        let phi = setting.phi(1);
        let key = setting.rotation_key(&phi);
        let rotated = ct.rotate_extended(&phi, &digits, &setting.switcher, &key).expect("rotate");
        let babies = [Extended::lift_of(&ct, &frame).expect("lift"), rotated];
        let giants = [0i64, 2, 4, -6];
        let (mut plain, mut hoisted): (Option<Bundle<Eval>>, Option<Extended>) = (None, None);
        for &steps in &giants {
            let plaintexts: Vec<Poly<Eval>> = babies.iter().map(|_| setting.plaintext(4).0).collect();
            let terms: Vec<(&Extended, &Poly<Eval>)> = babies.iter().zip(&plaintexts).collect();
            let inner = Extended::linear_combination(&terms).expect("sum");
            let mut down = setting.switcher.mod_down(&inner).expect("mod-down");
            let outer = if steps == 0 {
                inner
            } else {
                let phi = setting.phi(steps);
                let key = setting.rotation_key(&phi);
                down = down.rotate(&phi, &setting.switcher, &key).expect("rotate");
                inner.rotate(&phi, &setting.switcher, &setting.tables, &key).expect("giant step")
            };
            match (&mut plain, &mut hoisted) {
                (Some(plain), Some(hoisted)) => {
                    plain.add_assign(&down).expect("sum");
                    hoisted.add_assign(&outer).expect("sum");
                }
                _ => (plain, hoisted) = (Some(down), Some(outer)),
            }
        }
        let hoisted = setting.switcher.mod_down(&hoisted.expect("giants")).expect("mod-down");
        // Both ways round the mask of each giant step in the same way, so both switch the same digits. The
        // plain way rounds besides: the body of each giant step, the result of each rotation, and all of the
        // step that is not rotated. The hoisted way rounds the sum.
        let (rounding, turned) = (setting.model().rounding(), giants.len() - 1);
        let predicted = turned as f64 * (1.0 / 12.0 + rounding) + rounding + rounding;
        check_noise(
            &setting.difference(&plain.expect("giants"), &hoisted),
            predicted,
            &format!("{:?}", setting.kind),
        );
        hoisted
    });
}

#[test]
fn sums_of_rotations_that_follow_one_another_have_the_masks_of_plain_ones_and_fewer_roundings() {
    for_all_kinds(1024, 7, |setting| {
        let (ct, _) = setting.encrypt(12);
        let phis: Vec<Automorphism> = [4, 2, 1].map(|steps| setting.phi(steps)).into();
        let keys: Vec<SwitchKey> = phis.iter().map(|phi| setting.rotation_key(phi)).collect();
        let mut plain = ct.clone();
        for (phi, key) in phis.iter().zip(&keys) {
            let turned = plain.rotate(phi, &setting.switcher, key).expect("rotate");
            plain.add_assign(&turned).expect("sum");
        }
        let rotations: Vec<(&Automorphism, &SwitchKey)> = phis.iter().zip(&keys).collect();
        let sum = ct.plus_rotated(&rotations, &setting.switcher, &setting.tables).expect("sums");
        assert!(sum.mask() == plain.mask(), "the masks are divided at the same places, {:?}", setting.kind);
        // The plain way rounds the bodies after each rotation, and later rotations add each rounding to
        // itself at other places: 4 + 2 + 1 of them. The sum is rounded once.
        check_noise(
            &setting.difference(&plain, &sum),
            8.0 / 12.0,
            &format!("difference, {:?}", setting.kind),
        );
        assert!(ct.plus_rotated(&[], &setting.switcher, &setting.tables).expect("no rotation") == ct);
        sum
    });
}

#[test]
fn klss_sums_equal_hybrid_ones_bit_for_bit() {
    for (rank, bodies) in [(1, 1), (2, 3)] {
        let results: Vec<Bundle<Eval>> = [SwitchMethod::hybrid(3), SwitchMethod::klss(3, 2)]
            .into_iter()
            .map(|method| {
                let setting = &mut Setting::new(Kind { method, rank, bodies, threads: 1 }, 64, 3);
                let sums = switched(setting, 3);
                assert_eq!(sums[0].to_coeff().expect("coeff").into_eval(), eval(&sums[0]));
                let plaintexts: Vec<Poly<Eval>> = sums.iter().map(|_| setting.plaintext(8).0).collect();
                let terms: Vec<(&Extended, &Poly<Eval>)> = sums.iter().zip(&plaintexts).collect();
                let phi = setting.phi(3);
                let key = setting.rotation_key(&phi);
                let sum = Extended::linear_combination(&terms).expect("sum");
                let mut sum = sum.rotate(&phi, &setting.switcher, &setting.tables, &key).expect("rotate");
                sum.add_assign(&sums[1].automorphism(&phi).expect("automorphism")).expect("sum");
                eval(&sum)
            })
            .collect();
        assert_eq!(results[0], results[1], "rank {rank}, {bodies} bodies");
    }
}

#[test]
fn sums_and_negations_commute_with_the_mod_down_up_to_a_unit() {
    for_all_kinds(64, 4, |setting| {
        let sums = switched(setting, 2);
        let down = |x: &Extended| setting.switcher.mod_down(x).expect("mod-down");
        let mut sum = sums[0].clone();
        sum.add_assign(&sums[1]).expect("sum");
        let mut difference = down(&sum);
        difference.sub_assign(&down(&sums[0])).expect("same shape");
        difference.sub_assign(&down(&sums[1])).expect("same shape");
        let units: Vec<BigInt> = difference.polys().flat_map(integers).collect();
        assert!(units.iter().all(|unit| unit.abs() <= BigInt::from(1)), "two roundings against one");
        assert!(units.iter().any(|unit| !unit.is_zero()), "roundings happen");
        // Rounding to the nearest is odd.
        let mut negated = sums[0].clone();
        negated.negate_assign();
        let mut expected = down(&sums[0]);
        expected.negate_assign();
        assert_eq!(down(&negated), expected);
        // What is added to its negation is zero, and zero is neutral.
        negated.add_assign(&sums[0]).expect("sum");
        assert!(eval(&negated).polys().flat_map(integers).all(|x| x.is_zero()));
        let mut neutral =
            Extended::zero(setting.tables.frame(), Rank(setting.kind.rank), Bodies(setting.kind.bodies))
                .expect("zero");
        neutral.add_assign(&sums[0]).expect("sum");
        assert_eq!(eval(&neutral), eval(&sums[0]));
        down(&sum)
    });
}

#[test]
fn automorphisms_commute_with_the_mod_down_exactly() {
    for_all_kinds(64, 5, |setting| {
        let sum = switched(setting, 1).swap_remove(0);
        // With a part in the other form, too.
        let mut both = sum.clone();
        both.add_lifted(setting.uniform().polys()).expect("lift");
        let mut results = Vec::new();
        for sum in [sum, both] {
            for steps in [1, 5, -3] {
                let phi = setting.phi(steps);
                let outside = setting.switcher.mod_down(&sum).expect("mod-down").automorphism(&phi);
                let inside = setting
                    .switcher
                    .mod_down(&sum.automorphism(&phi).expect("automorphism"))
                    .expect("mod-down");
                assert_eq!(inside, outside, "{:?}", setting.kind);
                assert_eq!(
                    eval(&sum.automorphism(&phi).expect("automorphism")),
                    eval(&sum).automorphism(&phi)
                );
                results.push(inside);
            }
        }
        results
    });
}

#[test]
fn lifted_bundle_comes_back_exactly_and_its_products_too() {
    for_all_kinds(64, 6, |setting| {
        let (x, (p, _)) = (setting.uniform(), setting.plaintext(8));
        let lifted = Extended::lift_of(&x, setting.tables.frame()).expect("lift");
        assert_eq!((lifted.rank(), lifted.body_count()), (setting.kind.rank, setting.kind.bodies));
        assert_eq!(setting.switcher.mod_down(&lifted).expect("mod-down"), x);
        let mut expected = x;
        expected.mul_poly_assign(&p.restrict(&setting.basis()).expect("ciphertext primes")).expect("product");
        assert_eq!(
            setting.switcher.mod_down(&lifted.mul_plaintext(&p).expect("product")).expect("mod-down"),
            expected
        );
        // A term over the level's modulus alone needs the plaintext's residues there alone.
        let low = p.restrict(&setting.basis()).expect("ciphertext primes");
        assert_eq!(
            eval(&lifted.mul_plaintext(&low).expect("product")),
            eval(&lifted.mul_plaintext(&p).expect("product"))
        );
        // The modulus P divides P x, whatever else is divided.
        let whole = Extended::from_bundle(eval(&lifted), setting.tables.frame()).expect("bundle");
        assert_eq!(
            setting.switcher.mod_down_rescale(&whole).expect("rescale"),
            setting.switcher.mod_down_rescale(&lifted).expect("rescale")
        );
        expected
    });
}

#[test]
fn linear_combination_equals_its_products_one_by_one_bit_for_bit() {
    for_all_kinds(64, 7, |setting| {
        let mut inputs = switched(setting, 3);
        inputs.insert(1, Extended::lift_of(&setting.uniform(), setting.tables.frame()).expect("lift"));
        let mut both = inputs[0].clone();
        both.add_lifted(setting.uniform().polys()).expect("lift");
        inputs.push(both);
        let plaintexts: Vec<Poly<Eval>> = inputs.iter().map(|_| setting.plaintext(30).0).collect();
        let terms: Vec<(&Extended, &Poly<Eval>)> = inputs.iter().zip(&plaintexts).collect();
        let combined = Extended::linear_combination(&terms).expect("sum");
        let mut one_by_one =
            Extended::zero(setting.tables.frame(), Rank(setting.kind.rank), Bodies(setting.kind.bodies))
                .expect("zero");
        let mut by_definition: Option<Bundle<Eval>> = None;
        for (x, p) in terms {
            one_by_one.add_product_assign(x, p).expect("product");
            let mut product = eval(x);
            product.mul_poly_assign(p).expect("product");
            match &mut by_definition {
                Some(sum) => sum.add_assign(&product).expect("sum"),
                None => by_definition = Some(product),
            }
        }
        let combined = eval(&combined);
        assert_eq!(combined, eval(&one_by_one), "{:?}", setting.kind);
        assert_eq!(Some(&combined), by_definition.as_ref(), "{:?}", setting.kind);
        // Transformed once beforehand, the inputs give the same.
        let forms: Vec<Extended> = inputs.into_iter().map(|x| x.into_eval_form().expect("form")).collect();
        let terms: Vec<(&Extended, &Poly<Eval>)> = forms.iter().zip(&plaintexts).collect();
        assert_eq!(eval(&Extended::linear_combination(&terms).expect("sum")), combined);
        combined
    });
}

#[test]
fn packed_and_subring_combinations_equal_unpacked_expanded_ones_bit_for_bit() {
    for_all_kinds(64, 8, |setting| {
        let mut inputs = switched(setting, 2);
        inputs.insert(1, Extended::lift_of(&setting.uniform(), setting.tables.frame()).expect("lift"));
        let inputs: Vec<&Extended> = inputs.iter().collect();
        // Plaintexts over all primes of the ring serve every level and special modulus; others are over the
        // primes of P Q_l alone.
        let bases = [setting.chain.whole_basis(), setting.tables.extended().clone()];
        let chosen: [&[usize]; 4] = [&[0, 1, 2], &[1], &[2, 0, 2, 1], &[1, 1]];
        let mut made: Vec<(PackedPlaintexts, &[usize])> = Vec::new();
        let mut expected = Vec::new();
        for degree in [64, 32, 4] {
            let ring = setting.ring().subring(degree).expect("subring");
            for (basis, chosen) in bases.iter().cycle().zip(chosen) {
                let values: Vec<Vec<i64>> = chosen.iter().map(|_| setting.values(degree, 30).0).collect();
                let small: Vec<Poly<Eval>> =
                    values.iter().map(|values| Poly::from_signed(&ring, basis, values).into_eval()).collect();
                let expanded: Vec<Poly<Eval>> =
                    small.iter().map(|p| p.iota(setting.ring()).expect("subring")).collect();
                let terms: Vec<(&Extended, &Poly<Eval>)> =
                    chosen.iter().map(|&input| inputs[input]).zip(&expanded).collect();
                expected.push(eval(&Extended::linear_combination(&terms).expect("sum")));
                made.push((PackedPlaintexts::pack(&small.iter().collect::<Vec<_>>()).expect("pack"), chosen));
            }
        }
        let combinations: Vec<PackedCombination<'_>> =
            made.iter().map(|(plaintexts, inputs)| PackedCombination { plaintexts, inputs }).collect();
        let sums = Extended::packed_combinations(&inputs, &combinations).expect("sums");
        let sums: Vec<Bundle<Eval>> = sums.iter().map(eval).collect();
        assert_eq!(sums, expected, "{:?}", setting.kind);
        // A single product, and products of terms over the level's modulus alone.
        assert_eq!(eval(&inputs[1].mul_packed(&made[1].0).expect("product")), expected[1]);
        assert_eq!(
            eval(&Extended::packed_combinations(&inputs, &combinations[1..2]).expect("sums")[0]),
            expected[1]
        );
        sums
    });
}

#[test]
fn mask_taken_whole_is_the_rounded_one_and_joins_the_bodies_again() {
    for_all_kinds(64, 9, |setting| {
        let (rank, bodies) = (setting.kind.rank, setting.kind.bodies);
        let sum = switched(setting, 1).swap_remove(0);
        let lifted = Extended::lift_of(&setting.uniform(), setting.tables.frame()).expect("lift");
        let mut both = sum.clone();
        both.add_assign(&lifted).expect("sum");
        let mut results = Vec::new();
        for sum in [sum, lifted, both] {
            let down = setting.switcher.mod_down(&sum).expect("mod-down");
            let (mask, rest) = sum.split_mask().expect("split");
            assert_eq!((mask.len(), rest.body_count()), (rank, bodies));
            let mask = mask.into_eval();
            assert_eq!(mask, down.mask(), "{:?}", setting.kind);
            // The mask's rounding is what the mod-down does to it, so P times the mask and the bodies come
            // down to the same bundle.
            let zero = Poly::zero(setting.ring(), &setting.basis());
            let masks = Bundle::new(&mask, vec![zero; bodies]).expect("bundle");
            let mut joined = Extended::lift_of(&masks, setting.tables.frame()).expect("lift");
            joined.add_bodies(rest).expect("join");
            assert_eq!(setting.switcher.mod_down(&joined).expect("mod-down"), down, "{:?}", setting.kind);
            results.push(down);
        }
        results
    });
}

#[test]
fn bodies_join_sums_of_every_form_exactly() {
    for_all_kinds(64, 10, |setting| {
        let sums = switched(setting, 2);
        let lifted = Extended::lift_of(&setting.uniform(), setting.tables.frame()).expect("lift");
        let mut both = sums[1].clone();
        both.add_assign(&lifted).expect("sum");
        let forms = [sums[0].clone(), sums[0].clone().into_eval_form().expect("form"), lifted, both];
        let mut results = Vec::new();
        for target in &forms {
            for source in &forms {
                let expected: Vec<Poly<Eval>> = eval(target).bodies().to_vec();
                let mut joined = target.clone();
                joined.add_bodies(source.clone().split_mask().expect("split").1).expect("join");
                let joined = eval(&joined);
                assert_eq!(joined.mask(), eval(target).mask(), "the mask stays");
                for ((mut sum, body), got) in
                    expected.into_iter().zip(eval(source).bodies()).zip(joined.bodies())
                {
                    sum.add_assign(body).expect("same basis");
                    assert_eq!(got, sum, "{:?}", setting.kind);
                }
                results.push(joined);
            }
        }
        results
    });
}

#[test]
fn operands_that_do_not_fit_are_errors_with_numbers() {
    let kind = |method, rank, bodies| Kind { method, rank, bodies, threads: 1 };
    let (two, three) = (SwitchMethod::hybrid(2), SwitchMethod::hybrid(3));
    let setting = &mut Setting::new(kind(three, 1, 1), 64, 11);
    let x = switched(setting, 1).swap_remove(0);
    let other_frame = switched(&mut Setting::new(kind(two, 1, 1), 64, 11), 1).swap_remove(0);
    let other_ring = switched(&mut Setting::new(kind(three, 1, 1), 32, 11), 1).swap_remove(0);
    let high = switched(&mut Setting::new(kind(three, 2, 1), 64, 11), 1).swap_remove(0);
    let many = switched(&mut Setting::new(kind(three, 1, 3), 64, 11), 1).swap_remove(0);
    let (p, _) = setting.plaintext(4);
    let frame = setting.tables.frame().clone();
    let primes = frame.extended().len();
    let basis_mismatch = LatticeError::BasisMismatch { left: primes, right: primes - 1 };
    let ring_mismatch = LatticeError::RingMismatch { left: 64, right: 32 };
    let ranks = LatticeError::RankMismatch { left: 1, right: 2 };
    let bodies = LatticeError::BodiesMismatch { left: 1, right: 3 };
    for (other, error) in [
        (&other_frame, basis_mismatch),
        (&other_ring, ring_mismatch.clone()),
        (&high, ranks),
        (&many, bodies),
    ] {
        assert_eq!(Extended::linear_combination(&[(&x, &p), (other, &p)]).expect_err("refused"), error);
        let packed = PackedPlaintexts::pack(&[&p, &p]).expect("pack");
        let combination = PackedCombination { plaintexts: &packed, inputs: &[0, 1] };
        assert_eq!(Extended::packed_combinations(&[&x, other], &[combination]).expect_err("refused"), error);
    }
    let mut sum = x.clone();
    assert!(matches!(sum.add_product_assign(&other_frame, &p), Err(LatticeError::BasisMismatch { .. })));
    assert_eq!(
        Extended::linear_combination(&[]).expect_err("empty"),
        LatticeError::EmptyShape { what: "the number of terms", got: 0 }
    );
    // A plaintext that lacks the special primes, one of another ring, one of a subring that was not packed.
    let low = p.restrict(frame.basis()).expect("ciphertext primes");
    assert!(matches!(x.mul_plaintext(&low), Err(LatticeError::BasisMismatch { .. })));
    let subring = setting.ring().subring(32).expect("subring");
    let small = Poly::from_signed(&subring, frame.extended(), &[1; 32]).into_eval();
    assert_eq!(x.mul_plaintext(&small).expect_err("not packed"), ring_mismatch);
    // Packed plaintexts that do not fit.
    let pack = |p: &Poly<Eval>| PackedPlaintexts::pack(&[p]).expect("pack");
    assert!(x.mul_packed(&pack(&small)).is_ok());
    assert!(matches!(x.mul_packed(&pack(&low)), Err(LatticeError::BasisMismatch { .. })));
    let foreign = Setting::new(kind(three, 1, 1), 128, 11).plaintext(4).0;
    assert!(matches!(x.mul_packed(&pack(&foreign)), Err(LatticeError::RingMismatch { .. })));
    let combine = |inputs: &[usize]| {
        Extended::packed_combinations(&[&x], &[PackedCombination { plaintexts: &pack(&p), inputs }])
            .expect_err("refused")
    };
    assert_eq!(combine(&[1]), LatticeError::InputOutOfRange { input: 1, inputs: 1 });
    let what = "inputs that a linear combination names for its plaintexts";
    assert_eq!(combine(&[0, 0]), ArithError::Shape { what, expected: 1, got: 2 }.into());
    // Bundles and automorphisms of other rings, bases and shapes.
    let bundle = setting.uniform();
    assert!(matches!(Extended::from_bundle(bundle.clone(), &frame), Err(LatticeError::BasisMismatch { .. })));
    assert!(matches!(Extended::lift_of(&eval(&x), &frame), Err(LatticeError::BasisMismatch { .. })));
    assert!(matches!(
        x.automorphism(&Setting::new(kind(three, 1, 1), 32, 11).phi(1)),
        Err(LatticeError::RingMismatch { .. })
    ));
    let rest = many.split_mask().expect("split").1;
    assert_eq!(
        x.clone().add_bodies(rest).expect_err("three bodies"),
        LatticeError::BodiesMismatch { left: 1, right: 3 }
    );
    let rest = other_frame.clone().split_mask().expect("split").1;
    assert!(matches!(x.clone().add_bodies(rest), Err(LatticeError::BasisMismatch { .. })));
    let phi = setting.phi(1);
    let key = setting.rotation_key(&phi);
    assert!(matches!(
        other_frame.rotate(&phi, &setting.switcher, &setting.tables, &key),
        Err(LatticeError::BasisMismatch { .. })
    ));
    assert!(matches!(
        high.rotate(&phi, &setting.switcher, &setting.tables, &key),
        Err(LatticeError::RankMismatch { left: 2, right: 1 })
    ));
    assert!(matches!(Extended::zero(&frame, Rank(0), Bodies(1)), Err(LatticeError::EmptyShape { .. })));
}

#[test]
fn fused_baby_steps_equal_those_in_full_bit_for_bit() {
    // The larger degree has several of the blocks that the engine works on.
    [64, 2048].into_iter().for_each(fused_baby_steps);
}

fn fused_baby_steps(degree: usize) {
    for_all_kinds(degree, 12, |setting| {
        let (ct, _) = setting.encrypt(12);
        let digits = ct.decompose_mask(&setting.switcher, &setting.tables).expect("digits");
        let (phis, frame) =
            ([0i64, 1, -5, 9].map(|steps| setting.phi(steps)), setting.tables.frame().clone());
        let keys: Vec<_> = phis.iter().map(|phi| setting.rotation_key(phi)).collect();
        let mut rotated = vec![Extended::lift_of(&ct, &frame).expect("lift")];
        for (phi, key) in phis.iter().zip(&keys).skip(1) {
            rotated.push(
                ct.rotate_extended(phi, &digits, &setting.switcher, key)
                    .expect("rotate")
                    .into_eval_form()
                    .expect("form"),
            );
        }
        let babies: Vec<BabyStep<'_>> =
            phis.iter().zip(&keys).enumerate().map(|(index, pair)| (index > 0).then_some(pair)).collect();
        // Plaintexts of full degree and of a subring; a sum of the unrotated input alone among the others.
        let chosen: [&[usize]; 3] = [&[0, 1, 2, 3], &[0], &[3, 1, 1]];
        let plaintexts: Vec<PackedPlaintexts> = [degree, degree / 4, 8]
            .into_iter()
            .zip(chosen)
            .map(|(degree, chosen)| {
                let ring = setting.ring().subring(degree).expect("subring");
                let values: Vec<Vec<i64>> = chosen.iter().map(|_| setting.values(degree, 30).0).collect();
                let polys: Vec<Poly<Eval>> = values
                    .iter()
                    .map(|values| Poly::from_signed(&ring, frame.extended(), values).into_eval())
                    .collect();
                PackedPlaintexts::pack(&polys.iter().collect::<Vec<_>>()).expect("pack")
            })
            .collect();
        let combinations: Vec<PackedCombination<'_>> = plaintexts
            .iter()
            .zip(chosen)
            .map(|(plaintexts, inputs)| PackedCombination { plaintexts, inputs })
            .collect();
        let few = setting.switcher.hoisted_combinations(&ct, &digits, &babies, &combinations);
        if setting.kind.method.key_digit.is_some() {
            assert!(matches!(few, Err(LatticeError::KeyGadget { .. })), "KLSS sums are not in Eval form");
            return Vec::new();
        }
        let full =
            Extended::packed_combinations(&rotated.iter().collect::<Vec<_>>(), &combinations).expect("sums");
        let few: Vec<Bundle<Eval>> = few.expect("sums").iter().map(eval).collect();
        assert_eq!(few, full.iter().map(eval).collect::<Vec<_>>(), "{:?}", setting.kind);
        // What does not fit is refused.
        let none: Result<Vec<Extended>, _> =
            setting.switcher.hoisted_combinations(&ct, &[], &babies, &combinations);
        assert!(matches!(none, Err(LatticeError::KeyInputs { .. })));
        let short = setting.switcher.hoisted_combinations(&ct, &digits, &babies[..2], &combinations);
        assert!(matches!(short, Err(LatticeError::InputOutOfRange { .. })));
        few
    });
}
