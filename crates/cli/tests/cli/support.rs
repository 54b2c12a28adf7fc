//! A folder, the command run in it, and `.npy` files made and read byte by byte, without the code under test.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

pub const PARAMS: &str = "insecure_matmul";

/// A folder to run the command in.
pub struct Desk {
    folder: TempDir,
}

/// What a run left.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        Self {
            code: output.status.code().expect("not killed"),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The one JSON object on stdout.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.stderr);
        assert_eq!(self.stderr, "", "with --json nothing but the result is said");
        serde_json::from_str(&self.stdout).expect("one JSON document")
    }
}

impl Desk {
    pub fn new() -> Self {
        Self { folder: TempDir::new().expect("folder") }
    }

    /// A folder with a secret key `sk.clt`, a public key `pk.clt`, evaluation keys `evk.clt` and a 4 x 5
    /// matrix `x.npy`, encrypted in `ct.clt`.
    pub fn furnished() -> Self {
        let desk = Self::new();
        desk.ok(&format!(
            "keygen --params {PARAMS} --secret sk.clt --public pk.clt --evaluation evk.clt --relinearise"
        ));
        desk.put("x.npy", &npy_f64(&[4, 5], &ramp(20)));
        desk.ok(&format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output ct.clt"));
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("write");
    }

    pub fn get(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("read")
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clathrate"));
        command.args(line.split_whitespace()).current_dir(self.folder.path()).env_remove("CLATHRATE_ISA");
        // The user's own machine profile has no part in tests.
        command.env("CLATHRATE_PROFILE", self.path("profile/profile.toml"));
        command
    }

    pub fn run(&self, line: &str) -> Run {
        Run::of(&self.command(line).output().expect("runs"))
    }

    /// Runs what must succeed.
    pub fn ok(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.code, 0, "clathrate {line}: {}", run.stderr);
        run
    }

    /// All names in the folder, hidden ones too, with their contents.
    pub fn listing(&self) -> Vec<(String, Vec<u8>)> {
        let mut all: Vec<(String, Vec<u8>)> = fs::read_dir(self.folder.path())
            .expect("folder")
            .map(|entry| {
                let path = entry.expect("entry").path();
                let name = path.file_name().expect("name").to_string_lossy().into_owned();
                (name, if path.is_file() { fs::read(&path).expect("read") } else { Vec::new() })
            })
            .collect();
        all.sort();
        all
    }
}

/// `count` values in [-1, 1], no two near ones equal.
pub fn ramp(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 % 1009) as f64 / 504.0) - 1.0).collect()
}

/// An `.npy` file of format version 1.0.
pub fn npy(dtype: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let axes: String = shape.iter().map(|axis| format!("{axis},")).collect();
    let order = if fortran { "True" } else { "False" };
    npy_with_header(&format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': ({axes}), }}"), data)
}

pub fn npy_with_header(header: &str, data: &[u8]) -> Vec<u8> {
    let mut text = header.to_owned();
    while !(text.len() + 11).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

pub fn npy_f64(shape: &[usize], values: &[f64]) -> Vec<u8> {
    npy("<f8", false, shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

/// Header text and float64 words of an `.npy` file.
pub fn read_npy(bytes: &[u8]) -> (String, Vec<f64>) {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert_eq!(end % 64, 0, "NumPy aligns its data");
    let header = String::from_utf8(bytes[10..end].to_vec()).expect("text");
    assert!(header.contains("'fortran_order': False"), "{header}");
    (header, bytes[end..].as_chunks::<8>().0.iter().map(|word| f64::from_le_bytes(*word)).collect())
}

/// `left` (rows x inner) times `right` (inner x columns).
pub fn product(left: &[f64], right: &[f64], rows: usize, inner: usize, columns: usize) -> Vec<f64> {
    let entry = |i: usize, j: usize| (0..inner).map(|k| left[i * inner + k] * right[k * columns + j]).sum();
    (0..rows * columns).map(|at| entry(at / columns, at % columns)).collect()
}

pub fn assert_close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    let worst = got.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance, "worst error {worst:e} over {tolerance:e}");
}
