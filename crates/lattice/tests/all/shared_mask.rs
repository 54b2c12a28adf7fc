//! Bundles with several bodies under one mask: every operation acts on each body as on a bundle of its own,
//! and switches decompose the mask once.

use std::sync::Arc;

use crate::common::linear::{Kind, Setting, kinds};
use crate::common::*;
use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::noise::bound;
use clathrate_lattice::switch::SwitchMethod;
use clathrate_lattice::{Bundle, Chain, Eval, Gadget, Level, Poly, SwitchKey, Switcher};

/// False alarms: a bound that fails with probability `2^-40` per check.
const LOG2_FAILURE: f64 = 40.0;

/// Kinds with three bodies.
fn shared() -> impl Iterator<Item = Kind> {
    kinds().into_iter().filter(|kind| kind.bodies == 3)
}

/// `operation` on the whole bundle gives what it gives on each body with its own copy of the mask.
fn check_by_body(bundle: &Bundle<Eval>, what: &str, operation: impl Fn(&Bundle<Eval>) -> Bundle<Eval>) {
    let whole = operation(bundle);
    assert_eq!(whole.body_count(), bundle.body_count(), "{what}");
    for body in 0..bundle.body_count() {
        let alone = operation(&bundle.split_body(body).expect("body"));
        assert_eq!(whole.split_body(body).expect("body"), alone, "{what}, body {body}");
    }
}

#[test]
fn plaintext_products_rescale_restrict_and_automorphism_act_on_every_body_alike() {
    for kind in shared() {
        let setting = &mut Setting::new(kind, 64, 1);
        let (x, (p, _)) = (setting.uniform(), setting.plaintext(20));
        let p = p.restrict(&setting.basis()).expect("ciphertext primes");
        let (rescale, phi) =
            (setting.chain.rescale_division(setting.level).expect("division"), setting.phi(5));
        let low = setting.chain.basis(Level(1));
        check_by_body(&x, "product", |x| {
            let mut product = x.clone();
            product.mul_poly_assign(&p).expect("product");
            product
        });
        check_by_body(&x, "rescale", |x| x.divide(&rescale).expect("rescale"));
        check_by_body(&x, "restrict", |x| x.restrict(&low).expect("restrict"));
        check_by_body(&x, "automorphism", |x| x.automorphism(&phi));
        check_by_body(&x, "linear combination", |x| {
            Bundle::linear_combination(&[(x, &p), (&x.automorphism(&phi), &p)]).expect("sum")
        });
    }
}

#[test]
fn phases_of_all_bodies_follow_products_rescale_restrict_and_automorphism() {
    for kind in shared() {
        let setting = &mut Setting::new(kind, 512, 2);
        let (ct, messages) = setting.encrypt(12);
        let (model, fresh) = (setting.model(), setting.model().fresh_secret());
        let check =
            |setting: &Setting, got: &Bundle<Eval>, expected: &[Poly<Eval>], predicted: f64, what: &str| {
                let measured = setting.errors(got, Some(expected));
                let ratio = variance(&measured) / predicted;
                assert!(
                    (0.75..1.33).contains(&ratio),
                    "{what}: measured over predicted variance is {ratio:.3}, {kind:?}"
                );
                let limit = bound(predicted, measured.len(), LOG2_FAILURE);
                assert!(
                    measured.iter().all(|error| error.abs() <= limit),
                    "{what}: over the bound {limit}, {kind:?}"
                );
            };
        check(setting, &ct, &messages, fresh, "fresh");
        // A product with a plaintext.
        let (p, square) = setting.plaintext(8);
        let p = p.restrict(&setting.basis()).expect("ciphertext primes");
        let times = |x: &Poly<Eval>| {
            let mut product = x.clone();
            product.mul_assign(&p).expect("product");
            product
        };
        let mut product = ct.clone();
        product.mul_poly_assign(&p).expect("product");
        let products: Vec<Poly<Eval>> = messages.iter().map(times).collect();
        check(setting, &product, &products, model.multiply_plain(fresh, square), "product");
        // A rescale of messages that the step divides.
        let step = setting.chain.step(setting.level).start;
        let step = i128::from(setting.ring().moduli()[step].value());
        let mut scaled = ct.clone();
        messages.iter().enumerate().for_each(|(body, message)| {
            let mut message = message.clone();
            message.mul_integer_assign(step - 1);
            scaled.add_message(body, &message).expect("message");
        });
        let below = setting.chain.basis(Level(setting.level.0 - 1));
        let lower: Vec<Poly<Eval>> =
            messages.iter().map(|message| message.restrict(&below).expect("level")).collect();
        let division = setting.chain.rescale_division(setting.level).expect("division");
        check(
            setting,
            &scaled.divide(&division).expect("rescale"),
            &lower,
            model.rescale(fresh, (step as f64).log2()),
            "rescale",
        );
        // Fewer primes, and an automorphism, under the rotated secrets.
        check(setting, &ct.restrict(&below).expect("restrict"), &lower, fresh, "restrict");
        let phi = setting.phi(3);
        let rotated: Vec<Poly<Eval>> = messages.iter().map(|message| message.automorphism(&phi)).collect();
        let phases = ct.automorphism(&phi).phase(&setting.secret.automorphism(&phi)).expect("phase");
        let expected: Vec<Poly<Eval>> =
            ct.phase(&setting.secret).expect("phase").iter().map(|phase| phase.automorphism(&phi)).collect();
        assert_eq!(phases, expected);
        // A rotation, whose digits are decomposed once for all bodies.
        let key = setting.rotation_key(&phi);
        let digits = ct.decompose_mask(&setting.switcher, &setting.tables).expect("digits");
        assert_eq!(digits.len(), kind.rank, "one decomposition per mask polynomial");
        let hoisted = ct.rotate_hoisted(&phi, &digits, &setting.switcher, &key).expect("rotate");
        assert_eq!(hoisted, ct.rotate(&phi, &setting.switcher, &key).expect("rotate"));
        let extended = ct.rotate_extended(&phi, &digits, &setting.switcher, &key).expect("rotate");
        assert_eq!(
            setting.switcher.mod_down(&extended).expect("mod-down"),
            hoisted,
            "P times the bodies divides exactly"
        );
        let predicted = fresh + setting.products(kind.rank) + model.rounding();
        check(setting, &hoisted, &rotated, predicted, "rotation");
    }
}

#[test]
fn rotation_of_many_bodies_takes_one_decomposition() {
    let moduli = clathrate_arith::primes::largest_primes(36, 128, 6, &[]).expect("primes");
    let (ring, meter) = counting_ring(64, &moduli);
    let chain = Arc::new(Chain::new(ring, &[1; 4]).expect("chain"));
    let gadget = Arc::new(Gadget::for_special_modulus(&chain, 0.5).expect("gadget"));
    let switcher = Switcher::new(chain.clone(), gadget.clone()).expect("switcher");
    assert_eq!(switcher.tables(Level(3)).expect("tables").method(), SwitchMethod::as_made(&chain));
    for (rank, bodies) in [(1, 1), (1, 8), (2, 3)] {
        let mut rng = rng(4);
        let s = secret(&chain, rank, bodies, &mut rng);
        let phi = Automorphism::new(GaloisElement::rotation(1, 64), 64);
        let key = SwitchKey::automorphism(&chain, &gadget, Level(3), &s, &phi, &mut rng).expect("key");
        let ct = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(Level(3)), &mut rng).expect("zero");
        let digits = gadget.digit_count(&chain, Level(3));
        let (primes, special) = (4, 2);
        meter.take();
        ct.rotate(&phi, &switcher, &key).expect("rotate");
        let counts = meter.take();
        // A mask polynomial's inverse transforms and its digits' foreign rows; a mod-down for each polynomial
        // of the result.
        let decomposition = primes + digits * (primes + special) - primes;
        assert_eq!(
            counts.ntt(),
            rank * decomposition + (rank + bodies) * (special + primes),
            "rank {rank}, {bodies} bodies"
        );
        assert_eq!(
            counts.hadamard,
            rank * digits * (rank + bodies) * (primes + special),
            "rank {rank}, {bodies} bodies"
        );
    }
}
