//! An inbox: stores messages of light clients in a file until the results computed from them are safe.
//!
//! ```text
//! introduce, accept    append to the file, and return when the system says that it is stored
//! take                 samples that fit together, of each client in turn, as a batch
//! done                 says that the batch's result is safe; its samples are not given again
//! ```
//!
//! If the program ends at any moment, by a kill or a power failure, no message that `accept` acknowledged is
//! lost: the reopened inbox has all samples that are not done. An accepted counter is never accepted again,
//! even after it is done.
//!
//! Only messages of the owner's clients are stored: other introductions and messages are refused, and take no
//! space in the file or in memory. The count of waiting numbers per client is limited
//! ([`Inbox::limit_waiting`]).
//!
//! The file is a header and records of a length, checksums and a payload. A record's checksum covers the
//! checksum of the record before it, so that records cannot be reordered. An incomplete record at the end was
//! never acknowledged and is cut off. A damaged record before other records is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clathrate_arith::text::counted;
use clathrate_ckks::file::FileError;
use clathrate_ckks::light::{AuthenticationKey, Kind, Opened, Receiver};
use clathrate_ckks::{Ciphertext, CkksError, Params};
use clathrate_lattice::SecretRng;
use clathrate_samples::ClientId;
use clathrate_samples::wire::{Reader, Serial, Writer, unreadable};

use crate::queue::{Queue, Waiting};

const WHAT: &str = "the file of an inbox";

/// First bytes of the file, with a version.
const HEADER: [u8; 8] = *b"CLINBOX\x03";

/// Bytes of the header: the first bytes, the digest of the parameters, and the id of the file.
const HEADER_BYTES: u64 = 8 + 32 + 16;

/// Bytes before a record's payload: its length, a checksum of the length, and a checksum of the payload.
const RECORD_BYTES: usize = 4 + 4 + 8;

/// Maximum length of a payload.
const MAX_PAYLOAD: u32 = 1 << 28;

/// Kinds of records.
const INTRODUCED: u8 = 1;
const ACCEPTED: u8 = 2;
const DONE: u8 = 3;

/// Maximum of the numbers of one client that may wait, unless set by [`Inbox::limit_waiting`].
pub const MAX_WAITING: usize = 1 << 16;

/// The field `what` of [`CkksError::OutOfRange`] for a message that is refused because too many numbers of
/// its client wait. The client can send the message again later.
pub const TOO_MANY_WAITING: &str = "the count of a client's numbers that wait";

/// The used counters, as disjoint ranges that do not touch: a map from their starts to their ends.
#[derive(Debug, Default)]
struct Used(BTreeMap<u64, u64>);

impl Used {
    /// The first of these counters that is used.
    fn first_of(&self, counters: &Range<u64>) -> Option<u64> {
        let before = self
            .0
            .range(..=counters.start)
            .next_back()
            .filter(|(_, end)| **end > counters.start)
            .map(|_| counters.start);
        before.or_else(|| self.0.range(counters.clone()).next().map(|(&start, _)| start))
    }

    fn has_all(&self, counters: &Range<u64>) -> bool {
        self.0.range(..=counters.start).next_back().is_some_and(|(_, &end)| end >= counters.end)
    }

    fn mark(&mut self, counters: Range<u64>) {
        let (mut start, mut end) = (counters.start, counters.end);
        if let Some((&first, &last)) = self.0.range(..=start).next_back()
            && last >= start
        {
            (start, end) = (first, end.max(last));
        }
        while let Some((&first, &last)) = self.0.range(start..=end).next() {
            self.0.remove(&first);
            end = end.max(last);
        }
        self.0.insert(start, end);
    }
}

/// A client and its used counters.
#[derive(Debug)]
struct Client {
    receiver: Receiver,
    used: Used,
}

/// The counters and samples of the messages of one call that are not stored yet.
#[derive(Debug, Default)]
struct Fresh {
    used: BTreeMap<ClientId, Used>,
    samples: BTreeMap<Serial, usize>,
}

/// Taken samples, each with its client's serial number.
type Samples = Vec<(Serial, Waiting)>;

/// Messages of light clients, kept in a file.
#[derive(Debug)]
pub struct Inbox {
    path: PathBuf,
    file: File,
    params: Params,
    key: AuthenticationKey,
    /// The id of the file, drawn when the file was created.
    id: [u8; 16],
    clients: BTreeMap<ClientId, Client>,
    /// The clients, by the first bytes of their messages.
    prefixes: BTreeMap<[u8; 4], ClientId>,
    queue: Queue,
    /// Maximum of the waiting numbers of one client.
    most_waiting: usize,
    /// Number of batches that are done.
    batches: u64,
    /// The checksum of the last record.
    last: [u8; 8],
    /// Length of the header and all complete records in bytes.
    length: u64,
}

/// Samples that are processed together.
#[derive(Debug)]
pub struct Batch {
    /// In the order of the arrays' entries.
    samples: Vec<(Serial, Waiting)>,
    arrays: Vec<Ciphertext>,
}

impl Batch {
    /// The samples as arrays, one for each secret, in the order in which they were accepted.
    #[must_use]
    pub fn arrays(&self) -> &[Ciphertext] {
        &self.arrays
    }

    /// The time since the oldest of the samples was accepted.
    #[must_use]
    pub fn age(&self) -> Duration {
        let first = self.samples.iter().map(|(_, sample)| sample.at).min().unwrap_or_else(now);
        Duration::from_millis(now().saturating_sub(first))
    }

    /// Client and counter of each sample, in the order of the arrays' entries.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = (ClientId, u64)> + '_ {
        self.samples.iter().map(|(_, sample)| (sample.client, sample.counters.start))
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
    /// Opens the inbox at `path`, or creates one, for clients of these parameters and of the owner of `key`.
    /// Only one program can have it open at a time.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file cannot be opened, read or written; [`CkksError::OutOfRange`] for a
    /// file that another program has open, that is not an inbox, is for other parameters, or is damaged
    /// before its end; [`CkksError::WrongSecret`] for the inbox of another owner; [`CkksError::WrongParams`]
    /// for a key of other parameters.
    pub fn open(path: impl AsRef<Path>, params: &Params, key: &AuthenticationKey) -> Result<Self, CkksError> {
        params.check_related(key.params(), "the authentication key")?;
        let path = path.as_ref().to_path_buf();
        let io = |action: &'static str| {
            let path = path.clone();
            move |error| CkksError::from(FileError::io(&path, action, error))
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io("open"))?;
        if file.try_lock().is_err() {
            let remedy = "another program has it open: stop that, or use another file";
            return Err(unreadable(WHAT, path.display().to_string(), remedy).into());
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io("read"))?;
        let digest = *params.root()?.digest();
        let known = [&HEADER[..], &digest].concat();
        let mut inbox = Self {
            path: path.clone(),
            file,
            params: params.clone(),
            key: key.clone(),
            id: [0; 16],
            clients: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            queue: Queue::default(),
            most_waiting: MAX_WAITING,
            batches: 0,
            last: [0; 8],
            length: HEADER_BYTES,
        };
        if bytes.len() < HEADER_BYTES as usize && bytes.iter().zip(&known).all(|(own, known)| own == known) {
            // The file is new, or a program ended while it created the file.
            SecretRng::from_os()?.fill_bytes(&mut inbox.id);
            inbox.last = checksum(&[0; 8], &inbox.id);
            let header = [&known[..], &inbox.id].concat();
            inbox.file.set_len(0).map_err(io("write"))?;
            inbox.file.seek(SeekFrom::Start(0)).map_err(io("write"))?;
            inbox.file.write_all(&header).and_then(|()| inbox.file.sync_all()).map_err(io("write"))?;
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(io("write"))?;
            return Ok(inbox);
        }
        if bytes.get(..HEADER.len()) != Some(&HEADER[..]) {
            return Err(unreadable(
                WHAT,
                path.display().to_string(),
                "it is no inbox of this release: use another file",
            )
            .into());
        }
        if bytes.get(HEADER.len()..known.len()) != Some(&digest[..]) {
            return Err(unreadable(
                WHAT,
                path.display().to_string(),
                "it is for other parameters: use those, or another file",
            )
            .into());
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
        inbox
            .file
            .set_len(inbox.length)
            .and_then(|()| inbox.file.seek(SeekFrom::End(0)))
            .map_err(io("write"))?;
        Ok(inbox)
    }

    /// The payload of the record at byte `at`; `None` at the end, and for an incomplete last record. Zeros
    /// after the last record are allowed: a system may have allocated space for a record without writing it.
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
        Err(unreadable(WHAT, value, "restore it from a copy, or move it away and let the clients send again")
            .into())
    }

    /// Applies a record.
    fn apply(&mut self, payload: &[u8]) -> Result<(), CkksError> {
        let mut reader = Reader { bytes: payload, what: WHAT };
        match reader.array::<1>()? {
            [INTRODUCED] => {
                self.add(Receiver::new(&self.params, reader.bytes, &self.key)?);
                Ok(())
            }
            [ACCEPTED] => {
                let (at, id) = (reader.word()?, reader.array()?);
                let known = self.clients.get(&id);
                let known = known.ok_or_else(|| {
                    unreadable(WHAT, "a message of an unknown client".to_owned(), "the file is damaged")
                })?;
                let opened = known.receiver.opened(reader.bytes)?;
                self.enter(id, &opened, at);
                Ok(())
            }
            [DONE] => {
                let mut done = BTreeSet::new();
                for _ in 0..reader.word()? {
                    done.insert((reader.array::<32>()?, reader.word()?));
                }
                self.queue.remove(&done);
                self.batches += 1;
                Ok(reader.end()?)
            }
            [kind] => Err(unreadable(
                WHAT,
                format!("a record of kind {kind}"),
                "it is of a later release: use that",
            )
            .into()),
        }
    }

    fn enter(&mut self, id: ClientId, opened: &Opened<'_>, at: u64) {
        let Some(known) = self.clients.get_mut(&id) else { return };
        known.used.mark(opened.counter..opened.counter + opened.count as u64);
        self.queue.push(known.receiver.serial(), id, at, opened.counter, opened.count, opened.bodies);
    }

    /// Appends records and waits until they are stored. On an error the file is cut to its previous length.
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
        let written = self
            .file
            .seek(SeekFrom::Start(self.length))
            .and_then(|_| self.file.write_all(&bytes))
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            let _ = self.file.set_len(self.length);
            return Err(FileError::io(&self.path, "write", error).into());
        }
        (self.last, self.length) = (last, self.length + bytes.len() as u64);
        Ok(())
    }

    fn add(&mut self, receiver: Receiver) {
        let id = receiver.client_id();
        self.prefixes.entry(receiver.prefix()).or_insert(id);
        self.clients.entry(id).or_insert_with(|| Client { receiver, used: Used::default() });
    }

    /// Adds a client by its introduction; repeating an introduction has no effect.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] if another client's messages begin with the same bytes (by chance 2^-32, or
    /// because a client of the owner chose its seed so); [`CkksError::File`]; those of [`Receiver::new`].
    pub fn introduce(&mut self, introduction: &[u8]) -> Result<ClientId, CkksError> {
        let receiver = Receiver::new(&self.params, introduction, &self.key)?;
        let id = receiver.client_id();
        if !self.clients.contains_key(&id) {
            if self.prefixes.contains_key(&receiver.prefix()) {
                let remedy = "make the client anew from its state, which draws another seed";
                return Err(unreadable(
                    "the introduction of a light client",
                    "whose messages begin as those of another one".to_owned(),
                    remedy,
                )
                .into());
            }
            self.append(&[[&[INTRODUCED], introduction].concat()])?;
            self.add(receiver);
        }
        Ok(id)
    }

    /// The random id of the inbox, drawn when its file was created.
    #[must_use]
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// The client of a message, if it is introduced.
    #[must_use]
    pub fn client_of(&self, message: &[u8]) -> Option<ClientId> {
        self.prefixes.get(message.get(..4)?).copied()
    }

    /// Whether samples with all counters of the message were accepted before.
    #[must_use]
    pub fn knows(&self, message: &[u8]) -> bool {
        let known = self.client_of(message).and_then(|id| self.clients.get(&id));
        let opened = known.and_then(|client| Some((client, client.receiver.opened(message).ok()?)));
        opened
            .is_some_and(|(client, own)| client.used.has_all(&(own.counter..own.counter + own.count as u64)))
    }

    /// Sets how many numbers of one client may wait; the numbers of one sample may always wait. Clients made
    /// from one state count as one client. Messages beyond the limit are refused ([`TOO_MANY_WAITING`]).
    pub fn limit_waiting(&mut self, most: usize) {
        self.most_waiting = most;
    }

    /// Stores messages of any clients. Returns for each message the number of stored samples, or the reason
    /// why it is refused, which does not affect the other messages. Stored messages are safe when this
    /// function returns.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file cannot be written: then no message was stored.
    pub fn accept(&mut self, messages: &[&[u8]]) -> Result<Vec<Result<usize, CkksError>>, CkksError> {
        let at = now();
        let mut answers = Vec::with_capacity(messages.len());
        let mut payloads = Vec::new();
        let mut entered = Vec::new();
        let mut fresh = Fresh::default();
        for message in messages {
            let answer = self.examined(message, &mut fresh);
            if let Ok((client, opened)) = &answer {
                let mut payload = Writer::default();
                payload.bytes(&[ACCEPTED]);
                payload.word(at);
                payload.bytes(client);
                payload.bytes(message);
                payloads.push(payload.0);
                entered.push((*client, *opened));
            }
            answers.push(answer.map(|(_, opened)| opened.count));
        }
        if !payloads.is_empty() {
            self.append(&payloads)?;
        }
        entered.into_iter().for_each(|(client, opened)| self.enter(client, &opened, at));
        Ok(answers)
    }

    /// Checks a message, whose counters must all be unused; returns its client and its samples.
    fn examined<'m>(
        &self,
        message: &'m [u8],
        fresh: &mut Fresh,
    ) -> Result<(ClientId, Opened<'m>), CkksError> {
        const MESSAGE: &str = "a message of a light client";
        if message.len() > MAX_PAYLOAD as usize / 2 {
            return Err(unreadable(
                MESSAGE,
                format!("{} bytes", message.len()),
                "send fewer numbers at a time",
            )
            .into());
        }
        let Some((id, client)) = self.client_of(message).and_then(|id| Some((id, self.clients.get(&id)?)))
        else {
            return Err(
                unreadable(MESSAGE, "of an unknown client".to_owned(), "introduce the client first").into()
            );
        };
        let opened = client.receiver.opened(message)?;
        let counters = opened.counter..opened.counter + opened.count as u64;
        let seen = fresh.used.entry(id).or_default();
        if let Some(used) = client.used.first_of(&counters).or_else(|| seen.first_of(&counters)) {
            let remedy = "it was accepted before: a client counts on, and a message is sent again only if there was no answer".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the counter of a sample",
                value: used.to_string(),
                remedy,
            });
        }
        let (serial, degree) = (client.receiver.serial(), client.receiver.params().degree());
        let most = self.most_waiting.max(degree);
        if opened.count * degree > most {
            let value = format!("of {}", counted(opened.count * degree, "number"));
            return Err(unreadable(
                MESSAGE,
                value,
                &format!("at most {most} of one client may wait: send fewer numbers at a time"),
            )
            .into());
        }
        let others = fresh.samples.entry(serial).or_default();
        let waiting = (self.queue.of(&serial) + *others + opened.count) * degree;
        if waiting > most {
            let remedy = format!(
                "at most {most} may wait: send the message again when earlier ones have been computed"
            );
            return Err(CkksError::OutOfRange { what: TOO_MANY_WAITING, value: waiting.to_string(), remedy });
        }
        *others += opened.count;
        seen.mark(counters);
        Ok((id, opened))
    }

    /// Number of waiting samples.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// How long the oldest sample has waited; `None` if none waits.
    #[must_use]
    pub fn oldest(&self) -> Option<Duration> {
        Some(Duration::from_millis(now().saturating_sub(self.queue.oldest()?)))
    }

    /// The introduced clients.
    pub fn clients(&self) -> impl ExactSizeIterator<Item = ClientId> + '_ {
        self.clients.keys().copied()
    }

    /// The receiver of each client.
    pub fn receivers(&self) -> impl ExactSizeIterator<Item = &Receiver> {
        self.clients.values().map(|client| &client.receiver)
    }

    /// Takes at most `most` samples, in turns, of the clients whose samples fit those of the next client: the
    /// same secret, shape, level and scale. The batch has the oldest sample of each client, then the next
    /// sample of each, until it is full; the next batch continues with the next client. `None` if no samples
    /// wait. A reopened inbox returns the samples again, unless [`Inbox::done`] was called.
    ///
    /// # Errors
    /// [`CkksError::NotEnoughMemory`].
    pub fn take(&mut self, most: usize) -> Result<Option<Batch>, CkksError> {
        self.take_alike(most, |a, b| a == b)
    }

    /// [`Inbox::take`] of clients whose samples may have different secrets: the batch has an array for each
    /// secret, for [`SamplesPlan::run_on`](clathrate_ckks::circuits::samples::SamplesPlan::run_on).
    pub fn take_of_all_secrets(&mut self, most: usize) -> Result<Option<Batch>, CkksError> {
        self.take_alike(most, |a, b| Kind { device: b.device, ..*a } == *b)
    }

    fn take_alike(
        &mut self,
        most: usize,
        alike: impl Fn(&Kind, &Kind) -> bool,
    ) -> Result<Option<Batch>, CkksError> {
        let Self { clients, queue, .. } = self;
        let receiver = |sample: &Waiting| clients.get(&sample.client).map(|client| &client.receiver);
        let kind = |sample: &Waiting| receiver(sample).map(Receiver::kind);
        let taken = queue.take(most, |wanted, own| {
            kind(wanted).zip(kind(own)).is_some_and(|(wanted, own)| alike(&wanted, &own))
        });
        if taken.is_empty() {
            return Ok(None);
        }
        let mut by_kind: Vec<(Option<Kind>, Samples)> = Vec::new();
        for (serial, sample) in taken {
            let own = kind(&sample);
            match by_kind.iter_mut().find(|(known, _)| *known == own) {
                Some((_, samples)) => samples.push((serial, sample)),
                None => by_kind.push((own, vec![(serial, sample)])),
            }
        }
        let mut arrays = Vec::with_capacity(by_kind.len());
        let mut failure = None;
        for (_, samples) in &by_kind {
            let place = |sample: &Waiting| (sample.counters.start - sample.first) as usize;
            let found: Vec<_> = samples
                .iter()
                .filter_map(|(_, sample)| {
                    Some((receiver(sample)?, sample.counters.start, &*sample.bodies, place(sample)))
                })
                .collect();
            match Receiver::joined(&found) {
                Ok(array) => arrays.extend(array),
                Err(error) => failure = Some(error),
            }
        }
        let samples: Vec<_> = by_kind.into_iter().flat_map(|(_, samples)| samples).collect();
        match failure {
            Some(error) => {
                queue.give_back(samples.into_iter());
                Err(error)
            }
            None => Ok(Some(Batch { samples, arrays })),
        }
    }

    /// Records that the results of the batch are safe.
    ///
    /// # Errors
    /// [`CkksError::File`]: the batch is then not done, and a reopened inbox returns it again.
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

    /// Number of batches that are done.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Returns a batch whose computation failed to the queue.
    pub fn give_back(&mut self, batch: Batch) {
        self.queue.give_back(batch.samples.into_iter());
    }
}
