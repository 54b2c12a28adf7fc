//! Circuits over the evaluator: bootstrapping, conversions between the encodings, linear transforms,
//! polynomials, matrix products, products of encrypted matrices, prepared matrices, plans of products,
//! packing, samples to slots, schedules of ranks.

pub mod automatic;
pub mod bootstrap;
pub mod conversion;
pub mod encrypted_matrix;
pub mod linear;
pub mod mambo;
pub mod matrix;
pub mod matrix_plan;
pub mod packing_plan;
pub mod polynomial;
pub mod prepared;
pub mod rank_schedule;
pub mod samples;
pub mod transcipher;
