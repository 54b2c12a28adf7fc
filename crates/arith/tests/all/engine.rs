//! Every engine method against a model of plain double-word arithmetic, at every instruction set, with and
//! without threads.
//!
//! All comparisons are exact.

use crate::common::{Words, engines, mixed_primes, polys};
use clathrate_arith::automorphism::{mul_monomial, subring_embed, subring_extract};
use clathrate_arith::{
    ArithError, Automorphism, BaseConversion, Buffer, CpuEngine, DigitExtension, Dividend, DivisionInput,
    Engine, Factor2, FactorGroups, FactorShape, Factors, Form, GadgetInput, GaloisElement, Isa, Modulus,
    Rounding, Rows,
};
use clathrate_testkit::oracle;

const DEGREES: [usize; 6] = [1, 2, 4, 8, 64, 1024];

/// Rows per polynomial of the tests: widths 60, 29, 45, 50, 61 and 49 bits, out of order.
const BASIS: [usize; 6] = [1, 0, 4, 3, 11, 6];

fn mulmod(x: u64, y: u64, q: u64) -> u64 {
    (u128::from(x) * u128::from(y) % u128::from(q)) as u64
}

fn powmod(base: u64, mut e: u64, q: u64) -> u64 {
    let (mut base, mut result) = (base % q, 1 % q);
    while e > 0 {
        if e % 2 == 1 {
            result = mulmod(result, base, q);
        }
        base = mulmod(base, base, q);
        e /= 2;
    }
    result
}

/// Negacyclic product by the definition, in signed steps of the modulus.
fn product(x: &[u64], y: &[u64], q: u64) -> Vec<u64> {
    let n = x.len();
    let mut out = vec![0u64; n];
    for i in 0..n {
        for j in 0..n {
            let term = mulmod(x[i], y[j], q);
            let target = &mut out[(i + j) % n];
            let term = if i + j < n { term } else { (q - term) % q };
            *target = (*target + term) % q;
        }
    }
    out
}

/// `phi_g` by the definition: the coefficient of `X^i` goes to `X^(g i)`, and `X^n = -1`.
fn substitute(x: &[u64], g: usize, q: u64) -> Vec<u64> {
    let n = x.len();
    let mut out = vec![0; n];
    for (i, &value) in x.iter().enumerate() {
        let exponent = i * g % (2 * n);
        out[exponent % n] = if exponent < n { value } else { (q - value) % q };
    }
    out
}

fn reverse(i: usize, bits: u32) -> usize {
    (0..bits).fold(0, |out, bit| out << 1 | (i >> bit & 1))
}

/// The first `rows` rows of each of `polys` polynomials over the basis.
fn places(polys: usize, rows: usize) -> Vec<usize> {
    (0..polys).flat_map(|poly| (0..rows).map(move |row| poly * BASIS.len() + row)).collect()
}

struct Case {
    engine: CpuEngine,
    name: String,
    degree: usize,
    moduli: Vec<u64>,
}

impl Case {
    fn modulus(&self, row: usize) -> u64 {
        self.moduli[BASIS[row % BASIS.len()]]
    }

    fn random(&self, rows: usize, words: &mut Words) -> Buffer {
        let mut buffer = self.engine.scratch(rows);
        for row in 0..rows {
            let q = self.modulus(row);
            buffer.row_mut(row).iter_mut().for_each(|word| *word = words.residue(q));
        }
        buffer
    }

    /// Compares every row with `expected(row, word index)`.
    fn expect(&self, what: &str, got: &Buffer, expected: impl Fn(usize, usize) -> u64) {
        for row in 0..got.rows() {
            for (i, &word) in got.row(row).iter().enumerate() {
                assert_eq!(
                    word,
                    expected(row, i),
                    "{what}, {}, degree {}, row {row}, word {i}",
                    self.name,
                    self.degree
                );
            }
        }
    }
}

fn cases(degree: usize) -> Vec<Case> {
    let moduli = mixed_primes(degree);
    engines(degree, &moduli)
        .into_iter()
        .map(|engine| Case { name: engine.describe(), engine, degree, moduli: moduli.clone() })
        .collect()
}

#[test]
fn element_wise_methods_are_their_definitions_on_several_polynomials() {
    for case in DEGREES.into_iter().flat_map(cases) {
        for polys in [1, 3] {
            let mut words = Words::new(7);
            let rows = polys * BASIS.len();
            let (x, y) = (case.random(rows, &mut words), case.random(rows, &mut words));
            let constants: Vec<u64> = (0..BASIS.len()).map(|i| words.residue(case.modulus(i))).collect();
            let at = |buffer: &Buffer, row: usize, i: usize| u128::from(buffer.row(row)[i]);
            let q = |row: usize| u128::from(case.modulus(row));
            let run = |work: &dyn Fn(&mut Buffer)| {
                let mut out = x.clone();
                work(&mut out);
                out
            };
            let e = &case.engine;
            case.expect("add", &run(&|z| e.add_assign(z.view_mut(), y.view(), &BASIS)), |r, i| {
                ((at(&x, r, i) + at(&y, r, i)) % q(r)) as u64
            });
            case.expect("sub", &run(&|z| e.sub_assign(z.view_mut(), y.view(), &BASIS)), |r, i| {
                ((at(&x, r, i) + q(r) - at(&y, r, i)) % q(r)) as u64
            });
            case.expect("negate", &run(&|z| e.negate_assign(z.view_mut(), &BASIS)), |r, i| {
                ((q(r) - at(&x, r, i)) % q(r)) as u64
            });
            case.expect("mul", &run(&|z| e.mul_assign(z.view_mut(), y.view(), &BASIS)), |r, i| {
                (at(&x, r, i) * at(&y, r, i) % q(r)) as u64
            });
            let c = |row: usize| u128::from(constants[row % BASIS.len()]);
            case.expect(
                "constants",
                &run(&|z| e.mul_constants_assign(z.view_mut(), &constants, &BASIS)),
                |r, i| (at(&x, r, i) * c(r) % q(r)) as u64,
            );
            let mut out = case.random(rows, &mut words);
            e.add(out.view_mut(), x.view(), y.view(), &BASIS);
            case.expect("add into", &out, |r, i| ((at(&x, r, i) + at(&y, r, i)) % q(r)) as u64);
            e.sub(out.view_mut(), x.view(), y.view(), &BASIS);
            case.expect("sub into", &out, |r, i| ((at(&x, r, i) + q(r) - at(&y, r, i)) % q(r)) as u64);
            // One polynomial on the right meets all on the left.
            let one = case.random(BASIS.len(), &mut words);
            let product = run(&|z| e.mul_assign(z.view_mut(), one.view(), &BASIS));
            case.expect("mul by one", &product, |r, i| {
                (at(&x, r, i) * at(&one, r % BASIS.len(), i) % q(r)) as u64
            });
            // Polynomials on the left with rows of their own stay what they are there.
            let wide = case.random(rows, &mut words);
            let (short, moduli) = (case.engine.select(y.view(), &places(polys, 4)), &BASIS[..4]);
            let mut sum = wide.clone();
            e.add_mul_constants_assign(sum.view_mut(), short.view(), &constants[..4], moduli);
            case.expect("add multiple", &sum, |r, i| {
                let term = if r % BASIS.len() < 4 { at(&y, r, i) * c(r) } else { 0 };
                ((at(&wide, r, i) + term) % q(r)) as u64
            });
        }
    }
}

#[test]
fn signed_integers_enter_every_row_reduced() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let mut words = Words::new(8);
        let edges = [i64::MIN, i64::MAX, -1, 0, 1, i64::MIN + 1, -(1 << 52), 1 << 52, (1 << 60) + 7];
        let values: Vec<i64> = (0..case.degree)
            .map(|_| {
                if words.next().is_multiple_of(2) {
                    edges[words.next() as usize % edges.len()]
                } else {
                    words.next() as i64
                }
            })
            .collect();
        let mut rows = case.random(BASIS.len(), &mut words);
        case.engine.reduce_signed(rows.view_mut(), &values, &BASIS);
        case.expect("from signed", &rows, |r, i| {
            i128::from(values[i]).rem_euclid(i128::from(case.modulus(r))) as u64
        });
    }
}

#[test]
fn transforms_are_evaluations_at_odd_powers_and_invert_each_other() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let (n, log) = (case.degree, case.degree.trailing_zeros());
        let mut words = Words::new(9);
        let rows = 2 * BASIS.len();
        let x = case.random(rows, &mut words);
        let mut eval = x.clone();
        // In two calls, so that a view that starts inside the basis meets the moduli that are named.
        case.engine.forward_ntt(eval.view_mut().slice(0..2), &BASIS[..2]);
        case.expect(
            "rows beside the view",
            &case.engine.select(eval.view(), &(2..rows).collect::<Vec<_>>()),
            |r, i| x.row(r + 2)[i],
        );
        // The basis from its third modulus on, then its first two, and so on round.
        let turned: Vec<usize> = BASIS[2..].iter().chain(&BASIS[..2]).copied().collect();
        case.engine.forward_ntt(eval.view_mut().slice(2..rows), &turned);
        // The transform of X tells the root; the definition tells the rest.
        let mut monomial = vec![0i64; n];
        monomial[1 % n] = 1;
        let mut roots = case.engine.scratch(BASIS.len());
        case.engine.reduce_signed(roots.view_mut(), &monomial, &BASIS);
        case.engine.forward_ntt(roots.view_mut(), &BASIS);
        for row in 0..rows {
            let q = case.modulus(row);
            let psi = if n == 1 { q - 1 } else { roots.row(row % BASIS.len())[0] };
            assert_eq!(powmod(psi, n as u64, q), q - 1, "a primitive root of order 2n");
            // All slots at small degree, some at large.
            for slot in (0..n).step_by((n / 64).max(1)) {
                let point = powmod(psi, 2 * reverse(slot, log) as u64 + 1, q);
                let value = x.row(row).iter().rev().fold(0u64, |sum, &c| (mulmod(sum, point, q) + c) % q);
                assert_eq!(eval.row(row)[slot], value, "{}, degree {n}, row {row}, slot {slot}", case.name);
            }
        }
        case.engine.inverse_ntt(eval.view_mut(), &BASIS);
        assert!(eval == x, "{}, degree {n}: inverse undoes forward", case.name);
    }
}

#[test]
fn transform_of_degree_1_is_the_identity() {
    for case in cases(1) {
        let x = case.random(BASIS.len(), &mut Words::new(10));
        let mut y = x.clone();
        case.engine.forward_ntt(y.view_mut(), &BASIS);
        assert!(x == y);
        case.engine.inverse_ntt(y.view_mut(), &BASIS);
        assert!(x == y);
    }
}

#[test]
fn product_through_the_transform_is_the_negacyclic_product() {
    for case in [1, 2, 4, 8, 64].into_iter().flat_map(cases) {
        let mut words = Words::new(11);
        let rows = BASIS.len();
        let (x, y) = (case.random(rows, &mut words), case.random(rows, &mut words));
        let (mut fx, mut fy) = (x.clone(), y.clone());
        for z in [&mut fx, &mut fy] {
            case.engine.forward_ntt(z.view_mut(), &BASIS);
        }
        case.engine.mul_assign(fx.view_mut(), fy.view(), &BASIS);
        case.engine.inverse_ntt(fx.view_mut(), &BASIS);
        for row in 0..rows {
            assert_eq!(
                fx.row(row),
                product(x.row(row), y.row(row), case.modulus(row)),
                "{}, degree {}",
                case.name,
                case.degree
            );
        }
    }
}

#[test]
fn inner_products_meet_permuted_rows_for_any_number_of_terms() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let mut words = Words::new(12);
        let rows = BASIS.len();
        // Around the lazy accumulators' widths: with every residue at its largest the sums are as large as
        // they get.
        for (terms, extreme) in
            [(1, false), (2, false), (7, true), (17, false), (63, true), (64, true), (65, true), (130, true)]
        {
            if case.degree > 64 && terms > 20 {
                continue;
            }
            let outputs = 1 + words.next() as usize % 3;
            let largest = |rows: &[usize]| {
                let mut buffer = case.engine.zeroed(rows.len());
                for (i, &row) in rows.iter().enumerate() {
                    buffer.row_mut(i).fill(case.modulus(row) - 1);
                }
                buffer
            };
            // The right side has two rows more, and the rows of the basis backwards.
            let wide: Vec<usize> = [0].into_iter().chain((0..rows).rev()).chain([3]).collect();
            let y_rows: Vec<usize> = (0..rows).map(|row| rows - row).collect();
            let random = |words: &mut Words, rows: &[usize]| {
                let mut buffer = case.engine.zeroed(rows.len());
                for (i, &row) in rows.iter().enumerate() {
                    buffer.row_mut(i).iter_mut().for_each(|word| *word = words.residue(case.modulus(row)));
                }
                buffer
            };
            let straight: Vec<usize> = (0..rows).collect();
            let mut make = |rows: &[usize]| if extreme { largest(rows) } else { random(&mut words, rows) };
            let xs: Vec<Buffer> = (0..terms).map(|_| make(&straight)).collect();
            let ys: Vec<Vec<Buffer>> =
                (0..outputs).map(|_| (0..terms).map(|_| make(&wide)).collect()).collect();
            let mut out = case.engine.scratch(outputs * rows);
            let factors: Vec<Vec<Factor2<'_>>> =
                ys.iter().map(|ys| xs.iter().zip(ys).map(|(x, y)| (x.view(), y.view())).collect()).collect();
            case.engine.dot_products(out.view_mut(), &factors, &y_rows, &BASIS);
            for (out, ys) in polys(&case.engine, &out, rows).iter().zip(&ys) {
                case.expect("inner product", out, |r, i| {
                    let q = u128::from(case.modulus(r));
                    let terms = xs
                        .iter()
                        .zip(ys)
                        .map(|(x, y)| u128::from(x.row(r)[i]) * u128::from(y.row(y_rows[r])[i]) % q);
                    (terms.sum::<u128>() % q) as u64
                });
            }
        }
    }
}

impl Case {
    /// Random factors with rows for the rows `wide` of the basis, and what they hold: `[group][slot]`.
    fn factors(&self, shape: FactorShape, wide: &[usize], words: &mut Words) -> (Factors, Vec<Vec<Buffer>>) {
        let moduli: Vec<usize> = wide.iter().map(|&row| BASIS[row]).collect();
        let mut factors = self.engine.zeroed_factors(shape, &moduli);
        let mut plain = Vec::new();
        for group in 0..shape.groups {
            let slots: Vec<Buffer> = (0..shape.slots())
                .map(|_| {
                    let mut buffer = self.engine.zeroed(wide.len());
                    for (i, &row) in wide.iter().enumerate() {
                        buffer
                            .row_mut(i)
                            .iter_mut()
                            .for_each(|word| *word = words.residue(self.modulus(row)));
                    }
                    buffer
                })
                .collect();
            let sources: Vec<Vec<Rows<'_>>> = slots.iter().map(|slot| vec![slot.view()]).collect();
            self.engine.pack_factors(&mut factors, group, &sources, &(0..wide.len()).collect::<Vec<_>>());
            plain.push(slots);
        }
        (factors, plain)
    }

    /// The rows `own` of every input, scaled by `constants`, as centred integers, reduced modulo `targets`
    /// and transformed.
    fn digit(
        &self,
        input: &Buffer,
        own: std::ops::Range<usize>,
        constants: &[u64],
        targets: &[usize],
    ) -> Buffer {
        let moduli: Vec<Modulus> = own.clone().map(|row| self.engine.moduli()[BASIS[row]]).collect();
        let scale = |(row, &c): (usize, &u64)| {
            input.row(row).iter().map(|&x| mulmod(x, c, self.modulus(row))).collect()
        };
        let scaled: Vec<Vec<u64>> = own.zip(constants).map(scale).collect();
        let scaled: Vec<&[u64]> = scaled.iter().map(Vec::as_slice).collect();
        let mut digit = self.engine.zeroed(targets.len());
        for (i, value) in oracle::compose_centred(&scaled, &moduli).iter().enumerate() {
            for (row, &target) in targets.iter().enumerate() {
                digit.row_mut(row)[i] = oracle::residue(value, &self.engine.moduli()[target]);
            }
        }
        self.engine.forward_ntt(digit.view_mut(), targets);
        digit
    }

    /// Inputs at a level of the basis' first `level` rows, in both forms.
    fn gadget_inputs(&self, count: usize, level: usize, words: &mut Words) -> Vec<(Buffer, Buffer)> {
        (0..count)
            .map(|_| {
                let mut coefficients = self.engine.zeroed(level);
                for row in 0..level {
                    coefficients
                        .row_mut(row)
                        .iter_mut()
                        .for_each(|word| *word = words.residue(self.modulus(row)));
                }
                let mut values = coefficients.clone();
                self.engine.forward_ntt(values.view_mut(), &BASIS[..level]);
                (coefficients, values)
            })
            .collect()
    }
}

/// Digits of one, two and one rows; rows 4 and 5 belong to none, as special primes do.
fn gadget_digits(case: &Case, words: &mut Words) -> Vec<(std::ops::Range<usize>, Vec<u64>)> {
    let mut constants =
        |own: std::ops::Range<usize>| own.map(|row| 1 + words.next() % (case.modulus(row) - 1)).collect();
    [0..1, 1..3, 3..4].into_iter().map(|own| (own.clone(), constants(own))).collect()
}

/// Inputs, terms, columns and groups of the factors, and the groups that are asked for.
const GADGET_SHAPES: [(usize, usize, usize, usize, &[usize]); 4] =
    [(1, 3, 1, 1, &[0]), (3, 10, 2, 1, &[0]), (2, 6, 5, 2, &[1, 0]), (1, 4, 2, 3, &[2])];

#[test]
fn gadget_products_multiply_the_centred_digits_of_every_input() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let mut words = Words::new(20);
        let rows = BASIS.len();
        let digits = gadget_digits(&case, &mut words);
        let extensions: Vec<DigitExtension> = digits
            .iter()
            .map(|(own, constants)| {
                let sources: Vec<usize> = own.clone().map(|row| BASIS[row]).collect();
                let targets: Vec<usize> =
                    (0..rows).filter(|row| !own.contains(row)).map(|row| BASIS[row]).collect();
                let conversion = BaseConversion::new(
                    case.engine.moduli(),
                    &sources,
                    &targets,
                    constants,
                    Rounding::Centred,
                );
                DigitExtension::new(own.start, constants.clone(), conversion.expect("distinct"), rows)
            })
            .collect();
        // Factors with two rows more than the basis, met backwards.
        let wide: Vec<usize> = [0].into_iter().chain((0..rows).rev()).chain([3]).collect();
        let factor_rows: Vec<usize> = (0..rows).map(|row| rows - row).collect();
        for (inputs, terms, columns, groups, picked) in GADGET_SHAPES {
            let xs = case.gadget_inputs(inputs, 4, &mut words);
            let (factors, plain) =
                case.factors(FactorShape { groups, terms, columns, packed: true }, &wide, &mut words);
            // The digits as integers, by big integers; their transforms are tested above. Digit by digit,
            // input by input.
            let extended: Vec<Buffer> = digits
                .iter()
                .flat_map(|(own, constants)| {
                    xs.iter().map(|(x, _)| case.digit(x, own.clone(), constants, &BASIS)).collect::<Vec<_>>()
                })
                .collect();
            for with_values in [false, true] {
                let forms: Vec<GadgetInput> = xs
                    .iter()
                    .map(|(x, y)| GadgetInput {
                        coefficients: x.view(),
                        values: with_values.then_some(y.view()),
                    })
                    .collect();
                let mut out = case.engine.scratch(picked.len() * columns * rows);
                case.engine.gadget_products(
                    out.view_mut(),
                    &forms,
                    &extensions,
                    FactorGroups { factors: &factors, groups: picked, rows: &factor_rows, moduli: &BASIS },
                );
                for (index, out) in polys(&case.engine, &out, rows).iter().enumerate() {
                    let (group, column) = (picked[index / columns], index % columns);
                    case.expect("gadget product", out, |r, i| {
                        let q = case.modulus(r);
                        let factor = |t: usize| plain[group][t * columns + column].row(factor_rows[r])[i];
                        extended
                            .iter()
                            .enumerate()
                            .fold(0, |sum, (t, digit)| (sum + mulmod(digit.row(r)[i], factor(t), q)) % q)
                    });
                }
            }
        }
    }
}

#[test]
fn gadget_products_of_digits_extended_to_foreign_moduli_only_are_their_sums() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let mut words = Words::new(21);
        let digits = gadget_digits(&case, &mut words);
        // Rows 5 and 4 of the basis: no digit has them.
        let wide = [4, 5, 4];
        let (targets, factor_rows) = ([BASIS[5], BASIS[4]], [1, 2]);
        let extensions: Vec<DigitExtension> = digits
            .iter()
            .map(|(own, constants)| {
                let sources: Vec<usize> = own.clone().map(|row| BASIS[row]).collect();
                let conversion = BaseConversion::new(
                    case.engine.moduli(),
                    &sources,
                    &targets,
                    constants,
                    Rounding::Centred,
                );
                DigitExtension::foreign(own.start, conversion.expect("distinct"))
            })
            .collect();
        for (inputs, terms, columns, groups, picked) in GADGET_SHAPES {
            let xs = case.gadget_inputs(inputs, 4, &mut words);
            let (factors, plain) =
                case.factors(FactorShape { groups, terms, columns, packed: true }, &wide, &mut words);
            let extended: Vec<Buffer> = digits
                .iter()
                .flat_map(|(own, constants)| {
                    xs.iter()
                        .map(|(x, _)| case.digit(x, own.clone(), constants, &targets))
                        .collect::<Vec<_>>()
                })
                .collect();
            let forms: Vec<GadgetInput> =
                xs.iter().map(|(x, _)| GadgetInput { coefficients: x.view(), values: None }).collect();
            let mut out = case.engine.scratch(picked.len() * columns * 2);
            case.engine.gadget_products(
                out.view_mut(),
                &forms,
                &extensions,
                FactorGroups { factors: &factors, groups: picked, rows: &factor_rows, moduli: &targets },
            );
            for (index, out) in polys(&case.engine, &out, 2).iter().enumerate() {
                let (group, column) = (picked[index / columns], index % columns);
                case.expect("foreign gadget product", out, |r, i| {
                    let q = case.moduli[targets[r]];
                    let factor = |t: usize| plain[group][t * columns + column].row(factor_rows[r])[i];
                    extended
                        .iter()
                        .enumerate()
                        .fold(0, |sum, (t, digit)| (sum + mulmod(digit.row(r)[i], factor(t), q)) % q)
                });
            }
        }
    }
}

#[test]
fn automorphisms_agree_in_both_domains_for_every_odd_element() {
    for case in [1, 2, 4, 8, 64].into_iter().flat_map(cases) {
        let (n, rows) = (case.degree, 2 * BASIS.len());
        let mut words = Words::new(13);
        let x = case.random(rows, &mut words);
        let mut eval = x.clone();
        case.engine.forward_ntt(eval.view_mut(), &BASIS);
        for g in (1..2 * n).step_by(2) {
            let phi = Automorphism::new(GaloisElement::new(g, n).expect("odd"), n);
            let coeff = case.engine.automorphism(Form::Coeff, &phi, x.view(), &BASIS);
            for row in 0..rows {
                assert_eq!(
                    coeff.row(row),
                    substitute(x.row(row), g, case.modulus(row)),
                    "{}, degree {n}, g {g}",
                    case.name
                );
            }
            let mut moved = case.engine.automorphism(Form::Eval, &phi, eval.view(), &BASIS);
            case.engine.inverse_ntt(moved.view_mut(), &BASIS);
            assert!(moved == coeff, "{}, degree {n}, g {g}: both domains", case.name);
        }
    }
}

#[test]
fn automorphisms_agree_in_both_domains_at_a_large_degree() {
    for case in cases(1024) {
        let (n, rows) = (case.degree, BASIS.len());
        let x = case.random(rows, &mut Words::new(14));
        let mut eval = x.clone();
        case.engine.forward_ntt(eval.view_mut(), &BASIS);
        for g in [1, 3, 5, 25, 1023, 1025, 2045, 2047] {
            let phi = Automorphism::new(GaloisElement::new(g, n).expect("odd"), n);
            let coeff = case.engine.automorphism(Form::Coeff, &phi, x.view(), &BASIS);
            assert_eq!(coeff.row(2), substitute(x.row(2), g, case.modulus(2)), "{}, g {g}", case.name);
            let mut moved = case.engine.automorphism(Form::Eval, &phi, eval.view(), &BASIS);
            case.engine.inverse_ntt(moved.view_mut(), &BASIS);
            assert!(moved == coeff, "{}, g {g}: both domains", case.name);
        }
    }
}

#[test]
fn automorphisms_form_the_group_of_odd_elements() {
    for case in [1, 2, 4, 8, 16].into_iter().flat_map(cases) {
        let n = case.degree;
        let x = case.random(BASIS.len(), &mut Words::new(15));
        let phi = |g: usize| Automorphism::new(GaloisElement::new(g % (2 * n), n).expect("odd"), n);
        let apply = |g: usize, x: &Buffer| case.engine.automorphism(Form::Eval, &phi(g), x.view(), &BASIS);
        assert!(apply(1, &x) == x, "the identity");
        for g in (1..2 * n).step_by(2) {
            for h in (1..2 * n).step_by(2) {
                assert!(apply(g, &apply(h, &x)) == apply(g * h, &x), "degree {n}: phi_{g} phi_{h}");
            }
            let inverse = (1..2 * n).step_by(2).find(|h| g * h % (2 * n) == 1).expect("a group");
            assert!(apply(inverse, &apply(g, &x)) == x);
        }
    }
}

#[test]
fn rotations_are_powers_of_5_and_conjugation_is_minus_1() {
    for n in [1usize, 2, 4, 8, 64, 1024] {
        let order = (n / 2).max(1) as i64;
        let mut power = 1;
        for steps in 0..order {
            for same in [steps, steps - order, steps + 3 * order, steps - 7 * order] {
                assert_eq!(
                    GaloisElement::rotation(same, n).value(),
                    power % (2 * n),
                    "degree {n}, {same} steps"
                );
            }
            power = power * 5 % (2 * n);
        }
        assert_eq!(power % (2 * n), 1, "5 has order n/2 modulo 2n");
        assert_eq!(GaloisElement::conjugation(n).value(), 2 * n - 1);
        assert_eq!(GaloisElement::new(2 * n - 1, n), Ok(GaloisElement::conjugation(n)));
        for bad in [0, 2, 2 * n, 2 * n + 1] {
            assert_eq!(
                GaloisElement::new(bad, n),
                Err(ArithError::InvalidGaloisElement { element: bad, degree: n })
            );
        }
    }
    assert_eq!(GaloisElement::rotation(i64::MIN, 8), GaloisElement::rotation(0, 8));
}

#[test]
fn monomials_multiply_like_polynomials_with_one_coefficient() {
    for n in [1usize, 2, 4, 8, 64] {
        for q in mixed_primes(n).into_iter().step_by(5) {
            let modulus = Modulus::new(q).expect("prime");
            let mut words = Words::new(16);
            let x: Vec<u64> = (0..n).map(|_| words.residue(q)).collect();
            for power in 0..2 * n {
                let mut monomial = vec![0; n];
                monomial[power % n] = if power < n { 1 } else { q - 1 };
                let mut out = vec![0; n];
                mul_monomial(&mut out, &x, power, &modulus);
                assert_eq!(out, product(&x, &monomial, q), "degree {n}, power {power}");
                // The exponent counts modulo 2n, and 2n - power undoes it.
                let mut back = vec![0; n];
                mul_monomial(&mut back, &out, 4 * n - power, &modulus);
                assert_eq!(back, x);
            }
        }
    }
}

#[test]
fn subring_maps_are_inverse_and_multiplicative() {
    let n = 64;
    let q = mixed_primes(n)[0];
    let mut words = Words::new(17);
    let x: Vec<u64> = (0..n).map(|_| words.residue(q)).collect();
    for gap in [1, 2, 4, 8, 64] {
        let small = n / gap;
        // The components of x at each offset put it together again.
        let mut rebuilt = vec![u64::MAX; n];
        for offset in 0..gap {
            let mut part = vec![0; small];
            subring_extract(&mut part, &x, gap, offset);
            assert!((0..small).all(|i| part[i] == x[i * gap + offset]));
            subring_embed(&mut rebuilt, &part, gap, offset);
        }
        assert_eq!(rebuilt, x, "gap {gap}");
        // The embedding is a ring map.
        let y: Vec<u64> = (0..small).map(|_| words.residue(q)).collect();
        let z: Vec<u64> = (0..small).map(|_| words.residue(q)).collect();
        let embed = |part: &[u64]| {
            let mut out = vec![0; n];
            subring_embed(&mut out, part, gap, 0);
            out
        };
        assert_eq!(product(&embed(&y), &embed(&z), q), embed(&product(&y, &z, q)), "gap {gap}");
        // Rows of others are left alone.
        let mut kept = vec![7; n];
        subring_embed(&mut kept, &y, gap, gap - 1);
        assert!((0..n).all(|i| if i % gap == gap - 1 { kept[i] == y[i / gap] } else { kept[i] == 7 }));
    }
}

#[test]
fn buffers_select_and_zero_their_rows() {
    for case in [1, 8].into_iter().flat_map(cases) {
        let x = case.random(6, &mut Words::new(18));
        let picked = case.engine.select(x.view(), &[5, 0, 0, 3]);
        assert_eq!((picked.rows(), picked.degree()), (4, case.degree));
        for (row, source) in [5, 0, 0, 3].into_iter().enumerate() {
            assert_eq!(picked.row(row), x.row(source));
        }
        assert_eq!(case.engine.select(x.view(), &[]).rows(), 0);
        // A pool hands used memory out again: zeroed means zero.
        drop(x);
        assert!(case.engine.zeroed(6).host().iter().all(|&word| word == 0));
        let mut y = case.random(6, &mut Words::new(19));
        y.zeroize();
        assert!(y.host().iter().all(|&word| word == 0));
    }
}

#[test]
fn unusable_degrees_and_moduli_are_errors_with_their_numbers() {
    for isa in Isa::available() {
        let new =
            |degree: usize, q: u64| CpuEngine::new(degree, &[97, q], isa).map(|_| ()).expect_err("unusable");
        for degree in [0, 3, 12, (1 << 17) + 1, 1 << 18] {
            assert_eq!(new(degree, 97), ArithError::InvalidDegree { degree });
        }
        for q in [0, 1, 2, 96, 1 << 61] {
            assert_eq!(new(1, q), ArithError::InvalidModulus { value: q });
        }
        assert_eq!(new(8, 7), ArithError::NoRootOfUnity { modulus: 7, order: 16 });
        // 97 = 1 mod 32, not mod 64.
        assert_eq!(new(32, 97), ArithError::NoRootOfUnity { modulus: 97, order: 64 });
    }
}

#[test]
fn divisions_equal_their_single_operations_for_every_part_and_form() {
    for case in DEGREES.into_iter().chain([8192]).flat_map(cases) {
        let mut words = Words::new(31);
        let (sources, targets) = (&BASIS[..2], &BASIS[2..]);
        let x = case.random(BASIS.len(), &mut words);
        let y = case.random(BASIS.len(), &mut words);
        let conversion =
            BaseConversion::new(case.engine.moduli(), sources, targets, &[1, 1], Rounding::Centred)
                .expect("distinct");
        let constants: Vec<u64> = (2..BASIS.len()).map(|row| words.residue(case.modulus(row))).collect();
        let rows: Vec<usize> = (2..BASIS.len()).collect();
        let mut remainder = case.engine.zeroed(targets.len());
        case.engine.convert(
            &conversion,
            x.view(),
            remainder.view_mut(),
            &(0..targets.len()).collect::<Vec<_>>(),
        );
        let part = |of: &Buffer, row: usize, i: usize| of.row(rows[row])[i];
        for (with_coeff, with_eval, transform) in [
            (false, false, false),
            (true, false, false),
            (false, false, true),
            (true, false, true),
            (false, true, true),
            (true, true, true),
        ] {
            let (coeff, eval) =
                (Dividend { residues: x.view(), rows: &rows }, Dividend { residues: y.view(), rows: &rows });
            let input = DivisionInput {
                divisors: x.view(),
                coeff: with_coeff.then_some(coeff),
                eval: with_eval.then_some(eval),
            };
            let got = case.engine.divide_all(&conversion, &[input], &constants, transform);
            let mut difference = remainder.clone();
            for row in 0..targets.len() {
                let q = case.modulus(row + 2);
                for i in 0..case.degree {
                    let taken = if with_coeff { part(&x, row, i) } else { 0 };
                    difference.row_mut(row)[i] = (difference.row(row)[i] + q - taken) % q;
                }
            }
            if transform {
                case.engine.forward_ntt(difference.view_mut(), targets);
            }
            for row in 0..targets.len() {
                let q = case.modulus(row + 2);
                for i in 0..case.degree {
                    let taken = if with_eval { part(&y, row, i) } else { 0 };
                    let expected = mulmod((difference.row(row)[i] + q - taken) % q, constants[row], q);
                    assert_eq!(
                        got.row(row)[i],
                        expected,
                        "{}: {with_coeff} {with_eval} {transform}, row {row}, word {i}",
                        case.name
                    );
                }
            }
        }
    }
}

#[test]
fn inverse_transforms_of_copies_equal_those_in_place() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let mut x = case.random(2 * BASIS.len(), &mut Words::new(32));
        let copy = case.engine.inverse_ntt_of(x.view(), &BASIS);
        case.engine.inverse_ntt(x.view_mut(), &BASIS);
        assert!(copy == x, "{}", case.name);
    }
}
