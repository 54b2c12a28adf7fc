//! Circuits over the evaluator: bootstrapping, linear transforms, polynomials, matrix products, prepared matrices, packing, schedules of ranks.

pub mod bootstrap;
pub mod linear;
pub mod matrix;
pub mod packing;
pub mod polynomial;
pub mod prepared;
pub mod rank_schedule;
