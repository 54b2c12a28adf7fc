//! What a ciphertext tells about itself.

use clathrate_ckks::SecretName;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::object::{Keys, PyCiphertext};
use crate::comparison::PyComparison;
use crate::errors::{out_of_range, raise};
use crate::layout::PyLayout;
use crate::numbers::{Real, Whole};
use crate::params::PyParams;
use crate::run::detached;
use crate::stage::PyStage;
use crate::text::{hex, report_html};

#[pymethods]
impl PyCiphertext {
    /// The shape of the encrypted array.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.data.shape())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.data.shape().len()
    }

    /// The number of entries.
    #[getter]
    fn size(&self) -> usize {
        self.data.shape().iter().product()
    }

    /// The level: the number of rescales that are left.
    #[getter]
    fn level(&self) -> usize {
        self.data.level().0
    }

    /// The module rank: the number of polynomials in the mask.
    #[getter]
    fn rank(&self) -> usize {
        self.data.params().rank()
    }

    /// The ring degree: the number of coefficients of a polynomial.
    #[getter]
    fn degree(&self) -> usize {
        self.data.params().degree()
    }

    /// The scale: the factor between the numbers and the integers that are encrypted.
    #[getter]
    fn scale(&self) -> f64 {
        self.data.scale()
    }

    /// The encoding, "slots" or "coefficients".
    #[getter]
    fn encoding(&self) -> &'static str {
        self.data.encoding().name()
    }

    /// Whether the entries are complex numbers, so that decryption gives a complex array.
    #[getter]
    fn is_complex(&self) -> bool {
        self.data.is_complex()
    }

    /// Which number sits in which bundle, body and slot or coefficient.
    #[getter]
    fn layout(&self) -> PyLayout {
        PyLayout::new(*self.data.layout())
    }

    /// The size in memory in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.data.bytes()
    }

    /// The root mean square of the error of one number, in units of the numbers, or None where it is not known.
    ///
    /// It is for typical numbers: those that are spread evenly up to their bounds. What is measured on such numbers is within a factor of
    /// 2. The errors of approximations, such as that of `sigmoid`, are not in it. It is not known behind products of arrays without a
    /// declared bound.
    #[getter]
    fn error_rms(&self) -> Option<f64> {
        self.data.error_rms()
    }

    /// A bound on the errors of all numbers, in units of the numbers, or None where it is not known.
    ///
    /// It holds for any numbers within their bounds, but for a probability of 2**-40. The errors of approximations, such as that of
    /// `sigmoid`, are not in it. It is not known behind products of arrays without a declared bound.
    #[getter]
    fn error_bound(&self) -> Option<f64> {
        self.data.error_bound()
    }

    /// The largest magnitude that the numbers may have, without their errors, or None where it is not known.
    ///
    /// It is declared at encryption (`SecretKey.encrypt(..., bound=10.0)`), for symbols by `trace(..., bound=10.0)`, or by `with_bound`,
    /// and carried through all operations. What might exceed the modulus, or the domain of a polynomial, is refused before it is computed.
    #[getter]
    fn bound(&self) -> Option<f64> {
        self.data.bound()
    }

    /// The same array with another declared bound: for numbers that are known to be smaller than what the steps before tell.
    ///
    /// Parameters
    /// ----------
    /// bound : float or None
    ///     The largest magnitude of the numbers; None for no declared bound.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers and keys. Nobody can check the bound but who decrypts.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For a bound that is not positive, or without room at the level and scale.
    ///
    /// Examples
    /// --------
    /// >>> x = secret_key.encrypt([0.5, -0.25], bound=1.0)
    /// >>> (x + x).bound, (x + x).with_bound(1.0).bound
    /// (2.0, 1.0)
    #[pyo3(signature = (bound))]
    fn with_bound(&self, py: Python<'_>, bound: Option<Real>) -> PyResult<Self> {
        self.map(py, |_, x| x.with_bound(Real::given(bound)))
    }

    /// Names a stage of a computation: what is computed within `with ct.stage(name):` is a line of its own in the costs of `trace`.
    ///
    /// A stage within another has the names of both, with a slash between them. On ciphertexts with data it does nothing.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     The name of the stage.
    ///
    /// Returns
    /// -------
    /// context manager
    ///     It opens and closes the stage.
    ///
    /// Examples
    /// --------
    /// >>> def squared(x):
    /// ...     with x.stage("square"):
    /// ...         return x.multiply(x)
    /// >>> [stage.name for stage in cl.trace(squared, (100,), params=params).stages]
    /// ['square']
    #[pyo3(signature = (name))]
    fn stage(&self, name: String) -> PyStage {
        PyStage { name, evaluator: self.evaluator() }
    }

    /// The parameters.
    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    /// The public name of the secret that can decrypt it, 32 hexadecimal digits.
    #[getter]
    fn key_id(&self) -> String {
        hex(&self.data.key_id().0)
    }

    /// Compares with another ciphertext bit for bit: parameters, key, secret, shape, layout, level, scale, bounds, and every residue.
    ///
    /// Evaluators of one version that take the same steps on the same ciphertexts with the same keys get the same bits on every processor.
    /// So a result that was computed twice, by the owner or by a second server, shows whether it is what was asked for. Only then may it be
    /// shared (`SecretKey.decrypt_to_share`): no property of the numbers tells.
    ///
    /// Two machines plan alike with one version, the same `Runtime`, and the processor as device.
    ///
    /// Parameters
    /// ----------
    /// other : Ciphertext
    ///     The result of the other computation.
    ///
    /// Returns
    /// -------
    /// Comparison
    ///     True if both are the same; printed, it says where they differ.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For symbols of a dry run.
    ///
    /// Examples
    /// --------
    /// >>> result = 2 * ct + 1
    /// >>> bool(result.same_as(2 * ct + 1))
    /// True
    /// >>> result.same_as(2 * ct - 1)
    /// different: residues of the bodies of bundle 0, polynomial 0, 7168 of 7168
    fn same_as(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<PyComparison> {
        let (data, other) = (&self.data, &other.get().data);
        Ok(PyComparison::new(detached(py, || data.same_as(other))?))
    }

    /// The `flood_bits` for `SecretKey.decrypt_to_share`, from a bound on the error of these numbers.
    ///
    /// This is for results of a server that computed what was asked. For one that did not there is no bound on the error, and no number of
    /// bits that hides the secret: neither the numbers nor whether decryption failed may reach it.
    ///
    /// Shared decryptions of CKKS reveal their errors, which depend on the secret. With this many bits of noise on top, `queries` shared
    /// decryptions of this shape reveal their errors with a statistical distance of at most 2**-statistical_bits in all. That much noise
    /// leaves correct numbers only where the scale is large: the preset "share_n14" has 2**104.
    ///
    /// The security of shared results is a pair: the bits of the parameters against whoever computes much, and `statistical_bits` against
    /// whoever sees all shared results, however much he computes.
    ///
    /// Parameters
    /// ----------
    /// error_bound : float, optional
    ///     Your bound on the error of the encrypted numbers, in their own units. None, the default, takes what the array states, which is
    ///     less than its attribute `error_bound` where numbers have more bits than those of NumPy. Results of your own `trace` state it.
    /// queries : int, optional
    ///     How many decryptions the key will share in all: for a key with a budget `key.share_budget`. The default is 1.
    /// statistical_bits : int, optional
    ///     The negative binary logarithm of the statistical distance. The default is 40.
    /// correct_bits : int, optional
    ///     How many bits behind the binary point have to be right in the shared numbers, in the root mean square. The default is 8.
    ///
    /// Returns
    /// -------
    /// int
    ///     The bits of noise.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where the bound is not positive or not known, there are no queries, the modulus has no room for that much noise, or the noise
    ///     leaves fewer correct bits.
    ///
    /// Examples
    /// --------
    /// >>> x = secret_key.encrypt([1.0, 2.0], scale=2.0**104)
    /// >>> bits = x.flood_bits(queries=100)
    /// >>> secret_key.decrypt_to_share(x, bits, honest_evaluator=True).round(3)
    /// array([1., 2.])
    #[pyo3(signature = (error_bound=None, queries=Whole(1), statistical_bits=Whole(40), correct_bits=Whole(8)),
           text_signature = "($self, error_bound=None, queries=1, statistical_bits=40, correct_bits=8)")]
    fn flood_bits(
        &self,
        py: Python<'_>,
        error_bound: Option<Real>,
        queries: Whole,
        statistical_bits: Whole,
        correct_bits: Whole,
    ) -> PyResult<u32> {
        let error_bound = error_bound.map(|Real(bound)| bound);
        let queries = u64::try_from(queries.0)
            .map_err(|_| out_of_range(py, "`queries`", queries.0, "use 1 or more"))?;
        let statistical_bits = u32::try_from(statistical_bits.0).map_err(|_| {
            out_of_range(
                py,
                "`statistical_bits`",
                statistical_bits.0,
                "use 0 or more, as many as the modulus has room for",
            )
        })?;
        let correct_bits = u32::try_from(correct_bits.0)
            .map_err(|_| out_of_range(py, "`correct_bits`", correct_bits.0, "use 0 or more"))?;
        self.data
            .flood_bits(error_bound, queries, statistical_bits, correct_bits)
            .map_err(|error| raise(py, error))
    }

    fn __repr__(&self) -> String {
        format!(
            "Ciphertext(shape={}, encoding=\"{}\", level={}, scale=2**{:.2}{}{}, params=\"{}\"{}{})",
            python_shape(self.data.shape()),
            self.encoding(),
            self.level(),
            self.scale().log2(),
            if self.is_complex() { ", complex" } else { "" },
            match self.data.secret() {
                SecretName::Main => String::new(),
                secret => format!(", secret=\"{secret}\""),
            },
            self.data.params().spec().name,
            match self.data.params().spec().relative {
                Some(shape) => format!(", degree={}, rank={}", shape.degree, shape.rank),
                None => String::new(),
            },
            match self.keys {
                Keys::None => "",
                Keys::Attached(..) => ", with keys",
                Keys::Recorded(_) => ", symbol",
            }
        )
    }

    /// For notebooks.
    fn _repr_html_(&self) -> String {
        let data = &*self.data;
        let lines = [
            format!("encrypted array of shape {}", python_shape(data.shape())),
            format!(
                "  encoding {}, {}",
                self.encoding(),
                if data.is_complex() { "complex numbers" } else { "real numbers" }
            ),
            format!("  level {} of {}", data.level(), data.params().max_level()),
            format!(
                "  scale 2^{:.2}{}",
                data.scale().log2(),
                if data.awaits_rescale() { ", a product to be rescaled" } else { "" }
            ),
            format!("  layout {}", data.layout()),
            format!("  memory {:.2} MiB", data.predicted_bytes() as f64 / 1_048_576.0),
            format!("  parameters {}", data.params().spec().name),
            format!("  keys {}", if self.has_keys() { "attached" } else { "none attached" }),
        ];
        report_html(&lines.join("\n"))
    }

    /// The type of the numbers that decryption gives: `float64` or `complex128`.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = if self.data.is_complex() { "complex128" } else { "float64" };
        py.import("numpy")?.call_method1("dtype", (name,))
    }

    fn __len__(&self) -> PyResult<usize> {
        self.data
            .shape()
            .first()
            .copied()
            .ok_or_else(|| PyTypeError::new_err("an encrypted scalar has no length"))
    }
}

/// A shape as Python writes it.
pub(super) fn python_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
