//! An engine whose memory the host cannot address: it stands for a graphics card or another machine in tests.
//!
//! A buffer is a number in a private map; the map holds scrambled words, so that whoever reads them as
//! residues reads garbage. Every operation fetches its operands, computes with a [`CpuEngine`] and stores the
//! result. Code that passes its tests on this engine reaches residues through the engine's operations alone.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clathrate_arith::aligned::AlignedWords;
use clathrate_arith::product::{FractionProduct, LeftMatrix};
use clathrate_arith::{
    ArithError, Automorphism, BaseConversion, Buffer, CpuEngine, DeviceMemory, DigitExtension, Dividend,
    DivisionInput, Engine, EngineTables, Factor2, FactorShape, Factors, FillRow, Form, GadgetInput, Memory,
    Modulus, PlaintextSum, Rounding, Rows, RowsMut, Twist,
};

/// The constant that every stored word is scrambled with.
const KEY: u64 = 0x5a17_c3d2_90fe_6b4d;

/// The content of buffers with unspecified contents: not a residue, because all moduli are below 2^61.
const STALE: u64 = u64::MAX;

fn scramble(word: u64) -> u64 {
    (word ^ KEY).swap_bytes()
}

fn unscramble(word: u64) -> u64 {
    word.swap_bytes() ^ KEY
}

/// The private memory of one engine: scrambled words by the number of their buffer.
#[derive(Default)]
struct Space {
    buffers: Mutex<HashMap<u64, Vec<u64>>>,
    next: AtomicU64,
}

impl Space {
    /// Takes the lock even if a thread panicked while it held the lock: each buffer is then complete, old or
    /// new.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Vec<u64>>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A buffer in the private memory.
struct Handle {
    id: u64,
    space: Arc<Space>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remote buffer {}", self.id)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.space.lock().remove(&self.id);
    }
}

impl Handle {
    fn new(space: &Arc<Space>, stored: Vec<u64>) -> Self {
        let id = space.next.fetch_add(1, Ordering::Relaxed);
        space.lock().insert(id, stored);
        Self { id, space: space.clone() }
    }

    fn of(memory: &dyn DeviceMemory) -> &Self {
        memory.as_any().downcast_ref().expect("a buffer of an engine of this kind")
    }

    /// Copies of `words` words from word `first` on.
    fn fetch(&self, first: usize, words: usize) -> AlignedWords {
        let mut out = AlignedWords::zeroed(words);
        let buffers = self.space.lock();
        let stored =
            &buffers.get(&self.id).expect("a buffer lives as long as its handle")[first..first + words];
        out.iter_mut().zip(stored).for_each(|(target, &word)| *target = unscramble(word));
        out
    }

    fn store(&self, first: usize, words: &[u64]) {
        let mut buffers = self.space.lock();
        let stored = &mut buffers.get_mut(&self.id).expect("a buffer lives as long as its handle")
            [first..first + words.len()];
        stored.iter_mut().zip(words).for_each(|(target, &word)| *target = scramble(word));
    }
}

impl DeviceMemory for Handle {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn duplicate(&self) -> Box<dyn DeviceMemory> {
        let stored = self.space.lock().get(&self.id).cloned().expect("a buffer lives as long as its handle");
        Box::new(Self::new(&self.space, stored))
    }

    fn equals(&self, first: usize, other: &dyn DeviceMemory, other_first: usize, words: usize) -> bool {
        *self.fetch(first, words) == *Self::of(other).fetch(other_first, words)
    }

    fn zeroize(&self) {
        if let Some(stored) = self.space.lock().get_mut(&self.id) {
            stored.fill(scramble(0));
        }
    }
}

/// Copies of some rows in the host's memory.
struct Fetched {
    words: AlignedWords,
    degree: usize,
}

impl Fetched {
    fn view(&self) -> Rows<'_> {
        Rows::of_words(&self.words, self.degree)
    }
}

fn fetch(x: Rows<'_>) -> Fetched {
    let (memory, first) = x.device().expect("residues of an engine of this kind");
    Fetched { words: Handle::of(memory).fetch(first, x.rows() * x.degree()), degree: x.degree() }
}

fn fetch_all<'a>(xs: impl IntoIterator<Item = &'a Rows<'a>>) -> Vec<Fetched> {
    xs.into_iter().map(|x| fetch(*x)).collect()
}

/// Runs `work` on a copy of `x`, then stores the copy.
fn change<T>(x: RowsMut<'_>, work: impl FnOnce(RowsMut<'_>) -> T) -> T {
    let mut copy = fetch(x.view());
    let result = work(RowsMut::of_words(&mut copy.words, copy.degree));
    let (memory, first) = x.device().expect("residues of an engine of this kind");
    Handle::of(memory).store(first, &copy.words);
    result
}

/// As [`change`], for several views.
fn change_all<T>(xs: &mut [RowsMut<'_>], work: impl FnOnce(&mut [RowsMut<'_>]) -> T) -> T {
    let mut copies: Vec<Fetched> = xs.iter().map(|x| fetch(x.view())).collect();
    let result = {
        let mut views: Vec<RowsMut<'_>> =
            copies.iter_mut().map(|copy| RowsMut::of_words(&mut copy.words, copy.degree)).collect();
        work(&mut views)
    };
    for (x, copy) in xs.iter().zip(&copies) {
        let (memory, first) = x.device().expect("residues of an engine of this kind");
        Handle::of(memory).store(first, &copy.words);
    }
    result
}

/// Computes on the host, and keeps all residues where the host cannot address them.
pub struct RemoteEngine {
    inner: CpuEngine,
    space: Arc<Space>,
}

impl fmt::Debug for RemoteEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteEngine({:?})", self.inner)
    }
}

impl RemoteEngine {
    /// An engine that computes as `inner` does.
    #[must_use]
    pub fn new(inner: CpuEngine) -> Self {
        Self { inner, space: Arc::default() }
    }

    /// How many buffers are in the private memory.
    #[must_use]
    pub fn live_buffers(&self) -> usize {
        self.space.lock().len()
    }

    fn put(&self, words: &[u64]) -> Handle {
        Handle::new(&self.space, words.iter().map(|&word| scramble(word)).collect())
    }

    /// Takes a buffer of the inner engine into the private memory.
    fn adopt(&self, buffer: &Buffer) -> Buffer {
        Buffer::on_device(Box::new(self.put(buffer.host())), buffer.rows(), buffer.degree())
    }

    fn put_factors(&self, factors: &Factors) -> Factors {
        Factors::in_memory(
            factors.layout().clone(),
            Memory::Device(Box::new(self.put(factors.memory().host()))),
        )
    }
}

fn handle_of(factors: &Factors) -> &Handle {
    match factors.memory() {
        Memory::Device(memory) => Handle::of(&**memory),
        Memory::Host(_) | Memory::Mapped(_) => panic!("factors of an engine of this kind"),
    }
}

fn fetch_factors(factors: &Factors) -> Factors {
    let words = handle_of(factors).fetch(0, factors.layout().words());
    Factors::in_memory(factors.layout().clone(), Memory::Host(words))
}

/// Refuses conversions whose tables are not in the memory of an engine of this kind, or are not those of the
/// conversion.
fn check_tables(conversion: &BaseConversion) {
    let handle: &Handle = conversion
        .engine_tables()
        .and_then(EngineTables::get)
        .expect("a conversion made by an engine of this kind");
    let tables: Vec<u64> =
        conversion.prepare_factors().chain(conversion.weights().iter().flatten().copied()).collect();
    assert!(*handle.fetch(0, tables.len()) == *tables, "the tables of this conversion");
}

impl Engine for RemoteEngine {
    fn degree(&self) -> usize {
        self.inner.degree()
    }

    fn moduli(&self) -> &[Modulus] {
        self.inner.moduli()
    }

    fn describe(&self) -> String {
        format!("remote, {}", self.inner.describe())
    }

    fn memory_kind(&self) -> &'static str {
        "remote"
    }

    fn at_degree(&self, degree: usize) -> Result<Arc<dyn Engine>, ArithError> {
        Ok(Arc::new(Self { inner: self.inner.of_degree(degree)?, space: self.space.clone() }))
    }

    fn transform_class(&self, index: usize) -> usize {
        self.inner.transform_class(index)
    }

    fn extends_by_limbs(&self) -> bool {
        self.inner.extends_by_limbs()
    }

    fn divides_by_limbs(&self, sources: usize, targets: usize, polys: usize) -> bool {
        self.inner.divides_by_limbs(sources, targets, polys)
    }

    fn zeroed(&self, rows: usize) -> Buffer {
        self.adopt(&self.inner.zeroed(rows))
    }

    fn scratch(&self, rows: usize) -> Buffer {
        let words = vec![scramble(STALE); rows * self.degree()];
        Buffer::on_device(Box::new(Handle::new(&self.space, words)), rows, self.degree())
    }

    fn upload_rows(&self, out: RowsMut<'_>, fill: FillRow<'_>) {
        change(out, |out| self.inner.upload_rows(out, fill));
    }

    fn download<'a>(&self, x: Rows<'a>) -> Cow<'a, [u64]> {
        Cow::Owned(fetch(x).words.to_vec())
    }

    fn copy(&self, out: RowsMut<'_>, x: Rows<'_>) {
        let x = fetch(x);
        change(out, |out| self.inner.copy(out, x.view()));
    }

    fn copy_rows(&self, out: RowsMut<'_>, out_rows: &[usize], x: Rows<'_>, rows: &[usize]) {
        let x = fetch(x);
        change(out, |out| self.inner.copy_rows(out, out_rows, x.view(), rows));
    }

    fn fill(&self, out: RowsMut<'_>, constants: &[u64]) {
        change(out, |out| self.inner.fill(out, constants));
    }

    fn forward_ntt(&self, x: RowsMut<'_>, moduli: &[usize]) {
        change(x, |x| self.inner.forward_ntt(x, moduli));
    }

    fn inverse_ntt(&self, x: RowsMut<'_>, moduli: &[usize]) {
        change(x, |x| self.inner.inverse_ntt(x, moduli));
    }

    fn inverse_ntt_of(&self, x: Rows<'_>, moduli: &[usize]) -> Buffer {
        self.adopt(&self.inner.inverse_ntt_of(fetch(x).view(), moduli))
    }

    fn add(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]) {
        let (x, y) = (fetch(x), fetch(y));
        change(out, |out| self.inner.add(out, x.view(), y.view(), moduli));
    }

    fn sub(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]) {
        let (x, y) = (fetch(x), fetch(y));
        change(out, |out| self.inner.sub(out, x.view(), y.view(), moduli));
    }

    fn add_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        let y = fetch(y);
        change(x, |x| self.inner.add_assign(x, y.view(), moduli));
    }

    fn sub_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        let y = fetch(y);
        change(x, |x| self.inner.sub_assign(x, y.view(), moduli));
    }

    fn negate_assign(&self, x: RowsMut<'_>, moduli: &[usize]) {
        change(x, |x| self.inner.negate_assign(x, moduli));
    }

    fn mul_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        let y = fetch(y);
        change(x, |x| self.inner.mul_assign(x, y.view(), moduli));
    }

    fn mul_constants_assign(&self, x: RowsMut<'_>, constants: &[u64], moduli: &[usize]) {
        change(x, |x| self.inner.mul_constants_assign(x, constants, moduli));
    }

    fn add_mul_constants_assign(&self, x: RowsMut<'_>, y: Rows<'_>, constants: &[u64], moduli: &[usize]) {
        let y = fetch(y);
        change(x, |x| self.inner.add_mul_constants_assign(x, y.view(), constants, moduli));
    }

    fn dot_products(
        &self,
        out: RowsMut<'_>,
        terms: &[Vec<Factor2<'_>>],
        right_rows: &[usize],
        moduli: &[usize],
    ) {
        let fetched: Vec<Vec<(Fetched, Fetched)>> =
            terms.iter().map(|terms| terms.iter().map(|&(x, y)| (fetch(x), fetch(y))).collect()).collect();
        let terms: Vec<Vec<Factor2<'_>>> =
            fetched.iter().map(|terms| terms.iter().map(|(x, y)| (x.view(), y.view())).collect()).collect();
        change(out, |out| self.inner.dot_products(out, &terms, right_rows, moduli));
    }

    fn combine(
        &self,
        out: &mut [RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError> {
        let right = fetch_all(right);
        let right: Vec<Rows<'_>> = right.iter().map(Fetched::view).collect();
        change_all(out, |out| self.inner.combine(out, left, &right, moduli))
    }

    fn combine_coefficients(
        &self,
        out: &mut [RowsMut<'_>],
        left: &[Rows<'_>],
        positions: &[usize],
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError> {
        let (left, right) = (fetch_all(left), fetch_all(right));
        let left: Vec<Rows<'_>> = left.iter().map(Fetched::view).collect();
        let right: Vec<Rows<'_>> = right.iter().map(Fetched::view).collect();
        change_all(out, |out| self.inner.combine_coefficients(out, &left, positions, &right, moduli))
    }

    fn combine_fractions(
        &self,
        out: &mut [RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        product: FractionProduct,
        from: &[usize],
        to: &[usize],
    ) -> Result<(), ArithError> {
        let right = fetch_all(right);
        let right: Vec<Rows<'_>> = right.iter().map(Fetched::view).collect();
        change_all(out, |out| self.inner.combine_fractions(out, left, &right, product, from, to))
    }

    fn zeroed_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors {
        self.put_factors(&self.inner.zeroed_factors(shape, moduli))
    }

    fn adopt_factors(&self, factors: Factors) -> Factors {
        self.put_factors(&factors)
    }

    fn factor_words<'a>(&self, factors: &'a Factors) -> Cow<'a, [u64]> {
        Cow::Owned(fetch_factors(factors).memory().host().to_vec())
    }

    fn pack_factors(
        &self,
        factors: &mut Factors,
        group: usize,
        sources: &[Vec<Rows<'_>>],
        source_rows: &[usize],
    ) {
        let fetched: Vec<Vec<Fetched>> = sources.iter().map(fetch_all).collect();
        let sources: Vec<Vec<Rows<'_>>> =
            fetched.iter().map(|parts| parts.iter().map(Fetched::view).collect()).collect();
        let mut copy = fetch_factors(factors);
        self.inner.pack_factors(&mut copy, group, &sources, source_rows);
        handle_of(factors).store(0, copy.memory().host());
    }

    fn sum_factors(&self, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors {
        self.put_factors(&self.inner.sum_factors(&fetch_factors(base), terms, rows))
    }

    fn unpack_factors(
        &self,
        factors: &Factors,
        group: usize,
        terms: &[usize],
        columns: Range<usize>,
        rows: &[usize],
    ) -> Buffer {
        self.adopt(&self.inner.unpack_factors(&fetch_factors(factors), group, terms, columns, rows))
    }

    fn factor_products(
        &self,
        out: RowsMut<'_>,
        xs: &[Rows<'_>],
        factors: &Factors,
        groups: &[usize],
        rows: &[usize],
        moduli: &[usize],
    ) {
        let xs = fetch_all(xs);
        let xs: Vec<Rows<'_>> = xs.iter().map(Fetched::view).collect();
        change(out, |out| {
            self.inner.factor_products(out, &xs, &fetch_factors(factors), groups, rows, moduli)
        });
    }

    fn gadget_products(
        &self,
        out: RowsMut<'_>,
        inputs: &[GadgetInput<'_>],
        digits: &[DigitExtension],
        factors: &Factors,
        groups: &[usize],
        rows: &[usize],
        moduli: &[usize],
    ) {
        digits.iter().for_each(|digit| check_tables(digit.conversion()));
        let fetched: Vec<(Fetched, Option<Fetched>)> =
            inputs.iter().map(|input| (fetch(input.coefficients), input.values.map(fetch))).collect();
        let inputs: Vec<GadgetInput<'_>> = fetched
            .iter()
            .map(|(x, y)| GadgetInput { coefficients: x.view(), values: y.as_ref().map(Fetched::view) })
            .collect();
        change(out, |out| {
            self.inner.gadget_products(out, &inputs, digits, &fetch_factors(factors), groups, rows, moduli)
        });
    }

    fn plaintext_products(
        &self,
        out: &mut [RowsMut<'_>],
        xs: &[Rows<'_>],
        sums: &[PlaintextSum<'_>],
        moduli: &[usize],
    ) {
        let xs = fetch_all(xs);
        let xs: Vec<Rows<'_>> = xs.iter().map(Fetched::view).collect();
        let plaintexts: Vec<Factors> = sums.iter().map(|sum| fetch_factors(sum.plaintexts)).collect();
        let sums: Vec<PlaintextSum<'_>> = sums
            .iter()
            .zip(&plaintexts)
            .map(|(sum, plaintexts)| PlaintextSum { plaintexts, ..*sum })
            .collect();
        change_all(out, |out| self.inner.plaintext_products(out, &xs, &sums, moduli));
    }

    fn base_conversion(
        &self,
        sources: &[usize],
        targets: &[usize],
        constants: &[u64],
        rounding: Rounding,
    ) -> Option<BaseConversion> {
        let conversion = self.inner.base_conversion(sources, targets, constants, rounding)?;
        let tables: Vec<u64> =
            conversion.prepare_factors().chain(conversion.weights().iter().flatten().copied()).collect();
        let handle = self.put(&tables);
        Some(conversion.with_engine_tables(EngineTables::new(handle)))
    }

    fn convert(&self, conversion: &BaseConversion, x: Rows<'_>, out: RowsMut<'_>, out_rows: &[usize]) {
        check_tables(conversion);
        let x = fetch(x);
        change(out, |out| self.inner.convert(conversion, x.view(), out, out_rows));
    }

    fn divide_all(
        &self,
        conversion: &BaseConversion,
        inputs: &[DivisionInput<'_>],
        constants: &[u64],
        transform: bool,
    ) -> Buffer {
        check_tables(conversion);
        type Part<'a> = Option<(Fetched, &'a [usize])>;
        let part = |part: Dividend<'_>| fetch(part.residues);
        let fetched: Vec<(Fetched, Part<'_>, Part<'_>)> = inputs
            .iter()
            .map(|input| {
                (
                    fetch(input.divisors),
                    input.coeff.map(|x| (part(x), x.rows)),
                    input.eval.map(|x| (part(x), x.rows)),
                )
            })
            .collect();
        fn view<'a>(part: &'a Part<'_>) -> Option<Dividend<'a>> {
            part.as_ref().map(|(x, rows)| Dividend { residues: x.view(), rows })
        }
        let inputs: Vec<DivisionInput<'_>> = fetched
            .iter()
            .map(|(x, coeff, eval)| DivisionInput {
                divisors: x.view(),
                coeff: view(coeff),
                eval: view(eval),
            })
            .collect();
        self.adopt(&self.inner.divide_all(conversion, &inputs, constants, transform))
    }

    fn automorphism(&self, form: Form, automorphism: &Automorphism, x: Rows<'_>, moduli: &[usize]) -> Buffer {
        self.adopt(&self.inner.automorphism(form, automorphism, fetch(x).view(), moduli))
    }

    fn mul_monomial(&self, x: Rows<'_>, power: usize, moduli: &[usize]) -> Buffer {
        self.adopt(&self.inner.mul_monomial(fetch(x).view(), power, moduli))
    }

    fn join_components(
        &self,
        form: Form,
        out: RowsMut<'_>,
        parts: &[Rows<'_>],
        twist: Twist,
        moduli: &[usize],
    ) {
        let parts = fetch_all(parts);
        let parts: Vec<Rows<'_>> = parts.iter().map(Fetched::view).collect();
        change(out, |out| self.inner.join_components(form, out, &parts, twist, moduli));
    }

    fn join_samples(&self, form: Form, out: RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
        let parts = fetch_all(parts);
        let parts: Vec<Rows<'_>> = parts.iter().map(Fetched::view).collect();
        change(out, |out| self.inner.join_samples(form, out, &parts, moduli));
    }

    fn join_masks(&self, out: RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
        let parts = fetch_all(parts);
        let parts: Vec<Rows<'_>> = parts.iter().map(Fetched::view).collect();
        change(out, |out| self.inner.join_masks(out, &parts, moduli));
    }

    fn transpose(&self, x: &mut [RowsMut<'_>]) {
        change_all(x, |x| self.inner.transpose(x));
    }

    fn split_components(
        &self,
        form: Form,
        parts: &mut [RowsMut<'_>],
        x: Rows<'_>,
        twist: Twist,
        moduli: &[usize],
    ) {
        let x = fetch(x);
        change_all(parts, |parts| self.inner.split_components(form, parts, x.view(), twist, moduli));
    }

    fn repeat(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>) {
        let x = fetch(x);
        change(out, |out| self.inner.repeat(form, out, x.view()));
    }

    fn first_component(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>, moduli: &[usize]) {
        let x = fetch(x);
        change(out, |out| self.inner.first_component(form, out, x.view(), moduli));
    }

    fn reduce_signed(&self, out: RowsMut<'_>, values: &[i64], moduli: &[usize]) {
        change(out, |out| self.inner.reduce_signed(out, values, moduli));
    }
}
