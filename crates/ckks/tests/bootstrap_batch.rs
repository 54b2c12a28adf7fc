//! Batch bootstrapping: polynomials that share masks in the linear maps. Small degrees: not secure.

mod common;

use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::keys::{EncryptOptions, Operation, Values};
use clathrate_ckks::{CkksError, Encoding, Level, SecretName};
use common::bootstraps::*;
use common::measure::*;
use common::*;

fn options(bodies: usize, real: bool) -> BootstrapOptions {
    BootstrapOptions { bodies, real, ..BootstrapOptions::default() }
}

#[test]
fn shared_bootstraps_have_the_numbers_for_every_count_of_bodies() {
    let params = small();
    let sk = secret(&params, 3);
    let slots = params.slot_count();
    for (bodies, rows, real) in [(2, 2, false), (2, 1, true), (3, 4, true), (4, 4, false), (5, 3, false), (7, 9, true), (16, 16, true)] {
        let x = complex(rows * slots, bodies as u64);
        let values = if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let x: Vec<_> = if real { x.iter().map(|x| x.re.into()).collect() } else { x };
        let (got, plan) = bootstrapped(&params, &sk, options(bodies, real), &values, &[rows, slots]);
        let (measured, predicted) = (complex_deviation(&got, &x), plan.predicted_error().expect("prediction").deviation());
        // Of real numbers the imaginary parts are zero.
        let measured = if real { measured * 2f64.sqrt() } else { measured };
        println!("{bodies} bodies, {rows} rows, real {real}: {:.2} bits, predicted {:.2}", -measured.log2(), -predicted.log2());
        assert!((0.85..1.15).contains(&(measured / predicted)), "{bodies}, {rows}, {real}: {}", measured / predicted);
        assert!(plan.log2_failure() <= -128.0);
    }
}
