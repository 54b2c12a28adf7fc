//! Base conversions and divisions.

use clathrate_arith::{
    BaseConversion, Buffer, Dividend, DivisionInput, EngineTables, Pass, Rounding, Rows, RowsMut,
};

use crate::memory::{Allocation, address, address_mut};

use super::base::DeviceEngine;
use super::tables::conversion_tables;

/// The columns of several conversions in the device's memory.
pub(super) struct Columns {
    /// The memory of all columns.
    _memory: Buffer,
    /// For each conversion the address of its first column.
    pub(super) rows: Vec<u64>,
    /// For each conversion the address of its tables.
    pub(super) tables: Vec<u64>,
}

/// The tables of a conversion in this device's memory.
fn tables(conversion: &BaseConversion) -> &Allocation {
    conversion
        .engine_tables()
        .and_then(EngineTables::get)
        .expect("a conversion made by an engine of this device")
}

impl DeviceEngine {
    pub(super) fn conversion(
        &self,
        sources: &[usize],
        targets: &[usize],
        constants: &[u64],
        rounding: Rounding,
    ) -> Option<BaseConversion> {
        let conversion = BaseConversion::new(&self.moduli, sources, targets, constants, rounding)?;
        let words = conversion_tables(&conversion, &self.moduli);
        Some(conversion.with_engine_tables(EngineTables::new(Allocation::of(&self.device, &words))))
    }

    /// Reports the products of a base conversion to `rows` rows. A conversion from a single source counts
    /// none.
    pub(super) fn count_conversion(&self, conversion: &BaseConversion, rows: usize) {
        let sources = conversion.sources().len();
        self.count(Pass::Conversion, if sources > 1 { sources * rows } else { 0 });
    }

    /// Computes the columns of conversions, each with the residues that it converts.
    pub(super) fn prepare(&self, conversions: &[(&BaseConversion, Rows<'_>)]) -> Columns {
        let memory = self.fresh(conversions.iter().map(|(conversion, _)| conversion.columns()).sum());
        let mut at = address(&memory.view());
        let (mut rows, mut addresses, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        for (conversion, residues) in conversions {
            assert!(residues.rows() >= conversion.sources().len(), "one row per source modulus");
            let own = tables(conversion).address();
            entries.push([at, address(residues), own]);
            rows.push(at);
            addresses.push(own);
            at += (conversion.columns() * self.degree) as u64 * 8;
        }
        self.each_listed("prepare_columns", &self.list_head(), &entries);
        Columns { _memory: memory, rows, tables: addresses }
    }

    pub(super) fn converted(
        &self,
        conversion: &BaseConversion,
        x: Rows<'_>,
        out: &RowsMut<'_>,
        out_rows: &[usize],
    ) {
        assert_eq!(out_rows.len(), conversion.targets().len(), "one row per target modulus");
        let columns = self.prepare(&[(conversion, x)]);
        let to = |row: usize| address_mut(out) + (row * self.degree) as u64 * 8;
        let entries: Vec<[u64; 5]> = out_rows
            .iter()
            .enumerate()
            .map(|(target, &row)| [columns.rows[0], columns.tables[0], target as u64, to(row), 0])
            .collect();
        self.each_listed("convert_columns", &self.list_head(), &entries);
        self.count_conversion(conversion, out_rows.len());
    }

    pub(super) fn divided(
        &self,
        conversion: &BaseConversion,
        inputs: &[DivisionInput<'_>],
        constants: &[u64],
        transform: bool,
    ) -> Buffer {
        let targets = conversion.targets();
        assert!(constants.len() == targets.len(), "one constant per target");
        let parts = || inputs.iter().flat_map(|input| input.coeff.iter().chain(&input.eval));
        assert!(parts().all(|part| part.rows.len() == targets.len()), "one row of each part per target");
        assert!(
            transform || inputs.iter().all(|input| input.eval.is_none()),
            "parts in Eval form meet results in Eval form"
        );
        let sources: Vec<_> = inputs.iter().map(|input| (conversion, input.divisors)).collect();
        let columns = self.prepare(&sources);
        let out = self.fresh(inputs.len() * targets.len());
        let part_row = |part: Option<Dividend<'_>>, target: usize| {
            part.map_or(0, |part| address(&part.residues.slice(part.rows[target]..part.rows[target] + 1)))
        };
        let (mut conversions, mut transforms, mut quotients) = (Vec::new(), Vec::new(), Vec::new());
        let mut to = address(&out.view());
        for (index, input) in inputs.iter().enumerate() {
            for (target, &modulus) in targets.iter().enumerate() {
                let (own, coeff) = (
                    [columns.rows[index], columns.tables[index], target as u64],
                    part_row(input.coeff, target),
                );
                conversions.push([own[0], own[1], own[2], to, coeff]);
                transforms.push([to, own[0], own[1], own[2], coeff, modulus as u64]);
                let [modulus, value, quotient] = self.factor(modulus, constants[target]);
                quotients.push([to, part_row(input.eval, target), modulus, value, quotient]);
                to += self.degree as u64 * 8;
            }
            self.count_conversion(conversion, targets.len());
        }
        if transform {
            self.converted_forward(&transforms);
            self.count(Pass::Forward, transforms.len());
        } else {
            self.each_listed("convert_columns", &self.list_head(), &conversions);
        }
        self.each_listed("quotients", &self.list_head(), &quotients);
        self.count(Pass::Division, quotients.len());
        out
    }
}
