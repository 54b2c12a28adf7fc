//! `clathrate decrypt`: a ciphertext file to a NumPy array.

use clathrate_ckks::{Ciphertext, Runtime, SecretKey};
use serde_json::json;

use super::{size, warn_insecure};
use crate::arguments::Decrypt;
use crate::console::Console;
use crate::failure::Failure;
use crate::{files, npy};

/// Runs the verb.
pub fn run(arguments: &Decrypt, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let output = &arguments.output;
    files::check_output(output)?;
    let params = files::params(&arguments.params.params, arguments.params.accepted, runtime)?;
    warn_insecure(console, &params);
    let secret = files::load(&arguments.secret, |reader| SecretKey::from_reader(reader, &params))?;
    let ciphertext = files::load(&arguments.input, |reader| Ciphertext::from_reader(reader, &params))?;
    let mut bar = console.progress("decrypt");
    let values = secret.decrypt_with_progress(&ciphertext, &mut bar.callback()).map_err(|error| Failure::file(&arguments.input, error))?;
    drop(bar);
    let bytes = npy::write(output, ciphertext.shape(), &values).map_err(|error| Failure::file(output, error))?;
    let dtype = if values.is_complex() { "complex128" } else { "float64" };
    let text = format!("wrote {} ({}): shape {:?}, {dtype}", output.display(), size(bytes), ciphertext.shape());
    let insecure = params.is_insecure();
    console.result(text, &json!({ "output": output, "bytes": bytes, "shape": ciphertext.shape(), "dtype": dtype, "insecure": insecure }))
}
