//! Divisions of several polynomials, large enough for remainders to be read in limbs, against the steps they
//! stand for on the portable kernel, and against divisions one by one.
//!
//! All comparisons are exact. Small degrees, against double-word arithmetic: `engine.rs`.

use crate::common::{Words, engines, polys};
use clathrate_arith::primes::largest_primes;
use clathrate_arith::{BaseConversion, Buffer, CpuEngine, Dividend, DivisionInput, Engine, Isa, Rounding};

/// The widths of a basis, in order: every way in which a remainder enters a transform, and moduli that have
/// none in two parts.
const WIDTHS: [u32; 18] = [36, 36, 36, 36, 40, 36, 36, 46, 45, 45, 51, 49, 50, 60, 29, 44, 47, 36];

struct Case {
    degree: usize,
    /// Rows of the basis that are divided by, all others being kept.
    divisors: Vec<usize>,
    polys: usize,
}

/// The parts that polynomial `index` of a call has: all kinds meet in one call.
fn parts_of(index: usize) -> (bool, bool) {
    (!index.is_multiple_of(3), index % 4 != 1)
}

impl Case {
    fn check(&self) {
        let mut moduli: Vec<u64> = Vec::new();
        for bits in WIDTHS {
            moduli.push(largest_primes(bits, 2 * self.degree as u64, 1, &moduli).expect("enough primes")[0]);
        }
        let scalar = CpuEngine::new(self.degree, &moduli, Isa::Scalar).expect("engine");
        let kept: Vec<usize> = (0..moduli.len()).filter(|row| !self.divisors.contains(row)).collect();
        let ones = vec![1; self.divisors.len()];
        let conversion =
            BaseConversion::new(scalar.moduli(), &self.divisors, &kept, &ones, Rounding::Centred)
                .expect("distinct");
        let mut words = Words::new(self.degree as u64);
        let mut random = |rows: &[usize]| {
            let mut buffer = scalar.scratch(rows.len());
            for (i, &row) in rows.iter().enumerate() {
                buffer.row_mut(i).iter_mut().for_each(|word| *word = words.residue(moduli[row]));
            }
            buffer
        };
        // Parts whose rows are in another order.
        let order: Vec<usize> = (0..moduli.len()).rev().collect();
        let places: Vec<usize> = kept.iter().map(|row| moduli.len() - 1 - row).collect();
        let divisors: Vec<Buffer> = (0..self.polys).map(|_| random(&self.divisors)).collect();
        let coeffs: Vec<Buffer> = (0..self.polys).map(|_| random(&order)).collect();
        let evals: Vec<Buffer> = (0..self.polys).map(|_| random(&order)).collect();
        let constants: Vec<u64> = kept.iter().map(|&row| words.residue(moduli[row])).collect();
        for transform in [true, false] {
            let inputs: Vec<DivisionInput<'_>> = (0..self.polys)
                .map(|i| {
                    let (coeff, eval) = parts_of(i);
                    DivisionInput {
                        divisors: divisors[i].view(),
                        coeff: coeff.then_some(Dividend { residues: coeffs[i].view(), rows: &places }),
                        eval: (eval && transform)
                            .then_some(Dividend { residues: evals[i].view(), rows: &places }),
                    }
                })
                .collect();
            let expected: Vec<Buffer> = inputs
                .iter()
                .map(|input| steps(&scalar, &conversion, input, &constants, transform))
                .collect();
            for engine in engines(self.degree, &moduli) {
                let say = |i: usize| {
                    format!(
                        "{}, degree {}, transform {transform}, polynomial {i}",
                        engine.describe(),
                        self.degree
                    )
                };
                let together = engine.divide_all(&conversion, &inputs, &constants, transform);
                let together = polys(&engine, &together, kept.len());
                assert_eq!(together.len(), expected.len());
                for (i, (got, expected)) in together.iter().zip(&expected).enumerate() {
                    assert!(got == expected, "{}", say(i));
                }
                for (i, input) in inputs.iter().enumerate().take(4) {
                    let alone = engine.divide_all(&conversion, &[*input], &constants, transform);
                    assert!(alone == expected[i], "alone: {}", say(i));
                }
            }
            assert!(scalar.divide_all(&conversion, &[], &constants, transform).rows() == 0);
        }
    }
}

/// A division step by step.
fn steps(
    engine: &CpuEngine,
    conversion: &BaseConversion,
    input: &DivisionInput<'_>,
    constants: &[u64],
    transform: bool,
) -> Buffer {
    let targets = conversion.targets();
    let mut x = engine.zeroed(targets.len());
    engine.convert(conversion, input.divisors, x.view_mut(), &(0..targets.len()).collect::<Vec<_>>());
    if let Some(part) = input.coeff {
        engine.sub_assign(x.view_mut(), engine.select(part.residues, part.rows).view(), targets);
    }
    if transform {
        engine.forward_ntt(x.view_mut(), targets);
    }
    if let Some(part) = input.eval {
        engine.sub_assign(x.view_mut(), engine.select(part.residues, part.rows).view(), targets);
    }
    engine.mul_constants_assign(x.view_mut(), constants, targets);
    x
}

#[test]
fn divisions_of_many_polynomials_are_their_steps_and_those_of_each() {
    // The smallest degree in two parts; one whose heads are padded. 36 and 40 bits; a source beyond the
    // vector kernels.
    Case { degree: 2048, divisors: vec![16, 17], polys: 16 }.check();
    Case { degree: 8192, divisors: vec![3, 4], polys: 5 }.check();
    Case { degree: 8192, divisors: vec![10], polys: 5 }.check();
}

#[test]
fn divisions_by_several_primes_are_their_steps_and_those_of_each() {
    // Three limbs; sources at the limits; one that no limb takes.
    Case { degree: 4096, divisors: vec![0, 1, 2, 3], polys: 11 }.check();
    Case { degree: 8192, divisors: vec![7, 11, 12], polys: 5 }.check();
    Case { degree: 8192, divisors: vec![13, 14], polys: 5 }.check();
}

#[test]
fn divisions_of_long_rows_are_their_steps_and_those_of_each() {
    Case { degree: 1 << 15, divisors: vec![5, 17], polys: 2 }.check();
}
