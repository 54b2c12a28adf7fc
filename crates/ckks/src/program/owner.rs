//! What the owner of the secret needs of a program: to make keys, to encrypt its inputs, and to know its
//! results; without operations and plain numbers, which stay with whoever runs it.

use std::io::{Seek, Write};

use clathrate_lattice::Level;
use serde::{Deserialize, Serialize};

use super::forecast::ValueForecast;
use super::{Arrangement, Program, ProgramInput, check_sizes};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::file::{FileError, FileKind, FileLabel, FileReader, FileWriter, Stored};
use crate::keys::{EncryptOptions, KeyNeeds};
use crate::parameters::{Params, ParamsSpec, Runtime};
use crate::store::{expect_mark, inconsistent, label};

/// The owner's part of a program ([`Program::for_owner`]).
///
/// Unlike a program, a part from a file states keys and results by the word of whoever wrote it: there are
/// no operations to find them again. Keys that are not needed do no harm to the secret.
#[derive(Debug, Clone)]
pub struct OwnerPart {
    params: Params,
    content: OwnerMetadata,
}

/// Metadata of an owner's part, which is all that its file has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerMetadata {
    spec: ParamsSpec,
    inputs: Vec<ProgramInput>,
    level: usize,
    needs: KeyNeeds,
    results: Vec<ValueForecast>,
    arrangement: Arrangement,
}

impl Program {
    /// The owner's part, without operations and plain numbers.
    #[must_use]
    pub fn for_owner(&self) -> OwnerPart {
        let content = OwnerMetadata {
            spec: self.params().spec().clone(),
            inputs: self.inputs().to_vec(),
            level: self.choices().level.0,
            needs: self.forecast().needs().clone(),
            results: self.forecast().results().to_vec(),
            arrangement: self.arrangement().clone(),
        };
        OwnerPart { params: self.params().clone(), content }
    }
}

impl OwnerPart {
    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The arrays that the program computes on, encrypted and plain ones.
    #[must_use]
    pub fn inputs(&self) -> &[ProgramInput] {
        &self.content.inputs
    }

    /// The level at which inputs are encrypted.
    #[must_use]
    pub fn level(&self) -> Level {
        Level(self.content.level)
    }

    /// The evaluation keys that the program needs.
    #[must_use]
    pub fn needs(&self) -> &KeyNeeds {
        &self.content.needs
    }

    /// What the program gives.
    #[must_use]
    pub fn results(&self) -> &[ValueForecast] {
        &self.content.results
    }

    /// How the function returns its results.
    #[must_use]
    pub fn arrangement(&self) -> &Arrangement {
        &self.content.arrangement
    }

    /// The bytes of the evaluation keys in memory.
    ///
    /// # Errors
    /// Those of [`Params::required_keys`].
    pub fn key_bytes(&self) -> Result<usize, CkksError> {
        self.params.required_keys(&self.content.needs)?.bytes(&self.params)
    }

    /// How input `index` is encrypted.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] if there is no such input, or it is given in the clear.
    pub fn options(&self, index: usize) -> Result<EncryptOptions, CkksError> {
        match self.content.inputs.get(index) {
            Some(input) if !input.is_plain => Ok(input.options(self.level())),
            _ => Err(CkksError::OutOfRange {
                what: "the number of an input",
                value: index.to_string(),
                remedy: format!(
                    "the program has {} inputs, counted from 0, of which the plain ones are not encrypted",
                    self.content.inputs.len()
                ),
            }),
        }
    }

    /// An owner's part from a file. Parameters below 128 bits of security are only accepted with
    /// `allow_insecure`.
    ///
    /// # Errors
    /// [`CkksError::File`] for a file that is something else, or contradicts itself;
    /// [`CkksError::Insecure`]; [`CkksError::OutOfRange`] for inputs that these parameters cannot encrypt.
    pub fn from_reader(
        reader: &FileReader<'_>,
        allow_insecure: bool,
        runtime: &Runtime,
    ) -> Result<Self, CkksError> {
        reader.expect_kind(FileKind::OwnerPart)?;
        reader.verify_all()?;
        let content: OwnerMetadata = reader.metadata()?;
        let params = Params::received(content.spec.clone(), allow_insecure, runtime)?;
        reader.expect_parameters(&params.parameter_id())?;
        expect_mark(reader, &params)?;
        check_sizes(&content.inputs)?;
        content.arrangement.check(content.results.len())?;
        if !content.inputs.iter().any(|input| !input.is_plain) || content.results.is_empty() {
            return Err(inconsistent("a program has an encrypted input and a result"));
        }
        params.required_keys(&content.needs)?;
        let evaluator = Evaluator::recording(&params);
        let encrypted = content.inputs.iter().filter(|input| !input.is_plain);
        encrypted
            .into_iter()
            .try_for_each(|input| input.symbol(&evaluator, Level(content.level)).map(drop))?;
        Ok(Self { params, content })
    }
}

impl Stored for OwnerPart {
    type Metadata = OwnerMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::OwnerPart, &self.params)
    }

    fn file_metadata(&self) -> OwnerMetadata {
        self.content.clone()
    }

    fn write_sections<W: Write + Seek>(&self, _: &mut FileWriter<W>) -> Result<(), FileError> {
        Ok(())
    }
}
