//! A prepared matrix as a file: its weights, and its keys, with the same bytes in the file as in memory.
//!
//! A mapped file is used in place, after every residue has been compared with its prime.

use std::io::{Seek, Write};

use clathrate_arith::product::MAX_SHIFT;
use clathrate_lattice::{Level, Rank, SwitchKey};
use serde::{Deserialize, Serialize};

use super::{expect, hex, inconsistent, key_section, label, packed_words, unhex};
use crate::arrays::{Ciphertext, Layout, SecretName};
use crate::circuits::prepared::{PreparedMatrix, PreparedPlan};
use crate::error::CkksError;
use crate::file::{FileError, FileKind, FileLabel, FileReader, FileWriter, Stored};
use crate::key_id::KeyId;
use crate::parameters::Params;

/// Metadata of a prepared matrix.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparedMatrixMetadata {
    key_id: String,
    rows: usize,
    /// The layout of the arrays that the matrix multiplies; their rows correspond to the columns of the
    /// matrix.
    layout: Layout,
    level: usize,
    scale: f64,
    /// The weights are multiples of `2^shift`.
    shift: u32,
    /// Number of floating-point products.
    products: usize,
    /// Whether each array has a separate mask; used for predictions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    own_masks: bool,
    /// The highest level of the keys.
    key_level: usize,
}

const WEIGHTS: &str = "weights";

impl Stored for PreparedMatrix {
    type Metadata = PreparedMatrixMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::PreparedMatrix, self.plan().params())
    }

    fn file_metadata(&self) -> PreparedMatrixMetadata {
        let plan = self.plan();
        PreparedMatrixMetadata {
            key_id: hex(&self.key_id().0),
            rows: plan.rows(),
            layout: *plan.layout(),
            level: plan.level().0,
            scale: plan.scale(),
            shift: plan.shift(),
            products: plan.products(),
            own_masks: plan.own_masks(),
            key_level: self.keys().first().map_or(plan.level().0, |key| key.level().0),
        }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        let words: Vec<u64> = self.multiples().iter().map(|&weight| weight as u64).collect();
        writer.add_words(WEIGHTS, &words)?;
        self.keys()
            .iter()
            .enumerate()
            .try_for_each(|(index, key)| writer.add_words(&key_section(index), &key.words()))
    }
}

impl PreparedMatrix {
    /// A prepared matrix from a file. If the file is opened with
    /// [`OpenOptions::trusted_map`](crate::file::OpenOptions), the keys stay in the file and are read on use.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file does not hold a prepared matrix of these parameters; those of
    /// [`PreparedPlan::new`].
    pub fn from_reader(reader: &FileReader<'_>, params: &Params) -> Result<Self, CkksError> {
        expect(reader, FileKind::PreparedMatrix, params)?;
        let metadata: PreparedMatrixMetadata = reader.metadata()?;
        let PreparedMatrixMetadata { rows, layout, shift, products, own_masks, .. } = metadata;
        let (level, key_level, inner) = (Level(metadata.level), Level(metadata.key_level), layout.rows());
        params.check_level(key_level)?;
        if shift > MAX_SHIFT || level > key_level {
            return Err(inconsistent("the shift of the weights or the level of the keys is out of range"));
        }
        let shape = [inner, layout.columns()];
        let x = Ciphertext::symbol_with(
            params,
            &shape,
            layout,
            SecretName::Bodies(layout.bodies()),
            level,
            metadata.scale,
        )?;
        let count = rows.checked_mul(inner).ok_or_else(|| inconsistent("the shape overflows"))?;
        let weights: Vec<i64> = reader.words(WEIGHTS, count)?.iter().map(|&word| word as i64).collect();
        let plan = PreparedPlan::of_multiples((rows, inner, &weights), shift, &x, (products, own_masks))?;
        let switcher = params.switcher()?;
        let (chain, gadget, columns) = (switcher.chain(), switcher.gadget(), params.rank() + 1);
        let inputs = plan.key_inputs();
        let arrangement = SwitchKey::layout_of(chain, gadget, key_level, inputs, columns)?;
        let read = |index: usize| -> Result<SwitchKey, CkksError> {
            let words = packed_words(reader, index, chain, key_level, &arrangement)?;
            let shape = (Rank(params.rank()), columns);
            Ok(SwitchKey::from_words((chain, gadget), key_level, inputs, shape, (None, words))?)
        };
        let keys = (0..plan.key_count()).map(read).collect::<Result<Vec<_>, _>>()?;
        Self::from_parts(plan, KeyId(unhex(&metadata.key_id)?), keys)
    }
}
