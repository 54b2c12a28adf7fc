//! `clathrate params`: list, explain and save parameter sets.

use clathrate_ckks::Runtime;
use clathrate_ckks::parameters::{Preset, SECURITY_BITS, presets};
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
        ParamsAction::Show { source, accepted, plan: true } => {
            let params = files::params(source, *accepted, runtime)?;
            let plan = params.switching_report(None)?;
            console.result(
                &plan,
                &json!({ "plan": plan, "digest": hex(params.digest()), "insecure": params.is_insecure() }),
            )
        }
        ParamsAction::Show { source, accepted, plan: false } => {
            let params = files::params(source, *accepted, runtime)?;
            let explanation = params.explain();
            let digest = hex(params.digest());
            let document = json!({ "explanation": explanation, "spec": params.spec(), "digest": digest, "insecure": params.is_insecure() });
            console.result(format!("{explanation}\n  digest     {}", &digest[..16]), &document)
        }
        ParamsAction::Save { source, accepted, output } => {
            files::check_output(output)?;
            let params = files::params(source, *accepted, runtime)?;
            warn_insecure(console, &params);
            let bytes = files::save(output, &params)?;
            let (name, digest) = (&params.spec().name, hex(params.digest()));
            let document = json!({ "output": output, "bytes": bytes, "name": name, "digest": digest, "insecure": params.is_insecure() });
            console.result(format!("{name}: wrote {} ({})", output.display(), size(bytes)), &document)
        }
    }
}

/// Reads only specifications, so that no tables are built.
fn list(console: &Console) -> Result<(), Failure> {
    let presets = presets()?;
    let security = |preset: &Preset| match preset.security_bits() {
        _ if preset.spec.insecure => "none".to_owned(),
        bits if bits < SECURITY_BITS => format!("{:.0} bits (below 128)", bits.floor()),
        bits => format!("{:.0} bits", bits.floor()),
    };
    let line = |preset: &Preset| {
        let spec = &preset.spec;
        let (name, degree, rank, depth) = (&spec.name, spec.degree, spec.rank, spec.steps.len() - 1);
        let (security, ciphertext) = (security(preset), size(preset.ciphertext_bytes() as u64));
        let purpose = first_sentence(&preset.purpose);
        format!(
            "{name:<18} {degree:>6} {rank:>4} {depth:>5} {:>7.0}  {security:<20} {ciphertext:>9}  {purpose}",
            preset.log2_qp()
        )
    };
    let head = format!(
        "{:<18} {:>6} {:>4} {:>5} {:>7}  {:<20} {:>9}  {}",
        "name", "degree", "rank", "depth", "log2 QP", "security", "file", "purpose"
    );
    let note = "depth: rescales; file: a fresh ciphertext of one polynomial; more about one: clathrate params show NAME";
    let lines: Vec<String> =
        std::iter::once(head).chain(presets.iter().map(line)).chain([note.to_owned()]).collect();
    let document = |preset: &Preset| {
        let mut document = json!(preset.spec);
        document["purpose"] = json!(preset.purpose);
        document["security_bits"] = json!(preset.security_bits());
        document["ciphertext_bytes"] = json!(preset.ciphertext_bytes());
        document
    };
    console.result(lines.join("\n"), &json!({ "presets": presets.iter().map(document).collect::<Vec<_>>() }))
}

/// A digest in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first sentence of a text, without its full stop. A sentence ends where a capital letter follows, so
/// not after "sec.".
fn first_sentence(text: &str) -> &str {
    let ends = |&(at, _): &(usize, &str)| text[at + 2..].starts_with(char::is_uppercase);
    text.match_indices(". ").find(ends).map_or(text, |(at, _)| &text[..at]).trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn sentences_end_before_a_capital_letter() {
        assert_eq!(first_sentence("Of the paper [a, sec. 3]. More of it."), "Of the paper [a, sec. 3]");
        assert_eq!(first_sentence("One alone."), "One alone");
        assert_eq!(first_sentence(""), "");
    }
}
