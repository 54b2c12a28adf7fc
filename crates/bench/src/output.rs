//! Rows on standard output, notes on standard error.

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
    /// An output without notes if `quiet`.
    pub const fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Prints one JSON object on a separate line and flushes it.
    pub fn row(self, row: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(row).map_err(io::Error::from)?;
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }

    /// Prints a note that is not a row.
    pub fn note(self, text: impl Display) {
        if !self.quiet {
            // A closed stderr is no reason to stop.
            let _ = writeln!(io::stderr(), "note: {text}");
        }
    }
}
