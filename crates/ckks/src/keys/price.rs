//! Predicted cost and added noise of operations that switch, computed from the keys on their route.

use clathrate_arith::ProductCounts;
use clathrate_arith::cpu::transform_class;
use clathrate_arith::product::LeftMatrix;
use clathrate_lattice::noise::NoiseDigits;
use clathrate_lattice::switch::{MachineProfile, SwitchCounts, SwitchMethod};
use clathrate_lattice::{Basis, Level, Ring};

use super::definition::KeyDefinition;
use super::route::Route;
use crate::cost::{Cost, TransformCosts};
use crate::error::CkksError;
use crate::names::Operation;
use crate::parameters::Params;

/// The transform of the numbers of a plaintext in double precision and their rounding take as long as so many
/// transforms modulo a prime of the fastest class.
const EMBEDDING_TRANSFORMS: f64 = 5.0;

/// The reduction and the packing of one row of a plaintext take as long as so many products of rows.
const ENCODING_PASSES: usize = 2;

/// What the noise formulas take of one switch by a key.
struct SwitchedDigits {
    digits: NoiseDigits,
    /// The number of polynomials that are switched.
    inputs: usize,
}

impl KeyDefinition {
    /// The definition of the same key made for levels up to `key_level` alone.
    #[must_use]
    pub(crate) fn serving(self, key_level: Level) -> Self {
        Self { most: self.most.min(key_level), ..self }
    }

    /// Unit operations of one switch at `level` by a key that is made for all levels that it may serve.
    ///
    /// # Errors
    /// As [`Params::key_definition`]; level errors.
    pub fn switch_counts(&self, level: Level) -> Result<SwitchCounts, CkksError> {
        let switcher = self.switcher()?;
        let tables = switcher.tables_for(level, self.most)?;
        Ok(switcher.counts(&tables, self.inputs(), self.columns()))
    }

    /// The cost of one switch at `level`.
    pub fn switch_cost(&self, level: Level) -> Result<Cost, CkksError> {
        self.cost_of(&self.switch_counts(level)?)
    }

    /// The cost of the decomposition within one switch, which switches of the same ciphertext can share.
    pub fn decomposition_cost(&self, level: Level) -> Result<Cost, CkksError> {
        let switcher = self.switcher()?;
        self.cost_of(&switcher.decomposition_counts(&*switcher.tables_for(level, self.most)?, self.inputs()))
    }

    /// The cost that is saved if the product by this key shares one mod-down with the product by `other`.
    fn shared_division(&self, other: &Self, level: Level) -> Result<Cost, CkksError> {
        let (switcher, tables) = (self.switcher()?, other.switcher()?.tables_for(level, other.most)?);
        self.cost_of(&switcher.shared_mod_down_counts(
            &*switcher.tables_for(level, self.most)?,
            &tables,
            self.columns(),
        ))
    }

    /// The costs of the steps of a linear transform at `level` whose rotations use keys of this kind.
    pub fn transform_costs(&self, level: Level) -> Result<TransformCosts, CkksError> {
        let known = &self.params.known_figures().transforms;
        known.get_or_insert((self.name, self.most, level), || self.counted_transform(level))
    }

    fn counted_transform(&self, level: Level) -> Result<TransformCosts, CkksError> {
        let switcher = self.switcher()?;
        let tables = switcher.transform_tables_for(level, self.most)?;
        Ok(TransformCosts {
            decomposition: self.cost_of(&switcher.decomposition_counts(&tables, self.inputs()))?,
            inner_product: self.cost_of(&switcher.inner_product_counts(
                &tables,
                self.inputs(),
                self.columns(),
            ))?,
            mask_division: self.cost_of(&switcher.mod_down_counts(&tables, self.rank()))?,
            division: self.cost_of(&switcher.mod_down_counts(&tables, self.columns()))?,
            switch: self.switch_cost(level)?,
            rescale: self.params.rescale_cost(level, self.columns()),
            extended_primes: tables.extended().len(),
        })
    }

    /// The primes over which the plaintexts of such a linear transform are encoded.
    pub(crate) fn transform_basis(&self, level: Level) -> Result<Basis, CkksError> {
        Ok(self.switcher()?.transform_tables_for(level, self.most)?.extended().clone())
    }

    /// The cost at `level` of `rotations` rotations by keys of this kind, each of the sum before it, with one
    /// mod-down for all bodies of the sums; `None` if the keys' method does not support such sums.
    fn rotated_sums_cost(&self, level: Level, rotations: usize) -> Result<Option<Cost>, CkksError> {
        let switcher = self.switcher()?;
        let tables = switcher.tables_for(level, self.most)?;
        if tables.method().key_digit.is_some() {
            return Ok(None);
        }
        let mut cost = self.cost_of(&switcher.decomposition_counts(&tables, self.inputs()))?;
        cost += self.cost_of(&switcher.inner_product_counts(&tables, self.inputs(), self.columns()))?;
        cost += self.cost_of(&switcher.mod_down_counts(&tables, self.rank()))?;
        cost = cost.times(rotations as f64);
        cost += self.cost_of(&switcher.mod_down_counts(&tables, self.columns() - self.rank()))?;
        Ok(Some(cost))
    }

    /// The costs at `level` of the decomposition of `inputs` polynomials, of their product with a key of this
    /// kind for as many inputs, and of the mod-down, with keys in the representation in which they are made,
    /// for levels up to `level`.
    pub(crate) fn steps_as_made(&self, level: Level, inputs: usize) -> Result<[Cost; 3], CkksError> {
        let switcher = self.switcher()?;
        let tables = switcher.tables_of_method(SwitchMethod::as_made(switcher.chain()), level, level)?;
        Ok([
            self.cost_of(&switcher.decomposition_counts(&tables, inputs))?,
            self.cost_of(&switcher.inner_product_counts(&tables, inputs, self.columns()))?,
            self.cost_of(&switcher.mod_down_counts(&tables, self.columns()))?,
        ])
    }

    /// The digits of the noise formulas for keys as they were made for `level`.
    pub(crate) fn digits_as_made(&self, level: Level) -> Result<NoiseDigits, CkksError> {
        let switcher = self.switcher()?;
        let tables = switcher.tables_of_method(SwitchMethod::as_made(switcher.chain()), level, level)?;
        Ok(tables.noise_digits())
    }

    fn cost_of(&self, counts: &SwitchCounts) -> Result<Cost, CkksError> {
        let (degree, profile) = (self.chain()?.ring().degree(), self.params.machine_profile());
        Ok(Cost {
            nanoseconds: profile.overhead * profile.nanoseconds(degree, counts),
            price: counts.price(degree),
            transforms: counts.transforms.iter().sum(),
            hadamard_products: counts.products,
            key_bytes: counts.key_bytes,
            ..Cost::default()
        })
    }

    fn digits(&self, level: Level, key_level: Level) -> Result<SwitchedDigits, CkksError> {
        let tables = self.switcher()?.tables_for(level, key_level.min(self.most))?;
        Ok(SwitchedDigits { digits: tables.noise_digits(), inputs: self.inputs() })
    }
}

impl Params {
    /// The route of `operation` at `level` with a complete key set, and the definitions of the route's keys.
    fn definitions(
        &self,
        operation: Operation,
        level: Level,
    ) -> Result<(Route, Vec<KeyDefinition>), CkksError> {
        self.check_level(level)?;
        let missing = || self.missing_key(operation, std::iter::empty());
        self.check_switching(operation.is_in_packing_ring())?;
        let route = self.full_route(operation, level).ok_or_else(missing)?;
        let definitions =
            route.keys().map(|address| self.definition_at(address)).collect::<Result<_, _>>()?;
        Ok((route, definitions))
    }

    /// The cost, for one bundle, of the switches of `operation` at `level`.
    ///
    /// # Errors
    /// `NoSpecialPrimes` if these parameters cannot switch; level errors; the error of a missing key if the
    /// parameters do not allow the operation's keys.
    pub fn operation_cost(&self, operation: Operation, level: Level) -> Result<Cost, CkksError> {
        self.operation_cost_by(operation, level, self.max_level())
    }

    /// As [`Params::operation_cost`], with keys made for levels up to `key_level`: such keys have fewer
    /// primes that can serve as special primes.
    pub fn operation_cost_by(
        &self,
        operation: Operation,
        level: Level,
        key_level: Level,
    ) -> Result<Cost, CkksError> {
        let key = (operation, level, key_level);
        self.known_figures().costs.get_or_insert(key, || self.counted_cost(operation, level, key_level))
    }

    fn counted_cost(&self, operation: Operation, level: Level, key_level: Level) -> Result<Cost, CkksError> {
        let (route, definitions) = self.definitions(operation, level)?;
        let definitions: Vec<KeyDefinition> =
            definitions.into_iter().map(|definition| definition.serving(key_level)).collect();
        let mut sum = Cost::default();
        for definition in &definitions {
            sum += definition.switch_cost(level)?;
        }
        // The sums of both stages of a relinearisation share one mod-down. [dpad-he, Algorithm 1 divides
        // twice]
        if let (Route::TemporaryRank { .. }, Operation::Multiply, [up, down]) =
            (route, operation, &definitions[..])
        {
            sum += down.shared_division(up, level)?.times(-1.0);
        }
        Ok(sum)
    }

    /// The cost at `level` of rotations, each applied to the sum of all terms before it, with one mod-down
    /// shared by the bodies, with keys made for levels up to `key_level`; `None` if a rotation takes more
    /// than one switch or the keys' method does not support such sums.
    pub(crate) fn rotated_sums_cost(
        &self,
        rotations: &[Operation],
        level: Level,
        key_level: Level,
    ) -> Result<Option<Cost>, CkksError> {
        let mut definition = None;
        for &rotation in rotations {
            let (route, mut definitions) = self.definitions(rotation, level)?;
            match (route, definitions.pop()) {
                (Route::InTurn(keys), Some(own)) if keys.len() == 1 => definition = Some(own),
                _ => return Ok(None),
            }
        }
        definition.map_or(Ok(None), |definition| {
            definition.serving(key_level).rotated_sums_cost(level, rotations.len())
        })
    }

    /// The definition of the first key on the route of `operation` at `level`.
    pub(crate) fn operation_definition(
        &self,
        operation: Operation,
        level: Level,
    ) -> Result<KeyDefinition, CkksError> {
        let missing = || self.missing_key(operation, std::iter::empty());
        self.definitions(operation, level)?.1.into_iter().next().ok_or_else(missing)
    }

    /// The variance that the switches of `operation` at `level` add to a coefficient, without the rounding of
    /// the last mod-down.
    pub fn operation_variance(&self, operation: Operation, level: Level) -> Result<f64, CkksError> {
        self.operation_variance_by(operation, level, self.max_level())
    }

    /// As [`Params::operation_variance`], with keys made for levels up to `key_level`: such keys have fewer
    /// primes that can serve as special primes.
    pub fn operation_variance_by(
        &self,
        operation: Operation,
        level: Level,
        key_level: Level,
    ) -> Result<f64, CkksError> {
        self.known_figures().variances.get_or_insert((operation, level, key_level), || {
            let (route, definitions) = self.definitions(operation, level)?;
            let definitions: Vec<(KeyDefinition, Level)> =
                definitions.into_iter().map(|definition| (definition, key_level)).collect();
            self.route_variance(operation, level, &route, &definitions)
        })
    }

    /// As [`Params::operation_variance_by`], with the keys of a route, each with its own key level.
    pub(super) fn route_variance(
        &self,
        operation: Operation,
        level: Level,
        route: &Route,
        definitions: &[(KeyDefinition, Level)],
    ) -> Result<f64, CkksError> {
        let model = self.noise_model();
        let digits = definitions
            .iter()
            .map(|(definition, key_level)| definition.digits(level, *key_level))
            .collect::<Result<Vec<_>, _>>()?;
        if let (Route::TemporaryRank { .. }, Some((down, up))) = (route, digits.split_last()) {
            let (high, base) = (down.inputs, &down.digits);
            let Some(first) = up.first() else { return Ok(0.0) };
            let wide = &first.digits;
            let all = match operation {
                Operation::Multiply => model.cross_relinearisation(first.inputs, wide, high, base),
                _ => model.rank_hoisted_rotation(up.len(), wide, high, base),
            };
            return Ok(all - model.rounding());
        }
        // Each switch but the last ends with a rounding, which is counted here.
        let roundings = digits.len().saturating_sub(1) as f64 * model.rounding();
        Ok(digits.iter().map(|switched| model.products_over(switched.inputs, &switched.digits)).sum::<f64>()
            + roundings)
    }

    /// The time by `nanoseconds` with this machine's profile, and the price with the reference profile.
    pub(crate) fn timed(&self, nanoseconds: impl Fn(&MachineProfile) -> f64) -> Cost {
        Cost {
            nanoseconds: nanoseconds(self.machine_profile()),
            price: nanoseconds(MachineProfile::reference()),
            ..Cost::default()
        }
    }

    /// [`Params::timed`] for kernels of operations on residues, which take longer as a whole.
    pub(crate) fn timed_whole(&self, nanoseconds: impl Fn(&MachineProfile) -> f64) -> Cost {
        let cost = self.timed(nanoseconds);
        Cost { nanoseconds: self.machine_profile().overhead * cost.nanoseconds, ..cost }
    }

    /// The time of a transform modulo each of the first `primes` primes.
    fn transforms_time(&self, primes: usize, degree: usize) -> Cost {
        let (ring, own, reference) =
            (self.chain().ring(), self.machine_profile().at(degree), MachineProfile::reference().at(degree));
        let overhead = self.machine_profile().overhead;
        let own = |index: usize| overhead * own.transform[ring.engine().transform_class(index)];
        Cost {
            nanoseconds: (0..primes).map(own).sum(),
            price: (0..primes).map(|index| reference.transform[transform_class(&ring.moduli()[index])]).sum(),
            ..Cost::default()
        }
    }

    /// The cost of exact or floating-point matrix products with these counts.
    pub(crate) fn product_cost(&self, counts: &ProductCounts) -> Cost {
        Cost {
            multiply_adds: counts.multiply_adds as f64,
            ..self.timed(|profile| profile.product_nanoseconds(counts))
        }
    }

    /// The cost of a product of two ciphertexts at `level` before its relinearisation: `(k + 1)^2` products
    /// of polynomials. [dpad-he, Table 1]
    #[must_use]
    pub fn tensor_cost(&self, level: Level) -> Cost {
        self.rows_cost((self.rank() + 1).pow(2) * self.chain().basis(level).len())
    }

    /// The cost of `rows` products of two polynomials modulo one prime.
    pub(crate) fn rows_cost(&self, rows: usize) -> Cost {
        Cost { hadamard_products: rows as f64, ..self.passes_cost(rows) }
    }

    /// The cost of `rows` sums of two polynomials modulo one prime, or of products with a number. Each takes
    /// the time of a product of polynomials, because it reads and writes as much, but does not count as a
    /// product.
    pub(crate) fn passes_cost(&self, rows: usize) -> Cost {
        self.timed_whole(|profile| rows as f64 * profile.at(self.degree()).product)
    }

    /// The cost of the transforms of one polynomial of degree `degree` at `level` to or from `Poly<Eval>`.
    pub(crate) fn transforms_cost(&self, level: Level, degree: usize) -> Cost {
        let primes = self.chain().basis(level).len();
        Cost { transforms: primes as f64, ..self.transforms_time(primes, degree) }
    }

    /// The cost of encoding one plaintext over `basis` for the ring `ring`, which may be a subring: the
    /// transform of its numbers in double precision, then for each prime a reduction, a transform and the
    /// packing.
    pub(crate) fn encoding_cost(&self, ring: &Ring, basis: &Basis) -> Cost {
        let (degree, engine, moduli) = (ring.degree(), ring.engine(), ring.moduli());
        let time = |profile: &MachineProfile, overhead: f64, class: &dyn Fn(usize) -> usize| {
            let times = profile.at(degree);
            let rows: f64 = basis.indices().iter().map(|&index| times.transform[class(index)]).sum();
            let passes = (ENCODING_PASSES * basis.len()) as f64 * times.product;
            EMBEDDING_TRANSFORMS * times.transform[0] + overhead * (rows + passes)
        };
        let own = self.machine_profile();
        Cost {
            nanoseconds: time(own, own.overhead, &|index| engine.transform_class(index)),
            price: time(MachineProfile::reference(), 1.0, &|index| transform_class(&moduli[index])),
            transforms: basis.len() as f64,
            ..Cost::default()
        }
    }

    /// The cost of integer combinations of arrays at `level` by the rows of `matrix`: the product of `matrix`
    /// with the residues of `polys` polynomials of each input, modulo each prime. Each row of the matrix is
    /// one output.
    #[must_use]
    pub fn combination_cost(&self, matrix: &LeftMatrix, level: Level, polys: usize) -> Cost {
        let (degree, basis) = (self.degree(), self.chain().basis(level));
        let moduli = self.chain().ring().moduli();
        let mut cost = Cost::default();
        for &index in basis.indices() {
            let counts = matrix.counts(&moduli[index], degree);
            cost += self.product_cost(&counts);
        }
        let poly_bytes = (8 * degree * basis.len()) as f64;
        let (read, written) = (matrix.inner() as f64 * poly_bytes, matrix.rows() as f64 * poly_bytes);
        let polys = polys as f64;
        cost = cost.times(polys);
        // The results are written to new memory, which no cache holds.
        cost += self.timed(|profile| {
            profile
                .memory_nanoseconds(read * polys, written * polys)
                .max(written * polys * profile.read_ns_per_byte)
        });
        cost
    }

    /// The cost of a rescale from `level` of a bundle of `polys` polynomials: an inverse transform for each
    /// prime of the step, a conversion, and a forward transform for each prime that is left.
    pub(crate) fn rescale_cost(&self, level: Level, polys: usize) -> Cost {
        let (step, primes) = (self.chain().step(level).len(), self.chain().basis(level).len());
        let mut cost = Cost { transforms: primes as f64, ..self.transforms_time(primes, self.degree()) };
        cost += self
            .timed_whole(|profile| ((step + 1) * (primes - step)) as f64 * profile.at(self.degree()).convert);
        cost.times(polys as f64)
    }
}
