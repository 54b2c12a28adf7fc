//! Packed factors on the CPU: packing, sums, unpacking and products.

use std::ops::Range;

use rayon::prelude::*;

use super::{CpuEngine, Work, rows_of_all};
use crate::automorphism::Automorphism;
use crate::buffer::{Buffer, Rows, RowsMut};
use crate::engine::{Engine, FactorGroups};
use crate::factors::{FactorShape, Factors, RowMut};
use crate::meter::Pass;

impl CpuEngine {
    /// Runs `work` on every item, on the engine's threads.
    pub(super) fn each<T: Send>(&self, items: &mut [T], work: impl Fn(usize, &mut T) + Send + Sync) {
        match self.workers(Work::Transform, items.len() * self.degree) {
            None => items.iter_mut().enumerate().for_each(|(i, item)| work(i, item)),
            Some(pool) => {
                pool.install(|| items.par_iter_mut().enumerate().for_each(|(i, item)| work(i, item)))
            }
        }
    }
}

pub(super) fn pack(
    engine: &CpuEngine,
    factors: &mut Factors,
    group: usize,
    sources: &[Vec<Rows<'_>>],
    source_rows: &[usize],
) {
    let (shape, block) = (factors.shape(), factors.block());
    assert!(sources.len() == shape.slots() && group < shape.groups, "one sum per slot");
    assert!(source_rows.len() == factors.row_count(), "one source row per row of the factors");
    let mut rows: Vec<RowMut<'_>> = factors.rows_mut().collect();
    engine.each(&mut rows, |_, row| {
        let (kernel, source) = (engine.tables[row.modulus].kernel(), source_rows[row.index]);
        for start in row.starts() {
            let slots: Vec<Vec<&[u64]>> = sources
                .iter()
                .map(|parts| parts.iter().map(|part| &part.row(source)[start..start + block]).collect())
                .collect();
            kernel.pack_sums(row.run(start, group), &slots);
        }
    });
}

pub(super) fn sum(engine: &CpuEngine, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors {
    let FactorShape { groups, columns, packed, .. } = base.shape();
    assert!(groups == 1, "sums are of factors of one group");
    let moduli: Vec<usize> = base.moduli().collect();
    let moduli: Vec<usize> = rows.iter().map(|&row| moduli[row]).collect();
    let mut out = engine.zeroed_factors(FactorShape { groups, terms: terms.len(), columns, packed }, &moduli);
    let slots: Vec<Vec<usize>> = terms
        .iter()
        .flat_map(|parts| {
            (0..columns).map(move |column| parts.iter().map(|term| term * columns + column).collect())
        })
        .collect();
    let vectors = base.block().div_ceil(crate::bit_packing::VECTOR);
    let mut targets: Vec<RowMut<'_>> = out.rows_mut().collect();
    engine.each(&mut targets, |_, row| {
        let kernel = engine.tables[row.modulus].kernel();
        let source = rows[row.index];
        for start in row.starts() {
            kernel.sum_packed(row.run(start, 0), base.run(source, start, 0, 0), &slots, vectors);
        }
    });
    drop(targets);
    out
}

pub(super) fn unpack(
    engine: &CpuEngine,
    factors: &Factors,
    group: usize,
    terms: &[usize],
    columns: Range<usize>,
    rows: &[usize],
) -> Buffer {
    let moduli: Vec<usize> = factors.moduli().collect();
    let all = factors.shape().columns;
    let slots: Vec<Vec<usize>> =
        columns.map(|column| terms.iter().map(|term| term * all + column).collect()).collect();
    let mut out = engine.scratch(slots.len() * rows.len());
    engine.each_row(out.view_mut(), |i, words| {
        let (slots, row) = (&slots[i / rows.len()], rows[i % rows.len()]);
        let kernel = engine.tables[moduli[row]].kernel();
        for (index, words) in words.chunks_mut(factors.block()).enumerate() {
            kernel.unpack_sum(words, factors.run(row, index * factors.block(), group, 0), slots);
        }
    });
    out
}

/// Words of each image that stay in the second-level cache until they are multiplied: blocks of 128 images
/// take 512 KiB.
const PERMUTED_BLOCK: usize = 512;

/// Computes the images block by block in the cache, so that no complete image is stored.
pub(super) fn permuted_products(
    engine: &CpuEngine,
    out: RowsMut<'_>,
    inputs: &[Rows<'_>],
    phis: &[Automorphism],
    by: FactorGroups<'_>,
) {
    let terms = inputs.len() * phis.len();
    by.check(&out, terms);
    assert!(by.groups.len() == 1, "one group of factors");
    let FactorGroups { factors, groups, rows, moduli } = by;
    assert!(inputs.iter().all(|x| x.rows() == moduli.len()), "one row per modulus");
    assert!(phis.iter().all(|phi| phi.degree() == engine.degree), "an automorphism belongs to one degree");
    let block = PERMUTED_BLOCK.min(engine.degree);
    let mut by_row = rows_of_all(out.host(), moduli.len(), engine.degree);
    engine.each(&mut by_row, |i, outputs| {
        let kernel = engine.tables[moduli[i]].kernel();
        let mut permuted = engine.memory.take(terms * block);
        for start in (0..engine.degree).step_by(block) {
            let pairs = phis.iter().flat_map(|phi| inputs.iter().map(move |x| (phi, x)));
            for (target, (phi, x)) in permuted.chunks_exact_mut(block).zip(pairs) {
                phi.apply_eval_from(target, start, x.row(i));
            }
            let left: Vec<&[u64]> = permuted.chunks_exact(block).collect();
            let mut targets: Vec<&mut [u64]> =
                outputs.iter_mut().map(|row| &mut row[start..start + block]).collect();
            kernel.dot_packed(&mut targets, &left, factors.run(rows[i], start, groups[0], 0), false);
        }
        engine.memory.put(permuted);
        engine.count(Pass::Hadamard, outputs.len() * terms);
    });
}

pub(super) fn products(engine: &CpuEngine, out: RowsMut<'_>, xs: &[Rows<'_>], by: FactorGroups<'_>) {
    by.check(&out, xs.len());
    let FactorGroups { factors, groups, rows, moduli } = by;
    assert!(xs.iter().all(|x| x.rows() == moduli.len()), "one row per modulus");
    let (columns, block) = (factors.shape().columns, factors.block());
    let mut by_row = rows_of_all(out.host(), moduli.len(), engine.degree);
    engine.each(&mut by_row, |i, outputs| {
        let kernel = engine.tables[moduli[i]].kernel();
        for start in (0..engine.degree).step_by(block) {
            let left: Vec<&[u64]> = xs.iter().map(|x| &x.row(i)[start..start + block]).collect();
            for (outputs, &group) in outputs.chunks_mut(columns).zip(groups) {
                let mut targets: Vec<&mut [u64]> =
                    outputs.iter_mut().map(|row| &mut row[start..start + block]).collect();
                kernel.dot_packed(&mut targets, &left, factors.run(rows[i], start, group, 0), false);
            }
        }
        engine.count(Pass::Hadamard, outputs.len() * xs.len());
    });
}
