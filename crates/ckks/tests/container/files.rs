//! Files of every kind: what was written comes back, and nothing else is believed.

use crate::allocation::peak_of;
use crate::common::*;
use clathrate_ckks::error::ErrorKind;
use clathrate_ckks::file::{FileError, FileLabel, FileReader, FileWriter, Replaced, Stored};
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, EvaluationKeys, Evaluator, Event, KeyNeeds, Params, Progress, PublicKey,
    SecretKey,
};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const SETS: [&str; 3] = ["insecure_tiny", "insecure_rank2", "insecure_rank3"];

fn read_ciphertext(bytes: &[u8], params: &Params) -> Result<Ciphertext, CkksError> {
    Ciphertext::from_reader(&FileReader::from_bytes(bytes)?, params)
}

/// Reads a file of the kind that the name says.
fn read(kind: &str, bytes: &[u8], params: &Params) -> Result<(), CkksError> {
    let reader = FileReader::from_bytes(bytes)?;
    match kind {
        "params" => Params::from_reader(&reader, true, &crate::common::base_runtime()).map(drop),
        "secret" => SecretKey::from_reader(&reader, params).map(drop),
        "public" => PublicKey::from_reader(&reader, params).map(drop),
        "evaluation" => EvaluationKeys::from_reader(&reader, params).map(drop),
        _ => Ciphertext::from_reader(&reader, params).map(drop),
    }
}

/// One file of each kind, a computed ciphertext besides the fresh one.
fn samples(params: &Params, sk: &SecretKey) -> Vec<(&'static str, Vec<u8>)> {
    let needs = KeyNeeds::new()
        .relinearise(KeyLevel::Level(1))
        .rotations([1, 2], KeyLevel::Level(0))
        .conjugate(KeyLevel::Level(0));
    let keys = sk.evaluation_keys(&needs).expect("keys");
    let ct = encrypt(sk, &ramp(8));
    let computed = Evaluator::new(params).negate(&ct).expect("negate");
    vec![
        ("params", params.to_file_bytes().expect("file")),
        ("secret", sk.to_file_bytes().expect("file")),
        ("public", sk.public_key().expect("key").to_file_bytes().expect("file")),
        ("evaluation", keys.to_file_bytes().expect("file")),
        ("ciphertext", ct.to_file_bytes().expect("file")),
        ("computed", computed.to_file_bytes().expect("file")),
    ]
}

/// The same container with metadata and sections changed, checksums made right again: a hostile writer.
fn forged(bytes: &[u8], metadata: impl FnOnce(&mut Value), section: impl Fn(&str, &mut Vec<u8>)) -> Vec<u8> {
    let reader = FileReader::from_bytes(bytes).expect("readable");
    let mut value: Value = reader.metadata().expect("json");
    metadata(&mut value);
    let mut writer = FileWriter::in_memory(reader.label().clone(), &value).expect("writer");
    for info in reader.sections() {
        let mut data = reader.section(info.name()).expect("there").bytes().to_vec();
        section(info.name(), &mut data);
        writer.add_section(info.name(), &data).expect("section");
    }
    writer.finish().expect("finished")
}

fn assert_same(a: &Ciphertext, b: &Ciphertext) {
    assert_eq!(
        (a.shape(), a.layout(), a.level(), a.secret(), a.key_id()),
        (b.shape(), b.layout(), b.level(), b.secret(), b.key_id())
    );
    assert_eq!(a.scale().to_bits(), b.scale().to_bits());
    assert!(a.bundles() == b.bundles());
    assert!(a.bundles().iter().zip(b.bundles()).all(|(a, b)| a.seed() == b.seed()));
}

#[test]
fn parameters_and_keys_come_back_equal() {
    for name in SETS {
        let params = params(name);
        let sk = secret(&params, 1);
        let bytes = params.to_file_bytes().expect("file");
        let read = Params::from_reader(
            &FileReader::from_bytes(&bytes).expect("readable"),
            true,
            &crate::common::base_runtime(),
        )
        .expect("parameters");
        assert_eq!((&read, read.spec()), (&params, params.spec()));
        let bytes = sk.to_file_bytes().expect("file");
        let again = SecretKey::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &read)
            .expect("secret");
        assert_eq!(
            (again.id(), again.secret().all_coefficients()),
            (sk.id(), sk.secret().all_coefficients())
        );
        assert!(bytes.len() < params.degree() * params.rank() + 1024, "one byte per coefficient");
        let pk = sk.public_key().expect("key");
        let bytes = pk.to_file_bytes().expect("file");
        let public = PublicKey::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &read)
            .expect("public");
        let x = ramp(params.slot_count());
        let ct = public.encrypt_array(&x, &[x.len()], EncryptOptions::default()).expect("encrypt");
        assert_close(&decrypt(&again, &ct), &x, 1e-6);
        assert_eq!(public.to_file_bytes().expect("file"), bytes);
    }
}

#[test]
fn ciphertexts_come_back_equal_for_every_shape_encoding_level_and_rank() {
    for name in SETS {
        let params = params(name);
        let sk = secret(&params, 2);
        let ev = Evaluator::new(&params);
        for level in 0..=params.max_level().0 {
            for encoding in [Encoding::Slots, Encoding::Coefficients] {
                for (shape, count) in [
                    (vec![], 1),
                    (vec![1], 1),
                    (vec![7], 7),
                    (vec![3, 5], 15),
                    (vec![2, params.degree() + 1], 2 * params.degree() + 2),
                ] {
                    let options = EncryptOptions {
                        encoding: Some(encoding),
                        level: Some(Level(level)),
                        ..EncryptOptions::default()
                    };
                    let fresh = encrypt_as(&sk, &Values::Real(ramp(count)), &shape, options, 3);
                    let bytes = fresh.to_file_bytes().expect("file");
                    assert_same(&fresh, &read_ciphertext(&bytes, &params).expect("fresh"));
                    // The seeded mask is not stored: one body of k + 1 polynomials, and what a container
                    // needs.
                    let bodies = fresh.bytes() / (params.rank() + 1);
                    assert!(
                        bytes.len() >= bodies && bytes.len() <= bodies + 32 * fresh.bundles().len() + 1024,
                        "{} for {bodies}",
                        bytes.len()
                    );
                    let computed = ev.negate(&fresh).expect("negate");
                    let bytes = computed.to_file_bytes().expect("file");
                    assert!(bytes.len() >= computed.bytes());
                    let again = read_ciphertext(&bytes, &params).expect("computed");
                    assert_same(&computed, &again);
                    assert_eq!(decrypt(&sk, &again), decrypt(&sk, &computed));
                }
            }
            // Complex numbers, and a fresh ciphertext that dropped levels keeps its seed.
            let z = Values::Complex((0..6).map(|i| Complex64::new(f64::from(i), -0.5)).collect());
            let ct = encrypt_as(&sk, &z, &[6], EncryptOptions::default(), 4);
            let lowered = ev.drop_to_level(&ct, Level(level)).expect("down");
            let again = read_ciphertext(&lowered.to_file_bytes().expect("file"), &params).expect("complex");
            assert_same(&lowered, &again);
            assert!(matches!(sk.decrypt(&again), Ok(Values::Complex(values)) if values.len() == 6));
        }
    }
}

#[test]
fn loaded_evaluation_keys_compute_the_same_bits() {
    for name in SETS {
        let params = params(name);
        let sk = secret(&params, 5);
        let needs = KeyNeeds::new()
            .relinearise(KeyLevel::Top)
            .conjugate(KeyLevel::Level(2))
            .rotations([1, -2], KeyLevel::Level(3));
        let keys = sk.evaluation_keys(&needs).expect("keys");
        let bytes = keys.to_file_bytes().expect("file");
        // One body per entry, as words; masks are seeds.
        let (chain, gadget, rank) = (params.chain(), params.gadget().expect("special primes"), params.rank());
        let body_words = |inputs: usize, level: Level| {
            inputs * gadget.digit_count(chain, level) * chain.key_basis(level).len() * params.degree()
        };
        let words = body_words(rank * (rank + 1) / 2, chain.max_level())
            + body_words(rank, Level(2))
            + 2 * body_words(rank, Level(3));
        assert!(
            bytes.len() <= 8 * words + 2048,
            "masks are seeds: {} bytes for {words} words of bodies",
            bytes.len()
        );
        let again = EvaluationKeys::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &params)
            .expect("keys");
        assert_eq!(
            (again.id(), again.rotation_steps(), again.bytes()),
            (keys.id(), keys.rotation_steps(), keys.bytes())
        );
        assert_eq!(again.to_file_bytes().expect("file"), bytes);
        let [before, after] = [keys, again].map(|keys| Evaluator::with_keys(Arc::new(keys)));
        let ct = encrypt(&sk, &ramp(params.slot_count()));
        assert_same(
            &before.multiply_rescale(&ct, &ct).expect("product"),
            &after.multiply_rescale(&ct, &ct).expect("product"),
        );
        let lower = before.drop_to_level(&ct, Level(2)).expect("down");
        assert_same(
            &before.rotate(&lower, 1).expect("rotation"),
            &after.rotate(&lower, 1).expect("rotation"),
        );
        assert_same(
            &before.rotate(&lower, -2).expect("rotation"),
            &after.rotate(&lower, -2).expect("rotation"),
        );
        assert_same(
            &before.conjugate(&lower).expect("conjugate"),
            &after.conjugate(&lower).expect("conjugate"),
        );
    }
}

#[test]
fn every_kind_is_refused_as_every_other_and_under_other_parameters() {
    let (here, there) = (params("insecure_tiny"), params("insecure_rank2"));
    let sk = secret(&here, 6);
    let all = samples(&here, &sk);
    for (kind, bytes) in &all {
        assert!(read(kind, bytes, &here).is_ok(), "{kind}");
        for (other, _) in &all {
            let same =
                kind == other || [*kind, *other].iter().all(|k| ["ciphertext", "computed"].contains(k));
            if !same {
                assert_refused!(
                    read(other, bytes, &here),
                    CkksError::File(FileError::WrongKind { .. }),
                    "pass the right file"
                );
            }
        }
        if *kind != "params" {
            let error = read(kind, bytes, &there).expect_err("other parameters");
            assert_eq!(error.kind(), ErrorKind::WrongParams);
            let text = error.to_string();
            assert!(text.contains("made for parameters \"insecure_tiny\" (digest "), "{text}");
            assert!(text.contains("these are \"insecure_rank2\" (digest "), "{text}");
            assert!(text.contains("use the parameters it was made with"), "{text}");
        }
    }
}

#[test]
fn files_that_do_not_name_their_parameters_are_read() {
    let (here, there) = (params("insecure_tiny"), params("insecure_rank2"));
    let sk = secret(&here, 6);
    for (kind, bytes) in samples(&here, &sk) {
        let reader = FileReader::from_bytes(&bytes).expect("readable");
        assert_eq!(reader.label().parameter_name.as_deref(), Some("insecure_tiny"), "{kind}");
        let label = FileLabel { parameter_name: None, ..reader.label().clone() };
        let mut writer =
            FileWriter::in_memory(label, &reader.metadata::<Value>().expect("json")).expect("writer");
        for info in reader.sections() {
            writer
                .add_section(info.name(), reader.section(info.name()).expect("there").bytes())
                .expect("section");
        }
        let unnamed = writer.finish().expect("finished");
        assert!(
            !FileReader::from_bytes(&unnamed).expect("readable").metadata_text().contains("\"parameters\""),
            "{kind}"
        );
        read(kind, &unnamed, &here).expect("the name is for messages only");
        if kind != "params" {
            let text = read(kind, &unnamed, &there).expect_err("other parameters").to_string();
            assert!(
                text.contains("parameters without a name (digest ") && text.contains("\"insecure_rank2\""),
                "{text}"
            );
        }
    }
}

#[test]
fn truncated_files_are_refused_at_every_sampled_length() {
    let params = params("insecure_tiny");
    for (kind, bytes) in samples(&params, &secret(&params, 7)) {
        let lengths =
            (0..130).chain((130..bytes.len()).step_by(bytes.len() / 60 + 1)).chain([bytes.len() - 1]);
        for length in lengths.filter(|&length| length < bytes.len()) {
            let (peak, result) = peak_of(|| read(kind, &bytes[..length], &params));
            let error = result.expect_err("truncated");
            assert!(matches!(error, CkksError::File(_)), "{kind} of {length}: {error:?}");
            assert!(peak < 1 << 16, "{kind} of {length}: {peak} bytes");
        }
    }
}

#[test]
fn single_flipped_bits_are_refused_wherever_they_are() {
    let params = params("insecure_tiny");
    let mut state = 1u64;
    for (kind, mut bytes) in samples(&params, &secret(&params, 8)) {
        let bits = bytes.len() as u64 * 8;
        // All of the header's, and random ones of the rest.
        let random = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 16) % bits
        });
        for bit in (0..1024).chain(random.take(400)) {
            let (byte, mask) = ((bit / 8) as usize, 1u8 << (bit % 8));
            bytes[byte] ^= mask;
            let (peak, result) = peak_of(|| read(kind, &bytes, &params));
            let error = result.expect_err("one bit off");
            assert!(matches!(error, CkksError::File(_)), "{kind}, bit {bit}: {error:?}");
            // Reading may get as far as the damaged section: masks are rebuilt from seeds, at rank 1 as large
            // as the file.
            assert!(peak <= 4 * bytes.len() + (1 << 20), "{kind}, bit {bit}: {peak} bytes");
            bytes[byte] ^= mask;
        }
        assert!(read(kind, &bytes, &params).is_ok());
    }
}

#[test]
fn future_versions_are_refused_by_their_number() {
    let params = params("insecure_tiny");
    for (kind, mut bytes) in samples(&params, &secret(&params, 9)) {
        bytes[8..12].copy_from_slice(&7u32.to_le_bytes());
        assert_refused!(
            read(kind, &bytes, &params),
            CkksError::File(FileError::FutureVersion { found: 7, .. }),
            "version 7",
            "upgrade"
        );
    }
}

fn set(field: &'static str, value: Value) -> impl FnOnce(&mut Value) {
    move |metadata| metadata[field] = value
}

/// Refused with a typed error and without allocating what the lie claims.
fn assert_lie_refused(kind: &str, params: &Params, bytes: &[u8], what: &str) {
    let (peak, result) = peak_of(|| read(kind, bytes, params));
    let error = result.err().unwrap_or_else(|| panic!("{kind}: {what} was accepted"));
    assert!(!error.to_string().is_empty());
    assert!(peak <= 4 * bytes.len() + (1 << 20), "{kind}: {what}: {peak} bytes");
}

#[test]
fn metadata_that_lies_about_a_ciphertext_is_refused() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 10);
    for (kind, bytes) in
        samples(&params, &sk).into_iter().filter(|(kind, _)| ["ciphertext", "computed"].contains(kind))
    {
        let lies = [
            ("level", json!(3)),
            ("level", json!(5)),
            ("level", json!(u64::MAX)),
            ("level", json!(-1)),
            ("level", json!("4")),
            ("shape", json!([9, 9])),
            ("shape", json!([65])),
            ("shape", json!([1u64 << 47])),
            ("shape", json!([1u64 << 47, 1])),
            ("shape", json!([1u64 << 24, 1u64 << 23])),
            ("shape", json!([u64::MAX])),
            ("shape", json!([u64::MAX, u64::MAX])),
            ("shape", json!([0])),
            ("shape", json!([2, 2, 2])),
            ("shape", json!([-1])),
            ("shape", json!(null)),
            ("scale", json!(-1.0)),
            ("scale", json!(0)),
            ("scale", json!(0.5)),
            ("scale", json!(1e300)),
            ("scale", json!(null)),
            ("scale", json!("NaN")),
            ("seeded", json!(kind == "computed")),
            ("secret", json!("nobody")),
            ("secret", json!("bodies:2")),
            ("secret", json!("bodies:+1")),
            ("secret", json!("temporary")),
            ("secret", json!("ephemeral")),
            ("layout", json!(null)),
            ("key_id", json!("")),
            ("key_id", json!("00")),
            ("key_id", json!("zz".repeat(16))),
            ("key_id", json!("+f".repeat(16))),
            ("key_id", json!("\u{e9}".repeat(16))),
            ("key_id", json!("0".repeat(33))),
            ("surprise", json!(1)),
        ];
        for (field, value) in lies {
            let what = format!("{field} = {value}");
            assert_lie_refused(kind, &params, &forged(&bytes, set(field, value), |_, _| ()), &what);
        }
        let lies = [
            ("rows", json!(2)),
            ("columns", json!(7)),
            ("degree", json!(32)),
            ("degree", json!(128)),
            ("encoding", json!("both")),
            ("complex", json!(1)),
            ("capacity", json!(0)),
            ("capacity", json!(2)),
            ("capacity", json!(6)),
            ("capacity", json!(64)),
            ("capacity", json!(1u64 << 63)),
            ("chunks", json!(0)),
            ("chunks", json!(2)),
            ("chunks", json!(u64::MAX)),
            ("components", json!(0)),
            ("components", json!(2)),
            ("components", json!(1u64 << 63)),
            ("bodies", json!(0)),
            ("bodies", json!(2)),
            ("bodies", json!(u64::MAX)),
            ("axis", json!("rows")),
            ("axis", json!("columns")),
            ("order", json!("random")),
            ("padding", json!("dirty")),
            ("padding", json!("clean")),
            ("surprise", json!(1)),
        ];
        for (field, value) in lies {
            let what = format!("layout.{field} = {value}");
            let lie = forged(&bytes, |metadata| metadata["layout"][field] = value, |_, _| ());
            assert_lie_refused(kind, &params, &lie, &what);
        }
        for field in ["rows", "columns", "encoding", "degree", "capacity", "chunks"] {
            let without = |metadata: &mut Value| {
                drop(metadata["layout"].as_object_mut().expect("object").remove(field))
            };
            assert_lie_refused(
                kind,
                &params,
                &forged(&bytes, without, |_, _| ()),
                &format!("no layout.{field}"),
            );
        }
        for field in ["level", "shape", "scale", "key_id", "secret", "layout", "seeded"] {
            let without = forged(
                &bytes,
                |metadata| drop(metadata.as_object_mut().expect("object").remove(field)),
                |_, _| (),
            );
            assert_lie_refused(kind, &params, &without, &format!("no {field}"));
        }
    }
    // Pairs of coefficients are half as many numbers.
    let options = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
    let bytes = encrypt_as(&sk, &Values::Real(ramp(8)), &[8], options, 1).to_file_bytes().expect("file");
    let complex = |metadata: &mut Value| metadata["layout"]["complex"] = json!(true);
    assert_lie_refused(
        "ciphertext",
        &params,
        &forged(&bytes, complex, |_, _| ()),
        "pairs of all coefficients",
    );
}

#[test]
fn sections_that_do_not_fit_are_refused() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 11);
    for (kind, bytes) in samples(&params, &sk) {
        let sections: Vec<String> = FileReader::from_bytes(&bytes)
            .expect("readable")
            .sections()
            .iter()
            .map(|s| s.name().to_owned())
            .collect();
        for name in &sections {
            let resized = |by: i64| {
                forged(
                    &bytes,
                    |_| (),
                    |section, data| {
                        if section == name {
                            data.resize((data.len() as i64 + by) as usize, 0);
                        }
                    },
                )
            };
            for by in [-8, -1, 1, 8, 512, 20_480] {
                assert_lie_refused(kind, &params, &resized(by), &format!("{name} {by:+}"));
            }
            let words = !["seeds", "seed", "secret"].contains(&name.as_str());
            if words {
                // The first modulus itself is the smallest residue that is none; all ones is the largest.
                let q = params.chain().ring().moduli()[0].value();
                for bad in [q, u64::MAX] {
                    let file = forged(
                        &bytes,
                        |_| (),
                        |section, data| {
                            if section == name {
                                data[..8].copy_from_slice(&bad.to_le_bytes());
                            }
                        },
                    );
                    assert_refused!(
                        read(kind, &file, &params),
                        CkksError::File(FileError::ResidueTooLarge { .. }),
                        &format!("{bad}"),
                        &format!("{q}")
                    );
                }
                let last = forged(
                    &bytes,
                    |_| (),
                    |section, data| {
                        if section == name {
                            let start = data.len() - 8;
                            data[start..].copy_from_slice(&u64::MAX.to_le_bytes());
                        }
                    },
                );
                assert_lie_refused(kind, &params, &last, "the last residue");
            }
        }
    }
    let (_, bytes) = samples(&params, &sk).swap_remove(1);
    for bad in [2u8, 0x80, 0xfe] {
        let file = forged(
            &bytes,
            |_| (),
            |section, data| {
                if section == "secret" {
                    data[5] = bad
                }
            },
        );
        assert_refused!(
            read("secret", &file, &params),
            CkksError::File(FileError::Metadata { .. }),
            "-1, 0 or 1"
        );
    }
}

#[test]
fn metadata_that_lies_about_keys_is_refused() {
    let params = params("insecure_tiny");
    let all = samples(&params, &secret(&params, 12));
    let of = |wanted: &str| &all.iter().find(|(kind, _)| *kind == wanted).expect("there").1;
    for kind in ["secret", "public", "evaluation"] {
        for id in ["", "0", "+f+f+f+f+f+f+f+f+f+f+f+f+f+f+f+f", "gggggggggggggggggggggggggggggggg"] {
            assert_lie_refused(kind, &params, &forged(of(kind), set("key_id", json!(id)), |_, _| ()), id);
        }
        assert_lie_refused(
            kind,
            &params,
            &forged(of(kind), set("surprise", json!([])), |_, _| ()),
            "an unknown field",
        );
    }
    let keys = of("evaluation");
    let metadata: Value =
        serde_json::from_str(FileReader::from_bytes(keys).expect("readable").metadata_text()).expect("json");
    let list = metadata["keys"].as_array().expect("a list").clone();
    let many: Vec<Value> = (0..20_000).map(|_| list[0].clone()).collect();
    let (one_less, one_more) = (list[1..].to_vec(), [&list[..], &list[..1]].concat());
    let twice = [&list[..1], &list[..list.len() - 1]].concat();
    for lie in [
        json!([]),
        json!(one_less),
        json!(one_more),
        json!(twice),
        json!(many),
        json!(null),
        json!({}),
        json!("keys"),
    ] {
        let what = lie.to_string().chars().take(60).collect::<String>();
        assert_lie_refused(
            "evaluation",
            &params,
            &forged(keys, |metadata| metadata["keys"] = lie.clone(), |_, _| ()),
            &what,
        );
    }
    let names = [
        "",
        "relinearise ",
        "relinearize",
        "automorphism",
        "automorphism 0",
        "automorphism 2",
        "automorphism 129",
        "automorphism -1",
        "automorphism 18446744073709551615",
        "automorphism 5 5",
        "cross-relinearise",
        "direct-relinearise",
        "rank-down",
        "reduce-rank 0",
        "reduce-rank 1",
        "temporary-automorphism 5",
        "change-secret main ephemeral",
        "change-secret main body:3/2",
        "change-secret main",
        "format-switch 0",
        "format-switch 18446744073709551615",
        "\u{0}",
    ];
    for index in 0..list.len() {
        for name in names {
            let lie = forged(keys, |metadata| metadata["keys"][index]["name"] = json!(name), |_, _| ());
            assert_lie_refused("evaluation", &params, &lie, name);
        }
        for level in [json!(4), json!(u64::MAX), json!(-1), json!(null), json!("1")] {
            let lie = forged(keys, |metadata| metadata["keys"][index]["level"] = level.clone(), |_, _| ());
            assert_lie_refused("evaluation", &params, &lie, &format!("level {level}"));
        }
        for shape in ["64x2", "32x1", "32x2", "128x1", "0x0", "64", "64x", "18446744073709551615x1"] {
            let lie = forged(keys, |metadata| metadata["keys"][index]["shape"] = json!(shape), |_, _| ());
            assert_lie_refused("evaluation", &params, &lie, shape);
        }
        let lie = forged(keys, |metadata| metadata["keys"][index]["surprise"] = json!(1), |_, _| ());
        assert_lie_refused("evaluation", &params, &lie, "an unknown field");
    }
}

#[test]
fn parameter_files_are_checked_like_any_specification() {
    let params = params("insecure_tiny");
    let bytes = params.to_file_bytes().expect("file");
    let with = |field: &'static str, value: Value| {
        forged(&bytes, |metadata| metadata["spec"][field] = value, |_, _| ())
    };
    for (field, value) in [
        ("degree", json!(1u64 << 40)),
        ("degree", json!(63)),
        ("rank", json!(u64::MAX)),
        ("steps", json!([[u32::MAX]])),
        ("special", json!(vec![40; 100_000])),
        ("log2_scale", json!(1e300)),
        ("name", json!(7)),
        ("surprise", json!(true)),
    ] {
        assert_lie_refused("params", &params, &with(field, value), field);
    }
    // Without its mark the set is insecure; with another chain it is not the set of the digest.
    let error = read("params", &with("insecure", json!(false)), &params).expect_err("unmarked");
    assert_eq!(error.kind(), ErrorKind::Security);
    let error = read("params", &with("steps", json!([[30, 30], [40]])), &params)
        .expect_err("another chain under a preset's name");
    assert_eq!(error.kind(), ErrorKind::Params);
    let renamed = custom(&toml::to_string(&to_change(&params)).expect("text")).to_file_bytes().expect("file");
    let shorter = forged(&renamed, |metadata| metadata["spec"]["steps"] = json!([[30, 30], [40]]), |_, _| ());
    let error = read("params", &shorter, &params).expect_err("another chain");
    assert_eq!(error.kind(), ErrorKind::WrongParams);
    assert!(error.to_string().contains("has to be made again"), "{error}");
    assert_lie_refused(
        "params",
        &params,
        &forged(&bytes, set("surprise", json!(1)), |_, _| ()),
        "an unknown field",
    );
}

#[test]
fn a_forged_mark_of_security_is_refused() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 13);
    for (kind, bytes) in samples(&params, &sk) {
        let reader = FileReader::from_bytes(&bytes).expect("readable");
        let label = FileLabel { insecure: false, ..reader.label().clone() };
        let metadata: Value = reader.metadata().expect("json");
        let mut writer = FileWriter::in_memory(label, &metadata).expect("writer");
        for info in reader.sections() {
            writer
                .add_section(info.name(), reader.section(info.name()).expect("there").bytes())
                .expect("section");
        }
        assert_lie_refused(
            kind,
            &params,
            &writer.finish().expect("finished"),
            "an insecure file without its mark",
        );
    }
}

#[test]
fn garbage_is_no_file() {
    let params = params("insecure_tiny");
    for bytes in [&b""[..], b"CLATHRAT", &[0; 4096], &[0xff; 4096], b"\x93NUMPY\x01\x00"] {
        for kind in ["params", "secret", "public", "evaluation", "ciphertext"] {
            assert_lie_refused(kind, &params, bytes, "garbage");
        }
    }
}

#[test]
fn secret_key_of_another_weight_is_refused() {
    let params = custom(
        "name = \"sparse\"\ndegree = 64\nsteps = [[30, 30]]\nlog2_scale = 40\nsecret_weight = 8\ninsecure = true\n",
    );
    let bytes = secret(&params, 14).to_file_bytes().expect("file");
    assert!(read("secret", &bytes, &params).is_ok());
    for value in [0u8, 1] {
        let file = forged(&bytes, |_| (), |_, data| data.fill(value));
        assert_refused!(
            read("secret", &file, &params),
            CkksError::File(FileError::Metadata { .. }),
            "weight",
            "8"
        );
    }
}

#[test]
fn reading_and_writing_report_their_bytes_and_stop_when_cancelled() {
    let set = params("insecure_small");
    let owner = secret(&set, 31);
    let x = owner.encrypt_array(&vec![0.5; 4000], &[4000, 1], EncryptOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.clt");
    std::fs::write(&path, b"before").unwrap();
    // Cancels at the report of this number.
    let watch = |most: usize| {
        let (asked, told) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
        let (count, sum) = (asked.clone(), told.clone());
        let progress = Progress::new(move |event| {
            if let Event::Bytes(bytes) = event {
                sum.fetch_add(bytes, Ordering::Relaxed);
            }
            count.fetch_add(1, Ordering::Relaxed) < most
        });
        (asked, told, progress)
    };
    let in_memory = |progress: Progress| -> Result<Vec<u8>, FileError> {
        x.write_with(|label, metadata| Ok(FileWriter::in_memory(label, metadata)?.with_progress(progress)))?
            .finish()
    };
    let (asked, told, patient) = watch(usize::MAX);
    let bytes = in_memory(patient).unwrap();
    assert_eq!(bytes, x.to_file_bytes().unwrap());
    assert!(asked.load(Ordering::Relaxed) > bytes.len() >> 20, "for every mebibyte at least");
    let told = told.load(Ordering::Relaxed);
    assert!(told > bytes.len() as u64 / 2 && told <= bytes.len() as u64 + 4096, "{told} of {}", bytes.len());
    for most in [0, 1, asked.load(Ordering::Relaxed) / 2] {
        assert!(matches!(in_memory(watch(most).2), Err(FileError::Cancelled)), "{most}");
        let saved = x.save_as(&path, Replaced::ButSecretKeys, &watch(most).2);
        assert!(matches!(saved, Err(FileError::Cancelled)), "{most}");
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no part of a file");
    }
    x.save_as(&path, Replaced::ButSecretKeys, &watch(usize::MAX).2).unwrap();
    let read =
        |progress| Ciphertext::from_reader(&FileReader::open(&path).unwrap().with_progress(progress), &set);
    let (asked, _, patient) = watch(usize::MAX);
    assert_eq!(read(patient).unwrap().to_file_bytes().unwrap(), bytes);
    for most in [0, 1, asked.load(Ordering::Relaxed) / 2, asked.load(Ordering::Relaxed) - 1] {
        let error = read(watch(most).2).unwrap_err();
        assert!(matches!(error, CkksError::Cancelled), "{most}: {error}");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}
