//! Segments of a chain: fractional sizes, a scale for each segment, products and polynomials inside and
//! across segments, and chains that are refused.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Values};
use clathrate_ckks::parameters::{KeyModulus, ScaleWarning, Segment};
use clathrate_ckks::{
    CkksError, Evaluator, KeyNeeds, Params, ParamsSpec, Polynomial, PolynomialBasis, SecretKey,
};
use clathrate_lattice::Level;

/// Three segments over one base. A product leaves the middle one with its own scale, 2^45.8, and the upper
/// one with 2^46.
const THREE: &str = r#"
    name = "three"
    degree = 1024
    steps = [[29.5, 29.5], [35.4], [35.4], [35.4], [35.4],
             [45.8], [45.8], [45.8], [45.8], [45.8],
             [29.4, 29.4], [26.2, 26.2], [26.2, 26.2], [26.2, 26.2], [26.2, 26.2]]
    special = [45.8, 45.8, 45.8]
    insecure = true
    segments = [
        { name = "linear", log2_scale = 35.4, levels = [0, 4] },
        { name = "ordinary", log2_scale = 45.8, levels = [5, 9] },
        { name = "modular reduction", log2_scale = 52.4, levels = [10, 14] },
    ]
"#;

const SEGMENTS: [(usize, usize, f64); 3] = [(0, 4, 35.4), (5, 9, 45.8), (10, 14, 52.4)];

fn three() -> (Params, SecretKey, Evaluator) {
    let params = custom(THREE);
    let sk = secret(&params, 3);
    let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
    (params, sk, ev)
}

fn at(level: usize) -> EncryptOptions {
    EncryptOptions { level: Some(Level(level)), ..EncryptOptions::default() }
}

/// Bits of each prime of a set of indices.
fn bits(params: &Params, indices: impl IntoIterator<Item = usize>) -> Vec<f64> {
    indices.into_iter().map(|i| (params.chain().ring().moduli()[i].value() as f64).log2()).collect()
}

#[test]
fn primes_and_steps_have_fractional_sizes() {
    let text = THREE.replace(
        "special = [45.8, 45.8, 45.8]",
        "special = [44.3, 45.4]\ntemporary_rank = 2\ntemporary = [43.7, 40.1]",
    );
    for params in [custom(THREE), custom(&text)] {
        let (spec, chain) = (params.spec(), params.chain());
        let near = |got: &[f64], wanted: &[f64], what: &str| {
            assert_eq!(got.len(), wanted.len(), "{what}");
            let worst = got.iter().zip(wanted).map(|(got, wanted)| (got - wanted).abs()).fold(0.0, f64::max);
            assert!(worst < 0.05, "{what}: {got:?} for {wanted:?}");
        };
        for (level, sizes) in spec.steps.iter().enumerate() {
            let got = bits(&params, chain.step(Level(level)));
            near(&got, sizes, &format!("step {level}"));
            near(&[got.iter().sum()], &[sizes.iter().sum()], &format!("the whole step {level}"));
        }
        near(
            &bits(&params, chain.special_basis().indices().iter().copied()),
            &spec.special,
            "special primes",
        );
        if let Ok(widened) = params.key_switching(KeyModulus::Widened) {
            let wide = widened.switcher.chain().special_basis().indices().to_vec();
            near(
                &bits(&params, wide[spec.special.len()..].iter().copied()),
                &spec.temporary,
                "temporary primes",
            );
        }
        let moduli: Vec<u64> = chain.ring().moduli().iter().map(|q| q.value()).collect();
        for (i, q) in moduli.iter().enumerate() {
            assert!(q % 2048 == 1 && !moduli[..i].contains(q), "{q}");
        }
    }
}

#[test]
fn scales_follow_inside_a_segment_and_start_again_at_its_top() {
    let params = custom(THREE);
    assert_eq!(params.spec().log2_scale, 52.4, "the highest segment's");
    for (lowest, highest, log2_scale) in SEGMENTS {
        assert_eq!(params.scale(Level(highest)), log2_scale.exp2());
        for level in lowest..=highest {
            let segment = params.segment(Level(level));
            assert_eq!(
                (segment.levels, segment.log2_scale),
                ((lowest, highest), log2_scale),
                "level {level}"
            );
            if level > lowest {
                let scale = params.scale(Level(level));
                assert_eq!(
                    params.scale(Level(level - 1)),
                    scale * scale / params.step_product(Level(level)),
                    "level {level}"
                );
            }
        }
    }
    let names: Vec<&str> = params.segments().iter().map(|segment| segment.name.as_str()).collect();
    assert_eq!(names, ["linear", "ordinary", "modular reduction"]);
    let explained = params.explain().to_string();
    for part in [
        "levels  0 to  4: scale 2^35.40, \"linear\"",
        "levels  5 to  9: scale 2^45.80, \"ordinary\"; a product leaves it with scale 2^45.80",
        "levels 10 to 14: scale 2^52.40, \"modular reduction\"; a product leaves it with scale 2^46.00",
        "29.4+29.4",
        "special 45.8+45.8+45.8",
    ] {
        assert!(explained.contains(part), "`{part}` is not in:\n{explained}");
    }
    assert!(!explained.contains("warning"), "{explained}");
    // A chain without segments has one.
    let whole = params_of_one_segment();
    assert_eq!(whole.segments().len(), 1);
    assert_eq!(whole.segment(Level(3)).levels, (0, whole.max_level().0));
    assert!(!whole.explain().to_string().contains("segments"));
}

fn params_of_one_segment() -> Params {
    params("insecure_tiny")
}

#[test]
fn one_segment_over_all_levels_is_the_chain_without_segments() {
    let whole = params_of_one_segment();
    let mut spec = to_change(&whole);
    spec.segments = vec![Segment {
        name: "all".to_owned(),
        log2_scale: spec.log2_scale,
        levels: (0, spec.steps.len() - 1),
    }];
    let named = Params::new(spec.clone(), &crate::common::base_runtime()).expect("parameters");
    assert_eq!(named, whole);
    // Two segments of the same scale are another set: the scale starts again between them.
    let cut = |at: usize| {
        let mut spec = spec.clone();
        let half =
            |name: &str, levels| Segment { name: name.to_owned(), log2_scale: spec.log2_scale, levels };
        spec.segments = vec![half("low", (0, at)), half("high", (at + 1, spec.steps.len() - 1))];
        Params::new(spec, &crate::common::base_runtime()).expect("parameters")
    };
    assert_ne!(cut(1), whole);
    assert_ne!(cut(1), cut(2));
}

/// A chain of 15 levels of one scale above a base.
fn fifteen(degree: usize, step: &str, log2_scale: f64) -> Params {
    let steps = vec![step; 15].join(", ");
    custom(&format!(
        "name = \"15\"\ndegree = {degree}\nsteps = [[40, 40], {steps}]\nlog2_scale = {log2_scale}\ninsecure = true\n"
    ))
}

#[test]
fn scales_stay_within_2_to_minus_10_of_nominal_over_15_levels() {
    for degree in [1024, 1 << 14, 1 << 16] {
        for (step, log2_scale) in [
            ("[45.8]", 45.8),
            ("[40.3]", 40.3),
            ("[28.6, 28.6]", 57.2),
            ("[27, 30.5]", 57.5),
            ("[27, 29, 31]", 87.0),
        ] {
            let params = fifteen(degree, step, log2_scale);
            let worst = (0..=15)
                .map(|level| (params.scale(Level(level)) / log2_scale.exp2() - 1.0).abs())
                .fold(0.0, f64::max);
            println!("degree {degree}, steps {step}: scales deviate by at most 2^{:.1}", worst.log2());
            assert!(worst < (-10f64).exp2(), "degree {degree}, steps {step}: {worst:e}");
            // Where primes are dense, the search ends at a product as near as 2^-14.
            assert!(degree > 1024 || worst < (-13f64).exp2(), "degree {degree}, steps {step}: {worst:e}");
        }
    }
}

#[test]
fn products_at_every_level_have_the_predicted_error_and_the_scale_that_is_stated() {
    let (params, sk, ev) = three();
    let (slots, model) = (params.slot_count(), params.noise_model());
    let rows = (1 << 14) / slots;
    let (x, y) = (phases(rows * slots, 7), phases(rows * slots, 8));
    let expected: Vec<_> = x.iter().zip(&y).map(|(a, b)| a * b).collect();
    for level in 1..=params.max_level().0 {
        let encrypt =
            |z: &[_], seed| encrypt_as(&sk, &Values::Complex(z.to_vec()), &[rows, slots], at(level), seed);
        let (cx, cy) = (encrypt(&x, 9), encrypt(&y, 10));
        let product = ev.multiply_rescale(&cx, &cy).expect("product");
        let stated = params.product_scale(Level(level)).expect("products fit");
        assert_eq!(product.scale(), stated, "level {level}");
        assert_eq!(stated, params.scale(Level(level)).powi(2) / params.step_product(Level(level)));
        assert_eq!(
            stated == params.scale(Level(level - 1)),
            ![5, 10].contains(&level),
            "level {level}: canonical unless it leaves a segment"
        );
        let (fresh, mean_square) =
            (model.fresh_secret() + 1.0 / 12.0, cx.scale().powi(2) / params.degree() as f64);
        let variance = model.multiply((fresh, mean_square), (fresh, mean_square))
            + params
                .operation_variance(clathrate_ckks::keys::Operation::Multiply, Level(level))
                .expect("switches");
        let predicted =
            slot_bits(&params, model.rescale(variance, params.step_product(Level(level)).log2()), stated);
        let measured = complex_deviation(&decrypt_complex(&sk, &product), &expected);
        assert_bits(
            &format!("product at level {level}, scale 2^{:.1}", cx.scale().log2()),
            measured,
            predicted,
            0.1,
        );
    }
}

/// Coefficients whose magnitudes add up to 1.
fn random(degree: usize, seed: u64) -> Vec<f64> {
    let raw = noise(degree + 1, seed);
    let sum: f64 = raw.iter().map(|c| c.abs()).sum();
    raw.iter().map(|c| c / sum).collect()
}

/// Carries out a polynomial from `level` and compares it with the clear one; the plan's statements hold. The
/// error's root mean square, and the bound on it.
fn measured(sk: &SecretKey, ev: &Evaluator, p: &Polynomial, level: usize) -> (f64, f64) {
    let params = ev.params();
    let plan = p.plan(params, Level(level)).expect("plan");
    let data = ramp(params.slot_count());
    let x = encrypt_as(sk, &Values::Real(data.clone()), &[data.len()], at(level), 5);
    let y = plan.run(ev, &x).expect("run");
    assert_eq!((y.level(), y.scale()), (plan.output_level(), plan.output_scale()));
    let expected: Vec<f64> = data.iter().map(|&x| p.evaluate_real(x)).collect();
    let error = deviation(&decrypt(sk, &y), &expected);
    let fresh = (params.noise_model().fresh_secret() * params.degree() as f64).sqrt() / x.scale();
    (error, plan.error(fresh).expect("a bound"))
}

/// How far below the bound errors of a few hundred slots may be: the bound adds amplitudes, errors of
/// different origin add squares.
const BOUND_SLACK: f64 = 64.0;

#[test]
fn polynomials_in_each_segment_are_as_accurate_as_predicted() {
    let (params, sk, ev) = three();
    for basis in [PolynomialBasis::Power, PolynomialBasis::Chebyshev] {
        for (_, highest, log2_scale) in SEGMENTS {
            for degree in [1, 2, 3, 7, 12, 15] {
                let p = Polynomial::new(random(degree, 3), basis, (-1.0, 1.0)).expect("polynomial");
                let plan = p.plan(&params, Level(highest)).expect("plan");
                assert!(
                    plan.ends_canonical() && plan.explain().input_segment == plan.explain().output_segment
                );
                let (error, bound) = measured(&sk, &ev, &p, highest);
                println!(
                    "{basis:?} degree {degree}, scale 2^{log2_scale}: 2^{:.1}, at most 2^{:.1}",
                    error.log2(),
                    bound.log2()
                );
                assert!(
                    error <= bound + 1e-15,
                    "{basis:?} degree {degree} at 2^{log2_scale}: {error:e} over {bound:e}"
                );
                assert!(
                    error * BOUND_SLACK >= bound,
                    "{basis:?} degree {degree} at 2^{log2_scale}: {error:e} far below {bound:e}"
                );
                assert!(
                    bound < (16.0 - log2_scale).exp2(),
                    "{basis:?} degree {degree} at 2^{log2_scale}: {bound:e}"
                );
            }
        }
    }
}

#[test]
fn circuits_that_cross_a_boundary_state_the_scale_they_leave() {
    let (params, sk, ev) = three();
    for basis in [PolynomialBasis::Power, PolynomialBasis::Chebyshev] {
        for (level, degree) in [(12, 15), (11, 3), (10, 1), (7, 7), (6, 3), (5, 1)] {
            let p = Polynomial::new(random(degree, 4), basis, (-1.0, 1.0)).expect("polynomial");
            let plan = p.plan(&params, Level(level)).expect("plan");
            let explained = plan.explain();
            assert_ne!(explained.input_segment, explained.output_segment);
            assert!(
                plan.ends_canonical(),
                "sums of multiples end at the canonical scale of the segment they end in"
            );
            assert_eq!(plan.output_scale(), params.scale(plan.output_level()));
            let text = explained.to_string();
            assert!(
                text.contains(&format!(
                    "from \"{}\" to \"{}\"",
                    explained.input_segment, explained.output_segment
                )),
                "{text}"
            );
            let (error, bound) = measured(&sk, &ev, &p, level);
            println!(
                "{basis:?} degree {degree} from level {level}: 2^{:.1}, at most 2^{:.1}",
                error.log2(),
                bound.log2()
            );
            assert!(
                error <= bound && bound < 1e-5,
                "{basis:?} degree {degree} from level {level}: {error:e}, bound {bound:e}"
            );
        }
        // A single power ends at the scale that its factors leave.
        let mut coefficients = vec![0.0; 5];
        coefficients[4] = 1.0;
        let p = Polynomial::new(coefficients, basis, (-1.0, 1.0)).expect("polynomial");
        let plan = p.plan(&params, Level(11)).expect("plan");
        let left = params.scale(Level(10)).powi(2) / params.step_product(Level(10));
        assert_eq!(
            (plan.output_level(), plan.output_scale(), plan.ends_canonical()),
            (Level(9), left, false)
        );
        let text = plan.explain().to_string();
        assert!(text.contains("the result's 2^46.00 is not the canonical 2^45.80"), "{text}");
        let (error, bound) = measured(&sk, &ev, &p, 11);
        assert!(error <= bound && bound < 1e-9, "{error:e}, bound {bound:e}");
    }
}

#[test]
fn specifications_with_segments_survive_text_and_files() {
    let written: ParamsSpec = spec(THREE);
    let text = toml::to_string(&written).expect("text");
    assert_eq!(spec(&text), written);
    assert!(text.contains("45.8") && !text.contains("26.0"), "{text}");
    // Whole numbers of bits stay whole numbers.
    let whole = toml::to_string(params("insecure_tiny").spec()).expect("text");
    assert!(whole.contains("steps = [[30, 30], [40]") && whole.contains("special = [42, 42]"), "{whole}");
    let params = custom(THREE);
    let again =
        Params::new(spec(&toml::to_string(params.spec()).expect("text")), &crate::common::base_runtime())
            .expect("parameters");
    assert_eq!(again, params);
    let bytes = params.to_file_bytes().expect("file");
    let read = Params::from_reader(
        &FileReader::from_bytes(&bytes).expect("readable"),
        true,
        &crate::common::base_runtime(),
    )
    .expect("parameters");
    assert_eq!((&read, read.segments()), (&params, params.segments()));
    for other in ["52.4", "45.8"] {
        assert_ne!(
            custom(&THREE.replacen(&format!("log2_scale = {other}"), &format!("log2_scale = {other}001"), 1)),
            params
        );
    }
}

#[test]
fn segments_that_do_not_cover_every_level_once_are_refused() {
    let with = |from: &str, to: &str| {
        let text = THREE.replacen(from, to, 1);
        assert_ne!(text, THREE, "`{from}` is there");
        Params::new(spec(&text), &crate::common::base_runtime())
    };
    let cases: [(&str, &str, &[&str]); 12] = [
        ("levels = [5, 9]", "levels = [4, 9]", &["\"linear\" and \"ordinary\" both have level 4"]),
        (
            "levels = [5, 9]",
            "levels = [5, 12]",
            &["\"ordinary\" and \"modular reduction\" both have level 10"],
        ),
        ("levels = [5, 9]", "levels = [6, 9]", &["levels 5 to 5 are in no segment"]),
        ("levels = [0, 4]", "levels = [1, 4]", &["levels 0 to 0 are in no segment"]),
        ("levels = [10, 14]", "levels = [10, 13]", &["levels 14 to 14 are in no segment"]),
        ("levels = [10, 14]", "levels = [10, 15]", &["[10, 15]", "levels 0 to 14"]),
        ("levels = [5, 9]", "levels = [9, 5]", &["[9, 5]", "lowest level first"]),
        ("name = \"ordinary\"", "name = \"linear\"", &["\"linear\"", "a name of its own"]),
        (
            "log2_scale = 35.4",
            "log2_scale = 58.5",
            &["\"linear\" has scale 2^58.5 at level 0", "59.0 bits", "2^58.0"],
        ),
        ("log2_scale = 45.8", "log2_scale = 300", &["log2_scale 300 of segment \"ordinary\"", "4 to 120"]),
        (
            "insecure = true",
            "insecure = true\nlog2_scale = 40",
            &["log2_scale is 40", "\"modular reduction\" has 52.4"],
        ),
        (
            "log2_scale = 45.8",
            "log2_scale = 15",
            &["step 9 has 45.8 bits", "\"ordinary\"", "below the rounding noise"],
        ),
    ];
    for (from, to, parts) in cases {
        let error = with(from, to).expect_err(to);
        assert!(matches!(error, CkksError::InvalidParams { .. }), "{error:?}");
        parts
            .iter()
            .for_each(|part| assert!(error.to_string().contains(part), "`{part}` is not in: {error}"));
    }
    // The order of the list is free, and so is a log2_scale that repeats the highest one's.
    assert_eq!(
        with("insecure = true", "insecure = true\nlog2_scale = 52.4").expect("repeated"),
        custom(THREE)
    );
    let mut turned = spec(THREE);
    turned.segments.reverse();
    assert_eq!(Params::new(turned, &crate::common::base_runtime()).expect("any order"), custom(THREE));
    for missing in ["log2_scale = 35.4, ", "name = \"linear\", ", ", levels = [0, 4]"] {
        assert!(toml::from_str::<ParamsSpec>(&THREE.replacen(missing, "", 1)).is_err(), "{missing}");
    }
}

fn chain(steps: &str, log2_scale: f64) -> Result<Params, CkksError> {
    let text = format!(
        "name = \"c\"\ndegree = 64\nsteps = {steps}\nspecial = [60]\nlog2_scale = {log2_scale}\ninsecure = true\n"
    );
    Params::new(spec(&text), &crate::common::base_runtime())
}

#[test]
fn chains_on_which_no_product_can_be_rescaled_are_refused() {
    assert_refused!(
        chain("[[30, 30], [60], [60]]", 30.0),
        CkksError::InvalidParams { .. },
        "step 2 has 60.0 bits",
        "the scale at level 2 is 2^30.0",
        "leaves scale 2^",
        "below the rounding noise",
        "use steps of 30.0 bits"
    );
    assert_refused!(
        chain("[[10], [12], [40], [40]]", 40.0),
        CkksError::InvalidParams { .. },
        "no product can be rescaled at level 2",
        "level 1 has 21.7 bits",
        "use longer steps below"
    );
}

#[test]
fn chains_whose_products_collapse_warn_of_the_level_where_they_do() {
    let warning = |params: &Params| -> ScaleWarning {
        let [warning] = params.scale_warnings() else { panic!("{:?}", params.scale_warnings()) };
        let explained = params.explain();
        assert_eq!(explained.warnings, [warning.to_string()]);
        assert!(explained.to_string().contains(&format!("warning    {warning}")), "{explained}");
        warning.clone()
    };
    // 2^40 -> 2^30 -> 2^10 -> below 1.
    let params = chain("[[30, 30], [50], [50], [50], [50]]", 40.0).expect("products with plaintexts work");
    let found = warning(&params);
    assert_eq!((found.level, found.step.map(|step| step.0)), (1, Some(4)));
    for part in [
        "collapse at level 1",
        "below the rounding noise",
        "step 4 has 50.0 bits",
        "use steps of 40.0 bits",
        "plaintexts keep their scale",
    ] {
        assert!(found.to_string().contains(part), "`{part}` is not in: {found}");
    }
    // The evaluator finds the same: two products, and no third.
    let sk = secret(&params, 1);
    let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let mut x = encrypt(&sk, &[0.5]);
    for expected in [30.0, 10.0] {
        x = ev.multiply_rescale(&x, &x).expect("product");
        assert!((x.scale().log2() - expected).abs() < 0.1, "{}", x.scale().log2());
    }
    assert_refused!(
        ev.multiply_rescale(&x, &x),
        CkksError::ScaleOutOfRange { level: 1, .. },
        "above the noise"
    );
    // What the first product leaves is what is explained, not the canonical scale.
    let explained = params.explain();
    assert!(explained.product_slot_bits.expect("a product") < explained.fresh_slot_bits - 5.0);
    // 2^40 -> 2^50 -> 2^70 -> 2^110.
    let params = chain("[[30, 30], [30], [30], [30], [30]]", 40.0).expect("products with plaintexts work");
    let found = warning(&params);
    assert_eq!((found.level, found.step.map(|step| step.0)), (1, Some(4)));
    assert!(found.to_string().contains("2^110.0 does not fit the modulus of 90.0 bits"), "{found}");
    // A base too short for the scale.
    let found = warning(&chain("[[30], [40], [40]]", 40.0).expect("levels 1 and 2 work"));
    assert_eq!((found.level, found.step), (0, None));
    assert!(found.to_string().contains("use a longer base step"), "{found}");
    assert!(chain("[[30, 30], [40], [40]]", 40.0).expect("parameters").scale_warnings().is_empty());
}

#[test]
fn presets_warn_only_where_they_are_for_plaintext_matrices() {
    let mut warned = Vec::new();
    for spec in all_sets() {
        let name = spec.name.clone();
        let params = Params::new(spec, &base_runtime()).expect("a set");
        for warning in params.scale_warnings() {
            assert_eq!((warning.level, warning.step.map(|step| step.0)), (0, Some(1)), "{name}");
            assert!(
                params.explain().product_slot_bits.is_none(),
                "{name}: products of ciphertexts do not fit"
            );
            warned.push(name.clone());
        }
    }
    assert_eq!(warned, ["matmul", "insecure_matmul", "paper_pcmm"]);
}
