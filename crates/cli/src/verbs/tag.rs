//! `clathrate tag`: prints the tag by which the owner of a key recognises a file that is stored elsewhere.

use clathrate_ckks::{Runtime, SecretKey};
use serde_json::json;

use super::params::hex;
use crate::arguments::Tag;
use crate::console::Console;
use crate::failure::Failure;
use crate::files;

/// Runs the verb.
pub fn run(arguments: &Tag, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let params = files::params(&arguments.params.params, arguments.params.accepted, runtime)?;
    let secret = files::load(&arguments.secret, |reader| SecretKey::from_reader(reader, &params))?;
    let tag = hex(&secret.tag_of_file(&arguments.name, &arguments.input)?);
    console.result(&tag, &json!({ "input": arguments.input, "name": arguments.name, "tag": tag }))
}
