//! Exact modular products against one plain FP64 product of the same size, one thread, interleaved; a ratio
//! is the median over the pairs.
//!
//! Writes `bench/results/product.json` at the workspace root and prints a table. `QUICK=1` shortens.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use clathrate_arith::Modulus;
use clathrate_arith::product::{LeftMatrix, multiply_f64, multiply_mod};

const Q45: u64 = (1 << 45) - 55;
const Q58: u64 = (1 << 58) - 27;

/// rows, inner, columns, modulus, log2 of the weights' bound.
const CASES: [(usize, usize, usize, u64, u32); 6] = [
    (1 << 8, 1 << 8, 1 << 8, Q45, 13),
    (1 << 9, 1 << 9, 1 << 9, Q45, 13),
    (1 << 10, 1 << 10, 1 << 10, Q45, 13),
    (1 << 10, 1 << 10, 1 << 12, Q45, 13),
    (1 << 10, 1 << 10, 1 << 10, Q58, 18),
    (1 << 10, 1 << 10, 1 << 10, Q45, 40),
];

struct Times(Vec<f64>);

impl Times {
    fn add(&mut self, run: impl FnOnce()) {
        let start = Instant::now();
        run();
        self.0.push(start.elapsed().as_secs_f64() * 1e3);
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }

    fn median(&self) -> f64 {
        self.sorted()[self.0.len() / 2]
    }

    fn json(&self, params: &str, who: &str, extra: &str) -> String {
        let sorted = self.sorted();
        format!(
            "    {{\"work\": \"matrix product\", \"params\": \"{params}\", \"who\": \"{who}\", \"median_ms\": {:.4}, \"min_ms\": {:.4}, \"max_ms\": {:.4}, \
             \"runs\": {}, \"extra\": {extra}}}",
            self.median(),
            sorted[0],
            sorted[sorted.len() - 1],
            sorted.len(),
        )
    }
}

fn main() {
    let quick = std::env::var("QUICK").is_ok_and(|value| value == "1");
    let budget = Duration::from_millis(if quick { 300 } else { 4000 });
    let mut rows = Vec::new();
    let mut table = String::from(
        "| rows x inner x columns | q, weights | products | plain ms | exact ms | ratio | ratio / products |\n|---|---|---|---|---|---|---|\n",
    );
    for (m, k, n, q, weight_bits) in CASES {
        let mut state = 1u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let bound = 1u64 << weight_bits;
        let weights: Vec<i64> =
            (0..m * k).map(|_| (next() % (2 * bound - 1)) as i64 - bound as i64 + 1).collect();
        let right: Vec<Vec<u64>> = (0..k).map(|_| (0..n).map(|_| next() % q).collect()).collect();
        let modulus = Modulus::new(q).expect("odd");
        let left = LeftMatrix::new(m, k, &weights).expect("within the bounds");
        let plan = left.plan(&modulus);
        let right_rows: Vec<&[u64]> = right.iter().map(Vec::as_slice).collect();
        let mut out = vec![vec![0u64; n]; m];
        let mut out_rows: Vec<&mut [u64]> = out.iter_mut().map(Vec::as_mut_slice).collect();
        let plain_left: Vec<f64> = weights.iter().map(|&w| w as f64).collect();
        let plain_right: Vec<f64> = right.iter().flatten().map(|&u| u as f64).collect();

        let (mut plain, mut exact) = (Times(Vec::new()), Times(Vec::new()));
        let start = Instant::now();
        while plain.0.len() < 5 || start.elapsed() < budget {
            plain.add(|| drop(std::hint::black_box(multiply_f64(m, k, n, &plain_left, &plain_right))));
            exact.add(|| multiply_mod(&mut out_rows, &left, &right_rows, &modulus, 1).expect("fits"));
        }
        let params = format!("{m} x {k} x {n}, {}-bit q, weights of {weight_bits} bits", modulus.bits());
        // Pair by pair, so that a neighbour on the machine slows both sides of a ratio.
        let ratio = Times(exact.0.iter().zip(&plain.0).map(|(e, p)| e / p).collect()).median();
        let gflops = 2e-6 * (m * k * n) as f64 / plain.median();
        rows.push(plain.json(&params, "plain f64 product", &format!("{{\"gflops\": {gflops:.1}}}")));
        let extra = format!(
            "{{\"products\": {}, \"ratio\": {ratio:.3}, \"plan\": \"{}\"}}",
            plan.gemm_count(),
            plan.explain()
        );
        rows.push(exact.json(&params, "clathrate", &extra));
        let _ = writeln!(
            table,
            "| {m} x {k} x {n} | {} bits, 2^{weight_bits} | {} | {:.3} | {:.3} | {ratio:.2} | {:.2} |",
            modulus.bits(),
            plan.gemm_count(),
            plain.median(),
            exact.median(),
            ratio / plan.gemm_count() as f64,
        );
    }
    print!("{table}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("bench/results");
    let json =
        format!("{{\n  \"machine\": {},\n  \"rows\": [\n{}\n  ]\n}}\n", machine(&root), rows.join(",\n"));
    if let Err(error) =
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join("product.json"), json))
    {
        eprintln!("the results could not be written to {}: {error}", folder.display());
        std::process::exit(1);
    }
}

fn machine(root: &Path) -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            text.lines()
                .find(|line| line.starts_with("model name"))
                .and_then(|line| line.split(": ").nth(1))
                .map(str::to_owned)
        })
        .unwrap_or_else(|| "unknown".to_owned());
    let output = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .current_dir(root)
            .output()
            .ok()
            .filter(|output| output.status.success())
            .map_or_else(
                || "unknown".to_owned(),
                |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            )
    };
    format!(
        "{{\"cpu\": \"{cpu}\", \"kernels\": \"{}\", \"threads\": 1, \"date\": \"{}\", \"commit\": \"{}\"}}",
        kernels(),
        output("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]),
        output("git", &["rev-parse", "--short", "HEAD"]),
    )
}

#[cfg(target_arch = "x86_64")]
fn kernels() -> &'static str {
    if is_x86_feature_detected!("avx512dq") {
        "avx512"
    } else if is_x86_feature_detected!("avx2") {
        "avx2"
    } else {
        "portable"
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn kernels() -> &'static str {
    "portable"
}
