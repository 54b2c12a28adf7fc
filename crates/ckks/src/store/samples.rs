//! Prepared masks of a client's messages as a file. Prepared masks can be used once, so the program that
//! takes them first renames the file.

use std::fs;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use clathrate_lattice::{Bodies, Level};
use serde::{Deserialize, Serialize};

use super::{expect, hex, inconsistent, label, read_bundles, unhex, write_bundles};
use crate::arrays::{Ciphertext, Estimate, Layout, SecretName};
use crate::circuits::transcipher::PreparedSamples;
use crate::error::CkksError;
use crate::file::{FileError, FileKind, FileLabel, FileReader, FileWriter, Stored};
use crate::key_id::KeyId;
use crate::parameters::Params;

/// The suffix of the name of a file that has been taken.
const USED: &str = ".used";

/// Metadata of prepared masks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparedSamplesMetadata {
    key_id: String,
    /// Digest of the client's introduction.
    client: String,
    /// The first counter, and the number of counters.
    first: u64,
    samples: u64,
    pairs: bool,
    /// Name of the secret under which the masks are packed.
    secret: String,
    layout: Layout,
    scale: f64,
}

impl Stored for PreparedSamples {
    type Metadata = PreparedSamplesMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::PreparedSamples, self.params())
    }

    fn file_metadata(&self) -> PreparedSamplesMetadata {
        let Range { start, end } = self.counters();
        let packed = self.packed();
        PreparedSamplesMetadata {
            key_id: packed.map_or_else(String::new, |packed| hex(&packed.key_id().0)),
            client: hex(&self.client_id()),
            first: start,
            samples: end - start,
            pairs: self.pairs(),
            secret: packed.map_or_else(String::new, |packed| packed.secret().to_string()),
            layout: *self.layout(),
            scale: packed.map_or(1.0, Ciphertext::scale),
        }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        let served = || FileError::Metadata {
            reason: "these masks have served: prepare those of the next counters".to_owned(),
        };
        write_bundles(writer, self.packed().ok_or_else(served)?.bundles())
    }
}

impl PreparedSamples {
    /// Prepared masks from a file, without taking them; to use them, call [`PreparedSamples::take`].
    ///
    /// # Errors
    /// [`CkksError::File`] if the file does not hold prepared masks of these parameters.
    pub fn from_reader(reader: &FileReader<'_>, params: &Params) -> Result<Self, CkksError> {
        expect(reader, FileKind::PreparedSamples, params)?;
        let metadata: PreparedSamplesMetadata = reader.metadata()?;
        let (level, layout) = (Level(0), metadata.layout);
        params.check_scale(metadata.scale, level)?;
        let shape = vec![layout.columns()];
        layout.check(&shape, params.degree())?;
        let secret = match SecretName::parse(&metadata.secret) {
            Some(secret @ (SecretName::Main | SecretName::Ephemeral)) => secret,
            _ => return Err(inconsistent("masks are packed under the main secret or the ephemeral one")),
        };
        params.check_secret(secret)?;
        let Some(end) = metadata.first.checked_add(metadata.samples).filter(|&end| end > metadata.first)
        else {
            return Err(inconsistent("the counters are out of range"));
        };
        let bundles = read_bundles(
            reader,
            params,
            &params.chain().basis(level),
            (layout.bundles(), Bodies(layout.bodies())),
            false,
        )?;
        let key_id = KeyId(unhex(&metadata.key_id)?);
        let packed = Ciphertext {
            params: params.clone(),
            key_id,
            secret,
            shape,
            layout,
            level,
            scale: metadata.scale,
            bundles,
            estimate: Estimate::unknown(),
            footprint: None,
        };
        Ok(Self::from_parts(packed, unhex(&metadata.client)?, metadata.first..end, metadata.pairs))
    }

    /// Takes prepared masks from a file, so that no other program can use them: renames the file to end in
    /// `.used` before it returns.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a file that has been taken; [`CkksError::File`] if the file cannot be
    /// renamed; those of [`PreparedSamples::from_reader`].
    pub fn take(path: impl AsRef<Path>, params: &Params) -> Result<Self, CkksError> {
        let path = path.as_ref();
        let mut name = path.as_os_str().to_owned();
        name.push(USED);
        let used = PathBuf::from(name);
        let refuse = || CkksError::OutOfRange {
            what: "the file of prepared masks",
            value: path.display().to_string(),
            remedy: format!(
                "it has been taken, and is called {} now: prepare masks of the next counters",
                used.display()
            ),
        };
        if !path.exists() && used.exists() {
            return Err(refuse());
        }
        let samples = Self::from_reader(&FileReader::open(path)?, params)?;
        // If two programs take one file, the rename fails for one of them. Masks of other counters are in
        // other files, so the new name is used only once.
        if used.exists() {
            return Err(refuse());
        }
        match fs::rename(path, &used) {
            Ok(()) => Ok(samples),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(refuse()),
            Err(error) => {
                Err(FileError::Io { path: path.to_path_buf(), action: "rename", source: error }.into())
            }
        }
    }
}
