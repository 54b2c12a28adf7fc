//! Products of plain matrices with rows of residues, in integers.

use clathrate_arith::product::{FractionProduct, LeftMatrix};
use clathrate_arith::{ArithError, Meter, Modulus, ProductCounts, Rows, RowsMut};

use crate::memory::{Allocation, address, address_mut};

use super::base::DeviceEngine;
use super::launches::words;

/// Rows of the product that a unit computes; `PRODUCT_ROWS` of `kernels/matrix.cuh`.
const ROWS: usize = 4;

fn same(what: &'static str, expected: usize, got: usize) -> Result<(), ArithError> {
    if expected == got { Ok(()) } else { Err(ArithError::Shape { what, expected, got }) }
}

impl DeviceEngine {
    fn count_product(&self, rows: usize, inner: usize, columns: usize) {
        if let Some(meter) = self.meter.as_deref() {
            Meter::add_product(
                meter,
                ProductCounts {
                    products: 1,
                    multiply_adds: rows * inner * columns,
                    ..ProductCounts::default()
                },
            );
        }
    }

    fn operands<'a>(
        &self,
        out: &'a [RowsMut<'_>],
        right: &'a [Rows<'_>],
    ) -> (usize, impl Iterator<Item = u64> + 'a) {
        let rows = right.first().map_or(0, Rows::rows);
        assert!(
            right.iter().all(|x| x.rows() == rows) && out.iter().all(|x| x.rows() == rows),
            "as many rows everywhere"
        );
        (rows, out.iter().map(address_mut).chain(right.iter().map(address)))
    }

    pub(super) fn combined(
        &self,
        out: &[RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError> {
        same("rows of the right matrix", left.inner(), right.len())?;
        same("rows of the product", left.rows(), out.len())?;
        let (rows, operands) = self.operands(out, right);
        let entries: Vec<u64> = left.integers().into_iter().map(|entry| entry as u64).collect();
        let entries = Allocation::of(&self.device, &entries);
        let mut args =
            vec![entries.address(), left.rows() as u64, left.inner() as u64, u64::from(self.log_degree())];
        args.extend([self.tables.address(), rows as u64, moduli.len() as u64]);
        args.extend(self.moduli_words(moduli));
        args.extend(operands);
        self.each_word_of("combine", rows * self.degree, left.rows().div_ceil(ROWS), args);
        (0..rows).for_each(|_| self.count_product(left.rows(), left.inner(), self.degree));
        Ok(())
    }

    pub(super) fn combined_coefficients(
        &self,
        out: &[RowsMut<'_>],
        left: &[Rows<'_>],
        positions: &[usize],
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError> {
        same("rows of the right matrix", left.len(), right.len())?;
        same("rows of the product", positions.len(), out.len())?;
        assert!(left.iter().all(|x| x.rows() == moduli.len()), "the left factors are single polynomials");
        if let Some(&position) = positions.iter().find(|&&position| position >= self.degree) {
            return Err(ArithError::Shape {
                what: "words of a row of the left factor",
                expected: position + 1,
                got: self.degree,
            });
        }
        let (rows, operands) = self.operands(out, right);
        let places = Allocation::of(&self.device, &words(positions).collect::<Vec<_>>());
        let mut args =
            vec![places.address(), positions.len() as u64, right.len() as u64, u64::from(self.log_degree())];
        args.extend([self.tables.address(), rows as u64, moduli.len() as u64]);
        args.extend(self.moduli_words(moduli));
        args.extend(operands);
        args.extend(left.iter().map(address));
        self.each_word_of("combine_coefficients", rows * self.degree, positions.len().div_ceil(ROWS), args);
        (0..rows).for_each(|_| self.count_product(positions.len(), right.len(), self.degree));
        Ok(())
    }

    /// Computes in integers modulo 2^128, so that the only error is that of the fractions.
    pub(super) fn combined_fractions(
        &self,
        out: &[RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        product: FractionProduct,
        from: &[usize],
        to: &[usize],
    ) -> Result<(), ArithError> {
        let lanes = product.lanes;
        if lanes == 0 || !self.degree.is_multiple_of(lanes) {
            return Err(ArithError::Shape {
                what: "coefficients that rows of the matrix share evenly",
                expected: self.degree,
                got: lanes,
            });
        }
        if product.products > 1 && FractionProduct::upper_bits(left.inner(), left.max_abs()) == 0 {
            return Err(ArithError::TooLarge {
                what: "a weight of two floating-point products",
                value: left.max_abs(),
                limit: 1 << 40,
            });
        }
        same("polynomials of the right matrix", left.inner().div_ceil(lanes), right.len())?;
        same("polynomials of the product", left.rows().div_ceil(lanes), out.len())?;
        right
            .iter()
            .try_for_each(|x| same("primes of a polynomial of the right matrix", from.len(), x.rows()))?;
        out.iter().try_for_each(|x| same("primes of a polynomial of the product", to.len(), x.rows()))?;
        let moduli =
            |indices: &[usize]| indices.iter().map(|&index| &self.moduli[index]).collect::<Vec<&Modulus>>();
        let units = product.units(&moduli(from))?;
        // Two words for each place of the right matrix.
        let fractions = Allocation::new(&self.device, 2 * right.len() * self.degree);
        let shape = [u64::from(self.log_degree()), lanes as u64];
        let mut args = vec![fractions.address()];
        args.extend(shape);
        args.extend([from.len() as u64, right.len() as u64]);
        for (&index, unit) in from.iter().zip(units) {
            args.extend([self.moduli[index].value(), unit as u64, (unit >> 64) as u64]);
        }
        args.extend(right.iter().map(address));
        self.each_word("fractions", right.len() * self.degree, args);
        let entries: Vec<u64> = left.integers().into_iter().map(|entry| entry as u64).collect();
        let entries = Allocation::of(&self.device, &entries);
        let mut args = vec![entries.address(), fractions.address(), left.rows() as u64, left.inner() as u64];
        args.extend(shape);
        args.extend([self.tables.address(), to.len() as u64, out.len() as u64]);
        for (&index, (whole, rest)) in to.iter().zip(FractionProduct::multiples(&moduli(to))) {
            args.extend([index as u64, whole, rest]);
        }
        args.extend(out.iter().map(address_mut));
        self.each_word("combine_fractions", out.len() * self.degree, args);
        self.count_product(left.rows(), left.inner(), self.degree / lanes);
        Ok(())
    }
}
