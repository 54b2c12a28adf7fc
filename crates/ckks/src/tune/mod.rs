//! Machine profiles: the times of this machine's kernels, measured in a few seconds and stored in the user's
//! cache directory. Predictions of times use them.
//!
//! A profile is optional: if it is missing, broken or for another instruction set, the built-in model is
//! used, and [`StoredProfile`] gives the reason.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clathrate_arith::Isa;
use clathrate_lattice::switch::{MachineProfile, MatrixTimes};

use crate::error::CkksError;
use crate::file::FileError;

mod measure;

pub use measure::{MakeEngine, measure};

/// Maximum length of a profile in bytes.
const TEXT_LIMIT_BYTES: u64 = 1 << 20;

/// Maximum binary logarithm of a degree in a profile.
const MAX_LOG_DEGREE: u32 = 20;

/// Environment variable with the path of the profile, instead of the file in the user's cache directory;
/// [`NO_PROFILE`] for no profile.
pub const PROFILE_VARIABLE: &str = "CLATHRATE_PROFILE";

/// The value of [`PROFILE_VARIABLE`] for which no profile is read or stored, so that plans are the same for
/// all users of a kind of machine.
pub const NO_PROFILE: &str = "none";

/// The kernels that a profile measures: those of a processor's instruction set, or of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernels {
    /// The name in profiles.
    name: String,
    /// The suffix of the file's name; empty for processors.
    suffix: String,
}

impl Kernels {
    /// The kernels of the device `device` with the description `name`. Profiles of another model are not
    /// used.
    #[must_use]
    pub fn of_device(device: &str, name: &str) -> Self {
        Self { name: name.to_owned(), suffix: format!("-{}", device.replace(':', "-")) }
    }

    /// The name in profiles.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl From<Isa> for Kernels {
    fn from(isa: Isa) -> Self {
        Self { name: isa.name().to_owned(), suffix: String::new() }
    }
}

/// The state of the stored profile.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredProfile {
    /// [`PROFILE_VARIABLE`] is [`NO_PROFILE`], so no profile is read.
    Off,
    /// There is no profile; the path is `None` if no place for a profile is known.
    Absent {
        /// Where the profile would be.
        path: Option<PathBuf>,
    },
    /// The file is not a valid profile.
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The profile was measured with kernels that are not in use.
    Foreign {
        /// The file.
        path: PathBuf,
        /// The measured kernels.
        isa: String,
        /// The kernels in use.
        in_use: String,
    },
    /// A profile that planners can use.
    Ready {
        /// The file.
        path: PathBuf,
        /// The profile's content.
        profile: MachineProfile,
    },
}

impl StoredProfile {
    /// The profile, if planners can use it.
    #[must_use]
    pub fn profile(&self) -> Option<&MachineProfile> {
        match self {
            Self::Ready { profile, .. } => Some(profile),
            _ => None,
        }
    }

    /// The state in one word, for programs.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Absent { .. } => "absent",
            Self::Broken { .. } => "broken",
            Self::Foreign { .. } => "foreign",
            Self::Ready { .. } => "ready",
        }
    }

    /// The path of the profile.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Off => None,
            Self::Absent { path } => path.as_deref(),
            Self::Broken { path, .. } | Self::Foreign { path, .. } | Self::Ready { path, .. } => Some(path),
        }
    }
}

impl fmt::Display for StoredProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => {
                write!(f, "none read: {PROFILE_VARIABLE} is `{NO_PROFILE}`; the built-in model serves")
            }
            Self::Absent { path: None } => {
                write!(f, "none: this system names no cache directory for users; the built-in model serves")
            }
            Self::Absent { path: Some(_) } => {
                write!(
                    f,
                    "none stored; the built-in model serves: run `clathrate tune` to measure this machine"
                )
            }
            Self::Broken { path, reason } => {
                let path = path.display();
                write!(
                    f,
                    "{path} is no machine profile ({reason}); the built-in model serves: run `clathrate tune` to measure anew"
                )
            }
            Self::Foreign { path, isa, in_use } => {
                let path = path.display();
                write!(
                    f,
                    "{path} was measured with {isa} kernels, and {in_use} ones are in use; the built-in model serves: run `clathrate tune` to measure anew"
                )
            }
            Self::Ready { path, profile } => write!(f, "{}, {}", path.display(), profile.source),
        }
    }
}

/// The place of the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfilePlace {
    /// This file.
    File(PathBuf),
    /// No place: [`PROFILE_VARIABLE`] is [`NO_PROFILE`].
    Off,
    /// No place: the system names no cache directory for users, and [`PROFILE_VARIABLE`] is not set.
    Unknown,
}

impl ProfilePlace {
    /// The place of this process's profile of these kernels: for the processor, the file in
    /// [`PROFILE_VARIABLE`] or `clathrate/profile.toml` in the user's cache directory; for a device, a file
    /// next to it.
    #[must_use]
    pub fn of_process(kernels: &Kernels) -> Self {
        match Self::new(std::env::var_os(PROFILE_VARIABLE), dirs::cache_dir()) {
            Self::File(path) if !kernels.suffix.is_empty() => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                Self::File(path.with_file_name(format!("{stem}{}.toml", kernels.suffix)))
            }
            place => place,
        }
    }

    /// The place for a value of [`PROFILE_VARIABLE`] and a cache directory. An empty value counts as unset.
    #[must_use]
    pub fn new(variable: Option<OsString>, cache: Option<PathBuf>) -> Self {
        match variable.filter(|value| !value.is_empty()) {
            Some(value) if value == NO_PROFILE => Self::Off,
            Some(value) => Self::File(value.into()),
            None => cache.map_or(Self::Unknown, |directory| {
                Self::File(directory.join("clathrate").join("profile.toml"))
            }),
        }
    }
}

/// The user's profile of `kernels`.
#[must_use]
pub fn stored(kernels: &Kernels) -> StoredProfile {
    match ProfilePlace::of_process(kernels) {
        ProfilePlace::File(path) => stored_at(&path, kernels),
        ProfilePlace::Off => StoredProfile::Off,
        ProfilePlace::Unknown => StoredProfile::Absent { path: None },
    }
}

/// The profile at `path`, if it was measured with `kernels`.
#[must_use]
pub fn stored_at(path: &Path, kernels: &Kernels) -> StoredProfile {
    let path = path.to_owned();
    let broken = |reason: String| StoredProfile::Broken { path: path.clone(), reason };
    let text = match read_text(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return StoredProfile::Absent { path: Some(path) };
        }
        Err(error) => return broken(error.to_string()),
    };
    let profile: MachineProfile = match toml::from_str(&text) {
        Ok(profile) => profile,
        Err(_) if lacks_matrix_times(&text) => {
            return broken("an earlier version measured it, without matrix products".to_owned());
        }
        // The first line has the message; the others show the position.
        Err(error) => return broken(error.message().lines().next().unwrap_or_default().to_owned()),
    };
    if let Err(reason) = check(&profile) {
        return broken(reason);
    }
    match &profile.isa {
        Some(name) if *name == kernels.name => StoredProfile::Ready { path, profile },
        Some(name) => StoredProfile::Foreign { path, isa: name.clone(), in_use: kernels.name.clone() },
        None => broken("it does not say which kernels were measured".to_owned()),
    }
}

/// Whether `text` is a profile of an earlier version, without times of matrix products.
fn lacks_matrix_times(text: &str) -> bool {
    toml::from_str::<toml::Table>(text)
        .is_ok_and(|table| table.contains_key("kernels") && !table.contains_key("matrix"))
}

/// The stored profile of `kernels`, or else the built-in profile of processors.
#[must_use]
pub fn stored_or_built_in(kernels: &Kernels) -> MachineProfile {
    stored(kernels).profile().cloned().unwrap_or_else(MachineProfile::built_in)
}

fn read_text(path: &Path) -> io::Result<String> {
    // Reading a pipe would wait for a writer, so only regular files are read.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(TEXT_LIMIT_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TEXT_LIMIT_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    Ok(text)
}

/// About a quarter of an hour: no kernel takes as long.
const MAX_NANOSECONDS: f64 = 1e12;

/// Refuses times that no machine has, and names them.
fn check(profile: &MachineProfile) -> Result<(), String> {
    let positive = |what: String, x: f64| {
        if x > 0.0 && x < MAX_NANOSECONDS { Ok(()) } else { Err(format!("{what} is {x}")) }
    };
    if profile.kernels.is_empty() {
        return Err("it has no kernels".to_owned());
    }
    for times in &profile.kernels {
        let degree = times.degree;
        if !degree.is_power_of_two() || degree > 1 << MAX_LOG_DEGREE {
            return Err(format!("degree {degree} is no power of two up to 2^{MAX_LOG_DEGREE}"));
        }
        times
            .transform
            .into_iter()
            .try_for_each(|time| positive(format!("a transform at degree {degree}"), time))?;
        positive(format!("a conversion at degree {degree}"), times.convert)?;
        positive(format!("a product at degree {degree}"), times.product)?;
    }
    let MatrixTimes { start, multiply_add, digit, sum } = profile.matrix;
    for (what, time) in
        [("the start", start), ("a multiply-add", multiply_add), ("a digit", digit), ("a sum", sum)]
    {
        positive(format!("{what} of a matrix product"), time)?;
    }
    positive("the overhead of whole operations".to_owned(), profile.overhead)?;
    positive("read_ns_per_byte".to_owned(), profile.read_ns_per_byte)?;
    // 0 is allowed and means that every key comes from memory.
    if profile.cache_bytes.is_finite() && profile.cache_bytes >= 0.0 {
        Ok(())
    } else {
        Err(format!("cache_bytes is {}", profile.cache_bytes))
    }
}

/// Writes `profile` to the file that [`stored`] reads, and returns its path.
///
/// # Errors
/// [`CkksError::File`] if the directory cannot be created or written; [`CkksError::OutOfRange`] for times
/// that no machine has; [`CkksError::InvalidParams`] if there is no place for a profile.
pub fn store(kernels: &Kernels, profile: &MachineProfile) -> Result<PathBuf, CkksError> {
    let path = place_to_store(kernels)?;
    store_at(&path, profile)?;
    Ok(path)
}

/// The file that [`store`] writes. Call this before measuring, so that a missing place is reported first.
///
/// # Errors
/// [`CkksError::InvalidParams`] if there is no place for a profile.
pub fn place_to_store(kernels: &Kernels) -> Result<PathBuf, CkksError> {
    let reason = match ProfilePlace::of_process(kernels) {
        ProfilePlace::File(path) => return Ok(path),
        ProfilePlace::Off => {
            format!(
                "{PROFILE_VARIABLE} is `{NO_PROFILE}`, so no machine profile is stored: unset it, or set it to a file"
            )
        }
        ProfilePlace::Unknown => format!(
            "this system names no cache directory for users: set {PROFILE_VARIABLE} to the profile's file"
        ),
    };
    Err(CkksError::InvalidParams { reason })
}

/// Writes `profile` to `path` atomically, and creates the directories above it.
pub fn store_at(path: &Path, profile: &MachineProfile) -> Result<(), CkksError> {
    let remedy = "measure anew".to_owned();
    check(profile).map_err(|value| CkksError::OutOfRange { what: "the machine profile", value, remedy })?;
    let text =
        toml::to_string(profile).map_err(|error| CkksError::InvalidParams { reason: error.to_string() })?;
    Ok(write_atomically(path, &text).map_err(|error| FileError::io(path, "write", error))?)
}

/// Creates the directory, writes a temporary file in it and renames it: readers see the old or the new
/// profile.
fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    let directory =
        path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|failure| failure.error)?;
    Ok(())
}
