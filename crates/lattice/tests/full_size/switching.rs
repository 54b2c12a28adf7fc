//! The switch and the product at secure sizes: minutes, not seconds, so only `make test-full` runs them.
//!
//! False alarms: each bound fails with probability `2^-40`; the variance of at least 2^13 errors is held to
//! 10 %, six deviations of a sample of correlated errors (`2 / sqrt(2^13)` = 2.2 % at the smallest, less
//! where ranks and degrees are larger) with one key's own.

use std::sync::Arc;

use crate::common::{
    Shape, any_choice, chain, chain_with_auxiliary, encrypt, integers, message, rng, secret,
};
use clathrate_lattice::noise::{NoiseModel, bound};
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::switch::SwitchMethod;
use clathrate_lattice::{
    Basis, Bundle, Eval, Gadget, Level, Poly, PolyRef, SecretDistribution, SecretKey, SwitchKey, Switcher,
};
use num_traits::ToPrimitive;

const LOG2_FAILURE: f64 = 40.0;

fn errors(bundle: &Bundle<Eval>, secret: &SecretKey, expected: &Poly<Eval>) -> Vec<f64> {
    // 60 bits of base primes hold every error here.
    let base = Basis::new([0, 1]);
    let mut phase = bundle.restrict(&base).expect("base primes").phase(secret).expect("fits").swap_remove(0);
    phase.sub_assign(&expected.restrict(&base).expect("base primes")).expect("same basis");
    integers(&phase).iter().map(|error| error.to_f64().expect("small")).collect()
}

fn check(what: &str, errors: &[f64], predicted: f64) {
    let ratio = crate::common::variance(errors) / predicted;
    let largest = errors.iter().fold(0f64, |largest, error| largest.max(error.abs()));
    let limit = bound(predicted, errors.len(), LOG2_FAILURE);
    assert!((0.9..1.1).contains(&ratio), "{what}: measured over predicted variance is {ratio:.3}");
    assert!(largest <= limit, "{what}: {largest} is over the bound {limit}");
}

fn switch_and_multiply(degree: usize, rank: usize, steps: usize, special: usize) {
    let chain = chain(&Shape { degree, bits: 40, steps, special_bits: 41, special });
    let switcher =
        Switcher::new(chain.clone(), Arc::new(Gadget::for_special_modulus(&chain, 0.0).expect("gadget")))
            .expect("switcher");
    let log2_qp = chain.key_basis(chain.max_level()).log2(chain.ring());
    let security = estimated_bits(degree * rank, log2_qp, SecretDistribution::UniformTernary);
    assert!(
        security >= 128.0,
        "degree {degree}, rank {rank}, log QP {log2_qp:.0}: {security:.0} bits of security"
    );
    let mut rng = rng((degree.trailing_zeros() as usize * 8 + rank) as u8);
    let (from, s) = (secret(&chain, rank, 1, &mut rng), secret(&chain, rank, 1, &mut rng));
    let model = NoiseModel { degree, rank, secret_variance: s.coefficient_variance() };
    let top = chain.max_level();
    let special_bits = chain.special_basis().log2(chain.ring());
    let digits = |level: Level| -> Vec<f64> {
        let basis = chain.basis(level);
        let own = |digit: &Basis| {
            Basis::new(digit.indices().iter().copied().filter(|&i| basis.row_of(i).is_some()))
                .log2(chain.ring())
        };
        switcher.gadget().digits().iter().map(own).filter(|&bits| bits > 0.0).collect()
    };
    let key = SwitchKey::change_of_secret(&chain, switcher.gadget(), top, &from, &s, &mut rng).expect("key");
    for level in [Level(0), Level(top.0 / 2), top] {
        let (m, _) = message(&chain, level, 40, &mut rng);
        let ct = encrypt(&chain, &from, &m, &mut rng);
        let switched = ct.switch_secret(&switcher, &key).expect("switch");
        let predicted = model.fresh_secret() + model.switch(rank, &digits(level), special_bits);
        check(
            &format!("switch, degree {degree}, rank {rank}, level {level}"),
            &errors(&switched, &s, &m),
            predicted,
        );
    }
    drop(key);
    let key = SwitchKey::relinearisation(&chain, switcher.gadget(), top, &s, &mut rng).expect("key");
    let bits = 20;
    let ((x, _), (y, _)) = (message(&chain, top, bits, &mut rng), message(&chain, top, bits, &mut rng));
    let (cx, cy) = (encrypt(&chain, &s, &x, &mut rng), encrypt(&chain, &s, &y, &mut rng));
    let mut expected = x;
    expected.mul_assign(&y).expect("same basis");
    let product = cx.multiply(&cy, &switcher, &key).expect("product");
    let (fresh, square) = (model.fresh_secret(), (2.0 * f64::from(bits)).exp2() / 12.0);
    let predicted = model.multiply((fresh, square), (fresh, square))
        + model.switch(rank * (rank + 1) / 2, &digits(top), special_bits);
    check(&format!("product, degree {degree}, rank {rank}"), &errors(&product, &s, &expected), predicted);
}

#[test]
#[ignore = "full size: make test-full"]
fn switch_and_product_at_degree_2_to_15_stay_under_their_bounds() {
    switch_and_multiply(1 << 15, 1, 14, 3);
}

#[test]
#[ignore = "full size: make test-full"]
fn switch_and_product_at_degree_2_to_16_stay_under_their_bounds() {
    switch_and_multiply(1 << 16, 1, 30, 6);
}

#[test]
#[ignore = "full size: make test-full"]
fn switch_and_product_at_degree_2_to_13_and_ranks_2_to_4_stay_under_their_bounds() {
    for rank in 2..=4 {
        switch_and_multiply(1 << 13, rank, 5 * rank - 4, rank);
    }
}

#[test]
#[ignore = "full size: make test-full"]
fn switch_and_product_at_degree_2_to_14_and_ranks_2_to_4_stay_under_their_bounds() {
    for rank in 2..=4 {
        switch_and_multiply(1 << 14, rank, 12, 4);
    }
}

/// Every engine and digit length, by keys with base digits of one prime: the same bits from both engines,
/// noise by the closed form.
fn switch_by_every_engine(degree: usize, rank: usize, steps: usize) {
    let chain = chain_with_auxiliary(&Shape { degree, bits: 36, steps, special_bits: 36, special: 1 }, 16);
    let gadget = Arc::new(Gadget::by_bits(&chain, 36.5));
    let switcher = any_choice(&chain, &gadget, rank);
    let log2_qp = chain.key_basis(chain.max_level()).log2(chain.ring());
    let security = estimated_bits(degree * rank, log2_qp, SecretDistribution::UniformTernary);
    assert!(
        security >= 128.0,
        "degree {degree}, rank {rank}, log QP {log2_qp:.0}: {security:.0} bits of security"
    );
    let mut rng = rng((degree.trailing_zeros() as usize * 8 + rank) as u8);
    let (from, s) = (secret(&chain, rank, 1, &mut rng), secret(&chain, rank, 1, &mut rng));
    let model = NoiseModel { degree, rank, secret_variance: s.coefficient_variance() };
    let top = chain.max_level();
    let key = SwitchKey::change_of_secret(&chain, &gadget, top, &from, &s, &mut rng).expect("key");
    for special in 1..=4 {
        for level in [Level(1), Level(top.0 + 1 - special)] {
            let (m, _) = message(&chain, level, 40, &mut rng);
            let ct = encrypt(&chain, &from, &m, &mut rng);
            let inputs: Vec<PolyRef<'_, Eval>> = ct.mask().iter().collect();
            let switched = |choice| {
                let plan = switcher.tables_of_method(choice, level, top).expect("plan");
                let mut switched = switcher
                    .mod_down(&switcher.product_by(&plan, &inputs, &key).expect("product"))
                    .expect("mod-down");
                switched.bodies_mut().at(0).add_assign(ct.bodies().at(0)).expect("same basis");
                (switched, model.fresh_secret() + model.coalesced_switch(rank, &plan.noise_digits()))
            };
            let (hybrid, predicted) = switched(SwitchMethod::hybrid(special));
            let what = format!("degree {degree}, rank {rank}, r = {special}, level {level}");
            check(&what, &errors(&hybrid, &s, &m), predicted);
            for length in [3, 5, 7] {
                assert_eq!(switched(SwitchMethod::klss(special, length)).0, hybrid, "{what}, r~ = {length}");
            }
            switcher.derived_keys().clear();
        }
    }
}

#[test]
#[ignore = "full size: make test-full"]
fn every_engine_at_degree_2_to_15_gives_the_same_bits_with_the_predicted_noise() {
    switch_by_every_engine(1 << 15, 1, 20);
}

#[test]
#[ignore = "full size: make test-full"]
fn every_engine_at_degree_2_to_13_and_ranks_2_and_3_gives_the_same_bits_with_the_predicted_noise() {
    for rank in 2..=3 {
        switch_by_every_engine(1 << 13, rank, 5 * rank - 2);
    }
}
