//! The owner's side: makes clients, and stores their states in files.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use clathrate_lattice::{Level, MaskSeed, SecretRng};
use clathrate_samples::client::MAX_STATE_BYTES;
use clathrate_samples::wire::{MAX_BITS, MIN_BITS};
use clathrate_samples::{LightClient, Terms};
use zeroize::Zeroizing;

use crate::arrays::{Order, SecretName};
use crate::error::CkksError;
use crate::file::{FileError, OutputFile, Replaced};
use crate::keys::SecretKey;
use crate::shape::ModuleShape;

/// Options of a light client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LightOptions {
    /// Degree of a sample, a power of two: the count of numbers under one mask. 1 for LWE samples.
    pub degree: usize,
    /// Dimension of a sample, degree times rank; `None` for the dimension of the parameters. Samples of a
    /// smaller dimension are packed faster and have fewer levels.
    pub dimension: Option<usize>,
    /// The level of the samples.
    pub level: Level,
    /// The scale; `None` for the canonical scale of the level.
    pub scale: Option<f64>,
    /// Bits of precision: dropping the low bits of each body causes an error with a root mean square of at
    /// most `2^-precision_bits`, in units of the numbers. `None` allows about the error of the encryption.
    pub precision_bits: Option<f64>,
    /// The main secret, or the secret of a device, which then does not get the main secret. Such a device
    /// decrypts arrays that were switched to its secret
    /// ([`Evaluator::change_secret`](crate::Evaluator::change_secret)). The switching key encrypts the main
    /// secret under the device's secret, so whoever has this key and the device's secret has the main secret.
    /// The owner also makes keys to pack samples under the device's secret.
    pub secret: SecretName,
    /// The order of a sample's numbers in its polynomial. Bootstrapping bit-reversed samples gives slots in
    /// natural order.
    pub order: Order,
}

impl Default for LightOptions {
    fn default() -> Self {
        Self {
            degree: 1,
            dimension: None,
            level: Level(0),
            scale: None,
            precision_bits: None,
            secret: SecretName::Main,
            order: Order::Natural,
        }
    }
}

impl SecretKey {
    /// A light client under this secret or a device's secret, with the given options.
    ///
    /// ```
    /// use clathrate_ckks::light::{LightOptions, Receiver};
    /// use clathrate_ckks::prelude::*;
    ///
    /// let params = Params::preset("insecure_small", &Runtime::default())?;
    /// let owner = SecretKey::generate(&params)?;
    /// let mut client = owner.light_client(&LightOptions { precision_bits: Some(16.0), ..LightOptions::default() })?;
    /// let receiver = Receiver::new(&params, &client.introduction(), &owner.authentication_key())?;
    ///
    /// let message = client.encrypt(&[0.25, -1.5])?;
    /// assert_eq!((client.bits_per_number(), message.len()), (35, 28 + (2 * 35usize).div_ceil(8)));
    /// let samples = receiver.receive(&[&message], None)?;
    /// let numbers = client.decrypt(&receiver.reply(&samples)?)?;
    /// assert!((numbers[0] - 0.25).abs() < 1e-4 && (numbers[1] + 1.5).abs() < 1e-4);
    /// # Ok::<(), CkksError>(())
    /// ```
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a degree that is not a power of two up to the degree of the parameters,
    /// a dimension that is not a multiple of the degree or is larger than the parameters', a modulus of more
    /// than 120 bits, and a precision that leaves no bits or exceeds the encryption's;
    /// [`CkksError::InvalidParams`] for a dimension that is not secure; [`CkksError::Insecure`] for an
    /// insecure part of a sparse secret; level and scale errors; [`CkksError::Lattice`] if random generation
    /// fails.
    pub fn light_client(&self, options: &LightOptions) -> Result<LightClient, CkksError> {
        let &LightOptions { degree, dimension, level, scale, precision_bits, secret: name, order } = options;
        let (params, whole) = (self.params(), self.params().shape().dimension());
        params.check_level(level)?;
        let device = if let SecretName::Device(number) = name { Some(number) } else { None };
        if device.is_none() && name != SecretName::Main {
            let remedy = "use the main secret or a device's".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the secret of a light client",
                value: name.to_string(),
                remedy,
            });
        }
        if !degree.is_power_of_two() || degree > params.degree() {
            let remedy = format!("use a power of two up to {}", params.degree());
            return Err(CkksError::OutOfRange {
                what: "the degree of a light client's samples",
                value: degree.to_string(),
                remedy,
            });
        }
        let dimension = dimension.unwrap_or(whole);
        if dimension == 0 || dimension > whole || !dimension.is_multiple_of(degree) {
            let remedy = format!("use a multiple of the degree {degree} up to {whole}");
            return Err(CkksError::OutOfRange {
                what: "the dimension of a light client's samples",
                value: dimension.to_string(),
                remedy,
            });
        }
        let rank = dimension / degree;
        let samples = params.for_samples(ModuleShape { degree, rank })?;
        samples.check_level(level)?;
        samples.check_fresh(name, level)?;
        let (ring, basis) = (params.chain().ring(), params.chain().basis(level));
        let moduli: Vec<(u64, usize)> =
            basis.indices().iter().map(|&index| (ring.moduli()[index].value(), index)).collect();
        let bits: u32 = moduli.iter().map(|&(q, _)| q.ilog2() + 1).sum();
        if bits > MAX_BITS {
            let remedy = format!("a light client takes levels of at most {MAX_BITS} bits: use a lower one");
            return Err(CkksError::OutOfRange {
                what: "the modulus of a light client",
                value: format!("{bits} bits"),
                remedy,
            });
        }
        let scale = scale.unwrap_or(params.scale(level));
        params.check_scale(scale, level)?;
        // Dropping t bits adds an error that is uniform in an interval of length 2^t.
        let deviation = precision_bits
            .map_or(clathrate_lattice::sampling::ERROR_STANDARD_DEVIATION, |bits| scale * (-bits).exp2());
        let dropped = (deviation * 12f64.sqrt()).log2().floor();
        let refuse = |remedy: String| {
            let value = precision_bits.map_or_else(|| "none".to_owned(), |bits| bits.to_string());
            Err(CkksError::OutOfRange { what: "the precision of a light client", value, remedy })
        };
        if !(0.0..63.0).contains(&dropped) {
            return refuse(format!(
                "at scale 2^{:.1} ask for at most {:.1} bits and at least {:.1}",
                scale.log2(),
                scale.log2() + 1.7,
                scale.log2() - 61.0
            ));
        }
        let small = |secret: &clathrate_lattice::SecretKey| {
            Zeroizing::new(secret.all_coefficients().iter().map(|&c| c as i8).collect::<Vec<_>>())
        };
        let secret = small(&*self.named(name)?);
        let part =
            if dimension == whole { None } else { Some(small(&*self.relative(&samples)?.named(name)?)) };
        let (digest, key_id) = (*params.root()?.digest(), self.id());
        let mut serial = [0; 16];
        SecretRng::from_os()?.fill_bytes(&mut serial);
        let terms = Terms {
            digest,
            key_id: key_id.0,
            serial,
            device,
            degree,
            rank,
            level: level.0,
            scale,
            dropped: dropped as u32,
            reversed: order == Order::BitReversed,
            moduli,
            seed: MaskSeed([0; 32]),
        };
        if terms.dropped + MIN_BITS > terms.modulus_bits() {
            return refuse(format!(
                "a modulus of {} bits keeps at least {MIN_BITS}: ask for more precision",
                terms.modulus_bits()
            ));
        }
        let key = self.authentication_key().of_client(&terms);
        Ok(LightClient::new(terms, key, (secret, part), params.degree())?)
    }
}

/// Writes a client's state, with the secret, to a file that only its owner can read. Replaces an existing
/// file atomically if `replaced` allows it.
///
/// # Errors
/// [`CkksError::File`].
pub fn save_client(
    client: &LightClient,
    path: impl AsRef<Path>,
    replaced: Replaced,
) -> Result<u64, CkksError> {
    let path = path.as_ref();
    let mut file = OutputFile::create_as(path, true, replaced)?;
    file.write_all(&client.to_bytes()).map_err(|error| FileError::io(path, "write", error))?;
    Ok(file.commit()?)
}

/// The client of a file that [`save_client`] wrote.
///
/// # Errors
/// [`CkksError::File`] if the file cannot be read; those of [`LightClient::from_bytes`].
pub fn load_client(path: impl AsRef<Path>) -> Result<LightClient, CkksError> {
    let path = path.as_ref();
    // The memory has the maximum length from the start, because growing would leave copies of the secret in
    // freed memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_STATE_BYTES + 1));
    let file = File::open(path).map_err(|error| FileError::io(path, "open", error))?;
    file.take(MAX_STATE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| FileError::io(path, "read", error))?;
    Ok(LightClient::from_bytes(&bytes)?)
}
