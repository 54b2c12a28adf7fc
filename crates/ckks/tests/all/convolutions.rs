//! Convolutions of images are those of nested loops: on plain and on encrypted images, however they lie.

use crate::common::measure::noise;
use crate::common::*;
use crate::encrypted_array::assert_computes;
use clathrate_ckks::circuits::linear::Convolution;
use clathrate_ckks::encrypted_array::{EncryptedArray, PlainArray};
use clathrate_ckks::error::ErrorKind;
use clathrate_ckks::keys::{EncryptOptions, Lanes, Values};
use clathrate_ckks::{CkksError, Encoding, Evaluator};

/// Images, a kernel and how it moves.
struct Case {
    images: Vec<usize>,
    kernel: [usize; 4],
    convolution: Convolution,
}

fn case(images: &[usize], kernel: [usize; 4], own: impl FnOnce(&mut Convolution)) -> Case {
    let mut convolution = Convolution::default();
    own(&mut convolution);
    Case { images: images.to_vec(), kernel, convolution }
}

fn cases() -> Vec<Case> {
    vec![
        case(&[1, 1, 1], [1, 1, 1, 1], |_| ()),
        case(&[2, 4, 4], [3, 2, 3, 3], |own| own.padding = [1, 1]),
        case(&[1, 5, 7], [2, 1, 2, 3], |_| ()),
        case(&[3, 4, 8], [2, 3, 2, 2], |own| own.stride = [2, 2]),
        case(&[4, 3, 5], [4, 2, 3, 1], |own| (own.groups, own.padding) = (2, [2, 0])),
        case(&[2, 6, 6], [2, 1, 2, 2], |own| (own.groups, own.dilation) = (2, [3, 2])),
        case(&[2, 1, 9], [3, 2, 1, 4], |own| (own.stride, own.padding) = ([1, 3], [0, 2])),
        case(&[2, 3, 1, 3, 3], [2, 1, 3, 3], |own| own.padding = [1, 1]),
        // Most of the kernel is outside of the image everywhere.
        case(&[1, 2, 2], [1, 1, 5, 5], |own| (own.padding, own.stride) = ([2, 2], [3, 1])),
    ]
}

fn numbers(shape: &[usize], seed: u64) -> Vec<f64> {
    noise(shape.iter().product(), seed)
}

fn plain(values: Vec<f64>, shape: &[usize]) -> PlainArray {
    PlainArray::new(Values::Real(values), shape.to_vec())
}

/// The convolution by its definition: every weight meets every pixel.
fn by_definition(case: &Case, images: &[f64], kernel: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let Case { images: shape, kernel: [outputs, inputs, height, width], convolution: own } = case;
    let (leading, image) = shape.split_at(shape.len() - 3);
    let &[channels, rows, columns] = image else { panic!("images have three axes") };
    let length = |axis: usize, image: usize, kernel: usize| {
        (image + 2 * own.padding[axis] - own.dilation[axis] * (kernel - 1) - 1) / own.stride[axis] + 1
    };
    let (down, across) = (length(0, rows, *height), length(1, columns, *width));
    let count: usize = leading.iter().product();
    let mut result = vec![0.0; count * outputs * down * across];
    for (at, value) in result.iter_mut().enumerate() {
        let (image, output) = (at / (outputs * down * across), at / (down * across) % outputs);
        let (y, x) = (at / across % down, at % across);
        let group = output / (outputs / own.groups);
        for c in 0..channels {
            for row in 0..rows {
                for column in 0..columns {
                    let pixel = images[((image * channels + c) * rows + row) * columns + column];
                    for i in 0..*height {
                        for j in 0..*width {
                            let meets = y * own.stride[0] + i * own.dilation[0] == row + own.padding[0]
                                && x * own.stride[1] + j * own.dilation[1] == column + own.padding[1]
                                && c / inputs == group;
                            if meets {
                                let weight = ((output * inputs + c % inputs) * height + i) * width + j;
                                *value += kernel[weight] * pixel;
                            }
                        }
                    }
                }
            }
        }
    }
    (result, [leading, &[*outputs, down, across]].concat())
}

#[test]
fn plain_images_are_convolved_as_defined() {
    for (index, case) in cases().iter().enumerate() {
        let (images, kernel) =
            (numbers(&case.images, index as u64), numbers(&case.kernel, 77 + index as u64));
        let (expected, shape) = by_definition(case, &images, &kernel);
        let kernel = plain(kernel, &case.kernel);
        let images = (&Values::Real(images), &case.images[..]);
        let (found, own) = case.convolution.of_numbers(images, kernel.kernel()).expect("convolves");
        assert_eq!(own, shape, "case {index}");
        assert_close(&found.into_real().expect("real"), &expected, 1e-12);
    }
}

#[test]
fn encrypted_images_are_convolved_wherever_they_lie() {
    let sk = secret(&params("insecure_small"), 99);
    for (index, case) in cases().iter().enumerate() {
        let kernel = numbers(&case.kernel, 77 + index as u64);
        let expected = |x: &[Vec<f64>]| by_definition(case, &x[0], &kernel).0;
        for lanes in [None, Some(Lanes::Most)] {
            let options =
                EncryptOptions { encoding: Some(Encoding::Slots), lanes, ..EncryptOptions::default() };
            let weights = plain(kernel.clone(), &case.kernel);
            let program = |x: &[EncryptedArray]| x[0].convolved(&weights, case.convolution);
            let what = format!("case {index}, lanes {lanes:?}");
            assert_computes(&sk, &[&case.images], options, program, expected, &what);
        }
    }
}

#[test]
fn convolutions_that_do_not_fit_are_named() {
    let convolution = Convolution::default();
    let refused = |own: Convolution, images: &[usize], kernel: &[usize]| -> CkksError {
        own.shape(images, kernel).expect_err("refused")
    };
    let kinds = [
        (refused(convolution, &[4, 4], &[1, 1, 2, 2]), ErrorKind::Shape, "(.., channels, rows, columns)"),
        (
            refused(convolution, &[3, 4, 4], &[2, 2, 2, 2]),
            ErrorKind::Shape,
            "(a multiple of 1, 3, rows, columns)",
        ),
        (refused(convolution, &[1, 2, 2], &[1, 1, 3, 3]), ErrorKind::Shape, "add padding"),
        (refused(convolution, &[1, 2, 2], &[0, 1, 1, 1]), ErrorKind::Shape, "a kernel"),
        (
            refused(Convolution { stride: [0, 1], ..convolution }, &[1, 2, 2], &[1, 1, 1, 1]),
            ErrorKind::Value,
            "from 1 on",
        ),
        (
            refused(Convolution { groups: 0, ..convolution }, &[1, 2, 2], &[1, 1, 1, 1]),
            ErrorKind::Value,
            "groups 0",
        ),
        (
            refused(Convolution { padding: [usize::MAX, 0], ..convolution }, &[1, 2, 2], &[1, 1, 1, 1]),
            ErrorKind::Shape,
            "padding",
        ),
        (
            refused(Convolution { padding: [1 << 40, 0], ..convolution }, &[1, 2, 2], &[1, 1, 1, 1]),
            ErrorKind::Value,
            "fewer images",
        ),
    ];
    for (error, kind, part) in kinds {
        assert!(error.kind() == kind && error.to_string().contains(part), "{kind:?} {part}: {error}");
    }
    let params = params("insecure_small");
    let sk = secret(&params, 98);
    let x = sk.encrypt_array(&noise(16, 1), &[1, 4, 4], EncryptOptions::default()).expect("encrypts");
    let x = EncryptedArray::new(x, &Evaluator::new(&params));
    let of = |values: Values, shape: &[usize]| {
        x.convolved(&PlainArray::new(values, shape.to_vec()), convolution).expect_err("refused").to_string()
    };
    assert!(of(Values::Real(vec![f64::INFINITY]), &[1, 1, 1, 1]).contains("inf"));
    assert!(of(Values::Real(vec![1.0]), &[1, 1, 2, 1]).contains("a weight for each place"));
    assert!(of(Values::Complex(vec![1.0.into()]), &[1, 1, 1, 1]).contains("its real and its imaginary part"));
}
