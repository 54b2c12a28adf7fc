//! One parameter set with its secret and switchers, for products and rotations; the check of results, and of
//! memory.

use std::sync::Arc;

use clathrate_arith::bit_packing::{VECTOR, packed_bits};
use clathrate_ckks::parameters::{DEFAULT_KEY_EXPANSION, KeyModulus, Switching};
use clathrate_ckks::{Params, ParamsSpec, Runtime};
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::switch::{MachineProfile, Planner, SwitchMethod, SwitchPolicy};
use clathrate_lattice::{
    Bodies, Bundle, Chain, Degree, Eval, Gadget, LatticeError, Level, Poly, Rank, SecretKey, SecretRng,
    SwitchKey, Switcher, TemporaryRank,
};
use serde_json::json;

use crate::failure::Failure;
use crate::noise::noise_bits;
use crate::timing::{Extra, Timer};
use clathrate_arith::machine;

/// Maximum bytes of derived keys.
pub const FORM_BYTES: usize = 6 << 30;

/// Maximum bytes of keys while they are made, for any free memory.
const MAX_BYTES: usize = 15_000_000_000;

/// Maximum fraction of the free memory for keys.
const MEMORY_SHARE: f64 = 0.85;

/// Peaks above this are announced.
const WORTH_TELLING: usize = 2_000_000_000;

/// Bytes of a measurement in addition to keys: ciphertexts, digits, tables.
const OTHER_BYTES: usize = 500 << 20;

/// How keys are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// With the digits as made: of one prime, and at the temporary rank of `P^`.
    AsMade,
    /// As the planner chooses.
    Planned,
}

impl Keys {
    /// Both.
    pub const ALL: [Self; 2] = [Self::AsMade, Self::Planned];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsMade => "as_made",
            Self::Planned => "planned",
        }
    }

    /// The parameters of `spec` with this key switching.
    pub fn params(self, spec: &ParamsSpec, runtime: &Runtime) -> Result<Params, Failure> {
        self.params_within(spec, DEFAULT_KEY_EXPANSION, runtime)
    }

    /// The parameters with derived keys of at most `expansion` times a key's bytes.
    pub fn params_within(
        self,
        spec: &ParamsSpec,
        expansion: f64,
        runtime: &Runtime,
    ) -> Result<Params, Failure> {
        let switching = match self {
            Self::AsMade => Switching::AsMade,
            Self::Planned => Switching::Fastest,
        };
        let limits =
            Runtime { key_expansion: Some(expansion), key_cache_bytes: Some(FORM_BYTES), ..runtime.clone() };
        Ok(Params::new(spec.clone(), &Runtime { switching, ..limits })?)
    }
}

/// A parameter set with a fresh secret.
pub struct Setting<'a> {
    pub timer: &'a Timer<'a>,
    pub name: &'static str,
    pub secret: SecretKey,
    params: [Params; 2],
    /// Switchers of complete relinearisations at the set's rank.
    direct: [Switcher; 2],
}

/// The bytes of one key in memory, as used and as made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBytes {
    /// Packed.
    pub packed: usize,
    /// One word per residue, which a key also takes while it is made.
    pub words: usize,
}

/// The bytes of a key over `chain` up to `level`, from `inputs` to `columns` polynomials (rank and bodies).
pub fn key_bytes(chain: &Chain, gadget: &Gadget, level: Level, inputs: usize, columns: usize) -> KeyBytes {
    let (basis, moduli, degree) = (chain.key_basis(level), chain.ring().moduli(), chain.ring().degree());
    let polys = inputs * gadget.digit_count(chain, level) * columns;
    let bits: usize = basis.indices().iter().map(|&index| packed_bits(moduli[index].bits()) as usize).sum();
    KeyBytes { packed: polys * bits * degree.div_ceil(VECTOR), words: 8 * polys * basis.len() * degree }
}

/// Peak memory of keys that are made one after the other: all keys packed, and in addition the largest one as
/// words, or later the derived keys.
pub fn peak_bytes(keys: &[KeyBytes], planned: bool) -> usize {
    let largest = keys.iter().map(|key| key.words).max().unwrap_or(0);
    let packed: usize = keys.iter().map(|key| key.packed).sum();
    let derived = if planned { FORM_BYTES.min((DEFAULT_KEY_EXPANSION * packed as f64) as usize) } else { 0 };
    packed + largest.max(derived) + OTHER_BYTES
}

/// Maximum expansion of these keys such that no derived key is evicted and derived again.
pub fn expansion(keys: &[KeyBytes]) -> f64 {
    let packed: usize = keys.iter().map(|key| key.packed).sum();
    DEFAULT_KEY_EXPANSION.min(FORM_BYTES as f64 / packed.max(1) as f64)
}

/// The reason if `bytes` do not fit; `None` if they do.
pub fn lacking(bytes: usize) -> Option<String> {
    let free =
        machine::memory().map_or(MAX_BYTES, |memory| (memory.free_bytes as f64 * MEMORY_SHARE) as usize);
    let most = free.min(MAX_BYTES);
    (bytes > most).then(|| {
        format!(
            "keys would take {:.1} GB while they are made, at most {:.1} GB are there",
            gb(bytes),
            gb(most)
        )
    })
}

/// Bytes in 10^9.
pub fn gb(bytes: usize) -> f64 {
    bytes as f64 / 1e9
}

/// Prints a note about large keys before they are made.
pub fn announce(timer: &Timer<'_>, label: &str, peak: usize) {
    if peak > WORTH_TELLING {
        timer.note(&format!("{label}: keys take up to {:.1} GB while they are made", gb(peak)));
    }
}

/// Randomness of the operating system.
pub fn entropy() -> Result<SecretRng, Failure> {
    Ok(SecretRng::from_os().map_err(LatticeError::from)?)
}

/// The fields of rows about a chain.
pub fn chain_extra(set: &str, params: &Params) -> Extra {
    let (chain, top, rank) = (params.chain(), params.max_level(), params.rank());
    let primes = chain.basis(top).len();
    let (temporary, widened) = (params.temporary(), params.key_switching(KeyModulus::Widened).ok());
    let log_p = |chain: &Chain| chain.special_basis().log2(chain.ring());
    let extra = json!({
        "set": set,
        "preset": params.spec().name,
        "degree": params.degree(),
        "rank": rank,
        "temporary_rank": temporary.map(|temporary| temporary.rank),
        "primes": primes,
        "log_q": params.log2_q(top),
        "log_p": log_p(chain),
        "log_temporary_p": widened.map(|widened| log_p(widened.switcher.chain())),
        "security": estimated_bits(params.shape().dimension(), params.log2_qp(), params.spec().distribution()),
        "temporary_security": widened.map(|widened| widened.security_bits),
        "slots": params.slot_count(),
        "ciphertext_bytes": 8 * (rank + 1) * primes * params.degree(),
    });
    extra.as_object().cloned().unwrap_or_default()
}

/// Inserts the fields of an object.
pub fn insert(extra: &mut Extra, fields: &serde_json::Value) {
    extra.extend(fields.as_object().cloned().unwrap_or_default());
}

impl<'a> Setting<'a> {
    /// The set of `spec` with a fresh secret.
    pub fn new(
        timer: &'a Timer<'a>,
        name: &'static str,
        spec: &ParamsSpec,
        runtime: &Runtime,
    ) -> Result<Self, Failure> {
        let params = [Keys::AsMade.params(spec, runtime)?, Keys::Planned.params(spec, runtime)?];
        let direct = [relineariser(&params[0])?, relineariser(&params[1])?];
        let secret = SecretKey::generate(
            Degree(spec.degree),
            Rank(spec.rank),
            Bodies(1),
            spec.distribution(),
            &mut entropy()?,
        )?;
        Ok(Self { timer, name, secret, params, direct })
    }

    /// The parameters.
    pub fn params(&self, keys: Keys) -> &Params {
        &self.params[keys as usize]
    }

    /// Switches `k (k + 1) / 2` polynomials to rank `k`.
    pub fn direct(&self, keys: Keys) -> &Switcher {
        &self.direct[keys as usize]
    }

    /// The chain without temporary primes.
    pub fn chain(&self) -> &Arc<Chain> {
        self.params[0].chain()
    }

    /// The top level.
    pub fn top(&self) -> Level {
        self.params[0].max_level()
    }

    /// The rank of the set.
    pub fn rank(&self) -> usize {
        self.params[0].rank()
    }

    /// Polynomials that the relinearisation of a product switches.
    pub fn products(&self) -> usize {
        self.rank() * (self.rank() + 1) / 2
    }

    /// The switchers to the temporary rank and back, with the key `down`.
    pub fn crossing<'k>(&'k self, keys: Keys, down: &'k SwitchKey) -> Option<TemporaryRank<'k>> {
        let params = self.params(keys);
        let wide = &params.key_switching(KeyModulus::Widened).ok()?.switcher;
        Some(TemporaryRank { wide, base: params.switcher().ok()?, down })
    }

    /// A new secret of the temporary rank that extends this one.
    pub fn temporary_secret(&self, rank: usize) -> Result<SecretKey, Failure> {
        let further = rank - self.rank();
        let distribution = self.params[0].spec().distribution();
        let extra = SecretKey::generate(
            Degree(self.secret.degree()),
            Rank(further),
            Bodies(1),
            distribution,
            &mut entropy()?,
        )?;
        Ok(self.secret.join_rank(&extra)?)
    }

    /// An encryption of a uniform polynomial at the top level.
    pub fn uniform(&self) -> Result<Bundle<Eval>, Failure> {
        let (ring, basis, mut rng) = (self.chain().ring(), self.chain().basis(self.top()), entropy()?);
        let mut zero = || Bundle::encrypt_zero(&self.secret, ring, &basis, &mut rng);
        let (mut bundle, other) = (zero()?, zero()?);
        bundle.add_message(0, other.mask().at(0))?;
        Ok(bundle)
    }

    /// The phase of a bundle of one body.
    pub fn phase(&self, bundle: &Bundle<Eval>) -> Result<Poly<Eval>, Failure> {
        Ok(bundle.phase(&self.secret)?.swap_remove(0))
    }

    /// `round(x / q)` for the top step `q`.
    pub fn rescaled(&self, x: Poly<Eval>) -> Result<Poly<Eval>, Failure> {
        Ok(self.chain().rescale_division(self.top())?.divide_eval(&x)?)
    }

    /// Bits of the largest coefficient of `phase(bundle) - expected`; large for a wrong result.
    pub fn noise(&self, bundle: &Bundle<Eval>, expected: &Poly<Eval>) -> Result<f64, Failure> {
        noise_bits(self.phase(bundle)?, expected)
    }

    /// The fields of rows about the chain, without those of the temporary rank if it is not used.
    pub fn extra(&self, keys: Keys, by_temporary: bool) -> Extra {
        let mut extra = chain_extra(self.name, self.params(keys));
        if !by_temporary {
            insert(
                &mut extra,
                &json!({ "temporary_rank": null, "log_temporary_p": null, "temporary_security": null }),
            );
        }
        insert(&mut extra, &json!({ "keys": keys.name(), "quick": self.timer.is_quick() }));
        extra
    }
}

/// The parameters' switcher, planned for complete relinearisations at their rank.
fn relineariser(params: &Params) -> Result<Switcher, Failure> {
    let (own, rank) = (params.switcher()?, params.rank());
    let policy = match own.policy() {
        SwitchPolicy::Fixed(_) => SwitchPolicy::Fixed(SwitchMethod::as_made(params.chain())),
        SwitchPolicy::Planned(planner) => {
            let profile: MachineProfile = planner.profile().clone();
            SwitchPolicy::Planned(Planner::new(profile, rank + 1, DEFAULT_KEY_EXPANSION))
        }
    };
    let gadget = Arc::new(params.gadget()?.clone());
    Ok(Switcher::with_policy(params.chain().clone(), gadget, policy, rank * (rank + 1) / 2, FORM_BYTES)?)
}
