//! Benchmarks of poulpy-ckks on its AVX-512 IFMA engine: one parameter set per run, one thread, one JSON row per line.
//!
//! Sits in bench/peers/poulpy; knows only Poulpy. Rows follow bench/README.md.
//! Poulpy has no prime chain: a ciphertext is `width` bits in limbs of `base2k` bits, a key has digits of whole limbs and
//! is `digits * digit_bits + guard` bits wide. That width stands for log QP, the ciphertext's for log Q.

mod bootstrap;

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use poulpy_ckks::api::{
    CKKSAddOps, CKKSAllOpsTmpBytes, CKKSDecryptOps, CKKSEncodingHostOps, CKKSEncryptOps, CKKSModuleInfos, CKKSMulOps, CKKSRotateOps,
};
use poulpy_ckks::layouts::{CKKSCiphertextAlloc, CKKSCiphertextOwned, CKKSPlaintextAlloc, CKKSPlaintextOwned};
use poulpy_ckks::{CKKSLayout, GLWEPlaintextMeta, Scale, SetCKKSInfos, SlotsKind};
use poulpy_core::api::{GLWEAutomorphismKeyPreparedFactory, GLWESecretPreparedFactory, GLWESecretSampling, GLWETensorKeyPreparedFactory};
use poulpy_core::layouts::prepared::{GLWEAutomorphismKeyPreparedToBackendRef, GLWESecretPrepared};
use poulpy_core::layouts::{
    BackendGLWESecret, Base2K, Degree, Dnum, GLWEAutomorphismKeyAlloc, GLWEAutomorphismKeyLayout, GLWEAutomorphismKeyPrepared, GLWELayout,
    GLWESecretAlloc, GLWETensorKeyAlloc, GLWETensorKeyLayout, Rank, TorusPrecision,
};
use poulpy_core::{GLWEAutomorphism, GLWEAutomorphismKeyEncryptSk, GLWETensorKeyEncryptSk};
use poulpy_cpu_avx512::NTT3x42Ifma as Engine;
use poulpy_hal::api::{ScratchOwnedAlloc, ScratchOwnedBorrow};
use poulpy_hal::layouts::{Backend, Module, ScratchOwned};
use poulpy_hal::source::Source;

type Failure = Box<dyn Error>;
type Key = GLWEAutomorphismKeyPrepared<<Engine as Backend>::OwnedBuf, Engine>;

const WHO: &str = "poulpy";
const VERSION: &str = "0.10.0";
const LOG_SCALE: usize = 40;
/// Bits above the scale in a plaintext: the values and their sums stay below 2^9.
const PLAIN_BUDGET: usize = 9;
const HOISTED: i64 = 8;
/// A 40-bit scale leaves at least 20 bits; anything above this is a wrong result.
const MAX_ERROR: f64 = 1e-3;
/// Chance, in bits, that a coefficient of a product wraps in the engine's 126-bit transform.
const FAILURE_BITS: usize = 64;

/// Width of ciphertexts and keys; `digit_limbs` limbs make a digit.
#[derive(Clone, Copy)]
struct ParamSet {
    log_n: usize,
    base2k: usize,
    width: usize,
    digit_limbs: usize,
    guard: usize,
}

/// The digits of `mid` and `low` are the fastest that fit below the modulus bound.
const PARAM_SETS: [(&str, ParamSet); 7] = [
    ("n14", ParamSet { log_n: 14, base2k: 57, width: 340, digit_limbs: 1, guard: 58 }),
    ("n15-one", ParamSet { log_n: 15, base2k: 55, width: 820, digit_limbs: 1, guard: 56 }),
    ("n15-mid", ParamSet { log_n: 15, base2k: 55, width: 660, digit_limbs: 4, guard: 221 }),
    ("n15-low", ParamSet { log_n: 15, base2k: 52, width: 460, digit_limbs: 3, guard: 171 }),
    ("n16-one", ParamSet { log_n: 16, base2k: 55, width: 1700, digit_limbs: 1, guard: 56 }),
    ("n16-mid", ParamSet { log_n: 16, base2k: 56, width: 1340, digit_limbs: 4, guard: 240 }),
    ("n16-low", ParamSet { log_n: 16, base2k: 56, width: 1100, digit_limbs: 4, guard: 240 }),
];

impl ParamSet {
    fn degree(&self) -> usize {
        1 << self.log_n
    }

    fn digit_bits(&self) -> usize {
        self.digit_limbs * self.base2k
    }

    fn digits(&self) -> usize {
        self.width.div_ceil(self.digit_bits())
    }

    fn key_bits(&self) -> usize {
        self.digits() * self.digit_bits() + self.guard
    }

    fn key_limbs(&self) -> usize {
        self.key_bits().div_ceil(self.base2k)
    }

    fn ciphertext(&self) -> GLWELayout {
        GLWELayout {
            n: Degree(self.degree() as u32),
            base2k: Base2K(self.base2k as u32),
            k: TorusPrecision(self.width as u32),
            rank: Rank(1),
        }
    }

    fn plaintext(&self) -> CKKSLayout {
        CKKSLayout {
            glwe_layout: GLWELayout { k: TorusPrecision((LOG_SCALE + PLAIN_BUDGET) as u32), ..self.ciphertext() },
            meta: GLWEPlaintextMeta { scale: Scale::Log(LOG_SCALE), slots: SlotsKind::Complex, log_sparsity: 0 },
        }
    }

    fn tensor_key(&self) -> GLWETensorKeyLayout {
        GLWETensorKeyLayout {
            n: Degree(self.degree() as u32),
            base2k: Base2K(self.base2k as u32),
            dnum: Dnum(self.digits() as u32),
            k_digit: TorusPrecision(self.digit_bits() as u32),
            k_aux: TorusPrecision(self.guard as u32),
            rank: Rank(1),
        }
    }

    fn rotation_key(&self) -> GLWEAutomorphismKeyLayout {
        let GLWETensorKeyLayout { n, base2k, dnum, k_digit, k_aux, rank } = self.tensor_key();
        GLWEAutomorphismKeyLayout { n, base2k, dnum, k_digit, k_aux, rank }
    }
}

/// Times operations of one parameter set and prints their rows.
struct Bench {
    params: String,
    extra: String,
    budget_ms: f64,
    most: usize,
    failed: bool,
}

impl Bench {
    fn row(&self, work: &str, fields: &str, more: &str) {
        println!(r#"{{"work":"{work}","params":"{}","who":"{WHO}",{fields},"extra":{{{}{more}}}}}"#, self.params, self.extra);
    }

    fn absent(&self, work: &str, reason: &str) {
        self.row(work, &format!(r#""absent":"{}""#, reason.replace(['"', '\\', '\n'], "'")), "");
    }

    /// Runs `operation` once unmeasured, checks its result by `check`, then measures it until the budget is spent.
    fn time<T>(
        &mut self,
        work: &str,
        note: &str,
        state: &mut T,
        mut operation: impl FnMut(&mut T) -> Result<(), Failure>,
        check: impl FnOnce(&mut T) -> Result<f64, Failure>,
    ) {
        match self.measure(state, &mut operation, check) {
            Ok((worst, samples)) => {
                let count = samples.len();
                let median = (samples[(count - 1) / 2] + samples[count / 2]) / 2.0;
                let (least, greatest) = (samples[0], samples[count - 1]);
                let note = if note.is_empty() { String::new() } else { format!(r#","note":"{note}""#) };
                self.row(
                    work,
                    &format!(r#""median_ms":{median:.6},"min_ms":{least:.6},"max_ms":{greatest:.6},"runs":{count}"#),
                    &format!(r#","max_error":{worst:e}{note}"#),
                );
            }
            Err(problem) => {
                self.failed = true;
                self.absent(work, &problem.to_string());
            }
        }
    }

    fn measure<T>(
        &self,
        state: &mut T,
        operation: &mut impl FnMut(&mut T) -> Result<(), Failure>,
        check: impl FnOnce(&mut T) -> Result<f64, Failure>,
    ) -> Result<(f64, Vec<f64>), Failure> {
        operation(state)?;
        let worst = check(state)?;
        if worst.is_nan() || worst >= MAX_ERROR {
            return Err(format!("wrong result: error {worst:.3e}").into());
        }
        let mut samples: Vec<f64> = Vec::new();
        let mut spent_ms = 0.0;
        while samples.is_empty()
            || (samples.len() < 3 && spent_ms < 8.0 * self.budget_ms)
            || (samples.len() < self.most && spent_ms < self.budget_ms)
        {
            let start = Instant::now();
            black_box(operation(state)?);
            let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
            samples.push(elapsed_ms);
            spent_ms += elapsed_ms;
        }
        samples.sort_by(f64::total_cmp);
        Ok((worst, samples))
    }
}

type Complexes = (Vec<f64>, Vec<f64>);

fn sample(count: usize, shift: f64) -> Complexes {
    (0..count)
        .map(|i| {
            let (radius, angle) = (0.5 + 0.5 * (i as f64 * 0.013).cos(), i as f64 * 0.7 + shift);
            (radius * angle.cos(), radius * angle.sin())
        })
        .unzip()
}

fn combine(left: &Complexes, right: &Complexes, join: impl Fn([f64; 2], [f64; 2]) -> [f64; 2]) -> Complexes {
    (0..left.0.len())
        .map(|i| {
            let [re, im] = join([left.0[i], left.1[i]], [right.0[i], right.1[i]]);
            (re, im)
        })
        .unzip()
}

fn rotated(values: &Complexes, steps: i64) -> Complexes {
    let mut values = values.clone();
    values.0.rotate_left(steps as usize);
    values.1.rotate_left(steps as usize);
    values
}

fn worst_error(want: &Complexes, have: &Complexes) -> f64 {
    (0..want.0.len()).map(|i| (want.0[i] - have.0[i]).hypot(want.1[i] - have.1[i])).fold(0.0, f64::max)
}

/// What every operation reads or writes besides its own ciphertexts.
struct Session {
    module: Module<Engine>,
    scratch: ScratchOwned<Engine>,
    secret: GLWESecretPrepared<<Engine as Backend>::OwnedBuf, Engine>,
    raw_secret: BackendGLWESecret<Engine>,
    masks: Source,
    errors: Source,
    set: ParamSet,
    opened: CKKSPlaintextOwned<Engine>,
    decoded: Complexes,
}

impl Session {
    fn new(set: ParamSet) -> Self {
        let module = Module::<Engine>::new(set.degree() as u64);
        let layout = set.ciphertext();
        let mut raw_secret = module.glwe_secret_alloc_from_infos(&layout);
        module.glwe_secret_fill_ternary_prob(&mut raw_secret, 2.0 / 3.0, &mut Source::new([3; 32]));
        let mut secret = module.glwe_secret_prepared_alloc_from_infos(&layout);
        module.glwe_secret_prepare(&mut secret, &raw_secret);
        let mut widest = module.ckks_ciphertext_alloc_from_glwe_infos(&layout);
        widest.set_meta(set.plaintext().meta);
        let bytes = module
            .ckks_all_ops_with_atk_tmp_bytes(&widest, &set.plaintext(), &set.tensor_key(), &set.rotation_key())
            .max(module.glwe_automorphism_many_tmp_bytes(&layout, &layout, &set.rotation_key()))
            .max(CKKSEncodingHostOps::<Engine, f64>::ckks_encoding_host_tmp_bytes(&module, set.degree() / 2));
        let slots = set.degree() / 2;
        Self {
            scratch: ScratchOwned::<Engine>::alloc(bytes),
            opened: module.ckks_plaintext_alloc_from_infos(&set.plaintext()),
            decoded: (vec![0.0; slots], vec![0.0; slots]),
            module,
            secret,
            raw_secret,
            masks: Source::new([1; 32]),
            errors: Source::new([2; 32]),
            set,
        }
    }

    fn ciphertext(&self, width: usize) -> CKKSCiphertextOwned<Engine> {
        self.module.ckks_ciphertext_alloc_from_glwe_infos(&GLWELayout { k: TorusPrecision(width as u32), ..self.set.ciphertext() })
    }

    fn encode(&mut self, plain: &mut CKKSPlaintextOwned<Engine>, values: &Complexes) -> Result<(), Failure> {
        Ok(self.module.ckks_encode_slots_host_into(plain, &values.0, &values.1, &mut self.scratch.borrow())?)
    }

    fn encrypt(&mut self, ct: &mut CKKSCiphertextOwned<Engine>, plain: &CKKSPlaintextOwned<Engine>) -> Result<(), Failure> {
        Ok(self.module.ckks_encrypt_sk(ct, plain, &self.secret, &mut self.errors, &mut self.masks, &mut self.scratch.borrow())?)
    }

    fn decrypt(&mut self, ct: &CKKSCiphertextOwned<Engine>) -> Result<(), Failure> {
        Ok(self.module.ckks_decrypt(&mut self.opened, ct, &self.secret, &mut self.scratch.borrow())?)
    }

    fn decode(&mut self) -> Result<(), Failure> {
        let (re, im) = &mut self.decoded;
        Ok(self.module.ckks_decode_slots_host_into(&self.opened, re, im, &mut self.scratch.borrow())?)
    }

    fn open(&mut self, want: &Complexes, ct: &CKKSCiphertextOwned<Engine>) -> Result<f64, Failure> {
        self.decrypt(ct)?;
        self.decode()?;
        Ok(worst_error(want, &self.decoded))
    }

    fn rotation_key(&mut self, element: i64) -> Key {
        let layout = self.set.rotation_key();
        let mut key = self.module.glwe_automorphism_key_alloc_from_infos(&layout);
        let scratch = &mut self.scratch.borrow();
        self.module.glwe_automorphism_key_encrypt_sk(&mut key, element, &self.raw_secret, &mut self.errors, &mut self.masks, scratch);
        let mut prepared = self.module.glwe_automorphism_key_prepared_alloc_from_infos(&layout);
        self.module.glwe_automorphism_key_prepare(&mut prepared, &key, scratch);
        prepared
    }
}

fn run(name: &str, quick: bool, memory_gib: f64, shape: Option<String>) -> Result<bool, Failure> {
    let (_, mut set) = *PARAM_SETS.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("unknown parameter set {name}"))?;
    if let Some(shape) = shape {
        let shape: Vec<usize> = shape.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let [base2k, digit_limbs, guard] = shape[..] else { return Err("a shape is base2k,digit_limbs,guard".into()) };
        set = ParamSet { base2k, digit_limbs, guard, ..set };
    }
    let products = set.key_limbs().max(2 * set.width.div_ceil(set.base2k));
    let most = Module::<Engine>::max_base2k(set.degree(), products, FAILURE_BITS, false);
    if set.base2k > most {
        return Err(format!("limbs of {} bits overflow the transform: at most {most}", set.base2k).into());
    }
    let mut session = Session::new(set);
    let key_bytes = session.module.glwe_automorphism_key_prepared_bytes_of_from_infos(&set.rotation_key());
    let key_gib = key_bytes as f64 / (1u64 << 30) as f64;
    let mut bench = Bench {
        params: name.to_owned(),
        extra: format!(
            r#""log_qp":{},"log_q":{},"special_bits":{},"digits":{},"base2k":{},"key_gib":{key_gib:.3},"version":"{VERSION}""#,
            set.key_bits(),
            set.width,
            set.guard,
            set.digits(),
            set.base2k
        ),
        budget_ms: if quick { 100.0 } else { 800.0 },
        most: if quick { 5 } else { 50 },
        failed: false,
    };
    let slots = set.degree() / 2;
    let (left, right) = (sample(slots, 0.1), sample(slots, 0.9));
    let mut plain_left = session.module.ckks_plaintext_alloc_from_infos(&set.plaintext());
    let mut plain_right = session.module.ckks_plaintext_alloc_from_infos(&set.plaintext());
    let s = &mut session;
    {
        let state = &mut (&mut *s, &mut plain_left);
        bench.time(
            "encode",
            "no transform: plaintexts stay in coefficients",
            state,
            |(s, plain)| s.encode(plain, &left),
            |(s, plain)| {
                let (mut re, mut im) = (vec![0.0; slots], vec![0.0; slots]);
                s.module.ckks_decode_slots_host_into(&**plain, &mut re, &mut im, &mut s.scratch.borrow())?;
                Ok(worst_error(&left, &(re, im)))
            },
        );
    }
    s.encode(&mut plain_right, &right)?;
    let (mut ct_left, mut ct_right, mut out) = (s.ciphertext(set.width), s.ciphertext(set.width), s.ciphertext(set.width));
    let mut short = s.ciphertext(set.width - LOG_SCALE);
    bench.time("encrypt", "", &mut (&mut *s, &mut ct_left), |(s, ct)| s.encrypt(ct, &plain_left), |(s, ct)| s.open(&left, ct));
    s.encrypt(&mut ct_right, &plain_right)?;
    bench.time(
        "decrypt",
        "",
        s,
        |s| s.decrypt(&ct_left),
        |s| {
            s.decode()?;
            Ok(worst_error(&left, &s.decoded))
        },
    );
    bench.time("decrypt_decode", "", s, |s| s.decrypt(&ct_left).and_then(|()| s.decode()), |s| Ok(worst_error(&left, &s.decoded)));

    let sum = combine(&left, &right, |a, b| [a[0] + b[0], a[1] + b[1]]);
    let product = combine(&left, &right, |a, b| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]);
    bench.time(
        "add",
        "the sum is not normalised",
        &mut (&mut *s, &mut out),
        |(s, out)| Ok(s.module.ckks_add_into(*out, &ct_left, &ct_right, &mut s.scratch.borrow())?),
        |(s, out)| s.open(&sum, out),
    );
    bench.time(
        "multiply_plain",
        "the result is already rescaled",
        &mut (&mut *s, &mut short),
        |(s, out)| Ok(s.module.ckks_mul_pt_vec_into(*out, &ct_left, &plain_right, &mut s.scratch.borrow())?),
        |(s, out)| s.open(&product, out),
    );
    if key_gib * 1.5 > memory_gib {
        for work in ["multiply_relinearise_rescale", "rotate", "hoisted_rotations_8"] {
            bench.absent(work, &format!("a switching key of {key_gib:.2} GiB does not fit in {memory_gib:.1} GiB"));
        }
        return Ok(!bench.failed);
    }
    {
        let layout = set.tensor_key();
        let mut key = s.module.glwe_tensor_key_alloc_from_infos(&layout);
        s.module.glwe_tensor_key_encrypt_sk(&mut key, &s.raw_secret, &mut s.errors, &mut s.masks, &mut s.scratch.borrow());
        let mut prepared = s.module.glwe_tensor_key_prepared_alloc_from_infos(&layout);
        s.module.glwe_tensor_key_prepare(&mut prepared, &key, &mut s.scratch.borrow());
        drop(key);
        bench.time(
            "multiply_relinearise_rescale",
            "",
            &mut (&mut *s, &mut short),
            |(s, out)| Ok(s.module.ckks_mul_into(*out, &ct_left, &ct_right, &prepared, &mut s.scratch.borrow())?),
            |(s, out)| s.open(&product, out),
        );
    }
    let hoists = key_gib * (HOISTED as f64 + 0.7) < memory_gib;
    let steps: Vec<i64> = if hoists { (1..=HOISTED).collect() } else { vec![1] };
    let mut keys = HashMap::new();
    for &step in &steps {
        let element = s.module.ckks_galois_element(step);
        let key = s.rotation_key(element);
        keys.insert(element, key);
    }
    bench.time(
        "rotate",
        "",
        &mut (&mut *s, &mut out),
        |(s, out)| Ok(s.module.ckks_rotate_into(1, *out, &ct_left, &keys, &mut s.scratch.borrow())?),
        |(s, out)| s.open(&rotated(&left, 1), out),
    );
    if !hoists {
        bench.absent("hoisted_rotations_8", &format!("{HOISTED} switching keys of {key_gib:.2} GiB do not fit in {memory_gib:.1} GiB"));
        return Ok(!bench.failed);
    }
    let views: Vec<_> = steps.iter().map(|&step| keys[&s.module.ckks_galois_element(step)].to_backend_ref()).collect();
    let views: Vec<_> = views.iter().collect();
    let mut outs: Vec<_> = steps.iter().map(|_| ct_left.clone()).collect();
    bench.time(
        "hoisted_rotations_8",
        "",
        &mut (s, &mut outs),
        |(s, outs)| {
            let mut targets: Vec<_> = outs.iter_mut().collect();
            s.module.glwe_automorphism_many(&mut targets, &ct_left, &views, &mut s.scratch.borrow());
            Ok(())
        },
        |(s, outs)| {
            let mut worst: f64 = 0.0;
            for (&step, out) in steps.iter().zip(outs.iter()) {
                worst = worst.max(s.open(&rotated(&left, step), out)?);
            }
            Ok(worst)
        },
    );
    Ok(!bench.failed)
}

fn main() -> Result<(), Failure> {
    let (mut name, mut quick, mut memory_gib) = (String::from("n14"), false, 8.0);
    let mut shape = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--quick" => quick = true,
            "--params" => name = value()?,
            "--shape" => shape = Some(value()?), // other digits than the set's, to look for faster ones
            "--memory-gib" => memory_gib = value()?.parse()?,
            _ => return Err(format!("unknown argument {argument}").into()),
        }
    }
    let right = match bootstrap::preset(&name)? {
        Some(preset) => bootstrap::run(&preset, memory_gib)?,
        None => run(&name, quick, memory_gib, shape)?,
    };
    if right { Ok(()) } else { Err("some operations failed: see their rows".into()) }
}
