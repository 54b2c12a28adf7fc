//! Ranks on the command line: what a set can move to, and keys for it.

use crate::support::*;

const DPAD: &str = "insecure_dpad";

#[test]
fn show_tells_temporary_rank_and_the_shapes_to_move_to() {
    let desk = Desk::new();
    let text = desk.ok(&format!("params show {DPAD}")).stdout;
    for told in
        ["temporary  rank 5", "mu = 5 digits", "reduces to 256x2", "converts to 1024x1", "128 messages each"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    let shown = desk.run(&format!("params show {DPAD} --json")).json();
    assert_eq!(shown["explanation"]["temporary"]["rank"], 5);
    assert_eq!(shown["explanation"]["size_of_rlwe"], 0.625);
    assert!(desk.ok(&format!("params show {DPAD} --plan")).stdout.contains("temporary rank"));
    assert!(!desk.ok("params show insecure_tiny").stdout.contains("temporary"));
}

#[test]
fn keygen_makes_keys_at_every_shape_of_a_way() {
    let desk = Desk::new();
    let line = format!("keygen --params {DPAD} --secret sk.clt --evaluation evk.clt --json");
    let made =
        desk.run(&format!("{line} --relinearise --power-rotations --ranks 2,1 --to-rlwe --quiet")).json();
    assert_eq!(made["shapes"], serde_json::json!(["256x4", "1024x1", "512x1", "256x2", "256x1"]));
    let more = desk.run(&format!("{line} --existing --ranks 3 --single-steps --quiet")).json();
    // The reduction's key is one of the rank above; no other key was asked for.
    assert_eq!(more["shapes"], serde_json::json!(["256x4"]));
    let keys = desk.run("inspect evk.clt --json").json()["metadata"]["keys"].clone();
    let names: Vec<&str> =
        keys.as_array().expect("list").iter().filter_map(|key| key["name"].as_str()).collect();
    assert_eq!(names, ["reduce-rank 3"]);
}

#[test]
fn ways_that_cannot_be_are_refused_with_the_remedy() {
    let desk = Desk::new();
    let line = format!("keygen --params {DPAD} --secret sk.clt --evaluation evk.clt");
    assert!(desk.refuses(&format!("{line} --ranks 3"), 3, "params").contains("single_steps"));
    desk.refuses(&format!("{line} --ranks 0"), 3, "params");
    desk.refuses(&format!("{line} --ranks 1,2"), 3, "params");
    desk.refuses(&format!("{line} --ranks two"), 2, "usage");
    desk.refuses(&format!("{line} --relinearise --single-steps"), 2, "usage");
    desk.refuses(
        "keygen --params insecure_tiny --secret sk.clt --evaluation evk.clt --power-rotations",
        3,
        "params",
    );
    desk.refuses(&format!("keygen --params {DPAD} --secret sk.clt --to-rlwe"), 2, "usage");
    assert!(!desk.path("sk.clt").exists(), "nothing is written where keys are refused");
}
