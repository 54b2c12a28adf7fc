//! Conversions between slots and coefficients, asked for or where an operation needs one.

use clathrate_ckks::Encoding;
use clathrate_ckks::error::ErrorKind;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::errors::out_of_range;
use crate::numbers::Whole;
use crate::run::detached;

impl PyCiphertext {
    /// This array in the encoding `to`: converted, by a plan that the parameters keep, where it has the other one.
    pub(super) fn converted(&self, py: Python<'_>, to: Encoding, levels: Option<Whole>) -> PyResult<Self> {
        if self.data.encoding() == to {
            return Ok(self.again(py));
        }
        let refused = |value: i64| out_of_range(py, "`levels`", value, "use 1 or more");
        let levels =
            levels.map(|Whole(value)| usize::try_from(value).map_err(|_| refused(value))).transpose()?;
        let evaluator = self.evaluator();
        let data = self.settled(py, &evaluator)?;
        let plans = &self.params.get().conversions;
        let result = detached(py, || evaluator.convert(&data, &*plans.plan(&data, levels)?))?;
        self.beside(py, result)
    }

    /// This array converted to slots, for an operation that is defined there alone, with the keys of `holder`. Absent where it is in slots, where levels are the caller's affair, and where keys are
    /// missing: the operation then says which encoding it needs.
    pub(crate) fn brought_to_slots(&self, py: Python<'_>, holder: &Self) -> PyResult<Option<Self>> {
        if self.data.encoding() == Encoding::Slots || !self.is_automatic() || !holder.has_keys() {
            return Ok(None);
        }
        let evaluator = holder.evaluator();
        let data = self.settled(py, &evaluator)?;
        let plans = &self.params.get().conversions;
        let work = || match plans.plan(&data, None) {
            Ok(plan) if plan.has_keys_in(&evaluator) => evaluator.convert(&data, &plan).map(Some),
            Err(error) if error.kind() == ErrorKind::Level => Err(error),
            _ => Ok(None),
        };
        detached(py, work)?.map(|result| holder.beside(py, result)).transpose()
    }
}

#[pymethods]
impl PyCiphertext {
    /// The same array in slots.
    ///
    /// From coefficients this is a discrete Fourier transform of the encrypted numbers, which takes rotations and a level for every five
    /// doublings of the slots. Where an operation is for slots alone (products entry by entry, polynomials, functions, variances,
    /// conjugates, sums with arrays in slots), arrays in coefficients are converted by themselves, with the keys that `trace` finds.
    /// Without these keys the operation is refused, and with `Runtime(rescale="explicit")` always.
    ///
    /// Parameters
    /// ----------
    /// levels : int, optional
    ///     How many levels it takes: more levels take fewer rotations, and fewer keys. None, the default, takes one for every five
    ///     doublings of the slots.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The array in slots, in bit-reversed order where it was in natural order: `layout.order` tells. Only rotations see that.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Without the rotations, and for real numbers the conjugation, that `trace` finds.
    /// LevelError
    ///     Where there are too few levels.
    /// ShapeError
    ///     Where rows share a mask or a polynomial, or other numbers lie between those of a row.
    ///
    /// Examples
    /// --------
    /// >>> x = secret_key.encrypt([[1.0, 2.0, 3.0]], encoding="coefficients")
    /// >>> keys = secret_key.keys_for(lambda x: x.to_slots(), (1, 3), encoding="coefficients")
    /// >>> y = x.with_keys(keys).to_slots()
    /// >>> y.encoding, y.layout.order, secret_key.decrypt(y).round(3)
    /// ('slots', 'bit-reversed', array([[1., 2., 3.]]))
    #[pyo3(signature = (*, levels=None))]
    fn to_slots(&self, py: Python<'_>, levels: Option<Whole>) -> PyResult<Self> {
        self.converted(py, Encoding::Slots, levels)
    }

    /// The same array in coefficients, for products with plain matrices, samples and packing.
    ///
    /// From slots this is a discrete Fourier transform of the encrypted numbers, as in `to_slots`.
    ///
    /// Parameters
    /// ----------
    /// levels : int, optional
    ///     As `to_slots` takes it.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The array in coefficients, in bit-reversed order where it was in natural order. Real numbers leave half of the coefficients
    ///     free.
    ///
    /// Raises
    /// ------
    /// ClathrateError
    ///     As `to_slots`.
    ///
    /// Examples
    /// --------
    /// >>> x = secret_key.encrypt([[1.0, 2.0], [3.0, 4.0]], encoding="slots")
    /// >>> keys = secret_key.keys_for(lambda x: x.to_coefficients(), (2, 2), encoding="slots")
    /// >>> y = x.with_keys(keys).to_coefficients()
    /// >>> y.encoding, secret_key.decrypt([[1.0, 1.0]] @ y).round(3)
    /// ('coefficients', array([[4., 6.]]))
    #[pyo3(signature = (*, levels=None))]
    fn to_coefficients(&self, py: Python<'_>, levels: Option<Whole>) -> PyResult<Self> {
        self.converted(py, Encoding::Coefficients, levels)
    }
}
