//! Conversions of one ciphertext between MLWE and RLWE, in turns with one RLWE key switch. [dpad-he, Table 9]

use std::any::Any;
use std::sync::Arc;

use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::{Evaluator, Runtime, SecretKey};
use clathrate_lattice::SwitchKey;
use serde_json::json;

use super::circuit::{deviation, encrypt, numbers};
use super::sets::{Set, direct};
use super::setting::{Keys, chain_extra, entropy, insert, key_bytes, lacking, peak_bytes};
use super::{CONVERSION, Work};
use crate::failure::Failure;
use crate::timing::Timer;

/// Measures `set` if the paper does.
pub fn run(timer: &Timer<'_>, set: &Set, runtime: &Runtime) -> Result<(), Failure> {
    let spec = direct(set.spec(timer.is_quick())?);
    if spec.rank == 1 || set.log_dimension.is_none() {
        return Ok(());
    }
    for keys in Keys::ALL {
        let as_made = Keys::AsMade.params(&spec, runtime)?;
        let rlwe = as_made.relative(as_made.rlwe_shape())?;
        let needs = as_made.rlwe_needs(KeyLevel::Top);
        let rotations: usize = needs.relatives().map(|(_, needs)| needs.rotation_steps().count()).sum();
        let bytes = vec![key_bytes(rlwe.chain(), rlwe.gadget()?, rlwe.max_level(), 1, 2); rotations + 1];
        let params = keys.params(&spec, runtime)?;
        let rlwe = params.relative(rlwe.shape())?;
        if let Some(reason) = lacking(peak_bytes(&bytes, keys == Keys::Planned)) {
            timer.absent(CONVERSION, set.name, &reason)?;
            continue;
        }
        let owner = SecretKey::generate(&params)?;
        let evaluator = Evaluator::with_keys(Arc::new(owner.evaluation_keys(&needs)?));
        let values = numbers(params.slot_count());
        let mlwe = encrypt(&owner, &values)?;
        let converted = evaluator.to_rlwe(&mlwe)?;
        let error = deviation(&owner, &converted, &values)?;
        let back = deviation(&owner, &evaluator.to_mlwe(&converted, params.rank())?, &values)?;
        let (large, phi) = (
            owner.relative(&rlwe)?,
            Automorphism::new(GaloisElement::rotation(1, rlwe.degree()), rlwe.degree()),
        );
        let key = SwitchKey::automorphism(
            rlwe.chain(),
            rlwe.gadget()?,
            rlwe.max_level(),
            large.secret(),
            &phi,
            &mut entropy()?,
        )?;
        let full = encrypt(&large, &numbers(rlwe.slot_count()))?;
        let (evaluator, mlwe, converted, full, phi, key) =
            (&evaluator, &mlwe, &converted, &full.bundles()[0], &phi, &key);
        let (ring, switcher) = (rlwe.chain().ring(), rlwe.switcher()?);
        let mut works: Vec<Work<'_, Box<dyn Any>>> = vec![
            Box::new(move || Ok(Box::new(evaluator.to_rlwe(mlwe)?))),
            Box::new(move || Ok(Box::new(evaluator.to_mlwe(converted, mlwe.params().rank())?))),
            Box::new(move || Ok(Box::new(mlwe.bundles()[0].embed(ring)?))),
            Box::new(move || Ok(Box::new(full.rotate(phi, switcher, key)?))),
        ];
        let times = timer.measure_turns(&mut works)?;
        for (operation, times) in ["mlwe_to_rlwe", "rlwe_to_mlwe", "embed", "switch"].into_iter().zip(&times)
        {
            let mut extra = chain_extra(set.name, &params);
            insert(
                &mut extra,
                &json!({ "keys": keys.name(), "operation": operation, "rotations": rotations }),
            );
            insert(&mut extra, &json!({ "max_error": error.max(back), "quick": timer.is_quick() }));
            timer.print((CONVERSION, &format!("{} {operation} {}", set.name, keys.name())), times, &extra)?;
        }
    }
    Ok(())
}
