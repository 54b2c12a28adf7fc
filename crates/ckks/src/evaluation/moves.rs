//! Conversions of ciphertexts between the shapes of one family: other ranks, and other degrees of equal
//! dimension.
//!
//! ```text
//! to_rank     (n, k) -> (n, k')          down: a switch by a reduction key; up: zeros
//! to_rlwe     (n, k) -> (n g, k / g)     embed and add up the components, log2 g stages of automorphisms there
//! to_mlwe     (n, k) -> (n / g, k g)     extract: no key
//! to_lwe      (n, k) -> (1, k n)         extract every coefficient
//! ```
//!
//! Slots stay in the powers of `X^g`, which are component 0. Coefficients are spread over `g` components, and
//! the [`Layout`] records the place of each. A rank reduction between two changes of the degree is a ring
//! switch: `to_mlwe(4)`, `to_rank(2)`, `to_rlwe()`. Source: [dpad-he, sec. 3.1.1, 4].

use clathrate_lattice::{Bundle, Eval, Poly, Ring};

use super::evaluator::{Evaluator, KeyQuery};
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, SecretName};
use crate::error::CkksError;
use crate::keys::route::trace_operations;
use crate::keys::{Found, Operation};
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// The operation's name in errors.
const REDUCTION: &str = "a reduction of the rank";
const HIGHER_RANK: &str = "a move to a higher rank";
const TO_RLWE: &str = "a conversion to a higher degree";
const TO_MLWE: &str = "a conversion to a lower degree";
const TO_RING: &str = "a switch to a smaller ring";
const TO_LWE: &str = "a conversion to LWE samples";

impl Evaluator {
    /// The same array at rank `rank`: a lower rank with reduction keys, or a higher rank, up to that of the
    /// parameters, by appending zeros to the mask.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`]; [`CkksError::Level`] if the lower rank is not secure at this
    /// level; [`CkksError::WrongSecret`] for a reduction under a secret other than the main one;
    /// parameter and secret errors.
    pub fn to_rank(&self, x: &Ciphertext, rank: usize) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if rank == x.params.rank() {
            return Ok(x.clone());
        }
        let target = x.params.at_rank(rank)?;
        if rank > x.params.rank() {
            check_nested(x, HIGHER_RANK)?;
            if x.params.is_for_samples() && matches!(x.secret, SecretName::Device(_)) {
                let reason =
                    "samples of this dimension are under a secret of their own, which is no part of a larger one: pack them".to_owned();
                return Err(CkksError::Unsuitable { operation: HIGHER_RANK, reason });
            }
            return Ok(x.moved(
                &target,
                x.bundles.iter().map(|bundle| bundle.rank_up(rank)).collect::<Result<_, _>>()?,
            ));
        }
        x.check_main(REDUCTION)?;
        if x.level > target.max_level() {
            return Err(CkksError::level_too_high(
                REDUCTION,
                target.shape(),
                x.level.0,
                target.max_level().0,
            ));
        }
        let keys = self.keys_of(KeyQuery::new(REDUCTION, Operation::ReduceRank(rank), x))?;
        let bundles = self.applied(keys.as_ref(), x)?;
        self.switched(&x.params, x.moved(&target, bundles), Operation::ReduceRank(rank), x.level, 1.0)
    }

    /// The same array at rank 1 and the degree of equal dimension. If the rank is not a power of two, its odd
    /// factor remains as the rank.
    ///
    /// Joins components of coefficients. Coefficients that were never split become the coefficients of the
    /// powers of `X^g`. Cost: one automorphism for each pair of components, and one for each further doubling
    /// of the degree.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for rows of more than `n / 2` slots; [`CkksError::NoRelativeKeys`],
    /// [`CkksError::MissingKey`] without the keys of [`Params::rlwe_needs`](crate::Params::rlwe_needs).
    pub fn to_rlwe(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let (from, target) = (x.params.shape(), x.params.relative(x.params.rlwe_shape())?);
        if target == x.params {
            if from.rank == 1 {
                return Ok(x.clone());
            }
            let reason =
                format!("rank {} is odd: only a power of two of the rank can become degree", from.rank);
            return Err(CkksError::Unsuitable { operation: TO_RLWE, reason });
        }
        check_convertible(x, from.degree, TO_RLWE)?;
        if x.encoding() == Encoding::Coefficients {
            x.check_one_lane(TO_RLWE)?;
        }
        let operations = trace_operations(x.secret, from.degree, target.degree());
        let operations = operations
            .ok_or(CkksError::NoKeys { operation: TO_RLWE })
            .or_else(|error| x.check_main(TO_RLWE).and(Err(error)))?;
        let gap = target.degree() / from.degree;
        let layout = x.layout.merge_degree(gap);
        let members = members_of(&x.layout, &layout, gap);
        let switches =
            |stage: usize| members.iter().map(|members| switches_of_stage(members, stage)).sum::<usize>();
        let stages = members.first().map_or(0, |members| members.len().trailing_zeros() as usize);
        // A bundle at the higher degree uses all slots, so no two of its rotations are equal.
        let find = |(stage, &operation): (usize, &Operation)| {
            self.keys_of(KeyQuery::new(TO_RLWE, operation, x).under(&target).switching(switches(stage)))
        };
        let keys: Option<Vec<Found<'_>>> =
            operations.iter().enumerate().map(find).collect::<Result<Vec<_>, _>>()?.into_iter().collect();
        // Every stage doubles the coefficients that it keeps, and with them the errors of earlier switches;
        // the message was divided by `gap` in advance.
        let with_errors = |moved: Ciphertext| -> Result<Ciphertext, CkksError> {
            let mut noise = moved.clone().estimated(Estimate::without_numbers);
            for operation in operations.iter().copied() {
                noise = self.switched(
                    &target,
                    noise.estimated(|own| own.errors_times(2.0)),
                    operation,
                    x.level,
                    1.0,
                )?;
            }
            let slots = x.encoding() == Encoding::Slots;
            // A slot is a sum of all coefficients; the higher degree has more.
            let own = x.estimate.clone().errors_times(if slots { (gap as f64).sqrt() } else { 1.0 });
            Ok(moved.estimated(|_| own.with_noise_of(noise.estimate.clone(), 1)))
        };
        // A dry run has no bundles and no keys.
        let Some(keys) = keys.filter(|_| !x.is_symbol()) else {
            let moved = x.moved_as(&target, layout, Vec::new());
            self.record(&moved, || {
                let odd: usize = members.iter().map(|members| odd_nodes(members)).sum();
                let rows = odd * moved.polys_per_bundle() * target.chain().basis(x.level).len();
                let mut cost = target.rows_cost(rows);
                cost += target.transforms_cost(x.level, target.degree()).times(stages as f64);
                if from.degree == 1 {
                    // LWE samples are embedded and transformed coefficient by coefficient.
                    let samples = members.iter().flatten().flatten().count() * moved.polys_per_bundle();
                    cost += target.transforms_cost(x.level, target.degree()).times(samples as f64);
                    cost += target.passes_cost(2 * samples * target.chain().basis(x.level).len());
                }
                Ok(cost.times(1.0 / layout.bundles() as f64))
            })?;
            return with_errors(moved);
        };
        let packing = TraceTree::new(&target, x, (gap, stages), keys)?;
        let pack = |members: &Vec<Option<usize>>| {
            packing
                .pack(&members.iter().map(|index| index.map(|index| &x.bundles[index])).collect::<Vec<_>>())
        };
        let bundles = members.iter().map(pack).collect::<Result<_, _>>()?;
        with_errors(x.moved_as(&target, layout, bundles))
    }

    /// The same array at rank `rank` and the degree of equal dimension. Rearranges coefficients and needs no
    /// key.
    ///
    /// Slots stay in one bundle; the noise of the other coefficients is dropped. Neighbouring coefficients go
    /// to different bundles, as the layout of the result records.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] if `rank` is not the current rank times a power of two, or rows do not fit
    /// the slots of the lower degree.
    pub fn to_mlwe(&self, x: &Ciphertext, rank: usize) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let from = x.params.shape();
        if rank == from.rank {
            return Ok(x.clone());
        }
        check_nested(x, TO_MLWE)?;
        let gap = if rank.is_multiple_of(from.rank) { rank / from.rank } else { 0 };
        if !gap.is_power_of_two() || gap > from.degree {
            let reason = format!(
                "rank {rank} is not rank {} times a power of two up to the degree, {}",
                from.rank, from.degree
            );
            return Err(CkksError::Unsuitable { operation: TO_MLWE, reason });
        }
        self.to_lower_degree(x, gap, TO_MLWE)
    }

    /// The rows of `x`, which share polynomials, as samples in the smaller ring of degree `degree` under its
    /// secret. Each polynomial is switched to that secret in the powers of `X^k` and split into rows
    /// ([`Evaluator::to_mlwe`]); then the parts of the masks that belong to the secret's zeros are dropped.
    /// [pcmm-mambo, sec. 2, ring switching]
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for rows that are longer than the ring's polynomials; missing keys.
    pub(crate) fn rows_in_ring(&self, x: &Ciphertext, degree: usize) -> Result<Ciphertext, CkksError> {
        if x.encoding() == Encoding::Slots {
            x.check_one_lane(TO_RING)?;
        }
        let (lanes, whole) = (x.layout.lanes(), x.params.degree());
        if whole > degree * lanes {
            let reason =
                format!("rows of degree {} do not fit into the ring of degree {degree}", whole / lanes);
            return Err(CkksError::Unsuitable { operation: TO_RING, reason });
        }
        let switched = self.switched_secret(x, SecretName::Embedded(degree))?;
        let rows = self.to_lower_degree(&switched, lanes, TO_RING)?;
        // Components are numbered by the reversed bits of their powers of X, so the nonzero components of the
        // secret come first.
        let target =
            x.params.for_samples(ModuleShape { degree: whole / lanes, rank: degree * lanes / whole })?;
        let bundles = rows
            .bundles
            .iter()
            .map(|bundle| bundle.leading_masks(target.rank()))
            .collect::<Result<_, _>>()?;
        Ok(Ciphertext { secret: SecretName::Packing, ..rows.moved(&target, bundles) })
    }

    /// Every number of the array as an LWE sample of dimension `k n`, a bundle of degree 1. Number `t` of a
    /// row is bundle `t` of the row. Needs no key.
    ///
    /// A complex number becomes two samples, as the result's layout records.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless coefficients.
    pub fn to_lwe(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if x.encoding() == Encoding::Slots {
            let (expected, got) = (Encoding::Coefficients.name().to_owned(), x.encoding().name().to_owned());
            return Err(CkksError::Encoding { operation: TO_LWE, expected, got });
        }
        if x.params.degree() > 1 {
            check_nested(x, TO_LWE)?;
        }
        self.to_lower_degree(x, x.params.degree(), TO_LWE)
    }

    /// The same array at degree `n / gap` and rank `k gap`.
    fn to_lower_degree(
        &self,
        x: &Ciphertext,
        gap: usize,
        operation: &'static str,
    ) -> Result<Ciphertext, CkksError> {
        let from = x.params.shape();
        if gap == 1 {
            return Ok(x.clone());
        }
        let target =
            x.params.for_samples(ModuleShape { degree: from.degree / gap, rank: from.rank * gap })?;
        check_convertible(x, target.degree(), operation)?;
        let (before, after) = (x.layout, x.layout.split_degree(gap)?);
        let ring = target.chain().ring();
        if before.encoding() == Encoding::Coefficients {
            self.record(x, || {
                let mut cost =
                    x.params.transforms_cost(x.level, from.degree).times(x.polys_per_bundle() as f64);
                let (polys, per_bundle) =
                    (target.rank() + after.bodies(), after.bundles() as f64 / before.bundles() as f64);
                cost += x.params.transforms_cost(x.level, target.degree()).times(polys as f64 * per_bundle);
                Ok(cost)
            })?;
        }
        if x.is_symbol() || before.encoding() == Encoding::Slots {
            let bundles = x.bundles.iter().map(|bundle| bundle.extract(ring)).collect::<Result<_, _>>()?;
            // A slot is a sum of fewer coefficients; the noise of the dropped ones vanishes.
            let kept = if before.encoding() == Encoding::Slots { (gap as f64).sqrt().recip() } else { 1.0 };
            return Ok(x.moved_as(&target, after, bundles).estimated(|own| own.errors_times(kept)));
        }
        if before.lanes() > 1 {
            return Ok(x.moved_as(&target, after, rows_of(x, ring)?));
        }
        // LWE samples count as components here.
        let split =
            before.in_components(target.degree(), before.components() * gap / before.stride().min(gap));
        let inner = split.components() / before.components();
        let mut bundles = Vec::with_capacity(after.bundles());
        for line in 0..split.lines() {
            for group in 0..split.groups() {
                // A component of a polynomial in `Coeff` is a selection of its coefficients; the transforms
                // that follow have the lower degree.
                let mut sources = Vec::new();
                for component in 0..split.stored_components(group) {
                    let (outer, place) = (component % before.components(), component / before.components());
                    if place == 0 {
                        sources.push(x.bundles[before.bundle(line, group, outer)].clone().into_coeff());
                    }
                    // The component has the powers of X that are `place` times the stride modulo `gap`; its
                    // index is their bit reversal.
                    let power = place * (gap / inner);
                    let part = power.reverse_bits() >> (usize::BITS - gap.trailing_zeros());
                    bundles.push(sources[outer].extract_component(ring, part)?.into_eval());
                }
            }
        }
        Ok(x.moved_as(&target, after, bundles))
    }
}

/// The components of every bundle, each of which is a row. [pcmm-mambo, App. A, ModDecomp]
fn rows_of(x: &Ciphertext, ring: &Ring) -> Result<Vec<Bundle<Eval>>, CkksError> {
    let (count, lanes) = (x.layout.rows(), x.layout.lanes());
    let mut rows = Vec::with_capacity(count);
    for bundle in x.bundles() {
        let source = bundle.clone().into_coeff();
        for lane in (0..lanes).take(count - rows.len()) {
            // Components are numbered by the reversed bits of their power of X.
            let component = lane.reverse_bits() >> (usize::BITS - lanes.trailing_zeros());
            rows.push(source.extract_component(ring, component)?.into_eval());
        }
    }
    Ok(rows)
}

/// For each ciphertext of a result, the indices of the samples that are packed into it, by powers of `X`.
pub(crate) type Members = Vec<Vec<Option<usize>>>;

/// For each bundle of `to`, whose degree is `gap` times that of `from`, the bundles of `from` that are packed
/// into it: a power of two of them, in the order of their components, with `None` for components that are not
/// stored.
pub(super) fn members_of(from: &Layout, to: &Layout, gap: usize) -> Members {
    let split = from.as_samples_of(gap);
    // Component i of the result is packed from the components congruent to i modulo the number of remaining
    // components.
    let group = split.components().min(gap);
    let mut all = Vec::with_capacity(to.bundles());
    for line in 0..to.lines() {
        for part in 0..to.groups() {
            let stored = split.stored_components(part);
            for component in 0..to.stored_components(part) {
                let members = (0..group).map(|j| component + j * to.components());
                all.push(members.map(|i| (i < stored).then(|| split.bundle(line, part, i))).collect());
            }
        }
    }
    all
}

/// The number of nodes with a right child, which is multiplied by a monomial, in the packing tree of these
/// members.
fn odd_nodes(members: &[Option<usize>]) -> usize {
    let stages = members.len().trailing_zeros();
    let right = |depth: u32| {
        // A node at this depth has the members with equal indices modulo 2^depth; right children are the
        // upper half of the residues.
        let nodes = 1 << depth;
        (nodes / 2..nodes)
            .filter(|node| members.iter().skip(*node).step_by(nodes).any(Option::is_some))
            .count()
    };
    (1..=stages).map(right).sum()
}

/// The number of automorphisms in stage `stage` of the packing of these members: one for each node of the
/// tree with a member below it, or one in the trace that follows.
fn switches_of_stage(members: &[Option<usize>], stage: usize) -> usize {
    // A node of this stage joins the 2^(stage + 1) members with equal indices modulo the number of nodes.
    let nodes = members.len() >> (stage + 1);
    if nodes == 0 {
        return 1;
    }
    (0..nodes).filter(|node| members.iter().skip(*node).step_by(nodes).any(Option::is_some)).count()
}

/// Embeds the components of one message into the higher degree and adds them. [dpad-he, Algorithm 5], with
/// the tree of CDKS (ePrint 2020/015, Algorithm 2)
///
/// ```text
/// pack(c_0 .. c_(2^l - 1)) = e + X^(g / 2^l) o + phi_l(e - X^(g / 2^l) o),    e = pack(c_0, c_2, ..), o = pack(c_1, c_3, ..)
/// ```
///
/// with `phi_l` of [`trace_operations`]: each stage doubles the coefficients that `phi_l` fixes and cancels
/// those that it negates. Missing components are zero; a tree of one component is the trace.
struct TraceTree<'k> {
    target: &'k Params,
    /// The keys of the stages.
    keys: Vec<Found<'k>>,
    /// `X^(g / 2^l)` of stage `l`.
    monomials: Vec<Poly<Eval>>,
    /// `g^-1` modulo each prime: all stages together multiply by `g`.
    inverse: Vec<u64>,
}

impl<'k> TraceTree<'k> {
    fn new(
        target: &'k Params,
        x: &Ciphertext,
        (gap, stages): (usize, usize),
        keys: Vec<Found<'k>>,
    ) -> Result<Self, CkksError> {
        let (ring, basis) = (target.chain().ring(), target.chain().basis(x.level));
        let monomial = |stage: usize| {
            let mut coefficients = vec![0; ring.degree()];
            coefficients[gap >> (stage + 1)] = 1;
            Poly::from_signed(ring, &basis, &coefficients).into_eval()
        };
        let monomials = (0..stages).map(monomial).collect();
        let inverse = basis.indices().iter().map(|&i| ring.moduli()[i].inverse(gap as u64));
        let inverse = inverse.collect::<Option<_>>().ok_or_else(|| CkksError::Unsuitable {
            operation: TO_RLWE,
            reason: format!("the factor {gap} has no inverse modulo a prime of the chain"),
        })?;
        Ok(Self { target, keys, monomials, inverse })
    }

    /// Packs the message with components `members`; their number is a power of two.
    fn pack(&self, members: &[Option<&Bundle<Eval>>]) -> Result<Bundle<Eval>, CkksError> {
        let stages = members.len().trailing_zeros() as usize;
        let mut sum = self.tree(members)?.ok_or(CkksError::Symbol { operation: TO_RLWE })?;
        for keys in &self.keys[stages..] {
            let applied = keys.apply(&sum)?;
            sum.add_assign(&applied)?;
        }
        Ok(sum)
    }

    fn tree(&self, members: &[Option<&Bundle<Eval>>]) -> Result<Option<Bundle<Eval>>, CkksError> {
        if let [only] = members {
            return only.map(|bundle| self.embed(bundle)).transpose();
        }
        let half =
            |first: usize| self.tree(&members.iter().copied().skip(first).step_by(2).collect::<Vec<_>>());
        let (even, mut odd) = (half(0)?, half(1)?);
        let stage = members.len().trailing_zeros() as usize - 1;
        if let Some(odd) = &mut odd {
            odd.mul_poly_assign(&self.monomials[stage])?;
        }
        let (mut sum, difference) = match (even, odd) {
            (None, None) => return Ok(None),
            (Some(even), None) => (even.clone(), even),
            (None, Some(odd)) => {
                let mut difference = odd.clone();
                difference.negate_assign();
                (odd, difference)
            }
            (Some(even), Some(odd)) => {
                let (mut sum, mut difference) = (even.clone(), even);
                sum.add_assign(&odd)?;
                difference.sub_assign(&odd)?;
                (sum, difference)
            }
        };
        sum.add_assign(&self.keys[stage].apply(&difference)?)?;
        Ok(Some(sum))
    }

    fn embed(&self, bundle: &Bundle<Eval>) -> Result<Bundle<Eval>, CkksError> {
        let ring = self.target.chain().ring();
        // At degree 1, Coeff and Eval are the same, and coefficients move in one pass.
        let mut embedded = match bundle.view().as_coeff() {
            Some(words) => Bundle::from_polys(words.to_owned(), bundle.rank())?.embed(ring)?.into_eval(),
            None => bundle.embed(ring)?,
        };
        embedded.mul_constants_assign(&self.inverse);
        Ok(embedded)
    }
}

/// Refuses secrets that are not defined at other shapes, which are all except the main secret and those of
/// devices and bodies.
fn check_nested(x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    match x.secret {
        SecretName::Main | SecretName::Device(_) | SecretName::Bodies(_) | SecretName::Body { .. } => Ok(()),
        SecretName::Temporary
        | SecretName::Ephemeral
        | SecretName::EphemeralBodies(_)
        | SecretName::Packing
        | SecretName::Embedded(_)
        | SecretName::Outside(_) => x.check_main(operation),
    }
}

/// Refuses rows with more slots than the lower degree has.
pub(super) fn check_convertible(
    x: &Ciphertext,
    degree: usize,
    operation: &'static str,
) -> Result<(), CkksError> {
    let layout = &x.layout;
    if layout.encoding() == Encoding::Coefficients || (layout.chunks() == 1 && layout.period() <= degree / 2)
    {
        return Ok(());
    }
    let columns = layout.columns();
    let reason = format!(
        "rows of {columns} entries do not fit the {} slots of degree {degree}: split the rows, or use a smaller rank",
        degree / 2
    );
    Err(CkksError::Unsuitable { operation, reason })
}
