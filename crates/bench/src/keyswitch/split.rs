//! The parts of one switch, timed separately: its transforms, its inner product, its conversions. [klss,
//! Figure 2]
//!
//! Each part does the operations of the switch, in the same number and sizes, on separate warm buffers and a
//! separate key. Their sum is a lower bound of the time of a switch.

use clathrate_arith::{BaseConversion, Buffer, Engine, FactorGroups, FactorShape, Rounding};
use clathrate_lattice::switch::SwitchTables;
use serde_json::{Value, json};

use super::SPLIT_LIMITS;
use super::setting::Setting;
use crate::failure::Failure;
use crate::timing::Timer;

/// Polynomials of a result.
const COLUMNS: usize = 2;

/// The sizes of one switch.
struct Parts<'p> {
    timer: Timer<'p>,
    engine: &'p dyn Engine,
    plan: &'p SwitchTables,
    /// Moduli of the products of digits and keys.
    moduli: Vec<usize>,
    /// Key digits; one for the hybrid method.
    groups: usize,
}

/// Milliseconds of the parts of a switch by `plan`.
pub fn measure(setting: &Setting<'_>, plan: &SwitchTables) -> Result<Value, Failure> {
    let (groups, moduli) = match plan.key_digits() {
        None => (1, plan.extended().indices().to_vec()),
        Some((groups, primes)) => (groups, setting.chain().auxiliary_basis().indices()[..primes].to_vec()),
    };
    let timer = setting.timer.with_limits(SPLIT_LIMITS);
    let parts = Parts { timer, engine: setting.chain().ring().engine(), plan, moduli, groups };
    Ok(
        json!({ "ntt": parts.transforms()?, "inner_product": parts.inner_product()?, "conversion": parts.conversions()? }),
    )
}

/// Rows of small residues.
fn filled(engine: &dyn Engine, indices: &[usize]) -> Buffer {
    let mut rows = engine.zeroed(indices.len());
    engine.upload_rows(rows.view_mut(), &|_, words| {
        words.iter_mut().enumerate().for_each(|(i, x)| *x = (i % 4096) as u64)
    });
    rows
}

impl Parts<'_> {
    fn is_hybrid(&self) -> bool {
        self.plan.key_digits().is_none()
    }

    /// Transforms of the input, the digits, the sums and the results.
    fn transforms(&self) -> Result<f64, Failure> {
        let of = |indices: &[usize]| -> Result<f64, Failure> {
            let mut rows = filled(self.engine, indices);
            let times = self.timer.measure(|| {
                self.engine.forward_ntt(rows.view_mut(), indices);
                Ok(())
            })?;
            Ok(times.median())
        };
        let (digits, level) = (self.plan.digit_count() as f64, of(self.plan.basis().indices())?);
        let products = of(&self.moduli)?;
        let columns = COLUMNS as f64;
        // A hybrid digit needs no transform for its own primes; over all digits these are the level's primes.
        let (digits, sums) = if self.is_hybrid() {
            (digits * products - level, columns * of(self.plan.special().indices())?)
        } else {
            (digits * products, columns * self.groups as f64 * products)
        };
        Ok(level + digits + sums + columns * level)
    }

    /// Products of digits, which stay in the cache if they fit, and a key, which does not.
    fn inner_product(&self) -> Result<f64, Failure> {
        let (engine, digits) = (self.engine, self.plan.digit_count());
        let shape = FactorShape { groups: self.groups, terms: digits, columns: COLUMNS, packed: true };
        let digit = filled(engine, &self.moduli);
        let rows: Vec<usize> = (0..self.moduli.len()).collect();
        let mut factors = engine.zeroed_factors(shape, &self.moduli);
        let groups: Vec<usize> = (0..self.groups).collect();
        let sources = vec![vec![digit.view()]; digits * COLUMNS];
        groups.iter().for_each(|&group| engine.pack_factors(&mut factors, group, &sources, &rows));
        let xs = vec![digit.view(); digits];
        let mut out = engine.zeroed(self.groups * COLUMNS * rows.len());
        let by = FactorGroups { factors: &factors, groups: &groups, rows: &rows, moduli: &self.moduli };
        let times = self.timer.measure(|| {
            engine.factor_products(out.view_mut(), &xs, by);
            Ok(())
        })?;
        Ok(times.median())
    }

    /// Conversions of the input's digits, of the sums over auxiliary primes, and of the mod-down.
    fn conversions(&self) -> Result<f64, Failure> {
        let (level, extended) = (self.plan.basis().indices(), self.plan.extended().indices());
        let own: Vec<&[usize]> = level.chunks(level.len().div_ceil(self.plan.digit_count().max(1))).collect();
        let digits = own.iter().map(|own| {
            (own.to_vec(), self.moduli.iter().copied().filter(|i| !own.contains(i)).collect::<Vec<_>>())
        });
        let mut total = self.conversion_of(&digits.collect::<Vec<_>>())?;
        if !self.is_hybrid() {
            let length = extended.len().div_ceil(self.groups);
            let sums: Vec<_> =
                extended.chunks(length).map(|part| (self.moduli.clone(), part.to_vec())).collect();
            total += COLUMNS as f64 * self.conversion_of(&sums)?;
        }
        total += COLUMNS as f64
            * self.conversion_of(&[(self.plan.special().indices().to_vec(), level.to_vec())])?;
        Ok(total)
    }

    /// Successive conversions from sources to targets.
    fn conversion_of(&self, pairs: &[(Vec<usize>, Vec<usize>)]) -> Result<f64, Failure> {
        let make = |(sources, targets): &(Vec<usize>, Vec<usize>)| {
            BaseConversion::new(
                self.engine.moduli(),
                sources,
                targets,
                &vec![1; sources.len()],
                Rounding::Centred,
            )
        };
        let conversions: Vec<BaseConversion> = pairs.iter().filter_map(make).collect();
        let most = |count: fn(&BaseConversion) -> usize| conversions.iter().map(count).max().unwrap_or(1);
        let mut out = self.engine.zeroed(most(|conversion| conversion.targets().len()));
        let input = filled(self.engine, &vec![0; most(|conversion| conversion.sources().len())]);
        let times = self.timer.measure(|| {
            for conversion in &conversions {
                let rows: Vec<usize> = (0..conversion.targets().len()).collect();
                self.engine.convert(conversion, input.view(), out.view_mut(), &rows);
            }
            Ok(())
        })?;
        Ok(times.median())
    }
}
