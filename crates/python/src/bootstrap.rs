//! Plans of bootstraps.

use std::sync::Arc;

use clathrate_arith::text::counted;
use clathrate_ckks::{BootstrapOptions, BootstrapPlan};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::needs::PyNeeds;
use crate::numbers::Whole;
use crate::params::{PyParams, size};
use crate::recipe::{Recipe, Reduced, arguments};
use crate::run::detached;
use crate::text::report_html;

/// The circuit of a bootstrap for arrays of one number of slots: `ct.bootstrap(plan)` carries it out.
///
/// Parameters
/// ----------
/// params : Params
///     Parameters with the segments and the ephemeral secret that a bootstrap needs, such as the presets "boot_default", "boot_fast",
///     "boot_precise" and "boot_n15".
/// slots : int, optional
///     The slots of each polynomial, a power of two: the capacity that rows are encrypted with. By default all. For few slots the plan
///     takes linear transforms of these slots, or those of all where they are faster or clearly more precise.
/// is_complex : bool, optional
///     Whether the numbers may be complex. For real numbers alone the bootstrap takes less time. The default is True.
/// rounds : int, optional
///     How often to bootstrap: the second round bootstraps the error that the first one left, and so on. Each further round takes the
///     time of a bootstrap and one level, and adds its precision, up to what the application's scale can hold. By default 2 where the
///     scale holds 16 bits more than one round leaves ("boot_precise"), otherwise 1.
/// key_bytes : int, optional
///     The most bytes that all keys of the bootstrap may take in memory; files take less. Fewer keys take more time.
///     By default the parameters' own limit, which most have not.
/// arcsine : int, optional
///     The degree of a polynomial of the arcsine behind the sine, an odd number from 3 to 15. It takes away an error that is cubic in the
///     numbers, and takes 2 to 4 levels of the modular reduction, which the parameters must have. By default there is none.
/// bodies : int, optional
///     How many polynomials share a mask in the linear maps, from 1 to 64: an array of many polynomials is bootstrapped faster, with
///     keys that grow by half of their bytes with each. Fewer polynomials take the time of so many in these maps. Keys of a shared mask
///     are charged a bit of security for each doubling; the presets "boot_n15_batch", "boot_n15_mambo" and "boot_fast_batch" have bits
///     to spare. The default is 1.
/// batch : int, optional
///     How many polynomials are bootstrapped, two of real numbers counting as one in a plan for complex numbers: the plan then takes the
///     number of bodies, a power of two, that is fastest for them, of those that are secure and whose keys fit into `key_bytes`, by
///     default three times the bytes of keys for one polynomial. `explain` shows them.
///
/// Raises
/// ------
/// ParamsError
///     Where the parameters cannot be bootstrapped; the message says what is missing.
/// DataError
///     Where `slots` is not a power of two, or too large, `rounds` are more than the levels allow, no plan's keys fit into
///     `key_bytes`, `arcsine` is not an odd number from 3 to 15, `bodies` not from 1 to 64, `batch` not positive, and where both are given.
/// SecurityError
///     For more bodies than the parameters protect.
///
/// Examples
/// --------
/// >>> params = cl.Params.preset("insecure_boot")
/// >>> plan = cl.BootstrapPlan(params)
/// >>> secret_key = cl.SecretKey.generate(params)
/// >>> keys = secret_key.evaluation_keys(plan.needs)
/// >>> x = secret_key.encrypt(np.linspace(-1, 1, 512), level=plan.input_level).with_keys(keys)
/// >>> fresh = x.bootstrap(plan)
/// >>> x.level, fresh.level
/// (3, 6)
/// >>> bool(abs(secret_key.decrypt(fresh) - np.linspace(-1, 1, 512)).max() < 1e-4)
/// True
#[pyclass(frozen, module = "clathrate", name = "BootstrapPlan")]
pub struct PyBootstrapPlan {
    pub plan: Arc<BootstrapPlan>,
    recipe: Recipe,
}

#[pymethods]
impl PyBootstrapPlan {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    #[pyo3(signature = (params, slots=None, is_complex=true, rounds=None, key_bytes=None, arcsine=None, bodies=None, batch=None))]
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyParams>,
        slots: Option<Whole>,
        is_complex: bool,
        rounds: Option<Whole>,
        key_bytes: Option<Whole>,
        arcsine: Option<Whole>,
        bodies: Option<Whole>,
        batch: Option<Whole>,
    ) -> PyResult<Self> {
        let recipe = Recipe::new(
            &py.get_type::<Self>(),
            arguments!(py, params, slots, is_complex, rounds, key_bytes, arcsine, bodies, batch),
        );
        let params = params.get();
        let slots = slots.map(|slots| size(py, "slots", slots)).transpose()?;
        let rounds = rounds.map(|rounds| size(py, "rounds", rounds)).transpose()?;
        let most_key_bytes = key_bytes.map(|bytes| size(py, "key_bytes", bytes)).transpose()?;
        let arcsine = arcsine.map(|degree| size(py, "arcsine", degree)).transpose()?;
        let batch = batch.map(|polys| size(py, "batch", polys)).transpose()?;
        if batch.is_some() && bodies.is_some() {
            return Err(exception(
                py,
                "DataError",
                "`batch` chooses the bodies under a mask: leave out `bodies` or `batch`".to_owned(),
            ));
        }
        let bodies = bodies.map_or(Ok(1), |bodies| size(py, "bodies", bodies))?;
        let options = BootstrapOptions {
            slots,
            real: !is_complex,
            rounds,
            most_key_bytes,
            arcsine,
            bodies,
            ..BootstrapOptions::default()
        };
        let plan = detached(py, || match batch {
            Some(polys) => BootstrapPlan::for_batch(&params.params, polys, options),
            None => BootstrapPlan::with_options(&params.params, options),
        })?;
        Ok(Self { plan: Arc::new(plan), recipe })
    }

    /// The keys that the bootstrap needs, for `SecretKey.evaluation_keys`.
    #[getter]
    fn needs(&self, py: Python<'_>) -> PyResult<PyNeeds> {
        detached(py, || self.plan.needs()).map(|needs| PyNeeds { needs })
    }

    /// The lowest level of an array that can be bootstrapped.
    #[getter]
    fn input_level(&self) -> usize {
        self.plan.input_level().0
    }

    /// The level of a bootstrapped array.
    #[getter]
    fn output_level(&self) -> usize {
        self.plan.output_level().0
    }

    /// The bytes of all keys of the bootstrap in memory; files take less.
    #[getter]
    fn key_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        detached(py, || self.plan.key_bytes())
    }

    /// The slots of each polynomial.
    #[getter]
    fn slots(&self) -> usize {
        self.plan.slots()
    }

    /// How many polynomials share a mask in the linear maps.
    #[getter]
    fn bodies(&self) -> usize {
        self.plan.bodies()
    }

    /// The slots of the linear transforms: `slots`, or all of the parameters, in which the numbers repeat.
    #[getter]
    fn transform_slots(&self) -> usize {
        self.plan.transform_slots()
    }

    /// How often the error of the rounds before is bootstrapped, the first round included.
    #[getter]
    fn rounds(&self) -> usize {
        self.plan.rounds()
    }

    /// The predicted precision in bits: minus the binary logarithm of the root mean square error of a real or imaginary part, for
    /// numbers whose parts are uniform in [-1, 1].
    #[getter]
    fn precision_bits(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(-detached(py, || self.plan.predicted_error())?.deviation().log2())
    }

    /// The binary logarithm of the probability that the bootstrap of one polynomial fails, which makes all of its numbers wrong.
    #[getter]
    fn log2_failure(&self) -> f64 {
        self.plan.log2_failure()
    }

    /// For notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(report_html(&self.explain(py)?))
    }

    /// What the bootstrap does, stage by stage: a table of predicted times, transforms, products and key bytes.
    ///
    /// Returns
    /// -------
    /// str
    ///     The table.
    ///
    /// Examples
    /// --------
    /// >>> print(cl.BootstrapPlan(cl.Params.preset("insecure_boot")).explain().splitlines()[0])
    /// bootstrap of 512 complex slots under "insecure_boot", 1 round
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.plan.explain())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.recipe.reduce(py)
    }

    fn __repr__(&self) -> String {
        let plan = &self.plan;
        format!(
            "BootstrapPlan({}, {} slots, {}, levels {} to {}, failure 2^{:.1})",
            plan.params().spec().name,
            plan.slots(),
            counted(plan.rounds(), "round"),
            plan.input_level(),
            plan.output_level(),
            plan.log2_failure()
        )
    }
}
