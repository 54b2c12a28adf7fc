//! Every engine operation at every degree from 2^3 to 2^17, on every instruction set of this machine, bit for
//! bit what the portable kernels give, in as many passes over rows.

use std::sync::Arc;

use clathrate_arith::{Counts, CpuEngine, Isa, Meter, ProductCounts};
use clathrate_testkit::conformance::{Outcome, assert_same, moduli, outcomes};

/// All results at `degree`, and the passes that they took.
fn results(degree: usize, gap: usize, isa: Isa, threads: usize, moduli: &[u64]) -> (Vec<Outcome>, Counts) {
    let meter = Arc::new(Meter::default());
    let pool = CpuEngine::thread_pool(threads).expect("threads");
    let engine = |degree: usize| {
        CpuEngine::new(degree, moduli, isa)
            .expect("engine")
            .with_threads(pool.clone())
            .sharing_small_work()
            .with_meter(meter.clone())
    };
    (outcomes(&engine(degree), &engine(degree / gap)), meter.take())
}

fn check(logs: std::ops::RangeInclusive<u32>) {
    for log in logs {
        let degree = 1usize << log;
        let moduli = moduli(degree);
        let gap = if log % 2 == 0 { 2 } else { 8 };
        let (expected, passes) = results(degree, gap, Isa::Scalar, 1, &moduli);
        for isa in Isa::available() {
            for threads in if isa == Isa::Scalar { vec![2] } else { vec![1, 2] } {
                let (found, counts) = results(degree, gap, isa, threads, &moduli);
                assert_same(&found, &expected, &format!("{isa:?}, degree 2^{log}"));
                // Threads that share the rows of a matrix product each convert its residues.
                let digits = counts.product.digits;
                assert!(if threads == 1 {
                    digits == passes.product.digits
                } else {
                    digits >= passes.product.digits
                });
                let product = ProductCounts { digits: passes.product.digits, ..counts.product };
                assert_eq!(Counts { product, ..counts }, passes, "{isa:?}, degree 2^{log}");
            }
        }
    }
}

#[test]
fn operations_of_small_degrees_equal_the_portable_ones() {
    check(3..=10);
}

#[test]
fn operations_of_middle_degrees_equal_the_portable_ones() {
    check(11..=14);
}

#[test]
fn operations_of_large_degrees_equal_the_portable_ones() {
    check(15..=16);
}

#[test]
fn operations_of_the_largest_degree_equal_the_portable_ones() {
    check(17..=17);
}
