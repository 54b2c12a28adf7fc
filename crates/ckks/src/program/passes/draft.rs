//! A graph that a pass writes, node by node, from another one.

use std::sync::Arc;

use super::super::RecordedFunction;
use super::super::forecast::ValueForecast;
use super::super::schedule::values_of;
use crate::encrypted_array::{ArrayGraph, ArrayOperation, GraphNode, GraphOperand, PlacesId, PlainArray};

/// What is known of a value that was written.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) shape: Vec<usize>,
    /// How often it is used, if everything after it is written as it was.
    pub(super) uses: usize,
    /// Whether it stands for a value of the old graph.
    stands: bool,
}

/// A value as a function of another one.
pub(super) trait KnownByBase {
    /// The value `base` as itself.
    fn itself(base: usize) -> Self;

    /// The value that it is a function of.
    fn base(&self) -> usize;

    /// Whether one operation in place of those that lead to it may be better.
    fn is_worthwhile(&self) -> bool;
}

/// A graph in the making. Values of the old graph and those of the new one have numbers of their own.
#[derive(Debug)]
pub(super) struct Draft<'f> {
    function: &'f RecordedFunction,
    /// Of the values of the old graph.
    pub(super) known: &'f [ValueForecast],
    pub(super) depths: &'f [usize],
    /// How often the values of the old graph are used, as results, too.
    pub(super) uses: Vec<usize>,
    graph: ArrayGraph,
    written: Vec<Written>,
    /// The new value in place of each old one.
    images: Vec<usize>,
}

impl<'f> Draft<'f> {
    /// A draft with the inputs alone.
    pub(super) fn of(
        function: &'f RecordedFunction,
        known: &'f [ValueForecast],
        depths: &'f [usize],
    ) -> Self {
        let old = &function.graph;
        let mut uses = vec![0; known.len()];
        old.nodes.iter().flat_map(values_of).chain(function.results.iter().copied()).for_each(|value| {
            uses[value] += 1;
        });
        let graph = ArrayGraph { nodes: Vec::new(), ..old.clone() };
        let written = known[..old.inputs].iter().zip(&uses);
        let written =
            written.map(|(own, &uses)| Written { shape: own.shape.clone(), uses, stands: true }).collect();
        Self { function, known, depths, uses, graph, written, images: (0..old.inputs).collect() }
    }

    /// The old graph.
    pub(super) fn old(&self) -> &'f ArrayGraph {
        &self.function.graph
    }

    /// The function with the graph that `write` makes, without what is not used.
    pub(super) fn finish(mut self, write: impl FnOnce(&mut Self)) -> RecordedFunction {
        write(&mut self);
        let results: Vec<usize> = self.function.results.iter().map(|&value| self.images[value]).collect();
        let (graph, results) = self.graph.pruned(&results);
        RecordedFunction { graph, results, ..self.function.clone() }
    }

    /// Writes every node by `rule`, which gives its value, or as it was.
    pub(super) fn rewrite(&mut self, mut rule: impl FnMut(&mut Self, usize) -> Option<usize>) {
        for index in 0..self.old().nodes.len() {
            let written = rule(self, index);
            let value = written.unwrap_or_else(|| self.copy(index));
            self.place(index, value);
        }
    }

    /// Lets the new `value` stand for node `index` of the old graph.
    fn place(&mut self, index: usize, value: usize) {
        let old = self.old().inputs + index;
        let uses = self.uses[old];
        self.images.push(value);
        let own = &mut self.written[value];
        own.uses = if own.stands { own.uses + uses } else { uses };
        own.stands = true;
    }

    /// The operand of an old node in the new graph.
    pub(super) fn image(&self, operand: GraphOperand) -> GraphOperand {
        match operand {
            GraphOperand::Value(value) => GraphOperand::Value(self.images[value]),
            other => other,
        }
    }

    /// The operands of node `index` of the old graph in the new one.
    pub(super) fn operands(&self, index: usize) -> Vec<GraphOperand> {
        self.old().nodes[index].operands.iter().map(|&operand| self.image(operand)).collect()
    }

    /// The shape and the stage of node `index` of the old graph.
    pub(super) fn place_of(&self, index: usize) -> Place<'f> {
        let old = self.old();
        let node = &old.nodes[index];
        Place { shape: &self.known[old.inputs + index].shape, stage: &node.stage, origin: node.origin }
    }

    /// Node `index` as it was.
    pub(super) fn copy(&mut self, index: usize) -> usize {
        let operation = self.old().nodes[index].operation.clone();
        self.push(operation, self.operands(index), self.place_of(index))
    }

    /// A new node, used once.
    pub(super) fn push(
        &mut self,
        operation: ArrayOperation,
        operands: Vec<GraphOperand>,
        place: Place<'_>,
    ) -> usize {
        let (stage, origin) = (place.stage.to_owned(), place.origin);
        self.graph.nodes.push(GraphNode { operation, operands, stage, origin });
        self.written.push(Written { shape: place.shape.to_vec(), uses: 1, stands: false });
        self.written.len() - 1
    }

    /// Plain numbers as an operand.
    pub(super) fn constant(&mut self, numbers: PlainArray) -> GraphOperand {
        self.graph.constants.push(Arc::new(numbers));
        GraphOperand::Constant(self.graph.constants.len() - 1)
    }

    /// A list of places.
    pub(super) fn places(&mut self, list: Vec<Option<usize>>) -> PlacesId {
        self.graph.places.push(Arc::new(list));
        PlacesId(self.graph.places.len() - 1)
    }

    /// Writes values as functions of others, their bases: `of` tells what old node is, from what is known of
    /// the values before it, and `write` writes what is worth it. A value that only others of the same base
    /// take is left to them.
    pub(super) fn gather<K: KnownByBase>(
        &mut self,
        mut of: impl FnMut(&Self, &[K], usize) -> Option<K>,
        write: impl Fn(&mut Self, &K, usize) -> Option<usize>,
    ) {
        let old = self.old();
        let mut all: Vec<K> = (0..old.inputs).map(K::itself).collect();
        for index in 0..old.nodes.len() {
            let own = of(self, &all, index);
            all.push(own.unwrap_or_else(|| K::itself(old.inputs + index)));
        }
        let mut parts = vec![0; all.len()];
        for (index, node) in old.nodes.iter().enumerate() {
            for value in values_of(node) {
                parts[value] += usize::from(all[value].base() == all[old.inputs + index].base());
            }
        }
        self.rewrite(|draft, index| {
            let value = old.inputs + index;
            let own = &all[value];
            let is_left = own.base() == value || parts[value] == draft.uses[value] || !own.is_worthwhile();
            if is_left { None } else { write(draft, own, index) }
        });
    }

    /// The plain numbers of an operand.
    pub(super) fn numbers(&self, operand: GraphOperand) -> Option<Arc<PlainArray>> {
        match operand {
            GraphOperand::Constant(constant) => self.graph.constants.get(constant).cloned(),
            _ => None,
        }
    }

    /// The node of the new graph that gives a value; none for inputs.
    pub(super) fn node(&self, value: usize) -> Option<&GraphNode> {
        self.graph.nodes.get(value.checked_sub(self.graph.inputs)?)
    }

    /// What is known of a value of the new graph.
    pub(super) fn written(&self, value: usize) -> &Written {
        &self.written[value]
    }
}

/// Where a node stands: the shape of its value, the stage that it belongs to, and its number in a repeated
/// part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) shape: &'p [usize],
    pub(super) stage: &'p str,
    pub(super) origin: Option<usize>,
}
