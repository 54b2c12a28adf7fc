//! Where messages of light clients come from: lines of standard input, or files of a folder.
//!
//! ```text
//! lines    {"introduction": BASE64} or {"message": BASE64}, one JSON object in a line; each has an answer on standard output
//! folder   NAME.introduction and NAME.message, which are given these names when they are whole; one that is stored is removed, one that is refused is renamed to
//!          NAME.message.refused
//! ```

use std::fs;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::failure::Failure;

/// Most items of one look, so that a batch that is ready does not wait for all of them.
const MOST_ITEMS: usize = 4096;

/// Most bytes of a line or a file.
const MOST_BYTES: u64 = 1 << 26;

/// What an item holds.
#[derive(Debug)]
pub enum Content {
    /// A client's introduction.
    Introduction(Vec<u8>),
    /// A message.
    Message(Vec<u8>),
    /// Neither, and why.
    Malformed(String),
    /// It was taken out.
    Nothing,
}

/// A line or a file.
#[derive(Debug)]
pub struct Item {
    /// The line's number, or the file's name.
    pub name: String,
    /// What it holds.
    pub content: Content,
}

/// Where messages come from.
#[derive(Debug)]
pub enum Intake {
    /// Lines that a thread reads.
    Lines(Receiver<io::Result<Item>>),
    /// A folder, when something was last found in it, and after how long it counts as empty for good.
    Folder {
        /// The folder.
        path: PathBuf,
        /// When something was found.
        last: Instant,
        /// Without anything for this long, it ends.
        idle: Option<Duration>,
    },
}

impl Intake {
    /// Lines of standard input.
    pub fn lines() -> Self {
        let (send, receive) = sync_channel(MOST_ITEMS);
        // It may be in the middle of a read when the program ends, and so nothing waits for it.
        thread::spawn(move || {
            let mut input = io::stdin().lock();
            for number in 1u64.. {
                let item = match read_line(&mut input) {
                    Ok(Some(content)) => Ok(Item { name: format!("line {number}"), content }),
                    Ok(None) => return,
                    Err(error) => Err(error),
                };
                let failed = item.is_err();
                if send.send(item).is_err() || failed {
                    return;
                }
            }
        });
        Self::Lines(receive)
    }

    /// Files of the folder `path`.
    ///
    /// # Errors
    /// `Failure::Io` where it cannot be read.
    pub fn folder(path: &Path, idle: Option<Duration>) -> Result<Self, Failure> {
        fs::read_dir(path).map_err(|source| Failure::Io { path: path.to_owned(), action: "read the folder", source })?;
        Ok(Self::Folder { path: path.to_owned(), last: Instant::now(), idle })
    }

    /// What has come, after waiting for it for at most `patience`; and whether it was the last.
    ///
    /// # Errors
    /// `Failure::Io` where nothing can be read any more.
    pub fn next(&mut self, patience: Duration) -> Result<(Vec<Item>, bool), Failure> {
        match self {
            Self::Lines(receive) => {
                let failed = |source| Failure::Io { path: PathBuf::from("(stdin)"), action: "read", source };
                let mut items = match receive.recv_timeout(patience) {
                    Ok(item) => vec![item.map_err(failed)?],
                    Err(RecvTimeoutError::Timeout) => return Ok((Vec::new(), false)),
                    Err(RecvTimeoutError::Disconnected) => return Ok((Vec::new(), true)),
                };
                for item in receive.try_iter().take(MOST_ITEMS) {
                    items.push(item.map_err(failed)?);
                }
                Ok((items, false))
            }
            Self::Folder { path, last, idle } => {
                let items = scan(path)?;
                if items.is_empty() {
                    let ended = idle.is_some_and(|idle| last.elapsed() >= idle);
                    thread::sleep(patience);
                    return Ok((items, ended));
                }
                *last = Instant::now();
                Ok((items, false))
            }
        }
    }

    /// An item is dealt with: a file that was stored is removed, a refused one set aside.
    ///
    /// # Errors
    /// `Failure::Io` where the folder cannot be written to.
    pub fn settle(&mut self, item: &Item, refusal: Option<&str>) -> Result<(), Failure> {
        let Self::Folder { path, .. } = self else { return Ok(()) };
        let file = path.join(&item.name);
        let done = match refusal {
            None => fs::remove_file(&file),
            Some(_) => fs::rename(&file, path.join(format!("{}.refused", item.name))),
        };
        match done {
            // Whoever put it there may have taken it away.
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Failure::Io { path: file, action: "set aside", source }),
            _ => Ok(()),
        }
    }
}

/// The next line's content; `None` at the end.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Content>> {
    let mut line = Vec::new();
    input.by_ref().take(MOST_BYTES + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && line.len() as u64 > MOST_BYTES {
        // The rest of the line, in pieces.
        while !line.is_empty() && line.last() != Some(&b'\n') {
            line.clear();
            input.by_ref().take(1 << 16).read_until(b'\n', &mut line)?;
        }
        return Ok(Some(Content::Malformed(format!("a line of more than {MOST_BYTES} bytes: send fewer numbers at a time"))));
    }
    Ok(Some(content(&line)))
}

fn content(line: &[u8]) -> Content {
    let wanted = "send lines with one JSON object each: {\"introduction\": BASE64} or {\"message\": BASE64}";
    let Ok(Value::Object(object)) = serde_json::from_slice(line) else {
        return Content::Malformed(format!("a line of {} bytes is no JSON object: {wanted}", line.len()));
    };
    let fields: Vec<(&str, Option<&str>)> = object.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let (kind, text) = match fields[..] {
        [(kind @ ("introduction" | "message"), Some(text))] => (kind, text),
        _ => return Content::Malformed(format!("a line without the one field: {wanted}")),
    };
    match BASE64_STANDARD.decode(text) {
        Ok(bytes) if kind == "message" => Content::Message(bytes),
        Ok(bytes) => Content::Introduction(bytes),
        Err(error) => Content::Malformed(format!("the field `{kind}` is no base64: {error}")),
    }
}

/// The files that are there, introductions first.
fn scan(folder: &Path) -> Result<Vec<Item>, Failure> {
    let failed = |source| Failure::Io { path: folder.to_owned(), action: "read the folder", source };
    let mut found: Vec<(bool, String)> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str() else { continue };
        let (introduction, message) = (name.ends_with(".introduction"), name.ends_with(".message"));
        // A hidden file is one that is being written.
        if (introduction || message) && !name.starts_with('.') {
            found.push((message, name.to_owned()));
        }
    }
    found.sort();
    found.truncate(MOST_ITEMS);
    let item = |(is_message, name): (bool, String)| {
        let content = match read_file(&folder.join(&name)) {
            Ok(Ok(bytes)) if is_message => Content::Message(bytes),
            Ok(Ok(bytes)) => Content::Introduction(bytes),
            Ok(Err(reason)) => Content::Malformed(reason),
            // Taken away, or not readable: said, and set aside where that can be done.
            Err(error) => Content::Malformed(format!("cannot be read: {error}")),
        };
        Item { name, content }
    };
    Ok(found.into_iter().map(item).collect())
}

/// The bytes of a regular file, or what it is instead.
fn read_file(path: &Path) -> io::Result<Result<Vec<u8>, String>> {
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() {
        return Ok(Err("it is no regular file: put files into the folder".to_owned()));
    }
    if about.len() > MOST_BYTES {
        return Ok(Err(format!("it has {} bytes, more than {MOST_BYTES}: send fewer numbers at a time", about.len())));
    }
    fs::read(path).map(Ok)
}
