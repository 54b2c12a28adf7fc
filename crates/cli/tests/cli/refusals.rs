//! What is refused: each kind of bad input with its exit code, its kind for programs, and nothing written
//! anywhere.

use serde_json::Value;

use crate::support::*;

/// A command line that reads the file of this name.
type CommandLine = &'static dyn Fn(&str) -> String;

impl Desk {
    /// Runs what must fail: with this code and kind, something on stderr, nothing on stdout, and the folder
    /// as it was.
    pub fn refuses(&self, line: &str, code: i32, kind: &str) -> String {
        let before = self.listing();
        let run = self.run(line);
        assert_eq!(run.code, code, "clathrate {line}: {} {}", run.stdout, run.stderr);
        assert!(
            run.stderr.starts_with("error: ") || run.stderr.contains("\nerror: ") || code == 2,
            "{line}: {}",
            run.stderr
        );
        assert_eq!(run.stdout, "", "{line}");
        let programs = self.run(&format!("{line} --json"));
        assert_eq!((programs.code, programs.stdout.as_str()), (code, ""), "{line} --json");
        let error: Value = serde_json::from_str(&programs.stderr).expect("one JSON object");
        assert_eq!((&error["error"], &error["exit"]), (&Value::from(kind), &Value::from(code)), "{line}");
        assert!(!error["message"].as_str().expect("text").is_empty());
        assert!(self.listing() == before, "clathrate {line} changed the folder");
        run.stderr
    }

    fn refuses_encrypt(&self, input: &[u8], code: i32, kind: &str, options: &str) -> String {
        self.put("bad.npy", input);
        self.refuses(
            &format!("encrypt --params {PARAMS} --key sk.clt --input bad.npy --output out.clt {options}"),
            code,
            kind,
        )
    }
}

#[test]
fn numbers_that_cannot_be_encrypted_are_value_errors() {
    let desk = Desk::furnished();
    let text = desk.refuses_encrypt(&npy_f64(&[3], &[1.0, f64::NAN, 2.0]), 5, "value", "");
    assert!(text.contains("nan at index 1") && text.contains("bad.npy"), "{text}");
    desk.refuses_encrypt(&npy_f64(&[2], &[f64::NEG_INFINITY, 0.0]), 5, "value", "");
    desk.refuses_encrypt(&npy_f64(&[2], &[1e30, 0.0]), 5, "value", "");
    desk.refuses_encrypt(&npy_f64(&[2], &[f64::MAX, 0.0]), 5, "value", "--encoding slots");
    desk.refuses_encrypt(&npy_f64(&[0], &[]), 5, "value", "");
    desk.refuses_encrypt(&npy_f64(&[3, 0], &[]), 5, "value", "");
    desk.refuses_encrypt(&npy("<f8", true, &[0, 3], &[]), 5, "value", "");
    desk.refuses_encrypt(&npy_f64(&[2], &[1.0, 2.0]), 8, "level", "--level 2");
}

#[test]
fn arrays_that_are_no_arrays_are_array_errors() {
    let desk = Desk::furnished();
    let good = npy_f64(&[2], &[1.0, 2.0]);
    desk.refuses_encrypt(b"", 16, "array", "");
    desk.refuses_encrypt(b"\x93NUM", 16, "array", "");
    desk.refuses_encrypt(b"1.0, 2.0, 3.0, 4.0\n", 16, "array", "");
    desk.refuses_encrypt(&desk.get("ct.clt"), 16, "array", "");
    let text = desk.refuses_encrypt(&good[..good.len() - 1], 16, "array", "");
    assert!(text.contains("needs 16 bytes") && text.contains("has 15"), "{text}");
    desk.refuses_encrypt(&good[..40], 16, "array", "");
    desk.refuses_encrypt(&[&good[..], b"x"].concat(), 16, "array", "");
    let mut newer = good.clone();
    newer[6] = 9;
    desk.refuses_encrypt(&newer, 16, "array", "");
    desk.refuses_encrypt(&npy_f64(&[1; 7], &[1.0]), 16, "array", "");
    // Version 2 with a header of 4 GiB.
    desk.refuses_encrypt(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 16, "array", "");
    for (dtype, data) in
        [("|O", 8), ("<U4", 16), ("<f16", 16), ("<M8[s]", 8), ("|S3", 3), ("nonsense", 8), ("|b1", 1)]
    {
        // A byte of 7 is no bool.
        desk.refuses_encrypt(&npy(dtype, false, &[1], &vec![7; data]), 16, "array", "");
    }
    for header in [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, 18446744073709551615), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 18446744073709551615, 18446744073709551615), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 3, }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (two,), }",
        "{'descr': '<f8', 'fortran_order': 'maybe', 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "{'shape': (1,), 'descr': '<f8', 'fortran_order': False, 'extra': (((((((((((((((((((((((((((((((((((((((()))))",
        "not a dictionary, shape (1,)",
    ] {
        desk.refuses_encrypt(&npy_with_header(header, &[0; 8]), 16, "array", "");
    }
    let endless = "{'descr': '<f8', 'fortran_order': True, 'shape': (1152921504606846976, 0), }";
    desk.refuses_encrypt(&npy_with_header(endless, &[]), 16, "array", "");
    // Two shapes: the one checked is not the one parsed.
    let header =
        "{'a shape': (1,), 'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }";
    desk.refuses_encrypt(&npy_with_header(header, &[0; 8]), 16, "array", "");
    let header = "{'not shape': (1,), 'descr': '<f8', 'fortran_order': False, 'sh\\x61pe': (4294967296, 4294967296), }";
    desk.refuses_encrypt(&npy_with_header(header, &[0; 8]), 16, "array", "");
}

#[test]
fn files_of_another_kind_or_from_nowhere_are_refused() {
    let desk = Desk::furnished();
    let encrypt = |key: &str| format!("encrypt --params {PARAMS} --key {key} --input x.npy --output out.clt");
    let text = desk.refuses(&encrypt("ct.clt"), 12, "file");
    assert!(text.contains("ct.clt: the file holds ciphertexts"), "{text}");
    desk.refuses(&encrypt("evk.clt"), 12, "file");
    desk.refuses(&encrypt("x.npy"), 12, "file");
    desk.refuses(&encrypt("missing.clt"), 13, "io");
    desk.refuses(&encrypt("."), 13, "io");
    let decrypt = |secret: &str, input: &str| {
        format!("decrypt --params {PARAMS} --secret {secret} --input {input} --output out.npy")
    };
    desk.refuses(&decrypt("pk.clt", "ct.clt"), 12, "file");
    desk.refuses(&decrypt("sk.clt", "evk.clt"), 12, "file");
    desk.refuses(&decrypt("sk.clt", "missing.clt"), 13, "io");
    let matmul = |weights: &str, input: &str| {
        format!("matmul --params {PARAMS} --weights {weights} --input {input} --output out.clt")
    };
    desk.refuses(&matmul("x.npy", "sk.clt"), 12, "file");
    desk.refuses(&matmul("ct.clt", "ct.clt"), 16, "array");
    desk.refuses(&matmul("missing.npy", "ct.clt"), 13, "io");
    desk.refuses("inspect x.npy", 12, "file");
    desk.refuses("inspect missing.clt", 13, "io");
    desk.refuses("params show ct.clt", 12, "file");
}

#[test]
fn damaged_files_of_each_kind_are_refused_wherever_the_damage_is() {
    let desk = Desk::furnished();
    desk.ok(&format!("params save {PARAMS} -o params.clt"));
    let uses: [(&str, CommandLine); 5] = [
        ("params.clt", &|file| format!("params show --allow-insecure {file}")),
        ("sk.clt", &|file| format!("encrypt --params {PARAMS} --key {file} --input x.npy --output out.clt")),
        ("pk.clt", &|file| format!("encrypt --params {PARAMS} --key {file} --input x.npy --output out.clt")),
        ("ct.clt", &|file| {
            format!("decrypt --params {PARAMS} --secret sk.clt --input {file} --output out.npy")
        }),
        ("evk.clt", &|file| format!("inspect {file} --quiet")),
    ];
    for (file, line) in uses {
        let good = desk.get(file);
        // The magic, the kind, flags, digest, lengths, checksum, metadata; the sections; the table.
        for at in [0, 9, 13, 17, 30, 57, 65, 73, 100, 130, good.len() / 2, good.len() - 1] {
            let mut bytes = good.clone();
            bytes[at] ^= 4;
            desk.put("bad.clt", &bytes);
            let run = desk.run(&line("bad.clt"));
            assert_eq!(run.code, 12, "{file} byte {at}: {}", run.stderr);
            assert!(!desk.path("out.clt").exists() && !desk.path("out.npy").exists());
        }
        for bytes in [&good[..0], &good[..100], &good[..good.len() - 64], &[&good[..], &[0; 64]].concat()] {
            desk.put("bad.clt", bytes);
            assert_eq!(desk.run(&line("bad.clt")).code, 12, "{file} cut to {}", bytes.len());
        }
        let mut future = good.clone();
        future[8] = 2;
        desk.put("bad.clt", &future);
        let run = desk.run(&line("bad.clt"));
        assert!(run.code == 12 && run.stderr.contains("format version 2"), "{}", run.stderr);
        let mut absurd = good;
        absurd[56..64].copy_from_slice(&u64::MAX.to_le_bytes());
        desk.put("bad.clt", &absurd);
        assert_eq!(desk.run(&line("bad.clt")).code, 12, "{file} with absurd metadata");
    }
    let left: Vec<String> = desk
        .listing()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.contains("partial") || name.contains("out"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn files_of_other_parameters_or_another_secret_are_told_apart() {
    let desk = Desk::furnished();
    let other = "insecure_tiny";
    desk.refuses(
        &format!("encrypt --params {other} --key sk.clt --input x.npy --output out.clt"),
        10,
        "wrong-params",
    );
    desk.refuses(
        &format!("encrypt --params {other} --key pk.clt --input x.npy --output out.clt"),
        10,
        "wrong-params",
    );
    desk.refuses(
        &format!("decrypt --params {other} --secret sk.clt --input ct.clt --output out.npy"),
        10,
        "wrong-params",
    );
    desk.refuses(
        &format!("matmul --params {other} --weights x.npy --input ct.clt --output out.clt"),
        10,
        "wrong-params",
    );
    desk.refuses(
        &format!("keygen --params {other} --secret sk.clt --existing --public out.clt"),
        10,
        "wrong-params",
    );
    desk.ok(&format!("keygen --params {PARAMS} --secret stranger.clt"));
    let text = desk.refuses(
        &format!("decrypt --params {PARAMS} --secret stranger.clt --input ct.clt --output out.npy"),
        11,
        "wrong-secret",
    );
    assert!(text.contains("ct.clt"), "{text}");
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let desk = Desk::furnished();
    let matmul =
        |input: &str| format!("matmul --params {PARAMS} --weights w.npy --input {input} --output out.clt");
    let refuses = |bytes: &[u8], code: i32, kind: &str| {
        desk.put("w.npy", bytes);
        desk.refuses(&matmul("ct.clt"), code, kind)
    };
    let text = refuses(&npy_f64(&[2, 3], &ramp(6)), 6, "shape");
    assert!(text.contains("[2, 3]") && text.contains("[4, 5]"), "{text}");
    refuses(&npy_f64(&[4], &ramp(4)), 6, "shape");
    refuses(&npy_f64(&[], &[1.0]), 6, "shape");
    refuses(&npy_f64(&[0, 4], &[]), 5, "value");
    refuses(&npy_f64(&[1, 4], &[0.0, f64::NAN, 0.0, 0.0]), 5, "value");
    refuses(&npy_f64(&[1, 4], &[0.0, 1e30, 0.0, 0.0]), 5, "value");
    refuses(&npy("<c16", false, &[1, 4], &[0; 64]), 16, "array");
    desk.put("w.npy", &npy_f64(&[2, 4], &ramp(8)));
    // A level below, and a vector, which has no rows to combine.
    desk.ok(&format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output low.clt --level 0"));
    desk.refuses(&matmul("low.clt"), 8, "level");
    desk.put("v.npy", &npy_f64(&[4], &ramp(4)));
    desk.ok(&format!("encrypt --params {PARAMS} --key sk.clt --input v.npy --output v.clt"));
    desk.refuses(&matmul("v.clt"), 6, "shape");
}

#[test]
fn parameters_that_cannot_be_are_refused() {
    let desk = Desk::new();
    let text = desk.refuses("params show matmull", 3, "params");
    assert!(text.contains("matmul,"), "names those there are: {text}");
    desk.refuses("params show missing.toml", 13, "io");
    desk.refuses("params show missing.clt", 13, "io");
    let spec = |degree: &str, rank: &str, rest: &str| {
        format!(
            "name = 'x'\ndegree = {degree}\nrank = {rank}\nsteps = [[30, 30], [40]]\nspecial = [45]\nlog2_scale = 40\n{rest}\n"
        )
    };
    for (text, code, kind) in [
        (spec("1024", "1", ""), 4, "security"),
        (spec("1000", "1", "insecure = true"), 3, "params"),
        (spec("4", "1", "insecure = true"), 3, "params"),
        (spec("262144", "1", ""), 3, "params"),
        (spec("8192", "0", ""), 3, "params"),
        (spec("8192", "65", ""), 3, "params"),
        (spec("8192", "-1", ""), 3, "params"),
        (spec("8192", "1", "colour = 'blue'"), 3, "params"),
        ("degree = ".to_owned(), 3, "params"),
        (String::new(), 3, "params"),
    ] {
        desk.put("bad.toml", text.as_bytes());
        desk.refuses("params show bad.toml", code, kind);
        desk.refuses("params save bad.toml --output out.clt", code, kind);
        desk.refuses("keygen --params bad.toml --secret out.clt", code, kind);
    }
    desk.put("bad.toml", &[0xff, 0xfe, 0x00]);
    desk.refuses("params show bad.toml", 13, "io");
    // No special primes: nothing can be switched.
    desk.put("short.toml", spec("1024", "1", "insecure = true").replace("[45]", "[]").as_bytes());
    desk.refuses(
        "keygen --params short.toml --allow-insecure --secret sk.clt --evaluation evk.clt --relinearise",
        3,
        "params",
    );
}

#[test]
fn parameter_files_that_protect_nothing_need_the_word_of_the_caller() {
    let desk = Desk::furnished();
    let spec = |name: &str, rest: &str| {
        format!("name = '{name}'\ndegree = 256\nsteps = [[30, 30], [40]]\nspecial = [45]\nlog2_scale = 40\n{rest}\n").into_bytes()
    };
    desk.put("mine.toml", &spec("mine", "insecure = true"));
    desk.ok("params save mine.toml --allow-insecure -o mine.clt");
    for file in ["mine.toml", "mine.clt"] {
        for line in [
            format!("params show {file}"),
            format!("params show {file} --plan"),
            format!("params save {file} -o out.clt"),
            format!("keygen --params {file} --secret out.clt"),
            format!("encrypt --params {file} --key sk.clt --input x.npy --output out.clt"),
            format!("decrypt --params {file} --secret sk.clt --input ct.clt --output out.npy"),
            format!("add --params {file} --input ct.clt --number 1 --output out.clt"),
            format!("bootstrap --params {file} --evaluation evk.clt --input ct.clt --output out.clt"),
            format!("matmul --params {file} --weights x.npy --input ct.clt --output out.clt"),
        ] {
            let text = desk.refuses(&line, 4, "security");
            assert!(text.contains("below 128") && text.contains("--allow-insecure"), "{line}: {text}");
        }
        let run = desk.ok(&format!("keygen --params {file} --allow-insecure --secret {file}.key"));
        assert!(run.stderr.contains("for tests only"), "{}", run.stderr);
    }
    // The word is for security alone: the name of a preset is for its own contents, and tables have their own
    // limit.
    for name in ["n14", "insecure_tiny", "insecure_mine"] {
        desk.put("named.toml", &spec(name, "insecure = true"));
        assert!(
            desk.refuses("params show named.toml --allow-insecure", 3, "params").contains("another name")
        );
    }
    let steps = vec!["[40]"; 200].join(", ");
    desk.put(
        "large.toml",
        format!("name = 'large'\ndegree = 131072\nsteps = [{steps}]\nlog2_scale = 40\ninsecure = true\n")
            .as_bytes(),
    );
    let text = desk.refuses("params show large.toml --allow-insecure", 3, "params");
    let remedy = text
        .split("--table-bytes ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .expect("a number");
    assert!(
        remedy.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().expect("bytes") > 1 << 29,
        "{text}"
    );
    desk.refuses(&format!("params show {PARAMS} --table-bytes 1000"), 3, "params");
}

#[test]
fn secret_keys_are_never_overwritten_unasked() {
    let desk = Desk::furnished();
    desk.refuses(&format!("keygen --params {PARAMS} --secret sk.clt"), 17, "exists");
    let run = desk.run(&format!("keygen --params {PARAMS} --secret x.npy"));
    assert_eq!(run.code, 17);
    assert!(
        run.stderr.contains("x.npy exists: choose another name") && !run.stderr.contains("holds"),
        "{}",
        run.stderr
    );
    desk.refuses(&format!("keygen --params {PARAMS} --secret new.clt --public sk.clt"), 17, "exists");
    desk.refuses(
        &format!("keygen --params {PARAMS} --secret new.clt --force --evaluation sk.clt --relinearise"),
        17,
        "exists",
    );
    desk.refuses(
        &format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output sk.clt"),
        17,
        "exists",
    );
    desk.refuses(
        &format!("decrypt --params {PARAMS} --secret sk.clt --input ct.clt --output sk.clt"),
        17,
        "exists",
    );
    desk.refuses(
        &format!("matmul --params {PARAMS} --weights x.npy --input ct.clt --output sk.clt"),
        17,
        "exists",
    );
    desk.refuses(&format!("params save {PARAMS} --output sk.clt"), 17, "exists");
    // One file under two names.
    std::fs::create_dir(desk.path("folder")).expect("folder");
    std::os::unix::fs::symlink("two.clt", desk.path("alias.clt")).expect("link");
    std::os::unix::fs::symlink("folder", desk.path("other")).expect("link");
    for (secret, public) in [
        ("two.clt", "./two.clt"),
        ("two.clt", "folder/../two.clt"),
        ("two.clt", "alias.clt"),
        ("folder/two.clt", "other/two.clt"),
    ] {
        desk.refuses(&format!("keygen --params {PARAMS} --secret {secret} --public {public}"), 2, "usage");
        desk.refuses(
            &format!("keygen --params {PARAMS} --secret new.clt --public {secret} --evaluation {public} --relinearise"),
            2,
            "usage",
        );
        assert!(
            !desk.path("two.clt").exists()
                && !desk.path("folder/two.clt").exists()
                && !desk.path("new.clt").exists()
        );
    }
    // A damaged one may be the only copy.
    let mut bytes = desk.get("sk.clt");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    desk.put("damaged.clt", &bytes);
    desk.refuses(
        &format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output damaged.clt"),
        17,
        "exists",
    );
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_anything_is() {
    let desk = Desk::furnished();
    std::fs::create_dir(desk.path("folder")).expect("folder");
    for output in ["nowhere/out.clt", "x.npy/out.clt", "folder", "/proc/out.clt"] {
        desk.refuses(
            &format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output {output}"),
            13,
            "io",
        );
        desk.refuses(
            &format!("decrypt --params {PARAMS} --secret sk.clt --input ct.clt --output {output}"),
            13,
            "io",
        );
        desk.refuses(&format!("params save {PARAMS} --output {output}"), 13, "io");
        // The secret key must not appear when the public one cannot.
        desk.refuses(&format!("keygen --params {PARAMS} --secret new.clt --public {output}"), 13, "io");
    }
    let run =
        desk.run(&format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output folder/../out.clt"));
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn command_lines_that_make_no_sense_are_usage_errors() {
    let desk = Desk::new();
    for line in [
        "dance",
        "keygen --secret sk.clt",
        "encrypt --threads 0 --params x --key k --input i --output o",
        "params show",
        "encrypt --params x --key k --input i --output o --encoding letters",
        "encrypt --params x --key k --input i --output o --level -1",
        "bench",
        "bench --set ntt",
    ] {
        desk.refuses(line, 2, "usage");
    }
    let keygen = |rest: &str| format!("keygen --params {PARAMS} --secret sk.clt {rest}");
    desk.refuses(&keygen("--evaluation evk.clt"), 2, "usage");
    desk.refuses(&keygen("--evaluation evk.clt --rotations 0"), 2, "usage");
    desk.refuses(&keygen("--evaluation evk.clt --rotations one"), 2, "usage");
    desk.refuses(&keygen("--relinearise"), 2, "usage");
    desk.refuses(&keygen("--rotations 1"), 2, "usage");
    desk.refuses(&keygen("--level 1"), 2, "usage");
    desk.refuses(&keygen("--public sk.clt"), 2, "usage");
    desk.refuses(&keygen("--existing"), 2, "usage");
    desk.refuses(&keygen("--existing --force --public pk.clt"), 2, "usage");
    desk.refuses(&keygen("--evaluation evk.clt --relinearise --level 2"), 8, "level");
}

#[test]
fn help_and_version_are_no_errors() {
    let desk = Desk::new();
    for line in ["--help", "--version", "encrypt --help", "help matmul"] {
        let run = desk.ok(line);
        assert!(run.stderr.is_empty() && !run.stdout.is_empty(), "{line}");
    }
    let help = desk.ok("--help").stdout;
    assert!(help.contains("Exit codes"));
    // Benchmarks are a program of their own.
    assert!(!help.contains("bench"), "{help}");
}
