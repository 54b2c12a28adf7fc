//! Measures whole operations: copies, sums and waits that no count of kernels has.

use std::time::Instant;

use clathrate_lattice::switch::MachineProfile;

use super::Evaluator;
use crate::arrays::{Ciphertext, Encoding};
use crate::error::CkksError;
use crate::keys::SecretKey;
use crate::parameters::{Params, ParamsSpec, Runtime};
use crate::progress::Progress;

/// The measured degrees, and the levels of their parameters, as programs have them.
const SIZES: [(usize, usize); 3] = [(1 << 13, 3), (1 << 14, 6), (1 << 15, 12)];

/// Bits of the steps, and of the special primes.
const BITS: f64 = 36.0;

/// Runs of each size with the same keys.
const RUNS: usize = 9;

/// How often keys and arrays of each size are made: where they lie in memory changes the times by a tenth.
const PLACES: usize = 5;

/// The times of this machine's kernels, and how much longer whole operations take; a few seconds.
///
/// # Errors
/// Those of [`Runtime::measure`].
pub fn measure_machine(runtime: &Runtime, progress: &Progress) -> Result<MachineProfile, CkksError> {
    let mut profile = MachineProfile { overhead: 1.0, ..runtime.measure(progress)? };
    let runtime = Runtime { threads: Some(1), profile: Some(profile.clone()), ..runtime.clone() };
    let mut product = 1.0;
    for (degree, levels) in SIZES {
        product *= overhead(&runtime, degree, levels)?;
    }
    profile.overhead = libm::pow(product, 1.0 / SIZES.len() as f64).max(1.0);
    Ok(profile)
}

/// The time of some operations beside the time of their kernels.
fn overhead(runtime: &Runtime, degree: usize, levels: usize) -> Result<f64, CkksError> {
    let mut steps = vec![vec![BITS; 2]];
    steps.resize(levels + 1, vec![BITS]);
    let special = vec![BITS + 4.0; levels.div_ceil(2)];
    // Nothing that is encrypted with these parameters is a secret.
    let params = Params::new(ParamsSpec::of_chain("tune", degree, (steps, special), BITS, true), runtime)?;
    let work = |evaluator: &Evaluator, x: &Ciphertext| {
        let square = evaluator.rescale(&evaluator.multiply(x, x)?)?;
        let rotated = evaluator.rotate(&square, 1)?;
        evaluator.add(&square, &rotated)
    };
    let recorder = Evaluator::recording(&params);
    work(&recorder, &recorder.symbol(&[params.slot_count()], Encoding::Slots, params.max_level(), 1.0)?)?;
    let recorded = recorder.recorded();
    let engine = params.chain().ring().engine();
    let owner = SecretKey::generate(&params)?;
    let (mut held, mut quartiles) = (Vec::with_capacity(PLACES), Vec::with_capacity(PLACES));
    for _ in 0..PLACES {
        let evaluator = Evaluator::with_keys(owner.evaluation_keys(recorded.needs())?);
        let x = owner.encrypt(&vec![0.5; params.slot_count()])?;
        work(&evaluator, &x)?;
        let mut times = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let start = Instant::now();
            work(&evaluator, &x)?;
            engine.finish();
            times.push(start.elapsed().as_secs_f64() * 1e9);
        }
        times.sort_by(f64::total_cmp);
        // Other programs can only lengthen a run.
        quartiles.push(times[RUNS / 4]);
        // The next keys do not take the place of these.
        held.push((evaluator, x));
    }
    quartiles.sort_by(f64::total_cmp);
    Ok(quartiles[PLACES / 2] / recorded.cost().nanoseconds)
}
