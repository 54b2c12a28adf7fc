//! Packed factors in planes, a layout that `kernels/factors.cuh` describes.

use std::borrow::Cow;
use std::ops::Range;

use clathrate_arith::bit_packing::{VECTOR, pack, unpack};
use clathrate_arith::{
    Buffer, DigitExtension, FactorGroups, FactorLayout, FactorShape, Factors, GadgetInput, Memory, Pass,
    PlaintextSum, Rows, RowsMut,
};

use crate::memory::{Allocation, address, address_mut, or_panic};

use super::base::DeviceEngine;
use super::launches::words;

/// Words of digits that fit the second-level cache of a large device. Digits of this many words are extended
/// together, so that products read them from the cache.
const CACHED_WORDS: usize = 1 << 22;

/// Words of results per launch that fill a large device, which computes about 130 000 words at a time. Used
/// where the digits of so many results have at most [`DIGIT_WORDS`] words.
const FILLING_WORDS: usize = 1 << 19;

/// Largest number of words of digits that are extended to fill a launch.
const DIGIT_WORDS: usize = 1 << 26;

/// Words that products may read beyond the last plane.
const PADDING: usize = 1;

/// The planes of a set of factors.
#[derive(Debug, Clone)]
struct Planes {
    /// The first word of each row.
    starts: Vec<usize>,
    /// Words of a plane of each row.
    lengths: Vec<usize>,
    bits: Vec<u32>,
    words: usize,
}

impl Planes {
    fn of(layout: &FactorLayout) -> Self {
        let slots = layout.shape().groups * layout.shape().slots();
        let bits: Vec<u32> = (0..layout.row_count()).map(|row| layout.bits(row)).collect();
        let (mut starts, mut lengths, mut end) = (Vec::new(), Vec::new(), 0);
        for &bits in &bits {
            let length = (layout.degree() * bits as usize).div_ceil(64);
            starts.push(end);
            lengths.push(length);
            end += slots * length;
        }
        Self { starts, lengths, bits, words: end + PADDING }
    }
}

fn allocation(factors: &Factors) -> &Allocation {
    match factors.memory() {
        Memory::Device(memory) => Allocation::behind(&**memory),
        Memory::Host(_) | Memory::Mapped(_) => panic!("these factors are in the host's memory: adopt them"),
    }
}

/// The place of one packed vector of one slot in the host's layout.
struct PackedVector {
    row: usize,
    /// The first byte.
    at: usize,
    /// The slot among those of all groups.
    slot: usize,
    /// The first coefficient, and how many there are.
    coefficient: usize,
    lanes: usize,
}

/// Calls `visit` for all packed vectors of the host's layout.
fn each_vector(layout: &FactorLayout, mut visit: impl FnMut(PackedVector)) {
    let (slots, degree) = (layout.shape().slots(), layout.degree());
    for row in 0..layout.row_count() {
        for coefficient in (0..degree).step_by(VECTOR) {
            for group in 0..layout.shape().groups {
                let first = layout.vector_offset(row, coefficient, group);
                for slot in 0..slots {
                    let (at, lanes) =
                        (first + slot * layout.bits(row) as usize, VECTOR.min(degree - coefficient));
                    visit(PackedVector { row, at, slot: group * slots + slot, coefficient, lanes });
                }
            }
        }
    }
}

fn read_bits(words: &[u64], at: usize, bits: u32) -> u64 {
    let (word, shift) = (at / 64, at % 64);
    let low = words[word] >> shift;
    let value = if shift + bits as usize > 64 { low | words[word + 1] << (64 - shift) } else { low };
    value & (u64::MAX >> (64 - bits))
}

fn write_bits(words: &mut [u64], at: usize, bits: u32, value: u64) {
    let (word, shift) = (at / 64, at % 64);
    words[word] |= value << shift;
    if shift + bits as usize > 64 {
        words[word + 1] |= value >> (64 - shift);
    }
}

/// Converts the words of factors from the host's layout to planes.
fn to_planes(factors: &Factors, planes: &Planes) -> Vec<u64> {
    let bytes: &[u8] = bytemuck::cast_slice(factors.memory().host());
    let mut out = vec![0; planes.words];
    each_vector(factors.layout(), |PackedVector { row, at, slot, coefficient, lanes }| {
        let bits = planes.bits[row];
        let target = &mut out[planes.starts[row] + slot * planes.lengths[row]..];
        for (lane, &value) in unpack(&bytes[at..], bits)[..lanes].iter().enumerate() {
            write_bits(target, (coefficient + lane) * bits as usize, bits, value);
        }
    });
    out
}

/// Converts planes to words in the host's layout.
fn from_planes(layout: &FactorLayout, planes: &Planes, words: &[u64]) -> Vec<u64> {
    let mut out = vec![0; layout.words()];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut out);
    each_vector(layout, |PackedVector { row, at, slot, coefficient, lanes }| {
        let bits = planes.bits[row];
        let source = &words[planes.starts[row] + slot * planes.lengths[row]..];
        let value = |lane: usize| {
            if lane < lanes { read_bits(source, (coefficient + lane) * bits as usize, bits) } else { 0 }
        };
        pack(&mut bytes[at..], bits, &std::array::from_fn(value));
    });
    out
}

/// Cumulative sums of the lengths of lists, from 0 on.
fn starts(lengths: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut end = 0;
    std::iter::once(0)
        .chain(lengths.map(|length| {
            end += length as u64;
            end
        }))
        .collect()
}

impl DeviceEngine {
    /// The arguments for row `row` of factors from group `group` on: address, words of a plane, bits of a
    /// residue.
    fn packed_row(&self, factors: &Factors, planes: &Planes, row: usize, group: usize) -> [u64; 3] {
        let start = planes.starts[row] + group * factors.shape().slots() * planes.lengths[row];
        let allocation = allocation(factors);
        // Keys are shared, and another thread may drop a derived key to make room for others.
        self.queue.keep(allocation.block());
        [allocation.address() + start as u64 * 8, planes.lengths[row] as u64, u64::from(planes.bits[row])]
    }

    pub(super) fn zeroed_planes(&self, shape: FactorShape, moduli: &[usize]) -> Factors {
        let layout =
            FactorLayout::new(shape, self.degree, moduli.iter().map(|&i| (i, self.moduli[i].bits())));
        let memory = Allocation::zeroed(&self.device, Planes::of(&layout).words);
        Factors::in_memory(layout, Memory::Device(Box::new(memory)))
    }

    pub(super) fn adopt_planes(&self, factors: Factors) -> Factors {
        if matches!(factors.memory(), Memory::Device(_)) {
            return factors;
        }
        let planes = to_planes(&factors, &Planes::of(factors.layout()));
        Factors::in_memory(
            factors.layout().clone(),
            Memory::Device(Box::new(Allocation::of(&self.device, &planes))),
        )
    }

    pub(super) fn host_words<'a>(&self, factors: &'a Factors) -> Cow<'a, [u64]> {
        let (planes, memory) = (Planes::of(factors.layout()), allocation(factors));
        let mut words = vec![0; memory.words()];
        or_panic(self.device.read(&mut words, memory.address()));
        Cow::Owned(from_planes(factors.layout(), &planes, &words))
    }

    pub(super) fn pack(
        &self,
        factors: &mut Factors,
        group: usize,
        sources: &[Vec<Rows<'_>>],
        source_rows: &[usize],
    ) {
        let shape = factors.shape();
        assert!(sources.len() == shape.slots() && group < shape.groups, "one sum per slot");
        assert!(source_rows.len() == factors.row_count(), "one source row per row of the factors");
        let (planes, moduli) = (Planes::of(factors.layout()), factors.moduli().collect::<Vec<_>>());
        let degree = factors.degree();
        for (row, &source_row) in source_rows.iter().enumerate() {
            let [at, plane, bits] = self.packed_row(factors, &planes, row, group);
            let q = self.moduli[moduli[row]].value();
            let mut args =
                vec![at, plane, bits, degree as u64, q, (source_row * degree) as u64, sources.len() as u64];
            args.extend(starts(sources.iter().map(Vec::len)));
            args.extend(sources.iter().flatten().map(address));
            self.each_word_of("pack_sums", plane as usize, sources.len(), args);
        }
    }

    pub(super) fn sum_of_terms(&self, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors {
        let FactorShape { groups, columns, packed, .. } = base.shape();
        assert!(groups == 1, "sums are of factors of one group");
        assert!(terms.iter().flatten().all(|&term| term < base.shape().terms), "terms of the factors");
        let moduli: Vec<usize> = base.moduli().collect();
        let moduli: Vec<usize> = rows.iter().map(|&row| moduli[row]).collect();
        let out = self.zeroed_planes(FactorShape { groups, terms: terms.len(), columns, packed }, &moduli);
        let (planes, source_planes) = (Planes::of(out.layout()), Planes::of(base.layout()));
        for (row, &source_row) in rows.iter().enumerate() {
            let [at, plane, bits] = self.packed_row(&out, &planes, row, 0);
            let mut args = vec![at, plane, bits, self.degree as u64, self.moduli[moduli[row]].value()];
            args.extend(self.packed_row(base, &source_planes, source_row, 0));
            args.extend([columns as u64, terms.len() as u64]);
            args.extend(starts(terms.iter().map(Vec::len)));
            args.extend(terms.iter().flat_map(|parts| words(parts)));
            self.each_word_of("sum_packed", plane as usize, terms.len() * columns, args);
        }
        out
    }

    pub(super) fn unpack(
        &self,
        factors: &Factors,
        group: usize,
        terms: &[usize],
        columns: Range<usize>,
        rows: &[usize],
    ) -> Buffer {
        let (planes, moduli, shape) =
            (Planes::of(factors.layout()), factors.moduli().collect::<Vec<_>>(), factors.shape());
        let inside = group < shape.groups
            && columns.end <= shape.columns
            && terms.iter().all(|&term| term < shape.terms);
        assert!(inside, "groups, columns and terms of the factors");
        let out = self.fresh(columns.len() * rows.len());
        for (index, &row) in rows.iter().enumerate() {
            let to = address(&out.view()) + (index * self.degree) as u64 * 8;
            let mut args = vec![
                to,
                (rows.len() * self.degree) as u64,
                self.degree as u64,
                self.moduli[moduli[row]].value(),
            ];
            args.extend(self.packed_row(factors, &planes, row, group));
            args.extend([factors.shape().columns as u64, columns.start as u64, terms.len() as u64]);
            args.extend(words(terms));
            self.each_word_of("unpack_sums", self.degree, columns.len(), args);
        }
        out
    }

    /// Products for the rows `span` of the results. `xs[t]` is the address of term `t`, whose row `i` belongs
    /// to row `span.start + i` of the results.
    fn products_of_rows(
        &self,
        out: &RowsMut<'_>,
        xs: &[u64],
        by: FactorGroups<'_>,
        planes: &Planes,
        span: Range<usize>,
    ) {
        let FactorGroups { factors, groups, rows, moduli } = by;
        let shape = factors.shape();
        let mut args = vec![
            address_mut(out),
            u64::from(self.log_degree()),
            self.tables.address(),
            span.len() as u64,
            moduli.len() as u64,
        ];
        args.extend([xs.len() as u64, shape.terms as u64, shape.columns as u64, groups.len() as u64]);
        for row in span.clone() {
            let [at, plane, bits] = self.packed_row(factors, planes, rows[row], 0);
            args.extend([moduli[row] as u64, at, plane, bits, row as u64, (row - span.start) as u64]);
        }
        args.extend(words(groups));
        args.extend(xs);
        self.each_word_of("factor_products", self.degree, span.len(), args);
        self.count(Pass::Hadamard, span.len() * groups.len() * shape.columns * xs.len());
    }

    pub(super) fn products(&self, out: &RowsMut<'_>, xs: &[Rows<'_>], by: FactorGroups<'_>) {
        by.check(out, xs.len());
        assert!(xs.iter().all(|x| x.rows() == by.moduli.len()), "one row per modulus");
        let xs: Vec<u64> = xs.iter().map(address).collect();
        self.products_of_rows(out, &xs, by, &Planes::of(by.factors.layout()), 0..by.moduli.len());
    }

    /// Extends, transforms and multiplies the digits for some rows of the results at a time: enough rows to
    /// fill the device, and more where the cache holds their digits. Every residue of a key is read once.
    pub(super) fn gadget(
        &self,
        out: &RowsMut<'_>,
        inputs: &[GadgetInput<'_>],
        digits: &[DigitExtension],
        by: FactorGroups<'_>,
    ) {
        let moduli = by.moduli;
        let terms: Vec<(&DigitExtension, &GadgetInput<'_>)> =
            digits.iter().flat_map(|digit| inputs.iter().map(move |input| (digit, input))).collect();
        by.check(out, terms.len());
        assert!(digits.iter().all(|digit| digit.rows() == moduli.len()), "digits extend to all rows");
        if terms.is_empty() {
            return self.products(out, &[], by);
        }
        let sources: Vec<_> = terms
            .iter()
            .map(|(digit, input)| {
                let first = digit.source();
                (
                    digit.conversion(),
                    input.coefficients.slice(first..first + digit.conversion().sources().len()),
                )
            })
            .collect();
        let columns = self.prepare(&sources);
        let planes = Planes::of(by.factors.layout());
        let digits_of = |words: usize| words / (terms.len() * self.degree);
        let filling = (FILLING_WORDS / self.degree).min(digits_of(DIGIT_WORDS));
        let together = filling.max(digits_of(CACHED_WORDS)).clamp(1, moduli.len().max(1));
        let scratch = self.fresh(terms.len() * together);
        let base = address(&scratch.view());
        let row_bytes = self.degree as u64 * 8;
        for first in (0..moduli.len()).step_by(together) {
            let span = first..(first + together).min(moduli.len());
            let place = |term: usize, row: usize| base + (term * together + row - first) as u64 * row_bytes;
            let (mut conversions, mut scalings, mut transforms) = (Vec::new(), Vec::new(), Vec::new());
            for (term, &(digit, input)) in terms.iter().enumerate() {
                for row in span.clone() {
                    let to = place(term, row);
                    if let Some(target) = digit.target(row) {
                        conversions.push([
                            to,
                            columns.rows[term],
                            columns.tables[term],
                            target as u64,
                            0,
                            moduli[row] as u64,
                        ]);
                        self.count_conversion(digit.conversion(), 1);
                        continue;
                    }
                    let x = input.values.unwrap_or(input.coefficients);
                    let [modulus, value, quotient] =
                        self.factor(moduli[row], digit.constants()[row - digit.own().start]);
                    scalings.push([to, address(&x.slice(row..row + 1)), modulus, value, quotient]);
                    if input.values.is_none() {
                        transforms.push([to, to, moduli[row] as u64]);
                    }
                }
            }
            self.converted_forward(&conversions);
            self.each_listed("scale_rows", &self.list_head(), &scalings);
            self.forward(&transforms);
            self.count(Pass::Forward, conversions.len() + transforms.len());
            let xs: Vec<u64> = (0..terms.len()).map(|term| place(term, first)).collect();
            self.products_of_rows(out, &xs, by, &planes, span);
        }
    }

    pub(super) fn sums_of_plaintexts(
        &self,
        out: &mut [RowsMut<'_>],
        xs: &[Rows<'_>],
        sums: &[PlaintextSum<'_>],
        moduli: &[usize],
    ) {
        let Some(rows) = out.first().map(RowsMut::rows) else { return };
        let polys = rows / moduli.len();
        assert!(
            out.len() == sums.len() && out.iter().all(|out| out.rows() == rows),
            "as many polynomials in every output, one output per sum"
        );
        assert!(
            xs.iter().all(|x| x.rows().is_multiple_of(polys) && x.rows() <= rows),
            "as many polynomials in every input"
        );
        for (out, sum) in out.iter().zip(sums) {
            let (shape, degree) = (sum.plaintexts.shape(), sum.plaintexts.degree());
            assert!(
                shape.groups == 1 && shape.columns == 1 && shape.terms == sum.inputs.len(),
                "one input per plaintext"
            );
            assert!(
                degree > 0 && self.degree.is_multiple_of(degree),
                "the plaintexts' degree divides the engine's"
            );
            let planes = Planes::of(sum.plaintexts.layout());
            let gap = (self.degree / degree).trailing_zeros();
            let mut args = vec![
                address_mut(out),
                u64::from(self.log_degree()),
                self.tables.address(),
                moduli.len() as u64,
                polys as u64,
            ];
            args.extend([sum.inputs.len() as u64, u64::from(gap)]);
            for (&modulus, &row) in moduli.iter().zip(sum.rows) {
                args.push(modulus as u64);
                args.extend(self.packed_row(sum.plaintexts, &planes, row, 0));
            }
            for &input in sum.inputs {
                args.extend([address(&xs[input]), (xs[input].rows() / polys) as u64]);
            }
            self.each_word_of("plaintext_products", self.degree, moduli.len(), args);
            // A product with an input that is zero modulo a prime is not counted.
            self.count(Pass::Hadamard, sum.inputs.iter().map(|&input| xs[input].rows()).sum());
        }
    }
}
