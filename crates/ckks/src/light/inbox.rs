//! An inbox: messages of light clients, kept in a file until what is computed of them is safe.
//!
//! ```text
//! introduce, accept    append to the file, and return when the system says that it is stored
//! take                 the oldest samples that fit together, as a batch
//! done                 says that the batch's result is safe; its samples are not given again
//! ```
//!
//! A program that ends at any moment, killed or without power, loses nothing that `accept` returned for: opened again, the inbox has all samples that are not done. A counter that was accepted is not
//! accepted again, also after it is done.
//!
//! The file is a header and records, each a length, checksums and a payload; the checksum of a record covers that of the record before, so that records cannot change places. A record
//! at the end that is not whole was never acknowledged, and is cut off. A damaged record before others is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clathrate_lattice::SecretRng;

use super::receiver::{Kind, Receiver};
use super::wire::{Reader, Writer, unreadable};
use crate::arrays::Ciphertext;
use crate::error::CkksError;
use crate::file::FileError;
use crate::parameters::Params;

const WHAT: &str = "the file of an inbox";

/// First bytes of the file, with a version.
const HEADER: [u8; 8] = *b"CLINBOX\x02";

/// Bytes of the header: the first ones, the digest of the parameters, and a name of the file.
const HEADER_BYTES: u64 = 8 + 32 + 16;

/// Bytes before a record's payload: its length, a checksum of that, and a checksum of the payload.
const RECORD_BYTES: usize = 4 + 4 + 8;

/// Most bytes of a payload.
const MOST_PAYLOAD: u32 = 1 << 28;

/// Kinds of records.
const INTRODUCED: u8 = 1;
const ACCEPTED: u8 = 2;
const DONE: u8 = 3;

/// The name of a client: [`Receiver::client_id`].
pub type ClientId = [u8; 32];

/// One client, and the counters that it has used.
#[derive(Debug)]
struct Client {
    receiver: Receiver,
    /// Ranges of counters that do not touch, by their starts.
    used: BTreeMap<u64, u64>,
}

impl Client {
    /// The first of these counters that was used.
    fn first_used(&self, counters: &Range<u64>) -> Option<u64> {
        let before = self.used.range(..=counters.start).next_back().filter(|(_, end)| **end > counters.start).map(|_| counters.start);
        before.or_else(|| self.used.range(counters.clone()).next().map(|(&start, _)| start))
    }

    fn mark(&mut self, counters: Range<u64>) {
        let (mut start, mut end) = (counters.start, counters.end);
        if let Some((&first, &last)) = self.used.range(..=start).next_back()
            && last >= start
        {
            (start, end) = (first, end.max(last));
        }
        while let Some((&first, &last)) = self.used.range(start..=end).next() {
            self.used.remove(&first);
            end = end.max(last);
        }
        self.used.insert(start, end);
    }
}

/// A sample that waits.
#[derive(Debug, Clone)]
struct Waiting {
    client: ClientId,
    counter: u64,
    bodies: Vec<u128>,
    /// When it was accepted, in milliseconds since 1970.
    at: u64,
}

/// Messages of light clients, kept in a file.
#[derive(Debug)]
pub struct Inbox {
    path: PathBuf,
    file: File,
    params: Params,
    /// Drawn when the file was made.
    id: [u8; 16],
    clients: BTreeMap<ClientId, Client>,
    /// The clients by the first bytes of their messages.
    tags: BTreeMap<[u8; 4], ClientId>,
    waiting: Vec<Waiting>,
    /// Batches that are done.
    batches: u64,
    /// The checksum of the last record.
    last: [u8; 8],
    /// Bytes of whole records, with the header.
    length: u64,
}

/// Samples that were taken together.
#[derive(Debug)]
pub struct Batch {
    /// In the order of the arrays' entries.
    samples: Vec<Waiting>,
    arrays: Vec<Ciphertext>,
}

impl Batch {
    /// The samples as arrays, one for each secret; in each in the order in which they were accepted.
    #[must_use]
    pub fn arrays(&self) -> &[Ciphertext] {
        &self.arrays
    }

    /// How long the oldest of the samples has been here.
    #[must_use]
    pub fn age(&self) -> Duration {
        let first = self.samples.iter().map(|sample| sample.at).min().unwrap_or_else(now);
        Duration::from_millis(now().saturating_sub(first))
    }

    /// Whose samples they are, in the order of the arrays' entries: client and counter.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = (ClientId, u64)> + '_ {
        self.samples.iter().map(|sample| (sample.client, sample.counter))
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn checksum(last: &[u8; 8], payload: &[u8]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new_derive_key("clathrate inbox v1");
    hasher.update(last);
    hasher.update(payload);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    bytes
}

impl Inbox {
    /// Opens the inbox at `path`, or makes one, for clients of these parameters. No other program has it open at the same time.
    ///
    /// # Errors
    /// [`CkksError::File`] where the file cannot be opened, read or written; [`CkksError::OutOfRange`] for a file that another program has open, that is no inbox or of other parameters, or is
    /// damaged before its end.
    pub fn open(path: impl AsRef<Path>, params: &Params) -> Result<Self, CkksError> {
        let path = path.as_ref().to_path_buf();
        let io = |action: &'static str| {
            let path = path.clone();
            move |error| CkksError::from(FileError::io(&path, action, error))
        };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io("open"))?;
        if file.try_lock().is_err() {
            let remedy = "another program has it open: stop that, or use another file";
            return Err(unreadable(WHAT, path.display().to_string(), remedy));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io("read"))?;
        let digest = *params.root()?.digest();
        let known = [&HEADER[..], &digest].concat();
        let mut inbox = Self {
            path: path.clone(),
            file,
            params: params.clone(),
            id: [0; 16],
            clients: BTreeMap::new(),
            tags: BTreeMap::new(),
            waiting: Vec::new(),
            batches: 0,
            last: [0; 8],
            length: HEADER_BYTES,
        };
        if bytes.len() < HEADER_BYTES as usize && bytes.iter().zip(&known).all(|(own, known)| own == known) {
            // New, or ended while it was made.
            SecretRng::from_os()?.fill_bytes(&mut inbox.id);
            inbox.last = checksum(&[0; 8], &inbox.id);
            let header = [&known[..], &inbox.id].concat();
            inbox.file.set_len(0).map_err(io("write"))?;
            inbox.file.seek(SeekFrom::Start(0)).map_err(io("write"))?;
            inbox.file.write_all(&header).and_then(|()| inbox.file.sync_all()).map_err(io("write"))?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(io("write"))?;
            return Ok(inbox);
        }
        if bytes.get(..HEADER.len()) != Some(&HEADER[..]) {
            return Err(unreadable(WHAT, path.display().to_string(), "it is no inbox of this release: use another file"));
        }
        if bytes.get(HEADER.len()..known.len()) != Some(&digest[..]) {
            return Err(unreadable(WHAT, path.display().to_string(), "it is for other parameters: use those, or another file"));
        }
        inbox.id.copy_from_slice(&bytes[known.len()..HEADER_BYTES as usize]);
        inbox.last = checksum(&[0; 8], &inbox.id);
        let mut at = HEADER_BYTES as usize;
        while let Some(payload) = inbox.whole(&bytes, at)? {
            inbox.last = checksum(&inbox.last, payload);
            at += RECORD_BYTES + payload.len();
            inbox.apply(payload)?;
        }
        inbox.length = at as u64;
        inbox.file.set_len(inbox.length).and_then(|()| inbox.file.seek(SeekFrom::End(0))).map_err(io("write"))?;
        Ok(inbox)
    }

    /// The payload of the record at `at`; `None` at the end, or before a last record that is not whole. A system may have made room for a record and not written all of it, so what follows the last
    /// one may be zero.
    fn whole<'b>(&self, bytes: &'b [u8], at: usize) -> Result<Option<&'b [u8]>, CkksError> {
        let Some((head, rest)) = bytes[at..].split_at_checked(RECORD_BYTES) else { return Ok(None) };
        let length = head[..4].iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
        let known = checksum(&self.last, &head[..4])[..4] == head[4..8];
        if known {
            let Some(payload) = rest.get(..length) else { return Ok(None) };
            if checksum(&self.last, payload)[..] == head[8..] {
                return Ok(Some(payload));
            }
        }
        if rest[if known { length } else { 0 }..].iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let value = format!("{}, with a damaged record at byte {at}", self.path.display());
        Err(unreadable(WHAT, value, "restore it from a copy, or move it away and let the clients send again"))
    }

    /// Follows a record.
    fn apply(&mut self, payload: &[u8]) -> Result<(), CkksError> {
        let mut reader = Reader { bytes: payload, what: WHAT };
        match reader.array::<1>()? {
            [INTRODUCED] => {
                self.add(Receiver::new(&self.params, reader.bytes)?);
                Ok(())
            }
            [ACCEPTED] => {
                let (at, client) = (reader.word()?, reader.array()?);
                let parsed = self.parsed(&client, reader.bytes)?;
                self.enter(client, parsed, at);
                Ok(())
            }
            [DONE] => {
                let mut done = BTreeSet::new();
                for _ in 0..reader.word()? {
                    done.insert((reader.array::<32>()?, reader.word()?));
                }
                self.waiting.retain(|sample| !done.contains(&(sample.client, sample.counter)));
                self.batches += 1;
                reader.end()
            }
            [kind] => Err(unreadable(WHAT, format!("a record of kind {kind}"), "it is of a later release: use that")),
        }
    }

    fn parsed(&self, client: &ClientId, message: &[u8]) -> Result<Vec<(u64, Vec<u128>)>, CkksError> {
        let known = self.clients.get(client);
        known
            .ok_or_else(|| unreadable(WHAT, "a message of an unknown client".to_owned(), "the file is damaged"))?
            .receiver
            .parsed(&[message])
    }

    fn enter(&mut self, client: ClientId, samples: Vec<(u64, Vec<u128>)>, at: u64) {
        for (counter, bodies) in samples {
            if let Some(known) = self.clients.get_mut(&client) {
                known.mark(counter..counter + 1);
            }
            self.waiting.push(Waiting { client, counter, bodies, at });
        }
    }

    /// Appends records and waits until they are stored. Where that fails, the file ends as before.
    fn append(&mut self, payloads: &[Vec<u8>]) -> Result<(), CkksError> {
        let mut bytes = Vec::new();
        let mut last = self.last;
        for payload in payloads {
            let length = (payload.len() as u32).to_le_bytes();
            bytes.extend_from_slice(&length);
            bytes.extend_from_slice(&checksum(&last, &length)[..4]);
            last = checksum(&last, payload);
            bytes.extend_from_slice(&last);
            bytes.extend_from_slice(payload);
        }
        let written =
            self.file.seek(SeekFrom::Start(self.length)).and_then(|_| self.file.write_all(&bytes)).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            let _ = self.file.set_len(self.length);
            return Err(FileError::io(&self.path, "write", error).into());
        }
        (self.last, self.length) = (last, self.length + bytes.len() as u64);
        Ok(())
    }

    fn add(&mut self, receiver: Receiver) {
        let id = receiver.client_id();
        self.tags.entry(receiver.tag()).or_insert(id);
        self.clients.entry(id).or_insert(Client { receiver, used: BTreeMap::new() });
    }

    /// Takes a client's introduction; one that is known changes nothing.
    ///
    /// # Errors
    /// As [`Receiver::new`]; [`CkksError::OutOfRange`] where the messages of another client begin alike, by chance once in 2^32 or because somebody wants that; [`CkksError::File`].
    pub fn introduce(&mut self, introduction: &[u8]) -> Result<ClientId, CkksError> {
        let receiver = Receiver::new(&self.params, introduction)?;
        let id = receiver.client_id();
        if !self.clients.contains_key(&id) {
            if self.tags.contains_key(&receiver.tag()) {
                let remedy = "make the client anew from its state, which draws another seed";
                return Err(unreadable(
                    "the introduction of a light client",
                    "whose messages begin as those of another one".to_owned(),
                    remedy,
                ));
            }
            self.append(&[[&[INTRODUCED], introduction].concat()])?;
            self.add(receiver);
        }
        Ok(id)
    }

    /// A name of the inbox, drawn when its file was made.
    #[must_use]
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// The client that a message is of, if it is introduced.
    #[must_use]
    pub fn client_of(&self, message: &[u8]) -> Option<ClientId> {
        self.tags.get(message.get(..4)?).copied()
    }

    /// Whether samples with all counters of the message were accepted before.
    #[must_use]
    pub fn knows(&self, message: &[u8]) -> bool {
        let known = self.client_of(message).and_then(|id| self.clients.get(&id));
        let samples = known.and_then(|client| Some((client, client.receiver.parsed(&[message]).ok()?)));
        samples.is_some_and(|(client, samples)| samples.iter().all(|&(counter, _)| client.first_used(&(counter..counter + 1)).is_some()))
    }

    /// Takes messages of any clients. For each there is an answer: how many samples were stored, or why the message is refused; a refused message leaves the others. The stored ones are safe when
    /// this returns.
    ///
    /// # Errors
    /// [`CkksError::File`] where the file cannot be written: then no message was taken.
    pub fn accept(&mut self, messages: &[&[u8]]) -> Result<Vec<Result<usize, CkksError>>, CkksError> {
        let at = now();
        let mut answers = Vec::with_capacity(messages.len());
        let mut payloads = Vec::new();
        let mut entered = Vec::new();
        // Counters of this call, which are not marked before they are stored.
        let mut fresh: BTreeMap<ClientId, Client> = BTreeMap::new();
        for message in messages {
            let answer = self.examined(message, &mut fresh);
            if let Ok((client, samples)) = &answer {
                let mut payload = Writer::default();
                payload.bytes(&[ACCEPTED]);
                payload.word(at);
                payload.bytes(client);
                payload.bytes(message);
                payloads.push(payload.0);
                entered.push((*client, samples.clone()));
            }
            answers.push(answer.map(|(_, samples)| samples.len()));
        }
        if !payloads.is_empty() {
            self.append(&payloads)?;
        }
        entered.into_iter().for_each(|(client, samples)| self.enter(client, samples, at));
        Ok(answers)
    }

    /// The client and the samples of a message whose counters nothing has used.
    #[allow(clippy::type_complexity)] // a client, and samples as receivers have them
    fn examined(&self, message: &[u8], fresh: &mut BTreeMap<ClientId, Client>) -> Result<(ClientId, Vec<(u64, Vec<u128>)>), CkksError> {
        const MESSAGE: &str = "a message of a light client";
        if message.len() > MOST_PAYLOAD as usize / 2 {
            return Err(unreadable(MESSAGE, format!("{} bytes", message.len()), "send fewer numbers at a time"));
        }
        let Some((id, client)) = self.client_of(message).and_then(|id| Some((id, self.clients.get(&id)?))) else {
            return Err(unreadable(MESSAGE, "of an unknown client".to_owned(), "introduce the client first"));
        };
        let samples = client.receiver.parsed(&[message])?;
        let (first, count) = (samples.first().map_or(0, |(counter, _)| *counter), samples.len() as u64);
        let counters = first..first + count;
        let seen = fresh.entry(id).or_insert_with(|| Client { receiver: client.receiver.clone(), used: BTreeMap::new() });
        if let Some(used) = client.first_used(&counters).or_else(|| seen.first_used(&counters)) {
            let remedy = "it was accepted before: a client counts on, and a message is sent again only if there was no answer".to_owned();
            return Err(CkksError::OutOfRange { what: "the counter of a sample", value: used.to_string(), remedy });
        }
        seen.mark(counters);
        Ok((id, samples))
    }

    /// Samples that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How long the oldest sample has waited; absent where none waits.
    #[must_use]
    pub fn oldest(&self) -> Option<Duration> {
        let first = self.waiting.iter().map(|sample| sample.at).min()?;
        Some(Duration::from_millis(now().saturating_sub(first)))
    }

    /// The clients that have introduced themselves.
    pub fn clients(&self) -> impl ExactSizeIterator<Item = ClientId> + '_ {
        self.clients.keys().copied()
    }

    /// What is known of each client.
    pub fn receivers(&self) -> impl ExactSizeIterator<Item = &Receiver> {
        self.clients.values().map(|client| &client.receiver)
    }

    /// The oldest samples, at most `most`, of the clients whose samples fit together with those of the oldest one: of one owner, secret, shape, level and scale. Until [`Inbox::done`] they are given
    /// again to whoever opens the inbox anew; `None` where none waits.
    ///
    /// # Errors
    /// [`CkksError::NotEnoughMemory`].
    pub fn take(&mut self, most: usize) -> Result<Option<Batch>, CkksError> {
        self.take_alike(most, |a, b| a == b)
    }

    /// As [`Inbox::take`], of clients whose samples fit together but for their secrets: an array for each secret, for
    /// [`Evaluator::bootstrap_samples_of`](crate::Evaluator::bootstrap_samples_of).
    ///
    /// # Errors
    /// As [`Inbox::take`].
    pub fn take_of_all_secrets(&mut self, most: usize) -> Result<Option<Batch>, CkksError> {
        self.take_alike(most, |a, b| Kind { secret: b.secret, ..*a } == *b)
    }

    fn take_alike(&mut self, most: usize, alike: impl Fn(&Kind, &Kind) -> bool) -> Result<Option<Batch>, CkksError> {
        let kind = |sample: &Waiting| self.clients.get(&sample.client).map(|client| client.receiver.kind());
        let Some(wanted) = self.waiting.first().and_then(kind) else { return Ok(None) };
        let fits = |sample: &Waiting| kind(sample).is_some_and(|own| alike(&wanted, &own));
        let places: Vec<usize> = (0..self.waiting.len()).filter(|&place| fits(&self.waiting[place])).take(most).collect();
        let mut by_secret: Vec<(Kind, Vec<Waiting>)> = Vec::new();
        for sample in places.iter().map(|&place| &self.waiting[place]) {
            let Some(own) = kind(sample) else { continue };
            match by_secret.iter_mut().find(|(known, _)| *known == own) {
                Some((_, samples)) => samples.push(sample.clone()),
                None => by_secret.push((own, vec![sample.clone()])),
            }
        }
        let mut arrays = Vec::with_capacity(by_secret.len());
        for (_, samples) in &by_secret {
            let known = |sample: &'_ Waiting| self.clients.get(&sample.client).map(|client| &client.receiver);
            let found: Vec<_> =
                samples.iter().filter_map(|sample| Some((known(sample)?, sample.counter, sample.bodies.as_slice()))).collect();
            arrays.extend(Receiver::joined(&found)?);
        }
        let mut taken = places.into_iter().peekable();
        let mut place = 0;
        self.waiting.retain(|_| {
            place += 1;
            taken.next_if_eq(&(place - 1)).is_none()
        });
        Ok(Some(Batch { samples: by_secret.into_iter().flat_map(|(_, samples)| samples).collect(), arrays }))
    }

    /// Says that what was computed of the batch is safe.
    ///
    /// # Errors
    /// [`CkksError::File`]: then the batch is not done, and waits for whoever opens the inbox anew.
    pub fn done(&mut self, batch: Batch) -> Result<(), CkksError> {
        let mut payload = Writer::default();
        payload.bytes(&[DONE]);
        payload.word(batch.samples.len() as u64);
        for (client, counter) in batch.sources() {
            payload.bytes(&client);
            payload.word(counter);
        }
        self.append(&[payload.0])?;
        self.batches += 1;
        Ok(())
    }

    /// How many batches are done.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Gives a batch back, whose computation failed.
    pub fn give_back(&mut self, batch: Batch) {
        self.waiting.extend(batch.samples);
        self.waiting.sort_by_key(|sample| sample.at);
    }
}
