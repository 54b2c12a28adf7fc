//! What a dry run counts is what an engine with a meter observes when the same circuit runs on data.

use crate::common::{encrypt_as, evaluator, metered, ramp, secret};
use clathrate_arith::Meter;
use clathrate_ckks::circuits::encrypted_matrix::multiply_transposed;
use clathrate_ckks::circuits::encrypted_matrix::transpose;
use clathrate_ckks::evaluation::combinations::ProductTerm;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{
    BootstrapOptions, BootstrapPlan, Ciphertext, CkksError, Encoding, Evaluator, LinearTransform,
    LinearTransformOptions, Params, Polynomial, PolynomialBasis, Runtime, SecretKey,
};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

type Circuit = dyn Fn(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>;

/// A map of the slots of `x` with these diagonals.
fn map(x: &Ciphertext, shifts: &[i64], period: usize) -> LinearTransform {
    let diagonal = |&shift: &i64| {
        (shift, (0..period).map(|j| Complex64::new(0.5 + j as f64 / 16.0, shift as f64 / 64.0)).collect())
    };
    LinearTransform::from_diagonals(x.layout().capacity(), shifts.iter().map(diagonal)).expect("a map")
}

/// Operations by name: each on an array of a few rows in slots.
fn circuits() -> Vec<(&'static str, Box<Circuit>)> {
    fn polynomial(
        ev: &Evaluator,
        x: &Ciphertext,
        coefficients: &[Complex64],
        basis: PolynomialBasis,
    ) -> Result<Ciphertext, CkksError> {
        Polynomial::new_complex(coefficients, basis, (-1.0, 1.0))?.apply(ev, x)
    }
    let real: Vec<Complex64> = [0.5, -0.25, 0.125, 1.0, 0.0, 0.5, 0.75].map(Complex64::from).to_vec();
    let complex: Vec<Complex64> = real.iter().map(|&c| c + 0.25 * Complex64::i()).collect();
    let (odd, even) = (real.clone(), complex);
    vec![
        ("product", Box::new(|ev, x| ev.multiply(x, x))),
        ("product with a rescale", Box::new(|ev, x| ev.multiply_rescale(x, x))),
        ("rescale", Box::new(|ev, x| ev.rescale(&ev.multiply_scalar(x, 0.5)?))),
        (
            "plaintext product",
            Box::new(|ev, x| ev.multiply_plain(x, &Values::Real(ramp(x.shape().iter().product())))),
        ),
        ("multiple", Box::new(|ev, x| ev.multiply_integer(x, 3))),
        ("product with a number", Box::new(|ev, x| ev.multiply_scalar(x, 3.0))),
        ("sum", Box::new(|ev, x| ev.add(x, x))),
        ("lower level", Box::new(|ev, x| ev.drop_to_level(x, Level(x.level().0 - 1)))),
        ("rotation", Box::new(|ev, x| ev.rotate(x, 3))),
        ("rotations", Box::new(|ev, x| Ok(ev.rotate_many(x, &[1, 2, 5])?.swap_remove(1)))),
        ("conjugation", Box::new(|ev, x| ev.conjugate(x))),
        ("linear transform", Box::new(|ev, x| map(x, &[-3, 0, 1, 2, 9], 8).apply(ev, x))),
        ("dense linear transform", Box::new(|ev, x| map(x, &(0..24).collect::<Vec<_>>(), 1).apply(ev, x))),
        (
            "linear transform encoded for each use",
            Box::new(|ev, x| {
                let options = LinearTransformOptions { on_the_fly: true, ..Default::default() };
                map(x, &[-3, 0, 1, 2, 9], 8).plan_with(x.params(), x.level(), options)?.run(ev, x)
            }),
        ),
        ("product with a diagonal", Box::new(|ev, x| map(x, &[0], 8).apply(ev, x))),
        ("sum of rows", Box::new(|ev, x| ev.total(x))),
        ("weighted sum of rows", Box::new(|ev, x| ev.total_weighted(x, &ramp(x.layout().columns())))),
        ("sum repeated", Box::new(|ev, x| ev.broadcast_to(&ev.total(x)?, x.shape()))),
        ("shared mask and back", Box::new(|ev, x| ev.split_mask(&ev.share_mask(x, 2)?))),
        ("polynomial", Box::new(move |ev, x| polynomial(ev, x, &odd, PolynomialBasis::Power))),
        ("complex polynomial", Box::new(move |ev, x| polynomial(ev, x, &even, PolynomialBasis::Chebyshev))),
        (
            "sum of products",
            Box::new(|ev, x| {
                let terms = [
                    ProductTerm { left: x, right: x, twice: true },
                    ProductTerm { left: x, right: x, twice: false },
                ];
                ev.sum_of_products_rescale(&terms, None)
            }),
        ),
        (
            "linear combination",
            Box::new(|ev, x| {
                ev.linear_combination(&[(x, Complex64::new(0.5, 2.0)), (x, 3.0.into())], x.scale() * 4.0)
            }),
        ),
    ]
}

/// Operations on coefficients that move between degrees.
fn moves(params: &Params) -> Vec<(&'static str, Box<Circuit>)> {
    let rank = params.rank();
    vec![
        (
            "to rank 1 from a quarter of the degree",
            Box::new(move |ev, x| ev.to_rlwe(&ev.to_mlwe(x, 4 * rank)?)),
        ),
        ("to rank 1 from LWE samples", Box::new(|ev, x| ev.to_rlwe(&ev.to_lwe(x)?))),
        ("sum of coefficients", Box::new(|ev, x| ev.total(x))),
        ("weighted sum of coefficients", Box::new(|ev, x| ev.total_weighted(x, &ramp(x.layout().columns())))),
    ]
}

/// Operations on encrypted matrices.
fn matrices() -> Vec<(&'static str, Box<Circuit>)> {
    vec![
        ("transposition", Box::new(transpose)),
        ("product of encrypted matrices", Box::new(|ev, x| multiply_transposed(ev, x, x))),
        (
            "product of encrypted rows apart",
            Box::new(|ev, x| {
                let low = ev.to_mlwe(x, 2 * x.params().rank())?;
                multiply_transposed(ev, &low, &low)
            }),
        ),
    ]
}

/// Runs the circuit on a symbol and on data, twice: the first run derives the keys' representations and fills
/// caches.
fn compare(
    owner: &SecretKey,
    meter: &Meter,
    what: &str,
    circuit: &Circuit,
    (shape, encoding): (&[usize], Encoding),
) {
    let params = owner.params();
    let recorder = Evaluator::recording(params);
    let symbol = recorder.symbol(shape, encoding, params.max_level(), 1.0).expect("a symbol");
    let planned = match circuit(&recorder, &symbol) {
        Ok(planned) => planned,
        // What a set cannot do, it cannot do on data either: too few levels, or no rank 1.
        Err(error @ (CkksError::Level { .. } | CkksError::Unsuitable { .. })) => {
            let x =
                encrypt_as(owner, &Values::Real(ramp(shape.iter().product())), shape, options(encoding), 2);
            let refused = circuit(&Evaluator::new(params), &x).expect_err("refused on symbols");
            return assert_eq!(refused.to_string(), error.to_string());
        }
        Err(error) => panic!("{}, {what}: {error}", params.spec().name),
    };
    let ev = evaluator(owner, &recorder.needs());
    let x = encrypt_as(owner, &Values::Real(ramp(shape.iter().product())), shape, options(encoding), 2);
    circuit(&ev, &x).expect("the circuit");
    meter.take();
    let y = circuit(&ev, &x).expect("the circuit");
    let counts = meter.take();
    assert_eq!(
        (y.level(), y.scale(), y.shape(), y.layout()),
        (planned.level(), planned.scale(), planned.shape(), planned.layout())
    );
    let cost = recorder.recorded().cost();
    assert_eq!(
        (cost.transforms, cost.hadamard_products),
        ((counts.forward + counts.inverse) as f64, counts.hadamard as f64),
        "transforms and products of \"{what}\" on {shape:?} by {}",
        params.spec().name
    );
}

fn options(encoding: Encoding) -> EncryptOptions {
    EncryptOptions { encoding: Some(encoding), ..EncryptOptions::default() }
}

#[test]
fn dry_runs_count_the_transforms_and_products_that_run() {
    for name in ["insecure_small", "insecure_rank2", "insecure_rank3", "insecure_deep", "insecure_dpad"] {
        let (params, meter) = metered(name);
        let owner = secret(&params, 1);
        // Full rows, padded rows, rows of several bundles.
        let slots = params.slot_count();
        for shape in [[3, slots], [2, slots / 2 + 1], [2, 2 * slots + 3]] {
            for (what, circuit) in circuits() {
                let turns = ["rotation", "rotations", "sum of rows"].contains(&what);
                let maps = what.contains("linear") && what.contains("transform") || what.contains("diagonal");
                if maps && shape[1] != slots {
                    continue; // a map of all slots
                }
                if !turns || shape[1] <= slots {
                    compare(&owner, &meter, what, &*circuit, (&shape, Encoding::Slots));
                }
            }
        }
        for shape in [[1, params.degree()], [2, params.degree() + 3], [1, 5]] {
            for (what, circuit) in moves(&params) {
                // A sample of each coefficient is a bundle of its own: a few are enough.
                if !what.ends_with("samples") || shape[1] < 8 {
                    compare(&owner, &meter, what, &*circuit, (&shape, Encoding::Coefficients));
                }
            }
        }
    }
}

#[test]
fn dry_runs_of_encrypted_matrices_count_the_transforms_and_products_that_run() {
    let (params, meter) = metered("insecure_tiny");
    let owner = secret(&params, 1);
    for shape in [[3, 5], [2, params.degree() + 3]] {
        for (what, circuit) in matrices() {
            compare(&owner, &meter, what, &*circuit, (&shape, Encoding::Coefficients));
        }
    }
    let (params, meter) = metered("insecure_rank3");
    compare(
        &secret(&params, 1),
        &meter,
        "product",
        &|ev, x| multiply_transposed(ev, x, x),
        (&[3, 5], Encoding::Coefficients),
    );
}

#[test]
fn dry_runs_of_bootstraps_count_the_transforms_and_products_that_run() {
    let (params, meter) = metered("insecure_boot");
    let owner = secret(&params, 1);
    let all = BootstrapPlan::new(&params).expect("plan").key_bytes().expect("bytes");
    for (slots, real, raise_keys, share) in [
        (512, false, true, 10),
        (512, true, true, 10),
        (512, false, false, 10),
        (16, false, true, 10),
        (512, false, true, 5),
        (512, false, true, 4),
    ] {
        let most_key_bytes = Some(all * share / 10).filter(|_| share < 10);
        let choice = BootstrapOptions {
            slots: Some(slots),
            real,
            raise_keys,
            most_key_bytes,
            ..BootstrapOptions::default()
        };
        let plan = BootstrapPlan::with_options(&params, choice).expect("plan");
        let recording = plan.dry_run().expect("dry run");
        let ev = evaluator(&owner, &plan.needs().expect("needs"));
        let options = EncryptOptions {
            level: Some(plan.input_level()),
            capacity: Some(slots),
            ..options(Encoding::Slots)
        };
        let x = encrypt_as(&owner, &Values::Real(ramp(slots)), &[slots], options, 2);
        plan.run(&ev, &x).expect("the circuit");
        meter.take();
        plan.run(&ev, &x).expect("the circuit");
        let counts = meter.take();
        let cost = recording.cost();
        assert_eq!(
            (cost.transforms, cost.hadamard_products),
            ((counts.forward + counts.inverse) as f64, counts.hadamard as f64),
            "{slots} slots, real {real}, raise keys {raise_keys}, {share} / 10 of the bytes"
        );
    }
}

#[test]
fn dry_runs_know_which_plaintexts_are_encoded_again() {
    // Maps of one size, so that this many of three fit; the second is used again in some runs.
    for (fitting, twice) in [(0, false), (1, false), (2, false), (3, false), (1, true), (2, true), (3, true)]
    {
        let (params, meter) = metered("insecure_small");
        let maps = |x: &Ciphertext| [3, 5, 6].map(|first| map(x, &(first..first + 6).collect::<Vec<_>>(), 8));
        let all = |ev: &Evaluator, x: &Ciphertext| {
            let [one, two, three] = maps(x);
            let y = ev.add(&ev.add(&one.apply(ev, x)?, &two.apply(ev, x)?)?, &three.apply(ev, x)?)?;
            if twice { ev.add(&y, &two.apply(ev, x)?) } else { Ok(y) }
        };
        let shape = [params.slot_count()];
        let bytes_of_one = {
            let recorder = Evaluator::recording(&params);
            let symbol = recorder.symbol(&shape, Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
            let [one, ..] = maps(&symbol);
            one.apply(&recorder, &symbol).expect("a map");
            recorder.recorded().plaintext_bytes()
        };
        let runtime =
            Runtime { plaintext_cache_bytes: Some(fitting * bytes_of_one), ..params.runtime().clone() };
        let params = params.under(&runtime).expect("parameters");
        let owner = secret(&params, 1);
        let recorder = Evaluator::recording(&params);
        let symbol = recorder.symbol(&shape, Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
        all(&recorder, &symbol).expect("a dry run");
        let recorded = recorder.recorded();
        let ev = evaluator(&owner, recorded.needs());
        let x = encrypt_as(&owner, &Values::Real(ramp(shape[0])), &shape, options(Encoding::Slots), 2);
        for run in 0..4 {
            meter.take();
            all(&ev, &x).expect("the circuit");
            let counts = meter.take();
            let again = (counts.forward + counts.inverse) as f64;
            let first = if run == 0 { recorded.encoding_cost().transforms } else { 0.0 };
            let predicted = recorded.cost().transforms + first;
            if twice {
                // What is used more often may be kept instead, which saves more.
                assert!(again <= predicted, "{fitting} fit, run {run}: {again}, {predicted} predicted");
            } else {
                assert_eq!(predicted, again, "{fitting} fit, run {run}");
            }
        }
        // With a map's bytes for each that is kept, and for one that is encoded and dropped.
        assert_eq!(recorded.plaintext_bytes(), (fitting + usize::from(fitting < 3)) * bytes_of_one);
    }
}
