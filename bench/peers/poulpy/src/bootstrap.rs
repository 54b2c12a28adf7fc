//! Bootstraps of all slots by the library's own presets: one preset per run, one JSON row.
//!
//! Sits below main.rs, which reads the command line. Rows follow bench/README.md.

use std::time::Instant;

use poulpy_ckks::api::{
    CKKSAllOpsTmpBytes, CKKSBootstrappingCIOps, CKKSBootstrappingOps, CKKSDecryptOps, CKKSEncodingHostOps, CKKSEncryptOps,
};
use poulpy_ckks::layouts::{
    BootstrappingContextPrepared, BootstrappingKeySet, BootstrappingKeysLayout, BootstrappingKeysPrepared, CKKSCiphertextAlloc,
    CKKSCiphertextOwned, CKKSPlaintextAlloc, CKKSPlaintextOwned, EvalModRing,
};
use poulpy_ckks::presets::bootstrapping::{BootstrappingPreset, all};
use poulpy_ckks::{CKKSInfos, CKKSLayout, GLWEPlaintextMeta, SetCKKSInfos};
use poulpy_core::api::{
    GGLWEPreparedFactory, GLWEAutomorphismKeyPreparedFactory, GLWECIKeyPreparedFactory, GLWESecretPreparedFactory, GLWESecretSampling,
    GLWESwitchingKeyPreparedFactory, GLWETensorKeyPreparedFactory,
};
use poulpy_core::layouts::{
    BackendGLWESecret, GLWELayout, GLWESecretAlloc, GLWETensorKey, GLWETensorKeyPrepared, LWEInfos, SetK, TorusPrecision,
};
use poulpy_cpu_avx512::{NTT3x42CIIfma as EngineCI, NTT3x42Ifma as Engine};
use poulpy_hal::api::{ScratchOwnedAlloc, ScratchOwnedBorrow};
use poulpy_hal::layouts::{Backend, Module, ScratchArena, ScratchOwned};
use poulpy_hal::source::Source;

use crate::{Complexes, Failure, MAX_ERROR, VERSION, WHO};

const RUNS: usize = 3;
/// Chance, in bits, that one bootstrap wraps in the engine's transform: the library's own benchmarks ask for as much.
const FAILURE_BITS: usize = 128;
/// Bits above the scale in a plaintext that is decrypted.
const PLAIN_BUDGET: usize = 8;

type Buffer = <Engine as Backend>::OwnedBuf;
type Keys<R> = BootstrappingKeysPrepared<Buffer, Engine, R>;
type RawKeys = BootstrappingKeySet<Buffer, i64>;
type Bootstrap = Box<dyn FnMut(&Module<Engine>, &mut CKKSCiphertextOwned<Engine>, &CKKSCiphertextOwned<Engine>) -> Result<(), Failure>>;

/// The preset of a name, at the widest limbs that the engine takes.
pub fn preset(name: &str) -> Result<Option<BootstrappingPreset>, Failure> {
    let found = all()?.into_iter().find(|preset| preset.name() == name);
    Ok(found.map(|preset| preset.with_backend_base2k::<Engine, EngineCI>(FAILURE_BITS)).transpose()?)
}

fn print(name: &str, fields: &str, extra: &str) {
    println!(r#"{{"work":"bootstrap","params":"{name}","who":"{WHO}",{fields},"extra":{{{extra}}}}}"#);
}

/// Key generation, the preparation of keys, and what a bootstrap needs, on one of the two rings of EvalMod.
struct Ready {
    bootstrap: Bootstrap,
    key_seconds: f64,
    key_bytes: usize,
}

fn sources() -> (Source, Source, Source) {
    (Source::new([7; 32]), Source::new([2; 32]), Source::new([1; 32]))
}

/// Prepares keys one after the other and drops each raw one at once: a prepared key takes three times the memory.
fn prepare<R: Backend>(
    module: &Module<Engine>,
    raw: RawKeys,
    scratch: &mut ScratchArena<'_, Engine>,
    tensor: impl FnOnce(&GLWETensorKey<Buffer, i64>, &mut ScratchArena<'_, Engine>) -> GLWETensorKeyPrepared<Buffer, R>,
) -> (Keys<R>, usize)
where
    Module<Engine>: GLWECIKeyPreparedFactory<Engine>,
{
    let mut bytes = module.glwe_tensor_key_prepared_bytes_of_from_infos(&raw.tensor_key);
    let tensor_key = tensor(&raw.tensor_key, scratch);
    let mut switching = |key, scratch: &mut ScratchArena<'_, Engine>| {
        bytes += module.glwe_switching_key_prepared_bytes_of_from_infos(&key);
        let mut prepared = module.glwe_switching_key_prepared_alloc_from_infos(&key);
        module.glwe_switching_key_prepare(&mut prepared, &key, scratch);
        prepared
    };
    let encapsulation_keys = raw.encapsulation_keys.map(|(down, up)| (switching(down, scratch), up.map(|key| switching(key, scratch))));
    let first_factor_keys = raw.first_factor_keys.into_iter().map(|(step, key)| (step, switching(key, scratch))).collect();
    let conversion_keys = raw.conversion_keys.map(|(trace, embed)| {
        bytes += module.gglwe_prepared_bytes_of_from_infos(&trace) + module.gglwe_prepared_bytes_of_from_infos(&embed);
        let mut trace_key = module.glwe_ci_trace_key_prepared_alloc_from_infos(&trace);
        module.glwe_ci_key_prepare(&mut trace_key, &trace, scratch);
        let mut embed_key = module.glwe_ci_embed_key_prepared_alloc_from_infos(&embed);
        module.glwe_ci_key_prepare(&mut embed_key, &embed, scratch);
        (trace_key, embed_key)
    });
    let rotation_keys = raw
        .rotation_keys
        .into_iter()
        .map(|(element, key)| {
            bytes += module.glwe_automorphism_key_prepared_bytes_of_from_infos(&key);
            let mut prepared = module.glwe_automorphism_key_prepared_alloc_from_infos(&key);
            module.glwe_automorphism_key_prepare(&mut prepared, &key, scratch);
            (element, prepared)
        })
        .collect();
    (BootstrappingKeysPrepared { rotation_keys, tensor_key, encapsulation_keys, first_factor_keys, conversion_keys }, bytes)
}

/// Scratch for everything but the bootstrap.
fn setup_bytes(module: &Module<Engine>, preset: &BootstrappingPreset, layout: &BootstrappingKeysLayout) -> usize {
    let (whole, coefficients) = (preset.bootstrap_layout(), preset.plan().eval_mod().coeffs_meta);
    let k = TorusPrecision((coefficients.log_delta() + coefficients.log_budget()) as u32);
    let plain = CKKSLayout { glwe_layout: GLWELayout { k, ..whole.glwe_layout }, ..whole };
    let operations = |key| module.ckks_all_ops_with_atk_tmp_bytes(&whole, &plain, &layout.tensor_key, key);
    let widest = layout.rotation_key_layouts().iter().map(operations).max().unwrap_or(0);
    widest.max(layout.prepare_tmp_bytes(module))
}

fn standard(module: &Module<Engine>, preset: &BootstrappingPreset, secret: &BackendGLWESecret<Engine>) -> Result<Ready, Failure> {
    let (plan, layout) = (preset.plan(), preset.keys_layout());
    let mut scratch = ScratchOwned::<Engine>::alloc(setup_bytes(module, preset, layout));
    let start = Instant::now();
    let (mut secrets, mut errors, mut masks) = sources();
    let raw = plan.generate_keys(module, secret, layout, &mut secrets, &mut errors, &mut masks, &mut scratch.borrow())?;
    let (keys, key_bytes) = prepare(module, raw, &mut scratch.borrow(), |key, scratch| {
        let mut prepared = module.glwe_tensor_key_prepared_alloc_from_infos(key);
        module.glwe_tensor_key_prepare(&mut prepared, key, scratch);
        prepared
    });
    let key_seconds = start.elapsed().as_secs_f64();
    let bytes = BootstrappingContextPrepared::<Engine, f64>::compile_unprepared_tmp_bytes(module, plan)?;
    let base2k = preset.bootstrap_layout().base2k();
    let context = BootstrappingContextPrepared::<Engine, f64>::compile_unprepared(
        module,
        base2k,
        plan,
        &mut ScratchOwned::<Engine>::alloc(bytes).borrow(),
    )?;
    let bytes = context.prepare_tmp_bytes(module);
    let context = context.prepare(module, &mut ScratchOwned::<Engine>::alloc(bytes).borrow())?;
    let bytes = module.ckks_bootstrap_tmp_bytes(&preset.bootstrap_layout(), &preset.input_layout(), &context, layout);
    let mut scratch = ScratchOwned::<Engine>::alloc(bytes);
    let bootstrap: Bootstrap =
        Box::new(move |module, output, input| Ok(module.ckks_bootstrap(output, input, &context, &keys, &mut scratch.borrow())?));
    Ok(Ready { bootstrap, key_seconds, key_bytes })
}

fn invariant(module: &Module<Engine>, preset: &BootstrappingPreset, secret: &BackendGLWESecret<Engine>) -> Result<Ready, Failure> {
    let (plan, layout) = (preset.plan(), preset.keys_layout());
    let ci = Module::<EngineCI>::new(preset.n() as u64);
    let (generate, generate_ci) = layout.generate_ci_tmp_bytes(module, &ci);
    let (fill, fill_ci) = layout.prepare_ci_tmp_bytes(module, &ci);
    let mut scratch = ScratchOwned::<Engine>::alloc(generate.max(fill));
    let mut scratch_ci = ScratchOwned::<EngineCI>::alloc(generate_ci.max(fill_ci));
    let start = Instant::now();
    let (mut secrets, mut errors, mut masks) = sources();
    let raw = plan.generate_keys_ci(
        module,
        &ci,
        secret,
        layout,
        &mut secrets,
        &mut errors,
        &mut masks,
        &mut scratch.borrow(),
        &mut scratch_ci.borrow(),
    )?;
    let (keys, key_bytes) = prepare(module, raw, &mut scratch.borrow(), |key, _| {
        let mut prepared = ci.glwe_tensor_key_prepared_alloc_from_infos(key);
        ci.glwe_tensor_key_prepare(&mut prepared, key, &mut scratch_ci.borrow());
        prepared
    });
    let key_seconds = start.elapsed().as_secs_f64();
    let base2k = preset.bootstrap_layout().base2k();
    let (bytes, bytes_ci) = BootstrappingContextPrepared::<Engine, f64>::compile_ci_unprepared_tmp_bytes(module, &ci, plan)?;
    let context = BootstrappingContextPrepared::<Engine, f64>::compile_ci_unprepared(
        module,
        &ci,
        base2k,
        plan,
        &mut ScratchOwned::<Engine>::alloc(bytes).borrow(),
        &mut ScratchOwned::<EngineCI>::alloc(bytes_ci).borrow(),
    )?;
    let bytes = context.prepare_tmp_bytes(module);
    let context = context.prepare(module, &mut ScratchOwned::<Engine>::alloc(bytes).borrow())?;
    let (wide, narrow) = (preset.bootstrap_layout(), preset.input_layout());
    let (bytes, bytes_ci) = module.ckks_bootstrap_ci_tmp_bytes(&ci, &wide, &narrow, &context, layout);
    let (mut scratch, mut scratch_ci) = (ScratchOwned::<Engine>::alloc(bytes), ScratchOwned::<EngineCI>::alloc(bytes_ci));
    let bootstrap: Bootstrap = Box::new(move |module, output, input| {
        Ok(module.ckks_bootstrap_ci_into(&ci, output, input, &context, &keys, &mut scratch.borrow(), &mut scratch_ci.borrow())?)
    });
    Ok(Ready { bootstrap, key_seconds, key_bytes })
}

/// Complex numbers uniform in the unit square [-1, 1) x [-1, 1), always the same.
fn uniform(count: usize) -> Complexes {
    let mut source = Source::new([40; 32]);
    (0..count).map(|_| (source.next_f64(-1.0, 1.0), source.next_f64(-1.0, 1.0))).unzip()
}

/// The most memory that this process has had, "null" where the system does not tell.
fn peak_bytes() -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or("null".to_owned(), |kib| (kib * 1024).to_string())
}

/// Measures the bootstraps of one preset; true if the result was right.
pub fn run(preset: &BootstrappingPreset, memory_gib: f64) -> Result<bool, Failure> {
    let (name, n, layout) = (preset.name(), preset.n(), preset.keys_layout());
    let invariant_ring = preset.plan().eval_mod_ring() != EvalModRing::Standard;
    let module = Module::<Engine>::new(if invariant_ring { 2 * n } else { n } as u64);
    let wanted: usize = layout.rotation_keys.values().map(|key| module.glwe_automorphism_key_prepared_bytes_of_from_infos(key)).sum();
    let wanted_gib = wanted as f64 / (1u64 << 30) as f64;
    if wanted_gib > memory_gib {
        let reason = format!("rotation keys of {wanted_gib:.1} GiB do not fit in {memory_gib:.1} GiB");
        print(name, &format!(r#""absent":"{reason}""#), "");
        return Ok(true);
    }
    let whole = preset.bootstrap_layout();
    let mut raw_secret = module.glwe_secret_alloc_from_infos(&whole.glwe_layout);
    module.glwe_secret_fill_ternary_hw(&mut raw_secret, preset.dense_secret_hamming_weight(), &mut Source::new([3; 32]));
    let mut secret = module.glwe_secret_prepared_alloc_from_infos(&whole.glwe_layout);
    module.glwe_secret_prepare(&mut secret, &raw_secret);
    let mut ready = if invariant_ring { invariant } else { standard }(&module, preset, &raw_secret)?;

    let mut scratch = ScratchOwned::<Engine>::alloc(setup_bytes(&module, preset, layout));
    let (re, im) = uniform(n / 2);
    let narrow = preset.input_layout();
    let mut plain: CKKSPlaintextOwned<Engine> = module.ckks_plaintext_alloc_from_slots(n / 2, narrow.base2k(), narrow.k());
    plain.set_meta(narrow.meta());
    module.ckks_encode_slots_host_into(&mut plain, &re, &im, &mut scratch.borrow())?;
    let mut input = module.ckks_ciphertext_alloc_from_glwe_infos(&narrow);
    let (_, mut errors, mut masks) = sources();
    module.ckks_encrypt_sk(&mut input, &plain, &secret, &mut errors, &mut masks, &mut scratch.borrow())?;
    let mut output = module.ckks_ciphertext_alloc_from_glwe_infos(&whole);
    let (mut samples, mut mean, mut worst) = (Vec::new(), 0.0, 0.0f64);
    for round in 0..=RUNS {
        output.set_k(TorusPrecision(preset.bootstrap_k() as u32));
        let start = Instant::now();
        (ready.bootstrap)(&module, &mut output, &input)?;
        let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
        if round > 0 {
            samples.push(elapsed_ms);
            continue;
        }
        let k = TorusPrecision((preset.log_delta() + PLAIN_BUDGET) as u32);
        let mut opened: CKKSPlaintextOwned<Engine> = module.ckks_plaintext_alloc_from_slots(n / 2, narrow.base2k(), k);
        opened.set_meta(GLWEPlaintextMeta { ..narrow.meta() });
        module.ckks_decrypt(&mut opened, &output, &secret, &mut scratch.borrow())?;
        let (mut found_re, mut found_im) = (vec![0.0; n / 2], vec![0.0; n / 2]);
        module.ckks_decode_slots_host_into(&opened, &mut found_re, &mut found_im, &mut scratch.borrow())?;
        let parts = || re.iter().zip(&found_re).chain(im.iter().zip(&found_im)).map(|(a, b): (&f64, &f64)| (a - b).abs());
        (mean, worst) = (parts().sum::<f64>() / n as f64, parts().fold(0.0, f64::max));
        if mean.is_nan() || worst >= MAX_ERROR || output.k().as_usize() != preset.output_k() {
            print(name, &format!(r#""absent":"wrong result: error {worst:.3e}, {} bits""#, output.k().as_usize()), "");
            return Ok(false);
        }
    }
    samples.sort_by(f64::total_cmp);
    let widest = layout.rotation_keys.values().map(|key| key.k().as_usize()).max().unwrap_or(0);
    let left = preset.output_k() - preset.input_k();
    // The library has its secrets and widest keys from a table of 128-bit security; it states no failure probability of the bootstrap.
    print(
        name,
        &format!(r#""median_ms":{:.6},"min_ms":{:.6},"max_ms":{:.6},"runs":{RUNS}"#, samples[RUNS / 2], samples[0], samples[RUNS - 1]),
        &format!(
            concat!(
                r#""preset":"{}","degree":{},"slots":{},"log_qp":{},"security_bits":128,"log2_failure":null,"bits_left":{},"#,
                r#""levels_left":{},"mean_bits":{},"worst_bits":{},"max_error":{:e},"key_bytes":{},"key_seconds":{:.3},"#,
                r#""peak_bytes":{},"base2k":{},"version":"{}""#
            ),
            name,
            n,
            n / 2,
            widest,
            left,
            left / preset.log_delta(),
            -mean.log2(),
            -worst.log2(),
            worst,
            ready.key_bytes,
            ready.key_seconds,
            peak_bytes(),
            preset.base2k(),
            VERSION
        ),
    );
    Ok(true)
}
