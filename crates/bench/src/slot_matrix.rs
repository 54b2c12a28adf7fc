//! Products of two encrypted matrices slot by slot, for comparison: Jiang, Kim, Lauter, Song, "Secure
//! outsourced matrix computation" (CCS 2018).
//!
//! ```text
//! A B = sum_k phi^k(sigma(A)) * psi^k(tau(B))
//! sigma(A)[i][j] = A[i][i + j]    tau(B)[i][j] = B[i + j][j]    phi(A)[i][j] = A[i][j + 1]    psi(B)[i][j] = B[i + 1][j]
//! ```
//!
//! with indices modulo the size `s` of a block, which fills a part of the slots; two blocks share a
//! ciphertext, interleaved, so that `psi^k` is a rotation. Larger matrices are products of blocks; the terms
//! of a block of the result share one relinearisation, for the largest matrices two.

use clathrate_ckks::evaluation::combinations::ProductTerm;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, LinearTransform, Params, Plaintext, SecretKey,
};
use clathrate_lattice::Level;
use num_complex::Complex64;

/// Levels of a product: sigma, phi, the product itself.
pub const DEPTH: usize = 3;

/// Ciphertexts along the inner dimension whose rotations are in memory together, and whose products share a
/// relinearisation: 2^10 rows at degree 2^14, where the rotations of one factor take 4 GB; 2^11 rows would
/// take 17 GB.
const MAX_GROUPS: usize = 8;

/// Matrices in blocks of `side` by `side`, `together` of them in a ciphertext.
pub struct SlotProduct {
    pub side: usize,
    pub together: usize,
    sigma: LinearTransform,
    tau: LinearTransform,
}

/// An encrypted matrix: blocks by rows; a ciphertext has `together` blocks along the inner dimension.
type Blocks = Vec<Vec<Ciphertext>>;

impl SlotProduct {
    /// Blocks that fill the slots of `params`.
    pub fn new(params: &Params) -> Result<Self, CkksError> {
        let slots = params.slot_count();
        let side = 1 << (slots.ilog2() / 2);
        let together = slots / (side * side);
        let map = |source: &dyn Fn(usize, usize) -> (usize, usize)| {
            let mut diagonals: std::collections::BTreeMap<i64, Vec<Complex64>> =
                std::collections::BTreeMap::new();
            for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
                let (r, c) = source(i, j);
                let shift = (together * (r * side + c)) as i64 - (together * (i * side + j)) as i64;
                let diagonal = diagonals.entry(shift).or_insert_with(|| vec![Complex64::default(); slots]);
                (0..together)
                    .for_each(|which| diagonal[together * (i * side + j) + which] = Complex64::from(1.0));
            }
            LinearTransform::from_diagonals(slots, diagonals)
        };
        let (sigma, tau) = (map(&|i, j| (i, (i + j) % side))?, map(&|i, j| ((i + j) % side, j))?);
        Ok(Self { side, together, sigma, tau })
    }

    /// The blocks of a square matrix; with `inner_first`, rows are the inner dimension.
    pub fn encrypt(
        &self,
        owner: &SecretKey,
        matrix: &[f64],
        size: usize,
        inner_first: bool,
    ) -> Result<Blocks, CkksError> {
        let (side, together) = (self.side, self.together);
        let blocks = size / side;
        let options = EncryptOptions {
            encoding: Some(Encoding::Slots),
            level: Some(Level(DEPTH)),
            ..EncryptOptions::default()
        };
        let block = |outer: usize, group: usize| {
            let mut values = vec![0.0; together * side * side];
            for (which, i, j) in
                (0..together).flat_map(|w| (0..side).flat_map(move |i| (0..side).map(move |j| (w, i, j))))
            {
                let inner = group * together + which;
                let (row, column) = if inner_first { (inner, outer) } else { (outer, inner) };
                values[together * (i * side + j) + which] =
                    matrix[(row * side + i) * size + column * side + j];
            }
            values
        };
        let encrypt = |outer, group| {
            let values = Values::Real(block(outer, group));
            owner.encrypt_array(&values, &[together * side * side], options)
        };
        (0..blocks).map(|outer| (0..blocks / together).map(|group| encrypt(outer, group)).collect()).collect()
    }

    /// The masks of `phi^k`: columns that do not wrap around, and columns that do.
    fn masks(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Vec<[Plaintext; 2]>, CkksError> {
        let (side, together) = (self.side, self.together);
        let scale = evaluator.factor_scale(x)?;
        let mask = |k: usize, wraps: bool| {
            let kept = |index: usize| f64::from((index / together % side + k >= side) == wraps);
            let values: Vec<f64> =
                (0..together * side * side).map(|index| if kept(index) > 0.0 { 1.0 } else { 0.0 }).collect();
            evaluator.encode(
                &Values::Real(values),
                &[together * side * side],
                Encoding::Slots,
                x.level(),
                scale,
            )
        };
        (1..side).map(|k| Ok([mask(k, false)?, mask(k, true)?])).collect()
    }

    /// `phi^k(sigma(x))` for all `k`, at level 1.
    fn left(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        masks: &mut Option<Vec<[Plaintext; 2]>>,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        let x = self.sigma.apply(evaluator, x)?;
        if masks.is_none() && !x.is_symbol() {
            *masks = Some(self.masks(evaluator, &x)?);
        }
        let (side, step) = (self.side as i64, self.together as i64);
        let steps: Vec<i64> = (1..side).flat_map(|k| [step * k, step * (k - side)]).collect();
        let rotated = evaluator.rotate_many(&x, &steps)?;
        let mut all = vec![evaluator.drop_to_level(&x, Level(1))?];
        for (k, pair) in rotated.chunks_exact(2).enumerate() {
            let own;
            let [stay, wrap] = match masks {
                Some(masks) => &masks[k],
                None => {
                    own = [self.blank(evaluator, &x)?, self.blank(evaluator, &x)?];
                    &own
                }
            };
            let sum = evaluator.add(
                &evaluator.multiply_encoded(&pair[0], stay)?,
                &evaluator.multiply_encoded(&pair[1], wrap)?,
            )?;
            all.push(evaluator.rescale(&sum)?);
        }
        Ok(all)
    }

    /// A placeholder for a mask on a dry run.
    fn blank(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Plaintext, CkksError> {
        let count = self.together * self.side * self.side;
        evaluator.encode(
            &Values::Real(vec![1.0; count]),
            &[count],
            Encoding::Slots,
            x.level(),
            evaluator.factor_scale(x)?,
        )
    }

    /// `psi^k(tau(y))` for all `k`, at level 1.
    fn right(&self, evaluator: &Evaluator, y: &Ciphertext) -> Result<Vec<Ciphertext>, CkksError> {
        let y = self.tau.apply(evaluator, y)?;
        let y = evaluator.drop_to_level(&y, Level(1))?;
        let steps: Vec<i64> = (0..self.side).map(|k| (self.together * self.side * k) as i64).collect();
        evaluator.rotate_many(&y, &steps)
    }

    /// The blocks of the product, by rows; the copies of a block in a ciphertext are equal.
    pub fn multiply(&self, evaluator: &Evaluator, x: &Blocks, y: &Blocks) -> Result<Blocks, CkksError> {
        let mut masks = None;
        let mut sums: Vec<Vec<Option<Ciphertext>>> = vec![vec![None; y.len()]; x.len()];
        let groups = y.first().map_or(0, Vec::len);
        for start in (0..groups).step_by(MAX_GROUPS) {
            let some = start..groups.min(start + MAX_GROUPS);
            let rights = |column: &Vec<Ciphertext>| {
                column[some.clone()].iter().map(|y| self.right(evaluator, y)).collect()
            };
            let right: Vec<Vec<Vec<Ciphertext>>> = y.iter().map(rights).collect::<Result<_, CkksError>>()?;
            for (row, sums) in x.iter().zip(&mut sums) {
                let left = row[some.clone()]
                    .iter()
                    .map(|x| self.left(evaluator, x, &mut masks))
                    .collect::<Result<Vec<_>, _>>()?;
                for (column, sum) in right.iter().zip(sums) {
                    let pairs = left.iter().zip(column).flat_map(|(left, right)| left.iter().zip(right));
                    let terms: Vec<ProductTerm<'_>> =
                        pairs.map(|(left, right)| ProductTerm { left, right, twice: false }).collect();
                    let more = evaluator.sum_of_products_rescale(&terms, None)?;
                    *sum = Some(match sum.take() {
                        Some(sum) => evaluator.add(&sum, &more)?,
                        None => more,
                    });
                }
            }
        }
        let together = |sum: Ciphertext| {
            (0..self.together.ilog2())
                .map(|log| 1i64 << log)
                .try_fold(sum, |sum, step| evaluator.add(&sum, &evaluator.rotate(&sum, step)?))
        };
        sums.into_iter().map(|row| row.into_iter().flatten().map(together).collect()).collect()
    }

    /// The matrix in the blocks of a product.
    pub fn decrypt(&self, owner: &SecretKey, blocks: &Blocks, size: usize) -> Result<Vec<f64>, CkksError> {
        let (side, together) = (self.side, self.together);
        let mut matrix = vec![0.0; size * size];
        for (row, blocks) in blocks.iter().enumerate() {
            for (column, block) in blocks.iter().enumerate() {
                let values = owner.decrypt(block)?.into_real()?;
                for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
                    // The rotation by 1 adds both blocks only at the first of them.
                    matrix[(row * side + i) * size + column * side + j] = values[together * (i * side + j)];
                }
            }
        }
        Ok(matrix)
    }
}
