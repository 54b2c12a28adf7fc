//! Opens inputs, protects and prepares outputs, and finds parameters by name or file.

use std::path::Path;

use clathrate_ckks::file::{FileKind, FileReader, FileWriter, OutputFile, Stored, holds_secret_key};
use clathrate_ckks::parameters::{preset, preset_names};
use clathrate_ckks::program::{OwnerPart, Program};
use clathrate_ckks::{CkksError, Params, ParamsSpec, Runtime};

use crate::arguments::Accepted;
use crate::failure::Failure;
use crate::streams;

/// Opens a Clathrate file, or reads one from a stream.
///
/// # Errors
/// `Failure::File`, `Failure::Core` for input and output.
pub(crate) fn open(path: &Path) -> Result<FileReader<'static>, Failure> {
    let stream = streams::input(path).map_err(|source| Failure::Io {
        path: path.to_owned(),
        action: "open",
        source,
    })?;
    match stream {
        // The stream is in memory twice while it is read.
        Some(mut stream) => FileReader::from_stream(&mut *stream, streams::free_memory() / 2),
        None => FileReader::open(path),
    }
    .map_err(|error| Failure::file(path, error))
}

/// Opens a Clathrate file and reads a value from it, naming the file in errors.
pub(crate) fn load<T>(
    path: &Path,
    read: impl FnOnce(&FileReader<'static>) -> Result<T, CkksError>,
) -> Result<T, Failure> {
    let reader = open(path)?;
    read(&reader).map_err(|error| Failure::file(path, error))
}

/// The parameters that `source` names: a preset, a specification in TOML, a parameter file, or a program.
/// Presets may be insecure, because their names say so; sets below 128 bits of security from a file are
/// refused unless `accepted` allows them.
///
/// # Errors
/// Errors of the file or the specification; an unknown name.
pub(crate) fn params(source: &str, accepted: Accepted, runtime: &Runtime) -> Result<Params, Failure> {
    let path = Path::new(source);
    if preset_names().iter().any(|name| name == source) {
        return Ok(Params::preset(source, runtime)?);
    }
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::Io {
            path: path.to_owned(),
            action: "read",
            source: error,
        })?;
        let spec: ParamsSpec = toml::from_str(&text).map_err(|error| {
            let reason = error.to_string().trim_end().to_owned();
            Failure::file(path, CkksError::InvalidParams { reason })
        })?;
        return Params::received(spec, accepted.allow_insecure, runtime)
            .map_err(|error| Failure::file(path, error));
    }
    // A name without a dot or a separator that is no file was meant to be a preset.
    if !streams::is_stdin(path) && !path.exists() && !source.contains(['.', '/', '\\']) {
        preset(source)?;
    }
    load(path, |reader| match reader.label().kind {
        FileKind::Program | FileKind::OwnerPart => {
            Ok(read_owner_part(reader, accepted, runtime)?.params().clone())
        }
        _ => Params::from_reader(reader, accepted.allow_insecure, runtime),
    })
}

/// What the owner needs of a program, from its file or from that of the owner's part.
///
/// # Errors
/// Errors of the file.
pub(crate) fn read_owner_part(
    reader: &FileReader<'_>,
    accepted: Accepted,
    runtime: &Runtime,
) -> Result<OwnerPart, CkksError> {
    match reader.label().kind {
        FileKind::OwnerPart => OwnerPart::from_reader(reader, accepted.allow_insecure, runtime),
        _ => Ok(Program::from_reader(reader, accepted.allow_insecure, runtime)?.for_owner()),
    }
}

/// What the owner needs of the program in the file at `path`, which `--params` names for an option that
/// needs one.
///
/// # Errors
/// `Failure::Usage` for the name of a preset; errors of the file.
pub(crate) fn program(source: &str, accepted: Accepted, runtime: &Runtime) -> Result<OwnerPart, Failure> {
    if preset_names().iter().any(|name| name == source) {
        return Err(Failure::Usage(format!(
            "--params names the preset {source}, and this takes a program: give the program's file as --params"
        )));
    }
    load(Path::new(source), |reader| read_owner_part(reader, accepted, runtime))
}

/// Refuses to write over a secret key.
///
/// # Errors
/// `Failure::Exists`.
pub(crate) fn guard(path: &Path) -> Result<(), Failure> {
    if !streams::is_stdout(path) && holds_secret_key(path) {
        return Err(Failure::Exists {
            path: path.to_owned(),
            what: "holds a secret key",
            remedy: "write to another name",
        });
    }
    Ok(())
}

/// Writes `value` to a temporary file; `finish` on the result moves it to `path`.
///
/// # Errors
/// Errors of the writer.
pub(crate) fn prepare(path: &Path, value: &impl Stored) -> Result<FileWriter<OutputFile>, Failure> {
    value
        .write_with(|label, metadata| {
            FileWriter::create_in(streams::create(path, label.kind.is_private())?, label, metadata)
        })
        .map_err(|error| Failure::file(path, CkksError::File(error)))
}

/// Writes `value` to `path`: a regular file completely or not at all, a pipe or a device as a stream. Returns
/// the length in bytes.
///
/// # Errors
/// `Failure::Exists` where `path` holds a secret key; errors of the writer.
pub(crate) fn save(path: &Path, value: &impl Stored) -> Result<u64, Failure> {
    guard(path)?;
    prepare(path, value)?.finish().map_err(|error| Failure::file(path, CkksError::File(error)))
}

/// Checks before hours of work that an output can be written: creates its temporary file and removes it.
///
/// # Errors
/// `Failure::Exists`; errors of [`streams::create`].
pub(crate) fn check_output(path: &Path) -> Result<(), Failure> {
    guard(path)?;
    streams::create(path, true).map(drop).map_err(|error| Failure::file(path, CkksError::File(error)))
}
