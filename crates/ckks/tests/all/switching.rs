//! Plans of switching in figures, and keys derived ahead of use.

use std::sync::Arc;

use crate::common::{assert_close, decrypt, ramp, recorded};
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::parameters::{ProfileOrigin, Switching};
use clathrate_ckks::{
    CkksError, EvaluationKeys, Evaluator, KeyNeeds, Params, ParamsSpec, Progress, Runtime, SecretKey,
};
use clathrate_lattice::switch::{MachineProfile, SwitchMethod};
use clathrate_lattice::{Level, SecretRng};

fn spec(rank: usize, levels: usize) -> ParamsSpec {
    let mut steps = vec![vec![30.0, 30.0]];
    steps.extend((1..levels).map(|_| vec![40.0]));
    ParamsSpec {
        name: format!("rank {rank}, {levels} levels"),
        // Rows of factors are whole cache lines from here on, so that bytes are exact.
        degree: 512,
        rank,
        steps,
        special: vec![42.0, 42.0],
        temporary: Vec::new(),
        temporary_rank: None,
        relative: None,
        log2_scale: 40.0,
        segments: Vec::new(),
        secret_weight: None,
        ephemeral_weight: None,
        ephemeral_special: None,
        bootstrap_key_bytes: None,
        bootstrap_log2_failure: None,
        digit_bits: None,
        insecure: true,
        below_128: false,
    }
}

/// Plans that depend on no file of the user's.
fn runtime(switching: Switching) -> Runtime {
    Runtime { switching, profile: Some(MachineProfile::built_in()), ..crate::common::base_runtime() }
}

fn keys(params: &Params) -> (SecretKey, EvaluationKeys) {
    let mut rng = SecretRng::from_seed([7; 32]);
    let sk = SecretKey::generate_with(params, &mut rng).expect("secret key");
    let needs = KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1, 2], KeyLevel::Top);
    let keys = sk.clone().with_rng(rng).evaluation_keys(&needs).expect("keys");
    (sk, keys)
}

#[test]
fn plan_has_the_planner_s_figures_at_every_rank_and_length() {
    for (rank, levels) in [(1, 1), (1, 2), (1, 6), (1, 14), (2, 5), (2, 12), (3, 12), (4, 11)] {
        let params = Params::new(spec(rank, levels), &runtime(Switching::Fastest)).expect("params");
        let plan = params.switching_report(None).expect("plan");
        let map = params.switcher().expect("switcher").map(params.max_level()).expect("planned");
        assert_eq!((plan.rows.len(), plan.refused.len()), (levels, 0));
        assert_eq!((plan.key_bytes, plan.derived_bytes), (map.key_bytes, map.derived_bytes), "{}", plan.name);
        for (row, planned) in plan.rows.iter().zip(&map.rows) {
            assert_eq!(
                (row.level, row.r, row.r_tilde),
                (planned.level.0, planned.method.special, planned.method.key_digit)
            );
            assert_eq!(row.digits, planned.digits);
            assert!(row.milliseconds > 0.0 && planned.nanoseconds > 0.0, "{row:?} {planned:?}");
        }
        assert_eq!(plan.origin, ProfileOrigin::Given);
        let text = plan.to_string();
        let is_row = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        assert_eq!(
            text.lines()
                .filter(is_row)
                .filter(|line| line.contains("hybrid") || line.contains("klss"))
                .count(),
            levels,
            "{text}"
        );
        for row in &plan.rows {
            assert_eq!(row.method, if row.r_tilde.is_some() { "klss" } else { "hybrid" });
        }
        // The legend explains each column that the rows fill.
        let legend =
            |symbol: &str| text.lines().any(|line| line.trim_start().starts_with(&format!("{symbol} ")));
        let has_key_digits = plan.rows.iter().any(|row| row.r_tilde.is_some());
        assert!(legend("r") && legend("d"), "{text}");
        assert!(["r~", "d~", "r'"].iter().all(|symbol| legend(symbol) == has_key_digits), "{text}");
        assert_eq!(legend("*"), plan.rows.iter().any(|row| row.as_made), "{text}");
    }
}

#[test]
fn plan_respects_the_memory_limit() {
    for expansion in [0.0, 0.1, 0.5, 1.0, 2.5, f64::INFINITY] {
        let runtime = Runtime { key_expansion: Some(expansion), ..runtime(Switching::Fastest) };
        let plan = Params::new(spec(2, 14), &runtime).expect("params").switching_report(None).expect("plan");
        assert!(plan.derived_bytes as f64 <= expansion * plan.key_bytes as f64);
        assert_eq!(plan.rows.len(), 14);
    }
}

#[test]
fn plan_of_keys_as_made_derives_nothing() {
    let plan = Params::new(spec(1, 12), &runtime(Switching::AsMade))
        .expect("params")
        .switching_report(None)
        .expect("plan");
    assert!(plan.rows.iter().all(|row| row.as_made && row.derived_bytes == 0));
    assert_eq!((plan.derived_bytes, plan.rows.len()), (0, 12));
}

#[test]
fn memory_limits_that_are_no_numbers_are_refused() {
    for bad in [-1.0, f64::NAN, f64::NEG_INFINITY] {
        let runtime = Runtime { key_expansion: Some(bad), ..runtime(Switching::Fastest) };
        let error = Params::new(spec(1, 3), &runtime).expect_err("refused");
        assert!(
            matches!(error, CkksError::OutOfRange { .. }) && error.to_string().contains("key_expansion"),
            "{error}"
        );
    }
}

#[test]
fn choices_that_fit_no_level_are_refused_with_numbers() {
    let refused = |spec: ParamsSpec, choice: SwitchMethod| {
        Params::new(spec, &runtime(choice.into())).expect_err("refused").to_string()
    };
    assert!(refused(spec(1, 12), SwitchMethod::hybrid(0)).contains("ask for 1 to"));
    assert!(refused(spec(1, 12), SwitchMethod::hybrid(99)).contains("99 special primes: 13 primes are free"));
    assert!(refused(spec(1, 12), SwitchMethod::klss(2, 0)).contains("1 prime or more"));
    assert!(refused(spec(1, 3), SwitchMethod::klss(1, 2)).contains("this one has 6: use the hybrid method"));
}

#[test]
fn derive_does_what_use_would_and_no_more() {
    for rank in [1, 2] {
        let params = Params::new(spec(rank, 12), &runtime(Switching::Fastest)).expect("params");
        let (sk, keys) = keys(&params);
        let (progress, seen) = recorded();
        let ready = keys.derive(None, &progress).expect("prepared");
        let seen = seen.lock().expect("no panic");
        assert_eq!(*seen, (0..seen.len()).map(|done| (done, seen.len() - 1)).collect::<Vec<_>>());
        assert!(ready > 0 && ready == keys.derived_bytes());
        let keys = Arc::new(keys);
        let evaluator = Evaluator::with_keys(keys.clone());
        for level in (1..12).rev() {
            let values = ramp(64);
            let options = EncryptOptions { level: Some(Level(level)), ..EncryptOptions::default() };
            let ct = sk.encrypt_array(&values, &[64], options).expect("encrypt");
            let product = evaluator
                .rotate(&evaluator.multiply_rescale(&ct, &ct).expect("product"), 1)
                .expect("rotation");
            let expected: Vec<f64> = (0..64).map(|i| values[(i + 1) % 64].powi(2)).collect();
            assert_close(&decrypt(&sk, &product), &expected, 1e-5);
        }
        assert_eq!(keys.derived_bytes(), ready);
        keys.drop_derived();
        assert_eq!(keys.derived_bytes(), 0);
    }
}

#[test]
fn derive_within_a_budget_stays_within_it() {
    let free = Params::new(spec(1, 12), &runtime(Switching::Fastest)).expect("params");
    let whole = keys(&free).1.derive(None, &Progress::none()).expect("prepared");
    for budget in [0, 1, whole / 3, whole - 1, whole] {
        let params = Params::new(
            spec(1, 12),
            &Runtime { key_cache_bytes: Some(budget), ..runtime(Switching::Fastest) },
        )
        .expect("params");
        let (_, keys) = keys(&params);
        let got = keys.derive(None, &Progress::none()).expect("prepared");
        assert!(got <= budget && (got == whole) == (budget == whole), "{got} of {budget}");
    }
}
