//! Sums over the slots of a row, which require zero padding, and the clearing of padding.

use super::evaluator::{Evaluator, check_slots, joined};
use crate::arrays::{BodyAxis, Ciphertext, Estimate, Layout, Padding};
use crate::error::CkksError;

/// The operation's name in errors.
const TOTAL: &str = "the sum of a row";
const BROADCAST: &str = "a repetition of one number";
const CLEARING: &str = "clearing the padding";

impl Evaluator {
    /// The sum of every row: an array of one column.
    ///
    /// Chunks are added first, then the slots, by rotations by half the capacity, a quarter, .., 1. The padding is added too, so it must be zero.
    ///
    /// # Errors
    /// [`CkksError::DirtyPadding`]; [`CkksError::NoRotationKey`], [`CkksError::NoKey`]; [`CkksError::Encoding`] unless slots; [`CkksError::SharedMask`] where
    /// chunks of a row are under different secrets.
    pub fn total(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, TOTAL)?;
        x.check_padding(TOTAL)?;
        if x.layout.axis == BodyAxis::Chunks && x.layout.bodies > 1 && x.layout.chunks > 1 {
            return Err(CkksError::SharedMask {
                operation: TOTAL,
                bodies: x.layout.bodies,
                reason: "chunks of a row under one mask are under different secrets and cannot be added",
                remedy: "take the bodies apart with split_mask, or put rows under one mask",
            });
        }
        let chunks = x.layout.bundles_per_line();
        let mut bundles = Vec::with_capacity(x.bundles.len() / chunks);
        for line in x.bundles.chunks_exact(chunks) {
            let mut sum = line[0].clone();
            line[1..].iter().try_for_each(|bundle| sum.add_assign(bundle))?;
            bundles.push(sum);
        }
        // Each row is now a single chunk.
        let one = Layout { columns: x.layout.columns.min(x.layout.capacity), chunks: 1, ..x.layout };
        let mut sum = x.with_layout(one, bundles).estimated(|own| own.scale(chunks as f64));
        self.spend(&sum, || {
            Ok(sum.params.passes_cost(sum.polys_per_bundle() * sum.params.chain().basis(sum.level).len()).times((chunks - 1) as f64))
        })?;
        let mut step = x.layout.capacity / 2;
        while step > 0 {
            for turned in self.rotate_slots(&sum, &[step as i64])? {
                sum.bundles.iter_mut().zip(&turned.bundles).try_for_each(|(sum, turned)| sum.add_assign(turned))?;
                self.spend_pass(&sum)?;
                sum = joined(sum, &turned, Estimate::plus);
            }
            step /= 2;
        }
        let mut shape = x.shape.clone();
        shape.pop();
        shape.push(1);
        // Every slot now holds the sum, so the slots repeat with period 1.
        let layout = x.layout.of_shape(&shape)?;
        Ok(Ciphertext { shape, ..sum.laid_out(layout) })
    }

    /// Repeats the column of an array of one column: each row has `columns` equal numbers. The padding holds the number too, so it is dirty.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless there is one column; [`CkksError::Encoding`] unless slots; [`CkksError::SharedMask`] where the row would need several chunks
    /// under one mask; [`CkksError::Empty`], [`CkksError::OutOfRange`].
    pub fn broadcast(&self, x: &Ciphertext, columns: usize) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, BROADCAST)?;
        if (x.layout.columns, x.layout.capacity) != (1, 1) {
            let remedy = "repeat arrays of one column, as sums of rows are".to_owned();
            return Err(CkksError::Shape { operation: BROADCAST, left: x.shape.clone(), right: vec![columns], remedy });
        }
        let mut shape = x.shape.clone();
        shape.pop();
        shape.push(columns);
        let layout = x.layout.of_shape(&shape)?.with_padding(Padding::Dirty);
        if layout.chunks > 1 && x.layout.axis == BodyAxis::Chunks && x.layout.bodies > 1 {
            return Err(CkksError::SharedMask {
                operation: BROADCAST,
                bodies: x.layout.bodies,
                reason: "the chunks of a row would be under different secrets",
                remedy: "take the bodies apart with split_mask, or put rows under one mask",
            });
        }
        let bundles = x.bundles.iter().flat_map(|bundle| std::iter::repeat_n(bundle.clone(), layout.chunks)).collect();
        Ok(Ciphertext { shape, ..x.with_layout(layout, bundles) })
    }

    /// The same array with zero padding, computed as a product with ones and zeros that is not yet rescaled. An array whose padding is zero is returned
    /// unchanged.
    ///
    /// # Errors
    /// As [`Evaluator::multiply_plain`]; [`CkksError::Encoding`] unless slots.
    pub fn clear_padding(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if x.padding() == Padding::Zero {
            return Ok(x.clone());
        }
        check_slots(x, CLEARING)?;
        self.multiply_plain(x, &vec![1.0; x.layout.rows * x.layout.columns])
    }
}
