//! Rotations and conjugation of slots. Several rotations of one ciphertext share its decomposition
//! (hoisting).

use clathrate_lattice::{Bundle, Eval, SwitchKey};
use rustfft::num_complex::Complex64;

use super::evaluator::{Evaluator, KeyQuery, check_slots};
use crate::arrays::{Ciphertext, Estimate, Order, Padding};
use crate::error::CkksError;
use crate::keys::{Found, HeldKey, Operation};

/// The operation's name in errors.
const ROTATION: &str = "a rotation";
const CONJUGATION: &str = "conjugation";

impl Evaluator {
    fn check_rotation(&self, x: &Ciphertext) -> Result<(), CkksError> {
        check_slots(x, ROTATION)?;
        if x.layout.order() != Order::Natural {
            return Err(CkksError::bit_reversed(ROTATION));
        }
        x.check_one_lane(ROTATION)?;
        if x.layout.chunks() > 1 {
            let remedy = format!("rows of at most {} entries rotate; split the array", x.params.slot_count());
            return Err(CkksError::Shape {
                operation: ROTATION,
                left: x.shape.clone(),
                right: vec![],
                remedy,
            });
        }
        Ok(())
    }

    /// Rotates every row left by `steps` within its capacity: the row's length rounded up to a power of two.
    ///
    /// The padding rotates too: zeros move into the row, and entries move into the padding, which is then
    /// dirty. A row with dirty padding is refused, because unspecified numbers would move into the row;
    /// rotate once by the sum of the steps, or clear the padding first. Rows that share a polynomial are
    /// refused, because numbers would move between rows.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`]; [`CkksError::Encoding`] unless slots; [`CkksError::Shape`] for rows of
    /// several bundles; [`CkksError::Unsuitable`] for rows that share a polynomial, for slots in bit-reversed
    /// order, and for padding that is not zero.
    pub fn rotate(&self, x: &Ciphertext, steps: i64) -> Result<Ciphertext, CkksError> {
        self.rotate_many(x, &[steps])?.pop().ok_or(CkksError::NoKeys { operation: ROTATION })
    }

    /// Several rotations of one ciphertext that share its decomposition (hoisting).
    pub fn rotate_many(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, CkksError> {
        self.check(x)?;
        self.check_rotation(x)?;
        let turns = |&steps: &i64| steps.rem_euclid(x.layout.capacity() as i64) != 0;
        if steps.iter().any(turns) {
            x.check_padding(ROTATION)?;
        }
        let (capacity, copies) = (x.layout.capacity() as i64, x.layout.copies() as i64);
        let turned: Vec<i64> = steps
            .iter()
            .map(|&steps| if copies == 1 { steps } else { steps.rem_euclid(capacity) * copies })
            .collect();
        let rotated = self.rotate_slots(x, &turned)?.into_iter().zip(steps);
        Ok(rotated
            .map(|(rotated, steps)| if turns(steps) { rotated.padded(Padding::Dirty) } else { rotated })
            .collect())
    }

    /// Rotates the slots of every polynomial, regardless of rows; the results have the layout of `x`.
    pub(crate) fn rotate_slots(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, CkksError> {
        // A multiple of the slots' period is no rotation and needs no key.
        let period = x.layout.period();
        let find = |&steps: &i64| {
            let operation = self.operation_under(x, ROTATION, Operation::rotation(x.secret, steps))?;
            let nothing = steps.rem_euclid(period as i64) == 0;
            if nothing {
                Ok(Some(Found::Nothing))
            } else {
                self.keys_of(KeyQuery::new(ROTATION, operation, x).repeating(period))
            }
        };
        let found = steps.iter().map(find).collect::<Result<Vec<_>, CkksError>>()?;
        if found.iter().all(|found| matches!(found, Some(Found::Nothing))) {
            return Ok(vec![x.clone(); steps.len()]);
        }
        if x.is_symbol() {
            return self.rotated_symbols(x, steps);
        }
        let found: Vec<Found<'_>> = found.into_iter().flatten().collect();
        let switcher = x.params.switcher()?;
        // Rotations by a single switch share the decomposition.
        let own: Vec<&SwitchKey> = found.iter().filter_map(Found::single).map(HeldKey::key).collect();
        let shared = if own.len() < 2 { None } else { Some(switcher.tables_for_keys(x.level, &own)?) };
        let by_bundle = self.for_each(&x.bundles, |bundle| {
            let digits = shared
                .as_ref()
                .map(|tables| bundle.decompose_mask(switcher, tables))
                .transpose()?
                .unwrap_or_default();
            let turned = found.iter().map(|found| {
                let hoisted = found
                    .single()
                    .filter(|_| shared.is_some())
                    .and_then(|held| Some((held, held.automorphism()?)));
                match hoisted {
                    Some((held, phi)) => Ok(bundle.rotate_hoisted(phi, &digits, switcher, held.key())?),
                    None => found.apply(bundle),
                }
            });
            turned.collect::<Result<Vec<_>, CkksError>>()
        })?;
        let mut rotated: Vec<Vec<Bundle<Eval>>> =
            found.iter().map(|_| Vec::with_capacity(x.bundles.len())).collect();
        for turned in by_bundle {
            rotated.iter_mut().zip(turned).for_each(|(target, turned)| target.push(turned));
        }
        let turned = |(bundles, &steps): (Vec<Bundle<Eval>>, &i64)| {
            self.estimated_rotation(x, x.with(bundles, x.level, x.scale), steps)
        };
        rotated.into_iter().zip(steps).map(turned).collect()
    }

    /// The symbols of several rotations; rotations by a single switch share their decomposition.
    fn rotated_symbols(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, CkksError> {
        let (period, slots) = (x.layout.period() as i64, x.params.slot_count() as i64);
        let moving: Vec<i64> = steps.iter().copied().filter(|steps| steps.rem_euclid(period) != 0).collect();
        let name = |steps: i64| x.params.rotation_key(x.secret, steps.rem_euclid(slots));
        for &steps in moving.iter().skip(1) {
            let key_level = Operation::rotation(x.secret, steps)
                .map_or(x.level, |operation| self.key_level(&x.params, operation, x.level));
            self.record(x, || {
                Ok(x.params
                    .key_definition(name(steps))?
                    .serving(key_level)
                    .decomposition_cost(x.level)?
                    .times(-1.0))
            })?;
        }
        steps.iter().map(|&steps| self.estimated_rotation(x, x.clone(), steps)).collect()
    }

    /// `rotated`, which is `x` rotated left by `steps` slots, with its estimate.
    fn estimated_rotation(
        &self,
        x: &Ciphertext,
        rotated: Ciphertext,
        steps: i64,
    ) -> Result<Ciphertext, CkksError> {
        if steps.rem_euclid(x.layout.period() as i64) == 0 {
            return Ok(rotated);
        }
        let operation = self.operation_under(x, ROTATION, Operation::rotation(x.secret, steps))?;
        self.switched(
            &x.params,
            rotated.estimated(|own| own.rotated(steps, x.layout.period())),
            operation,
            x.level,
            1.0,
        )
    }

    /// `(1 + rot_k) .. (1 + rot_1) x`: the sum of `x` and its rotation left by the first of `steps` slots,
    /// then the sum of that sum and its rotation by the second, and so on. The estimate of the result
    /// contains the noise of the rotations but no numbers; the caller sets the estimate of the numbers.
    ///
    /// If each rotation is a single switch, the bodies of the sums are divided by the special modulus once,
    /// at the end, instead of after each rotation.
    pub(crate) fn plus_rotated(&self, x: Ciphertext, steps: &[i64]) -> Result<Ciphertext, CkksError> {
        let period = x.layout.period() as i64;
        let moving: Vec<i64> = steps.iter().copied().filter(|steps| steps.rem_euclid(period) != 0).collect();
        if let (2.., true) = (moving.len(), moving.len() == steps.len())
            && let Some(sum) = self.plus_rotated_together(&x, steps)?
        {
            return Ok(sum);
        }
        steps.iter().try_fold(x, |mut x, &steps| {
            for turned in self.rotate_slots(&x, &[steps])? {
                x.bundles
                    .iter_mut()
                    .zip(&turned.bundles)
                    .try_for_each(|(sum, turned)| sum.add_assign(turned))?;
                self.record_pass(&x)?;
                x.estimate = x.estimate.clone().beside(turned.estimate.clone());
            }
            Ok(x)
        })
    }

    /// [`Evaluator::plus_rotated`] with one mod-down of the bodies; `None` if a rotation takes more than one
    /// switch or the KLSS method.
    fn plus_rotated_together(&self, x: &Ciphertext, steps: &[i64]) -> Result<Option<Ciphertext>, CkksError> {
        let (params, level) = (&x.params, x.level);
        let operations = steps
            .iter()
            .map(|&steps| self.operation_under(x, ROTATION, Operation::rotation(x.secret, steps)));
        let operations = operations.collect::<Result<Vec<_>, _>>()?;
        let find = |operation| {
            self.keys_of(
                KeyQuery::new(ROTATION, operation, x)
                    .under(params)
                    .at(level)
                    .repeating(x.layout.period())
                    .without_cost(),
            )
        };
        let bundles = if x.is_symbol() {
            let key_level = operations
                .iter()
                .map(|&operation| self.key_level(params, operation, level))
                .min()
                .unwrap_or(level);
            let Some(cost) = params.rotated_sums_cost(&operations, level, key_level)? else {
                return Ok(None);
            };
            operations.iter().try_for_each(|&operation| find(operation).map(drop))?;
            self.record(x, || Ok(cost))?;
            x.bundles.clone()
        } else {
            let found = operations.iter().map(|&operation| find(operation)).collect::<Result<Vec<_>, _>>()?;
            let held =
                found.iter().map(|found| found.as_ref().and_then(Found::single)).collect::<Option<Vec<_>>>();
            let rotations = held.and_then(|held| {
                held.into_iter()
                    .map(|held| Some((held.automorphism()?, held.key())))
                    .collect::<Option<Vec<_>>>()
            });
            let Some(rotations) = rotations else { return Ok(None) };
            let (switcher, keys) =
                (params.switcher()?, rotations.iter().map(|&(_, key)| key).collect::<Vec<_>>());
            let tables = switcher.tables_for_keys(level, &keys)?;
            if tables.method().key_digit.is_some() {
                return Ok(None);
            }
            self.for_each(&x.bundles, |bundle| Ok(bundle.plus_rotated(&rotations, switcher, &tables)?))?
        };
        let mut sum = x.with(bundles, level, x.scale);
        let error = if sum.estimate.has_errors() {
            let variance = |&operation: &Operation| match self.held() {
                Some(keys) if !x.is_symbol() => keys.variance(params, operation, level, x.layout.period()),
                _ => self.variance_on_symbols(params, operation, level),
            };
            let switch = operations
                .iter()
                .map(variance)
                .try_fold(0.0, |most: f64, own| Ok::<_, CkksError>(most.max(own?)))?;
            Some(sum.slot_error(switch + params.noise_model().rounding()))
        } else {
            None
        };
        for &steps in steps {
            self.record_pass(&sum)?;
            let turned = sum.estimate.clone().rotated(steps, sum.layout.period());
            let turned = if let Some(error) = error { turned.with_error(error) } else { turned };
            sum.estimate = sum.estimate.clone().beside(turned);
        }
        Ok(Some(sum))
    }

    /// `operation`, if there is one; otherwise the error that the secret of `x` has no such operation.
    ///
    /// # Errors
    /// [`CkksError::WrongSecret`].
    pub(crate) fn operation_under(
        &self,
        x: &Ciphertext,
        what: &'static str,
        operation: Option<Operation>,
    ) -> Result<Operation, CkksError> {
        operation.map_or_else(|| x.check_main(what).and(Err(CkksError::NoKeys { operation: what })), Ok)
    }

    /// The complex conjugate of every entry.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`]; [`CkksError::Encoding`] unless slots.
    pub fn conjugate(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        check_slots(x, CONJUGATION)?;
        x.params.switcher()?;
        let operation = self.operation_under(x, CONJUGATION, Operation::conjugation(x.secret))?;
        let keys = self.keys_of(KeyQuery::new(CONJUGATION, operation, x))?;
        let bundles = self.applied(keys.as_ref(), x)?;
        let conjugate = x.with(bundles, x.level, x.scale).estimated(Estimate::conjugated);
        self.switched(&x.params, conjugate, operation, x.level, 1.0)
    }

    /// The real part of every entry, as an array of real numbers, not rescaled; `x` itself if `x` is real.
    pub fn real_part(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        if x.is_complex() { self.part(x, Complex64::from(1.0)) } else { Ok(x.clone()) }
    }

    /// The imaginary part of every entry, as an array of real numbers, not rescaled; zeros if `x` is real.
    pub fn imaginary_part(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        if x.is_complex() { self.part(x, -Complex64::i()) } else { self.multiply_integer(x, 0) }
    }

    /// The real part of `factor x`, for a factor of magnitude 1: half the sum of `factor x` and its
    /// conjugate.
    fn part(&self, x: &Ciphertext, factor: Complex64) -> Result<Ciphertext, CkksError> {
        let half = self.multiply_scalar(x, 0.5)?;
        let conjugate = self.conjugate(&half)?;
        let part = self.linear_combination(&[(&half, factor), (&conjugate, factor.conj())], half.scale)?;
        let layout = part.layout.of_numbers(false);
        Ok(part.laid_out(layout).estimated(|own| own.at_most(x.estimate.magnitude)))
    }
}
