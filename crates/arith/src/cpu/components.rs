//! Changes of the degree on the CPU. In Eval form, the kernels handle up to eight components in one pass;
//! beyond eight, there is a pass for each further stage. In Coeff form, a component is every `gap`-th
//! coefficient.

use super::CpuEngine;
use crate::automorphism::{mul_monomial, subring_embed, subring_extract};
use crate::buffer::{Rows, RowsMut};
use crate::engine::Form;
use crate::kernels::components::{MAX_PARTS, Twist, inverse_of_parts, repeat as repeat_row};
use crate::kernels::scalar::bit_reverse;
use crate::ntt::NttTable;
use crate::primes::primitive_root;

pub(super) fn join(
    engine: &CpuEngine,
    form: Form,
    out: RowsMut<'_>,
    parts: &[Rows<'_>],
    twist: Twist,
    moduli: &[usize],
) {
    let (rows, degree) = (moduli.len(), engine.degree);
    let gap = parts.len() * rows / out.rows().max(1);
    assert!(
        gap.is_power_of_two() && parts.len() * rows == gap * out.rows(),
        "a power of two of components for each result"
    );
    assert!(
        parts.iter().all(|part| part.rows() == rows && part.degree() * gap == degree),
        "components share the degree of the whole"
    );
    engine.each_row(out, |i, row| {
        let (poly, i) = (i / rows, i % rows);
        let parts: Vec<&[u64]> = parts[poly * gap..(poly + 1) * gap].iter().map(|part| part.row(i)).collect();
        let table = &engine.tables[moduli[i]];
        match form {
            Form::Eval => join_row(table, row, &parts, twist),
            Form::Coeff => join_coefficients(table, row, &parts, twist),
        }
    });
}

/// Rows of the result that are written together: each sample contributes a few neighbouring cache lines to
/// them.
const SAMPLE_ROWS: usize = 128;

/// Side of the squares of words that are transposed at a time: a cache line.
const SQUARE: usize = 8;

/// Side of the blocks of a transposition of whole polynomials, whose rows lie far apart.
const TRANSPOSED: usize = 64;

pub(super) fn join_samples(
    engine: &CpuEngine,
    form: Form,
    out: RowsMut<'_>,
    parts: &[Rows<'_>],
    moduli: &[usize],
) {
    let (rows, degree, gap) = (out.rows(), engine.degree, parts.len());
    assert!(
        gap.is_power_of_two() && rows.is_multiple_of(moduli.len()),
        "a power of two of parts, one row per modulus"
    );
    assert!(
        parts.iter().all(|part| part.rows() == rows && part.degree() * gap == degree),
        "parts share the degree of the whole"
    );
    let small = degree / gap;
    let parts: Vec<&[u64]> = parts.iter().map(Rows::host).collect();
    if form == Form::Eval {
        engine.each_row(out, |i, row| {
            let own: Vec<&[u64]> = parts.iter().map(|part| &part[i * small..(i + 1) * small]).collect();
            join_row(&engine.tables[moduli[i % moduli.len()]], row, &own, Twist::Positive);
        });
        return;
    }
    // In Coeff form the matrix of samples and rows is transposed, some rows at a time.
    let mut tiles: Vec<&mut [u64]> = out.host().chunks_mut(SAMPLE_ROWS * degree).collect();
    engine.each(&mut tiles, |tile, words| {
        let first = tile * SAMPLE_ROWS * small;
        let length = words.len() / gap;
        let sample = |power: usize| &parts[bit_reverse(power, gap.trailing_zeros())][first..first + length];
        if small == 1 && length.is_multiple_of(SQUARE) && gap >= SQUARE {
            transpose(words, degree, sample);
            return;
        }
        for power in 0..gap {
            let sample = sample(power);
            for (row, values) in words.chunks_exact_mut(degree).zip(sample.chunks_exact(small)) {
                for (target, &value) in row[power..].iter_mut().step_by(gap).zip(values) {
                    *target = value;
                }
            }
        }
    });
}

/// Words of a sample that are read together. Where a polynomial of the result takes fewer, several
/// polynomials are written together.
const SAMPLE_WORDS: usize = 128;

pub(super) fn join_masks(engine: &CpuEngine, out: RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
    let (degree, gap, basis) = (engine.degree, parts.len(), moduli.len());
    let rows = parts.first().map_or(0, Rows::rows);
    let neighbours = rows / out.rows().max(1);
    assert!(
        gap.is_power_of_two() && neighbours.is_power_of_two() && out.rows() * neighbours == rows,
        "powers of two of samples and polynomials"
    );
    let small = degree / (gap * neighbours);
    assert!((rows / neighbours).is_multiple_of(basis) && small > 0, "one row per modulus");
    assert!(parts.iter().all(|part| part.rows() == rows && part.degree() == small), "samples of one shape");
    let parts: Vec<&[u64]> = parts.iter().map(Rows::host).collect();
    // The offsets in a sample of neighbours whose words follow one another in the result, in that order.
    let places: Vec<usize> =
        (0..neighbours).map(|c| bit_reverse(c, neighbours.trailing_zeros()) * basis * small).collect();
    let tile = (SAMPLE_WORDS / (neighbours * small)).max(1) * basis;
    let mut tiles: Vec<&mut [u64]> = out.host().chunks_mut(tile * degree).collect();
    engine.each(&mut tiles, |number, words| {
        for power in 0..gap {
            let sample = parts[bit_reverse(power, gap.trailing_zeros())];
            for (index, row) in words.chunks_exact_mut(degree).enumerate() {
                let (poly, modulus) = ((number * tile + index) / basis, index % basis);
                let first = (poly * neighbours * basis + modulus) * small;
                for j in 0..small {
                    let (end, source) = (neighbours * (gap * j + power), &sample[first + j..]);
                    if end == 0 {
                        // X^-r = -X^(degree - r).
                        row[0] = source[0];
                        let modulus = engine.tables[moduli[modulus]].modulus();
                        places
                            .iter()
                            .enumerate()
                            .skip(1)
                            .for_each(|(r, &place)| row[degree - r] = modulus.neg(source[place]));
                    } else {
                        let run = row[end + 1 - neighbours..=end].iter_mut().rev();
                        run.zip(&places).for_each(|(word, &place)| *word = source[place]);
                    }
                }
            }
        }
    });
}

/// Writes word `t` of sample `c` to word `c` of row `t`, squares of words at a time.
fn transpose<'s>(rows: &mut [u64], degree: usize, sample: impl Fn(usize) -> &'s [u64]) {
    for start in (0..degree).step_by(SQUARE) {
        let samples: [&[u64]; SQUARE] = std::array::from_fn(|c| sample(start + c));
        for (part, band) in rows.chunks_exact_mut(SQUARE * degree).enumerate() {
            let mut square = [[0; SQUARE]; SQUARE];
            for (c, words) in samples.iter().enumerate() {
                for (line, &word) in square.iter_mut().zip(&words[part * SQUARE..(part + 1) * SQUARE]) {
                    line[c] = word;
                }
            }
            for (row, line) in band.chunks_exact_mut(degree).zip(&square) {
                row[start..start + SQUARE].copy_from_slice(line);
            }
        }
    }
}

pub(super) fn transpose_all(engine: &CpuEngine, x: &mut [RowsMut<'_>]) {
    let (degree, rows) = (engine.degree, x.first().map_or(0, |x| x.rows()));
    assert!(x.len() == degree, "as many operands as words in a row");
    assert!(x.iter().all(|x| x.rows() == rows && x.degree() == degree), "operands have the same rows");
    let mut operands: Vec<_> = x.iter_mut().map(|x| x.reborrow().host().chunks_exact_mut(degree)).collect();
    let mut matrices: Vec<Vec<&mut [u64]>> =
        (0..rows).map(|_| operands.iter_mut().filter_map(Iterator::next).collect()).collect();
    engine.each(&mut matrices, |_, matrix| {
        // In blocks, so that runs that are read or written are longer than a cache line, and in squares
        // within a block.
        for first in (0..degree).step_by(TRANSPOSED) {
            for second in (first..degree).step_by(TRANSPOSED) {
                for i in (first..degree.min(first + TRANSPOSED)).step_by(SQUARE) {
                    for j in (second.max(i)..degree.min(second + TRANSPOSED)).step_by(SQUARE) {
                        swap_squares(matrix, i, j, SQUARE.min(degree));
                    }
                }
            }
        }
    });
}

/// Swaps the square of rows from `i` and columns from `j` with the transposed square of rows from `j` and
/// columns from `i`.
fn swap_squares(matrix: &mut [&mut [u64]], i: usize, j: usize, side: usize) {
    let square = |rows: &[&mut [u64]], column: usize| -> [[u64; SQUARE]; SQUARE] {
        std::array::from_fn(|r| {
            std::array::from_fn(|c| if r < side && c < side { rows[r][column + c] } else { 0 })
        })
    };
    let (upper, lower) = (square(&matrix[i..i + side], j), square(&matrix[j..j + side], i));
    let mut put = |first: usize, column: usize, square: &[[u64; SQUARE]; SQUARE]| {
        for (r, row) in matrix[first..first + side].iter_mut().enumerate() {
            row[column..column + side].iter_mut().zip(square).for_each(|(word, line)| *word = line[r]);
        }
    };
    put(j, i, &upper);
    put(i, j, &lower);
}

pub(super) fn split(
    engine: &CpuEngine,
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
    let small = engine.degree / gap;
    assert!(
        small > 0 && parts.iter().all(|part| part.rows() == rows && part.degree() == small),
        "components share the degree of the whole"
    );
    // For each row of each polynomial: that row of all its components.
    let mut by_row: Vec<Vec<&mut [u64]>> = (0..x.rows()).map(|_| Vec::with_capacity(gap)).collect();
    for (index, part) in parts.iter_mut().enumerate() {
        for (row, words) in part.reborrow().host().chunks_exact_mut(small).enumerate() {
            by_row[index / gap * rows + row].push(words);
        }
    }
    engine.each(&mut by_row, |i, parts| {
        let table = &engine.tables[moduli[i % rows]];
        match form {
            Form::Eval => split_row(table, parts, x.row(i), twist),
            Form::Coeff => split_coefficients(table, parts, x.row(i), twist),
        }
    });
}

pub(super) fn repeat(engine: &CpuEngine, form: Form, out: RowsMut<'_>, x: Rows<'_>) {
    assert!(x.degree() > 0 && engine.degree.is_multiple_of(x.degree()), "one degree divides the other");
    assert!(out.rows() == x.rows() && out.degree() == engine.degree, "as many rows");
    engine.each_row(out, |i, row| match form {
        Form::Eval => repeat_row(row, x.row(i)),
        Form::Coeff => {
            row.fill(0);
            subring_embed(row, x.row(i), engine.degree / x.degree(), 0);
        }
    });
}

pub(super) fn first(engine: &CpuEngine, form: Form, out: RowsMut<'_>, x: Rows<'_>, moduli: &[usize]) {
    let small = out.degree();
    assert!(
        out.rows() == x.rows() && small > 0 && engine.degree.is_multiple_of(small),
        "one degree divides the other, row by row"
    );
    engine.each_row(out, |i, row| match form {
        Form::Eval => mean_row(&engine.tables[moduli[i % moduli.len()]], row, x.row(i)),
        Form::Coeff => subring_extract(row, x.row(i), engine.degree / small, 0),
    });
}

/// The power of `X` that multiplies component `place` of `gap`.
fn power_of(gap: usize, place: usize) -> usize {
    bit_reverse(place, gap.trailing_zeros())
}

fn join_coefficients(table: &NttTable, out: &mut [u64], parts: &[&[u64]], twist: Twist) {
    let gap = parts.len();
    for (place, part) in parts.iter().enumerate() {
        match (twist, power_of(gap, place)) {
            (Twist::Negative, power @ 1..) => {
                // X^-power = X^(gap - power) Y^-1, and Y^-1 = -Y^(n - 1).
                let (first, rest) = (part[0], &part[1..]);
                subring_embed(out, rest, gap, gap - power);
                out[out.len() - power] = table.modulus().neg(first);
            }
            (_, power) => subring_embed(out, part, gap, power),
        }
    }
}

fn split_coefficients(table: &NttTable, parts: &mut [&mut [u64]], x: &[u64], twist: Twist) {
    let gap = parts.len();
    for (place, part) in parts.iter_mut().enumerate() {
        match (twist, power_of(gap, place)) {
            (Twist::Negative, power @ 1..) => {
                let mut component = vec![0; part.len()];
                subring_extract(&mut component, x, gap, gap - power);
                mul_monomial(part, &component, 1, table.modulus());
            }
            (_, power) => subring_extract(part, x, gap, power),
        }
    }
}

fn join_row(table: &NttTable, out: &mut [u64], parts: &[&[u64]], twist: Twist) {
    match parts {
        [only] => out.copy_from_slice(only),
        _ if parts.len() <= MAX_PARTS => table.kernel().join_components(out, parts, twist),
        _ => {
            let mut rows: Vec<Vec<u64>> = parts.iter().map(|part| part.to_vec()).collect();
            while rows.len() > MAX_PARTS {
                let factors = stage_factors(table, rows[0].len(), twist);
                rows = rows.chunks_exact_mut(2).map(|pair| join_pair(table, pair, &factors)).collect();
            }
            let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
            table.kernel().join_components(out, &rows, twist);
        }
    }
}

fn split_row(table: &NttTable, parts: &mut [&mut [u64]], x: &[u64], twist: Twist) {
    if let [only] = parts {
        only.copy_from_slice(x);
    } else if parts.len() <= MAX_PARTS {
        table.kernel().split_components(parts, x, twist);
    } else {
        let opposite = if twist == Twist::Positive { Twist::Negative } else { Twist::Positive };
        let mut rows = vec![vec![0; x.len() / MAX_PARTS]; MAX_PARTS];
        let mut views: Vec<&mut [u64]> = rows.iter_mut().map(Vec::as_mut_slice).collect();
        table.kernel().split_components(&mut views, x, twist);
        while rows.len() < parts.len() {
            let factors = stage_factors(table, rows[0].len() / 2, opposite);
            rows = rows.iter().flat_map(|row| split_pair(table, row, &factors)).collect();
        }
        parts.iter_mut().zip(&rows).for_each(|(part, row)| part.copy_from_slice(row));
    }
}

fn mean_row(table: &NttTable, out: &mut [u64], x: &[u64]) {
    let count = x.len() / out.len();
    match count {
        1 => out.copy_from_slice(x),
        2 | 4 | MAX_PARTS => table.kernel().mean_of_neighbours(out, x),
        _ => {
            let mut means = vec![0; x.len() / MAX_PARTS];
            table.kernel().mean_of_neighbours(&mut means, x);
            let modulus = table.modulus();
            let scale = inverse_of_parts(modulus, count / MAX_PARTS);
            for (target, group) in out.iter_mut().zip(means.chunks_exact(count / MAX_PARTS)) {
                *target =
                    modulus.mul_shoup(group.iter().fold(0, |sum, &value| modulus.add(sum, value)), scale);
            }
        }
    }
}

/// `w_j` (or `1 / w_j`) for the join of two polynomials of degree `degree`. A kernel's table has these
/// factors too, but in other places.
fn stage_factors(table: &NttTable, degree: usize, twist: Twist) -> Vec<u64> {
    let (modulus, order) = (table.modulus(), 4 * degree as u64);
    let psi = primitive_root(modulus, 4 * degree).expect("the table's own root has a multiple of this order");
    let first = if twist == Twist::Positive { psi } else { modulus.pow(psi, order - 1) };
    let (step, bits) = (modulus.mul(first, first), degree.trailing_zeros());
    let (mut factors, mut power) = (vec![0; degree], first);
    for k in 0..degree {
        factors[bit_reverse(k, bits)] = power;
        power = modulus.mul(power, step);
    }
    factors
}

/// `e[j] + w_j o[j], e[j] - w_j o[j]` for all `j`, in one row. Overwrites the pair.
fn join_pair(table: &NttTable, pair: &mut [Vec<u64>], factors: &[u64]) -> Vec<u64> {
    let [even, odd] = pair else { return Vec::new() };
    table.kernel().mul_assign(odd, factors);
    let mut difference = even.clone();
    table.kernel().sub_assign(&mut difference, odd);
    table.kernel().add_assign(even, odd);
    even.iter().zip(&difference).flat_map(|(&sum, &difference)| [sum, difference]).collect()
}

/// The two rows `(x[2j] + x[2j + 1]) / 2` and `(x[2j] - x[2j + 1]) w_j / 2`, where `w_j` are `factors`.
fn split_pair(table: &NttTable, x: &[u64], factors: &[u64]) -> [Vec<u64>; 2] {
    let half = inverse_of_parts(table.modulus(), 2);
    let mut even: Vec<u64> = x.iter().copied().step_by(2).collect();
    let mut odd = even.clone();
    let neighbours: Vec<u64> = x.iter().copied().skip(1).step_by(2).collect();
    table.kernel().add_assign(&mut even, &neighbours);
    table.kernel().mul_constant_assign(&mut even, half);
    table.kernel().sub_mul_constant_assign(&mut odd, &neighbours, half);
    table.kernel().mul_assign(&mut odd, factors);
    [even, odd]
}
