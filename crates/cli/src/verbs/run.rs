//! `clathrate run`: runs a program on encrypted arrays.

use std::collections::BTreeSet;

use clathrate_ckks::encrypted_array::PlainArray;
use clathrate_ckks::program::{Program, RunOptions, STORE_PAUSE};
use clathrate_ckks::{Ciphertext, EvaluationKeys, Evaluator, Runtime};
use serde_json::json;

use super::{describe, document, size, warn_insecure};
use crate::arguments::RunProgram;
use crate::console::Console;
use crate::failure::Failure;
use crate::{files, npy, streams};

/// Runs the verb: computes all results before it writes any.
pub(crate) fn run(arguments: &RunProgram, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    arguments.outputs.iter().try_for_each(|output| files::check_output(output))?;
    let allow_insecure = arguments.accepted.allow_insecure;
    let program =
        files::load(&arguments.program, |reader| Program::from_reader(reader, allow_insecure, runtime))?;
    let params = program.params();
    warn_insecure(console, params);
    let names = program.arrangement().names();
    if names.len() != arguments.outputs.len() {
        let listed: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        let listed = if listed.is_empty() { String::new() } else { format!(", {}", listed.join(", ")) };
        return Err(Failure::Usage(format!(
            "the program has {} result{}{listed}, and {} --output options were given: give one for each",
            names.len(),
            if names.len() == 1 { "" } else { "s" },
            arguments.outputs.len()
        )));
    }
    let places = arguments.outputs.iter().map(|path| streams::place(path)).collect::<BTreeSet<_>>();
    if places.len() != arguments.outputs.len() {
        return Err(Failure::Usage("two results cannot go to one file".to_owned()));
    }
    if places.contains(&streams::place(&arguments.program)) {
        return Err(Failure::Usage("a result cannot go to the file of the program".to_owned()));
    }
    if program.arrangement().transposed().contains(&true) {
        return Err(Failure::Usage(
            "a result of this program is a view of a transposed matrix, which files do not have: compile a function that returns its rows, `x.T.to_rows()`"
                .to_owned(),
        ));
    }
    if arguments.keys.is_none() && !program.forecast().needs().is_empty() {
        return Err(Failure::Usage("the program needs evaluation keys: give them as --keys".to_owned()));
    }
    let inputs = arguments
        .inputs
        .iter()
        .map(|path| files::load(path, |reader| Ciphertext::from_reader(reader, params)))
        .collect::<Result<Vec<_>, _>>()?;
    let plain = arguments.plain.iter().map(|path| {
        let array = npy::read(path).map_err(|error| Failure::array(path, error))?;
        Ok::<_, Failure>(PlainArray::new(array.values, array.shape))
    });
    let plain = plain.collect::<Result<Vec<_>, _>>()?;
    let evaluator = match &arguments.keys {
        Some(path) => {
            Evaluator::with_keys(files::load(path, |reader| EvaluationKeys::from_reader(reader, params))?)
        }
        None => Evaluator::new(params),
    };
    let bar = console.progress("run");
    let evaluator = evaluator.with_progress(bar.progress());
    let store = arguments.store.as_deref().map(|folder| (folder, STORE_PAUSE));
    let options = RunOptions { store, ..RunOptions::default() };
    let results = program.run_with(&evaluator, &inputs, &plain, options)?;
    drop(bar);
    let mut lines = Vec::new();
    let mut documents = Vec::new();
    for ((result, output), name) in results.iter().zip(&arguments.outputs).zip(&names) {
        let bytes = files::save(output, &**result)?;
        lines.push(format!("wrote {} ({}): {}", output.display(), size(bytes), describe(result)));
        let mut own = document(result, output, bytes);
        own["name"] = json!(name);
        documents.push(own);
    }
    console.result(lines.join("\n"), &json!({ "results": documents }))
}
