//! Base conversion between RNS bases: a small matrix product per coefficient.
//!
//! For `x` given by residues modulo `q_0 .. q_{r-1}` (product `D`), with `y_i = [x c_i (D/q_i)^-1] mod q_i`,
//!
//! ```text
//! x c = sum_i y_i D/q_i - z D,      z = round(sum_i y_i / q_i)       (centred, exact)
//! ```
//!
//! so a target residue is `sum_i y_i [D/q_i]_p + z [-D]_p`: a row of a matrix with one column per source and
//! one for `z`. The caller chooses the constants `c_i`, so that a product with the inverse factors of a
//! gadget costs nothing extra. Source: [klss, sec. 2.2, Eqs. (3), (4)]; differs: the representative is
//! centred, in `[-D/2, D/2]`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::limbs::{LimbForm, LimbWeights};
use crate::modulus::{Modulus, Multiplier};

/// Which of the integers with the given residues is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// The representative in `[-D/2, D/2]`, found with one floating-point sum (an integer within 2^-45 of the
    /// boundary may be replaced by the one on the other side).
    Centred,
    /// Some representative in `[0, r D)` for `r` sources: no correction, so one multiplication less.
    Approximate,
}

/// Precomputed conversion from source moduli to target moduli.
#[derive(Debug, Clone)]
pub struct BaseConversion {
    pub(crate) rounding: Rounding,
    /// Engine indices of the source moduli.
    pub(crate) sources: Vec<usize>,
    /// Engine indices of the target moduli.
    pub(crate) targets: Vec<usize>,
    /// Per source: `c_i (D/q_i)^-1 mod q_i`.
    pub(crate) prepare: Vec<Multiplier>,
    /// Per source: `1 / q_i`.
    pub(crate) inverse_moduli: Vec<f64>,
    /// Per target: `[D/q_i]_p` for each source, then `[-D]_p` when centred.
    pub(crate) weights: Vec<Vec<u64>>,
    /// The constants to write the integer that the sources represent in limbs, and for each target the
    /// factors of the limbs; `None` where the sources are too wide or too many.
    pub(crate) limbs: Option<(LimbForm, Vec<LimbWeights>)>,
    /// Every `y_i` and `z` is below `2^y_bits`.
    pub(crate) y_bits: u32,
    /// Tables that the engine which made the conversion keeps in its own memory.
    engine_tables: Option<EngineTables>,
}

/// Tables of an engine in its own memory, of a type that only this engine knows.
#[derive(Clone)]
pub struct EngineTables(Arc<dyn Any + Send + Sync>);

impl EngineTables {
    /// Wraps an engine's own tables.
    #[must_use]
    pub fn new(tables: impl Any + Send + Sync) -> Self {
        Self(Arc::new(tables))
    }

    /// The tables, if they are of type `T`.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for EngineTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineTables")
    }
}

impl BaseConversion {
    /// Prepares the conversion of `x * c` from `moduli[sources]` to `moduli[targets]`, `constants[i]` being
    /// `c` modulo source `i`.
    ///
    /// Returns `None` when a source modulus is not coprime to the others (a chain never repeats a prime).
    #[must_use]
    pub fn new(
        moduli: &[Modulus],
        sources: &[usize],
        targets: &[usize],
        constants: &[u64],
        rounding: Rounding,
    ) -> Option<Self> {
        let product_without = |skip: Option<usize>, modulus: &Modulus| {
            let others = sources.iter().enumerate().filter(|&(i, _)| Some(i) != skip);
            others.fold(1, |product, (_, &s)| modulus.mul(product, moduli[s].value()))
        };
        let prepare = sources
            .iter()
            .zip(constants)
            .enumerate()
            .map(|(i, (&s, &c))| {
                let modulus = &moduli[s];
                let inverse = modulus.inverse(product_without(Some(i), modulus))?;
                Some(modulus.multiplier(modulus.mul(c, inverse)))
            })
            .collect::<Option<Vec<_>>>()?;
        let weights = targets
            .iter()
            .map(|&t| {
                let modulus = &moduli[t];
                let mut row: Vec<u64> =
                    (0..sources.len()).map(|i| product_without(Some(i), modulus)).collect();
                if rounding == Rounding::Centred {
                    row.push(modulus.neg(product_without(None, modulus)));
                }
                row
            })
            .collect();
        let values: Vec<u64> = sources.iter().map(|&s| moduli[s].value()).collect();
        let limbs = LimbForm::new(&values, rounding == Rounding::Centred).map(|form| {
            let weights = targets.iter().map(|&t| form.weights(&moduli[t])).collect();
            (form, weights)
        });
        Some(Self {
            rounding,
            sources: sources.to_vec(),
            targets: targets.to_vec(),
            prepare,
            inverse_moduli: sources.iter().map(|&s| 1.0 / moduli[s].value() as f64).collect(),
            limbs,
            weights,
            y_bits: sources.iter().map(|&s| moduli[s].bits()).max().unwrap_or(1).max(8),
            engine_tables: None,
        })
    }

    /// The same conversion with additional tables in an engine's memory.
    #[must_use]
    pub fn with_engine_tables(self, tables: EngineTables) -> Self {
        Self { engine_tables: Some(tables), ..self }
    }

    /// The tables of the engine that made the conversion, if it keeps any.
    #[must_use]
    pub fn engine_tables(&self) -> Option<&EngineTables> {
        self.engine_tables.as_ref()
    }

    /// The matrix: for each target the residues `[D/q_i]_p` of each source, then `[-D]_p` where the
    /// conversion is centred.
    #[must_use]
    pub fn weights(&self) -> &[Vec<u64>] {
        &self.weights
    }

    /// For each source the factor `c_i (D/q_i)^-1 mod q_i`.
    pub fn prepare_factors(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.prepare.iter().map(|factor| factor.value)
    }

    /// Which of the integers with the given residues is converted.
    #[must_use]
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }

    /// Columns of the matrix: the sources, and `z` when centred.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.sources.len() + usize::from(self.rounding == Rounding::Centred)
    }

    /// Engine indices of the source moduli.
    #[must_use]
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// Engine indices of the target moduli.
    #[must_use]
    pub fn targets(&self) -> &[usize] {
        &self.targets
    }
}
