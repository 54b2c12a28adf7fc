//! Programs: every operation is recorded, and replays to the bits of the function; files mean what they say
//! or are refused; choices hold what was asked for.

use std::collections::BTreeSet;

use crate::common::measure::noise;
use crate::common::*;
use clathrate_ckks::circuits::linear::Convolution;
use clathrate_ckks::encrypted_array::{ArrayOperation, EncryptedArray, PlainArray, Subscripts};
use clathrate_ckks::file::{FileReader, FileWriter, Stored};
use clathrate_ckks::functions::SmoothFunction;
use clathrate_ckks::keys::Values;
use clathrate_ckks::program::{
    Arrangement, Choices, CompileOptions, FunctionRecording, Program, ProgramInput, RecordedFunction,
};
use clathrate_ckks::{
    Ciphertext, CkksError, Complex64, Encoding, Evaluator, Matrix, Params, Polynomial, PolynomialBasis,
    Runtime, SecretKey,
};

pub type Function = fn(&[EncryptedArray]) -> Result<EncryptedArray, CkksError>;

/// A function, the arrays that it takes, and the preset whose parameters it runs with.
pub struct Case {
    pub what: &'static str,
    pub inputs: Vec<ProgramInput>,
    pub preset: &'static str,
    pub function: Function,
}

pub fn vector(name: &str, length: usize) -> ProgramInput {
    ProgramInput::new(name, &[length]).with_bound(1.0)
}

pub fn matrix(rows: usize, columns: usize) -> ProgramInput {
    ProgramInput::new("m", &[rows, columns]).with_bound(1.0)
}

fn in_coefficients(input: ProgramInput) -> ProgramInput {
    ProgramInput { encoding: Encoding::Coefficients, ..input }
}

fn in_lanes(input: ProgramInput) -> ProgramInput {
    ProgramInput { lanes: true, ..input }
}

fn complex(input: ProgramInput) -> ProgramInput {
    ProgramInput { is_complex: true, ..input }
}

pub fn plain(shape: &[usize]) -> PlainArray {
    let count = shape.iter().product();
    PlainArray::new(Values::Real((0..count).map(|i| 0.25 + i as f64 / 16.0).collect()), shape.to_vec())
}

fn case(what: &'static str, inputs: Vec<ProgramInput>, function: Function) -> Case {
    Case { what, inputs, preset: "insecure_deep", function }
}

fn two() -> Vec<ProgramInput> {
    vec![vector("x", 6), vector("y", 6)]
}

fn one() -> Vec<ProgramInput> {
    vec![vector("x", 6)]
}

/// A case for every operation, and for their arguments.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("add", two(), |x| x[0].add(&x[1])),
        case("add plain", one(), |x| x[0].add(plain(&[6]))?.add(1.5)?.add(2)),
        case("sub", two(), |x| x[0].sub(&x[1])),
        case("sub from", one(), |x| x[0].sub_from(1.5)),
        case("negate", one(), |x| x[0].negate()),
        case("mul", two(), |x| x[0].mul(&x[1])),
        case("mul plain", one(), |x| x[0].mul(plain(&[6]))?.mul(0.5)?.mul(3)),
        case("square", one(), |x| x[0].mul(&x[0])),
        case("div", one(), |x| x[0].div(plain(&[6]))),
        case("power", one(), |x| x[0].power(5)),
        case("multiply", two(), |x| x[0].multiply(&x[1], true)),
        case("rescale", two(), |x| x[0].mul(&x[1])?.rescale()),
        case("cleared", one(), |x| x[0].add(1.0)?.cleared()),
        case("clear padding", one(), |x| x[0].add(1.0)?.clear_padding()),
        case("conjugate", vec![complex(vector("x", 6))], |x| x[0].conjugate()),
        case("real part", vec![complex(vector("x", 6))], |x| x[0].real_part()),
        case("imaginary part", vec![complex(vector("x", 6))], |x| x[0].imaginary_part()),
        case("rotate", one(), |x| x[0].rotate(2)?.add(&x[0].rotate_many(&[1])?[0])),
        case("repeat column", vec![matrix(3, 1)], |x| x[0].repeat_column(4)),
        case("with bound", one(), |x| x[0].with_bound(Some(0.5))),
        case("chosen from", two(), |x| x[0].add(&x[1])?.chosen_from(&x[0], &x[1], 0.5)),
        case("converted", one(), |x| x[0].converted(Encoding::Coefficients, None)),
        case("in slots", vec![in_coefficients(vector("x", 6))], |x| x[0].in_slots()),
        case("polynomial", one(), |x| {
            x[0].polynomial(&Polynomial::new(
                [0.5, 1.0, 0.25, 0.125],
                PolynomialBasis::Chebyshev,
                (-2.0, 2.0),
            )?)
        }),
        case("complex polynomial", one(), |x| {
            let coefficients = [Complex64::new(0.0, 1.0), Complex64::new(1.0, 0.5)];
            x[0].polynomial(&Polynomial::new_complex(coefficients, PolynomialBasis::Power, (-1.0, 1.0))?)
        }),
        case("sum", vec![matrix(3, 4)], |x| x[0].sum(Some(&[1]), true)?.add(&x[0].sum(None, false)?)),
        case("mean", vec![matrix(3, 4)], |x| x[0].sub(&x[0].mean(Some(&[-1]), true)?)),
        case("variance", one(), |x| x[0].variance(None, 1, false)),
        case("product", one(), |x| x[0].product(None, false)),
        case("sum rows", vec![matrix(3, 4)], |x| x[0].sum_rows()),
        case("dot", two(), |x| x[0].dot(&x[1])?.add(&x[0].dot(plain(&[6]))?)),
        case("times vector", vec![matrix(3, 6), vector("y", 6)], |x| x[0].times_vector(&x[1])),
        case("left multiply", vec![in_coefficients(matrix(3, 4))], |x| {
            x[0].left_multiply(&Matrix::new(2, 3, &[1.0, 0.5, 0.25, -1.0, 2.0, 0.75]), None)
        }),
        case("left multiply by integers", vec![in_coefficients(matrix(3, 4))], |x| {
            x[0].left_multiply(&Matrix::new(2, 3, &[1.0, 5.0, 2.0, -1.0, 2.0, 7.0]), Some(1.0))
        }),
        case("map rows", one(), |x| x[0].map_rows(&plain(&[4, 6]), false)),
        case("map rows first", vec![matrix(2, 6)], |x| x[0].map_rows(&plain(&[6, 4]), true)),
        case("matmul", vec![in_lanes(matrix(3, 4)), in_lanes(matrix(4, 2))], |x| x[0].matmul(&x[1])),
        case("matmul of views", vec![in_lanes(matrix(4, 3)), in_lanes(matrix(2, 4))], |x| {
            x[0].matmul_of_views(&x[1], [true; 2])
        }),
        case("transposed", vec![in_lanes(matrix(3, 4))], |x| x[0].transposed()),
        case("permuted", vec![in_lanes(ProgramInput::new("x", &[2, 3, 4]).with_bound(1.0))], |x| {
            x[0].permuted(&[2, 0, 1])
        }),
        case("einsum", two(), |x| x[0].einsum(&x[1], &Subscripts::new("i,j->ij")?)),
        case("convolved", vec![ProgramInput::new("m", &[2, 3, 4]).with_bound(1.0)], |x| {
            let own = Convolution { padding: [1, 0], ..Convolution::default() };
            x[0].convolved(&plain(&[3, 2, 2, 3]), own)
        }),
        case("mapped", one(), |x| x[0].mapped(&[2], &[0, 1, 2, 3], &[0.5, 0.25, 1.0, -1.0])),
        case("pick", vec![matrix(4, 6)], |x| x[0].pick(Some(&[2, 0]), false, Some(1..4))),
        case("pick one row", vec![matrix(4, 6)], |x| x[0].pick(Some(&[2]), true, None)),
        case("pick column", vec![matrix(4, 6)], |x| x[0].pick_column(None, false, 3)),
        case("pick entry", one(), |x| x[0].pick_entry(3)),
        case("pick entries", one(), |x| x[0].pick_entries(2..5)),
        case("reshaped", one(), |x| x[0].reshaped(&[2, 3])),
        case("gathered", one(), |x| x[0].gathered(&[4], &[Some(5), None, Some(0), Some(0)])),
        case("concatenate", vec![matrix(2, 4), matrix(3, 4)], |x| {
            EncryptedArray::concatenate(&[&x[0], &x[1], &x[0]])
        }),
        case("join columns", vec![matrix(2, 4), matrix(2, 3)], |x| {
            EncryptedArray::join_columns(&[&x[0], &x[1]])
        }),
        case("pad columns", vec![matrix(2, 4)], |x| x[0].pad_columns(1, 2)),
        case("smooth", one(), |x| x[0].smooth(SmoothFunction::Sigmoid, 1e-2, None)),
        case("std", one(), |x| x[0].std(None, 0, false, 1e-1, (0.1, 1.0))),
        case("norm", one(), |x| x[0].norm(None, false, 1e-1, (0.1, 4.0))),
        case("softmax", vec![vector("x", 4)], |x| x[0].with_bound(Some(0.25))?.softmax(4e-1, Some(0.25))),
        case("sign", one(), |x| x[0].sign(0.5, 1e-1, None)),
        case("absolute", one(), |x| x[0].absolute(2e-1, None)),
        case("relu", one(), |x| x[0].relu(2e-1, None)),
        case("maximum", two(), |x| x[0].maximum(&x[1], 4e-1, None)),
        case("minimum", one(), |x| x[0].minimum(plain(&[6]), 4e-1, None)),
    ];
    cases.push(Case {
        what: "bootstrap",
        inputs: vec![vector("x", 512)],
        preset: "insecure_boot",
        function: |x| x[0].bootstrap(None),
    });
    cases
}

pub fn record(case: &Case) -> Result<RecordedFunction, CkksError> {
    let recording = FunctionRecording::new(&case.inputs)?;
    let result = (case.function)(recording.symbols())?;
    recording.finish(&[&result], Arrangement::Array(0))
}

pub fn compiled(function: RecordedFunction, preset: &str) -> Result<Program, CkksError> {
    // Every operation as it is written.
    let options =
        CompileOptions { params: Some(params(preset)), passes: Vec::new(), ..CompileOptions::default() };
    Program::compile(&[function], &options)
}

/// Encrypted inputs of a program.
pub fn encrypted(program: &Program, owner: &SecretKey) -> Vec<Ciphertext> {
    let inputs = program.inputs().iter().enumerate();
    inputs
        .map(|(index, input)| {
            let numbers = noise(input.shape.iter().product::<usize>().max(1), 500 + index as u64);
            let options = program.options(index).expect("options");
            let values = match input.is_complex {
                true => Values::Complex(numbers.iter().map(|&x| Complex64::new(x / 2.0, x / 4.0)).collect()),
                false => Values::Real(numbers),
            };
            owner.encrypt_array(&values, &input.shape, options).expect("encrypts")
        })
        .collect()
}

/// The names of all operations: those that the message of an unknown one lists.
fn all_operations() -> BTreeSet<String> {
    let error =
        serde_json::from_str::<ArrayOperation>("\"nothing\"").expect_err("no such operation").to_string();
    let (_, listed) = error.split_once("expected one of").expect("a list");
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn name_of(operation: &ArrayOperation) -> String {
    match serde_json::to_value(operation).expect("serialises") {
        serde_json::Value::String(name) => name,
        serde_json::Value::Object(fields) => fields.keys().next().expect("a name").clone(),
        other => panic!("{other}"),
    }
}

#[test]
fn every_operation_replays_to_the_bits_of_its_function() {
    let mut seen = BTreeSet::new();
    let mut owner: Option<SecretKey> = None;
    for case in cases() {
        let what = case.what;
        let function = record(&case).unwrap_or_else(|error| panic!("{what}, recording: {error}"));
        let program = compiled(function, case.preset).unwrap_or_else(|error| panic!("{what}: {error}"));
        seen.extend(program.graph().nodes.iter().map(|node| name_of(&node.operation)));
        let owner = match &owner {
            Some(own) if own.params() == program.params() => own,
            _ => owner.insert(secret(program.params(), 91)),
        };
        let keys = owner.evaluation_keys(program.forecast().needs()).expect("keys");
        let evaluator = Evaluator::with_keys(keys);
        let data = encrypted(&program, owner);
        let results =
            program.run(&evaluator, &data, &[]).unwrap_or_else(|error| panic!("{what}, run: {error}"));

        let arrays: Vec<_> = data.into_iter().map(|x| EncryptedArray::new(x, &evaluator)).collect();
        let direct = (case.function)(&arrays).unwrap_or_else(|error| panic!("{what}, directly: {error}"));
        let comparison = results[0].same_as(&direct.settled().expect("settles")).expect("compares");
        assert!(comparison.differences.is_empty(), "{what}: {comparison}");

        let (found, forecast) = (&results[0], &program.forecast().results()[0]);
        assert_eq!((found.shape(), found.level()), (&forecast.shape[..], forecast.level), "{what}");
        assert_eq!(
            (found.encoding(), found.is_complex()),
            (forecast.encoding, forecast.is_complex),
            "{what}"
        );

        // The file is the same program.
        let bytes = program.to_file_bytes().expect("a file");
        let read =
            Program::from_reader(&FileReader::from_bytes(&bytes).expect("opens"), true, &Runtime::default());
        let read = read.unwrap_or_else(|error| panic!("{what}, file: {error}"));
        assert_eq!(read.graph(), program.graph(), "{what}");
        assert_eq!(read.choices(), program.choices(), "{what}");
        assert_eq!(read.forecast().results(), program.forecast().results(), "{what}");
        assert_eq!(read.to_file_bytes().expect("a file"), bytes, "{what}");
    }
    let missing: Vec<_> = all_operations().difference(&seen).cloned().collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
}

#[test]
fn what_is_not_used_is_left_out() {
    let recording = FunctionRecording::new(&two()).expect("a recording");
    let (x, y) = (&recording.symbols()[0], &recording.symbols()[1]);
    x.mul(plain(&[6])).expect("a product").add(3.0).expect("a sum");
    let result = y.mul(plain(&[6])).expect("a product").add(y).expect("a sum");
    let function = recording.finish(&[&result], Arrangement::Array(0)).expect("a function");
    let program = compiled(function, "insecure_small").expect("compiles");
    assert_eq!((program.graph().nodes.len(), program.graph().constants.len()), (2, 1));
}

/// The name of what an error says.
fn refused<T>(result: Result<T, CkksError>) -> String {
    result.err().expect("a refusal").to_string()
}

#[test]
fn functions_that_are_no_programs_are_refused() {
    let recording = FunctionRecording::new(&two()).expect("a recording");
    let x = &recording.symbols()[0];
    // An operation of ciphertexts that depends on parameters.
    let text = refused(x.map_settled(|evaluator, x| evaluator.to_rank(x, 2)));
    assert!(text.contains("depends on parameters"), "{text}");
    // A symbol of another recording.
    let other = FunctionRecording::new(&one()).expect("a recording");
    let text = refused(x.add(&other.symbols()[0]));
    assert!(text.contains("another program"), "{text}");
    let text = refused(recording.finish(&[&other.symbols()[0]], Arrangement::Array(0)));
    assert!(text.contains("another program"), "{text}");
    // An arrangement of other results than there are.
    for arrangement in [
        Arrangement::Array(1),
        Arrangement::List(Vec::new()),
        Arrangement::Tuple(vec![Arrangement::Array(0), Arrangement::Array(0)]),
    ] {
        let text = refused(recording.finish(&[x], arrangement));
        assert!(text.contains("results of a program"), "{text}");
    }
}

#[test]
fn plain_inputs_are_given_when_a_program_runs() {
    let weights = ProgramInput::new("w", &[3, 4]).with_bound(2.0).plain();
    let factors = ProgramInput::new("f", &[4]).with_bound(1.0).plain();
    let recording =
        FunctionRecording::new(&[weights, in_coefficients(matrix(4, 2)), factors, vector("y", 4)])
            .expect("a recording");
    let ([x, y], [w, f]) = (recording.symbols(), recording.plain()) else { panic!("two of each") };
    let product = x.left_multiply(w, None).expect("a product");
    let scaled = y.mul(f.clone()).expect("a product").add(f.clone()).expect("a sum");
    let results = Arrangement::List(vec![Arrangement::Array(0), Arrangement::Array(1)]);
    let function = recording.finish(&[&product, &scaled], results).expect("a function");
    let program = compiled(function, "insecure_deep").expect("compiles");
    assert!(program.graph().constants.is_empty());
    let owner = secret(program.params(), 94);
    let evaluator = Evaluator::with_keys(owner.evaluation_keys(program.forecast().needs()).expect("keys"));
    let encrypt = |index: usize, values: &[f64]| {
        let (shape, options) = (&program.inputs()[index].shape, program.options(index).expect("options"));
        owner.encrypt_array(values, shape, options).expect("encrypts")
    };
    let (m, y) = (noise(8, 7), noise(4, 8));
    let data = [encrypt(1, &m), encrypt(3, &y)];
    for seed in 0..2 {
        let (w, f): (Vec<f64>, _) =
            (noise(12, 20 + seed).iter().map(|x| 2.0 * x).collect(), noise(4, 30 + seed));
        let plain = [
            PlainArray::new(Values::Real(w.clone()), vec![3, 4]),
            PlainArray::new(Values::Real(f.clone()), vec![4]),
        ];
        let results = program.run(&evaluator, &data, &plain).expect("runs");
        let product = decrypt(&owner, &results[0]);
        for (index, found) in product.iter().enumerate() {
            let (row, column) = (index / 2, index % 2);
            let right: f64 = (0..4).map(|k| w[row * 4 + k] * m[k * 2 + column]).sum();
            assert!((found - right).abs() < 1e-6);
        }
        for (index, found) in decrypt(&owner, &results[1]).iter().enumerate() {
            assert!((found - (y[index] * f[index] + f[index])).abs() < 1e-6);
        }
    }
    let wrong = |w: PlainArray| {
        let f = PlainArray::new(Values::Real(vec![0.5; 4]), vec![4]);
        refused(program.run(&evaluator, &data, &[w, f]))
    };
    let text = wrong(PlainArray::new(Values::Real(vec![3.0; 12]), vec![3, 4]));
    assert!(text.contains("up to 2e0"), "{text}");
    let text = wrong(PlainArray::new(Values::Real(vec![f64::NAN; 12]), vec![3, 4]));
    assert!(text.contains("\"w\""), "{text}");
    let text = wrong(PlainArray::new(Values::Real(vec![1.0; 12]), vec![4, 3]));
    assert!(text.contains("another shape"), "{text}");
    let text = refused(program.run(&evaluator, &data, &[]));
    assert!(text.contains("2, in this order: w, f"), "{text}");
    assert!(program.options(0).is_err());
    let bytes = program.to_file_bytes().expect("a file");
    let read =
        Program::from_reader(&FileReader::from_bytes(&bytes).expect("opens"), true, &Runtime::default());
    assert_eq!(read.expect("a program").inputs(), program.inputs());
    assert!(FunctionRecording::new(&[ProgramInput::new("w", &[3]).plain()]).is_err(), "no bound");
}

fn program_of_a_product() -> Program {
    let recording = FunctionRecording::new(&two()).expect("a recording");
    let [x, y] = recording.symbols() else { panic!("two inputs") };
    let product = x.mul(y).expect("a product").add(plain(&[6])).expect("a sum");
    let moved = product.gathered(&[3], &[Some(1), None, Some(0)]).expect("a gather");
    let function = recording
        .finish(&[&product, &moved], Arrangement::Tuple(vec![Arrangement::Array(0), Arrangement::Array(1)]));
    compiled(function.expect("a function"), "insecure_small").expect("compiles")
}

#[test]
fn inputs_are_those_of_the_program() {
    let program = program_of_a_product();
    let owner = secret(program.params(), 92);
    let evaluator = Evaluator::with_keys(owner.evaluation_keys(program.forecast().needs()).expect("keys"));
    let data = encrypted(&program, &owner);
    let text = refused(program.run(&evaluator, &data[..1], &[]));
    assert!(text.contains("2, in this order: x, y"), "{text}");
    let run = |input: Ciphertext| refused(program.run(&evaluator, &[input, data[1].clone()], &[]));
    let options = program.options(0).expect("options");
    let other = |shape: &[usize], options| {
        let count = shape.iter().product();
        owner.encrypt_array(&vec![0.5; count], shape, options).expect("encrypts")
    };
    let text = run(other(&[5], options));
    assert!(text.contains("\"x\"") && text.contains("shape"), "{text}");
    let text = run(other(
        &[6],
        clathrate_ckks::EncryptOptions { encoding: Some(Encoding::Coefficients), ..options },
    ));
    assert!(text.contains("lie as"), "{text}");
    let text = run(other(&[6], clathrate_ckks::EncryptOptions { bound: Some(9.0), ..options }));
    assert!(text.contains("up to 9e0"), "{text}");
    let low = clathrate_ckks::EncryptOptions { level: Some(clathrate_ckks::Level(0)), ..options };
    let text = run(other(&[6], low));
    assert!(text.contains("level 0"), "{text}");
    // A higher level is lowered.
    let top = clathrate_ckks::EncryptOptions { level: Some(program.params().max_level()), ..options };
    program.run(&evaluator, &[other(&[6], top), data[1].clone()], &[]).expect("runs");
    assert!(program.options(2).is_err());
}

/// The bytes of a program whose metadata and graph are changed, with right digests.
fn rewritten(
    program: &Program,
    change: impl Fn(&mut serde_json::Value, &mut serde_json::Value),
) -> Result<Program, CkksError> {
    let bytes = program.to_file_bytes().expect("a file");
    let reader = FileReader::from_bytes(&bytes).expect("opens");
    let mut metadata: serde_json::Value = reader.metadata().expect("metadata");
    let section = |name: &str| reader.section(name).expect("a section").bytes().to_vec();
    let mut graph: serde_json::Value = serde_json::from_slice(&section("graph")).expect("a graph");
    change(&mut metadata, &mut graph);
    let mut writer = FileWriter::in_memory(reader.label().clone(), &metadata).expect("a writer");
    writer.add_section("graph", &serde_json::to_vec(&graph).expect("text")).expect("a section");
    writer.add_section("numbers", &section("numbers")).expect("a section");
    writer.add_section("places", &section("places")).expect("a section");
    let bytes = writer.finish().expect("bytes");
    Program::from_reader(&FileReader::from_bytes(&bytes).expect("opens"), true, &Runtime::default())
}

#[test]
fn files_with_right_digests_and_wrong_contents_are_refused() {
    let program = program_of_a_product();
    rewritten(&program, |_, _| ()).expect("unchanged");
    type Change = fn(&mut serde_json::Value, &mut serde_json::Value);
    let changes: &[(&str, Change)] = &[
        ("a later operand", |_, graph| graph["nodes"][0]["operands"][0] = serde_json::json!({"value": 3})),
        ("itself", |_, graph| graph["nodes"][1]["operands"][0] = serde_json::json!({"value": 3})),
        ("a missing operand", |_, graph| graph["nodes"][0]["operands"] = serde_json::json!([{"value": 0}])),
        ("no operands", |_, graph| graph["nodes"][0]["operands"] = serde_json::json!([])),
        ("a plain first operand", |_, graph| {
            graph["nodes"][0]["operands"][0] = serde_json::json!({"number": 1.0})
        }),
        ("a far constant", |_, graph| graph["nodes"][1]["operands"][1] = serde_json::json!({"constant": 7})),
        ("a far list", |_, graph| {
            graph["nodes"][2]["operation"]["gathered"]["sources"] = serde_json::json!(9)
        }),
        ("another shape", |_, graph| {
            graph["nodes"][2]["operation"]["gathered"]["shape"] = serde_json::json!([4])
        }),
        ("an unknown operation", |_, graph| graph["nodes"][0]["operation"] = serde_json::json!("explode")),
        ("an unknown field", |_, graph| graph["nodes"][0]["colour"] = serde_json::json!("red")),
        ("a longer constant", |_, graph| graph["constants"][0]["shape"] = serde_json::json!([7])),
        ("a huge constant", |_, graph| {
            graph["constants"][0]["shape"] = serde_json::json!([u64::MAX, u64::MAX]);
        }),
        ("a complex constant", |_, graph| graph["constants"][0]["is_complex"] = serde_json::json!(true)),
        ("a longer list", |_, graph| graph["places"][0] = serde_json::json!(4)),
        ("a far result", |metadata, _| metadata["results"][0] = serde_json::json!(40)),
        ("fewer results", |metadata, _| metadata["results"] = serde_json::json!([2])),
        ("no results", |metadata, _| metadata["results"] = serde_json::json!([])),
        ("a negative bound", |metadata, _| metadata["inputs"][0]["bound"] = serde_json::json!(-1.0)),
        ("an input of all memory", |metadata, _| {
            metadata["inputs"][0]["shape"] = serde_json::json!([1u64 << 40])
        }),
        ("a plain input of all memory", |metadata, _| {
            let plain = serde_json::json!({"name": "w", "shape": [1u64 << 26], "bound": 1.0, "is_plain": true, "encoding": "slots"});
            metadata["inputs"].as_array_mut().expect("inputs").push(plain);
        }),
        ("a column of all memory", |_, graph| {
            graph["nodes"][2]["operation"] = serde_json::json!({"repeat_column": {"columns": 1u64 << 40}});
        }),
        ("padding of all memory", |_, graph| {
            graph["nodes"][2]["operation"] =
                serde_json::json!({"pad_columns": {"before": 1u64 << 40, "after": u64::MAX}});
        }),
        ("a shape of zeros", |metadata, _| metadata["inputs"][0]["shape"] = serde_json::json!([0])),
        ("a high level", |metadata, _| metadata["level"] = serde_json::json!(99)),
        ("a low level", |metadata, _| metadata["level"] = serde_json::json!(0)),
        ("bootstraps that are not there", |metadata, _| metadata["bootstrap_below"] = serde_json::json!(1)),
        ("a value that cannot be bootstrapped", |metadata, _| {
            metadata["bootstrapped"] = serde_json::json!([2])
        }),
        ("values in disorder", |metadata, _| metadata["bootstrapped"] = serde_json::json!([3, 2])),
        ("gathered values in disorder", |metadata, _| metadata["gathered"] = serde_json::json!([3, 2])),
        ("gathered values that are twice there", |metadata, _| {
            metadata["gathered"] = serde_json::json!([2, 2])
        }),
        ("a gathered value that is not there", |metadata, _| metadata["gathered"] = serde_json::json!([40])),
        ("a bootstrapped value that is not there", |metadata, _| {
            metadata["bootstrapped"] = serde_json::json!([40])
        }),
        ("another version", |metadata, _| metadata["operations_version"] = serde_json::json!(1)),
        ("other parameters", |metadata, _| metadata["spec"]["log2_scale"] = serde_json::json!(39)),
    ];
    for (what, change) in changes {
        let read = rewritten(&program, change);
        assert!(read.is_err(), "{what} is taken");
    }
    // An input that says nothing wrong means what it says.
    let wider = rewritten(&program, |metadata, _| metadata["inputs"][0]["bound"] = serde_json::json!(2.0));
    assert_eq!(wider.expect("a program").inputs()[0].bound, Some(2.0));
}

#[test]
fn gathered_values_lie_in_as_few_polynomials_as_they_fill() {
    let rows = case("rows alone", vec![matrix(8, 20)], |x| x[0].mul(&x[0])?.add(1.0)?.mul(0.5));
    let function = record(&rows).expect("records");
    let usual = compiled(function.clone(), rows.preset).expect("compiles");
    assert!(usual.choices().gathered.is_empty());
    let owner = secret(usual.params(), 99);
    let numbers = |program: &Program| {
        let keys = owner.evaluation_keys(program.forecast().needs()).expect("keys");
        let data = encrypted(program, &owner);
        let results = program.run(&Evaluator::with_keys(keys), &data, &[]).expect("runs");
        let predicted = &program.forecast().results()[0];
        assert_eq!((results[0].shape(), results[0].level()), (&predicted.shape[..], predicted.level));
        assert!(results[0].error_bound() <= predicted.error_bound);
        (
            results[0].layout().bundles(),
            owner.decrypt(&results[0]).expect("decrypts").into_real().expect("real"),
        )
    };
    let (polynomials, expected) = numbers(&usual);
    assert_eq!(polynomials, 8);
    // An input, and a value that is not rescaled yet.
    for value in [0, 1] {
        let choices = Choices { gathered: vec![value], ..Choices::at(usual.params().fresh_level()) };
        let program = Program::new(usual.params(), function.clone(), choices).expect("a program");
        let program = rewritten(&program, |_, _| ()).expect("the same from a file");
        assert_eq!(program.choices().gathered, [value]);
        assert!(program.to_string().contains(&format!("gathered    v{value}, in fewer polynomials")));
        let (polynomials, found) = numbers(&program);
        assert_eq!(polynomials, 1);
        let far = found.iter().zip(&expected).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
        assert!(far < 1e-6, "{far}");
    }
}

/// The paths of all numbers in a document.
fn numbers_in(value: &serde_json::Value, path: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Number(_) => found.push(path.to_owned()),
        serde_json::Value::Array(parts) => {
            parts.iter().enumerate().for_each(|(i, part)| numbers_in(part, &format!("{path}/{i}"), found));
        }
        serde_json::Value::Object(parts) => {
            parts.iter().for_each(|(name, part)| numbers_in(part, &format!("{path}/{name}"), found));
        }
        _ => {}
    }
}

/// Every number of every operation as a hostile one: an error or another program, and no panic.
#[test]
fn hostile_numbers_in_graphs_do_no_harm() {
    let hostile = [serde_json::json!(-1), serde_json::json!(1u64 << 33), serde_json::json!(u64::MAX)];
    let (mut refused, mut taken) = (0, 0);
    for case in cases() {
        let program = compiled(record(&case).expect("records"), case.preset).expect("compiles");
        let bytes = program.to_file_bytes().expect("a file");
        let reader = FileReader::from_bytes(&bytes).expect("opens");
        let graph = reader.section("graph").expect("a section").bytes().to_vec();
        let mut paths = Vec::new();
        numbers_in(&serde_json::from_slice(&graph).expect("a graph"), "", &mut paths);
        for path in paths {
            for value in &hostile {
                let read = rewritten(&program, |_, graph| {
                    *graph.pointer_mut(&path).expect("a number") = value.clone();
                });
                match read {
                    Ok(_) => taken += 1,
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 300, "{refused} refused, {taken} taken");
}

#[test]
fn a_file_changed_in_any_byte_is_refused() {
    let program = program_of_a_product();
    let bytes = program.to_file_bytes().expect("a file");
    // Gaps of the alignment are zeros, which are checked, too.
    for place in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        let read = FileReader::from_bytes(&changed)
            .map_err(CkksError::from)
            .and_then(|reader| Program::from_reader(&reader, true, &Runtime::default()));
        assert!(read.is_err(), "byte {place} of {}", bytes.len());
    }
    for length in (0..bytes.len()).step_by(97) {
        assert!(FileReader::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn choices_hold_what_was_asked_for() {
    let function = || {
        let recording = FunctionRecording::new(&[vector("x", 100)]).expect("a recording");
        let x = &recording.symbols()[0];
        let y = x.power(4).expect("a power").sum(None, false).expect("a sum");
        recording.finish(&[&y], Arrangement::Array(0)).expect("a function")
    };
    let compile = |options: CompileOptions| Program::compile(&[function()], &options);
    let mut scales = Vec::new();
    for error in [1e-2, 1e-5, 1e-8] {
        let program =
            compile(CompileOptions { error: Some(error), ..CompileOptions::default() }).expect("compiles");
        let (params, forecast) = (program.params(), program.forecast());
        assert!(forecast.error_bound().expect("a bound") <= error);
        assert!(params.security_bits() >= 128.0 && !params.is_insecure());
        assert_eq!(forecast.results()[0].level.0, 0, "no level is left over");
        scales.push(params.spec().log2_scale);
    }
    assert!(scales.is_sorted() && scales[0] < scales[2], "{scales:?}");
    // The same function gives the same program.
    let again = || {
        let options = CompileOptions { error: Some(1e-5), ..CompileOptions::default() };
        compile(options).expect("compiles").to_file_bytes().expect("a file")
    };
    assert_eq!(again(), again());
    let strong = compile(CompileOptions { security: 192.0, ..CompileOptions::default() }).expect("compiles");
    assert!(strong.params().security_bits() >= 192.0);
    // Budgets that are too small name the least that would do.
    let all = compile(CompileOptions::default()).expect("compiles").forecast().key_bytes();
    let fewer = compile(CompileOptions { key_bytes: Some(all - 1), ..CompileOptions::default() });
    assert!(fewer.map_or(true, |program| program.forecast().key_bytes() < all));
    let text = refused(compile(CompileOptions { key_bytes: Some(1000), ..CompileOptions::default() }));
    assert!(text.contains("evaluation keys take"), "{text}");
    let text = refused(compile(CompileOptions { error: Some(1e-30), ..CompileOptions::default() }));
    assert!(text.contains("allow an error of"), "{text}");
    for error in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(compile(CompileOptions { error: Some(error), ..CompileOptions::default() }).is_err());
    }
    assert!(compile(CompileOptions { security: 300.0, ..CompileOptions::default() }).is_err());
    // Without a bound on the inputs no error is known.
    let recording = FunctionRecording::new(&[ProgramInput::new("x", &[10])]).expect("a recording");
    let y = recording.symbols()[0].power(2).expect("a square");
    let unbounded = recording.finish(&[&y], Arrangement::Array(0)).expect("a function");
    let options = CompileOptions { error: Some(1e-3), ..CompileOptions::default() };
    assert!(refused(Program::compile(std::slice::from_ref(&unbounded), &options)).contains("bound"));
    Program::compile(&[unbounded], &CompileOptions::default()).expect("compiles");
}

/// Levels that run out are made by bootstraps, on parameters that have them.
#[test]
fn deep_functions_bootstrap() {
    let recording = FunctionRecording::new(&[vector("x", 512)]).expect("a recording");
    let mut y = recording.symbols()[0].clone();
    for _ in 0..6 {
        y = y.mul(&y).expect("a square");
    }
    let function = recording.finish(&[&y], Arrangement::Array(0)).expect("a function");
    let program = compiled(function, "insecure_boot").expect("compiles");
    assert!(program.choices().bootstraps());
    let owner = secret(program.params(), 93);
    let evaluator = Evaluator::with_keys(owner.evaluation_keys(program.forecast().needs()).expect("keys"));
    let data = encrypted(&program, &owner);
    let results = program.run(&evaluator, &data, &[]).expect("runs");
    let (found, given) = (decrypt(&owner, &results[0]), decrypt(&owner, &data[0]));
    let bound = program.forecast().results()[0].error_bound.expect("a bound");
    for (found, given) in found.iter().zip(&given) {
        assert!((found - given.powi(64)).abs() <= bound + 1e-6, "{found} {given}");
    }
}

/// All sets of values that may be bootstrapped, and all levels: the least price.
fn exhaustive(function: &RecordedFunction, params: &Params, values: usize) -> f64 {
    let (lowest, highest) = params.application_levels().expect("bootstraps");
    let levels = (lowest.0..highest.0).map(clathrate_ckks::Level);
    let sets = 0..1usize << values;
    let prices =
        levels.flat_map(|below| sets.clone().map(move |set| (below, set))).filter_map(|(below, set)| {
            let choices = Choices {
                bootstrap_below: Some(below),
                bootstrapped: (0..values).filter(|value| set >> value & 1 == 1).collect(),
                ..Choices::at(params.fresh_level())
            };
            Program::new(params, function.clone(), choices).ok().map(|program| program.forecast().price())
        });
    prices.fold(f64::INFINITY, f64::min)
}

/// Random functions of five operations: the search is within 5 % of all choices, and never slower than the
/// best level alone.
#[test]
fn bootstraps_are_placed_nearly_as_well_as_possible() {
    let params = params("insecure_boot");
    let mut placed = 0;
    for seed in 0..4 {
        let recording = FunctionRecording::new(&[vector("x", 512)]).expect("a recording");
        let mut values = vec![recording.symbols()[0].clone()];
        for draw in noise(5, 700 + seed) {
            let draw = ((draw + 1.0) * 500.0) as usize;
            let (x, y) = (&values[draw % values.len()], &values[values.len() - 1]);
            values.push(match draw % 7 {
                0 => x.add(y).expect("a sum"),
                1 => y.power(16).expect("a power"),
                2 => y.power(8).expect("a power"),
                _ => x.mul(y).expect("a product").power(4).expect("a power"),
            });
        }
        let last = values.last().expect("a value");
        let function = recording.finish(&[last], Arrangement::Array(0)).expect("a function");
        let options = CompileOptions { params: Some(params.clone()), ..CompileOptions::default() };
        let Ok(program) = Program::compile(std::slice::from_ref(&function), &options) else { continue };
        if !program.choices().bootstraps() {
            continue;
        }
        placed += 1;
        let nodes = program.graph().nodes.len();
        let least = exhaustive(&function, &params, nodes.min(6) + 1);
        let price = program.forecast().price();
        assert!(price <= 1.05 * least, "{seed}: {price} against {least}: {:?}", program.choices());
    }
    assert!(placed >= 2, "{placed} functions bootstrap");
}

fn params_of(degree: usize) -> Params {
    params(if degree == 0 { "insecure_small" } else { "insecure_deep" })
}

#[test]
fn parameters_may_be_given() {
    let recording = FunctionRecording::new(&one()).expect("a recording");
    let y = recording.symbols()[0].power(2).expect("a square");
    let function = recording.finish(&[&y], Arrangement::Array(0)).expect("a function");
    for degree in [0, 1] {
        let params = params_of(degree);
        let options = CompileOptions { params: Some(params.clone()), ..CompileOptions::default() };
        let program = Program::compile(std::slice::from_ref(&function), &options).expect("compiles");
        assert_eq!(program.params(), &params);
        // The lowest level that serves.
        assert_eq!(program.choices().level.0, 1);
    }
}
