//! Encrypted matrix times encrypted matrix (CC-MM), and transposition of an encrypted matrix.
//!
//! Let the rows of `X` and `Y` be `r` polynomials of coefficients, with phases `x_i = b_i + <a_i, s>` and
//! `y_i = d_i + <c_i, s>`. The product `X^T Y` is the sum of the outer products of their rows. Write `L^T R`
//! for the sum of the outer products of two lists of polynomials ([`clathrate_lattice::outer_products`]), and
//! `s^T` for the product of a secret with the polynomials along columns. Then
//!
//! ```text
//! X^T Y = B^T D  +  sum_l (B^T C_l) s_l  +  sum_k s_k^T (A_k^T D)  +  sum_k,l s_k^T (A_k^T C_l) s_l
//! ```
//!
//! The first two terms are ciphertexts: row `j` is the sum of `b_i[j] (c_i, d_i)`. In the last two the secret
//! multiplies from the left: read by columns, column `j` of `sum_k s_k^T (A_k^T D)` is a ciphertext with the
//! mask `sum_i d_i[j] a_i` and body 0. A transposition of the matrix ([`clathrate_lattice::transposition`])
//! turns these columns into rows. The last term is transposed likewise, once for each `l`; then its rows are
//! multiplied by `s_l`, and one relinearisation for each row of the result completes the product.
//!
//! So at rank 1 a product of matrices of `n` rows takes four products of residue matrices, exact in floating
//! point, two transpositions, and `n` relinearisations. Rows of `d` numbers, fewer than the `N = k d`
//! coefficients of a secure parameter set, take `k^2 + 3 k` products of size `d`: they are embedded at degree
//! `N`, where a transposition takes the fewest switches, and the rows of the result are extracted to degree
//! `d`, as ciphertexts of rank `k`.
//!
//! Source: the reduction of Park (EUROCRYPT 2025), "Ciphertext-ciphertext matrix multiplication: fast for
//! large matrices"; derived here: any rank, rectangular shapes, errors of transpositions before the rescale.

use clathrate_arith::product::{COLUMN_BAND, column_product_counts};
use clathrate_lattice::multiply::Tensor;
use clathrate_lattice::outer_products::outer_products;
use clathrate_lattice::transposition::{self, SlotAutomorphism};
use clathrate_lattice::{Bundle, Coeff, Eval, Level, Poly, PolyRef, Polys, PolysRef, Rank};

use crate::arrays::estimate::Along;
use crate::arrays::memory::check_free;
use crate::arrays::places::Place;
use crate::arrays::{Ciphertext, Encoding, Layout, SecretName};
use crate::error::CkksError;
use crate::evaluation::evaluator::{Evaluator, KeyQuery};
use crate::keys::{Cost, Found, KeyLevel, KeyNeeds, Operation};
use crate::parameters::Params;
use crate::progress;

/// The operations' names in errors.
const PRODUCT: &str = "a product of encrypted matrices";
const TRANSPOSITION: &str = "a transposition of an encrypted matrix";

/// The decomposition of a transposition's rotations into `steps mod baby` and a multiple of `baby`.
#[derive(Debug, Clone, Copy)]
struct Steps {
    slots: usize,
    baby: usize,
}

impl Steps {
    fn new(params: &Params) -> Self {
        // Degree 1 has no rotations.
        let slots = params.slot_count().max(1);
        Self { slots, baby: 1 << slots.ilog2().div_ceil(2) }
    }

    /// The operations, each with its number of switches per transposition.
    fn operations(self) -> Vec<(Operation, usize)> {
        let giant = self.slots / self.baby;
        let babies = (1..self.baby)
            .map(|steps| (Operation::Rotate { secret: SecretName::Main, steps: steps as i64 }, 2 * giant));
        let giants = (1..giant).map(|steps| {
            (Operation::Rotate { secret: SecretName::Main, steps: (steps * self.baby) as i64 }, 2 * self.baby)
        });
        babies.chain(giants).chain([(Operation::Conjugate(SecretName::Main), self.slots)]).collect()
    }
}

/// The keys of transpositions.
struct Transposer<'k> {
    steps: Steps,
    /// In the order of [`Steps::operations`].
    keys: Vec<Found<'k>>,
}

impl Transposer<'_> {
    fn apply(&self, by: SlotAutomorphism, polys: Polys<Eval>, rank: usize) -> Result<Polys<Eval>, CkksError> {
        let mut bundle = if polys.len() == rank {
            let body = Polys::zero(polys.ring(), polys.basis(), 1);
            Bundle::from_polys(Polys::copied(polys.iter().chain(body.iter()))?, rank)?
        } else {
            Bundle::from_polys(polys, rank)?
        };
        let (low, high) = (by.steps % self.steps.baby, by.steps / self.steps.baby);
        let rotations = self.steps.baby - 1;
        if low > 0 {
            bundle = self.keys[low - 1].apply(&bundle)?;
        }
        if high > 0 {
            bundle = self.keys[rotations + high - 1].apply(&bundle)?;
        }
        if by.conjugate {
            bundle = self.keys[self.keys.len() - 1].apply(&bundle)?;
        }
        Ok(bundle.into_polys())
    }
}

/// The numbers that the polynomial at one position of every row holds: their coefficients, and their columns
/// of the array.
struct Held {
    positions: Vec<usize>,
    columns: Vec<usize>,
}

impl Held {
    fn new(layout: &Layout, place: usize) -> Self {
        let entry =
            |index: usize| Some((index, layout.entry(Place { bundle: place, body: 0, index })?.column));
        let (positions, columns) = (0..layout.degree()).filter_map(entry).unzip();
        Self { positions, columns }
    }
}

impl Params {
    /// The variance that a transposition at `level` adds to a coefficient: that of one or two switches for
    /// each rotation and of one for each conjugation. For a single row all sums are that row, so rotations by
    /// less than `baby` have equal errors, which add linearly in its coefficients.
    fn transposition_variance(
        &self,
        evaluator: &Evaluator,
        level: Level,
        rows: usize,
    ) -> Result<f64, CkksError> {
        let steps = Steps::new(self);
        let equal = if rows == 1 { 2 * steps.slots / steps.baby } else { 1 };
        let mut variance = 0.0;
        for (operation, switches) in steps.operations() {
            let key_level = evaluator.key_level(self, operation, level);
            let baby = matches!(operation, Operation::Rotate { secret: SecretName::Main, steps: by } if by < steps.baby as i64);
            variance += (if baby { equal * switches } else { switches }) as f64
                * (self.operation_variance_by(operation, level, key_level)? + self.noise_model().rounding());
        }
        Ok(variance)
    }
}

impl KeyNeeds {
    /// The keys of transpositions at the shape of `params`, and of products of encrypted matrices there.
    #[must_use]
    pub fn encrypted_matrices(self, params: &Params, key_level: KeyLevel) -> Self {
        let needs = Steps::new(params)
            .operations()
            .into_iter()
            .fold(self, |needs, (operation, _)| needs.operation(operation, key_level));
        needs.operation(Operation::Multiply, key_level)
    }
}

/// `x^T`, an encrypted matrix whose rows are the columns of `x`. The errors of the switches sum to about
/// `sqrt(2.5 n)` times those of one rotation, in units of the scale of `x`.
///
/// Shapes: `x` (rows, columns) in coefficients; result (columns, rows) at the same level and scale. If
/// `x` is at a lower degree than the parameters, the result is at the parameters' degree. Cost: about
/// `2.5 n` switches and `2 n log n` sums of polynomials for each `n` rows and each polynomial of a row,
/// at degree `n`.
///
/// # Errors
/// [`CkksError::Shape`] unless `x` is a matrix; [`CkksError::Encoding`] unless coefficients;
/// [`CkksError::Unsuitable`] for complex numbers; [`CkksError::WrongSecret`] for several bodies
/// under one mask; [`CkksError::MissingKeys`].
pub fn transpose(evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
    check_matrix(evaluator, x, TRANSPOSITION)?;
    let apart;
    let x = if x.layout().lanes() > 1 {
        apart = taken_apart(evaluator, x, TRANSPOSITION)?;
        &apart
    } else {
        x
    };
    // Short rows are embedded, as in a product.
    let (root, before) = (x.params().root()?, *x.layout());
    let whole = x.params().shape().dimension() == root.shape().dimension();
    let gap = if whole { (root.degree() / x.params().degree()).max(1) } else { 1 };
    let params = if gap > 1 { &root } else { x.params() };
    let shape = vec![before.columns(), before.rows()];
    let after = Layout::new(&shape, Encoding::Coefficients, params.degree())?;
    let (width, blocks) = (before.bundles_per_line(), after.chunks());
    let transposer = transposer(evaluator, params, x, x.level(), width * blocks, (TRANSPOSITION, None))?;
    let finish = |bundles| x.with_all((params, shape.clone()), after, bundles, (x.level(), x.scale()));
    let Some(transposer) = transposer else {
        let polys = params.rank() + 1;
        evaluator
            .record_once(x, || Ok(transposition_cost(params, x.level(), width * blocks, (polys, polys))))?;
        let moved = finish(Vec::new());
        return estimated_transposition(evaluator, params, moved, before.rows());
    };
    check_free(
        TRANSPOSITION,
        list_bytes(params, x.level(), 2 * (params.rank() + 1)),
        "use a set of a smaller degree",
    )?;
    let mut steps = evaluator.progress().steps(width * blocks * params.degree());
    let mut bundles: Vec<Option<Bundle<Eval>>> = (0..after.bundles()).map(|_| None).collect();
    for place in 0..width {
        let held = Held::new(&before, place);
        let wanted: Vec<usize> = held.positions.iter().map(|position| position * gap).collect();
        for block in 0..blocks {
            let mut rows: Vec<Option<Polys<Eval>>> = (0..params.degree()).map(|_| None).collect();
            for t in 0..after.entries_in(block) {
                let row = block * after.capacity() + t;
                let bundle = &x.bundles()[before.bundle(row, 0, 0) + place];
                rows[after.position(t)] = Some(bundle.embed(params.chain().ring())?.into_polys());
            }
            let columns = transposed(&transposer, rows, &wanted, params.rank(), &mut steps)?;
            for (column, polys) in held.columns.iter().zip(columns) {
                bundles[after.bundle(*column, block, 0)] = Some(Bundle::from_polys(polys, params.rank())?);
            }
        }
    }
    steps.finish()?;
    let bundles: Option<Vec<_>> = bundles.into_iter().collect();
    estimated_transposition(
        evaluator,
        params,
        finish(bundles.ok_or(CkksError::Symbol { operation: TRANSPOSITION })?),
        before.rows(),
    )
}

/// `x^T y` for encrypted matrices, relinearised, not rescaled.
///
/// Shapes: `x` (inner, rows) and `y` (inner, columns), both in coefficients; result (rows, columns), with
/// the layout of `y`, at the lower of both levels with the product of the scales. Rows that share a
/// polynomial are first separated, so the result is at the degree of a row; [`Evaluator::pack_rows`]
/// joins its rows again. Cost: see the module's documentation; the four exact products dominate.
///
/// # Errors
/// [`CkksError::Shape`] if the numbers of rows differ; [`CkksError::Encoding`] unless coefficients;
/// [`CkksError::Unsuitable`] for complex numbers, and for operands that no keyless conversion brings
/// to one shape; [`CkksError::WrongSecret`] for several bodies under one mask;
/// [`CkksError::LevelTooLow`] at level 0; [`CkksError::ScaleOutOfRange`]; [`CkksError::MissingKeys`].
pub fn multiply_transposed(
    evaluator: &Evaluator,
    x: &Ciphertext,
    y: &Ciphertext,
) -> Result<Ciphertext, CkksError> {
    check_matrix(evaluator, x, PRODUCT)?;
    check_matrix(evaluator, y, PRODUCT)?;
    if x.is_symbol() != y.is_symbol() {
        return Err(CkksError::Symbol { operation: PRODUCT });
    }
    x.key_id().check_same(y.key_id(), "the right operand")?;
    if x.shape()[0] != y.shape()[0] {
        let remedy = "x^T y takes matrices with as many rows".to_owned();
        return Err(CkksError::Shape {
            operation: PRODUCT,
            left: x.shape().to_vec(),
            right: y.shape().to_vec(),
            remedy,
        });
    }
    let level = x.level().min(y.level());
    let (x, y) = (evaluator.at_level(x, level)?, evaluator.at_level(y, level)?);
    let scale = x.scale() * y.scale();
    if level.0 == 0 {
        return Err(CkksError::LevelTooLow { operation: PRODUCT, needed: 1, level: 0 });
    }
    x.params().check_scale(scale, level)?;
    let (x, y) = (taken_apart(evaluator, &x, PRODUCT)?, taken_apart(evaluator, &y, PRODUCT)?);
    let degree = x.params().degree().min(y.params().degree());
    let lowered = |z: &Ciphertext| evaluator.to_mlwe(z, z.params().rank() * (z.params().degree() / degree));
    let (x, y) = (lowered(&x)?, lowered(&y)?);
    let params = x.params();
    if params != y.params() {
        let (left, right) = (x.params().shape(), y.params().shape());
        let reason = format!(
            "the operands have degree and rank {left} and {right}: bring them to one with to_rank, to_rlwe or to_mlwe"
        );
        return Err(CkksError::Unsuitable { operation: PRODUCT, reason });
    }
    // Computes at the largest degree of equal dimension.
    let target = params.relative(params.rlwe_shape())?;
    let (rank, gap) = (target.rank(), target.degree() / degree);
    let (left, right) = (*x.layout(), *y.layout());
    let shape = vec![left.columns(), right.columns()];
    let after = right.of_rows(left.columns());
    let (across, along) = (left.bundles_per_line(), right.bundles_per_line());
    let transposer = transposer(
        evaluator,
        &target,
        &x,
        level,
        across * along * (1 + rank),
        (PRODUCT, Some(Operation::Multiply)),
    )?;
    let relinearise = evaluator.keys_of(
        KeyQuery::new(PRODUCT, Operation::Multiply, &y).under(&target).at(level).switching(after.bundles()),
    )?;
    let finish = |bundles| y.with_all((params, shape.clone()), after, bundles, (level, scale));
    let (Some(transposer), Some(relinearise)) = (transposer, relinearise) else {
        evaluator.record_once(&x, || product_cost(&target, level, &left, along))?;
        return estimated_product(evaluator, &target, &x, &y, finish(Vec::new()), level);
    };
    // Counts the columns before and after the transposition, and the terms of each row of the result.
    check_free(
        PRODUCT,
        list_bytes(&target, level, 2 * rank + 1 + (rank + 1) * (rank + 2)),
        "multiply fewer columns of the left factor at a time",
    )?;
    // Progress counts blocks of products and automorphisms.
    let blocks = |positions: usize| positions.div_ceil(COLUMN_BAND);
    let of_rows = |i: usize| {
        blocks(Held::new(&left, i).positions.len()) + blocks(degree) + rank * blocks(target.degree())
    };
    let rotations = across * (1 + rank) * target.degree();
    let total = along * (rotations + (0..across).map(of_rows).sum::<usize>());
    let mut steps = evaluator.progress().steps(total);
    let mut bundles: Vec<Option<Bundle<Eval>>> = (0..after.bundles()).map(|_| None).collect();
    let (small, large) = (params.chain().ring(), target.chain().ring());
    let at = |z: &Ciphertext, width: usize, place: usize| {
        z.bundles()
            .iter()
            .skip(place)
            .step_by(width)
            .map(|bundle| bundle.embed(large))
            .collect::<Result<Vec<_>, _>>()
    };
    for i in 0..across {
        let (held, factors) = (Held::new(&left, i), at(&x, across, i)?);
        let rows: Vec<usize> = held.positions.iter().map(|position| position * gap).collect();
        for j in 0..along {
            let terms = product_terms(&transposer, (&factors, &rows), (&at(&y, along, j)?, gap), &mut steps)?;
            for (term, &row) in terms.iter().zip(&held.columns) {
                bundles[row * along + j] = Some(relinearise.relinearise(term)?.extract(small)?);
            }
        }
    }
    steps.finish()?;
    let bundles: Option<Vec<_>> = bundles.into_iter().collect();
    estimated_product(
        evaluator,
        &target,
        &x,
        &y,
        finish(bundles.ok_or(CkksError::Symbol { operation: PRODUCT })?),
        level,
    )
}

/// Moves rows that share a polynomial to separate polynomials.
fn taken_apart(
    evaluator: &Evaluator,
    x: &Ciphertext,
    operation: &'static str,
) -> Result<Ciphertext, CkksError> {
    let (lanes, degree) = (x.layout().lanes(), x.layout().degree());
    if lanes == degree {
        let reason =
            "rows of one number that share polynomials come apart as LWE samples: encrypt them without lanes"
                .to_owned();
        return Err(CkksError::Unsuitable { operation, reason });
    }
    evaluator.to_mlwe(x, x.params().rank() * lanes)
}

/// The keys of `count` transpositions; `None` on a dry run. The error names all missing keys.
fn transposer<'e>(
    evaluator: &'e Evaluator,
    params: &Params,
    x: &Ciphertext,
    level: Level,
    count: usize,
    (what, beside): (&'static str, Option<Operation>),
) -> Result<Option<Transposer<'e>>, CkksError> {
    let steps = Steps::new(params);
    if let Some(keys) = evaluator.held() {
        let needs = steps
            .operations()
            .into_iter()
            .fold(KeyNeeds::new(), |needs, (own, _)| needs.operation(own, KeyLevel::Level(level.0)));
        let needs =
            beside.into_iter().fold(needs, |needs, own| needs.operation(own, KeyLevel::Level(level.0)));
        keys.check_needs(params, what, &needs, params.slot_count())?;
    }
    let find = |(operation, switches): (Operation, usize)| {
        evaluator
            .keys_of(KeyQuery::new(what, operation, x).under(params).at(level).switching(count * switches))
    };
    let keys: Option<Vec<Found<'_>>> =
        steps.operations().into_iter().map(find).collect::<Result<Vec<_>, _>>()?.into_iter().collect();
    Ok(keys.map(|keys| Transposer { steps, keys }))
}

/// Adds the error of a transposition of `rows` rows to the estimate of `moved`.
fn estimated_transposition(
    evaluator: &Evaluator,
    params: &Params,
    moved: Ciphertext,
    rows: usize,
) -> Result<Ciphertext, CkksError> {
    let error = moved.slot_error(params.transposition_variance(evaluator, moved.level(), rows)?);
    Ok(moved.estimated(|own| own.transposed().with_error_of_products(error)))
}

/// Sets the estimate of a product: every number is a sum of `inner` products. The errors of the
/// transpositions precede the rescale; those of the last one are multiplied by the secret.
fn estimated_product(
    evaluator: &Evaluator,
    params: &Params,
    x: &Ciphertext,
    y: &Ciphertext,
    product: Ciphertext,
    level: Level,
) -> Result<Ciphertext, CkksError> {
    let transposition = params.transposition_variance(evaluator, level, params.degree())?;
    let error = product.slot_error(transposition * (1.0 + params.noise_model().secret_norm()));
    let (left, right, inner) = (x.estimate.clone().into_left_factor(), y.estimate.clone(), x.shape()[0]);
    let estimate = left
        .multiply(right)
        .sum(Along::Rows, (inner, inner), 1)
        .forgotten()
        .mixed()
        .with_error_of_products(error);
    params.check_bound(estimate.magnitude, product.scale(), level)?;
    evaluator.switched(params, product.estimated(|_| estimate), Operation::Multiply, level, 1.0)
}

/// Bytes of `polys` lists with one polynomial for each coefficient.
fn list_bytes(params: &Params, level: Level, polys: usize) -> usize {
    params.degree() * params.degree() * params.chain().basis(level).len() * 8 * polys
}

/// Refuses arrays that are not matrices of real coefficients under the main secret.
fn check_matrix(evaluator: &Evaluator, x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    evaluator.check(x)?;
    x.check_main(operation)?;
    if x.shape().len() != 2 {
        let remedy = "both operands are matrices; take products with vectors in slots".to_owned();
        return Err(CkksError::Shape { operation, left: x.shape().to_vec(), right: vec![], remedy });
    }
    if x.encoding() != Encoding::Coefficients {
        let (expected, got) = (Encoding::Coefficients.name().to_owned(), x.encoding().name().to_owned());
        return Err(CkksError::Encoding { operation, expected, got });
    }
    if x.is_complex() {
        let reason = "it takes real numbers: multiply real and imaginary parts on their own".to_owned();
        return Err(CkksError::Unsuitable { operation, reason });
    }
    if x.params().degree() == 1 {
        let reason = "LWE samples are no polynomials: pack them first".to_owned();
        return Err(CkksError::Unsuitable { operation, reason });
    }
    Ok(())
}

/// The rows `wanted` of the transposed matrix of `rows`.
fn transposed(
    transposer: &Transposer<'_>,
    rows: Vec<Option<Polys<Eval>>>,
    wanted: &[usize],
    rank: usize,
    steps: &mut progress::Steps<'_>,
) -> Result<Vec<Polys<Eval>>, CkksError> {
    transposition::transpose(rows, wanted, &mut |by, polys| {
        steps.begin()?;
        transposer.apply(by, polys, rank)
    })
}

/// The rows `rows` of `x^T y` before relinearisation, for one polynomial of each row of `x` and of `y`. They
/// are correct in every `gap`-th coefficient, like `y`.
fn product_terms(
    transposer: &Transposer<'_>,
    (x, rows): (&[Bundle<Eval>], &[usize]),
    (y, gap): (&[Bundle<Eval>], usize),
    steps: &mut progress::Steps<'_>,
) -> Result<Vec<Tensor>, CkksError> {
    let (rank, degree) = (x[0].rank(), x[0].ring().degree());
    let products = |left: &[PolyRef<'_, Coeff>],
                    positions: &[usize],
                    right: &[PolysRef<'_, Eval>],
                    steps: &mut progress::Steps<'_>| {
        outer_products(left, positions, right, &mut || steps.begin().is_ok())?.ok_or(CkksError::Cancelled)
    };
    let bodies: Vec<Poly<Coeff>> = x.iter().map(|bundle| bundle.bodies().at(0).to_coeff()).collect();
    let bodies: Vec<PolyRef<'_, Coeff>> = bodies.iter().map(Poly::view).collect();
    // B^T D and B^T C: rows of the result that are ciphertexts already.
    let direct = products(&bodies, rows, &y.iter().map(Bundle::view).collect::<Vec<_>>(), steps)?;
    drop(bodies);
    let masks: Vec<PolysRef<'_, Eval>> = x.iter().map(Bundle::mask).collect();
    // Column j is the mask, with body 0, of what the secret multiplies from the left: all columns of C_l^T A
    // for each l, then the columns of D^T A. Coefficients without a number need columns, too, because a
    // ciphertext must be correct in all coefficients.
    let (all, own): (Vec<usize>, Vec<usize>) = ((0..degree).collect(), (0..degree).step_by(gap).collect());
    let mut columns_of = Vec::with_capacity(rank + 1);
    for poly in 0..=rank {
        let left: Vec<Poly<Coeff>> = y.iter().map(|bundle| bundle.view().at(poly).to_coeff()).collect();
        let left: Vec<PolyRef<'_, Coeff>> = left.iter().map(Poly::view).collect();
        let positions = if poly == rank { &own } else { &all };
        let columns = products(&left, positions, &masks, steps)?;
        drop(left);
        let mut inputs: Vec<Option<Polys<Eval>>> = (0..degree).map(|_| None).collect();
        positions.iter().zip(columns).for_each(|(&position, column)| inputs[position] = Some(column));
        columns_of.push(transposed(transposer, inputs, rows, rank, steps)?);
    }
    direct.into_iter().enumerate().map(|(row, direct)| tensor(&direct, &columns_of, row, rank)).collect()
}

/// The terms of row `row`: `direct` and the last of `transposed` are ciphertexts; each other is multiplied by
/// a part of the secret.
fn tensor(
    direct: &Polys<Eval>,
    transposed: &[Vec<Polys<Eval>>],
    row: usize,
    rank: usize,
) -> Result<Tensor, CkksError> {
    let linear = |l: usize| -> Result<Poly<Eval>, CkksError> {
        let mut term = direct.at(l).to_owned();
        term.add_assign(transposed[rank][row].at(l))?;
        if l < rank {
            term.add_assign(transposed[l][row].at(rank))?;
        }
        Ok(term)
    };
    let quadratic = |(k, l): (usize, usize)| -> Result<Poly<Eval>, CkksError> {
        let mut term = transposed[l][row].at(k).to_owned();
        if k != l {
            term.add_assign(transposed[k][row].at(l))?;
        }
        Ok(term)
    };
    let pairs = (0..rank).flat_map(|k| (k..rank).map(move |l| (k, l)));
    let terms: Vec<Poly<Eval>> =
        (0..=rank).map(linear).chain(pairs.map(quadratic)).collect::<Result<_, _>>()?;
    Ok(Tensor::from_polys(Polys::copied(&terms)?, Rank(rank))?)
}

/// The cost of `count` transpositions without their switches, for rows of `before` polynomials before the
/// automorphisms and `after` polynomials after them.
fn transposition_cost(params: &Params, level: Level, count: usize, (before, after): (usize, usize)) -> Cost {
    let (degree, primes) = (params.degree(), params.chain().basis(level).len());
    let mut cost = params.transforms_cost(level, degree).times((count * degree * (before + after)) as f64);
    // Two transpositions of words, and an automorphism and a product with a number for each polynomial;
    // gathering words takes the time of a few passes.
    cost += params.passes_cost(count * degree * 10 * (before + after) * primes);
    cost
}

/// The cost of a product without its switches, for `y` with `along` polynomials in each row.
fn product_cost(target: &Params, level: Level, left: &Layout, along: usize) -> Result<Cost, CkksError> {
    let (degree, rank, inner) = (target.degree(), target.rank(), left.rows());
    let basis = target.chain().basis(level);
    let mut cost = Cost::default();
    for i in 0..left.bundles_per_line() {
        let rows = Held::new(left, i).positions.len();
        // Rows of a product, and the polynomials of each row.
        for (rows, polys) in [(rows, rank + 1), (left.degree(), rank), (degree, rank * rank)] {
            for &index in basis.indices() {
                let counts =
                    column_product_counts(rows, inner, degree, &target.chain().ring().moduli()[index]);
                cost += target.product_cost(&counts).times((polys * along) as f64);
            }
        }
        // The bodies of x and all polynomials of y are transformed to Coeff form.
        cost += target.transforms_cost(level, degree).times((along * (rank + 2) * inner) as f64);
        cost += transposition_cost(target, level, along * (1 + rank), (rank, rank + 1));
    }
    Ok(cost)
}
