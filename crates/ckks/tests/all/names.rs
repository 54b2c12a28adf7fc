//! Keys and secrets by name: definitions, routes, the ephemeral secret, changes of secret.

use clathrate_ckks::parameters::KeyModulus;
use std::sync::Arc;

use crate::common::{params, secret};
use clathrate_arith::GaloisElement;
use clathrate_ckks::keys::{KeyAddress, KeyLevel, KeyName, Operation, SecretName, Switch};
use clathrate_ckks::{CkksError, Encoding, Evaluator, KeyNeeds, ModuleShape, Params, ParamsSpec, SecretKey};
use clathrate_lattice::{Level, SecretDistribution, SecretRng};

fn with_ephemeral(degree: usize, weight: usize, special: Option<usize>) -> Result<Params, CkksError> {
    let name = "with ephemeral".to_owned();
    let spec = ParamsSpec {
        name,
        ephemeral_weight: Some(weight),
        ephemeral_special: special,
        degree,
        ..params("insecure_small").spec().clone()
    };
    Params::new(spec, &crate::common::base_runtime())
}

fn all_names(degree: usize) -> Vec<KeyName> {
    let (element, shape) = (GaloisElement::rotation(3, degree), ModuleShape { degree: 1, rank: 64 });
    let secrets = [
        SecretName::Main,
        SecretName::Temporary,
        SecretName::Ephemeral,
        SecretName::Bodies(3),
        SecretName::Body { count: 3, index: 2 },
        SecretName::Device(7),
    ];
    let changes = secrets
        .iter()
        .flat_map(|&from| secrets.iter().map(move |&to| KeyName::Switch(Switch::ChangeSecret { from, to })));
    let single = [
        KeyName::Relinearise,
        KeyName::CrossRelinearise,
        KeyName::DirectRelinearise,
        KeyName::RankDown,
        KeyName::Automorphism { secret: SecretName::Main, element },
        KeyName::Automorphism { secret: SecretName::Temporary, element: GaloisElement::conjugation(degree) },
        KeyName::ReduceRank(2),
        KeyName::Switch(Switch::FormatSwitch { from: 1, to: 5 }),
        KeyName::Switch(Switch::FormatSwitch { from: 2, to: 6 }),
        KeyName::Switch(Switch::Pack { from: shape, to: 8, under: SecretName::Main, onto: SecretName::Main }),
        KeyName::Switch(Switch::Pack {
            from: shape,
            to: 8,
            under: SecretName::Device(u64::MAX),
            onto: SecretName::Main,
        }),
        KeyName::Switch(Switch::Pack {
            from: shape,
            to: 8,
            under: SecretName::Device(7),
            onto: SecretName::Ephemeral,
        }),
        KeyName::Switch(Switch::Pack {
            from: shape,
            to: 8,
            under: SecretName::Main,
            onto: SecretName::Ephemeral,
        }),
    ];
    single.into_iter().chain(changes).collect()
}

#[test]
fn names_are_written_and_read_back() {
    for name in all_names(64) {
        assert_eq!(KeyName::parse(&name.to_string(), 64).expect("a name"), name, "{name}");
    }
    for text in [
        "",
        "relinearise 1",
        "automorphism 4",
        "automorphism 129",
        "change-secret main",
        "switch main ephemeral",
        "reduce-rank +2",
        "format-switch 1 5",
        "pack 01x64 8",
        "pack 1 8",
        "pack 1x64 8 device:7 main",
        "pack 1x64 8 main ephemeral main",
        "pack 1x64 8 main",
        "change-secret device:+7 main",
    ] {
        assert!(KeyName::parse(text, 64).is_none(), "{text}");
    }
    for text in
        ["main:", "main:1", "device:+7", "device:07", "device:", "bodies:", "body:00/3", "body:1", "other"]
    {
        assert_eq!(SecretName::parse(text), None, "{text}");
    }
    let odd = Operation::Switch(Switch::FormatSwitch { from: 0, to: 4 });
    assert!(odd.to_string().contains("0 bodies"), "printed before it is refused: {odd}");
}

#[test]
fn definitions_agree_with_the_keys_that_are_made() {
    for name in ["insecure_small", "insecure_rank2", "insecure_dpad", "insecure_dpad_rank1"] {
        let params = params(name);
        let owner = secret(&params, 1);
        let mut needs = KeyNeeds::new()
            .relinearise(KeyLevel::Top)
            .conjugate(KeyLevel::Level(1))
            .rotations([3, -1], KeyLevel::Level(2))
            .shared_mask(2, KeyLevel::Level(1));
        if params.temporary().is_some() {
            needs = needs.power_rotations(KeyLevel::Level(0));
        }
        if params.rank() > 1 {
            needs = needs.reduce_to(params.rank() / 2, KeyLevel::Top);
        }
        let required = params.required_keys(&needs).expect("possible");
        let keys = owner.evaluation_keys(&needs).expect("keys");
        let made: Vec<_> = keys.iter().map(|(address, held)| (address, held.key().level())).collect();
        assert_eq!(made, required.iter().collect::<Vec<_>>(), "{name}: exactly what is required");
        for (address, held) in keys.iter() {
            let (definition, key) = (held.definition(), held.key());
            assert_eq!(
                (definition.inputs(), definition.rank(), definition.bodies()),
                (key.inputs(), key.rank(), key.body_count()),
                "{name}: {address}"
            );
            assert!(key.level() <= definition.most, "{name}: {address}");
        }
        // In memory rows are aligned: a definition counts the words alone.
        let (counted, held) = (required.bytes(&params).expect("bytes"), keys.bytes());
        assert!(
            counted <= held && held - counted <= held / 8 + 4096 * keys.iter().count(),
            "{name}: {counted} against {held}"
        );
    }
}

#[test]
fn secrets_of_one_owner_are_the_same_at_any_time_and_independent_of_each_other() {
    let params = with_ephemeral(256, 16, None).expect("params");
    let owner = secret(&params, 1);
    let names = [
        SecretName::Main,
        SecretName::Ephemeral,
        SecretName::Body { count: 2, index: 0 },
        SecretName::Body { count: 2, index: 1 },
        SecretName::Body { count: 3, index: 0 },
    ];
    let secrets: Vec<_> = names.iter().map(|&name| owner.named(name).expect("a secret")).collect();
    for (i, (x, name)) in secrets.iter().zip(names).enumerate() {
        assert_eq!(x.all_coefficients(), owner.named(name).expect("again").all_coefficients(), "{name}");
        assert_ne!(
            x.all_coefficients(),
            secret(&params, 2).named(name).expect("another owner's").all_coefficients(),
            "{name}"
        );
        for (y, other) in secrets[..i].iter().zip(names) {
            assert_ne!(x.all_coefficients(), y.all_coefficients(), "{name} and {other}");
            // Independent ternary secrets: the inner product has variance at most n.
            let product: i64 =
                x.all_coefficients().iter().zip(y.all_coefficients()).map(|(a, b)| a * b).sum();
            assert!(
                (product as f64).abs() <= 6.0 * (params.degree() as f64).sqrt(),
                "{name} and {other}: {product}"
            );
        }
    }
    let both = owner.named(SecretName::Bodies(2)).expect("both");
    for index in 0..2 {
        let one = owner.named(SecretName::Body { count: 2, index }).expect("one");
        assert_eq!(both.body(index).all_coefficients(), one.all_coefficients());
    }
    let ephemeral = owner.named(SecretName::Ephemeral).expect("ephemeral");
    assert_eq!(ephemeral.distribution(), SecretDistribution::FixedWeight(16));
    assert_eq!(ephemeral.all_coefficients().iter().filter(|&&c| c != 0).count(), 16);
    assert!(
        matches!(owner.named(SecretName::Temporary), Err(CkksError::Unsupported { reason, .. }) if reason.contains("needs a temporary rank"))
    );
    assert!(matches!(
        secret(&crate::common::params("insecure_small"), 1).named(SecretName::Ephemeral),
        Err(CkksError::Unsupported { reason }) if reason.contains("no ephemeral secret")
    ));
    // This set has such a secret, and too few special primes for keys of the raise.
    let raise = params.key_switching(KeyModulus::Raise).expect_err("two short special primes").to_string();
    assert!(
        raise.contains("special primes of 60 bits for a step") && raise.contains("these are 2 of"),
        "{raise}"
    );
}

#[test]
fn keys_to_the_ephemeral_secret_are_bound_to_the_base_step() {
    let params = with_ephemeral(256, 16, Some(1)).expect("params");
    let owner = secret(&params, 1);
    let (to, back) = ((SecretName::Main, SecretName::Ephemeral), (SecretName::Ephemeral, SecretName::Main));
    let needs =
        KeyNeeds::new().change_secret(to.0, to.1, KeyLevel::Top).change_secret(back.0, back.1, KeyLevel::Top);
    let keys = owner.evaluation_keys(&needs).expect("keys");
    let held = |(from, to)| {
        keys.get(KeyAddress {
            shape: params.shape(),
            name: KeyName::Switch(Switch::ChangeSecret { from, to }),
        })
        .expect("made")
    };
    let narrow = held(to);
    assert_eq!((narrow.key().level(), narrow.definition().most), (Level(0), Level(0)));
    // The base step and one special prime, whatever else the chain has.
    let chain = params.chain();
    let expected: Vec<usize> = chain
        .basis(Level(0))
        .indices()
        .iter()
        .chain(&chain.special_basis().indices()[..1])
        .copied()
        .collect();
    assert_eq!(narrow.key().basis().indices(), &expected[..]);
    assert_eq!(held(back).key().level(), params.max_level());
    // Asked for above the base step, the definition refuses.
    let error = narrow.definition().check_security(Level(1)).expect_err("too high");
    assert!(
        matches!(&error, CkksError::Level { reason } if reason.contains("up to level 0, the ciphertext is at level 1")),
        "{error}"
    );
    // To the ephemeral secret at level 0 and back at level 0: the same message.
    let values: Vec<f64> = (0..8).map(|i| f64::from(i) / 8.0).collect();
    let options = clathrate_ckks::keys::EncryptOptions { level: Some(Level(0)), ..Default::default() };
    let x = owner.encrypt_array(&values, &[8], options).expect("ciphertext");
    let bundle = &x.bundles()[0];
    let sparse = bundle
        .switch_secret(
            &params.key_switching(KeyModulus::Encapsulation).expect("there").switcher,
            narrow.key(),
        )
        .expect("encapsulated");
    let error_of = |phase: clathrate_lattice::Poly<clathrate_lattice::Eval>| {
        let mut difference = phase.into_coeff();
        difference
            .sub_assign(&bundle.phase(owner.secret()).expect("phase").swap_remove(0).into_coeff())
            .expect("same ring");
        let values = clathrate_ckks::encoding::decode_coefficients(&difference, 1.0, true).expect("complete");
        values.iter().fold(0.0f64, |largest, v| largest.max(v.abs()))
    };
    let ephemeral = owner.named(SecretName::Ephemeral).expect("ephemeral");
    let there = error_of(sparse.phase(&ephemeral).expect("phase").swap_remove(0));
    // One digit divided by a special modulus of its size, and a rounding against a secret of weight 16.
    assert!(there < 2000.0, "{there}");
    let dense = sparse.switch_secret(params.switcher().expect("switches"), held(back).key()).expect("back");
    let again = error_of(dense.phase(owner.secret()).expect("phase").swap_remove(0));
    assert!(again < 4000.0, "{again}");
}

#[test]
fn ephemeral_secrets_are_gated_by_the_moduli_of_their_own_keys() {
    // 2^15: weight 32 has room for 164 bits; the base step and two special primes are below, three beyond.
    let spec = |weight: usize, special: Option<usize>| ParamsSpec {
        name: "with ephemeral".to_owned(),
        ephemeral_weight: Some(weight),
        ephemeral_special: special,
        ..clathrate_ckks::parameters::preset("n15").expect("a preset")
    };
    let dense = Params::preset("n15", &crate::common::base_runtime()).expect("a preset");
    for (weight, special) in [(32, 1), (32, 2), (32, 3), (64, 2), (64, 3)] {
        let chain = dense.chain();
        let log2_qp = chain.basis(Level(0)).log2(chain.ring())
            + chain.special_basis().indices()[..special]
                .iter()
                .map(|&i| (chain.ring().moduli()[i].value() as f64).log2())
                .sum::<f64>();
        let bits = clathrate_lattice::security::estimated_bits(
            dense.degree(),
            log2_qp,
            SecretDistribution::FixedWeight(weight),
        );
        let made = Params::new(spec(weight, Some(special)), &crate::common::base_runtime());
        assert_eq!(made.is_ok(), (weight, special) != (32, 3), "weight {weight}, {special} special primes");
        match made {
            Ok(params) => {
                let encapsulation = params.key_switching(KeyModulus::Encapsulation).expect("there");
                assert!(
                    bits >= 128.0
                        && (encapsulation.log2_qp - log2_qp).abs() < 1e-9
                        && encapsulation.security_bits == bits,
                    "weight {weight}"
                );
                assert!(params.security_bits() <= bits);
                assert_ne!(params.digest(), dense.digest(), "another set");
            }
            Err(error) => {
                assert!(
                    bits < 128.0 && matches!(error, CkksError::Insecure { .. }),
                    "weight {weight}, {bits} bits: {error}"
                );
                assert!(error.to_string().contains("ephemeral_special"), "{error}");
            }
        }
    }
    // A weight that has no room at all.
    let error = Params::new(spec(2, None), &crate::common::base_runtime()).expect_err("weight 2");
    assert!(matches!(error, CkksError::Insecure { .. }), "{error}");
    assert!(
        error.to_string().contains("weight 32 of dimension 32768, which has 128 bits up to log2 QP = 164"),
        "{error}"
    );
    let marked = Params::new(ParamsSpec { insecure: true, ..spec(2, None) }, &crate::common::base_runtime())
        .expect("marked")
        .explain();
    assert!(
        marked.security_bits == 0.0
            && marked.nearest_covered.is_some_and(|words| words.contains("weight 32 of dimension 32768"))
    );
    for (weight, special) in [(0, None), (usize::MAX, None), (32, Some(0)), (32, Some(99))] {
        assert!(
            matches!(
                Params::new(spec(weight, special), &crate::common::base_runtime()),
                Err(CkksError::InvalidParams { .. })
            ),
            "{weight} {special:?}"
        );
    }
}

#[test]
fn a_rotation_key_of_a_low_level_does_not_hide_keys_that_serve() {
    let params = params("insecure_dpad_rank1");
    let owner = secret(&params, 1);
    // The rotation's own key serves level 0 only; keys of powers of two serve all levels.
    let needs = KeyNeeds::new().rotations([3], KeyLevel::Level(0)).power_rotations(KeyLevel::Top);
    let keys = Arc::new(owner.evaluation_keys(&needs).expect("keys"));
    let evaluator = Evaluator::with_keys(keys);
    let values: Vec<f64> = (0..params.slot_count()).map(|i| i as f64 / 64.0).collect();
    let x = crate::common::encrypt(&owner, &values);
    assert!(x.level() > Level(0));
    let rotated = crate::common::decrypt(&owner, &evaluator.rotate(&x, 3).expect("by powers of two"));
    for (i, got) in rotated.iter().enumerate() {
        assert!((got - values[(i + 3) % values.len()]).abs() < 1e-3, "slot {i}");
    }
    let low = evaluator.drop_to_level(&x, Level(0)).expect("level 0");
    assert!(evaluator.rotate(&low, 3).is_ok());
}

#[test]
fn rotations_are_composed_of_others_where_their_own_key_is_missing() {
    let params = params("insecure_small");
    let owner = secret(&params, 1);
    let evaluator =
        crate::common::evaluator(&owner, &KeyNeeds::new().rotations([1, -2, 4, 8], KeyLevel::Top));
    let values: Vec<f64> = (0..params.slot_count()).map(|i| (i % 17) as f64 / 16.0).collect();
    let x = crate::common::encrypt(&owner, &values);
    // 5 = 4 + 1; 12 = 16 - 4 lacks 16 and -4; 7 = 8 - 1 lacks -1.
    let rotated = crate::common::decrypt(&owner, &evaluator.rotate(&x, 5).expect("composed"));
    for (i, got) in rotated.iter().enumerate() {
        assert!((got - values[(i + 5) % values.len()]).abs() < 1e-3, "slot {i}");
    }
    for step in [7, 12] {
        let error = evaluator.rotate(&x, step).expect_err("no way");
        assert!(
            matches!(error, CkksError::MissingKey { operation: Operation::Rotate { .. }, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("1, 4, 8, -2"), "{error}");
    }
}

#[test]
fn a_dry_run_tells_how_often_each_key_is_used() {
    let params = params("insecure_small");
    let recorder = Evaluator::recording(&params);
    let x = clathrate_ckks::Ciphertext::symbol(
        &params,
        &[3, 8],
        clathrate_ckks::Encoding::Slots,
        false,
        params.max_level(),
        params.scale(params.max_level()),
    )
    .expect("a symbol");
    let y = recorder.multiply_rescale(&x, &x).expect("a product");
    recorder.rotate_many(&y, &[1, 2, 0]).expect("rotations");
    recorder.rotate(&y, 1).expect("a rotation");
    let uses: Vec<_> = recorder
        .recorded()
        .uses()
        .map(|(key, level, count)| (key.name.to_string(), level.0, count))
        .collect();
    let top = params.max_level().0;
    let rotation =
        |steps| format!("automorphism {}", GaloisElement::rotation(steps, params.degree()).value());
    // Three rows are three bundles.
    let mut expected =
        vec![("relinearise".to_owned(), top, 3), (rotation(1), top - 1, 6), (rotation(2), top - 1, 3)];
    expected.sort();
    let mut uses = uses;
    uses.sort();
    assert_eq!(uses, expected);
    assert_eq!(
        recorder.needs().key_level_of(Operation::Rotate { secret: SecretName::Main, steps: 2 }),
        Some(KeyLevel::Level(top - 1))
    );
}

#[test]
fn secret_keys_keep_their_other_secrets_in_files() {
    let params = with_ephemeral(256, 16, None).expect("params");
    let owner = SecretKey::generate_with(&params, &mut SecretRng::from_seed([7; 32])).expect("a key");
    let bytes = clathrate_ckks::file::Stored::to_file_bytes(&owner).expect("file");
    let reader = clathrate_ckks::file::FileReader::from_bytes(&bytes).expect("readable");
    let again = SecretKey::from_reader(&reader, &params).expect("the key");
    let name = SecretName::Ephemeral;
    assert_eq!(
        owner.named(name).expect("there").all_coefficients(),
        again.named(name).expect("there").all_coefficients()
    );
    assert!(!format!("{owner:?}").contains("seed"), "{owner:?}");
}

#[test]
fn explanations_have_a_security_line_for_every_secret() {
    let params = with_ephemeral(256, 16, None).expect("params");
    let figures = params.explain();
    let names: Vec<&str> = figures.secrets.iter().map(|secret| secret.name).collect();
    assert_eq!(names, ["main", "ephemeral"]);
    assert_eq!(
        figures.secrets[1].security_bits,
        params.key_switching(KeyModulus::Encapsulation).expect("there").security_bits
    );
    assert!(figures.secrets[1].log2_qp < figures.secrets[0].log2_qp);
    assert!(
        figures.to_string().contains("secret \"ephemeral\"") && figures.to_string().contains("weight 16"),
        "{figures}"
    );
    let dpad = crate::common::params("insecure_dpad").explain();
    assert_eq!(dpad.secrets.iter().map(|secret| secret.name).collect::<Vec<_>>(), ["main", "temporary"]);
}

#[test]
fn changes_that_no_key_serves_are_refused_on_dry_runs_and_not_written_down() {
    let params = with_ephemeral(256, 16, Some(1)).expect("params");
    let recorder = Evaluator::recording(&params);
    let symbol = |level| recorder.symbol(&[8], Encoding::Slots, level, 1.0).expect("a symbol");
    assert!(recorder.change_secret(&symbol(Level(1)), SecretName::Ephemeral).is_err(), "above the base step");
    for to in [SecretName::Body { count: 2, index: 2 }, SecretName::Body { count: usize::MAX, index: 1 }] {
        assert!(recorder.change_secret(&symbol(Level(1)), to).is_err(), "{to}");
    }
    assert!(recorder.needs().is_empty() && recorder.recorded().uses().next().is_none());
    assert!(recorder.change_secret(&symbol(Level(0)), SecretName::Ephemeral).is_ok());
}
