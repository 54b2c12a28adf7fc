//! The owner's secrets by name: the main one, and all others drawn from the key's seed.

use std::borrow::Cow;

use clathrate_lattice::{Bodies, Degree, Rank, SecretDistribution, SecretRng};
use zeroize::Zeroizing;

use super::name::SecretName;
use super::secret::SecretKey;
use crate::error::CkksError;
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// Domain-separation string of the seeds of named secrets.
const NAMED_SECRET_DOMAIN: &str = "clathrate named secret v1";

/// A secret of shape `from`, split, combined or cut to the shape `to` of the same family.
fn reshaped(secret: &clathrate_lattice::SecretKey, from: ModuleShape, to: ModuleShape) -> Result<clathrate_lattice::SecretKey, CkksError> {
    // In the order of components that degree moves use, cutting the rank and moving the degree commute, so the secret is cut at the smaller degree.
    Ok(if to.degree <= from.degree {
        secret.split_degree(to.degree)?.truncate_rank(to.rank)?
    } else {
        secret.truncate_rank(to.dimension() / from.degree)?.combine_degree(to.degree)?
    })
}

impl SecretKey {
    /// The same secret for a relative of these parameters: split, combined or cut to its shape. A cut secret is nested in this one.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`] for parameters of another family, or of a larger dimension than this key's.
    pub fn relative(&self, params: &Params) -> Result<Self, CkksError> {
        self.params.check_related(params, "the parameters")?;
        let (from, to) = (self.params.shape(), params.shape());
        if to.dimension() > from.dimension() {
            self.params.check_same(params, "the parameters")?;
        }
        let secret = reshaped(&self.secret, from, to)?;
        Ok(Self { params: params.clone(), id: self.id, secret, seed: self.seed.clone() })
    }

    /// The secret called `name` at this shape. All secrets but the main one are drawn from this key's seed, each with a separate domain, so that keys made
    /// at different times fit together. The secrets of bodies and devices are drawn at the root's shape and then split, combined or cut like the main secret, so that
    /// moves of the degree and to higher ranks need no key for these secrets either.
    ///
    /// # Errors
    /// [`CkksError::NoTemporaryRank`], [`CkksError::NoEphemeralSecret`] where the parameters have no such secret; [`CkksError::OutOfRange`] for bodies that
    /// do not exist.
    pub fn named(&self, name: SecretName) -> Result<Cow<'_, clathrate_lattice::SecretKey>, CkksError> {
        let (shape, rank) = (self.params.shape(), self.params.rank());
        let draw = |label: &str, shape: ModuleShape, rank: usize, distribution| {
            let mut hasher = blake3::Hasher::new_derive_key(NAMED_SECRET_DOMAIN);
            hasher.update(self.seed.as_ref());
            hasher.update(format!("{label} at {shape}").as_bytes());
            let mut rng = SecretRng::from_seed(*hasher.finalize().as_bytes());
            clathrate_lattice::SecretKey::generate(Degree(shape.degree), Rank(rank), Bodies(1), distribution, &mut rng)
        };
        // At the root's shape, then brought to this one.
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
        let bodies =
            |count: usize, wanted: std::ops::Range<usize>| of_root(wanted.map(|index| format!("body {index} of {count}")).collect());
        Ok(Cow::Owned(match name {
            // Every encryption and decryption asks for it: no copy.
            SecretName::Main => return Ok(Cow::Borrowed(&self.secret)),
            SecretName::Temporary => {
                let temporary = self.params.temporary().ok_or(CkksError::NoTemporaryRank { operation: "a key of the temporary rank" })?;
                let further = temporary.rank - rank;
                self.secret.join_rank(&draw("temporary", shape, further, self.params.distribution_of(further))?)?
            }
            SecretName::Ephemeral => {
                let encapsulation = self.params.encapsulation().ok_or(CkksError::NoEphemeralSecret)?;
                draw("ephemeral", shape, rank, SecretDistribution::FixedWeight(encapsulation.weight))?
            }
            SecretName::Device(number) => of_root(vec![format!("device {number}")])?,
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
