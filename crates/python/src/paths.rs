//! Paths as Python has them.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;

/// A path as Python has them: `str`, `bytes` or `os.PathLike`, decoded as the file system encodes names.
pub struct FilePath(PathBuf);

impl<'a, 'py> FromPyObject<'a, 'py> for FilePath {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(data.py().import("os")?.call_method1("fsdecode", (data,))?.extract()?))
    }
}

impl Deref for FilePath {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}
