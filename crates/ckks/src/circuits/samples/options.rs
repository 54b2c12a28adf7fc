//! What a plan of a bootstrap of samples may choose, and the parameters of the samples.

use clathrate_lattice::Level;

use crate::arrays::SecretName;
use crate::error::CkksError;
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// What a plan of a bootstrap of samples may choose.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplesOptions {
    /// How many numbers come at once; absent for as many as one ciphertext holds, two in each slot. More than
    /// that become several ciphertexts. The plan serves all counts, at the slots that this one needs.
    pub count: Option<usize>,
    /// Degree of the samples, a power of two: 1 for LWE samples. Samples of a higher degree have pairs.
    pub degree: usize,
    /// Dimension of the samples; absent for the least power of two that is secure at level 0.
    pub dimension: Option<usize>,
    /// The secret of the samples: the main one, a device's, or one of another library, whose samples have any
    /// dimension that is said.
    pub secret: SecretName,
    /// Whether two consecutive numbers are the real and the imaginary part of one slot, so that the result is
    /// complex and half as long. Without, the result is real, and both parts of a ciphertext become
    /// ciphertexts of their own.
    pub pairs: bool,
    /// Ranks between, falling; absent for the fastest whose keys fit, or for smaller keys at a tenth more
    /// time of the whole.
    pub midpoints: Option<Vec<usize>>,
    /// Degree of the ring that samples are packed in before one switch leads to the ring of the bootstrap, or
    /// of the latter; absent for the fastest, as for midpoints.
    pub ring: Option<usize>,
    /// The most bytes that all keys may take in memory; absent for the limit of the parameters on a
    /// bootstrap's keys, beside those of packing.
    pub most_key_bytes: Option<usize>,
    /// The most seconds that the whole may take by the times that are built in, by which all machines plan
    /// alike, for the count above: the fewest keys that are as fast. Absent for the fastest, or for smaller
    /// keys at a tenth more time.
    pub most_seconds: Option<f64>,
    /// As [`BootstrapOptions::log2_failure`](crate::BootstrapOptions::log2_failure).
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
