//! `clathrate compare`: compares two encrypted arrays bit for bit.

use clathrate_ckks::{Ciphertext, Runtime};
use serde_json::json;

use crate::arguments::Compare;
use crate::console::Console;
use crate::failure::Failure;
use crate::files;

/// Runs the verb. Arrays that differ are a failure, so that scripts stop.
pub fn run(arguments: &Compare, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let (input, with) = (&arguments.input, &arguments.with);
    let params = files::params(&arguments.params.params, arguments.params.accepted, runtime)?;
    let load = |path| files::load(path, |reader| Ciphertext::from_reader(reader, &params));
    let comparison = load(input)?.same_as(&load(with)?)?;
    if !comparison.is_same() {
        return Err(Failure::Different { input: input.clone(), with: with.clone(), comparison });
    }
    console.result(
        format!("{} and {}: {comparison}", input.display(), with.display()),
        &json!({ "input": input, "with": with, "same": true }),
    )
}
