//! `clathrate params`: list, explain and save parameter sets.

use clathrate_ckks::parameters::{preset, preset_names};
use clathrate_ckks::{ParamsSpec, Runtime};
use serde_json::json;

use super::{size, warn_insecure};
use crate::arguments::ParamsAction;
use crate::console::Console;
use crate::failure::Failure;
use crate::files;

/// Runs the verb.
pub fn run(action: &ParamsAction, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    match action {
        ParamsAction::List => list(console),
        ParamsAction::Show { source, plan: true } => {
            let params = files::params(source, runtime)?;
            let plan = params.switching_report(None)?;
            console.result(&plan, &json!({ "plan": plan, "digest": hex(params.digest()), "insecure": params.is_insecure() }))
        }
        ParamsAction::Show { source, plan: false } => {
            let params = files::params(source, runtime)?;
            let explanation = params.explain();
            let digest = hex(params.digest());
            let document = json!({ "explanation": explanation, "spec": params.spec(), "digest": digest, "insecure": params.is_insecure() });
            console.result(format!("{explanation}\n  digest     {}", &digest[..16]), &document)
        }
        ParamsAction::Save { source, output } => {
            files::check_output(output)?;
            let params = files::params(source, runtime)?;
            warn_insecure(console, &params);
            let bytes = files::save(output, &params)?;
            let (name, digest) = (&params.spec().name, hex(params.digest()));
            let document = json!({ "output": output, "bytes": bytes, "name": name, "digest": digest, "insecure": params.is_insecure() });
            console.result(format!("{name}: wrote {} ({})", output.display(), size(bytes)), &document)
        }
    }
}

/// Specifications only: a list builds no tables.
fn list(console: &Console) -> Result<(), Failure> {
    let specs: Vec<ParamsSpec> = preset_names().iter().map(|name| preset(name)).collect::<Result<_, _>>()?;
    let line = |spec: &ParamsSpec| {
        let note = if spec.insecure { "  insecure: tests only" } else { "" };
        let bits: f64 = spec.steps.iter().flatten().chain(&spec.special).sum();
        let (name, degree, rank, depth) = (&spec.name, spec.degree, spec.rank, spec.steps.len() - 1);
        format!("{name:<16} degree {degree:>6}  rank {rank}  depth {depth:>2}  log2 QP {bits:>4.0}{note}")
    };
    console.result(specs.iter().map(line).collect::<Vec<_>>().join("\n"), &json!({ "presets": specs }))
}

/// A digest in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
