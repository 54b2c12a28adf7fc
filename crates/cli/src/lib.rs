//! The `clathrate` command as a function: parses the arguments, runs one verb, and converts an error to a
//! message and an exit code. The program and the Python package call it.
//!
//! Layers, lowest first: `streams`, `npy`, `failure`, `arguments`, `console`, `files` and `intake`, `verbs`.
#![forbid(unsafe_code)]

mod arguments;
mod console;
mod failure;
mod files;
mod intake;
mod npy;
mod streams;
mod verbs;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use clap::Parser;
use clap::error::ErrorKind;
use clathrate_arith::{DeviceError, OutOfMemory, secrecy};
use clathrate_ckks::{CkksError, Runtime};

use arguments::{Arguments, Verb};
use console::Console;
use failure::Failure;

/// Runs the command line `arguments`, of which the first is the program's name. Returns the exit code.
#[must_use]
pub fn command(arguments: &[OsString]) -> u8 {
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            // Stdout may be closed.
            let _ = error.print();
            return 0;
        }
        Err(error) => {
            // The options did not parse, so `--json` is looked up separately.
            if arguments.iter().any(|argument| argument == "--json") {
                let text = error.render().to_string();
                let message =
                    text.trim_start_matches("error: ").split("\n\nUsage:").next().unwrap_or_default().trim();
                return report(&Failure::Usage(message.to_owned()), true);
            }
            let _ = error.print();
            return Failure::Usage(String::new()).kind().1;
        }
    };
    let json = parsed.global.json;
    match catch_unwind(AssertUnwindSafe(|| run(&parsed))) {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => report(&failure, json),
        // Errors of a device and missing memory are panics, because operations on residues return no
        // `Result`.
        Err(panic) => match panic.downcast::<DeviceError>() {
            Ok(error) => report(&Failure::Core(CkksError::Device(*error)), json),
            Err(panic) => match panic.downcast::<OutOfMemory>() {
                Ok(error) => report(&Failure::Memory(*error), json),
                Err(panic) => resume_unwind(panic),
            },
        },
    }
}

fn report(failure: &Failure, json: bool) -> u8 {
    let text = if json { failure.json().to_string() } else { format!("error: {failure}") };
    // Stderr may be closed; the exit code remains.
    let _ = writeln!(std::io::stderr(), "{text}");
    failure.kind().1
}

/// Refuses two files on one stream, binary files on a terminal, and `-` for the inbox or the folder of
/// `pack`. Returns whether a file is written to standard output.
fn takes_streams_once(verb: &Verb) -> Result<bool, Failure> {
    let read = verb.inputs().into_iter().filter(|path| streams::is_stdin(path)).count();
    if read > 1 {
        return Err(Failure::Usage(format!(
            "{read} inputs are standard input, which holds one: give files for the others"
        )));
    }
    let written = verb.outputs().into_iter().filter(|path| streams::is_stdout(path)).count();
    if written > 1 {
        return Err(Failure::Usage(format!(
            "{written} outputs go to standard output, which takes one: give files for the others"
        )));
    }
    if written == 1 && std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "what this command writes is binary and would go to the terminal: send it to a file or a pipe, as in `--output - > result`"
                .to_owned(),
        ));
    }
    if let Verb::Pack(pack) = verb
        && [&pack.inbox, &pack.output].into_iter().any(|path| path.as_os_str() == "-")
    {
        return Err(Failure::Usage(
            "--inbox and --output of `pack` are a file and a folder, not -".to_owned(),
        ));
    }
    Ok(written == 1)
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    // Checked before any file is opened, because it would get the descriptor of standard output.
    if streams::stdout_is_closed() {
        return Err(Failure::Usage(
            "standard output is closed, so results would be lost: open it, or send it to /dev/null"
                .to_owned(),
        ));
    }
    // The memory will hold secret keys and plain numbers.
    secrecy::forbid_core_dumps();
    let stdout_taken = takes_streams_once(&arguments.verb)?;
    let console = Console::new(&arguments.global, stdout_taken);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.global.threads.map_or_else(cores, usize::from);
    let runtime =
        Runtime { threads: Some(threads), table_bytes: arguments.global.table_bytes, ..Runtime::default() }
            .on(&arguments.global.device)?;
    match &arguments.verb {
        Verb::Params { action } => verbs::params::run(action, &console, &runtime),
        Verb::Keygen(arguments) => verbs::keygen::run(arguments, &console, &runtime),
        Verb::Encrypt(arguments) => verbs::encrypt::run(arguments, &console, &runtime),
        Verb::Matmul(arguments) => verbs::matmul::run(arguments, &console, &runtime),
        Verb::Add(arguments) => verbs::evaluate::add(arguments, &console, &runtime),
        Verb::Multiply(arguments) => verbs::evaluate::multiply(arguments, &console, &runtime),
        Verb::Rotate(arguments) => verbs::evaluate::rotate(arguments, &console, &runtime),
        Verb::Sum(arguments) => verbs::evaluate::sum(arguments, &console, &runtime),
        Verb::Polynomial(arguments) => verbs::evaluate::polynomial(arguments, &console, &runtime),
        Verb::Convert(arguments) => verbs::evaluate::convert(arguments, &console, &runtime),
        Verb::Run(arguments) => verbs::run::run(arguments, &console, &runtime),
        Verb::Bootstrap(arguments) => verbs::bootstrap::run(arguments, &console, &runtime),
        Verb::Pack(arguments) => verbs::pack::run(arguments, &console, &runtime),
        Verb::Decrypt(arguments) => verbs::decrypt::run(arguments, &console, &runtime),
        Verb::Compare(arguments) => verbs::compare::run(arguments, &console, &runtime),
        Verb::Tag(arguments) => verbs::tag::run(arguments, &console, &runtime),
        Verb::Inspect(arguments) => verbs::inspect::run(arguments, &console),
        Verb::Doctor => verbs::doctor::run(&console, &runtime),
        Verb::Tune(arguments) => verbs::tune::run(arguments, &console, &runtime),
    }
}
