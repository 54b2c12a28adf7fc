//! Times the operations of one preset by the processor's time of this thread (Linux), so that a busy machine
//! disturbs less: `cargo run --release -p clathrate-ckks --example profile -- n15 40 rotate`
//! (preset, runs, operation).
use std::sync::Arc;
use std::time::Instant;

use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::{Evaluator, KeyNeeds, Params, Runtime, SecretKey};

/// Milliseconds that this thread has spent on a processor.
fn processor_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e6
}

fn time<T>(name: &str, runs: usize, mut f: impl FnMut() -> T) -> T {
    let mut times = Vec::new();
    let mut result = f();
    if std::env::args().nth(3).is_some_and(|only| !name.contains(&only)) {
        return result;
    }
    for _ in 0..runs {
        let start = processor_ms();
        result = f();
        times.push(processor_ms() - start);
    }
    times.sort_by(f64::total_cmp);
    println!("{name:32} median {:9.3} ms   min {:9.3} ms", times[runs / 2], times[0]);
    result
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "n15".to_owned());
    let runs = std::env::args().nth(2).map_or(Ok(9), |runs| runs.parse())?;
    let params = Params::preset(&name, &Runtime::default())?;
    println!("{}", params.explain());
    let sk = SecretKey::generate(&params)?;
    let start = Instant::now();
    let keys =
        sk.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top).rotations(1..=8, KeyLevel::Top))?;
    println!("{:32} {:9.3} ms, {} MiB", "9 keys", start.elapsed().as_secs_f64() * 1e3, keys.bytes() >> 20);
    let ev = Evaluator::with_keys(Arc::new(keys));
    let values: Vec<f64> = (0..params.slot_count()).map(|i| (i % 100) as f64 / 100.0).collect();
    let x = time("encrypt", runs, || sk.encrypt(&values)).map_err(|e| e.to_string())?;
    time("decrypt", runs, || sk.decrypt(&x))?;
    time("add", runs, || ev.add(&x, &x))?;
    time("multiply_plain with encoding", runs, || ev.multiply_plain(&x, &values))?;
    time("tensor", runs, || x.bundles()[0].tensor(&x.bundles()[0]))?;
    let switcher = params.switcher()?;
    let mask = x.bundles()[0].mask().at(0);
    time("mask to coefficients", runs, || mask.to_coeff());
    let digits = time("decompose", runs, || switcher.decompose(mask))?;
    println!("digits {}", digits.polys().len());
    time("multiply_rescale", runs, || ev.multiply_rescale(&x, &x))?;
    let product = time("multiply", runs, || ev.multiply(&x, &x))?;
    time("rescale", runs, || ev.rescale(&product))?;
    time("rotate", runs, || ev.rotate(&x, 1))?;
    time("8 hoisted rotations", runs, || ev.rotate_many(&x, &[1, 2, 3, 4, 5, 6, 7, 8]))?;
    Ok(())
}
