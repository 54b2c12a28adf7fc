//! The figures of [`Params::switching_report`]: the switching method of each level, its predicted time and
//! bytes, and the machine profile behind them.

use clathrate_arith::text::counted;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use clathrate_lattice::switch::{MachineProfile, SwitchMethod};
use clathrate_lattice::{Level, Rank, Switcher};
use serde::Serialize;

use super::{KeyModulus, Params};
use crate::error::CkksError;

/// Bytes per mebibyte.
const MIB: f64 = 1_048_576.0;

/// The origin of the predicted times.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "origin", rename_all = "kebab-case")]
pub enum ProfileOrigin {
    /// The built-in model for every machine.
    BuiltIn {
        /// Why no stored profile is used, with the remedy.
        note: String,
    },
    /// The profile that `clathrate tune` stored.
    Measured {
        /// The path of the profile.
        path: PathBuf,
    },
    /// A profile that the caller gave.
    Given,
}

/// The settings of the planner of a parameter set.
#[derive(Debug, Clone)]
pub(super) struct PlannerSettings {
    pub(super) profile: MachineProfile,
    pub(super) origin: ProfileOrigin,
    /// The maximum bytes derived from one key, in multiples of the key's bytes.
    pub(super) expansion: f64,
}

/// The figures of [`Params::switching_report`]: the switching method of each level, for keys of one key
/// level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwitchingReport {
    /// Name of the set.
    pub name: String,
    /// Ring degree `n`.
    pub degree: usize,
    /// Rank `k`.
    pub rank: usize,
    /// How methods are chosen: "fastest", "tuned", "as made" or "fixed".
    pub policy: String,
    /// The key level.
    pub key_level: usize,
    /// The number of input polynomials of the reported switch: `k (k + 1) / 2` as in a relinearisation, or
    /// `k` as in a rotation if products use a temporary rank. At rank 1 both numbers are the same.
    pub inputs: usize,
    /// One row per level that can switch, lowest first.
    pub rows: Vec<SwitchingRow>,
    /// Levels at which the requested method is impossible.
    pub refused: Vec<RefusedLevel>,
    /// Bytes of one key as it was made.
    pub key_bytes: usize,
    /// Bytes derived from one key when all levels are in use.
    pub derived_bytes: usize,
    /// The maximum bytes derived from one key, in multiples of `key_bytes`; `None` without a limit or for a
    /// method that no planner chose.
    pub key_expansion: Option<f64>,
    /// The maximum bytes of the cache of derived keys, for all keys.
    pub key_cache_bytes: usize,
    /// The description of the machine profile.
    pub profile: String,
    /// The origin of the machine profile.
    #[serde(flatten)]
    pub origin: ProfileOrigin,
    /// The same figures for switches at the temporary rank: for products, or for rotations at rank 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temporary: Option<Box<Self>>,
    /// Name of the engine that computes.
    pub engine: String,
}

/// One level of a [`SwitchingReport`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwitchingRow {
    /// The level.
    pub level: usize,
    /// The method: "hybrid", or "klss" if the key is decomposed into digits too.
    pub method: &'static str,
    /// Whether the switch reads the key as it is stored in its file, so that nothing is derived from it.
    pub as_made: bool,
    /// Special primes, `r`: the digit length on a chain of equal primes.
    pub r: usize,
    /// Primes per key digit, `r~`; KLSS only.
    pub r_tilde: Option<usize>,
    /// Digits of a polynomial, `d`.
    pub digits: usize,
    /// Bits of the longest digit.
    pub log2_digit: f64,
    /// Digits of the key, `d~`; KLSS only.
    pub key_digits: Option<usize>,
    /// Auxiliary primes modulo which the products are computed, `r'`; KLSS only.
    pub auxiliary: Option<usize>,
    /// Predicted milliseconds of a switch on one thread.
    pub milliseconds: f64,
    /// Bytes of the key that a switch reads.
    pub read_bytes: usize,
    /// Bytes derived from one key for this level. Levels with the same method share them.
    pub derived_bytes: usize,
}

/// A level at which the requested method is impossible.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RefusedLevel {
    /// The level.
    pub level: usize,
    /// The reason, with numbers.
    pub reason: String,
}

impl Params {
    /// The switching method of each level with keys of level `key_level` (the top if absent): digits,
    /// predicted times, bytes.
    ///
    /// # Errors
    /// `NoSpecialPrimes` without special primes, and the other errors of [`Params::switcher`];
    /// `LevelOutOfRange`.
    pub fn switching_report(&self, key_level: Option<Level>) -> Result<SwitchingReport, CkksError> {
        let key_level = key_level.unwrap_or(self.max_level());
        self.check_level(key_level)?;
        let (rank, quadratic) = (self.rank(), self.rank() * (self.rank() + 1) / 2);
        // If products use the temporary rank, only rotations switch directly.
        let inputs = if self.temporary_for_products().is_some() { rank } else { quadratic };
        let mut plan = self.plan_of(self.switcher()?, Rank(rank), inputs, key_level)?;
        if let Some(temporary) = self.temporary() {
            let inputs = if rank > 1 { quadratic } else { temporary.rank };
            let widened = &self.key_switching(KeyModulus::Widened)?.switcher;
            plan.temporary =
                Some(Box::new(self.plan_of(widened, Rank(temporary.rank), inputs, key_level)?));
        }
        Ok(plan)
    }

    /// The figures of switches of `inputs` polynomials, with keys of rank `rank`.
    fn plan_of(
        &self,
        switcher: &Switcher,
        Rank(rank): Rank,
        inputs: usize,
        key_level: Level,
    ) -> Result<SwitchingReport, CkksError> {
        let (chain, gadget, columns) = (switcher.chain(), switcher.gadget(), rank + 1);
        let planning = self.planning().ok_or(clathrate_lattice::LatticeError::NoSpecialPrimes)?;
        let (mut rows, mut refused, mut derived) = (Vec::new(), Vec::new(), BTreeMap::new());
        for level in 0..=key_level.0 {
            let plan = match switcher.tables_for(Level(level), key_level) {
                Ok(plan) => plan,
                Err(error) => {
                    refused.push(RefusedLevel { level, reason: error.to_string() });
                    continue;
                }
            };
            let choice = plan.method();
            let counts = switcher.counts(&plan, inputs, columns);
            let bytes = plan.derived_bytes(inputs, columns);
            derived.insert(choice, bytes);
            rows.push(SwitchingRow {
                level,
                method: if choice.key_digit.is_some() { "klss" } else { "hybrid" },
                as_made: choice == SwitchMethod::as_made(chain),
                r: choice.special,
                r_tilde: choice.key_digit,
                digits: plan.digit_count(),
                log2_digit: plan.log2_digits().into_iter().fold(0.0, f64::max),
                key_digits: plan.key_digits().map(|(digits, _)| digits),
                auxiliary: plan.key_digits().map(|(_, primes)| primes),
                milliseconds: planning.profile.nanoseconds(self.degree(), &counts) / 1e6,
                read_bytes: counts.key_bytes as usize,
                derived_bytes: bytes,
            });
        }
        Ok(SwitchingReport {
            name: self.spec().name.clone(),
            degree: self.degree(),
            rank,
            policy: self.runtime().switching.name().to_owned(),
            key_level: key_level.0,
            inputs,
            rows,
            refused,
            key_bytes: super::explain::switch_key_bytes(chain, gadget, (inputs, columns), key_level),
            derived_bytes: derived.values().sum(),
            // The memory limit applies to planned methods only. A fixed method is used whatever it takes.
            key_expansion: (self.runtime().switching.is_planned() && planning.expansion.is_finite())
                .then_some(planning.expansion),
            key_cache_bytes: switcher.derived_keys().budget(),
            profile: planning.profile.source.clone(),
            origin: planning.origin.clone(),
            temporary: None,
            engine: chain.ring().engine().describe(),
        })
    }
}

/// A number that may be missing.
fn or_dash(number: Option<usize>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

impl fmt::Display for SwitchingRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (made, read, derived) = (
            if self.as_made { " *" } else { "  " },
            self.read_bytes as f64 / MIB,
            self.derived_bytes as f64 / MIB,
        );
        let (r_tilde, key_digits, auxiliary) =
            (or_dash(self.r_tilde), or_dash(self.key_digits), or_dash(self.auxiliary));
        write!(
            f,
            "{:>7}  {:<10}{made} {:>4} {r_tilde:>4} {:>4} {key_digits:>4} {auxiliary:>4} {:>10.3} {read:>10.1} {derived:>12.1}",
            self.level, self.method, self.r, self.digits, self.milliseconds
        )
    }
}

impl SwitchingReport {
    /// Writes the meaning of the table's columns, those of the KLSS method only if a row has them.
    fn write_legend(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "         r   special primes of the switch")?;
        writeln!(f, "         d   digits that a polynomial is cut into")?;
        if self.rows.iter().any(|row| row.r_tilde.is_some()) {
            writeln!(f, "         r~  primes per key digit (klss)")?;
            writeln!(f, "         d~  digits that the key is cut into (klss)")?;
            writeln!(f, "         r'  auxiliary primes that the products are computed modulo (klss)")?;
        }
        if self.rows.iter().any(|row| row.as_made) {
            writeln!(
                f,
                "         *   the key is read as it is stored in its file: nothing is derived from it"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for SwitchingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: switching at degree {}, rank {}, with keys of level {} ({})",
            self.name, self.degree, self.rank, self.key_level, self.policy
        )?;
        writeln!(f, "  level  method          r   r~    d   d~   r'         ms   MiB read  MiB derived")?;
        self.rows.iter().rev().try_for_each(|row| writeln!(f, "{row}"))?;
        self.write_legend(f)?;
        self.refused
            .iter()
            .rev()
            .try_for_each(|refused| writeln!(f, "{:>7}  no switch: {}", refused.level, refused.reason))?;
        let mib = |bytes: usize| bytes as f64 / MIB;
        let limit = self.key_expansion.map_or_else(
            || "no limit".to_owned(),
            |factor| format!("limit {:.1}", factor * mib(self.key_bytes)),
        );
        writeln!(
            f,
            "  times      one switch of {}, predicted, one thread; {}",
            counted(self.inputs, "polynomial"),
            self.engine
        )?;
        writeln!(
            f,
            "  memory     one key {:.1} MiB as made, {:.1} MiB derived with all levels in use ({limit}); at most {:.0} MiB derived from all keys",
            mib(self.key_bytes),
            mib(self.derived_bytes),
            mib(self.key_cache_bytes)
        )?;
        match &self.origin {
            ProfileOrigin::BuiltIn { note } => write!(f, "  profile    built in: {note}"),
            ProfileOrigin::Measured { path } => {
                write!(f, "  profile    {}: {}", path.display(), self.profile)
            }
            ProfileOrigin::Given => write!(f, "  profile    given by the caller: {}", self.profile),
        }?;
        self.temporary
            .as_ref()
            .map_or(Ok(()), |temporary| write!(f, "\n\nby way of the temporary rank:\n{temporary}"))
    }
}
