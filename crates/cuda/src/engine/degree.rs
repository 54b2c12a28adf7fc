//! Changes of the degree: joining and splitting components.

use clathrate_arith::kernels::components::{MAX_PARTS, inverse_of_parts};
use clathrate_arith::{Form, Rows, RowsMut, Twist};

use crate::memory::{Allocation, address, address_mut};

use super::base::DeviceEngine;

/// The addresses of the rows of a view.
fn row_addresses(x: &Rows<'_>) -> Vec<u64> {
    let first = address(x);
    (0..x.rows()).map(|row| first + (row * x.degree()) as u64 * 8).collect()
}

fn negative(twist: Twist) -> u64 {
    u64::from(twist == Twist::Negative)
}

impl DeviceEngine {
    /// One pass of joins in Eval form: row `r` of the result, of modulus `moduli[r % moduli.len()]`, is
    /// joined from the parts at `parts[r]`, each of `small` words.
    fn join_pass(&self, out: u64, parts: &[Vec<u64>], small: usize, twist: Twist, moduli: &[usize]) {
        let log_parts = parts.first().map_or(0, |parts| parts.len().trailing_zeros());
        let mut args = vec![
            out,
            self.tables.address(),
            u64::from(small.trailing_zeros()),
            u64::from(log_parts),
            negative(twist),
        ];
        args.push(parts.len() as u64);
        for (row, parts) in parts.iter().enumerate() {
            args.push(moduli[row % moduli.len()] as u64);
            args.extend(parts);
        }
        self.each_word("join_eval", parts.len() * small, args);
    }

    /// Joins in Eval form, at most [`MAX_PARTS`] components in a pass: `rows[r]` are the components of row
    /// `r` of the result.
    fn join_rows(&self, out: u64, mut rows: Vec<Vec<u64>>, mut small: usize, twist: Twist, moduli: &[usize]) {
        let mut between: Vec<Allocation> = Vec::new();
        let count = rows.len();
        loop {
            let parts = rows.first().map_or(1, Vec::len);
            if parts <= MAX_PARTS {
                return self.join_pass(out, &rows, small, twist, moduli);
            }
            // Joins neighbours first, with at least two parts left for the last pass.
            let together = MAX_PARTS.min(parts / 2);
            let left = parts / together;
            let joined = Allocation::new(&self.device, count * parts * small);
            let passes: Vec<Vec<u64>> =
                rows.iter().flat_map(|parts| parts.chunks(together).map(<[u64]>::to_vec)).collect();
            let own: Vec<usize> =
                (0..count).flat_map(|row| std::iter::repeat_n(moduli[row % moduli.len()], left)).collect();
            self.join_pass(joined.address(), &passes, small, twist, &own);
            small *= together;
            rows = (0..count)
                .map(|row| {
                    (0..left)
                        .map(|part| joined.address() + ((row * left + part) * small) as u64 * 8)
                        .collect()
                })
                .collect();
            between.push(joined);
        }
    }

    pub(super) fn joined(
        &self,
        form: Form,
        out: &RowsMut<'_>,
        parts: &[Rows<'_>],
        twist: Twist,
        moduli: &[usize],
    ) {
        let rows = moduli.len();
        let gap = parts.len() * rows / out.rows().max(1);
        assert!(
            gap.is_power_of_two() && parts.len() * rows == gap * out.rows(),
            "a power of two of components for each result"
        );
        assert!(
            parts.iter().all(|part| part.rows() == rows && part.degree() * gap == self.degree),
            "components share the degree of the whole"
        );
        let addresses: Vec<Vec<u64>> = parts.iter().map(row_addresses).collect();
        let by_row: Vec<Vec<u64>> = (0..out.rows())
            .map(|i| {
                addresses[i / rows * gap..(i / rows + 1) * gap].iter().map(|part| part[i % rows]).collect()
            })
            .collect();
        match form {
            Form::Eval => self.join_rows(address_mut(out), by_row, self.degree / gap, twist, moduli),
            Form::Coeff => {
                let args = self.coefficient_args(address_mut(out), gap, twist, moduli, &by_row);
                self.each_word("join_coeff", out.rows() * self.degree, args);
            }
        }
    }

    fn coefficient_args(
        &self,
        whole: u64,
        gap: usize,
        twist: Twist,
        moduli: &[usize],
        parts: &[Vec<u64>],
    ) -> Vec<u64> {
        let mut args = vec![
            whole,
            u64::from(self.log_degree()),
            u64::from(gap.trailing_zeros()),
            negative(twist),
            self.tables.address(),
        ];
        args.extend([parts.len() as u64, moduli.len() as u64]);
        args.extend(self.moduli_words(moduli));
        args.extend(parts.iter().flatten());
        args
    }

    pub(super) fn joined_samples(&self, form: Form, out: &RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
        let (rows, gap) = (out.rows(), parts.len());
        assert!(
            gap.is_power_of_two() && rows.is_multiple_of(moduli.len()),
            "a power of two of parts, one row per modulus"
        );
        assert!(
            parts.iter().all(|part| part.rows() == rows && part.degree() * gap == self.degree),
            "parts share the degree of the whole"
        );
        if form == Form::Eval {
            let addresses: Vec<Vec<u64>> = parts.iter().map(row_addresses).collect();
            let by_row = (0..rows).map(|row| addresses.iter().map(|part| part[row]).collect()).collect();
            return self.join_rows(address_mut(out), by_row, self.degree / gap, Twist::Positive, moduli);
        }
        let count = rows * self.degree;
        let mut args = vec![
            address_mut(out),
            u64::from(self.log_degree()),
            u64::from(gap.trailing_zeros()),
            count as u64,
        ];
        args.extend(parts.iter().map(address));
        self.each_word("join_samples", count, args);
    }

    pub(super) fn joined_masks(&self, out: &RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
        let (gap, basis) = (parts.len(), moduli.len());
        let rows = parts.first().map_or(0, Rows::rows);
        let neighbours = rows / out.rows().max(1);
        assert!(
            gap.is_power_of_two() && neighbours.is_power_of_two() && out.rows() * neighbours == rows,
            "powers of two of samples and polynomials"
        );
        let small = self.degree / (gap * neighbours);
        assert!((rows / neighbours).is_multiple_of(basis) && small > 0, "one row per modulus");
        assert!(
            parts.iter().all(|part| part.rows() == rows && part.degree() == small),
            "samples of one shape"
        );
        let count = out.rows() * self.degree;
        let logs = [self.log_degree(), gap.trailing_zeros(), neighbours.trailing_zeros()].map(u64::from);
        let mut args = vec![address_mut(out)];
        args.extend(logs);
        args.extend([self.tables.address(), count as u64, basis as u64]);
        args.extend(self.moduli_words(moduli));
        args.extend(parts.iter().map(address));
        self.each_word("join_masks", count, args);
    }

    pub(super) fn split(
        &self,
        form: Form,
        parts: &mut [RowsMut<'_>],
        x: Rows<'_>,
        twist: Twist,
        moduli: &[usize],
    ) {
        let rows = moduli.len();
        let gap = parts.len() * rows / x.rows().max(1);
        assert!(
            gap.is_power_of_two() && parts.len() * rows == gap * x.rows(),
            "a power of two of components for each polynomial"
        );
        let small = self.degree / gap;
        assert!(
            small > 0 && parts.iter().all(|part| part.rows() == rows && part.degree() == small),
            "components share the degree of the whole"
        );
        let addresses: Vec<Vec<u64>> = parts.iter().map(|part| row_addresses(&part.view())).collect();
        let by_row: Vec<Vec<u64>> = (0..x.rows())
            .map(|i| {
                addresses[i / rows * gap..(i / rows + 1) * gap].iter().map(|part| part[i % rows]).collect()
            })
            .collect();
        match form {
            Form::Eval => self.split_rows(address(&x), by_row, small, twist, moduli),
            Form::Coeff => {
                let args = self.coefficient_args(address(&x), gap, twist, moduli, &by_row);
                self.each_word("split_coeff", x.rows() * self.degree, args);
            }
        }
    }

    /// The inverse of [`DeviceEngine::join_rows`]. A pass splits each row into at most [`MAX_PARTS`] rows;
    /// the last passes write the parts.
    fn split_rows(&self, x: u64, rows: Vec<Vec<u64>>, small: usize, twist: Twist, moduli: &[usize]) {
        let count = rows.len();
        let parts = rows.first().map_or(1, Vec::len);
        let together = MAX_PARTS.min(parts);
        let left = parts / together;
        if left == 1 {
            return self.split_pass(x, &rows, small, twist, moduli);
        }
        let length = small * left;
        let between = Allocation::new(&self.device, count * together * length);
        let place =
            |row: usize, part: usize| between.address() + ((row * together + part) * length) as u64 * 8;
        let firsts: Vec<Vec<u64>> =
            (0..count).map(|row| (0..together).map(|part| place(row, part)).collect()).collect();
        self.split_pass(x, &firsts, length, twist, moduli);
        // Splits each of the results, which lie one after another in `between`, further.
        let rest: Vec<Vec<u64>> =
            rows.iter().flat_map(|parts| parts.chunks(left).map(<[u64]>::to_vec)).collect();
        let own: Vec<usize> =
            (0..count).flat_map(|row| std::iter::repeat_n(moduli[row % moduli.len()], together)).collect();
        self.split_rows(between.address(), rest, small, twist, &own);
    }

    fn split_pass(&self, x: u64, parts: &[Vec<u64>], small: usize, twist: Twist, moduli: &[usize]) {
        let each = parts.first().map_or(1, Vec::len);
        let mut args = vec![
            x,
            self.tables.address(),
            u64::from(small.trailing_zeros()),
            u64::from(each.trailing_zeros()),
            negative(twist),
        ];
        args.push(parts.len() as u64);
        for (row, parts) in parts.iter().enumerate() {
            let modulus = moduli[row % moduli.len()];
            let scale = inverse_of_parts(&self.moduli[modulus], each);
            args.extend([modulus as u64, scale.value, scale.quotient]);
            args.extend(parts);
        }
        self.each_word("split_eval", parts.len() * small, args);
    }

    pub(super) fn repeated(&self, form: Form, out: &RowsMut<'_>, x: Rows<'_>) {
        assert!(x.degree() > 0 && self.degree.is_multiple_of(x.degree()), "one degree divides the other");
        assert!(out.rows() == x.rows() && out.degree() == self.degree, "as many rows");
        let (count, gap) = (out.rows() * self.degree, self.degree / x.degree());
        let args = vec![
            address_mut(out),
            address(&x),
            count as u64,
            u64::from(self.log_degree()),
            u64::from(gap.trailing_zeros()),
            u64::from(form == Form::Eval),
        ];
        self.each_word("repeat", count, args);
    }

    pub(super) fn first_of(&self, form: Form, out: &RowsMut<'_>, x: Rows<'_>, moduli: &[usize]) {
        let small = out.degree();
        assert!(
            out.rows() == x.rows() && small > 0 && self.degree.is_multiple_of(small),
            "one degree divides the other, row by row"
        );
        let (count, gap) = (out.rows() * small, self.degree / small);
        let logs = [small.trailing_zeros(), gap.trailing_zeros()].map(u64::from);
        let mut args = vec![
            address_mut(out),
            address(&x),
            count as u64,
            logs[0],
            logs[1],
            u64::from(form == Form::Eval),
        ];
        args.extend([self.tables.address(), moduli.len() as u64]);
        for &modulus in moduli {
            let scale = inverse_of_parts(&self.moduli[modulus], gap);
            args.extend([modulus as u64, scale.value, scale.quotient]);
        }
        self.each_word("first_component", count, args);
    }

    pub(super) fn transposed(&self, x: &[RowsMut<'_>]) {
        let rows = x.first().map_or(0, RowsMut::rows);
        assert!(x.len() == self.degree, "as many operands as words in a row");
        assert!(
            x.iter().all(|x| x.rows() == rows && x.degree() == self.degree),
            "operands have the same rows"
        );
        let mut args = vec![u64::from(self.log_degree())];
        args.extend(x.iter().map(address_mut));
        self.each_word_of("transpose", self.degree * self.degree, rows, args);
    }
}
