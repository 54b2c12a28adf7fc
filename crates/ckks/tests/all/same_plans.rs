//! Plans, keys and results do not depend on the machine: whatever profile is stored for it, all machines
//! choose alike.

use crate::common::*;
use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::circuits::conversion::{ConversionOptions, ConversionPlan};
use clathrate_ckks::circuits::mambo::{MamboOptions, MamboPlan};
use clathrate_ckks::circuits::matrix_plan::{MatrixOptions, MatrixPlan};
use clathrate_ckks::circuits::packing_plan::{PackingOptions, PackingPlan};
use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use clathrate_ckks::file::Stored;
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Values};
use clathrate_ckks::parameters::Switching;
use clathrate_ckks::{
    Encoding, Evaluator, KeyNeeds, LinearTransform, MachineProfile, Matrix, Params, Polynomial, RankSteps,
    Runtime,
};
use clathrate_lattice::Level;

/// Machines on which transforms, conversions, products, matrix products and memory are cheap or dear.
fn machines() -> Vec<MachineProfile> {
    let machine = |transform: f64, convert: f64, product: f64, matrix: f64, memory: f64| {
        let mut profile = MachineProfile::built_in();
        for times in &mut profile.kernels {
            times.transform = times.transform.map(|time| time * transform);
            times.convert *= convert;
            times.product *= product;
        }
        profile.matrix.multiply_add *= matrix;
        profile.matrix.start *= matrix;
        profile.read_ns_per_byte *= memory;
        profile.cache_bytes /= memory;
        profile
    };
    vec![
        machine(1.0, 1.0, 1.0, 1.0, 1.0),
        machine(50.0, 0.02, 0.02, 0.01, 0.01),
        machine(0.01, 30.0, 30.0, 100.0, 100.0),
    ]
}

fn under(name: &str, profile: &MachineProfile, switching: Switching) -> Params {
    Params::preset(name, &Runtime { profile: Some(profile.clone()), switching, ..base_runtime() })
        .expect("preset")
}

fn weights(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7 % 13) as f64 - 6.0) / 100.0).collect()
}

/// What every plan chooses, and the keys that it needs, as text.
fn choices(profile: &MachineProfile) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |name: String, choice: String| all.push((name, choice));
    for name in ["insecure_small", "insecure_boot", "insecure_deep"] {
        let params = under(name, profile, Switching::Fastest);
        let report = params.switching_report(None).expect("report");
        let methods: Vec<_> =
            report.rows.iter().map(|row| (row.method, row.as_made, row.r, row.r_tilde, row.digits)).collect();
        add(format!("methods of {name}"), format!("{methods:?}"));
        for slots in [16, 64] {
            let map = LinearTransform::from_matrix(&weights(slots * slots)[..], slots, slots).expect("map");
            let plan = map.plan(&params, params.fresh_level()).expect("plan");
            add(format!("map of {slots} on {name}"), format!("{:?} {:?}", plan.rotations(), plan.needs()));
        }
        let w = weights(64 * 64);
        let plan =
            MatrixPlan::new(&params, Matrix::new(64, 64, &w), 16, &MatrixOptions::default()).expect("plan");
        add(
            format!("matrix on {name}"),
            format!("{:?} {:?} {:?}", plan.chosen().method, plan.chosen().ring, plan.needs()),
        );
        let plan = PackingPlan::new(&params, &PackingOptions::default()).expect("plan");
        add(format!("packing on {name}"), format!("{} {:?}", plan.chosen().name(), plan.needs()));
        let x = Evaluator::recording(&params)
            .symbol(&[64], Encoding::Slots, params.fresh_level(), 1.0)
            .expect("symbol");
        let plan = ConversionPlan::new(&x, ConversionOptions::default()).expect("plan");
        add(format!("conversion on {name}"), format!("{:?}", plan.needs().expect("needs")));
    }
    let ranks = under("insecure_rank3", profile, Switching::Fastest);
    let plan = Polynomial::fit(f64::exp, 7, (-1.0, 1.0))
        .expect("fit")
        .plan(&ranks, ranks.max_level())
        .expect("plan");
    if let Ok(plan) = plan.with_rank_schedule(RankSteps::Single) {
        let rows = plan
            .rank_schedule()
            .map(|schedule| schedule.rows().iter().map(|row| (row.level, row.rank)).collect::<Vec<_>>());
        add("ranks".to_owned(), format!("{rows:?}"));
    }
    let boot = under("insecure_boot", profile, Switching::Fastest);
    for slots in [Some(8), Some(64), None] {
        for share in [None, Some(0.6)] {
            let free = BootstrapOptions { slots, ..BootstrapOptions::default() };
            let bytes = BootstrapPlan::with_options(&boot, free).expect("plan").key_bytes().expect("bytes");
            let options = BootstrapOptions {
                most_key_bytes: share.map(|share| (bytes as f64 * share) as usize),
                ..free
            };
            let needs = BootstrapPlan::with_options(&boot, options).map(|plan| plan.needs().expect("needs"));
            add(
                format!("bootstrap of {slots:?} within {share:?}"),
                format!("{:?}", needs.map_err(|error| error.to_string())),
            );
        }
    }
    let batch = BootstrapPlan::for_batch(&boot, 16, BootstrapOptions::default()).expect("plan");
    add("batch".to_owned(), format!("{} {:?}", batch.bodies(), batch.needs().expect("needs")));
    for count in [4, 1500] {
        let plan =
            SamplesPlan::new(&boot, &SamplesOptions { count: Some(count), ..SamplesOptions::default() })
                .expect("plan");
        add(format!("{count} samples"), format!("{} {:?}", plan.packing().name(), plan.needs()));
    }
    let w = weights(16 * 16);
    let plan =
        MamboPlan::fastest(&boot, Matrix::new(16, 16, &w), 32, &MamboOptions::default()).expect("plan");
    add("product inside a bootstrap".to_owned(), format!("{:?}", plan.needs().expect("needs")));
    all
}

#[test]
fn plans_and_their_keys_are_the_same_whatever_profile_is_stored() {
    let machines = machines();
    let expected = choices(&machines[0]);
    assert!(expected.len() > 20);
    for machine in &machines[1..] {
        for ((name, expected), (_, found)) in expected.iter().zip(choices(machine)) {
            assert_eq!(*expected, found, "{name}");
        }
    }
}

#[test]
fn results_are_the_same_bytes_whatever_profile_is_stored_unless_switching_is_tuned() {
    let bytes = |profile: &MachineProfile, switching: Switching| {
        let params = under("insecure_deep", profile, switching);
        let (sk, level) = (secret(&params, 3), params.fresh_level());
        let map = LinearTransform::from_matrix(&weights(64 * 64)[..], 64, 64)
            .expect("map")
            .plan(&params, level)
            .expect("plan");
        let needs = KeyNeeds::new()
            .relinearise(KeyLevel::Top)
            .rotations([1, -3], KeyLevel::Top)
            .conjugate(KeyLevel::Top);
        let ev = evaluator(&sk, &needs.merge(&map.needs().expect("needs")));
        let x = encrypt_as(&sk, &Values::Real(ramp(64)), &[64], EncryptOptions::default(), 9);
        let mut y = map.run(&ev, &x).expect("map");
        let mut results = vec![ev.conjugate(&ev.rotate(&x, -3).expect("rotation")).expect("conjugate")];
        while y.level() > Level(1) {
            y = ev.rotate(&ev.multiply_rescale(&y, &y).expect("product"), 1).expect("rotation");
            results.push(y.clone());
        }
        results.iter().map(|result| result.to_file_bytes().expect("bytes").to_vec()).collect::<Vec<_>>()
    };
    let machines = machines();
    let expected = bytes(&machines[0], Switching::Fastest);
    assert!(machines[1..].iter().all(|machine| bytes(machine, Switching::Fastest) == expected));
    let tuned = machines.iter().map(|machine| bytes(machine, Switching::Tuned));
    assert!(
        tuned.into_iter().any(|tuned| tuned != expected),
        "the machines are too much alike for this test"
    );
}

#[test]
fn predicted_times_are_those_of_the_profile_and_prices_are_not() {
    let time = |profile: &MachineProfile| {
        let params = under("insecure_deep", profile, Switching::Fastest);
        let recorder = Evaluator::recording(&params);
        let x = recorder.symbol(&[64], Encoding::Slots, params.fresh_level(), 1.0).expect("symbol");
        recorder.multiply_rescale(&x, &x).expect("product");
        let cost = recorder.recorded().cost();
        (cost.nanoseconds, cost.price)
    };
    let times: Vec<_> = machines().iter().map(time).collect();
    assert!(times.windows(2).all(|pair| pair[0].0 != pair[1].0 && pair[0].1 == pair[1].1), "{times:?}");
}
