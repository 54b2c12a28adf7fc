//! Sums of products, with one relinearisation and one rescale per sum, and linear combinations. Polynomial
//! evaluation and modular reduction consist of these operations.

use std::borrow::Cow;

use clathrate_lattice::multiply::Tensor;
use clathrate_lattice::{Basis, Bodies, Bundle, Eval, Level, Poly, Rank};
use rustfft::num_complex::Complex64;

use super::evaluator::{Evaluator, KeyQuery, check_slots};
use super::levels::same_scale;
use crate::arrays::estimate::product;
use crate::arrays::{Ciphertext, Estimate, Padding};
use crate::encoding::check_headroom;
use crate::error::CkksError;
use crate::keys::{Found, Operation};
use crate::parameters::Params;

/// The operation's name in errors.
const SUM_OF_PRODUCTS: &str = "a sum of products";
const LINEAR_COMBINATION: &str = "a linear combination";
const CONSTANT: &str = "a sum with a constant";

/// Bits of the largest factor of a linear combination, which must fit an `i128`.
const FACTOR_BITS: f64 = 126.0;

/// One product of a sum: `left right`, or `2 left right`.
#[derive(Debug, Clone, Copy)]
pub struct ProductTerm<'c> {
    /// The left factor.
    pub left: &'c Ciphertext,
    /// The right factor.
    pub right: &'c Ciphertext,
    /// Whether the product counts twice.
    pub twice: bool,
}

/// Real and imaginary part, rounded to integers.
fn integers(c: Complex64) -> (i128, i128) {
    (c.re.round_ties_even() as i128, c.im.round_ties_even() as i128)
}

/// The magnitude of the error when both parts are rounded to integers.
fn rounded_off(c: Complex64) -> f64 {
    (c - Complex64::new(c.re.round_ties_even(), c.im.round_ties_even())).norm()
}

/// An integer in every slot: the constant polynomial.
fn constant(params: &Params, level: Level, integer: i128) -> Poly<Eval> {
    let (ring, basis) = (params.chain().ring(), params.chain().basis(level));
    let residues = basis.residues_of(ring, integer);
    Poly::constant(ring, &basis, &residues)
}

impl Evaluator {
    /// `sum of factor x` at scale `scale`; factors are rounded to integers at `scale / x.scale()`. The sum is
    /// not rescaled.
    ///
    /// All operands have one shape and one level. Cost: one pass for each nonzero real or imaginary part of a
    /// factor, and one product with `X^{n/2}` for all imaginary parts.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without a term; [`CkksError::Encoding`] unless slots;
    /// [`CkksError::LevelTooLow`] for operands of different levels; [`CkksError::TooLarge`],
    /// [`CkksError::NotFinite`] for factors; shape, layout, secret and scale errors.
    pub fn linear_combination(
        &self,
        terms: &[(&Ciphertext, Complex64)],
        scale: f64,
    ) -> Result<Ciphertext, CkksError> {
        let &[(first, _), ..] = terms else {
            return Err(CkksError::no_terms(LINEAR_COMBINATION));
        };
        check_one_level(terms.iter().map(|&(x, _)| x), first.level, LINEAR_COMBINATION)?;
        self.linear_combination_at(first.level, terms, scale)
    }

    /// [`Evaluator::linear_combination`] at `level`: operands at higher levels are used without their primes
    /// above `level`, which saves copies.
    ///
    /// # Errors
    /// [`CkksError::Level`] for an operand below `level`.
    pub(crate) fn linear_combination_at(
        &self,
        level: Level,
        terms: &[(&Ciphertext, Complex64)],
        scale: f64,
    ) -> Result<Ciphertext, CkksError> {
        let &[(first, _), ..] = terms else {
            return Err(CkksError::no_terms(LINEAR_COMBINATION));
        };
        check_slots(first, LINEAR_COMBINATION)?;
        first.params.check_scale(scale, level)?;
        let params = &first.params;
        let (mut padding, mut complex) = (Padding::Zero, false);
        let mut estimate: Option<Estimate> = None;
        let mut parts = Vec::with_capacity(terms.len());
        let mut passes = 0;
        for (index, &(x, factor)) in terms.iter().enumerate() {
            self.check_pair(first, x, LINEAR_COMBINATION)?;
            check_room_at(x, level)?;
            if !(factor.re.is_finite() && factor.im.is_finite()) {
                return Err(CkksError::NotFinite { index, value: factor.norm(), shape: None });
            }
            let needed = (factor.norm() * scale / x.scale + 1.0).log2();
            if needed > FACTOR_BITS {
                let (log2_scale, level) = ((scale / x.scale).log2(), level.0);
                return Err(CkksError::value_too_large(
                    factor.norm(),
                    log2_scale,
                    needed,
                    FACTOR_BITS,
                    level,
                ));
            }
            let exact = factor * scale / x.scale;
            let (re, im) = integers(exact);
            (padding, complex) = (padding.max(x.padding()), complex || x.is_complex() || im != 0);
            passes += usize::from(re != 0) + usize::from(im != 0);
            let rounding = rounded_off(exact) * x.scale / scale;
            let multiple = x.estimate.clone().times_complex(factor).with_errors_of_factors(
                [true; 2],
                product(rounding, x.estimate.typical),
                product(rounding, x.estimate.magnitude),
            );
            estimate = Some(match estimate {
                None => multiple,
                Some(sum) => sum.plus(multiple),
            });
            parts.push((x, re, im));
        }
        let any_imaginary = parts.iter().any(|&(.., im)| im != 0);
        self.record(first, || {
            let rows = first.polys_per_bundle() * params.chain().basis(level).len();
            let mut cost = params.passes_cost(passes * rows);
            cost += params.rows_cost(usize::from(any_imaginary) * rows);
            Ok(cost)
        })?;
        let unit = (any_imaginary && !first.is_symbol()).then(|| params.imaginary_unit(level)).transpose()?;
        let bundles = (0..first.bundles.len())
            .map(|index| combine(params, level, first, &parts, (index, unit.as_ref())));
        let mut sum = first
            .with(bundles.collect::<Result<_, _>>()?, level, scale)
            .estimated(|own| estimate.unwrap_or(own));
        sum.layout = sum.layout.of_numbers(complex);
        Ok(sum.padded(padding))
    }

    /// `sum of products + plus`, relinearised once and rescaled by one division, so that all products have
    /// the noise and the cost of one switch.
    ///
    /// All operands have one level; all products and `plus` have one scale.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without a product; [`CkksError::LevelTooLow`] for operands of different levels;
    /// [`CkksError::ScaleMismatch`] for products of different scales.
    pub fn sum_of_products_rescale(
        &self,
        products: &[ProductTerm<'_>],
        plus: Option<&Ciphertext>,
    ) -> Result<Ciphertext, CkksError> {
        let &[ProductTerm { left: first, .. }, ..] = products else {
            return Err(CkksError::no_terms(SUM_OF_PRODUCTS));
        };
        check_one_level(
            products.iter().flat_map(|product| [product.left, product.right]).chain(plus),
            first.level,
            SUM_OF_PRODUCTS,
        )?;
        self.sum_of_products_at(first.level, products, plus)
    }

    /// [`Evaluator::sum_of_products_rescale`] at `level`: operands at higher levels are used without their
    /// primes above `level`.
    ///
    /// # Errors
    /// [`CkksError::Level`] for an operand below `level`.
    pub(crate) fn sum_of_products_at(
        &self,
        level: Level,
        products: &[ProductTerm<'_>],
        plus: Option<&Ciphertext>,
    ) -> Result<Ciphertext, CkksError> {
        let &[ProductTerm { left: first, right, .. }, ..] = products else {
            return Err(CkksError::no_terms(SUM_OF_PRODUCTS));
        };
        check_slots(first, SUM_OF_PRODUCTS)?;
        first.check_main(SUM_OF_PRODUCTS)?;
        let (params, scale) = (&first.params, first.scale * right.scale);
        params.check_scale(scale, level)?;
        let (mut padding, mut complex) = (Padding::Zero, false);
        let mut estimate: Option<Estimate> = None;
        let mut join = |x: &Ciphertext, own: f64| -> Result<(), CkksError> {
            self.check_pair(first, x, SUM_OF_PRODUCTS)?;
            check_room_at(x, level)?;
            if !same_scale(own, scale) {
                return Err(CkksError::ScaleMismatch { left: scale.log2(), right: own.log2() });
            }
            complex |= x.is_complex();
            Ok(())
        };
        for &ProductTerm { left, right, twice } in products {
            join(left, left.scale * right.scale)?;
            join(right, left.scale * right.scale)?;
            padding = padding.max(left.padding().min(right.padding()));
            let own = left.product_estimate(right).scale(if twice { 2.0 } else { 1.0 });
            estimate = Some(match estimate {
                None => own,
                Some(sum) => sum.plus(own),
            });
        }
        if let Some(plus) = plus {
            join(plus, plus.scale)?;
            padding = padding.max(plus.padding());
            estimate = Some(match estimate {
                None => plus.estimate.clone(),
                Some(sum) => sum.plus(plus.estimate.clone()),
            });
        }
        let (below, rescaled) = self.rescaled(first, level, scale)?;
        let keys =
            self.keys_of(KeyQuery::new(SUM_OF_PRODUCTS, Operation::Multiply, first).under(params).at(level))?;
        let doubled = products.iter().filter(|product| product.twice).count();
        self.record(first, || {
            let mut cost = params.tensor_cost(level).times(products.len() as f64);
            cost +=
                params.passes_cost(doubled * first.polys_per_bundle() * params.chain().basis(level).len());
            Ok(cost)
        })?;
        let basis = params.chain().basis(level);
        let sum = |keys: &Found<'_>| {
            self.for_each(0..first.bundles.len(), |index| relinearised(keys, products, plus, (index, &basis)))
        };
        let bundles = keys.as_ref().map_or_else(|| Ok(Vec::new()), sum)?;
        let mut sum = first.with(bundles, below, rescaled).estimated(|own| estimate.unwrap_or(own));
        sum.layout = sum.layout.of_numbers(complex);
        self.switched(params, sum.padded(padding), Operation::Multiply, level, params.step_product(level))
    }

    /// `x + number` in every slot, padding included. Bodies without entries stay zero.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless slots; [`CkksError::NotFinite`], [`CkksError::TooLarge`].
    pub fn add_constant(&self, x: &Ciphertext, number: Complex64) -> Result<Ciphertext, CkksError> {
        self.with_constant(x.clone(), number)
    }

    /// [`Evaluator::add_constant`] in place.
    pub(crate) fn with_constant(&self, x: Ciphertext, number: Complex64) -> Result<Ciphertext, CkksError> {
        self.check(&x)?;
        check_slots(&x, CONSTANT)?;
        if !(number.re.is_finite() && number.im.is_finite()) {
            return Err(CkksError::NotFinite { index: 0, value: number.norm(), shape: None });
        }
        check_headroom(&x.params, number.norm(), x.scale, x.level)?;
        let (re, im) = integers(number * x.scale);
        let error = rounded_off(number * x.scale) / x.scale;
        let mut sum = x.estimated(|own| own.plus(Estimate::rounded_number(number, error)));
        sum.check_bound()?;
        if (re, im) != (0, 0) {
            if !sum.is_symbol() {
                let mut message = constant(&sum.params, sum.level, re);
                if im != 0 {
                    let mut imaginary = sum.params.imaginary_unit(sum.level)?;
                    imaginary.mul_integer_assign(im);
                    message.add_assign(&imaginary)?;
                }
                let layout = sum.layout;
                for (index, bundle) in sum.bundles.iter_mut().enumerate() {
                    let mut held =
                        (0..layout.bodies()).filter(|&body| layout.polynomial_at(index, body).is_some());
                    held.try_for_each(|body| bundle.add_message(body, &message))?;
                }
            }
            sum.layout = sum.layout.of_numbers(sum.is_complex() || im != 0);
            sum = sum.padded(Padding::Dirty);
        }
        Ok(sum)
    }

    /// The same array without the primes above `level`, at its scale: free and without noise.
    ///
    /// # Errors
    /// [`CkksError::Level`]; [`CkksError::ScaleOutOfRange`] if the scale does not fit the modulus of
    /// `level`.
    pub(crate) fn restrict<'c>(
        &self,
        x: &'c Ciphertext,
        level: Level,
    ) -> Result<Cow<'c, Ciphertext>, CkksError> {
        self.check(x)?;
        if level > x.level {
            return Err(CkksError::level_up(x.level.0, level.0));
        }
        if level == x.level {
            return Ok(Cow::Borrowed(x));
        }
        x.params.check_scale(x.scale, level)?;
        let basis = x.params.chain().basis(level);
        Ok(Cow::Owned(x.try_map(level, x.scale, |bundle| Ok(bundle.restrict(&basis)?))?))
    }

    /// Calls `run` on every bundle of `x`, each as a separate array. A dry run calls `run` once; it counts
    /// the cost once per bundle, and the memory of one bundle. `whole` makes the resulting array from the
    /// resulting bundles; its estimate is that of the results.
    pub(crate) fn bundle_by_bundle(
        &self,
        x: &Ciphertext,
        whole: impl FnOnce(Vec<Bundle<Eval>>) -> Ciphertext,
        run: impl Fn(&Ciphertext) -> Result<Ciphertext, CkksError> + Sync,
    ) -> Result<Ciphertext, CkksError> {
        if !x.is_symbol() {
            let results = self.for_each(0..x.bundles.len(), |index| run(&x.part(index)))?;
            // All parts have the same estimate.
            let estimate = results.last().map(|part| part.estimate.clone());
            let result = whole(results.into_iter().flat_map(|part| part.bundles).collect());
            return Ok(result.estimated(|own| estimate.unwrap_or(own)));
        }
        let result = whole(Vec::new());
        // The last chunk of a row represents all chunks, because it has the padding.
        let part = self.repeated(x.layout.bundles(), || run(&x.part(x.layout.chunks() - 1)))?;
        Ok(result.estimated(|_| part.estimate.clone()))
    }
}

/// Refuses operands of different levels.
fn check_one_level<'c>(
    mut operands: impl Iterator<Item = &'c Ciphertext>,
    level: Level,
    operation: &'static str,
) -> Result<(), CkksError> {
    operands.find(|x| x.level != level).map_or(Ok(()), |x| {
        Err(CkksError::LevelTooLow { operation, needed: x.level.max(level).0, level: x.level.min(level).0 })
    })
}

/// Refuses an operand below `level`, or with a scale that does not fit the modulus of `level`.
fn check_room_at(x: &Ciphertext, level: Level) -> Result<(), CkksError> {
    if level > x.level {
        return Err(CkksError::level_up(x.level.0, level.0));
    }
    if level == x.level { Ok(()) } else { x.params.check_scale(x.scale, level) }
}

/// Bundle `index` of a linear combination with the integer factors `re + im X^{n/2}`.
fn combine(
    params: &Params,
    level: Level,
    first: &Ciphertext,
    parts: &[(&Ciphertext, i128, i128)],
    (index, unit): (usize, Option<&Poly<Eval>>),
) -> Result<Bundle<Eval>, CkksError> {
    let (ring, basis) = (params.chain().ring(), params.chain().basis(level));
    let zero = || Bundle::zero(ring, &basis, Rank(params.rank()), Bodies(first.layout.bodies()));
    let mut sum = zero()?;
    let mut imaginary = None;
    for &(x, re, im) in parts {
        let bundle = &x.bundles[index];
        if re != 0 {
            sum.add_multiple(bundle, re)?;
        }
        if im != 0 {
            let sum = match &mut imaginary {
                Some(sum) => sum,
                None => imaginary.insert(zero()?),
            };
            sum.add_multiple(bundle, im)?;
        }
    }
    if let (Some(mut imaginary), Some(unit)) = (imaginary, unit) {
        imaginary.mul_poly_assign(unit)?;
        sum.add_assign(&imaginary)?;
    }
    Ok(sum)
}

/// Bundle `index` of a sum of products.
fn relinearised(
    keys: &Found<'_>,
    products: &[ProductTerm<'_>],
    plus: Option<&Ciphertext>,
    (index, basis): (usize, &Basis),
) -> Result<Bundle<Eval>, CkksError> {
    let mut sum: Option<Tensor> = None;
    for &ProductTerm { left, right, twice } in products {
        let mut left = at_basis(left, index, basis)?;
        if twice {
            left.to_mut().mul_integer_assign(2);
        }
        let product = left.tensor(&*at_basis(right, index, basis)?)?;
        match &mut sum {
            None => sum = Some(product),
            Some(sum) => sum.add_assign(&product)?,
        }
    }
    let mut sum = sum.ok_or(CkksError::no_terms(SUM_OF_PRODUCTS))?;
    if let Some(plus) = plus {
        sum.add_bundle(&*at_basis(plus, index, basis)?)?;
    }
    keys.relinearise_rescale(&sum)
}

/// Bundle `index` of `x` modulo the primes of `basis`, copied if `x` has more primes.
fn at_basis<'c>(x: &'c Ciphertext, index: usize, basis: &Basis) -> Result<Cow<'c, Bundle<Eval>>, CkksError> {
    let bundle = &x.bundles[index];
    Ok(if bundle.basis() == basis { Cow::Borrowed(bundle) } else { Cow::Owned(bundle.restrict(basis)?) })
}
