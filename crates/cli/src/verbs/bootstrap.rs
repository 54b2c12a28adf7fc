//! `clathrate bootstrap`: brings an array to a high level.

use clathrate_ckks::{BootstrapOptions, BootstrapPlan, Ciphertext, EvaluationKeys, Evaluator, Runtime};

use super::{describe, document, size, warn_insecure};
use crate::arguments::Bootstrap;
use crate::console::Console;
use crate::failure::Failure;
use crate::files;

/// Runs the verb.
pub(crate) fn run(arguments: &Bootstrap, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let output = &arguments.output;
    files::check_output(output)?;
    let params = files::params(&arguments.params.params, arguments.params.accepted, runtime)?;
    warn_insecure(console, &params);
    let input = files::load(&arguments.input, |reader| Ciphertext::from_reader(reader, &params))?;
    let options = BootstrapOptions {
        slots: Some(input.layout().period()),
        real: !input.is_complex(),
        rounds: arguments.rounds,
        most_key_bytes: arguments.key_bytes,
        ..BootstrapOptions::default()
    };
    let plan = BootstrapPlan::with_options(&params, options)?;
    let keys = files::load(&arguments.evaluation, |reader| EvaluationKeys::from_reader(reader, &params))?;
    let bar = console.progress("bootstrap");
    let fresh = plan.run(&Evaluator::with_keys(keys).with_progress(bar.progress()), &input)?;
    drop(bar);
    let bytes = files::save(output, &fresh)?;
    let mut text = format!("wrote {} ({}): {}", output.display(), size(bytes), describe(&fresh));
    if arguments.explain {
        text = format!("{}\n{text}", plan.explain()?);
    }
    let mut document = document(&fresh, output, bytes);
    document["log2_failure"] = plan.log2_failure().into();
    console.result(text, &document)
}
