//! Where outputs go that are no new regular files: stdout, pipes, devices, links, files with modes.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::*;

fn is_device(path: &Path) -> bool {
    fs::symlink_metadata(path).expect("there").file_type().is_char_device()
}

/// A character device like `/dev/NAME`, of the folder's own where this user may make one: a test that fails
/// must not replace the system's.
fn device(desk: &Desk, name: &str, minor: &str) -> String {
    let path = desk.path(name);
    let made = Command::new("mknod")
        .arg(&path)
        .args(["c", "1", minor])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if made && fs::OpenOptions::new().write(true).open(&path).is_ok() {
        return name.to_owned();
    }
    let _ = fs::remove_file(&path);
    format!("/dev/{name}")
}

fn decrypts(desk: &Desk, input: &str) {
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input {input} --output back.npy"));
    assert_close(&read_npy(&desk.get("back.npy")).1, &ramp(20), 1e-6);
}

#[test]
fn stdout_gets_the_file_and_stderr_the_report() {
    let desk = Desk::furnished();
    let encrypt = format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output");
    for output in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        // A pipe, and a file in which something is already.
        let piped = desk.command(&format!("{encrypt} {output}")).output().expect("runs");
        assert!(
            piped.status.success() && String::from_utf8_lossy(&piped.stderr).contains(output),
            "{output}: {piped:?}"
        );
        desk.put("piped.clt", &piped.stdout);
        decrypts(&desk, "piped.clt");
        desk.put("appended.clt", b"before");
        let file = fs::OpenOptions::new().append(true).open(desk.path("appended.clt")).expect("open");
        let status =
            desk.command(&format!("{encrypt} {output} --quiet")).stdout(file).status().expect("runs");
        let appended = desk.get("appended.clt");
        assert!(status.success() && appended.starts_with(b"before"));
        desk.put("appended.clt", &appended[6..]);
        decrypts(&desk, "appended.clt");
    }
    let run = desk.command(&format!("{encrypt} /dev/stdout --json")).output().expect("runs");
    desk.put("json.clt", &run.stdout);
    decrypts(&desk, "json.clt");
    let report: Value = serde_json::from_slice(&run.stderr).expect("one JSON document on stderr");
    assert_eq!(report["bytes"], run.stdout.len());
    // Arrays and keys as well.
    let run = desk
        .command(&format!("decrypt --params {PARAMS} --secret sk.clt --input ct.clt --output /dev/stdout"))
        .output()
        .expect("runs");
    assert_close(&read_npy(&run.stdout).1, &ramp(20), 1e-6);
    let run = desk
        .command(&format!("keygen --params {PARAMS} --secret sk.clt --existing --public /dev/stdout"))
        .output()
        .expect("runs");
    desk.put("pk2.clt", &run.stdout);
    desk.ok(&format!("encrypt --params {PARAMS} --key pk2.clt --input x.npy --output ct2.clt"));
    decrypts(&desk, "ct2.clt");
    // What goes to a file leaves stdout to the report.
    let run = desk.ok(&format!("{encrypt} ct3.clt"));
    assert!(
        run.stdout.contains("ct3.clt") && run.stderr.lines().all(|line| line.starts_with("warning")),
        "{}",
        run.stderr
    );
    assert!(desk.listing().iter().all(|(name, _)| !name.contains("partial")));
}

#[test]
fn pipes_and_devices_stay_what_they_are() {
    let desk = Desk::furnished();
    let lines = [
        format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output"),
        format!("decrypt --params {PARAMS} --secret sk.clt --input ct.clt --output"),
        format!("params save {PARAMS} --output"),
        format!("keygen --params {PARAMS} --secret sk.clt --existing --public"),
    ];
    let (null, full) = (device(&desk, "null", "3"), device(&desk, "full", "7"));
    for line in &lines {
        desk.ok(&format!("{line} {null}"));
        assert!(is_device(&desk.path(&null)));
        let text = desk.refuses(&format!("{line} {full}"), 13, "io");
        assert!(text.contains("No space left on device") && text.contains(&full), "{text}");
        assert!(is_device(&desk.path(&full)));
    }
    desk.refuses(
        &format!(
            "keygen --params {PARAMS} --secret new.clt --public {full} --evaluation keys.clt --rotations 1"
        ),
        13,
        "io",
    );
    // Where nothing belongs to a new secret key yet, it goes; else the error says where it is.
    let run = desk.run(&format!(
        "keygen --params {PARAMS} --secret new.clt --public {null} --evaluation {full} --rotations 1"
    ));
    assert_eq!(run.code, 13, "{}", run.stderr);
    assert!(
        run.stderr.contains("The new secret key is in")
            && run.stderr.contains("new.clt: make its other keys with --existing"),
        "{}",
        run.stderr
    );
    desk.ok(&format!("keygen --params {PARAMS} --secret new.clt --existing --public {null} --evaluation keys.clt --rotations 1"));
    let run = desk.run(&format!("keygen --params {PARAMS} --secret new.clt --force --public {full}"));
    assert!(run.code == 13 && run.stderr.contains("make its other keys with --existing"), "{}", run.stderr);
    desk.ok(&format!("keygen --params {PARAMS} --secret new.clt --existing --public new-public.clt"));
    assert!(Command::new("mkfifo").arg(desk.path("pipe")).status().expect("mkfifo").success());
    for (line, file) in lines.iter().zip(["a.clt", "a.npy", "p.clt", "pk.clt"]) {
        let path = desk.path("pipe");
        let reader = std::thread::spawn(move || fs::read(path).expect("read"));
        desk.ok(&format!("{line} pipe"));
        desk.put(file, &reader.join().expect("reader"));
        assert!(fs::symlink_metadata(desk.path("pipe")).expect("there").file_type().is_fifo());
    }
    decrypts(&desk, "a.clt");
    assert_close(&read_npy(&desk.get("a.npy")).1, &ramp(20), 1e-6);
    desk.ok("inspect p.clt --quiet");
    desk.ok("inspect pk.clt --quiet");
}

#[test]
fn links_and_modes_of_arrays_and_ciphertexts_are_kept() {
    let desk = Desk::furnished();
    for (line, file) in [
        (format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output link"), "a.clt"),
        (format!("decrypt --params {PARAMS} --secret sk.clt --input ct.clt --output link"), "a.npy"),
    ] {
        symlink(file, desk.path("link")).expect("link");
        desk.ok(&line);
        fs::set_permissions(desk.path(file), fs::Permissions::from_mode(0o604)).expect("mode");
        desk.ok(&line);
        let about = fs::symlink_metadata(desk.path(file)).expect("there");
        assert!(about.is_file() && about.permissions().mode() & 0o7777 == 0o604, "{file}");
        assert!(fs::symlink_metadata(desk.path("link")).expect("there").is_symlink());
        fs::remove_file(desk.path("link")).expect("remove");
    }
    decrypts(&desk, "a.clt");
    symlink("loop", desk.path("loop")).expect("link");
    desk.refuses(&format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output loop"), 13, "io");
    desk.refuses(
        &format!("decrypt --params {PARAMS} --secret sk.clt --input ct.clt --output loop"),
        13,
        "io",
    );
    symlink("sk.clt", desk.path("alias")).expect("link");
    desk.refuses(
        &format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output alias"),
        17,
        "exists",
    );
}

#[test]
fn file_that_shrinks_while_it_is_read_ends_no_command_by_a_signal() {
    let desk = Desk::furnished();
    let good = desk.get("evk.clt");
    desk.put("moving.clt", &good);
    let (path, length) = (desk.path("moving.clt"), good.len() as u64);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                round += 1;
                let file = fs::OpenOptions::new().write(true).open(&path).expect("open");
                file.set_len(round * 7919 % length).expect("shorten");
                std::thread::sleep(std::time::Duration::from_millis(round % 7));
                fs::write(&path, &good).expect("write");
                std::thread::sleep(std::time::Duration::from_millis(round % 5));
            }
        });
        for _ in 0..60 {
            // A code at all: a signal has none.
            let code = desk.command("inspect moving.clt").output().expect("runs").status.code();
            assert!(matches!(code, Some(0 | 12 | 13)), "{code:?}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn other_parameters_and_files_are_told_by_name() {
    let desk = Desk::furnished();
    let text = desk.refuses(
        "decrypt --params insecure_tiny --secret sk.clt --input ct.clt --output out.npy",
        10,
        "wrong-params",
    );
    assert!(
        text.contains(&format!("sk.clt: the file was made for parameters \"{PARAMS}\" (digest ")),
        "{text}"
    );
    assert!(text.contains("these are \"insecure_tiny\" (digest "), "{text}");
    assert!(desk.ok("inspect ct.clt").stdout.contains(&format!("  parameters \"{PARAMS}\" (digest ")));
    assert_eq!(desk.run("inspect ct.clt --json").json()["parameters"], PARAMS);
}
