//! The command line as its users see it.

use clap::Parser;

/// Times Clathrate's operations on one thread and prints one JSON row per line.
#[derive(Debug, Parser)]
#[command(name = "clathrate-bench", version, about, after_help = sets_help(), max_term_width = 120)]
pub struct Arguments {
    /// What to time, several separated by commas [default: all but keyswitch, dpad and bootstrap; with
    /// --quick ntt,n14]
    #[arg(long, value_name = "SETS")]
    pub set: Vec<String>,
    /// Fewer runs; QUICK=1 in the environment does the same
    #[arg(long)]
    pub quick: bool,
    /// Of matrix, also sizes whose products take minutes; not with --quick
    #[arg(long)]
    pub long: bool,
    /// Only these operations, separated by commas
    #[arg(long, value_name = "WORKS")]
    pub only: Vec<String>,
    /// Only these parameter sets, separated by commas
    #[arg(long, value_name = "NAMES")]
    pub preset: Vec<String>,
    /// Of the set device: where it is measured, cuda, cuda:1, .. [default: nowhere, times are predicted]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Print rows and errors only
    #[arg(long)]
    pub quiet: bool,
    /// Words that belong to no option: a shell makes them of a list with spaces. They are refused.
    #[arg(hide = true)]
    pub stray: Vec<String>,
}

/// A benchmark set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchSet {
    /// Reading memory.
    Stream,
    /// One row's transform.
    Ntt,
    /// The scheme's operations at degree 2^14.
    N14,
    /// The scheme's operations at degree 2^15.
    N15,
    /// The scheme's operations at degree 2^16.
    N16,
    /// The scheme's operations at ranks 2 and 4.
    Ranks,
    /// Key switching.
    Keyswitch,
    /// Ranks, compared with the paper's numbers.
    Dpad,
    /// Bootstraps.
    Bootstrap,
    /// Packing of samples.
    Packing,
    /// From samples to slots.
    Hermes,
    /// Batch bootstrapping.
    Mambo,
    /// Products of matrices.
    Matrix,
    /// Operations on a device.
    Device,
}

impl BenchSet {
    /// All sets, as the help lists them.
    pub const ALL: [Self; 14] = [
        Self::Stream,
        Self::Ntt,
        Self::N14,
        Self::N15,
        Self::N16,
        Self::Ranks,
        Self::Keyswitch,
        Self::Dpad,
        Self::Bootstrap,
        Self::Packing,
        Self::Hermes,
        Self::Mambo,
        Self::Matrix,
        Self::Device,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Ntt => "ntt",
            Self::N14 => "n14",
            Self::N15 => "n15",
            Self::N16 => "n16",
            Self::Ranks => "ranks",
            Self::Keyswitch => "keyswitch",
            Self::Dpad => "dpad",
            Self::Bootstrap => "bootstrap",
            Self::Packing => "packing",
            Self::Hermes => "hermes",
            Self::Mambo => "mambo",
            Self::Matrix => "matrix",
            Self::Device => "device",
        }
    }

    /// What the set times, for the help.
    const fn about(self) -> &'static str {
        match self {
            Self::Stream => "the speed at which one thread reads 1 GiB of memory",
            Self::Ntt => "the transform of one 40-bit prime at degrees 2^12 to 2^16",
            Self::N14 => "the set bench_n14",
            Self::N15 => "the sets bench_n15_one, bench_n15_mid and bench_n15_low",
            Self::N16 => "the sets bench_n16_mid and bench_n16_one",
            Self::Ranks => "presets rank2_n14 and rank4_n13",
            Self::Keyswitch => {
                "every choice of key switching at every level of klss_n15, klss_n16 and level_aware"
            }
            Self::Dpad => {
                "products, rotations, conversions and repeated squaring under RNS-CKKS, ModHE and DPad-HE"
            }
            Self::Bootstrap => {
                "bootstraps at presets boot_n15, boot_fast, boot_fast_64, boot_default, boot_small and boot_precise, by stage"
            }
            Self::Packing => {
                "packing of 2^12 LWE samples at presets pack_n12 and paper_hermes_n12, by every method"
            }
            Self::Hermes => {
                "samples to slots and transciphering, at presets boot_n15, paper_hermes_n15, boot_fast and paper_fgb"
            }
            Self::Mambo => {
                "bootstraps of batches that share masks, and products inside bootstraps, at presets boot_n15_batch, boot_fast_batch and boot_n15_mambo"
            }
            Self::Device => {
                "copies, transforms, products, rotations and bootstraps on a device; without one, predicted times"
            }
            Self::Matrix => {
                "plain and encrypted times encrypted matrices of 2^8 to 2^12 rows, with --long 2^13, at presets paper_pcmm, matmul, ccmm_n12 and n14"
            }
        }
    }
}

/// The end of the help: all sets and what they time.
fn sets_help() -> String {
    let lines: Vec<String> =
        BenchSet::ALL.iter().map(|set| format!("  {:<9}  {}", set.name(), set.about())).collect();
    format!(
        "Sets:\n{}\n\nWith --quick, keyswitch, dpad, bootstrap, packing, hermes, mambo and matrix run at small degrees that are not secure.",
        lines.join("\n")
    )
}
