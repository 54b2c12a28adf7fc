//! What a dry run writes down: the operations that need keys, and how often each key is used.

use std::collections::BTreeMap;

use clathrate_lattice::Level;

use crate::keys::{KeyAddress, KeyNeeds, Operation, Reach};
use crate::parameters::Params;

/// The keys that a dry run met.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    needs: KeyNeeds,
    uses: BTreeMap<(KeyAddress, Level), usize>,
}

impl Recording {
    /// Writes down `operation` on `bundles` bundles at the shape of `params`; `root` is the shape that the needs are stated for.
    pub(crate) fn write(&mut self, root: &Params, params: &Params, operation: Operation, level: Level, bundles: usize) {
        let need = |needs: KeyNeeds| needs.operation(operation, Reach::Level(level.0));
        let needs = std::mem::take(&mut self.needs);
        self.needs = if params == root { need(needs) } else { needs.relative(params.shape(), &need(KeyNeeds::new())) };
        for key in params.full_route(operation, level).iter().flat_map(crate::keys::route::Route::keys) {
            *self.uses.entry((key, level)).or_default() += bundles;
        }
    }

    /// The operations, each at the highest level it is used at.
    #[must_use]
    pub fn needs(&self) -> &KeyNeeds {
        &self.needs
    }

    /// How often each key is used at each level, by the route that a complete key set gives.
    pub fn uses(&self) -> impl Iterator<Item = (KeyAddress, Level, usize)> {
        self.uses.iter().map(|(&(key, level), &count)| (key, level, count))
    }
}
