//! Complete operations with both methods: a relinearised product and a rotation. [klss, Table 5]

use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::switch::{SwitchMethod, SwitchPolicy};
use clathrate_lattice::{LatticeError, SecretRng, SwitchKey};
use serde_json::json;

use super::cells::paper_sizes;
use super::setting::Setting;
use super::sweep::Sweep;
use super::{AUTOMORPHISM, MULTIPLY};
use crate::failure::Failure;

/// Primes per key digit if none were measured: the paper's best. [klss, Table 4]
const KEY_DIGITS: [usize; 4] = [5, 7, 6, 7];

/// Measures at the levels whose primes and special primes are all primes of the key.
pub fn run(setting: &Setting<'_>, sweep: &Sweep<'_>) -> Result<(), Failure> {
    let choices = choices(setting, sweep);
    if setting.timer.wants(MULTIPLY) {
        for &choice in &choices {
            multiply(setting, choice)?;
        }
    }
    if setting.timer.wants(AUTOMORPHISM) {
        let degree = setting.chain().ring().degree();
        let rotation = Automorphism::new(GaloisElement::rotation(1, degree), degree);
        let mut rng = SecretRng::from_os().map_err(LatticeError::from)?;
        let top = setting.chain().max_level();
        let key = SwitchKey::automorphism(
            setting.chain(),
            &setting.gadget,
            top,
            &setting.secret,
            &rotation,
            &mut rng,
        )?;
        for &choice in &choices {
            automorphism(setting, choice, &rotation, &key)?;
        }
    }
    Ok(())
}

/// For each number of primes per digit the hybrid method, and the KLSS method with the fastest key digits.
fn choices(setting: &Setting<'_>, sweep: &Sweep<'_>) -> Vec<SwitchMethod> {
    let (_, longest) = paper_sizes(setting.preset);
    let of_digit = |digit: usize| {
        let fits = |choice: SwitchMethod| choice.special == digit && choice.key_digit.is_some();
        let fastest = sweep.best(setting.all_primes() - digit, fits);
        let usual = SwitchMethod::klss(digit, KEY_DIGITS[(digit - 1).min(KEY_DIGITS.len() - 1)]);
        [SwitchMethod::hybrid(digit), fastest.unwrap_or(usual)]
    };
    (1..=longest).flat_map(of_digit).collect()
}

fn multiply(setting: &Setting<'_>, choice: SwitchMethod) -> Result<(), Failure> {
    let (timer, key) = (setting.timer, &setting.key);
    let primes = setting.all_primes() - choice.special;
    let level = setting.level(primes)?;
    let switcher = setting.switcher(SwitchPolicy::Fixed(choice))?;
    let (x, y) = (setting.zero(level)?, setting.zero(level)?);
    let mut expected = setting.phase(&x)?;
    expected.mul_assign(&setting.phase(&y)?)?;
    let noise = setting.noise(&x.multiply(&y, &switcher, key)?, &expected)?;
    let times = timer.measure(|| Ok(x.multiply(&y, &switcher, key)?))?;
    let mut extra = setting.extra(&*switcher.tables_for_keys(level, &[key])?);
    extra.insert("noise_bits".to_owned(), json!(noise));
    timer.print((MULTIPLY, &setting.label(primes, choice)), &times, &extra)?;
    switcher.derived_keys().clear();
    Ok(())
}

fn automorphism(
    setting: &Setting<'_>,
    choice: SwitchMethod,
    rotation: &Automorphism,
    key: &SwitchKey,
) -> Result<(), Failure> {
    let timer = setting.timer;
    let primes = setting.all_primes() - choice.special;
    let level = setting.level(primes)?;
    let switcher = setting.switcher(SwitchPolicy::Fixed(choice))?;
    let x = setting.zero(level)?;
    let expected = setting.phase(&x)?.automorphism(rotation);
    let noise = setting.noise(&x.rotate(rotation, &switcher, key)?, &expected)?;
    let times = timer.measure(|| Ok(x.rotate(rotation, &switcher, key)?))?;
    let mut extra = setting.extra(&*switcher.tables_for_keys(level, &[key])?);
    extra.insert("noise_bits".to_owned(), json!(noise));
    timer.print((AUTOMORPHISM, &setting.label(primes, choice)), &times, &extra)?;
    switcher.derived_keys().clear();
    Ok(())
}
