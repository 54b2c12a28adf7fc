//! Machine profiles: measured, stored, read back, and refused with a reason where they are not what they
//! should be.

use std::fs;
use std::path::PathBuf;

use crate::common::{assert_refused, at_least, cancelling_after, params, recorded};
use clathrate_arith::Isa;
use clathrate_ckks::evaluation::measure_machine;
use clathrate_ckks::tune::{Kernels, ProfilePlace, StoredProfile, store, store_at, stored, stored_at};
use clathrate_ckks::{CkksError, Encoding, Evaluator, Params, Runtime};
use clathrate_lattice::switch::MachineProfile;
use tempfile::TempDir;

#[test]
fn profile_place_is_the_variable_or_else_the_cache_directory() {
    let place = |variable: Option<&str>, cache: Option<&str>| {
        ProfilePlace::new(variable.map(Into::into), cache.map(Into::into))
    };
    let file = |path: &str| ProfilePlace::File(PathBuf::from(path));
    assert_eq!(place(None, Some("/cache")), file("/cache/clathrate/profile.toml"));
    assert_eq!(place(Some(""), Some("/cache")), file("/cache/clathrate/profile.toml"));
    assert_eq!(place(Some("/etc/profile.toml"), Some("/cache")), file("/etc/profile.toml"));
    assert_eq!(place(Some("/etc/profile.toml"), None), file("/etc/profile.toml"));
    assert_eq!(place(Some("none"), Some("/cache")), ProfilePlace::Off);
    assert_eq!(place(None, None), ProfilePlace::Unknown);
}

#[test]
fn tests_neither_read_nor_store_the_users_profile() {
    let stored = stored(&Isa::Scalar.into());
    assert_eq!((stored.clone(), stored.state(), stored.path()), (StoredProfile::Off, "off", None));
    assert!(stored.to_string().contains("CLATHRATE_PROFILE is `none`"), "{stored}");
    assert_refused!(
        store(&Isa::Scalar.into(), &sample(Isa::Scalar)),
        CkksError::InvalidParams { .. },
        "CLATHRATE_PROFILE is `none`",
        "unset it"
    );
    let plan = params("insecure_small").switching_report(None).expect("plan").to_string();
    assert!(plan.contains("built in: none read: CLATHRATE_PROFILE is `none`"), "{plan}");
}

fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("folder");
    let path = folder.path().join("deep").join("profile.toml");
    (folder, path)
}

fn sample(isa: Isa) -> MachineProfile {
    let mut profile = MachineProfile {
        source: "a test \"quoted\"\nline".to_owned(),
        isa: Some(isa.name().to_owned()),
        ..MachineProfile::built_in()
    };
    // Numbers of this test's own, which it then looks for.
    profile.read_ns_per_byte = 0.035;
    profile.kernels[0].convert = 368.64;
    profile
}

/// The reason why `text` is no profile.
fn reason(text: &str) -> String {
    let (_folder, path) = place();
    fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    fs::write(&path, text).expect("write");
    let stored = stored_at(&path, &Isa::Scalar.into());
    assert!(stored.profile().is_none() && stored.state() == "broken", "{stored:?}");
    let message = stored.to_string();
    assert!(message.contains("clathrate tune") && message.contains(&path.display().to_string()), "{message}");
    match stored {
        StoredProfile::Broken { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

/// The sample as text, with one replacement that must apply.
fn changed(from: &str, to: &str) -> String {
    let text = toml::to_string(&sample(Isa::Scalar)).expect("text");
    assert!(text.contains(from), "{from} in {text}");
    text.replacen(from, to, 1)
}

#[test]
fn profile_absent_is_absent_and_names_the_remedy() {
    let (_folder, path) = place();
    let stored = stored_at(&path, &Isa::Scalar.into());
    assert_eq!(stored, StoredProfile::Absent { path: Some(path.clone()) });
    assert!(stored.to_string().contains("clathrate tune"));
    // A file where a directory should be: there is no profile there either.
    fs::write(path.parent().expect("parent"), "").expect("write");
    assert_eq!(stored_at(&path, &Isa::Scalar.into()).state(), "absent");
}

#[test]
fn profile_stored_comes_back_number_for_number() {
    let (_folder, path) = place();
    for isa in [Isa::Scalar, Isa::Avx2, Isa::Ifma] {
        let mut profile = sample(isa);
        profile.read_ns_per_byte = 0.1 + 0.2;
        profile.cache_bytes = 0.0;
        store_at(&path, &profile).expect("stored");
        assert_eq!(stored_at(&path, &isa.into()), StoredProfile::Ready { path: path.clone(), profile });
    }
    let beside = fs::read_dir(path.parent().expect("parent")).expect("folder").count();
    assert_eq!(beside, 1, "nothing but the profile is left");
}

#[test]
fn profile_of_other_kernels_is_foreign_and_names_both() {
    let (_folder, path) = place();
    store_at(&path, &sample(Isa::Ifma)).expect("stored");
    let stored = stored_at(&path, &Isa::Scalar.into());
    assert!(stored.profile().is_none());
    let message = stored.to_string();
    assert_eq!(stored.state(), "foreign");
    assert!(
        message.contains("ifma kernels")
            && message.contains("scalar ones")
            && message.contains("clathrate tune"),
        "{message}"
    );
    fs::write(&path, changed("scalar", "quantum")).expect("write");
    assert_eq!(stored_at(&path, &Isa::Scalar.into()).state(), "foreign");
}

#[test]
fn profile_broken_says_what_is_wrong() {
    reason("");
    reason("\0\0\0\0");
    reason("[[[[");
    let whole = toml::to_string(&sample(Isa::Scalar)).expect("text");
    reason(&whole[..whole.len() / 2]);
    assert!(reason(&format!("surprise = 1\n{whole}")).contains("surprise"));
    assert!(reason(&changed("isa = \"scalar\"\n", "")).contains("which kernels"));
    assert!(reason(&"#".repeat(1 << 21)).contains("1 MiB"));
    let no_kernels = MachineProfile { kernels: Vec::new(), ..sample(Isa::Scalar) };
    assert!(reason(&toml::to_string(&no_kernels).expect("text")).contains("no kernels"));
}

#[test]
fn profile_with_impossible_numbers_is_broken_and_names_them() {
    for bad in ["0.0", "-1.0", "nan", "inf", "-inf"] {
        assert!(
            reason(&changed("read_ns_per_byte = 0.035", &format!("read_ns_per_byte = {bad}")))
                .contains("read_ns_per_byte is")
        );
        assert!(
            reason(&changed("convert = 368.64", &format!("convert = {bad}")))
                .contains("conversion at degree 4096")
        );
    }
    assert!(reason(&changed("cache_bytes = 16000000.0", "cache_bytes = -1.0")).contains("cache_bytes is -1"));
    for degree in ["0", "3", "4097", "2097152"] {
        assert!(
            reason(&changed("degree = 4096", &format!("degree = {degree}")))
                .contains(&format!("degree {degree} is no power"))
        );
    }
    reason(&changed("degree = 4096", "degree = -4096"));
}

#[test]
fn profile_unsound_is_not_stored_over_a_sound_one() {
    let (_folder, path) = place();
    store_at(&path, &sample(Isa::Scalar)).expect("stored");
    let before = fs::read(&path).expect("read");
    let mut bad = sample(Isa::Scalar);
    bad.kernels[0].product = f64::NAN;
    assert!(matches!(store_at(&path, &bad), Err(CkksError::OutOfRange { .. })));
    assert_eq!(fs::read(&path).expect("read"), before);
}

#[test]
fn profile_in_an_unwritable_place_is_an_error_with_the_path() {
    let (_folder, path) = place();
    fs::write(path.parent().expect("parent"), "a file").expect("write");
    let error = store_at(&path, &sample(Isa::Scalar)).expect_err("refused").to_string();
    assert!(error.contains(&path.display().to_string()), "{error}");
    let (folder, _) = place();
    assert!(store_at(folder.path(), &sample(Isa::Scalar)).is_err(), "a directory is not replaced");
    assert_eq!(stored_at(folder.path(), &Isa::Scalar.into()).state(), "broken");
}

#[test]
fn measure_gives_what_can_be_stored_and_tells_each_step() {
    let (_folder, path) = place();
    let mut sets = Isa::available();
    sets.reverse();
    for &isa in at_least(1, &sets) {
        let (progress, seen) = recorded();
        let runtime = Runtime { isa: Some(isa.name().to_owned()), ..Runtime::default() };
        let profile = measure_machine(&runtime, &progress).expect("measured");
        assert!((1.0..20.0).contains(&profile.overhead), "{}", profile.overhead);
        let seen = seen.lock().expect("no panic").clone();
        let total = seen.len() - 1;
        assert_eq!(seen, (0..=total).map(|done| (done, total)).collect::<Vec<_>>());
        store_at(&path, &profile).expect("sound");
        assert_eq!(stored_at(&path, &isa.into()).profile(), Some(&profile));
        // Sixteen times the words take longer, whatever the noise.
        let (first, last) = (profile.kernels[0], profile.kernels[profile.kernels.len() - 1]);
        assert!(
            last.degree == 16 * first.degree && last.transform[0] > 4.0 * first.transform[0],
            "{first:?} {last:?}"
        );
    }
}

#[test]
fn measure_stops_when_told() {
    for at in [0, 1] {
        let stopped = Runtime::default().measure(&cancelling_after(at));
        assert!(matches!(stopped, Err(CkksError::Cancelled)));
    }
}

#[test]
fn profiles_of_devices_have_files_and_names_of_their_own() {
    let device = Kernels::of_device("cuda:0", "cuda:0, NVIDIA H100");
    let (_folder, path) = place();
    let profile = MachineProfile {
        isa: Some("cuda:0, NVIDIA H100".to_owned()),
        ..MachineProfile::built_in_device(true)
    };
    store_at(&path, &profile).expect("stored");
    assert_eq!(stored_at(&path, &device), StoredProfile::Ready { path: path.clone(), profile });
    let other = stored_at(&path, &Kernels::of_device("cuda:0", "cuda:0, NVIDIA A100"));
    assert_eq!(other.state(), "foreign");
    assert!(
        other.to_string().contains("NVIDIA H100") && other.to_string().contains("NVIDIA A100"),
        "{other}"
    );
    assert_eq!(stored_at(&path, &Isa::Scalar.into()).state(), "foreign");
}

#[test]
fn profile_that_is_no_regular_file_is_broken_and_says_so() {
    let (_folder, path) = place();
    fs::create_dir_all(&path).expect("folder");
    let stored = stored_at(&path, &Isa::Scalar.into());
    assert!(stored.state() == "broken" && stored.to_string().contains("no regular file"), "{stored}");
}

#[test]
fn profile_without_times_of_matrix_products_is_refused_with_the_remedy() {
    let mut table: toml::Table =
        toml::from_str(&toml::to_string(&sample(Isa::Scalar)).expect("text")).expect("a table");
    table.remove("matrix").expect("times of matrix products");
    let why = reason(&toml::to_string(&table).expect("text"));
    assert_eq!(why, "an earlier version measured it, without matrix products");
    // One of the times alone is missing: that is no earlier version.
    let text = changed("digit = 0.39\n", "");
    assert!(reason(&text).contains("missing field `digit`"), "{}", reason(&text));
    for bad in ["0.0", "-1.0", "nan", "inf"] {
        assert!(
            reason(&changed("digit = 0.39", &format!("digit = {bad}")))
                .contains("a digit of a matrix product is")
        );
    }
}

#[test]
fn whole_operations_take_longer_than_their_kernels_and_cost_the_same() {
    let cost = |overhead: f64| {
        let profile = MachineProfile { overhead, ..MachineProfile::built_in() };
        let runtime = Runtime { profile: Some(profile), ..Runtime::default() };
        let params = Params::preset("insecure_small", &runtime).expect("parameters");
        let recorder = Evaluator::recording(&params);
        let x = recorder.symbol(&[8], Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
        let product = recorder.rescale(&recorder.multiply(&x, &x).expect("a product")).expect("a rescale");
        recorder.rotate(&product, 1).expect("a rotation");
        recorder.recorded().cost()
    };
    let (alone, whole) = (cost(1.0), cost(3.0));
    assert!((whole.nanoseconds / alone.nanoseconds - 3.0).abs() < 1e-9, "{alone:?} and {whole:?}");
    assert_eq!((alone.price, alone.transforms), (whole.price, whole.transforms));
}

#[test]
fn profiles_of_earlier_versions_have_no_overhead() {
    let text = toml::to_string(&sample(Isa::Scalar)).expect("text");
    let line = text.lines().find(|line| line.starts_with("overhead")).expect("a line of the overhead");
    let (_folder, path) = place();
    fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    fs::write(&path, text.replace(line, "")).expect("write");
    let stored = stored_at(&path, &Isa::Scalar.into());
    assert_eq!(stored.profile().map(|profile| profile.overhead), Some(1.0), "{stored}");
    for wrong in ["0.0", "-1.0", "nan", "inf"] {
        assert!(reason(&text.replace(line, &format!("overhead = {wrong}"))).contains("overhead"));
    }
}
