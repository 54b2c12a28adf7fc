//! The places of the numbers: in samples, among the coefficients to which samples are packed, and in the
//! result.

use clathrate_arith::kernels::scalar::bit_reverse;

use super::ends::Ends;
use crate::arrays::{Encoding, Layout, Order};
use crate::error::CkksError;
use crate::evaluation::Members;

impl Ends {
    /// The layout of samples as an array of this shape.
    pub(super) fn layout_of(&self, shape: &[usize]) -> Result<Layout, CkksError> {
        let degree = self.samples.degree();
        let order = if degree == 1 { Order::Natural } else { Order::BitReversed };
        Ok(Layout::new(shape, Encoding::Coefficients, degree)?.with_order(order))
    }

    /// The number of ciphertexts to which `count` numbers are packed.
    pub(super) fn polys(&self, count: usize) -> usize {
        let in_each = if self.half.is_real() { self.half.slots() } else { 2 * self.half.slots() };
        count.div_ceil(in_each)
    }

    /// The layout of the result.
    pub(super) fn result_layout(&self, count: usize) -> Result<Layout, CkksError> {
        let (degree, slots) = (self.half.params().degree(), self.half.slots());
        let length = if self.pairs { count.div_ceil(2) } else { count };
        let layout = Layout::new(&[length], Encoding::Slots, degree)?;
        if self.pairs { layout.with_complex()?.with_capacity(slots) } else { layout.with_capacity(slots) }
    }

    /// The places of `count` numbers among the coefficients: pairs in bit-reversed order, which
    /// coefficients-to-slots turns into natural order. Returns the layout and, for each ciphertext, the
    /// samples that it is packed from, by powers of `X`.
    pub(in crate::circuits) fn placed(&self, count: usize) -> Result<(Layout, Members), CkksError> {
        let (target, slots, degree) = (self.half.params(), self.half.slots(), self.samples.degree());
        let (polys, gap) = (self.polys(count), target.degree() / degree);
        let layout = Layout::new(&[polys * slots], Encoding::Coefficients, target.degree())?;
        let layout = layout.with_complex()?.with_capacity(slots)?.with_order(Order::BitReversed);
        let (stride, half) = (layout.stride(), target.degree() / 2);
        let mut members = vec![vec![None; gap]; polys];
        if degree > 1 {
            let in_each = 2 * slots / degree;
            for sample in 0..count / degree {
                members[sample / in_each][stride * bit_reverse(sample % in_each, in_each.trailing_zeros())] =
                    Some(sample);
            }
            return Ok((layout, members));
        }
        let place = |t: usize| stride * bit_reverse(t, slots.trailing_zeros());
        for entry in 0..count {
            let (poly, part, t) = match (self.pairs, self.half.is_real()) {
                (true, _) => (entry / (2 * slots), entry % 2, entry / 2 % slots),
                (false, true) => (entry / slots, 0, entry % slots),
                (false, false) => (entry / (2 * slots), entry / slots % 2, entry % slots),
            };
            members[poly][part * half + place(t)] = Some(entry);
        }
        Ok((layout, members))
    }
}
