//! Circuits over the evaluator: polynomials, matrix products, schedules of ranks.

pub mod matrix;
pub mod polynomial;
pub mod rank_schedule;
