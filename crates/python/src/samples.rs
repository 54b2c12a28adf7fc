//! Plans that bring samples to slots.

use std::sync::Arc;

use clathrate_ckks::SecretName;
use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole, Wholes};
use crate::params::PyParams;
use crate::recipe::{Recipe, Reduced, arguments};
use crate::run::detached;
use crate::text::report_html;

/// A way to bring LWE or MLWE samples of a small dimension to slots at a high level: `samples.bootstrap_samples(plan)` carries it out.
///
/// The samples are packed at level 0, and bootstrapped by the second half of a bootstrap. They come from light clients that were
/// made with the plan, or, with `outside`, from another library (`outside_samples`). A plan serves any count of numbers: fewer than it
/// was made for leave slots empty, more become several ciphertexts.
///
/// Parameters
/// ----------
/// params : Params
///     Parameters that can be bootstrapped.
/// count : int, optional
///     How many numbers come at once. Up to half the degree they are in the slots of one ciphertext; up to the degree, of two that are
///     bootstrapped in one. The default is the degree.
/// degree : int, optional
///     The degree of the samples, a power of two: how many numbers share a mask. The default is 1: LWE samples.
/// dimension : int, optional
///     The dimension of the samples. By default the least power of two that is secure at level 0.
/// device : int, optional
///     The number of the device whose samples these are. By default they are under a part of the owner's secret.
/// outside : int, optional
///     The number that `SecretKey.with_outside_secret` gave to the secret of another library, whose samples these are. `dimension` is then
///     the length of that secret.
/// pairs : bool, optional
///     Whether two consecutive numbers are the real and the imaginary part of one slot. The result is then complex and half as
///     long. The default is False for LWE samples, and True for others, which cannot be without.
/// midpoints : sequence of int, optional
///     Ranks of samples between those and the ring, falling powers of two. By default the fastest, or smaller keys at a tenth more time.
/// ring : int, optional
///     The degree of the ring that samples are packed in before one switch leads to the ring of the bootstrap, or of the latter. By
///     default as for midpoints.
/// key_bytes : int, optional
///     The most bytes that all keys may take in memory. By default the parameters' own limit on a bootstrap's keys.
/// seconds : float, optional
///     The most seconds that `count` numbers may take, as predicted: the plan then takes the fewest keys of packing that are as fast.
///
/// Raises
/// ------
/// ParamsError
///     Where the parameters cannot be bootstrapped, or samples of this dimension are not secure.
/// DataError
///     For an impossible count, degree, dimension, ring or midpoints, for `device` together with `outside`, and where no choice fits into
///     `key_bytes` or `seconds`.
/// ShapeError
///     For samples of several numbers without pairs.
///
/// Examples
/// --------
/// >>> params = cl.Params.preset("insecure_boot")
/// >>> owner = cl.SecretKey.generate(params)
/// >>> plan = cl.SamplesPlan(params, 4)
/// >>> client = cl.LightClient(owner, plan=plan)
/// >>> samples = cl.Receiver(params, client.introduction, owner.authentication_key()).receive([client.encrypt([0.5, -0.25, 0.125, 1.0])])
/// >>> x = samples.with_keys(owner.evaluation_keys(plan.needs)).bootstrap_samples(plan)
/// >>> x.level, owner.decrypt(x).round(3)
/// (6, array([ 0.5  , -0.25 ,  0.125,  1.   ]))
#[pyclass(frozen, module = "clathrate", name = "SamplesPlan")]
pub struct PySamplesPlan {
    pub plan: Arc<SamplesPlan>,
    recipe: Recipe,
}

#[pymethods]
impl PySamplesPlan {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    #[pyo3(signature = (
        params, count=None, *, degree=None, dimension=None, device=None, outside=None, pairs=None, midpoints=None, ring=None,
        key_bytes=None, seconds=None
    ))]
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyParams>,
        count: Option<Whole>,
        degree: Option<Whole>,
        dimension: Option<Whole>,
        device: Option<Whole>,
        outside: Option<Whole>,
        pairs: Option<bool>,
        midpoints: Option<Wholes>,
        ring: Option<Whole>,
        key_bytes: Option<Whole>,
        seconds: Option<Real>,
    ) -> PyResult<Self> {
        let recipe = Recipe::new(
            &py.get_type::<Self>(),
            arguments!(
                py, params, count, degree, dimension, device, outside, pairs, midpoints, ring, key_bytes,
                seconds
            ),
        );
        let params = params.get();
        let whole =
            |name: &'static str, value: Option<Whole>| value.map(|value| value.count(py, name)).transpose();
        let degree = whole("`degree`", degree)?.unwrap_or(1);
        let secret = match (device, outside) {
            (None, None) => SecretName::Main,
            (Some(device), None) => SecretName::Device(device.secret_number(py, "`device`")?),
            (None, Some(outside)) => SecretName::Outside(outside.secret_number(py, "`outside`")?),
            (Some(_), Some(_)) => {
                let message =
                    "samples are a device's or another library's: leave out `device` or `outside`".to_owned();
                return Err(exception(py, "DataError", message));
            }
        };
        let ranks = |ranks: Wholes| {
            ranks.0.into_iter().map(|rank| rank.count(py, "a rank of `midpoints`")).collect::<PyResult<_>>()
        };
        let options = SamplesOptions {
            count: whole("`count`", count)?,
            degree,
            dimension: whole("`dimension`", dimension)?,
            secret,
            pairs: pairs.unwrap_or(degree > 1),
            midpoints: midpoints.map(ranks).transpose()?,
            ring: whole("`ring`", ring)?,
            most_key_bytes: whole("`key_bytes`", key_bytes)?,
            most_seconds: Real::given(seconds),
            ..SamplesOptions::default()
        };
        let plan = detached(py, || SamplesPlan::new(&params.params, &options))?;
        Ok(Self { plan: Arc::new(plan), recipe })
    }

    /// The keys, for `SecretKey.evaluation_keys` under the parameters that the plan was made with.
    #[getter]
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.plan.needs().clone() }
    }

    /// The keys for samples under the secrets of several devices, and for the plan's own: one key more for each device.
    ///
    /// Parameters
    /// ----------
    /// devices : sequence of int
    ///     The numbers of the devices.
    ///
    /// Returns
    /// -------
    /// Needs
    ///     For `SecretKey.evaluation_keys`.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For a negative number, and for a plan for samples of another library.
    /// TypeError
    ///     For anything but a list of whole numbers.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    /// >>> plan = cl.SamplesPlan(owner.params, 4, device=1)
    /// >>> keys = owner.evaluation_keys(plan.needs_of([1, 2, 3]))
    fn needs_of(&self, py: Python<'_>, devices: Wholes) -> PyResult<PyNeeds> {
        let secret =
            |device: Whole| device.secret_number(py, "a number of `devices`").map(SecretName::Device);
        let secrets: Vec<SecretName> = devices.0.into_iter().map(secret).collect::<PyResult<_>>()?;
        let needs = detached(py, || self.plan.needs_of(&secrets))?;
        Ok(PyNeeds { needs })
    }

    /// How many numbers the prediction is for.
    #[getter]
    fn count(&self) -> usize {
        self.plan.count()
    }

    /// The degree of the samples: 1 for LWE samples.
    #[getter]
    fn degree(&self) -> usize {
        self.plan.samples().degree()
    }

    /// The dimension of the samples.
    #[getter]
    fn dimension(&self) -> usize {
        self.plan.samples().shape().dimension()
    }

    /// The degree of the ring that samples are packed in first; that of the bootstrap where there is no smaller one.
    #[getter]
    fn ring(&self) -> usize {
        self.plan.packing().ring.unwrap_or_else(|| self.plan.half_bootstrap().params().degree())
    }

    /// The estimated bits of security of the least secure secret that the keys are under.
    #[getter]
    fn security_bits(&self) -> f64 {
        self.plan.security_bits()
    }

    /// Whether two consecutive numbers are the real and the imaginary part of one slot.
    #[getter]
    fn pairs(&self) -> bool {
        self.plan.pairs()
    }

    /// The scale of the samples.
    #[getter]
    fn scale(&self) -> f64 {
        self.plan.scale()
    }

    /// The slots of each ciphertext.
    #[getter]
    fn slots(&self) -> usize {
        self.plan.half_bootstrap().slots()
    }

    /// The level of the result.
    #[getter]
    fn output_level(&self) -> usize {
        self.plan.half_bootstrap().output_level().0
    }

    /// The bytes of all keys in memory.
    #[getter]
    fn key_bytes(&self) -> usize {
        self.plan.key_bytes()
    }

    /// The predicted seconds for `count` numbers, by one thread.
    #[getter]
    fn seconds(&self) -> f64 {
        self.plan.predicted_nanoseconds() / 1e9
    }

    /// The predicted precision in bits: minus the binary logarithm of the root mean square error of a number, encryption included,
    /// without what a light client cuts off.
    #[getter]
    fn precision_bits(&self) -> f64 {
        -self.plan.predicted_error().log2()
    }

    /// The binary logarithm of the probability that the bootstrap of one ciphertext fails.
    #[getter]
    fn log2_failure(&self) -> f64 {
        self.plan.half_bootstrap().log2_failure()
    }

    /// For notebooks.
    fn _repr_html_(&self) -> String {
        report_html(&self.explain())
    }

    /// What the plan does, and the ways to pack that are faster or have fewer keys: predicted times, bytes of keys, precision.
    ///
    /// Returns
    /// -------
    /// str
    ///     Two lines and a table, in which a star marks the choice.
    ///
    /// Examples
    /// --------
    /// >>> print(cl.SamplesPlan(cl.Params.preset("insecure_boot"), 4).explain().split(" at scale")[0])
    /// 4 numbers from samples of shape 1x64
    fn explain(&self) -> String {
        self.plan.explain()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.recipe.reduce(py)
    }

    fn __repr__(&self) -> String {
        let plan = &self.plan;
        let name = &plan.half_bootstrap().params().spec().name;
        format!(
            "SamplesPlan({name}, {} numbers of samples of shape {}, {} bytes of keys)",
            plan.count(),
            plan.samples().shape(),
            plan.key_bytes()
        )
    }
}
