//! Sums of products with packed plaintexts on the CPU, row by row and block by block.
//!
//! All sums of one row are computed block by block, so that a block of the inputs stays in the cache while the plaintexts of all sums, which are read
//! once, stream past it. A plaintext of a smaller degree is unpacked and its values are repeated for one short block at a time.

use super::CpuEngine;
use crate::buffer::Buffer;
use crate::engine::PlaintextSum;
use crate::factors::{BLOCK, Factors};
use crate::kernels::RowKernel;
use crate::kernels::components::repeat;
use crate::packing::VECTOR;

/// Coefficients for which the plaintexts of a smaller degree are expanded at a time: 32 of them take 128 KiB.
const EXPANDED_BLOCK: usize = 512;

/// Refuses shapes that do not fit: the caller's duty.
fn check(engine: &CpuEngine, out: &[Vec<Buffer>], xs: &[Vec<&Buffer>], sums: &[PlaintextSum<'_>], moduli: &[usize]) {
    let polys = xs.first().map_or(0, Vec::len);
    assert!(out.len() == sums.len(), "one output per sum");
    assert!(xs.iter().all(|x| x.len() == polys) && out.iter().all(|x| x.len() == polys), "as many polynomials everywhere");
    for x in xs {
        assert!(x.iter().all(|poly| poly.rows() == x[0].rows() && poly.rows() <= moduli.len()), "one row per modulus at most");
    }
    assert!(out.iter().flatten().all(|poly| poly.rows() == moduli.len()), "one row per modulus");
    for sum in sums {
        let shape = sum.plaintexts.shape();
        assert!(shape.groups == 1 && shape.columns == 1 && shape.terms == sum.inputs.len(), "one input per plaintext");
        let degree = sum.plaintexts.degree();
        assert!(degree > 0 && engine.degree.is_multiple_of(degree), "the plaintexts' degree divides the engine's");
        let own: Vec<usize> = sum.plaintexts.moduli().collect();
        assert!(sum.rows.len() == moduli.len(), "one row index per modulus");
        assert!(sum.rows.iter().zip(moduli).all(|(&row, &modulus)| own[row] == modulus), "rows of the same moduli");
    }
}

pub(super) fn products(engine: &CpuEngine, out: &mut [Vec<Buffer>], xs: &[Vec<&Buffer>], sums: &[PlaintextSum<'_>], moduli: &[usize]) {
    check(engine, out, xs, sums, moduli);
    let degree = engine.degree;
    // The outputs of each modulus: `[row][sum][polynomial]`.
    let mut by_row: Vec<Vec<Vec<&mut [u64]>>> = (0..moduli.len()).map(|_| sums.iter().map(|_| Vec::new()).collect()).collect();
    for (sum, polys) in out.iter_mut().enumerate() {
        for poly in polys {
            for (row, words) in poly.host_mut().chunks_exact_mut(degree).enumerate() {
                by_row[row][sum].push(words);
            }
        }
    }
    engine.each(&mut by_row, |row, outputs| {
        let kernel = engine.tables[moduli[row]].kernel();
        let inputs: Vec<Option<Vec<&[u64]>>> =
            xs.iter().map(|x| x.iter().map(|poly| (row < poly.rows()).then(|| poly.row(row))).collect()).collect();
        let mut expanded = Vec::new();
        for start in (0..degree).step_by(BLOCK) {
            let end = (start + BLOCK).min(degree);
            for (sum, outputs) in sums.iter().zip(outputs.iter_mut()) {
                let mut outputs: Vec<&mut [u64]> = outputs.iter_mut().map(|words| &mut words[start..end]).collect();
                let block = Block { kernel, row: sum.rows[row], start, inputs: &inputs, sum };
                if sum.plaintexts.degree() == degree {
                    block.of_full_degree(&mut outputs);
                } else {
                    block.of_smaller_degree(&mut outputs, degree / sum.plaintexts.degree(), &mut expanded);
                }
            }
        }
    });
}

/// A block of one row of one sum.
struct Block<'a> {
    kernel: &'a dyn RowKernel,
    /// The row of the plaintexts.
    row: usize,
    /// The first coefficient.
    start: usize,
    /// The row of each input's polynomials; `None` where the input is zero.
    inputs: &'a [Option<Vec<&'a [u64]>>],
    sum: &'a PlaintextSum<'a>,
}

impl Block<'_> {
    /// The rows of input `index`, where it is not zero.
    fn input(&self, index: usize) -> Option<&[&[u64]]> {
        self.inputs[index].as_deref()
    }

    /// Reads the packed plaintexts in place.
    fn of_full_degree(&self, outputs: &mut [&mut [u64]]) {
        let (plaintexts, inputs): (&Factors, &[usize]) = (self.sum.plaintexts, self.sum.inputs);
        for (poly, output) in outputs.iter_mut().enumerate() {
            let (mut term, mut written) = (0, false);
            // Terms that follow one another in memory are one product; terms whose input is zero lie between such runs.
            while term < inputs.len() {
                let present = inputs[term..].iter().map_while(|&input| self.input(input));
                let left: Vec<&[u64]> = present.map(|polys| &polys[poly][self.start..self.start + output.len()]).collect();
                if left.is_empty() {
                    term += 1;
                    continue;
                }
                let run = plaintexts.run(self.row, self.start, 0, term);
                self.kernel.dot_packed(&mut [&mut **output], &left, run, written);
                (term, written) = (term + left.len(), true);
            }
            if !written {
                output.fill(0);
            }
        }
    }

    /// Expands the plaintexts, each value of which is read `gap` times, for one short block at a time.
    fn of_smaller_degree(&self, outputs: &mut [&mut [u64]], gap: usize, expanded: &mut Vec<u64>) {
        let length = outputs.first().map_or(0, |output| output.len());
        let terms: Vec<(usize, &[&[u64]])> =
            self.sum.inputs.iter().enumerate().filter_map(|(term, &input)| Some((term, self.input(input)?))).collect();
        for from in (0..length).step_by(EXPANDED_BLOCK) {
            let to = (from + EXPANDED_BLOCK).min(length);
            expanded.resize(terms.len() * (to - from), 0);
            for (&(term, _), words) in terms.iter().zip(expanded.chunks_exact_mut(to - from)) {
                self.expand(term, self.start + from, gap, words);
            }
            let right: Vec<&[u64]> = expanded.chunks_exact(to - from).collect();
            for (poly, output) in outputs.iter_mut().enumerate() {
                if terms.is_empty() {
                    output[from..to].fill(0);
                    continue;
                }
                let left: Vec<&[u64]> = terms.iter().map(|(_, polys)| &polys[poly][self.start + from..self.start + to]).collect();
                self.kernel.dot(&mut output[from..to], &left, &right, false);
            }
        }
    }

    /// Coefficients `start..start + out.len()` of plaintext `term` with each value `gap` times.
    fn expand(&self, term: usize, start: usize, gap: usize, out: &mut [u64]) {
        // Packed vectors start at multiples of eight; a block of at most 512 coefficients needs at most 256 values.
        let (first, count) = (start / gap, out.len().div_ceil(gap));
        let aligned = first / VECTOR * VECTOR;
        let mut values = [0; EXPANDED_BLOCK / 2 + VECTOR];
        let values = &mut values[..first - aligned + count];
        self.kernel.unpack_sum(values, self.sum.plaintexts.run(self.row, aligned, 0, term), &[0]);
        repeat(out, &values[first - aligned..]);
    }
}
