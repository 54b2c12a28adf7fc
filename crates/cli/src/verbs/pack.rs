//! `clathrate pack`: messages of light clients, from a folder or from standard input, become encrypted arrays at a high level.
//!
//! ```text
//! intake     lines of standard input, or files of a folder          -> introductions and messages
//! inbox      stores them, then they are acknowledged                -> survives any end of the program
//! worker     packs and bootstraps a batch, while messages come in   -> NUMBER.clt and NUMBER.json
//! ```
//!
//! A batch is done after both of its files are stored. Where the program ends between them, the next run computes the batch again, or finds both files and goes on behind them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use clathrate_arith::text::counted;
use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use clathrate_ckks::file::OutputFile;
use clathrate_ckks::key_id::KeyId;
use clathrate_ckks::light::{Batch, ClientId, Inbox, Receiver};
use clathrate_ckks::{Ciphertext, CkksError, EvaluationKeys, Evaluator, Params, Runtime, SecretName};
use serde_json::{Value, json};

use super::{document, warn_insecure};
use crate::arguments::{Pack, SampleKind};
use crate::console::Console;
use crate::failure::Failure;
use crate::files;
use crate::intake::{Content, Intake, Item};

/// How long the service waits for messages before it looks after its batches.
const PATIENCE: Duration = Duration::from_millis(20);

/// Batches' worth of samples that may wait; messages beyond these stay where they are until a batch is done.
const MOST_BATCHES: usize = 8;

impl SampleKind {
    /// The secrets of the samples, at least one.
    pub fn secrets(&self) -> Vec<SecretName> {
        if self.device.is_empty() { vec![SecretName::Main] } else { self.device.iter().copied().map(SecretName::Device).collect() }
    }

    /// The options of a plan for `count` numbers.
    pub fn options(&self, count: usize, key_bytes: Option<usize>) -> SamplesOptions {
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
pub fn run(arguments: &Pack, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let params = files::params(&arguments.params.params, runtime)?;
    warn_insecure(console, &params);
    let plan = Arc::new(SamplesPlan::new(&params, &arguments.kind.options(arguments.samples, arguments.key_bytes))?);
    let predicted = Duration::from_secs_f64(plan.predicted_nanoseconds() / 1e9);
    let deadline = arguments.deadline.map(|seconds| deadline(seconds, predicted, plan.count())).transpose()?;
    let keys = files::load(&arguments.evaluation, |reader| EvaluationKeys::from_reader(reader, &params))?;
    let (owner, secrets) = (keys.id(), arguments.kind.secrets());
    let evaluator = Evaluator::with_keys(keys);
    std::fs::create_dir_all(&arguments.output).map_err(|source| io(&arguments.output, "make the folder", source))?;
    let inbox = Inbox::open(&arguments.inbox, &params)?;
    for receiver in inbox.receivers() {
        plan.check_client(receiver, owner, &secrets).map_err(|error| Failure::file(&arguments.inbox, error))?;
    }
    let idle = arguments.idle.map(Duration::from_secs_f64);
    let lines = arguments.from.as_os_str() == "-";
    let mut intake = if lines { Intake::lines() } else { Intake::folder(&arguments.from, idle)? };
    let mut service =
        Service { params, plan, owner, secrets, inbox, output: &arguments.output, deadline, expected: predicted, lines, console };
    service.recover()?;
    service.serve(&evaluator, &mut intake)
}

/// A deadline that can be met.
fn deadline(seconds: f64, predicted: Duration, count: usize) -> Result<Duration, Failure> {
    let least = predicted.as_secs_f64();
    if seconds < least {
        let remedy =
            format!("{} take {least:.2} s to bootstrap as predicted: allow more than that, or use fewer samples", counted(count, "number"));
        return Err(CkksError::OutOfRange { what: "the deadline", value: format!("{seconds} s"), remedy }.into());
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn io(path: &Path, action: &'static str, source: std::io::Error) -> Failure {
    Failure::Io { path: path.to_owned(), action, source }
}

/// A batch that is being computed, since when.
type Running<'scope> = (Instant, ScopedJoinHandle<'scope, (Batch, Result<Ciphertext, CkksError>)>);

struct Service<'a> {
    params: Params,
    plan: Arc<SamplesPlan>,
    owner: KeyId,
    /// Those that there are keys for.
    secrets: Vec<SecretName>,
    inbox: Inbox,
    output: &'a Path,
    deadline: Option<Duration>,
    /// How long a batch takes: as predicted, or as the last one took.
    expected: Duration,
    /// Whether messages are lines, each of which has an answer.
    lines: bool,
    console: &'a Console,
}

impl Service<'_> {
    /// The files of batch `number`: the array, and whose samples it has.
    fn names(&self, number: u64) -> [PathBuf; 2] {
        ["clt", "json"].map(|extension| self.output.join(format!("{number:08}.{extension}")))
    }

    /// Goes on behind a batch whose files are both stored, and that was not yet done.
    fn recover(&mut self) -> Result<(), Failure> {
        let [array, sources] = self.names(self.inbox.batches() + 1);
        if !sources.exists() {
            return Ok(());
        }
        let text = std::fs::read(&sources).map_err(|source| io(&sources, "read", source))?;
        let known: Option<Vec<(ClientId, u64)>> = serde_json::from_slice(&text).ok().and_then(|own: Value| read_sources(&own));
        let whole = files::load(&array, |reader| Ciphertext::from_reader(reader, &self.params)).is_ok();
        if !whole || !self.inbox.settle(&known.unwrap_or_default())? {
            let value = sources.display().to_string();
            let remedy = "it is of other samples than those that wait in the inbox: use an empty folder for the results".to_owned();
            return Err(CkksError::OutOfRange { what: "a result that is there already", value, remedy }.into());
        }
        Ok(())
    }

    /// Takes in messages and computes batches until the intake ends and nothing waits.
    fn serve(&mut self, evaluator: &Evaluator, intake: &mut Intake) -> Result<(), Failure> {
        let plan = self.plan.clone();
        let most = MOST_BATCHES * self.per_batch();
        thread::scope(|scope| {
            let mut running: Option<Running<'_>> = None;
            let mut ended = false;
            loop {
                if ended || self.inbox.waiting() >= most {
                    thread::sleep(PATIENCE);
                } else {
                    let (items, last) = intake.next(PATIENCE)?;
                    ended = last;
                    self.take_in(items, intake)?;
                }
                if let Some((start, worker)) = running.take_if(|(_, worker)| worker.is_finished()) {
                    let (batch, result) =
                        worker.join().map_err(|_| Failure::Usage("a batch ended by an internal error: please report it".to_owned()))?;
                    self.expected = start.elapsed();
                    self.store(batch, &result?)?;
                }
                if running.is_none()
                    && self.is_due(ended)
                    && let Some(batch) = self.inbox.take_of_all_secrets(self.per_batch())?
                {
                    let plan = Arc::clone(&plan);
                    let work = move || {
                        let arrays: Vec<&Ciphertext> = batch.arrays().iter().collect();
                        let result = evaluator.bootstrap_samples_of(&arrays, &plan);
                        (batch, result)
                    };
                    running = Some((Instant::now(), scope.spawn(work)));
                }
                if ended && running.is_none() && self.inbox.waiting() == 0 {
                    return Ok(());
                }
            }
        })
    }

    /// Samples in a full batch.
    fn per_batch(&self) -> usize {
        self.plan.count() / self.plan.samples().degree()
    }

    /// Whether a batch is to begin.
    fn is_due(&self, ended: bool) -> bool {
        let waiting = self.inbox.waiting();
        let late = || {
            let begin = self.deadline.map(|deadline| deadline.saturating_sub(self.expected));
            begin.zip(self.inbox.oldest()).is_some_and(|(begin, age)| age >= begin)
        };
        waiting >= self.per_batch() || waiting > 0 && (ended || late())
    }

    /// Stores introductions and messages, and answers each.
    fn take_in(&mut self, items: Vec<Item>, intake: &mut Intake) -> Result<(), Failure> {
        let mut messages: Vec<(Item, Vec<u8>)> = Vec::new();
        for mut item in items {
            match std::mem::replace(&mut item.content, Content::Nothing) {
                Content::Message(bytes) => messages.push((item, bytes)),
                Content::Introduction(bytes) => {
                    // A client's messages are behind its introduction.
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

    /// The client's name, or why it is refused.
    fn introduce(&mut self, introduction: &[u8]) -> Result<Result<ClientId, Failure>, Failure> {
        let checked =
            Receiver::new(&self.params, introduction).and_then(|receiver| self.plan.check_client(&receiver, self.owner, &self.secrets));
        if let Err(error) = checked {
            return Ok(Err(error.into()));
        }
        // What can fail now is the file.
        Ok(Ok(self.inbox.introduce(introduction)?))
    }

    fn accept(&mut self, messages: Vec<(Item, Vec<u8>)>, intake: &mut Intake) -> Result<(), Failure> {
        if messages.is_empty() {
            return Ok(());
        }
        let bytes: Vec<&[u8]> = messages.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        let answers = self.inbox.accept(&bytes)?;
        for ((item, _), answer) in messages.iter().zip(answers) {
            self.answer(item, answer.map(|stored| json!({ "stored": stored })).map_err(Failure::from), intake)?;
        }
        Ok(())
    }

    /// Says what became of an item.
    fn answer(&self, item: &Item, answer: Result<Value, Failure>, intake: &mut Intake) -> Result<(), Failure> {
        let refusal = answer.as_ref().err().map(ToString::to_string);
        intake.settle(item, refusal.as_deref())?;
        let mut said = answer.unwrap_or_else(|failure| failure.json());
        said["from"] = item.name.clone().into();
        match refusal {
            _ if self.lines => self.console.line(&said),
            Some(reason) => self.console.result(format!("refused {}: {reason}", item.name), &said),
            None => Ok(()),
        }
    }

    /// Writes a result and whose samples it has; then the batch is done.
    fn store(&mut self, batch: Batch, result: &Ciphertext) -> Result<(), Failure> {
        let [array, names] = self.names(self.inbox.batches() + 1);
        let bytes = files::save(&array, result)?;
        let sources: Vec<Value> = batch.sources().map(|(client, counter)| json!({ "client": hex(&client), "counter": counter })).collect();
        let clients: std::collections::BTreeSet<ClientId> = batch.sources().map(|(client, _)| client).collect();
        let mut report = document(result, &array, bytes);
        report["numbers"] = (sources.len() * self.plan.samples().degree()).into();
        report["clients"] = clients.len().into();
        report["seconds"] = self.expected.as_secs_f64().into();
        let waited = batch.age();
        report["waited"] = waited.as_secs_f64().into();
        let late = self.deadline.and_then(|deadline| waited.checked_sub(deadline));
        report["late"] = late.map(|late| late.as_secs_f64()).into();
        report["samples"] = sources.into();
        write_json(&names, &report)?;
        self.inbox.done(batch)?;
        if let Some(late) = late {
            self.console.warn(format!("{} is {:.2} s behind the deadline", array.display(), late.as_secs_f64()));
        }
        if let Some(own) = report.as_object_mut() {
            own.remove("samples");
        }
        let text = format!(
            "wrote {}: {} of {} in {:.2} s",
            array.display(),
            counted(report["numbers"].as_u64().unwrap_or(0) as usize, "number"),
            counted(clients.len(), "client"),
            self.expected.as_secs_f64()
        );
        if self.lines { self.console.line(&report) } else { self.console.result(text, &report) }
    }
}

/// Whole, or not at all.
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

/// The samples that a result's description names.
fn read_sources(own: &Value) -> Option<Vec<(ClientId, u64)>> {
    let source = |sample: &Value| {
        let (text, counter) = (sample["client"].as_str()?, sample["counter"].as_u64()?);
        let mut client: ClientId = [0; 32];
        if text.len() != 2 * client.len() || !text.is_ascii() {
            return None;
        }
        for (byte, place) in client.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[place..place + 2], 16).ok()?;
        }
        Some((client, counter))
    };
    own["samples"].as_array()?.iter().map(source).collect()
}
