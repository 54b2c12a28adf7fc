//! Operations on a device: copies and transforms for a roofline, products at the parameters of [dpad-he,
//! Table 8], rotations, bootstraps.
//!
//! Without a device nothing is measured: rows then contain times predicted from counts of unit operations and
//! the computed profile of a large graphics processor, and are marked as predicted.

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Engine, Isa};
use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::parameters::{EngineRequest, Switching, set_device_graphs};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyLevel, KeyNeeds, Params, ParamsSpec, Runtime, SecretKey,
};
use clathrate_lattice::switch::MachineProfile;
use serde_json::json;

use crate::dpad::{SETS, direct};
use crate::failure::Failure;
use crate::timing::{Extra, Timer, Times};
use clathrate_arith::sequence::{numbers, words};

/// Copies of memory.
pub const COPY: &str = "device_copy";
/// Transforms of many rows.
pub const TRANSFORM: &str = "device_transform";
/// A product of ciphertexts, relinearised and rescaled.
pub const MULTIPLY: &str = "device_multiply";
/// A rotation.
pub const ROTATE: &str = "device_rotate";
/// A bootstrap of all slots.
pub const BOOTSTRAP: &str = "device_bootstrap";

/// The operations of this set.
pub const WORKS: [&str; 5] = [COPY, TRANSFORM, MULTIPLY, ROTATE, BOOTSTRAP];

/// The device of predictions: a device's kernels on this processor, which are not run here.
const NONE: &str = "host-device";

/// Rows that are transformed together, as in a few ciphertexts.
const ROWS: usize = 64;

/// Rows of a copy.
const COPY_ROWS: usize = 1 << 10;

/// Sets of the table in the order of its columns.
pub const TABLE: [&str; 6] = ["I", "II", "III", "IV", "V", "VI"];

/// Presets that are bootstrapped.
const BOOTSTRAPS: [&str; 2] = ["boot_n15", "boot_fast"];

/// Largest error of a slot.
const TOLERANCE: f64 = 1e-3;

/// The device and the timer of a run.
struct Place<'a> {
    timer: &'a Timer<'a>,
    runtime: Runtime,
    measured: bool,
}

/// Measures on `device`, or predicts without one. Where sets are named in `only`, it measures their products,
/// and no bootstraps.
pub fn run(timer: &Timer<'_>, device: Option<&str>, only: &[&str], runtime: &Runtime) -> Result<(), Failure> {
    let place =
        Place { timer, runtime: runtime.clone().on(device.unwrap_or(NONE))?, measured: device.is_some() };
    if !place.measured {
        timer.note("no device is named (--device cuda): times are predicted, not measured");
    }
    place.kernels()?;
    if timer.wants(MULTIPLY) || timer.wants(ROTATE) {
        TABLE
            .into_iter()
            .filter(|name| only.is_empty() || only.contains(name))
            .try_for_each(|name| place.products(name))?;
    }
    if timer.wants(BOOTSTRAP) && only.is_empty() {
        BOOTSTRAPS
            .iter()
            .take(if timer.is_quick() { 0 } else { 2 })
            .try_for_each(|preset| place.bootstrap(preset))?;
    }
    Ok(())
}

impl Place<'_> {
    /// Prints a row: the times of `work`, each until the device has finished, or the predicted time.
    fn row<T>(
        &self,
        names: (&str, &str),
        engine: &dyn Engine,
        predicted_ms: f64,
        mut extra: Extra,
        mut work: impl FnMut() -> Result<T, Failure>,
    ) -> Result<(), Failure> {
        extra.insert("predicted".to_owned(), json!(!self.measured));
        extra.insert("predicted_ms".to_owned(), json!(predicted_ms));
        extra.insert(
            "device".to_owned(),
            json!(if self.measured { engine.describe() } else { "none: predicted".to_owned() }),
        );
        extra.insert("quick".to_owned(), json!(self.timer.is_quick()));
        if !self.measured {
            return self.timer.print(names, &Times::new(vec![predicted_ms]), &extra);
        }
        self.timer.time(names, 1, &extra, || {
            let result = work()?;
            engine.finish();
            Ok(result)
        })
    }

    fn kernels(&self) -> Result<(), Failure> {
        let factory = self
            .runtime
            .engine
            .as_ref()
            .ok_or_else(|| Failure::Usage("give another device than cpu".to_owned()))?;
        let profile = factory
            .device()
            .map_or_else(|| MachineProfile::built_in_device(true), |device| device.profile.clone());
        let isa = Isa::detect().map_err(CkksError::from)?;
        for log_degree in if self.timer.is_quick() { 12..=12 } else { 12..=16 } {
            let degree = 1usize << log_degree;
            for bits in [45, 60] {
                let moduli = largest_primes(bits, 2 * degree as u64, 1, &[]).map_err(CkksError::from)?;
                let engine = factory
                    .make(&EngineRequest { degree, moduli: &moduli, isa, threads: 1 })
                    .map_err(CkksError::from)?;
                let mut x = engine.scratch(ROWS);
                let q = moduli[0];
                engine.upload_rows(x.view_mut(), &|row, target| {
                    target.iter_mut().zip(words(row as u64)).for_each(|(to, word)| *to = word % q);
                });
                let name = format!("2^{log_degree}, {ROWS} rows, {bits}-bit prime");
                let times = profile.at(degree).transform[engine.transform_class(0)];
                let butterflies = (ROWS * degree / 2) as f64 * f64::from(log_degree);
                let extra = json!({ "degree": degree, "rows": ROWS, "bits": bits, "butterflies": butterflies, "row_bytes": 8 * degree });
                let extra = extra.as_object().cloned().unwrap_or_default();
                if self.timer.wants(TRANSFORM) {
                    self.row((TRANSFORM, &name), &*engine, times * ROWS as f64 / 1e6, extra, || {
                        engine.forward_ntt(x.view_mut(), &[0]);
                        Ok(())
                    })?;
                }
                if bits == 45 && log_degree == 16 && self.timer.wants(COPY) {
                    let (from, mut to) = (engine.zeroed(COPY_ROWS), engine.scratch(COPY_ROWS));
                    let bytes = 16 * COPY_ROWS * degree;
                    let extra = json!({ "bytes": bytes }).as_object().cloned().unwrap_or_default();
                    let predicted = bytes as f64 * profile.read_ns_per_byte / 1e6;
                    self.row((COPY, "512 MiB, read and written"), &*engine, predicted, extra, || {
                        engine.copy(to.view_mut(), from.view());
                        Ok(())
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Products, and at rank 1 rotations, of one of the paper's sets: by one switch, and through the
    /// temporary rank if the set has one; with digits as in the paper, and as the device's planner chooses,
    /// and on a device also in graphs.
    fn products(&self, name: &str) -> Result<(), Failure> {
        let set = SETS
            .iter()
            .find(|set| set.name == name)
            .ok_or_else(|| Failure::Usage(format!("there is no set {name}")))?;
        let spec = set.spec(self.timer.is_quick())?;
        let scheme = if spec.rank == 1 { "RNS-CKKS" } else { "ModHE" };
        let mut products = vec![(scheme, direct(spec.clone()))];
        if spec.rank > 1 && spec.temporary_rank.is_some() {
            products.push(("DPad-HE", spec));
        }
        for (scheme, spec) in products {
            for (keys, switching) in [("as_made", Switching::AsMade), ("planned", Switching::Fastest)] {
                self.product((name, scheme, keys), &spec, switching)?;
            }
            if self.measured {
                let device = self.runtime.device();
                set_device_graphs(device, true)?;
                self.product((name, scheme, "planned_in_graphs"), &spec, Switching::Fastest)?;
                set_device_graphs(device, false)?;
            }
        }
        Ok(())
    }

    fn product(
        &self,
        (set, scheme, keys): (&str, &str, &str),
        spec: &ParamsSpec,
        switching: Switching,
    ) -> Result<(), Failure> {
        let params = Params::new(spec.clone(), &Runtime { switching, ..self.runtime.clone() })?;
        let (slots, top) = (params.slot_count(), params.max_level());
        let rotates = spec.rank == 1 && self.timer.wants(ROTATE);
        let needs = KeyNeeds::new().relinearise(KeyLevel::Top);
        let needs = if rotates { needs.rotations([1], KeyLevel::Top) } else { needs };
        let predicted = |work: &dyn Fn(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>| -> Result<f64, Failure> {
            let recorder = Evaluator::recording_for(&params, needs.clone());
            let x = recorder.symbol(&[slots], Encoding::Slots, top, 1.0)?;
            work(&recorder, &x)?;
            Ok(recorder.recorded().cost().nanoseconds / 1e6)
        };
        let multiply = |ev: &Evaluator, x: &Ciphertext| ev.multiply_rescale(x, x);
        let rotate = |ev: &Evaluator, x: &Ciphertext| ev.rotate(x, 1);
        let predictions = (predicted(&multiply)?, if rotates { predicted(&rotate)? } else { 0.0 });
        let engine = params.chain().ring().engine();
        let extra = json!({
            "set": set, "scheme": scheme, "keys": keys, "degree": spec.degree, "rank": spec.rank,
            "primes": params.chain().basis(top).len(), "log_qp": params.log2_qp(),
        });
        let extra = extra.as_object().cloned().unwrap_or_default();
        let name = format!("{set}, {scheme}, {keys}");
        let operands = if self.measured {
            let owner = SecretKey::generate(&params)?;
            let data: Vec<f64> = numbers(7).take(slots).collect();
            let x = owner.encrypt_array(
                &data,
                &[slots],
                EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() },
            )?;
            let evaluator = Evaluator::with_keys(owner.evaluation_keys(&needs)?);
            let squares = owner.decrypt(&evaluator.multiply_rescale(&x, &x)?)?.into_real()?;
            let error =
                squares.iter().zip(&data).map(|(square, x)| (square - x * x).abs()).fold(0.0, f64::max);
            if error.is_nan() || error > TOLERANCE {
                return Err(Failure::slot_error(error, TOLERANCE));
            }
            Some((evaluator, x))
        } else {
            None
        };
        let with = |work: &dyn Fn(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>| match &operands {
            Some((evaluator, x)) => Ok(Some(work(evaluator, x)?)),
            None => Ok(None),
        };
        if self.timer.wants(MULTIPLY) {
            self.row((MULTIPLY, &name), engine, predictions.0, extra.clone(), || with(&multiply))?;
        }
        if rotates {
            self.row((ROTATE, &name), engine, predictions.1, extra, || with(&rotate))?;
        }
        Ok(())
    }

    fn bootstrap(&self, preset: &str) -> Result<(), Failure> {
        let params = Params::preset(preset, &self.runtime)?;
        let plan = BootstrapPlan::with_options(&params, BootstrapOptions::default())?;
        let recording = plan.dry_run()?;
        let extra = json!({
            "preset": preset, "degree": params.degree(), "slots": plan.slots(), "key_bytes": recording.keys(&params)?.bytes(&params)?,
            "levels_left": plan.output_level().0 - plan.input_level().0,
        });
        let extra = extra.as_object().cloned().unwrap_or_default();
        let operands = if self.measured {
            let owner = SecretKey::generate(&params)?;
            let data: Vec<f64> = numbers(9).take(plan.slots()).collect();
            let options = EncryptOptions {
                level: Some(plan.input_level()),
                capacity: Some(plan.slots()),
                ..EncryptOptions::default()
            };
            let x = owner.encrypt_array(
                &data,
                &[data.len()],
                EncryptOptions { encoding: Some(Encoding::Slots), ..options },
            )?;
            Some((Evaluator::with_keys(owner.evaluation_keys(&plan.needs()?)?), x))
        } else {
            None
        };
        let engine = params.chain().ring().engine();
        self.row((BOOTSTRAP, preset), engine, recording.cost().nanoseconds / 1e6, extra, || {
            Ok(operands.as_ref().map(|(evaluator, x)| plan.run(evaluator, x)).transpose()?)
        })
    }
}
