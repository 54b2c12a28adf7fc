//! Times of the scheme's operations at one parameter set.

use std::sync::Arc;

use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::Values;
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Params, Plaintext, Runtime, SecretKey,
};
use clathrate_lattice::{Level, Polys};
use num_complex::Complex64;
use serde_json::json;

use crate::failure::Failure;
use crate::sets;
use crate::timing::{Extra, Timer};
use clathrate_arith::machine;
use clathrate_arith::sequence::{numbers, words};

/// Rotations that share one decomposition.
const HOISTED: [i64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// Maximum fraction of the free memory for keys: other programs need some, too.
const MEMORY_SHARE: f64 = 0.6;

/// Largest error of a slot with which a row is printed.
const TOLERANCE: f64 = 1e-4;

/// A parameter set with everything that is not timed.
struct Bench<'a> {
    timer: &'a Timer<'a>,
    /// The parameters' name in rows: for sets of comparisons, the name that all libraries use.
    label: String,
    params: Params,
    secret: SecretKey,
    extra: Extra,
}

/// Times all wanted operations at `preset`.
pub fn run(timer: &Timer<'_>, preset: &str, runtime: &Runtime) -> Result<(), Failure> {
    let params = sets::params(preset, runtime)?;
    let secret = SecretKey::generate(&params)?;
    let label = preset.strip_prefix("bench_").unwrap_or(preset).replace('_', "-");
    let bench = Bench { timer, label, extra: extra_of(&params), secret, params };
    let count = bench.params.slot_count();
    let data = |seed: u64| -> Vec<Complex64> {
        let (re, im) = (numbers(seed), numbers(seed + 1));
        re.zip(im).map(|(re, im)| Complex64::new(re, im)).take(count).collect()
    };
    let (x, y) = (data(10), data(20));
    let top = bench.params.max_level();
    bench.transforms(top)?;
    let (vx, vy) = (Values::Complex(x.clone()), Values::Complex(y.clone()));
    let encode = |values: &Values| {
        Plaintext::encode(&bench.params, values, &[count], Encoding::Slots, top, bench.params.scale(top))
    };
    bench.time("encode", None, || Ok(encode(&vx)?))?;
    let (px, py) = (encode(&vx)?, encode(&vy)?);
    let (cx, cy) = (bench.secret.encrypt_encoded(&px)?, bench.secret.encrypt_encoded(&py)?);
    bench.time("encrypt", Some((&cx, &x)), || Ok(bench.secret.encrypt_encoded(&px)?))?;
    // As in other libraries, the secret is transformed once, and the plaintext is allocated in advance.
    let (chain, bundle) = (bench.params.chain(), &cx.bundles()[0]);
    let secret = bench.secret.secret().to_eval(chain.ring(), bundle.basis())?;
    let mut opened = Polys::zero(chain.ring(), bundle.basis(), 1);
    bench.time("decrypt", Some((&cx, &x)), || {
        Ok(bundle.phases_into(&secret, &mut opened).map_err(CkksError::from)?)
    })?;
    bench.time("decrypt_decode", Some((&cx, &x)), || Ok(bench.secret.decrypt(&cx)?))?;
    let plain = Evaluator::new(&bench.params);
    let both = |f: fn(Complex64, Complex64) -> Complex64| {
        x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect::<Vec<_>>()
    };
    let mut sum = plain.add(&cx, &cy)?;
    plain.add_into(&mut sum, &cx, &cy)?;
    bench
        .time("add", Some((&sum.clone(), &both(|x, y| x + y))), || Ok(plain.add_into(&mut sum, &cx, &cy)?))?;
    let factor =
        Plaintext::encode(&bench.params, &vy, &[count], Encoding::Slots, top, plain.factor_scale(&cx)?)?;
    let product = plain.multiply_encoded(&cx, &factor)?;
    bench.time("multiply_plain", Some((&product, &both(|x, y| x * y))), || {
        Ok(plain.multiply_encoded(&cx, &factor)?)
    })?;
    if let Some(evaluator) =
        bench.keys("multiply_relinearise_rescale", KeyNeeds::new().relinearise(KeyLevel::Top))?
    {
        let product = evaluator.multiply_rescale(&cx, &cy)?;
        let expected = both(|x, y| x * y);
        bench.time("multiply_relinearise_rescale", Some((&product, &expected)), || {
            Ok(evaluator.multiply_rescale(&cx, &cy)?)
        })?;
    }
    let rotated = |step: i64| (0..count).map(|i| x[(i + step as usize) % count]).collect::<Vec<_>>();
    if let Some(evaluator) = bench.keys("rotate", KeyNeeds::new().rotations([1], KeyLevel::Top))? {
        bench.time("rotate", Some((&evaluator.rotate(&cx, 1)?, &rotated(1))), || {
            Ok(evaluator.rotate(&cx, 1)?)
        })?;
    }
    if let Some(evaluator) =
        bench.keys("hoisted_rotations_8", KeyNeeds::new().rotations(HOISTED, KeyLevel::Top))?
    {
        let all = evaluator.rotate_many(&cx, &HOISTED)?;
        let mut worst = 0.0f64;
        for (ciphertext, step) in all.iter().zip(HOISTED) {
            worst = worst.max(bench.error(ciphertext, &rotated(step))?);
        }
        drop(all);
        bench.time_with_error("hoisted_rotations_8", Some(worst), || {
            Ok(evaluator.rotate_many(&cx, &HOISTED)?)
        })?;
    }
    Ok(())
}

fn extra_of(params: &Params) -> Extra {
    let explanation = params.explain();
    let extra = json!({
        "preset": explanation.name,
        "degree": explanation.degree,
        "rank": explanation.rank,
        "log_qp": rounded(explanation.log2_qp),
        "log_q": rounded(explanation.log2_q),
        "special_primes": explanation.special_bits.len(),
        "digits": explanation.digits,
        "key_gib": rounded(explanation.rotation_key_mib / 1024.0),
        "security_bits": rounded(explanation.security_bits),
        "engine": explanation.engine,
        "version": env!("CARGO_PKG_VERSION"),
    });
    extra.as_object().cloned().unwrap_or_default()
}

fn rounded(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}

impl Bench<'_> {
    /// Times transforms: the mean over all rows of a polynomial at `level`.
    fn transforms(&self, level: Level) -> Result<(), Failure> {
        let basis = self.params.chain().basis(level);
        let (indices, rows) = (basis.indices(), basis.len());
        let engine = self.params.chain().ring().engine();
        let mut data = engine.zeroed(rows);
        engine.upload_rows(data.view_mut(), &|row, target| {
            let modulus = engine.moduli()[indices[row]].value();
            target.iter_mut().zip(words(indices[row] as u64)).for_each(|(x, word)| *x = word % modulus);
        });
        let before = data.clone();
        engine.forward_ntt(data.view_mut(), indices);
        let moved = data != before;
        engine.inverse_ntt(data.view_mut(), indices);
        let error = f64::from(u8::from(!moved || data != before));
        for (work, forward) in [("ntt_forward", true), ("ntt_inverse", false)] {
            if !self.timer.wants(work) {
                continue;
            }
            let extra = self.extra_with(Some(error))?;
            self.timer.time((work, &self.label), rows, &extra, || {
                if forward {
                    engine.forward_ntt(data.view_mut(), indices);
                } else {
                    engine.inverse_ntt(data.view_mut(), indices);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The largest distance of a slot from its true value.
    fn error(&self, ciphertext: &Ciphertext, expected: &[Complex64]) -> Result<f64, Failure> {
        let Values::Complex(values) = self.secret.decrypt(ciphertext)? else { return Ok(f64::INFINITY) };
        Ok(values.iter().zip(expected).map(|(value, expected)| (value - expected).norm()).fold(0.0, f64::max))
    }

    /// The fields of a row, including its error; an error above the tolerance is a failure.
    fn extra_with(&self, error: Option<f64>) -> Result<Extra, Failure> {
        let mut extra = self.extra.clone();
        if let Some(error) = error {
            if error.is_nan() || error > TOLERANCE {
                return Err(Failure::slot_error(error, TOLERANCE));
            }
            extra.insert("max_error".to_owned(), json!(error));
        }
        Ok(extra)
    }

    fn time<T>(
        &self,
        work: &str,
        result: Option<(&Ciphertext, &[Complex64])>,
        f: impl FnMut() -> Result<T, Failure>,
    ) -> Result<(), Failure> {
        if !self.timer.wants(work) {
            return Ok(());
        }
        let error = result.map(|(ciphertext, expected)| self.error(ciphertext, expected)).transpose()?;
        self.time_with_error(work, error, f)
    }

    fn time_with_error<T>(
        &self,
        work: &str,
        error: Option<f64>,
        f: impl FnMut() -> Result<T, Failure>,
    ) -> Result<(), Failure> {
        self.timer.time((work, &self.label), 1, &self.extra_with(error)?, f)
    }

    /// An evaluator with the keys that `work` needs; `None` if `work` is not wanted, or the keys do not fit
    /// in memory, which an absent row reports.
    fn keys(&self, work: &str, needs: KeyNeeds) -> Result<Option<Evaluator>, Failure> {
        if !self.timer.wants(work) {
            return Ok(None);
        }
        let explanation = self.params.explain();
        let rotations = needs.rotation_steps().count() as f64 * explanation.rotation_key_mib;
        let relinearisation = needs
            .key_level_of(clathrate_ckks::keys::Operation::Multiply)
            .map_or(0.0, |_| explanation.relinearisation_key_mib);
        let needed = (rotations + relinearisation) * 1_048_576.0;
        if let Some(memory) = machine::memory()
            && needed > memory.free_bytes as f64 * MEMORY_SHARE
        {
            let gib = |bytes: f64| bytes / 1_073_741_824.0;
            let reason = format!(
                "keys of {:.1} GiB do not fit in {:.1} GiB of free memory",
                gib(needed),
                gib(memory.free_bytes as f64)
            );
            self.timer.absent(work, &self.label, &reason)?;
            return Ok(None);
        }
        Ok(Some(Evaluator::with_keys(Arc::new(self.secret.evaluation_keys(&needs)?))))
    }
}
