//! Compares every operation of the device's engine on the host device with the CPU engine: equal bits and
//! equally many passes over rows.

use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Counts, CpuEngine, Engine, Isa, Meter, ProductCounts};
use clathrate_cuda::{Butterflies, Device, DeviceEngine, HostDevice, Limits};
use clathrate_testkit::conformance::{assert_same, moduli, outcomes};

fn check(degree: usize, gap: usize, device: HostDevice) {
    let moduli = moduli(degree);
    let (expected_passes, passes) = (Arc::new(Meter::default()), Arc::new(Meter::default()));
    let cpu = |degree| {
        CpuEngine::new(degree, &moduli, Isa::Scalar).expect("engine").with_meter(expected_passes.clone())
    };
    let expected = outcomes(&cpu(degree), &cpu(degree / gap));
    let what = format!("{}, {:?}, degree {degree}", device.name(), device.butterflies());
    let device = Arc::new(device);
    let engine = |degree| {
        DeviceEngine::new(device.clone(), degree, &moduli).expect("engine").with_meter(Some(passes.clone()))
    };
    let found = outcomes(&engine(degree), &engine(degree / gap));
    assert_same(&found, &expected, &what);
    // Counts of matrix products differ: this engine multiplies words, not floating-point digits.
    let (expected, found) = (expected_passes.take(), passes.take());
    assert_eq!(
        Counts { product: ProductCounts::default(), ..found },
        Counts { product: ProductCounts::default(), ..expected },
        "{what}"
    );
}

#[test]
fn operations_of_small_degrees_equal_the_cpus() {
    for log in 3..=10 {
        check(1 << log, if log % 2 == 0 { 2 } else { 8 }, HostDevice::default());
    }
}

#[test]
fn butterflies_of_words_give_the_same() {
    for log in 3..=15 {
        check(
            1 << log,
            if log % 2 == 0 { 2 } else { 8 },
            HostDevice::default().with_butterflies(Butterflies { short_words: false, doubles: false }),
        );
    }
}

#[test]
fn operations_of_middle_degrees_equal_the_cpus() {
    for log in 11..=14 {
        check(1 << log, if log % 2 == 0 { 2 } else { 8 }, HostDevice::default());
    }
}

#[test]
fn operations_of_large_degrees_equal_the_cpus() {
    for log in 15..=17 {
        check(1 << log, if log % 2 == 0 { 2 } else { 8 }, HostDevice::default());
    }
}

#[test]
fn blocks_with_little_shared_memory_and_grids_of_few_rows_give_the_same() {
    for (log, shared_words, grid_y) in [(6, 8, 3), (8, 16, 7), (9, 32, 5), (11, 64, 2)] {
        let limits = Limits { units: 32, shared_words, grid_y };
        check(1 << log, 8, HostDevice::default().with_limits(limits));
    }
}

#[test]
fn a_thread_for_each_unit_gives_the_same() {
    let limits = Limits { units: 8, shared_words: 32, grid_y: 65_535 };
    check(1 << 6, 2, HostDevice::default().with_limits(limits).with_threads());
}

/// Rows on which the sums of butterflies grow largest, and rows of extreme residues.
fn extreme_rows(degree: usize, q: u64) -> Vec<Vec<u64>> {
    let by = |residue: &dyn Fn(usize) -> u64| (0..degree).map(residue).collect::<Vec<u64>>();
    vec![
        by(&|_| q - 1),
        by(&|_| q / 2),
        by(&|i| if i % 2 == 0 { q - 1 } else { 0 }),
        by(&|i| if i < degree / 2 { q / 2 + 1 } else { q / 2 }),
        by(&|i| if i == 0 { q - 1 } else { 0 }),
        by(&|i| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % q),
    ]
}

#[test]
fn transforms_of_extreme_rows_equal_the_cpus_for_primes_at_every_border() {
    for log in [1, 4, 10, 12, 13, 14, 15, 16] {
        let degree = 1usize << log;
        for bits in [20, 30, 31, 32, 33, 45, 46, 47, 49, 50, 51, 59, 60, 61] {
            let Ok(primes) = largest_primes(bits, 2 * degree as u64, 1, &[]) else { continue };
            let cpu = CpuEngine::new(degree, &primes, Isa::Scalar).expect("engine");
            let device = DeviceEngine::new(Arc::new(HostDevice::default()), degree, &primes).expect("engine");
            for (index, words) in extreme_rows(degree, primes[0]).iter().enumerate() {
                let run = |engine: &dyn Engine| {
                    let mut x = engine.scratch(1);
                    engine.upload(x.view_mut(), words);
                    engine.forward_ntt(x.view_mut(), &[0]);
                    let forward = engine.download(x.view()).into_owned();
                    engine.upload(x.view_mut(), words);
                    engine.inverse_ntt(x.view_mut(), &[0]);
                    (forward, engine.download(x.view()).into_owned())
                };
                assert!(run(&device) == run(&cpu), "row {index}, a prime of {bits} bits, degree {degree}");
            }
        }
    }
}

/// Kernels check no addresses, so the engine refuses invalid arguments before a launch: views beyond their
/// memory, and moduli, rows, terms and columns that do not exist.
#[test]
fn what_is_not_there_is_refused_before_a_kernel_reads_it() {
    use clathrate_arith::{Buffer, FactorShape, Rows};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let moduli = moduli(64);
    let engine = DeviceEngine::new(Arc::new(HostDevice::default()), 64, &moduli).expect("engine");
    let (mut x, y) = (engine.zeroed(2), engine.zeroed(2));
    let taller = |x: Rows<'_>| Buffer::on_device(x.device().expect("of this device").0.duplicate(), 3, 64);
    let (mut tall, beyond) = (taller(x.view()), moduli.len());
    let shape = FactorShape { groups: 1, terms: 2, columns: 1, packed: true };
    let factors = engine.zeroed_factors(shape, &[0, 1]);
    let refused = |what: &str, work: &mut dyn FnMut()| {
        assert!(catch_unwind(AssertUnwindSafe(work)).is_err(), "{what} must be refused");
    };
    // A control: the same calls with valid arguments.
    engine.add_assign(x.view_mut(), y.view(), &[0, 1]);
    engine.forward_ntt(x.view_mut(), &[0, 1]);
    drop((
        engine.unpack_factors(&factors, 0, &[1], 0..1, &[0]),
        engine.sum_factors(&factors, &[vec![0, 1]], &[0, 1]),
    ));
    refused("a read beyond the memory", &mut || assert_eq!(engine.download(tall.view()).len(), 192));
    refused("a write beyond the memory", &mut || engine.upload(tall.view_mut(), &[0; 192]));
    refused("a transform beyond the memory", &mut || engine.forward_ntt(tall.view_mut(), &[0, 1, 2]));
    refused("a sum under a modulus beyond the table", &mut || {
        engine.add_assign(x.view_mut(), y.view(), &[0, beyond])
    });
    refused("a transform under a modulus beyond the table", &mut || {
        engine.forward_ntt(x.view_mut(), &[0, beyond])
    });
    refused("a row that is not there", &mut || engine.copy_rows(x.view_mut(), &[0], y.view(), &[2]));
    refused("a term that is not there", &mut || drop(engine.sum_factors(&factors, &[vec![0, 2]], &[0, 1])));
    refused("a group that is not there", &mut || drop(engine.unpack_factors(&factors, 1, &[0], 0..1, &[0])));
    refused("a column that is not there", &mut || drop(engine.unpack_factors(&factors, 0, &[0], 0..2, &[0])));
}
