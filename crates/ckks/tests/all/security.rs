//! The promises of the security design: gates, marks, fresh randomness, redaction, and the attack on raw
//! decryptions.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;

use crate::common::*;
use clathrate_ckks::encoding::Plaintext;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, HonestEvaluator, Values};
use clathrate_ckks::parameters::KeyModulus;
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Params, SecretKey};
use clathrate_lattice::SecretDistribution;
use clathrate_lattice::security::{bits_against_ideal_guessing, estimated_bits};
use clathrate_lattice::{Bundle, Eval, Level, Poly, SecretRng};

/// Bits of `spec` from its nominal sizes: an upper bound of log QP that needs no tables; the least of its
/// ranks.
fn nominal_bits(spec: &clathrate_ckks::ParamsSpec) -> (f64, f64) {
    let log2_qp: f64 = spec.steps.iter().flatten().chain(&spec.special).sum();
    // A prime near 2^b may exceed it; one thousandth of a bit in all is far more than that.
    let log2_qp = log2_qp + 1e-3;
    let bits = estimated_bits(spec.degree * spec.rank, log2_qp, spec.distribution());
    let temporary = spec.temporary_rank.map(|rank| {
        let longer = log2_qp + spec.temporary.iter().sum::<f64>();
        estimated_bits(spec.degree * rank, longer, spec.distribution())
    });
    (log2_qp, temporary.map_or(bits, |temporary| bits.min(temporary)))
}

/// SECURITY.md states for each preset with a sparse or ephemeral secret how secure the secret is, with and
/// without losses of a meet in the middle; both figures are above 128.
#[test]
fn sparse_secrets_of_presets_are_in_the_table_of_security_md() {
    let head = "| set | degree | weight | log2(QP) of its keys | bits | bits without losses |\n|---|---|---|---|---|---|\n";
    let mut expected = head.to_owned();
    for spec in all_sets().into_iter().filter(|spec| !spec.insecure) {
        let special = &spec.special[..spec.ephemeral_special.unwrap_or(2).min(spec.special.len())];
        let ephemeral =
            spec.ephemeral_weight.map(|weight| (weight, spec.steps[0].iter().chain(special).sum::<f64>()));
        let main = spec.secret_weight.map(|weight| (weight, nominal_bits(&spec).0));
        for (weight, log2_qp) in main.into_iter().chain(ephemeral) {
            let (dimension, distribution) =
                (spec.degree * spec.rank, SecretDistribution::FixedWeight(weight));
            let bits = |f: fn(usize, f64, SecretDistribution) -> f64| {
                (f(dimension, log2_qp, distribution) * 10.0).floor() / 10.0
            };
            let (table, ideal) = (bits(estimated_bits), bits(bits_against_ideal_guessing));
            assert!(table >= 128.0 && ideal >= 128.0 && ideal <= table, "{}: {table} and {ideal}", spec.name);
            let line = format!(
                "| `{}` | {dimension} | {weight} | {log2_qp:.1} | {table:.1} | {ideal:.1} |\n",
                spec.name
            );
            expected.push_str(&line);
        }
    }
    let page = include_str!("../../../../SECURITY.md");
    let found = page.split_once(head).map(|(_, rest)| rest.lines().take_while(|line| line.starts_with('|')));
    let found: String = found.expect("the table").fold(head.to_owned(), |text, line| text + line + "\n");
    assert!(found == expected, "SECURITY.md should have\n{expected}");
    // What `explain` says is the same.
    let figures = params("insecure_boot").explain();
    let ephemeral =
        figures.secrets.iter().find(|secret| secret.name == "ephemeral").expect("an ephemeral secret");
    assert!(ephemeral.ideal_guessing_bits <= ephemeral.security_bits);
}

#[test]
fn every_unmarked_preset_has_128_bits_and_every_mark_is_needed() {
    let sets = all_sets();
    assert!(sets.len() >= 15, "{sets:?}");
    for spec in sets {
        let name = &spec.name;
        let (nominal, mut bits) = nominal_bits(&spec);
        let mut log2_qp = nominal;
        // Built sets say for themselves; the large ones are built in the full-size tests, unless the
        // thousandth of a bit decides.
        if spec.degree <= 1 << 13 || (bits - 128.0).abs() < 1e-3 {
            let params = Params::new(spec.clone(), &crate::common::base_runtime()).expect("preset");
            assert_eq!(params.is_insecure(), spec.insecure || spec.below_128, "{name}");
            // A prime of 28 bits at degree 2^10 may be a twentieth of a bit below its size.
            let primes = spec.steps.iter().map(Vec::len).sum::<usize>() + spec.special.len();
            let slack = (0.05 * primes as f64).max(1.0);
            assert!(
                params.log2_qp() <= nominal && params.log2_qp() > nominal - slack,
                "{name}: {} for {nominal}",
                params.log2_qp()
            );
            (log2_qp, bits) = (params.log2_qp(), params.security_bits());
            let own = estimated_bits(spec.degree * spec.rank, log2_qp, spec.distribution());
            let temporary =
                params.key_switching(KeyModulus::Widened).map_or(f64::INFINITY, |own| own.security_bits);
            assert_eq!(bits, own.min(temporary), "{name}");
        }
        match (spec.insecure, spec.below_128) {
            (false, false) => assert!(bits >= 128.0, "{name}: {bits} bits at log2 QP = {log2_qp}"),
            (false, true) => {
                assert!((110.0..128.0).contains(&bits), "{name} is marked below_128 with {bits} bits")
            }
            (true, _) => assert!(
                bits < 110.0 && name.starts_with("insecure_"),
                "{name} is marked insecure with {bits} bits"
            ),
        }
        // The name tells: whoever asks for an insecure set has to write the word.
        assert_eq!(name.starts_with("insecure_"), spec.insecure, "{name}");
    }
}

#[test]
fn insecure_specification_without_the_mark_is_refused_with_numbers_and_remedy() {
    let text =
        "name = \"short\"\ndegree = 1024\nsteps = [[30, 30], [40]]\nspecial = [42, 42]\nlog2_scale = 40\n";
    let refused = Params::new(spec(text), &crate::common::base_runtime());
    assert_refused!(
        refused,
        CkksError::Insecure { dimension: 1024, .. },
        "dimension 1024",
        "log2 QP = 184.0",
        "uniform ternary",
        "<= 26",
        "insecure = true"
    );
    // `below_128` is no way around it.
    let refused = Params::new(spec(&format!("{text}below_128 = true\n")), &crate::common::base_runtime());
    assert_refused!(refused, CkksError::Insecure { bits, .. } if bits < 110.0, "128");
    assert!(Params::new(spec(&format!("{text}insecure = true\n")), &crate::common::base_runtime()).is_ok());
}

#[test]
fn below_128_accepts_110_bits_and_not_less() {
    let text = |special: &str, mark: &str| {
        format!(
            "name = \"edge\"\ndegree = 4096\nsteps = [[30], [30]]\nspecial = {special}\nlog2_scale = 30\n{mark}"
        )
    };
    // Dimension 4096 has 128 bits at log2 QP <= 106.
    let new =
        |special: &str, mark: &str| Params::new(spec(&text(special, mark)), &crate::common::base_runtime());
    assert!(new("[45]", "").is_ok(), "105 bits");
    let between =
        new("[56]", "below_128 = true").expect("116 bits of modulus are above 110 bits of security");
    assert!((110.0..128.0).contains(&between.security_bits()), "{}", between.security_bits());
    assert!(between.is_insecure());
    assert_refused!(new("[56]", ""), CkksError::Insecure { bits, .. } if bits > 110.0, "log2 QP = 116.0", "<= 106");
    assert_refused!(new("[35, 35]", "below_128 = true"), CkksError::Insecure { bits, .. } if bits < 110.0, "log2 QP = 130.0");
}

#[test]
fn the_key_modulus_is_gated_with_its_special_primes() {
    let text = |special: &str| {
        format!(
            "name = \"key\"\ndegree = 8192\nsteps = [[30, 30], [40], [40]]\nspecial = {special}\nlog2_scale = 40\n"
        )
    };
    let ciphertext_only =
        Params::new(spec(&text("[]")), &crate::common::base_runtime()).expect("140 bits are secure at 8192");
    assert!(ciphertext_only.security_bits() >= 128.0);
    // Q alone passes, QP is 230 > 214.
    assert_refused!(Params::new(spec(&text("[45, 45]")), &crate::common::base_runtime()), CkksError::Insecure { log2_qp, .. } if log2_qp > 229.0, "<= 214");
}

#[test]
fn sparse_weights_are_gated_by_their_own_estimates() {
    let text = |degree: usize, special: &str, weight: &str| {
        format!(
            "name = \"sparse\"\ndegree = {degree}\nsteps = [[30, 30], [40]]\nspecial = {special}\nlog2_scale = 40\n{weight}"
        )
    };
    let new = |degree, special: &str, weight: &str| {
        Params::new(spec(&text(degree, special, weight)), &crate::common::base_runtime())
    };
    assert!(new(8192, "[42, 42]", "").is_ok());
    // Weights 128 and 192 have room for 167 and 187 bits, so weight 183 for the 184 of this modulus and
    // weight 182 for 183.
    for weight in [32, 64, 128, 182] {
        let refused = new(8192, "[42, 42]", &format!("secret_weight = {weight}\n"));
        assert_refused!(refused, CkksError::Insecure { bits, .. } if bits > 0.0, &format!("secret of weight {weight}"), "8192", "log2 QP <=");
    }
    for weight in [183, 192, 256, 2000, 2730] {
        let accepted = new(8192, "[42, 42]", &format!("secret_weight = {weight}\n")).expect("in the table");
        assert!(
            (128.0..150.0).contains(&accepted.security_bits()),
            "weight {weight}: {}",
            accepted.security_bits()
        );
    }
    // Lighter secrets, and those nearer to binary than to ternary ones, are not in the table: the error names
    // what is.
    for (weight, nearest) in [
        (1, "weight 32 of dimension 8192, which has 128 bits up to log2 QP = 37"),
        (8192, "weight 6144 of dimension 8192"),
    ] {
        let refused = new(8192, "[42, 42]", &format!("secret_weight = {weight}\n"));
        let named = format!("secret of weight {weight}");
        assert_refused!(
            refused,
            CkksError::Insecure { .. },
            "does not cover",
            &named,
            nearest,
            "change secret_weight",
            "insecure = true"
        );
    }
    // Weight 2730 of 8192 has what weight 1024 has: 128 * 212 / log2 QP bits, less half a bit.
    let paper = params("paper_pcmm");
    let bound = 128.0 * 212.0 / paper.log2_qp() - 0.5;
    assert!((bound - 0.1..=bound).contains(&paper.security_bits()), "{} for {bound}", paper.security_bits());
    assert!((178.0..179.0).contains(&paper.security_bits()) && paper.log2_qp() < 152.1);
    // Weight 192 at 2^16 has room for 1481 bits: not for the chain of `n16`, nor for Lattigo's default of
    // 1546.
    let mut large = clathrate_ckks::parameters::preset("n16").expect("preset");
    large.secret_weight = Some(192);
    large.special.extend([45.0, 45.0]);
    assert_refused!(
        Params::new(large, &crate::common::base_runtime()),
        CkksError::Insecure { .. },
        "weight 192",
        "65536",
        "<= 1481"
    );
}

#[test]
fn parameters_outside_the_table_are_explained_by_the_nearest_inside() {
    let text =
        "name = \"short\"\ndegree = 64\nsteps = [[30, 30], [40]]\nspecial = [42, 42]\nlog2_scale = 40\n";
    let nearest = "uniform ternary secret of dimension 1024, which has 128 bits up to log2 QP = 26";
    assert_refused!(
        Params::new(spec(text), &crate::common::base_runtime()),
        CkksError::Insecure { .. },
        "does not cover",
        "below 128",
        nearest
    );
    let explained = Params::new(spec(&format!("{text}insecure = true\n")), &crate::common::base_runtime())
        .expect("marked")
        .explain();
    assert_eq!(explained.security_bits, 0.0);
    assert!(
        explained.nearest_covered.as_ref().is_some_and(|words| words.contains(nearest)),
        "{:?}",
        explained.nearest_covered
    );
    let printed = explained.to_string();
    assert!(
        printed.contains("no estimate") && printed.contains(nearest) && printed.contains("below 128"),
        "{printed}"
    );
    assert!(!printed.contains(" 0.0 bits"), "{printed}");
    // With a temporary rank, too.
    let explained = params("insecure_dpad").explain();
    assert!(
        !explained.to_string().contains(" 0.0 bits") && !explained.to_string().contains(", 0.0 at"),
        "{explained}"
    );
    assert!(
        explained.security_bits == 0.0
            && explained.nearest_covered.is_some_and(|words| words.contains(nearest))
    );
    assert_eq!(params("matmul").explain().nearest_covered, None);
}

#[test]
fn files_of_insecure_parameters_are_marked_and_secure_ones_are_not() {
    let insecure_flag = |bytes: Vec<u8>| FileReader::from_bytes(&bytes).expect("readable").label().insecure;
    for (name, expected) in [("insecure_tiny", true), ("matmul", false)] {
        let params = params(name);
        let sk = secret(&params, 1);
        let keys = sk.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Level(0))).expect("keys");
        let ct = encrypt(&sk, &ramp(8));
        assert_eq!(insecure_flag(params.to_file_bytes().expect("file")), expected);
        assert_eq!(insecure_flag(sk.to_file_bytes().expect("file")), expected);
        assert_eq!(insecure_flag(sk.public_key().expect("key").to_file_bytes().expect("file")), expected);
        assert_eq!(insecure_flag(keys.to_file_bytes().expect("file")), expected);
        assert_eq!(insecure_flag(ct.to_file_bytes().expect("file")), expected);
    }
}

#[test]
fn errors_of_fresh_encryptions_have_deviation_3_2() {
    assert_eq!(clathrate_lattice::sampling::ERROR_STANDARD_DEVIATION, 3.2);
    let params = params("insecure_small");
    let sk = secret(&params, 2);
    // Zeros at the top level: what decrypts is the error over the scale.
    let zeros = vec![0.0; 64 * params.degree()];
    let options = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
    let ct = encrypt_as(&sk, &Values::Real(zeros), &[64, params.degree()], options, 3);
    let errors: Vec<f64> = decrypt(&sk, &ct).iter().map(|e| e * ct.scale()).collect();
    let variance = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
    // 65536 samples: the standard deviation of this estimate is 0.28 %, five of them 1.4 %.
    assert!((variance.sqrt() / 3.2 - 1.0).abs() < 0.014, "{}", variance.sqrt());
    assert!(errors.iter().all(|e| (e - e.round()).abs() < 1e-3), "errors are integers");
}

#[test]
fn two_encryptions_of_the_same_data_share_nothing() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 4);
    let pk = sk.public_key().expect("public key");
    let data = Values::Real(ramp(32));
    let by_secret = || sk.encrypt_array(&data, &[32], EncryptOptions::default()).expect("encrypt");
    let by_public = || pk.encrypt_array(&data, &[32], EncryptOptions::default()).expect("encrypt");
    for (a, b) in [(by_secret(), by_secret()), (by_public(), by_public()), (by_secret(), by_public())] {
        let (a, b) = (&a.bundles()[0], &b.bundles()[0]);
        assert!(a.seed().is_none() || a.seed() != b.seed());
        assert_ne!(a.mask().at(0).download(), b.mask().at(0).download());
        assert_ne!(a.bodies().at(0).download(), b.bodies().at(0).download());
    }
    assert!(by_secret().bundles()[0].seed().is_some());
    assert!(by_public().bundles()[0].seed().is_none(), "a public-key ciphertext has no seed to show");
    // Fresh keys differ too.
    assert_ne!(
        SecretKey::generate(&params).expect("key").id(),
        SecretKey::generate(&params).expect("key").id()
    );
}

fn masks<'a>(bundles: impl IntoIterator<Item = &'a Bundle<Eval>>) -> Vec<Cow<'a, [u64]>> {
    bundles.into_iter().flat_map(Bundle::mask).map(|poly| poly.download()).collect()
}

fn assert_all_differ(masks: &[Cow<'_, [u64]>]) {
    // The first row's first eight residues tell masks apart: 2^-320 for a chance collision.
    let distinct: HashSet<&[u64]> = masks.iter().map(|mask| &mask[..8]).collect();
    assert_eq!(distinct.len(), masks.len());
}

#[test]
fn masks_never_repeat_within_an_array_or_a_key() {
    for name in ["insecure_tiny", "insecure_rank3"] {
        let (params, sk, _) = setup(name, &KeyNeeds::new());
        let options = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
        let ct = sk.encrypt_array(&vec![0.0; 50 * 3], &[50, 3], options).expect("encrypt");
        let other = sk.encrypt_array(&vec![0.0; 50 * 3], &[50, 3], options).expect("encrypt");
        assert_all_differ(&masks(ct.bundles().iter().chain(other.bundles())));
        let needs = KeyNeeds::new().relinearise(KeyLevel::Top);
        let keys = sk.evaluation_keys(&needs).expect("keys");
        let again = sk.evaluation_keys(&needs).expect("keys");
        let (first, second) = (keys.relinearisation().expect("made"), again.relinearisation().expect("made"));
        assert_eq!(first.entries().len(), first.inputs() * first.digit_count());
        assert!(first.entries().len() > 1, "{name} at rank {}", params.rank());
        let entries = [first.entries(), second.entries()].concat();
        assert_all_differ(&masks(&entries));
    }
}

#[test]
fn seeds_of_all_keys_in_one_file_differ() {
    let (_, sk, _) = setup("insecure_tiny", &KeyNeeds::new());
    let needs = KeyNeeds::new()
        .relinearise(KeyLevel::Top)
        .conjugate(KeyLevel::Top)
        .rotations([1, 2, 3], KeyLevel::Top);
    let bytes = sk.evaluation_keys(&needs).expect("keys").to_file_bytes().expect("file");
    let reader = FileReader::from_bytes(&bytes).expect("readable");
    let seeds = reader.section("seeds").expect("seeds");
    let distinct: HashSet<&[u8]> = seeds.bytes().chunks_exact(32).collect();
    assert_eq!(distinct.len(), 5);
}

#[test]
fn secret_key_debug_and_metadata_show_no_coefficient() {
    let (params, sk, _) = setup("insecure_tiny", &KeyNeeds::new());
    let shown = format!("{sk:?}");
    assert!(shown.contains("redacted"), "{shown}");
    // The numbers it may show: degree, rank, bodies, levels, the key's id. A coefficient list has commas
    // between small numbers.
    for run in ["0, 0", "0, 1", "1, 0", "1, 1", "-1", "0,0", "[0", "[1"] {
        assert!(!shown.contains(run), "`{run}` in {shown}");
    }
    // Two secrets under one id print alike: nothing else reaches the output.
    let bytes = sk.to_file_bytes().expect("file");
    let reader = FileReader::from_bytes(&bytes).expect("readable");
    let metadata: serde_json::Value = serde_json::from_str(reader.metadata_text()).expect("json");
    let fields: Vec<&String> = metadata.as_object().expect("object").keys().collect();
    assert_eq!(fields, ["key_id", "parameters"]);
    assert_eq!(metadata["key_id"].as_str().expect("text").len(), 32);
    assert!(sk.secret().all_coefficients().iter().any(|&c| c != 0));
    assert_eq!(params.degree(), sk.secret().all_coefficients().len());
}

#[cfg(unix)]
#[test]
fn secret_key_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("folder");
    let (_, sk, _) = setup("insecure_tiny", &KeyNeeds::new());
    let path = folder.path().join("secret.clth");
    sk.save(&path).expect("saved");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    // Also where a more open file was there before.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("opened");
    assert!(sk.save(&path).is_err(), "a secret key is replaced on purpose only");
    sk.replace(&path).expect("replaced");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
}

/// Li-Micciancio: from a ciphertext `b + a s = round(scale m) + e` and its decryption, `s = (round(scale v) -
/// b) / a`.
fn recovered_secret(ct: &Ciphertext, decrypted: &[f64]) -> Option<Vec<i64>> {
    let bundle = &ct.bundles()[0];
    let (ring, basis) = (bundle.ring(), bundle.basis());
    let phase: Vec<i64> = decrypted.iter().map(|v| (v * ct.scale()).round() as i64).collect();
    let mut difference = Poly::from_signed(ring, basis, &phase).into_eval();
    difference.sub_assign(bundle.bodies().at(0)).expect("one basis");
    // One prime decides coefficients of -1, 0, 1; an Eval mask is invertible where no residue is 0.
    let modulus = &ring.moduli()[basis.indices()[0]];
    let mut row = vec![0; ring.degree()];
    let (differences, mask) = (difference.download_row(0), bundle.mask().at(0).download_row(0));
    for ((target, &d), &a) in row.iter_mut().zip(differences.iter()).zip(mask.iter()) {
        *target = modulus.mul(d, modulus.inverse(a)?);
    }
    let first = clathrate_lattice::Basis::new([basis.indices()[0]]);
    let secret = Poly::<Eval>::upload(ring, &first, |_, words| words.copy_from_slice(&row)).into_coeff();
    let q = modulus.value();
    Some(
        secret
            .download_row(0)
            .iter()
            .map(|&c| if c > q / 2 { -((q - c) as i64) } else { c as i64 })
            .collect(),
    )
}

#[test]
fn raw_decryptions_give_the_secret_away_and_shared_ones_do_not() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 6);
    let options = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
    let data = ramp(params.degree());
    let ct = encrypt_as(&sk, &Values::Real(data.clone()), &[params.degree()], options, 7);
    let raw = decrypt(&sk, &ct);
    assert_eq!(recovered_secret(&ct, &raw).expect("invertible mask"), sk.secret().all_coefficients());
    // 2^20 against an error of a few units: what is left of the error is 2^-17 per coefficient.
    let Values::Real(shared) = sk.decrypt_to_share(&ct, 20, HonestEvaluator).expect("shared") else {
        panic!("real data")
    };
    assert_close(&shared, &data, (20f64 - 40.0).exp2());
    let guess = recovered_secret(&ct, &shared).expect("invertible mask");
    println!(
        "coefficients of the secret that the attack finds: all of {} from a raw decryption",
        params.degree()
    );
    let ternary = guess.iter().filter(|c| c.abs() <= 1).count();
    assert!(
        ternary < params.degree() / 4,
        "{ternary} of {} coefficients look like a secret's",
        params.degree()
    );
    // The flood hides the error: what is revealed less the message has the flood's size, and no two sharings
    // agree.
    let Values::Real(again) = sk.decrypt_to_share(&ct, 20, HonestEvaluator).expect("shared") else {
        panic!("real data")
    };
    assert_ne!(shared, again);
    let mean_square =
        shared.iter().zip(&raw).map(|(s, r)| ((s - r) * ct.scale()).powi(2)).sum::<f64>() / data.len() as f64;
    let expected = 20f64.exp2().powi(2) / 12.0;
    // 64 uniform samples: the mean square is within a factor of 2 but for one in 10^6.
    assert!((0.5..2.0).contains(&(mean_square / expected)), "{}", mean_square / expected);
}

#[test]
fn generated_keys_follow_the_stated_distribution() {
    let params = custom(
        "name = \"sparse\"\ndegree = 1024\nsteps = [[30, 30]]\nlog2_scale = 40\nsecret_weight = 64\ninsecure = true\n",
    );
    for seed in 0..4 {
        let sk = SecretKey::generate_with(&params, &mut SecretRng::from_seed([seed; 32])).expect("key");
        assert_eq!(sk.secret().all_coefficients().iter().filter(|&&c| c != 0).count(), 64);
        assert!(sk.secret().all_coefficients().iter().all(|c| c.abs() <= 1));
    }
}

/// The root mean square.
fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}

#[test]
fn flood_bits_cover_error_coefficients_queries_and_statistical_bits() {
    let params = params("insecure_small");
    let sk = SecretKey::generate(&params).expect("secret key");
    let ct = encrypt(&sk, &ramp(16));
    // 2^-35 at scale 2^40 is 2^5 integers; 2^10 coefficients; 2^4 queries; 20 bits.
    let wide = EncryptOptions { scale: Some(90f64.exp2()), ..EncryptOptions::default() };
    let wide = encrypt_as(&sk, &Values::Real(ramp(16)), &[16], wide, 3);
    let bits = wide.flood_bits(Some((-85f64).exp2()), 16, 20, 10).expect("fits");
    assert_eq!(bits, 5 + 10 + 4 + 20);
    assert_eq!(wide.flood_bits(Some((-85f64).exp2()), 32, 20, 10).expect("fits"), bits + 1);
    assert_eq!(
        wide.flood_bits(Some(1e-300), 1, 20, 10).expect("fits"),
        10 + 20,
        "an error is at least one integer"
    );
    // Noise longer than a word.
    let long = wide.flood_bits(Some((-75f64).exp2()), 16, 40, 1).expect("fits");
    assert_eq!(long, 15 + 10 + 4 + 40);
    for bits in [bits, long] {
        let Values::Real(values) = sk.decrypt_to_share(&wide, bits, HonestEvaluator).expect("shared") else {
            panic!("real data")
        };
        let errors: Vec<f64> = values.iter().zip(ramp(16)).map(|(got, x)| got - x).collect();
        let (measured, stated) = (rms(&errors), (-wide.shared_bits(f64::from(bits))).exp2());
        // Of sixteen numbers, a factor of two is five standard deviations.
        assert!(measured < 2.0 * stated && measured > stated / 3.0, "{bits} bits: {measured:e}, {stated:e}");
    }
    for (bound, queries, lambda, correct, say) in [
        (0.0, 1, 20, 1, "error_bound"),
        (f64::NAN, 1, 20, 1, "error_bound"),
        (1e-9, 0, 20, 1, "queries"),
        (1e-9, 1, 40, 1, "share_n14"),
        ((-35f64).exp2(), 16, 20, 10, "at least 2^50"),
    ] {
        let error = ct.flood_bits(Some(bound), queries, lambda, correct).expect_err("refused").to_string();
        assert!(error.contains(say), "{error}");
    }
    let low = Evaluator::new(&params).drop_to_level(&wide, Level(2)).expect("lower");
    let error = low.flood_bits(Some((-40f64).exp2()), 1 << 20, 60, 0).expect_err("refused").to_string();
    assert!(error.contains("correct bits"), "{error}");
}

/// The documented way to share results: parameters with a large scale, a dry run's bound on the error, a
/// budget of queries.
#[test]
#[ignore = "full size"]
fn results_are_shared_with_the_preset_for_it() {
    let params = params("share_n14");
    let sk = secret(&params, 12);
    let data = ramp(params.slot_count());
    let circuit = |ev: &Evaluator, x: &Ciphertext| ev.rescale(&ev.multiply(x, x)?);
    let recorder = Evaluator::recording(&params);
    let symbol = recorder.symbol(&[data.len()], Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
    let planned = circuit(&recorder, &symbol).expect("planned");
    let ev = Evaluator::with_keys(sk.evaluation_keys(&recorder.needs()).expect("keys"));
    let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    let x = sk.encrypt_array(&Values::Real(data.clone()), &[data.len()], options).expect("encrypted");
    let y = circuit(&ev, &x).expect("a square");
    let bits = planned.flood_bits(None, 1000, 40, 10).expect("room");
    let Values::Real(shared) = sk.decrypt_to_share(&y, bits, HonestEvaluator).expect("shared") else {
        panic!("real data")
    };
    let errors: Vec<f64> = shared.iter().zip(&data).map(|(got, x)| got - x * x).collect();
    let (measured, stated) = (rms(&errors), (-y.shared_bits(f64::from(bits))).exp2());
    println!("{bits} bits of noise: {:.1} correct bits, stated {:.1}", -measured.log2(), -stated.log2());
    assert!(measured < 1.1 * stated && measured > 0.9 * stated, "{measured:e}, {stated:e}");
    assert!(measured < 2f64.powi(-10));
}

#[test]
fn encryptions_of_many_bodies_are_gated_where_the_modulus_of_ciphertexts_leaves_no_room() {
    let text = "name = \"tight\"\ndegree = 2048\nsteps = [[28], [25]]\nspecial = []\nlog2_scale = 25\n";
    let params = Params::new(spec(text), &crate::common::base_runtime()).expect("53 bits are secure at 2048");
    let owner = secret(&params, 1);
    let options = |bodies, level| EncryptOptions {
        encoding: Some(Encoding::Slots),
        bodies,
        level: Some(level),
        ..EncryptOptions::default()
    };
    let encrypt = |bodies, level| owner.encrypt_array(&ramp(16), &[2, 8], options(bodies, level));
    for bodies in [None, Some(1)] {
        assert!(encrypt(bodies, params.max_level()).is_ok());
    }
    // The whole modulus has 128 bits, and 4096 bodies cost 12 of them.
    let refused = encrypt(Some(4096), params.max_level());
    assert_refused!(refused, CkksError::Insecure { bits, .. } if bits < 117.0, "bodies:4096", "fewer bodies", "lower level");
    let layout =
        options(Some(4096), params.max_level()).layout(&[2, 8], false, params.degree()).expect("a layout");
    let encode = |level| {
        Plaintext::encode_as(&params, &ramp(16), &[2, 8], layout, level, params.scale(level))
            .expect("encoded")
    };
    assert_refused!(
        owner.encrypt_encoded(&encode(params.max_level())),
        CkksError::Insecure { .. },
        "bodies:4096"
    );
    // A shorter modulus has bits to spare.
    assert!(encrypt(Some(4096), Level(0)).is_ok() && owner.encrypt_encoded(&encode(Level(0))).is_ok());
}
