//! The plan of a bootstrap of samples: its choice and its prediction.

use clathrate_lattice::Level;

use super::ends::{Choice, Ends};
use super::options::SamplesOptions;
use crate::arrays::{Order, SecretName};
use crate::circuits::bootstrap::BootstrapPlan;
use crate::circuits::packing_plan::{PackingCost, PackingMethod, Stage};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::keys::{EvaluationKeys, KeyNeeds};
use crate::light::LightOptions;
use crate::parameters::{KeyModulus, Params};

/// A plan of the bootstrap of samples of one shape.
#[derive(Debug)]
pub struct SamplesPlan {
    pub(in crate::circuits) ends: Ends,
    pub(super) stages: Vec<Stage>,
    choice: Choice,
    /// The parameters for which `needs` is stated.
    home: Params,
    needs: KeyNeeds,
    /// The same keys, stated for the shape of the bootstrap's ring.
    own_needs: KeyNeeds,
    /// The length of another library's secret; `None` for secrets of this library.
    pub(super) outside_dimension: Option<usize>,
    key_bytes: usize,
    nanoseconds: f64,
}

/// Needs of parameters `own`, stated for the parameters `home` of the same family.
fn stated_for(home: &Params, own: &Params, needs: &KeyNeeds) -> KeyNeeds {
    if own.shape() == home.shape() { needs.clone() } else { KeyNeeds::new().relative(own.shape(), needs) }
}

impl SamplesPlan {
    /// The plan within the limits of `options`, for samples of the family of `params`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] without numbers, for an impossible degree, dimension, ring or midpoints, and
    /// for limits below the keys or the time of every choice; [`CkksError::Insecure`] for a dimension that is
    /// not secure; [`CkksError::Unsuitable`] for samples of several numbers without `pairs`; the errors of
    /// [`BootstrapPlan::with_options`], also if the family has no rank of 1.
    pub fn new(params: &Params, options: &SamplesOptions) -> Result<Self, CkksError> {
        let root = params.root()?;
        let target = root.relative(root.rlwe_shape())?;
        let (ends, choice) = Ends::new(&target, options)?.chosen(options)?;
        let stages = ends.stages_of(&choice.packing.method, choice.packing.ring)?;
        let recorder = Evaluator::recording(&target);
        let symbol = ends.symbol(ends.secret, ends.count)?;
        let symbol = recorder.take_encrypted(symbol, Some(1.0), ends.sample_variance())?;
        ends.raise(&recorder, &ends.packed(&recorder, &[&symbol], &stages)?, ends.count)?;
        let own_needs = recorder.needs();
        Ok(Self {
            stages,
            needs: stated_for(params, &target, &own_needs),
            key_bytes: target.required_keys(&own_needs)?.bytes(&target)?,
            own_needs,
            home: params.clone(),
            nanoseconds: recorder.recorded().cost().nanoseconds,
            outside_dimension: options.dimension.filter(|_| matches!(ends.secret, SecretName::Outside(_))),
            choice,
            ends,
        })
    }

    /// The plan whose keys are in `keys`, among those that [`SamplesPlan::new`] considers, for samples under
    /// `secrets`. If the keys were made on another machine, other predicted times may have led to another
    /// ring or other midpoints.
    ///
    /// # Errors
    /// [`CkksError::MissingKeys`] for the best plan here if no plan has its keys; the errors of
    /// [`SamplesPlan::new`].
    pub fn for_keys(
        params: &Params,
        options: &SamplesOptions,
        keys: &EvaluationKeys,
        secrets: &[SecretName],
    ) -> Result<Self, CkksError> {
        let plan = Self::new(params, options)?;
        let missing = match plan.check_keys(keys, secrets) {
            Err(missing @ CkksError::MissingKeys { .. }) => missing,
            other => return other.map(|()| plan),
        };
        for other in &plan.choice.others {
            let PackingMethod::Midpoints(ranks) = &other.method else { continue };
            let ring = Some(other.ring.unwrap_or_else(|| plan.ends.half.params().degree()));
            let own = SamplesOptions { midpoints: Some(ranks.clone()), ring, ..options.clone() };
            // Choices beyond the limits are skipped.
            let Ok(own) = Self::new(params, &own) else { continue };
            if own.check_keys(keys, secrets).is_ok() {
                return Ok(own);
            }
        }
        Err(missing)
    }

    /// The parameters of the samples.
    #[must_use]
    pub fn samples(&self) -> &Params {
        &self.ends.samples
    }

    /// The secret of the samples.
    #[must_use]
    pub fn secret(&self) -> SecretName {
        self.ends.secret
    }

    /// The count of numbers of the prediction.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ends.count
    }

    /// Whether two consecutive numbers are the real and the imaginary part of one slot.
    #[must_use]
    pub fn pairs(&self) -> bool {
        self.ends.pairs
    }

    /// The scale that samples must have.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.ends.scale()
    }

    /// The half bootstrap after packing.
    #[must_use]
    pub fn half_bootstrap(&self) -> &BootstrapPlan {
        &self.ends.half
    }

    /// The keys, stated for the shape of the parameters with which the plan was made.
    #[must_use]
    pub fn needs(&self) -> &KeyNeeds {
        &self.needs
    }

    /// The keys for samples under the plan's own secret and under each of these secrets, the main one or
    /// devices'. Each secret has a key of the first step of packing.
    pub fn needs_of(&self, secrets: &[SecretName]) -> Result<KeyNeeds, CkksError> {
        Ok(stated_for(&self.home, self.ends.half.params(), &self.own_needs_of(secrets)?))
    }

    pub(super) fn own_needs_of(&self, secrets: &[SecretName]) -> Result<KeyNeeds, CkksError> {
        secrets.iter().try_for_each(|&secret| self.check_secret(secret))?;
        let recorder = Evaluator::recording(self.ends.half.params());
        for &secret in secrets {
            let x = recorder.take_symbol(self.ends.symbol(secret, self.ends.samples.degree())?, Some(1.0))?;
            self.ends.packed(&recorder, &[&x], &self.stages)?;
        }
        Ok(recorder.needs().merge(&self.own_needs))
    }

    /// Estimated bits of security of the least secure secret of the keys: the owner's, the ephemeral one, and
    /// that of a smaller ring.
    #[must_use]
    pub fn security_bits(&self) -> f64 {
        let ring =
            self.stages.iter().filter_map(|stage| stage.params.key_switching(KeyModulus::Packing).ok());
        ring.fold(self.ends.half.params().security_bits(), |least, ring| least.min(ring.security_bits))
    }

    /// Bytes of all keys in memory.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// Predicted nanoseconds of the whole for [`SamplesPlan::count`] numbers on one thread.
    #[must_use]
    pub fn predicted_nanoseconds(&self) -> f64 {
        self.nanoseconds
    }

    /// The predicted root mean square error of a number, including that of its encryption.
    #[must_use]
    pub fn predicted_error(&self) -> f64 {
        self.choice.error
    }

    /// The method of packing with its predicted time, keys and error.
    #[must_use]
    pub fn packing(&self) -> &PackingCost {
        &self.choice.packing
    }

    /// The options of light clients for this plan; `precision_bits` as in [`LightOptions`].
    #[must_use]
    pub fn client_options(&self, precision_bits: Option<f64>) -> LightOptions {
        LightOptions {
            degree: self.ends.samples.degree(),
            dimension: Some(self.ends.samples.shape().dimension()),
            level: Level(0),
            scale: Some(self.scale()),
            precision_bits,
            secret: self.ends.secret,
            order: Order::BitReversed,
        }
    }

    /// A description of the plan and of the choices that it rejected: predicted times, keys, precision and
    /// failure.
    #[must_use]
    pub fn explain(&self) -> String {
        const MIB: f64 = (1 << 20) as f64;
        let under = if self.ends.secret == SecretName::Main {
            String::new()
        } else {
            format!(" under {}", self.ends.secret)
        };
        format!(
            "{} numbers from samples of shape {}{under} at scale 2^{:.2} to {} {} slots in each of {} ciphertexts, level {}\n  \
             {:.1} ms, of which packing {:.1}; keys {:.1} MiB, of which packing {:.1}; {:.1} bits of precision; failure 2^{:.1} for each ciphertext; {:.0} bits of security\n\
             {}",
            self.ends.count,
            self.ends.samples.shape(),
            self.scale().log2(),
            self.ends.half.slots(),
            if self.ends.pairs { "complex" } else { "real" },
            self.ends.result_layout(self.ends.count).map_or(0, |layout| layout.bundles()),
            self.ends.half.output_level(),
            self.nanoseconds / 1e6,
            self.choice.packing.nanoseconds / 1e6,
            self.key_bytes as f64 / MIB,
            self.choice.packing.key_bytes as f64 / MIB,
            -self.choice.error.log2(),
            self.ends.half.log2_failure(),
            self.security_bits(),
            self.choice.packing.table(&self.choice.others),
        )
    }
}
