//! Products of two ciphertexts, relinearised and rescaled: DPad-HE and ModHE of one set, as made and planned,
//! in turns. [dpad-he, Tables 4, 6, 7]

use clathrate_ckks::Runtime;
use clathrate_ckks::parameters::KeyModulus;
use clathrate_lattice::switch::SwitchCounts;
use clathrate_lattice::{
    Bodies, Bundle, Degree, Eval, LatticeError, MaskSeed, Poly, PolyRef, Rank, SecretKey, SwitchKey,
    Switcher, TemporaryRank,
};
use serde_json::json;

use super::sets::Set;
use super::setting::{KeyBytes, Keys, Setting, announce, entropy, insert, key_bytes, lacking, peak_bytes};
use super::{MULTIPLY, Work};
use crate::failure::Failure;
use crate::timing::{Extra, Timer};

/// Maximum number of inputs per part of a key that is made in parts.
const LONGEST_PART: usize = 4;

/// Inputs per part of a key of `inputs` inputs; all parts are equal.
fn part_length(inputs: usize) -> usize {
    (1..=LONGEST_PART).rev().find(|&length| inputs.is_multiple_of(length)).unwrap_or(1)
}

/// Bytes of a stored key: the bodies as words, and the seed of the masks.
fn stored_bytes(chain: &clathrate_lattice::Chain, key: &SwitchKey) -> usize {
    8 * key.inputs() * key.digit_count() * key.body_count() * key.basis().len() * chain.ring().degree()
        + size_of::<MaskSeed>()
}

/// How a product is relinearised.
enum Relinearisation<'k> {
    /// By one switch. [dpad-he, sec. 3.1]
    Direct(&'k Switcher, &'k SwitchKey),
    /// Through the temporary rank. [dpad-he, Algorithm 1]
    TemporaryRank(TemporaryRank<'k>, &'k SwitchKey),
    /// By one switch whose key is made in parts of fewer inputs.
    Parts(&'k Switcher, &'k [SwitchKey]),
}

impl Relinearisation<'_> {
    fn multiply(&self, x: &Bundle<Eval>, y: &Bundle<Eval>) -> Result<Bundle<Eval>, LatticeError> {
        let tensor = x.tensor(y)?;
        match self {
            Self::Direct(switcher, key) => tensor.relinearise_rescale(switcher, key),
            Self::TemporaryRank(crossing, up) => tensor.cross_relinearise_rescale(*crossing, up),
            Self::Parts(switcher, keys) => {
                let quadratic: Vec<PolyRef<'_, Eval>> = tensor.quadratic().iter().collect();
                let mut products = quadratic
                    .chunks(keys.first().map_or(1, SwitchKey::inputs))
                    .zip(keys.iter().cycle())
                    .map(|(part, key)| switcher.product(part, key));
                let first = products.next().ok_or(LatticeError::EmptyShape { what: "the rank", got: 0 })?;
                let mut sum =
                    products.try_fold(first?, |mut sum, product| sum.add_assign(&product?).map(|()| sum))?;
                // These polynomials stand for the product's linear terms, which are as many.
                sum.add_lifted(x.polys())?;
                switcher.mod_down_rescale(&sum)
            }
        }
    }

    /// Transforms and Hadamard products of one product, by the counts of the plans.
    fn counts(&self, setting: &Setting<'_>) -> Result<(f64, f64), Failure> {
        let (level, rank) = (setting.top(), setting.rank());
        let (primes, columns) = (setting.chain().basis(level).len() as f64, (rank + 1) as f64);
        let tensor = columns * columns * primes;
        let transforms = |counts: &SwitchCounts| counts.transforms.iter().sum::<f64>();
        let hadamard = |counts: &SwitchCounts| counts.conversions + counts.products;
        let direct = |switcher: &Switcher, key: &SwitchKey| -> Result<(f64, f64), Failure> {
            let plan = switcher.tables_for_keys(level, &[key])?;
            let counts = switcher.counts(&plan, setting.products(), rank + 1);
            Ok((transforms(&counts), tensor + hadamard(&counts)))
        };
        match self {
            Self::Direct(switcher, key) => direct(switcher, key),
            Self::Parts(switcher, keys) => direct(switcher, &keys[0]),
            Self::TemporaryRank(crossing, up) => {
                let (wide, base) = (
                    crossing.wide.tables_for_keys(level, &[*up])?,
                    crossing.base.tables_for_keys(level, &[crossing.down])?,
                );
                let further = up.rank() - rank;
                let first = crossing.wide.counts(&wide, setting.products(), up.rank() + 1);
                let second = crossing.base.counts(&base, further, rank + 1);
                // The switch back starts in Coeff form and has no separate mod-down.
                let special = base.special().len() as f64;
                let spared = further as f64 * primes + columns * (primes + special);
                let mod_down = columns * (special + 1.0) * primes;
                Ok((
                    transforms(&first) + transforms(&second) - spared,
                    tensor + hadamard(&first) + hadamard(&second) - mod_down,
                ))
            }
        }
    }
}

/// The keys of one set that fit in memory.
struct Made {
    /// The key of ModHE or RNS-CKKS, or its parts.
    direct: Vec<SwitchKey>,
    /// The secrets from which the parts switch, if the key is made in parts.
    parts: Option<Vec<SecretKey>>,
    /// The keys to the temporary rank and back.
    crossing: Option<(SwitchKey, SwitchKey)>,
    /// Predicted peak of memory.
    peak: usize,
    /// Bytes of a complete relinearisation key.
    whole: KeyBytes,
}

/// Measures `set`: RNS-CKKS at rank 1, otherwise both schemes.
pub fn run(timer: &Timer<'_>, set: &Set, runtime: &Runtime) -> Result<(), Failure> {
    let setting = Setting::new(timer, set.name, &set.spec(timer.is_quick())?, runtime)?;
    let Some(made) = make(&setting)? else { return Ok(()) };
    let mut products: Vec<(&str, Keys, Relinearisation<'_>)> = Vec::new();
    let direct = if setting.rank() == 1 { "rns_ckks" } else { "modhe" };
    for keys in Keys::ALL {
        match (&made.parts, made.direct.first()) {
            (Some(_), Some(_)) if keys == Keys::AsMade => {
                products.push((direct, keys, Relinearisation::Parts(setting.direct(keys), &made.direct)))
            }
            (None, Some(key)) => {
                products.push((direct, keys, Relinearisation::Direct(setting.direct(keys), key)))
            }
            _ => {
                let reason = "its key does not fit in memory whole, and parts are used as they are made";
                timer.absent(MULTIPLY, &format!("{} {direct} {}", set.name, keys.name()), reason)?;
            }
        }
        if let Some((up, down)) = &made.crossing
            && let Some(crossing) = setting.crossing(keys, down)
        {
            products.push(("dpad", keys, Relinearisation::TemporaryRank(crossing, up)));
        }
    }
    let (x, y) = (setting.uniform()?, setting.uniform()?);
    let mut noise = Vec::new();
    for (_, _, product) in &products {
        noise.push(setting.noise(
            &product.multiply(&x, &y)?,
            &expected(&setting, product, made.parts.as_deref(), (&x, &y))?,
        )?);
    }
    let mut works: Vec<Work<'_, Bundle<Eval>>> = Vec::new();
    for (_, _, product) in &products {
        works.push(Box::new(|| Ok(product.multiply(&x, &y)?)));
    }
    let times = timer.measure_turns(&mut works)?;
    drop(works);
    for (((scheme, keys, product), times), noise) in products.iter().zip(&times).zip(noise) {
        let mut extra = describe(&setting, &made, *keys, product)?;
        insert(
            &mut extra,
            &json!({ "scheme": scheme, "noise_bits": noise, "predicted_peak_bytes": made.peak }),
        );
        timer.print((MULTIPLY, &format!("{} {scheme} {}", set.name, keys.name())), times, &extra)?;
    }
    Ok(())
}

/// All keys that fit: the key of ModHE complete if possible, otherwise in parts, which are used several times
/// if not all of them fit.
fn make(setting: &Setting<'_>) -> Result<Option<Made>, Failure> {
    let (timer, level, rank, products) = (setting.timer, setting.top(), setting.rank(), setting.products());
    let (chain, gadget) = (setting.chain(), setting.params(Keys::AsMade).gadget()?);
    let mut crossing_bytes = Vec::new();
    if let Some(temporary) = setting.params(Keys::AsMade).temporary() {
        let wide = &setting.params(Keys::AsMade).key_switching(KeyModulus::Widened)?.switcher;
        crossing_bytes.push(key_bytes(wide.chain(), wide.gadget(), level, products, temporary.rank + 1));
        crossing_bytes.push(key_bytes(chain, gadget, level, temporary.rank - rank, rank + 1));
    }
    if let Some(reason) = lacking(peak_bytes(&crossing_bytes, true)) {
        timer.absent(MULTIPLY, setting.name, &reason)?;
        return Ok(None);
    }
    let whole = key_bytes(chain, gadget, level, products, rank + 1);
    let length = part_length(products);
    let part = key_bytes(chain, gadget, level, length, rank + 1);
    let all = |own: &[KeyBytes]| peak_bytes(&[own, &crossing_bytes].concat(), true);
    // Takes the largest number of parts that fits and divides the number of all parts, so that each is used
    // equally often.
    let whole_fits = lacking(all(&[whole])).is_none();
    let counts = (1..=products / length).rev().filter(|&count| (products / length).is_multiple_of(count));
    let parts = counts
        .into_iter()
        .find(|&count| !whole_fits && lacking(all(&vec![part; count])).is_none())
        .unwrap_or(0);
    let peak = if whole_fits { all(&[whole]) } else { all(&vec![part; parts]) };
    announce(timer, setting.name, peak);
    let mut rng = entropy()?;
    let (mut direct, mut froms) = (Vec::new(), Vec::new());
    if whole_fits {
        direct.push(SwitchKey::relinearisation(chain, gadget, level, &setting.secret, &mut rng)?);
    }
    for _ in 0..parts {
        let from = SecretKey::generate(
            Degree(setting.secret.degree()),
            Rank(length),
            Bodies(1),
            setting.secret.distribution(),
            &mut rng,
        )?;
        direct.push(SwitchKey::change_of_secret(chain, gadget, level, &from, &setting.secret, &mut rng)?);
        froms.push(from);
    }
    let crossing = match setting.params(Keys::AsMade).temporary() {
        Some(temporary) => {
            let secret = setting.temporary_secret(temporary.rank)?;
            let wide = &setting.params(Keys::AsMade).key_switching(KeyModulus::Widened)?.switcher;
            let (chain_up, gadget_up) = (wide.chain(), wide.gadget());
            let base = &setting.secret;
            let up = SwitchKey::cross_relinearisation(chain_up, gadget_up, level, base, &secret, &mut rng)?;
            Some((up, SwitchKey::rank_down(chain, gadget, level, &secret, rank, &mut rng)?))
        }
        None => None,
    };
    Ok(Some(Made { direct, parts: (parts > 0).then_some(froms), crossing, peak, whole }))
}

/// The phase of the product without noise.
fn expected(
    setting: &Setting<'_>,
    product: &Relinearisation<'_>,
    parts: Option<&[SecretKey]>,
    (x, y): (&Bundle<Eval>, &Bundle<Eval>),
) -> Result<Poly<Eval>, Failure> {
    let mut phase = setting.phase(x)?;
    match (product, parts) {
        (Relinearisation::Parts(..), Some(parts)) => {
            let tensor = x.tensor(y)?;
            let quadratic: Vec<PolyRef<'_, Eval>> = tensor.quadratic().iter().collect();
            for (part, from) in quadratic.chunks(part_length(setting.products())).zip(parts.iter().cycle()) {
                for (poly, secret) in part.iter().zip(from.eval(x.ring(), x.basis(), 0)) {
                    let mut product = poly.to_owned();
                    product.mul_assign(secret.get())?;
                    phase.add_assign(&product)?;
                }
            }
        }
        _ => phase.mul_assign(&setting.phase(y)?)?,
    }
    setting.rescaled(phase)
}

fn describe(
    setting: &Setting<'_>,
    made: &Made,
    keys: Keys,
    product: &Relinearisation<'_>,
) -> Result<Extra, Failure> {
    let (chain, level) = (setting.chain(), setting.top());
    let mut extra = setting.extra(keys, matches!(product, Relinearisation::TemporaryRank(..)));
    let held: Vec<&SwitchKey> = match product {
        Relinearisation::Direct(_, key) => vec![key],
        Relinearisation::Parts(_, keys) => keys.iter().collect(),
        Relinearisation::TemporaryRank(crossing, up) => vec![up, crossing.down],
    };
    let derived: usize =
        if keys == Keys::Planned { held.iter().map(|key| key.derived().bytes()).sum() } else { 0 };
    let mut sizes = (
        held.iter().map(|key| key.bytes()).sum::<usize>(),
        held.iter().map(|key| stored_bytes(chain, key)).sum::<usize>(),
    );
    if let Relinearisation::Parts(_, parts) = product {
        // Sizes of the complete key.
        let polys = made.whole.words / (setting.rank() + 1);
        sizes = (made.whole.packed, polys + size_of::<MaskSeed>());
        insert(
            &mut extra,
            &json!({ "key_parts": setting.products() / parts[0].inputs(), "key_parts_in_memory": parts.len() }),
        );
    }
    let (transforms, hadamard) = product.counts(setting)?;
    let switcher = match product {
        Relinearisation::Direct(switcher, _) | Relinearisation::Parts(switcher, _) => switcher,
        Relinearisation::TemporaryRank(crossing, _) => crossing.base,
    };
    let plan = switcher.tables_for_keys(level, &held[held.len() - 1..])?;
    insert(
        &mut extra,
        &json!({
            "key_bytes": sizes.0 + derived,
            "stored_key_bytes": sizes.1,
            "special_primes": plan.special().len(),
            "digits": plan.digit_count(),
            "transforms": transforms.round() as u64,
            "hadamard": hadamard.round() as u64,
            "choice": choice(&plan),
        }),
    );
    if let Relinearisation::TemporaryRank(crossing, up) = product {
        let wide = crossing.wide.tables_for_keys(level, &[*up])?;
        let more = json!({ "temporary_primes": wide.special().len(), "wide_digits": wide.digit_count(), "wide_choice": choice(&wide) });
        insert(&mut extra, &more);
    }
    Ok(extra)
}

/// The method that a plan chose.
fn choice(plan: &clathrate_lattice::switch::SwitchTables) -> serde_json::Value {
    let choice = plan.method();
    let method = if choice.key_digit.is_some() { "klss" } else { "hybrid" };
    json!({ "method": method, "special": choice.special, "coalesced": choice.coalesced, "key_digit": choice.key_digit })
}
