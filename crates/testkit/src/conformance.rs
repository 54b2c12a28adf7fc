//! Runs the operations of an engine on reproducible operands, so that engines can be compared word for word.

use clathrate_arith::primes::largest_primes;
use clathrate_arith::product::LeftMatrix;
use clathrate_arith::{
    Automorphism, BaseConversion, Buffer, DigitExtension, Dividend, DivisionInput, Engine, Factor2,
    FactorGroups, FactorShape, Factors, Form, GadgetInput, GaloisElement, Hoisted, PermutedProduct,
    PlaintextSum, Rounding, Rows, RowsMut, Twist,
};

/// Bits of the moduli, with every class of kernel; polynomials have the first five.
const WIDTHS: [u32; 7] = [36, 29, 45, 49, 60, 46, 50];

/// The moduli of the polynomials.
const OWN: [usize; 5] = [0, 1, 2, 3, 4];

const ALL: [usize; 7] = [0, 1, 2, 3, 4, 5, 6];

/// Reproducible words (xorshift); not for cryptography.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A residue: sometimes an extreme one, otherwise a random one.
    fn residue(&mut self, q: u64) -> u64 {
        match self.next() % 8 {
            0 => 0,
            1 => q - 1,
            2 => q / 2 + self.next() % 2,
            _ => self.next() % q,
        }
    }
}

/// A result: the operation's name and the words.
pub type Outcome = (&'static str, Vec<u64>);

/// The engines of one run, and the results of their operations.
struct Run<'a> {
    engine: &'a dyn Engine,
    small: &'a dyn Engine,
    words: Words,
    results: Vec<Outcome>,
}

/// Moduli for [`outcomes`] at `degree`.
///
/// # Panics
/// Where there are not enough primes.
#[must_use]
pub fn moduli(degree: usize) -> Vec<u64> {
    let mut moduli: Vec<u64> = Vec::new();
    for bits in WIDTHS {
        moduli.push(largest_primes(bits, 2 * degree as u64, 1, &moduli).expect("enough primes")[0]);
    }
    moduli
}

/// The results of all operations except [`Engine::combine_fractions`], whose last bits may differ between
/// engines. Both engines are for [`moduli`]; the degree of `small` divides that of `engine`.
#[must_use]
pub fn outcomes(engine: &dyn Engine, small: &dyn Engine) -> Vec<Outcome> {
    let seed = (engine.degree() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut run = Run { engine, small, words: Words(seed), results: Vec::new() };
    run.memory_and_arithmetic();
    run.matrices();
    run.factors();
    run.plaintexts();
    run.divisions();
    run.moves();
    run.results
}

/// Compares two lists of outcomes.
///
/// # Panics
/// At the first word that differs, with the operation and the place.
pub fn assert_same(found: &[Outcome], expected: &[Outcome], what: &str) {
    assert_eq!(found.len(), expected.len());
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        assert_eq!(found.len(), expected.len(), "{name}, {what}");
        if let Some(place) = found.iter().zip(expected).position(|(x, y)| x != y) {
            panic!(
                "{name}, {what}, word {place} of {}: {:#x}, not {:#x}",
                found.len(),
                found[place],
                expected[place]
            );
        }
    }
}

impl Run<'_> {
    fn random(&mut self, polys: usize, basis: &[usize]) -> Buffer {
        self.random_on(false, polys, basis)
    }

    fn random_on(&mut self, small: bool, polys: usize, basis: &[usize]) -> Buffer {
        let engine = if small { self.small } else { self.engine };
        let mut buffer = engine.scratch(polys * basis.len());
        let mut words = Vec::with_capacity(buffer.rows() * engine.degree());
        for row in 0..buffer.rows() {
            let q = engine.moduli()[basis[row % basis.len()]].value();
            words.extend((0..engine.degree()).map(|_| self.words.residue(q)));
        }
        engine.upload(buffer.view_mut(), &words);
        buffer
    }

    fn keep(&mut self, name: &'static str, buffer: &Buffer) {
        self.results.push((name, self.engine.download(buffer.view()).into_owned()));
    }

    fn conversion(&self, sources: &[usize], targets: &[usize], constants: &[u64]) -> BaseConversion {
        self.engine.base_conversion(sources, targets, constants, Rounding::Centred).expect("distinct moduli")
    }

    /// The result of `work` in a copy of `x`.
    fn change(&mut self, name: &'static str, x: &Buffer, work: impl FnOnce(RowsMut<'_>)) {
        let mut out = x.clone();
        work(out.view_mut());
        self.keep(name, &out);
    }

    fn memory_and_arithmetic(&mut self) {
        let e = self.engine;
        let (x, y, one) = (self.random(2, &OWN), self.random(2, &OWN), self.random(1, &OWN));
        let constants: Vec<u64> = OWN.iter().map(|&i| self.words.residue(e.moduli()[i].value())).collect();
        let degree = e.degree();
        self.change("upload", &x, |out| e.upload_rows(out, &|row, words| words.fill(row as u64)));
        self.change("upload words", &x, |out| e.upload(out, &e.download(y.view())));
        self.change("copy", &x, |out| e.copy(out, y.view()));
        self.change("copy rows", &x, |out| e.copy_rows(out, &[9, 0, 4], y.view(), &[3, 3, 5]));
        self.keep("select", &e.select(x.view(), &[7, 7, 0]));
        self.change("fill", &x, |out| e.fill(out, &constants));
        self.change("forward", &x, |x| e.forward_ntt(x, &OWN));
        self.change("inverse", &x, |x| e.inverse_ntt(x, &OWN));
        self.keep("inverse of a copy", &e.inverse_ntt_of(x.view(), &OWN));
        self.change("add", &one, |out| e.add(out, x.view().slice(0..5), y.view().slice(0..5), &OWN));
        self.change("sub", &one, |out| e.sub(out, x.view().slice(5..10), y.view().slice(0..5), &OWN));
        self.change("add in place", &x, |x| e.add_assign(x, y.view(), &OWN));
        self.change("add under one modulus", &e.select(x.view(), &[2, 7]), |out| {
            e.add_assign(out, e.select(y.view(), &[7, 2]).view(), &[2])
        });
        self.change("sub in place", &x, |x| e.sub_assign(x, y.view(), &OWN));
        self.change("negate", &x, |x| e.negate_assign(x, &OWN));
        self.change("mul", &x, |x| e.mul_assign(x, y.view(), &OWN));
        self.change("mul by one", &x, |x| e.mul_assign(x, one.view(), &OWN));
        self.change("constants", &x, |x| e.mul_constants_assign(x, &constants, &OWN));
        let short = e.select(y.view(), &[0, 1, 2, 5, 6, 7]);
        self.change("add multiple", &x, |x| {
            e.add_mul_constants_assign(x, short.view(), &constants[..3], &OWN[..3])
        });
        let (xs, ys) = (x.view().chunks(5).collect::<Vec<_>>(), y.view().chunks(5).collect::<Vec<_>>());
        let terms: Vec<Vec<Factor2<'_>>> =
            vec![vec![(xs[0], ys[1])], vec![(xs[0], ys[0]), (xs[1], ys[1]), (xs[0], xs[1])]];
        self.change("dot products", &x, |out| e.dot_products(out, &terms, &[0, 1, 2, 3, 4], &OWN));
        let values: Vec<i64> = (0..degree).map(|_| self.words.next() as i64).collect();
        self.change("signed", &x, |out| e.reduce_signed(out.slice(0..OWN.len()), &values, &OWN));
    }

    fn matrices(&mut self) {
        let e = self.engine;
        let (x, y, left) = (self.random(3, &OWN), self.random(2, &OWN), self.random(3, &OWN));
        let rights: Vec<Rows<'_>> = x.view().chunks(OWN.len()).collect();
        let weights = LeftMatrix::new(2, 3, &[1, -2, 3, 1 << 40, 0, -(1 << 40)]).expect("small");
        let mut out = y.clone();
        let mut targets: Vec<RowsMut<'_>> = out.view_mut().chunks(OWN.len()).collect();
        e.combine(&mut targets, &weights, &rights, &OWN).expect("fits");
        self.keep("combine", &out);
        let lefts: Vec<Rows<'_>> = left.view().chunks(OWN.len()).collect();
        let mut targets: Vec<RowsMut<'_>> = out.view_mut().chunks(OWN.len()).collect();
        e.combine_coefficients(&mut targets, &lefts, &[e.degree() - 1, 0], &rights, &OWN).expect("fits");
        self.keep("combine coefficients", &out);
        // As many operands as words in a row.
        if e.degree() <= 64 {
            let mut square: Vec<Buffer> = (0..e.degree()).map(|_| self.random(1, &OWN)).collect();
            e.transpose(&mut square.iter_mut().map(Buffer::view_mut).collect::<Vec<_>>());
            square.iter().for_each(|row| self.keep("transpose", row));
        }
    }

    fn factors(&mut self) {
        let e = self.engine;
        let (inputs, columns, groups) = (2, 2, 2);
        let digit = |own: std::ops::Range<usize>, foreign: bool, words: &mut Words| {
            let sources: Vec<usize> = own.clone().collect();
            let constants: Vec<u64> =
                sources.iter().map(|&i| 1 + words.next() % (e.moduli()[i].value() - 1)).collect();
            let targets: Vec<usize> =
                if foreign { vec![5, 6] } else { ALL.into_iter().filter(|i| !own.contains(i)).collect() };
            let conversion =
                e.base_conversion(&sources, &targets, &constants, Rounding::Centred).expect("distinct");
            if foreign {
                DigitExtension::foreign(own.start, conversion)
            } else {
                DigitExtension::new(own.start, constants, conversion, 7)
            }
        };
        let xs: Vec<Buffer> = (0..inputs).map(|_| self.random(1, &OWN)).collect();
        let values: Vec<Buffer> = (0..inputs).map(|_| self.random(1, &OWN)).collect();
        for foreign in [false, true] {
            let basis: &[usize] = if foreign { &[5, 6] } else { &ALL };
            let digits: Vec<DigitExtension> =
                [0..2, 2..4, 4..5].map(|own| digit(own, foreign, &mut self.words)).into();
            let terms = inputs * digits.len();
            let shape = FactorShape { groups, terms: terms + 1, columns, packed: true };
            let mut factors = e.zeroed_factors(shape, basis);
            let rows: Vec<usize> = (0..basis.len()).collect();
            // Repeats a few polynomials, because a hundred different ones take too long at the largest
            // degree.
            let sources: Vec<Buffer> = (0..3).map(|_| self.random(1, basis)).collect();
            for group in 0..groups {
                let slots: Vec<Vec<Rows<'_>>> = (0..shape.slots())
                    .map(|slot| {
                        (0..slot % 2 + 1).map(|part| sources[(slot + group + part) % 3].view()).collect()
                    })
                    .collect();
                e.pack_factors(&mut factors, group, &slots, &rows);
            }
            self.keep("unpack", &e.unpack_factors(&factors, 1, &[0, terms], 0..columns, &rows));
            let mut out = e.scratch(groups * columns * basis.len());
            for with_values in if foreign { vec![false] } else { vec![false, true] } {
                let inputs: Vec<GadgetInput<'_>> = xs
                    .iter()
                    .zip(&values)
                    .map(|(x, y)| GadgetInput {
                        coefficients: x.view(),
                        values: with_values.then_some(y.view()),
                    })
                    .collect();
                let by = FactorGroups { factors: &factors, groups: &[1, 0], rows: &rows, moduli: basis };
                e.gadget_products(out.view_mut(), &inputs, &digits, by);
                self.keep("gadget products", &out);
            }
            let left: Vec<Buffer> = (0..2).map(|_| self.random(1, basis)).collect();
            let by = FactorGroups { factors: &factors, groups: &[0, 1], rows: &rows, moduli: basis };
            e.factor_products(out.view_mut(), &views(&left), by);
            self.keep("factor products", &out);
        }
        let shape = FactorShape { groups: 1, terms: 3, columns, packed: true };
        let mut factors = e.zeroed_factors(shape, &OWN);
        let source = self.random(1, &OWN);
        e.pack_factors(&mut factors, 0, &vec![vec![source.view()]; shape.slots()], &OWN);
        let summed = e.sum_factors(&factors, &[vec![0, 1], vec![2]], &[4, 0]);
        self.keep("sum factors", &e.unpack_factors(&summed, 0, &[0], 1..2, &[0, 1]));
    }

    /// Packed factors of one group, each slot one polynomial over `OWN`.
    fn packed(&mut self, small: bool, terms: usize, columns: usize) -> Factors {
        let engine = if small { self.small } else { self.engine };
        let shape = FactorShape { groups: 1, terms, columns, packed: true };
        let sources: Vec<Buffer> = (0..shape.slots()).map(|_| self.random_on(small, 1, &OWN)).collect();
        let mut factors = engine.zeroed_factors(shape, &OWN);
        let slots: Vec<Vec<Rows<'_>>> = sources.iter().map(|source| vec![source.view()]).collect();
        engine.pack_factors(&mut factors, 0, &slots, &[0, 1, 2, 3, 4]);
        factors
    }

    fn plaintexts(&mut self) {
        let e = self.engine;
        let rows: Vec<usize> = (0..OWN.len()).collect();
        let (whole, short) = (self.packed(false, 2, 1), self.packed(true, 3, 1));
        // The words that a file stores.
        let stored = e.factor_words(&whole).into_owned();
        self.results.push(("factor words", stored));
        let xs = [self.random(2, &OWN), self.random(2, &OWN[..3]), self.random(2, &OWN)];
        let sums = [
            PlaintextSum { plaintexts: &whole, rows: &rows, inputs: &[2, 0] },
            PlaintextSum { plaintexts: &short, rows: &rows, inputs: &[0, 1, 2] },
        ];
        let mut out = [self.random(2, &OWN), self.random(2, &OWN)];
        e.plaintext_products(
            &mut out.iter_mut().map(Buffer::view_mut).collect::<Vec<_>>(),
            &views(&xs),
            &sums,
            &OWN,
        );
        out.iter().for_each(|out| self.keep("plaintext products", out));
        let keys: Vec<Factors> = (0..2).map(|_| self.packed(false, 2, 2)).collect();
        let (digits, lifted) = (
            [self.random(1, &OWN), self.random(1, &OWN)],
            [self.random(1, &OWN[..3]), self.random(1, &OWN[..3])],
        );
        let constants: Vec<u64> =
            (0..3).map(|i| 1 + self.words.next() % (e.moduli()[i].value() - 1)).collect();
        let (digit_rows, lifted_rows) = (views(&digits), views(&lifted));
        let input = Hoisted { digits: &digit_rows, lifted: &lifted_rows, masks: 1, constants: &constants };
        let phi = |g: usize| {
            Automorphism::new(GaloisElement::new(g % (2 * e.degree()), e.degree()).expect("odd"), e.degree())
        };
        let phis = [phi(5), phi(2 * e.degree() - 1)];
        let turned = |i: usize| Some(PermutedProduct { phi: &phis[i], factors: &keys[i], rows: &rows });
        let products = [turned(0), None, turned(1)];
        e.hoisted_products(
            &mut out.iter_mut().map(Buffer::view_mut).collect::<Vec<_>>(),
            &input,
            &products,
            &sums,
            &OWN,
        );
        out.iter().for_each(|out| self.keep("hoisted products", out));
        let four = self.packed(false, 4, 2);
        let mut turned = self.random(2, &OWN);
        let by = FactorGroups { factors: &four, groups: &[0], rows: &rows, moduli: &OWN };
        e.permuted_factor_products(turned.view_mut(), &digit_rows, &phis, by);
        self.keep("turned factor products", &turned);
    }

    fn divisions(&mut self) {
        let e = self.engine;
        let rows: Vec<usize> = (0..5).collect();
        for divisors in [vec![5], vec![5, 6]] {
            let conversion = self.conversion(&divisors, &OWN, &vec![1; divisors.len()]);
            let x = self.random(3, &divisors);
            let (coeff, eval) = (self.random(3, &OWN), self.random(3, &OWN));
            let constants: Vec<u64> =
                OWN.iter().map(|&i| self.words.residue(e.moduli()[i].value())).collect();
            self.change("convert", &e.select(coeff.view(), &rows), |out| {
                e.convert(&conversion, x.view().slice(0..divisors.len()), out, &[4, 3, 2, 1, 0]);
            });
            for transform in [false, true] {
                let input = |i: usize| {
                    let part = |of: &'static str| -> Option<Dividend<'_>> {
                        let of = if of == "coeff" { &coeff } else { &eval };
                        Some(Dividend { residues: of.view().slice(5 * i..5 * i + 5), rows: &rows })
                    };
                    DivisionInput {
                        divisors: x.view().slice(i * divisors.len()..(i + 1) * divisors.len()),
                        coeff: if i < 2 { part("coeff") } else { None },
                        eval: if i > 0 && transform { part("eval") } else { None },
                    }
                };
                self.keep(
                    "divide",
                    &e.divide_all(&conversion, &[input(0), input(1), input(2)], &constants, transform),
                );
            }
        }
    }

    fn moves(&mut self) {
        let (e, small) = (self.engine, self.small);
        let (degree, gap) = (e.degree(), e.degree() / small.degree());
        let x = self.random(2, &OWN);
        for g in [5 % (2 * degree), degree + 1, 2 * degree - 1] {
            let phi = Automorphism::new(GaloisElement::new(g, degree).expect("odd"), degree);
            for form in [Form::Coeff, Form::Eval] {
                self.keep("automorphism", &e.automorphism(form, &phi, x.view(), &OWN));
            }
        }
        self.keep("monomial", &e.mul_monomial(x.view(), degree + 3, &OWN));
        let parts: Vec<Buffer> = (0..2 * gap).map(|_| self.random_on(true, 1, &OWN)).collect();
        for form in [Form::Coeff, Form::Eval] {
            for twist in [Twist::Positive, Twist::Negative] {
                self.change("join", &x, |out| e.join_components(form, out, &views(&parts), twist, &OWN));
                let mut out: Vec<Buffer> = (0..2 * gap).map(|_| small.scratch(OWN.len())).collect();
                let mut targets: Vec<RowsMut<'_>> = out.iter_mut().map(Buffer::view_mut).collect();
                e.split_components(form, &mut targets, x.view(), twist, &OWN);
                out.iter().for_each(|part| self.keep("split", part));
            }
            let samples: Vec<Buffer> = (0..gap).map(|_| self.random_on(true, 2, &OWN)).collect();
            self.change("join samples", &x, |out| e.join_samples(form, out, &views(&samples), &OWN));
            let mut first = small.scratch(2 * OWN.len());
            e.first_component(form, first.view_mut(), x.view(), &OWN);
            self.keep("first", &first);
            self.change("repeat", &x, |out| e.repeat(form, out, first.view()));
        }
        // Two samples of `gap / 2` neighbouring polynomials.
        let masks: Vec<Buffer> = (0..2).map(|_| self.random_on(true, gap, &OWN)).collect();
        self.change("join masks", &x, |out| e.join_masks(out, &views(&masks), &OWN));
    }
}

fn views(buffers: &[Buffer]) -> Vec<Rows<'_>> {
    buffers.iter().map(Buffer::view).collect()
}
