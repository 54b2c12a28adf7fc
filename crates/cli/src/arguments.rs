//! The command line as its users see it: verbs, options, help.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clathrate_ckks::Encoding;
use clathrate_ckks::arrays::layout::MOST_BODIES;
use clathrate_ckks::keys::Lanes;
use clathrate_ckks::parameters::PROCESSOR;

use crate::failure::EXIT_CODES;

/// CKKS homomorphic encryption over module lattices: files in, files out.
#[derive(Debug, Parser)]
#[command(name = "clathrate", version, about, propagate_version = true, after_help = help(), max_term_width = 120)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// Options of every verb.
    #[command(flatten)]
    pub global: Global,
}

/// What follows the list of verbs.
fn help() -> String {
    format!(
        "A file that is read or written can be -, standard input or output, and one that is read can be a pipe.\n\n{EXIT_CODES}"
    )
}

/// The name of a device, which is looked for later. Numbers are those of clients' secrets, which belong
/// elsewhere.
fn parse_device(text: &str) -> Result<String, String> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(format!(
            "a device to compute on is named as in cuda:{text}; the numbers of clients' secrets go to --client"
        ));
    }
    Ok(text.to_owned())
}

/// A number of rows, or `most`.
fn parse_lanes(text: &str) -> Result<Lanes, String> {
    match text {
        "most" => Ok(Lanes::Most),
        _ => text
            .parse()
            .ok()
            .filter(|&count| count > 0)
            .map(Lanes::Of)
            .ok_or_else(|| "give a whole number from 1 up, or most".to_owned()),
    }
}

/// Options of every verb.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Print one JSON object: the result on stdout, or an error on stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// Worker threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Where to compute: cpu, cuda (NVIDIA's first device), cuda:1, ..
    #[arg(long, global = true, value_name = "DEVICE", default_value = PROCESSOR, value_parser = parse_device)]
    pub device: String,
    /// Print nothing but errors, and JSON where asked for
    #[arg(long, global = true)]
    pub quiet: bool,
    /// Most bytes of the tables of parameters [default: 268435456]
    #[arg(long, global = true, value_name = "BYTES")]
    pub table_bytes: Option<usize>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Parameter sets: list, explain, save to a file
    Params {
        /// What to do with them.
        #[command(subcommand)]
        action: ParamsAction,
    },
    /// Make a secret key, and a public key or evaluation keys for it
    Keygen(Keygen),
    /// Encrypt a NumPy array
    Encrypt(Encrypt),
    /// Multiply a plaintext matrix by an encrypted one
    Matmul(Matmul),
    /// Add to an encrypted array: another one, a plain array, or a number
    Add(Add),
    /// Multiply an encrypted array, entry by entry: by another one, a plain array, or a number
    Multiply(Multiply),
    /// Rotate the rows of an encrypted array in slots to the left, each within its length rounded up to a
    /// power of two, with zeros behind its numbers
    Rotate(Rotate),
    /// Add up the numbers of each row of an encrypted array, or its rows
    Sum(Sum),
    /// Compute a polynomial of every entry of an encrypted array in slots
    Polynomial(PolynomialOf),
    /// Bring an encrypted array to another level, rank or degree; the numbers stay
    Convert(Convert),
    /// Bring an encrypted array back to a high level
    Bootstrap(Bootstrap),
    /// Bring messages of light clients to slots, as they come: from a folder, or from standard input
    ///
    /// Every message is stored in the inbox before it is acknowledged, so that nothing acknowledged is lost
    /// when the program ends, however it ends. A batch is computed when there are as many numbers as
    /// --samples says, or when the deadline of the oldest one comes near. The results are OUTPUT/00000001.clt
    /// and so on, each with whose numbers it has, in their order, in a .json file beside it. Clients take
    /// turns in batches, and at most 65536 numbers of one client wait, or two batches where these are more.
    ///
    /// Standard input has one JSON object in a line, {"introduction": BASE64} or {"message": BASE64}; each
    /// line has an answer on standard output. In a folder, files are given names that end in .introduction or
    /// .message when they are whole; the server takes them over, which hides them, and removes them when they
    /// are stored; those that are refused are renamed to end in .refused.
    Pack(Pack),
    /// Decrypt to a NumPy array, for the owner of the key
    ///
    /// The numbers carry an error that depends on the secret key. Neither they nor whether decryption failed
    /// may reach whoever computed the ciphertext, or its friends: with changed ciphertexts, each file read or
    /// refused gives a part of the key away.
    ///
    /// With --share the numbers may be shown to others: noise hides the error of an evaluator that computed
    /// what was asked. It does not hide the key from one that did not, which is why --share needs your word,
    /// --honest-evaluator. Where you cannot give it, compute the result again, or have a second evaluator do
    /// so, and compare both first (`clathrate compare`).
    Decrypt(Decrypt),
    /// Say whether two encrypted arrays are the same to the last bit, and where not
    ///
    /// Evaluators of one version that compute the same on the same files write the same array, on every
    /// processor. So a result that was computed twice shows whether it is what was asked for. Machines with
    /// one version plan alike, on processors.
    Compare(Compare),
    /// Print the tag of a file under a name, by which the owner of the key knows the file again
    ///
    /// Whoever stores the file cannot make the tag of another file, or of this one under another name. Keep
    /// the tag, and compare it before you use the file again: it is another one where the file was changed,
    /// exchanged or set back to an older one.
    Tag(Tag),
    /// Say what a file holds and check all of it
    Inspect(Inspect),
    /// Say what this machine runs, and test it
    Doctor,
    /// Measure this machine's kernels, a few seconds, so that predicted times are its own
    ///
    /// The profile is kept in the user's cache directory, or in the file that the environment variable
    /// CLATHRATE_PROFILE names. Where that is `none`, no profile is read or stored.
    Tune(Tune),
}

impl Verb {
    /// The files that it reads.
    pub fn inputs(&self) -> Vec<&Path> {
        let (params, files): (&str, Vec<&PathBuf>) = match self {
            Self::Params {
                action: ParamsAction::Show { source, .. } | ParamsAction::Save { source, .. },
            } => (source, Vec::new()),
            Self::Keygen(keygen) => {
                (&keygen.params.params, keygen.existing.then_some(&keygen.secret).into_iter().collect())
            }
            Self::Encrypt(Encrypt { params, key, input, .. }) => (&params.params, vec![key, input]),
            Self::Matmul(Matmul { params, weights, input, .. }) => (&params.params, vec![weights, input]),
            Self::Add(Add { on, operand, .. }) | Self::Multiply(Multiply { on, operand, .. }) => {
                (&on.params.params, on.inputs().chain(&operand.with).chain(&operand.plain).collect())
            }
            Self::Rotate(Rotate { on, .. })
            | Self::Sum(Sum { on, .. })
            | Self::Polynomial(PolynomialOf { on, .. })
            | Self::Convert(Convert { on, .. }) => (&on.params.params, on.inputs().collect()),
            Self::Bootstrap(Bootstrap { params, evaluation, input, .. }) => {
                (&params.params, vec![evaluation, input])
            }
            Self::Pack(Pack { params, evaluation, authentication, from, .. }) => {
                (&params.params, vec![evaluation, authentication, from])
            }
            Self::Decrypt(Decrypt { params, secret, input, .. }) => (&params.params, vec![secret, input]),
            Self::Compare(Compare { params, input, with }) => (&params.params, vec![input, with]),
            Self::Tag(Tag { params, secret, input, .. }) => (&params.params, vec![secret, input]),
            Self::Inspect(Inspect { file }) => return vec![file],
            Self::Params { .. } | Self::Doctor | Self::Tune(_) => return Vec::new(),
        };
        std::iter::once(Path::new(params)).chain(files.into_iter().map(PathBuf::as_path)).collect()
    }

    /// The files that it writes.
    pub fn outputs(&self) -> Vec<&Path> {
        match self {
            Self::Params { action: ParamsAction::Save { output, .. } } => vec![output],
            Self::Keygen(keygen) => {
                // With --existing the secret key is read.
                let secret = (!keygen.existing).then_some(&keygen.secret);
                secret
                    .into_iter()
                    .chain(&keygen.public)
                    .chain(&keygen.evaluation)
                    .chain(&keygen.authentication)
                    .map(PathBuf::as_path)
                    .collect()
            }
            Self::Encrypt(Encrypt { output, .. })
            | Self::Matmul(Matmul { output, .. })
            | Self::Add(Add { on: On { output, .. }, .. })
            | Self::Multiply(Multiply { on: On { output, .. }, .. })
            | Self::Rotate(Rotate { on: On { output, .. }, .. })
            | Self::Sum(Sum { on: On { output, .. }, .. })
            | Self::Polynomial(PolynomialOf { on: On { output, .. }, .. })
            | Self::Convert(Convert { on: On { output, .. }, .. })
            | Self::Bootstrap(Bootstrap { output, .. })
            | Self::Decrypt(Decrypt { output, .. }) => vec![output],
            Self::Params { .. }
            | Self::Pack(_)
            | Self::Compare(_)
            | Self::Tag(_)
            | Self::Inspect(_)
            | Self::Doctor
            | Self::Tune(_) => Vec::new(),
        }
    }
}

/// What to do with parameter sets.
#[derive(Debug, Subcommand)]
pub enum ParamsAction {
    /// Names of the presets
    List,
    /// Degree, chain, security, sizes and precision of a set
    Show {
        /// A preset, a specification (.toml) or a parameter file
        #[arg(value_name = "NAME|FILE")]
        source: String,
        /// Whether a file may protect nothing.
        #[command(flatten)]
        accepted: Accepted,
        /// How each level switches instead: method, digits, predicted times, bytes
        #[arg(long)]
        plan: bool,
    },
    /// Write a set to a parameter file
    Save {
        /// A preset, a specification (.toml) or a parameter file
        #[arg(value_name = "NAME|FILE")]
        source: String,
        /// Whether a file may protect nothing.
        #[command(flatten)]
        accepted: Accepted,
        /// The parameter file to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// Where parameters come from.
#[derive(Debug, Clone, Args)]
pub struct ParamsSource {
    /// A preset, a specification (.toml) or a parameter file
    #[arg(long, value_name = "NAME|FILE")]
    pub params: String,
    /// Whether a file may protect nothing.
    #[command(flatten)]
    pub accepted: Accepted,
}

/// What is accepted of parameters in a file, which others may have written.
#[derive(Debug, Clone, Copy, Args)]
pub struct Accepted {
    /// Take parameters from a file though they have less than 128 bits of security, for tests only
    #[arg(long)]
    pub allow_insecure: bool,
}

/// Arguments of `keygen`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("needs").args(["relinearise", "rotations", "conjugate", "power_rotations", "ranks", "to_rlwe", "shared_mask", "bootstrap", "samples"]).multiple(true))]
#[command(group = ArgGroup::new("limited").args(["bootstrap", "samples"]).multiple(true))]
pub struct Keygen {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// The secret key to write; readable by its owner only
    #[arg(long, value_name = "FILE")]
    pub secret: PathBuf,
    /// The public key to write
    #[arg(long, value_name = "FILE")]
    pub public: Option<PathBuf>,
    /// The evaluation keys to write
    #[arg(long, value_name = "FILE", requires = "needs")]
    pub evaluation: Option<PathBuf>,
    /// The key to write by which `pack` knows what this owner's light clients send; readable by its owner
    /// only
    #[arg(long, value_name = "FILE")]
    pub authentication: Option<PathBuf>,
    /// With a key for products of ciphertexts
    #[arg(long, requires = "evaluation")]
    pub relinearise: bool,
    /// With keys for rotations by these steps, left when positive
    #[arg(
        long,
        value_name = "STEPS",
        value_delimiter = ',',
        allow_hyphen_values = true,
        requires = "evaluation"
    )]
    pub rotations: Vec<i64>,
    /// With a key for complex conjugation
    #[arg(long, requires = "evaluation")]
    pub conjugate: bool,
    /// With keys for rotations by powers of two at the temporary rank: any rotation is made of them
    #[arg(long, requires = "evaluation")]
    pub power_rotations: bool,
    /// With keys for reductions to these ranks, one after the other, and the same keys at each of them
    #[arg(long, value_name = "RANKS", value_delimiter = ',', requires = "evaluation")]
    pub ranks: Vec<usize>,
    /// Let ranks go down by less than half: keys for many such steps are a possible weakness
    #[arg(long, requires = "ranks")]
    pub single_steps: bool,
    /// With keys for the conversion to rank 1 and the higher degree, from each rank, and the same keys there
    #[arg(long, requires = "evaluation")]
    pub to_rlwe: bool,
    /// With keys that bring N bundles under one mask and take them apart again
    #[arg(long, value_name = "N", value_parser = body_count(), requires = "evaluation")]
    pub shared_mask: Option<u16>,
    /// Make the evaluation keys of bootstraps of arrays with N slots in each polynomial, or with all slots
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "0", requires = "evaluation")]
    pub bootstrap: Option<usize>,
    /// With the keys of `pack` for N numbers at once
    #[arg(long, value_name = "N", requires = "evaluation")]
    pub samples: Option<usize>,
    /// Which samples.
    #[command(flatten)]
    pub kind: SampleKind,
    /// Most bytes that the keys of bootstraps, and those of `pack`, may take in memory each, more than in the
    /// file; fewer keys take more time [default: by the parameters]
    #[arg(long, value_name = "BYTES", requires = "limited")]
    pub key_bytes: Option<usize>,
    /// Highest level the evaluation keys serve [default: that of encrypt]
    #[arg(long, value_name = "L", requires = "evaluation")]
    pub level: Option<usize>,
    /// Let the secret key share N results (`decrypt --share`) and no more; its file counts them [default:
    /// nobody counts]
    #[arg(long, value_name = "N", conflicts_with = "existing")]
    pub share_budget: Option<u64>,
    /// Make further keys for the secret key that is there already
    #[arg(long, conflicts_with = "force")]
    pub existing: bool,
    /// Replace a secret key: what it encrypted is lost
    #[arg(long)]
    pub force: bool,
}

/// The samples of light clients.
#[derive(Debug, Args)]
pub struct SampleKind {
    /// How many numbers of a sample share a mask, a power of two
    #[arg(long, value_name = "N", default_value_t = 1, requires = "samples")]
    pub sample_degree: usize,
    /// The numbers of the clients' secrets (`device=` in Python); each further one takes a key, and packing
    /// once more in a batch that has samples under it [default: the owner's secret]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', requires = "samples", value_parser = clap::value_parser!(u64).range(..1 << 62))]
    pub client: Vec<u64>,
    /// Put two consecutive numbers into each slot, as real and imaginary part; always so above a degree of 1
    #[arg(long, requires = "samples")]
    pub pairs: bool,
}

/// Arguments of `pack`.
#[derive(Debug, Args)]
pub struct Pack {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// Evaluation keys, made with `keygen --samples` and the same options
    #[arg(long, value_name = "FILE")]
    pub evaluation: PathBuf,
    /// The key of the clients' owner that `keygen --authentication` made: what no client of that owner sent
    /// is refused
    #[arg(long, value_name = "FILE")]
    pub authentication: PathBuf,
    /// Where messages come from: a folder, or - for standard input
    #[arg(long, value_name = "FOLDER|-")]
    pub from: PathBuf,
    /// The file that keeps messages until their results are stored; it is made where there is none
    #[arg(long, value_name = "FILE")]
    pub inbox: PathBuf,
    /// The folder for results; it is made where there is none
    #[arg(long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Numbers in a batch
    #[arg(long, value_name = "N")]
    pub samples: usize,
    /// Which samples.
    #[command(flatten)]
    pub kind: SampleKind,
    /// As given to `keygen --key-bytes`
    #[arg(long, value_name = "BYTES")]
    pub key_bytes: Option<usize>,
    /// When the result of a message is due, which a batch that is not full then begins in time for [default:
    /// full batches only, and the rest at the end]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub deadline: Option<f64>,
    /// End when nothing has come into the folder for so long [default: go on until the program is stopped]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub idle: Option<f64>,
}

/// Reads a time.
fn seconds(text: &str) -> Result<f64, String> {
    let refused = || format!("use a number of seconds from 0 to 10^9, such as 2.5; got {text}");
    text.parse().ok().filter(|seconds| (0.0..=1e9).contains(seconds)).ok_or_else(refused)
}

/// Reads a number of bodies under one mask.
fn body_count() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=MOST_BODIES as i64)
}

/// How entries sit in polynomials.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum EncodingName {
    /// Element-wise products; degree / 2 numbers per ciphertext
    Slots,
    /// Matrix products and sums; degree numbers per ciphertext
    Coefficients,
}

impl From<EncodingName> for Encoding {
    fn from(name: EncodingName) -> Self {
        match name {
            EncodingName::Slots => Self::Slots,
            EncodingName::Coefficients => Self::Coefficients,
        }
    }
}

/// Arguments of `encrypt`.
#[derive(Debug, Args)]
pub struct Encrypt {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// A secret key (smaller files, less noise) or a public key
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// The array, .npy
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// The ciphertext to write
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// How entries are packed [default: coefficients for real matrices, else slots]
    #[arg(long)]
    pub encoding: Option<EncodingName>,
    /// The level to encrypt at [default: the highest, and below the levels of bootstraps]
    #[arg(long, value_name = "L")]
    pub level: Option<usize>,
    /// Put N polynomials under one mask, with a secret key: chunks of a row where it needs several, else rows
    /// [default: 1, under the main secret]
    #[arg(long, value_name = "N", value_parser = body_count())]
    pub bodies: Option<u16>,
    /// How many consecutive rows share a polynomial: a number, or `most` for as many as fit [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_lanes)]
    pub lanes: Option<Lanes>,
    /// The largest magnitude that the numbers may have, which everybody sees; computations that might exceed
    /// the modulus are then refused [default: none]
    #[arg(long, value_name = "X")]
    pub bound: Option<f64>,
}

/// What a computation on one encrypted array reads and writes.
#[derive(Debug, Args)]
pub struct On {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// The encrypted array
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// The ciphertext to write
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Evaluation keys, where the computation needs some
    #[arg(long, value_name = "FILE")]
    pub evaluation: Option<PathBuf>,
}

impl On {
    fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.input).chain(&self.evaluation)
    }
}

/// The other operand.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Operand {
    /// Another encrypted array; shapes broadcast as in NumPy
    #[arg(long, value_name = "FILE")]
    pub with: Option<PathBuf>,
    /// A plain array, .npy; shapes broadcast as in NumPy
    #[arg(long, value_name = "FILE")]
    pub plain: Option<PathBuf>,
    /// A number; a product with one that is written without a point takes no level
    #[arg(long, value_name = "X", allow_hyphen_values = true, value_parser = number)]
    pub number: Option<Number>,
}

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Without a point or an exponent.
    Whole(i64),
    /// Any other.
    Real(f64),
}

impl Number {
    /// Its value.
    pub fn value(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}

/// Reads a number.
fn number(text: &str) -> Result<Number, String> {
    let whole = text.parse().map(Number::Whole);
    whole
        .or_else(|_| text.parse().map(Number::Real))
        .map_err(|_| format!("use a number, such as 3 or 0.25; got {text}"))
}

/// Arguments of `add`.
#[derive(Debug, Args)]
pub struct Add {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// What is added.
    #[command(flatten)]
    pub operand: Operand,
    /// Subtract the operand instead
    #[arg(long)]
    pub subtract: bool,
}

/// Arguments of `multiply`.
#[derive(Debug, Args)]
pub struct Multiply {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// What it is multiplied by.
    #[command(flatten)]
    pub operand: Operand,
    /// Keep level and scale as the product leaves them
    #[arg(long)]
    pub no_rescale: bool,
}

/// Arguments of `rotate`.
#[derive(Debug, Args)]
pub struct Rotate {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// How far; negative numbers rotate to the right
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub steps: i64,
}

/// Arguments of `sum`.
#[derive(Debug, Args)]
pub struct Sum {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// 0 adds the rows of a matrix to each other, without a key; 1 the numbers of each row, to one column, in
    /// slots by rotations
    #[arg(long, value_name = "0|1", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1))]
    pub axis: u8,
}

/// Arguments of `polynomial`.
#[derive(Debug, Args)]
pub struct PolynomialOf {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// The coefficients, from the constant one up
    #[arg(long, value_name = "C", value_delimiter = ',', allow_hyphen_values = true, required = true)]
    pub coefficients: Vec<f64>,
    /// The basis
    #[arg(long, value_name = "BASIS", default_value = "power", value_parser = ["power", "chebyshev"])]
    pub basis: String,
    /// The interval that is mapped to [-1, 1]
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1, allow_hyphen_values = true, default_values = ["-1", "1"])]
    pub domain: Vec<f64>,
    /// Print the plan: levels, products, keys, predicted times, precision
    #[arg(long)]
    pub explain: bool,
}

/// Arguments of `convert`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").args(["to_level", "to_rank", "to_rlwe"]).required(true))]
pub struct Convert {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// To a lower level
    #[arg(long, value_name = "L")]
    pub to_level: Option<usize>,
    /// To another rank of the same degree
    #[arg(long, value_name = "RANK")]
    pub to_rank: Option<usize>,
    /// To rank 1 and the degree of equal dimension
    #[arg(long)]
    pub to_rlwe: bool,
}

/// Arguments of `bootstrap`.
#[derive(Debug, Args)]
pub struct Bootstrap {
    #[command(flatten)]
    pub params: ParamsSource,
    /// Evaluation keys, made with `keygen --bootstrap`
    #[arg(long, value_name = "FILE")]
    pub evaluation: PathBuf,
    /// Encrypted array in slots
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Bootstrap the error that is left once more, N - 1 times: more precise, for a level each [default: by
    /// the parameters]
    #[arg(long, value_name = "N")]
    pub rounds: Option<usize>,
    /// As given to `keygen --key-bytes`
    #[arg(long, value_name = "BYTES")]
    pub key_bytes: Option<usize>,
    /// Print the plan: levels, precision, probability of failure, keys, predicted times
    #[arg(long)]
    pub explain: bool,
}

/// Arguments of `matmul`.
#[derive(Debug, Args)]
pub struct Matmul {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// The left matrix, real, .npy; a product with one of an integer type takes no level
    #[arg(long, value_name = "FILE")]
    pub weights: PathBuf,
    /// The right matrix, encrypted
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// The ciphertext to write
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Keep level and scale as the product leaves them
    #[arg(long)]
    pub no_rescale: bool,
}

/// Arguments of `decrypt`.
#[derive(Debug, Args)]
pub struct Decrypt {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// The secret key
    #[arg(long, value_name = "FILE")]
    pub secret: PathBuf,
    /// The ciphertext
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// The array to write, .npy
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Add noise that hides the error, so that the numbers may be shown to others
    #[arg(long)]
    pub share: bool,
    /// With --share: your word that the ciphertext is what you asked to be computed
    #[arg(long, requires = "share")]
    pub honest_evaluator: bool,
    /// With --share: your bound on how far the numbers may be from the exact ones [default: what the
    /// ciphertext states]
    #[arg(long, value_name = "X", requires = "share")]
    pub error_bound: Option<f64>,
    /// With --share: how many results this key will share in all, at least its budget [default: its budget,
    /// or 1 without one]
    #[arg(long, value_name = "N", requires = "share", value_parser = clap::value_parser!(u64).range(1..))]
    pub queries: Option<u64>,
    /// With --share: the statistical distance of all shared results from such without errors is at most 2^-N
    #[arg(long, value_name = "N", default_value_t = 40, requires = "share")]
    pub statistical_bits: u32,
    /// With --share: how many bits behind the point have to be right
    #[arg(long, value_name = "N", default_value_t = 8, requires = "share")]
    pub correct_bits: u32,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// An encrypted array
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// The same one, computed again
    #[arg(long, value_name = "FILE")]
    pub with: PathBuf,
}

/// Arguments of `tag`.
#[derive(Debug, Args)]
pub struct Tag {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// The secret key
    #[arg(long, value_name = "FILE")]
    pub secret: PathBuf,
    /// Any file
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// What the file is to be, such as its path and date
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub name: String,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// Any Clathrate file
    pub file: PathBuf,
}

/// Arguments of `tune`.
#[derive(Debug, Args)]
pub struct Tune {
    /// Print what was measured, and store nothing
    #[arg(long)]
    pub dry_run: bool,
}
