//! `clathrate-bench`: times operations on one thread and prints one JSON row per line; `bench/README.md`
//! describes the rows.
//!
//! Layers, lowest first: `failure`, `output`, `timing`; `stream`, `transform`, `scheme`, `keyswitch`, `dpad`,
//! `bootstrap`, `batch` (with `one_reading`) and `mambo` on `stages`, `packing`, `hermes`, `matrix`,
//! `encrypted_matrix` on `slot_matrix`, `device` on `dpad` (one benchmark each); `names`, `arguments`; `run`.
#![forbid(unsafe_code)]

mod arguments;
mod batch;
mod bootstrap;
mod bootstrap_ranks;
mod device;
mod dpad;
mod encrypted_matrix;
mod failure;
mod hermes;
mod keyswitch;
mod mambo;
mod matrix;
mod names;
mod noise;
mod one_reading;
mod output;
mod packing;
mod run;
mod scheme;
mod sets;
mod slot_matrix;
mod stages;
mod stream;
mod timing;
mod transform;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

fn main() -> ExitCode {
    match run::run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If stderr is closed, the exit code still reports the error.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
