//! Runs that can go on after they were killed: from time to time, the values that are needed next are written
//! to files of a folder. A run of the same program on the same inputs begins with those that it finds there.
//!
//! Each file appears whole or not at all, and a value's file is removed only after the files of what was
//! computed from it are written, so every set of files that a killed run leaves is enough to go on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hasher;

use super::replay::MOST_NUMBERS;
use super::{Program, TaskValue};
use crate::arrays::Ciphertext;
use crate::encoding::values::Values;
use crate::encrypted_array::{EncryptedArray, PlainArray};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::file::{FileError, FileReader, Stored};

/// Values are stored at most once in so many times as it takes to store them.
const SPARING: u32 = 20;

/// The least time between two stores, where the caller has no other wish.
pub const STORE_PAUSE: Duration = Duration::from_secs(1);

/// The stored values of one run.
#[derive(Debug)]
pub(super) struct StoredRun {
    folder: PathBuf,
    /// What the names of the run's files begin with: a digest of the program and the inputs.
    prefix: String,
    /// The number of encrypted inputs, which have the first values.
    inputs: usize,
    /// The least time between two stores.
    least: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The files of each value.
    stored: BTreeMap<usize, Vec<PathBuf>>,
    last: Instant,
    pause: Duration,
}

/// A digest of everything that the values of a run depend on, but the keys.
fn digest(program: &Program, inputs: &[Arc<Ciphertext>], plain: &[PlainArray]) -> Result<String, CkksError> {
    let mut hasher = Hasher::new_derive_key("clathrate stored run v1");
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(&program.to_file_bytes()?);
    for input in inputs {
        add(&input.to_file_bytes()?);
    }
    for array in plain {
        array.shape.iter().for_each(|axis| add(&axis.to_le_bytes()));
        match &array.values {
            Values::Real(values) => values.iter().for_each(|value| add(&value.to_le_bytes())),
            Values::Complex(values) => {
                values
                    .iter()
                    .for_each(|value| [value.re, value.im].iter().for_each(|x| add(&x.to_le_bytes())));
            }
        }
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

/// How the names of the files of a run begin: with a digest of the program and its inputs.
///
/// # Errors
/// Of the digest.
pub(super) fn prefix(
    program: &Program,
    inputs: &[Arc<Ciphertext>],
    plain: &[PlainArray],
) -> Result<String, CkksError> {
    Ok(format!("run-{}-v", digest(program, inputs, plain)?))
}

impl StoredRun {
    /// The values of a run in `folder`, which is made if it does not exist, and those that are there already.
    ///
    /// # Errors
    /// Of the folder and its files; [`FileError::Metadata`] for a value that is none of the program.
    pub(super) fn open(
        program: &Program,
        (inputs, plain): (&[Arc<Ciphertext>], &[PlainArray]),
        (folder, least): (&Path, Duration),
        evaluator: &Evaluator,
    ) -> Result<(Self, BTreeMap<usize, EncryptedArray>), CkksError> {
        let failed = |action, error| CkksError::from(FileError::io(folder, action, error));
        fs::create_dir_all(folder).map_err(|error| failed("make", error))?;
        let prefix = prefix(program, inputs, plain)?;
        let mut state = State { stored: BTreeMap::new(), last: Instant::now(), pause: least };
        let (mut arrays, mut sums) = (BTreeMap::new(), BTreeMap::new());
        for entry in fs::read_dir(folder).map_err(|error| failed("read", error))? {
            let path = entry.map_err(|error| failed("read", error))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(stem) = name.strip_prefix(&prefix).and_then(|name| name.strip_suffix(".clt")) else {
                continue;
            };
            let (value, count) = match stem.split_once("-sum-of-") {
                Some((value, count)) => (value, Some(count)),
                None => (stem, None),
            };
            // Inputs are those that the caller gives. Numbers have one spelling.
            let number = |text: &str| text.parse().ok().filter(|number: &usize| number.to_string() == text);
            let computed = number(value).filter(|value| *value >= inputs.len());
            let Some((value, forecast)) =
                computed.and_then(|value| Some((value, program.forecast().values().get(value)?)))
            else {
                continue;
            };
            let refused = |reason: &str| {
                let reason =
                    format!("{}: {reason}: remove it, and its value is computed again", path.display());
                CkksError::from(FileError::Metadata { reason })
            };
            let read = FileReader::open(&path).map_err(CkksError::from);
            let data = read.and_then(|reader| Ciphertext::from_reader(&reader, program.params()));
            let data = data.map_err(|error| refused(&error.to_string()))?;
            match count.map(number) {
                None if forecast.allows(&data) => {
                    arrays.insert(value, data);
                }
                Some(Some(count)) if (1..=MOST_NUMBERS).contains(&count) => {
                    sums.insert(value, (data, count));
                }
                _ => return Err(refused("it is no value of this program")),
            }
            state.stored.entry(value).or_default().push(path);
        }
        let with_sum = |(value, data): (usize, Ciphertext)| {
            let sum_of = sums.remove(&value).map(|(sum, count)| (Arc::new(sum), count));
            (value, TaskValue { data: Arc::new(data), sum_of }.with(evaluator))
        };
        let known = arrays.into_iter().map(with_sum).collect();
        let inputs = inputs.len();
        let own = Self { folder: folder.to_path_buf(), prefix, inputs, least, state: Mutex::new(state) };
        Ok((own, known))
    }

    /// Stores the values that are needed next, if the last time is long enough ago.
    ///
    /// # Errors
    /// Of the files.
    pub(super) fn store(&self, needed: &dyn Fn() -> Vec<(usize, EncryptedArray)>) -> Result<(), CkksError> {
        // Where another thread stores values, this one goes on.
        let Ok(mut state) = self.state.try_lock() else { return Ok(()) };
        if state.last.elapsed() < state.pause {
            return Ok(());
        }
        let (start, values) = (Instant::now(), needed());
        for (value, array) in &values {
            // Inputs are given again.
            if *value < self.inputs || state.stored.contains_key(value) {
                continue;
            }
            let mut files = Vec::new();
            if let Some((sum, count)) = array.mean_of() {
                files.push((self.path(&format!("{value}-sum-of-{count}")), sum.clone()));
            }
            files.push((self.path(&value.to_string()), array.data().clone()));
            for (path, data) in &files {
                data.save(path)?;
            }
            state.stored.insert(*value, files.into_iter().map(|(path, _)| path).collect());
        }
        let kept: BTreeSet<usize> = values.iter().map(|(value, _)| *value).collect();
        state.remove(|value| !kept.contains(&value))?;
        state.pause = self.least.max(SPARING * start.elapsed());
        state.last = Instant::now();
        Ok(())
    }

    fn path(&self, value: &str) -> PathBuf {
        self.folder.join(format!("{}{value}.clt", self.prefix))
    }

    /// Removes all files of the run, and the folder, if nothing else is in it.
    ///
    /// # Errors
    /// Of the files.
    pub(super) fn finish(self) -> Result<(), CkksError> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).remove(|_| true)?;
        // Another run may have files there.
        let _ = fs::remove_dir(&self.folder);
        Ok(())
    }
}

impl State {
    /// Removes the files of values that are `gone`; of a mean the file itself first.
    fn remove(&mut self, gone: impl Fn(usize) -> bool) -> Result<(), CkksError> {
        let values: Vec<usize> = self.stored.keys().copied().filter(|&value| gone(value)).collect();
        for value in values {
            for path in self.stored.remove(&value).into_iter().flatten().rev() {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(FileError::io(&path, "remove", error).into());
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
