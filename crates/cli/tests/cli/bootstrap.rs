//! Bootstraps on the command line: keys, the array at a high level, refusals.

use serde_json::json;

use crate::support::*;

const BOOT: &str = "insecure_boot";

#[test]
fn arrays_are_bootstrapped_between_encryption_and_decryption() {
    let desk = Desk::new();
    let x: Vec<f64> = ramp(16);
    desk.put("x.npy", &npy_f64(&[16], &x));
    let made = desk
        .ok(&format!("keygen --params {BOOT} --secret sk.clt --evaluation keys.clt --bootstrap 16"))
        .stdout;
    assert!(made.contains("keys.clt"), "{made}");
    desk.ok(&format!(
        "encrypt --params {BOOT} --key sk.clt --input x.npy --output low.clt --encoding slots --level 3"
    ));
    let line = format!("bootstrap --params {BOOT} --evaluation keys.clt --input low.clt --output fresh.clt");
    let said = desk.ok(&format!("{line} --explain")).stdout;
    assert!(
        said.starts_with(
            "bootstrap of 16 real slots under \"insecure_boot\", 1 round, by transforms of 512 slots"
        ) && said.contains("modular reduction"),
        "{said}"
    );
    let document = desk.run(&format!("{line} --json")).json();
    assert_eq!((&document["level"], &document["shape"]), (&json!(6), &json!([16])));
    assert!(document["log2_failure"].as_f64().expect("a number") < -128.0);
    desk.ok(&format!("decrypt --params {BOOT} --secret sk.clt --input fresh.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &x, 1e-4);
    // A second round takes a level and no other key.
    let document = desk.run(&format!("{line} --rounds 2 --json")).json();
    assert_eq!(&document["level"], &json!(5));
    desk.ok(&format!("decrypt --params {BOOT} --secret sk.clt --input fresh.clt --output z.npy"));
    assert_close(&read_npy(&desk.get("z.npy")).1, &x, 1e-9);
    // About half of the bytes of keys, for arrays in all slots.
    let (most, x) = (16_000_000, ramp(512));
    desk.put("x.npy", &npy_f64(&[512], &x));
    desk.ok(&format!(
        "keygen --params {BOOT} --secret s2.clt --evaluation few.clt --bootstrap --key-bytes {most}"
    ));
    assert!(desk.get("few.clt").len() < most);
    desk.ok(&format!(
        "encrypt --params {BOOT} --key s2.clt --input x.npy --output low.clt --encoding slots --level 3"
    ));
    let line = format!("bootstrap --params {BOOT} --evaluation few.clt --input low.clt --output fresh.clt");
    assert!(desk.run(&line).stderr.contains("that the key set does not have"));
    desk.ok(&format!("{line} --key-bytes {most}"));
    desk.ok(&format!("decrypt --params {BOOT} --secret s2.clt --input fresh.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &x, 1e-4);
    let few = desk.run(&format!(
        "keygen --params {BOOT} --secret s3.clt --evaluation k3.clt --bootstrap --key-bytes 1000"
    ));
    assert!(few.code != 0 && few.stderr.contains("allow at least"), "{}", few.stderr);
}

#[test]
fn what_cannot_be_bootstrapped_is_refused_and_leaves_no_file() {
    let desk = Desk::new();
    desk.put("x.npy", &npy_f64(&[16], &ramp(16)));
    desk.ok(&format!("keygen --params {BOOT} --secret sk.clt --evaluation keys.clt --conjugate"));
    desk.ok(&format!(
        "encrypt --params {BOOT} --key sk.clt --input x.npy --output low.clt --encoding slots --level 2"
    ));
    desk.ok(&format!(
        "encrypt --params {BOOT} --key sk.clt --input x.npy --output high.clt --encoding slots --level 3"
    ));
    for (input, told) in
        [("low.clt", "level 3"), ("high.clt", "34 keys, 0.03 GiB, that the key set does not have")]
    {
        let line =
            format!("bootstrap --params {BOOT} --evaluation keys.clt --input {input} --output fresh.clt");
        let failed = desk.run(&line);
        assert!(failed.code != 0 && failed.stderr.contains(told), "{}", failed.stderr);
        assert!(!desk.path("fresh.clt").exists());
    }
    // A megabyte of memory is not enough for the keys.
    let line = format!("keygen --params {BOOT} --secret sk3.clt --evaluation keys3.clt --bootstrap 16");
    let failed =
        Run::of(&desk.command(&line).env("CLATHRATE_MEMORY_LIMIT", "1000000").output().expect("runs"));
    assert!(failed.code != 0 && failed.stderr.contains("GiB are free"), "{}", failed.stderr);
    assert!(!desk.path("keys3.clt").exists() && !desk.path("sk3.clt").exists());
    let other =
        desk.run("keygen --params insecure_small --secret other.clt --evaluation others.clt --bootstrap");
    assert!(other.code != 0 && other.stderr.contains("cannot be bootstrapped"), "{}", other.stderr);
    assert!(!desk.path("other.clt").exists());
}
