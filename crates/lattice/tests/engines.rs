//! The engines of the switch against each other: equal integers, so equal bits, whatever the digits, the rank and the level.

mod common;

use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_lattice::switch::{SwitchChoice, SwitchPolicy};
use clathrate_lattice::{Chain, Coeff, Gadget, Level, Poly, Ring, SwitchKey, Switcher};
use common::*;

/// A chain with auxiliary primes for key digits.
fn chain_with_auxiliary(shape: &Shape, auxiliary: usize) -> Arc<Chain> {
    let (mut moduli, lengths) = primes(shape);
    moduli.extend(largest_primes(45, 2 * shape.degree as u64, auxiliary, &moduli).expect("auxiliary primes"));
    Arc::new(Chain::with_auxiliary(Ring::new(shape.degree, &moduli).expect("ring"), &lengths, auxiliary).expect("chain"))
}

#[test]
fn key_decomposed_switches_equal_hybrid_ones_bit_for_bit() {
    let shape = Shape { degree: 64, bits: 36, steps: 9, special_bits: 36, special: 1 };
    let chain = chain_with_auxiliary(&shape, 12);
    let gadget = Arc::new(Gadget::by_bits(&chain, 36.5));
    for rank in 1..=3 {
        let inputs = rank * (rank + 1) / 2;
        let policy = SwitchPolicy::Fixed(SwitchChoice::as_made(&chain));
        let switcher = Switcher::with_policy(chain.clone(), gadget.clone(), policy, inputs, 1 << 30).expect("switcher");
        let mut rng = rng(rank as u8);
        let s = secret(&chain, rank, 1, &mut rng);
        let top = chain.max_level();
        let key = SwitchKey::relinearisation(&chain, &gadget, top, &s, &mut rng).expect("key");
        for level in [Level(0), Level(3), Level(6), top] {
            let xs: Vec<_> = (0..inputs).map(|_| encrypt(&chain, &s, &message(&chain, level, 20, &mut rng).0, &mut rng)).collect();
            let xs: Vec<&Poly<_>> = xs.iter().map(|x| &x.mask()[0]).collect();
            let coeffs: Vec<Poly<Coeff>> = xs.iter().map(|&x| x.clone().into_coeff()).collect();
            for special in 1..=4.min(1 + top.0 - level.0) {
                let hybrid = switcher.plan_of_choice(SwitchChoice::hybrid(special), level, top).expect("plan");
                let expected = switcher.mod_down(&switcher.product_by(&hybrid, &xs, &key).expect("product")).expect("mod-down");
                for length in 1..=7 {
                    let plan = switcher.plan_of_choice(SwitchChoice::decomposed(special, length), level, top).expect("plan");
                    let product = switcher.product_by(&plan, &xs, &key).expect("product");
                    let say = format!("rank {rank}, level {level}, r = {special}, r~ = {length}");
                    assert_eq!(switcher.mod_down(&product).expect("mod-down"), expected, "{say}");
                    let again = switcher.switch_coeff_by(&plan, &coeffs.iter().collect::<Vec<_>>(), &key).expect("switch");
                    assert_eq!(again.into_eval(), expected, "{say}, Coeff");
                }
            }
        }
    }
}
