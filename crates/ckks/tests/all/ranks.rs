//! Ranks and degrees as directions: products and rotations through a temporary rank, reductions, conversions,
//! at toy parameters.

use std::sync::Arc;

use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, EvaluationKeys, Evaluator, KeyNeeds, ModuleShape, Params, Runtime,
    SecretKey,
};
use clathrate_lattice::{Level, SecretRng};

fn params(name: &str) -> Params {
    Params::preset(name, &crate::common::base_runtime()).expect("preset")
}

fn key(params: &Params) -> SecretKey {
    SecretKey::generate_with(params, &mut SecretRng::from_seed([7; 32])).expect("key")
}

fn evaluator(key: &SecretKey, needs: &KeyNeeds) -> Evaluator {
    Evaluator::with_keys(Arc::new(keys(key, needs).expect("keys")))
}

fn keys(key: &SecretKey, needs: &KeyNeeds) -> Result<EvaluationKeys, CkksError> {
    key.clone().with_rng(SecretRng::from_seed([8; 32])).evaluation_keys(needs)
}

fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 37 % 101) as f64 - 50.0) / 50.0).collect()
}

fn encrypt(key: &SecretKey, values: &[f64], level: Option<Level>) -> Ciphertext {
    let options = EncryptOptions { encoding: Some(Encoding::Slots), level, ..EncryptOptions::default() };
    let key = key.clone().with_rng(SecretRng::from_seed([9; 32]));
    key.encrypt_array(values, &[values.len()], options).expect("encrypt")
}

/// The largest deviation of a decryption.
fn deviation(key: &SecretKey, ciphertext: &Ciphertext, expected: &[f64]) -> f64 {
    let values = key.decrypt(ciphertext).expect("decrypt").into_real().expect("real numbers went in");
    assert_eq!(values.len(), expected.len());
    values.iter().zip(expected).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

fn squares(values: &[f64]) -> Vec<f64> {
    values.iter().map(|x| x * x).collect()
}

#[test]
fn products_go_through_the_temporary_rank_at_every_level() {
    let params = params("insecure_dpad");
    let temporary = params.temporary_for_products().expect("temporary rank");
    assert_eq!((params.rank(), temporary.rank), (4, 5));
    let owner = key(&params);
    let evaluator = evaluator(&owner, &KeyNeeds::new().relinearise(KeyLevel::Top));
    for level in (1..=params.max_level().0).rev() {
        let values = numbers(128);
        let x = encrypt(&owner, &values, Some(Level(level)));
        let product = evaluator.multiply_rescale(&x, &x).expect("product");
        assert_eq!(product.bundles()[0].rank(), 4);
        assert!(deviation(&owner, &product, &squares(&values)) < 1e-6, "level {level}");
        let two = evaluator.rescale(&evaluator.multiply(&x, &x).expect("product")).expect("rescale");
        assert!(deviation(&owner, &two, &squares(&values)) < 1e-6, "level {level}");
    }
}

#[test]
fn rotations_of_any_step_follow_from_keys_of_powers_of_two() {
    for name in ["insecure_dpad", "insecure_dpad_rank1"] {
        let params = params(name);
        let owner = key(&params);
        let evaluator = evaluator(&owner, &KeyNeeds::new().power_rotations(KeyLevel::Top));
        let values = numbers(params.slot_count());
        let x = encrypt(&owner, &values, None);
        for step in [1i64, 3, -7, 29, 64, -1] {
            let mut expected = values.clone();
            expected.rotate_left(step.rem_euclid(values.len() as i64) as usize);
            assert!(
                deviation(&owner, &evaluator.rotate(&x, step).expect("rotation"), &expected) < 1e-6,
                "{name}, step {step}"
            );
        }
        // Short rows repeat: steps are modulo their length.
        let x = encrypt(&owner, &values[..16], None);
        let mut expected = values[..16].to_vec();
        expected.rotate_left(11);
        assert!(deviation(&owner, &evaluator.rotate(&x, 11 + 32).expect("rotation"), &expected) < 1e-6);
    }
}

#[test]
fn reduced_ranks_multiply_with_their_own_keys_and_come_back_by_zeros() {
    let params = params("insecure_dpad");
    let owner = key(&params);
    let relinearise = KeyNeeds::new().relinearise(KeyLevel::Top);
    let shape = |rank| ModuleShape { degree: params.degree(), rank };
    let needs = KeyNeeds::new()
        .relinearise(KeyLevel::Top)
        .reduce_to(2, KeyLevel::Top)
        .relative(shape(2), &relinearise.clone().reduce_to(1, KeyLevel::Top))
        .relative(shape(1), &relinearise);
    let evaluator = evaluator(&owner, &needs);
    let two = params.at_rank(2).expect("rank 2");
    assert!(two.max_level() <= params.max_level());
    let values = numbers(128);
    let x = encrypt(&owner, &values, Some(two.max_level()));
    let reduced = evaluator.to_rank(&x, 2).expect("rank 2");
    assert_eq!((reduced.params().rank(), reduced.bundles()[0].rank()), (2, 2));
    assert!(deviation(&owner, &reduced, &values) < 1e-6);
    if reduced.level() > Level(0) {
        let product = evaluator.multiply_rescale(&reduced, &reduced).expect("product at rank 2");
        assert!(deviation(&owner, &product, &squares(&values)) < 1e-6);
    }
    let one = params.at_rank(1).expect("rank 1");
    let low = evaluator.drop_to_level(&x, one.max_level().min(x.level())).expect("lower");
    // Two steps, found from the keys.
    let least = evaluator.to_rank(&low, 1).expect("rank 1");
    assert_eq!(least.params().rank(), 1);
    assert!(deviation(&owner, &least, &values) < 1e-6);
    let back = evaluator.to_rank(&least, 4).expect("zeros");
    assert_eq!(back.params(), &params);
    assert!(deviation(&owner, &back, &values) < 1e-6);
    let sum = evaluator.add(&back, &low).expect("one shape again");
    assert!(deviation(&owner, &sum, &values.iter().map(|x| 2.0 * x).collect::<Vec<_>>()) < 1e-6);
    assert!(matches!(evaluator.add(&least, &low), Err(CkksError::Unsuitable { .. })));
}

#[test]
fn conversions_between_degrees_keep_messages_and_multiply_on_both_sides() {
    for name in ["insecure_dpad", "insecure_rank2"] {
        let params = params(name);
        let (owner, rank) = (key(&params), params.rank());
        let rlwe = params.relative(params.rlwe_shape()).expect("rank 1");
        assert_eq!(
            (rlwe.rank(), rlwe.degree(), rlwe.max_level()),
            (1, params.degree() * rank, params.max_level())
        );
        let needs = KeyNeeds::new()
            .relinearise(KeyLevel::Top)
            .merge(&params.rlwe_needs(KeyLevel::Top))
            .relative(rlwe.shape(), &KeyNeeds::new().relinearise(KeyLevel::Top));
        let evaluator = evaluator(&owner, &needs);
        let values = numbers(params.slot_count());
        let x = encrypt(&owner, &values, None);
        let converted = evaluator.to_rlwe(&x).expect("to rank 1");
        assert_eq!(converted.params(), &rlwe);
        assert!(deviation(&owner, &converted, &values) < 1e-6, "{name}");
        let product = evaluator.multiply_rescale(&converted, &converted).expect("product at rank 1");
        assert!(deviation(&owner, &product, &squares(&values)) < 1e-6, "{name}");
        let back = evaluator.to_mlwe(&product, rank).expect("back");
        assert_eq!(back.params(), &params);
        assert!(deviation(&owner, &back, &squares(&values)) < 1e-6, "{name}");
        let fourth = evaluator.multiply_rescale(&back, &back).expect("product of what came back");
        assert!(deviation(&owner, &fourth, &squares(&squares(&values))) < 1e-5, "{name}");
        // A row longer than the slots of the lower degree cannot come down.
        let long = encrypt(&owner.relative(&rlwe).expect("key"), &numbers(2 * params.slot_count()), None);
        assert!(matches!(evaluator.to_mlwe(&long, rank), Err(CkksError::Unsuitable { .. })));
    }
}

#[test]
fn ring_switching_is_extract_reduce_embed() {
    let params = params("insecure_dpad");
    let owner = key(&params);
    let rlwe = params.relative(params.rlwe_shape()).expect("rank 1");
    let two = params.at_rank(2).expect("rank 2");
    let needs =
        KeyNeeds::new().reduce_to(2, KeyLevel::Top).relative(two.shape(), &two.rlwe_needs(KeyLevel::Top));
    let evaluator = evaluator(&owner, &needs);
    let values = numbers(100);
    let x = encrypt(&owner.relative(&rlwe).expect("key"), &values, Some(two.max_level()));
    let small = evaluator
        .to_rlwe(&evaluator.to_rank(&evaluator.to_mlwe(&x, 4).expect("extract"), 2).expect("reduce"))
        .expect("embed");
    assert_eq!(small.params().shape(), ModuleShape { degree: 512, rank: 1 });
    assert!(deviation(&owner, &small, &values) < 1e-6);
}

#[test]
fn polynomials_follow_a_schedule_of_ranks() {
    use clathrate_ckks::{Polynomial, PolynomialBasis, RankSteps};
    // As made, reductions pay from some level on.
    let runtime =
        Runtime { switching: clathrate_ckks::parameters::Switching::AsMade, ..crate::common::base_runtime() };
    let params = Params::preset("insecure_dpad", &runtime).expect("preset");
    let owner = key(&params);
    let coefficients: Vec<f64> =
        (0..16).map(|i| 0.3 / f64::from(i + 1) * if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
    let polynomial =
        Polynomial::new(coefficients, PolynomialBasis::Chebyshev, (-1.0, 1.0)).expect("polynomial");
    let values = numbers(128);
    let expected: Vec<f64> = values.iter().map(|&x| polynomial.evaluate_real(x)).collect();
    let level = Level(6);
    for steps in [RankSteps::Halves, RankSteps::Single] {
        let plan =
            polynomial.plan(&params, level).expect("plan").with_rank_schedule(steps).expect("schedule");
        let schedule = plan.rank_schedule().expect("schedule");
        assert!(schedule.milliseconds() <= schedule.unreduced_milliseconds() * (1.0 + 1e-9), "{schedule}");
        let evaluator = evaluator(&owner, &plan.needs().expect("needs"));
        let x = encrypt(&owner, &values, Some(level));
        let result = plan.run(&evaluator, &x).expect("run");
        assert_eq!(result.params().rank(), plan.output_rank());
        assert!(plan.output_rank() < 4, "{schedule}");
        assert!(deviation(&owner, &result, &expected) < 1e-5, "{steps:?}\n{schedule}");
        // A dry run asks for keys that do.
        let dry = Evaluator::recording(&params);
        let symbol = Ciphertext::symbol(
            &params,
            &[128],
            Encoding::Slots,
            false,
            params.max_level(),
            params.scale(params.max_level()),
        )
        .expect("symbol");
        plan.run(&dry, &symbol).expect("dry run");
        let evaluator = self::evaluator(&owner, &dry.needs().single_steps());
        assert!(deviation(&owner, &plan.run(&evaluator, &x).expect("run"), &expected) < 1e-5);
    }
}

#[test]
fn schedules_reduce_where_it_pays_and_the_evaluator_follows() {
    use clathrate_ckks::{RankSchedule, RankSteps};
    let params = params("insecure_dpad");
    let owner = key(&params);
    let top = params.max_level();
    for steps in [RankSteps::Halves, RankSteps::Single] {
        let schedule = RankSchedule::repeated_squaring(&params, top, steps).expect("schedule");
        let ranks: Vec<usize> = (0..=top.0).rev().map(|level| schedule.rank_at(Level(level))).collect();
        assert_eq!(ranks[0], 4);
        assert!(ranks.is_sorted_by(|x, y| x >= y), "{ranks:?}");
        assert!(ranks[top.0] < 4, "{ranks:?}");
        for (level, &rank) in ranks.iter().rev().enumerate() {
            assert!(
                Level(level) <= params.at_rank(rank).expect("rank").max_level(),
                "level {level} at rank {rank}"
            );
        }
        let evaluator = evaluator(&owner, &schedule.needs().expect("needs"));
        let mut expected = numbers(128);
        let mut x = encrypt(&owner, &expected, None);
        while x.level() > Level(0) {
            x = schedule.run(&evaluator, &x).expect("follow");
            assert_eq!(x.params().rank(), schedule.rank_at(x.level()));
            x = evaluator.multiply_rescale(&x, &x).expect("square");
            expected = squares(&expected);
        }
        assert!(deviation(&owner, &x, &expected) < 1e-4, "{schedule}");
    }
}
