//! Samples of other libraries.

use clathrate_ckks::SecretName;
use clathrate_ckks::outside::{OutsideModulus, OutsideSamples, Phase};
use numpy::{PyArray2, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, out_of_range};
use crate::evaluation_keys::PyEvaluationKeys;
use crate::numbers::Real;
use crate::run::detached;
use crate::samples::PySamplesPlan;

/// A modulus of samples of another library: 2 to 2^64.
fn modulus_of(py: Python<'_>, modulus: &Bound<'_, PyAny>) -> PyResult<OutsideModulus> {
    match modulus.extract::<u128>() {
        Ok(value) if value == 1 << 64 => Ok(OutsideModulus::PowerOfTwo(64)),
        Ok(value) => {
            let number = u64::try_from(value).ok().filter(|&number| number >= 2).map(OutsideModulus::Number);
            number.ok_or_else(|| out_of_range(py, "`modulus`", value, "use a whole number from 2 to 2^64"))
        }
        Err(_) => Err(out_of_range(py, "`modulus`", modulus, "use a whole number from 2 to 2^64")),
    }
}

/// The words of samples, row after row, and the words in a row.
fn words_of(words: &Bound<'_, PyAny>) -> PyResult<(Vec<u64>, usize)> {
    let py = words.py();
    let wanted = || {
        PyTypeError::new_err(
            "`words` is a matrix of unsigned integers, such as dtype uint64 or uint32, with a row for each sample",
        )
    };
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asarray", (words,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let (&[_, columns], "u") = (&shape[..], kind.as_str()) else { return Err(wanted()) };
    let wide = numpy.call_method1("ascontiguousarray", (array, "uint64"))?;
    let wide = wide.cast_into::<PyArray2<u64>>().map_err(|_| wanted())?;
    Ok((wide.to_vec()?, columns))
}

#[pymethods]
impl PySamplesPlan {
    /// What another library multiplies numbers by before it encrypts them modulo `modulus`, in units of integers.
    ///
    /// Numbers of magnitude 1 then take a small part of the modulus, which the bootstrap needs: about 12 bits below it.
    ///
    /// Parameters
    /// ----------
    /// modulus : int, optional
    ///     The modulus of the samples, 2 to 2**64. The default is 2**64.
    ///
    /// Returns
    /// -------
    /// float
    ///     The factor.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For another modulus.
    ///
    /// Examples
    /// --------
    /// >>> plan = cl.SamplesPlan(cl.Params.preset("insecure_boot"), 4, outside=1, dimension=600)
    /// >>> plan.outside_scale(2**32) == plan.outside_scale() / 2**32
    /// True
    #[pyo3(signature = (modulus=None))]
    fn outside_scale(&self, py: Python<'_>, modulus: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let modulus =
            modulus.map_or(Ok(OutsideModulus::PowerOfTwo(64)), |modulus| modulus_of(py, modulus))?;
        detached(py, || self.plan.half_bootstrap().params().outside_scale(self.plan.scale(), modulus))
    }

    /// Takes in LWE samples of another library: all words are switched to the modulus of level 0.
    ///
    /// The security of the samples is that of the library they come from. Switching rounds every word: that error is part of
    /// `precision_bits`, the error of the samples is not.
    ///
    /// Parameters
    /// ----------
    /// words : array_like
    ///     A matrix of unsigned integers below the modulus with a row for each sample: the mask, as many words as the secret is long, then
    ///     the body.
    /// keys : EvaluationKeys
    ///     The owner's keys for `needs`, which are attached to the samples.
    /// modulus : int, optional
    ///     The modulus of the samples, 2 to 2**64. The default is 2**64.
    /// scale : float, optional
    ///     What numbers were multiplied by. The default is `outside_scale(modulus)`, which the bootstrap needs.
    /// phase : {"difference", "sum"}, optional
    ///     How the message follows from a sample (a, b): "difference", the default, is b - <a, s>, as of TFHE; "sum" is b + <a, s>.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The samples as a vector, for `bootstrap_samples`.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     Where the words are no matrix of unsigned integers.
    /// DataError
    ///     For a plan without `outside`, words beyond the modulus, an impossible modulus, another phase, and without samples.
    /// ShapeError
    ///     For rows of another length than the plan's dimension and 1.
    /// ScaleError
    ///     For an impossible scale.
    /// NotEnoughMemoryError
    ///     Where the samples take more memory than is free.
    ///
    /// Examples
    /// --------
    /// >>> rng = np.random.default_rng(1)
    /// >>> secret = rng.integers(0, 2, 600, dtype=np.uint64)
    /// >>> params = cl.Params.preset("insecure_boot")
    /// >>> owner = cl.SecretKey.generate(params).with_outside_secret(1, secret)
    /// >>> plan = cl.SamplesPlan(params, 2, outside=1, dimension=600)
    /// >>> message = np.rint(np.array([0.5, -0.25]) * plan.outside_scale()).astype(np.int64).view(np.uint64)
    /// >>> masks = rng.integers(0, 2**64, (2, 600), dtype=np.uint64)  # modulo 2**64, without an error, for the example alone
    /// >>> words = np.column_stack([masks, masks @ secret + message])
    /// >>> samples = plan.outside_samples(words, owner.evaluation_keys(plan.needs))
    /// >>> owner.decrypt(samples.bootstrap_samples(plan)).round(3)
    /// array([ 0.5 , -0.25])
    #[pyo3(signature = (words, keys, modulus=None, *, scale=None, phase="difference"))]
    fn outside_samples<'py>(
        &self,
        py: Python<'py>,
        words: &Bound<'py, PyAny>,
        keys: Py<PyEvaluationKeys>,
        modulus: Option<&Bound<'py, PyAny>>,
        scale: Option<Real>,
        phase: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let SecretName::Outside(secret) = self.plan.secret() else {
            let message = "the plan is for samples of this library: make one with `outside`, the number of the other secret".to_owned();
            return Err(exception(py, "DataError", message));
        };
        let modulus =
            modulus.map_or(Ok(OutsideModulus::PowerOfTwo(64)), |modulus| modulus_of(py, modulus))?;
        let phase = match phase {
            "difference" => Phase::Difference,
            "sum" => Phase::Sum,
            other => {
                return Err(out_of_range(
                    py,
                    "`phase`",
                    format!("\"{other}\""),
                    "use \"difference\" or \"sum\"",
                ));
            }
        };
        let (words, columns) = words_of(words)?;
        let (own, params) = (keys.get(), self.plan.half_bootstrap().params());
        let samples = detached(py, || {
            let scale =
                Real::given(scale).map_or_else(|| params.outside_scale(self.plan.scale(), modulus), Ok)?;
            let samples = OutsideSamples {
                words: &words,
                dimension: columns.saturating_sub(1),
                modulus,
                phase,
                scale,
                secret,
            };
            self.plan.outside_samples(own.keys.id(), &samples)
        })?;
        Bound::new(py, PyCiphertext::new(py, samples, &own.params)?)?
            .call_method1("with_keys", (keys.clone_ref(py),))
    }
}
