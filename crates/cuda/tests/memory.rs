//! The memory of a device: residues enter and leave it only by upload and download. Code above the engine
//! that reads residues in another way panics on this engine, with which the tests of the upper crates run
//! too.

use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{CpuEngine, Engine, FactorShape, Isa};
use clathrate_cuda::{Device, DeviceEngine, HostDevice};

const DEGREE: usize = 16;
const BASIS: [usize; 2] = [0, 1];

fn engine() -> (Arc<HostDevice>, DeviceEngine) {
    let moduli = largest_primes(40, 2 * DEGREE as u64, 2, &[]).expect("primes");
    let device = Arc::new(HostDevice::default());
    (device.clone(), DeviceEngine::new(device, DEGREE, &moduli).expect("engine"))
}

/// Whether `work` panics.
fn panics<T>(work: impl FnOnce() -> T) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err()
}

#[test]
fn residues_come_back_as_they_went_and_cannot_be_reached_otherwise() {
    let (_, engine) = engine();
    let words: Vec<u64> = (0..4 * DEGREE as u64).collect();
    let mut x = engine.scratch(4);
    engine.upload(x.view_mut(), &words);
    assert_eq!(*engine.download(x.view()), *words);
    assert_eq!(*engine.download(x.view().slice(1..3)), words[DEGREE..3 * DEGREE]);
    assert!(panics(|| x.host().len()) && panics(|| x.row(0).len()) && panics(|| x.view().host().len()));
    assert!(panics(|| x.clone().view_mut().host().len()) && panics(|| x.clone().row_mut(0).len()));
    // An engine does not compute with the memory of another engine.
    let cpu = CpuEngine::new(DEGREE, &[97], Isa::Scalar).expect("engine");
    assert!(panics(|| cpu.negate_assign(x.clone().view_mut(), &[0])));
    assert!(panics(|| engine.negate_assign(cpu.zeroed(1).view_mut(), &[0])));
    assert!(cpu.zeroed(4) != engine.zeroed(4), "buffers of two kinds of memory are not the same");
}

#[test]
fn buffers_are_copied_compared_overwritten_and_freed_by_their_owner() {
    let (device, engine) = engine();
    let before = device.allocated_bytes();
    let words: Vec<u64> = (1..=2 * DEGREE as u64).collect();
    let mut x = engine.scratch(2);
    assert!(
        engine.download(x.view()).iter().all(|&word| word >> 61 != 0),
        "unspecified contents are no residues"
    );
    engine.upload(x.view_mut(), &words);
    let mut y = x.clone();
    assert!(x == y);
    engine.negate_assign(y.view_mut(), &BASIS);
    assert!(x != y && *engine.download(x.view()) == *words, "a copy has memory of its own");
    assert!(x.view().slice(0..1) != y.view().slice(0..1));
    y.zeroize();
    assert!(y == engine.zeroed(2));
    assert_eq!(device.allocated_bytes() - before, 2 * 2 * DEGREE as u64 * 8);
    drop((x, y));
    assert_eq!(device.allocated_bytes(), before);
}

#[test]
fn factors_stay_in_the_engines_memory() {
    let (device, engine) = engine();
    let before = device.allocated_bytes();
    let shape = FactorShape { groups: 1, terms: 2, columns: 1, packed: true };
    let mut factors = engine.zeroed_factors(shape, &BASIS);
    let mut x = engine.zeroed(2);
    engine.upload_rows(x.view_mut(), &|row, words| words.fill(3 + row as u64));
    engine.pack_factors(&mut factors, 0, &[vec![x.view()], vec![x.view(), x.view()]], &[0, 1]);
    let sum = engine.unpack_factors(&factors, 0, &[0, 1], 0..1, &[0, 1]);
    assert!(
        engine
            .download(sum.view())
            .iter()
            .enumerate()
            .all(|(i, &word)| word == 3 * (3 + (i / DEGREE) as u64))
    );
    assert!(panics(|| factors.memory().host().len()) && panics(|| factors.run(0, 0, 0, 0).bytes.len()));
    drop((factors, sum, x));
    assert_eq!(device.allocated_bytes(), before);
}
