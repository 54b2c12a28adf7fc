//! dev bench
use clathrate_arith::primes::largest_primes;
use clathrate_arith::*;
use std::time::Instant;

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
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()).map_or(0.0, |n: f64| n / 1e6)
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let a: Vec<usize> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let (logn, bits, kept, special, polys) = (a[0], a[1] as u32, a[2], a[3], a[4]);
    let rounds = a.get(5).copied().unwrap_or(9);
    let degree = 1 << logn;
    let primes = largest_primes(bits, 2 * degree as u64, kept + special, &[])?;
    let engine = CpuEngine::new(degree, &primes, Isa::detect()?)?;
    let mut random = Random(3);
    let all: Vec<usize> = (0..kept + special).collect();
    let xs: Vec<Buffer> = (0..polys).map(|_| random.buffer(&engine, &all)).collect();
    let cs: Vec<Buffer> = (0..polys).map(|_| random.buffer(&engine, &all)).collect();
    let (targets, sources): (Vec<usize>, Vec<usize>) = ((0..kept).collect(), (kept..kept + special).collect());
    let conversion = BaseConversion::new(engine.moduli(), &sources, &targets, &vec![1; special], Rounding::Centred).unwrap();
    let constants: Vec<u64> = (0..kept).map(|i| random.below(primes[i])).collect();
    for (name, with_coeff, with_eval) in [("eval", false, true), ("coeff", true, false), ("both", true, true)] {
        let mut times: [Vec<f64>; 3] = Default::default();
        let mut cpus: [Vec<f64>; 3] = Default::default();
        let mut results: [Vec<Buffer>; 3] = Default::default();
        for round in 0..rounds + 1 {
            for way in 0..3 {
                results[way].clear();
                let mut parts: Vec<Buffer> = vec![];
                let c0 = cpu();
                let t = Instant::now();
                for x in if with_coeff { &cs } else { &xs } {
                    let mut d = x.select(&sources);
                    if !with_coeff { engine.inverse_ntt(&mut d, 0..special, &sources); }
                    parts.push(d);
                }
                let inputs: Vec<DivisionInput> = (0..polys).map(|i| DivisionInput {
                    divisors: &parts[i],
                    coeff: with_coeff.then(|| Dividend { residues: &cs[i], rows: &targets }),
                    eval: with_eval.then(|| Dividend { residues: &xs[i], rows: &targets }),
                }).collect();
                results[way] = match way {
                    0 => inputs.iter().map(|i| engine.divide_old(&conversion, i.divisors, i.coeff, i.eval, &constants, true)).collect(),
                    1 => inputs.iter().map(|i| engine.divide(&conversion, i.divisors, i.coeff, i.eval, &constants, true)).collect(),
                    _ => engine.divide_all(&conversion, &inputs, &constants, true),
                };
                if round > 0 {
                    times[way].push(t.elapsed().as_secs_f64() * 1e3);
                    cpus[way].push(cpu() - c0);
                }
            }
            assert!(results[0] == results[1] && results[0] == results[2]);
        }
        let med = |v: &mut Vec<f64>| { v.sort_by(f64::total_cmp); (v[0], v[v.len() / 2]) };
        print!("{name:6}");
        let mut base = 0.0;
        for way in 0..3 {
            let ((best, m), (_, c)) = (med(&mut times[way]), med(&mut cpus[way]));
            if way == 0 { base = m; }
            print!("  | {} best {best:.2} median {m:.2} cpu {c:.2} ({:.3})", ["old", "one", "all"][way], m / base);
        }
        println!();
    }
    Ok(())
}
