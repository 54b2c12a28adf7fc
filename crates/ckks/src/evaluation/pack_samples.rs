//! Packing: LWE or MLWE samples become ciphertexts of rank 1 by switches of complete masks, directly or
//! through samples of intermediate degrees.
//!
//! ```text
//! to_rlwe     the row method: one automorphism for each pair of samples, log2 g keys
//! pack        the column method (no midpoint: one switch, the largest key), or with midpoints
//! ```
//!
//! Both leave the same layout. Source: [hermes, sec. 4.3, 4.4]; row method: [CDKS, ePrint 2020/015].

use clathrate_arith::kernels::scalar::bit_reverse;
use clathrate_lattice::packing::{PackingStep, pack_places};
use clathrate_lattice::shape::{Bodies, Degree, Rank};
use clathrate_lattice::{Bundle, Coeff, PolysRef, SwitchKey};

use super::evaluator::{Evaluator, KeyQuery};
use super::moves::{Members, check_convertible, members_of};
use crate::arrays::{Ciphertext, Layout, SecretName};
use crate::error::CkksError;
use crate::keys::{Found, Operation, Switch};
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// The operation's name in errors.
const PACK: &str = "packing";

impl Params {
    /// The steps of packing from this shape to the shape of rank 1, through samples of the ranks `midpoints`,
    /// in descending order.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] at rank 1, or if the rank is not a power of two; [`CkksError::OutOfRange`]
    /// unless midpoints are descending powers of two between 1 and this rank.
    pub fn packing_steps(&self, midpoints: &[usize]) -> Result<Vec<PackingStep>, CkksError> {
        let target = self.relative(self.rlwe_shape())?;
        if target.shape() == self.shape() {
            let reason = format!(
                "ciphertexts of rank {} at degree {} are the result of packing, not samples",
                self.rank(),
                self.degree()
            );
            return Err(CkksError::Unsuitable { operation: PACK, reason });
        }
        self.packing_steps_to(&target, midpoints)
    }

    /// [`Params::packing_steps`] to `target`, whose dimension may exceed that of the samples.
    pub(crate) fn packing_steps_to(
        &self,
        target: &Self,
        midpoints: &[usize],
    ) -> Result<Vec<PackingStep>, CkksError> {
        // Refuses shapes that cannot be packed to rank 1.
        target.packing_step(self.shape(), target.degree())?;
        PackingStep::all(Degree(self.degree()), Rank(self.rank()), midpoints, Degree(target.degree())).map_err(|_| CkksError::OutOfRange {
            what: "the midpoints of packing",
            value: format!("{}{}", text(&midpoints[..midpoints.len().min(8)]), if midpoints.len() > 8 { ", .." } else { "" }),
            remedy: match target.degree() / self.degree() {
                ..4 => "use none: there is no rank between".to_owned(),
                ratio => format!(
                    "use falling powers of two from {} to 2, each a divisor of the ranks before it ({}), or none",
                    ratio / 2,
                    self.rank()
                ),
            },
        })
    }
}

fn text(ranks: &[usize]) -> String {
    ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The result of packing samples.
pub(crate) struct Packed {
    /// The parameters of the result, of rank 1.
    pub target: Params,
    /// The secret of the result.
    pub onto: SecretName,
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// The layout of the array.
    pub layout: Layout,
}

impl Evaluator {
    /// The same array at rank 1 and the degree of equal dimension, packed from samples of this shape through
    /// samples of the ranks `midpoints`, in descending order. Without midpoints, packing takes one step (the
    /// column method). [`Evaluator::to_rlwe`] is the row method. Both give the same layout.
    ///
    /// The first step also switches samples under the secret of a device to the main secret.
    ///
    /// Cost: a step from degree `n` to `n'` has one switch of `n' / n` polynomials for each resulting sample.
    /// Each step adds the noise of one switch.
    ///
    /// # Errors
    /// [`CkksError::WrongSecret`] under other secrets; [`CkksError::Unsuitable`] for several bodies
    /// under one mask, and for rows of more than `n / 2` slots; the errors of [`Params::packing_steps`];
    /// missing keys.
    pub fn pack(&self, x: &Ciphertext, midpoints: &[usize]) -> Result<Ciphertext, CkksError> {
        check_convertible(x, x.params.degree(), PACK)?;
        x.check_one_lane(PACK)?;
        let gap = x.params.rlwe_shape().degree / x.params.degree();
        let layout = x.layout.merge_degree(gap);
        self.pack_home(x, midpoints, layout, members_of(&x.layout, &layout, gap))
    }

    /// [`Evaluator::pack`] for rows of one polynomial each: consecutive rows become the lanes of one
    /// polynomial, so that the result has as few polynomials as possible. This is the inverse of
    /// [`Evaluator::to_mlwe`] for lanes. [pcmm-mambo, Algorithm 2, step 15]
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] if rows do not fill separate polynomials.
    pub fn pack_rows(&self, x: &Ciphertext, midpoints: &[usize]) -> Result<Ciphertext, CkksError> {
        let gap = x.params.rlwe_shape().degree / x.params.degree();
        let layout = x.layout.gathered(gap)?;
        let row = |row: usize| (row < x.layout.rows()).then_some(row);
        let members = (0..layout.row_groups())
            .map(|group| (group * gap..(group + 1) * gap).map(row).collect())
            .collect();
        self.pack_home(x, midpoints, layout, members)
    }

    /// Packs to the shape of rank 1 and equal dimension, under the main secret.
    fn pack_home(
        &self,
        x: &Ciphertext,
        midpoints: &[usize],
        layout: Layout,
        members: Members,
    ) -> Result<Ciphertext, CkksError> {
        let steps = x.params.packing_steps(midpoints)?;
        let target = x.params.relative(x.params.rlwe_shape())?;
        self.pack_as(
            x,
            &steps,
            &Packed { target, onto: SecretName::Main, shape: x.shape.clone(), layout },
            members,
        )
    }

    /// Packs the samples in `members`: for each ciphertext of the result, the samples by powers of `X`.
    pub(crate) fn pack_as(
        &self,
        x: &Ciphertext,
        steps: &[PackingStep],
        packed: &Packed,
        members: Members,
    ) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        // The first step switches from the samples' secret to the result's; later steps keep this secret.
        if !matches!(x.secret, SecretName::Device(_) | SecretName::Outside(_) | SecretName::Packing) {
            x.check_main(PACK)?;
        }
        let Packed { target, onto, shape, layout } = packed;
        let operation = |number: usize, step: &PackingStep| {
            Operation::Switch(Switch::Pack {
                from: ModuleShape { degree: step.degree(), rank: step.rank() },
                to: step.target(),
                under: if number == 0 { x.secret } else { *onto },
                onto: *onto,
            })
        };
        let gap = target.degree() / x.params.degree();
        let members: Members = members.into_iter().map(by_reversed_bits).collect();
        let mut found = Vec::with_capacity(steps.len());
        let mut taken = 1;
        for (number, step) in steps.iter().enumerate() {
            taken *= step.count();
            let groups = |members: &Vec<Option<usize>>| {
                members.chunks(taken).filter(|group| group.iter().any(Option::is_some)).count()
            };
            let switches = members.iter().map(groups).sum();
            found.push(self.keys_of(
                KeyQuery::new(PACK, operation(number, step), x).under(target).switching(switches),
            )?);
        }
        let found: Option<Vec<Found<'_>>> = found.into_iter().collect();
        let packed = |bundles| Ciphertext {
            secret: *onto,
            ..x.with_all((target, shape.clone()), *layout, bundles, (x.level, x.scale))
        };
        let with_errors = |packed: Ciphertext| {
            let add = |y: Ciphertext, (number, step): (usize, &PackingStep)| {
                self.switched(target, y, operation(number, step), x.level, 1.0)
            };
            steps.iter().enumerate().try_fold(packed, add)
        };
        let Some(found) = found.filter(|_| !x.is_symbol()) else {
            let moved = packed(Vec::new());
            self.record(&moved, || {
                // Samples are read and written once. The results of the first step are fewer words, but are
                // moved word by word.
                let rows = (gap * x.params.shape().dimension()).div_ceil(target.degree());
                Ok(target.passes_cost(steps.len() * rows * target.chain().basis(x.level).len()))
            })?;
            return with_errors(moved);
        };
        let keys = found.iter().map(|found| found.only(PACK)).collect::<Result<Vec<_>, _>>()?;
        let switcher = keys.first().ok_or(CkksError::NoKeys { operation: PACK })?.switcher()?;
        let taken: Vec<(PackingStep, &SwitchKey)> =
            steps.iter().copied().zip(keys.iter().map(|key| key.key())).collect();
        // At degree 1, Coeff and Eval are the same.
        let own: Vec<Bundle<Coeff>> = if x.params.degree() == 1 {
            Vec::new()
        } else {
            x.bundles.iter().map(|bundle| bundle.clone().into_coeff()).collect()
        };
        let sample = |index: usize| -> Option<PolysRef<'_, Coeff>> {
            own.get(index)
                .map(Bundle::view)
                .or_else(|| x.bundles.get(index).and_then(|bundle| bundle.view().as_coeff()))
        };
        let (chain, rank) = (target.chain(), Rank(target.rank()));
        let pack = |members: &Vec<Option<usize>>| {
            if members.iter().all(Option::is_none) {
                // A ciphertext without samples is zero.
                return Ok(Bundle::zero(chain.ring(), &chain.basis(x.level), rank, Bodies(1))?);
            }
            let samples: Vec<_> = members.iter().map(|index| index.and_then(sample)).collect();
            Ok(pack_places(&taken, &samples, switcher)?.into_eval())
        };
        with_errors(packed(members.iter().map(pack).collect::<Result<_, CkksError>>()?))
    }
}

/// The members in the order of the packing steps: `members` are indexed by powers of `X`, and the steps take
/// them by the reversed bits of these powers.
fn by_reversed_bits(members: Vec<Option<usize>>) -> Vec<Option<usize>> {
    let bits = members.len().trailing_zeros();
    (0..members.len()).map(|place| members[bit_reverse(place, bits)]).collect()
}
