//! The operations of the engine interface as launches of kernels.
//!
//! [`base`]: the engine's state; [`tiling`]: the tiles of transforms; [`tables`]: constants in the device's
//! memory; [`launches`]: grids; [`transform`]: passes of transforms; [`convert`]: base conversions and
//! divisions; [`factors`]: packed factors and their products; [`degree`]: components; [`matrix`]: products of
//! plain matrices.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use clathrate_arith::product::{FractionProduct, LeftMatrix};
use clathrate_arith::{
    ArithError, Automorphism, BaseConversion, Buffer, DeviceMemory, DigitExtension, DivisionInput, Engine,
    Factor2, FactorGroups, FactorShape, Factors, FillRow, Form, GadgetInput, Modulus, Pass, PlaintextSum,
    Rounding, Rows, RowsMut, Twist,
};

use crate::memory::{Allocation, address, address_mut, or_panic};

mod base;
mod convert;
mod degree;
mod factors;
mod launches;
mod matrix;
mod tables;
mod tiling;
mod transform;

pub use base::DeviceEngine;
use tables::Arithmetic;
use transform::TransformRow;

impl DeviceEngine {
    fn elementwise(
        &self,
        kernel: &'static str,
        out: u64,
        x: u64,
        y: u64,
        (rows, degree): (usize, usize),
        moduli: &[usize],
    ) {
        let mut args = vec![out, x, y];
        args.extend(self.rowwise(rows, degree));
        args.extend([self.tables.address(), moduli.len() as u64]);
        args.extend(self.moduli_words(moduli));
        self.each_word(kernel, rows * degree, args);
    }

    fn transform_rows(&self, out: u64, x: u64, rows: usize, moduli: &[usize]) -> Vec<TransformRow> {
        assert!(moduli.iter().all(|&modulus| modulus < self.moduli.len()), "moduli of this engine");
        let row = |i: usize| {
            let offset = (i * self.degree) as u64 * 8;
            [out + offset, x + offset, moduli[i % moduli.len()] as u64]
        };
        (0..rows).map(row).collect()
    }

    /// A buffer each of whose words depends on one word of `x`; for the kernels of automorphisms and
    /// monomials.
    fn moved(&self, kernel: &'static str, x: Rows<'_>, exponent: usize, moduli: &[usize]) -> Buffer {
        let out = self.fresh(x.rows());
        let mut args = vec![address(&out.view()), address(&x)];
        args.extend(self.rowwise(x.rows(), self.degree));
        args.extend([exponent as u64, self.tables.address(), moduli.len() as u64]);
        args.extend(self.moduli_words(moduli));
        self.each_word(kernel, x.rows() * self.degree, args);
        out
    }
}

/// The inverse of an odd number modulo a power of two, by Newton's iteration.
fn inverse_modulo(odd: usize, power_of_two: usize) -> usize {
    let mut inverse = 1usize;
    // Each step doubles the number of correct bits, from one on.
    for _ in 0..usize::BITS.trailing_zeros() {
        inverse = inverse.wrapping_mul(2usize.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse & (power_of_two - 1)
}

impl Engine for DeviceEngine {
    fn degree(&self) -> usize {
        self.degree
    }

    fn moduli(&self) -> &[Modulus] {
        &self.moduli
    }

    fn describe(&self) -> String {
        self.device.name()
    }

    fn memory_kind(&self) -> &'static str {
        self.device.memory_kind()
    }

    fn at_degree(&self, degree: usize) -> Result<Arc<dyn Engine>, ArithError> {
        let moduli: Vec<u64> = self.moduli.iter().map(Modulus::value).collect();
        Ok(Arc::new(Self::with_queue(self.queue.clone(), degree, &moduli)?))
    }

    fn finish(&self) {
        or_panic(self.device.finish());
    }

    fn begin_together(&self) {
        self.queue.open();
    }

    fn submit(&self) {
        or_panic(self.queue.send());
    }

    fn end_together(&self, keep: bool) {
        let closed = self.queue.close(keep);
        // The errors of a cancelled operation are ignored.
        if keep {
            or_panic(closed);
        }
    }

    fn transform_class(&self, index: usize) -> usize {
        match Arithmetic::of(&self.moduli[index], self.device.butterflies()) {
            Arithmetic::ShortWords => 0,
            Arithmetic::Doubles => 1,
            Arithmetic::Words => 2,
        }
    }

    fn extends_by_limbs(&self) -> bool {
        false
    }

    fn divides_by_limbs(&self, _: usize, _: usize, _: usize) -> bool {
        false
    }

    fn multiplies_whole_fractions(&self) -> bool {
        true
    }

    fn zeroed(&self, rows: usize) -> Buffer {
        let memory = Allocation::zeroed(&self.device, rows * self.degree);
        Buffer::on_device(Box::new(memory), rows, self.degree)
    }

    fn scratch(&self, rows: usize) -> Buffer {
        self.fresh(rows)
    }

    fn upload_rows(&self, out: RowsMut<'_>, fill: FillRow<'_>) {
        let mut host = vec![0; out.rows() * out.degree()];
        host.chunks_exact_mut(out.degree().max(1)).enumerate().for_each(|(row, words)| fill(row, words));
        self.upload(out, &host);
    }

    fn upload(&self, out: RowsMut<'_>, words: &[u64]) {
        assert_eq!(words.len(), out.rows() * out.degree(), "as many words as the rows have");
        or_panic(self.device.write(address_mut(&out), words));
    }

    fn download<'a>(&self, x: Rows<'a>) -> Cow<'a, [u64]> {
        let mut words = vec![0; x.rows() * x.degree()];
        or_panic(self.device.read(&mut words, address(&x)));
        Cow::Owned(words)
    }

    fn copy(&self, out: RowsMut<'_>, x: Rows<'_>) {
        assert!(out.rows() == x.rows() && out.degree() == x.degree(), "as many rows");
        or_panic(self.device.copy(address_mut(&out), address(&x), x.rows() * x.degree()));
    }

    fn copy_rows(&self, out: RowsMut<'_>, out_rows: &[usize], x: Rows<'_>, rows: &[usize]) {
        assert!(out_rows.len() == rows.len() && out.degree() == x.degree(), "one row for each row");
        assert!(
            rows.iter().all(|&row| row < x.rows()) && out_rows.iter().all(|&row| row < out.rows()),
            "rows that are there"
        );
        let mut args =
            vec![address_mut(&out), address(&x), rows.len() as u64, u64::from(x.degree().trailing_zeros())];
        args.extend(out_rows.iter().zip(rows).flat_map(|(&to, &from)| [to as u64, from as u64]));
        self.each_word("copy_rows", rows.len() * x.degree(), args);
    }

    fn fill(&self, out: RowsMut<'_>, constants: &[u64]) {
        assert!(!constants.is_empty(), "one constant per modulus");
        let mut args = vec![address_mut(&out)];
        args.extend(self.rowwise(out.rows(), out.degree()));
        args.push(constants.len() as u64);
        args.extend(constants);
        self.each_word("fill", out.rows() * out.degree(), args);
    }

    fn forward_ntt(&self, x: RowsMut<'_>, moduli: &[usize]) {
        let at = address_mut(&x);
        self.forward(&self.transform_rows(at, at, x.rows(), moduli));
        self.count(Pass::Forward, x.rows());
    }

    fn inverse_ntt(&self, x: RowsMut<'_>, moduli: &[usize]) {
        let at = address_mut(&x);
        self.inverse(&self.transform_rows(at, at, x.rows(), moduli));
        self.count(Pass::Inverse, x.rows());
    }

    fn inverse_ntt_of(&self, x: Rows<'_>, moduli: &[usize]) -> Buffer {
        let out = self.fresh(x.rows());
        self.inverse(&self.transform_rows(address(&out.view()), address(&x), x.rows(), moduli));
        self.count(Pass::Inverse, x.rows());
        out
    }

    fn add(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]) {
        assert!(
            out.rows() == x.rows() && x.rows() == y.rows() && out.degree() == x.degree(),
            "operands have the same rows"
        );
        self.elementwise("add", address_mut(&out), address(&x), address(&y), (x.rows(), x.degree()), moduli);
    }

    fn sub(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]) {
        assert!(
            out.rows() == x.rows() && x.rows() == y.rows() && out.degree() == x.degree(),
            "operands have the same rows"
        );
        self.elementwise("sub", address_mut(&out), address(&x), address(&y), (x.rows(), x.degree()), moduli);
    }

    fn add_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        assert!(x.rows() == y.rows() && x.degree() == y.degree(), "operands have the same rows");
        let at = address_mut(&x);
        self.elementwise("add", at, at, address(&y), (x.rows(), x.degree()), moduli);
    }

    fn sub_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        assert!(x.rows() == y.rows() && x.degree() == y.degree(), "operands have the same rows");
        let at = address_mut(&x);
        self.elementwise("sub", at, at, address(&y), (x.rows(), x.degree()), moduli);
    }

    fn negate_assign(&self, x: RowsMut<'_>, moduli: &[usize]) {
        let at = address_mut(&x);
        self.elementwise("negate", at, at, 0, (x.rows(), x.degree()), moduli);
    }

    fn mul_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        assert!(
            y.rows() > 0 && x.rows().is_multiple_of(y.rows()) && y.rows().is_multiple_of(moduli.len()),
            "whole polynomials on both sides"
        );
        assert!(x.degree() == y.degree(), "rows of one degree");
        let mut args = vec![address_mut(&x), (x.rows() * x.degree()) as u64, address(&y)];
        args.extend([y.rows() as u64, u64::from(y.degree().trailing_zeros())]);
        args.extend([self.tables.address(), moduli.len() as u64]);
        args.extend(self.moduli_words(moduli));
        self.each_word("mul", x.rows() * x.degree(), args);
        self.count(Pass::Hadamard, x.rows());
    }

    fn mul_constants_assign(&self, x: RowsMut<'_>, constants: &[u64], moduli: &[usize]) {
        assert_eq!(constants.len(), moduli.len(), "one constant per modulus");
        let mut args = vec![address_mut(&x)];
        args.extend(self.rowwise(x.rows(), x.degree()));
        args.extend([self.tables.address(), moduli.len() as u64]);
        args.extend(
            moduli.iter().zip(constants).flat_map(|(&modulus, &constant)| self.factor(modulus, constant)),
        );
        self.each_word("mul_constants", x.rows() * x.degree(), args);
    }

    fn add_mul_constants_assign(&self, x: RowsMut<'_>, y: Rows<'_>, constants: &[u64], moduli: &[usize]) {
        let rows = moduli.len();
        let polys = y.rows() / rows;
        assert!(
            constants.len() == rows && y.rows() == polys * rows && y.degree() == x.degree(),
            "one constant per modulus, whole polynomials"
        );
        assert!(
            polys > 0 && x.rows().is_multiple_of(polys) && x.rows() >= y.rows(),
            "as many polynomials, of at least as many rows"
        );
        let mut args = vec![address_mut(&x), address(&y)];
        args.extend(self.rowwise(y.rows(), y.degree()));
        args.extend([self.tables.address(), rows as u64, (x.rows() / polys) as u64]);
        args.extend(
            moduli.iter().zip(constants).flat_map(|(&modulus, &constant)| self.factor(modulus, constant)),
        );
        self.each_word("add_mul_constants", y.rows() * y.degree(), args);
    }

    fn dot_products(
        &self,
        out: RowsMut<'_>,
        terms: &[Vec<Factor2<'_>>],
        right_rows: &[usize],
        moduli: &[usize],
    ) {
        let rows = moduli.len();
        assert_eq!(out.rows(), terms.len() * rows, "one list of factors per output");
        assert_eq!(right_rows.len(), rows, "one row index per modulus");
        assert!(terms.iter().flatten().all(|(x, _)| x.rows() == rows), "one row per modulus");
        assert!(
            terms.iter().flatten().all(|(_, y)| right_rows.iter().all(|&row| row < y.rows())),
            "rows that are there"
        );
        let mut args = vec![
            address_mut(&out),
            rows as u64,
            u64::from(self.log_degree()),
            self.tables.address(),
            terms.len() as u64,
        ];
        args.extend(moduli.iter().zip(right_rows).flat_map(|(&modulus, &row)| [modulus as u64, row as u64]));
        let mut end = 0;
        args.push(0);
        args.extend(terms.iter().map(|terms| {
            end += terms.len() as u64;
            end
        }));
        args.extend(terms.iter().flatten().flat_map(|(x, y)| [address(x), address(y)]));
        self.each_word("dot_products", out.rows() * self.degree, args);
        self.count(Pass::Hadamard, rows * terms.iter().map(Vec::len).sum::<usize>());
    }

    fn combine(
        &self,
        out: &mut [RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError> {
        self.combined(out, left, right, moduli)
    }

    fn combine_coefficients(
        &self,
        out: &mut [RowsMut<'_>],
        left: &[Rows<'_>],
        positions: &[usize],
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError> {
        self.combined_coefficients(out, left, positions, right, moduli)
    }

    fn combine_fractions(
        &self,
        out: &mut [RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        product: FractionProduct,
        from: &[usize],
        to: &[usize],
    ) -> Result<(), ArithError> {
        self.combined_fractions(out, left, right, product, from, to)
    }

    fn zeroed_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors {
        self.zeroed_planes(shape, moduli)
    }

    fn adopt_factors(&self, factors: Factors) -> Factors {
        self.adopt_planes(factors)
    }

    fn factor_words<'a>(&self, factors: &'a Factors) -> Cow<'a, [u64]> {
        self.host_words(factors)
    }

    fn pack_factors(
        &self,
        factors: &mut Factors,
        group: usize,
        sources: &[Vec<Rows<'_>>],
        source_rows: &[usize],
    ) {
        self.pack(factors, group, sources, source_rows);
    }

    fn sum_factors(&self, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors {
        self.sum_of_terms(base, terms, rows)
    }

    fn unpack_factors(
        &self,
        factors: &Factors,
        group: usize,
        terms: &[usize],
        columns: Range<usize>,
        rows: &[usize],
    ) -> Buffer {
        self.unpack(factors, group, terms, columns, rows)
    }

    fn factor_products(&self, out: RowsMut<'_>, xs: &[Rows<'_>], by: FactorGroups<'_>) {
        self.products(&out, xs, by);
    }

    fn gadget_products(
        &self,
        out: RowsMut<'_>,
        inputs: &[GadgetInput<'_>],
        digits: &[DigitExtension],
        by: FactorGroups<'_>,
    ) {
        self.gadget(&out, inputs, digits, by);
    }

    fn plaintext_products(
        &self,
        out: &mut [RowsMut<'_>],
        xs: &[Rows<'_>],
        sums: &[PlaintextSum<'_>],
        moduli: &[usize],
    ) {
        self.sums_of_plaintexts(out, xs, sums, moduli);
    }

    fn base_conversion(
        &self,
        sources: &[usize],
        targets: &[usize],
        constants: &[u64],
        rounding: Rounding,
    ) -> Option<BaseConversion> {
        self.conversion(sources, targets, constants, rounding)
    }

    fn convert(&self, conversion: &BaseConversion, x: Rows<'_>, out: RowsMut<'_>, out_rows: &[usize]) {
        self.converted(conversion, x, &out, out_rows);
    }

    fn divide_all(
        &self,
        conversion: &BaseConversion,
        inputs: &[DivisionInput<'_>],
        constants: &[u64],
        transform: bool,
    ) -> Buffer {
        self.divided(conversion, inputs, constants, transform)
    }

    fn automorphism(&self, form: Form, automorphism: &Automorphism, x: Rows<'_>, moduli: &[usize]) -> Buffer {
        assert_eq!(automorphism.degree(), self.degree, "an automorphism belongs to one degree");
        let element = automorphism.element().value();
        match form {
            Form::Eval => self.moved("automorphism_eval", x, element, moduli),
            Form::Coeff => {
                self.moved("automorphism_coeff", x, inverse_modulo(element, 2 * self.degree), moduli)
            }
        }
    }

    fn mul_monomial(&self, x: Rows<'_>, power: usize, moduli: &[usize]) -> Buffer {
        self.moved("mul_monomial", x, power % (2 * self.degree), moduli)
    }

    fn join_components(
        &self,
        form: Form,
        out: RowsMut<'_>,
        parts: &[Rows<'_>],
        twist: Twist,
        moduli: &[usize],
    ) {
        self.joined(form, &out, parts, twist, moduli);
    }

    fn join_samples(&self, form: Form, out: RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
        self.joined_samples(form, &out, parts, moduli);
    }

    fn join_masks(&self, out: RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
        self.joined_masks(&out, parts, moduli);
    }

    fn transpose(&self, x: &mut [RowsMut<'_>]) {
        self.transposed(x);
    }

    fn split_components(
        &self,
        form: Form,
        parts: &mut [RowsMut<'_>],
        x: Rows<'_>,
        twist: Twist,
        moduli: &[usize],
    ) {
        self.split(form, parts, x, twist, moduli);
    }

    fn repeat(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>) {
        self.repeated(form, &out, x);
    }

    fn first_component(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>, moduli: &[usize]) {
        self.first_of(form, &out, x, moduli);
    }

    fn reduce_signed(&self, out: RowsMut<'_>, values: &[i64], moduli: &[usize]) {
        assert!(
            values.len() == out.degree() && out.rows() == moduli.len(),
            "one row per modulus, one word per value"
        );
        let uploaded = Allocation::of(&self.device, bytemuck::cast_slice(values));
        let mut args = vec![address_mut(&out), uploaded.address()];
        args.extend(self.rowwise(out.rows(), out.degree()));
        args.push(self.tables.address());
        args.extend(self.moduli_words(moduli));
        self.each_word("reduce_signed", out.rows() * out.degree(), args);
        // The integers may be a secret, and freed memory is used again.
        DeviceMemory::zeroize(&uploaded);
    }
}
