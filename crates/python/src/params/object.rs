//! The class: checked parameters as Python holds them.

use clathrate_ckks::circuits::automatic::AutomaticPlans;
use clathrate_ckks::{CkksError, Params, ParamsSpec, Runtime};
use clathrate_lattice::Level;
use pyo3::prelude::*;

use crate::conversions::ConversionPlans;
use crate::errors::{exception, raise};
use crate::numbers::Whole;
use crate::run::detached;

use super::warnings::{insecurity, warn_insecure};

/// A checked, immutable parameter set: the ring, the moduli, the scale, and the security that follows from them.
///
/// `Params.preset(name)` gives one of the sets that `preset_names()` lists. The constructor makes a set from sizes, and chooses primes of
/// these sizes.
///
/// The modulus of a ciphertext is a product of *steps*, each of one or more primes. A ciphertext at *level* l has the modulus of steps 0 to
/// l. A rescale divides by step l and leads to level l - 1, so a level is the number of rescales that are left. The *special primes*
/// lengthen the modulus during key switching only, the step that ends products of ciphertexts and rotations. The *rank* k is the number of
/// polynomials in the mask of a ciphertext: at rank 1 this is CKKS over rings (RLWE), at higher ranks over modules (MLWE). Security grows
/// with degree times rank and falls with the bits of the largest modulus, special primes included.
///
/// Parameters
/// ----------
/// degree : int
///     The ring degree n, a power of two from 2**3 to 2**17. A ciphertext holds n / 2 complex slots or n real coefficients.
/// steps : sequence of float or of sequences of float
///     The bits of the primes of each modulus step, step 0 first. A number is a step of one prime: `[[30, 30], 40, 40]` has levels 0 to 2.
///     Fractions of a bit are allowed.
/// log2_scale : float, optional
///     The bits of the scale at the highest level. The scale is the factor that numbers are multiplied by before they are rounded. It is
///     required unless `segments` state scales.
/// special : sequence of float, optional
///     The bits of the special primes. Without any there are no evaluation keys, and so no products of ciphertexts and no rotations.
/// rank : int, optional
///     The module rank k, 1 to 64. The default is 1.
/// temporary_rank : int, optional
///     A rank above `rank` at which products and `Needs(power_rotations=True)` switch keys before the result comes back to `rank`. Keys are
///     smaller and products faster at ranks above 1. It needs `temporary`. None, the default, switches keys at `rank` directly.
/// temporary : sequence of float, optional
///     The bits of the primes that lengthen the special modulus at the temporary rank.
/// secret_weight : int, optional
///     The number of coefficients of the secret that are not zero. None, the default, draws each coefficient uniformly from -1, 0, 1.
/// digit_bits : float, optional
///     The most bits of a digit that key switching cuts polynomials into. None, the default, allows as many as the special primes have.
/// insecure : bool, optional
///     True accepts any security, for tests only. Every file made from such a set says so.
/// below_128 : bool, optional
///     True accepts sets of 110 to 128 bits of security, some of which were published.
/// name : str, optional
///     A name for people. The default is "custom".
/// segments : sequence of dict, optional
///     Runs of levels with a scale each, the lowest first: dicts with `name`, `log2_scale` and `levels`, the lowest and the highest level.
///     None are the default: all levels share `log2_scale`.
/// ephemeral_weight : int, optional
///     The number of coefficients that are not zero of a second, sparse secret. Its keys are bound to level 0.
///     None, the default, is no such secret.
/// ephemeral_special : int, optional
///     The number of special primes that keys to the sparse secret use. The default is 2.
/// bootstrap_key_bytes : int, optional
///     The most bytes that the keys of a bootstrap may take in memory, unless its plan says otherwise. None, the default, is no limit.
/// bootstrap_log2_failure : float, optional
///     The binary logarithm of the largest probability that a bootstrap may fail with. None, the default, is -128.
/// runtime : Runtime, optional
///     How to run: threads, instruction set, key switching. None, the default, is `Runtime()`.
/// device : str, optional
///     Where to compute, "cpu" or "cuda", in place of what the runtime says.
///
/// Raises
/// ------
/// ParamsError
///     Where the sizes do not make a parameter set, or no level can switch keys as the runtime asks.
/// SecurityError
///     Where the set has less than 128 bits of security and neither `insecure` nor `below_128` accepts that.
///
/// Examples
/// --------
/// >>> cl.Params(degree=64, steps=[[30, 30], 40, 40], special=[42, 42], log2_scale=40, insecure=True)
/// Params("custom", degree=64, rank=1, max_level=2, security_bits=0, INSECURE)
#[pyclass(frozen, module = "clathrate", name = "Params")]
pub struct PyParams {
    pub params: Params,
    /// Plans that arrays under these parameters were converted by.
    pub conversions: ConversionPlans,
    /// Plans of bootstraps that operators ran by themselves.
    pub bootstraps: AutomaticPlans,
}

/// A number of things, as core code takes it.
pub fn size(py: Python<'_>, what: &str, value: Whole) -> PyResult<usize> {
    usize::try_from(value.0).map_err(|_| {
        let reason = format!("{what} {} is out of range: use a positive number", value.0);
        raise(py, CkksError::InvalidParams { reason })
    })
}

impl PyParams {
    pub fn from_core(params: Params) -> Self {
        let bootstraps = AutomaticPlans::new(&params);
        Self { params, conversions: ConversionPlans::default(), bootstraps }
    }

    /// Warns the caller in Python where these parameters protect nothing.
    ///
    /// # Errors
    /// `InsecureWarning`, where warnings are errors.
    pub fn warn_insecure(&self, py: Python<'_>) -> PyResult<()> {
        warn_insecure(py, insecurity(self.params.security_bits()).as_deref())
    }

    pub fn build(py: Python<'_>, spec: ParamsSpec, runtime: Runtime) -> PyResult<Self> {
        detached(py, move || Params::new(spec, &runtime)).map(Self::from_core)
    }

    /// `params` as Python knows them: `near`, where they are the same.
    pub fn of(py: Python<'_>, params: &Params, near: &Py<Self>) -> PyResult<Py<Self>> {
        if near.get().params == *params {
            Ok(near.clone_ref(py))
        } else {
            Py::new(py, Self::from_core(params.clone()))
        }
    }

    /// A level, or the one that arrays have unless the caller states one.
    pub fn fresh_level(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<Level> {
        if level.is_some() { self.level(py, level) } else { Ok(self.params.fresh_level()) }
    }

    /// A level, or the top.
    pub fn level(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<Level> {
        let Some(Whole(value)) = level else { return Ok(self.params.max_level()) };
        match usize::try_from(value) {
            Ok(value) if value <= self.params.max_level().0 => Ok(Level(value)),
            _ => Err(exception(
                py,
                "LevelError",
                format!("level {value} is out of range: use 0 to {}", self.params.max_level()),
            )),
        }
    }
}

#[pymethods]
impl PyParams {
    /// The lowest and the highest level of the application, in parameters that bootstrap; otherwise None.
    ///
    /// A bootstrap starts from the lowest level or above, and ends at the highest, or a level below it for each further round. Arrays are
    /// encrypted, circuits planned and keys made for the highest unless a level is stated: the levels above belong to the bootstrap, and
    /// operands of products that are there are brought to the highest first.
    #[getter]
    fn application_levels(&self) -> Option<(usize, usize)> {
        self.params.application_levels().ok().map(|(lowest, highest)| (lowest.0, highest.0))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().params == self.params)
    }

    fn __hash__(&self) -> u64 {
        let digest = self.params.digest();
        digest[..8].iter().fold(0, |hash, &byte| hash << 8 | u64::from(byte))
    }

    fn __repr__(&self) -> String {
        format!(
            "Params(\"{}\", degree={}, rank={}, max_level={}, security_bits={:.0}{})",
            self.params.spec().name,
            self.params.degree(),
            self.params.rank(),
            self.params.max_level(),
            self.params.security_bits(),
            if self.params.is_insecure() { ", INSECURE" } else { "" }
        )
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }
}
