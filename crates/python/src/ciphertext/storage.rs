//! Files, bytes and pickles of ciphertexts.

use clathrate_ckks::Ciphertext;
use clathrate_ckks::file::FileReader;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::object::PyCiphertext;
use crate::buffers::reduce;
use crate::errors::raise;
use crate::layout::PyLayout;
use crate::numbers::Whole;
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::recipe::Reduced;
use crate::run::{detached, file_bytes, watch};
use crate::saving::{save, to_bytes};

impl PyCiphertext {
    /// Refuses a symbol, which has nothing to store.
    fn check_data(&self, py: Python<'_>) -> PyResult<()> {
        self.data.check_data("a file").map_err(|error| raise(py, error))
    }
}

#[pymethods]
impl PyCiphertext {
    /// Writes the ciphertext to a file; attached keys are not written.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
    /// overwrite : bool, optional
    ///     Whether a file that exists may be replaced. The default is True; for secret keys it is False.
    ///
    /// Returns
    /// -------
    /// int
    ///     The length of the file in bytes.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.
    ///
    /// Examples
    /// --------
    /// >>> size = ct.save("numbers.clt")
    #[pyo3(signature = (path, overwrite=true))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        self.check_data(py)?;
        save(py, &*self.data, &path, overwrite, self.data.bytes())
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
            Ciphertext::from_reader(
                &FileReader::open(&path)?.watched_by(watch("loading", file_bytes(&path))),
                &params.get().params,
            )
        })?;
        Self::new(py, data, &params)
    }

    /// The bytes that `save` would write.
    ///
    /// Returns
    /// -------
    /// bytes
    ///     The bytes; `from_bytes` reads them.
    ///
    /// Examples
    /// --------
    /// >>> again = cl.from_bytes(ct.to_bytes(), params)
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.check_data(py)?;
        to_bytes(py, &*self.data, self.data.bytes())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }

    /// A symbol has no data to pickle, and a shape, a layout, a level, a scale, a secret and, with bounds, an estimate.
    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: Whole) -> PyResult<Reduced<'py>> {
        let data = &*self.data;
        if !data.is_symbol() {
            let (rebuild, arguments) = reduce(py, data, data.bytes(), &self.params, protocol)?;
            return Ok((rebuild, arguments.into_pyobject(py)?));
        }
        let estimate = data.estimate().to_text();
        let description =
            (data.shape().to_vec(), data.level().0, data.scale(), data.secret().to_string(), estimate);
        let rebuild = py.import("clathrate._pickle")?.getattr("rebuild_symbol")?;
        Ok((
            rebuild,
            (self.params.clone_ref(py), PyLayout::new(*data.layout()).json(py)?, description)
                .into_pyobject(py)?,
        ))
    }
}
