//! `clathrate inspect`: describes a file and checks each of its parts. Needs no parameters and no key.

use clathrate_arith::text::counted;
use clathrate_ckks::file::container::FORMAT_VERSION;
use clathrate_ckks::file::{FileError, FileKind, ParameterId};
use clathrate_ckks::program::Program;
use clathrate_ckks::store::fingerprint;
use clathrate_ckks::{Layout, Runtime};
use serde::Deserialize;
use serde_json::{Value, json};

use super::params::hex;
use super::size;
use crate::arguments::Inspect;
use crate::console::Console;
use crate::failure::Failure;
use crate::files;

/// The kind's name for programs.
const fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Params => "params",
        FileKind::SecretKey => "secret-key",
        FileKind::PublicKey => "public-key",
        FileKind::EvaluationKeys => "evaluation-keys",
        FileKind::Ciphertext => "ciphertext",
        FileKind::Plaintext => "plaintext",
        FileKind::Plan => "plan",
        FileKind::PreparedMatrix => "prepared-matrix",
        FileKind::PreparedSamples => "prepared-samples",
        FileKind::AuthenticationKey => "authentication-key",
        FileKind::Program => "program",
        FileKind::OwnerPart => "owner-part",
    }
}

/// The layout and the secret of an array as text; nothing for other files.
fn of_array(metadata: &Value) -> Vec<String> {
    let layout = metadata.get("layout").and_then(|layout| Layout::deserialize(layout).ok());
    let secret = metadata.get("secret").and_then(Value::as_str);
    let line = |name: &str, text: String| format!("  {name:<10} {text}");
    layout
        .map(|layout| line("layout", layout.to_string()))
        .into_iter()
        .chain(secret.map(|secret| line("secret", secret.to_owned())))
        .collect()
}

/// Runs the verb: prints the complete report, then an error if a section is damaged.
pub(crate) fn run(arguments: &Inspect, console: &Console) -> Result<(), Failure> {
    let path = &arguments.file;
    let reader = files::open(path)?;
    let label = reader.label();
    let (version, digest) = (FORMAT_VERSION, hex(&label.parameter_digest));
    let parameters = ParameterId { name: label.parameter_name.clone(), digest: label.parameter_digest };
    let mut lines = vec![
        format!(
            "{}: {}, format version {version}, {}",
            path.display(),
            label.kind,
            size(reader.total_bytes())
        ),
        format!(
            "  parameters {parameters}{}",
            if label.insecure { "  ** insecure: for tests only **" } else { "" }
        ),
        format!("  metadata   {}", reader.metadata_text()),
    ];
    let metadata: Value = serde_json::from_str(reader.metadata_text()).unwrap_or(Value::Null);
    lines.extend(of_array(&metadata));
    let mut sections = Vec::new();
    let mut damage: Option<FileError> = None;
    for section in reader.sections() {
        let checked = reader.verify_section(section.name());
        let state = if checked.is_ok() { "intact" } else { "DAMAGED" };
        lines.push(format!(
            "  section    {:<16} {:>18}  {state}",
            section.name(),
            counted(section.length, "byte")
        ));
        sections.push(json!({ "name": section.name(), "bytes": section.length, "intact": checked.is_ok() }));
        damage = damage.or(checked.err());
    }
    // Users compare the fingerprint of a public key with the one that its owner states. A damaged key has
    // none.
    let fingerprint =
        (label.kind == FileKind::PublicKey && damage.is_none()).then(|| fingerprint(&reader).ok()).flatten();
    lines.extend(fingerprint.iter().map(|print| format!("  fingerprint {print}")));
    let intact = damage.is_none();
    // A program whose dry run fails is no program, and is described by its metadata alone. Its security is
    // computed from its parameters, whatever its label says.
    let program = (label.kind == FileKind::Program && intact)
        .then(|| Program::from_reader(&reader, true, &Runtime::default()));
    match &program {
        Some(Ok(program)) => {
            lines.extend(program.to_string().lines().map(|line| format!("  {line}")));
            lines.extend(program.graph_text().lines().map(|line| format!("    {line}")));
        }
        Some(Err(error)) => lines.push(format!("  program    cannot be used: {error}")),
        None => {}
    }
    lines.push(format!(
        "  checksums  {}",
        if intact { "header and all sections intact" } else { "a section is damaged" }
    ));
    let document = json!({
        "file": path,
        "kind": kind_name(label.kind),
        "format_version": version,
        "bytes": reader.total_bytes(),
        "parameters": label.parameter_name,
        "parameter_digest": digest,
        "insecure": label.insecure,
        "metadata": metadata,
        "fingerprint": fingerprint,
        "sections": sections,
        "intact": intact,
        "security_bits": program.as_ref().and_then(|program| Some(program.as_ref().ok()?.params().security_bits())),
    });
    console.result(lines.join("\n"), &document)?;
    damage.map_or(Ok(()), |error| Err(Failure::file(path, error)))
}
