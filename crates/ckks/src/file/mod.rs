//! Files: versioned, checksummed, bound to a parameter set.
//!
//! [`container`] states the format, [`writer`] makes files (and the same bytes in memory), [`reader`] checks
//! them; [`output`] puts a finished file under its name. What the sections mean is the business of each type:
//! it implements [`Stored`] with a metadata struct (shape, level, scale) and its sections of words, and reads
//! itself back with a [`FileReader`] and its parameters.
//!
//! Reading trusts nothing: lengths are compared with the bytes present before anything is allocated, each bit
//! of a file is covered by the magic, a checksum or a rule that it be zero, sections are copied out of the
//! file before they are checked, and residues are compared with their moduli by [`check_residues`]. Checksums
//! find accidents; they do not authenticate, so a file from a stranger is as trustworthy as the stranger.

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

/// A value with a file form: label, metadata and sections.
///
/// Metadata is printed by `inspect`: it must hold nothing secret.
pub trait Stored {
    /// Shape, level, scale: what a reader needs before it looks at the sections.
    type Metadata: Serialize;

    /// Kind and parameters.
    fn file_label(&self) -> FileLabel;

    /// The description that goes before the sections.
    fn file_metadata(&self) -> Self::Metadata;

    /// Writes the sections, in order.
    ///
    /// # Errors
    /// Those of the writer, passed on.
    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError>;

    /// Writes the value to `path`, asking `watch`, if there is one, in its course whether to go on; the
    /// file's length in bytes. A regular file there is replaced at once or not at all where `replaced` allows
    /// it, and stays where `watch` says no; a pipe or a device is streamed to, see [`OutputFile`].
    ///
    /// # Errors
    /// [`FileError::SecretKeyInTheWay`]; `Io` of the kind `AlreadyExists` for another file in the way; those
    /// of [`FileWriter::create`] and [`FileWriter::finish`]; `Cancelled`.
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

    /// [`Stored::save_as`] in the place of anything but a secret key.
    fn save(&self, path: impl AsRef<Path>) -> Result<u64, FileError>
    where
        Self: Sized,
    {
        self.save_as(path, Replaced::ButSecretKeys, None)
    }

    /// As [`Stored::save`], whatever is there.
    fn replace(&self, path: impl AsRef<Path>) -> Result<u64, FileError>
    where
        Self: Sized,
    {
        self.save_as(path, Replaced::Anything, None)
    }

    /// The bytes that [`save`](Stored::save) would write.
    ///
    /// # Errors
    /// `Metadata`, `TooLarge` or a section error, as for a file.
    fn to_file_bytes(&self) -> Result<Vec<u8>, FileError>
    where
        Self: Sized,
    {
        let mut writer = FileWriter::in_memory(self.file_label(), &self.file_metadata())?;
        self.write_sections(&mut writer)?;
        writer.finish()
    }

    /// As [`Stored::to_file_bytes`], asking `watch` in its course whether to go on.
    ///
    /// # Errors
    /// As [`Stored::to_file_bytes`]; `Cancelled`.
    fn to_file_bytes_watched(&self, watch: Watch) -> Result<Vec<u8>, FileError>
    where
        Self: Sized,
    {
        let mut writer = FileWriter::in_memory(self.file_label(), &self.file_metadata())?.watched_by(watch);
        self.write_sections(&mut writer)?;
        writer.finish()
    }
}

/// [`Stored::save_as`] with this metadata.
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
