//! Every key of every rank is gated by its own dimension and modulus.

use crate::common::*;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::keys::{KeyAddress, KeyName};
use clathrate_ckks::parameters::{KeyModulus, preset, preset_names};
use clathrate_ckks::{CkksError, Encoding, KeyNeeds, ModuleShape, Params, ParamsSpec};
use clathrate_lattice::Level;
use clathrate_lattice::security::estimated_bits;

/// Bits of keys at `rank` over `chain` up to `level`.
fn bits(params: &Params, chain: &clathrate_lattice::Chain, rank: usize, level: Level) -> f64 {
    estimated_bits(
        params.degree() * rank,
        chain.key_basis(level).log2(chain.ring()),
        params.spec().distribution(),
    )
}

#[test]
fn every_shape_of_a_secure_set_has_the_bits_of_its_root_and_not_a_level_more() {
    let names: Vec<String> = preset_names().into_iter().filter(|name| name.contains("dpad_n13")).collect();
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        let root = params(&name);
        let wanted = root.security_bits().min(128.0);
        assert!(root.spec().below_128 || wanted >= 128.0, "{name}: {wanted}");
        for rank in (1..=root.rank()).rev() {
            let Ok(relative) = root.at_rank(rank) else {
                assert!(bits(&root, root.chain(), rank, Level(0)) < wanted, "{name}, rank {rank} could be");
                continue;
            };
            let (top, chain) = (relative.max_level(), relative.chain());
            assert!(relative.security_bits() >= wanted, "{name}, rank {rank}");
            assert!(bits(&relative, chain, rank, top) >= wanted, "{name}, rank {rank}");
            if top < root.max_level() {
                assert!(
                    bits(&relative, chain, rank, Level(top.0 + 1)) < wanted,
                    "{name}, rank {rank} stops at {top} too early"
                );
            }
            let Some(temporary) = relative.temporary() else { continue };
            let widened = relative.key_switching(KeyModulus::Widened).expect("keys");
            let chain = widened.switcher.chain();
            assert!(
                bits(&relative, chain, temporary.rank, top) >= wanted,
                "{name}, rank {rank} -> {}",
                temporary.rank
            );
            assert_eq!(widened.security_bits, bits(&relative, chain, temporary.rank, top));
            if let Some(level) = temporary.direct_level {
                assert!(bits(&relative, chain, rank, level) >= wanted, "{name}, rank {rank}, direct");
                if level < top {
                    assert!(
                        bits(&relative, chain, rank, Level(level.0 + 1)) < wanted,
                        "{name}, rank {rank}, direct too early"
                    );
                }
            }
        }
    }
}

#[test]
fn insecure_temporary_ranks_are_refused_with_the_remedy() {
    let mut spec = ParamsSpec { name: "longer".to_owned(), ..preset("dpad_n13_r2").expect("preset") };
    spec.temporary.push(44.0);
    spec.temporary.push(44.0);
    let error =
        Params::new(spec.clone(), &crate::common::base_runtime()).expect_err("too long a modulus at rank 3");
    assert!(matches!(error, CkksError::Insecure { dimension: 24576, .. }), "{error}");
    for part in ["temporary_rank 3", "raise it to 4", "`temporary`"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    spec.temporary_rank = Some(4);
    assert!(
        Params::new(spec.clone(), &crate::common::base_runtime()).expect("rank 4 has room").security_bits()
            >= 128.0
    );
    spec.temporary_rank = Some(2);
    assert!(
        Params::new(spec.clone(), &crate::common::base_runtime())
            .expect_err("no higher")
            .to_string()
            .contains("use 3 to 128")
    );
    spec.temporary_rank = None;
    assert!(
        Params::new(spec.clone(), &crate::common::base_runtime())
            .expect_err("primes without a rank")
            .to_string()
            .contains("temporary_rank")
    );
    (spec.temporary_rank, spec.temporary) = (Some(3), Vec::new());
    assert!(
        Params::new(spec, &crate::common::base_runtime())
            .expect_err("a rank without primes")
            .to_string()
            .contains("temporary")
    );
}

#[test]
fn steps_by_less_than_half_the_rank_need_the_callers_word() {
    let params = params("insecure_dpad");
    let owner = secret(&params, 1);
    let make = |needs: &KeyNeeds| owner.evaluation_keys(needs);
    let step = KeyNeeds::new().reduce_to(3, KeyLevel::Top);
    let error = make(&step).expect_err("not the default");
    assert!(
        matches!(&error, CkksError::Unsupported { reason } if reason.contains("cannot be reduced from 4 to 3"))
            && error.to_string().contains("single_steps"),
        "{error}"
    );
    assert!(make(&step.single_steps()).is_ok());
    assert!(make(&KeyNeeds::new().reduce_to(2, KeyLevel::Top)).is_ok());
    for rank in [0, 4, 5] {
        assert!(
            matches!(
                make(&KeyNeeds::new().reduce_to(rank, KeyLevel::Top).single_steps()),
                Err(CkksError::Unsupported { reason, .. }) if reason.contains("the rank cannot be reduced")
            ),
            "{rank}"
        );
    }
}

#[test]
fn ciphertexts_above_what_a_rank_is_secure_at_are_not_reduced() {
    let params = params("insecure_dpad");
    let owner = secret(&params, 1);
    let two = params.at_rank(2).expect("rank 2");
    assert!(two.max_level() < params.max_level());
    let ev = evaluator(&owner, &KeyNeeds::new().reduce_to(2, KeyLevel::Top));
    let options = |level| EncryptOptions {
        encoding: Some(Encoding::Slots),
        level: Some(level),
        ..EncryptOptions::default()
    };
    let encrypt = |level| encrypt_as(&owner, &Values::Real(vec![0.5; 8]), &[8], options(level), 3);
    let above = Level(two.max_level().0 + 1);
    let error = ev.to_rank(&encrypt(above), 2).expect_err("insecure there");
    assert!(
        matches!(&error, CkksError::Level { reason, .. } if reason.contains("is secure up to level")),
        "{error}"
    );
    assert!(error.to_string().contains(&format!("drop it to level {}", two.max_level())), "{error}");
    assert!(ev.to_rank(&encrypt(two.max_level()), 2).is_ok());
    // A key made "to the top" reaches what is secure, not the top of the root.
    let keys = owner.evaluation_keys(&KeyNeeds::new().reduce_to(2, KeyLevel::Top)).expect("keys");
    let held = keys.get(KeyAddress { shape: params.shape(), name: KeyName::ReduceRank(2) }).expect("key");
    assert_eq!((&held.definition().params, held.key().level()), (&two, two.max_level()));
    assert_eq!(keys.reduced_ranks().collect::<Vec<_>>(), [2]);
}

#[test]
fn shapes_that_no_move_leads_to_are_refused() {
    let root = params("insecure_dpad");
    for (degree, rank) in [
        (0, 1),
        (7, 1),
        (4, 1),
        (2048, 1),
        (256, 0),
        (256, 5),
        (512, 3),
        (1 << 20, 1),
        (usize::MAX, usize::MAX),
    ] {
        let error = root.relative(ModuleShape { degree, rank }).expect_err("no such shape");
        assert!(matches!(error, CkksError::InvalidParams { .. }), "{degree} x {rank}: {error}");
    }
    // Relatives of relatives are those of the root.
    let rlwe = root.relative(ModuleShape { degree: 1024, rank: 1 }).expect("rank 1");
    assert_eq!(rlwe.relative(root.shape()).expect("back"), root);
    assert_eq!(rlwe.root().expect("root"), root);
    assert_ne!(rlwe, root);
    let again =
        Params::new(rlwe.spec().clone(), &crate::common::base_runtime()).expect("from its own specification");
    assert_eq!(again, rlwe);
}

#[test]
fn cuts_of_a_sparse_secret_are_gated_by_the_least_weight_that_they_have() {
    let sparse = |weight: usize| {
        let mut spec = ParamsSpec { name: "sparse".to_owned(), ..preset("dpad_n13_r4").expect("preset") };
        (spec.secret_weight, spec.temporary_rank, spec.temporary) = (Some(weight), None, Vec::new());
        spec.steps.truncate(10);
        Params::new(spec, &crate::common::base_runtime())
            .expect("log2 QP is below 600, weight 128 has room for 669")
    };
    // Half of a secret of weight 192 counts as weight 54, six deviations below 96: log2 QP = 181 at 2^14, and
    // level 0 has 186.
    let root = sparse(192);
    assert!(root.security_bits() >= 128.0);
    let error = root.at_rank(2).expect_err("no level").to_string();
    for part in ["no level is secure", "log2 QP = 186", "allow 181", "secret of weight 54"] {
        assert!(error.contains(part), "{error}");
    }
    // Weight 200 counts as 57 there, which allows 195.
    let half = sparse(200).at_rank(2).expect("level 0 is secure");
    assert_eq!(half.max_level(), Level(0));
    assert!((128.0..160.0).contains(&half.security_bits()), "{}", half.security_bits());
    // Weight 128 counts as 30, lighter than the table: the error names the nearest weight.
    let error = sparse(128).at_rank(2).expect_err("not covered").to_string();
    assert!(
        error.contains("no level is secure") && error.contains("weight 32 of dimension 16384"),
        "{error}"
    );
    // Without a cut there is no doubt about the weight.
    let rlwe = root.relative(root.rlwe_shape()).expect("degree 2^15");
    assert_eq!((rlwe.security_bits(), rlwe.max_level()), (root.security_bits(), root.max_level()));
}
