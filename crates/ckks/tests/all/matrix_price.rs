//! The price of `W @ ct`: a dry run books exactly the unit operations that the engine's loops execute.

use crate::common::{custom, encrypt_as, metered, ramp, secret};
use clathrate_arith::{Counts, ProductCounts};
use clathrate_ckks::circuits::matrix::Weights;
use clathrate_ckks::keys::{Cost, EncryptOptions, Values};
use clathrate_ckks::{Ciphertext, Encoding, Evaluator, Params, Runtime};
use clathrate_lattice::Level;
use clathrate_lattice::switch::{MachineProfile, MatrixTimes};

/// One product with a plaintext matrix.
#[derive(Debug, Clone, Copy)]
struct Case {
    rows: usize,
    inner: usize,
    columns: usize,
    encoding: Encoding,
    /// The scale of the weights; absent for the level's own.
    scale: Option<f64>,
}

impl Case {
    fn weights(&self) -> Vec<f64> {
        (0..self.rows * self.inner)
            .map(
                |i| if self.scale == Some(1.0) { (i % 7) as f64 - 3.0 } else { (i % 11) as f64 / 11.0 - 0.4 },
            )
            .collect()
    }

    /// Bundles of one row.
    fn bundles(&self, params: &Params) -> usize {
        self.columns.div_ceil(match self.encoding {
            Encoding::Coefficients => params.degree(),
            Encoding::Slots => params.slot_count(),
        })
    }

    fn multiply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Ciphertext {
        let weights = match self.scale {
            Some(scale) => Weights::new(self.rows, self.inner, &self.weights(), scale),
            None => Weights::encode(evaluator, self.rows, self.inner, &self.weights(), x),
        };
        weights.expect("weights").multiply(evaluator, x).expect("a product")
    }
}

/// What the engine counts while it computes.
fn observed(name: &str, level: usize, case: Case) -> Counts {
    let (params, meter) = metered(name);
    let values = Values::Real(ramp(case.inner * case.columns));
    let options = EncryptOptions {
        encoding: Some(case.encoding),
        level: Some(Level(level)),
        ..EncryptOptions::default()
    };
    let x = encrypt_as(&secret(&params, 1), &values, &[case.inner, case.columns], options, 2);
    meter.take();
    case.multiply(&Evaluator::new(&params), &x);
    meter.take()
}

/// What a dry run books on a machine with these times.
fn predicted(name: &str, level: usize, case: Case, profile: MachineProfile) -> Cost {
    let params = Params::preset(name, &Runtime { profile: Some(profile), ..crate::common::base_runtime() })
        .expect("preset");
    let recorder = Evaluator::recording(&params);
    let x = recorder.symbol(&[case.inner, case.columns], case.encoding, Level(level), 1.0).expect("a symbol");
    case.multiply(&recorder, &x);
    recorder.recorded().cost()
}

/// A machine on which all is free but for one kind of work.
fn machine(matrix: [f64; 4], read_ns_per_byte: f64) -> MachineProfile {
    let [start, multiply_add, digit, sum] = matrix;
    let cache_bytes = if read_ns_per_byte > 0.0 { 0.0 } else { f64::INFINITY };
    MachineProfile {
        matrix: MatrixTimes { start, multiply_add, digit, sum },
        read_ns_per_byte,
        cache_bytes,
        ..MachineProfile::built_in()
    }
}

#[test]
fn dry_runs_book_the_operations_that_the_engine_executes() {
    let case = |rows, inner, columns, encoding, scale| Case { rows, inner, columns, encoding, scale };
    let (coefficients, slots) = (Encoding::Coefficients, Encoding::Slots);
    let cases = [
        // One weight, one row, one column of weights; one number, and more of them than one bundle holds.
        case(1, 1, 1, coefficients, None),
        case(1, 1, 1, slots, Some(1.0)),
        case(1, 9, 1, coefficients, None),
        case(9, 1, 1, coefficients, Some(1.0)),
        case(3, 4, 2500, coefficients, None),
        case(4, 3, 1500, slots, None),
        case(2, 1025, 1, slots, Some(1.0)),
        case(17, 33, 5, slots, Some(2f64.powi(20))),
    ];
    for name in ["insecure_small", "insecure_rank3"] {
        let top = crate::common::params(name).max_level().0;
        for (case, level) in cases.into_iter().zip([top, 1].into_iter().cycle()) {
            let counts = observed(name, level, case);
            let ProductCounts { products, multiply_adds, digits, sums } = counts.product;
            // A metered engine sees nothing else: combinations of rows take no transform and no Hadamard
            // product.
            assert_eq!(counts, Counts { product: counts.product, ..Counts::default() }, "{case:?}");
            let free = machine([0.0; 4], 0.0);
            let cost = predicted(name, level, case, free);
            // Prices are of the built-in machine, whatever this one takes.
            assert!(cost.price > 0.0);
            assert_eq!(
                cost,
                Cost { multiply_adds: multiply_adds as f64, price: cost.price, ..Cost::default() },
                "{name}, level {level}, {case:?}"
            );
            for (unit, count) in [products, multiply_adds, digits, sums].into_iter().enumerate() {
                let mut times = [0.0; 4];
                times[unit] = 1.0;
                let nanoseconds = predicted(name, level, case, machine(times, 0.0)).nanoseconds;
                assert_eq!(nanoseconds, count as f64, "unit {unit}: {name}, level {level}, {case:?}");
            }
            // From memory: the operand once, the result twice.
            let params = crate::common::params(name);
            let row = case.bundles(&params)
                * (params.rank() + 1)
                * params.chain().basis(Level(level)).len()
                * params.degree()
                * 8;
            let nanoseconds = predicted(name, level, case, machine([0.0; 4], 1.0)).nanoseconds;
            assert_eq!(
                nanoseconds,
                ((case.inner + 2 * case.rows) * row) as f64,
                "{name}, level {level}, {case:?}"
            );
        }
    }
}

#[test]
fn products_under_parameters_without_special_primes_have_a_price() {
    let params = custom(
        "name = \"flat\"\ndegree = 64\nsteps = [[50], [40]]\nspecial = []\nlog2_scale = 40\ninsecure = true",
    );
    let recorder = Evaluator::recording(&params);
    let x = recorder.symbol(&[3, 8], Encoding::Coefficients, params.max_level(), 1.0).expect("a symbol");
    let weights = Weights::encode(&recorder, 2, 3, &[0.5; 6], &x).expect("weights");
    let product = weights.multiply(&recorder, &x).expect("a product");
    let matrix = recorder.recorded().cost();
    recorder.rescale(&product).expect("a rescale");
    let both = recorder.recorded().cost();
    assert!(
        matrix.nanoseconds > 0.0 && both.nanoseconds > matrix.nanoseconds && both.transforms > 0.0,
        "{matrix:?} {both:?}"
    );
}

#[test]
fn prices_of_the_largest_symbols_are_finite() {
    let params = crate::common::params("insecure_small");
    let recorder = Evaluator::recording(&params);
    let x =
        recorder.symbol(&[2, 1 << 46], Encoding::Coefficients, params.max_level(), 1.0).expect("a symbol");
    let weights = Weights::encode(&recorder, 1, 2, &[0.5; 2], &x).expect("weights");
    weights.multiply(&recorder, &x).expect("a product");
    let cost = recorder.recorded().cost();
    assert!(cost.nanoseconds.is_finite() && cost.multiply_adds > 2f64.powi(47), "{cost:?}");
}
