//! Where the time of one switch goes: transforms, inner product, conversions, each run apart.
//!
//! The steps of a switch (decomposition, inner product, mod-down) are timed whole, and so are all transforms and the recombination's conversions
//! that they hold, on buffers of the same size; what is left of a step is its other part. A switch proper does its steps row by row in the
//! cache, so that the parts add up to a little more than it takes. [klss, Figure 2]

use std::sync::Arc;

use clathrate_arith::{BaseConversion, Buffer, Engine, Rounding};
use clathrate_lattice::switch::SwitchPlan;
use clathrate_lattice::{Eval, Poly, Switcher};
use serde_json::{Value, json};

use super::setting::Setting;
use crate::failure::Failure;

/// Polynomials of a result.
const COLUMNS: usize = 2;

/// Milliseconds of the parts, and of the steps that they were found from.
pub fn measure(setting: &Setting<'_>, switcher: &Switcher, plan: &Arc<SwitchPlan>, poly: &Poly<Eval>) -> Result<(Value, Value), Failure> {
    let timer = setting.timer;
    let engine = setting.chain().ring().engine();
    let digits = switcher.decompose_by(plan, poly)?;
    let product = switcher.inner_product(&[&digits], &setting.key)?;
    let decompose = timer.measure(|| Ok(switcher.decompose_by(plan, poly)?))?.median();
    let inner_product = timer.measure(|| Ok(switcher.inner_product(&[&digits], &setting.key)?))?.median();
    let mod_down = timer.measure(|| Ok(switcher.mod_down(&product)?))?.median();
    drop(product);
    let (level, special) = (plan.basis().indices(), plan.special().indices());
    let transforms = |lists: &[(usize, &[usize])]| -> Result<f64, Failure> {
        let mut total = 0.0;
        for &(count, indices) in lists.iter().filter(|(count, indices)| *count > 0 && !indices.is_empty()) {
            let mut rows = filled(engine, indices);
            let times = timer.measure(|| {
                engine.forward_ntt(&mut rows, 0..indices.len(), indices);
                Ok(())
            })?;
            total += count as f64 * times.median();
        }
        Ok(total)
    };
    let (d, extended) = (plan.digit_count(), plan.extended().indices());
    let (in_decompose, in_inner_product, in_mod_down, recombination) = match plan.key_digits() {
        // A digit's own primes are not transformed: all of them together are the level's, once.
        None => (
            transforms(&[(1, level), (d, extended)])? - transforms(&[(1, level)])?,
            0.0,
            transforms(&[(COLUMNS, special), (COLUMNS, level)])?,
            0.0,
        ),
        Some((groups, primes)) => {
            let auxiliary = &setting.chain().auxiliary_basis().indices()[..primes].to_vec();
            let conversions = COLUMNS as f64 * recombination(setting, auxiliary, extended, groups)?;
            let once = transforms(&[(1, auxiliary)])?;
            let results = transforms(&[(1, level)])?;
            (results + d as f64 * once, (COLUMNS * groups) as f64 * once, COLUMNS as f64 * results, conversions)
        }
    };
    let products = (inner_product - in_inner_product - recombination).max(0.0);
    let conversion = recombination + (decompose - in_decompose).max(0.0) + (mod_down - in_mod_down).max(0.0);
    let parts = json!({
        "ntt": in_decompose + in_inner_product + in_mod_down,
        "inner_product": products,
        "conversion": conversion,
    });
    Ok((parts, json!({ "decompose": decompose, "inner_product": inner_product, "mod_down": mod_down })))
}

/// Rows of small residues.
fn filled(engine: &dyn Engine, indices: &[usize]) -> Buffer {
    let mut rows = engine.zeroed(indices.len());
    for row in 0..indices.len() {
        rows.row_mut(row).iter_mut().enumerate().for_each(|(i, x)| *x = (i % 4096) as u64);
    }
    rows
}

/// Milliseconds of the conversions of one result polynomial from the auxiliary primes, by key digits of about equal length.
fn recombination(setting: &Setting<'_>, auxiliary: &[usize], extended: &[usize], groups: usize) -> Result<f64, Failure> {
    let ring = setting.chain().ring();
    let engine = ring.engine();
    let ones = vec![1; auxiliary.len()];
    let length = extended.len().div_ceil(groups.max(1));
    let make = |part: &[usize]| BaseConversion::new(ring.moduli(), auxiliary, part, &ones, Rounding::Centred);
    let conversions: Vec<(usize, BaseConversion)> =
        extended.chunks(length).enumerate().filter_map(|(i, part)| Some((i * length, make(part)?))).collect();
    let sums = filled(engine, auxiliary);
    let mut out = engine.zeroed(extended.len());
    let times = setting.timer.measure(|| {
        for (first, conversion) in &conversions {
            let rows: Vec<usize> = (*first..*first + conversion.targets().len()).collect();
            engine.convert(conversion, &sums, 0, &mut out, &rows);
        }
        Ok(())
    })?;
    Ok(times.median())
}
