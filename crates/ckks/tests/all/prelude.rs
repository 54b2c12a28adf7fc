//! Every type in a public signature has a name for a user who depends on `clathrate-ckks` alone.
//!
//! Functions are converted to pointers of the types written here: another type in a signature, or a type
//! without a path from `clathrate_ckks`, does not compile. (Types of this crate without a public path are
//! refused by the lint `unnameable_types`.)

use std::sync::Arc;

use clathrate_ckks::arith::{ArithError, CpuEngine, Engine, GaloisElement, Isa, Modulus};
use clathrate_ckks::arrays::{Entry, Estimate, Part, Place};
use clathrate_ckks::circuits::polynomial::{Node, NodeRow, PolynomialExplanation, Value};
use clathrate_ckks::circuits::rank_schedule::ScheduleRow;
use clathrate_ckks::embedding::Encoder;
use clathrate_ckks::error::ErrorKind;
use clathrate_ckks::evaluation::combinations::ProductTerm;
use clathrate_ckks::evaluation::recording::{Recording, StageCost};
use clathrate_ckks::file::{FileError, ParameterId};
use clathrate_ckks::keys::definition::{KeyModulus, SecretView};
use clathrate_ckks::keys::{
    Cost, Descent, HeldKey, KeyAddress, KeyDefinition, KeyName, KeyRequirements, KeysOfShape, Operation,
};
use clathrate_ckks::lattice::noise::NoiseModel;
use clathrate_ckks::lattice::switch::{KernelTimes, SwitchCounts};
use clathrate_ckks::lattice::{
    self, Bundle, Chain, Eval, Gadget, LatticeError, Poly, SecretDistribution, SwitchKey, Switcher,
};
use clathrate_ckks::parameters::{
    EngineFactory, EngineRequest, Explanation, KeySwitching, MoveExplanation, ProfileOrigin, RefusedLevel,
    ScaleWarning, SecretExplanation, Segment, SegmentExplanation, SwitchingReport, SwitchingRow, Temporary,
    TemporaryExplanation,
};
use clathrate_ckks::prelude::*;
use clathrate_ckks::{
    BodyAxis, KeyId, Layout, LevelWork, MachineProfile, ModuleShape, Order, Padding, Progress, SecretName,
    SecretRng, SwitchMethod, Switching, ValuesRef,
};

type Multiple<'c> = (&'c Ciphertext, Complex64);
type Checked<T> = Result<T, CkksError>;
type MadeEngine = Result<Arc<dyn Engine>, ArithError>;

/// Converts each function to a pointer of the type that stands before it.
macro_rules! signatures {
    ($($function:expr => $pointer:ty;)*) => { $( let _: $pointer = $function; )* };
}

#[test]
fn parameters_and_runtime_mention_types_with_names() {
    signatures! {
        Params::new => fn(ParamsSpec, &Runtime) -> Checked<Params>;
        Params::chain => fn(&Params) -> &Arc<Chain>;
        Params::gadget => fn(&Params) -> Checked<&Gadget>;
        Params::switcher => fn(&Params) -> Checked<&Switcher>;
        Params::temporary => fn(&Params) -> Option<&Temporary>;
        Params::key_switching => fn(&Params, KeyModulus) -> Result<&KeySwitching, CkksError>;
        Params::relative => fn(&Params, ModuleShape) -> Checked<Params>;
        Params::encoder => fn(&Params) -> &Encoder;
        Params::max_level => fn(&Params) -> Level;
        Params::segments => fn(&Params) -> &[Segment];
        Params::scale_warnings => fn(&Params) -> &[ScaleWarning];
        Params::parameter_id => fn(&Params) -> ParameterId;
        Params::machine_profile => fn(&Params) -> &MachineProfile;
        Params::noise_model => fn(&Params) -> NoiseModel;
        Params::explain => fn(&Params) -> Explanation;
        Params::switching_report => fn(&Params, Option<Level>) -> Checked<SwitchingReport>;
        Params::required_keys => fn(&Params, &KeyNeeds) -> Checked<KeyRequirements>;
        Params::key_definition => fn(&Params, KeyName) -> Checked<KeyDefinition>;
        Params::operation_cost => fn(&Params, Operation, Level) -> Checked<Cost>;
        ParamsSpec::distribution => fn(&ParamsSpec) -> SecretDistribution;
        EngineFactory::make => fn(&EngineFactory, &EngineRequest<'_>) -> MadeEngine;
        |request| request.cpu() => fn(&EngineRequest<'_>) -> Result<CpuEngine, ArithError>;
        Runtime::measure => fn(&Runtime, &Progress) -> Checked<MachineProfile>;
        Runtime::on => fn(Runtime, &str) -> Checked<Runtime>;
        |explanation: Explanation| explanation.segments => fn(Explanation) -> Vec<SegmentExplanation>;
        |explanation: Explanation| explanation.secrets => fn(Explanation) -> Vec<SecretExplanation>;
        |explanation: Explanation| explanation.temporary => fn(Explanation) -> Option<TemporaryExplanation>;
        |explanation: Explanation| explanation.moves => fn(Explanation) -> Vec<MoveExplanation>;
        |report: SwitchingReport| report.rows => fn(SwitchingReport) -> Vec<SwitchingRow>;
        |report: SwitchingReport| report.refused => fn(SwitchingReport) -> Vec<RefusedLevel>;
        |report: SwitchingReport| report.origin => fn(SwitchingReport) -> ProfileOrigin;
        |profile: MachineProfile| profile.kernels => fn(MachineProfile) -> Vec<KernelTimes>;
        |request: EngineRequest<'_>| request.isa => fn(EngineRequest<'_>) -> Isa;
        Switching::Fixed => fn(SwitchMethod) -> Switching;
    }
}

#[test]
fn keys_mention_types_with_names() {
    signatures! {
        SecretKey::generate_with => fn(&Params, &mut SecretRng) -> Checked<SecretKey>;
        SecretKey::id => fn(&SecretKey) -> KeyId;
        SecretKey::secret => fn(&SecretKey) -> &lattice::SecretKey;
        SecretKey::named => fn(&SecretKey, SecretName) -> Checked<std::borrow::Cow<'_, lattice::SecretKey>>;
        SecretKey::decrypt => fn(&SecretKey, &Ciphertext) -> Checked<Values>;
        SecretKey::with_progress => fn(SecretKey, Progress) -> SecretKey;
        SecretKey::with_rng => fn(SecretKey, SecretRng) -> SecretKey;
        PublicKey::with_progress => fn(PublicKey, Progress) -> PublicKey;
        SecretKey::evaluation_keys => fn(&SecretKey, &KeyNeeds) -> Checked<EvaluationKeys>;
        SecretKey::public_key => fn(&SecretKey) -> Checked<PublicKey>;
        |key, values, options| key.encrypt_array(values, &[], options) => fn(&SecretKey, ValuesRef<'_>, EncryptOptions) -> Checked<Ciphertext>;
        |key, values, options| key.encrypt_array(values, &[], options) => fn(&PublicKey, ValuesRef<'_>, EncryptOptions) -> Checked<Ciphertext>;
        EvaluationKeys::get => fn(&EvaluationKeys, KeyAddress) -> Option<&HeldKey>;
        EvaluationKeys::relative => fn(&EvaluationKeys, ModuleShape) -> Checked<KeysOfShape<'_>>;
        EvaluationKeys::relinearisation => fn(&EvaluationKeys) -> Option<&SwitchKey>;
        EvaluationKeys::derive => fn(&EvaluationKeys, Option<&[Level]>, &Progress) -> Checked<usize>;
        HeldKey::definition => fn(&HeldKey) -> &KeyDefinition;
        HeldKey::key => fn(&HeldKey) -> &SwitchKey;
        KeyDefinition::source => fn(&KeyDefinition) -> &SecretView;
        KeyDefinition::switch_counts => fn(&KeyDefinition, Level) -> Checked<SwitchCounts>;
        |definition: KeyDefinition| definition.modulus => fn(KeyDefinition) -> KeyModulus;
        |definition: KeyDefinition| definition.automorphism => fn(KeyDefinition) -> Option<GaloisElement>;
        KeyNeeds::descents => fn(&KeyNeeds) -> &[Descent];
        KeyNeeds::key_level_of => fn(&KeyNeeds, Operation) -> Option<KeyLevel>;
    }
}

#[test]
fn arrays_and_evaluation_mention_types_with_names() {
    signatures! {
        Ciphertext::bundles => fn(&Ciphertext) -> &[Bundle<Eval>];
        Ciphertext::layout => fn(&Ciphertext) -> &Layout;
        Ciphertext::padding => fn(&Ciphertext) -> Padding;
        Ciphertext::secret => fn(&Ciphertext) -> SecretName;
        Ciphertext::estimate => fn(&Ciphertext) -> &Estimate;
        Plaintext::messages => fn(&Plaintext) -> &[Poly<Eval>];
        Layout::with_order => fn(Layout, Order) -> Layout;
        Layout::place => fn(&Layout, usize, usize) -> Checked<Place>;
        Layout::entry => fn(&Layout, Place) -> Option<Entry>;
        |entry: Entry| entry.part => fn(Entry) -> Part;
        Evaluator::needs => fn(&Evaluator) -> KeyNeeds;
        Evaluator::recorded => fn(&Evaluator) -> Recording;
        Evaluator::symbol => fn(&Evaluator, &[usize], Encoding, Level, f64) -> Checked<Ciphertext>;
        Evaluator::share_mask_along => fn(&Evaluator, &Ciphertext, usize, Option<BodyAxis>) -> Checked<Ciphertext>;
        Evaluator::change_secret => fn(&Evaluator, &Ciphertext, SecretName) -> Checked<Ciphertext>;
        Weights::multiply => fn(&Weights, &Evaluator, &Ciphertext) -> Checked<Ciphertext>;
        PolynomialPlan::run => fn(&PolynomialPlan, &Evaluator, &Ciphertext) -> Checked<Ciphertext>;
        Evaluator::sum_of_products_rescale => fn(&Evaluator, &[ProductTerm<'_>], Option<&Ciphertext>) -> Checked<Ciphertext>;
        Evaluator::linear_combination => fn(&Evaluator, &[Multiple<'_>], f64) -> Checked<Ciphertext>;
        RankSchedule::run => fn(&RankSchedule, &Evaluator, &Ciphertext) -> Checked<Ciphertext>;
        Recording::stages => fn(&Recording) -> &[StageCost];
        Recording::keys => fn(&Recording, &Params) -> Checked<KeyRequirements>;
        Values::into_complex => fn(Values) -> Vec<Complex64>;
    }
}

#[test]
fn circuits_and_errors_mention_types_with_names() {
    signatures! {
        Polynomial::coefficients => fn(&Polynomial) -> &[Complex64];
        Polynomial::basis => fn(&Polynomial) -> PolynomialBasis;
        Polynomial::plan => fn(&Polynomial, &Params, Level) -> Checked<PolynomialPlan>;
        PolynomialPlan::nodes => fn(&PolynomialPlan) -> &[Node];
        PolynomialPlan::explain => fn(&PolynomialPlan) -> PolynomialExplanation;
        PolynomialPlan::dry_run => fn(&PolynomialPlan, Estimate) -> Checked<(Recording, Estimate)>;
        PolynomialPlan::rank_schedule => fn(&PolynomialPlan) -> Option<&RankSchedule>;
        |explanation: PolynomialExplanation| explanation.nodes => fn(PolynomialExplanation) -> Vec<NodeRow>;
        Node::value => fn(&Node) -> Value;
        RankSchedule::plan => fn(&Params, &[LevelWork], RankSteps) -> Checked<RankSchedule>;
        RankSchedule::rows => fn(&RankSchedule) -> &[ScheduleRow];
        Weights::gemm_count => fn(&Weights, &Modulus) -> usize;
        CkksError::kind => fn(&CkksError) -> ErrorKind;
        CkksError::Lattice => fn(LatticeError) -> CkksError;
        CkksError::File => fn(FileError) -> CkksError;
    }
}

#[test]
fn this_file_names_no_other_crate_of_the_project() {
    for name in ["arith", "lattice", "testkit"] {
        assert!(
            !include_str!("prelude.rs").contains(&format!("{}_{name}", "clathrate")),
            "{name} is reached through clathrate_ckks"
        );
    }
}
