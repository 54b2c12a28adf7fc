//! Rotations, and the same numbers at other levels, ranks and degrees.

use clathrate_ckks::{Ciphertext, CkksError, Evaluator, SecretName};
use pyo3::prelude::*;

use super::attributes::python_shape;
use super::object::PyCiphertext;
use crate::errors::raise_for_key;
use crate::numbers::{Whole, Wholes};
use crate::packing_plan::PyPackingPlan;
use crate::params::size;
use crate::run::detached_with;

impl PyCiphertext {
    /// The real or the imaginary part of complex numbers.
    fn part(
        &self,
        py: Python<'_>,
        part: fn(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>,
    ) -> PyResult<Self> {
        let needs = self.needs_under_secret("conjugate=True");
        let converted = self.brought_to_slots(py, self)?;
        converted.as_ref().unwrap_or(self).map_factor(py, |error| raise_for_key(py, error, &needs), part)
    }
}

#[pymethods]
impl PyCiphertext {
    /// The same numbers at a lower level: smaller and faster.
    ///
    /// Parameters
    /// ----------
    /// level : int
    ///     The level, at most the present one.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers at that level, with its canonical scale where the ciphertext had the canonical scale before.
    ///
    /// Raises
    /// ------
    /// LevelError
    ///     For a higher level, or where there is no such level.
    /// ScaleError
    ///     Where the scale leaves that level no room.
    ///
    /// Examples
    /// --------
    /// >>> ct.drop_to_level(2).level
    /// 2
    fn drop_to_level(&self, py: Python<'_>, level: Whole) -> PyResult<Self> {
        let level = self.params.get().level(py, Some(level))?;
        // A product that stays at its level is not rescaled.
        if level == self.data.level() {
            return Ok(self.again(py));
        }
        self.map_settled(py, |evaluator, x| evaluator.drop_to_level(x, level))
    }

    /// Every row rotated to the left within its room, with zeros behind its numbers.
    ///
    /// The room is `layout.capacity`: the length rounded up to a power of two, unless the array was encrypted with another one. A row that
    /// fills it is rotated as `numpy.roll(row, -steps)` does; of a shorter one zeros come in, and its numbers that leave it stay behind it:
    /// the padding is then dirty, and a further rotation is refused until `clear_padding`. `cl.hstack([x[n:], x[:n]])` is
    /// `numpy.roll(x, -n)` of a vector of any length. Where there is no key
    /// for these steps, rotations by powers of two that there are keys for are used in turn.
    ///
    /// Parameters
    /// ----------
    /// steps : int
    ///     How far; negative numbers rotate to the right.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The rotated rows.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for this rotation.
    /// ShapeError
    ///     Unless the array is encoded in slots in natural order, where rows take several polynomials, and where the padding is dirty.
    /// DataError
    ///     For steps beyond 62 bits.
    ///
    /// Examples
    /// --------
    /// >>> x = secret_key.encrypt([1.0, 2.0, 3.0, 4.0]).with_keys(keys)
    /// >>> secret_key.decrypt(x.rotate(1)).round(4)
    /// array([2., 3., 4., 1.])
    fn rotate(&self, py: Python<'_>, steps: Whole) -> PyResult<Self> {
        let steps = steps.steps(py)?;
        let needs = self.needs_under_secret(&format!("rotations=[{steps}]"));
        self.map_needing(py, &needs, |evaluator, x| evaluator.rotate(x, steps))
    }

    /// Several rotations of one ciphertext, faster than one by one.
    ///
    /// They share the first half of their work: cutting the ciphertext into digits.
    ///
    /// Parameters
    /// ----------
    /// steps : sequence of int
    ///     How far, one entry per rotation.
    ///
    /// Returns
    /// -------
    /// list of Ciphertext
    ///     The rotated ciphertexts, in the order of `steps`.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for one of the rotations.
    /// ShapeError
    ///     Unless the array is encoded in slots in natural order, where rows take several polynomials, and where the padding is dirty.
    /// DataError
    ///     For steps beyond 62 bits.
    ///
    /// Examples
    /// --------
    /// >>> x = secret_key.encrypt([1.0, 2.0, 3.0, 4.0]).with_keys(keys)
    /// >>> [secret_key.decrypt(y).round(4).tolist() for y in x.rotate_many([0, 1])]
    /// [[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 1.0]]
    fn rotate_many(&self, py: Python<'_>, steps: Wholes) -> PyResult<Vec<Self>> {
        let steps: Vec<i64> = steps.0.into_iter().map(|step| step.steps(py)).collect::<PyResult<_>>()?;
        let evaluator = self.evaluator();
        let data = &*self.settled(py, &evaluator)?;
        let needs = self.needs_under_secret(&format!("rotations={steps:?}"));
        let rotated = detached_with(
            py,
            |error| raise_for_key(py, error, &needs),
            || evaluator.rotate_many(data, &steps),
        )?;
        rotated.into_iter().map(|data| self.beside(py, data)).collect()
    }

    /// The complex conjugate of every entry.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The conjugates.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for conjugation.
    /// ShapeError
    ///     Unless the array is encoded in slots.
    ///
    /// Examples
    /// --------
    /// >>> z = secret_key.encrypt([1 + 2j, 3 - 4j]).with_keys(keys)
    /// >>> bool(np.allclose(secret_key.decrypt(z.conj()), [1 - 2j, 3 + 4j]))
    /// True
    fn conj(&self, py: Python<'_>) -> PyResult<Self> {
        let needs = self.needs_under_secret("conjugate=True");
        let converted = self.brought_to_slots(py, self)?;
        converted.as_ref().unwrap_or(self).map_needing(py, &needs, |evaluator, x| evaluator.conjugate(x))
    }

    /// The real part of every entry, as an array of real numbers.
    ///
    /// Takes a level and a conjugation for complex numbers; real numbers are their own real parts. `np.real(x)` is the same.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The real parts.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for conjugation.
    /// ShapeError
    ///     Unless the array is encoded in slots, or has the keys that convert it.
    ///
    /// Examples
    /// --------
    /// >>> z = secret_key.encrypt([1 + 2j, 3 - 4j]).with_keys(keys)
    /// >>> secret_key.decrypt(z.real_part()).round(4)
    /// array([1., 3.])
    fn real_part(&self, py: Python<'_>) -> PyResult<Self> {
        if self.data.is_complex() { self.part(py, Evaluator::real_part) } else { Ok(self.again(py)) }
    }

    /// The imaginary part of every entry, as an array of real numbers.
    ///
    /// Takes a level and a conjugation for complex numbers; that of real numbers is zero. `np.imag(x)` is the same.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The imaginary parts.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for conjugation.
    /// ShapeError
    ///     Unless the array is encoded in slots, or has the keys that convert it.
    ///
    /// Examples
    /// --------
    /// >>> z = secret_key.encrypt([1 + 2j, 3 - 4j]).with_keys(keys)
    /// >>> secret_key.decrypt(z.imaginary_part()).round(4)
    /// array([ 2., -4.])
    fn imaginary_part(&self, py: Python<'_>) -> PyResult<Self> {
        if self.data.is_complex() {
            self.part(py, Evaluator::imaginary_part)
        } else {
            self.map(py, |evaluator, x| evaluator.imaginary_part(x))
        }
    }

    /// The same numbers at another rank of the same degree.
    ///
    /// A lower rank is reached by a key switch with the keys of `Needs(ranks=[...])`. Ciphertexts there are smaller and faster, and secure
    /// at lower levels only: `params.at_rank(rank).max_level`. A higher rank, up to the rank of the keys' parameters, needs no key: the
    /// mask is extended by zeros.
    ///
    /// Parameters
    /// ----------
    /// rank : int
    ///     The rank.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers at that rank.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for this reduction.
    /// LevelError
    ///     Above the levels that are secure at that rank.
    /// ParamsError
    ///     Where the parameters do not have that rank.
    ///
    /// Examples
    /// --------
    /// >>> four = cl.Params.preset("insecure_dpad")
    /// >>> key = cl.SecretKey.generate(four)
    /// >>> x = key.encrypt([1.0, 2.0]).with_keys(key.evaluation_keys(cl.Needs(ranks=[2])))
    /// >>> x.drop_to_level(four.at_rank(2).max_level).to_rank(2).rank
    /// 2
    fn to_rank(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        self.map_settled(py, |evaluator, x| evaluator.to_rank(x, rank))
    }

    /// The same numbers at rank 1 and the degree of equal dimension: degree times rank.
    ///
    /// It needs the keys of `Needs(to_rlwe=True)`; for several bodies under one mask, `trace(..., bodies=...)` finds the keys. Numbers,
    /// level and scale stay. The result has the parameters `params.rlwe()`; where the rank is not a power of two, the odd factor of the
    /// rank stays.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers in a larger ring.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for this conversion.
    /// ShapeError
    ///     Where rows in slots are longer than `params.slot_count`, and for odd ranks above 1.
    ///
    /// Examples
    /// --------
    /// >>> four = cl.Params.preset("insecure_dpad")
    /// >>> key = cl.SecretKey.generate(four)
    /// >>> x = key.encrypt([1.0, 2.0]).with_keys(key.evaluation_keys(cl.Needs(to_rlwe=True)))
    /// >>> (x.degree, x.rank), (x.to_rlwe().degree, x.to_rlwe().rank)
    /// ((256, 4), (1024, 1))
    fn to_rlwe(&self, py: Python<'_>) -> PyResult<Self> {
        // Under the main secret the missing keys have errors of their own, which name `to_rlwe=True`.
        let (shape, bodies) = (python_shape(self.data.shape()), self.data.layout().bodies);
        let needs = format!("cl.trace(lambda x: x.to_rlwe(), {shape}, params=params, bodies={bodies}).needs");
        self.map_needing(py, &needs, |evaluator, x| evaluator.to_rlwe(x))
    }

    /// The same numbers at rank 1 and the degree of equal dimension, packed from samples by a plan: `to_rlwe` by the plan's method.
    ///
    /// Parameters
    /// ----------
    /// plan : PackingPlan
    ///     The plan, for samples of this degree.
    /// lanes : bool, optional
    ///     True brings rows that each fill a polynomial into the lanes of as few polynomials as possible: the reverse of `to_mlwe` for
    ///     arrays that were encrypted with `lanes`. The default, False, spreads the numbers of each row over a polynomial of its own.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers in a larger ring, in the layout of `to_rlwe`, or with several rows in a polynomial.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Without the keys of `plan.needs`.
    /// ShapeError
    ///     Where rows in slots do not fit the slots of this degree, for samples of another degree than the plan's, and for lanes of rows
    ///     that do not fill polynomials, or by the method "rows".
    /// WrongParamsError
    ///     For other parameters than the plan's.
    ///
    /// Examples
    /// --------
    /// >>> params = cl.Params.preset("insecure_small")
    /// >>> owner = cl.SecretKey.generate(params)
    /// >>> plan = cl.PackingPlan(params, method="column", level=1)
    /// >>> samples = owner.encrypt([0.5, -0.25], encoding="coefficients", level=1).to_lwe()
    /// >>> owner.decrypt(samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)).round(3)
    /// array([ 0.5 , -0.25])
    #[pyo3(signature = (plan, *, lanes=false))]
    fn pack(&self, py: Python<'_>, plan: &PyPackingPlan, lanes: bool) -> PyResult<Self> {
        let plan = plan.plan.clone();
        let pack = move |evaluator: &Evaluator, x: &Ciphertext| {
            if lanes { evaluator.pack_rows_by(x, &plan) } else { evaluator.pack_by(x, &plan) }
        };
        let needs = match self.data.secret() {
            SecretName::Device(number) => format!("cl.PackingPlan(params, device={number}).needs"),
            _ => "cl.PackingPlan(params).needs".to_owned(),
        };
        self.map_needing(py, &needs, pack)
    }

    /// The same numbers at a higher rank and the degree of equal dimension: the reverse of `to_rlwe`.
    ///
    /// It rearranges the coefficients of the polynomials, so it needs no key. Numbers in coefficients are spread over several bundles, as
    /// `Ciphertext.layout` says.
    ///
    /// Parameters
    /// ----------
    /// rank : int
    ///     The rank: the present one times a power of two.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers in a smaller ring.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     Where rows in slots do not fit the slots of the lower degree, and for other ranks.
    ///
    /// Examples
    /// --------
    /// >>> four = cl.Params.preset("insecure_dpad")
    /// >>> x = cl.SecretKey.generate(four).relative(four.rlwe()).encrypt([1.0, 2.0])
    /// >>> (x.degree, x.rank), (x.to_mlwe(4).degree, x.to_mlwe(4).rank)
    /// ((1024, 1), (256, 4))
    fn to_mlwe(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        self.map(py, |evaluator, x| evaluator.to_mlwe(x, rank))
    }

    /// Every number as an LWE sample: the array in bundles of degree 1.
    ///
    /// It rearranges the coefficients of the polynomials, so it needs no key. The rank of the result is degree times rank. Of real numbers
    /// in natural order, number j of a row is bundle j of the row; a complex number is two samples. `Ciphertext.layout` says which is
    /// where.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers at degree 1.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     Unless the array is encoded in coefficients.
    ///
    /// Examples
    /// --------
    /// >>> x = secret_key.encrypt([1.0, 2.0, 3.0], "coefficients").to_lwe()
    /// >>> x.degree, x.rank, x.layout.bundles
    /// (1, 1024, 3)
    /// >>> secret_key.decrypt(x).round(4)
    /// array([1., 2., 3.])
    fn to_lwe(&self, py: Python<'_>) -> PyResult<Self> {
        self.map(py, |evaluator, x| evaluator.to_lwe(x))
    }
}
