//! The plan of a linear transform as a file: the numbers of its diagonals, and its encoded diagonals.
//!
//! Encoded diagonals have the same bytes in the file as in memory, so a mapped file is used in place, after
//! every residue has been compared with its prime.

use std::io::{Seek, Write};
use std::sync::Arc;

use clathrate_lattice::{Basis, Level, PackedPlaintexts, Ring};
use rustfft::num_complex::Complex64;
use serde::{Deserialize, Serialize};

use super::{expect, inconsistent, label};
use crate::circuits::linear::{LinearTransform, LinearTransformOptions, LinearTransformPlan, RotationSteps};
use crate::error::CkksError;
use crate::file::{FileError, FileKind, FileLabel, FileReader, FileWriter, Stored};
use crate::parameters::Params;

/// Metadata of the plan of a linear transform.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearTransformMetadata {
    rows: usize,
    columns: usize,
    slots: usize,
    /// Numbers of each diagonal.
    period: usize,
    /// Shifts of the diagonals, ascending.
    shifts: Vec<usize>,
    level: usize,
    input_scale: f64,
    output_scale: f64,
    on_the_fly: bool,
    #[serde(rename = "way")]
    rotation_steps: RotationSteps,
    /// For each basis in which the diagonals are encoded, the indices of its primes among those of the
    /// parameters.
    encoded: Vec<Vec<usize>>,
}

const DIAGONALS: &str = "diagonals";

/// A plan and its encoded diagonals at one moment, because other threads may use it at the same time.
struct Snapshot<'a> {
    plan: &'a LinearTransformPlan,
    encoded: Vec<(Basis, Arc<Vec<PackedPlaintexts>>)>,
}

fn section(form: usize, giant: usize) -> String {
    format!("f{form}g{giant}")
}

impl<'a> Snapshot<'a> {
    fn of(plan: &'a LinearTransformPlan) -> Self {
        Self { plan, encoded: plan.encoded() }
    }
}

impl Stored for LinearTransformPlan {
    type Metadata = LinearTransformMetadata;

    fn file_label(&self) -> FileLabel {
        Snapshot::of(self).file_label()
    }

    fn file_metadata(&self) -> LinearTransformMetadata {
        Snapshot::of(self).file_metadata()
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        Snapshot::of(self).write_sections(writer)
    }

    fn write_with<W: Write + Seek>(
        &self,
        begin: impl FnOnce(FileLabel, &LinearTransformMetadata) -> Result<FileWriter<W>, FileError>,
    ) -> Result<FileWriter<W>, FileError> {
        Snapshot::of(self).write_with(begin)
    }
}

impl Stored for Snapshot<'_> {
    type Metadata = LinearTransformMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::Plan, self.plan.params())
    }

    fn file_metadata(&self) -> LinearTransformMetadata {
        let (plan, transform) = (self.plan, self.plan.transform());
        LinearTransformMetadata {
            rows: transform.rows(),
            columns: transform.columns(),
            slots: transform.slots(),
            period: transform.period(),
            shifts: transform.shifts().collect(),
            level: plan.input_level().0,
            input_scale: plan.input_scale(),
            output_scale: plan.output_scale(),
            on_the_fly: plan.is_on_the_fly(),
            rotation_steps: plan.rotation_steps(),
            encoded: self.encoded.iter().map(|(basis, _)| basis.indices().to_vec()).collect(),
        }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        let transform = self.plan.transform();
        let diagonals = transform
            .shifts()
            .flat_map(|shift| transform.diagonal(shift as i64).unwrap_or_default().into_owned());
        let words: Vec<u64> = diagonals.flat_map(|value| [value.re.to_bits(), value.im.to_bits()]).collect();
        writer.add_words(DIAGONALS, &words)?;
        for (form, (_, plaintexts)) in self.encoded.iter().enumerate() {
            for (giant, plaintexts) in plaintexts.iter().enumerate() {
                writer.add_words(&section(form, giant), &plaintexts.words())?;
            }
        }
        Ok(())
    }
}

/// The linear map in a file, with at most `most` slots.
fn read_transform(
    reader: &FileReader<'_>,
    metadata: &LinearTransformMetadata,
    most: usize,
) -> Result<LinearTransform, CkksError> {
    let LinearTransformMetadata { rows, columns, slots, period, shifts, .. } = metadata;
    if *slots > most {
        return Err(inconsistent(&format!("the map has {slots} slots, the parameters have {most}")));
    }
    let words = period.checked_mul(2).and_then(|each| each.checked_mul(shifts.len()));
    let words = reader.words(DIAGONALS, words.ok_or_else(|| inconsistent("the shape overflows"))?)?;
    let number = |pair: &[u64; 2]| Complex64::new(f64::from_bits(pair[0]), f64::from_bits(pair[1]));
    let numbers: Vec<Complex64> = words.as_chunks::<2>().0.iter().map(number).collect();
    let diagonals = shifts
        .iter()
        .map(|&shift| shift as i64)
        .zip(numbers.chunks_exact((*period).max(1)).map(<[Complex64]>::to_vec));
    let transform = LinearTransform::from_diagonals(*slots, diagonals)?;
    let same = transform.period() == *period && transform.shifts().eq(shifts.iter().copied());
    let shaped = transform.of_shape(*rows, *columns).filter(|_| same);
    shaped.ok_or_else(|| inconsistent("the diagonals are not those of a map of this shape"))
}

/// The plaintexts of section `name`.
fn read_plaintexts(
    reader: &FileReader<'_>,
    name: &str,
    ring: &Ring,
    basis: &Basis,
    count: usize,
) -> Result<PackedPlaintexts, CkksError> {
    let words = reader.kept_words(name, PackedPlaintexts::word_count(ring, basis, count))?;
    if let Some((row, column, value)) = PackedPlaintexts::first_not_reduced(ring, basis, count, &words) {
        let modulus = basis.indices().get(row).map_or(0, |&index| ring.moduli()[index].value());
        return Err(FileError::ResidueTooLarge { row, column, value, modulus }.into());
    }
    Ok(PackedPlaintexts::from_words(ring, basis, count, words)?)
}

impl LinearTransformPlan {
    /// A plan from a file, with the diagonals that were encoded when it was written. If the file is opened
    /// with [`OpenOptions::trusted_map`](crate::file::OpenOptions), they stay in the file and are read on
    /// use.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file does not hold a plan of these parameters; those of
    /// [`LinearTransform::plan_with`].
    pub fn from_reader(reader: &FileReader<'_>, params: &Params) -> Result<Self, CkksError> {
        expect(reader, FileKind::Plan, params)?;
        let metadata: LinearTransformMetadata = reader.metadata()?;
        let transform = read_transform(reader, &metadata, params.slot_count())?;
        let options = LinearTransformOptions {
            input_scale: Some(metadata.input_scale),
            output_scale: Some(metadata.output_scale),
            on_the_fly: metadata.on_the_fly,
            ..LinearTransformOptions::default()
        };
        let plan = transform.plan_by(params, Level(metadata.level), options, metadata.rotation_steps)?;
        let (ring, counts) = (plan.plaintext_ring()?, plan.diagonal_counts().collect::<Vec<_>>());
        for (form, indices) in metadata.encoded.iter().enumerate() {
            let basis = Basis::new(indices.iter().copied());
            basis.check(&ring)?;
            let read = |(giant, &count): (usize, &usize)| {
                read_plaintexts(reader, &section(form, giant), &ring, &basis, count)
            };
            plan.take_encoded(&basis, counts.iter().enumerate().map(read).collect::<Result<_, _>>()?);
        }
        Ok(plan)
    }
}
