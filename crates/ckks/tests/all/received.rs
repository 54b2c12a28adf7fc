//! Specifications that others wrote: what they may not decide, the names they may not take, and the digests
//! that tell them apart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::*;
use clathrate_ckks::error::ErrorKind;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, KeyName, Switch, Values};
use clathrate_ckks::parameters::{EngineFactory, Segment, preset, preset_names};
use clathrate_ckks::{CkksError, Encoding, KeyNeeds, Params, ParamsSpec, Runtime};
use clathrate_lattice::Level;

/// Sets below 128 bits of every kind, each with the mark with which its author accepts that.
const BELOW: [&str; 6] = [
    // Not covered by the security table.
    "name = \"small\"\ndegree = 64\nsteps = [[30, 30], [40]]\nspecial = [42, 42]\nlog2_scale = 40\ninsecure = true\n",
    // 116 bits of modulus at dimension 4096: between 110 and 128 bits of security.
    "name = \"between\"\ndegree = 4096\nsteps = [[30], [30]]\nspecial = [56]\nlog2_scale = 30\nbelow_128 = true\n",
    "name = \"between\"\ndegree = 4096\nsteps = [[30], [30]]\nspecial = [56]\nlog2_scale = 30\ninsecure = true\n",
    // A sparse secret, a temporary rank, an ephemeral secret.
    "name = \"sparse\"\ndegree = 8192\nsteps = [[30, 30], [40]]\nspecial = [42, 42]\nlog2_scale = 40\nsecret_weight = 64\ninsecure = true\n",
    "name = \"temporary\"\ndegree = 4096\nsteps = [[30], [30]]\nspecial = [45]\ntemporary = [45, 45, 45]\ntemporary_rank = 2\nlog2_scale = 30\ninsecure = true\n",
    "name = \"ephemeral\"\ndegree = 4096\nsteps = [[30], [30]]\nspecial = [45]\nephemeral_weight = 32\nlog2_scale = 30\ninsecure = true\n",
];

#[test]
fn specifications_below_128_bits_need_the_word_of_whoever_reads_them() {
    let presets: Vec<String> = ["insecure_tiny", "insecure_dpad"]
        .iter()
        .map(|name| toml::to_string(params(name).spec()).expect("text"))
        .collect();
    for text in BELOW.iter().copied().chain(presets.iter().map(String::as_str)) {
        let own = custom(text);
        assert!(own.is_insecure(), "{text}");
        let refused = Params::received(spec(text), false, &base_runtime());
        assert_refused!(refused, CkksError::Insecure { bits, .. } if bits < 128.0, "whoever reads it must", "below 128", "log2 QP = ", "dimension", "`allow_insecure`");
        assert_eq!(Params::received(spec(text), true, &base_runtime()).expect("with the word"), own);
        let bytes = own.to_file_bytes().expect("file");
        let read = |word| {
            Params::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), word, &base_runtime())
        };
        assert_refused!(read(false), CkksError::Insecure { .. }, "whoever reads it must", "`allow_insecure`");
        assert_eq!(read(true).expect("with the word"), own);
        // The word does not replace the mark, and the remedy names both.
        let unmarked = spec(&text.replace("insecure = true\n", "").replace("below_128 = true\n", ""));
        for word in [false, true] {
            let refused = Params::received(unmarked.clone(), word, &base_runtime());
            assert!(matches!(refused, Err(CkksError::Insecure { .. })), "{text}");
        }
    }
    let unmarked = BELOW[0].replace("insecure = true\n", "");
    assert_refused!(
        Params::received(spec(&unmarked), false, &base_runtime()),
        CkksError::Insecure { .. },
        "set insecure = true and pass `allow_insecure`"
    );
    // Secure ones need no word.
    for name in ["n12", "matmul"] {
        let own = params(name);
        assert_eq!(Params::received(own.spec().clone(), false, &base_runtime()).expect("secure"), own);
    }
}

#[test]
fn marks_that_a_set_does_not_need_change_nothing() {
    for name in ["n12", "matmul", "ccmm_n12"] {
        let own = params(name);
        for (insecure, below_128) in [(true, false), (false, true), (true, true)] {
            let marked =
                Params::new(ParamsSpec { insecure, below_128, ..own.spec().clone() }, &base_runtime())
                    .expect("a preset");
            assert_eq!(
                (marked.spec(), marked.is_insecure(), marked.digest()),
                (own.spec(), false, own.digest()),
                "{name}"
            );
            let read = Params::received(
                ParamsSpec { insecure, below_128, ..own.spec().clone() },
                false,
                &base_runtime(),
            );
            assert_eq!(read.expect("secure").spec(), own.spec(), "{name}");
        }
    }
}

#[test]
fn keys_and_encryptions_are_gated_by_figures_and_not_by_marks() {
    // Presets with bits to spare for a few bodies; a set with none, marked in either way; one that the table
    // does not cover, which promises nothing.
    let sets = [
        params("n12"),
        Params::new(ParamsSpec { insecure: true, ..preset("n12").expect("a preset") }, &base_runtime())
            .expect("a preset"),
        custom(BELOW[1]),
        custom(BELOW[2]),
        custom(BELOW[0]),
    ];
    let mut made = Vec::new();
    for params in &sets {
        let wanted = params.security_bits().min(128.0);
        let mut gates = Vec::new();
        for bodies in [2, 4, 8, 16, 64, 512, 4096] {
            let key = params
                .key_definition(KeyName::Switch(Switch::FormatSwitch { from: 1, to: bodies }))
                .expect("a key");
            for level in [0, params.max_level().0].map(Level) {
                let bits = (key.security_bits(level).expect("bits") - (bodies as f64).log2()).max(0.0);
                let gate = key.check_security(level);
                assert_eq!(
                    gate.is_ok(),
                    bits >= wanted,
                    "{}, {bodies} bodies, level {level}: {bits} bits for {wanted}",
                    params.spec().name
                );
                gates.push(gate.is_ok());
            }
        }
        made.push(gates);
    }
    assert!(made[0] == made[1] && made[2] == made[3]);
    assert!(
        made[0].contains(&true)
            && made[0].contains(&false)
            && made[2].contains(&false)
            && !made[4].contains(&false)
    );
    // As keys are made and arrays are encrypted.
    for params in &sets[..2] {
        let owner = secret(params, 1);
        let key = |bodies| owner.evaluation_keys(&KeyNeeds::new().shared_mask(bodies, KeyLevel::Top));
        assert!(key(2).is_ok());
        assert_refused!(key(64), CkksError::Insecure { .. }, "64 bodies", "fewer than 64");
    }
    let bare = "name = \"bare\"\ndegree = 4096\nsteps = [[35], [35], [35]]\nlog2_scale = 35\n";
    for text in [bare.to_owned(), format!("{bare}insecure = true\n"), format!("{bare}below_128 = true\n")] {
        let params = custom(&text);
        let bodies = |bodies, level| EncryptOptions {
            encoding: Some(Encoding::Coefficients),
            bodies: Some(bodies),
            level,
            ..EncryptOptions::default()
        };
        let encrypt =
            |options| secret(&params, 1).encrypt_array(&Values::Real(vec![0.5; 64]), &[8, 8], options);
        assert_refused!(encrypt(bodies(8, None)), CkksError::Insecure { .. }, "fewer bodies", "lower level");
        assert!(encrypt(bodies(8, Some(Level(1)))).is_ok());
    }
}

/// A change of a specification.
type Change = fn(&mut ParamsSpec);

#[test]
fn the_name_of_a_preset_is_for_its_own_contents() {
    for name in ["insecure_tiny", "insecure_dpad", "n12", "boot_fast", "paper_dpad_n13_r2"] {
        let own = preset(name).expect("a preset");
        let changes: [(&str, Change); 8] = [
            ("degree", |spec| spec.degree /= 2),
            ("steps", |spec| spec.steps[0][0] += 1.0),
            ("special", |spec| spec.special[0] -= 1.0),
            ("secret_weight", |spec| spec.secret_weight = Some(40)),
            ("ephemeral_weight", |spec| spec.ephemeral_weight = Some(33)),
            ("bootstrap_key_bytes", |spec| spec.bootstrap_key_bytes = Some(1)),
            ("bootstrap_log2_failure", |spec| spec.bootstrap_log2_failure = Some(-1.0)),
            ("case", |spec| spec.name = format!(" {}", spec.name.to_uppercase())),
        ];
        for (what, change) in changes {
            let mut changed = ParamsSpec { insecure: true, ..own.clone() };
            change(&mut changed);
            let refused = Params::new(changed.clone(), &base_runtime());
            assert_refused!(refused, CkksError::InvalidParams { .. }, name, "another name");
            let refused = Params::received(changed, true, &base_runtime()).expect_err("also from others");
            assert_eq!(refused.kind(), ErrorKind::Params, "{name}, {what}");
        }
    }
    let own = ParamsSpec { name: "insecure_mine".to_owned(), ..spec(BELOW[0]) };
    assert_refused!(
        Params::new(own, &base_runtime()),
        CkksError::InvalidParams { .. },
        "insecure_mine",
        "belong to presets",
        "another name"
    );
    // Their own contents are theirs through text and files, and so are those of their relatives.
    for spec in all_sets() {
        let text = toml::to_string(&spec).expect("text");
        assert_eq!(toml::from_str::<ParamsSpec>(&text).expect("text"), spec);
        let json = serde_json::to_string(&spec).expect("json");
        assert_eq!(serde_json::from_str::<ParamsSpec>(&json).expect("json"), spec);
    }
    for name in ["insecure_tiny", "insecure_dpad", "insecure_boot"] {
        let own = params(name);
        assert_eq!(Params::new(own.spec().clone(), &base_runtime()).expect("its own"), own);
        let small =
            own.for_samples(clathrate_ckks::ModuleShape { degree: 8, rank: 1 }).expect("a shape of samples");
        assert!(Params::new(own.spec().clone(), &base_runtime()).is_ok() && small.spec().name == name);
    }
}

/// The sets of the benchmarks are no presets: their names belong to nobody, and whoever reads one below 128
/// bits has to say so, as for any other set.
#[test]
fn files_of_sets_of_the_benchmarks_are_read_like_those_of_any_other_set() {
    for spec in benchmark_sets() {
        assert!(!preset_names().contains(&spec.name) && preset(&spec.name).is_err(), "{}", spec.name);
        let params = Params::new(spec, &base_runtime()).expect("a set");
        let bytes = params.to_file_bytes().expect("file");
        let read = |word| {
            let reader = FileReader::from_bytes(&bytes).expect("a container");
            Params::from_reader(&reader, word, &base_runtime())
        };
        assert_eq!(read(true).expect("the caller's word"), params);
        if params.is_insecure() {
            assert_refused!(
                read(false),
                CkksError::Insecure { .. },
                "whoever reads it must",
                "below 128",
                "allow_insecure"
            );
        } else {
            assert_eq!(read(false).expect("secure"), params);
        }
    }
}

#[test]
fn tables_above_the_limit_are_refused_before_anything_is_made() {
    let engines = Arc::new(AtomicUsize::new(0));
    let count = engines.clone();
    let counted = EngineFactory::new(move |request| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(request.cpu()?))
    });
    let runtime = Runtime { engine: Some(counted), ..Runtime::default() };
    let long = |degree: usize, rank: usize, steps: usize, special: usize| {
        let steps: Vec<[u32; 1]> = (0..steps).map(|level| [if level == 0 { 60 } else { 40 }]).collect();
        let special = vec![40; special];
        spec(&format!(
            "name = \"long\"\ndegree = {degree}\nrank = {rank}\nsteps = {steps:?}\nspecial = {special:?}\nlog2_scale = 40\ninsecure = true\n"
        ))
    };
    // The last two are long at the degree that their rank leads to.
    for (degree, rank, steps, special) in [
        (1 << 17, 1, 200, 56),
        (1 << 17, 64, 200, 56),
        (1 << 16, 1, 256, 0),
        (1 << 12, 32, 200, 56),
        (1 << 11, 64, 60, 4),
    ] {
        for word in [false, true] {
            let refused = Params::received(long(degree, rank, steps, special), word, &runtime);
            assert_refused!(
                refused,
                CkksError::TablesTooLarge { .. },
                "MiB of tables",
                "256 MiB",
                "table_bytes"
            );
        }
        assert!(matches!(
            Params::new(long(degree, rank, steps, special), &runtime),
            Err(CkksError::TablesTooLarge { .. })
        ));
    }
    assert_eq!(engines.load(Ordering::Relaxed), 0);
    // The caller's word moves the limit, either way.
    let tight =
        |bytes| Params::preset("insecure_tiny", &Runtime { table_bytes: Some(bytes), ..runtime.clone() });
    let Err(CkksError::TablesTooLarge { bytes, .. }) = tight(1) else { panic!("a limit of one byte") };
    assert!(tight(bytes).is_ok() && matches!(tight(bytes - 1), Err(CkksError::TablesTooLarge { .. })));
    assert!(Params::new(long(1 << 11, 1, 60, 4), &runtime).is_ok());
}

/// What two sets must have in common to be one: read from the parameters and never from the digest.
fn contents(params: &Params) -> String {
    let spec = params.spec();
    let steps: Vec<usize> = spec.steps.iter().map(Vec::len).collect();
    let moduli: Vec<u64> =
        params.chain().ring().moduli().iter().map(clathrate_arith::Modulus::value).collect();
    let digits: Vec<usize> = params
        .gadget()
        .map_or_else(|_| Vec::new(), |gadget| gadget.digits().iter().map(|digit| digit.len()).collect());
    let scales: Vec<(String, u64)> =
        params.segments().iter().map(|s| (format!("{:?}", s.levels), s.log2_scale.to_bits())).collect();
    let names: Vec<&str> =
        params.segments().iter().map(|segment| &*segment.name).filter(|_| scales.len() > 1).collect();
    let ephemeral = spec
        .ephemeral_weight
        .map(|weight| (weight, spec.ephemeral_special.unwrap_or(2).min(spec.special.len())));
    let failure = spec.bootstrap_log2_failure.unwrap_or(-128.0);
    format!(
        "{:?} {:?} {steps:?} {} {} {moduli:?} {digits:?} {:?} {ephemeral:?} {scales:?} {names:?} {:?} {failure}",
        (spec.degree, spec.rank),
        spec.secret_weight,
        spec.special.len(),
        spec.temporary.len(),
        spec.temporary_rank,
        spec.bootstrap_key_bytes
    )
}

#[test]
fn a_digest_states_all_that_tells_two_sets_apart() {
    // These had one digest when lists had no lengths: temporary primes and rank here, special primes and an
    // ephemeral secret there.
    let pair = [
        "special = [42, 42]\ntemporary = [42, 42]\ntemporary_rank = 32\n",
        "special = [42, 42, 42, 42]\nephemeral_weight = 32\nephemeral_special = 2\n",
    ];
    let [left, right] = pair.map(|rest| {
        custom(&format!(
            "name = \"x\"\ndegree = 1024\nsteps = [[30, 30], [40], [40]]\nlog2_scale = 40\ndigit_bits = 41\ninsecure = true\n{rest}"
        ))
    });
    assert_ne!(left, right);
    // Small numbers from short lists, so that one set's list looks like another one's field.
    let mut dice = 7u64;
    let mut below = |bound: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % bound
    };
    let mut seen: BTreeMap<[u8; 32], (String, usize)> = BTreeMap::new();
    let mut of: BTreeMap<String, [u8; 32]> = BTreeMap::new();
    for round in 0..4000 {
        let steps = 1 + below(3) as usize;
        let maybe = |dice: u64, value: usize| (dice == 0).then_some(value);
        let mut spec = ParamsSpec {
            name: format!("round {round}"),
            degree: 8 << below(2),
            rank: 1 + below(2) as usize,
            steps: std::iter::once(vec![30.0, 30.0])
                .chain((1..steps).map(|_| vec![40.0; 1 + usize::from(below(4) == 0)]))
                .collect(),
            special: vec![42.0; below(4) as usize],
            ..spec(BELOW[0])
        };
        spec.temporary = vec![42.0; if spec.special.is_empty() { 0 } else { below(3) as usize }];
        spec.temporary_rank = (!spec.temporary.is_empty()).then_some(spec.rank + 1 + below(3) as usize);
        spec.secret_weight = maybe(below(3), 1 + below(4) as usize);
        if !spec.special.is_empty() {
            spec.ephemeral_weight = maybe(below(2), 1 + below(4) as usize);
            spec.ephemeral_special = spec
                .ephemeral_weight
                .and_then(|_| maybe(below(2), 1 + below(spec.special.len() as u64) as usize));
        }
        spec.digit_bits = (below(2) == 0).then_some(42.5);
        spec.bootstrap_key_bytes = maybe(below(3), 1 + below(4) as usize).map(|bytes| bytes as u64);
        spec.bootstrap_log2_failure = (below(3) == 0).then_some(-64.0 * (1 + below(2)) as f64);
        if steps > 1 && below(2) == 0 {
            let (cut, swap) = (below(steps as u64 - 1) as usize, below(2) == 0);
            let segment = |name: &str, levels| Segment { name: name.to_owned(), log2_scale: 40.0, levels };
            let (low, high) = if swap { ("a", "bc") } else { ("ab", "c") };
            spec.segments = vec![segment(low, (0, cut)), segment(high, (cut + 1, steps - 1))];
        }
        let Ok(params) = Params::new(spec, &base_runtime()) else { continue };
        let contents = contents(&params);
        let entry = seen.entry(*params.digest()).or_insert_with(|| (contents.clone(), 0));
        assert_eq!(entry.0, contents, "one digest for two sets");
        entry.1 += 1;
        assert_eq!(
            of.entry(contents).or_insert(*params.digest()),
            params.digest(),
            "two digests for one set"
        );
    }
    assert!(seen.len() > 1000 && seen.values().any(|(_, count)| *count > 1), "{} sets", seen.len());
}

#[test]
fn files_with_more_bodies_under_a_mask_than_are_protected_are_refused() {
    let refused = |bytes: &[u8], change: &dyn Fn(&mut serde_json::Value), params: &Params| {
        let reader = FileReader::from_bytes(bytes).expect("readable");
        let mut metadata: serde_json::Value = reader.metadata().expect("json");
        change(&mut metadata);
        let mut writer =
            clathrate_ckks::file::FileWriter::in_memory(reader.label().clone(), &metadata).expect("writer");
        for info in reader.sections() {
            writer
                .add_section(info.name(), reader.section(info.name()).expect("there").bytes())
                .expect("section");
        }
        let bytes = writer.finish().expect("finished");
        let reader = FileReader::from_bytes(&bytes).expect("readable");
        match reader.label().kind {
            clathrate_ckks::file::FileKind::EvaluationKeys => {
                clathrate_ckks::EvaluationKeys::from_reader(&reader, params).map(drop)
            }
            _ => clathrate_ckks::Ciphertext::from_reader(&reader, params).map(drop),
        }
        .expect_err("too many bodies")
    };
    let params = params("n12");
    let keys =
        secret(&params, 1).evaluation_keys(&KeyNeeds::new().shared_mask(2, KeyLevel::Top)).expect("keys");
    let bytes = keys.to_file_bytes().expect("file");
    let more = |metadata: &mut serde_json::Value| metadata["keys"][0]["name"] = "format-switch 64".into();
    let error = refused(&bytes, &more, &params);
    assert!(matches!(error, CkksError::Insecure { .. }), "{error}");
    let bare = custom("name = \"bare\"\ndegree = 4096\nsteps = [[35], [35], [35]]\nlog2_scale = 35\n");
    let options = EncryptOptions {
        encoding: Some(Encoding::Coefficients),
        bodies: Some(8),
        level: Some(Level(1)),
        ..EncryptOptions::default()
    };
    let bytes = secret(&bare, 1)
        .encrypt_array(&Values::Real(vec![0.5; 64]), &[8, 8], options)
        .expect("few")
        .to_file_bytes()
        .expect("file");
    let higher = |metadata: &mut serde_json::Value| metadata["level"] = 2.into();
    let error = refused(&bytes, &higher, &bare);
    assert!(matches!(error, CkksError::Insecure { .. }), "{error}");
}
