//! Checks of keys, secrets, clients and samples against a plan.

use clathrate_lattice::Level;

use super::OPERATION;
use super::plan::SamplesPlan;
use crate::arrays::{Ciphertext, SecretName};
use crate::error::CkksError;
use crate::evaluation::levels::same_scale;
use crate::key_id::KeyId;
use crate::keys::EvaluationKeys;
use crate::light::Receiver;
use crate::outside::OutsideSamples;

impl SamplesPlan {
    /// Refuses keys that do not serve samples under these secrets, before there are samples.
    ///
    /// # Errors
    /// [`CkksError::MissingKeys`], with all missing keys; the errors of [`SamplesPlan::check_secret`].
    pub fn check_keys(&self, keys: &EvaluationKeys, secrets: &[SecretName]) -> Result<(), CkksError> {
        let target = self.ends.half.params();
        keys.check_needs(target, OPERATION, &self.own_needs_of(secrets)?, target.slot_count())
    }

    /// Refuses a secret whose samples this plan cannot pack.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for secrets other than the plan's own, the main one and devices';
    /// [`CkksError::Insecure`] if the dimension is not secure for samples under the secret.
    pub fn check_secret(&self, secret: SecretName) -> Result<(), CkksError> {
        if secret == self.ends.secret {
            return Ok(());
        }
        if !matches!(secret, SecretName::Main | SecretName::Device(_))
            || matches!(self.ends.secret, SecretName::Outside(_))
        {
            let remedy = format!(
                "this plan is for samples under \"{}\"; those of the owner's secret and of devices alone are packed together",
                self.ends.secret
            );
            return Err(CkksError::OutOfRange {
                what: "the secret of the samples",
                value: secret.to_string(),
                remedy,
            });
        }
        self.ends.samples.check_fresh(secret, Level(0))
    }

    /// Refuses a client whose samples do not match the plan and the keys of the owner `owner` for samples
    /// under `secrets`.
    ///
    /// # Errors
    /// [`CkksError::WrongSecret`] for a client of another owner; [`CkksError::OutOfRange`] if the client
    /// drops so many bits that nothing of its numbers is left; the errors of [`SamplesPlan::check_secret`],
    /// and of [`SamplesPlan::run`] for a sample of the
    /// client.
    pub fn check_client(
        &self,
        receiver: &Receiver,
        owner: KeyId,
        secrets: &[SecretName],
    ) -> Result<(), CkksError> {
        if receiver.key_id() != owner {
            return Err(CkksError::wrong_secret(
                "a light client",
                receiver.key_id().to_string(),
                owner.to_string(),
            ));
        }
        secrets.iter().try_for_each(|&secret| self.check_secret(secret))?;
        // Numbers are at most 1 in magnitude.
        if receiver.truncation() > 0.5 {
            let value = format!("an error of {:.1e} by what is cut off", receiver.truncation());
            let remedy =
                "that leaves nothing of numbers up to 1: make the client with a precision of at least 1 bit"
                    .to_owned();
            return Err(CkksError::OutOfRange { what: "the precision of a light client", value, remedy });
        }
        let sample = receiver.masks(0..1)?;
        let secret = secrets
            .iter()
            .find(|&&secret| secret == sample.secret())
            .or(secrets.first())
            .copied()
            .unwrap_or(self.ends.secret);
        self.check(&sample, secret)
    }

    /// Imports samples of another library for this plan, as
    /// [`Params::outside_samples`](crate::Params::outside_samples) does.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for samples of another secret or dimension than the plan's; the errors of
    /// [`Params::outside_samples`](crate::Params::outside_samples).
    pub fn outside_samples(
        &self,
        key_id: KeyId,
        samples: &OutsideSamples<'_>,
    ) -> Result<Ciphertext, CkksError> {
        let secret = SecretName::Outside(samples.secret);
        if self.outside_dimension != Some(samples.dimension) || secret != self.ends.secret {
            let reason = format!(
                "the plan is for samples of dimension {} under the secret \"{}\"; these are of dimension {} under \"{secret}\"",
                self.outside_dimension.unwrap_or_else(|| self.ends.samples.shape().dimension()),
                self.ends.secret,
                samples.dimension
            );
            return Err(CkksError::Unsuitable { operation: OPERATION, reason });
        }
        self.ends.half.params().outside_samples(key_id, samples)
    }

    /// Refuses samples that do not match the plan, or are under a secret other than `secret`.
    pub(super) fn check(&self, x: &Ciphertext, secret: SecretName) -> Result<(), CkksError> {
        let (own, planned) = (x.params().shape(), self.ends.samples.shape());
        if own != planned || x.secret() != secret {
            let reason = format!(
                "the plan is for samples of shape {planned} under the secret \"{secret}\", not {own} under \"{}\": make one for those",
                x.secret()
            );
            return Err(CkksError::Unsuitable { operation: OPERATION, reason });
        }
        x.params().check_same(&self.ends.samples, "the plan of a bootstrap of samples")?;
        if !x.layout().same_places(&self.ends.layout_of(x.shape())?) {
            let reason = format!(
                "samples of degree {} hold real numbers as a client of the plan places them; these are {}",
                planned.degree,
                x.layout()
            );
            return Err(CkksError::Unsuitable { operation: OPERATION, reason });
        }
        if x.level() != Level(0) {
            return Err(CkksError::level_too_high(OPERATION, own, x.level().0, 0));
        }
        if !same_scale(x.scale(), self.scale()) {
            return Err(CkksError::ScaleMismatch { left: x.scale().log2(), right: self.scale().log2() });
        }
        Ok(())
    }
}
