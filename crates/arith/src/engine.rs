//! The device seam: what a machine must be able to do with whole polynomials.
//!
//! One engine serves one ring: a degree and an ordered list of moduli. Methods take buffers of rows and the list of
//! moduli of those rows, by index; a buffer may hold several polynomials over the same basis, one after another, so
//! `moduli[row % moduli.len()]` is the modulus of a row. Object-safe on purpose: nothing above is generic over it.
//! An operation enters here when two algorithms need it, or a profile shows that fusing pays.
//!
//! Range: all residues in and out are fully reduced. Lengths are the caller's duty and `assert`ed.

use std::fmt::Debug;
use std::ops::Range;

use crate::automorphism::Automorphism;
use crate::buffer::Buffer;
use crate::conversion::BaseConversion;
use crate::extension::DigitExtension;
use crate::factors::{FactorShape, Factors};
use crate::kernels::components::Twist;
use crate::modulus::Modulus;

/// A polynomial to be decomposed, in both forms where both are there.
#[derive(Debug, Clone, Copy)]
pub struct GadgetInput<'a> {
    /// Coeff form.
    pub coefficients: &'a Buffer,
    /// Eval form: saves the transforms of each digit's own rows.
    pub values: Option<&'a Buffer>,
}

/// A polynomial over more moduli than a division leaves, in the forms it has: which rows of it the division's targets are.
#[derive(Debug, Clone, Copy)]
pub struct Dividend<'a> {
    /// The residues.
    pub residues: &'a Buffer,
    /// The row of each target.
    pub rows: &'a [usize],
}

impl<'a> Dividend<'a> {
    /// The row of target `target`.
    #[must_use]
    pub fn row(&self, target: usize) -> &'a [u64] {
        self.residues.row(self.rows[target])
    }
}

/// A polynomial to be divided: the sum of the parts that are there.
#[derive(Debug, Clone, Copy)]
pub struct DivisionInput<'a> {
    /// The residues modulo the divisors, in Coeff form: the sources of the remainder's conversion, from row 0 on.
    pub divisors: &'a Buffer,
    /// A part in Coeff form.
    pub coeff: Option<Dividend<'a>>,
    /// A part in Eval form.
    pub eval: Option<Dividend<'a>>,
}

/// One sum of products with packed plaintexts, `sum_t xs[inputs[t]] * plaintexts[t]`; see [`Engine::plaintext_products`].
#[derive(Debug, Clone, Copy)]
pub struct PlaintextSum<'a> {
    /// The plaintexts in Eval form, one term each, in one group and one column. Their degree divides the engine's.
    pub plaintexts: &'a Factors,
    /// For each modulus of the product, the row of the plaintexts that has this modulus.
    pub rows: &'a [usize],
    /// For each plaintext, the index of the input that it multiplies.
    pub inputs: &'a [usize],
}

/// A machine that computes with rows of residues.
pub trait Engine: Send + Sync + Debug {
    /// Ring degree: words per row.
    fn degree(&self) -> usize;

    /// All moduli of the ring; other methods name them by index.
    fn moduli(&self) -> &[Modulus];

    /// What runs, in words: kernels per modulus class and threads.
    fn describe(&self) -> String;

    /// A buffer of `rows` rows, all zero.
    fn zeroed(&self, rows: usize) -> Buffer;

    /// A buffer of `rows` rows with unspecified contents, for outputs that are overwritten whole.
    fn scratch(&self, rows: usize) -> Buffer;

    /// Negacyclic forward transform (Coeff -> Eval) of the rows in `rows`.
    fn forward_ntt(&self, x: &mut Buffer, rows: Range<usize>, moduli: &[usize]);

    /// Negacyclic inverse transform (Eval -> Coeff) of the rows in `rows`.
    fn inverse_ntt(&self, x: &mut Buffer, rows: Range<usize>, moduli: &[usize]);

    /// `x <- x + y`.
    fn add_assign(&self, x: &mut Buffer, y: &Buffer, moduli: &[usize]);

    /// `x <- x - y`.
    fn sub_assign(&self, x: &mut Buffer, y: &Buffer, moduli: &[usize]);

    /// `x <- -x`.
    fn negate_assign(&self, x: &mut Buffer, moduli: &[usize]);

    /// `x <- x * y`, element by element (the ring product in Eval form).
    fn mul_assign(&self, x: &mut Buffer, y: &Buffer, moduli: &[usize]);

    /// `x <- x * w` with one constant per modulus.
    fn mul_constants_assign(&self, x: &mut Buffer, constants: &[u64], moduli: &[usize]);

    /// `x <- (x - y) * w` with one constant per modulus: the end of a division by a modulus. Row `i` of `x` meets row
    /// `y_rows[i]` of `y`.
    fn sub_mul_constants_assign(&self, x: &mut Buffer, y: &Buffer, y_rows: &[usize], constants: &[u64], moduli: &[usize]);

    /// `x <- x + y * w` on the rows that `y` has, one constant per modulus; further rows of `x` stay what they are.
    fn add_mul_constants_assign(&self, x: &mut Buffer, y: &Buffer, constants: &[u64], moduli: &[usize]);

    /// `out[p] <- sum_j xs[j] * ys[p][j]` for every output polynomial `p`, element by element, lazily accumulated.
    ///
    /// `ys[p][j]` may span more rows than `moduli` has: `y_rows[i]` is the row of `ys` that meets row `i` of `xs`.
    fn inner_products(&self, out: &mut [Buffer], xs: &[&Buffer], ys: &[Vec<&Buffer>], y_rows: &[usize], moduli: &[usize]);

    /// Zero factors with one row per entry of `moduli`, in this engine's memory.
    fn zeroed_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors;

    /// Fills one group: slot `term * columns + column` becomes the sum of `sources[slot]`, row `i` of the factors from row
    /// `source_rows[i]` of the sources.
    fn pack_factors(&self, factors: &mut Factors, group: usize, sources: &[Vec<&Buffer>], source_rows: &[usize]);

    /// Factors (of one group) whose term `t` is the sum of the terms `terms[t]` of `base`, on the rows `rows` of it.
    fn sum_factors(&self, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors;

    /// The sum of some terms of one group and column, unpacked; rows `rows` of the factors.
    fn unpack_factor(&self, factors: &Factors, group: usize, terms: &[usize], column: usize, rows: &[usize]) -> Buffer;

    /// `out[g * columns + p] <- sum_t xs[t] * factors[groups[g], t, p]`, element by element, over as many terms as there are `xs`, at most the
    /// factors'. Row `i` of everything meets row `rows[i]` of the factors.
    fn factor_products(&self, out: &mut [Buffer], xs: &[&Buffer], factors: &Factors, groups: &[usize], rows: &[usize], moduli: &[usize]);

    /// As [`Engine::factor_products`] with the digits of `inputs` for `xs`, digit by digit (`t = digit * inputs + input`): extended, transformed and multiplied row
    /// by row, so that they never exist as a whole. Bit for bit what [`Engine::convert`], [`Engine::forward_ntt`] and
    /// [`Engine::factor_products`] give.
    ///
    /// `out` and the digits have one row per entry of `moduli`.
    fn gadget_products(
        &self,
        out: &mut [Buffer],
        inputs: &[GadgetInput<'_>],
        digits: &[DigitExtension],
        factors: &Factors,
        groups: &[usize],
        rows: &[usize],
        moduli: &[usize],
    );

    /// Base conversion in Coeff form: the conversion's sources are the rows of `x` from `first` on, its target `t` goes to row
    /// `out_rows[t]` of `out`.
    fn convert(&self, conversion: &BaseConversion, x: &Buffer, first: usize, out: &mut Buffer, out_rows: &[usize]);

    /// The end of a division by a modulus: with `remainder` the conversion of the rows of `x` from 0 on,
    ///
    /// ```text
    /// Eval form    (NTT(remainder - coeff) - eval) * w        Coeff form    (remainder - coeff) * w
    /// ```
    ///
    /// row by row, `w` one constant per target; a part that is missing is zero. The result is in Eval form where `transform`, and has an Eval part
    /// only there. Bit for bit what the single operations give.
    fn divide(
        &self,
        conversion: &BaseConversion,
        x: &Buffer,
        coeff: Option<Dividend<'_>>,
        eval: Option<Dividend<'_>>,
        constants: &[u64],
        transform: bool,
    ) -> Buffer {
        self.divide_all(conversion, &[DivisionInput { divisors: x, coeff, eval }], constants, transform).swap_remove(0)
    }

    /// [`Engine::divide`] for several polynomials, which meet each modulus together: one quotient for each.
    fn divide_all(&self, conversion: &BaseConversion, inputs: &[DivisionInput<'_>], constants: &[u64], transform: bool) -> Vec<Buffer>;

    /// Negacyclic inverse transform of a copy: the rows of `x`.
    fn inverse_ntt_of(&self, x: &Buffer, moduli: &[usize]) -> Buffer;

    /// `phi(x)` in Eval form.
    fn automorphism_eval(&self, automorphism: &Automorphism, x: &Buffer) -> Buffer;

    /// `phi(x)` in Coeff form.
    fn automorphism_coeff(&self, automorphism: &Automorphism, x: &Buffer, moduli: &[usize]) -> Buffer;

    /// `sum_p X^(+-brv(p)) parts[p](X^g)` in Eval form for `g = parts.len()`, a power of two, from polynomials of degree `n = N / g` in Eval form;
    /// `N` is this engine's degree. See [`crate::kernels::components`].
    ///
    /// Shapes: `parts` have as many rows as each other; `out` gets as many. Range: one pass over memory up to eight parts.
    fn join_components(&self, parts: &[&Buffer], twist: Twist, moduli: &[usize]) -> Buffer;

    /// The inverse of [`Engine::join_components`]: writes all `out.len()` components of `x`.
    fn split_components(&self, out: &mut [Buffer], x: &Buffer, twist: Twist, moduli: &[usize]);

    /// `x(X^g)` in Eval form, `g = N / n` for `x` of degree `n`: each value `g` times.
    fn repeat_values(&self, x: &Buffer) -> Buffer;

    /// The component of `x` at place 0, in Eval form, of `out`'s degree `n`: means of `g = N / n` neighbours.
    fn mean_of_neighbours(&self, out: &mut Buffer, x: &Buffer, moduli: &[usize]);

    /// Residues of `degree` signed integers modulo each of `moduli`, in Coeff form.
    fn reduce_signed(&self, values: &[i64], moduli: &[usize]) -> Buffer;

    /// `out[s][p] <- sum_t xs[inputs_s[t]][p] * plaintexts_s[t]` in Eval form, for every sum `s` and every polynomial `p` of the inputs.
    ///
    /// A plaintext `b` of a smaller degree `n` stands for `b(X^(N/n))`, whose Eval form has each value of `b` `N/n` times; the values are repeated
    /// block by block, so that no plaintext of degree `N` exists as a whole.
    ///
    /// Shapes: `out[s]` and `xs[i]` have one buffer for each polynomial. `out` has one row per entry of `moduli`. An input may have fewer rows: these
    /// are the ones of the first moduli, and the input is zero modulo the others.
    fn plaintext_products(&self, out: &mut [Vec<Buffer>], xs: &[Vec<&Buffer>], sums: &[PlaintextSum<'_>], moduli: &[usize]);
}
