//! Switches by fixed methods: the cells of the papers' tables, and at every level the methods that may be
//! fastest.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use clathrate_lattice::switch::{SwitchMethod, SwitchPolicy, SwitchTables};
use clathrate_lattice::{Bundle, Eval, Level, SwitchKey, Switcher};
use serde_json::json;

use super::cells::{EXPANDED_DIGITS, KEY_DIGITS, UNLIMITED, candidates, level_primes, paper_sizes};
use super::setting::{Input, Setting};
use super::{EXPAND, SWITCH, split};
use crate::failure::Failure;

/// The measurements of one set.
pub struct Sweep<'a> {
    setting: &'a Setting<'a>,
    switcher: Switcher,
    inputs: HashMap<Level, Input>,
    /// Medians in milliseconds by ciphertext primes and method.
    medians: BTreeMap<(usize, SwitchMethod), f64>,
}

/// The canonical name of a method: keys as made are digits of one prime.
fn canonical(choice: SwitchMethod) -> SwitchMethod {
    if choice.key_digit.is_none() { SwitchMethod::hybrid(choice.special) } else { choice }
}

impl<'a> Sweep<'a> {
    /// No measurements.
    pub fn new(setting: &'a Setting<'a>) -> Result<Self, Failure> {
        let switcher = setting.switcher(SwitchPolicy::Fixed(SwitchMethod::as_made(setting.chain())))?;
        Ok(Self { setting, switcher, inputs: HashMap::new(), medians: BTreeMap::new() })
    }

    /// The fastest method at `primes` of those that `fits` accepts.
    pub fn best(&self, primes: usize, fits: impl Fn(SwitchMethod) -> bool) -> Option<SwitchMethod> {
        let here =
            self.medians.range((primes, SwitchMethod { special: 0, coalesced: false, key_digit: None })..);
        let here = here.take_while(|((at, _), _)| *at == primes).filter(|((_, choice), _)| fits(*choice));
        here.min_by(|x, y| x.1.total_cmp(y.1)).map(|((_, choice), _)| *choice)
    }

    /// The cells of [klss, Tables 3, 4]: a key of `l~` primes, of which the last `r` are special.
    pub fn paper_cells(&mut self) -> Result<(), Failure> {
        let (sizes, longest) = paper_sizes(self.setting.preset);
        for &all in sizes {
            let key_level = self.setting.level(all - 1)?;
            for digit in 1..=longest {
                let klss = KEY_DIGITS.into_iter().map(|length| SwitchMethod::klss(digit, length));
                for choice in [SwitchMethod::hybrid(digit)].into_iter().chain(klss) {
                    self.cell(all - digit, choice, key_level, all == self.setting.all_primes())?;
                    self.switcher.derived_keys().clear();
                }
            }
        }
        Ok(())
    }

    /// Measures at every level the methods that may be fastest; each method's key is derived once for all
    /// levels.
    pub fn levels(&mut self) -> Result<(), Failure> {
        let maps: Vec<_> = [clathrate_ckks::parameters::DEFAULT_KEY_EXPANSION, UNLIMITED]
            .into_iter()
            .map(|expansion| Ok(self.setting.map(&self.setting.planning(expansion)?)))
            .collect::<Result<_, Failure>>()?;
        let mut wanted: BTreeMap<SwitchMethod, Vec<usize>> = BTreeMap::new();
        for &primes in level_primes(self.setting.preset) {
            let level = self.setting.level(primes)?;
            let planned: Vec<SwitchMethod> =
                maps.iter().flatten().filter_map(|map| map.rows.get(level.0)).map(|row| row.method).collect();
            for choice in candidates(self.setting.all_primes() - primes, &planned) {
                wanted.entry(choice).or_default().push(primes);
            }
        }
        let key_level = self.setting.key.level();
        for (choice, levels) in wanted {
            for primes in levels {
                if !self.medians.contains_key(&(primes, canonical(choice))) {
                    self.cell(primes, choice, key_level, false)?;
                }
            }
            self.switcher.derived_keys().clear();
        }
        Ok(())
    }

    /// Measures one method at one level with keys of level `key_level`.
    fn cell(
        &mut self,
        primes: usize,
        choice: SwitchMethod,
        key_level: Level,
        with_split: bool,
    ) -> Result<(), Failure> {
        let (setting, level) = (self.setting, self.setting.level(primes)?);
        let label = setting.label(primes, choice);
        let plan = match self.switcher.tables_of_method(choice, level, key_level) {
            Ok(plan) => plan,
            Err(refusal) => return setting.timer.absent(SWITCH, &label, &refusal.to_string()),
        };
        if let Some(reason) = setting.lacking_form(setting.key_bytes(&plan)) {
            return setting.timer.absent(SWITCH, &label, &reason);
        }
        let input = match self.inputs.entry(level) {
            Entry::Occupied(known) => &*known.into_mut(),
            Entry::Vacant(place) => &*place.insert(setting.input(level)?),
        };
        let derived_before = self.switcher.derived_keys().bytes();
        let start = Instant::now();
        let switched = switch(&self.switcher, &plan, input, &setting.key)?;
        let first = start.elapsed().as_secs_f64() * 1e3;
        let noise = setting.noise_of_switch(&switched, input)?;
        drop(switched);
        let times = setting.timer.measure(|| switch(&self.switcher, &plan, input, &setting.key))?;
        let mut extra = setting.extra(&plan);
        extra.insert("noise_bits".to_owned(), json!(noise));
        let derived = self.switcher.derived_keys().bytes() - derived_before;
        if derived > 0 {
            extra.insert("derived_bytes".to_owned(), json!(derived));
            extra.insert("derive_ms".to_owned(), json!((first - times.median()).max(0.0)));
        }
        if with_split {
            // The parts use a separate key; both at once may not fit.
            self.switcher.derived_keys().clear();
            extra.insert("split_ms".to_owned(), split::measure(setting, &plan)?);
        }
        self.medians.insert((primes, canonical(choice)), times.median());
        if setting.timer.wants(SWITCH) {
            setting.timer.print((SWITCH, &label), &times, &extra)?;
        }
        Ok(())
    }
}

/// One switch from Eval form to Eval form.
pub fn switch(
    switcher: &Switcher,
    plan: &Arc<SwitchTables>,
    input: &Input,
    key: &SwitchKey,
) -> Result<Bundle<Eval>, Failure> {
    Ok(switcher.mod_down(&switcher.product_by(plan, &[&input.poly], key)?)?)
}

/// Times the derivation of keys with longer digits from the stored key, at the highest level that each
/// serves. [level-aware, Table 5]
pub fn expansions(setting: &Setting<'_>) -> Result<(), Failure> {
    if !setting.timer.wants(EXPAND) {
        return Ok(());
    }
    let word_bytes = |polys: usize, rows: usize| 8 * polys * rows * setting.chain().ring().degree();
    let all = setting.all_primes();
    for digit in EXPANDED_DIGITS {
        let choice = SwitchMethod::hybrid(digit);
        let level = setting.level(all - digit)?;
        let switcher = setting.switcher(SwitchPolicy::Fixed(choice))?;
        let plan = switcher.tables_for(level, setting.key.level())?;
        let bytes = switcher.derive(level, &setting.key)?;
        let times = setting.timer.measure_after(
            || switcher.derived_keys().clear(),
            || Ok(switcher.derive(level, &setting.key)?),
        )?;
        let mut extra = setting.extra(&plan);
        extra.insert("key_bytes".to_owned(), json!(bytes));
        extra.insert("base_key_bytes".to_owned(), json!(setting.key.bytes()));
        extra.insert("key_bytes_as_words".to_owned(), json!(word_bytes(2 * plan.digit_count(), all)));
        extra.insert(
            "base_key_bytes_as_words".to_owned(),
            json!(word_bytes(2 * setting.key.digit_count(), all)),
        );
        setting.timer.print((EXPAND, &format!("{} r=1 to r={digit}", setting.preset)), &times, &extra)?;
        switcher.derived_keys().clear();
    }
    Ok(())
}
