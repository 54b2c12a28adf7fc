//! Many polynomials are bootstrapped some at a time: what the stages keep is that of a few polynomials, and
//! progress is told, and a wish to stop is heard, between them.

use clathrate_lattice::{Bundle, Eval};

use super::plan::{BOOTSTRAP, BootstrapPlan};
use crate::arrays::{Ciphertext, Padding};
use crate::error::CkksError;
use crate::evaluation::Evaluator;

/// The approximate number of polynomials that are bootstrapped at a time.
const AT_A_TIME: usize = 8;

impl BootstrapPlan {
    /// The number of polynomials that are bootstrapped at a time, a multiple of the bodies of a mask.
    pub(in crate::circuits) fn group(&self) -> usize {
        self.bodies * (AT_A_TIME / self.bodies).max(1)
    }
}

/// Runs `work` on groups of `size` polynomials of each of `parts`, all of which have equally many
/// polynomials. Joins the results to arrays of the shapes of `parts`. `work` receives an evaluator whose
/// steps are those of the whole.
pub(in crate::circuits) fn in_groups(
    evaluator: &Evaluator,
    parts: &[Ciphertext],
    size: usize,
    mut work: impl FnMut(&Evaluator, &[Ciphertext]) -> Result<Vec<Ciphertext>, CkksError>,
) -> Result<Vec<Ciphertext>, CkksError> {
    let Some(first) = parts.first() else { return Err(CkksError::no_terms(BOOTSTRAP)) };
    let polys = first.layout.bundles();
    if polys <= size || first.is_symbol() || first.layout.bodies() > 1 {
        return work(evaluator, parts);
    }
    let groups = polys.div_ceil(size);
    let mut done: Vec<(Vec<Bundle<Eval>>, Option<Ciphertext>)> =
        parts.iter().map(|_| (Vec::with_capacity(polys), None)).collect();
    let whole = evaluator.progress().steps(0);
    for group in 0..groups {
        let slice = |x: &Ciphertext| {
            let own: Vec<_> = x.bundles.iter().skip(group * size).take(size).cloned().collect();
            let (rows, columns) = (own.len(), x.layout.capacity());
            let layout = x.layout.of_polynomials(rows, columns).with_padding(Padding::Zero);
            x.with_all((&x.params, vec![rows, columns]), layout, own, (x.level, x.scale))
        };
        let own: Vec<Ciphertext> = parts.iter().map(slice).collect();
        let evaluator = evaluator.for_part(&whole, move |done, all| (group * all + done, groups * all));
        let fresh = work(&evaluator, &own)?;
        for ((bundles, last), mut fresh) in done.iter_mut().zip(fresh) {
            bundles.append(&mut fresh.bundles);
            *last = Some(fresh);
        }
    }
    let together = |((bundles, last), x): ((Vec<Bundle<Eval>>, Option<Ciphertext>), &Ciphertext)| {
        let fresh = last.ok_or(CkksError::Internal { operation: BOOTSTRAP })?;
        let layout = fresh.layout.of_rows(x.layout.rows()).of_columns(x.layout.columns());
        let layout = layout.with_padding(x.padding());
        Ok(fresh.with_all((&fresh.params, x.shape.clone()), layout, bundles, (fresh.level, fresh.scale)))
    };
    done.into_iter().zip(parts).map(together).collect()
}
