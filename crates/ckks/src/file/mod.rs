//! Files: versioned, checksummed, bound to a parameter set.
//!
//! [`container`] defines the format, [`writer`] writes files (and the same bytes in memory), [`reader`]
//! checks them; [`output`] gives a finished file its name. Each type defines its sections: it implements
//! [`Stored`] with a metadata struct (shape, level, scale) and sections of words, and is read from a
//! [`FileReader`] and its parameters.
//!
//! Reading trusts nothing: lengths are compared with the bytes present before any allocation; every bit of a
//! file is covered by the magic, a checksum or a rule that it is zero; sections are copied before they are
//! checked; and [`check_residues`] compares residues with their moduli. Checksums detect accidents but do not
//! authenticate a file's author.

mod backing;
pub mod container;
pub mod error;
pub mod kind;
mod metadata;
pub mod output;
mod partial;
pub mod reader;
pub mod residues;
mod target;
mod watch;
pub mod writer;

use std::io::{Seek, Write};
use std::path::Path;

use serde::Serialize;

pub use clathrate_arith::mapped::TrustedMap;
pub use container::{FileLabel, SectionInfo};
pub use error::{FileError, ParameterId};
pub use kind::FileKind;
pub use output::{OutputFile, Replaced, holds_secret_key};
pub use reader::{FileReader, OpenOptions, Section};
pub use residues::check_residues;
pub use target::leads_to_stdout;
pub use watch::Watch;
pub use writer::{FileWriter, MemoryFile};

/// A type that can be stored in files: label, metadata and sections.
///
/// `inspect` prints metadata, so they must not contain secrets.
pub trait Stored {
    /// Shape, level, scale: what a reader needs before it reads sections.
    type Metadata: Serialize;

    /// Kind and parameters.
    fn file_label(&self) -> FileLabel;

    /// The metadata.
    fn file_metadata(&self) -> Self::Metadata;

    /// Writes the sections, in order.
    ///
    /// # Errors
    /// Those of the writer.
    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError>;

    /// Writes the value to `path` and returns the file's length in bytes; `watch`, if given, can cancel. A
    /// regular file there is replaced atomically if `replaced` allows it, and is kept on cancellation; a pipe
    /// or a device receives a stream (see [`OutputFile`]).
    ///
    /// # Errors
    /// [`FileError::SecretKeyInTheWay`]; `Io` of the kind `AlreadyExists` for another file that must not be
    /// replaced; `Cancelled`; those of [`FileWriter::create`] and [`FileWriter::finish`].
    fn save_as(
        &self,
        path: impl AsRef<Path>,
        replaced: Replaced,
        watch: Option<Watch>,
    ) -> Result<u64, FileError>
    where
        Self: Sized,
    {
        save_with(self, &self.file_metadata(), path.as_ref(), replaced, watch)
    }

    /// [`Stored::save_as`] that replaces any file except a secret key.
    fn save(&self, path: impl AsRef<Path>) -> Result<u64, FileError>
    where
        Self: Sized,
    {
        self.save_as(path, Replaced::ButSecretKeys, None)
    }

    /// [`Stored::save`] that replaces any file.
    fn replace(&self, path: impl AsRef<Path>) -> Result<u64, FileError>
    where
        Self: Sized,
    {
        self.save_as(path, Replaced::Anything, None)
    }

    /// The bytes that [`save`](Stored::save) would write.
    ///
    /// # Errors
    /// `Metadata`, `TooLarge` or a section error.
    fn to_file_bytes(&self) -> Result<Vec<u8>, FileError>
    where
        Self: Sized,
    {
        let mut writer = FileWriter::in_memory(self.file_label(), &self.file_metadata())?;
        self.write_sections(&mut writer)?;
        writer.finish()
    }

    /// [`Stored::to_file_bytes`] that `watch` can cancel.
    ///
    /// # Errors
    /// Those of [`Stored::to_file_bytes`]; `Cancelled`.
    fn to_file_bytes_watched(&self, watch: Watch) -> Result<Vec<u8>, FileError>
    where
        Self: Sized,
    {
        let mut writer = FileWriter::in_memory(self.file_label(), &self.file_metadata())?.watched_by(watch);
        self.write_sections(&mut writer)?;
        writer.finish()
    }
}

/// [`Stored::save_as`] with the given metadata.
pub(crate) fn save_with<S: Stored>(
    object: &S,
    metadata: &S::Metadata,
    path: &Path,
    replaced: Replaced,
    watch: Option<Watch>,
) -> Result<u64, FileError> {
    let label = object.file_label();
    let output = OutputFile::create_as(path, label.kind.is_private(), replaced)?;
    let mut writer = FileWriter::create_in(output, label, metadata)?;
    if let Some(watch) = watch {
        writer = writer.watched_by(watch);
    }
    object.write_sections(&mut writer)?;
    writer.finish()
}
