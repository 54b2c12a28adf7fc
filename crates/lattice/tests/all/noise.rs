//! Every operation's measured noise against its closed form.
//!
//! Each check draws at least 16384 phase errors over fresh secrets, keys and messages. Errors of one product
//! are correlated through the secret or the message, which at most doubles the variance of the sample
//! variance: a ratio to the prediction strays by 1.6 %, and by at most 1.7 % more where one key's errors (or
//! one secret's norm) serve several samples. The allowed 10 % is above four such deviations together: a false
//! alarm has probability below 10^-4 per check over random seeds (the seeds are fixed), and the largest error
//! passes its bound with probability `1 - 2^-40`.

use std::sync::Arc;

use crate::common::{Shape, chain, encrypt, integers, message, rng};
use clathrate_lattice::noise::{NoiseModel, bound};
use clathrate_lattice::switch::Extended;
use clathrate_lattice::{
    Basis, Bodies, Bundle, Chain, Degree, Eval, Gadget, Level, Poly, PublicKey, Rank, SecretDistribution,
    SecretKey, SecretRng, SwitchKey, Switcher,
};
use num_traits::ToPrimitive;

const TOLERANCE: f64 = 0.10;
const LOG2_FAILURE: f64 = 40.0;
const DEGREE: usize = 512;
const SAMPLES: usize = 1 << 14;

/// Mean square and largest of what an operation left.
#[derive(Default)]
struct Sample {
    squares: f64,
    largest: f64,
    count: usize,
}

impl Sample {
    /// Adds the errors of body `body` against `expected`. The errors are small, so the two base primes hold
    /// them.
    fn add(&mut self, bundle: &Bundle<Eval>, secret: &SecretKey, body: usize, expected: Option<&Poly<Eval>>) {
        let base = Basis::new([0, 1]);
        let mut phase =
            bundle.restrict(&base).expect("base primes").phase(secret).expect("fits").swap_remove(body);
        if let Some(expected) = expected {
            phase.sub_assign(&expected.restrict(&base).expect("base primes")).expect("same basis");
        }
        for error in integers(&phase) {
            let error = error.to_f64().expect("small");
            self.squares += error * error;
            self.largest = self.largest.max(error.abs());
            self.count += 1;
        }
    }

    fn check(&self, what: &str, predicted: f64) {
        assert!(self.count >= SAMPLES, "{what}: {} samples", self.count);
        let ratio = self.squares / self.count as f64 / predicted;
        assert!((ratio - 1.0).abs() < TOLERANCE, "{what}: measured over predicted variance is {ratio:.3}");
        let limit = bound(predicted, self.count, LOG2_FAILURE);
        assert!(self.largest <= limit, "{what}: {} is over the bound {limit}", self.largest);
        // A bound far above what happens would say nothing: a Gaussian's largest of 2^14 is about 4
        // deviations.
        assert!(
            self.largest * 4.0 > limit,
            "{what}: the bound {limit} is loose, the largest is {}",
            self.largest
        );
    }
}

fn model(secret: &SecretKey) -> NoiseModel {
    NoiseModel {
        degree: secret.degree(),
        rank: secret.rank(),
        secret_variance: secret.coefficient_variance(),
    }
}

/// Uniform ternary, sparse and dense secrets.
fn distributions() -> [SecretDistribution; 3] {
    [
        SecretDistribution::UniformTernary,
        SecretDistribution::FixedWeight(32),
        SecretDistribution::FixedWeight(500),
    ]
}

fn secret(rank: usize, bodies: usize, distribution: SecretDistribution, rng: &mut SecretRng) -> SecretKey {
    SecretKey::generate(Degree(DEGREE), Rank(rank), Bodies(bodies), distribution, rng).expect("secret")
}

/// Fresh draws of one body each that make `SAMPLES` errors.
fn rounds(errors_each: usize) -> usize {
    SAMPLES.div_ceil(errors_each)
}

fn plain_chain() -> Arc<Chain> {
    chain(&Shape { degree: DEGREE, bits: 36, steps: 2, special_bits: 37, special: 1 })
}

#[test]
fn fresh_encryptions_have_the_predicted_noise() {
    let chain = plain_chain();
    let (ring, basis) = (chain.ring(), chain.basis(Level(0)));
    let mut rng = rng(1);
    for distribution in distributions() {
        for (rank, bodies) in [(1, 1), (2, 1), (3, 1), (1, 2), (2, 3)] {
            let (mut by_secret, mut by_public) = (Sample::default(), Sample::default());
            let mut predicted = None;
            for _ in 0..rounds(DEGREE * bodies) {
                let s = secret(rank, bodies, distribution, &mut rng);
                predicted = Some(model(&s));
                let ct = Bundle::encrypt_zero(&s, ring, &basis, &mut rng).expect("zero");
                let public = PublicKey::generate(&s, ring, &basis, &mut rng).expect("key");
                let other = public.encrypt_zero(&basis, &mut rng).expect("zero");
                for body in 0..bodies {
                    by_secret.add(&ct, &s, body, None);
                    by_public.add(&other, &s, body, None);
                }
            }
            let predicted = predicted.expect("rounds");
            let what = format!("{distribution:?}, rank {rank}, {bodies} bodies");
            by_secret.check(&format!("secret, {what}"), predicted.fresh_secret());
            by_public.check(&format!("public, {what}"), predicted.fresh_public());
        }
    }
}

#[test]
fn rescale_divides_the_noise_and_adds_its_rounding() {
    let chain = plain_chain();
    let mut rng = rng(2);
    let division = chain.rescale_division(Level(1)).expect("division");
    let log2_divisor = chain.log2_step(Level(1));
    for distribution in distributions() {
        for rank in 1..=3 {
            // Noise that the division leaves nothing of, as much as the rounding, and much more.
            for factor in [1i128, (1 << 34) + 12345, (1 << 37) - 999] {
                let (mut sample, mut predicted) = (Sample::default(), 0.0);
                for _ in 0..rounds(DEGREE) {
                    let s = secret(rank, 1, distribution, &mut rng);
                    let mut ct = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(Level(1)), &mut rng)
                        .expect("zero");
                    ct.mul_integer_assign(factor);
                    predicted =
                        model(&s).rescale(model(&s).fresh_secret() * (factor as f64).powi(2), log2_divisor);
                    sample.add(&ct.divide(&division).expect("divides"), &s, 0, None);
                }
                sample.check(&format!("{distribution:?}, rank {rank}, factor {factor}"), predicted);
            }
        }
    }
}

/// Mean square of an integer uniform in `[-2^(bits - 1), 2^(bits - 1))`.
fn mean_square(bits: u32) -> f64 {
    let range = f64::from(1 << bits);
    (range * range - 1.0) / 12.0 + 0.25
}

#[test]
fn products_with_plaintexts_have_the_predicted_noise() {
    let chain = plain_chain();
    let mut rng = rng(3);
    for (rank, bits) in [(1, 2), (1, 12), (2, 8), (3, 5)] {
        let (mut sample, mut predicted) = (Sample::default(), 0.0);
        for _ in 0..rounds(DEGREE) {
            let s = secret(rank, 1, SecretDistribution::UniformTernary, &mut rng);
            let (p, _) = message(&chain, Level(0), bits, &mut rng);
            let mut ct =
                Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(Level(0)), &mut rng).expect("zero");
            ct.mul_poly_assign(&p).expect("same basis");
            predicted = model(&s).multiply_plain(model(&s).fresh_secret(), mean_square(bits));
            sample.add(&ct, &s, 0, None);
        }
        sample.check(&format!("rank {rank}, {bits} bits"), predicted);
    }
}

/// A switcher whose digits have `digit_primes` primes, over special primes of `special_bits`.
fn switcher(digit_primes: usize, special_bits: u32) -> Switcher {
    let chain = chain(&Shape { degree: DEGREE, bits: 36, steps: 4, special_bits, special: digit_primes });
    let gadget = Gadget::by_bits(&chain, 36.0 * digit_primes as f64);
    Switcher::new(chain, Arc::new(gadget)).expect("switcher")
}

/// Sizes of the digits at `level`, cut to the primes that are left.
fn digit_bits(switcher: &Switcher, level: Level) -> Vec<f64> {
    let (chain, basis) = (switcher.chain(), switcher.chain().basis(level));
    let own = |digit: &Basis| {
        Basis::new(digit.indices().iter().copied().filter(|&i| basis.row_of(i).is_some())).log2(chain.ring())
    };
    switcher.gadget().digits().iter().map(own).filter(|&bits| bits > 0.0).collect()
}

fn special_bits(switcher: &Switcher) -> f64 {
    switcher.chain().special_basis().log2(switcher.chain().ring())
}

/// Samples switches at each of `levels` under keys of `key_level`, over fresh keys and secrets, and holds
/// them to the formula.
fn check_switches(
    switcher: &Switcher,
    key_level: Level,
    levels: &[Level],
    ranks: (usize, usize),
    distribution: SecretDistribution,
    rng: &mut SecretRng,
) {
    let chain = switcher.chain();
    let mut samples: Vec<Sample> = levels.iter().map(|_| Sample::default()).collect();
    let mut to_model = None;
    for _ in 0..rounds(DEGREE) {
        let (from, to) = (secret(ranks.0, 1, distribution, rng), secret(ranks.1, 1, distribution, rng));
        let key =
            SwitchKey::change_of_secret(chain, switcher.gadget(), key_level, &from, &to, rng).expect("key");
        to_model = Some(model(&to));
        for (&level, sample) in levels.iter().zip(&mut samples) {
            let (m, _) = message(chain, level, 20, rng);
            let ct = encrypt(chain, &from, &m, rng);
            sample.add(&ct.switch_secret(switcher, &key).expect("switch"), &to, 0, Some(&m));
        }
    }
    let to = to_model.expect("rounds");
    for (&level, sample) in levels.iter().zip(&samples) {
        let digits = digit_bits(switcher, level);
        let predicted = to.fresh_secret() + to.switch(ranks.0, &digits, special_bits(switcher));
        let special = special_bits(switcher);
        sample.check(
            &format!(
                "level {level}, ranks {ranks:?}, {distribution:?}, P of {special:.0} bits, {digits:.0?}"
            ),
            predicted,
        );
    }
}

#[test]
fn switches_of_large_digits_have_the_predicted_noise_at_every_level_rank_and_digit_length() {
    let mut rng = rng(4);
    // The special primes are no larger than the digits, so that the products' noise is what one sees.
    for digit_primes in 1..=3 {
        let switcher = switcher(digit_primes, 36);
        let levels: Vec<Level> = (0..=4).map(Level).collect();
        for ranks in [(1, 1), (2, 2), (3, 3), (3, 1)] {
            check_switches(&switcher, Level(4), &levels, ranks, SecretDistribution::UniformTernary, &mut rng);
        }
    }
}

#[test]
fn switches_of_small_digits_leave_the_rounding_alone() {
    let mut rng = rng(5);
    for distribution in distributions() {
        for ranks in [(1, 1), (2, 3)] {
            check_switches(&switcher(2, 45), Level(4), &[Level(0), Level(3)], ranks, distribution, &mut rng);
        }
    }
}

#[test]
fn switches_under_a_key_of_a_lower_level_have_the_same_noise() {
    let mut rng = rng(6);
    for digit_primes in [1, 2] {
        let levels = [Level(0), Level(1), Level(2)];
        check_switches(
            &switcher(digit_primes, 36),
            Level(2),
            &levels,
            (2, 1),
            SecretDistribution::UniformTernary,
            &mut rng,
        );
    }
}

#[test]
fn sums_with_one_mod_down_round_once() {
    const TERMS: usize = 6;
    let (level, mut rng) = (Level(3), rng(7));
    for (digit_primes, bits) in [(1, 45), (2, 36)] {
        let switcher = switcher(digit_primes, bits);
        let chain = switcher.chain();
        let (mut together, mut apart) = (Sample::default(), Sample::default());
        let mut to_model = None;
        for _ in 0..rounds(DEGREE) {
            let to = secret(2, 1, SecretDistribution::UniformTernary, &mut rng);
            let (mut extended, mut sum): (Option<Extended>, Option<Bundle<Eval>>) = (None, None);
            // What the terms would be without noise: u s for a uniform u that nobody encrypted.
            let mut expected = Poly::zero(chain.ring(), &chain.basis(level));
            for _ in 0..TERMS {
                let from = secret(1, 1, SecretDistribution::UniformTernary, &mut rng);
                let key = SwitchKey::change_of_secret(chain, switcher.gadget(), level, &from, &to, &mut rng)
                    .expect("key");
                let u = Bundle::encrypt_zero(&from, chain.ring(), &chain.basis(level), &mut rng)
                    .expect("zero")
                    .mask()
                    .at(0)
                    .to_owned();
                let s = from.eval(chain.ring(), &chain.basis(level), 0);
                expected
                    .add_assign(&Poly::inner_product(&[&u], &[s[0].get()]).expect("same basis"))
                    .expect("same basis");
                let product = switcher
                    .inner_product(&[&switcher.decompose(&u).expect("digits")], &key)
                    .expect("product");
                let one = switcher.mod_down(&product).expect("mod-down");
                match (&mut extended, &mut sum) {
                    (Some(extended), Some(sum)) => {
                        extended.add_assign(&product).expect("same shape");
                        sum.add_assign(&one).expect("same shape");
                    }
                    _ => (extended, sum) = (Some(product), Some(one)),
                }
            }
            together.add(
                &switcher.mod_down(&extended.expect("terms")).expect("mod-down"),
                &to,
                0,
                Some(&expected),
            );
            apart.add(&sum.expect("terms"), &to, 0, Some(&expected));
            to_model = Some(model(&to));
        }
        let to = to_model.expect("rounds");
        let digits = digit_bits(&switcher, level);
        let products =
            TERMS as f64 * to.switch_products(1, &digits) * (-2.0 * special_bits(&switcher)).exp2();
        together.check("one mod-down", products + to.rounding());
        apart.check("a mod-down per term", products + TERMS as f64 * to.rounding());
    }
}

#[test]
fn products_of_ciphertexts_have_the_predicted_noise_with_and_without_rescale() {
    let mut rng = rng(8);
    let top = Level(4);
    for (rank, digit_primes, bits) in [(1, 1, 4), (1, 2, 20), (2, 2, 4), (3, 1, 10)] {
        let switcher = switcher(digit_primes, 36);
        let chain = switcher.chain();
        let (mut plain, mut rescaled) = (Sample::default(), Sample::default());
        let mut s_model = None;
        for _ in 0..rounds(DEGREE) {
            let s = secret(rank, 1, SecretDistribution::UniformTernary, &mut rng);
            let key = SwitchKey::relinearisation(chain, switcher.gadget(), top, &s, &mut rng).expect("key");
            let ((x, _), (y, _)) = (message(chain, top, bits, &mut rng), message(chain, top, bits, &mut rng));
            let (cx, cy) = (encrypt(chain, &s, &x, &mut rng), encrypt(chain, &s, &y, &mut rng));
            let mut expected = x.clone();
            expected.mul_assign(&y).expect("same basis");
            plain.add(&cx.multiply(&cy, &switcher, &key).expect("product"), &s, 0, Some(&expected));
            // The rescaled product's message is that of the step's size: encode x q_l, so that x y remains.
            let (mut wide, step) =
                (encrypt(chain, &s, &x, &mut rng), &chain.ring().moduli()[chain.step(top)]);
            let mut scaled = x.clone();
            scaled.mul_integer_assign(i128::from(step[0].value()) - 1);
            wide.add_message(0, &scaled).expect("same basis");
            let product =
                wide.tensor(&cy).expect("tensor").relinearise_rescale(&switcher, &key).expect("product");
            rescaled.add(&product, &s, 0, Some(&expected.restrict(product.basis()).expect("fewer primes")));
            s_model = Some(model(&s));
        }
        let s = s_model.expect("rounds");
        let (fresh, square) = (s.fresh_secret(), mean_square(bits));
        let digits = digit_bits(&switcher, top);
        let (special, step, inputs) = (special_bits(&switcher), chain.log2_step(top), rank * (rank + 1) / 2);
        let what = format!("rank {rank}, {digit_primes} primes, {bits} bits");
        plain.check(&what, s.multiply((fresh, square), (fresh, square)) + s.switch(inputs, &digits, special));
        // One division by P q_l: the tensor's noise over q_l^2, the products' over (P q_l)^2, one rounding.
        let wide_square = square * (2.0 * step).exp2();
        let tensor = s.multiply((fresh, wide_square), (fresh, square));
        let products = s.switch_products(inputs, &digits) * (-2.0 * special).exp2();
        rescaled.check(&format!("{what}, rescaled"), s.rescale(tensor + products, step));
    }
}
