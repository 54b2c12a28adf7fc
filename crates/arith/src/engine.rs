//! The engine interface: the operations on polynomials that a machine must provide.
//!
//! Design, shared with [`crate::buffer`]:
//!
//! 1. One engine serves one ring: a degree and an ordered list of moduli, to which methods refer by index.
//! 2. Methods take views of rows ([`Rows`], [`RowsMut`]) and the moduli of those rows. A view may hold
//!    several polynomials over one basis, one after another, so `moduli[row % moduli.len()]` is the modulus
//!    of a row, and one call serves a whole ciphertext.
//! 3. Residues are handles. They enter an engine by [`Engine::upload`] and leave it by [`Engine::download`];
//!    no other code reads them.
//! 4. The trait is object-safe on purpose: nothing above this crate is generic over the engine, and engines
//!    are chosen at run time.
//! 5. An operation belongs here when it touches residues and two algorithms need it, or a profile shows that
//!    fusing several operations pays.
//! 6. Engines also report the properties of their kernels that a cost model needs
//!    ([`Engine::transform_class`] and the methods beside it).
//!
//! Range: all residues in inputs and outputs are fully reduced. The caller guarantees matching lengths, which
//! are `assert`ed.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::automorphism::Automorphism;
use crate::buffer::{Buffer, Rows, RowsMut};
use crate::conversion::{BaseConversion, Rounding};
use crate::error::ArithError;
use crate::extension::DigitExtension;
use crate::factors::{FactorShape, Factors};
use crate::kernels::components::Twist;
use crate::modulus::Modulus;
use crate::product::{FractionProduct, LeftMatrix};

/// The two representations of a polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Entry `i` is the coefficient of `X^i`.
    Coeff,
    /// Entry `i` is the value at `psi^(2 brv(i) + 1)`.
    Eval,
}

/// A polynomial to be decomposed, in Coeff form, and in Eval form too if the caller has it.
#[derive(Debug, Clone, Copy)]
pub struct GadgetInput<'a> {
    /// Coeff form.
    pub coefficients: Rows<'a>,
    /// Eval form: saves the transforms of each digit's own rows.
    pub values: Option<Rows<'a>>,
}

/// What products with packed factors read: some groups of the factors, and the rows that belong to the rows
/// of inputs and results.
///
/// Inputs and each polynomial of the results have one row per entry of `moduli`. There is a polynomial of the
/// results for each column of each group: those of the first group, then those of the second one, and so on.
#[derive(Debug, Clone, Copy)]
pub struct FactorGroups<'a> {
    /// The factors. Products read as many of their terms as there are left factors, from the first term on.
    pub factors: &'a Factors,
    /// The groups that are multiplied with.
    pub groups: &'a [usize],
    /// For each row of inputs and results, the row of the factors.
    pub rows: &'a [usize],
    /// For each row of inputs and results, its modulus, which is also that of the row of the factors.
    pub moduli: &'a [usize],
}

impl FactorGroups<'_> {
    /// Asserts that products of `terms` left factors fit the factors and `out`, which the caller guarantees.
    pub fn check(&self, out: &RowsMut<'_>, terms: usize) {
        let Self { factors, groups, rows, moduli } = *self;
        let shape = factors.shape();
        assert!(
            terms <= shape.terms && out.rows() == groups.len() * shape.columns * moduli.len(),
            "as many results as groups and columns"
        );
        assert!(groups.iter().all(|&group| group < shape.groups), "groups are the factors'");
        assert!(rows.len() == moduli.len(), "one row per modulus");
        let own: Vec<usize> = factors.moduli().collect();
        assert!(
            rows.iter().zip(moduli).all(|(&row, &modulus)| own[row] == modulus),
            "rows of the same moduli"
        );
    }
}

/// A polynomial over the moduli of the quotient and possibly others, with the index of its row for each
/// modulus of the quotient.
#[derive(Debug, Clone, Copy)]
pub struct Dividend<'a> {
    /// The residues.
    pub residues: Rows<'a>,
    /// The row of each target of the division.
    pub rows: &'a [usize],
}

impl<'a> Dividend<'a> {
    /// The row of target `target`.
    pub(crate) fn row(&self, target: usize) -> &'a [u64] {
        self.residues.row(self.rows[target])
    }
}

/// A polynomial to be divided: the sum of its parts in Coeff and Eval form, each of which may be missing.
#[derive(Debug, Clone, Copy)]
pub struct DivisionInput<'a> {
    /// The residues modulo the divisors, in Coeff form: the sources of the remainder's conversion, from row 0
    /// on.
    pub divisors: Rows<'a>,
    /// A part in Coeff form.
    pub coeff: Option<Dividend<'a>>,
    /// A part in Eval form.
    pub eval: Option<Dividend<'a>>,
}

/// Fills row `index` with residues. [`Engine::upload_rows`] calls this function for every row, in any order,
/// on any thread.
pub type FillRow<'f> = &'f (dyn Fn(usize, &mut [u64]) + Sync);

/// Two factors of one term of a sum.
pub type Factor2<'a> = (Rows<'a>, Rows<'a>);

/// One sum of products with packed plaintexts, `sum_t xs[inputs[t]] * plaintexts[t]`; see
/// [`Engine::plaintext_products`].
#[derive(Debug, Clone, Copy)]
pub struct PlaintextSum<'a> {
    /// The plaintexts in Eval form, one term each, in one group and one column. Their degree divides the
    /// engine's.
    pub plaintexts: &'a Factors,
    /// For each modulus of the product, the row of the plaintexts that has this modulus.
    pub rows: &'a [usize],
    /// For each plaintext, the index of the input that it multiplies.
    pub inputs: &'a [usize],
}

/// The operands that the products of [`Engine::hoisted_products`] share.
#[derive(Debug, Clone, Copy)]
pub struct Hoisted<'a> {
    /// The left factors, with one row per modulus.
    pub digits: &'a [Rows<'a>],
    /// A polynomial for each column, with one row per constant.
    pub lifted: &'a [Rows<'a>],
    /// The first `masks` columns of a product do not add their polynomial of `lifted`.
    pub masks: usize,
    /// The factors of `lifted` modulo each of the first moduli. Modulo the other moduli, `lifted` is zero.
    pub constants: &'a [u64],
}

/// One permuted product of [`Engine::hoisted_products`].
#[derive(Debug, Clone, Copy)]
pub struct PermutedProduct<'a> {
    /// The automorphism that follows the product.
    pub phi: &'a Automorphism,
    /// The right factors: one group, and one column per polynomial of [`Hoisted::lifted`].
    pub factors: &'a Factors,
    /// For each modulus, the row of the factors that has this modulus.
    pub rows: &'a [usize],
}

/// Runs `work` and lets the engine queue its operations as one submission to the device. Used for the steps
/// of one operation, such as a key switch. Other threads may read the results after `together` returns.
pub fn together<T>(engine: &dyn Engine, work: impl FnOnce() -> T) -> T {
    struct Open<'a>(&'a dyn Engine, bool);
    impl Drop for Open<'_> {
        fn drop(&mut self) {
            if !self.1 {
                self.0.end_together(false);
            }
        }
    }
    engine.begin_together();
    let mut open = Open(engine, false);
    let result = work();
    open.1 = true;
    engine.end_together(true);
    result
}

/// A machine that computes with rows of residues.
pub trait Engine: Send + Sync + Debug {
    /// Ring degree: words per row.
    fn degree(&self) -> usize;

    /// All moduli of the ring; other methods refer to them by index.
    fn moduli(&self) -> &[Modulus];

    /// A description for people: the kernels in use and the number of threads.
    fn describe(&self) -> String;

    /// The kind of memory that holds the engine's buffers. Engines of one kind read each other's buffers.
    fn memory_kind(&self) -> &'static str;

    /// How many pieces of work gain from running at the same time, each on a thread of its own
    /// ([`share_out`](crate::workers::share_out)): 1 where the engine shares out its work itself, or other
    /// pieces run already.
    fn workers(&self) -> usize {
        1
    }

    /// An engine of the same kind and for the same moduli at another degree; each of the two can read the
    /// other's buffers. The new engine counts no passes, because a pass over a row of another degree has
    /// another cost.
    ///
    /// # Errors
    /// [`ArithError`] where the degree is no power of two or a modulus has no root of unity of order `2 *
    /// degree`.
    fn at_degree(&self, degree: usize) -> Result<Arc<dyn Engine>, ArithError>;

    /// Waits until all operations called before are done, so that time can be measured. An engine that
    /// computes within the call has nothing to wait for.
    fn finish(&self) {}

    /// Lets the engine queue this thread's operations until the matching [`Engine::end_together`]; see
    /// [`together`].
    fn begin_together(&self) {}

    /// Submits this thread's queued operations. Needed before another thread reads a result of an operation
    /// that has not ended, such as a derived key in a shared cache.
    fn submit(&self) {}

    /// Ends [`Engine::begin_together`] and submits the queued operations, or drops them where `keep` is false
    /// because the operation was cancelled.
    fn end_together(&self, keep: bool) {
        let _ = keep;
    }

    // Cost of operations.

    /// The class of the transform of modulus `index`, by its speed: 0 is the fastest, 2 the slowest.
    fn transform_class(&self, index: usize) -> usize;

    /// Whether digits are extended as integers in limbs ([`crate::limbs`]), which costs fewer products per
    /// target than residues do.
    fn extends_by_limbs(&self) -> bool;

    /// Whether [`Engine::divide_all`] of `polys` polynomials from `sources` moduli to `targets` reads
    /// remainders as integers in limbs.
    fn divides_by_limbs(&self, sources: usize, targets: usize, polys: usize) -> bool;

    /// Whether [`Engine::combine_fractions`] multiplies fractions as integers, with a smaller error than in
    /// floating point.
    fn multiplies_whole_fractions(&self) -> bool {
        false
    }

    // Memory.

    /// A buffer of `rows` rows, all zero.
    fn zeroed(&self, rows: usize) -> Buffer;

    /// A buffer of `rows` rows with unspecified contents, for outputs that are overwritten completely.
    fn scratch(&self, rows: usize) -> Buffer;

    /// Copies residues from the host: `fill` writes each row of `out`.
    fn upload_rows(&self, out: RowsMut<'_>, fill: FillRow<'_>);

    /// Copies residues from the host, row after row.
    fn upload(&self, out: RowsMut<'_>, words: &[u64]) {
        let degree = out.degree();
        assert_eq!(words.len(), out.rows() * degree, "as many words as the rows have");
        self.upload_rows(out, &|row, target| {
            target.copy_from_slice(&words[row * degree..(row + 1) * degree])
        });
    }

    /// Copies residues to the host, row after row; borrows them if they are in the host's memory already.
    fn download<'a>(&self, x: Rows<'a>) -> Cow<'a, [u64]>;

    /// `out <- x`.
    fn copy(&self, out: RowsMut<'_>, x: Rows<'_>);

    /// Row `out_rows[i]` of `out` `<-` row `rows[i]` of `x`.
    fn copy_rows(&self, out: RowsMut<'_>, out_rows: &[usize], x: Rows<'_>, rows: &[usize]);

    /// A new buffer with the given rows of `x`, in the given order.
    fn select(&self, x: Rows<'_>, rows: &[usize]) -> Buffer {
        let mut out = self.scratch(rows.len());
        self.copy_rows(out.view_mut(), &(0..rows.len()).collect::<Vec<_>>(), x, rows);
        out
    }

    /// Every word of row `i` of `out` `<- constants[i % constants.len()]`: a constant polynomial in Eval
    /// form.
    fn fill(&self, out: RowsMut<'_>, constants: &[u64]);

    // Transforms.

    /// Negacyclic forward transform (Coeff -> Eval) of all rows.
    fn forward_ntt(&self, x: RowsMut<'_>, moduli: &[usize]);

    /// Negacyclic inverse transform (Eval -> Coeff) of all rows.
    fn inverse_ntt(&self, x: RowsMut<'_>, moduli: &[usize]);

    /// Negacyclic inverse transform of a copy of `x`.
    fn inverse_ntt_of(&self, x: Rows<'_>, moduli: &[usize]) -> Buffer;

    // Element-wise arithmetic.

    /// `out <- x + y`.
    fn add(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]);

    /// `out <- x - y`.
    fn sub(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]);

    /// `x <- x + y`.
    fn add_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]);

    /// `x <- x - y`.
    fn sub_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]);

    /// `x <- -x`.
    fn negate_assign(&self, x: RowsMut<'_>, moduli: &[usize]);

    /// `x <- x * y`, element by element (the ring product in Eval form). Row `i` of `x` is multiplied by row
    /// `i % y.rows()` of `y`, so that one plaintext polynomial multiplies all polynomials of `x`.
    fn mul_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]);

    /// `x <- x * w` with one constant per modulus.
    fn mul_constants_assign(&self, x: RowsMut<'_>, constants: &[u64], moduli: &[usize]);

    /// `x <- x + y * w` with one constant per modulus. `x` and `y` hold equally many polynomials: those of
    /// `y` are over `moduli`, those of `x` over `moduli` and possibly further moduli, whose rows do not
    /// change.
    fn add_mul_constants_assign(&self, x: RowsMut<'_>, y: Rows<'_>, constants: &[u64], moduli: &[usize]);

    /// `out[p] <- sum_j terms[p][j].0 * terms[p][j].1` for every polynomial `p` of `out`, element by element,
    /// accumulated lazily.
    ///
    /// Right factors may have more rows than `moduli` has entries: row `i` of a left factor is multiplied by
    /// row `right_rows[i]` of the right factor.
    fn dot_products(
        &self,
        out: RowsMut<'_>,
        terms: &[Vec<Factor2<'_>>],
        right_rows: &[usize],
        moduli: &[usize],
    );

    /// `out[i] <- sum_j left[i][j] right[j]`: exact integer combinations; all operands have equally many
    /// rows.
    ///
    /// # Errors
    /// [`ArithError::Shape`] where the matrix does not fit `out` and `right`; [`ArithError::TooLarge`] for a
    /// residue that is not reduced.
    fn combine(
        &self,
        out: &mut [RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError>;

    /// `out[i] <- sum_r c(r, positions[i]) right[r]` with `c(r, p)` the coefficient of `X^p` in `left[r]`, a
    /// polynomial in Coeff form, exactly. Each entry of `right` and `out` holds the same number of
    /// polynomials, in either form; `moduli` are the moduli of one polynomial.
    ///
    /// # Errors
    /// [`ArithError::Shape`] where the operands do not fit each other; [`ArithError::TooLarge`] for a residue
    /// that is not reduced.
    fn combine_coefficients(
        &self,
        out: &mut [RowsMut<'_>],
        left: &[Rows<'_>],
        positions: &[usize],
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError>;

    /// `out ~ (Q' / Q) (left right mod Q) mod Q'` in floating point, for polynomials in Coeff form that each
    /// hold `product.lanes` rows of the matrices: [`crate::product::FractionProduct`]. `right` is over the
    /// moduli `from`, `out` over `to`, and `Q'` is the product of the latter. Rows of `out` beyond the rows
    /// of the matrix become zero.
    ///
    /// # Errors
    /// [`ArithError::Shape`] where the matrix does not fit `out` and `right`.
    fn combine_fractions(
        &self,
        out: &mut [RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        product: FractionProduct,
        from: &[usize],
        to: &[usize],
    ) -> Result<(), ArithError>;

    // Packed factors.

    /// Zero factors with one row per entry of `moduli`, in this engine's memory.
    fn zeroed_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors;

    /// Factors with unspecified contents, for callers that pack all of them and store none. An engine may
    /// recycle their memory.
    fn scratch_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors {
        self.zeroed_factors(shape, moduli)
    }

    /// Copies factors from the host's memory or a mapped file to the memory of this engine. An engine that
    /// computes on the host returns them unchanged.
    fn adopt_factors(&self, factors: Factors) -> Factors {
        factors
    }

    /// The words of factors in the host's layout, the inverse of [`Engine::adopt_factors`].
    fn factor_words<'a>(&self, factors: &'a Factors) -> Cow<'a, [u64]> {
        Cow::Borrowed(factors.memory().host())
    }

    /// Fills one group: slot `term * columns + column` becomes the sum of `sources[slot]`, where row `i` of
    /// the factors is computed from row `source_rows[i]` of the sources.
    fn pack_factors(
        &self,
        factors: &mut Factors,
        group: usize,
        sources: &[Vec<Rows<'_>>],
        source_rows: &[usize],
    );

    /// Factors of one group whose term `t` is the sum of the terms `terms[t]` of `base`. Their rows are the
    /// rows `rows` of `base`.
    fn sum_factors(&self, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors;

    /// The sum of the given terms of one group, unpacked: one polynomial per column of `columns`, over the
    /// rows `rows` of the factors.
    fn unpack_factors(
        &self,
        factors: &Factors,
        group: usize,
        terms: &[usize],
        columns: Range<usize>,
        rows: &[usize],
    ) -> Buffer;

    /// `out[g * columns + p] <- sum_t xs[t] * by.factors[by.groups[g], t, p]`, element by element.
    fn factor_products(&self, out: RowsMut<'_>, xs: &[Rows<'_>], by: FactorGroups<'_>);

    /// [`Engine::factor_products`] where `xs` are the images of all inputs under the first automorphism, then
    /// under the second one and so on (`t = phi * inputs + input`), with one group of factors. Inputs are in
    /// Eval form.
    fn permuted_factor_products(
        &self,
        out: RowsMut<'_>,
        inputs: &[Rows<'_>],
        phis: &[Automorphism],
        by: FactorGroups<'_>,
    ) {
        let permute = |phi: &Automorphism| {
            inputs.iter().map(|&x| self.automorphism(Form::Eval, phi, x, by.moduli)).collect::<Vec<_>>()
        };
        let permuted: Vec<Buffer> = phis.iter().flat_map(permute).collect();
        let xs: Vec<Rows<'_>> = permuted.iter().map(Buffer::view).collect();
        self.factor_products(out, &xs, by);
    }

    /// [`Engine::factor_products`] where `xs` are the first digits of all inputs, then their second digits
    /// and so on (`t = digit * inputs + input`). The digits are extended, transformed and multiplied for a
    /// few rows at a time, so that no digit is stored with all of its rows. The result is bit for bit that of
    /// [`Engine::convert`], [`Engine::forward_ntt`] and [`Engine::factor_products`].
    ///
    /// The digits have one row per entry of `by.moduli`.
    fn gadget_products(
        &self,
        out: RowsMut<'_>,
        inputs: &[GadgetInput<'_>],
        digits: &[DigitExtension],
        by: FactorGroups<'_>,
    );

    /// `out[s][p] <- sum_t xs[inputs_s[t]][p] * plaintexts_s[t]` in Eval form, for every sum `s` and every
    /// polynomial `p` of the inputs.
    ///
    /// A plaintext `b` of a smaller degree `n` stands for `b(X^(N/n))`, whose Eval form has each value of `b`
    /// `N/n` times. The values are repeated block by block, so that no complete plaintext of degree `N` is
    /// stored.
    ///
    /// Shapes: all `out[s]` and `xs[i]` hold equally many polynomials. Polynomials of `out[s]` have one row
    /// per entry of `moduli`. Polynomials of an input may have fewer rows, which belong to the first moduli;
    /// the input is zero modulo the others.
    fn plaintext_products(
        &self,
        out: &mut [RowsMut<'_>],
        xs: &[Rows<'_>],
        sums: &[PlaintextSum<'_>],
        moduli: &[usize],
    );

    /// [`Engine::plaintext_products`] whose inputs are permuted products with keys, in Eval form:
    ///
    /// ```text
    /// x_t = phi_t(sum_j digits[j] * factors_t[j] + lifted * constants)
    /// ```
    ///
    /// The first `masks` columns omit `lifted * constants`. For an entry `None` of `products`, `x_t = lifted *
    /// constants` in all columns.
    ///
    /// The result is bit for bit that of [`Engine::factor_products`], [`Engine::add_mul_constants_assign`],
    /// [`Engine::automorphism`] and [`Engine::plaintext_products`]. An engine that overrides this need not
    /// store the inputs.
    fn hoisted_products(
        &self,
        out: &mut [RowsMut<'_>],
        input: &Hoisted<'_>,
        products: &[Option<PermutedProduct<'_>>],
        sums: &[PlaintextSum<'_>],
        moduli: &[usize],
    ) {
        let (columns, own) = (input.lifted.len(), input.constants.len());
        let mut permuted = Vec::with_capacity(products.len());
        for product in products {
            let rows = if product.is_some() { moduli.len() } else { own };
            let mut x = self.zeroed(columns * rows);
            if let &Some(PermutedProduct { factors, rows, .. }) = product {
                let by = FactorGroups { factors, groups: &[0], rows, moduli };
                self.factor_products(x.view_mut(), input.digits, by);
            }
            let masks = if product.is_some() { input.masks } else { 0 };
            for (poly, target) in
                input.lifted.iter().zip(x.view_mut().chunks(rows.max(1))).skip(masks).filter(|_| own > 0)
            {
                self.add_mul_constants_assign(target, *poly, input.constants, &moduli[..own]);
            }
            permuted.push(match product {
                Some(PermutedProduct { phi, .. }) => self.automorphism(Form::Eval, phi, x.view(), moduli),
                None => x,
            });
        }
        let xs: Vec<Rows<'_>> = permuted.iter().map(Buffer::view).collect();
        self.plaintext_products(out, &xs, sums, moduli);
    }

    // Changes of the modulus.

    /// Prepares the conversion of `x * c` from the moduli `sources` to the moduli `targets`, `constants[i]`
    /// being `c` modulo source `i`. An engine of a device adds tables in the device's memory
    /// ([`BaseConversion::with_engine_tables`]).
    ///
    /// Returns `None` when a source modulus is not coprime to the others.
    fn base_conversion(
        &self,
        sources: &[usize],
        targets: &[usize],
        constants: &[u64],
        rounding: Rounding,
    ) -> Option<BaseConversion> {
        BaseConversion::new(self.moduli(), sources, targets, constants, rounding)
    }

    /// Base conversion in Coeff form: the sources are the rows of `x` from 0 on, and target `t` is written to
    /// row `out_rows[t]` of `out`.
    fn convert(&self, conversion: &BaseConversion, x: Rows<'_>, out: RowsMut<'_>, out_rows: &[usize]);

    /// The last step of a division by a modulus, for several polynomials, which are processed together for
    /// each modulus. Where `remainder` is the conversion of an input's divisors, it computes
    ///
    /// ```text
    /// Eval form    (NTT(remainder - coeff) - eval) * w        Coeff form    (remainder - coeff) * w
    /// ```
    ///
    /// row by row, with one constant `w` per target; a missing part counts as zero. With `transform`, the
    /// result is in Eval form; only then may inputs have an Eval part. The result, which holds the quotients
    /// one after another, is bit for bit that of the separate operations.
    fn divide_all(
        &self,
        conversion: &BaseConversion,
        inputs: &[DivisionInput<'_>],
        constants: &[u64],
        transform: bool,
    ) -> Buffer;

    // Automorphisms and changes of the degree.

    /// `phi(x)` in the given form.
    fn automorphism(&self, form: Form, automorphism: &Automorphism, x: Rows<'_>, moduli: &[usize]) -> Buffer;

    /// `x * X^power` in Coeff form, `power` modulo `2 * degree`.
    fn mul_monomial(&self, x: Rows<'_>, power: usize, moduli: &[usize]) -> Buffer;

    /// For each polynomial `q` of `out` and `g = degree / n` components of degree `n`: `out[q] <- sum_p
    /// X^(+-brv(p)) parts[q g + p](X^g)`. See [`crate::kernels::components`].
    ///
    /// Shapes: every part is one polynomial. Cost: one pass over memory for up to eight components in Eval
    /// form.
    fn join_components(
        &self,
        form: Form,
        out: RowsMut<'_>,
        parts: &[Rows<'_>],
        twist: Twist,
        moduli: &[usize],
    );

    /// [`Engine::join_components`] with [`Twist::Positive`], where polynomial `q` of `out` is joined from
    /// polynomial `q` of every part.
    fn join_samples(&self, form: Form, out: RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
        for (q, target) in out.chunks(moduli.len()).enumerate() {
            let own: Vec<Rows<'_>> =
                parts.iter().map(|part| part.slice(q * moduli.len()..(q + 1) * moduli.len())).collect();
            self.join_components(form, target, &own, Twist::Positive, moduli);
        }
    }

    /// Joins the masks of `g` samples in one pass: as [`Engine::join_samples`] does, then every `k`
    /// neighbouring results with [`Twist::Negative`]. In Coeff form: `out[q] <- sum_(p, c) X^(k brv(p) -
    /// brv(c)) parts[p][q k + c](X^(k g))`.
    ///
    /// Shapes: for each polynomial of `out`, every part holds `k` polynomials of degree `degree / (k g)`.
    fn join_masks(&self, out: RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]);

    /// Swaps word `c` of row `t` of `x[r]` with word `r` of row `t` of `x[c]`: transposes the matrix of each
    /// row, in place. There are as many operands as words in a row.
    fn transpose(&self, x: &mut [RowsMut<'_>]);

    /// The inverse of [`Engine::join_components`]: the components of polynomial `q` of `x` go to `parts[q g
    /// ..]`.
    fn split_components(
        &self,
        form: Form,
        parts: &mut [RowsMut<'_>],
        x: Rows<'_>,
        twist: Twist,
        moduli: &[usize],
    );

    /// `out <- x(X^g)`, `g = N / n` for `x` of degree `n`.
    fn repeat(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>);

    /// Writes component 0, of degree `n`, of each polynomial of `x`: in Eval form the means of `g = N / n`
    /// neighbours, in Coeff form every `g`-th coefficient.
    fn first_component(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>, moduli: &[usize]);

    /// `out[i] <-` the residues of `degree` signed integers modulo `moduli[i]`, in Coeff form.
    fn reduce_signed(&self, out: RowsMut<'_>, values: &[i64], moduli: &[usize]);
}
