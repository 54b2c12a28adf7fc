//! Files, bytes and pickles of ciphertexts.

use clathrate_ckks::Ciphertext;
use clathrate_ckks::file::{FileReader, Stored};
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::buffers::{BufferAndRebuild, reduce, to_array};
use crate::numbers::Whole;
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::{detached, file_bytes, watch};

#[pymethods]
impl PyCiphertext {
    /// Writes the ciphertext to a file; attached keys are not written.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
    ///
    /// Returns
    /// -------
    /// int
    ///     The length of the file in bytes.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be written, or holds a secret key.
    ///
    /// Examples
    /// --------
    /// >>> size = ct.save("numbers.clt")
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<u64> {
        detached(py, || {
            self.data.check_data("a file")?;
            Ok(self.data.save_watched(&path, watch("saving", self.data.bytes() as u64))?)
        })
    }

    /// A ciphertext from a file that `save` wrote.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    /// params : Params
    ///     The parameters it was made with.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The ciphertext, without keys.
    ///
    /// Raises
    /// ------
    /// FileFormatError
    ///     Where the file does not hold a ciphertext, or is damaged.
    /// FileAccessError
    ///     Where the file cannot be read.
    /// WrongParamsError
    ///     Where the file was made with other parameters.
    ///
    /// Examples
    /// --------
    /// >>> size = ct.save("numbers.clt")
    /// >>> secret_key.decrypt(cl.Ciphertext.load("numbers.clt", params)).round(4)
    /// array([1., 2., 3.])
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let data = detached(py, || {
            Ciphertext::from_reader(&FileReader::open(&path)?.watched_by(watch("loading", file_bytes(&path))), &params.get().params)
        })?;
        Self::new(py, data, &params)
    }

    /// The bytes that `save` would write.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of uint8
    ///     The bytes, read-only; `from_bytes` reads them.
    ///
    /// Examples
    /// --------
    /// >>> again = cl.from_bytes(ct.to_bytes(), params)
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = detached(py, || {
            self.data.check_data("a file")?;
            Ok(self.data.to_file_bytes_watched(watch("to_bytes", self.data.bytes() as u64))?)
        })?;
        to_array(py, bytes)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: Whole) -> PyResult<BufferAndRebuild<'py>> {
        reduce(self.to_bytes(py)?, &self.params, protocol)
    }
}
