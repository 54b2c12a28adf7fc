//! The program as its users run it: which names it refuses, and what its rows look like.

use std::process::{Command, Output};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clathrate-bench"));
    command.args(arguments).env("QUICK", "0").output().expect("runs")
}

/// Runs what must be refused as a wrong command line, before any row is printed; gives the message.
fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed rows");
    String::from_utf8(output.stderr).expect("text")
}

/// The rows of a run that must succeed.
fn rows(arguments: &[&str]) -> Vec<Value> {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text").lines().map(|line| serde_json::from_str(line).expect("a JSON row")).collect()
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn sets_that_are_not_there_are_refused_with_those_there_are() {
    for list in ["n99", "", "ntt,", ",ntt", "ntt,,n14", "ntt, n14", " ntt", "ntt n14", "NTT"] {
        let message = refused(&["--quick", "--set", list]);
        assert!(message.contains("stream, ntt, n14, n15, n16, ranks, keyswitch, dpad"), "\"{list}\": {message}");
    }
    // A shell splits `--set ntt, n14` at the space.
    refused(&["--quick", "--set", "ntt,", "n14"]);
}

#[test]
fn operations_and_parameter_sets_that_are_not_there_are_refused() {
    let message = refused(&["--only", "dance"]);
    assert!(message.contains("\"dance\"") && message.contains("rotate, "), "{message}");
    for set in ["keyswitch", "dpad"] {
        let message = refused(&["--set", set, "--preset", "toy"]);
        assert!(message.contains("\"toy\"") && message.contains("klss_n15") && message.contains("n13-r2"), "{message}");
    }
    let message = refused(&["--set", "keyswitch", "--preset", "VI"]);
    assert!(message.contains("\"VI\" is one of dpad") && message.contains("--set dpad"), "{message}");
}

#[test]
fn a_repeated_set_runs_once() {
    let options = ["--quick", "--quiet", "--only", "ntt_forward", "--set"];
    let of = |sets: &[&'static str]| rows(&[&options[..], sets].concat());
    let params = |rows: &[Value]| rows.iter().map(|row| row["params"].to_string()).collect::<Vec<_>>();
    let once = params(&of(&["ntt"]));
    assert_eq!(once.len(), 5);
    assert_eq!(params(&of(&["ntt,ntt"])), once);
    assert_eq!(params(&of(&["ntt", "--set", "ntt"])), once);
}

#[test]
fn rows_have_the_fields_that_the_tables_read() {
    let rows = rows(&["--quick", "--quiet", "--set", "ntt,n14", "--only", "ntt_forward,add,encrypt"]);
    assert_eq!(rows.len(), 5 + 3);
    for row in &rows {
        assert_eq!(keys(row), ["extra", "max_ms", "median_ms", "min_ms", "params", "runs", "who", "work"]);
        let number = |field: &str| row[field].as_f64().expect("a number");
        assert!(0.0 < number("min_ms") && number("min_ms") <= number("median_ms") && number("median_ms") <= number("max_ms"), "{row}");
        assert!(number("runs") >= 2.0 && row["who"] == "clathrate", "{row}");
        assert!(row["extra"]["max_error"].as_f64().expect("an error") < 1e-4, "{row}");
    }
    let scheme = rows.iter().find(|row| row["work"] == "encrypt").expect("a row");
    let fields = [
        "degree",
        "digits",
        "engine",
        "key_gib",
        "log_q",
        "log_qp",
        "max_error",
        "preset",
        "rank",
        "security_bits",
        "special_primes",
        "version",
    ];
    assert_eq!((keys(&scheme["extra"]), &scheme["params"]), (fields.to_vec(), &Value::from("n14")));
}

#[test]
fn help_lists_every_set() {
    let output = run(&["--help"]);
    let help = String::from_utf8(output.stdout).expect("text");
    for set in ["stream", "ntt", "n14", "n15", "n16", "ranks", "keyswitch", "dpad"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(set)), "{set} in {help}");
    }
}
