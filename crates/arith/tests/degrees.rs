//! Every engine operation at every degree from 2^3 to 2^17, on every instruction set of this machine, bit for bit what the portable kernels give, in as
//! many passes over rows.

mod common;

use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::product::LeftMatrix;
use clathrate_arith::{
    Automorphism, BaseConversion, Buffer, Counts, CpuEngine, DigitExtension, Dividend, DivisionInput, Engine, Factor2, FactorShape, Form,
    GadgetInput, GaloisElement, Isa, Meter, ProductCounts, Rounding, Rows, RowsMut, Twist,
};
use common::{Words, views};

/// Every class of kernel; the last two are foreign moduli.
const WIDTHS: [u32; 7] = [36, 36, 45, 49, 60, 46, 50];

/// Moduli that polynomials have.
const OWN: [usize; 5] = [0, 1, 2, 3, 4];

const ALL: [usize; 7] = [0, 1, 2, 3, 4, 5, 6];

/// What the operations of one engine gave: names and words.
struct Run<'a> {
    engine: &'a CpuEngine,
    small: &'a CpuEngine,
    words: Words,
    results: Vec<(String, Vec<u64>)>,
}

impl Run<'_> {
    fn random(&mut self, polys: usize, basis: &[usize]) -> Buffer {
        self.random_on(false, polys, basis)
    }

    fn random_on(&mut self, small: bool, polys: usize, basis: &[usize]) -> Buffer {
        let engine = if small { self.small } else { self.engine };
        let mut buffer = engine.scratch(polys * basis.len());
        for row in 0..buffer.rows() {
            let q = engine.moduli()[basis[row % basis.len()]].value();
            buffer.row_mut(row).iter_mut().for_each(|word| *word = self.words.residue(q));
        }
        buffer
    }

    fn keep(&mut self, name: &str, buffer: &Buffer) {
        self.results.push((name.to_owned(), buffer.host().to_vec()));
    }

    /// The result of `work` in a copy of `x`.
    fn change(&mut self, name: &str, x: &Buffer, work: impl FnOnce(RowsMut<'_>)) {
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
        self.change("add multiple", &x, |x| e.add_mul_constants_assign(x, short.view(), &constants[..3], &OWN[..3]));
        let (xs, ys) = (x.view().chunks(5).collect::<Vec<_>>(), y.view().chunks(5).collect::<Vec<_>>());
        let terms: Vec<Vec<Factor2<'_>>> = vec![vec![(xs[0], ys[1])], vec![(xs[0], ys[0]), (xs[1], ys[1]), (xs[0], xs[1])]];
        self.change("dot products", &x, |out| e.dot_products(out, &terms, &[0, 1, 2, 3, 4], &OWN));
        let left = LeftMatrix::new(2, 3, &[1, -2, 3, 1 << 40, 0, -(1 << 40)]).expect("small");
        let mut out = x.clone();
        let mut targets: Vec<RowsMut<'_>> = out.view_mut().chunks(5).collect();
        e.combine(&mut targets, &left, &[xs[0], ys[0], one.view()], &OWN).expect("fits");
        self.keep("combine", &out);
        let values: Vec<i64> = (0..degree).map(|_| self.words.next() as i64).collect();
        self.change("signed", &x, |out| e.reduce_signed(out.slice(0..OWN.len()), &values, &OWN));
    }

    fn factors(&mut self) {
        let e = self.engine;
        let (inputs, columns, groups) = (2, 2, 2);
        let digit = |own: std::ops::Range<usize>, foreign: bool, words: &mut Words| {
            let sources: Vec<usize> = own.clone().collect();
            let constants: Vec<u64> = sources.iter().map(|&i| 1 + words.next() % (e.moduli()[i].value() - 1)).collect();
            let targets: Vec<usize> = if foreign { vec![5, 6] } else { ALL.into_iter().filter(|i| !own.contains(i)).collect() };
            let conversion = BaseConversion::new(e.moduli(), &sources, &targets, &constants, Rounding::Centred).expect("distinct");
            if foreign { DigitExtension::foreign(own.start, conversion) } else { DigitExtension::new(own.start, constants, conversion, 7) }
        };
        let xs: Vec<Buffer> = (0..inputs).map(|_| self.random(1, &OWN)).collect();
        let values: Vec<Buffer> = (0..inputs).map(|_| self.random(1, &OWN)).collect();
        for foreign in [false, true] {
            let basis: &[usize] = if foreign { &[5, 6] } else { &ALL };
            let digits: Vec<DigitExtension> = [0..2, 2..4, 4..5].map(|own| digit(own, foreign, &mut self.words)).into();
            let terms = inputs * digits.len();
            let shape = FactorShape { groups, terms: terms + 1, columns, packed: true };
            let mut factors = e.zeroed_factors(shape, basis);
            let rows: Vec<usize> = (0..basis.len()).collect();
            // A few polynomials in turn: the largest degree makes a hundred of them too many.
            let sources: Vec<Buffer> = (0..3).map(|_| self.random(1, basis)).collect();
            for group in 0..groups {
                let slots: Vec<Vec<Rows<'_>>> = (0..shape.slots())
                    .map(|slot| (0..slot % 2 + 1).map(|part| sources[(slot + group + part) % 3].view()).collect())
                    .collect();
                e.pack_factors(&mut factors, group, &slots, &rows);
            }
            self.keep("unpack", &e.unpack_factors(&factors, 1, &[0, terms], 0..columns, &rows));
            let mut out = e.scratch(groups * columns * basis.len());
            for with_values in if foreign { vec![false] } else { vec![false, true] } {
                let inputs: Vec<GadgetInput<'_>> = xs
                    .iter()
                    .zip(&values)
                    .map(|(x, y)| GadgetInput { coefficients: x.view(), values: with_values.then_some(y.view()) })
                    .collect();
                e.gadget_products(out.view_mut(), &inputs, &digits, &factors, &[1, 0], &rows, basis);
                self.keep("gadget products", &out);
            }
            let left: Vec<Buffer> = (0..2).map(|_| self.random(1, basis)).collect();
            e.factor_products(out.view_mut(), &views(&left), &factors, &[0, 1], &rows, basis);
            self.keep("factor products", &out);
        }
        let shape = FactorShape { groups: 1, terms: 3, columns, packed: true };
        let mut factors = e.zeroed_factors(shape, &OWN);
        let source = self.random(1, &OWN);
        e.pack_factors(&mut factors, 0, &vec![vec![source.view()]; shape.slots()], &OWN);
        let summed = e.sum_factors(&factors, &[vec![0, 1], vec![2]], &[4, 0]);
        self.keep("sum factors", &e.unpack_factors(&summed, 0, &[0], 1..2, &[0, 1]));
    }

    fn divisions(&mut self) {
        let e = self.engine;
        let rows: Vec<usize> = (0..5).collect();
        for divisors in [vec![5], vec![5, 6]] {
            let conversion =
                BaseConversion::new(e.moduli(), &divisors, &OWN, &vec![1; divisors.len()], Rounding::Centred).expect("distinct");
            let x = self.random(3, &divisors);
            let (coeff, eval) = (self.random(3, &OWN), self.random(3, &OWN));
            let constants: Vec<u64> = OWN.iter().map(|&i| self.words.residue(e.moduli()[i].value())).collect();
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
                self.keep("divide", &e.divide_all(&conversion, &[input(0), input(1), input(2)], &constants, transform));
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
            let mut first = small.scratch(2 * OWN.len());
            e.first_component(form, first.view_mut(), x.view(), &OWN);
            self.keep("first", &first);
            self.change("repeat", &x, |out| e.repeat(form, out, first.view()));
        }
    }
}

/// All results at `degree`, and the passes that they took.
fn results(degree: usize, gap: usize, isa: Isa, threads: usize, moduli: &[u64]) -> (Vec<(String, Vec<u64>)>, Counts) {
    let meter = Arc::new(Meter::default());
    let pool = CpuEngine::thread_pool(threads).expect("threads");
    let engine = |degree: usize| CpuEngine::new(degree, moduli, isa).expect("engine").with_threads(pool.clone()).with_meter(meter.clone());
    let (engine, small) = (engine(degree), engine(degree / gap));
    let mut run = Run { engine: &engine, small: &small, words: Words::new(degree as u64), results: Vec::new() };
    run.memory_and_arithmetic();
    run.factors();
    run.divisions();
    run.moves();
    (run.results, meter.take())
}

fn check(logs: std::ops::RangeInclusive<u32>) {
    for log in logs {
        let degree = 1usize << log;
        let mut moduli: Vec<u64> = Vec::new();
        for bits in WIDTHS {
            moduli.push(largest_primes(bits, 2 * degree as u64, 1, &moduli).expect("enough primes")[0]);
        }
        let gap = if log % 2 == 0 { 2 } else { 8 };
        let (expected, passes) = results(degree, gap, Isa::Scalar, 1, &moduli);
        for isa in Isa::available() {
            for threads in if isa == Isa::Scalar { vec![2] } else { vec![1, 2] } {
                let (found, counts) = results(degree, gap, isa, threads, &moduli);
                assert_eq!(found.len(), expected.len());
                for ((name, found), (_, expected)) in found.iter().zip(&expected) {
                    let place = found.iter().zip(expected).position(|(x, y)| x != y);
                    assert!(found.len() == expected.len() && place.is_none(), "{name}, {isa:?}, degree 2^{log}, word {place:?}");
                }
                // Threads that share the rows of a matrix product each convert its residues.
                let digits = counts.product.digits;
                assert!(if threads == 1 { digits == passes.product.digits } else { digits >= passes.product.digits });
                let product = ProductCounts { digits: passes.product.digits, ..counts.product };
                assert_eq!(Counts { product, ..counts }, passes, "{isa:?}, degree 2^{log}");
            }
        }
    }
}

#[test]
fn operations_of_small_degrees_equal_the_portable_ones() {
    check(3..=10);
}

#[test]
fn operations_of_middle_degrees_equal_the_portable_ones() {
    check(11..=14);
}

#[test]
fn operations_of_large_degrees_equal_the_portable_ones() {
    check(15..=16);
}

#[test]
fn operations_of_the_largest_degree_equal_the_portable_ones() {
    check(17..=17);
}
