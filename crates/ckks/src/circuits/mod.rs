//! Circuits of several operations: bootstrapping, conversions between encodings, linear transforms,
//! polynomials, products with plain, encrypted and prepared matrices, packing, samples to slots, rank
//! schedules.

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
