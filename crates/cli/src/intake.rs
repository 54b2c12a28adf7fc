//! The source of messages of light clients: lines of standard input, or files of a folder.
//!
//! ```text
//! lines    {"introduction": BASE64} or {"message": BASE64}, one JSON object in a line, answered by a line on standard output
//! folder   NAME.introduction and NAME.message, complete files; the intake renames each to a hidden name, and
//!          removes it when it is stored; a refused file is renamed to NAME.message.refused
//! ```

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clathrate_ckks::CkksError;
use serde::Deserialize;

use crate::failure::Failure;

/// Largest number of items that are read at a time, so that a full batch does not wait for all of them.
const MAX_ITEMS: usize = 4096;

/// Largest number of bytes that are read at a time, without the last item.
const MAX_LOOK_BYTES: usize = 1 << 23;

/// Largest number of bytes of a line or a file.
const MAX_BYTES: u64 = 1 << 23;

/// Places of the queue of lines that are read ahead. A line takes one place for each [`PLACE_BYTES`] bytes.
const LINES_AHEAD: usize = 16;

/// Bytes of a line per place of the queue.
const PLACE_BYTES: usize = MAX_BYTES as usize / LINES_AHEAD;

/// Endings of the names of files.
const INTRODUCTION: &str = ".introduction";
const MESSAGE: &str = ".message";

/// Prefix of the names of files that are taken over and not yet stored or refused.
const TAKEN: &str = ".taken-";

/// The file that tells other servers that the folder is served.
const LOCK: &str = ".clathrate-pack.lock";

/// The content of an item.
#[derive(Debug)]
pub(crate) enum Content {
    /// A client's introduction.
    Introduction(Vec<u8>),
    /// A message.
    Message(Vec<u8>),
    /// Neither; the reason.
    Malformed(String),
    /// The content was moved out.
    Nothing,
}

/// A line or a file.
#[derive(Debug)]
pub(crate) struct Item {
    /// The line's number, or the file's name.
    pub name: String,
    /// The content.
    pub content: Content,
    /// The file that was taken over.
    claim: Option<Claim>,
}

/// A file that was taken over.
#[derive(Debug, Clone)]
struct Claim {
    /// The path now.
    path: PathBuf,
    /// The name before.
    name: String,
    /// Whether it has not been read before.
    first: bool,
}

/// Files of a folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked while the folder is served.
    _lock: File,
    /// The time when a file was last found.
    last: Instant,
    /// The intake ends after this time without a file.
    idle: Option<Duration>,
    /// Files that were taken over by an earlier run, or are to be read again.
    again: Vec<Claim>,
    /// Files that are read again when fewer numbers of their clients wait.
    held: Vec<Claim>,
    /// Makes names unique.
    serial: u64,
}

/// A source of messages.
#[derive(Debug)]
pub(crate) enum Intake {
    /// Lines that a thread reads.
    Lines(Receiver<io::Result<Item>>),
    /// Files.
    Folder(Folder),
}

impl Intake {
    /// Lines of standard input.
    pub(crate) fn lines() -> Self {
        let (send, receive) = sync_channel(LINES_AHEAD);
        // The thread may be blocked in a read when the program ends, so nothing joins it.
        thread::spawn(move || {
            let mut input = io::stdin().lock();
            for number in 1u64.. {
                let item = match read_line(&mut input) {
                    Ok(Some(content)) => Ok(Item { name: format!("line {number}"), content, claim: None }),
                    Ok(None) => return,
                    Err(error) => Err(error),
                };
                let failed = item.is_err();
                // Fills further places, so that lines in the queue take no more memory than one line of
                // maximal length.
                let more = item.as_ref().map_or(0, |item| item.bytes() / PLACE_BYTES);
                let fillers = (0..more.min(LINES_AHEAD))
                    .map(|_| Ok(Item { name: String::new(), content: Content::Nothing, claim: None }));
                if std::iter::once(item).chain(fillers).any(|item| send.send(item).is_err()) || failed {
                    return;
                }
            }
        });
        Self::Lines(receive)
    }

    /// Files of the folder `path`, which no other server serves.
    ///
    /// # Errors
    /// `Failure::Io` where the folder cannot be read or written to; [`CkksError::OutOfRange`] where another
    /// server serves it.
    pub(crate) fn folder(path: &Path, idle: Option<Duration>) -> Result<Self, Failure> {
        let failed = |action| move |source| Failure::Io { path: path.to_owned(), action, source };
        let found = fs::read_dir(path).map_err(failed("read the folder"))?;
        let lock = File::create(path.join(LOCK)).map_err(failed("write to the folder"))?;
        if lock.try_lock().is_err() {
            let remedy = "another server takes its files: stop that, or use another folder".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the folder of messages",
                value: path.display().to_string(),
                remedy,
            }
            .into());
        }
        let mut again = Vec::new();
        for entry in found {
            let path = entry.map_err(failed("read the folder"))?.path();
            let known = path.file_name().map(|name| name.to_string_lossy().into_owned());
            // Names of files that an earlier run took over: prefix, number, name.
            let name = known
                .as_deref()
                .and_then(|name| name.strip_prefix(TAKEN)?.split_once('-'))
                .map(|(_, name)| name.to_owned());
            again.extend(name.map(|name| Claim { path, name, first: true }));
        }
        again.sort_by_key(|claim| (!claim.name.ends_with(INTRODUCTION), claim.path.clone()));
        let serial = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        Ok(Self::Folder(Folder {
            path: path.to_owned(),
            _lock: lock,
            last: Instant::now(),
            idle,
            again,
            held: Vec::new(),
            serial,
        }))
    }

    /// The items that have arrived, after waiting for at most `patience`, and whether the intake has ended.
    ///
    /// # Errors
    /// `Failure::Io` where reading fails.
    pub(crate) fn next(&mut self, patience: Duration) -> Result<(Vec<Item>, bool), Failure> {
        match self {
            Self::Lines(receive) => {
                let failed = |source| Failure::Io { path: PathBuf::from("(stdin)"), action: "read", source };
                let mut items = match receive.recv_timeout(patience) {
                    Ok(item) => vec![item.map_err(failed)?],
                    Err(RecvTimeoutError::Timeout) => return Ok((Vec::new(), false)),
                    Err(RecvTimeoutError::Disconnected) => return Ok((Vec::new(), true)),
                };
                let mut bytes = items[0].bytes();
                while items.len() < MAX_ITEMS && bytes < MAX_LOOK_BYTES {
                    let Ok(item) = receive.try_recv() else { break };
                    let item = item.map_err(failed)?;
                    bytes += item.bytes();
                    items.push(item);
                }
                Ok((items, false))
            }
            Self::Folder(folder) => {
                let items = folder.look()?;
                if items.is_empty() {
                    let ended = folder.held.is_empty()
                        && folder.idle.is_some_and(|idle| folder.last.elapsed() >= idle);
                    thread::sleep(patience);
                    return Ok((items, ended));
                }
                folder.last = Instant::now();
                Ok((items, false))
            }
        }
    }

    /// Puts an item back whose client's introduction may have arrived while the folder was read. Returns
    /// whether it will be read again: a file is, once.
    pub(crate) fn put_back(&mut self, item: &Item) -> bool {
        match (self, &item.claim) {
            (Self::Folder(folder), Some(claim)) if claim.first => {
                folder.again.push(Claim { first: false, ..claim.clone() });
                true
            }
            _ => false,
        }
    }

    /// Puts an item back until [`Intake::release`], because too many numbers of its client wait. Returns
    /// whether it will be read again: a file is.
    pub(crate) fn hold(&mut self, item: &Item) -> bool {
        let (Self::Folder(folder), Some(claim)) = (self, &item.claim) else { return false };
        folder.held.push(claim.clone());
        true
    }

    /// Reads held files again, because fewer numbers wait.
    pub(crate) fn release(&mut self) {
        if let Self::Folder(folder) = self {
            folder.again.append(&mut folder.held);
        }
    }

    /// Ends the work on an item: removes a file that was stored, and renames a refused file. An error loses
    /// nothing, because the next run finds the file.
    pub(crate) fn settle(&mut self, item: &Item, refused: bool) -> Result<(), String> {
        let (Self::Folder(folder), Some(claim)) = (self, &item.claim) else { return Ok(()) };
        let done = if refused {
            fs::rename(&claim.path, folder.free_name(&claim.name))
        } else {
            fs::remove_file(&claim.path)
        };
        match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("{} stays in the folder: {error}", claim.path.display()))
            }
            _ => Ok(()),
        }
    }
}

impl Item {
    fn bytes(&self) -> usize {
        match &self.content {
            Content::Introduction(bytes) | Content::Message(bytes) => bytes.len(),
            Content::Malformed(_) | Content::Nothing => 0,
        }
    }
}

impl Folder {
    /// Takes over the files of the folder and reads them.
    fn look(&mut self) -> Result<Vec<Item>, Failure> {
        let mut claims = std::mem::take(&mut self.again);
        claims.extend(self.claim()?);
        let (mut items, mut bytes) = (Vec::new(), 0);
        let mut rest = claims.into_iter();
        for claim in rest.by_ref() {
            let content = match read_file(&claim.path) {
                Ok(Ok(bytes)) if claim.name.ends_with(MESSAGE) => Content::Message(bytes),
                Ok(Ok(bytes)) => Content::Introduction(bytes),
                Ok(Err(reason)) => Content::Malformed(reason),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) if claim.first => {
                    // It is tried once more.
                    self.again.push(Claim { first: false, ..claim });
                    continue;
                }
                Err(error) => Content::Malformed(format!("it cannot be read: {error}")),
            };
            let item = Item { name: claim.name.clone(), content, claim: Some(claim) };
            bytes += item.bytes();
            items.push(item);
            if bytes >= MAX_LOOK_BYTES || items.len() >= MAX_ITEMS {
                break;
            }
        }
        self.again.extend(rest);
        Ok(items)
    }

    /// Renames files of the folder to names that only this server uses, introductions first, so that a later
    /// file of the same name replaces none of them.
    fn claim(&mut self) -> Result<Vec<Claim>, Failure> {
        let failed = |source| Failure::Io { path: self.path.clone(), action: "read the folder", source };
        let mut found: Vec<(bool, String, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
                continue;
            };
            // Hidden files may be incomplete.
            if !name.starts_with('.') && (name.ends_with(INTRODUCTION) || name.ends_with(MESSAGE)) {
                found.push((name.ends_with(MESSAGE), name, path));
            }
            // Bounds the memory, however many files the folder has.
            if found.len() == 2 * MAX_ITEMS {
                found.sort();
                found.truncate(MAX_ITEMS);
            }
        }
        found.sort();
        found.truncate(MAX_ITEMS);
        let mut claims = Vec::with_capacity(found.len());
        for (_, name, from) in found {
            self.serial += 1;
            let path = self.path.join(format!("{TAKEN}{:020}-{name}", self.serial));
            match fs::rename(&from, &path) {
                Ok(()) => claims.push(Claim { path, name, first: true }),
                // The file was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(Failure::Io { path: from, action: "take over", source }),
            }
        }
        Ok(claims)
    }

    /// A name for a refused file.
    fn free_name(&mut self, name: &str) -> PathBuf {
        let first = self.path.join(format!("{name}.refused"));
        if fs::symlink_metadata(&first).is_err() {
            return first;
        }
        self.serial += 1;
        self.path.join(format!("{name}.{}.refused", self.serial))
    }
}

/// The next line's content; `None` at the end.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Content>> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_BYTES + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && line.len() as u64 > MAX_BYTES {
        // The rest of the line, in pieces.
        while !line.is_empty() && line.last() != Some(&b'\n') {
            line.clear();
            input.by_ref().take(1 << 16).read_until(b'\n', &mut line)?;
        }
        return Ok(Some(Content::Malformed(format!(
            "a line of more than {MAX_BYTES} bytes: send fewer numbers at a time"
        ))));
    }
    Ok(Some(content(&line)))
}

/// The content of a line. Other JSON is refused at the first difference, so that a long line takes no more
/// memory than its text.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line<'l> {
    Introduction(#[serde(borrow)] Cow<'l, str>),
    Message(#[serde(borrow)] Cow<'l, str>),
}

fn content(line: &[u8]) -> Content {
    let wanted = "send lines with one JSON object each: {\"introduction\": BASE64} or {\"message\": BASE64}";
    match serde_json::from_slice(line) {
        Ok(Line::Introduction(text)) => decoded(&text, "introduction", Content::Introduction),
        Ok(Line::Message(text)) => decoded(&text, "message", Content::Message),
        Err(error) if error.is_data() => {
            Content::Malformed(format!("a line without the one field: {wanted}"))
        }
        Err(_) => Content::Malformed(format!(
            "a line of {} bytes is no JSON object with one field: {wanted}",
            line.len()
        )),
    }
}

fn decoded(text: &str, field: &str, content: impl FnOnce(Vec<u8>) -> Content) -> Content {
    match BASE64_STANDARD.decode(text) {
        Ok(bytes) => content(bytes),
        Err(error) => Content::Malformed(format!("the field `{field}` is no base64: {error}")),
    }
}

/// The bytes of a regular file, or the reason why it is refused.
fn read_file(path: &Path) -> io::Result<Result<Vec<u8>, String>> {
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() {
        return Ok(Err("it is no regular file: put files into the folder".to_owned()));
    }
    if about.len() > MAX_BYTES {
        return Ok(Err(format!(
            "it has {} bytes, more than {MAX_BYTES}: send fewer numbers at a time",
            about.len()
        )));
    }
    fs::read(path).map(Ok)
}
