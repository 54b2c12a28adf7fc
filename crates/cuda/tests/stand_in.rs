//! [`NvidiaDevice`] on a stand-in for NVIDIA's driver (`driver/driver.cpp`), which defers work until a call
//! waits for it. Compares every operation bit for bit with the CPU engine, with single launches and with
//! graphs, and tests errors of a device without memory and of a failed device.
//!
//! This is a separate program, because a process loads the driver once. It builds the stand-in as
//! `libcuda.so` and starts itself again with that library first in the search path. Where
//! `CLATHRATE_TEST_ENGINE` names an NVIDIA device, it compares the operations on the machine's own driver.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use clathrate_arith::{CpuEngine, DeviceError, Engine, Isa, together};
use clathrate_cuda::memory::Allocation;
use clathrate_cuda::{Device, DeviceEngine, NvidiaDevice};
use clathrate_testkit::conformance::{assert_same, moduli, outcomes};
use clathrate_testkit::engines::ENGINE_VARIABLE;

/// Set in the process that uses the stand-in.
const WITHIN: &str = "CLATHRATE_TEST_STAND_IN";

fn main() -> ExitCode {
    if std::env::var_os(WITHIN).is_some() {
        assert_eq!(device().name(), "cuda:0, stand-in device");
        operations_equal_the_cpus();
        results_do_not_depend_on_when_work_is_done();
        full_devices_say_so();
        devices_with_a_limit_say_so();
        graphs_that_the_driver_refuses_are_done_without();
        devices_that_fail_say_so();
        assert_eq!(stand_in("stand_in_graphs", 0), 0, "graphs that nobody destroys");
        return ExitCode::SUCCESS;
    }
    // Test runners list the tests first.
    if std::env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    if std::env::var(ENGINE_VARIABLE).is_ok_and(|engine| engine.starts_with("cuda")) {
        operations_equal_the_cpus();
        results_do_not_depend_on_when_work_is_done();
        devices_with_a_limit_say_so();
        println!("{}: all passed", device().name());
        return ExitCode::SUCCESS;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stand-in");
    std::fs::create_dir_all(&folder).expect("a folder");
    build(&folder);
    let program = std::env::current_exe().expect("this program");
    for reads_host_memory in [false, true] {
        let mut again = Command::new(&program);
        again.env(WITHIN, "1").env("LD_LIBRARY_PATH", &folder).env("STAND_IN_MEMORY", "600000000");
        if reads_host_memory {
            again.env("STAND_IN_READS_HOST", "1");
        }
        let ended = again.status().expect("starts");
        assert!(ended.success(), "with the stand-in, reads_host_memory {reads_host_memory}: {ended}");
    }
    println!("stand-in for the driver: all passed");
    ExitCode::SUCCESS
}

/// Compiles the stand-in.
fn build(folder: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/driver.cpp");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let flags = [
        "-std=c++17",
        "-O2",
        "-shared",
        "-fPIC",
        "-ffp-contract=off",
        "-pthread",
        "-Wl,-Bsymbolic",
        "-Wall",
        "-Werror",
    ];
    let built = Command::new(compiler)
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(folder.join("libcuda.so"))
        .status()
        .expect("a C++ compiler");
    assert!(built.success(), "the stand-in does not compile");
}

fn device() -> Arc<NvidiaDevice> {
    NvidiaDevice::open(0).expect("the stand-in, or a device")
}

fn operations_equal_the_cpus() {
    let device = device();
    for graphs in [false, true] {
        device.set_graphs(graphs).expect("graphs");
        for log in [4, 9, 12, 15] {
            let degree = 1 << log;
            let moduli = moduli(degree);
            let cpu = |degree| CpuEngine::new(degree, &moduli, Isa::Scalar).expect("engine");
            let engine = |degree| DeviceEngine::new(device.clone(), degree, &moduli).expect("engine");
            let expected = outcomes(&cpu(degree), &cpu(degree / 2));
            let (large, small) = (engine(degree), engine(degree / 2));
            let what = format!("degree 2^{log}, graphs {graphs}");
            assert_same(&outcomes(&large, &small), &expected, &what);
            // With launches queued until a result is read.
            assert_same(
                &together(&large, || outcomes(&large, &small)),
                &expected,
                &format!("{what}, held back"),
            );
        }
        assert_eq!(device.graphs() > 0, graphs);
    }
    device.finish().expect("finished");
    device.set_graphs(false).expect("graphs");
    assert_eq!(device.allocated_bytes(), 0);
}

/// Computes sums of products in graphs repeatedly, with new addresses each time, while other threads compute
/// too.
fn results_do_not_depend_on_when_work_is_done() {
    let device = device();
    device.set_graphs(true).expect("graphs");
    let moduli = moduli(1 << 10);
    let engine = DeviceEngine::new(device.clone(), 1 << 10, &moduli).expect("engine");
    let cpu = CpuEngine::new(1 << 10, &moduli, Isa::Scalar).expect("engine");
    let polynomial = |engine: &dyn Engine, seed: u64| {
        let (mut x, all) = (engine.scratch(moduli.len()), [0, 1, 2, 3, 4, 5, 6]);
        let words: Vec<u64> = (0..moduli.len() << 10)
            .map(|i| (i as u64 + 1).wrapping_mul(seed | 1) % moduli[i >> 10])
            .collect();
        engine.upload(x.view_mut(), &words);
        let mut y = engine.scratch(moduli.len());
        together(engine, || {
            engine.forward_ntt(x.view_mut(), &all);
            engine.copy(y.view_mut(), x.view());
            engine.mul_assign(x.view_mut(), y.view(), &all);
            engine.add_assign(x.view_mut(), y.view(), &all);
            let other = engine.inverse_ntt_of(x.view(), &all);
            engine.add(x.view_mut(), y.view(), other.view(), &all);
        });
        engine.download(x.view()).into_owned()
    };
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (engine, cpu, polynomial) = (&engine, &cpu, &polynomial);
            scope.spawn(move || {
                for round in 0..20 {
                    let seed = 1 + 1000 * thread + round;
                    assert!(
                        polynomial(engine, seed) == polynomial(cpu, seed),
                        "thread {thread}, round {round}"
                    );
                }
            });
        }
    });
    // The same kernels in the same order are the same graphs.
    assert!((1..=4).contains(&device.graphs()), "{} graphs", device.graphs());
    device.set_graphs(false).expect("graphs");
}

fn full_devices_say_so() {
    let device = device();
    let memory: Arc<dyn Device> = device.clone();
    let allocate = |words| Allocation::try_new(&memory, words);
    allocate(1 << 40).map_or_else(
        |error| match error {
            DeviceError::OutOfMemory { needed, total, limited, .. } => {
                assert_eq!((needed, total, limited), (8 << 40, 600_000_000, false))
            }
            other => panic!("{other}"),
        },
        |_| panic!("eight tebibytes"),
    );
    assert_eq!(device.memory().expect("memory"), (600_000_000, 600_000_000), "what is freed counts as free");
}

fn devices_with_a_limit_say_so() {
    let device = device();
    let memory: Arc<dyn Device> = device.clone();
    let allocate = |words| Allocation::try_new(&memory, words);
    device.set_memory_limit(1000);
    let refused = allocate(126).expect_err("above the limit");
    assert!(
        matches!(
            refused,
            DeviceError::OutOfMemory { needed: 1008, free: 1000, total: 1000, limited: true, .. }
        ),
        "{refused}"
    );
    drop(allocate(125).expect("the limit itself"));
    device.set_memory_limit(u64::MAX);
    assert_eq!(device.allocated_bytes(), 0);
}

/// Calls a test function of the stand-in in the library that the process has loaded.
fn stand_in(name: &str, argument: u64) -> u64 {
    // SAFETY: the stand-in has these functions, which take at most one word and return at most one word.
    unsafe {
        let library = libloading::Library::new("libcuda.so").expect("the stand-in");
        let function: libloading::Symbol<'_, unsafe extern "C" fn(u64) -> u64> =
            library.get(name.as_bytes()).expect("its function");
        function(argument)
    }
}

fn fail_after(calls: u64) {
    stand_in("stand_in_fail_after", calls);
}

/// A circuit of one transform and its inverse.
fn there_and_back(engine: &DeviceEngine, words: &[u64]) -> Vec<u64> {
    together(engine, || {
        let mut x = engine.scratch(1);
        engine.upload(x.view_mut(), words);
        engine.forward_ntt(x.view_mut(), &[0]);
        let y = engine.inverse_ntt_of(x.view(), &[0]);
        engine.download(y.view()).into_owned()
    })
}

fn graphs_that_the_driver_refuses_are_done_without() {
    let device = device();
    let engine = DeviceEngine::new(device.clone(), 16, &moduli(16)).expect("engine");
    device.set_graphs(true).expect("graphs");
    let words: Vec<u64> = (1..17).collect();
    // Refuses the creation of a graph, then its update, then again.
    for refused in [1, 0, 1, 2, 0] {
        stand_in("stand_in_refuse_graphs", refused);
        assert_eq!(there_and_back(&engine, &words), words);
        assert_eq!(device.graphs(), usize::from(refused == 0), "{refused} refused");
    }
    stand_in("stand_in_refuse_graphs", 0);
    device.set_graphs(false).expect("graphs");
    assert_eq!(stand_in("stand_in_graphs", 0), 0, "graphs that nobody destroys");
}

fn devices_that_fail_say_so() {
    let device = device();
    let moduli = moduli(16);
    for graphs in [false, true] {
        device.set_graphs(graphs).expect("graphs");
        let engine = DeviceEngine::new(device.clone(), 16, &moduli).expect("engine");
        let work = || there_and_back(&engine, &[0; 16]);
        assert_eq!(work(), vec![0; 16]);
        let (before, mut failures) = (device.allocated_bytes(), 0);
        for calls in 0..100 {
            fail_after(calls);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            fail_after(u64::MAX);
            let Err(panic) = result else { break };
            let error = *panic.downcast::<DeviceError>().expect("the device's error");
            assert!(
                error.to_string().contains("the stand-in refuses with 719 (CUDA_ERROR_LAUNCH_FAILED)"),
                "{error}"
            );
            assert_eq!(device.allocated_bytes(), before, "after {calls} calls, graphs {graphs}");
            failures += 1;
        }
        assert!((4..100).contains(&failures), "{failures}");
        assert_eq!(work(), vec![0; 16]);
    }
    device.set_graphs(false).expect("graphs");
}
