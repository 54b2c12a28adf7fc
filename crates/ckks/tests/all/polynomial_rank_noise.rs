//! Polynomials along a rank schedule: the predicted error has the noise of every rank passed and of the
//! reductions between.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::polynomial::UNIT_DOMAIN;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::parameters::Switching;
use clathrate_ckks::{Encoding, Params, Polynomial, PolynomialBasis, RankSteps, Runtime};
use clathrate_lattice::Level;

/// The special modulus is hardly longer than a digit, so a reduction's switch adds more noise than anything
/// else does.
const SHORT_SPECIAL: &str = r#"
    name = "short special"
    degree = 256
    rank = 4
    steps = [[30, 30], [40], [40], [40], [40], [40], [40], [40], [40], [40], [40], [40], [40], [40], [40]]
    special = [40.4]
    log2_scale = 40
    insecure = true
"#;

/// How far below the bound an error may be: the bound adds amplitudes of errors that are independent.
const BOUND_SLACK: f64 = 16.0;

#[test]
fn errors_along_a_schedule_of_ranks_are_the_predicted_ones() {
    // Keys as they are made: no level borrows primes to lengthen its special modulus.
    let runtime = Runtime { switching: Switching::AsMade, ..Runtime::default() };
    let params = Params::new(spec(SHORT_SPECIAL), &runtime).expect("parameters");
    let sk = secret(&params, 7);
    let mut seen = Vec::new();
    for level in [6, 4, 2] {
        for degree in [2, 3, 6, 15] {
            if degree >= 1 << level {
                continue;
            }
            // A single power: no coefficients to round.
            let mut coefficients = vec![0.0; degree + 1];
            coefficients[degree] = 1.0;
            let p = Polynomial::new(coefficients, PolynomialBasis::Power, UNIT_DOMAIN).expect("polynomial");
            let unreduced = p.plan(&params, Level(level)).expect("plan");
            let plan = unreduced.clone().with_rank_schedule(RankSteps::Halves).expect("schedule");
            let schedule = plan.rank_schedule().expect("made");
            let ranks: Vec<usize> = schedule.relatives().iter().map(Params::rank).collect();
            let ev = evaluator(&sk, &plan.needs().expect("needs"));
            let rows = (1 << 14) / params.slot_count();
            let data = noise(rows * params.slot_count(), 5);
            let options = EncryptOptions {
                level: Some(Level(level)),
                encoding: Some(Encoding::Slots),
                ..EncryptOptions::default()
            };
            let x = encrypt_as(&sk, &Values::Real(data.clone()), &[rows, params.slot_count()], options, 9);
            let y = plan.run(&ev, &x).expect("run");
            assert_eq!(y.params().rank(), plan.output_rank());
            let expected: Vec<f64> = data.iter().map(|&x| p.evaluate_real(x)).collect();
            // Errors of both parts of a slot, of which real data show one.
            let error = deviation(&decrypt(&sk, &y), &expected) * 2f64.sqrt();
            let fresh = (params.noise_model().fresh_secret() * params.degree() as f64).sqrt() / x.scale();
            let (bound, before) =
                (plan.error(fresh).expect("a bound"), unreduced.error(fresh).expect("a bound"));
            println!(
                "degree {degree} from level {level}, ranks {ranks:?}: 2^{:.2}, at most 2^{:.2}; 2^{:.2} without reductions",
                error.log2(),
                bound.log2(),
                before.log2()
            );
            assert!(
                error <= bound,
                "degree {degree} from level {level}: {error:e} over {bound:e}\n{schedule}"
            );
            assert!(
                error * BOUND_SLACK >= bound,
                "degree {degree} from level {level}: {error:e} far below {bound:e}\n{schedule}"
            );
            seen.push(plan.output_rank());
            if degree == 2 && plan.output_rank() < 4 {
                assert!(
                    error > before,
                    "the reduction's noise is visible: {error:e}, without it at most {before:e}"
                );
            }
        }
    }
    // Plans that end after one reduction and after two were measured.
    assert!(seen.contains(&2) && seen.contains(&1), "{seen:?}");
}
