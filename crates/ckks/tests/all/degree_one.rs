//! Moves of the degree in both encodings, down to LWE samples at degree 1 and back.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Operation, Values};
use clathrate_ckks::{
    BodyAxis, Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Layout, ModuleShape, Order, Params,
    SecretKey, SecretName,
};
use clathrate_lattice::Level;
use clathrate_lattice::noise::bound;
use rustfft::num_complex::Complex64;

/// Rank 1 at degree 64 and rank 2 at degree 32.
fn sets() -> [Params; 2] {
    let rank2 = "name = \"two\"\ndegree = 32\nrank = 2\nsteps = [[30, 30], [40], [40]]\nspecial = [42, 42]\nlog2_scale = 40\ninsecure = true\n";
    [params("insecure_tiny"), custom(rank2)]
}

fn coefficients() -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() }
}

fn slots() -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() }
}

fn complex(values: Values) -> Vec<Complex64> {
    match values {
        Values::Real(values) => values.into_iter().map(Complex64::from).collect(),
        Values::Complex(values) => values,
    }
}

fn error(sk: &SecretKey, x: &Ciphertext, expected: &Values) -> f64 {
    let got = complex(sk.decrypt(x).expect("decrypt"));
    let expected = complex(expected.clone());
    assert_eq!(got.len(), expected.len());
    got.iter().zip(&expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// What no coefficient's error exceeds, in units of the numbers: of a number that is a pair of coefficients,
/// or of one.
fn limit(variance: f64, scale: f64) -> f64 {
    bound(2.0 * variance, 1 << 14, 20.0) / scale
}

/// Keys of the way up, at every degree below that of `params` too.
fn keys_up(params: &Params, secret: SecretName) -> KeyNeeds {
    let dimension = params.degree() * params.rank();
    let shapes =
        (0..=params.degree().ilog2()).map(|log| ModuleShape { degree: 1 << log, rank: dimension >> log });
    shapes.fold(KeyNeeds::new(), |needs, shape| {
        let relative = params.relative(shape).expect("a relative");
        needs.merge(&relative.rlwe_needs_under(secret, KeyLevel::Top))
    })
}

#[test]
fn every_coefficient_becomes_an_lwe_sample_exactly() {
    for params in sets() {
        let sk = secret(&params, 1);
        let ev = Evaluator::new(&params);
        let (degree, dimension) = (params.degree(), params.degree() * params.rank());
        for shape in [vec![3], vec![degree], vec![2, degree + 5]] {
            let data = noise(shape.iter().product(), 1);
            let x = encrypt_as(&sk, &Values::Real(data.clone()), &shape, coefficients(), 2);
            let samples = ev.to_lwe(&x).expect("samples");
            assert_eq!(samples.params().shape(), ModuleShape { degree: 1, rank: dimension });
            assert_eq!(
                (samples.shape(), samples.bundles().len(), samples.secret()),
                (&shape[..], data.len(), SecretName::Main)
            );
            assert!(
                samples.bundles().iter().all(|sample| sample.rank() == dimension && sample.body_count() == 1)
            );
            // Sample t of a row has the phase of coefficient t: residue by residue, with no noise of its own.
            let lwe = sk.relative(samples.params()).expect("the same secret");
            let ring = samples.params().chain().ring();
            let columns = shape[shape.len() - 1];
            for (index, sample) in samples.bundles().iter().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let whole = &x.bundles()[row * x.layout().chunks() + column / degree];
                let phase = whole.phase(sk.secret()).expect("phase").swap_remove(0).into_coeff();
                let component = (column % degree).reverse_bits() >> (usize::BITS - degree.ilog2());
                let expected = phase.split_component(ring, component).expect("component");
                assert_eq!(
                    sample.phase(lwe.secret()).expect("phase").swap_remove(0).into_coeff(),
                    expected,
                    "sample {index}"
                );
            }
            assert_close(
                &decrypt(&sk, &samples),
                &data,
                limit(params.noise_model().fresh_secret(), x.scale()),
            );
        }
    }
}

#[test]
fn coefficients_come_down_to_every_degree_and_back_within_the_predicted_noise() {
    for params in sets() {
        let sk = secret(&params, 2);
        let ev = evaluator(&sk, &keys_up(&params, SecretName::Main));
        let rlwe = params.relative(params.rlwe_shape()).expect("rank 1");
        let (degree, rank, top) = (params.degree(), params.rank(), params.max_level());
        let switch = switch_variance(&rlwe, 1, top);
        for order in [Order::Natural, Order::BitReversed] {
            for (shape, data) in [
                (vec![5], Values::Real(noise(5, 1))),
                (vec![2 * degree + 3], Values::Real(noise(2 * degree + 3, 2))),
                (vec![3, degree], Values::Real(noise(3 * degree, 3))),
                (vec![2, 9], Values::Complex(phases(18, 4))),
                (vec![degree / 2 + 1], Values::Complex(phases(degree / 2 + 1, 5))),
            ] {
                let x = encrypt_as(&sk, &data, &shape, EncryptOptions { order, ..coefficients() }, 3);
                let fresh = params.noise_model().fresh_secret();
                assert!(error(&sk, &x, &data) < limit(fresh, x.scale()));
                for log in 1..=degree.ilog2() {
                    let low = ev.to_mlwe(&x, rank << log).expect("down");
                    assert_eq!(
                        low.params().shape(),
                        ModuleShape { degree: degree >> log, rank: rank << log }
                    );
                    assert_eq!(
                        (low.bundles().len(), low.level(), low.scale()),
                        (low.layout().bundles(), x.level(), x.scale())
                    );
                    assert!(
                        error(&sk, &low, &data) < limit(fresh, x.scale()),
                        "{shape:?} at degree {}",
                        degree >> log
                    );
                    // Down in two moves is down in one.
                    let half = ev
                        .to_mlwe(&ev.to_mlwe(&x, rank << (log / 2)).expect("half way"), rank << log)
                        .expect("down");
                    assert!(half.layout() == low.layout() && half.bundles() == low.bundles());
                    // Each stage's switch is doubled by those that follow: sw (4^L - 1) / 3.
                    let high = ev.to_rlwe(&low).expect("up");
                    assert_eq!(high.params(), &rlwe);
                    let stages = log + rank.ilog2();
                    let packed = fresh + switch * (4f64.powi(stages as i32) - 1.0) / 3.0;
                    let worst = error(&sk, &high, &data);
                    assert!(
                        worst < limit(packed, x.scale()),
                        "{shape:?} from degree {}: {worst:e}",
                        degree >> log
                    );
                    // Samples are packed side by side. Other components are joined as far as they were split,
                    // and the rest of the way numbers move apart.
                    let samples = low.params().degree() == 1 && order == Order::Natural && !data.is_complex();
                    let side_by_side =
                        Layout::new(&shape, Encoding::Coefficients, rlwe.degree()).expect("layout");
                    let expected = if samples { side_by_side } else { x.layout().merge_degree(rank) };
                    assert_eq!(high.layout(), &expected, "from degree {}", degree >> log);
                    if rank > 1 && samples {
                        continue;
                    }
                    let back = ev.to_mlwe(&high, rank).expect("the first shape");
                    assert_eq!((back.params(), back.layout()), (&params, x.layout()));
                    assert!(
                        error(&sk, &ev.add(&back, &x).expect("one shape"), &twice(&data))
                            < 2.0 * limit(packed, x.scale())
                    );
                }
            }
        }
    }
}

fn twice(values: &Values) -> Values {
    match values {
        Values::Real(values) => Values::Real(values.iter().map(|v| 2.0 * v).collect()),
        Values::Complex(values) => Values::Complex(values.iter().map(|v| 2.0 * v).collect()),
    }
}

#[test]
fn slots_come_down_to_degree_two_and_back() {
    for params in sets() {
        let sk = secret(&params, 3);
        let ev = evaluator(&sk, &keys_up(&params, SecretName::Main));
        let (degree, rank) = (params.degree(), params.rank());
        for columns in [1usize, 2, 3, 8] {
            let data = Values::Complex(phases(2 * columns, 1));
            let x = encrypt_as(&sk, &data, &[2, columns], slots(), 4);
            for log in 1..degree.ilog2() {
                let (low, headroom) = (ev.to_mlwe(&x, rank << log), (degree >> log) / 2);
                if columns.next_power_of_two() > headroom {
                    assert_refused!(
                        low,
                        CkksError::Unsuitable { .. },
                        &format!("do not fit the {headroom} slots")
                    );
                    continue;
                }
                let low = low.expect("down");
                assert_eq!(low.bundles().len(), 2);
                assert!(error(&sk, &low, &data) < 1e-7, "{columns} columns at degree {}", degree >> log);
                let high = ev.to_rlwe(&low).expect("up");
                assert!(error(&sk, &high, &data) < 1e-7, "{columns} columns from degree {}", degree >> log);
            }
        }
        let one = encrypt_as(&sk, &Values::Real(vec![0.5]), &[1], slots(), 5);
        assert_refused!(
            ev.to_lwe(&one),
            CkksError::Encoding { .. },
            "LWE samples needs the encoding coefficients",
            "slots was given"
        );
        assert_refused!(ev.to_mlwe(&one, rank * degree), CkksError::Unsuitable { .. }, "degree 1");
    }
}

#[test]
fn samples_add_scale_and_combine() {
    for params in sets() {
        let sk = secret(&params, 4);
        let ev = Evaluator::new(&params);
        let (a, b) = (noise(12, 1), noise(12, 2));
        let of = |values: &[f64], seed| {
            ev.to_lwe(&encrypt_as(&sk, &Values::Real(values.to_vec()), &[3, 4], coefficients(), seed))
                .expect("samples")
        };
        let (x, y) = (of(&a, 5), of(&b, 6));
        let check = |what: &str, result: Result<Ciphertext, CkksError>, f: &dyn Fn(f64, f64) -> f64| {
            let result = result.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(result.params().degree(), 1);
            let expected: Vec<f64> = a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect();
            assert_close(&decrypt(&sk, &result), &expected, 1e-6);
        };
        check("sum", ev.add(&x, &y), &|a, b| a + b);
        check("difference", ev.sub(&x, &y), &|a, b| a - b);
        check("negative", ev.negate(&x), &|a, _| -a);
        check("multiple", ev.multiply_scalar(&x, 0.7).and_then(|z| ev.rescale(&z)), &|a, _| 0.7 * a);
        check("lower level", ev.drop_to_level(&x, Level(0)), &|a, _| a);
        check("plaintext sum", ev.add_plain(&x, &b), &|a, b| a + b);
        // Samples encrypted at degree 1 are of the same kind.
        let lwe = sk.relative(x.params()).expect("key");
        let direct = encrypt_as(&lwe, &Values::Real(b.clone()), &[3, 4], coefficients(), 7);
        assert_eq!((direct.layout(), direct.bundles().len()), (x.layout(), 12));
        check("sum with fresh samples", ev.add(&x, &direct), &|a, b| a + b);
        // Rows of samples combine, as rows of polynomials do.
        let weights = noise(2 * 3, 3);
        let product =
            Weights::encode(&ev, 2, 3, &weights, &x).expect("weights").multiply(&ev, &x).expect("product");
        let expected: Vec<f64> =
            (0..8).map(|i| (0..3).map(|k| weights[i / 4 * 3 + k] * a[k * 4 + i % 4]).sum()).collect();
        assert_close(&decrypt(&sk, &ev.rescale(&product).expect("rescale")), &expected, 1e-6);
    }
}

#[test]
fn components_of_several_degrees_compute_like_the_whole() {
    // At degree 4 with sixteen components: complex pairs, which stay in one component there.
    let [params, _] = sets();
    let sk = secret(&params, 5);
    let ev = Evaluator::new(&params);
    let (a, b) = (phases(40, 1), phases(40, 2));
    let of = |values: &[Complex64], seed| {
        encrypt_as(&sk, &Values::Complex(values.to_vec()), &[40], coefficients(), seed)
    };
    let (x, y) = (of(&a, 6), of(&b, 7));
    for rank in [2, 16, 64] {
        let (low, other) = (ev.to_mlwe(&x, rank).expect("down"), ev.to_mlwe(&y, rank).expect("down"));
        let plain = ev.add_plain(&low, &b).expect("plaintext sum");
        for sum in [plain, ev.add(&low, &other).expect("sum")] {
            let expected = Values::Complex(a.iter().zip(&b).map(|(a, b)| a + b).collect());
            assert!(error(&sk, &sum, &expected) < 1e-7, "rank {rank}");
        }
        // A real plaintext is a complex one without imaginary parts.
        let real = ev.add_plain(&low, &Values::Real(vec![0.25; 40])).expect("real numbers");
        assert!(error(&sk, &real, &Values::Complex(a.iter().map(|z| z + 0.25).collect())) < 1e-7);
    }
}

#[test]
fn samples_of_bodies_share_masks_and_come_back() {
    for params in sets() {
        let sk = secret(&params, 6);
        for (bodies, axis, shape) in [
            (2, BodyAxis::Rows, vec![3, 6]),
            (3, BodyAxis::Chunks, vec![2 * params.degree() + 3]),
            (2, BodyAxis::Chunks, vec![2, 70]),
        ] {
            let ev = evaluator(&sk, &keys_up(&params, SecretName::Bodies(bodies)));
            let data = Values::Real(noise(shape.iter().product(), 3));
            let x = encrypt_as(
                &sk,
                &data,
                &shape,
                EncryptOptions { bodies: Some(bodies), axis: Some(axis), ..coefficients() },
                8,
            );
            for rank in [4 * params.rank(), params.rank() * params.degree()] {
                let low = ev.to_mlwe(&x, rank).expect("down");
                assert_eq!((low.secret(), low.layout().bodies()), (SecretName::Bodies(bodies), bodies));
                assert!(
                    low.bundles().iter().all(|bundle| bundle.body_count() == bodies && bundle.rank() == rank)
                );
                assert!(error(&sk, &low, &data) < 1e-9, "{bodies} bodies at rank {rank}");
                let high = ev.to_rlwe(&low).expect("up");
                assert!(error(&sk, &high, &data) < 1e-7, "{bodies} bodies from rank {rank}");
                // Samples that each have a mask are packed side by side, others where they were.
                let samples = low.params().degree() == 1 && axis == BodyAxis::Rows;
                let back = ev.to_mlwe(&high, params.rank()).expect("back");
                assert!(error(&sk, &back, &data) < 1e-7);
                if params.rank() == 1 || !samples {
                    assert_eq!(back.layout(), x.layout());
                }
            }
        }
    }
}

#[test]
fn samples_are_stored_and_come_back_equal() {
    for params in sets() {
        let sk = secret(&params, 7);
        let ev = Evaluator::new(&params);
        for (data, shape) in
            [(Values::Real(noise(10, 1)), vec![2, 5]), (Values::Complex(phases(7, 2)), vec![7])]
        {
            let x = encrypt_as(&sk, &data, &shape, coefficients(), 9);
            for rank in [2 * params.rank(), params.degree() * params.rank()] {
                let low = ev.to_mlwe(&x, rank).expect("down");
                let bytes = low.to_file_bytes().expect("file");
                // Read with the parameters of the root, or with their own.
                for with in [&params, low.params()] {
                    let again =
                        Ciphertext::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), with)
                            .expect("file");
                    assert_eq!(
                        (again.params(), again.layout(), again.secret(), again.level()),
                        (low.params(), low.layout(), low.secret(), low.level())
                    );
                    assert!(again.bundles() == low.bundles());
                    assert!(error(&sk, &again, &data) < 1e-9);
                }
            }
        }
        // Fresh samples keep their seeds.
        let lwe = sk.relative(
            &params
                .relative(ModuleShape { degree: 1, rank: params.degree() * params.rank() })
                .expect("degree 1"),
        );
        let fresh = encrypt_as(&lwe.expect("key"), &Values::Real(noise(6, 3)), &[6], coefficients(), 10);
        let bytes = fresh.to_file_bytes().expect("file");
        let again = Ciphertext::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &params)
            .expect("file");
        assert!(
            again.bundles() == fresh.bundles()
                && again.bundles().iter().all(|sample| sample.seed().is_some())
        );
    }
}

#[test]
fn dry_runs_name_the_keys_of_packing() {
    for params in sets() {
        let sk = secret(&params, 8);
        let (top, count) = (params.max_level(), 9);
        let circuit = |ev: &Evaluator, x: &Ciphertext| ev.to_rlwe(&ev.to_lwe(x)?);
        let recorder = Evaluator::recording(&params);
        let symbol =
            Ciphertext::symbol(&params, &[count], Encoding::Coefficients, false, top, params.scale(top))
                .expect("symbol");
        let dry = circuit(&recorder, &symbol).expect("dry run");
        let needs = recorder.needs();
        // From degree 1: the conjugation, and rotations by 1, 2, 4, .. at the highest degree.
        let rlwe = params.rlwe_shape();
        let expected = (0..rlwe.degree.ilog2() - 1)
            .fold(KeyNeeds::new().conjugate(KeyLevel::Top), |needs, log| {
                needs.rotations([1 << log], KeyLevel::Top)
            });
        let required = |needs: &KeyNeeds| params.required_keys(needs).expect("keys");
        assert_eq!(
            required(&needs),
            required(&if rlwe == params.shape() {
                expected
            } else {
                KeyNeeds::new().relative(rlwe, &expected)
            })
        );
        assert!(
            needs.relatives().next().is_some()
                || needs.key_level_of(Operation::Conjugate(SecretName::Main)).is_some()
        );
        let data = noise(count, 4);
        let x = encrypt_as(&sk, &Values::Real(data.clone()), &[count], coefficients(), 11);
        let real = circuit(&evaluator(&sk, &needs), &x).expect("the needs suffice");
        assert_eq!((real.params(), real.layout(), real.level()), (dry.params(), dry.layout(), dry.level()));
        assert_close(&decrypt(&sk, &real), &data, 1e-7);
    }
}

#[test]
fn what_a_low_degree_cannot_do_is_refused() {
    for params in sets() {
        let sk = secret(&params, 9);
        let ev = evaluator(
            &sk,
            &KeyNeeds::new()
                .relinearise(KeyLevel::Top)
                .rotations([1], KeyLevel::Top)
                .shared_mask(2, KeyLevel::Top),
        );
        let (degree, rank) = (params.degree(), params.rank());
        let x = encrypt_as(&sk, &Values::Real(ramp(2)), &[2], slots(), 12);
        let low = ev.to_mlwe(&x, rank * degree / 4).expect("degree 4");
        for result in
            [ev.rotate(&low, 1), ev.conjugate(&low), ev.multiply(&low, &low), ev.share_mask(&low, 2)]
        {
            assert_refused!(result, CkksError::Unsuitable { .. }, "no switching keys", "degree 8 or higher");
        }
        assert_refused!(
            low.params().switcher(),
            CkksError::Unsuitable { .. },
            "no switching keys",
            &format!("4x{}", rank * degree / 4),
            "degree 8 or higher"
        );
        let lwe = params.relative(ModuleShape { degree: 1, rank: rank * degree }).expect("degree 1");
        assert_eq!(
            (lwe.slot_count(), lwe.max_level(), lwe.is_insecure()),
            (0, params.max_level(), params.is_insecure())
        );
        assert!(!lwe.explain().to_string().is_empty());
        let owner = sk.relative(&lwe).expect("key");
        let refused = |values: Values, options| owner.encrypt_array(&values, &[2], options);
        assert_refused!(
            refused(Values::Real(ramp(2)), slots()),
            CkksError::Unsuitable { .. },
            "polynomials of degree",
            "slots",
            "degree 1",
            "coefficients"
        );
        assert_refused!(
            refused(Values::Complex(phases(2, 1)), coefficients()),
            CkksError::Unsuitable { .. },
            "polynomials of degree",
            "pairs of coefficients",
            "degree 1"
        );
        let needs = KeyNeeds::new().rotations([1], KeyLevel::Top);
        assert!(owner.evaluation_keys(&needs).is_err());
        for rank in [0, 2 * rank + 1, 3 * rank, 2 * rank * degree] {
            assert_refused!(
                ev.to_mlwe(&x, rank),
                CkksError::Unsuitable { .. },
                &format!("rank {rank} is not")
            );
        }
        let samples =
            ev.to_lwe(&encrypt_as(&sk, &Values::Real(ramp(2)), &[2], coefficients(), 13)).expect("samples");
        assert!(matches!(
            ev.to_rlwe(&samples),
            Err(CkksError::MissingKey { .. } | CkksError::NoRelativeKeys { .. })
        ));
        assert!(matches!(ev.add(&samples, &x), Err(CkksError::Unsuitable { .. })), "degrees do not mix");
        assert!(params.relative(ModuleShape { degree: 1, rank: rank * degree + 1 }).is_err());
        assert!(params.relative(ModuleShape { degree: 0, rank: 1 }).is_err());
    }
}
