//! What a plan of a bootstrap may choose.

/// The most bodies under one mask: keys of more are larger than any machine's memory at secure degrees.
pub(super) const MOST_BODIES: usize = 64;

/// What a plan of a bootstrap may choose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapOptions {
    /// Slots of each polynomial, a power of two; absent for all.
    pub slots: Option<usize>,
    /// Slots of the linear transforms, a power of two from `slots` up: numbers repeat in more slots than the
    /// array has. Absent for the better of `slots` and all, see
    /// [`BootstrapPlan::with_options`](super::BootstrapPlan::with_options). Half bootstraps take `slots`.
    pub transform_slots: Option<usize>,
    /// Whether numbers are real: half the work of the modular reduction, where slots-to-coefficients comes
    /// first.
    pub real: bool,
    /// Whether the circuit starts from coefficients at level 0
    /// ([`Evaluator::half_bootstrap`](crate::Evaluator::half_bootstrap)) and leaves slots-to-coefficients
    /// out, with its keys. Rounds need the whole circuit.
    pub half: bool,
    /// Polynomials that share a mask in the linear maps, from 1 to 64: those of m polynomials take (m + 1) /
    /// 2m of the products of as many maps of one, and have keys of half as many times the bytes. Fewer
    /// polynomials take the time of so many in these maps. [pcmm-mambo, sec. 6.2]
    pub bodies: usize,
    /// Whether slots-to-coefficients ends at level 1, so that a product with a known matrix can follow
    /// ([`MamboPlan`](crate::circuits::mambo::MamboPlan)). It has a factor less then, and masks come apart
    /// there.
    pub product: bool,
    /// Binary logarithm of the largest probability that the bootstrap of one polynomial fails; absent for
    /// that of the parameters
    /// ([`ParamsSpec::bootstrap_log2_failure`](crate::ParamsSpec::bootstrap_log2_failure)), or -128.
    pub log2_failure: Option<f64>,
    /// The range of the modular reduction in place of the one that follows from the probability: for tests of
    /// failures.
    pub range: Option<usize>,
    /// Degree of the cosine's polynomial; absent for 30.
    pub degree: Option<usize>,
    /// Degree of a polynomial of the arcsine that follows the double angles, an odd number from 3 to 15;
    /// absent for none. It takes away the error of the sine, which is cubic in the message, and takes 2 to 4
    /// levels of the modular reduction.
    pub arcsine: Option<usize>,
    /// Rounds: the second bootstraps what the first one left as error, multiplied by a power of two, and so
    /// on. Each further round takes the time of a bootstrap and one level, and adds its precision to that of
    /// the rounds before, up to what the application's scale can hold. Absent for as many as
    /// [`BootstrapPlan::with_options`](super::BootstrapPlan::with_options) says.
    pub rounds: Option<usize>,
    /// Whether keys that raise the modulus apply the first map from coefficients to slots as well, where the
    /// parameters have such keys and all slots are used: faster and without a level, for a key of many
    /// polynomials.
    pub raise_keys: bool,
    /// The most bytes that all keys of the bootstrap may take in memory; files take less, because masks are
    /// seeds there. The linear maps then use fewer rotation keys, up to two or three for each. Absent for the
    /// limit of the parameters ([`ParamsSpec::bootstrap_key_bytes`](crate::ParamsSpec::bootstrap_key_bytes)),
    /// or none.
    pub most_key_bytes: Option<usize>,
}

impl Default for BootstrapOptions {
    fn default() -> Self {
        Self {
            slots: None,
            transform_slots: None,
            real: false,
            half: false,
            bodies: 1,
            product: false,
            log2_failure: None,
            range: None,
            degree: None,
            arcsine: None,
            rounds: None,
            raise_keys: true,
            most_key_bytes: None,
        }
    }
}

/// What a number of bodies under a mask takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchCost {
    /// Polynomials that share a mask in the linear maps.
    pub bodies: usize,
    /// Predicted nanoseconds of each polynomial of the batch, one thread.
    pub nanoseconds: f64,
    /// The same by the prices that plans compare ([`Cost::price`](crate::keys::Cost::price)).
    pub price: f64,
    /// Bytes of all keys in memory.
    pub key_bytes: usize,
}
