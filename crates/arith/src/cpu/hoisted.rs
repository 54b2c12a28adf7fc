//! Products with keys, permutations and products with plaintexts of a linear transform on the CPU, block by
//! block.
//!
//! An automorphism in Eval form maps aligned blocks of `2^b` words to aligned blocks, because the low bits of
//! an exponent determine the low bits of its multiple. So each block of a permuted product depends on one
//! block of the digits. The block is computed, permuted and multiplied with the plaintexts while it is in the
//! cache, and no complete permuted product is stored.

use super::plaintext::{self, Block};
use super::{CpuEngine, rows_of_all};
use crate::buffer::RowsMut;
use crate::engine::{Hoisted, PermutedProduct, PlaintextSum};
use crate::meter::Pass;

/// Words of each permuted product that stay in the second-level cache until they are multiplied: blocks of 32
/// products of two columns take 256 KiB.
const BLOCK: usize = 512;

pub(super) fn products(
    engine: &CpuEngine,
    out: &mut [RowsMut<'_>],
    input: &Hoisted<'_>,
    products: &[Option<PermutedProduct<'_>>],
    sums: &[PlaintextSum<'_>],
    moduli: &[usize],
) {
    let (degree, columns, own) = (engine.degree, input.lifted.len(), input.constants.len());
    check(engine, input, products, moduli);
    plaintext::check_sums(engine, out, (columns, products.len()), sums, moduli);
    let mut by_row: Vec<Vec<Vec<&mut [u64]>>> =
        (0..moduli.len()).map(|_| Vec::with_capacity(sums.len())).collect();
    for out in out {
        let rows = rows_of_all(out.reborrow().host(), moduli.len(), degree);
        by_row.iter_mut().zip(rows).for_each(|(sums, polys)| sums.push(polys));
    }
    let block = BLOCK.min(degree);
    engine.each(&mut by_row, |row, outputs| {
        let kernel = engine.tables[moduli[row]].kernel();
        let multiplier =
            input.constants.get(row).map(|&constant| engine.moduli[moduli[row]].multiplier(constant));
        let mut words = engine.memory.take((products.len() + 1) * columns * block);
        let (scratch, permuted) = words.split_at_mut(columns * block);
        let mut expanded = Vec::new();
        let run = |product: usize, start: usize| {
            let PermutedProduct { phi, factors, rows } = products.get(product).copied().flatten()?;
            Some(factors.run(rows[row], phi.source_of(start, block), 0, 0))
        };
        for start in (0..degree).step_by(block) {
            for (place, (product, target)) in
                products.iter().zip(permuted.chunks_exact_mut(columns * block)).enumerate()
            {
                let Some((PermutedProduct { phi, .. }, factors)) = product.as_ref().zip(run(place, start))
                else {
                    // The input without a product or automorphism; it is zero modulo the further moduli.
                    if let Some(w) = multiplier {
                        for (poly, target) in input.lifted.iter().zip(target.chunks_exact_mut(block)) {
                            target.fill(0);
                            kernel.add_mul_constant_assign(target, &poly.row(row)[start..start + block], w);
                        }
                    }
                    continue;
                };
                let from = phi.source_of(start, block);
                let left: Vec<&[u64]> =
                    input.digits.iter().map(|digit| &digit.row(row)[from..from + block]).collect();
                let mut targets: Vec<&mut [u64]> = scratch.chunks_exact_mut(block).collect();
                // Hardware prefetching does not help: the run that is read next belongs to the next product
                // and is not contiguous with this one.
                let next = (place + 1..products.len()).find_map(|other| run(other, start));
                kernel.dot_packed(
                    &mut targets,
                    &left,
                    next.map_or(factors, |next| factors.before(next)),
                    false,
                );
                if let Some(w) = multiplier {
                    for (poly, target) in input.lifted.iter().zip(targets).skip(input.masks) {
                        kernel.add_mul_constant_assign(target, &poly.row(row)[from..from + block], w);
                    }
                }
                for (target, source) in target.chunks_exact_mut(block).zip(scratch.chunks_exact(block)) {
                    phi.apply_eval_within(target, start, source, from);
                }
            }
            let inputs: Vec<Option<Vec<&[u64]>>> = permuted
                .chunks_exact(columns * block)
                .zip(products)
                .map(|(words, product)| {
                    (row < own || product.is_some()).then(|| words.chunks_exact(block).collect())
                })
                .collect();
            for (sum, outputs) in sums.iter().zip(outputs.iter_mut()) {
                let mut outputs: Vec<&mut [u64]> =
                    outputs.iter_mut().map(|words| &mut words[start..start + block]).collect();
                Block { kernel, row: sum.rows[row], start, from: 0, inputs: &inputs, sum }.products(
                    &mut outputs,
                    degree,
                    &mut expanded,
                );
            }
        }
        engine.memory.put(words);
        let permuted = products.iter().flatten().count();
        engine.count(Pass::Hadamard, permuted * input.digits.len() * columns);
        let terms = sums
            .iter()
            .flat_map(|sum| sum.inputs)
            .filter(|&&term| row < own || products[term].is_some())
            .count();
        engine.count(Pass::Hadamard, terms * columns);
    });
}

/// Asserts that the shapes fit each other, which the caller guarantees.
fn check(
    engine: &CpuEngine,
    input: &Hoisted<'_>,
    products: &[Option<PermutedProduct<'_>>],
    moduli: &[usize],
) {
    let (columns, own) = (input.lifted.len(), input.constants.len());
    assert!(own <= moduli.len() && input.masks <= columns, "constants for the first moduli");
    assert!(input.lifted.iter().all(|poly| poly.rows() == own), "one row per constant");
    assert!(input.digits.iter().all(|digit| digit.rows() == moduli.len()), "one row per modulus");
    for PermutedProduct { phi, factors, rows } in products.iter().flatten() {
        let shape = factors.shape();
        assert!(phi.degree() == engine.degree, "an automorphism belongs to one degree");
        assert!(
            shape.groups == 1 && shape.columns == columns && input.digits.len() <= shape.terms,
            "one result per column"
        );
        let known: Vec<usize> = factors.moduli().collect();
        assert!(rows.len() == moduli.len(), "one row per modulus");
        assert!(
            rows.iter().zip(moduli).all(|(&row, &modulus)| known[row] == modulus),
            "rows of the same moduli"
        );
    }
}
