//! The output of a command: results on stdout, warnings and progress on stderr, as the global options choose.
//! If the command writes a file to stdout, results go to stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::arguments::Global;
use crate::failure::Failure;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The output of a command.
#[derive(Debug)]
pub struct Console {
    json: bool,
    quiet: bool,
    stdout_taken: bool,
}

impl Console {
    /// The output that the options choose; `stdout_taken` if an output file goes to stdout.
    pub const fn new(global: &Global, stdout_taken: bool) -> Self {
        Self { json: global.json, quiet: global.quiet, stdout_taken }
    }

    /// The result: `text` for people, or `document` for programs.
    pub fn result(&self, text: impl Display, document: &impl Serialize) -> Result<(), Failure> {
        if self.json {
            return self.line(document);
        }
        if self.quiet { Ok(()) } else { self.print(&text.to_string()) }
    }

    /// Prints one JSON object on one line, and flushes it.
    pub fn line(&self, document: &impl Serialize) -> Result<(), Failure> {
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
    pub fn warn(&self, text: impl Display) {
        if !self.json && !self.quiet {
            // A closed stderr is no reason to stop.
            let _ = writeln!(io::stderr(), "warning: {text}");
        }
    }

    /// A bar for work that may take long, shown only on a terminal.
    pub fn progress(&self, what: &'static str) -> Bar {
        let enabled = !self.json && !self.quiet && io::stderr().is_terminal();
        Bar { what, enabled, started: Instant::now(), bar: None }
    }
}

fn print_failure(source: io::Error) -> Failure {
    Failure::Io { path: PathBuf::from("(stdout)"), action: "write to", source }
}

/// A progress bar that appears after [`PATIENCE`].
#[derive(Debug)]
pub struct Bar {
    what: &'static str,
    enabled: bool,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// The callback for the library, called with (done, total). It never stops the work.
    pub fn callback(&mut self) -> impl FnMut(usize, usize) -> bool {
        move |done, total| {
            if self.enabled && self.bar.is_none() && done < total && self.started.elapsed() > PATIENCE {
                let style = ProgressStyle::with_template("{msg:>10} [{bar:32}] {pos}/{len} {eta}");
                let bar = ProgressBar::new(total as u64).with_message(self.what);
                self.bar = Some(style.map(|style| bar.clone().with_style(style)).unwrap_or(bar));
            }
            if let Some(bar) = &self.bar {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
                if done == total {
                    bar.finish_and_clear();
                }
            }
            true
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
