//! Files, which have a format version and checksums and are bound to a parameter set.
//!
//! [`container`] defines the format, [`writer`] writes files (and the same bytes in memory), [`reader`]
//! checks them; [`output`] gives a finished file its name. Each type defines its sections: it implements
//! [`Stored`] with a metadata struct (shape, level, scale) and sections of words, and is read from a
//! [`FileReader`] and its parameters.
//!
//! Readers trust nothing in a file: lengths are compared with the bytes present before any allocation; every
//! bit of a file is covered by the magic, a checksum or a rule that it is zero; sections are copied before
//! they are checked; and [`check_residues`] compares residues with their moduli. Checksums detect accidents
//! but do not authenticate a file's author.

mod backing;
pub mod container;
pub mod error;
pub mod kind;
mod metadata;
pub mod output;
mod partial;
mod pieces;
pub mod reader;
pub mod residues;
mod target;
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
pub use writer::{FileWriter, MemoryFile};

use crate::progress::Progress;

/// A type that can be stored in files: label, metadata and sections.
///
/// `inspect` prints metadata, so they must not contain secrets.
pub trait Stored {
    /// Shape, level and scale, which a reader needs before it reads sections.
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

    /// Writes the value with the writer that `begin` makes for its label and metadata. The caller must finish
    /// the writer.
    ///
    /// # Errors
    /// Those of `begin` and of the writer.
    fn write_with<W: Write + Seek>(
        &self,
        begin: impl FnOnce(FileLabel, &Self::Metadata) -> Result<FileWriter<W>, FileError>,
    ) -> Result<FileWriter<W>, FileError>
    where
        Self: Sized,
    {
        let mut writer = begin(self.file_label(), &self.file_metadata())?;
        self.write_sections(&mut writer)?;
        Ok(writer)
    }

    /// Writes the value to `path`, reports the bytes to `progress`, and returns the file's length in bytes. A
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
        progress: &Progress,
    ) -> Result<u64, FileError>
    where
        Self: Sized,
    {
        self.write_with(|label, metadata| begin_at(path.as_ref(), replaced, progress, label, metadata))?
            .finish()
    }

    /// [`Stored::save_as`] that replaces any file except a secret key.
    fn save(&self, path: impl AsRef<Path>) -> Result<u64, FileError>
    where
        Self: Sized,
    {
        self.save_as(path, Replaced::ButSecretKeys, &Progress::none())
    }

    /// [`Stored::save`] that replaces any file.
    fn replace(&self, path: impl AsRef<Path>) -> Result<u64, FileError>
    where
        Self: Sized,
    {
        self.save_as(path, Replaced::Anything, &Progress::none())
    }

    /// The bytes that [`save`](Stored::save) would write. To report progress, call [`Stored::write_with`]
    /// with a writer that reports.
    ///
    /// # Errors
    /// `Metadata`, `TooLarge` or a section error.
    fn to_file_bytes(&self) -> Result<Vec<u8>, FileError>
    where
        Self: Sized,
    {
        self.write_with(FileWriter::in_memory)?.finish()
    }
}

/// The writer of a file at `path`, which reports to `progress`.
pub(crate) fn begin_at(
    path: &Path,
    replaced: Replaced,
    progress: &Progress,
    label: FileLabel,
    metadata: &impl Serialize,
) -> Result<FileWriter, FileError> {
    let output = OutputFile::create_as(path, label.kind.is_private(), replaced)?;
    Ok(FileWriter::create_in(output, label, metadata)?.with_progress(progress.clone()))
}
