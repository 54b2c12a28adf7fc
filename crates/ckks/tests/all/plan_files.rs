//! Plans of linear transforms in files: what comes back is the plan, mapped or copied; what is damaged or
//! foreign is refused.

use std::path::{Path, PathBuf};

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::linear::{LinearTransform, LinearTransformOptions, LinearTransformPlan};
use clathrate_ckks::file::{FileError, FileReader, OpenOptions, Stored, TrustedMap};
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{CkksError, KeyLevel, Params};

fn load(path: &Path, params: &Params, trusted: bool) -> Result<LinearTransformPlan, CkksError> {
    // SAFETY: the file is in a folder of the test's, which replaces files and does not write to them while
    // they are mapped.
    let trusted_map = trusted.then(|| unsafe { TrustedMap::promised() });
    LinearTransformPlan::from_reader(&FileReader::open_with(path, OpenOptions { trusted_map })?, params)
}

/// A map of short period, one of few diagonals, one that rotates nothing, and full matrices that are real,
/// complex, wide and tall.
fn maps() -> Vec<LinearTransform> {
    let diagonals = |shifts: &[i64], period: usize| {
        let diagonal = |(seed, &shift): (usize, &i64)| (shift, complex(period, 10 + seed as u64));
        LinearTransform::from_diagonals(32, shifts.iter().enumerate().map(diagonal)).expect("map")
    };
    vec![
        diagonals(&[0, 4, -4, 8], 4),
        diagonals(&[3, -7], 32),
        diagonals(&[0], 16),
        LinearTransform::from_matrix(&noise(32 * 32, 1), 32, 32).expect("map"),
        LinearTransform::from_matrix(&complex(5 * 30, 2), 5, 30).expect("map"),
        LinearTransform::from_matrix(&noise(20 * 3, 3), 20, 3).expect("map"),
        // Fewer rows and columns than slots: by way of more.
        LinearTransform::from_matrix(&noise(20 * 3, 4), 20, 3)
            .and_then(|wide| wide.then(&LinearTransform::from_matrix(&noise(2 * 20, 5), 2, 20)?))
            .expect("map"),
    ]
}

#[test]
fn plans_come_back_from_files_with_their_diagonals() {
    let params = params("insecure_deep");
    let sk = secret(&params, 1);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("plan");
    for (index, map) in maps().into_iter().enumerate() {
        for most_keys in [None, Some(3)] {
            let options = LinearTransformOptions { most_keys, ..Default::default() };
            let plan = map.plan_with(&params, params.max_level(), options).expect("plan");
            let ev = evaluator(&sk, &plan.needs().expect("needs"));
            let values = Values::Complex(complex(map.columns(), 4));
            let own = EncryptOptions { capacity: Some(map.slots()), ..EncryptOptions::default() };
            let ct = encrypt_as(&sk, &values, &[map.columns()], own, 5);
            // A plan that has encoded nothing is only its map.
            plan.save(&path).expect("file");
            assert_eq!(load(&path, &params, false).expect("plan").plaintext_bytes(), 0);
            plan.encode().expect("encoded");
            let bytes = plan.plaintext_bytes();
            let expected = plan.run(&ev, &ct).expect("image").to_file_bytes().expect("bytes");
            assert_eq!(plan.plaintext_bytes(), bytes, "map {index}: what was encoded ahead is what is used");
            plan.save(&path).expect("file");
            for trusted in [false, true] {
                let again = load(&path, &params, trusted).expect("plan");
                assert_eq!((again.transform(), again.input_level()), (plan.transform(), plan.input_level()));
                assert_eq!(
                    (again.input_scale(), again.output_scale()),
                    (plan.input_scale(), plan.output_scale())
                );
                assert_eq!((again.rotations(), again.switches()), (plan.rotations(), plan.switches()));
                assert_eq!(again.plaintext_bytes(), bytes);
                let got = again.run(&ev, &ct).expect("image").to_file_bytes().expect("bytes");
                assert!(got == expected, "map {index}, trusted {trusted}");
                assert_eq!(again.plaintext_bytes(), bytes, "nothing was encoded anew");
                // A file of a plan from a file is that file.
                assert_eq!(again.to_file_bytes().expect("bytes"), std::fs::read(&path).expect("file"));
            }
        }
    }
}

#[test]
fn mapped_plans_outlive_their_files_name() {
    let params = params("insecure_deep");
    let sk = secret(&params, 1);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("plan");
    let map = LinearTransform::from_matrix(&noise(32 * 32, 1), 32, 32).expect("map");
    let plan = map.plan(&params, params.max_level()).expect("plan");
    plan.encode().expect("encoded");
    plan.save(&path).expect("file");
    let again = load(&path, &params, true).expect("plan");
    // Another plan takes the place: what is mapped stays.
    map.clone()
        .scaled(2.0.into())
        .plan(&params, params.max_level())
        .expect("plan")
        .save(&path)
        .expect("file");
    std::fs::remove_file(&path).expect("removed");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let ct = encrypt(&sk, &noise(32, 2));
    let [expected, got] =
        [&plan, &again].map(|plan| plan.run(&ev, &ct).expect("image").to_file_bytes().expect("bytes"));
    assert!(expected == got);
}

#[test]
fn plans_that_keep_nothing_encode_for_each_use() {
    let params = params("insecure_deep");
    let sk = secret(&params, 1);
    let map = LinearTransform::from_matrix(&noise(32 * 32, 1), 32, 32).expect("map");
    let ct = encrypt(&sk, &noise(32, 2));
    let plans = [false, true].map(|on_the_fly| {
        map.plan_with(&params, ct.level(), LinearTransformOptions { on_the_fly, ..Default::default() })
            .expect("plan")
    });
    let ev = evaluator(&sk, &plans[0].needs().expect("needs"));
    let [kept, thrown] =
        [0, 1].map(|i| plans[i].run(&ev, &ct).expect("image").to_file_bytes().expect("bytes"));
    assert!(kept == thrown);
    assert!(plans[0].plaintext_bytes() > 0 && plans[1].plaintext_bytes() == 0);
    assert_refused!(plans[1].encode(), CkksError::OutOfRange { .. }, "on_the_fly");
    let bytes = plans[1].to_file_bytes().expect("bytes");
    let again = LinearTransformPlan::from_reader(&FileReader::from_bytes(&bytes).expect("reader"), &params)
        .expect("plan");
    assert!(again.is_on_the_fly());
}

/// The plan in `path`, with one piece of its metadata replaced.
fn altered(path: &Path, from: &str, to: &str, folder: &Path) -> PathBuf {
    use clathrate_ckks::file::FileWriter;
    let reader = FileReader::open(path).expect("reader");
    let text = reader.metadata_text().replacen(from, to, 1);
    assert_ne!(text, reader.metadata_text(), "{from}");
    let mut metadata: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&text).expect("metadata");
    metadata.remove("parameters");
    let out = folder.join("altered");
    let mut writer = FileWriter::create(&out, reader.label().clone(), &metadata).expect("writer");
    for section in reader.sections() {
        writer
            .add_section(section.name(), reader.section(section.name()).expect("section").bytes())
            .expect("section");
    }
    writer.finish().expect("file");
    out
}

#[test]
fn damaged_and_foreign_plans_are_refused() {
    let params = params("insecure_deep");
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("plan");
    let map = LinearTransform::from_matrix(&noise(5 * 12, 1), 5, 12).expect("map");
    let plan = map.plan(&params, params.max_level()).expect("plan");
    plan.encode().expect("encoded");
    plan.save(&path).expect("file");
    let text = FileReader::open(&path).expect("reader").metadata_text().to_owned();
    let baby_steps = text
        .split("\"baby_steps\":")
        .nth(1)
        .expect("the field")
        .split(',')
        .next()
        .expect("a number")
        .to_owned();
    let old = format!("\"baby_steps\":{baby_steps}");
    for (from, to) in [
        (old.as_str(), "\"baby_steps\":3"),
        (old.as_str(), "\"baby_steps\":0"),
        ("\"rows\":5", "\"rows\":4"),
        ("\"rows\":5", "\"rows\":0"),
        ("\"columns\":12", "\"columns\":11"),
        ("\"columns\":12", "\"columns\":40"),
        ("\"slots\":16", "\"slots\":15"),
        ("\"slots\":16", "\"slots\":4294967296"),
        (
            "\"rows\":5,\"columns\":12,\"slots\":16",
            "\"rows\":4611686018427387904,\"columns\":4611686018427387904,\"slots\":4611686018427387904",
        ),
        ("\"slots\":16", "\"slots\":8"),
        ("\"period\":16", "\"period\":8"),
        ("\"period\":16", "\"period\":0"),
        ("\"period\":16", "\"period\":18446744073709551615"),
        ("\"level\":", "\"level\":9"),
        ("\"encoded\":[[0", "\"encoded\":[[77"),
        ("\"encoded\":[[0,", "\"encoded\":[["),
        ("\"encoded\":[[", "\"encoded\":[[],["),
        ("\"shifts\":[0,", "\"shifts\":["),
        ("\"shifts\":[0,", "\"shifts\":[0,0,"),
        ("\"on_the_fly\"", "\"in_the_sky\""),
    ] {
        let altered = altered(&path, from, to, folder.path());
        for trusted in [false, true] {
            let result = load(&altered, &params, trusted);
            assert!(result.is_err(), "{to}: {result:?}");
        }
    }
    // A residue that is not reduced: all bytes of a section set, with a checksum that fits.
    let reader = FileReader::open(&path).expect("reader");
    let mut writer = clathrate_ckks::file::FileWriter::in_memory(
        reader.label().clone(),
        &serde_json::from_str::<serde_json::Value>(&without_name(&text)).expect("metadata"),
    )
    .expect("writer");
    for section in reader.sections() {
        let mut bytes = reader.section(section.name()).expect("section").bytes().to_vec();
        if section.name() == "f0g0" {
            bytes[..512].fill(0xff);
        }
        writer.add_section(section.name(), &bytes).expect("section");
    }
    let bytes = writer.finish().expect("bytes");
    let wrong = folder.path().join("wrong");
    std::fs::write(&wrong, &bytes).expect("file");
    for trusted in [false, true] {
        let result = load(&wrong, &params, trusted);
        assert!(
            matches!(&result, Err(CkksError::File(FileError::ResidueTooLarge { row: 0, column: 0, .. }))),
            "{result:?}"
        );
    }
    // A byte of the packed residues, without the checksum.
    let mut bytes = std::fs::read(&path).expect("file");
    let place = bytes.len() / 2;
    bytes[place] ^= 1;
    std::fs::write(&path, &bytes).expect("file");
    for trusted in [false, true] {
        let result = load(&path, &params, trusted);
        assert!(matches!(&result, Err(CkksError::File(FileError::SectionCorrupted { .. }))), "{result:?}");
    }
    // Another kind of file, and other parameters.
    let sk = secret(&params, 1);
    let keys = sk.evaluation_keys(&clathrate_ckks::KeyNeeds::new().relinearise(KeyLevel::Top)).expect("keys");
    keys.save(&path).expect("file");
    assert_refused!(load(&path, &params, false), CkksError::File(FileError::WrongKind { .. }), "plan");
    plan.save(&path).expect("file");
    let other = crate::common::params("insecure_small");
    assert_refused!(load(&path, &other, false), CkksError::File(_), "insecure_deep");
}

/// Metadata without the name of the parameters, which the writer adds.
fn without_name(text: &str) -> String {
    let mut metadata: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text).expect("metadata");
    metadata.remove("parameters");
    serde_json::to_string(&metadata).expect("text")
}
