//! Times the fused pass of a switch alone, on one thread and on random data: `cargo run --release -p
//! clathrate-arith --example gadget` (`ROUNDS=n` for more runs, `ONLY=part of a name` for some of the sets,
//! `THREADS=n` for more threads).
//!
//! Per set: the best and the median time, the best time on the processor where it runs on one thread (what
//! counts on a busy machine), transforms per millisecond, bytes of factors read per nanosecond, and a
//! checksum of the result, which is the same for every kernel and number of threads.

use std::error::Error;
use std::time::Instant;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{
    BaseConversion, Buffer, CpuEngine, DigitExtension, Engine, FactorGroups, FactorShape, Factors,
    GadgetInput, Isa, Modulus, Rounding, Rows,
};

/// One way to switch: how many primes, how they form digits, and what the digits are extended to.
struct Set {
    name: &'static str,
    log_degree: u32,
    /// Bits and number of the primes, special ones included.
    bits: u32,
    primes: usize,
    /// Primes per digit.
    digit: usize,
    /// Special primes at the end of the basis.
    special: usize,
    /// Bits and number of auxiliary primes, and how many primes of the key go into one of its digits: the
    /// KLSS representation.
    auxiliary: Option<(f64, usize, usize)>,
}

const SETS: [Set; 6] = [
    Set {
        name: "2^16 hybrid r=1",
        log_degree: 16,
        bits: 36,
        primes: 48,
        digit: 1,
        special: 1,
        auxiliary: None,
    },
    Set {
        name: "2^16 hybrid r=4",
        log_degree: 16,
        bits: 36,
        primes: 48,
        digit: 4,
        special: 4,
        auxiliary: None,
    },
    Set {
        name: "2^16 key-dec r=4",
        log_degree: 16,
        bits: 36,
        primes: 48,
        digit: 4,
        special: 4,
        auxiliary: Some((45.9, 9, 7)),
    },
    Set {
        name: "2^16 key-dec r=1",
        log_degree: 16,
        bits: 36,
        primes: 48,
        digit: 1,
        special: 1,
        auxiliary: Some((45.9, 6, 5)),
    },
    Set {
        name: "2^15 hybrid r=3",
        log_degree: 15,
        bits: 36,
        primes: 24,
        digit: 3,
        special: 3,
        auxiliary: None,
    },
    Set {
        name: "2^13 hybrid r=2",
        log_degree: 13,
        bits: 40,
        primes: 6,
        digit: 2,
        special: 2,
        auxiliary: None,
    },
];

struct Random(u64);

impl Random {
    fn below(&mut self, q: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((u128::from(self.0) * u128::from(q)) >> 64) as u64
    }

    fn buffer(&mut self, engine: &CpuEngine, moduli: &[usize]) -> Buffer {
        let mut buffer = engine.scratch(moduli.len());
        for (row, &modulus) in moduli.iter().enumerate() {
            let q = engine.moduli()[modulus].value();
            buffer.row_mut(row).iter_mut().for_each(|word| *word = self.below(q));
        }
        buffer
    }
}

/// Milliseconds that this thread has had a processor; 0 where the system does not tell.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|nanoseconds| nanoseconds.parse().ok())
        .map_or(0.0, |nanoseconds: f64| nanoseconds / 1e6)
}

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn factors(engine: &CpuEngine, moduli: &[usize], shape: FactorShape, random: &mut Random) -> Factors {
    let mut factors = engine.zeroed_factors(shape, moduli);
    // Few different rows: the time does not depend on what the words are.
    let sources: Vec<Buffer> = (0..3).map(|_| random.buffer(engine, moduli)).collect();
    let rows: Vec<usize> = (0..moduli.len()).collect();
    for group in 0..shape.groups {
        let slots: Vec<Vec<Rows<'_>>> =
            (0..shape.slots()).map(|slot| vec![sources[(slot * 7 + group) % 3].view()]).collect();
        engine.pack_factors(&mut factors, group, &slots, &rows);
    }
    factors
}

fn run(set: &Set, rounds: usize, threads: usize) -> Result<(), Box<dyn Error>> {
    let degree = 1usize << set.log_degree;
    let mut primes = largest_primes(set.bits, 2 * degree as u64, set.primes, &[])?;
    if let Some((bits, count, _)) = set.auxiliary {
        let step = 2 * degree as u64;
        let top = bits.exp2() as u64 / step * step + 1;
        primes.extend(
            (0..).map(|i| top - i * step).filter(|&q| clathrate_arith::primes::is_prime(q)).take(count),
        );
    }
    let engine =
        CpuEngine::new(degree, &primes, Isa::detect()?)?.with_threads(CpuEngine::thread_pool(threads)?);
    let moduli: Vec<Modulus> = engine.moduli().to_vec();
    let ciphertext = set.primes - set.special;
    let mut random = Random(7);
    let basis: Vec<usize> = if set.auxiliary.is_some() {
        (set.primes..primes.len()).collect()
    } else {
        (0..set.primes).collect()
    };
    let digits: Vec<DigitExtension> = (0..ciphertext)
        .step_by(set.digit)
        .map(|first| {
            let sources: Vec<usize> = (first..(first + set.digit).min(ciphertext)).collect();
            let constants: Vec<u64> =
                sources.iter().map(|&i| random.below(moduli[i].value() - 1) + 1).collect();
            let targets: Vec<usize> = basis.iter().copied().filter(|i| !sources.contains(i)).collect();
            let conversion = BaseConversion::new(&moduli, &sources, &targets, &constants, Rounding::Centred)
                .ok_or("coprime")?;
            Ok(match set.auxiliary {
                Some(_) => DigitExtension::foreign(first, conversion),
                None => DigitExtension::new(first, constants, conversion, basis.len()),
            })
        })
        .collect::<Result<_, &str>>()?;
    let groups = set.auxiliary.map_or(1, |(_, _, key_digit)| set.primes.div_ceil(key_digit));
    let shape =
        FactorShape { groups, terms: digits.len(), columns: 2, packed: std::env::var_os("PLAIN").is_none() };
    let factors = factors(&engine, &basis, shape, &mut random);
    let coefficients = random.buffer(&engine, &(0..ciphertext).collect::<Vec<_>>());
    let values = random.buffer(&engine, &(0..ciphertext).collect::<Vec<_>>());
    let inputs = [GadgetInput {
        coefficients: coefficients.view(),
        values: set.auxiliary.is_none().then_some(values.view()),
    }];
    let mut out = engine.scratch(2 * groups * basis.len());
    let all_groups: Vec<usize> = (0..groups).collect();
    let rows: Vec<usize> = (0..basis.len()).collect();
    let by = FactorGroups { factors: &factors, groups: &all_groups, rows: &rows, moduli: &basis };
    let mut busy = f64::INFINITY;
    let mut times: Vec<f64> = (0..rounds + 1)
        .map(|_| {
            let (clock, before) = (Instant::now(), processor_time());
            engine.gadget_products(out.view_mut(), &inputs, &digits, by);
            busy = busy.min(processor_time() - before);
            clock.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    // The first run touches memory.
    times.remove(0);
    times.sort_by(f64::total_cmp);
    let own = if set.auxiliary.is_some() { 0 } else { ciphertext };
    let transforms = digits.len() * basis.len() - own;
    let bytes: usize = (0..basis.len()).map(|row| factors.bytes_read(row, groups, digits.len())).sum();
    let checksum = out.host().iter().fold(0u64, |sum, &word| sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word);
    println!(
        "| {} | {:.2} | {:.2} | {busy:.2} | {transforms} | {:.1} | {:.0} | {:.1} | {checksum:016x} |",
        set.name,
        times[0],
        times[times.len() / 2],
        transforms as f64 / busy,
        bytes as f64 / 1e6,
        bytes as f64 / busy / 1e6,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let only = std::env::var("ONLY").unwrap_or_default();
    println!(
        "| set | best ms | median ms | processor ms | transforms | per ms | factors MB | GB/s | checksum |\n|---|---|---|---|---|---|---|---|---|"
    );
    for set in SETS.iter().filter(|set| set.name.contains(&only)) {
        run(set, number("ROUNDS", 7), number("THREADS", 1))?;
    }
    Ok(())
}
