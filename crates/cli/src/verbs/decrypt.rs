//! `clathrate decrypt`: decrypts a ciphertext file to a NumPy array, for the owner or, with noise, for
//! others.

use clathrate_ckks::keys::{HonestEvaluator, Shares};
use clathrate_ckks::{Ciphertext, Runtime, SecretKey};
use serde_json::{Map, Value, json};

use super::{size, warn_insecure};
use crate::arguments::Decrypt;
use crate::console::Console;
use crate::failure::Failure;
use crate::{files, npy};

/// The noise of a shared result, and the guarantees that follow.
struct Sharing {
    flood_bits: u32,
    queries: u64,
    correct_bits: f64,
}

/// The noise that the arguments ask for; `None` without `--share`.
fn sharing(
    arguments: &Decrypt,
    secret: &SecretKey,
    ciphertext: &Ciphertext,
) -> Result<Option<Sharing>, Failure> {
    if !arguments.share {
        return Ok(None);
    }
    // The noise of each result is sized for all results that the key may share.
    let budget = secret.shares().map_or(1, |shares| shares.budget);
    let queries = arguments.queries.unwrap_or(1).max(budget).max(1);
    let flood_bits = ciphertext
        .flood_bits(arguments.error_bound, queries, arguments.statistical_bits, arguments.correct_bits)
        .map_err(|error| Failure::file(&arguments.input, error))?;
    Ok(Some(Sharing { flood_bits, queries, correct_bits: ciphertext.shared_bits(f64::from(flood_bits)) }))
}

/// Runs the verb.
pub(crate) fn run(arguments: &Decrypt, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let output = &arguments.output;
    if arguments.share && !arguments.honest_evaluator {
        return Err(Failure::Usage(
            "--share needs --honest-evaluator, your word that the ciphertext is what you asked for: noise hides the error of an honest computation, and not the secret key, \
             which an evaluator that deviates can put into the numbers. Where you cannot tell, compute the result again and `clathrate compare` both first"
                .to_owned(),
        ));
    }
    files::check_output(output)?;
    let params = files::params(&arguments.params.params, arguments.params.accepted, runtime)?;
    warn_insecure(console, &params);
    let secret = files::load(&arguments.secret, |reader| SecretKey::from_reader(reader, &params))?;
    let ciphertext = files::load(&arguments.input, |reader| Ciphertext::from_reader(reader, &params))?;
    let sharing = sharing(arguments, &secret, &ciphertext)?;
    let bar = console.progress("decrypt");
    let secret = secret.with_progress(bar.progress());
    let values = match &sharing {
        Some(Sharing { flood_bits, .. }) => {
            secret.decrypt_to_share(&ciphertext, *flood_bits, HonestEvaluator)
        }
        None => secret.decrypt(&ciphertext),
    };
    let values = values.map_err(|error| Failure::file(&arguments.input, error))?;
    drop(bar);
    let bytes =
        npy::write(output, ciphertext.shape(), &values).map_err(|error| Failure::file(output, error))?;
    let dtype = if values.is_complex() { "complex128" } else { "float64" };
    let mut text =
        format!("wrote {} ({}): shape {:?}, {dtype}", output.display(), size(bytes), ciphertext.shape());
    let insecure = params.is_insecure();
    let mut document = json!({ "output": output, "bytes": bytes, "shape": ciphertext.shape(), "dtype": dtype, "insecure": insecure });
    if let (Some(sharing), Value::Object(fields)) = (&sharing, &mut document) {
        text.push_str(&describe(sharing, arguments.statistical_bits, &secret, fields));
    }
    console.result(text, &document)
}

/// The guarantees for a shared result, as text and as fields.
fn describe(
    sharing: &Sharing,
    statistical_bits: u32,
    secret: &SecretKey,
    fields: &mut Map<String, Value>,
) -> String {
    let Sharing { flood_bits, queries, correct_bits } = sharing;
    // Rounded down, so that 127.97 does not read as 128.
    let bits = (secret.params().security_bits() * 10.0).floor() / 10.0;
    let shares = secret.shares();
    fields.insert(
        "shared".to_owned(),
        json!({ "flood_bits": flood_bits, "queries": queries, "correct_bits": correct_bits }),
    );
    fields.insert(
        "security".to_owned(),
        json!({ "computational_bits": bits, "statistical_bits": statistical_bits }),
    );
    fields.insert("shares".to_owned(), json!(shares));
    let counted = match shares {
        Some(Shares { budget, left }) => format!("{left} of {budget} shared results are left"),
        None => "nobody counts them".to_owned(),
    };
    format!(
        "\nshared with {flood_bits} bits of noise, {correct_bits:.1} correct bits behind the point\nsecurity of {queries} shared results: {bits:.1} computational and \
         {statistical_bits} statistical bits; {counted}"
    )
}
