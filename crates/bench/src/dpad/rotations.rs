//! Successive rotations: plain ones at the set's rank and rank-hoisted ones at the temporary rank, in turns.
//! [dpad-he, Figure 4]

use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_ckks::parameters::KeyModulus;
use clathrate_ckks::{ParamsSpec, Runtime};
use clathrate_lattice::{Bundle, Eval, Poly, SwitchKey};
use serde_json::json;

use super::sets::{SETS, Set};
use super::setting::{Keys, Setting, entropy, insert, key_bytes, lacking, peak_bytes};
use super::{ROTATIONS, Work};
use crate::failure::Failure;
use crate::timing::Timer;

/// The sets of Figure 4 (a).
const BY_COUNT: [&str; 3] = ["I", "II", "III"];

/// Numbers of rotations in Figure 4 (a).
const COUNTS: [usize; 5] = [1, 2, 4, 6, 8];

/// The temporary rank for sets of rank 1. [dpad-he, RQ5]
const LIFTED_RANK: usize = 2;

/// Digits at that rank: a single digit would need a modulus as long as `Q`, whose division costs more than it
/// saves.
const LIFTED_DIGITS: u32 = 2;

/// The set of Figure 4 (b), its number of rotations, and temporary ranks in addition to the paper's.
const BY_RANK: (&str, usize, [usize; 3]) = ("III", 6, [6, 7, 8]);

/// An automorphism with its key.
type Turn = (Automorphism, SwitchKey);

/// Measures both figures for the sets that `wanted` accepts.
pub fn run(timer: &Timer<'_>, wanted: impl Fn(&str) -> bool, runtime: &Runtime) -> Result<(), Failure> {
    for set in SETS.iter().filter(|set| BY_COUNT.contains(&set.name) && wanted(set.name)) {
        let quick = timer.is_quick();
        let spec = match set.spec(quick)? {
            spec if spec.rank == 1 => set.spec_at(LIFTED_RANK, LIFTED_DIGITS, quick)?,
            spec => spec,
        };
        by_count(timer, set, &spec, &COUNTS, true, runtime)?;
        if set.name == BY_RANK.0 {
            for rank in BY_RANK.2 {
                by_count(timer, set, &set.spec_at(rank, 1, quick)?, &[BY_RANK.1], false, runtime)?;
            }
        }
    }
    Ok(())
}

/// Keys for rotations by the first `count` powers of two.
fn turns(
    setting: &Setting<'_>,
    count: usize,
    key: impl Fn(&Automorphism) -> Result<SwitchKey, Failure>,
) -> Result<Vec<Turn>, Failure> {
    let degree = setting.chain().ring().degree();
    let powers =
        (0..count).map(|power| Automorphism::new(GaloisElement::rotation(1 << power, degree), degree));
    powers.map(|phi| key(&phi).map(|key| (phi, key))).collect()
}

fn by_count(
    timer: &Timer<'_>,
    set: &Set,
    spec: &ParamsSpec,
    counts: &[usize],
    with_plain: bool,
    runtime: &Runtime,
) -> Result<(), Failure> {
    let setting = Setting::new(timer, set.name, spec, runtime)?;
    let (chain, level, rank) = (setting.chain(), setting.top(), setting.rank());
    let Some(temporary) = setting.params(Keys::AsMade).temporary() else { return Ok(()) };
    let widened = &setting.params(Keys::AsMade).key_switching(KeyModulus::Widened)?.switcher;
    let (wide, wide_gadget) = (widened.chain(), widened.gadget());
    let gadget = setting.params(Keys::AsMade).gadget()?;
    let most = counts.iter().copied().max().unwrap_or(0).min(spec.degree.ilog2() as usize - 2);
    let mut bytes = vec![key_bytes(wide, wide_gadget, level, temporary.rank, temporary.rank + 1); most];
    bytes.push(key_bytes(chain, gadget, level, temporary.rank - rank, rank + 1));
    bytes.extend(vec![key_bytes(chain, gadget, level, rank, rank + 1); if with_plain { most } else { 0 }]);
    if let Some(reason) = lacking(peak_bytes(&bytes, true)) {
        return timer.absent(ROTATIONS, set.name, &reason);
    }
    let secret = setting.temporary_secret(temporary.rank)?;
    let hoisted = turns(&setting, most, |phi| {
        Ok(SwitchKey::automorphism(wide, wide_gadget, level, &secret, phi, &mut entropy()?)?)
    })?;
    let down = SwitchKey::rank_down(chain, gadget, level, &secret, rank, &mut entropy()?)?;
    let plain = turns(&setting, if with_plain { most } else { 0 }, |phi| {
        Ok(SwitchKey::automorphism(chain, gadget, level, &setting.secret, phi, &mut entropy()?)?)
    })?;
    let x = setting.uniform()?;
    for &count in counts.iter().filter(|&&count| count <= most) {
        measure(&setting, &x, (&plain[..count.min(plain.len())], &hoisted[..count]), &down)?;
    }
    Ok(())
}

/// Times `phi_m(.. phi_1(x))` by each method, in turns.
fn measure(
    setting: &Setting<'_>,
    x: &Bundle<Eval>,
    (plain, hoisted): (&[Turn], &[Turn]),
    down: &SwitchKey,
) -> Result<(), Failure> {
    let (timer, count) = (setting.timer, hoisted.len());
    let steps: Vec<(&Automorphism, &SwitchKey)> = hoisted.iter().map(|(phi, key)| (phi, key)).collect();
    let (mut names, mut works) = (Vec::new(), Vec::<Work<'_, Bundle<Eval>>>::new());
    for keys in Keys::ALL {
        let Some(crossing) = setting.crossing(keys, down) else { continue };
        let (steps, switcher) = (&steps, setting.params(keys).switcher()?);
        names.push((keys, "rank_hoisted"));
        works.push(Box::new(move || Ok(x.rotate_rank_hoisted(steps, crossing)?)));
        if plain.len() == count {
            names.push((keys, "plain"));
            works.push(Box::new(move || {
                let (phi, key) = &plain[0];
                let first = x.rotate(phi, switcher, key)?;
                Ok(plain[1..]
                    .iter()
                    .try_fold(first, |rotated, (phi, key)| rotated.rotate(phi, switcher, key))?)
            }));
        }
    }
    let expected: Poly<Eval> =
        hoisted.iter().fold(setting.phase(x)?, |phase, (phi, _)| phase.automorphism(phi));
    let noise: Vec<f64> =
        works.iter_mut().map(|work| setting.noise(&work()?, &expected)).collect::<Result<_, _>>()?;
    let times = timer.measure_turns(&mut works)?;
    for (((keys, method), times), noise) in names.into_iter().zip(&times).zip(noise) {
        let mut extra = setting.extra(keys, method == "rank_hoisted");
        insert(&mut extra, &json!({ "method": method, "rotations": count, "noise_bits": noise }));
        let by = extra
            .get("temporary_rank")
            .and_then(serde_json::Value::as_u64)
            .map_or(String::new(), |rank| format!(" r^={rank}"));
        timer.print(
            (ROTATIONS, &format!("{} {count} {method}{by} {}", setting.name, keys.name())),
            times,
            &extra,
        )?;
    }
    Ok(())
}
