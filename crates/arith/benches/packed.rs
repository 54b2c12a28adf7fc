//! Reading packed factors, one thread: `cargo bench -p clathrate-arith --bench packed` (`QUICK=1` for a short
//! run).
//!
//! Products of a few terms with two columns of factors, packed and as words, for keys larger than every cache
//! and for one that fits; then keys coalesced (pairs of terms summed) and packed. What is compared runs in
//! turns; each figure is a median.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use clathrate_arith::bit_packing::VECTOR;
use clathrate_arith::primes::largest_primes;
use clathrate_arith::{CpuEngine, Engine, FactorShape, Factors, Isa};

const DEGREE: usize = 1 << 13;
const COLUMNS: usize = 2;

/// Coefficients per call: with them the left factors stay in the second-level cache.
const PIECE: usize = 1024;

struct Key<'a> {
    engine: &'a CpuEngine,
    factors: Factors,
    moduli: Vec<usize>,
    /// Left factors, which all of the key meets.
    xs: Vec<Vec<u64>>,
    out: Vec<Vec<u64>>,
    /// Seconds that each row took, in every pass.
    times: Vec<Vec<f64>>,
}

impl<'a> Key<'a> {
    /// A key whose slots all hold the same residues.
    fn new(engine: &'a CpuEngine, terms: usize, packed: bool) -> Self {
        let moduli: Vec<usize> = (0..engine.moduli().len()).collect();
        let mut factors =
            engine.zeroed_factors(FactorShape { groups: 1, terms, columns: COLUMNS, packed }, &moduli);
        let mut row = engine.zeroed(1);
        let q = engine.moduli()[0].value();
        row.row_mut(0)
            .iter_mut()
            .enumerate()
            .for_each(|(i, word)| *word = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % q);
        let sources = vec![vec![row.view()]; terms * COLUMNS];
        engine.pack_factors(&mut factors, 0, &sources, &vec![0; moduli.len()]);
        let xs = (0..terms).map(|_| row.row(0)[..PIECE].to_vec()).collect();
        let times = vec![Vec::new(); moduli.len()];
        Self { engine, factors, moduli, xs, out: vec![vec![0; PIECE]; COLUMNS], times }
    }

    /// The products over the first `used` terms, row by row.
    fn products(&mut self, used: usize, counts: bool) {
        let left: Vec<&[u64]> = self.xs[..used].iter().map(Vec::as_slice).collect();
        for (row, times) in self.times.iter_mut().enumerate() {
            let clock = Instant::now();
            let kernel = self.engine.table(self.moduli[row]).kernel();
            for start in (0..DEGREE).step_by(self.factors.block()) {
                let run = self.factors.run(row, start, 0, 0);
                for offset in (0..self.factors.block()).step_by(PIECE) {
                    let mut out: Vec<&mut [u64]> = self.out.iter_mut().map(Vec::as_mut_slice).collect();
                    kernel.dot_packed(&mut out, &left, run.after(offset), false);
                }
            }
            if counts {
                times.push(clock.elapsed().as_secs_f64());
            }
        }
        black_box(&mut self.out);
    }

    /// The sums over all rows of the rows' least times and medians, in seconds.
    fn summary(&mut self) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for times in &mut self.times {
            times.sort_by(f64::total_cmp);
            sums[0] += times[0];
            sums[1] += times[times.len() / 2];
        }
        sums
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = if std::env::var_os("QUICK").is_some() { 7 } else { 31 };
    let isas: Vec<Isa> = Isa::available();
    println!("Medians, sums of each row's; sums of least times in brackets.\n");
    println!(
        "| kernel | key | bits | terms used / all | packed ms | GB/s | words ms | GB/s | packed / words |\n|---|---|---|---|---|---|---|---|---|"
    );
    for &isa in isas.iter().rev() {
        for megabytes in [1usize, 4, 10, 24, 64, 320] {
            if isa != Isa::Ifma && megabytes != 10 {
                continue;
            }
            for bits in [36, 44, 46, 50] {
                // The last is a key at a level of few digits.
                for (terms, used) in [(11, 11), (40, 40), (40, 8)] {
                    let rows =
                        ((megabytes << 20) / (DEGREE / VECTOR * terms * COLUMNS * bits as usize)).max(1);
                    let q = largest_primes(bits, 2 * DEGREE as u64, 1, &[])?[0];
                    let engine = CpuEngine::new(DEGREE, &vec![q; rows], isa)?;
                    let mut keys = [true, false].map(|packed| Key::new(&engine, terms, packed));
                    for _ in 0..rounds {
                        for key in &mut keys {
                            // The first pass of a turn finds in the caches what the other key left there.
                            for pass in 0..3 {
                                key.products(used, pass > 0);
                            }
                        }
                    }
                    let sizes = [0, 1].map(|i: usize| (keys[i].factors.bytes() * used / terms) as f64);
                    let times = [0, 1].map(|i: usize| keys[i].summary());
                    let show = |i: usize| {
                        let [least, median] = times[i];
                        format!(
                            "{:.3} ({:.3}) | {:.1} ({:.1})",
                            1e3 * median,
                            1e3 * least,
                            sizes[i] / median / 1e9,
                            sizes[i] / least / 1e9
                        )
                    };
                    let ratios = [1, 0].map(|i: usize| times[0][i] / times[1][i]);
                    let (packed, words) = (show(0), show(1));
                    println!(
                        "| {} | {megabytes} MB | {bits} | {used} / {terms} | {packed} | {words} | {:.2} ({:.2}) |",
                        isa.name(),
                        ratios[0],
                        ratios[1]
                    );
                }
            }
        }
    }
    coalesce(rounds)
}

/// Keys coalesced and packed: pairs of terms summed, N = 2^16.
fn coalesce(rounds: usize) -> Result<(), Box<dyn Error>> {
    const LARGE: usize = 1 << 16;
    const TERMS: usize = 39;
    const ROWS: usize = 40;
    let engine = CpuEngine::new(LARGE, &largest_primes(44, 2 * LARGE as u64, ROWS, &[])?, Isa::detect()?)?;
    let moduli: Vec<usize> = (0..ROWS).collect();
    let shape = FactorShape { groups: 1, terms: TERMS, columns: COLUMNS, packed: true };
    let mut base = engine.zeroed_factors(shape, &moduli);
    let source = engine.zeroed(ROWS);
    let pairs: Vec<Vec<usize>> = (0..TERMS).step_by(2).map(|t| (t..TERMS.min(t + 2)).collect()).collect();
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        let mut time = |which: usize, work: &mut dyn FnMut()| {
            let clock = Instant::now();
            work();
            times[which].push(1e3 * clock.elapsed().as_secs_f64());
        };
        time(0, &mut || {
            engine.pack_factors(&mut base, 0, &vec![vec![source.view()]; shape.slots()], &moduli)
        });
        time(1, &mut || drop(black_box(engine.sum_factors(&base, &pairs, &moduli))));
        time(2, &mut || {
            drop(black_box(engine.zeroed_factors(FactorShape { terms: pairs.len(), ..shape }, &moduli)))
        });
        time(3, &mut || drop(black_box(engine.unpack_factors(&base, 0, &[0, 1], 0..1, &moduli))));
    }
    println!(
        "\nN = 2^16, {ROWS} primes of 44 bits, {TERMS} terms x {COLUMNS} columns, {:.0} MB\n",
        base.bytes() as f64 / 1e6
    );
    println!("| work | median ms | least ms |\n|---|---|---|");
    let names = [
        "pack all",
        "sum pairs of terms",
        "of which the memory for the sums, zeroed",
        "sum and unpack two terms of one column",
    ];
    for (name, times) in names.into_iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("| {name} | {:.1} | {:.1} |", times[times.len() / 2], times[0]);
    }
    Ok(())
}
