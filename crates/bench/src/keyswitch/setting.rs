//! One parameter set with its secret and key, for all measurements of the set, and the check of results.

use std::sync::Arc;

use clathrate_arith::bit_packing::{VECTOR, packed_bits};
use clathrate_arith::text::counted;
use clathrate_ckks::{CkksError, Params, Runtime};
use clathrate_lattice::switch::{MethodMap, Planner, SwitchMethod, SwitchPolicy, SwitchTables};
use clathrate_lattice::{
    Basis, Bodies, Bundle, Chain, Degree, Eval, Gadget, LatticeError, Level, Poly, Rank, SecretDistribution,
    SecretKey, SecretRng, SwitchKey, Switcher,
};
use serde_json::json;

use crate::failure::Failure;
use crate::noise::noise_bits;
use crate::timing::{Extra, Timer};
use clathrate_arith::machine;

/// Binary logarithm of the factor by which a quick run's degree is smaller.
const QUICK_SHIFT: u32 = 5;

/// Maximum bytes of derived keys that are kept: enough for one measurement.
const FORM_BYTES: usize = 9 << 30;

/// Maximum fraction of the free memory for keys and one derived key.
const MEMORY_SHARE: f64 = 0.7;

/// A parameter set with its relinearisation key.
pub struct Setting<'a> {
    pub timer: &'a Timer<'a>,
    pub preset: &'static str,
    pub params: Params,
    pub gadget: Arc<Gadget>,
    pub secret: SecretKey,
    pub key: SwitchKey,
}

/// The input of a switch at one level, and the phase of its result without noise.
pub struct Input {
    pub poly: Poly<Eval>,
    expected: Poly<Eval>,
}

/// The parameters of `preset`; for a quick run at a small, insecure degree.
pub fn params(timer: &Timer<'_>, preset: &str, runtime: &Runtime) -> Result<Params, Failure> {
    let mut spec = clathrate_ckks::parameters::preset(preset)?;
    if timer.is_quick() {
        spec.name += ", small";
        spec.degree >>= QUICK_SHIFT;
        spec.insecure = true;
    }
    Ok(Params::new(spec, runtime)?)
}

/// Bytes of one packed polynomial over moduli `indices`.
fn packed_bytes(chain: &Chain, indices: &[usize]) -> usize {
    let moduli = chain.ring().moduli();
    indices.iter().map(|&i| packed_bits(moduli[i].bits()) as usize).sum::<usize>()
        * chain.ring().degree().div_ceil(VECTOR)
}

impl<'a> Setting<'a> {
    /// The set with a new secret and key; `None` if they do not fit in memory, which an absent row reports.
    pub fn new(
        timer: &'a Timer<'a>,
        preset: &'static str,
        runtime: &Runtime,
    ) -> Result<Option<Self>, Failure> {
        let params = params(timer, preset, runtime)?;
        let chain = params.chain();
        let gadget = Arc::new(params.gadget()?.clone());
        let basis = chain.key_basis(chain.max_level());
        let key_bytes = 2 * gadget.digits().len() * packed_bytes(chain, basis.indices());
        // While it is made, a key is also in memory unpacked.
        if let Some(reason) = lacking(4.0 * key_bytes as f64) {
            timer.absent("*", preset, &reason)?;
            return Ok(None);
        }
        let mut rng = SecretRng::from_os().map_err(LatticeError::from)?;
        let secret = SecretKey::generate(
            Degree(chain.ring().degree()),
            Rank(1),
            Bodies(1),
            SecretDistribution::UniformTernary,
            &mut rng,
        )?;
        let key = SwitchKey::relinearisation(chain, &gadget, chain.max_level(), &secret, &mut rng)?;
        Ok(Some(Self { timer, preset, params, gadget, secret, key }))
    }

    /// The chain.
    pub fn chain(&self) -> &Arc<Chain> {
        self.params.chain()
    }

    /// Primes of the key: the papers' `l~`.
    pub fn all_primes(&self) -> usize {
        self.key.basis().len()
    }

    /// The level with `primes` ciphertext primes.
    pub fn level(&self, primes: usize) -> Result<Level, Failure> {
        let level = self.chain().level_of(&Basis::new(0..primes));
        level.ok_or_else(|| {
            let reason = format!("{} has no level with {}", self.preset, counted(primes, "prime"));
            Failure::Core(CkksError::InvalidParams { reason })
        })
    }

    /// A separate switcher for keys of one input.
    pub fn switcher(&self, policy: SwitchPolicy) -> Result<Switcher, Failure> {
        Ok(Switcher::with_policy(self.chain().clone(), self.gadget.clone(), policy, 1, FORM_BYTES)?)
    }

    /// A switcher that plans like the set's, with derived keys of up to `expansion` times a key's bytes.
    pub fn planning(&self, expansion: f64) -> Result<Switcher, Failure> {
        let profile = match self.params.switcher()?.policy() {
            SwitchPolicy::Planned(planner) => planner.profile().clone(),
            SwitchPolicy::Fixed(_) => clathrate_lattice::switch::MachineProfile::built_in(),
        };
        self.switcher(SwitchPolicy::Planned(Planner::new(profile, 2, expansion)))
    }

    /// A ciphertext of zero.
    pub fn zero(&self, level: Level) -> Result<Bundle<Eval>, Failure> {
        let mut rng = SecretRng::from_os().map_err(LatticeError::from)?;
        Ok(Bundle::encrypt_zero(&self.secret, self.chain().ring(), &self.chain().basis(level), &mut rng)?)
    }

    /// A uniform polynomial `u` to be relinearised: the result's phase is `u s^2`.
    pub fn input(&self, level: Level) -> Result<Input, Failure> {
        let poly = self.zero(level)?.mask().at(0).to_owned();
        let mut expected = poly.clone();
        for _ in 0..2 {
            let zero = Poly::zero(self.chain().ring(), &self.chain().basis(level));
            expected = self.phase(&Bundle::new(vec![expected], vec![zero])?)?;
        }
        Ok(Input { poly, expected })
    }

    /// The phase of a bundle of one body.
    pub fn phase(&self, bundle: &Bundle<Eval>) -> Result<Poly<Eval>, Failure> {
        Ok(bundle.phase(&self.secret)?.swap_remove(0))
    }

    /// Bits of the largest coefficient of the error of `switched`.
    pub fn noise_of_switch(&self, switched: &Bundle<Eval>, input: &Input) -> Result<f64, Failure> {
        self.noise(switched, &input.expected)
    }

    /// Bits of the largest coefficient of `phase(bundle) - expected`; large for a wrong result.
    pub fn noise(&self, bundle: &Bundle<Eval>, expected: &Poly<Eval>) -> Result<f64, Failure> {
        noise_bits(self.phase(bundle)?, expected)
    }

    /// Bytes of the key that one switch by `plan` reads: two polynomials per digit and key digit.
    pub fn key_bytes(&self, plan: &SwitchTables) -> usize {
        let (groups, rows) = match plan.key_digits() {
            None => (1, plan.extended().indices().to_vec()),
            Some((groups, primes)) => (groups, self.chain().auxiliary_basis().indices()[..primes].to_vec()),
        };
        2 * plan.digit_count() * groups * packed_bytes(self.chain(), &rows)
    }

    /// The reason if a derived key of `bytes` is not made.
    pub fn lacking_form(&self, bytes: usize) -> Option<String> {
        if bytes > FORM_BYTES {
            return Some(format!("a derived key of {:.1} GB", bytes as f64 / 1e9));
        }
        lacking(bytes as f64)
    }

    /// The fields of a row about its plan.
    pub fn extra(&self, plan: &SwitchTables) -> Extra {
        let mut extra = choice_extra(plan.method());
        let more = json!({
            "preset": self.preset,
            "primes": plan.basis().len(),
            "ring_degree": self.chain().ring().degree(),
            "special_primes": plan.special().len(),
            "digits": plan.digit_count(),
            "key_bytes": self.key_bytes(plan),
            "quick": self.timer.is_quick(),
        });
        extra.extend(more.as_object().cloned().unwrap_or_default());
        if let Some((groups, auxiliary)) = plan.key_digits() {
            extra.insert("key_digits".to_owned(), json!(groups));
            extra.insert("auxiliary_primes".to_owned(), json!(auxiliary));
        }
        extra
    }

    /// The name of the parameters in rows.
    pub fn label(&self, primes: usize, choice: SwitchMethod) -> String {
        let (method, tail) = match choice.key_digit {
            None => ("hybrid", String::new()),
            Some(length) => ("klss", format!(" r~={length}")),
        };
        format!("{} l={primes} {method} r={}{tail}", self.preset, choice.special)
    }

    /// The methods that `switcher` planned for this key.
    pub fn map(&self, switcher: &Switcher) -> Option<Arc<MethodMap>> {
        switcher.map(self.key.level())
    }
}

/// Method and primes per digit.
pub fn choice_extra(choice: SwitchMethod) -> Extra {
    let mut extra = Extra::new();
    extra.insert("method".to_owned(), json!(if choice.key_digit.is_some() { "klss" } else { "hybrid" }));
    extra.insert("digit".to_owned(), json!(choice.special));
    if let Some(length) = choice.key_digit {
        extra.insert("key_digit".to_owned(), json!(length));
    }
    extra
}

/// The reason if `bytes` more do not fit; `None` if they do.
fn lacking(bytes: f64) -> Option<String> {
    let free = machine::memory()?.free_bytes;
    let enough = bytes <= free as f64 * MEMORY_SHARE;
    (!enough)
        .then(|| format!("{:.1} GB do not fit in {:.1} GB of free memory", bytes / 1e9, free as f64 / 1e9))
}
