//! Parameters, keys and ciphertexts as files.
//!
//! Metadata hold shape, level and scale; sections hold words. A mask that has not changed since it was
//! expanded from its seed is stored as the seed. The memory that reading allocates is bounded by the
//! parameters and by the bytes present in the file, never by a number in the file alone.

mod plan;
mod prepared;
mod samples;

use std::io::{Seek, Write};
use std::path::Path;

use clathrate_arith::FactorLayout;
use clathrate_arith::mapped::FileWords;
use clathrate_lattice::{
    Basis, Bodies, Bundle, Chain, Degree, Eval, Level, MaskSeed, Poly, PolyRef, Rank, SwitchKey,
};
use serde::{Deserialize, Serialize};

use crate::arrays::ciphertext::check_bodies;
use crate::arrays::estimate::StoredEstimate;
use crate::arrays::{Ciphertext, Estimate, Layout, SecretName};
use crate::error::CkksError;
use crate::file::{
    FileError, FileKind, FileLabel, FileReader, FileWriter, ParameterId, Replaced, Stored, begin_at,
    check_residues,
};
use crate::key_id::KeyId;
use crate::keys::{
    Budget, EvaluationKeys, HeldKey, KeyAddress, KeyDefinition, KeyName, PublicKey, SecretKey,
    SecretKeyMetadata,
};
use crate::light::AuthenticationKey;
use crate::parameters::{Params, ParamsSpec, Runtime};
use crate::progress::Progress;
use crate::shape::ModuleShape;

pub use plan::LinearTransformMetadata;
pub use prepared::PreparedMatrixMetadata;
pub use samples::PreparedSamplesMetadata;

/// Domain-separation string of fingerprints.
const FINGERPRINT_DOMAIN: &str = "clathrate public key fingerprint v1";

/// Bytes of a fingerprint: finding another key with a given fingerprint takes about 2^128 trials.
const FINGERPRINT_BYTES: usize = 16;

pub(crate) fn label(kind: FileKind, params: &Params) -> FileLabel {
    let ParameterId { name: parameter_name, digest: parameter_digest } = params.parameter_id();
    FileLabel { kind, parameter_name, parameter_digest, insecure: params.is_insecure() }
}

/// Checks kind, parameters and insecurity mark of an opened file.
fn expect(reader: &FileReader<'_>, kind: FileKind, params: &Params) -> Result<(), CkksError> {
    reader.expect_kind(kind)?;
    reader.expect_parameters(&params.parameter_id())?;
    expect_mark(reader, params)
}

/// Refuses a file whose insecurity mark differs from that of its parameters, because programs that read only
/// labels rely on the mark.
pub(crate) fn expect_mark(reader: &FileReader<'_>, params: &Params) -> Result<(), CkksError> {
    if reader.label().insecure == params.is_insecure() {
        return Ok(());
    }
    Err(inconsistent("the label's mark of security is not that of the parameters"))
}

pub(crate) fn inconsistent(reason: &str) -> CkksError {
    FileError::Metadata { reason: reason.to_owned() }.into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Result<[u8; N], CkksError> {
    let bad = || inconsistent("a hexadecimal field does not have its length or digits");
    if text.len() != 2 * N || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(bad());
    }
    let mut bytes = [0; N];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| bad())?;
    }
    Ok(bytes)
}

/// Writes polynomials one after the other as one section.
fn write_polys<W: Write + Seek>(
    writer: &mut FileWriter<W>,
    name: &str,
    words_each: usize,
    polys: &[PolyRef<'_, Eval>],
) -> Result<(), FileError> {
    writer.write_section(name, 8 * (words_each * polys.len()) as u64, |target| {
        polys.iter().try_for_each(|poly| {
            let words = poly.download();
            match clathrate_arith::mapped::little_endian_bytes(&words) {
                Some(bytes) => target.write_all(bytes),
                None => words.iter().try_for_each(|word| target.write_all(&word.to_le_bytes())),
            }
        })
    })
}

/// Reads `count` polynomials over `basis` from a section and checks every residue.
fn read_polys(
    reader: &FileReader<'_>,
    name: &str,
    params: &Params,
    basis: &Basis,
    count: usize,
) -> Result<Vec<Poly<Eval>>, CkksError> {
    let ring = params.chain().ring();
    let moduli: Vec<u64> = basis.indices().iter().map(|&i| ring.moduli()[i].value()).collect();
    let each = basis.len() * params.degree();
    let words =
        reader.words(name, each.checked_mul(count).ok_or_else(|| inconsistent("the shape overflows"))?)?;
    words
        .chunks_exact(each)
        .map(|chunk| {
            reader.go_on()?;
            check_residues(chunk, params.degree(), &moduli)?;
            Ok(Poly::upload(ring, basis, |row, words| {
                words.copy_from_slice(&chunk[row * words.len()..(row + 1) * words.len()])
            }))
        })
        .collect()
}

fn write_seeds<W: Write + Seek>(writer: &mut FileWriter<W>, seeds: &[MaskSeed]) -> Result<(), FileError> {
    writer.add_section("seeds", &seeds.iter().flat_map(|seed| seed.0).collect::<Vec<u8>>())
}

fn read_seeds(reader: &FileReader<'_>, count: usize) -> Result<Vec<MaskSeed>, CkksError> {
    let section = reader.section_of_length("seeds", 32 * count as u64)?;
    Ok(section.bytes().as_chunks::<32>().0.iter().map(|&seed| MaskSeed(seed)).collect())
}

/// Metadata of a parameter file: the specification.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsMetadata {
    spec: ParamsSpec,
}

impl Stored for Params {
    type Metadata = ParamsMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::Params, self)
    }

    fn file_metadata(&self) -> ParamsMetadata {
        ParamsMetadata { spec: self.spec().clone() }
    }

    fn write_sections<W: Write + Seek>(&self, _writer: &mut FileWriter<W>) -> Result<(), FileError> {
        Ok(())
    }
}

impl Params {
    /// Parameters from a file. Parameters below 128 bits of security are only accepted with `allow_insecure`.
    ///
    /// # Errors
    /// [`CkksError::File`], also if the file's digest is not that of its specification;
    /// [`CkksError::Insecure`]; [`CkksError::InvalidParams`] and other errors of parameters.
    pub fn from_reader(
        reader: &FileReader<'_>,
        allow_insecure: bool,
        runtime: &Runtime,
    ) -> Result<Self, CkksError> {
        reader.expect_kind(FileKind::Params)?;
        reader.verify_all()?;
        let params = Self::received(reader.metadata::<ParamsMetadata>()?.spec, allow_insecure, runtime)?;
        reader.expect_parameters(&params.parameter_id())?;
        expect_mark(reader, &params)?;
        Ok(params)
    }
}

impl Stored for SecretKey {
    type Metadata = SecretKeyMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::SecretKey, self.params())
    }

    fn file_metadata(&self) -> SecretKeyMetadata {
        SecretKeyMetadata { key_id: hex(&self.id().0), shares: self.shares() }
    }

    fn save_as(
        &self,
        path: impl AsRef<Path>,
        replaced: Replaced,
        progress: &Progress,
    ) -> Result<u64, FileError> {
        let path = path.as_ref();
        let store = |shares| {
            let metadata = SecretKeyMetadata { key_id: hex(&self.id().0), shares };
            let mut writer = begin_at(path, replaced, progress, self.file_label(), &metadata)?;
            self.write_sections(&mut writer)?;
            writer.finish()
        };
        match self.budget() {
            Some(budget) => budget.stored(path, self.id(), |shares| store(Some(shares))),
            None => store(None),
        }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        // One signed byte per coefficient; the copy is overwritten when dropped.
        let bytes: zeroize::Zeroizing<Vec<u8>> = zeroize::Zeroizing::new(
            self.secret().all_coefficients().iter().map(|&c| (c as i8).cast_unsigned()).collect(),
        );
        writer.add_section("secret", &bytes)?;
        writer.add_section("seed", self.seed())
    }
}

impl SecretKey {
    /// A secret key from a file.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file is not a secret key of these parameters.
    pub fn from_reader(reader: &FileReader<'_>, params: &Params) -> Result<Self, CkksError> {
        expect(reader, FileKind::SecretKey, params)?;
        let metadata: SecretKeyMetadata = reader.metadata()?;
        let section = reader.section_of_length("secret", (params.degree() * params.rank()) as u64)?;
        let coefficients = zeroize::Zeroizing::new(
            section.bytes().iter().map(|&byte| i64::from(byte.cast_signed())).collect::<Vec<_>>(),
        );
        if coefficients.iter().any(|c| c.abs() > 1) {
            return Err(inconsistent("a secret coefficient is not -1, 0 or 1"));
        }
        let weight = coefficients.iter().filter(|&&c| c != 0).count();
        // The secret of a relative may be a part of the root's secret, with any weight.
        if let (Some(expected), None) = (params.spec().secret_weight, params.spec().relative)
            && weight != expected
        {
            return Err(inconsistent(&format!(
                "the secret does not have the parameters' weight, {expected}"
            )));
        }
        let distribution = params.distribution_of(params.rank());
        let secret = clathrate_lattice::SecretKey::from_coefficients(
            Degree(params.degree()),
            Rank(params.rank()),
            Bodies(1),
            distribution,
            coefficients,
        )?;
        let seed = zeroize::Zeroizing::new(reader.section_of_length("seed", 32)?.bytes().to_vec());
        let budget = metadata.shares.map(|shares| Budget::of_file(shares, reader)).transpose()?;
        Ok(Self::from_parts(params, KeyId(unhex(&metadata.key_id)?), secret, seed, budget))
    }
}

/// Metadata of an authentication key.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthenticationKeyMetadata {
    key_id: String,
}

impl Stored for AuthenticationKey {
    type Metadata = AuthenticationKeyMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::AuthenticationKey, self.params())
    }

    fn file_metadata(&self) -> AuthenticationKeyMetadata {
        AuthenticationKeyMetadata { key_id: hex(&self.key_id().0) }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        writer.add_section("key", self.bytes().as_ref())
    }
}

impl AuthenticationKey {
    /// An authentication key from a file.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file is not an authentication key of these parameters.
    pub fn from_reader(reader: &FileReader<'_>, params: &Params) -> Result<Self, CkksError> {
        expect(reader, FileKind::AuthenticationKey, params)?;
        let metadata: AuthenticationKeyMetadata = reader.metadata()?;
        let mut key = zeroize::Zeroizing::new([0; 32]);
        key.copy_from_slice(reader.section_of_length("key", 32)?.bytes());
        Ok(Self::from_parts(params, KeyId(unhex(&metadata.key_id)?), key))
    }
}

/// Metadata of a public key.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicKeyMetadata {
    key_id: String,
}

impl Stored for PublicKey {
    type Metadata = PublicKeyMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::PublicKey, &self.params)
    }

    fn file_metadata(&self) -> PublicKeyMetadata {
        PublicKeyMetadata { key_id: hex(&self.id.0) }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        write_bundles(writer, self.key.zeroes())
    }
}

impl PublicKey {
    /// A public key from a file.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file is not a public key of these parameters.
    pub fn from_reader(reader: &FileReader<'_>, params: &Params) -> Result<Self, CkksError> {
        expect(reader, FileKind::PublicKey, params)?;
        let metadata: PublicKeyMetadata = reader.metadata()?;
        let basis = params.chain().basis(params.max_level());
        let zeroes = read_bundles(reader, params, &basis, (params.rank(), Bodies(1)), true)?;
        let key = clathrate_lattice::PublicKey::from_zeroes(zeroes)?;
        Ok(Self::from_parts(params, KeyId(unhex(&metadata.key_id)?), key))
    }

    /// The fingerprint: 128 bits of a hash of the parameters' digest, the key's id and the key, as eight
    /// groups of four hexadecimal digits.
    ///
    /// [`PublicKey::id`] is a label that anybody can give to another key. Before encrypting, compare the
    /// fingerprint of a received public key with the one that its owner reads out.
    ///
    /// # Errors
    /// [`CkksError::File`] if the key cannot be stored.
    pub fn fingerprint(&self) -> Result<String, CkksError> {
        fingerprint(&FileReader::from_bytes(&self.to_file_bytes()?)?)
    }
}

/// The [`PublicKey::fingerprint`] of the public key in a file, for any parameters.
///
/// # Errors
/// [`CkksError::File`] for another kind of file and for damaged sections.
pub fn fingerprint(reader: &FileReader<'_>) -> Result<String, CkksError> {
    reader.expect_kind(FileKind::PublicKey)?;
    reader.verify_all()?;
    let metadata: PublicKeyMetadata = reader.metadata()?;
    let mut hasher = blake3::Hasher::new_derive_key(FINGERPRINT_DOMAIN);
    hasher.update(&reader.label().parameter_digest);
    hasher.update(&unhex::<16>(&metadata.key_id)?);
    // The sections' checksums are BLAKE3 of their bytes.
    for section in reader.sections() {
        hasher.update(format!("{}\0", section.name()).as_bytes());
        hasher.update(&section.checksum);
    }
    let digits = hex(&hasher.finalize().as_bytes()[..FINGERPRINT_BYTES]);
    let groups: Vec<&str> = (0..digits.len()).step_by(4).map(|start| &digits[start..start + 4]).collect();
    Ok(groups.join(" "))
}

/// Writes bundles as a section `seeds` or `masks`, with one seed or mask for each bundle, and a section
/// `bodies`, bundle by bundle.
fn write_bundles<W: Write + Seek>(
    writer: &mut FileWriter<W>,
    bundles: &[Bundle<Eval>],
) -> Result<(), FileError> {
    let Some(first) = bundles.first() else { return writer.add_section("bodies", &[]) };
    let words = first.basis().len() * first.ring().degree();
    match seeds_of(bundles) {
        Some(seeds) => write_seeds(writer, &seeds)?,
        None => {
            write_polys(writer, "masks", words, &bundles.iter().flat_map(Bundle::mask).collect::<Vec<_>>())?
        }
    }
    write_polys(writer, "bodies", words, &bundles.iter().flat_map(Bundle::bodies).collect::<Vec<_>>())
}

/// The seeds of all masks; `None` if a mask has no seed.
fn seeds_of(bundles: &[Bundle<Eval>]) -> Option<Vec<MaskSeed>> {
    bundles.iter().map(Bundle::seed).collect()
}

/// Reads `count` bundles of `bodies` bodies each.
fn read_bundles(
    reader: &FileReader<'_>,
    params: &Params,
    basis: &Basis,
    (count, Bodies(bodies)): (usize, Bodies),
    seeded: bool,
) -> Result<Vec<Bundle<Eval>>, CkksError> {
    let total = count.checked_mul(bodies).ok_or_else(|| inconsistent("the number of bodies overflows"))?;
    let mut polys = read_polys(reader, "bodies", params, basis, total)?.into_iter();
    let mut next = || polys.by_ref().take(bodies).collect::<Vec<_>>();
    let rank = params.rank();
    if seeded {
        let bundle = |seed| {
            reader.go_on()?;
            Ok(Bundle::from_seed(seed, rank, next())?)
        };
        return read_seeds(reader, count)?.into_iter().map(bundle).collect();
    }
    let masks = count.checked_mul(rank).ok_or_else(|| inconsistent("the number of masks overflows"))?;
    let mut masks = read_polys(reader, "masks", params, basis, masks)?.into_iter();
    (0..count).map(|_| Ok(Bundle::new(masks.by_ref().take(rank), next())?)).collect()
}

/// Metadata of ciphertexts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CiphertextMetadata {
    key_id: String,
    /// Name of the secret, written by [`SecretName`]'s `Display`.
    secret: String,
    shape: Vec<usize>,
    layout: Layout,
    level: usize,
    scale: f64,
    seeded: bool,
    /// The shape of a ciphertext that was converted to a relative of the parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    relative: Option<ModuleShape>,
    /// Declared largest magnitude of the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bound: Option<f64>,
    /// The other fields of the estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimate: Option<StoredEstimate>,
}

impl Stored for Ciphertext {
    type Metadata = CiphertextMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::Ciphertext, &self.params)
    }

    fn file_metadata(&self) -> CiphertextMetadata {
        CiphertextMetadata {
            key_id: hex(&self.key_id.0),
            secret: self.secret.to_string(),
            shape: self.shape.clone(),
            layout: self.layout,
            level: self.level.0,
            scale: self.scale,
            seeded: seeds_of(&self.bundles).is_some(),
            relative: self.params.spec().relative,
            bound: self.bound(),
            estimate: self.estimate.stored(),
        }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        self.check_data("a file").map_err(|error| FileError::Metadata { reason: error.to_string() })?;
        write_bundles(writer, &self.bundles)
    }
}

impl Ciphertext {
    /// Ciphertexts from a file.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file does not hold ciphertexts of these parameters, or its content does not
    /// match its metadata.
    pub fn from_reader(reader: &FileReader<'_>, params: &Params) -> Result<Self, CkksError> {
        reader.expect_kind(FileKind::Ciphertext)?;
        let metadata: CiphertextMetadata = reader.metadata()?;
        let params = &params.for_samples(metadata.relative.unwrap_or(params.root_shape()))?;
        expect(reader, FileKind::Ciphertext, params)?;
        let level = Level(metadata.level);
        params.check_level(level)?;
        params.check_scale(metadata.scale, level)?;
        if metadata.bound.is_some_and(|bound| !(bound.is_finite() && bound >= 0.0)) {
            return Err(inconsistent("the bound on the numbers is no number of 0 or more"));
        }
        let estimate = Estimate::from_stored(metadata.bound, metadata.estimate.clone())
            .ok_or_else(|| inconsistent("what it says of the numbers' errors makes no sense"))?;
        let layout = metadata.layout;
        layout.check(&metadata.shape, params.degree())?;
        let secret = SecretName::parse(&metadata.secret);
        let secret = secret.ok_or_else(|| inconsistent("there is no secret of that name"))?;
        check_secret(params, secret, &layout, level)?;
        if !params.is_for_samples() {
            // A file must not contain a ciphertext with fewer bits of security than its mark says.
            params.check_fresh(secret, level)?;
        }
        let bundles = read_bundles(
            reader,
            params,
            &params.chain().basis(level),
            (layout.bundles(), Bodies(layout.bodies())),
            metadata.seeded,
        )?;
        Ok(Self {
            params: params.clone(),
            key_id: KeyId(unhex(&metadata.key_id)?),
            secret,
            shape: metadata.shape,
            layout,
            level,
            scale: metadata.scale,
            bundles,
            estimate,
            footprint: None,
        })
    }
}

/// Refuses a secret that does not fit the ciphertext's layout or level.
fn check_secret(params: &Params, secret: SecretName, layout: &Layout, level: Level) -> Result<(), CkksError> {
    params.check_secret(secret)?;
    check_bodies(layout, secret)?;
    match secret {
        SecretName::Temporary => Err(inconsistent("no array is under the secret of the temporary rank")),
        secret if secret.is_ephemeral() && level.0 > 0 => {
            Err(inconsistent("arrays under the ephemeral secret are at level 0"))
        }
        SecretName::Packing if level.0 > 0 => {
            Err(inconsistent("arrays under the secret of a ring of packing are at level 0"))
        }
        SecretName::Embedded(_) => Err(inconsistent("no array is under the secret of a smaller ring")),
        _ => Ok(()),
    }
}

/// Metadata of evaluation keys: an entry for each switching key, in the order of the sections.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationKeysMetadata {
    key_id: String,
    keys: Vec<KeyMetadata>,
    /// Whether the sections are the keys as they are in memory, masks included.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    expanded: bool,
}

/// One switching key in the metadata.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyMetadata {
    /// Name of the key, written by [`KeyName`]'s `Display`.
    name: String,
    /// Degree and rank of the ciphertexts that the key switches.
    shape: ModuleShape,
    /// The key level.
    level: usize,
}

fn key_section(index: usize) -> String {
    format!("key{index}")
}

impl Stored for EvaluationKeys {
    type Metadata = EvaluationKeysMetadata;

    fn file_label(&self) -> FileLabel {
        label(FileKind::EvaluationKeys, self.params())
    }

    fn file_metadata(&self) -> EvaluationKeysMetadata {
        let entry = |(address, held): (KeyAddress, &HeldKey)| KeyMetadata {
            name: address.name.to_string(),
            shape: address.shape,
            level: held.key().level().0,
        };
        let keys = self.iter().map(entry).collect();
        EvaluationKeysMetadata { key_id: hex(&self.id().0), keys, expanded: false }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        // The owner made all keys of a set, so all have a seed.
        write_seeds(writer, &self.iter().filter_map(|(_, held)| held.key().seed()).collect::<Vec<_>>())?;
        for (index, (_, held)) in self.iter().enumerate() {
            let (key, entries) = (held.key(), held.key().entries());
            let bodies: Vec<PolyRef<'_, Eval>> = entries.iter().flat_map(Bundle::bodies).collect();
            write_polys(writer, &key_section(index), key.basis().len() * key.ring().degree(), &bodies)?;
        }
        Ok(())
    }
}

/// Evaluation keys as a file with the same bytes as in memory: up to twice as long, and several processes
/// of one machine that open it with [`OpenOptions::trusted_map`](crate::file::OpenOptions) share one copy.
#[derive(Debug, Clone, Copy)]
pub struct ExpandedKeys<'k>(pub &'k EvaluationKeys);

impl Stored for ExpandedKeys<'_> {
    type Metadata = EvaluationKeysMetadata;

    fn file_label(&self) -> FileLabel {
        self.0.file_label()
    }

    fn file_metadata(&self) -> EvaluationKeysMetadata {
        EvaluationKeysMetadata { expanded: true, ..self.0.file_metadata() }
    }

    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        let keys = || self.0.iter().map(|(_, held)| held.key());
        write_seeds(writer, &keys().filter_map(SwitchKey::seed).collect::<Vec<_>>())?;
        keys().enumerate().try_for_each(|(index, key)| writer.add_words(&key_section(index), &key.words()))
    }
}

/// The packed residues of a key in section `index`, in place if the file is mapped, each compared with its
/// prime.
fn packed_words(
    reader: &FileReader<'_>,
    index: usize,
    chain: &Chain,
    level: Level,
    arrangement: &FactorLayout,
) -> Result<FileWords, CkksError> {
    let basis = chain.key_basis(level);
    let primes: Vec<u64> =
        basis.indices().iter().map(|&index| chain.ring().moduli()[index].value()).collect();
    let words = reader.kept_words(&key_section(index), arrangement.words())?;
    if let Some((row, column, value)) = arrangement.first_not_below(&words, &primes) {
        return Err(FileError::ResidueTooLarge { row, column, value, modulus: primes[row] }.into());
    }
    Ok(words)
}

/// The switching key in section `index`, checked against the definition of its name.
fn read_key(
    reader: &FileReader<'_>,
    params: &Params,
    definition: &KeyDefinition,
    level: Level,
    index: usize,
    (seed, expanded): (MaskSeed, bool),
) -> Result<SwitchKey, CkksError> {
    // Refuses a key above the highest secure level, even if its owner made it.
    if level > definition.most {
        let name = definition.name;
        return Err(inconsistent(&format!(
            "the key \"{name}\" is of level {level}, these parameters have it up to level {}",
            definition.most
        )));
    }
    definition.check_security(level)?;
    let (chain, gadget) = (definition.chain()?, definition.gadget()?);
    let (inputs, bodies) = (definition.inputs(), definition.bodies());
    if expanded {
        let columns = definition.columns();
        let arrangement = SwitchKey::layout_of(chain, gadget, level, inputs, columns)?;
        let words = packed_words(reader, index, chain, level, &arrangement)?;
        let shape = (Rank(definition.rank()), columns);
        return Ok(SwitchKey::from_words((chain, gadget), level, inputs, shape, (Some(seed), words))?);
    }
    let count = (inputs * gadget.digit_count(chain, level))
        .checked_mul(bodies)
        .ok_or_else(|| inconsistent("the shape overflows"))?;
    let mut polys =
        read_polys(reader, &key_section(index), params, &chain.key_basis(level), count)?.into_iter();
    let entries = (0..count / bodies).map(|_| polys.by_ref().take(bodies).collect()).collect();
    Ok(SwitchKey::from_bodies(chain, gadget, level, inputs, Rank(definition.rank()), seed, entries)?)
}

/// The same value under another runtime, by writing and reading its file bytes.
fn through_file<T: Stored>(
    value: &T,
    params: &Params,
    read: impl FnOnce(&FileReader<'_>, &Params) -> Result<T, CkksError>,
) -> Result<T, CkksError> {
    let bytes = value.to_file_bytes()?;
    read(&FileReader::from_bytes(&bytes)?, params)
}

impl PublicKey {
    /// The same key under another runtime, for example on another device.
    pub fn under(&self, runtime: &Runtime) -> Result<Self, CkksError> {
        let moved = through_file(self, &self.params().under(runtime)?, Self::from_reader)?;
        Ok(Self { params: moved.params, key: moved.key, ..self.clone() })
    }
}

impl EvaluationKeys {
    /// The same keys under another runtime, for example copied to another device. Takes twice the memory of
    /// the keys during the copy.
    pub fn under(&self, runtime: &Runtime) -> Result<Self, CkksError> {
        through_file(self, &self.params().under(runtime)?, Self::from_reader)
    }

    /// Evaluation keys from a file. Of an expanded one ([`ExpandedKeys`]) that is opened with
    /// [`OpenOptions::trusted_map`](crate::file::OpenOptions), the keys stay in the file and are read on use.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file does not hold evaluation keys of these parameters.
    pub fn from_reader(reader: &FileReader<'_>, params: &Params) -> Result<Self, CkksError> {
        expect(reader, FileKind::EvaluationKeys, params)?;
        let metadata: EvaluationKeysMetadata = reader.metadata()?;
        let seeds = read_seeds(reader, metadata.keys.len())?;
        let mut keys = Self::none(params, KeyId(unhex(&metadata.key_id)?));
        for (index, (entry, seed)) in metadata.keys.iter().zip(seeds).enumerate() {
            let at = params.with_keys_at(entry.shape)?;
            let unknown = || {
                let name: String = entry.name.chars().take(80).collect();
                inconsistent(&format!("there is no key called \"{name}\""))
            };
            let name = KeyName::parse(&entry.name, at.degree()).ok_or_else(unknown)?;
            let definition = at.key_definition(name)?;
            let key =
                read_key(reader, &at, &definition, Level(entry.level), index, (seed, metadata.expanded))?;
            if !keys.insert(
                KeyAddress { shape: entry.shape, name },
                HeldKey::new(definition, key, entry.shape.degree),
            ) {
                return Err(inconsistent(&format!("two keys called \"{}\" at {}", entry.name, entry.shape)));
            }
        }
        Ok(keys)
    }
}
