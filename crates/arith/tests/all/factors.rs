//! Packed factors through the engine: made, summed, read back and multiplied by, against plain residues.
//!
//! Every width from 10 to 60 bits, every instruction set, one thread and two. All comparisons are exact.

use crate::common::{Words, engines, polys, views};
use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Buffer, CpuEngine, Engine, FactorGroups, FactorShape, Factors, Rows};

const DEGREES: [usize; 6] = [1, 2, 4, 8, 64, 8192];

/// One engine per instruction set and thread count, over one prime of every width that the degree allows.
struct Case {
    engine: CpuEngine,
    name: String,
    degree: usize,
    moduli: Vec<u64>,
}

fn cases(degree: usize) -> Vec<Case> {
    // At a large degree the widths around which kernels change, to keep the run short.
    let widths: Vec<u32> =
        if degree <= 64 { (10..=60).collect() } else { vec![20, 36, 44, 46, 50, 51, 57, 58] };
    let moduli: Vec<u64> = widths
        .iter()
        .filter_map(|&bits| largest_primes(bits, 2 * degree as u64, 1, &[]).ok())
        .map(|p| p[0])
        .collect();
    assert!(moduli.len() + 1 >= widths.len(), "a prime of nearly every width");
    engines(degree, &moduli)
        .into_iter()
        .map(|engine| Case { name: engine.describe(), engine, degree, moduli: moduli.clone() })
        .collect()
}

impl Case {
    fn random(&self, moduli: &[usize], words: &mut Words) -> Buffer {
        let mut buffer = self.engine.zeroed(moduli.len());
        for (row, &modulus) in moduli.iter().enumerate() {
            buffer.row_mut(row).iter_mut().for_each(|word| *word = words.residue(self.moduli[modulus]));
        }
        buffer
    }

    /// Factors over `moduli` and what they hold: `[group][slot]`.
    fn factors(
        &self,
        shape: FactorShape,
        moduli: &[usize],
        words: &mut Words,
    ) -> (Factors, Vec<Vec<Buffer>>) {
        let mut factors = self.engine.zeroed_factors(shape, moduli);
        // The sources have the rows backwards, and one more in front.
        let source_rows: Vec<usize> = (0..moduli.len()).map(|row| moduli.len() - row).collect();
        let source_moduli: Vec<usize> = [0].into_iter().chain(moduli.iter().rev().copied()).collect();
        let mut plain = Vec::new();
        for group in 0..shape.groups {
            let parts: Vec<Vec<Buffer>> = (0..shape.slots())
                .map(|slot| (0..slot % 3 + 1).map(|_| self.random(&source_moduli, words)).collect())
                .collect();
            let sources: Vec<Vec<Rows<'_>>> = parts.iter().map(views).collect();
            self.engine.pack_factors(&mut factors, group, &sources, &source_rows);
            plain.push(
                parts
                    .iter()
                    .map(|parts| self.sum(&parts.iter().collect::<Vec<_>>(), moduli, &source_rows))
                    .collect(),
            );
        }
        (factors, plain)
    }

    /// The sum of some rows of `parts`, by division.
    fn sum(&self, parts: &[&Buffer], moduli: &[usize], rows: &[usize]) -> Buffer {
        let mut out = self.engine.zeroed(rows.len());
        for (i, &row) in rows.iter().enumerate() {
            let q = u128::from(self.moduli[moduli[i]]);
            for (at, word) in out.row_mut(i).iter_mut().enumerate() {
                *word = (parts.iter().map(|part| u128::from(part.row(row)[at])).sum::<u128>() % q) as u64;
            }
        }
        out
    }

    fn every_second(&self) -> (Vec<usize>, Vec<usize>) {
        let moduli: Vec<usize> = (0..self.moduli.len()).collect();
        // Some rows, backwards.
        let rows: Vec<usize> = (0..moduli.len()).rev().step_by(2).collect();
        (moduli, rows)
    }

    fn same(&self, what: &str, got: &Buffer, expected: &Buffer) {
        assert_eq!(got.rows(), expected.rows());
        for row in 0..got.rows() {
            let first = got.row(row).iter().zip(expected.row(row)).position(|(a, b)| a != b);
            assert!(
                first.is_none(),
                "{what}, {}, degree {}, row {row}, word {first:?}",
                self.name,
                self.degree
            );
        }
    }
}

fn shapes(degree: usize) -> Vec<FactorShape> {
    let all = [(1, 1, 1), (1, 5, 2), (2, 3, 3), (3, 2, 1), (1, 9, 4), (2, 4, 5), (1, 2, 7)];
    let all = if degree > 64 { &all[1..3] } else { &all[..] };
    let shape = |&(groups, terms, columns): &(usize, usize, usize)| {
        [true, false].map(|packed| FactorShape { groups, terms, columns, packed })
    };
    all.iter().flat_map(shape).collect()
}

#[test]
fn packed_factors_come_back_as_the_sums_they_were_made_of() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let mut words = Words::new(30);
        let (moduli, rows) = case.every_second();
        for shape in shapes(case.degree) {
            let (factors, plain) = case.factors(shape, &moduli, &mut words);
            for group in 0..shape.groups {
                for column in 0..shape.columns {
                    for terms in
                        [vec![0], vec![shape.terms - 1], (0..shape.terms).collect(), vec![], vec![0, 0]]
                    {
                        let got =
                            case.engine.unpack_factors(&factors, group, &terms, column..column + 1, &rows);
                        let parts: Vec<&Buffer> =
                            terms.iter().map(|t| &plain[group][t * shape.columns + column]).collect();
                        let own: Vec<usize> = rows.iter().map(|&row| moduli[row]).collect();
                        case.same(
                            &format!("{shape:?}, terms {terms:?}"),
                            &got,
                            &case.sum(&parts, &own, &rows),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn packed_group_written_again_leaves_the_others_as_they_were() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let mut words = Words::new(31);
        let moduli: Vec<usize> = (0..case.moduli.len()).collect();
        let shape = FactorShape { groups: 3, terms: 2, columns: 2, packed: true };
        let (mut factors, plain) = case.factors(shape, &moduli, &mut words);
        let new: Vec<Buffer> = (0..shape.slots()).map(|_| case.random(&moduli, &mut words)).collect();
        case.engine.pack_factors(
            &mut factors,
            1,
            &new.iter().map(|x| vec![x.view()]).collect::<Vec<_>>(),
            &moduli,
        );
        for (group, plain) in [&plain[0], &new, &plain[2]].into_iter().enumerate() {
            for slot in 0..shape.slots() {
                let got =
                    case.engine.unpack_factors(&factors, group, &[slot / 2], slot % 2..slot % 2 + 1, &moduli);
                case.same("a group beside the written one", &got, &plain[slot]);
            }
        }
    }
}

#[test]
fn summed_factors_hold_the_sums_of_the_named_terms() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let mut words = Words::new(32);
        let (moduli, rows) = case.every_second();
        for shape in shapes(case.degree).into_iter().filter(|shape| shape.groups == 1) {
            let (factors, plain) = case.factors(shape, &moduli, &mut words);
            let mut sums = vec![vec![shape.terms - 1], (0..shape.terms).collect(), vec![], vec![0]];
            sums.extend((0..shape.terms).step_by(2).map(|t| (t..shape.terms.min(t + 2)).collect()));
            let summed = case.engine.sum_factors(&factors, &sums, &rows);
            let own: Vec<usize> = rows.iter().map(|&row| moduli[row]).collect();
            assert_eq!(summed.shape(), FactorShape { terms: sums.len(), ..shape });
            assert!(summed.moduli().eq(own.iter().copied()));
            let all: Vec<usize> = (0..rows.len()).collect();
            for (term, parts) in sums.iter().enumerate() {
                for column in 0..shape.columns {
                    let got = case.engine.unpack_factors(&summed, 0, &[term], column..column + 1, &all);
                    let parts: Vec<&Buffer> =
                        parts.iter().map(|t| &plain[0][t * shape.columns + column]).collect();
                    case.same(&format!("{shape:?}, sum {term}"), &got, &case.sum(&parts, &own, &rows));
                }
            }
        }
    }
}

#[test]
fn factor_products_over_any_prefix_of_terms_are_the_inner_products() {
    for case in DEGREES.into_iter().flat_map(cases) {
        let mut words = Words::new(33);
        let (moduli, rows) = case.every_second();
        let own: Vec<usize> = rows.iter().map(|&row| moduli[row]).collect();
        for shape in shapes(case.degree) {
            let (factors, plain) = case.factors(shape, &moduli, &mut words);
            let xs: Vec<Buffer> = (0..shape.terms).map(|_| case.random(&own, &mut words)).collect();
            let groups: Vec<usize> = (0..shape.groups).rev().collect();
            for groups in [&groups[..], &groups[..1], &[]] {
                for terms in [0, 1, shape.terms / 2, shape.terms] {
                    // Not zero: what is there must not matter.
                    let repeated: Vec<usize> = own.repeat(groups.len() * shape.columns);
                    let mut out = case.random(&repeated, &mut words);
                    case.engine.factor_products(
                        out.view_mut(),
                        &views(&xs[..terms]),
                        FactorGroups { factors: &factors, groups, rows: &rows, moduli: &own },
                    );
                    for (index, out) in polys(&case.engine, &out, rows.len()).iter().enumerate() {
                        let (group, column) = (groups[index / shape.columns], index % shape.columns);
                        let mut expected = case.engine.zeroed(rows.len());
                        for (i, &row) in rows.iter().enumerate() {
                            let q = u128::from(case.moduli[own[i]]);
                            for (at, word) in expected.row_mut(i).iter_mut().enumerate() {
                                let term = |t: usize| {
                                    let y = &plain[group][t * shape.columns + column];
                                    u128::from(xs[t].row(i)[at]) * u128::from(y.row(row)[at]) % q
                                };
                                *word = ((0..terms).map(term).sum::<u128>() % q) as u64;
                            }
                        }
                        case.same(&format!("{shape:?}, groups {groups:?}, {terms} terms"), out, &expected);
                    }
                }
            }
        }
    }
}

#[test]
fn packed_factors_take_the_bytes_their_widths_say() {
    for degree in DEGREES {
        let case = &cases(degree)[0];
        let moduli: Vec<usize> = (0..case.moduli.len()).collect();
        let shape = FactorShape { groups: 2, terms: 3, columns: 2, packed: true };
        let factors = case.engine.zeroed_factors(shape, &moduli);
        for (row, &q) in case.moduli.iter().enumerate() {
            let bits = 64 - q.leading_zeros();
            assert_eq!(factors.bits(row), if bits <= 57 { bits } else { 64 });
            assert_eq!(factors.bytes_read(row, 1, 2), degree.div_ceil(8) * 4 * factors.bits(row) as usize);
        }
        let read: usize = (0..moduli.len()).map(|row| factors.bytes_read(row, 2, 3)).sum();
        assert!(read <= factors.bytes() && factors.bytes() < read + 64 * moduli.len());
    }
}
