//! Sums of products with packed plaintexts on the CPU, row by row and block by block.
//!
//! All sums of one row are computed block by block, so that a block of the inputs stays in the cache while
//! the plaintexts of all sums, which are read once, stream past it. A plaintext of a smaller degree is
//! unpacked and its values are repeated for one short block at a time.

use super::{CpuEngine, rows_of_all};
use crate::bit_packing::VECTOR;
use crate::buffer::{Rows, RowsMut};
use crate::engine::PlaintextSum;
use crate::factors::{BLOCK, Factors};
use crate::kernels::RowKernel;
use crate::kernels::components::repeat;
use crate::meter::Pass;

/// Coefficients of plaintexts of a smaller degree that are expanded at a time: blocks of 32 plaintexts take
/// 128 KiB.
const EXPANDED_BLOCK: usize = 512;

/// The number of polynomials of each input. Asserts that the shapes fit each other, which the caller
/// guarantees.
fn check(
    engine: &CpuEngine,
    out: &[RowsMut<'_>],
    xs: &[Rows<'_>],
    sums: &[PlaintextSum<'_>],
    moduli: &[usize],
) -> usize {
    let rows = out.first().map_or(0, RowsMut::rows);
    let polys = rows.checked_div(moduli.len()).unwrap_or(0);
    check_sums(engine, out, (polys, xs.len()), sums, moduli);
    for x in xs {
        assert!(
            x.rows().is_multiple_of(polys) && x.rows() <= rows,
            "as many polynomials in every input, of one row per modulus at most"
        );
        assert!(x.degree() == engine.degree, "inputs of the engine's degree");
    }
    polys
}

/// Asserts that `sums` of `inputs` inputs of `polys` polynomials fit the outputs.
pub(super) fn check_sums(
    engine: &CpuEngine,
    out: &[RowsMut<'_>],
    (polys, inputs): (usize, usize),
    sums: &[PlaintextSum<'_>],
    moduli: &[usize],
) {
    assert!(!moduli.is_empty() && out.len() == sums.len(), "one output per sum, over some moduli");
    let rows = polys * moduli.len();
    assert!(
        out.iter().all(|out| out.rows() == rows && out.degree() == engine.degree),
        "as many polynomials in every output"
    );
    for sum in sums {
        let shape = sum.plaintexts.shape();
        assert!(
            shape.groups == 1 && shape.columns == 1 && shape.terms == sum.inputs.len(),
            "one input per plaintext"
        );
        assert!(sum.inputs.iter().all(|&input| input < inputs), "inputs that are there");
        let degree = sum.plaintexts.degree();
        assert!(
            degree > 0 && engine.degree.is_multiple_of(degree),
            "the plaintexts' degree divides the engine's"
        );
        let own: Vec<usize> = sum.plaintexts.moduli().collect();
        assert!(sum.rows.len() == moduli.len(), "one row index per modulus");
        assert!(
            sum.rows.iter().zip(moduli).all(|(&row, &modulus)| own[row] == modulus),
            "rows of the same moduli"
        );
    }
}

/// Row `row` of each of the `polys` polynomials of `x`; `None` where the polynomials have fewer rows.
fn rows_of_input<'a>(x: &Rows<'a>, polys: usize, row: usize) -> Option<Vec<&'a [u64]>> {
    let rows = x.rows().checked_div(polys).unwrap_or(0);
    (row < rows).then(|| (0..polys).map(|poly| x.row(poly * rows + row)).collect())
}

pub(super) fn products(
    engine: &CpuEngine,
    out: &mut [RowsMut<'_>],
    xs: &[Rows<'_>],
    sums: &[PlaintextSum<'_>],
    moduli: &[usize],
) {
    if sums.is_empty() {
        return;
    }
    let (polys, degree) = (check(engine, out, xs, sums, moduli), engine.degree);
    // The outputs of each modulus: `[row][sum][polynomial]`.
    let mut by_row: Vec<Vec<Vec<&mut [u64]>>> =
        (0..moduli.len()).map(|_| Vec::with_capacity(sums.len())).collect();
    for out in out {
        let rows = rows_of_all(out.reborrow().host(), moduli.len(), degree);
        by_row.iter_mut().zip(rows).for_each(|(sums, polys)| sums.push(polys));
    }
    engine.each(&mut by_row, |row, outputs| {
        let kernel = engine.tables[moduli[row]].kernel();
        let inputs: Vec<Option<Vec<&[u64]>>> = xs.iter().map(|x| rows_of_input(x, polys, row)).collect();
        let mut expanded = Vec::new();
        for start in (0..degree).step_by(BLOCK) {
            let end = (start + BLOCK).min(degree);
            for (sum, outputs) in sums.iter().zip(outputs.iter_mut()) {
                let mut outputs: Vec<&mut [u64]> =
                    outputs.iter_mut().map(|words| &mut words[start..end]).collect();
                Block { kernel, row: sum.rows[row], start, from: start, inputs: &inputs, sum }.products(
                    &mut outputs,
                    degree,
                    &mut expanded,
                );
            }
        }
        // Terms whose input is zero modulo this prime are left out.
        let terms = sums.iter().flat_map(|sum| sum.inputs).filter(|&&input| inputs[input].is_some()).count();
        engine.count(Pass::Hadamard, terms * polys);
    });
}

/// A block of one row of one sum.
pub(super) struct Block<'a> {
    pub(super) kernel: &'a dyn RowKernel,
    /// The row of the plaintexts.
    pub(super) row: usize,
    /// The first coefficient of the plaintexts.
    pub(super) start: usize,
    /// The first word of the inputs.
    pub(super) from: usize,
    /// The words of each input's polynomials; `None` where the input is zero.
    pub(super) inputs: &'a [Option<Vec<&'a [u64]>>],
    pub(super) sum: &'a PlaintextSum<'a>,
}

impl Block<'_> {
    /// The products at ring degree `degree`; `expanded` is memory for plaintexts of a smaller degree.
    pub(super) fn products(&self, outputs: &mut [&mut [u64]], degree: usize, expanded: &mut Vec<u64>) {
        if self.sum.plaintexts.degree() == degree {
            self.of_full_degree(outputs);
        } else {
            self.of_smaller_degree(outputs, degree / self.sum.plaintexts.degree(), expanded);
        }
    }

    /// The rows of input `index`, where it is not zero.
    fn input(&self, index: usize) -> Option<&[&[u64]]> {
        self.inputs[index].as_deref()
    }

    /// Reads the packed plaintexts in place.
    fn of_full_degree(&self, outputs: &mut [&mut [u64]]) {
        let (plaintexts, inputs): (&Factors, &[usize]) = (self.sum.plaintexts, self.sum.inputs);
        for (poly, output) in outputs.iter_mut().enumerate() {
            let (mut term, mut written) = (0, false);
            // Adjacent terms are one product; a term whose input is zero ends it.
            while term < inputs.len() {
                let present = inputs[term..].iter().map_while(|&input| self.input(input));
                let left: Vec<&[u64]> =
                    present.map(|polys| &polys[poly][self.from..self.from + output.len()]).collect();
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
        let terms: Vec<(usize, &[&[u64]])> = self
            .sum
            .inputs
            .iter()
            .enumerate()
            .filter_map(|(term, &input)| Some((term, self.input(input)?)))
            .collect();
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
                let left: Vec<&[u64]> =
                    terms.iter().map(|(_, polys)| &polys[poly][self.from + from..self.from + to]).collect();
                self.kernel.dot(&mut output[from..to], &left, &right, false);
            }
        }
    }

    /// Coefficients `start..start + out.len()` of plaintext `term` with each value `gap` times.
    fn expand(&self, term: usize, start: usize, gap: usize, out: &mut [u64]) {
        // Packed vectors start at multiples of eight; a block of at most 512 coefficients needs at most 256
        // values.
        let (first, count) = (start / gap, out.len().div_ceil(gap));
        let aligned = first / VECTOR * VECTOR;
        let mut values = [0; EXPANDED_BLOCK / 2 + VECTOR];
        let values = &mut values[..first - aligned + count];
        self.kernel.unpack_sum(values, self.sum.plaintexts.run(self.row, aligned, 0, term), &[0]);
        repeat(out, &values[first - aligned..]);
    }
}
