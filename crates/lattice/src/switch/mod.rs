//! Key switching: relinearisation, rotation, changes of the secret and of the rank are one operation.
//!
//! A switch takes `R` polynomials `u_i` that contribute `u_i * T[i][b]` to the phase of body `b`, where only
//! the key's owner knows `T`, and returns a bundle under new secrets with the same contribution:
//!
//! ```text
//! b'_b + <a', s'_b>  ~  sum_i u_i * T[i][b]
//! ```
//!
//! | operation | R | T | result |
//! |---|---|---|---|
//! | relinearise at rank k | k(k+1)/2 | s_i s_j | rank k |
//! | rotate, conjugate | k | s_i, under phi^-1(s) | rank k |
//! | change of secret | k | old secret | new secret |
//! | cross-relinearise, to rank k^ > k | k(k+1)/2 | s_i s_j | s and s', of rank k^ |
//! | rank-down, rank-reduce | k^ - k | s'_i | rank k |
//! | many bodies | k | s_{b,i} | m bodies, one mask |
//!
//! Steps: decompose, inner product, mod-down. One decomposition can serve many keys (hoisting), and one
//! mod-down many products.
//!
//! The modules, lowest first:
//!
//! | module | content |
//! |---|---|
//! | [`method`] | a method of switching at one level: hybrid or KLSS, how many special primes, whether digits are merged |
//! | [`cost`] | the unit operations of a switch and their predicted time |
//! | [`representation`] | the form of a key that a method multiplies with |
//! | [`secret_matrix`], [`key`] | the matrix `T`; the key that the owner makes |
//! | [`coalesce`], [`klss`] | derive representations from a key: merged digits (level-aware), key digits over auxiliary primes |
//! | [`derived`], [`cache`] | the representations derived from one key; the byte budget for those of all keys |
//! | [`frame`], [`tables`] | the extended modulus; the tables that one level precomputes for one method |
//! | [`extended`], [`extended_linear`] | the result of a switch before its mod-down; its products with plaintexts and its automorphisms |
//! | [`hybrid`] | decomposition and products |
//! | [`planner`], [`switcher`] | the choice of each level's method; the interface that runs all steps |
//! | [`hoisted`] | baby steps of a linear transform, a few primes at a time |
//! | [`raised`] | linear maps of raised polynomials, which need no decomposition |

mod cache;
pub mod coalesce;
pub mod cost;
pub mod derived;
pub mod extended;
pub mod extended_linear;
pub mod frame;
pub mod hoisted;
mod hybrid;
pub mod key;
mod klss;
pub mod method;
pub mod planner;
pub mod raised;
pub mod representation;
pub mod secret_matrix;
pub mod switcher;
pub mod tables;

pub use cache::DerivedKeyCache;
pub use cost::{KernelTimes, MachineProfile, MatrixTimes, PricedCounts, SwitchCounts};
pub use derived::DerivedKeys;
pub use extended::Extended;
pub use extended_linear::ExtendedBodies;
pub use frame::Frame;
pub use hybrid::Digits;
pub use key::SwitchKey;
pub use method::SwitchMethod;
pub use planner::{MethodMap, MethodRow, Planner, SwitchPolicy};
pub use representation::KeyRepresentation;
pub use secret_matrix::SecretMatrix;
pub use switcher::{DEFAULT_DERIVED_KEY_BYTES, Switcher};
pub use tables::SwitchTables;
