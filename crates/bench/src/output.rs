//! Rows on standard output, notes for people on standard error.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Prints rows and notes.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    quiet: bool,
}

impl Output {
    /// Without notes where `quiet`.
    pub const fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Prints one JSON object on a line of its own, at once.
    pub fn row(self, row: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(row).map_err(io::Error::from)?;
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }

    /// Tells people something that is no row.
    pub fn note(self, text: impl Display) {
        if !self.quiet {
            // A closed stderr is no reason to stop.
            let _ = writeln!(io::stderr(), "note: {text}");
        }
    }
}
