//! The switch against its definition: messages, exact integers, noise under the closed forms, counts of the
//! papers.

use std::sync::Arc;

use crate::common::*;
use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::noise::{NoiseModel, bound};
use clathrate_lattice::switch::SecretMatrix;
use clathrate_lattice::{
    Bundle, Chain, Gadget, LatticeError, Level, Poly, SecretKey, SecretRng, SwitchKey, Switcher,
};
use clathrate_testkit::oracle;
use num_bigint::BigInt;
use num_traits::Zero;

/// False alarms: a bound that fails with probability 2^-40 per test.
const LOG2_FAILURE: f64 = 40.0;

fn switcher(chain: &Arc<Chain>) -> Switcher {
    let gadget = Gadget::for_special_modulus(chain, 0.0).expect("gadget");
    Switcher::new(chain.clone(), Arc::new(gadget)).expect("switcher")
}

fn key(
    switcher: &Switcher,
    level: Level,
    from: &SecretKey,
    to: &SecretKey,
    rng: &mut SecretRng,
) -> SwitchKey {
    let chain = switcher.chain();
    let matrix = SecretMatrix::linear(from, chain.ring(), &chain.key_basis(level));
    SwitchKey::generate(chain, switcher.gadget(), level, &matrix, to, rng).expect("key")
}

fn model(secret: &SecretKey) -> NoiseModel {
    NoiseModel {
        degree: secret.degree(),
        rank: secret.rank(),
        secret_variance: secret.coefficient_variance(),
    }
}

fn digit_bits(switcher: &Switcher, level: Level) -> Vec<f64> {
    let basis = switcher.chain().basis(level);
    let own = |digit: &clathrate_lattice::Basis| {
        let primes = digit.indices().iter().copied().filter(|&i| basis.row_of(i).is_some());
        clathrate_lattice::Basis::new(primes).log2(switcher.chain().ring())
    };
    switcher.gadget().digits().iter().map(own).filter(|&bits| bits > 0.0).collect()
}

#[test]
fn switched_noise_is_predicted_at_every_level_rank_digit_length_and_body_count() {
    for (special, rank_in, rank_out, bodies) in
        [(1, 1, 1, 1), (2, 2, 2, 1), (3, 3, 1, 1), (2, 1, 3, 1), (1, 2, 2, 3), (2, 1, 1, 2), (2, 5, 2, 1)]
    {
        let shape = Shape { degree: 512, bits: 36, steps: 5, special_bits: 37, special };
        let chain = chain(&shape);
        let switcher = switcher(&chain);
        let mut rng = rng(special as u8);
        let (from, to) =
            (secret(&chain, rank_in, bodies, &mut rng), secret(&chain, rank_out, bodies, &mut rng));
        let top = chain.max_level();
        let key = key(&switcher, top, &from, &to, &mut rng);
        for level in (0..=top.0).map(Level) {
            let (m, _) = message(&chain, level, 20, &mut rng);
            let ct = encrypt(&chain, &from, &m, &mut rng);
            let mut switched = switcher.switch(&ct.mask().iter().collect::<Vec<_>>(), &key).expect("switch");
            for (mut body, original) in switched.bodies_mut().iter_mut().zip(ct.bodies()) {
                body.add_assign(original).expect("same basis");
            }
            let added = model(&to).switch(
                rank_in,
                &digit_bits(&switcher, level),
                chain.special_basis().log2(chain.ring()),
            );
            for body in 0..bodies {
                let measured = errors(&switched, &to, body, &m);
                let predicted = model(&from).fresh_secret() + added;
                let ratio = variance(&measured) / predicted;
                // 512 samples: the variance of the sample variance is 2/512, so 0.35 is 5.6 sigma; squared
                // ternary norms vary a little more.
                assert!(
                    (0.65..1.35).contains(&ratio),
                    "special {special} rank {rank_in}->{rank_out} level {level}: ratio {ratio}"
                );
                let limit = bound(predicted, measured.len(), LOG2_FAILURE);
                assert!(measured.iter().all(|e| e.abs() <= limit), "over the bound {limit}");
            }
        }
    }
}

#[test]
fn digits_recompose_to_the_input_times_the_special_modulus() {
    // sum_j d_j (Q / D_j) = P u mod P Q_l, in big integers, from both domains.
    let chain = chain(&Shape { degree: 64, bits: 36, steps: 6, special_bits: 37, special: 2 });
    let switcher = switcher(&chain);
    let mut rng = rng(7);
    let moduli = chain.ring().moduli();
    let all: BigInt = oracle::product(moduli);
    for level in (0..=chain.max_level().0).map(Level) {
        let secret = secret(&chain, 1, 1, &mut rng);
        let u = Bundle::encrypt_zero(&secret, chain.ring(), &chain.basis(level), &mut rng)
            .expect("uniform")
            .mask()
            .at(0)
            .to_owned();
        let digits = switcher.decompose(&u).expect("digits");
        let from_coeff = switcher.decompose_coeff(&u.clone().into_coeff()).expect("digits");
        assert_eq!(digits.polys(), from_coeff.polys(), "both domains give the same digits");
        let mut sum = vec![BigInt::zero(); 64];
        for (digit, primes) in digits.polys().iter().zip(switcher.gadget().digits()) {
            let product = oracle::product(&primes.indices().iter().map(|&i| moduli[i]).collect::<Vec<_>>());
            let own: Vec<_> = primes
                .indices()
                .iter()
                .filter(|i| digit.basis().row_of(**i).is_some_and(|row| row < chain.basis(level).len()))
                .map(|&i| moduli[i])
                .collect();
            let half = oracle::product(&own) / 2;
            for (total, d) in sum.iter_mut().zip(integers(digit)) {
                assert!(d >= -&half && d <= half, "digits are centred");
                *total += d * (&all / &product);
            }
        }
        let special = oracle::product(&moduli[chain.special_basis().indices()[0]..]);
        let extended: Vec<_> = digits.polys()[0].basis().indices().iter().map(|&i| moduli[i]).collect();
        let modulus = oracle::product(&extended);
        for (total, u) in sum.iter().zip(integers(&u)) {
            assert_eq!(oracle::centre(total, &modulus), oracle::centre(&(u * &special), &modulus));
        }
    }
}

#[test]
fn coeff_and_eval_switches_agree_bit_for_bit() {
    let chain = chain(&Shape { degree: 128, bits: 40, steps: 4, special_bits: 41, special: 2 });
    let switcher = switcher(&chain);
    let mut rng = rng(3);
    let (from, to) = (secret(&chain, 2, 1, &mut rng), secret(&chain, 2, 1, &mut rng));
    let key = key(&switcher, chain.max_level(), &from, &to, &mut rng);
    let ct = Bundle::encrypt_zero(&from, chain.ring(), &chain.basis(Level(3)), &mut rng).expect("zero");
    let eval = switcher.switch(&ct.mask().iter().collect::<Vec<_>>(), &key).expect("switch");
    let masks: Vec<_> = ct.mask().iter().map(|p| p.to_coeff()).collect();
    let coeff = switcher.switch_coeff(&masks.iter().collect::<Vec<_>>(), &key).expect("switch");
    assert_eq!(eval, coeff.into_eval());
}

#[test]
fn key_of_a_lower_level_serves_that_level_and_refuses_higher_ones() {
    let chain = chain(&Shape { degree: 64, bits: 36, steps: 4, special_bits: 37, special: 2 });
    let switcher = switcher(&chain);
    let mut rng = rng(5);
    let (from, to) = (secret(&chain, 1, 1, &mut rng), secret(&chain, 1, 1, &mut rng));
    let key = key(&switcher, Level(2), &from, &to, &mut rng);
    for level in 0..=4 {
        let (m, _) = message(&chain, Level(level), 30, &mut rng);
        let ct = encrypt(&chain, &from, &m, &mut rng);
        let result = switcher.switch(&[ct.mask().at(0)], &key);
        if level > 2 {
            assert_eq!(result, Err(LatticeError::KeyLevelTooLow { key_level: 2, level }));
            continue;
        }
        let mut switched = result.expect("level served");
        switched.bodies_mut().at(0).add_assign(ct.bodies().at(0)).expect("same basis");
        assert!(errors(&switched, &to, 0, &m).iter().all(|e| e.abs() < 200.0));
    }
}

#[test]
fn wrong_inputs_chain_or_gadget_is_an_error_with_numbers() {
    let shape = Shape { degree: 64, bits: 36, steps: 4, special_bits: 37, special: 2 };
    let (one, other) = (chain(&shape), chain(&Shape { bits: 35, ..shape }));
    let (switcher, foreign) = (switcher(&one), self::switcher(&other));
    let mut rng = rng(5);
    let s = secret(&one, 1, 1, &mut rng);
    let key = key(&switcher, Level(4), &s, &s, &mut rng);
    let zero = |chain: &Chain| {
        Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(Level(4)), &mut crate::common::rng(1))
            .expect("zero")
    };
    let (ct, alien) = (zero(&one), zero(&other));
    let mask = ct.mask().at(0);
    assert_eq!(
        switcher.switch(&[mask, mask], &key).expect_err("two inputs"),
        LatticeError::KeyInputs { key_inputs: 1, inputs: 2 }
    );
    assert!(matches!(foreign.switch(&[alien.mask().at(0)], &key), Err(LatticeError::KeyGadget { .. })));
    assert!(matches!(
        switcher.switch(&ct.mask().to_vec()[..0].iter().collect::<Vec<_>>(), &key),
        Err(LatticeError::KeyInputs { inputs: 0, .. })
    ));
    let bare = Arc::new(Chain::new(one.ring().clone(), &[2, 1, 1, 1, 1, 1, 1]).expect("all primes in steps"));
    assert!(matches!(Gadget::for_special_modulus(&bare, 0.0), Err(LatticeError::NoSpecialPrimes)));
    let wide = chain(&Shape { degree: 64, bits: 40, steps: 4, special_bits: 32, special: 1 });
    assert!(matches!(Gadget::for_special_modulus(&wide, 0.0), Err(LatticeError::DigitTooLarge { .. })));
}

#[test]
fn relinearised_product_has_the_predicted_noise_at_ranks_1_to_4() {
    for rank in [1, 2, 3, 4] {
        let chain = chain(&Shape { degree: 256, bits: 40, steps: 3, special_bits: 45, special: 2 });
        let switcher = switcher(&chain);
        let mut rng = rng(10 + rank as u8);
        let s = secret(&chain, rank, 1, &mut rng);
        let top = chain.max_level();
        let matrix = SecretMatrix::quadratic(&s, chain.ring(), &chain.key_basis(top)).expect("one body");
        let key = SwitchKey::generate(&chain, switcher.gadget(), top, &matrix, &s, &mut rng).expect("key");
        assert_eq!(key.inputs(), rank * (rank + 1) / 2);
        let ((x, _), (y, _)) = (message(&chain, top, 30, &mut rng), message(&chain, top, 30, &mut rng));
        let (cx, cy) = (encrypt(&chain, &s, &x, &mut rng), encrypt(&chain, &s, &y, &mut rng));
        let product = cx.multiply(&cy, &switcher, &key).expect("product");
        let mut expected = x.clone();
        expected.mul_assign(&y).expect("same basis");
        let fresh = model(&s).fresh_secret();
        let mean_square = 2f64.powi(58) / 3.0; // 30 bits signed: uniform in [-2^29, 2^29)
        let variance_predicted = model(&s).multiply((fresh, mean_square), (fresh, mean_square));
        let measured = errors(&product, &s, 0, &expected);
        let ratio = variance(&measured) / variance_predicted;
        assert!((0.75..1.3).contains(&ratio), "rank {rank}: {ratio}");
    }
}

#[test]
fn rotation_by_hoisted_digits_equals_plain_rotation() {
    let chain = chain(&Shape { degree: 128, bits: 40, steps: 3, special_bits: 45, special: 1 });
    let switcher = switcher(&chain);
    let mut rng = rng(21);
    for rank in [1, 2, 3] {
        let s = secret(&chain, rank, 1, &mut rng);
        let (m, _) = message(&chain, Level(3), 30, &mut rng);
        let ct = encrypt(&chain, &s, &m, &mut rng);
        let digits = ct.decompose_mask(&switcher, &switcher.tables(Level(3)).expect("plan")).expect("digits");
        for steps in [1i64, 3, -1, 64] {
            let phi = Automorphism::new(GaloisElement::rotation(steps, 128), 128);
            let key = SwitchKey::automorphism(&chain, switcher.gadget(), Level(3), &s, &phi, &mut rng)
                .expect("key");
            let plain = ct.rotate(&phi, &switcher, &key).expect("rotate");
            assert_eq!(plain, ct.rotate_hoisted(&phi, &digits, &switcher, &key).expect("hoisted"));
            assert!(errors(&plain, &s, 0, &m.automorphism(&phi)).iter().all(|e| e.abs() < 400.0));
        }
    }
}

/// [klss, Table 1 'Previous']: d l~ + 2 l~ transforms; 2 d l~ Hadamard products when r = 1, at most l^2 more otherwise.
#[test]
fn switch_counts_equal_klss_table_1() {
    for (special, steps) in [(1usize, 5usize), (2, 4), (3, 7)] {
        let step = 2 * 64u64;
        let all = clathrate_arith::primes::largest_primes(36, step, steps + special, &[]).expect("primes");
        let (ring, engine) = crate::common::counting_ring(64, &all);
        let chain = Arc::new(Chain::new(ring, &vec![1; steps]).expect("chain"));
        // Digits of `special` primes: equal sizes to a fraction of a bit.
        let switcher = Switcher::new(chain.clone(), Arc::new(Gadget::by_bits(&chain, 36.0 * special as f64)))
            .expect("switcher");
        let mut rng = rng(1);
        let s = secret(&chain, 1, 1, &mut rng);
        let key = key(&switcher, chain.max_level(), &s, &s, &mut rng);
        for level in (0..steps).map(Level) {
            let ct = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(level), &mut rng).expect("zero");
            let mask = ct.mask().at(0).to_owned().into_coeff();
            let (l, tilde) = (level.0 + 1, level.0 + 1 + special);
            let d = l.div_ceil(special);
            engine.take();
            let digits = switcher.decompose_coeff(&mask).expect("digits");
            let decomposition = engine.take();
            assert_eq!(decomposition.ntt(), d * tilde);
            let exact: usize = (0..d)
                .map(|j| special.min(l - j * special))
                .filter(|&r| r > 1)
                .map(|r| r * (tilde - r))
                .sum();
            assert_eq!(decomposition.conversion, exact);
            assert!(exact <= l * tilde, "the paper bounds d r l~ by l^2 up to the special primes");
            let sum = switcher.inner_product(&[&digits], &key).expect("product");
            let product = engine.take();
            assert_eq!((product.hadamard, product.ntt()), (2 * d * tilde, 0));
            let coeff = sum
                .to_coeff()
                .expect("one part")
                .divide(&switcher.mod_down_division(level).expect("division"))
                .expect("mod-down");
            assert_eq!(engine.take().ntt(), 2 * tilde);
            // The whole call is the sum of its steps.
            assert_eq!(switcher.switch_coeff(&[&mask], &key).expect("switch"), coeff);
            assert_eq!(engine.take().ntt(), d * tilde + 2 * tilde);
        }
    }
}

/// [dpad-he, Table 1]: multiplication at rank r. We reuse the Eval form of a digit's own rows and leave the mod-down's kept
/// rows in Eval form; with what that saves added back, the counts are the table's.
#[test]
fn multiply_counts_equal_dpad_table_1() {
    for rank in [1usize, 2, 3, 5] {
        for k in [1usize, 2] {
            let steps = 4;
            let all = clathrate_arith::primes::largest_primes(36, 128, steps + k, &[]).expect("primes");
            let (ring, engine) = crate::common::counting_ring(64, &all);
            let chain = Arc::new(Chain::new(ring, &[1; 4]).expect("chain"));
            let switcher = Switcher::new(chain.clone(), Arc::new(Gadget::by_bits(&chain, 36.0 * k as f64)))
                .expect("switcher");
            let mut rng = rng(2);
            let s = secret(&chain, rank, 1, &mut rng);
            let top = chain.max_level();
            let matrix = SecretMatrix::quadratic(&s, chain.ring(), &chain.key_basis(top)).expect("one body");
            let key =
                SwitchKey::generate(&chain, switcher.gadget(), top, &matrix, &s, &mut rng).expect("key");
            let ct = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(top), &mut rng).expect("zero");
            let (l, tilde, d, inputs) = (steps, steps + k, steps / k, rank * (rank + 1) / 2);
            engine.take();
            let tensor = ct.tensor(&ct).expect("tensor");
            let counts = engine.take();
            assert_eq!(counts.hadamard, (rank + 1).pow(2) * l, "tensor");
            let digits: Vec<_> =
                tensor.quadratic().iter().map(|u| switcher.decompose(u).expect("digits")).collect();
            let counts = engine.take();
            let saved_own_rows = inputs * l;
            assert_eq!(counts.ntt() + saved_own_rows, inputs * (l + d * tilde), "decomposition");
            assert_eq!(
                counts.conversion,
                if k == 1 { 0 } else { inputs * d * k * (tilde - k) },
                "decomposition: r(r+1)/2 d k (l~' - k) = r(r+1) l~^2 / 2"
            );
            let sum = switcher.inner_product(&digits.iter().collect::<Vec<_>>(), &key).expect("product");
            assert_eq!(
                engine.take().hadamard,
                (rank + 1) * inputs * d * tilde,
                "inner product: r (r+1)^2 d l~' / 2"
            );
            switcher.mod_down(&sum).expect("mod-down");
            let counts = engine.take();
            let saved_kept_rows = (rank + 1) * l;
            assert_eq!(counts.ntt() + saved_kept_rows, (rank + 1) * (l + tilde), "mod-down");
        }
    }
}

#[test]
fn fused_mod_down_and_rescale_is_one_exact_division() {
    let chain = chain(&Shape { degree: 64, bits: 36, steps: 3, special_bits: 37, special: 2 });
    let switcher = switcher(&chain);
    let mut rng = rng(31);
    let s = secret(&chain, 1, 1, &mut rng);
    let level = Level(3);
    let x = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(level), &mut rng)
        .expect("uniform")
        .mask()
        .at(0)
        .to_owned();
    let key = key(&switcher, level, &s, &s, &mut rng);
    let product = switcher.product(&[&x], &key).expect("product");
    let divided = switcher.mod_down_rescale(&product).expect("divided");
    let sum = product.to_eval().expect("one part");
    let moduli = chain.ring().moduli();
    let divisor: BigInt = oracle::product(
        &chain
            .special_basis()
            .indices()
            .iter()
            .chain(&[chain.step(level).start])
            .map(|&i| moduli[i])
            .collect::<Vec<_>>(),
    );
    let kept = oracle::product(&crate::common::moduli(divided.bodies().at(0)));
    for (x, y) in sum.polys().zip(divided.polys()) {
        for (x, y) in integers(x).iter().zip(integers(y)) {
            assert_eq!(oracle::centre(&oracle::round_div(x, &divisor), &kept), y);
        }
    }
}

#[test]
fn lifted_terms_join_a_sum_before_its_mod_down() {
    let chain = chain(&Shape { degree: 64, bits: 36, steps: 3, special_bits: 37, special: 2 });
    let switcher = switcher(&chain);
    let (m, _) = message(&chain, Level(2), 30, &mut rng(3));
    let s = secret(&chain, 1, 1, &mut rng(4));
    let key = key(&switcher, Level(3), &s, &s, &mut rng(5));
    // A product of nothing: what comes back is the term itself, exactly.
    let nothing = Poly::zero(chain.ring(), &chain.basis(Level(2)));
    let mut sum = switcher.product(&[&nothing], &key).expect("product");
    sum.add_lifted([&nothing, &m]).expect("lift");
    let back = switcher.mod_down(&sum).expect("mod-down");
    assert_eq!((back.mask().at(0), back.bodies().at(0)), (nothing.view(), m.view()));
    // And with a product it is that product's switch plus the term, exactly: P x divides without a remainder.
    let u = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(Level(2)), &mut rng(6))
        .expect("zero")
        .mask()
        .at(0)
        .to_owned();
    let mut sum = switcher.product(&[&u], &key).expect("product");
    let mut expected = switcher.mod_down(&sum).expect("mod-down");
    expected.add_message(0, &m).expect("same basis");
    sum.add_lifted([&nothing, &m]).expect("lift");
    assert_eq!(switcher.mod_down(&sum).expect("mod-down"), expected);
}

#[test]
fn auxiliary_primes_belong_to_no_modulus_of_the_scheme() {
    let all = clathrate_arith::primes::largest_primes(36, 128, 7, &[]).expect("primes");
    let ring = |primes: &[u64]| crate::common::new_ring(64, primes);
    let with = Arc::new(Chain::with_auxiliary(ring(&all), &[1, 1, 1], 2).expect("chain"));
    let without = Arc::new(Chain::new(ring(&all[..5]), &[1, 1, 1]).expect("chain"));
    assert_eq!(with.auxiliary_basis().indices(), [5, 6]);
    assert_eq!((with.special_basis(), with.whole_basis()), (without.special_basis(), without.whole_basis()));
    // The same keys and the same results with and without them.
    let switched = |chain: &Arc<Chain>| {
        let switcher = switcher(chain);
        let mut rng = rng(9);
        let s = secret(chain, 1, 1, &mut rng);
        let key = key(&switcher, chain.max_level(), &s, &s, &mut rng);
        let ct = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(Level(2)), &mut rng).expect("zero");
        switcher.switch(&[ct.mask().at(0)], &key).expect("switch").bodies().at(0).download().to_vec()
    };
    assert_eq!(switched(&with), switched(&without));
    assert!(Chain::with_auxiliary(ring(&all), &[1, 1, 1], 5).is_err());
}

#[test]
fn fused_product_equals_decomposition_then_inner_product_at_every_level_and_thread_count() {
    let shape = Shape { degree: 1024, bits: 40, steps: 5, special_bits: 43, special: 2 };
    let (moduli, lengths) = primes(&shape);
    let engine = |threads: usize| {
        let engine =
            clathrate_arith::CpuEngine::new(1024, &moduli, clathrate_arith::Isa::detect().expect("isa"))
                .expect("engine");
        crate::common::ring_over(
            engine
                .with_threads(clathrate_arith::CpuEngine::thread_pool(threads).expect("pool"))
                .sharing_small_work(),
        )
    };
    let mut results = Vec::new();
    for threads in [1, 2] {
        let chain = Arc::new(Chain::new(engine(threads), &lengths).expect("chain"));
        let switcher = switcher(&chain);
        let mut rng = rng(8);
        let s = secret(&chain, 3, 1, &mut rng);
        let key = key(&switcher, chain.max_level(), &s, &s, &mut rng);
        for level in (0..=chain.max_level().0).map(Level) {
            let ct = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(level), &mut rng).expect("zero");
            let inputs: Vec<_> = ct.mask().iter().collect();
            let digits =
                ct.decompose_mask(&switcher, &switcher.tables(level).expect("plan")).expect("digits");
            let stepwise = switcher
                .inner_product(&digits.iter().collect::<Vec<_>>(), &key)
                .expect("product")
                .to_eval()
                .expect("one part");
            assert_eq!(
                switcher.product(&inputs, &key).expect("fused").to_eval().expect("one part"),
                stepwise
            );
            results.push((level, stepwise));
        }
    }
    let (one, two) = results.split_at(results.len() / 2);
    assert_eq!(one, two, "one thread is exactly as correct");
}
