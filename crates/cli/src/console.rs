//! The output of a command: results on stdout, warnings and progress on stderr, as the global options choose.
//! If the command writes a file to stdout, results go to stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clathrate_ckks::{Event, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::arguments::Global;
use crate::failure::Failure;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The output of a command.
#[derive(Debug)]
pub(crate) struct Console {
    json: bool,
    quiet: bool,
    stdout_taken: bool,
}

impl Console {
    /// The output that the options choose; `stdout_taken` if an output file goes to stdout.
    pub(crate) const fn new(global: &Global, stdout_taken: bool) -> Self {
        Self { json: global.json, quiet: global.quiet, stdout_taken }
    }

    /// The result: `text` for people, or `document` for programs.
    pub(crate) fn result(&self, text: impl Display, document: &impl Serialize) -> Result<(), Failure> {
        if self.json {
            return self.line(document);
        }
        if self.quiet { Ok(()) } else { self.print(&text.to_string()) }
    }

    /// Prints one JSON object on one line, and flushes it.
    pub(crate) fn line(&self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(document).map_err(|error| print_failure(error.into()))?;
        self.print(&text)
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        if self.stdout_taken {
            // The file is written; with stderr closed, only its report is lost.
            let _ = writeln!(io::stderr(), "{text}");
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
            // The reader has closed the pipe (`clathrate params list | head -1`): the command ends without an
            // error.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done.map_err(print_failure),
        }
    }

    /// A warning for people.
    pub(crate) fn warn(&self, text: impl Display) {
        if !self.json && !self.quiet {
            // A closed stderr is no reason to stop.
            let _ = writeln!(io::stderr(), "warning: {text}");
        }
    }

    /// A bar for work that may take long, shown only on a terminal.
    pub(crate) fn progress(&self, what: &'static str) -> Bar {
        let enabled = !self.json && !self.quiet && io::stderr().is_terminal();
        Bar(Arc::new(Mutex::new(Shown {
            what,
            stage: String::new(),
            enabled,
            started: Instant::now(),
            bar: None,
        })))
    }
}

fn print_failure(source: io::Error) -> Failure {
    Failure::Io { path: PathBuf::from("(stdout)"), action: "write to", source }
}

/// A progress bar that appears after [`PATIENCE`] and disappears when it is dropped.
#[derive(Debug)]
pub(crate) struct Bar(Arc<Mutex<Shown>>);

/// What a bar shows.
#[derive(Debug)]
struct Shown {
    what: &'static str,
    stage: String,
    enabled: bool,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// What the library reports to. It never stops the work.
    pub(crate) fn progress(&self) -> Progress {
        let shown = self.0.clone();
        Progress::new(move |event| {
            match event {
                Event::Steps { done, total } => lock(&shown).show(done, total),
                Event::Stage(name) => lock(&shown).stage(name),
                _ => {}
            }
            true
        })
    }
}

fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shown {
    /// The name of the stage beside that of the whole.
    fn stage(&mut self, name: &str) {
        self.stage = name.to_owned();
        if let Some(bar) = &self.bar {
            bar.set_message(self.message());
        }
    }

    fn message(&self) -> String {
        if self.stage.is_empty() { self.what.to_owned() } else { format!("{}: {}", self.what, self.stage) }
    }

    fn show(&mut self, done: usize, total: usize) {
        if self.enabled && self.bar.is_none() && done < total && self.started.elapsed() > PATIENCE {
            let style = ProgressStyle::with_template("{msg:>10} [{bar:32}] {pos}/{len} {eta}");
            let bar = ProgressBar::new(total as u64).with_message(self.message());
            self.bar = Some(style.map(|style| bar.clone().with_style(style)).unwrap_or(bar));
        }
        if let Some(bar) = &self.bar {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
            if done == total {
                bar.finish_and_clear();
            }
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &lock(&self.0).bar {
            bar.finish_and_clear();
        }
    }
}
