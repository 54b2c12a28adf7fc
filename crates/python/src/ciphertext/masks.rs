//! Several bodies under one mask: bundles brought together and taken apart, and the places without a number.

use clathrate_ckks::SecretName;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::errors::out_of_range;
use crate::layout::{body_axis, body_count};
use crate::numbers::Whole;

#[pymethods]
impl PyCiphertext {
    /// The same numbers with several bodies under each mask.
    ///
    /// The array takes less memory, because the bodies of a bundle share the mask, and an operation on the mask serves all of them. It
    /// needs the keys of `Needs(shared_mask=bodies)`. The result is under the secret "bodies:" and the number, which `SecretKey.decrypt`
    /// knows too.
    ///
    /// Parameters
    /// ----------
    /// bodies : int
    ///     The number of bodies under one mask, 1 to 4096. Where rows or chunks are no multiple of it, the last bodies are zero.
    /// axis : {"rows", "chunks"}, optional
    ///     Which bodies share a mask. "rows" are consecutive rows, so that rotations and products along a row serve several rows. "chunks"
    ///     are consecutive chunks of one row, so that `W @ ct` multiplies one mask for the whole row. None, the default, takes chunks where
    ///     a row has several, and rows otherwise.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers, with `bodies` bodies in each bundle.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for this number of bodies.
    /// WrongSecretError
    ///     Where the array has several bodies under one mask already.
    /// DataError
    ///     For a number of bodies out of range, or another axis.
    ///
    /// Examples
    /// --------
    /// >>> keys = secret_key.evaluation_keys(cl.Needs(shared_mask=2))
    /// >>> x = secret_key.encrypt(np.eye(4), "slots").with_keys(keys)
    /// >>> y = x.share_mask(2)
    /// >>> y.secret, round(x.nbytes / y.nbytes, 2)
    /// ('bodies:2', 1.33)
    #[pyo3(signature = (bodies, axis=None))]
    fn share_mask(&self, py: Python<'_>, bodies: Whole, axis: Option<&str>) -> PyResult<Self> {
        let (bodies, axis) = (body_count(py, "`bodies`", bodies)?, body_axis(py, axis)?);
        let needs = format!("cl.Needs(shared_mask={bodies})");
        self.map_needing(py, &needs, |evaluator, x| evaluator.share_mask_along(x, bodies, axis))
    }

    /// The same numbers with one body in each bundle, under the main secret: the reverse of `share_mask`.
    ///
    /// It needs the keys of `Needs(shared_mask=ct.bodies)`.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers, with one body in each bundle.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for this number of bodies.
    /// ShapeError
    ///     Where the array has one body in each bundle under the main secret already.
    ///
    /// Examples
    /// --------
    /// >>> keys = secret_key.evaluation_keys(cl.Needs(shared_mask=2))
    /// >>> x = secret_key.encrypt(np.eye(4), "slots", bodies=2).with_keys(keys)
    /// >>> x.split_mask().secret
    /// 'main'
    fn split_mask(&self, py: Python<'_>) -> PyResult<Self> {
        let needs = format!("cl.Needs(shared_mask={})", self.data.layout().bodies);
        self.map_needing(py, &needs, |evaluator, x| evaluator.split_mask(x))
    }

    /// The same numbers under another secret of the owner: "device:7" for an answer to that device, or "main".
    ///
    /// `trace` finds the key. A key to a device's secret encrypts the owner's secret under it: whoever has both the key and the device's
    /// secret decrypts everything. Make it only for devices that are trusted as the owner is.
    ///
    /// Parameters
    /// ----------
    /// secret : str
    ///     The name of the secret, as `Ciphertext.secret` says it.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers, under that secret.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for this change.
    /// DataError
    ///     For a name that no secret has, or a secret of another number of bodies.
    /// ShapeError
    ///     For a secret that arrays are not under.
    ///
    /// Examples
    /// --------
    /// >>> needs = cl.trace(lambda x: x.change_secret("device:7"), (2,), params=params, encoding="coefficients", level=0).needs
    /// >>> x = secret_key.encrypt([1.0, 2.0], encoding="coefficients", level=0).with_keys(secret_key.evaluation_keys(needs))
    /// >>> client = cl.LightClient(secret_key, device=7)
    /// >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
    /// >>> client.decrypt(receiver.reply(x.change_secret("device:7"))).round(3)
    /// array([1., 2.])
    fn change_secret(&self, py: Python<'_>, secret: &str) -> PyResult<Self> {
        let unknown = || {
            out_of_range(
                py,
                "the name of a secret",
                format!("{secret:?}"),
                "use \"main\" or, for device 7, \"device:7\"",
            )
        };
        let to = SecretName::parse(secret).ok_or_else(unknown)?;
        let needs = format!("cl.trace(lambda x: x.change_secret({secret:?}), ...).needs");
        self.map_needing(py, &needs, |evaluator, x| evaluator.change_secret(x, to))
    }

    /// The same numbers with zeros in the slots that hold no number.
    ///
    /// A rotation moves entries of a row into the slots beyond its length, and further rotations of such a row are refused. Clearing is a
    /// product with ones and zeros: `rescale()` it as other products. Where the padding is zero already, the ciphertext comes back as it
    /// is.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The same numbers; not rescaled.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     Unless the array is encoded in slots.
    /// LevelError
    ///     At level 0, where the product cannot be rescaled.
    ///
    /// Examples
    /// --------
    /// >>> x = ct.rotate(1)
    /// >>> x.layout.padding, x.clear_padding().rescale().layout.padding
    /// ('dirty', 'zero')
    fn clear_padding(&self, py: Python<'_>) -> PyResult<Self> {
        self.map_settled(py, |evaluator, x| evaluator.clear_padding(x))
    }

    /// The sum of every row, as `x.sum(axis=-1, keepdims=True)` of NumPy.
    ///
    /// Rotations by powers of two are added, so there are as many switches as the logarithm of the row's length. `trace` finds the keys.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     An array of one column.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they have none for one of the rotations.
    /// ShapeError
    ///     Unless the array is encoded in slots; where the padding is dirty; where parts of a row are under one mask.
    ///
    /// Examples
    /// --------
    /// >>> x = secret_key.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], encoding="slots")
    /// >>> needs = cl.trace(lambda x: x.sum_rows(), (2, 3), params=params, encoding="slots").needs
    /// >>> x = x.with_keys(secret_key.evaluation_keys(needs))
    /// >>> secret_key.decrypt(x.sum_rows()).round(4).tolist()
    /// [[6.0], [15.0]]
    fn sum_rows(&self, py: Python<'_>) -> PyResult<Self> {
        self.totals(py)
    }

    /// An array of one column with its column repeated, as `numpy.broadcast_to(x, (..., columns))`. It needs no keys.
    ///
    /// Parameters
    /// ----------
    /// columns : int
    ///     The length of the rows.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The repeated numbers; padding is dirty.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     Unless the array is encoded in slots and has one column.
    /// DataError
    ///     For less than 1 column.
    ///
    /// Examples
    /// --------
    /// >>> x = secret_key.encrypt([[1.0], [2.0]], encoding="slots")
    /// >>> secret_key.decrypt(x.repeat_column(3)).round(4).tolist()
    /// [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    fn repeat_column(&self, py: Python<'_>, columns: Whole) -> PyResult<Self> {
        let count = usize::try_from(columns.0).ok().filter(|&count| count > 0);
        let columns = count.ok_or_else(|| out_of_range(py, "`columns`", columns.0, "use 1 or more"))?;
        self.map(py, |evaluator, x| evaluator.broadcast(x, columns))
    }

    /// The name of the secret that the numbers are under: "main", "bodies:8" where eight bodies share a mask, or "device:7" for a
    /// device's.
    ///
    /// The owner's `SecretKey` knows all of them.
    #[getter]
    fn secret(&self) -> String {
        self.data.secret().to_string()
    }

    /// The number of bodies under one mask, 1 for most arrays.
    #[getter]
    fn bodies(&self) -> usize {
        self.data.layout().bodies
    }
}

impl PyCiphertext {
    /// The `Needs` of an operation under this ciphertext's secret, as Python code: `arguments` say which operation.
    pub(super) fn needs_under_secret(&self, arguments: &str) -> String {
        match self.data.secret() {
            SecretName::Bodies(bodies) => format!("cl.Needs({arguments}, bodies={bodies})"),
            _ => format!("cl.Needs({arguments})"),
        }
    }
}
