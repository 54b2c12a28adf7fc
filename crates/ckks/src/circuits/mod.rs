//! Circuits over the evaluator: bootstrapping, linear transforms, polynomials, matrix products, schedules of ranks.

pub mod bootstrap;
pub mod linear;
pub mod matrix;
pub mod polynomial;
pub mod rank_schedule;
