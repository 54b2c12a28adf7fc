//! The program, run as its users run it.

use std::process::{Command, Output};

use serde_json::Value;

/// Runs the program with these arguments.
pub fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clathrate-bench"));
    command.args(arguments).env("QUICK", "0").env_remove("CLATHRATE_ISA").output().expect("runs")
}

/// Runs what must be refused as a wrong command line, before any row is printed; gives the message.
pub fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed rows");
    String::from_utf8(output.stderr).expect("text")
}

/// The rows of a command line, its words separated by spaces, that must succeed.
pub fn rows(line: &str) -> Vec<Value> {
    let output = run(&line.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON row"))
        .collect()
}
