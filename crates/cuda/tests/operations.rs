//! Every operation of the device's engine, run by the host device, bit for bit that of the CPU's engine, in as many passes over rows.

use std::sync::Arc;

use clathrate_arith::{Counts, CpuEngine, Isa, Meter, ProductCounts};
use clathrate_cuda::{Device, DeviceEngine, HostDevice, Limits};
use clathrate_testkit::conformance::{assert_same, moduli, outcomes};

fn check(degree: usize, gap: usize, device: HostDevice) {
    let moduli = moduli(degree);
    let (expected_passes, passes) = (Arc::new(Meter::default()), Arc::new(Meter::default()));
    let cpu = |degree| CpuEngine::new(degree, &moduli, Isa::Scalar).expect("engine").with_meter(expected_passes.clone());
    let expected = outcomes(&cpu(degree), &cpu(degree / gap));
    let what = format!("{}, degree {degree}", device.name());
    let device = Arc::new(device);
    let engine = |degree| DeviceEngine::new(device.clone(), degree, &moduli).expect("engine").with_meter(Some(passes.clone()));
    let found = outcomes(&engine(degree), &engine(degree / gap));
    assert_same(&found, &expected, &what);
    // Products of matrices are other ones: words are multiplied as they are, not as floating-point digits.
    let (expected, found) = (expected_passes.take(), passes.take());
    assert_eq!(Counts { product: ProductCounts::default(), ..found }, Counts { product: ProductCounts::default(), ..expected }, "{what}");
}

#[test]
fn operations_of_small_degrees_equal_the_cpus() {
    for log in 3..=10 {
        check(1 << log, if log % 2 == 0 { 2 } else { 8 }, HostDevice::default());
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
