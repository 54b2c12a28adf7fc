//! The owner's secrets by name: the main secret, and all other secrets, which are drawn from the key's seed.

use std::borrow::Cow;
use std::sync::Arc;

use clathrate_arith::secrecy::clear_stack;
use clathrate_lattice::{Bodies, Degree, Rank, SecretDistribution, SecretRng};
use zeroize::Zeroizing;

use super::secret::SecretKey;
use crate::error::CkksError;
use crate::names::SecretName;
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// Domain-separation string of the seeds of named secrets.
const NAMED_SECRET_DOMAIN: &str = "clathrate named secret v1";

/// A secret of shape `from`, brought to the shape `to` of the same family by degree moves and a lower rank.
fn reshaped(
    secret: &clathrate_lattice::SecretKey,
    from: ModuleShape,
    to: ModuleShape,
) -> Result<clathrate_lattice::SecretKey, CkksError> {
    // Degree moves order the components such that cutting the rank and moving the degree commute, so the rank
    // is cut at the smaller degree.
    Ok(if to.degree <= from.degree {
        secret.split_degree(to.degree)?.truncate_rank(to.rank)?
    } else {
        secret.truncate_rank(to.dimension() / from.degree)?.combine_degree(to.degree)?
    })
}

impl SecretKey {
    /// The secret called `name` of samples of shape `shape` that are packed to this key's shape.
    pub(super) fn of_samples(
        &self,
        name: SecretName,
        shape: ModuleShape,
    ) -> Result<clathrate_lattice::SecretKey, CkksError> {
        if shape.dimension() == self.params.shape().dimension() && !matches!(name, SecretName::Outside(_)) {
            return Ok(self.named(name)?.split_degree(shape.degree)?);
        }
        Ok(self.relative(&self.params.for_samples(shape)?)?.named(name)?.into_owned())
    }

    /// This key with the secret of another library's LWE samples added under `number`: the result makes keys
    /// that pack samples under that secret, and decrypts such samples. The secret is not stored with the key.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for no coefficients or more than these parameters' dimension, and for
    /// coefficients other than -1, 0 and 1.
    pub fn with_outside_secret(&self, number: u64, coefficients: &[i8]) -> Result<Self, CkksError> {
        let most = self.params.root_shape().dimension();
        if coefficients.is_empty() || coefficients.len() > most {
            let (value, remedy) =
                (format!("{} coefficients", coefficients.len()), format!("use 1 to {most}"));
            return Err(CkksError::OutOfRange { what: "the secret of another library", value, remedy });
        }
        if let Some(wrong) = coefficients.iter().find(|c| !(-1..=1).contains(*c)) {
            let remedy = "binary and ternary secrets are taken in".to_owned();
            return Err(CkksError::OutOfRange {
                what: "a coefficient of the secret of another library",
                value: wrong.to_string(),
                remedy,
            });
        }
        let mut key = self.clone();
        key.outside.insert(number, Arc::new(Zeroizing::new(coefficients.to_vec())));
        Ok(key)
    }

    /// The same secret for a relative of these parameters, split, combined or cut to its shape. A cut secret
    /// consists of the first polynomials of this one. The result holds the same seed whatever its shape:
    /// whoever has it can draw all secrets of devices, bodies and packing, and the authentication key.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`] for parameters of another family, or of a larger dimension than this key's.
    pub fn relative(&self, params: &Params) -> Result<Self, CkksError> {
        self.params.check_related(params, "the parameters")?;
        let (from, to) = (self.params.shape(), params.shape());
        if to.dimension() > from.dimension() {
            self.params.check_same(params, "the parameters")?;
        }
        let secret = Arc::new(reshaped(&self.secret, from, to)?);
        Ok(Self { params: params.clone(), secret, ..self.clone() })
    }

    /// The generator from which the secret called `label` is drawn.
    fn stream_of(&self, label: &str) -> SecretRng {
        // The hasher holds the seed, and its output determines a secret, so both are overwritten.
        let mut hasher = Zeroizing::new(blake3::Hasher::new_derive_key(NAMED_SECRET_DOMAIN));
        hasher.update(&self.seed);
        hasher.update(label.as_bytes());
        let key = Zeroizing::new(hasher.finalize());
        clear_stack();
        SecretRng::from_seed(*key.as_bytes())
    }

    /// The secret called `name` at this shape. All secrets except the main one are drawn from this key's
    /// seed, each with its own domain, so keys made at different times have the same secrets. The secrets of
    /// bodies and devices are drawn at the root's shape and then split, combined or cut like the main secret,
    /// so moves of the degree and to higher ranks need no key for these secrets either. Only a device's
    /// samples of a dimension that is too small for keys
    /// ([`Params::is_for_samples`](crate::Params::is_for_samples)) have a secret that is drawn for that
    /// dimension.
    ///
    /// # Errors
    /// [`CkksError::Unsupported`] where the parameters have no such secret; [`CkksError::OutOfRange`] for
    /// bodies that do not exist.
    pub fn named(&self, name: SecretName) -> Result<Cow<'_, clathrate_lattice::SecretKey>, CkksError> {
        let (shape, rank) = (self.params.shape(), self.params.rank());
        let draw = |label: &str, shape: ModuleShape, rank: usize, distribution| {
            let mut rng = self.stream_of(&format!("{label} at {shape}"));
            clathrate_lattice::SecretKey::generate(
                Degree(shape.degree),
                Rank(rank),
                Bodies(1),
                distribution,
                &mut rng,
            )
        };
        // Drawn at the root's shape, then brought to this shape.
        let of_root = |labels: Vec<String>| {
            let (root, number) = (self.params.root()?, labels.len());
            let (shape, distribution) = (root.shape(), root.distribution_of(root.rank()));
            let mut coefficients = Zeroizing::new(Vec::with_capacity(number * shape.dimension()));
            for label in labels {
                let body = draw(&label, shape, shape.rank, distribution)?;
                coefficients.extend_from_slice(body.all_coefficients());
            }
            let all = clathrate_lattice::SecretKey::from_coefficients(
                Degree(shape.degree),
                Rank(shape.rank),
                Bodies(number),
                distribution,
                coefficients,
            )?;
            reshaped(&all, shape, self.params.shape())
        };
        let bodies = |count: usize, wanted: std::ops::Range<usize>| {
            of_root(wanted.map(|index| format!("body {index} of {count}")).collect())
        };
        Ok(Cow::Owned(match name {
            // Every encryption and decryption uses the main secret, so it is borrowed instead of copied.
            SecretName::Main => return Ok(Cow::Borrowed(&*self.secret)),
            SecretName::Temporary => {
                let temporary = self
                    .params
                    .temporary()
                    .ok_or(CkksError::no_temporary_rank("a key of the temporary rank"))?;
                let further = temporary.rank - rank;
                self.secret.join_rank(&draw(
                    "temporary",
                    shape,
                    further,
                    self.params.distribution_of(further),
                )?)?
            }
            SecretName::Ephemeral => {
                let weight = self.params.ephemeral_weight().ok_or(CkksError::no_ephemeral_secret())?;
                draw("ephemeral", shape, rank, SecretDistribution::FixedWeight(weight))?
            }
            SecretName::EphemeralBodies(count) => {
                self.params.check_secret(name)?;
                let weight = self.params.ephemeral_weight().ok_or(CkksError::no_ephemeral_secret())?;
                let distribution = SecretDistribution::FixedWeight(weight);
                let mut coefficients = Zeroizing::new(Vec::with_capacity(count * shape.dimension()));
                for index in 0..count {
                    let body =
                        draw(&format!("ephemeral body {index} of {count}"), shape, rank, distribution)?;
                    coefficients.extend_from_slice(body.all_coefficients());
                }
                clathrate_lattice::SecretKey::from_coefficients(
                    Degree(shape.degree),
                    Rank(rank),
                    Bodies(count),
                    distribution,
                    coefficients,
                )?
            }
            SecretName::Packing => {
                self.params.check_secret(name)?;
                draw("packing", shape, rank, SecretDistribution::UniformTernary)?
            }
            SecretName::Embedded(degree) => {
                self.params.check_secret(name)?;
                let ring = self.relative(&self.params.for_samples(ModuleShape { degree, rank: 1 })?)?;
                let own = ring.named(SecretName::Packing)?;
                let gap = shape.dimension() / degree;
                let mut coefficients = Zeroizing::new(vec![0; shape.dimension()]);
                coefficients
                    .iter_mut()
                    .step_by(gap)
                    .zip(own.all_coefficients())
                    .for_each(|(target, &value)| *target = value);
                let distribution = SecretDistribution::UniformTernary;
                clathrate_lattice::SecretKey::from_coefficients(
                    Degree(shape.degree),
                    Rank(1),
                    Bodies(1),
                    distribution,
                    coefficients,
                )?
            }
            // Samples of a small dimension have a uniform secret of that dimension. It is no part of a larger
            // secret, because that secret may be sparse.
            SecretName::Device(number) if self.params.is_for_samples() => {
                let samples = ModuleShape { degree: 1, rank: shape.dimension() };
                let drawn = draw(
                    &format!("device {number}"),
                    samples,
                    samples.rank,
                    SecretDistribution::UniformTernary,
                )?;
                reshaped(&drawn, samples, shape)?
            }
            SecretName::Device(number) => of_root(vec![format!("device {number}")])?,
            SecretName::Outside(number) => {
                let given = self.outside.get(&number).ok_or(CkksError::no_outside_secret(number))?;
                let (degree, dimension) = (shape.degree, shape.dimension());
                if degree != 1 || given.len() > dimension {
                    return Err(CkksError::OutOfRange {
                        what: "a shape of samples of another library",
                        value: shape.to_string(),
                        remedy: format!(
                            "use degree 1 and a rank from {} up, the length of the secret",
                            given.len()
                        ),
                    });
                }
                let mut coefficients = Zeroizing::new(vec![0; dimension]);
                coefficients
                    .iter_mut()
                    .zip(given.iter())
                    .for_each(|(target, &value)| *target = i64::from(value));
                let distribution = SecretDistribution::UniformTernary;
                clathrate_lattice::SecretKey::from_coefficients(
                    Degree(1),
                    Rank(dimension),
                    Bodies(1),
                    distribution,
                    coefficients,
                )?
            }
            SecretName::Body { count, index } => {
                self.params.check_secret(name)?;
                bodies(count, index..index + 1)?
            }
            SecretName::Bodies(count) => {
                self.params.check_secret(name)?;
                bodies(count, 0..count)?
            }
        }))
    }
}
