//! Transforms against public peers, one thread: `cargo bench -p clathrate-arith --bench ntt` (`QUICK=1` for a
//! short run).
//!
//! Who runs is shuffled by round, so that a noisy neighbour hits all alike; each figure is a median over
//! rounds. The peers' inverse leaves out the factor 1/n, ours includes it. Writes `bench/results/ntt.json`
//! under the workspace root.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Isa, Modulus, NttTable};
use serde_json::{Value, json};

/// One transform under test.
type Transform<'a> = Box<dyn Fn(&mut [u64]) + 'a>;

struct Contender<'a> {
    who: String,
    extra: Value,
    forward: Transform<'a>,
    inverse: Transform<'a>,
}

struct Times {
    milliseconds: Vec<f64>,
}

impl Times {
    fn median(&self) -> f64 {
        self.milliseconds[self.milliseconds.len() / 2]
    }

    fn row(&self, work: &str, params: &str, who: &str, extra: &Value) -> Value {
        json!({
            "work": work, "params": params, "who": who, "median_ms": self.median(), "min_ms": self.milliseconds[0],
            "max_ms": self.milliseconds[self.milliseconds.len() - 1], "runs": self.milliseconds.len(), "extra": extra,
        })
    }
}

/// Interleaved rounds of all `contenders`; each round repeats a transform enough for the clock.
fn measure(contenders: &[Contender], forward: bool, degree: usize, q: u64, rounds: usize) -> Vec<Times> {
    let repeats = ((1 << 17) / degree).max(1);
    let mut times: Vec<Times> =
        contenders.iter().map(|_| Times { milliseconds: Vec::with_capacity(rounds) }).collect();
    let mut row = clathrate_arith::aligned::AlignedWords::zeroed(degree);
    let start: Vec<u64> = (0..degree as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q).collect();
    for round in 0..rounds + 2 {
        for turn in 0..contenders.len() {
            let which = (turn + round) % contenders.len();
            let run = if forward { &contenders[which].forward } else { &contenders[which].inverse };
            row.copy_from_slice(&start);
            run(&mut row);
            let clock = Instant::now();
            for _ in 0..repeats {
                run(black_box(&mut row));
            }
            let elapsed = clock.elapsed().as_secs_f64() * 1e3 / repeats as f64;
            // Two rounds warm up.
            if round >= 2 {
                times[which].milliseconds.push(elapsed);
            }
        }
    }
    for time in &mut times {
        time.milliseconds.sort_by(f64::total_cmp);
    }
    times
}

fn output_of(program: &str, arguments: &[&str]) -> String {
    let run = Command::new(program).args(arguments).output();
    run.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
}

fn cpu_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split(':').nth(1)).unwrap_or("unknown").trim().to_owned()
}

fn main() -> Result<(), Box<dyn Error>> {
    let quick = std::env::var_os("QUICK").is_some();
    let rounds = if quick { 15 } else { 101 };
    let isas = Isa::available();
    let mut rows = Vec::new();
    let mut table = String::from("| transform | n | bits of q |");
    // The fastest kernel of the machine is what users get; the others carry their names.
    let who = |isa: Isa| {
        if isas.last() == Some(&isa) { "clathrate".to_owned() } else { format!("clathrate-{}", isa.name()) }
    };
    let mut heads: Vec<String> = isas.iter().rev().map(|&isa| who(isa)).collect();
    heads.extend(["tfhe-ntt".to_owned(), "concrete-ntt".to_owned()]);
    for head in &heads {
        write!(table, " {head} us |")?;
    }
    writeln!(table, " ours / tfhe-ntt |\n|---|---|---|{}---|", "---|".repeat(heads.len()))?;
    for bits in [40, 45, 50] {
        for log in 12..=16u32 {
            let degree = 1usize << log;
            let q = largest_primes(bits, 1 << 17, 1, &[])?[0];
            let modulus = Modulus::new(q)?;
            let tables = isas
                .iter()
                .rev()
                .map(|&isa| NttTable::new(modulus, degree, isa))
                .collect::<Result<Vec<_>, _>>()?;
            let tfhe = tfhe_ntt::prime64::Plan::try_new(degree, q).ok_or("tfhe-ntt refuses the prime")?;
            let concrete =
                concrete_ntt::prime64::Plan::try_new(degree, q).ok_or("concrete-ntt refuses the prime")?;
            let mut contenders: Vec<Contender> = isas
                .iter()
                .rev()
                .zip(&tables)
                .map(|(&isa, table)| Contender {
                    who: who(isa),
                    extra: json!({"kernel": table.kernel().isa().name(), "log_n": log, "modulus_bits": bits}),
                    forward: Box::new(|x| table.forward(x)),
                    inverse: Box::new(|x| table.inverse(x)),
                })
                .collect();
            contenders.push(Contender {
                who: "tfhe-ntt".into(),
                extra: json!({"version": "0.7.1", "ifma": tfhe.use_ifma(), "log_n": log, "modulus_bits": bits}),
                forward: Box::new(|x| tfhe.fwd(x)),
                inverse: Box::new(|x| tfhe.inv(x)),
            });
            contenders.push(Contender {
                who: "concrete-ntt".into(),
                extra: json!({"version": "0.2", "log_n": log, "modulus_bits": bits}),
                forward: Box::new(|x| concrete.fwd(x)),
                inverse: Box::new(|x| concrete.inv(x)),
            });
            for forward in [true, false] {
                let work = if forward { "ntt forward" } else { "ntt inverse" };
                let times = measure(&contenders, forward, degree, q, rounds);
                let peer = times[contenders.len() - 2].median();
                write!(table, "| {work} | 2^{log} | {bits} |")?;
                for (contender, time) in contenders.iter().zip(&times) {
                    write!(table, " {:.2} |", 1e3 * time.median())?;
                    let mut extra = contender.extra.clone();
                    extra["ratio_to_tfhe_ntt"] = json!(time.median() / peer);
                    rows.push(time.row(
                        work,
                        &format!("n = 2^{log}, {bits}-bit prime"),
                        &contender.who,
                        &extra,
                    ));
                }
                writeln!(table, " {:.2} |", times[0].median() / peer)?;
            }
        }
    }
    println!("{table}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let results = root.join("bench/results");
    std::fs::create_dir_all(&results)?;
    let machine = json!({
        "cpu": cpu_name(), "kernels": isas.iter().map(|isa| isa.name()).collect::<Vec<_>>(), "threads": 1,
        "date": output_of("date", &["-u", "+%Y-%m-%d"]), "commit": output_of("git", &["rev-parse", "--short", "HEAD"]),
    });
    let report = json!({"machine": machine, "rows": rows});
    std::fs::write(results.join("ntt.json"), serde_json::to_string_pretty(&report)? + "\n")?;
    Ok(())
}
