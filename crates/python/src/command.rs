//! The command line inside the package.

use std::ffi::OsString;

use pyo3::prelude::*;

#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| clathrate_cli::command(&arguments))
}
