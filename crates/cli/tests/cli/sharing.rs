//! Results for others: `decrypt --share`, the budget of a key, `compare`, and fingerprints.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::*;

/// Parameters with room for flooding noise, and one array, encrypted twice its scale below the modulus.
fn desk(keygen: &str) -> Desk {
    let desk = Desk::new();
    desk.put(
        "share.toml",
        b"name = \"share_small\"\ndegree = 1024\nsteps = [[40, 40, 40], [34.6, 34.7, 34.7]]\nspecial = [48, 48]\nlog2_scale = 104\ninsecure = true\n",
    );
    desk.ok(&format!("keygen --params share.toml --allow-insecure --secret sk.clt {keygen}"));
    desk.put("x.npy", &npy_f64(&[20], &ramp(20)));
    desk.ok("encrypt --params share.toml --allow-insecure --key sk.clt --input x.npy --output x.clt");
    desk.ok("add --params share.toml --allow-insecure --input x.clt --with x.clt --output y.clt");
    desk
}

const SHARE: &str =
    "decrypt --params share.toml --allow-insecure --secret sk.clt --input y.clt --output y.npy --share";

#[test]
fn results_are_shared_with_noise_and_the_word_of_the_caller() {
    let desk = desk("");
    let refused = desk.run(&format!("{SHARE} --error-bound 1e-25"));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for words in ["--honest-evaluator", "put into the numbers", "clathrate compare"] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!(!desk.path("y.npy").exists());
    let stated = desk.ok(&format!("{SHARE} --honest-evaluator")).stdout;
    assert!(stated.contains("bits of noise"), "the ciphertext states a bound on its error: {stated}");
    assert_eq!(desk.run(&SHARE.replace("--share", "--honest-evaluator")).code, 2, "nothing is shared");
    let said = desk.ok(&format!("{SHARE} --honest-evaluator --error-bound 1e-25")).stdout;
    for words in [
        "bits of noise",
        "correct bits behind the point",
        "security of 1 shared results",
        "computational",
        "40 statistical bits",
        "nobody counts",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let twice: Vec<f64> = ramp(20).iter().map(|x| 2.0 * x).collect();
    let (_, first) = read_npy(&desk.get("y.npy"));
    assert_close(&first, &twice, 2f64.powi(-8));
    // More results, more statistical bits: more noise; too much is refused.
    let bits =
        |more: &str| desk.ok(&format!("{SHARE} --honest-evaluator --error-bound 1e-25 --json {more}")).json();
    let (one, many) = (bits(""), bits("--queries 1024 --statistical-bits 50"));
    assert_eq!(
        one["shared"]["flood_bits"].as_u64().expect("bits") + 20,
        many["shared"]["flood_bits"].as_u64().expect("bits")
    );
    assert_eq!(
        (&many["security"]["statistical_bits"], &many["shared"]["queries"]),
        (&50.into(), &1024.into())
    );
    let (_, second) = read_npy(&desk.get("y.npy"));
    assert_ne!(first, second, "fresh noise");
    let refused = desk.run(&format!("{SHARE} --honest-evaluator --error-bound 1e-25 --statistical-bits 90"));
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert!(refused.stderr.contains("correct bits"), "{}", refused.stderr);
    let help = desk.ok("decrypt --help").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["whether decryption failed", "gives a part of the key away", "--honest-evaluator", "compare"]
    {
        assert!(help.contains(words), "{help}");
    }
}

#[test]
fn a_key_with_a_budget_counts_in_its_file_and_refuses_when_it_is_spent() {
    let desk = desk("--share-budget 2");
    let share = format!("{SHARE} --honest-evaluator --error-bound 1e-25");
    // Too much noise is refused before anything is counted; the noise is for all results of the budget.
    assert_ne!(desk.run(&format!("{share} --statistical-bits 90")).code, 0);
    let first = desk.ok(&format!("{share} --json")).json();
    assert_eq!(
        (&first["shares"]["budget"], &first["shares"]["left"], &first["shared"]["queries"]),
        (&2.into(), &1.into(), &2.into())
    );
    assert!(desk.ok(&share).stdout.contains("0 of 2 shared results are left"));
    fs::remove_file(desk.path("y.npy")).expect("removed");
    let refused = desk.run(&share);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert!(refused.stderr.contains("budget of 2 is spent"), "{}", refused.stderr);
    assert!(!desk.path("y.npy").exists());
    desk.ok("decrypt --params share.toml --allow-insecure --secret sk.clt --input y.clt --output own.npy");
    assert!(desk.ok("inspect sk.clt").stdout.contains(r#""shares":{"budget":2,"left":0}"#));
    assert_eq!(desk.run("keygen --params share.toml --allow-insecure --secret sk.clt --existing --public pk.clt --share-budget 9").code, 2);
}

#[test]
fn compare_says_whether_and_where_arrays_differ() {
    let desk = desk("");
    desk.ok("add --params share.toml --allow-insecure --input x.clt --with x.clt --output again.clt");
    let compare = "compare --params share.toml --allow-insecure --input y.clt --with";
    assert!(desk.ok(&format!("{compare} again.clt")).stdout.contains("the same to the last bit"));
    assert_eq!(desk.ok(&format!("{compare} again.clt --json")).json()["same"], true);
    desk.ok("encrypt --params share.toml --allow-insecure --key sk.clt --input x.npy --output fresh.clt");
    desk.ok(
        "encrypt --params share.toml --allow-insecure --key sk.clt --input x.npy --output low.clt --level 0",
    );
    for (other, words) in [
        ("x.clt", "residues of the mask of bundle 0"),
        ("fresh.clt", "residues of the bodies of bundle 0"),
        ("low.clt", "level 1 and 0"),
    ] {
        let run = desk.run(&format!("{compare} {other}"));
        assert_eq!(run.code, 22, "{other}: {}", run.stderr);
        assert!(run.stderr.contains("are different: ") && run.stderr.contains(words), "{}", run.stderr);
        let run = desk.run(&format!("{compare} {other} --json"));
        let error: serde_json::Value = serde_json::from_str(&run.stderr).expect("one JSON document");
        assert_eq!((&error["error"], &error["exit"]), (&"different".into(), &22.into()));
    }
    assert_eq!(desk.run(&format!("{compare} sk.clt")).code, 12, "not a ciphertext");
}

#[test]
fn public_keys_have_a_fingerprint_that_keygen_and_inspect_print() {
    let desk = Desk::new();
    let made = desk.ok(&format!("keygen --params {PARAMS} --secret sk.clt --public pk.clt --json")).json();
    let print = made["fingerprint"].as_str().expect("a fingerprint").to_owned();
    assert_eq!(print.split(' ').map(str::len).collect::<Vec<_>>(), [4; 8]);
    assert!(desk.ok("inspect pk.clt").stdout.contains(&format!("fingerprint {print}")));
    assert_eq!(desk.ok("inspect pk.clt --json").json()["fingerprint"], print.as_str());
    let other =
        desk.ok(&format!("keygen --params {PARAMS} --secret sk.clt --existing --public other.clt")).stdout;
    assert!(other.contains("fingerprint of the public key: ") && !other.contains(&print), "{other}");
    // Other files have none, and a damaged key neither.
    assert!(desk.ok("inspect sk.clt --json").json()["fingerprint"].is_null());
    let mut bytes = desk.get("pk.clt");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    desk.put("damaged.clt", &bytes);
    let run = desk.run("inspect damaged.clt");
    assert!(run.code == 12 && !run.stdout.contains("fingerprint"), "{}", run.stdout);
}

/// A secret key that goes through a pipe gets to no disk: a folder for temporary files that does not exist is
/// not missed.
#[test]
fn secret_keys_go_through_pipes_without_a_temporary_file() {
    let desk = Desk::new();
    let line = format!("keygen --params {PARAMS} --secret - --public pk.clt");
    let through = |temporary: &str, line: &str| {
        desk.command(line).env("TMPDIR", desk.path(temporary)).output().expect("runs")
    };
    let output = through("missing", &line);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    desk.put("sk.clt", &output.stdout);
    desk.put("x.npy", &npy_f64(&[4], &ramp(4)));
    desk.ok(&format!("encrypt --params {PARAMS} --key pk.clt --input x.npy --output x.clt"));
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input x.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &ramp(4), 1e-5);
    // What everybody may read waits there, because it may be larger than memory.
    assert!(
        !through("missing", &format!("encrypt --params {PARAMS} --key pk.clt --input x.npy --output -"))
            .status
            .success()
    );
}

/// The memory of a command that ends by a fault is written to no disk, whatever the shell allows.
#[cfg(target_os = "linux")]
#[test]
fn commands_leave_no_core_dump() {
    let desk = Desk::furnished();
    let waiting =
        desk.command(&format!("decrypt --params {PARAMS} --secret sk.clt --input - --output y.npy"));
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "ulimit -S -c \"$(ulimit -H -c)\"; echo \"$(ulimit -S -c)\" >allowed; exec \"$0\" \"$@\"",
    ]);
    shell
        .arg(waiting.get_program())
        .args(waiting.get_args())
        .current_dir(desk.path(""))
        .stdin(Stdio::piped());
    let mut child = shell.spawn().expect("runs");
    let limits = format!("/proc/{}/limits", child.id());
    let core = || {
        fs::read_to_string(&limits)
            .ok()?
            .lines()
            .find(|line| line.starts_with("Max core file size"))
            .map(str::to_owned)
    };
    let soft = |line: &str| line.split_whitespace().nth(4).map(str::to_owned);
    // It reads its key and then waits for the ciphertext, which never comes.
    let patience = std::time::Instant::now();
    while core().as_deref().and_then(soft).as_deref() != Some("0") {
        assert!(
            patience.elapsed().as_secs() < 60,
            "{:?}, where the shell allows {}",
            core(),
            String::from_utf8_lossy(&desk.get("allowed"))
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("ends").code(), Some(12));
}

#[test]
fn files_that_are_stored_elsewhere_have_a_tag_of_their_contents_and_their_name() {
    let desk = desk("");
    let tag = |file: &str, name: &str| {
        let line = format!(
            "tag --params share.toml --allow-insecure --secret sk.clt --input {file} --name {name} --json"
        );
        desk.ok(&line).json()["tag"].as_str().expect("a tag").to_owned()
    };
    let before = tag("x.clt", "monday");
    assert_eq!(before.len(), 32);
    assert_eq!(before, tag("x.clt", "monday"));
    let said = desk
        .ok("tag --params share.toml --allow-insecure --secret sk.clt --input x.clt --name monday")
        .stdout;
    assert_eq!(said.trim(), before, "for comparisons in a shell");
    assert_ne!(before, tag("x.clt", "tuesday"), "another name");
    assert_ne!(before, tag("y.clt", "monday"), "another file");
    let mut bytes = desk.get("x.clt");
    *bytes.last_mut().expect("bytes") ^= 1;
    desk.put("x.clt", &bytes);
    assert_ne!(before, tag("x.clt", "monday"), "one bit");
    let missing = desk.run("tag --params share.toml --allow-insecure --secret sk.clt --input none.clt");
    assert!(missing.code != 0 && missing.stderr.contains("none.clt"), "{}", missing.stderr);
    desk.ok("keygen --params share.toml --allow-insecure --secret other.clt");
    desk.put("z.clt", b"any bytes");
    let other = desk
        .ok("tag --params share.toml --allow-insecure --secret other.clt --input z.clt --name monday")
        .stdout;
    assert_ne!(other.trim(), tag("z.clt", "monday"), "another key");
}

#[test]
fn noise_is_for_all_results_of_the_budget_even_where_fewer_are_named() {
    let desk = desk("--share-budget 1000");
    let bits = |more: &str| {
        let shared = desk.ok(&format!("{SHARE} --honest-evaluator --error-bound 1e-25 --json {more}")).json();
        (shared["shared"]["flood_bits"].as_u64(), shared["shared"]["queries"].as_u64())
    };
    let whole = bits("");
    assert_eq!(whole.1, Some(1000));
    assert_eq!(bits("--queries 1"), whole);
    assert_eq!(bits("--queries 2000").1, Some(2000));
}
