//! `clathrate keygen`: makes a secret key, and the keys with which others encrypt for it and compute.

use std::collections::BTreeSet;

use clathrate_ckks::circuits::samples::SamplesPlan;
use clathrate_ckks::file::holds_secret_key;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::{BootstrapOptions, BootstrapPlan, CkksError, KeyNeeds, Params, Runtime, SecretKey};
use clathrate_lattice::Level;
use serde_json::json;

use super::{size, warn_insecure};
use crate::arguments::Keygen;
use crate::console::Console;
use crate::failure::Failure;
use crate::{files, streams};

/// Runs the verb: makes all keys before it moves any file to its name, the secret key first.
pub(crate) fn run(arguments: &Keygen, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let outputs = [
        Some(&arguments.secret),
        arguments.public.as_ref(),
        arguments.evaluation.as_ref(),
        arguments.authentication.as_ref(),
    ];
    let names: BTreeSet<_> = outputs.iter().flatten().map(|path| streams::place(path)).collect();
    if names.len() != outputs.iter().flatten().count() {
        return Err(Failure::Usage("two keys cannot go to one file".to_owned()));
    }
    if arguments.existing && outputs[1..].iter().all(Option::is_none) {
        return Err(Failure::Usage(
            "--existing makes further keys: add --public, --evaluation or --authentication".to_owned(),
        ));
    }
    check_outputs(arguments)?;
    let params = files::params(&arguments.params.params, arguments.params.accepted, runtime)?;
    warn_insecure(console, &params);
    let mut needs = needs(arguments, &params)?;
    if arguments.program {
        let source = &arguments.params;
        let program = files::program(&source.params, source.accepted, runtime)?;
        needs = needs.merge(program.needs());
    }
    if arguments.evaluation.is_some() && needs.is_empty() {
        return Err(Failure::Usage(no_key(arguments)));
    }
    let secret = if arguments.existing {
        files::load(&arguments.secret, |reader| SecretKey::from_reader(reader, &params))?
    } else {
        let secret = SecretKey::generate(&params)?;
        arguments.share_budget.map_or(Ok(secret.clone()), |results| secret.with_share_budget(results))?
    };
    let public =
        arguments.public.as_ref().map(|path| secret.public_key().map(|key| (path, key))).transpose()?;
    let fingerprint = public.as_ref().map(|(_, key)| key.fingerprint()).transpose()?;
    let bar = console.progress("keys");
    let evaluation = match &arguments.evaluation {
        Some(path) => Some((path, secret.clone().with_progress(bar.progress()).evaluation_keys(&needs)?)),
        None => None,
    };
    drop(bar);
    let mut prepared = Vec::new();
    if !arguments.existing {
        prepared.push(("secret", &arguments.secret, files::prepare(&arguments.secret, &secret)?));
    }
    if let Some((path, key)) = &public {
        prepared.push(("public", path, files::prepare(path, key)?));
    }
    if let Some((path, keys)) = &evaluation {
        prepared.push(("evaluation", path, files::prepare(path, keys)?));
    }
    if let Some(path) = &arguments.authentication {
        prepared.push(("authentication", path, files::prepare(path, &secret.authentication_key())?));
    }
    // The secret key is stored before all other keys. Files come last, because writing to pipes and devices
    // is more likely to fail.
    prepared.sort_by_key(|(what, _, writer)| (*what != "secret", !writer.is_stream()));
    let is_new = !arguments.existing
        && !streams::is_stdout(&arguments.secret)
        && std::fs::symlink_metadata(&arguments.secret).is_err();
    let mut written = Vec::new();
    for (what, path, writer) in prepared {
        let bytes = writer.finish().map_err(|error| {
            let source = Failure::file(path, CkksError::File(error));
            // A new secret key without any other key is removed again.
            let gone = is_new && written.len() == 1 && std::fs::remove_file(&arguments.secret).is_ok();
            let stays = !arguments.existing && !written.is_empty() && !gone;
            if stays {
                Failure::Partly { secret: arguments.secret.clone(), source: Box::new(source) }
            } else {
                source
            }
        })?;
        written.push((what, path, bytes));
    }
    let mut text: Vec<String> = written
        .iter()
        .map(|(what, path, bytes)| format!("{what} key: {} ({})", path.display(), size(*bytes)))
        .collect();
    let list: Vec<_> = written
        .iter()
        .map(|(what, path, bytes)| json!({ "kind": what, "output": path, "bytes": bytes }))
        .collect();
    let steps = evaluation.as_ref().map(|(_, keys)| keys.rotation_steps());
    let shapes: Option<Vec<_>> =
        evaluation.as_ref().map(|(_, keys)| keys.shapes().iter().map(ToString::to_string).collect());
    let document = json!({
        "key_id": secret.id().to_string(),
        "fingerprint": fingerprint,
        "shares": secret.shares(),
        "insecure": params.is_insecure(),
        "written": list,
        "rotation_steps": steps,
        "shapes": shapes,
    });
    text.push(format!("key id: {}", secret.id()));
    text.extend(fingerprint.map(|print| format!("fingerprint of the public key: {print}")));
    console.result(text.join("\n"), &document)
}

/// Refuses, before any work, outputs that would destroy a key or cannot be written.
fn check_outputs(arguments: &Keygen) -> Result<(), Failure> {
    if !arguments.existing {
        let path = &arguments.secret;
        if !arguments.force && streams::is_occupied(path) {
            // An existing file of any kind is not overwritten by a secret key without --force.
            let (what, remedy) = if holds_secret_key(path) {
                (
                    "holds a secret key",
                    "choose another name, or add --force to replace it (what it encrypted is then lost) or --existing to make further keys for it",
                )
            } else {
                ("exists", "choose another name, or add --force to replace it")
            };
            return Err(Failure::Exists { path: path.clone(), what, remedy });
        }
        if !arguments.force {
            files::check_output(&arguments.secret)?;
        }
    }
    arguments
        .public
        .iter()
        .chain(&arguments.evaluation)
        .chain(&arguments.authentication)
        .try_for_each(|path| files::check_output(path))
}

fn needs(arguments: &Keygen, params: &Params) -> Result<KeyNeeds, Failure> {
    let key_level = match arguments.level {
        None => KeyLevel::Top,
        Some(level) => {
            params.chain().check_level(Level(level)).map_err(CkksError::from)?;
            KeyLevel::Level(level)
        }
    };
    let mut needs = KeyNeeds::new().rotations(arguments.rotations.iter().copied(), key_level);
    if arguments.relinearise {
        needs = needs.relinearise(key_level);
    }
    if arguments.conjugate {
        needs = needs.conjugate(key_level);
    }
    if arguments.power_rotations {
        needs = needs.power_rotations(key_level);
    }
    if let Some(bodies) = arguments.shared_mask {
        needs = needs.shared_mask(bodies.into(), key_level);
    }
    if arguments.single_steps {
        needs = needs.single_steps();
    }
    if let Some(slots) = arguments.bootstrap {
        let options = BootstrapOptions {
            slots: Some(slots).filter(|&slots| slots > 0),
            most_key_bytes: arguments.key_bytes,
            ..BootstrapOptions::default()
        };
        needs = needs.merge(&BootstrapPlan::with_options(params, options)?.needs()?);
    }
    if let Some(count) = arguments.samples {
        let plan = SamplesPlan::new(params, &arguments.kind.options(count, arguments.key_bytes))?;
        needs = needs.merge(&plan.needs_of(&arguments.kind.secrets())?);
    }
    needs = needs.along(&arguments.ranks, arguments.to_rlwe, key_level);
    Ok(needs)
}

/// Why there is no evaluation key to make.
fn no_key(arguments: &Keygen) -> String {
    let reason = if arguments.program { "the program needs no key" } else { "a rotation by 0 needs no key" };
    format!("{reason}: there is no evaluation key to make")
}
