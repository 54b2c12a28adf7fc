//! What succeeds: the whole way from parameters to the decrypted product, and what each verb says on it.

use serde_json::Value;

use crate::support::*;

/// Weights are rounded to 24 bits here.
const TOLERANCE: f64 = 1e-5;

#[test]
fn encrypted_product_with_either_key_is_the_clear_one() {
    let desk = Desk::furnished();
    let (w, x) = (ramp(12), ramp(20));
    desk.put("w.npy", &npy_f64(&[3, 4], &w));
    for key in ["sk.clt", "pk.clt"] {
        desk.ok(&format!("encrypt --params {PARAMS} --key {key} --input x.npy --output in.clt"));
        desk.ok(&format!("matmul --params {PARAMS} --weights w.npy --input in.clt --output out.clt"));
        desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input out.clt --output y.npy"));
        let (header, y) = read_npy(&desk.get("y.npy"));
        assert!(header.contains("'descr': '<f8'") && header.contains("(3, 5"), "{header}");
        assert_close(&y, &product(&w, &x, 3, 4, 5), TOLERANCE);
    }
}

#[test]
fn product_not_rescaled_keeps_its_level_and_decrypts_to_the_same() {
    let desk = Desk::furnished();
    desk.put("w.npy", &npy_f64(&[3, 4], &ramp(12)));
    let run = desk.run(&format!(
        "matmul --json --no-rescale --params {PARAMS} --weights w.npy --input ct.clt --output raw.clt"
    ));
    assert_eq!(run.json()["level"], 1);
    let run =
        desk.run(&format!("matmul --json --params {PARAMS} --weights w.npy --input ct.clt --output out.clt"));
    assert_eq!(run.json()["level"], 0);
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input raw.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &product(&ramp(12), &ramp(20), 3, 4, 5), TOLERANCE);
}

#[test]
fn product_with_integers_takes_no_level_and_works_at_level_0() {
    let desk = Desk::furnished();
    let w = [2.0, -1.0, 0.0, 3.0, 1.0, 1.0, -4.0, 0.0];
    let integers: Vec<u8> = w.iter().flat_map(|&v| (v as i16).to_le_bytes()).collect();
    desk.put("w.npy", &npy("<i2", false, &[2, 4], &integers));
    desk.put("real.npy", &npy_f64(&[2, 4], &w));
    for level in [1, 0] {
        desk.ok(&format!(
            "encrypt --params {PARAMS} --key sk.clt --input x.npy --output in.clt --level {level}"
        ));
        let line = format!("matmul --json --params {PARAMS} --weights w.npy --input in.clt --output out.clt");
        assert_eq!(desk.run(&line).json()["level"], level);
        desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input out.clt --output y.npy"));
        assert_close(&read_npy(&desk.get("y.npy")).1, &product(&w, &ramp(20), 2, 4, 5), 1e-6);
    }
    // The same numbers of a real type take a level, which a product that waits for its rescale has.
    desk.ok(&format!(
        "matmul --params {PARAMS} --weights real.npy --input ct.clt --output raw.clt --no-rescale"
    ));
    desk.put("two.npy", &npy("|i1", false, &[1, 2], &[2, 1]));
    let run = desk
        .run(&format!("matmul --json --params {PARAMS} --weights two.npy --input raw.clt --output out.clt"));
    assert_eq!(run.json()["level"], 0);
    let text = desk.refuses(
        &format!("matmul --params {PARAMS} --weights real.npy --input in.clt --output out.clt"),
        8,
        "level",
    );
    assert!(
        text.contains("a product with a real matrix needs level 1")
            && !text.contains("w.npy")
            && !text.contains("real.npy"),
        "{text}"
    );
}

#[test]
fn product_is_the_same_to_the_bit_for_every_number_of_threads() {
    let desk = Desk::furnished();
    desk.put("w.npy", &npy_f64(&[3, 4], &ramp(12)));
    for threads in [1, 2, 5] {
        let line = format!(
            "matmul --params {PARAMS} --weights w.npy --input ct.clt --output out{threads}.clt --threads {threads}"
        );
        desk.ok(&line);
    }
    assert_eq!(desk.get("out1.clt"), desk.get("out2.clt"));
    assert_eq!(desk.get("out1.clt"), desk.get("out5.clt"));
}

#[test]
fn counts_of_bundles_are_singular_for_one() {
    let desk = Desk::furnished();
    for (rows, told) in [(1, ", 1 polynomial bundle\n"), (2, ", 2 polynomial bundles\n")] {
        desk.put("rows.npy", &npy_f64(&[rows, 5], &ramp(5 * rows)));
        let said = desk
            .ok(&format!("encrypt --params {PARAMS} --key sk.clt --input rows.npy --output rows.clt"))
            .stdout;
        assert!(said.ends_with(told), "{said}");
    }
}

#[test]
fn encoding_and_level_are_as_asked_for() {
    let desk = Desk::furnished();
    for (options, encoding, level) in [
        ("", "coefficients", 1),
        ("--encoding slots", "slots", 1),
        ("--encoding coefficients --level 0", "coefficients", 0),
    ] {
        let line =
            format!("encrypt --json --params {PARAMS} --key sk.clt --input x.npy --output in.clt {options}");
        let result = desk.run(&line).json();
        assert_eq!((&result["encoding"], &result["level"]), (&Value::from(encoding), &Value::from(level)));
        desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input in.clt --output y.npy"));
        assert_close(&read_npy(&desk.get("y.npy")).1, &ramp(20), 1e-7);
    }
}

#[test]
fn parameters_are_the_same_by_name_by_specification_and_by_file() {
    let desk = Desk::new();
    let shown = desk.run(&format!("params show {PARAMS} --json")).json();
    let spec = shown["spec"].as_object().expect("spec");
    let toml = format!(
        "name = \"mine\"\ndegree = {}\nsteps = {}\nspecial = {}\nlog2_scale = {}\ninsecure = true\n",
        spec["degree"], spec["steps"], spec["special"], spec["log2_scale"]
    );
    desk.put("mine.toml", toml.as_bytes());
    let saved = desk.run("params save mine.toml --allow-insecure -o params.clt --json").json();
    assert_eq!(saved["digest"], shown["digest"]);
    assert_eq!(desk.run("params show params.clt --allow-insecure --json").json()["digest"], shown["digest"]);
    desk.ok("keygen --params params.clt --allow-insecure --secret sk.clt");
    desk.put("x.npy", &npy_f64(&[2], &[0.5, -0.25]));
    desk.ok("encrypt --params mine.toml --allow-insecure --key sk.clt --input x.npy --output ct.clt");
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input ct.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &[0.5, -0.25], 1e-7);
    // The same degree with another chain is another set.
    desk.put("other.toml", toml.replace("24", "30").as_bytes());
    assert_ne!(desk.run("params show other.toml --allow-insecure --json").json()["digest"], shown["digest"]);
}

#[test]
fn presets_are_listed_and_explained() {
    let desk = Desk::new();
    let list = desk.run("params list --json").json();
    let names: Vec<&str> =
        list["presets"].as_array().expect("list").iter().filter_map(|spec| spec["name"].as_str()).collect();
    assert!(names.contains(&"matmul") && names.contains(&PARAMS), "{names:?}");
    let text = desk.ok("params list").stdout;
    assert_eq!(text.lines().count(), 2 + names.len(), "between a head and a legend");
    let shown = desk.run("params show matmul --json").json();
    assert_eq!(shown["insecure"], false);
    assert!(shown["explanation"]["security_bits"].as_f64().expect("number") >= 128.0);
    assert!(desk.ok("params show matmul").stdout.contains("degree 8192"));
    assert_eq!(desk.run(&format!("params show {PARAMS} --json")).json()["insecure"], true);
}

#[test]
fn evaluation_keys_are_exactly_those_asked_for() {
    let desk = Desk::new();
    let line = format!(
        "keygen --json --params {PARAMS} --secret sk.clt --evaluation evk.clt --relinearise --rotations -4,1 --rotations 2 --conjugate --level 0"
    );
    let result = desk.run(&line).json();
    assert_eq!(result["rotation_steps"], serde_json::json!([1, 2, 124]));
    let metadata = desk.run("inspect evk.clt --json").json()["metadata"]["keys"].clone();
    let keys = metadata.as_array().expect("list");
    assert!(keys.iter().all(|key| key["level"] == 0 && key["shape"] == "256x1"), "{keys:?}");
    let names: Vec<&str> = keys.iter().filter_map(|key| key["name"].as_str()).collect();
    // Rotations by 1, 2 and -4, and conjugation.
    assert_eq!(
        names,
        ["relinearise", "automorphism 5", "automorphism 25", "automorphism 145", "automorphism 511"]
    );
}

#[test]
fn further_keys_of_an_existing_secret_leave_it_alone_and_fit_it() {
    let desk = Desk::new();
    let first = desk.run(&format!("keygen --json --params {PARAMS} --secret sk.clt")).json();
    let secret = desk.get("sk.clt");
    let more = desk
        .run(&format!("keygen --json --params {PARAMS} --secret sk.clt --existing --public pk.clt"))
        .json();
    assert_eq!(more["key_id"], first["key_id"]);
    assert_eq!(desk.get("sk.clt"), secret);
    desk.put("x.npy", &npy_f64(&[3], &[1.0, 2.0, 3.0]));
    desk.ok(&format!("encrypt --params {PARAMS} --key pk.clt --input x.npy --output ct.clt"));
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input ct.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &[1.0, 2.0, 3.0], 1e-6);
}

#[test]
fn forced_keygen_replaces_the_secret() {
    let desk = Desk::new();
    desk.ok(&format!("keygen --params {PARAMS} --secret sk.clt"));
    let before = desk.get("sk.clt");
    desk.ok(&format!("keygen --params {PARAMS} --secret sk.clt --force"));
    assert_ne!(desk.get("sk.clt"), before);
}

#[test]
fn inspect_tells_the_kind_and_checks_each_file_without_parameters() {
    let desk = Desk::furnished();
    desk.ok(&format!("params save {PARAMS} -o params.clt"));
    let kinds = [
        ("params.clt", "params"),
        ("sk.clt", "secret-key"),
        ("pk.clt", "public-key"),
        ("evk.clt", "evaluation-keys"),
        ("ct.clt", "ciphertext"),
    ];
    let digest = desk.run(&format!("params show {PARAMS} --json")).json()["digest"].clone();
    for (file, kind) in kinds {
        let result = desk.run(&format!("inspect {file} --json")).json();
        assert_eq!(result["kind"], kind);
        assert_eq!(result["parameter_digest"], digest);
        assert_eq!((&result["insecure"], &result["intact"]), (&Value::Bool(true), &Value::Bool(true)));
        assert_eq!(result["format_version"], 1);
        assert_eq!(result["bytes"], desk.get(file).len());
        let text = desk.ok(&format!("inspect {file}")).stdout;
        assert!(text.contains("insecure") && text.contains("intact"), "{text}");
    }
    let metadata = desk.run("inspect ct.clt --json").json()["metadata"].clone();
    assert_eq!((&metadata["shape"], &metadata["level"]), (&serde_json::json!([4, 5]), &Value::from(1)));
}

#[test]
fn inspect_shows_which_section_is_damaged_and_fails() {
    let desk = Desk::furnished();
    let mut bytes = desk.get("ct.clt");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    desk.put("bad.clt", &bytes);
    let run = desk.run("inspect bad.clt --json");
    assert_eq!(run.code, 12);
    let report: Value = serde_json::from_str(&run.stdout).expect("report");
    assert_eq!(report["intact"], false);
    let sections = report["sections"].as_array().expect("list");
    let damaged: Vec<_> = sections.iter().filter(|section| section["intact"] == false).collect();
    assert_eq!((damaged.len(), &damaged[0]["name"]), (1, &Value::from("bodies")));
    let error: Value = serde_json::from_str(&run.stderr).expect("error");
    assert_eq!((&error["error"], &error["exit"]), (&Value::from("file"), &Value::from(12)));
}

#[test]
fn doctor_reports_kernels_and_passes_its_tests() {
    let desk = Desk::new();
    let result = desk.run("doctor --json").json();
    assert_eq!(result["ok"], true);
    assert!(result["self_tests"].as_array().expect("list").len() >= 4);
    let kernels: Vec<&str> =
        result["kernels"].as_array().expect("list").iter().filter_map(Value::as_str).collect();
    assert_eq!(kernels[0], "scalar");
    assert_eq!(result["chosen"].as_str(), kernels.last().copied());
    assert!(desk.ok("doctor").stdout.contains("kernels"));
    for kernel in kernels {
        let output = desk.command("doctor --json").env("CLATHRATE_ISA", kernel).output().expect("runs");
        let result = Run::of(&output).json();
        assert_eq!((&result["chosen"], &result["forced"]), (&Value::from(kernel), &Value::from(kernel)));
    }
    let output = desk.command("doctor --json").env("CLATHRATE_ISA", "abacus").output().expect("runs");
    let run = Run::of(&output);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stdout.is_empty() && run.stderr.contains("abacus"));
}

#[test]
fn quiet_says_nothing_and_json_keeps_stderr_empty() {
    let desk = Desk::new();
    let run = desk.ok(&format!("keygen --quiet --params {PARAMS} --secret sk.clt"));
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    // Without it, insecure parameters are a warning on stderr, never on stdout.
    let run = desk.ok(&format!("keygen --params {PARAMS} --secret other.clt"));
    assert!(run.stderr.contains("warning") && !run.stdout.contains("warning"), "{}", run.stderr);
}

#[test]
fn secret_key_is_readable_by_its_owner_only_and_never_printed() {
    let desk = Desk::furnished();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(desk.path("sk.clt")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // The secret section: one signed byte per coefficient, the only run of 256 such bytes.
    let file = desk.get("sk.clt");
    let ternary =
        |window: &[u8]| window.iter().all(|byte| matches!(byte, 0 | 1 | 255)) && window.contains(&255);
    let start = file.windows(256).step_by(64).position(ternary).expect("secret section") * 64;
    let secret = &file[start..start + 256];
    let checksum = &file[file.len() - 32..];
    let mut said = String::new();
    for line in [
        "inspect sk.clt".to_owned(),
        "inspect sk.clt --json".to_owned(),
        format!("keygen --params {PARAMS} --secret sk.clt --existing --public again.clt"),
        format!("keygen --json --params {PARAMS} --secret sk.clt --existing --public again.clt"),
        format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output again.clt"),
        format!("decrypt --json --params {PARAMS} --secret sk.clt --input ct.clt --output y.npy"),
        // Errors, too.
        format!("decrypt --params {PARAMS} --secret sk.clt --input sk.clt --output y2.npy"),
        "encrypt --params insecure_tiny --key sk.clt --input x.npy --output none.clt".to_owned(),
    ] {
        let run = desk.run(&line);
        said += &(run.stdout + &run.stderr);
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let numbers = |separator: &str| {
        secret[..12].iter().map(|byte| byte.cast_signed().to_string()).collect::<Vec<_>>().join(separator)
    };
    for form in [hex(&secret[..8]), hex(checksum), numbers(","), numbers(", "), numbers(" "), numbers("")] {
        assert!(!said.contains(&form), "{form} was printed");
    }
}
