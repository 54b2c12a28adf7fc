//! The command line: verbs, options and their help texts.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clathrate_ckks::Encoding;
use clathrate_ckks::arrays::layout::MAX_BODIES;
use clathrate_ckks::keys::Lanes;
use clathrate_ckks::parameters::PROCESSOR;

use crate::failure::EXIT_CODES;

/// CKKS homomorphic encryption over module lattices: files in, files out.
#[derive(Debug, Parser)]
#[command(name = "clathrate", version, about, propagate_version = true, after_help = help(), max_term_width = 120)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// Options of every verb.
    #[command(flatten)]
    pub global: Global,
}

/// The text below the list of verbs.
fn help() -> String {
    format!(
        "A file that is read or written can be -, standard input or output, and one that is read can be a pipe.\n\n{EXIT_CODES}"
    )
}

/// Reads the name of a device, which is opened later. A number alone is refused, because it is probably meant
/// for `--client`.
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
pub(crate) struct Global {
    /// Print one JSON object: the result on stdout, or an error on stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// Worker threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// The device that computes: cpu, cuda (the first NVIDIA device), cuda:1, ..
    #[arg(long, global = true, value_name = "DEVICE", default_value = PROCESSOR, value_parser = parse_device)]
    pub device: String,
    /// Print only errors, and JSON if --json is given
    #[arg(long, global = true)]
    pub quiet: bool,
    /// Largest size of the tables of parameters, in bytes [default: 268435456]
    #[arg(long, global = true, value_name = "BYTES")]
    pub table_bytes: Option<usize>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List, explain and save parameter sets
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
    /// Add an encrypted array, a plain array or a number to an encrypted array
    Add(Add),
    /// Multiply an encrypted array entry by entry with an encrypted array, a plain array or a number
    Multiply(Multiply),
    /// Rotate the rows of an encrypted array in slots to the left. Each row is rotated within its length
    /// rounded up to a power of two, with zeros after its numbers
    Rotate(Rotate),
    /// Add up the numbers of each row of an encrypted array, or add up its rows
    Sum(Sum),
    /// Evaluate a polynomial at every entry of an encrypted array in slots
    Polynomial(PolynomialOf),
    /// Bring an encrypted array to another level, rank or degree, with the same numbers
    Convert(Convert),
    /// Bring an encrypted array back to a high level
    Bootstrap(Bootstrap),
    /// Run a program on encrypted arrays
    ///
    /// `clathrate.compile` in Python makes programs. `inspect` shows what a program does, what it needs and
    /// what it costs. The owner makes its keys by `keygen --params PROGRAM --program`, and encrypts its
    /// inputs by `encrypt --params PROGRAM --as NAME`.
    Run(RunProgram),
    /// Convert messages of light clients to arrays in slots, as they arrive in a folder or on standard input
    ///
    /// Every message is stored in the inbox before it is acknowledged, so no acknowledged message is lost,
    /// even if the program is killed. A batch is computed when --samples numbers have arrived, or in time for
    /// the deadline of the oldest number. The results are OUTPUT/00000001.clt and so on; a .json file beside
    /// each lists the clients and counters of its numbers, in order. Clients take turns in batches. At most
    /// 65536 numbers of one client wait, or two batches if that is more.
    ///
    /// Each line of standard input is a JSON object, {"introduction": BASE64} or {"message": BASE64}, and is
    /// answered by a line on standard output. In a folder, a client gives a complete file a name that ends in
    /// .introduction or .message. The server renames it to a hidden name, and removes it when it is stored; a
    /// refused file gets the ending .refused.
    Pack(Pack),
    /// Decrypt to a NumPy array, for the owner of the key only
    ///
    /// The numbers carry an error that depends on the secret key. Tell nobody who may be in contact with the
    /// party that computed the ciphertext either the numbers or whether decryption failed: with manipulated
    /// ciphertexts, each answer gives a part of the key away.
    ///
    /// With --share the numbers may be shown to others: noise hides the error of a server that computed what
    /// you asked. It does not protect the key against a server that deviated, so --share needs your
    /// confirmation, --honest-evaluator. If you cannot confirm it, compute the result again, or let a second
    /// server do so, and compare both results first (`clathrate compare`).
    Decrypt(Decrypt),
    /// Say whether two encrypted arrays are equal bit for bit, and where they differ
    ///
    /// Servers with the same version that take the same steps on the same files write the same array, on
    /// every processor. So computing a result twice shows whether it is what you asked for.
    Compare(Compare),
    /// Print the tag of a file and a name, by which the owner of the key recognises the file later
    ///
    /// Only the owner can make the tag of a file, or of the same file under another name. Keep the tag, and
    /// compare it before you use the file again: the tag differs if the file was changed, exchanged or
    /// replaced by an older version.
    Tag(Tag),
    /// Describe and check the contents of a file
    Inspect(Inspect),
    /// Describe the processor, kernels and devices of this machine, and test them
    Doctor,
    /// Measure this machine's kernels for a few seconds, so that predicted times fit it
    ///
    /// The profile is stored in the user's cache directory, or in the file that the environment variable
    /// CLATHRATE_PROFILE names. If it is `none`, no profile is read or stored.
    Tune(Tune),
}

impl Verb {
    /// The files that the verb reads.
    pub(crate) fn inputs(&self) -> Vec<&Path> {
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
            Self::Run(RunProgram { program, keys, inputs, plain, .. }) => {
                return std::iter::once(program)
                    .chain(keys)
                    .chain(inputs)
                    .chain(plain)
                    .map(PathBuf::as_path)
                    .collect();
            }
            Self::Params { .. } | Self::Doctor | Self::Tune(_) => return Vec::new(),
        };
        std::iter::once(Path::new(params)).chain(files.into_iter().map(PathBuf::as_path)).collect()
    }

    /// The files that the verb writes.
    pub(crate) fn outputs(&self) -> Vec<&Path> {
        match self {
            Self::Run(run) => run.outputs.iter().map(PathBuf::as_path).collect(),
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
pub(crate) enum ParamsAction {
    /// Names of the presets
    List,
    /// Degree, chain, security, sizes and precision of a set
    Show {
        /// A preset, a specification (.toml), a parameter file or a program
        #[arg(value_name = "NAME|FILE")]
        source: String,
        /// Whether a file may have insecure parameters.
        #[command(flatten)]
        accepted: Accepted,
        /// Show for each level how keys are switched: method, digits, predicted times, bytes
        #[arg(long)]
        plan: bool,
    },
    /// Write a set to a parameter file
    Save {
        /// A preset, a specification (.toml), a parameter file or a program
        #[arg(value_name = "NAME|FILE")]
        source: String,
        /// Whether a file may have insecure parameters.
        #[command(flatten)]
        accepted: Accepted,
        /// The parameter file to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// The source of parameters.
#[derive(Debug, Clone, Args)]
pub(crate) struct ParamsSource {
    /// A preset, a specification (.toml), a parameter file or a program
    #[arg(long, value_name = "NAME|FILE")]
    pub params: String,
    /// Whether a file may have insecure parameters.
    #[command(flatten)]
    pub accepted: Accepted,
}

/// Which parameters are accepted from a file, which others may have written.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Accepted {
    /// Accept parameters from a file with less than 128 bits of security, for tests only
    #[arg(long)]
    pub allow_insecure: bool,
}

/// Arguments of `keygen`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("needs").args(["relinearise", "rotations", "conjugate", "power_rotations", "ranks", "to_rlwe", "shared_mask", "bootstrap", "samples", "program"]).multiple(true))]
#[command(group = ArgGroup::new("limited").args(["bootstrap", "samples"]).multiple(true))]
pub(crate) struct Keygen {
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
    /// The authentication key to write, with which `pack` checks the messages of this owner's light clients;
    /// readable by its owner only
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
    /// With keys for rotations by powers of two at the temporary rank, of which any rotation is composed
    #[arg(long, requires = "evaluation")]
    pub power_rotations: bool,
    /// With keys for reductions to these ranks, one after another, and all keys at each of these ranks
    #[arg(long, value_name = "RANKS", value_delimiter = ',', requires = "evaluation")]
    pub ranks: Vec<usize>,
    /// Allow reductions that do not halve the rank; keys for many such steps are a possible weakness
    #[arg(long, requires = "ranks")]
    pub single_steps: bool,
    /// With keys for the conversion from each rank to rank 1 at a higher degree, and all keys there
    #[arg(long, requires = "evaluation")]
    pub to_rlwe: bool,
    /// With keys that bring N bundles under one mask and separate them again
    #[arg(long, value_name = "N", value_parser = body_count(), requires = "evaluation")]
    pub shared_mask: Option<u16>,
    /// With the keys of the program that --params names
    #[arg(long, requires = "evaluation")]
    pub program: bool,
    /// With the keys for bootstraps of arrays with N slots in each polynomial, or with all slots
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "0", requires = "evaluation")]
    pub bootstrap: Option<usize>,
    /// With the keys for `pack` with N numbers in a batch
    #[arg(long, value_name = "N", requires = "evaluation")]
    pub samples: Option<usize>,
    /// The kind of samples.
    #[command(flatten)]
    pub kind: SampleKind,
    /// Largest size in memory of the keys of bootstraps, and of the keys of `pack`, in bytes (their files are
    /// smaller); fewer keys take more time [default: by the parameters]
    #[arg(long, value_name = "BYTES", requires = "limited")]
    pub key_bytes: Option<usize>,
    /// Highest level of the evaluation keys [default: that of encrypt]
    #[arg(long, value_name = "L", requires = "evaluation")]
    pub level: Option<usize>,
    /// Let the secret key share at most N results (`decrypt --share`), which its file counts [default: not
    /// counted]
    #[arg(long, value_name = "N", conflicts_with = "existing")]
    pub share_budget: Option<u64>,
    /// Make further keys for an existing secret key
    #[arg(long, conflicts_with = "force")]
    pub existing: bool,
    /// Replace a secret key; everything encrypted with it is lost
    #[arg(long)]
    pub force: bool,
}

/// The samples of light clients.
#[derive(Debug, Args)]
pub(crate) struct SampleKind {
    /// Numbers of a sample that share a mask, a power of two
    #[arg(long, value_name = "N", default_value_t = 1, requires = "samples")]
    pub sample_degree: usize,
    /// The numbers of the clients' secrets (`device=` in Python). Each further secret takes a key, and the
    /// time of packing in each batch with samples under it [default: the owner's secret]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', requires = "samples", value_parser = clap::value_parser!(u64).range(..1 << 62))]
    pub client: Vec<u64>,
    /// Put two consecutive numbers into each slot, as real and imaginary part; always done at degrees above 1
    #[arg(long, requires = "samples")]
    pub pairs: bool,
}

/// Arguments of `pack`.
#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// Evaluation keys, made with `keygen --samples` and the same options
    #[arg(long, value_name = "FILE")]
    pub evaluation: PathBuf,
    /// The owner's authentication key, made with `keygen --authentication`; messages that no client of this
    /// owner made are refused
    #[arg(long, value_name = "FILE")]
    pub authentication: PathBuf,
    /// The source of messages: a folder, or - for standard input
    #[arg(long, value_name = "FOLDER|-")]
    pub from: PathBuf,
    /// The file that keeps messages until their results are stored; created if it does not exist
    #[arg(long, value_name = "FILE")]
    pub inbox: PathBuf,
    /// The folder for results; created if it does not exist
    #[arg(long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Numbers in a batch
    #[arg(long, value_name = "N")]
    pub samples: usize,
    /// The kind of samples.
    #[command(flatten)]
    pub kind: SampleKind,
    /// The value given to `keygen --key-bytes`
    #[arg(long, value_name = "BYTES")]
    pub key_bytes: Option<usize>,
    /// Time from the arrival of a message to its result. A batch that is not full begins in time for it
    /// [default: only full batches, and the remaining numbers at the end]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub deadline: Option<f64>,
    /// End when no file has arrived in the folder for this time [default: run until stopped]
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
    clap::value_parser!(u16).range(1..=MAX_BODIES as i64)
}

/// How entries are put into polynomials.
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
pub(crate) struct Encrypt {
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
    /// The input, by its name, of the program that --params names: encrypt as it expects
    #[arg(long = "as", value_name = "NAME", conflicts_with_all = ["encoding", "level", "bodies", "lanes", "bound"])]
    pub input_name: Option<String>,
    /// The encoding of entries [default: coefficients for real matrices, otherwise slots]
    #[arg(long)]
    pub encoding: Option<EncodingName>,
    /// The level of the ciphertext [default: the highest level, below those of bootstraps]
    #[arg(long, value_name = "L")]
    pub level: Option<usize>,
    /// Put N polynomials under one mask, with a secret key: the chunks of a long row, otherwise rows
    /// [default: 1, under the main secret]
    #[arg(long, value_name = "N", value_parser = body_count())]
    pub bodies: Option<u16>,
    /// Number of consecutive rows that share a polynomial, or `most` for as many as fit [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_lanes)]
    pub lanes: Option<Lanes>,
    /// The largest magnitude of the numbers, which is public; computations that might exceed the modulus are
    /// then refused [default: none]
    #[arg(long, value_name = "X")]
    pub bound: Option<f64>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunProgram {
    /// The program
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// The evaluation keys of the program, if it needs some
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// An encrypted array for each input of the program, in the order of its inputs; give the option for each
    #[arg(long = "input", value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// A plain array, .npy, for each input of the program that is given in the clear, in the order of its
    /// inputs
    #[arg(long = "plain", value_name = "FILE")]
    pub plain: Vec<PathBuf>,
    /// The ciphertext to write for each result, in the order of the results; give the option for each
    #[arg(long = "output", value_name = "FILE", required = true)]
    pub outputs: Vec<PathBuf>,
    /// A folder for what is computed: a run that is killed goes on from there when it is started again
    #[arg(long, value_name = "FOLDER")]
    pub store: Option<PathBuf>,
    /// Which parameters are accepted.
    #[command(flatten)]
    pub accepted: Accepted,
}

/// The files of a computation on one encrypted array.
#[derive(Debug, Args)]
pub(crate) struct On {
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
pub(crate) struct Operand {
    /// Another encrypted array; shapes broadcast as in NumPy
    #[arg(long, value_name = "FILE")]
    pub with: Option<PathBuf>,
    /// A plain array, .npy; shapes broadcast as in NumPy
    #[arg(long, value_name = "FILE")]
    pub plain: Option<PathBuf>,
    /// A number; a product with an integer, written without a point, takes no level
    #[arg(long, value_name = "X", allow_hyphen_values = true, value_parser = number)]
    pub number: Option<Number>,
}

/// A number and how it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// Without a point or an exponent.
    Whole(i64),
    /// Any other.
    Real(f64),
}

impl Number {
    /// The value.
    pub(crate) fn value(self) -> f64 {
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
pub(crate) struct Add {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// The operand to add.
    #[command(flatten)]
    pub operand: Operand,
    /// Subtract the operand instead
    #[arg(long)]
    pub subtract: bool,
}

/// Arguments of `multiply`.
#[derive(Debug, Args)]
pub(crate) struct Multiply {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// The operand to multiply with.
    #[command(flatten)]
    pub operand: Operand,
    /// Do not rescale the product
    #[arg(long)]
    pub no_rescale: bool,
}

/// Arguments of `rotate`.
#[derive(Debug, Args)]
pub(crate) struct Rotate {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// The number of places; negative numbers rotate to the right
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub steps: i64,
}

/// Arguments of `sum`.
#[derive(Debug, Args)]
pub(crate) struct Sum {
    /// The array.
    #[command(flatten)]
    pub on: On,
    /// 0 adds up the rows of a matrix, without a key; 1 adds up the numbers of each row, giving a column, in
    /// slots by rotations
    #[arg(long, value_name = "0|1", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1))]
    pub axis: u8,
}

/// Arguments of `polynomial`.
#[derive(Debug, Args)]
pub(crate) struct PolynomialOf {
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
pub(crate) struct Convert {
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
pub(crate) struct Bootstrap {
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
    /// Number of rounds: each round after the first bootstraps the remaining error, which adds precision and
    /// takes a level [default: by the parameters]
    #[arg(long, value_name = "N")]
    pub rounds: Option<usize>,
    /// The value given to `keygen --key-bytes`
    #[arg(long, value_name = "BYTES")]
    pub key_bytes: Option<usize>,
    /// Print the plan: levels, precision, probability of failure, keys, predicted times
    #[arg(long)]
    pub explain: bool,
}

/// Arguments of `matmul`.
#[derive(Debug, Args)]
pub(crate) struct Matmul {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// The left matrix, real, .npy; a product with a matrix of an integer type takes no level
    #[arg(long, value_name = "FILE")]
    pub weights: PathBuf,
    /// The right matrix, encrypted
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// The ciphertext to write
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Do not rescale the product
    #[arg(long)]
    pub no_rescale: bool,
}

/// Arguments of `decrypt`.
#[derive(Debug, Args)]
pub(crate) struct Decrypt {
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
    /// With --share: confirm that the ciphertext is the result of the computation that you asked for
    #[arg(long, requires = "share")]
    pub honest_evaluator: bool,
    /// With --share: your bound on the errors of the numbers [default: the bound that the ciphertext states]
    #[arg(long, value_name = "X", requires = "share")]
    pub error_bound: Option<f64>,
    /// With --share: the total number of results that this key will share, at least its budget [default: its
    /// budget, or 1 without one]
    #[arg(long, value_name = "N", requires = "share", value_parser = clap::value_parser!(u64).range(1..))]
    pub queries: Option<u64>,
    /// With --share: the statistical distance of all shared results from results without errors is at most
    /// 2^-N
    #[arg(long, value_name = "N", default_value_t = 40, requires = "share")]
    pub statistical_bits: u32,
    /// With --share: the number of bits after the binary point that must be correct
    #[arg(long, value_name = "N", default_value_t = 8, requires = "share")]
    pub correct_bits: u32,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// An encrypted array
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// The same array, computed again
    #[arg(long, value_name = "FILE")]
    pub with: PathBuf,
}

/// Arguments of `tag`.
#[derive(Debug, Args)]
pub(crate) struct Tag {
    /// Parameters.
    #[command(flatten)]
    pub params: ParamsSource,
    /// The secret key
    #[arg(long, value_name = "FILE")]
    pub secret: PathBuf,
    /// Any file
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// A name for the file, such as its path and date
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub name: String,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// Any Clathrate file
    pub file: PathBuf,
}

/// Arguments of `tune`.
#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// Print the measured times without storing them
    #[arg(long)]
    pub dry_run: bool,
}
