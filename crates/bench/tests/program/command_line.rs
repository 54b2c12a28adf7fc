//! Which command lines are refused, and what runs without a name given twice.

use crate::support::{refused, rows, run};

#[test]
fn sets_that_are_not_there_are_refused_with_those_there_are() {
    for list in ["n99", "", "ntt,", ",ntt", "ntt,,n14", "ntt, n14", " ntt", "ntt n14", "NTT"] {
        let message = refused(&["--quick", "--set", list]);
        assert!(
            message.contains("stream, ntt, n14, n15, n16, ranks, keyswitch, dpad"),
            "\"{list}\": {message}"
        );
    }
    // A shell splits `--set ntt, n14` at the space.
    let message = refused(&["--quick", "--set", "ntt,", "n14"]);
    assert!(
        message.contains("\"n14\" belongs to no option") && message.contains("stream, ntt, n14"),
        "{message}"
    );
}

#[test]
fn operations_and_parameter_sets_that_are_not_there_are_refused() {
    let message = refused(&["--only", "dance"]);
    assert!(message.contains("\"dance\"") && message.contains("rotate, "), "{message}");
    for set in ["keyswitch", "dpad"] {
        let message = refused(&["--set", set, "--preset", "toy"]);
        assert!(
            message.contains("\"toy\"") && message.contains("klss_n15") && message.contains("n13-r2"),
            "{message}"
        );
    }
    let message = refused(&["--set", "keyswitch", "--preset", "VI"]);
    assert!(message.contains("\"VI\" is one of dpad") && message.contains("--set dpad"), "{message}");
}

#[test]
fn a_repeated_set_runs_once() {
    let params = |sets: &str| -> Vec<String> {
        rows(&format!("--quick --quiet --only ntt_forward {sets}"))
            .iter()
            .map(|row| row["params"].to_string())
            .collect()
    };
    let once = params("--set ntt");
    assert_eq!(once.len(), 5);
    assert_eq!(params("--set ntt,ntt"), once);
    assert_eq!(params("--set ntt --set ntt"), once);
}

#[test]
fn help_lists_every_set() {
    let output = run(&["--help"]);
    let help = String::from_utf8(output.stdout).expect("text");
    for set in ["stream", "ntt", "n14", "n15", "n16", "ranks", "keyswitch", "dpad"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(set)), "{set} in {help}");
    }
}
