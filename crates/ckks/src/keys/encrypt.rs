//! Encryption: encryptions of zero with the secret or the public key, with messages added to their bodies.

use std::borrow::Borrow;

use clathrate_lattice::rounding::Rounding;
use clathrate_lattice::{Basis, Bundle, Eval, Level, Poly, SecretRng};

use super::options::EncryptOptions;
use crate::arrays::memory::check_free;
use crate::arrays::{Ciphertext, Estimate, Layout};
use crate::encoding::chunks::encode_polynomial;
use crate::encoding::encode::deciding_magnitude;
use crate::encoding::values::{ValuesRef, check_values};
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::names::SecretName;
use crate::parameters::Params;
use crate::progress::Progress;

/// Makes encryptions of zero modulo the primes of a basis.
type Zero<'k> = Box<dyn Fn(&Basis, &mut SecretRng) -> Result<Bundle<Eval>, CkksError> + 'k>;

/// The parts of a secret or public key that encryption uses.
pub(super) struct Encryptor<'k> {
    pub(super) params: &'k Params,
    pub(super) key_id: KeyId,
    pub(super) progress: &'k Progress,
    /// The variance of the error in each coefficient of a fresh ciphertext.
    pub(super) variance: f64,
    pub(super) zero: Zero<'k>,
}

/// The properties of a ciphertext whose bundles are still to be made.
pub(super) struct Outline<'s> {
    pub(super) secret: SecretName,
    pub(super) shape: &'s [usize],
    pub(super) layout: Layout,
    pub(super) level: Level,
    pub(super) scale: f64,
}

impl Encryptor<'_> {
    /// Encrypts an array. The time depends on the numbers only through their count and the bound that
    /// `options` declare.
    pub(super) fn array(
        &self,
        values: ValuesRef<'_>,
        shape: &[usize],
        options: EncryptOptions,
        rng: &mut SecretRng,
    ) -> Result<Ciphertext, CkksError> {
        let params = self.params;
        let layout = options.layout(shape, values.is_complex(), params.degree())?;
        check_values(values, shape, &layout)?;
        let level = options.level.unwrap_or(params.fresh_level());
        params.check_level(level)?;
        params.check_fresh(options.secret(), level)?;
        let scale = options.scale.unwrap_or(params.scale(level));
        params.check_scale(scale, level)?;
        options.check_bound(values)?;
        params.check_bound(options.bound.unwrap_or(f64::INFINITY), scale, level)?;
        let primes = params.chain().basis(level).len();
        let words = (params.rank() + layout.bodies()).saturating_mul(primes).saturating_mul(params.degree());
        check_free(
            "encrypting this array",
            layout.bundles().saturating_mul(words).saturating_mul(8),
            "put several rows into each polynomial (`lanes`), transpose it, so that few long rows fill theirs, or encrypt a part of it at a time",
        )?;
        let largest = deciding_magnitude(options.bound, values, scale);
        // Rounding is random, so that two encryptions of one array have different rounding errors.
        let rounding = Rounding::random(rng);
        let message = |polynomial: usize| {
            let rounding = rounding.of_case(polynomial as u64);
            encode_polynomial(params, (values, largest), &layout, polynomial, (scale, rounding), level)
                .map(Some)
        };
        let outline = Outline { secret: options.secret(), shape, layout, level, scale };
        Ok(self.messages(outline, rng, message)?.freshly(options.bound, self.variance, false))
    }

    /// Encrypts the messages of an array, bundle by bundle; an absent message is zero. The caller sets the
    /// estimate.
    pub(super) fn messages<M: Borrow<Poly<Eval>>>(
        &self,
        outline: Outline<'_>,
        rng: &mut SecretRng,
        message: impl Fn(usize) -> Result<Option<M>, CkksError>,
    ) -> Result<Ciphertext, CkksError> {
        let Outline { secret, shape, layout, level, scale } = outline;
        let basis = self.params.chain().basis(level);
        let mut bundles = Vec::with_capacity(layout.bundles());
        let mut steps = self.progress.steps(layout.bundles());
        for index in 0..layout.bundles() {
            steps.begin()?;
            let messages = (0..layout.bodies())
                .map(|body| layout.polynomial_at(index, body).map_or(Ok(None), &message))
                .collect::<Result<Vec<_>, _>>()?;
            let mut bundle = (self.zero)(&basis, rng)?;
            for (body, message) in messages.iter().enumerate() {
                let Some(message) = message else { continue };
                let message: &Poly<Eval> = message.borrow();
                bundle.add_message(body, message)?;
            }
            bundles.push(bundle);
        }
        steps.finish()?;
        Ok(Ciphertext {
            params: self.params.clone(),
            key_id: self.key_id,
            secret,
            shape: shape.to_vec(),
            layout,
            level,
            scale,
            bundles,
            estimate: Estimate::unknown(),
            footprint: None,
        })
    }
}
