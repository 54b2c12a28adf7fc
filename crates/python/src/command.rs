//! The command line inside the package.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `clathrate` with these arguments, of which the first is the program's name.
///
/// Parameters
/// ----------
/// arguments : sequence of str
///     The program's name and its arguments.
///
/// Returns
/// -------
/// int
///     The exit code.
///
/// Examples
/// --------
/// >>> from clathrate._native import command
/// >>> command(["clathrate", "--quiet", "params", "list"])
/// 0
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| clathrate_cli::command(&arguments))
}
