//! What a ciphertext tells about itself.

use clathrate_ckks::SecretName;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::object::PyCiphertext;
use crate::errors::{out_of_range, raise};
use crate::layout::PyLayout;
use crate::numbers::{Real, Whole};
use crate::params::PyParams;
use crate::run::detached;
use crate::stage::PyStage;
use crate::text::hex;

#[pymethods]
impl PyCiphertext {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.data().shape())
    }

    #[getter]
    fn size(&self) -> usize {
        self.data().shape().iter().product()
    }

    #[getter]
    fn is_recorded(&self) -> bool {
        self.array.is_recorded()
    }

    // Calls `step` a number of times. While the array is recorded, programs make the same choices for all
    // calls.
    fn repeating(&self, times: usize, step: &Bound<'_, PyAny>) -> PyResult<()> {
        self.array.repeating(|again| {
            (0..times).try_for_each(|place| {
                if place > 0 {
                    again();
                }
                step.call0().map(drop)
            })
        })
    }

    #[getter]
    fn level(&self) -> usize {
        self.data().level().0
    }

    #[getter]
    fn rank(&self) -> usize {
        self.data().params().rank()
    }

    #[getter]
    fn degree(&self) -> usize {
        self.data().params().degree()
    }

    #[getter]
    fn scale(&self) -> f64 {
        self.data().scale()
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        self.data().encoding().name()
    }

    #[getter]
    fn is_complex(&self) -> bool {
        self.data().is_complex()
    }

    #[getter]
    fn layout(&self) -> PyLayout {
        PyLayout::new(*self.data().layout())
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.data().bytes()
    }

    #[getter]
    fn error_rms(&self) -> Option<f64> {
        self.data().error_rms()
    }

    #[getter]
    fn error_bound(&self) -> Option<f64> {
        self.data().error_bound()
    }

    #[getter]
    fn bound(&self) -> Option<f64> {
        self.data().bound()
    }

    fn with_bound(&self, py: Python<'_>, bound: Option<Real>) -> PyResult<Self> {
        self.compute(py, |x| x.with_bound(Real::given(bound)))
    }

    fn stage(&self, name: String) -> PyStage {
        PyStage { name, evaluator: self.array.evaluator().clone() }
    }

    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    #[getter]
    fn key_id(&self) -> String {
        hex(&self.data().key_id().0)
    }

    fn same_as(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<(String, Vec<String>)> {
        let (data, other) = (self.data(), other.get().data());
        let comparison = detached(py, || data.same_as(other))?;
        Ok((comparison.to_string(), comparison.differences))
    }

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
        self.data()
            .flood_bits(error_bound, queries, statistical_bits, correct_bits)
            .map_err(|error| raise(py, error))
    }

    fn __repr__(&self) -> String {
        format!(
            "Ciphertext(shape={}, encoding=\"{}\", level={}, scale=2**{:.2}{}{}, params=\"{}\"{}{})",
            python_shape(self.data().shape()),
            self.encoding(),
            self.level(),
            self.scale().log2(),
            if self.is_complex() { ", complex" } else { "" },
            match self.data().secret() {
                SecretName::Main => String::new(),
                secret => format!(", secret=\"{secret}\""),
            },
            self.data().params().spec().name,
            match self.data().params().spec().relative {
                Some(shape) => format!(", degree={}, rank={}", shape.degree, shape.rank),
                None => String::new(),
            },
            match &self.keys {
                _ if self.data().is_symbol() => ", symbol",
                Some(_) => ", with keys",
                None => "",
            }
        )
    }

    fn description(&self) -> String {
        let data = self.data();
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
        lines.join("\n")
    }
}

/// A shape as Python writes it.
pub(super) fn python_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
