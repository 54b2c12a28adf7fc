//! `clathrate encrypt`: encrypts a NumPy array to a ciphertext file.

use std::path::Path;

use clathrate_ckks::file::{FileError, FileKind, FileReader};
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::{CkksError, Params, PublicKey, Runtime, SecretKey};
use clathrate_lattice::Level;

use super::{describe, document, size, warn_insecure};
use crate::arguments::Encrypt;
use crate::console::Console;
use crate::failure::Failure;
use crate::{files, npy};

/// A key that encrypts.
enum Key {
    Secret(SecretKey),
    Public(PublicKey),
}

fn read_key(reader: &FileReader<'_>, params: &Params) -> Result<Key, CkksError> {
    match reader.label().kind {
        FileKind::SecretKey => SecretKey::from_reader(reader, params).map(Key::Secret),
        FileKind::PublicKey => PublicKey::from_reader(reader, params).map(Key::Public),
        found => Err(FileError::WrongKind { expected: FileKind::PublicKey, found }.into()),
    }
}

/// How the input `name` of a program is encrypted, for an array of shape `shape`.
fn options_of(
    arguments: &Encrypt,
    name: &str,
    (shape, is_complex): (&[usize], bool),
    runtime: &Runtime,
) -> Result<EncryptOptions, Failure> {
    let source = &arguments.params;
    let program = files::program(&source.params, source.accepted, runtime)?;
    let names: Vec<&str> = program.inputs().iter().map(|input| input.name.as_str()).collect();
    let Some(index) = names.iter().position(|own| *own == name) else {
        return Err(Failure::Usage(format!(
            "the program has no input \"{name}\": its inputs are {}",
            names.join(", ")
        )));
    };
    let input = &program.inputs()[index];
    if input.is_plain {
        return Err(Failure::Usage(format!(
            "the input \"{name}\" of the program is not encrypted: give it to `run` as it is, by --plain"
        )));
    }
    if is_complex && !input.is_complex {
        return Err(Failure::Usage(format!(
            "the input \"{name}\" of the program is real, and {} has complex numbers",
            arguments.input.display()
        )));
    }
    let expected = &input.shape;
    if expected != shape {
        return Err(Failure::Usage(format!(
            "the input \"{name}\" of the program has the shape {expected:?}, and {} has {shape:?}",
            arguments.input.display()
        )));
    }
    Ok(program.options(index)?)
}

/// Runs the verb.
pub(crate) fn run(arguments: &Encrypt, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let output: &Path = &arguments.output;
    files::check_output(output)?;
    let params = files::params(&arguments.params.params, arguments.params.accepted, runtime)?;
    warn_insecure(console, &params);
    let key = files::load(&arguments.key, |reader| read_key(reader, &params))?;
    let array = npy::read(&arguments.input).map_err(|error| Failure::array(&arguments.input, error))?;
    let given = EncryptOptions {
        encoding: arguments.encoding.map(Into::into),
        level: arguments.level.map(Level),
        bodies: arguments.bodies.map(Into::into),
        bound: arguments.bound,
        lanes: arguments.lanes,
        ..EncryptOptions::default()
    };
    let options = match &arguments.input_name {
        Some(name) => options_of(arguments, name, (&array.shape, array.values.is_complex()), runtime)?,
        None => given,
    };
    let bar = console.progress("encrypt");
    let ciphertext = match key {
        Key::Secret(key) => {
            key.with_progress(bar.progress()).encrypt_array(&array.values, &array.shape, options)
        }
        Key::Public(key) => {
            key.with_progress(bar.progress()).encrypt_array(&array.values, &array.shape, options)
        }
    }
    .map_err(|error| Failure::file(&arguments.input, error))?;
    drop(bar);
    let bytes = files::save(output, &ciphertext)?;
    let text = format!("wrote {} ({}): {}", output.display(), size(bytes), describe(&ciphertext));
    console.result(text, &document(&ciphertext, output, bytes))
}
