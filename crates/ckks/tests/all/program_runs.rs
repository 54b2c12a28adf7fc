//! Runs of programs: operations side by side give the bits of operations in order; what stops a run stops it
//! once, and a run that stored its values goes on.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::common::*;
use crate::programs::{Case, cases, compiled, encrypted, matrix, plain, record, vector};
use clathrate_ckks::encrypted_array::EncryptedArray;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::program::{
    Arrangement, Executor, FunctionRecording, Program, RecordedFunction, RunOptions, TaskValue,
};
use clathrate_ckks::{Ciphertext, CkksError, EvaluationKeys, Evaluator, Event, Level, Progress, Runtime};

/// The same program on so many threads.
fn on_threads(program: &Program, threads: usize) -> Program {
    let bytes = program.to_file_bytes().expect("a file");
    let runtime = Runtime { threads: Some(threads), ..Runtime::default() };
    Program::from_reader(&FileReader::from_bytes(&bytes).expect("opens"), true, &runtime).expect("a program")
}

/// Keys and inputs for a program that runs on other threads.
fn moved(program: &Program, keys: &EvaluationKeys, data: &[Ciphertext]) -> (Evaluator, Vec<Ciphertext>) {
    let (params, keys) = (program.params(), keys.to_file_bytes().expect("a file"));
    let keys =
        EvaluationKeys::from_reader(&FileReader::from_bytes(&keys).expect("opens"), params).expect("keys");
    let moved = |own: &Ciphertext| {
        let bytes = own.to_file_bytes().expect("a file");
        Ciphertext::from_reader(&FileReader::from_bytes(&bytes).expect("opens"), params)
            .expect("a ciphertext")
    };
    (Evaluator::with_keys(keys), data.iter().map(moved).collect())
}

fn assert_same(what: &str, found: &[Arc<Ciphertext>], expected: &[Arc<Ciphertext>]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(
            found.to_file_bytes().expect("a file"),
            expected.to_file_bytes().expect("a file"),
            "{what}: other bits or estimates"
        );
    }
}

/// A wide function: several ways from the inputs, a mean, a value that two take, and two results.
fn wide() -> RecordedFunction {
    let inputs = [vector("x", 6), vector("y", 6), matrix(3, 4)];
    let recording = FunctionRecording::new(&inputs).expect("a recording");
    let [x, y, m] = recording.symbols() else { panic!("three inputs") };
    let function = || {
        let centred = m.sub(&m.mean(Some(&[1]), true)?)?;
        let squares = centred.mul(&centred)?.sum(None, false)?;
        let ways = (0..5).map(|step| x.mul(y)?.rotate(step)?.mul(0.5 + step as f64));
        let ways = ways.collect::<Result<Vec<EncryptedArray>, CkksError>>()?;
        let all = ways[1..].iter().try_fold(ways[0].clone(), |sum, way| sum.add(way))?;
        Ok::<_, CkksError>([all.mul(&squares)?, squares])
    };
    let results = function().expect("records");
    let two = Arrangement::List(vec![Arrangement::Array(0), Arrangement::Array(1)]);
    recording.finish(&results.iter().collect::<Vec<_>>(), two).expect("a function")
}

/// The wide program, its keys, its inputs and its results.
fn wide_run(threads: usize) -> (Program, Evaluator, Vec<Ciphertext>, Vec<Arc<Ciphertext>>) {
    let program = compiled(wide(), "insecure_deep").expect("compiles");
    let owner = secret(program.params(), 95);
    let keys = owner.evaluation_keys(program.forecast().needs()).expect("keys");
    let data = encrypted(&program, &owner);
    let expected = program.run(&Evaluator::with_keys(keys.clone()), &data, &[]).expect("runs");
    let program = on_threads(&program, threads);
    let (evaluator, data) = moved(&program, &keys, &data);
    (program, evaluator, data, expected)
}

#[test]
fn operations_side_by_side_give_the_bits_of_operations_in_order() {
    for threads in [1, 2, 3, 16] {
        let (program, evaluator, data, expected) = wide_run(threads);
        assert_same(
            &format!("{threads} threads"),
            &program.run(&evaluator, &data, &[]).expect("runs"),
            &expected,
        );
    }
    // Every operation, on arrays of several bundles too.
    let wider = Case {
        what: "several bundles",
        inputs: vec![matrix(8, 200), vector("y", 200)],
        preset: "insecure_deep",
        function: |x| x[0].mul(&x[1])?.rotate(1)?.power(3)?.add(&x[0].map_rows(&plain(&[200, 200]), false)?),
    };
    for case in cases().into_iter().chain([wider]) {
        let program = compiled(record(&case).expect("records"), case.preset).expect("compiles");
        let owner = secret(program.params(), 96);
        let keys = owner.evaluation_keys(program.forecast().needs()).expect("keys");
        let data = encrypted(&program, &owner);
        let expected = program.run(&Evaluator::with_keys(keys.clone()), &data, &[]).expect("runs");
        let program = on_threads(&program, 3);
        let (evaluator, data) = moved(&program, &keys, &data);
        assert_same(case.what, &program.run(&evaluator, &data, &[]).expect("runs"), &expected);
    }
}

#[test]
fn tasks_are_the_operations_with_what_they_take_and_cost() {
    let program = compiled(wide(), "insecure_deep").expect("compiles");
    let tasks = program.tasks();
    assert_eq!(tasks.len(), program.graph().nodes.len());
    for (index, task) in tasks.iter().enumerate() {
        assert_eq!(task.value, 3 + index);
        assert!(task.inputs.iter().all(|&input| input < task.value) && task.seconds >= 0.0 && task.bytes > 0);
    }
    let seconds: f64 = tasks.iter().map(|task| task.seconds).sum();
    let predicted = program.forecast().recording().cost().nanoseconds * 1e-9;
    assert!((seconds - predicted).abs() <= 1e-2 * predicted, "{seconds} of {predicted}");
    assert!(tasks.iter().any(|task| task.name == "mean") && tasks.iter().any(|task| task.name == "rotate"));
}

/// Steps that were reported, and how many there are.
type Steps = Arc<Mutex<Vec<(usize, usize)>>>;

/// A receiver that writes down steps, and stops after so many reports.
fn stopping_after(reports: usize) -> (Progress, Steps) {
    let (steps, count) = (Arc::new(Mutex::new(Vec::new())), AtomicUsize::new(0));
    let seen = steps.clone();
    let progress = Progress::new(move |event| {
        if let Event::Steps { done, total } = event {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push((done, total));
        }
        count.fetch_add(1, Ordering::Relaxed) < reports
    });
    (progress, steps)
}

#[test]
fn steps_are_shares_of_the_predicted_time_and_end_with_the_last() {
    for threads in [1, 3] {
        let (program, evaluator, data, _) = wide_run(threads);
        let (progress, steps) = stopping_after(usize::MAX);
        program.run(&evaluator.with_progress(progress), &data, &[]).expect("runs");
        let steps = steps.lock().expect("no panic").clone();
        assert_eq!(steps.last(), Some(&(1000, 1000)));
        assert!(steps.iter().all(|(done, total)| done <= total && *total == 1000));
        assert!(steps.iter().filter(|(done, _)| *done == 1000).count() == 1, "{steps:?}");
        // On one thread, steps only go up.
        assert!(threads > 1 || steps.is_sorted(), "{steps:?}");
        assert!(steps.len() >= program.graph().nodes.len());
    }
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

fn stored_in(folder: &Path, pause: Duration) -> RunOptions<'_> {
    RunOptions { store: Some((folder, pause)), ..RunOptions::default() }
}

#[test]
fn a_run_that_is_stopped_at_any_report_goes_on_from_its_stored_values() {
    for threads in [1, 2] {
        let (program, evaluator, data, expected) = wide_run(threads);
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("run");
        let mut ends = Vec::new();
        // Each run stops a little later than it begins; the last one is through.
        for reports in (4..400).step_by(7) {
            let (progress, steps) = stopping_after(reports);
            let own = evaluator.clone().with_progress(progress);
            match program.run_with(&own, &data, &[], stored_in(&place, Duration::ZERO)) {
                Ok(results) => {
                    assert_same(&format!("{threads} threads, stored"), &results, &expected);
                    ends.push(steps.lock().expect("no panic")[0].0);
                    break;
                }
                Err(error) => assert!(matches!(error, CkksError::Cancelled), "{error}"),
            }
        }
        assert_eq!(ends.len(), 1, "one run got through");
        // With two threads it depends on their turns where a run stops.
        let least = if threads == 1 { 300 } else { 0 };
        assert!(ends[0] > least, "the last run began at {ends:?} of 1000 steps");
        assert!(!place.exists(), "a finished run leaves nothing");
    }
}

#[test]
fn stored_values_are_those_of_one_run() {
    let (program, evaluator, data, expected) = wide_run(1);
    let folder = tempfile::tempdir().expect("a folder");
    let stored = |evaluator: &Evaluator, data: &[Ciphertext]| {
        program.run_with(evaluator, data, &[], stored_in(folder.path(), Duration::ZERO))
    };
    let stop = || evaluator.clone().with_progress(stopping_after(25).0);
    assert!(matches!(stored(&stop(), &data), Err(CkksError::Cancelled)));
    let left = files(folder.path());
    assert!(left > 0);
    // Another input is another run, which finds nothing and leaves the files of the first.
    let other = vec![data[1].clone(), data[0].clone(), data[2].clone()];
    stored(&evaluator, &other).expect("runs");
    assert_eq!(files(folder.path()), left);
    // A damaged file is an error that names it, and nothing is lost.
    let path =
        std::fs::read_dir(folder.path()).expect("a folder").next().expect("a file").expect("a file").path();
    let bytes = std::fs::read(&path).expect("readable");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("writable");
    assert!(matches!(stored(&evaluator, &data), Err(CkksError::File(_))));
    // A value of another program under the name of one of this.
    std::fs::write(&path, data[2].to_file_bytes().expect("a file")).expect("writable");
    let text = stored(&evaluator, &data).expect_err("a refusal").to_string();
    assert!(text.contains("remove it"), "{text}");
    std::fs::write(&path, &bytes).expect("writable");
    assert_same("whole again", &stored(&evaluator, &data).expect("runs"), &expected);
    assert_eq!(files(folder.path()), 0);
    // Where no folder can be.
    let file = tempfile::NamedTempFile::new().expect("a file");
    let refused = program.run_with(&evaluator, &data, &[], stored_in(file.path(), Duration::ZERO));
    assert!(matches!(refused, Err(CkksError::File(_))));
    // Where nothing is due, nothing is written.
    let seldom = program.run_with(&stop(), &data, &[], stored_in(folder.path(), Duration::from_secs(3600)));
    assert!(matches!(seldom, Err(CkksError::Cancelled)) && files(folder.path()) == 0);
}

#[test]
fn an_operation_that_fails_ends_the_run() {
    for threads in [1, 3] {
        let (program, _, data, _) = wide_run(threads);
        // Without keys, products fail; other operations may have begun.
        let error = program.run(&Evaluator::new(program.params()), &data, &[]).expect_err("no keys");
        assert!(matches!(error, CkksError::NoKeys { .. }), "{error}");
    }
}

/// Whoever computes operations elsewhere, with what arrives there as files.
struct Elsewhere {
    program: Program,
    /// The program of the run, which may compute on another device.
    home: Program,
    evaluator: Evaluator,
    computed: AtomicUsize,
    /// What it does with a value before it sends it back.
    answer: fn(&Program, usize, TaskValue) -> Result<TaskValue, CkksError>,
}

impl Elsewhere {
    fn new(program: &Program, keys: &EvaluationKeys) -> Self {
        let (home, program) = (program.clone(), on_threads(program, 1));
        let (evaluator, _) = moved(&program, keys, &[]);
        Self { program, home, evaluator, computed: AtomicUsize::new(0), answer: |_, _, value| Ok(value) }
    }
}

/// A value as it is after a way as files, of another program.
fn as_files(value: &TaskValue, program: &Program) -> TaskValue {
    let copied = |own: &Ciphertext| {
        let bytes = own.to_file_bytes().expect("a file");
        let reader = FileReader::from_bytes(&bytes).expect("opens");
        Arc::new(Ciphertext::from_reader(&reader, program.params()).expect("a ciphertext"))
    };
    let sum_of = value.sum_of.as_ref().map(|(sum, count)| (copied(sum), *count));
    TaskValue { data: copied(&value.data), sum_of }
}

impl Executor for Elsewhere {
    fn workers(&self) -> usize {
        3
    }

    fn compute(
        &self,
        value: usize,
        operands: Vec<(usize, TaskValue)>,
        _: &dyn Fn() -> bool,
    ) -> Result<TaskValue, CkksError> {
        self.computed.fetch_add(1, Ordering::Relaxed);
        let operands = operands.iter().map(|(number, own)| (*number, as_files(own, &self.program)));
        let found = self.program.compute(&self.evaluator, value, operands.collect(), &[])?;
        (self.answer)(&self.home, value, as_files(&found, &self.home))
    }
}

#[test]
fn operations_that_others_compute_give_the_same_bits() {
    for case in cases() {
        let program = compiled(record(&case).expect("records"), case.preset).expect("compiles");
        let owner = secret(program.params(), 97);
        let keys = owner.evaluation_keys(program.forecast().needs()).expect("keys");
        let data = encrypted(&program, &owner);
        let evaluator = Evaluator::with_keys(keys.clone());
        let expected = program.run(&evaluator, &data, &[]).expect("runs");
        let elsewhere = Elsewhere::new(&program, &keys);
        // Without keys of its own, the run computes nothing here.
        let options = RunOptions { executor: Some(&elsewhere), ..RunOptions::default() };
        let found = program.run_with(&Evaluator::new(program.params()), &data, &[], options);
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", case.what));
        assert_same(case.what, &found, &expected);
        assert_eq!(elsewhere.computed.load(Ordering::Relaxed), program.graph().nodes.len(), "{}", case.what);
    }
}

/// The wide program, its keys, its inputs and its results with these keys.
fn wide_with_keys() -> (Program, EvaluationKeys, Vec<Ciphertext>, Vec<Arc<Ciphertext>>) {
    let program = compiled(wide(), "insecure_deep").expect("compiles");
    let owner = secret(program.params(), 98);
    let keys = owner.evaluation_keys(program.forecast().needs()).expect("keys");
    let data = encrypted(&program, &owner);
    let expected = program.run(&Evaluator::with_keys(keys.clone()), &data, &[]).expect("runs");
    (program, keys, data, expected)
}

#[test]
fn what_others_cannot_have_computed_is_refused_and_their_failures_end_the_run() {
    let (program, keys, data, expected) = wide_with_keys();
    let run = |elsewhere: &Elsewhere| {
        let options = RunOptions { executor: Some(elsewhere), ..RunOptions::default() };
        program.run_with(&Evaluator::new(program.params()), &data, &[], options)
    };
    let mut elsewhere = Elsewhere::new(&program, &keys);
    assert_same("all well", &run(&elsewhere).expect("runs"), &expected);
    // An array of another level, or of another shape.
    elsewhere.answer = |_, value, found| {
        if value != 5 {
            return Ok(found);
        }
        let below = Level(found.data.level().0 - 1);
        let lower = Evaluator::new(found.data.params()).drop_to_level(&found.data, below).expect("lower");
        Ok(TaskValue { data: Arc::new(lower), sum_of: None })
    };
    let text = run(&elsewhere).expect_err("another level").to_string();
    assert!(text.contains("cannot be value 5 of this program"), "{text}");
    // A failure there is the run's.
    elsewhere.answer = |_, _, _| Err(CkksError::Internal { operation: "elsewhere" });
    let error = run(&elsewhere).expect_err("a failure");
    assert!(matches!(error, CkksError::Internal { operation: "elsewhere" }), "{error}");
    // Without keys there, the operation fails there.
    let mut elsewhere = Elsewhere::new(&program, &keys);
    elsewhere.evaluator = Evaluator::new(elsewhere.program.params());
    assert!(matches!(run(&elsewhere).expect_err("no keys"), CkksError::NoKeys { .. }));
    // Operands that were not given, that cannot be the program's, and operations that there are none of.
    let elsewhere = Elsewhere::new(&program, &keys);
    let compute = |value, operands| elsewhere.program.compute(&elsewhere.evaluator, value, operands, &[]);
    let (_, data) = moved(&elsewhere.program, &keys, &data);
    let given = |index: usize| TaskValue { data: Arc::new(data[index].clone()), sum_of: None };
    let takes_an_input = program.tasks().iter().find(|task| task.inputs == [2]).expect("a mean").value;
    assert!(compute(takes_an_input, vec![(2, given(2))]).is_ok());
    assert!(compute(takes_an_input, vec![(0, given(0))]).is_err());
    assert!(compute(takes_an_input, vec![(2, given(0))]).is_err());
    assert!(compute(0, vec![]).is_err() && compute(1000, vec![]).is_err());
}

#[test]
fn runs_that_others_compute_are_stored_and_go_on() {
    let (program, keys, data, expected) = wide_with_keys();
    let folder = tempfile::tempdir().expect("a folder");
    let mut counts = Vec::new();
    for reports in [40, usize::MAX] {
        let elsewhere = Elsewhere::new(&program, &keys);
        let options = RunOptions { executor: Some(&elsewhere), store: Some((folder.path(), Duration::ZERO)) };
        let evaluator = Evaluator::new(program.params()).with_progress(stopping_after(reports).0);
        match program.run_with(&evaluator, &data, &[], options) {
            Ok(found) => assert_same("after a stop", &found, &expected),
            Err(error) => assert!(reports == 40 && matches!(error, CkksError::Cancelled), "{error}"),
        }
        counts.push(elsewhere.computed.load(Ordering::Relaxed));
    }
    assert!(counts[0] > 0 && counts[1] < program.graph().nodes.len(), "{counts:?}");
}
