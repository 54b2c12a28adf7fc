//! Whole circuits on the kernels of devices, run by the host, against the same circuits on the processor: the
//! same bits. Arrays and keys that move, engines of two kinds in one process, memory that comes back, and
//! memory that is not there.
//!
//! Where `CLATHRATE_TEST_ENGINE` is `cuda` or `cuda-graphs`, the circuits run on NVIDIA's first device: with
//! `--test-threads=1`, as all tests then share it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::common::measure::*;
use crate::common::*;
use clathrate_arith::DeviceError;
use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::circuits::linear::LinearTransform;
use clathrate_ckks::circuits::matrix::Weights;
use clathrate_ckks::circuits::polynomial::{Polynomial, PolynomialBasis};
use clathrate_ckks::file::Stored;
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::parameters::{DeviceDescription, EngineFactory, Switching};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyLevel, KeyNeeds, Level, Params, Runtime, SecretKey,
};
use clathrate_cuda::{Device, DeviceEngine, HostDevice, NvidiaDevice};
use clathrate_lattice::switch::{MachineProfile, SwitchMethod};
use clathrate_lattice::{LatticeError, SecretRng};
use clathrate_testkit::engines::ENGINE_VARIABLE;

/// A runtime whose engines compute on `device`, planned as on the processor, so that both take the same
/// steps.
fn on(device: Arc<dyn Device>, switching: Switching) -> Runtime {
    let kernels = device.name();
    let make = move |request: &clathrate_ckks::parameters::EngineRequest<'_>| {
        let engine: Arc<dyn clathrate_arith::Engine> =
            Arc::new(DeviceEngine::new(device.clone(), request.degree, request.moduli)?);
        Ok(engine)
    };
    let description =
        DeviceDescription { name: "test".to_owned(), kernels, profile: MachineProfile::built_in() };
    Runtime { switching, engine: Some(EngineFactory::new(make).on_device(description)), ..Runtime::default() }
}

fn host() -> Arc<HostDevice> {
    Arc::new(HostDevice::default())
}

/// The device that [`ENGINE_VARIABLE`] names, or the host's.
fn any_device() -> Arc<dyn Device> {
    let engine = std::env::var(ENGINE_VARIABLE).unwrap_or_default();
    if !engine.starts_with("cuda") {
        return host();
    }
    let device = NvidiaDevice::open(0).expect("a device");
    device.set_graphs(engine == "cuda-graphs").expect("a device");
    device
}

/// The bytes of each result of `circuit` at `preset` on the processor and on the device, compared.
fn assert_same_bits(
    preset: &str,
    switching: Switching,
    circuit: impl Fn(&Params) -> Vec<(&'static str, Ciphertext)>,
) {
    let device = any_device();
    let results = |runtime: &Runtime| circuit(&Params::preset(preset, runtime).expect("preset"));
    let expected = results(&Runtime { switching, ..Runtime::default() });
    let found = results(&on(device.clone(), switching));
    assert_eq!(found.len(), expected.len());
    for ((name, found), (_, expected)) in found.iter().zip(&expected) {
        assert_eq!(found.params().runtime().device(), "test");
        assert!(
            found.to_file_bytes().expect("bytes") == expected.to_file_bytes().expect("bytes"),
            "{preset}, {switching:?}: {name}"
        );
    }
    drop(found);
    assert_eq!(device.allocated_bytes(), 0, "{preset}: memory of the device is left behind");
}

fn setup_of(params: &Params, needs: &KeyNeeds) -> (SecretKey, Evaluator) {
    let sk = secret(params, 5);
    let ev = evaluator(&sk, needs);
    (sk, ev)
}

fn arithmetic(params: &Params) -> Vec<(&'static str, Ciphertext)> {
    let needs =
        KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1, -3], KeyLevel::Top).conjugate(KeyLevel::Top);
    let (sk, ev) = setup_of(params, &needs);
    let slots = params.slot_count();
    let (x, y) = (
        encrypt_as(&sk, &noise(slots, 1), &[slots], slots_at(None), 1),
        encrypt_as(&sk, &noise(slots, 2), &[slots], slots_at(None), 2),
    );
    let product = ev.multiply_rescale(&x, &y).expect("product");
    let low = ev.drop_to_level(&product, Level(1)).expect("level");
    vec![
        ("sum", ev.add(&x, &y).expect("sum")),
        ("plain product", ev.multiply_plain(&x, &noise(slots, 3)).expect("product")),
        ("square of a low level", ev.square(&low).expect("square")),
        ("rotation", ev.rotate(&x, 1).expect("rotation")),
        ("hoisted rotation", ev.rotate_many(&x, &[1, -3]).expect("rotations").remove(1)),
        ("conjugate", ev.conjugate(&product).expect("conjugate")),
        ("product", product),
    ]
}

fn slots_at(level: Option<Level>) -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Slots), level, ..EncryptOptions::default() }
}

#[test]
fn arithmetic_gives_the_same_bits_at_every_rank_and_by_every_method() {
    for preset in ["insecure_tiny", "insecure_small", "insecure_rank2", "insecure_rank3"] {
        assert_same_bits(preset, Switching::AsMade, arithmetic);
    }
    for method in [SwitchMethod::hybrid(2), SwitchMethod::klss(2, 2)] {
        assert_same_bits("insecure_deep", Switching::Fixed(method), arithmetic);
    }
}

#[test]
fn circuits_give_the_same_bits() {
    assert_same_bits("insecure_deep", Switching::AsMade, |params| {
        let slots = params.slot_count();
        let map = LinearTransform::from_diagonals(
            slots,
            [0i64, 1, 2, 5, 9].map(|shift| (shift, complex(slots, 20 + shift as u64))),
        );
        let plan = map.expect("map").plan(params, params.max_level()).expect("plan");
        let needs = plan.needs().expect("needs").relinearise(KeyLevel::Top);
        let (sk, ev) = setup_of(params, &needs);
        let x = encrypt_as(&sk, &noise(slots, 1), &[slots], slots_at(None), 1);
        let rows = encrypt_as(
            &sk,
            &noise(12, 2),
            &[3, 4],
            EncryptOptions { encoding: Some(Encoding::Coefficients), ..slots_at(None) },
            2,
        );
        let weights = Weights::new(2, 3, &noise(6, 3), 4096.0).expect("weights");
        let polynomial = Polynomial::new([0.5, 1.0, -0.25, 0.125], PolynomialBasis::Power, (-1.0, 1.0))
            .expect("polynomial");
        vec![
            ("linear map", plan.run(&ev, &x).expect("image")),
            ("polynomial", polynomial.apply(&ev, &x).expect("polynomial")),
            ("matrix product", weights.multiply(&ev, &rows).expect("product")),
        ]
    });
}

#[test]
fn bootstraps_give_the_same_bits() {
    assert_same_bits("insecure_boot", Switching::AsMade, |params| {
        let plan = BootstrapPlan::with_options(params, BootstrapOptions::default()).expect("plan");
        let (sk, ev) = setup_of(params, &plan.needs().expect("needs"));
        let x =
            encrypt_as(&sk, &noise(plan.slots(), 1), &[plan.slots()], slots_at(Some(plan.input_level())), 1);
        vec![("bootstrap", plan.run(&ev, &x).expect("bootstrap"))]
    });
}

#[test]
fn arrays_and_keys_move_between_devices_and_two_engines_live_in_one_process() {
    let device = any_device();
    let (here, there) = (Runtime::default(), on(device.clone(), Switching::Fastest));
    let params = Params::preset("insecure_small", &here).expect("preset");
    let needs = KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1], KeyLevel::Top);
    let (sk, ev) = setup_of(&params, &needs);
    let x = encrypt_as(&sk, &noise(64, 1), &[64], slots_at(None), 1);
    let moved = x.under(&there).expect("moved");
    assert_eq!((moved.params().runtime().device(), x.params().runtime().device()), ("test", "cpu"));
    assert!(
        moved.params() == x.params()
            && moved.under(&here).expect("back").to_file_bytes().expect("bytes")
                == x.to_file_bytes().expect("bytes")
    );
    // Made once: what moves later meets what moved before.
    let again = x.under(&there).expect("moved");
    assert!(Arc::ptr_eq(again.params().chain(), moved.params().chain()));
    let keys = sk
        .clone()
        .with_rng(SecretRng::from_seed([77; 32]))
        .evaluation_keys(&needs)
        .expect("keys")
        .under(&there)
        .expect("moved");
    let product = Evaluator::with_keys(keys).multiply_rescale(&moved, &again).expect("product");
    let expected = ev.multiply_rescale(&x, &x).expect("product");
    assert_close(&decrypt(&sk, &product.under(&here).expect("back")), &decrypt(&sk, &expected), 1e-6);
    // The owner's key decrypts where the array is.
    assert_close(&decrypt(&sk.under(&there).expect("key"), &product), &decrypt(&sk, &expected), 1e-6);
    let refused = ev.add(&x, &moved).expect_err("two devices");
    assert!(matches!(refused, CkksError::Lattice(LatticeError::MemoryMismatch { .. })), "{refused:?}");
    assert!(refused.to_string().contains("bring both to one device"), "{refused}");
}

#[test]
fn a_switch_goes_to_the_device_as_one() {
    let device = host();
    for (preset, switching) in [
        ("insecure_small", Switching::AsMade),
        ("insecure_rank2", Switching::AsMade),
        ("insecure_deep", Switching::Fixed(SwitchMethod::klss(2, 2))),
    ] {
        let params = Params::preset(preset, &on(device.clone(), switching)).expect("preset");
        let (sk, ev) =
            setup_of(&params, &KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1], KeyLevel::Top));
        let x = encrypt_as(&sk, &noise(4, 1), &[4], slots_at(None), 1);
        let runs_of = |work: &dyn Fn() -> Ciphertext| {
            // The first one leaves tables and derived keys behind.
            drop(work());
            device.take_runs();
            drop(work());
            device.take_runs()
        };
        let product = runs_of(&|| ev.multiply_rescale(&x, &x).expect("product"));
        let rotation = runs_of(&|| ev.rotate(&x, 1).expect("rotation"));
        // Where a sum of the KLSS method begins with zeroes, what waits is sent off first.
        let most = if switching == Switching::AsMade { 1 } else { 2 };
        for runs in [&product, &rotation] {
            assert!(
                (1..=most).contains(&runs.len()) && runs.iter().sum::<usize>() >= 4,
                "{preset}: {product:?}, {rotation:?}"
            );
        }
    }
}

#[test]
fn threads_share_derived_keys_that_come_and_go() {
    let rotations = |runtime: &Runtime| {
        let params = Params::preset("insecure_deep", runtime).expect("preset");
        let steps = [1, 2, 3, 4];
        let (sk, ev) = setup_of(&params, &KeyNeeds::new().rotations(steps, KeyLevel::Top));
        let x = encrypt_as(&sk, &noise(8, 1), &[8], slots_at(None), 1);
        let turn = |step: i64| ev.rotate(&x, step).expect("rotation").to_file_bytes().expect("bytes");
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|thread| {
                    scope.spawn(move || (0..12).map(|i| turn(steps[(thread + i) % 4])).collect::<Vec<_>>())
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().expect("worker")).collect::<Vec<_>>()
        })
    };
    let switching = Switching::Fixed(SwitchMethod::klss(2, 2));
    let device = any_device();
    // Space for about one derived key, and for none.
    for bytes in [1 << 20, 0] {
        let own = |runtime: Runtime| Runtime { key_cache_bytes: Some(bytes), ..runtime };
        let expected = rotations(&own(Runtime { switching, ..Runtime::default() }));
        assert!(rotations(&own(on(device.clone(), switching))) == expected, "{bytes} bytes");
        assert_eq!(device.allocated_bytes(), 0);
    }
}

#[test]
fn memory_comes_back_over_ten_thousand_operations() {
    let device = any_device();
    let params = Params::preset("insecure_tiny", &on(device.clone(), Switching::AsMade)).expect("preset");
    let (sk, ev) =
        setup_of(&params, &KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1], KeyLevel::Top));
    let x = encrypt_as(&sk, &noise(4, 1), &[4], slots_at(None), 1);
    let four = || {
        let product = ev.multiply_rescale(&x, &x).expect("product");
        let sum = ev.add(&product, &product).expect("sum");
        drop(ev.rotate(&sum, 1).expect("rotation"));
        drop(ev.negate(&sum).expect("negated"));
    };
    // The first ones leave tables that the others use.
    four();
    let before = device.allocated_bytes();
    (0..2_500).for_each(|_| four());
    assert_eq!(device.allocated_bytes(), before);
}

#[test]
fn a_full_device_is_an_error_with_numbers_and_harms_nothing() {
    let device = Arc::new(HostDevice::default().with_memory(2 << 20));
    let params = Params::preset("insecure_tiny", &on(device.clone(), Switching::AsMade)).expect("preset");
    let (sk, ev) = setup_of(&params, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let x = encrypt_as(&sk, &noise(4, 1), &[4], slots_at(None), 1);
    drop(ev.multiply_rescale(&x, &x).expect("product"));
    let before = device.allocated_bytes();
    let mut kept = Vec::new();
    let panic = loop {
        match catch_unwind(AssertUnwindSafe(|| ev.multiply_rescale(&x, &x).expect("product"))) {
            Ok(product) => kept.push(product),
            Err(panic) => break panic,
        }
        assert!(kept.len() < 10_000, "two mebibytes are never full");
    };
    let error = *panic.downcast::<DeviceError>().expect("the device's error");
    let DeviceError::OutOfMemory { needed, free, total, .. } = &error else { panic!("{error:?}") };
    assert!(*needed > *free && *total == 2 << 20, "{error}");
    assert!(
        error.to_string().contains("has no room for") && error.to_string().contains("device=\"cpu\""),
        "{error}"
    );
    drop(kept);
    assert_eq!(device.allocated_bytes(), before, "what the operation had allocated is freed");
    assert_close(
        &decrypt(&sk, &ev.multiply_rescale(&x, &x).expect("product"))[..4],
        &noise(4, 1).iter().map(|x| x * x).collect::<Vec<_>>(),
        1e-6,
    );
}

#[test]
fn a_device_that_fails_is_an_error_and_leaves_the_host_as_it_was() {
    let device = host();
    let (here, there) = (Runtime::default(), on(device.clone(), Switching::AsMade));
    let params = Params::preset("insecure_tiny", &here).expect("preset");
    let needs = KeyNeeds::new().relinearise(KeyLevel::Top);
    let (sk, ev) = setup_of(&params, &needs);
    let x = encrypt_as(&sk, &noise(4, 1), &[4], slots_at(None), 1);
    let before = x.to_file_bytes().expect("bytes");
    let keys = sk
        .clone()
        .with_rng(SecretRng::from_seed([77; 32]))
        .evaluation_keys(&needs)
        .expect("keys")
        .under(&there)
        .expect("moved");
    let (far, moved) = (Evaluator::with_keys(keys), x.under(&there).expect("moved"));
    drop(far.multiply_rescale(&moved, &moved).expect("product"));
    let allocated = device.allocated_bytes();
    // At every call of a product.
    let mut failures = 0;
    for calls in 0..1_000 {
        device.fail_after(calls);
        let result =
            catch_unwind(AssertUnwindSafe(|| far.multiply_rescale(&moved, &moved).expect("product")));
        device.fail_after(u64::MAX);
        let Err(panic) = result else { break };
        let error = panic.downcast::<DeviceError>().expect("the device's error").to_string();
        assert!(error.contains("it is gone") && error.contains("unharmed"), "{error}");
        assert_eq!(device.allocated_bytes(), allocated, "after {calls} calls");
        failures += 1;
    }
    assert!((5..1_000).contains(&failures), "{failures} calls");
    assert_eq!(x.to_file_bytes().expect("bytes"), before);
    let squares: Vec<f64> = noise(4, 1).iter().map(|x| x * x).collect();
    assert_close(&decrypt(&sk, &ev.multiply_rescale(&x, &x).expect("product"))[..4], &squares, 1e-6);
    let again = far.multiply_rescale(&moved, &moved).expect("product").under(&here).expect("back");
    assert_close(&decrypt(&sk, &again)[..4], &squares, 1e-6);
}

#[test]
fn levels_switch_as_on_the_processor_unless_they_are_tuned_for_the_device() {
    let device = host();
    let on_device = |switching: Switching| {
        let mut there = on(device.clone(), switching);
        there.engine = there.engine.map(|factory| {
            let profile = MachineProfile::built_in_device(true);
            factory.on_device(DeviceDescription { name: "test".to_owned(), kernels: device.name(), profile })
        });
        there
    };
    let report = |runtime: &Runtime| {
        let report =
            Params::preset("klss_n15", runtime).expect("preset").switching_report(None).expect("plan");
        report.rows.iter().map(|row| (row.level, row.method, row.r, row.r_tilde)).collect::<Vec<_>>()
    };
    let (processor, device, tuned) = (
        report(&Runtime::default()),
        report(&on_device(Switching::Fastest)),
        report(&on_device(Switching::Tuned)),
    );
    assert_eq!(processor, device);
    assert_eq!(processor.len(), tuned.len());
    assert!(processor != tuned, "{processor:?}");
}

#[test]
fn a_device_that_fails_while_secrets_are_alive_is_an_error_too() {
    type Work<'a> = Box<dyn Fn() + 'a>;
    let device = host();
    let there = on(device.clone(), Switching::AsMade);
    let params = Params::preset("insecure_rank2", &there).expect("preset");
    let (sk, ev) = setup_of(&params, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let x = encrypt_as(&sk, &noise(4, 1), &[4], slots_at(None), 1);
    let works: [(&str, Work); 3] = [
        (
            "keys",
            Box::new(|| drop(sk.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top)).expect("keys"))),
        ),
        ("encryption", Box::new(|| drop(sk.encrypt(&[1.0]).expect("encryption")))),
        ("decryption", Box::new(|| drop(sk.decrypt(&x).expect("decryption")))),
    ];
    for (name, work) in &works {
        let mut failures = 0;
        // Every call at first, then some: a device that is gone does not come back within an operation.
        for calls in (0..60).chain((60..4_000).step_by(97)) {
            device.fail_after(calls);
            let result = catch_unwind(AssertUnwindSafe(work));
            device.fail_after(u64::MAX);
            let Err(panic) = result else { break };
            assert!(
                panic.downcast::<DeviceError>().is_ok_and(|error| error.to_string().contains("it is gone")),
                "{name}, {calls} calls"
            );
            failures += 1;
        }
        assert!(failures > 3, "{name}: {failures} calls");
    }
    let product = ev.multiply_rescale(&x, &x).expect("product");
    assert_close(&decrypt(&sk, &product)[..4], &noise(4, 1).iter().map(|x| x * x).collect::<Vec<_>>(), 1e-6);
}
