//! Rings on engines of different kinds: the environment chooses the tests' engine, and bundles of two kinds
//! of memory are told apart.

use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{CpuEngine, Isa};
use clathrate_lattice::{Basis, Bodies, Bundle, Eval, LatticeError, Poly, Rank, Ring};
use clathrate_testkit::device_engine;
use clathrate_testkit::engines::ENGINE_VARIABLE;

const DEGREE: usize = 32;

fn moduli() -> Vec<u64> {
    largest_primes(40, 2 * DEGREE as u64, 3, &[]).expect("primes")
}

#[test]
fn tests_run_on_the_engine_that_the_environment_chooses() {
    let kind = match std::env::var(ENGINE_VARIABLE).as_deref() {
        Ok("host-device") => "host device",
        Ok("cuda" | "cuda-graphs") => "cuda:0",
        _ => "host",
    };
    let ring = crate::common::new_ring(DEGREE, &moduli());
    assert_eq!(ring.engine().memory_kind(), kind);
}

#[test]
fn operands_in_the_memory_of_two_engines_are_refused() {
    let cpu = || CpuEngine::new(DEGREE, &moduli(), Isa::Scalar).expect("engine");
    let host = Ring::with_engine(Arc::new(cpu()));
    let device = || Ring::with_engine(Arc::new(device_engine(&cpu())));
    let basis = Basis::new([0, 2]);
    let refused = |left, right| LatticeError::MemoryMismatch { left, right };
    let bundle = |ring: &Ring| Bundle::<Eval>::zero(ring, &basis, Rank(1), Bodies(1)).expect("bundle");
    assert_eq!(
        bundle(&host).add_assign(&bundle(&device())).expect_err("two kinds"),
        refused("host", "host device")
    );
    assert_eq!(
        bundle(&device()).mul_poly_assign(&Poly::zero(&host, &basis)).expect_err("two kinds"),
        refused("host device", "host")
    );
    assert!(bundle(&host) != bundle(&device()));
    let small =
        Ring::with_engine(Arc::new(CpuEngine::new(DEGREE / 2, &moduli(), Isa::Scalar).expect("engine")));
    let degrees = LatticeError::RingMismatch { left: DEGREE, right: DEGREE / 2 };
    assert_eq!(bundle(&device()).extract(&small).expect_err("two kinds"), degrees);
    // Two engines of one kind read each other's buffers.
    bundle(&device()).add_assign(&bundle(&device())).expect("one kind");
}
