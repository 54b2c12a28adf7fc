//! The options of a plan of a bootstrap of samples, and the parameters of the samples.

use clathrate_lattice::Level;

use crate::arrays::SecretName;
use crate::error::CkksError;
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// The options of a plan of a bootstrap of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplesOptions {
    /// How many numbers are bootstrapped together; absent for as many as one ciphertext holds, two in each
    /// slot. More numbers become several ciphertexts. The plan serves all counts, with the slots that this
    /// count needs.
    pub count: Option<usize>,
    /// The degree of the samples, a power of two: 1 for LWE samples. Samples of a higher degree need `pairs`.
    pub degree: usize,
    /// The dimension of the samples; absent for the least power of two that is secure at level 0.
    pub dimension: Option<usize>,
    /// The secret of the samples: the main one, a device's, or that of another library. Samples of another
    /// library may have any dimension, but must state it.
    pub secret: SecretName,
    /// Whether two consecutive numbers are the real and the imaginary part of one slot, so that the result is
    /// complex and half as long. Otherwise the result is real, and the two parts of a ciphertext become
    /// separate ciphertexts.
    pub pairs: bool,
    /// The ranks between those of the samples and of the result, in descending order. Absent for the fastest
    /// whose keys fit, or for smaller keys if the whole takes at most 10 % more time.
    pub midpoints: Option<Vec<usize>>,
    /// The degree of the ring in which samples are packed: a smaller ring, from which one switch leads to the
    /// ring of the bootstrap, or that ring. Absent for the best choice, as for `midpoints`.
    pub ring: Option<usize>,
    /// The maximum bytes of all keys in memory. Absent for the limit of the parameters, which is for the keys
    /// of the bootstrap without those of packing.
    pub most_key_bytes: Option<usize>,
    /// The maximum seconds for `count` numbers, by the built-in times, which are the same on every machine.
    /// The plan then takes the smallest keys that are fast enough. Absent for the fastest, or for smaller
    /// keys if the whole takes at most 10 % more time.
    pub most_seconds: Option<f64>,
    /// See [`BootstrapOptions::log2_failure`](crate::BootstrapOptions::log2_failure).
    pub log2_failure: Option<f64>,
}

impl Default for SamplesOptions {
    fn default() -> Self {
        Self {
            count: None,
            degree: 1,
            dimension: None,
            secret: SecretName::Main,
            pairs: false,
            midpoints: None,
            ring: None,
            most_key_bytes: None,
            most_seconds: None,
            log2_failure: None,
        }
    }
}

/// The parameters of the samples.
pub(super) fn sample_params(target: &Params, options: &SamplesOptions) -> Result<Params, CkksError> {
    let most = target.degree();
    if !options.degree.is_power_of_two() || options.degree >= most {
        let remedy = format!("use a power of two below {most}");
        return Err(CkksError::OutOfRange {
            what: "the degree of the samples",
            value: options.degree.to_string(),
            remedy,
        });
    }
    if !matches!(options.secret, SecretName::Main | SecretName::Device(_) | SecretName::Outside(_)) {
        return Err(CkksError::OutOfRange {
            what: "the secret of the samples",
            value: options.secret.to_string(),
            remedy: "use the main secret, a device's, or one of another library".to_owned(),
        });
    }
    let of = |dimension: usize| {
        let samples =
            target.for_samples(ModuleShape { degree: options.degree, rank: dimension / options.degree })?;
        if !matches!(options.secret, SecretName::Outside(_)) {
            samples.check_fresh(options.secret, Level(0))?;
        }
        Ok(samples)
    };
    if let SecretName::Outside(_) = options.secret {
        let Some(dimension) =
            options.dimension.filter(|&dimension| options.degree == 1 && (1..=most).contains(&dimension))
        else {
            let value =
                options.dimension.map_or_else(|| "not said".to_owned(), |dimension| dimension.to_string());
            let remedy = format!("say 1 to {most}, the length of the secret, for samples of degree 1");
            return Err(CkksError::OutOfRange {
                what: "the dimension of samples of another library",
                value,
                remedy,
            });
        };
        return of(dimension.next_power_of_two());
    }
    if let Some(dimension) = options.dimension {
        if dimension == 0 || dimension > most || !dimension.is_multiple_of(options.degree) {
            let remedy = format!("use a multiple of the degree {} up to {most}", options.degree);
            return Err(CkksError::OutOfRange {
                what: "the dimension of the samples",
                value: dimension.to_string(),
                remedy,
            });
        }
        return of(dimension);
    }
    let mut dimension = options.degree;
    while dimension < most {
        if let Ok(samples) = of(dimension) {
            return Ok(samples);
        }
        dimension *= 2;
    }
    of(most)
}
