//! Files through pipes: `-` as an input and as an output, and pipes by name.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::support::*;

/// Runs `line` with `input` as standard input.
fn fed(desk: &Desk, line: &str, input: &[u8]) -> Output {
    let mut command = desk.command(line);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        // A command that refuses early reads no more.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("ends")
    })
}

fn succeeds(desk: &Desk, line: &str, input: &[u8]) -> Vec<u8> {
    let output = fed(desk, line, input);
    assert!(output.status.success(), "clathrate {line}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(!desk.path("-").exists(), "{line}");
    output.stdout
}

#[test]
fn arrays_and_ciphertexts_go_through_pipes() {
    let desk = Desk::furnished();
    desk.put("w.npy", &npy_f64(&[3, 4], &ramp(12)));
    let (x, ct, w) = (desk.get("x.npy"), desk.get("ct.clt"), desk.get("w.npy"));
    let encrypted =
        succeeds(&desk, &format!("encrypt --params {PARAMS} --key sk.clt --input - --output -"), &x);
    let decrypt = format!("decrypt --params {PARAMS} --secret sk.clt --input - --output -");
    assert_close(&read_npy(&succeeds(&desk, &decrypt, &encrypted)).1, &ramp(20), 1e-6);
    let product = product(&ramp(12), &ramp(20), 3, 4, 5);
    for (line, input) in [
        ("--weights w.npy --input -", &ct),
        ("--weights - --input ct.clt", &w),
        ("--weights w.npy --input /dev/stdin", &ct),
    ] {
        let result = succeeds(&desk, &format!("matmul --params {PARAMS} {line} --output -"), input);
        assert_close(&read_npy(&succeeds(&desk, &decrypt, &result)).1, &product, 1e-5);
    }
    let twice: Vec<f64> = ramp(20).iter().map(|value| 2.0 * value).collect();
    for line in [
        "add --input ct.clt --with -".to_owned(),
        "add --input - --with ct.clt".to_owned(),
        "multiply --input - --number 2".to_owned(),
    ] {
        let result = succeeds(&desk, &format!("{line} --params {PARAMS} --output -"), &ct);
        assert_close(&read_npy(&succeeds(&desk, &decrypt, &result)).1, &twice, 1e-6);
    }
    let result = succeeds(&desk, &format!("add --params {PARAMS} --input ct.clt --plain - --output -"), &x);
    assert_close(&read_npy(&succeeds(&desk, &decrypt, &result)).1, &twice, 1e-6);
    let result =
        succeeds(&desk, &format!("convert --params {PARAMS} --input - --output - --to-level 0"), &ct);
    assert_close(&read_npy(&succeeds(&desk, &decrypt, &result)).1, &ramp(20), 1e-6);
    // Keys and parameters, too, and a report as JSON beside the file.
    let line = format!("encrypt --params {PARAMS} --key - --input x.npy --output - --json");
    let output = fed(&desk, &line, &desk.get("pk.clt"));
    let report: serde_json::Value =
        serde_json::from_slice(&output.stderr).expect("one JSON document on stderr");
    assert_eq!((&report["output"], &report["bytes"]), (&"-".into(), &output.stdout.len().into()));
    assert_close(&read_npy(&succeeds(&desk, &decrypt, &output.stdout)).1, &ramp(20), 1e-6);
    let params = succeeds(&desk, &format!("params save {PARAMS} --output -"), &[]);
    let text = String::from_utf8(succeeds(&desk, "inspect -", &params)).expect("text");
    assert!(text.contains("checksums  header and all sections intact"), "{text}");
    let result =
        succeeds(&desk, "encrypt --params - --allow-insecure --key sk.clt --input x.npy --output -", &params);
    assert_close(&read_npy(&succeeds(&desk, &decrypt, &result)).1, &ramp(20), 1e-6);
}

#[test]
fn named_pipes_are_read() {
    let desk = Desk::furnished();
    assert!(Command::new("mkfifo").arg(desk.path("pipe")).status().expect("mkfifo").success());
    let (path, x) = (desk.path("pipe"), desk.get("x.npy"));
    let writer = std::thread::spawn(move || std::fs::write(path, x).expect("write"));
    desk.ok(&format!("encrypt --params {PARAMS} --key sk.clt --input pipe --output new.clt"));
    writer.join().expect("writer");
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input new.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &ramp(20), 1e-6);
}

#[test]
fn new_keys_go_through_named_pipes() {
    let desk = Desk::furnished();
    assert!(Command::new("mkfifo").arg(desk.path("pipe")).status().expect("mkfifo").success());
    let path = desk.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read(path).expect("read"));
    desk.ok(&format!("keygen --params {PARAMS} --secret pipe"));
    desk.put("piped.clt", &reader.join().expect("reader"));
    desk.ok(&format!("encrypt --params {PARAMS} --key piped.clt --input x.npy --output new.clt"));
    desk.ok(&format!("decrypt --params {PARAMS} --secret piped.clt --input new.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &ramp(20), 1e-6);
}

#[test]
fn streams_that_do_not_end_or_end_early_are_refused() {
    let desk = Desk::furnished();
    let refused = |line: &str, input: &[u8], code: i32, words: &str| {
        let output = fed(&desk, line, input);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}: {text}");
        assert!(text.contains("(stdin)") && text.contains(words), "{line}: {text}");
        assert!(!desk.path("out.clt").exists());
    };
    let (x, ct) = (desk.get("x.npy"), desk.get("ct.clt"));
    let encrypt = format!("encrypt --params {PARAMS} --key sk.clt --input - --output out.clt");
    let add = format!("add --params {PARAMS} --number 1 --input - --output out.clt");
    refused(&encrypt, &x[..x.len() - 1], 16, "needs 160 bytes of data, the file has 159");
    refused(&encrypt, &[&x[..], &[0]].concat(), 16, "goes on after the array");
    refused(&encrypt, &[], 16, "not an .npy file");
    let huge =
        npy_with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (70368744177664,), }", &[0; 64]);
    refused(&encrypt, &huge, 19, "562949953421312 bytes");
    refused(&add, &ct[..ct.len() - 1], 12, "truncated");
    refused(&add, &[&ct[..], &[0]].concat(), 12, "after its end");
    refused(&add, &[], 12, "truncated");
    // A header that states more than there is memory for.
    let mut huge = ct[..128].to_vec();
    let stated = (0..120)
        .find(|&at| huge[at..at + 8] == (ct.len() as u64).to_le_bytes())
        .expect("the header states the length");
    huge[stated..stated + 8].copy_from_slice(&(1u64 << 60).to_le_bytes());
    refused(&add, &huge, 12, "above the limit");
    for line in [&encrypt, &add] {
        let zeros = std::fs::File::open("/dev/zero").expect("there");
        let output = desk.command(line).stdin(zeros).output().expect("ends");
        assert!(matches!(output.status.code(), Some(12 | 16)), "{line}: {output:?}");
    }
}

#[test]
fn one_stream_holds_one_file() {
    let desk = Desk::furnished();
    for line in [
        format!("encrypt --params {PARAMS} --key - --input - --output out.clt"),
        format!("matmul --params {PARAMS} --weights - --input /dev/stdin --output out.clt"),
        format!("add --params {PARAMS} --input - --with - --output out.clt"),
        "decrypt --params - --secret - --input ct.clt --output out.npy".to_owned(),
        format!("keygen --params {PARAMS} --secret - --public /dev/stdout"),
        format!(
            "pack --params {PARAMS} --evaluation evk.clt --from folder --inbox inbox --output - --samples 4"
        ),
    ] {
        desk.refuses(&line, 2, "usage");
    }
}
