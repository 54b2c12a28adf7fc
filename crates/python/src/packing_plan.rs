//! Plans of packing.

use std::sync::Arc;

use clathrate_ckks::SecretName;
use clathrate_ckks::circuits::packing_plan::{PackingMethod, PackingOptions, PackingPlan};
use clathrate_lattice::Level;
use pyo3::prelude::*;

use crate::errors::out_of_range;
use crate::needs::PyNeeds;
use crate::numbers::{Whole, Wholes};
use crate::params::PyParams;
use crate::recipe::{Recipe, Reduced, arguments};
use crate::run::detached;
use crate::text::report_html;

/// A way to bring LWE or MLWE samples into ciphertexts of rank 1: `samples.pack(plan)` carries it out.
///
/// `Ciphertext.to_lwe` and `to_mlwe` make samples of an array in coefficients; `SecretKey.relative` encrypts them at once. The row method
/// switches pairs of samples, with few keys. The column method takes one switch of all masks, with a large key. Midpoints, samples of ranks
/// in between, take nearly the time of the column method and far smaller keys. By default the plan is the fastest whose keys fit, or one
/// with smaller keys that takes at most a tenth more time. Where the rank has an odd part, the row method alone is there, and that part
/// remains.
///
/// Parameters
/// ----------
/// params : Params
///     Parameters of the samples, or any others of the same family.
/// count : int, optional
///     How many numbers are packed at once, for the prediction; by default as many as a ciphertext holds. The plan packs other
///     numbers, too.
/// degree : int, optional
///     The degree of the samples, a power of two. The default is 1: LWE samples.
/// level : int, optional
///     The highest level of the samples; keys of lower levels are smaller. By default the highest.
/// method : {"rows", "column"} or sequence of int, optional
///     "rows", "column", or the ranks of the midpoints, falling powers of two.
/// key_bytes : int, optional
///     The most bytes that the keys may take in memory. By default there is no limit.
/// device : int, optional
///     The number of the device whose samples are packed, as of its `LightClient`. By default the samples are under the owner's secret.
///
/// Raises
/// ------
/// DataError
///     Where no method's keys fit into `key_bytes`, midpoints do not fall, or there are no numbers.
/// ShapeError
///     Where there is nothing to pack, as at rank 1.
/// ParamsError
///     For a degree that the parameters' family does not have.
/// LevelError
///     For a level that does not exist.
///
/// Examples
/// --------
/// >>> params = cl.Params.preset("insecure_small")
/// >>> owner = cl.SecretKey.generate(params)
/// >>> plan = cl.PackingPlan(params, method=[16])
/// >>> samples = owner.encrypt([1.0, 2.0, 3.0], encoding="coefficients").to_lwe()
/// >>> packed = samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)
/// >>> packed.rank, owner.decrypt(packed).round(3)
/// (1, array([1., 2., 3.]))
#[pyclass(frozen, module = "clathrate", name = "PackingPlan")]
pub struct PyPackingPlan {
    pub plan: Arc<PackingPlan>,
    recipe: Recipe,
}

/// The method that `"rows"`, `"column"` or a list of ranks stands for.
fn method_of(py: Python<'_>, method: &Bound<'_, PyAny>) -> PyResult<PackingMethod> {
    if let Ok(name) = method.extract::<String>() {
        return match name.as_str() {
            "rows" => Ok(PackingMethod::Rows),
            "column" => Ok(PackingMethod::Midpoints(Vec::new())),
            _ => Err(out_of_range(py, "method", name, "use \"rows\", \"column\", or the ranks of midpoints")),
        };
    }
    let ranks: Wholes = method.extract()?;
    let ranks =
        ranks.0.into_iter().map(|rank| rank.count(py, "a rank of `method`")).collect::<PyResult<_>>()?;
    Ok(PackingMethod::Midpoints(ranks))
}

#[pymethods]
impl PyPackingPlan {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    #[pyo3(signature = (params, count=None, *, degree=None, level=None, method=None, key_bytes=None, device=None))]
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyParams>,
        count: Option<Whole>,
        degree: Option<Whole>,
        level: Option<Whole>,
        method: Option<&Bound<'_, PyAny>>,
        key_bytes: Option<Whole>,
        device: Option<Whole>,
    ) -> PyResult<Self> {
        let recipe = Recipe::new(
            &py.get_type::<Self>(),
            arguments!(py, params, count, degree, level, method, key_bytes, device),
        );
        let params = params.get();
        let whole =
            |name: &'static str, value: Option<Whole>| value.map(|value| value.count(py, name)).transpose();
        let method = method.map(|method| method_of(py, method)).transpose()?;
        let options = PackingOptions {
            degree: whole("`degree`", degree)?.unwrap_or(1),
            count: whole("`count`", count)?,
            level: whole("`level`", level)?.map(Level),
            method,
            most_key_bytes: whole("`key_bytes`", key_bytes)?,
            secret: device.map_or(Ok(SecretName::Main), |device| {
                device.secret_number(py, "`device`").map(SecretName::Device)
            })?,
        };
        let plan = detached(py, || PackingPlan::new(&params.params, &options))?;
        Ok(Self { plan: Arc::new(plan), recipe })
    }

    /// The keys, for `SecretKey.evaluation_keys` under the parameters that the plan was made with.
    #[getter]
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.plan.needs().clone() }
    }

    /// The method: "rows", "column", or "midpoints" with their ranks.
    #[getter]
    fn method(&self) -> String {
        self.plan.chosen().method.to_string()
    }

    /// The degree of the samples: 1 for LWE samples.
    #[getter]
    fn degree(&self) -> usize {
        self.plan.samples().degree()
    }

    /// The bytes of the keys in memory.
    #[getter]
    fn key_bytes(&self) -> usize {
        self.plan.chosen().key_bytes
    }

    /// The predicted seconds for the plan's numbers, by one thread.
    #[getter]
    fn seconds(&self) -> f64 {
        self.plan.chosen().nanoseconds / 1e9
    }

    /// The predicted precision in bits: minus the binary logarithm of the root mean square error of a number, encryption included.
    #[getter]
    fn precision_bits(&self) -> f64 {
        -self.plan.chosen().error.log2()
    }

    /// For notebooks.
    fn _repr_html_(&self) -> String {
        report_html(&self.explain())
    }

    /// The choice, marked by a star, and the methods that are faster or have fewer keys: predicted times, bytes of keys, precision.
    ///
    /// Returns
    /// -------
    /// str
    ///     The table.
    ///
    /// Examples
    /// --------
    /// >>> print(cl.PackingPlan(cl.Params.preset("insecure_small")).explain().splitlines()[0])
    /// packing of 1024 numbers from samples of shape 1x1024 to 1024x1, levels up to 5
    fn explain(&self) -> String {
        self.plan.explain()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.recipe.reduce(py)
    }

    fn __repr__(&self) -> String {
        let (plan, chosen) = (&self.plan, self.plan.chosen());
        format!(
            "PackingPlan({}, {}, {} bytes of keys)",
            plan.samples().spec().name,
            chosen.method,
            chosen.key_bytes
        )
    }
}
