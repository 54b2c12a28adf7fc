//! The program `clathrate`.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(clathrate_cli::command(&arguments))
}
