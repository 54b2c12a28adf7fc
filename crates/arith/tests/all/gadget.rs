//! The fused pass of a switch at degrees with a transform in two parts, against the steps it stands for on
//! the portable kernel.
//!
//! All comparisons are exact. Small degrees, against big integers: `engine.rs`.

use crate::common::{Words, engines, polys, views};
use clathrate_arith::primes::largest_primes;
use clathrate_arith::{
    BaseConversion, Buffer, CpuEngine, DigitExtension, Engine, FactorGroups, FactorShape, Factors,
    GadgetInput, Isa, Modulus, Rounding, Rows,
};

/// The widths of a basis, in order: every way in which a digit enters a transform, and moduli that have none
/// in two parts.
const WIDTHS: [u32; 15] = [36, 36, 36, 36, 36, 36, 36, 46, 45, 45, 51, 49, 50, 60, 29];

/// Rows of each digit; the last row belongs to none. One prime, two, four (three limbs), primes at the limits
/// of the vector kernels, and words that no limb takes.
const DIGITS: [std::ops::Range<usize>; 7] = [0..1, 1..3, 3..7, 7..10, 10..11, 11..13, 13..14];

struct Case {
    degree: usize,
    moduli: Vec<u64>,
    rounding: Rounding,
    digits: Vec<std::ops::Range<usize>>,
    /// Digits to moduli of which none is a source: the last of the basis.
    foreign: usize,
    inputs: usize,
    groups: usize,
    columns: usize,
}

impl Case {
    fn basis(widths: &[u32], degree: usize) -> Vec<u64> {
        let mut moduli: Vec<u64> = Vec::new();
        for &bits in widths {
            moduli.push(largest_primes(bits, 2 * degree as u64, 1, &moduli).expect("enough primes")[0]);
        }
        moduli
    }

    /// Rows of the extended basis.
    fn targets(&self) -> Vec<usize> {
        let first = if self.foreign > 0 { self.moduli.len() - self.foreign } else { 0 };
        (first..self.moduli.len()).collect()
    }

    fn extensions(&self, words: &mut Words) -> Vec<DigitExtension> {
        let moduli: Vec<Modulus> = self.moduli.iter().map(|&q| Modulus::new(q).expect("prime")).collect();
        let basis = self.targets();
        let extension = |own: &std::ops::Range<usize>| {
            let constants: Vec<u64> =
                own.clone().map(|row| 1 + words.next() % (self.moduli[row] - 1)).collect();
            let sources: Vec<usize> = own.clone().collect();
            let targets: Vec<usize> = basis.iter().copied().filter(|row| !own.contains(row)).collect();
            let conversion = BaseConversion::new(&moduli, &sources, &targets, &constants, self.rounding)
                .expect("distinct");
            if self.foreign > 0 {
                DigitExtension::foreign(own.start, conversion)
            } else {
                DigitExtension::new(own.start, constants, conversion, basis.len())
            }
        };
        self.digits.iter().map(extension).collect()
    }

    fn random(&self, engine: &CpuEngine, rows: &[usize], words: &mut Words) -> Buffer {
        let mut buffer = engine.scratch(rows.len());
        for (i, &row) in rows.iter().enumerate() {
            buffer.row_mut(i).iter_mut().for_each(|word| *word = words.residue(self.moduli[row]));
        }
        buffer
    }

    fn factors(&self, engine: &CpuEngine, slots: &[Vec<Buffer>]) -> Factors {
        let basis = self.targets();
        let shape = FactorShape {
            groups: self.groups,
            terms: slots[0].len() / self.columns,
            columns: self.columns,
            packed: true,
        };
        let mut factors = engine.zeroed_factors(shape, &basis);
        let rows: Vec<usize> = (0..basis.len()).collect();
        for (group, slots) in slots.iter().enumerate() {
            let sources: Vec<Vec<Rows<'_>>> = slots.iter().map(|slot| vec![slot.view()]).collect();
            engine.pack_factors(&mut factors, group, &sources, &rows);
        }
        factors
    }

    /// One digit of one input in Eval form, step by step.
    fn extended(&self, engine: &CpuEngine, input: &Buffer, digit: &DigitExtension) -> Buffer {
        let basis = self.targets();
        let mut out = engine.zeroed(basis.len());
        engine.convert(
            digit.conversion(),
            input.view().slice(digit.source()..input.rows()),
            out.view_mut(),
            &digit.target_rows(),
        );
        for (row, &constant) in digit.own().zip(digit.constants()) {
            let modulus = engine.moduli()[row];
            let target = out.row_mut(row);
            target.copy_from_slice(input.row(row));
            target.iter_mut().for_each(|word| *word = modulus.mul(*word, constant));
        }
        engine.forward_ntt(out.view_mut(), &basis);
        out
    }

    fn check(&self) {
        let scalar = CpuEngine::new(self.degree, &self.moduli, Isa::Scalar).expect("engine");
        let mut words = Words::new(self.degree as u64);
        let extensions = self.extensions(&mut words);
        let (basis, all): (Vec<usize>, Vec<usize>) = (self.targets(), (0..self.moduli.len()).collect());
        let coefficients: Vec<Buffer> =
            (0..self.inputs).map(|_| self.random(&scalar, &all, &mut words)).collect();
        let values: Vec<Buffer> = coefficients
            .iter()
            .map(|x| {
                let mut values = x.clone();
                scalar.forward_ntt(values.view_mut(), &all);
                values
            })
            .collect();
        let terms = extensions.len() * self.inputs;
        // One term more than there are.
        let slots: Vec<Vec<Buffer>> = (0..self.groups)
            .map(|_| {
                (0..(terms + 1) * self.columns).map(|_| self.random(&scalar, &basis, &mut words)).collect()
            })
            .collect();
        let rows: Vec<usize> = (0..basis.len()).collect();
        let picked: Vec<usize> = (0..self.groups).rev().collect();
        let xs: Vec<Buffer> = extensions
            .iter()
            .flat_map(|digit| {
                coefficients.iter().map(|x| self.extended(&scalar, x, digit)).collect::<Vec<_>>()
            })
            .collect();
        let mut expected = scalar.scratch(self.groups * self.columns * basis.len());
        let factors = self.factors(&scalar, &slots);
        let by = FactorGroups { factors: &factors, groups: &picked, rows: &rows, moduli: &basis };
        scalar.factor_products(expected.view_mut(), &views(&xs), by);
        for engine in engines(self.degree, &self.moduli) {
            let factors = self.factors(&engine, &slots);
            for with_values in [false, true] {
                let inputs: Vec<GadgetInput> = coefficients
                    .iter()
                    .zip(&values)
                    .map(|(x, values)| GadgetInput {
                        coefficients: x.view(),
                        values: with_values.then_some(values.view()),
                    })
                    .collect();
                let mut out = engine.scratch(expected.rows());
                engine.gadget_products(
                    out.view_mut(),
                    &inputs,
                    &extensions,
                    FactorGroups { factors: &factors, groups: &picked, rows: &rows, moduli: &basis },
                );
                for (out, expected) in
                    polys(&engine, &out, basis.len()).iter().zip(polys(&engine, &expected, basis.len()))
                {
                    for (row, &modulus) in basis.iter().enumerate() {
                        assert!(
                            out.row(row) == expected.row(row),
                            "{}, degree {}, values {with_values}, modulus {}",
                            engine.describe(),
                            self.degree,
                            self.moduli[modulus]
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn gadget_products_are_their_steps_at_degrees_in_two_parts() {
    // The smallest; the smallest with padded heads; several blocks of factors. Seventy terms are more than
    // one group.
    for (degree, inputs) in [(2048, 10), (4096, 1), (8192, 1)] {
        let case = Case {
            degree,
            moduli: Case::basis(&WIDTHS, degree),
            rounding: Rounding::Centred,
            digits: DIGITS.to_vec(),
            foreign: 0,
            inputs,
            groups: 1,
            columns: 2,
        };
        case.check();
    }
}

#[test]
fn gadget_products_take_digits_of_many_primes_and_without_rounding() {
    let degree = 2048;
    for rounding in [Rounding::Centred, Rounding::Approximate] {
        let case = Case {
            degree,
            moduli: Case::basis(&WIDTHS, degree),
            rounding,
            // Six limbs, and two of mixed widths.
            digits: vec![0..7, 7..9, 9..10],
            foreign: 0,
            inputs: 1,
            groups: 2,
            columns: 1,
        };
        case.check();
    }
}

#[test]
fn gadget_products_extend_digits_to_foreign_moduli_only() {
    let degree = 4096;
    let case = Case {
        degree,
        moduli: Case::basis(&[36, 36, 36, 36, 36, 45, 46, 48, 59], degree),
        rounding: Rounding::Centred,
        digits: vec![0..2, 2..4, 4..5],
        foreign: 4,
        inputs: 1,
        groups: 3,
        columns: 2,
    };
    case.check();
}

#[test]
fn gadget_products_agree_where_heads_go_around_the_caches() {
    let degree = 1 << 15;
    let case = Case {
        degree,
        moduli: Case::basis(&[36, 36, 36, 36, 45], degree),
        rounding: Rounding::Centred,
        digits: vec![0..2, 2..3, 3..4],
        foreign: 0,
        inputs: 4,
        groups: 1,
        columns: 1,
    };
    case.check();
}
