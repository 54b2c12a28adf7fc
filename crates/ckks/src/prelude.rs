//! Imports for programs that compute on encrypted numbers: `use clathrate_ckks::prelude::*`.
//!
//! ```
//! use clathrate_ckks::prelude::*;
//!
//! let params = Params::preset("insecure_small", &Runtime::default())?;
//! let owner = SecretKey::generate(&params)?;
//! let evaluator = Evaluator::with_keys(owner.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top))?);
//! let (x, y) = (owner.encrypt(&[1.5, -2.0])?, owner.encrypt(&[4.0, 0.5])?);
//! let product = owner.decrypt(&evaluator.multiply_rescale(&x, &y)?)?.into_real()?;
//! assert!((product[0] - 6.0).abs() < 1e-6 && (product[1] + 1.0).abs() < 1e-6);
//! # Ok::<(), CkksError>(())
//! ```

pub use crate::arrays::{Ciphertext, Encoding};
pub use crate::circuits::linear::{LinearTransform, LinearTransformPlan};
pub use crate::circuits::matrix::Weights;
pub use crate::circuits::polynomial::{Polynomial, PolynomialBasis, PolynomialPlan};
pub use crate::circuits::rank_schedule::{RankSchedule, RankSteps};
pub use crate::encoding::plaintext::Plaintext;
pub use crate::encoding::values::Values;
pub use crate::error::CkksError;
pub use crate::evaluation::Evaluator;
pub use crate::file::{FileReader, Stored};
pub use crate::keys::{
    EncryptOptions, EvaluationKeys, HonestEvaluator, KeyLevel, KeyNeeds, Lanes, PublicKey, SecretKey,
};
pub use crate::parameters::{Params, ParamsSpec, Runtime};
pub use crate::{Complex64, Level};
