//! Switching plans and the machine's profile: measured, stored, shown, and told where it does not serve.

use std::fs;

use serde_json::Value;

use crate::support::*;

const PROFILE: &str = "profile/profile.toml";

#[test]
fn tune_dry_run_prints_and_stores_nothing() {
    let desk = Desk::new();
    let run = desk.ok("tune --dry-run");
    assert!(
        run.stdout.contains("65536") && run.stdout.contains("GB/s") && run.stdout.contains("nothing written"),
        "{}",
        run.stdout
    );
    assert!(!desk.path("profile").exists());
    let result = desk.run("tune --dry-run --json").json();
    assert_eq!(result["output"], Value::Null);
    assert!(result["profile"]["kernels"].as_array().expect("list").len() >= 5);
    assert!(!desk.path("profile").exists());
}

#[test]
fn tune_stores_what_plans_and_doctor_then_go_by() {
    let desk = Desk::new();
    assert_eq!(desk.run("doctor --json").json()["profile"]["state"], "absent");
    let before = desk.run("params show n14 --plan --json").json();
    assert_eq!(before["plan"]["origin"], "built-in");
    let run = desk.ok("tune");
    assert!(run.stdout.contains(PROFILE), "{}", run.stdout);
    let doctor = desk.run("doctor --json").json();
    assert_eq!(doctor["profile"]["state"], "ready");
    assert!(doctor["profile"]["path"].as_str().expect("path").ends_with(PROFILE));
    assert!(desk.ok("doctor").stdout.contains(PROFILE));
    let after = desk.run("params show n14 --plan --json").json();
    assert_eq!(after["plan"]["origin"], "measured");
    let rows = after["plan"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 8);
    assert!(rows.iter().all(|row| row["milliseconds"].as_f64().expect("number") > 0.0
        && row["read_bytes"].as_u64().expect("number") > 0));
    let text = desk.ok("params show n14 --plan").stdout;
    assert!(text.contains(PROFILE) && text.contains("MiB as made"), "{text}");
    // Other kernels: the profile is not theirs.
    let output = desk.command("doctor --json").env("CLATHRATE_ISA", "scalar").output().expect("runs");
    let expected = if doctor["chosen"] == "scalar" { "ready" } else { "foreign" };
    assert_eq!(Run::of(&output).json()["profile"]["state"], expected);
}

#[test]
fn broken_profiles_are_told_and_stop_nothing() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("profile")).expect("folder");
    for text in [&b""[..], b"\xff\xff", b"not [ toml", b"source = 'me'"] {
        desk.put(PROFILE, text);
        let doctor = desk.run("doctor --json").json();
        assert_eq!(
            (&doctor["profile"]["state"], &doctor["ok"]),
            (&Value::from("broken"), &Value::from(true))
        );
        for told in [desk.ok("doctor").stdout, desk.ok("params show n14 --plan").stdout] {
            assert!(told.contains(PROFILE) && told.contains("clathrate tune"), "{told}");
        }
        desk.ok("params show insecure_tiny");
    }
    desk.ok("tune");
    assert_eq!(desk.run("doctor --json").json()["profile"]["state"], "ready");
}

#[test]
fn tune_that_cannot_write_is_an_io_error_with_the_path() {
    let desk = Desk::new();
    desk.put("profile", b"a file");
    let run = desk.run("tune --json");
    assert_eq!((run.code, run.stdout.as_str()), (13, ""), "{}", run.stderr);
    let error: Value = serde_json::from_str(&run.stderr).expect("one JSON object");
    assert!(error["message"].as_str().expect("text").contains(PROFILE));
}

#[test]
fn profile_none_is_neither_read_nor_stored() {
    let desk = Desk::new();
    desk.ok("tune");
    let with_none =
        |line: &str| Run::of(&desk.command(line).env("CLATHRATE_PROFILE", "none").output().expect("runs"));
    let doctor = with_none("doctor --json").json();
    assert_eq!(
        (&doctor["profile"]["state"], &doctor["profile"]["path"]),
        (&Value::from("off"), &Value::Null)
    );
    assert_eq!(with_none("params show n14 --plan --json").json()["plan"]["origin"], "built-in");
    let refused = with_none("tune");
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""), "{}", refused.stderr);
    assert!(refused.stderr.contains("CLATHRATE_PROFILE is `none`"), "{}", refused.stderr);
    assert_eq!(with_none("tune --dry-run").code, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn profile_is_in_the_cache_directory_unless_told_otherwise() {
    let desk = Desk::new();
    let mut command = desk.command("tune --json");
    let tuned = Run::of(
        &command
            .env_remove("CLATHRATE_PROFILE")
            .env("XDG_CACHE_HOME", desk.path("cache"))
            .output()
            .expect("runs"),
    )
    .json();
    assert_eq!(tuned["output"], Value::from(desk.path("cache/clathrate/profile.toml").to_string_lossy()));
    assert!(desk.path("cache/clathrate/profile.toml").is_file() && !desk.path(PROFILE).exists());
}

#[test]
fn plans_of_parameters_without_special_primes_are_refused() {
    let desk = Desk::new();
    desk.put(
        "bare.toml",
        b"name = 'bare'\ndegree = 64\nlog2_scale = 40\nsteps = [[30, 30], [40]]\ninsecure = true\n",
    );
    let run = desk.run("params show bare.toml --allow-insecure --plan");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("special primes"));
    desk.ok("params show bare.toml --allow-insecure");
}
