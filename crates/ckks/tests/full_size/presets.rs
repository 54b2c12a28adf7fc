//! The secure sets at their full size: every operation to the predicted precision.

use std::time::Instant;

use crate::alone;
use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::parameters::KeyModulus;
use clathrate_ckks::{KeyNeeds, Params};
use clathrate_lattice::security::estimated_bits;

/// All operations of one preset or set of the benchmarks. Its primes are below 2^45.9, where the cheap
/// butterfly works.
fn check(name: &str) {
    let start = Instant::now();
    // Keys of the largest sets take ten gigabytes while they are made: one such set at a time.
    let spec = all_sets().into_iter().find(|spec| spec.name == name).expect("a set");
    let params = Params::new(spec, &base_runtime()).expect("a set");
    let _alone = (params.degree() * params.rank() >= 1 << 15).then(alone);
    let spec = params.spec();
    let own = estimated_bits(spec.degree * spec.rank, params.log2_qp(), spec.distribution());
    assert_eq!(
        params.security_bits(),
        params.key_switching(KeyModulus::Widened).map_or(own, |widened| own.min(widened.security_bits))
    );
    assert!(
        params.security_bits() >= if spec.below_128 { 110.0 } else { 128.0 },
        "{name}: {}",
        params.security_bits()
    );
    // One prime is the whole modulus of pack_n12, whose precision would suffer from a smaller one.
    let worst = check_chain(&params, if name == "pack_n12" { 50.0 } else { 45.9 });
    assert!(worst < largest_deviation(&params), "{name}: scales deviate by {worst:e}");
    println!(
        "{name}: scales deviate by at most 2^{:.1}; parameters after {:.1} s",
        worst.log2(),
        start.elapsed().as_secs_f64()
    );
    if spec.log2_scale > 64.0 {
        // Its precision is beyond double precision: what it is for, sharing results, is tried with the attack
        // on raw ones.
        return;
    }
    encrypts(&params);
    if params.max_level().0 == 0 || ["paper_pcmm", "matmul", "ccmm_n12"].contains(&name) {
        // There is no step, or it is smaller than the scale: for packing and products of matrices, which have
        // tests of their own.
        return;
    }
    computes(&params);
    println!("{name}: {:.1} s", start.elapsed().as_secs_f64());
}

/// How far scales may be from the nominal one: 2^-15 where there are primes enough. Smaller scales take what
/// primes there are, half of them on either side, in the mean `n ln(scale)` apart: of the numbers congruent
/// to 1 mod `2n`, 2 in `ln(scale)` are prime.
fn largest_deviation(params: &Params) -> f64 {
    let log2_scale = params.spec().log2_scale;
    if log2_scale >= 40.0 || params.degree() < 1 << 15 {
        return (-15f64).exp2();
    }
    let gap = params.degree() as f64 * log2_scale * std::f64::consts::LN_2;
    params.chain().ring().moduli().len() as f64 / 2.0 * gap / log2_scale.exp2()
}

fn encrypts(params: &Params) {
    let sk = secret(params, 1);
    let slots = params.slot_count();
    let z = phases(slots, 2);
    let ct = encrypt_as(&sk, &Values::Complex(z.clone()), &[slots], EncryptOptions::default(), 3);
    let explained = params.explain();
    assert_bits(
        "fresh slots",
        complex_deviation(&decrypt_complex(&sk, &ct), &z),
        explained.fresh_slot_bits,
        0.1,
    );
}

fn computes(params: &Params) {
    let sk = secret(params, 4);
    let (slots, top) = (params.slot_count(), params.max_level());
    // Keys of large sets take gigabytes at the top: there rotations are tried at level 3.
    let key_level = if params.degree() * params.rank() < 1 << 15 { top } else { clathrate_lattice::Level(3) };
    let needs = KeyNeeds::new()
        .conjugate(KeyLevel::Level(key_level.0))
        .rotations([5], KeyLevel::Level(key_level.0))
        .relinearise(KeyLevel::Top);
    let start = Instant::now();
    let ev = evaluator(&sk, &needs);
    println!("keys: {:.1} s", start.elapsed().as_secs_f64());
    let (x, y) = (phases(slots, 5), phases(slots, 6));
    let encrypt = |z: &[_], seed| {
        encrypt_as(&sk, &Values::Complex(z.to_vec()), &[slots], EncryptOptions::default(), seed)
    };
    let (cx, cy) = (encrypt(&x, 7), encrypt(&y, 8));
    let explained = params.explain().product_slot_bits.expect("levels");
    let product: Vec<_> = x.iter().zip(&y).map(|(a, b)| a * b).collect();
    let fused = ev.multiply_rescale(&cx, &cy).expect("product");
    assert_eq!(fused.scale(), params.scale(fused.level()));
    assert_bits("fused product", complex_deviation(&decrypt_complex(&sk, &fused), &product), explained, 0.1);
    let twice = ev.rescale(&ev.multiply(&cx, &cy).expect("product")).expect("rescale");
    assert_bits(
        "product, rescaled",
        complex_deviation(&decrypt_complex(&sk, &twice), &product),
        explained,
        0.1,
    );
    let low = ev.drop_to_level(&cx, key_level).expect("down");
    let fresh = params.noise_model().fresh_secret()
        + if key_level < top { params.noise_model().rounding() } else { 1.0 / 12.0 };
    let predicted = slot_bits(params, fresh + switch_variance(params, params.rank(), key_level), low.scale());
    let mut rolled = x.clone();
    rolled.rotate_left(5);
    assert_bits(
        "rotation",
        complex_deviation(&decrypt_complex(&sk, &ev.rotate(&low, 5).expect("rotation")), &rolled),
        predicted,
        0.1,
    );
    let conjugates: Vec<_> = x.iter().map(|z| z.conj()).collect();
    assert_bits(
        "conjugation",
        complex_deviation(&decrypt_complex(&sk, &ev.conjugate(&low).expect("conjugation")), &conjugates),
        predicted,
        0.1,
    );
}

#[test]
fn every_secure_preset_is_tried_at_full_size() {
    let mut secure = all_sets();
    // Sets for bootstrapping have segments of different scales; tests/bootstrap.rs tries them.
    secure.retain(|spec| {
        let params = Params::new(spec.clone(), &base_runtime()).expect("a set");
        !spec.insecure && !params.has_bootstrap_levels()
    });
    let mut secure: Vec<String> = secure.into_iter().map(|spec| spec.name).collect();
    let mut tried: Vec<String> = TRIED.iter().map(|&name| name.to_owned()).collect();
    secure.sort();
    tried.sort();
    assert_eq!(tried, secure);
}

macro_rules! presets {
    ($($test:ident: $name:literal;)*) => {
        const TRIED: &[&str] = &[$($name),*];
        $(
            #[test]
            #[ignore = "full size: make test-full"]
            fn $test() {
                check($name);
            }
        )*
    };
}

presets! {
    n12_computes_to_its_precision: "n12";
    n13_computes_to_its_precision: "n13";
    n14_computes_to_its_precision: "n14";
    share_n14_has_its_scales: "share_n14";
    n15_computes_to_its_precision: "n15";
    n16_computes_to_its_precision: "n16";
    rank2_n14_computes_to_its_precision: "rank2_n14";
    rank3_n13_computes_to_its_precision: "rank3_n13";
    rank4_n13_computes_to_its_precision: "rank4_n13";
    paper_pcmm_encrypts_to_its_precision: "paper_pcmm";
    bench_n14_computes_to_its_precision: "bench_n14";
    bench_n15_one_computes_to_its_precision: "bench_n15_one";
    bench_n15_mid_computes_to_its_precision: "bench_n15_mid";
    bench_n15_low_computes_to_its_precision: "bench_n15_low";
    bench_n16_one_computes_to_its_precision: "bench_n16_one";
    bench_n16_mid_computes_to_its_precision: "bench_n16_mid";
    bench_n16_low_computes_to_its_precision: "bench_n16_low";
    klss_n15_computes_to_its_precision: "klss_n15";
    pack_n12_computes_to_its_precision: "pack_n12";
    paper_hermes_n12_computes_to_its_precision: "paper_hermes_n12";
    klss_n16_computes_to_its_precision: "klss_n16";
    level_aware_computes_to_its_precision: "level_aware";
    ccmm_n12_encrypts_to_its_precision: "ccmm_n12";
    matmul_encrypts_to_its_precision: "matmul";
    dpad_n13_r2_computes_to_its_precision: "dpad_n13_r2";
    dpad_n14_r2_computes_to_its_precision: "dpad_n14_r2";
    dpad_n13_r4_computes_to_its_precision: "dpad_n13_r4";
    dpad_n15_r2_computes_to_its_precision: "dpad_n15_r2";
    dpad_n14_r4_computes_to_its_precision: "dpad_n14_r4";
    paper_dpad_n13_r2_computes_to_its_precision: "paper_dpad_n13_r2";
    paper_dpad_n13_r3_computes_to_its_precision: "paper_dpad_n13_r3";
    paper_dpad_n13_r4_computes_to_its_precision: "paper_dpad_n13_r4";
    paper_dpad_n13_r5_computes_to_its_precision: "paper_dpad_n13_r5";
    paper_dpad_n13_r6_computes_to_its_precision: "paper_dpad_n13_r6";
    paper_dpad_n13_r7_computes_to_its_precision: "paper_dpad_n13_r7";
    paper_dpad_n13_r8_computes_to_its_precision: "paper_dpad_n13_r8";
    paper_dpad_n14_r2_computes_to_its_precision: "paper_dpad_n14_r2";
    paper_dpad_n15_r2_computes_to_its_precision: "paper_dpad_n15_r2";
    paper_dpad_n14_r4_computes_to_its_precision: "paper_dpad_n14_r4";
}
