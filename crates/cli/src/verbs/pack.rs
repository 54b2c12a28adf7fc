//! `clathrate pack`: converts messages of light clients, from a folder or from standard input, to encrypted
//! arrays at a high level.
//!
//! ```text
//! intake     lines of standard input, or files of a folder          -> introductions and messages
//! inbox      stores them, then they are acknowledged                -> survives a killed program
//! worker     packs and bootstraps a batch, while messages come in   -> NUMBER.clt and NUMBER.json
//! ```
//!
//! Both files of a batch are stored under hidden names; then the inbox marks the batch as done, and the files
//! are renamed. If the program ends before the batch is done, the next run computes it again under the same
//! number; if it ends afterwards, the next run renames the files. So each sample is in exactly one result,
//! even if earlier results were moved away.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use clathrate_arith::text::counted;
use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use clathrate_ckks::file::OutputFile;
use clathrate_ckks::key_id::KeyId;
use clathrate_ckks::light::{AuthenticationKey, ClientId, Receiver};
use clathrate_ckks::{Ciphertext, CkksError, EvaluationKeys, Evaluator, Params, Runtime, SecretName};
use clathrate_service::{Batch, Inbox, MAX_WAITING, TOO_MANY_WAITING};
use serde_json::{Value, json};

use super::{document, warn_insecure};
use crate::arguments::{Pack, SampleKind};
use crate::console::Console;
use crate::failure::Failure;
use crate::files;
use crate::intake::{Content, Intake, Item};

/// How long the service waits for messages before it checks its batches.
const PATIENCE: Duration = Duration::from_millis(20);

/// Batches of one client's numbers that may wait, if that is more than the inbox's default limit.
const CLIENT_BATCHES: usize = 2;

/// Number of clients at their limit whose numbers may wait together; further messages are not read until a
/// batch is done.
const FULL_CLIENTS: usize = 4;

impl SampleKind {
    /// The secrets of the samples, at least one.
    pub(crate) fn secrets(&self) -> Vec<SecretName> {
        if self.client.is_empty() {
            vec![SecretName::Main]
        } else {
            self.client.iter().copied().map(SecretName::Device).collect()
        }
    }

    /// The options of a plan for `count` numbers.
    pub(crate) fn options(&self, count: usize, key_bytes: Option<usize>) -> SamplesOptions {
        SamplesOptions {
            count: Some(count),
            degree: self.sample_degree,
            secret: self.secrets()[0],
            pairs: self.pairs || self.sample_degree > 1,
            most_key_bytes: key_bytes,
            ..SamplesOptions::default()
        }
    }
}

/// Runs the verb.
pub(crate) fn run(arguments: &Pack, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let params = files::params(&arguments.params.params, arguments.params.accepted, runtime)?;
    warn_insecure(console, &params);
    let keys = files::load(&arguments.evaluation, |reader| EvaluationKeys::from_reader(reader, &params))?;
    let (owner, secrets) = (keys.id(), arguments.kind.secrets());
    let authentication = files::load(&arguments.authentication, |reader| {
        let key = AuthenticationKey::from_reader(reader, &params)?;
        owner.check_same(key.key_id(), "the authentication key")?;
        Ok(key)
    })?;
    let options = arguments.kind.options(arguments.samples, arguments.key_bytes);
    let plan = SamplesPlan::for_keys(&params, &options, &keys, &secrets).map_err(|error| match error {
        error @ CkksError::MissingKeys { .. } => Failure::file(&arguments.evaluation, error),
        other => other.into(),
    })?;
    let plan = Arc::new(plan);
    let predicted = Duration::from_secs_f64(plan.predicted_nanoseconds() / 1e9);
    // The prediction is for one thread.
    let least = predicted / u32::try_from(runtime.threads.unwrap_or(1)).unwrap_or(1).max(1);
    let deadline = arguments.deadline.map(|seconds| deadline(seconds, least, plan.count())).transpose()?;
    let evaluator = Evaluator::with_keys(keys);
    let lines = arguments.from.as_os_str() == "-";
    if lines && arguments.idle.is_some() {
        return Err(Failure::Usage("--idle is for a folder: standard input ends by itself".to_owned()));
    }
    let mut intake = if lines {
        Intake::lines()
    } else {
        Intake::folder(&arguments.from, arguments.idle.map(Duration::from_secs_f64))?
    };
    let mut inbox = Inbox::open(&arguments.inbox, &params, &authentication).map_err(|error| match error {
        error @ CkksError::WrongSecret { .. } => Failure::file(&arguments.inbox, error),
        other => other.into(),
    })?;
    let limit = MAX_WAITING.max(CLIENT_BATCHES * plan.count());
    inbox.limit_waiting(limit);
    for receiver in inbox.receivers() {
        plan.check_client(receiver, owner, &secrets)
            .map_err(|error| Failure::file(&arguments.inbox, error))?;
    }
    let output = Output::open(&arguments.output, &inbox)?;
    let mut service = Service {
        params,
        authentication,
        plan,
        owner,
        secrets,
        inbox,
        limit,
        crowded: false,
        output,
        deadline,
        expected: predicted,
        longest: Duration::ZERO,
        lines,
        console,
    };
    service.recover()?;
    service.serve(&evaluator, &mut intake)
}

/// Checks that the deadline can be met.
fn deadline(seconds: f64, least: Duration, count: usize) -> Result<Duration, Failure> {
    let least = least.as_secs_f64();
    if seconds < least {
        let remedy = format!(
            "{} take {least:.2} s to bootstrap as predicted: allow more than that, or use fewer samples",
            counted(count, "number")
        );
        return Err(
            CkksError::OutOfRange { what: "the deadline", value: format!("{seconds} s"), remedy }.into()
        );
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn io(path: &Path, action: &'static str, source: std::io::Error) -> Failure {
    Failure::Io { path: path.to_owned(), action, source }
}

/// A batch, its result, and the time that it took.
type Computed = (Batch, Result<Ciphertext, CkksError>, Duration);

/// The folder of results. It belongs to one inbox and is used by one program at a time.
struct Output {
    folder: PathBuf,
    /// Locked while the folder is used.
    _owner: File,
}

impl Output {
    /// The file that names the inbox whose results these are.
    const OWNER: &str = ".inbox";

    /// Opens the folder `folder` for the results of `inbox`, or makes it.
    fn open(folder: &Path, inbox: &Inbox) -> Result<Self, Failure> {
        let failed = |action| move |source| io(folder, action, source);
        let refused = |remedy: &str| -> Failure {
            CkksError::OutOfRange {
                what: "the folder of results",
                value: folder.display().to_string(),
                remedy: remedy.to_owned(),
            }
            .into()
        };
        std::fs::create_dir_all(folder).map_err(failed("make the folder"))?;
        let path = folder.join(Self::OWNER);
        let mut owner = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed("write to the folder"))?;
        if owner.try_lock().is_err() {
            return Err(refused("another server writes to it: stop that, or use another folder"));
        }
        let (mut known, id) = (String::new(), hex(&inbox.id()));
        owner.read_to_string(&mut known).map_err(failed("read the folder"))?;
        if known != id {
            let mut there = std::fs::read_dir(folder).map_err(failed("read the folder"))?;
            if there.any(|entry| entry.is_ok_and(|entry| entry.file_name() != Self::OWNER)) {
                return Err(refused("it has results of another inbox, or other files: use an empty folder"));
            }
            let mut write = || {
                owner.set_len(0)?;
                owner.seek(SeekFrom::Start(0))?;
                owner.write_all(id.as_bytes())?;
                owner.sync_all()
            };
            write().map_err(failed("write to the folder"))?;
        }
        Ok(Self { folder: folder.to_owned(), _owner: owner })
    }

    /// The files of batch `number`: the array, and the list of its samples.
    fn names(&self, number: u64) -> [PathBuf; 2] {
        ["clt", "json"].map(|extension| self.folder.join(format!("{number:08}.{extension}")))
    }

    /// The hidden names of these files before the batch is done.
    fn hidden(&self, number: u64) -> [PathBuf; 2] {
        ["clt", "json"].map(|extension| self.folder.join(format!(".{number:08}.{extension}")))
    }

    /// Renames the files of a batch that is done. Returns whether any had a hidden name.
    fn publish(&self, number: u64) -> Result<bool, Failure> {
        let mut any = false;
        for (from, to) in self.hidden(number).iter().zip(self.names(number)) {
            if from.exists() {
                std::fs::rename(from, &to).map_err(|source| io(&to, "write", source))?;
                any = true;
            }
        }
        if any {
            File::open(&self.folder)
                .and_then(|folder| folder.sync_all())
                .map_err(|source| io(&self.folder, "write to the folder", source))?;
        }
        Ok(any)
    }
}

struct Service<'a> {
    params: Params,
    authentication: AuthenticationKey,
    plan: Arc<SamplesPlan>,
    owner: KeyId,
    /// The secrets for which there are keys.
    secrets: Vec<SecretName>,
    inbox: Inbox,
    /// Largest number of numbers of one client that may wait.
    limit: usize,
    /// Whether a message was refused for lack of room since the last batch began: then the next batch does
    /// not wait until it is full.
    crowded: bool,
    output: Output,
    deadline: Option<Duration>,
    /// The expected time of a batch: predicted, then the longest measured time.
    expected: Duration,
    longest: Duration,
    /// Whether messages are lines, each of which has an answer.
    lines: bool,
    console: &'a Console,
}

impl Service<'_> {
    /// Renames the files of the last batch, if the program ended before it did.
    fn recover(&mut self) -> Result<(), Failure> {
        let number = self.inbox.batches();
        if number == 0 || !self.output.publish(number)? {
            return Ok(());
        }
        let [array, description] = self.output.names(number);
        let text = std::fs::read(&description).map_err(|source| io(&description, "read", source))?;
        let mut report: Value = serde_json::from_slice(&text).unwrap_or_default();
        report["recovered"] = true.into();
        self.announce(&array, report)
    }

    /// Stores messages and computes batches until the intake ends and no message waits.
    fn serve(&mut self, evaluator: &Evaluator, intake: &mut Intake) -> Result<(), Failure> {
        let plan = self.plan.clone();
        let most = FULL_CLIENTS * self.limit / self.plan.samples().degree();
        thread::scope(|scope| {
            let mut running: Option<ScopedJoinHandle<'_, Computed>> = None;
            let mut ended = false;
            loop {
                if let Some(worker) = running.take_if(|worker| worker.is_finished()) {
                    let (batch, result, took) = worker.join().map_err(|_| {
                        Failure::Internal("the computation of a batch panicked; its samples wait".to_owned())
                    })?;
                    self.longest = self.longest.max(took);
                    self.expected = self.longest;
                    self.store(batch, &result?, took)?;
                    intake.release();
                }
                if running.is_none()
                    && self.is_due(ended)
                    && let Some(batch) = self.inbox.take_of_all_secrets(self.per_batch())?
                {
                    self.crowded = false;
                    let plan = Arc::clone(&plan);
                    let work = move || {
                        let start = Instant::now();
                        let arrays: Vec<&Ciphertext> = batch.arrays().iter().collect();
                        let result = plan.run_on(evaluator, &arrays);
                        (batch, result, start.elapsed())
                    };
                    running = Some(scope.spawn(work));
                }
                if ended && running.is_none() && self.inbox.waiting() == 0 {
                    return Ok(());
                }
                if ended || self.inbox.waiting() >= most {
                    thread::sleep(PATIENCE);
                } else {
                    let (items, last) = intake.next(PATIENCE)?;
                    ended = last;
                    self.take_in(items, intake)?;
                }
            }
        })
    }

    /// Samples in a full batch.
    fn per_batch(&self) -> usize {
        self.plan.count() / self.plan.samples().degree()
    }

    /// Whether a batch should begin.
    fn is_due(&self, ended: bool) -> bool {
        let waiting = self.inbox.waiting();
        let late = || {
            let begin = self.deadline.map(|deadline| deadline.saturating_sub(self.expected));
            begin.zip(self.inbox.oldest()).is_some_and(|(begin, age)| age >= begin)
        };
        waiting >= self.per_batch() || waiting > 0 && (ended || self.crowded || late())
    }

    /// Stores introductions and messages, and answers each.
    fn take_in(&mut self, items: Vec<Item>, intake: &mut Intake) -> Result<(), Failure> {
        let mut messages: Vec<(Item, Vec<u8>)> = Vec::new();
        for mut item in items {
            match std::mem::replace(&mut item.content, Content::Nothing) {
                Content::Message(bytes) => messages.push((item, bytes)),
                Content::Introduction(bytes) => {
                    // A client's messages follow its introduction.
                    self.accept(std::mem::take(&mut messages), intake)?;
                    let known = self.introduce(&bytes)?;
                    self.answer(&item, known.map(|id| json!({ "client": hex(&id) })), intake)?;
                }
                Content::Malformed(reason) => {
                    // Answers keep the order of the items.
                    self.accept(std::mem::take(&mut messages), intake)?;
                    self.answer(&item, Err(Failure::Usage(reason)), intake)?;
                }
                Content::Nothing => {}
            }
        }
        self.accept(messages, intake)
    }

    /// Introduces a client; returns its id, or why it is refused.
    fn introduce(&mut self, introduction: &[u8]) -> Result<Result<ClientId, Failure>, Failure> {
        let checked = Receiver::new(&self.params, introduction, &self.authentication)
            .and_then(|receiver| self.plan.check_client(&receiver, self.owner, &self.secrets));
        if let Err(error) = checked {
            return Ok(Err(error.into()));
        }
        match self.inbox.introduce(introduction) {
            // The inbox cannot be written, so no other message can be stored either.
            Err(error @ CkksError::File(_)) => Err(error.into()),
            answer => Ok(answer.map_err(Failure::from)),
        }
    }

    fn accept(&mut self, messages: Vec<(Item, Vec<u8>)>, intake: &mut Intake) -> Result<(), Failure> {
        // A message may have been read before its client's introduction.
        let comes_again = |item: &Item, bytes: &[u8], intake: &mut Intake| {
            self.inbox.client_of(bytes).is_none() && intake.put_back(item)
        };
        let messages: Vec<_> =
            messages.into_iter().filter(|(item, bytes)| !comes_again(item, bytes, intake)).collect();
        if messages.is_empty() {
            return Ok(());
        }
        let bytes: Vec<&[u8]> = messages.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        let answers = self.inbox.accept(&bytes)?;
        for ((item, bytes), answer) in messages.iter().zip(answers) {
            self.crowded |= matches!(answer, Err(CkksError::OutOfRange { what: TOO_MANY_WAITING, .. }));
            let answer = match answer {
                Ok(stored) => Ok(json!({ "stored": stored })),
                // The message was stored by a run that ended before its answer, or was sent again because no
                // answer arrived.
                Err(_) if self.inbox.knows(bytes) => Ok(json!({ "stored": 0, "known": true })),
                Err(CkksError::OutOfRange { what: TOO_MANY_WAITING, .. }) if intake.hold(item) => continue,
                Err(error) => Err(error.into()),
            };
            self.answer(item, answer, intake)?;
        }
        Ok(())
    }

    /// Answers an item, and ends the work on it.
    fn answer(
        &self,
        item: &Item,
        answer: Result<Value, Failure>,
        intake: &mut Intake,
    ) -> Result<(), Failure> {
        let refusal = answer.as_ref().err().map(ToString::to_string);
        if let Err(trouble) = intake.settle(item, refusal.is_some()) {
            self.console.warn(trouble);
        }
        let mut said = answer.unwrap_or_else(|failure| failure.json());
        said["from"] = item.name.clone().into();
        match refusal {
            _ if self.lines => self.console.line(&said),
            Some(reason) => self.console.result(format!("refused {}: {reason}", item.name), &said),
            None => Ok(()),
        }
    }

    /// Writes a result and the list of its samples, marks the batch as done, and renames the files.
    fn store(&mut self, batch: Batch, result: &Ciphertext, took: Duration) -> Result<(), Failure> {
        let number = self.inbox.batches() + 1;
        let ([array, description], [hidden, hidden_description]) =
            (self.output.names(number), self.output.hidden(number));
        if let Some(there) = [&array, &description].into_iter().find(|path| path.exists()) {
            let remedy =
                "the inbox is older than its results: restore it, or use a new one and an empty folder"
                    .to_owned();
            return Err(CkksError::OutOfRange {
                what: "a result that is there already",
                value: there.display().to_string(),
                remedy,
            }
            .into());
        }
        let bytes = files::save(&hidden, result)?;
        let sources: Vec<Value> = batch
            .sources()
            .map(|(client, counter)| json!({ "client": hex(&client), "counter": counter }))
            .collect();
        let clients: BTreeSet<ClientId> = batch.sources().map(|(client, _)| client).collect();
        let mut report = document(result, &array, bytes);
        report["numbers"] = (sources.len() * self.plan.samples().degree()).into();
        report["clients"] = clients.len().into();
        report["seconds"] = took.as_secs_f64().into();
        let waited = batch.age();
        report["waited"] = waited.as_secs_f64().into();
        let late = self.deadline.and_then(|deadline| waited.checked_sub(deadline));
        report["late"] = late.map(|late| late.as_secs_f64()).into();
        report["samples"] = sources.into();
        write_json(&hidden_description, &report)?;
        self.inbox.done(batch)?;
        self.output.publish(number)?;
        if let Some(late) = late {
            self.console.warn(format!(
                "{} is {:.2} s behind the deadline",
                array.display(),
                late.as_secs_f64()
            ));
        }
        self.announce(&array, report)
    }

    /// Reports a result.
    fn announce(&self, array: &Path, mut report: Value) -> Result<(), Failure> {
        if let Some(own) = report.as_object_mut() {
            own.remove("samples");
        }
        if self.lines {
            return self.console.line(&report);
        }
        let number = |field: &str| report[field].as_u64().unwrap_or(0) as usize;
        let (numbers, clients) = (counted(number("numbers"), "number"), counted(number("clients"), "client"));
        let seconds = report["seconds"].as_f64().unwrap_or(0.0);
        self.console
            .result(format!("wrote {}: {numbers} of {clients} in {seconds:.2} s", array.display()), &report)
    }
}

/// Writes a JSON file, completely or not at all.
fn write_json(path: &Path, document: &Value) -> Result<(), Failure> {
    let failed = |error: clathrate_ckks::file::FileError| Failure::file(path, CkksError::File(error));
    let mut file = OutputFile::create(path, false).map_err(failed)?;
    file.write_all(document.to_string().as_bytes()).map_err(|source| io(path, "write", source))?;
    file.commit().map_err(failed)?;
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
