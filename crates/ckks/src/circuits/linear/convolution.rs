//! Convolutions of images in slots, as networks have them: each number of the result is a sum of numbers of
//! all channels near one place, each times a weight of the kernel.
//!
//! ```text
//! z[o, y, x] = sum_(c, i, j) kernel[o, c, i, j] image[c, y s + i d - p, x s + j d - p],    zero outside of the image
//! ```
//!
//! for the stride `s`, the dilation `d` and the padding `p` of the axis. It is one linear map of the places
//! in which the numbers lie, with a diagonal for each distance. Where the pixels of source and result lie in
//! the same grid, the distances are those of channels times those of the kernel. Source: Ebel, Garimella,
//! Reagen (ASPLOS 2025).

use std::ops::{Add, Mul};
use std::sync::Arc;

use blake3::Hasher;
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;
use serde::{Deserialize, Serialize};

use super::gather::{NumberMaps, check_movable, in_lanes, map_entries};
use crate::arrays::estimate::{Along, MatrixNorms, mixed_name, name_of_all};
use crate::arrays::{Ciphertext, Layout, Padding, count_of};
use crate::byproducts::Byproducts;
use crate::encoding::values::{Values, hash_words};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::evaluator::LevelsNeeded;
use crate::evaluation::kept::{Keepable, shared_plan};

/// The operation's name in errors.
pub(crate) const CONVOLUTION: &str = "a convolution";

/// Maximum of the products in all sums: they are gone through one by one.
const MAX_TERMS: usize = 1 << 28;

/// How a kernel moves over images; lengths are those of rows and of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convolution {
    /// Pixels from one place of the kernel to the next.
    pub stride: [usize; 2],
    /// Zeros in front of the first pixel and behind the last one.
    pub padding: [usize; 2],
    /// Pixels from one weight of the kernel to the next.
    pub dilation: [usize; 2],
    /// Groups of channels, of which each has kernels of its own.
    pub groups: usize,
}

impl Default for Convolution {
    fn default() -> Self {
        Self { stride: [1; 2], padding: [0; 2], dilation: [1; 2], groups: 1 }
    }
}

/// An array whose numbers are those of another array, at other places.
#[derive(Debug, Clone, Copy)]
pub struct Placement<'l> {
    /// The shape of the array.
    pub shape: &'l [usize],
    /// For each of its numbers, in order, the place in the other array that it comes from, each place at most
    /// once; none for a zero.
    pub places: &'l [Option<usize>],
}

/// The lengths that a convolution is about.
#[derive(Debug, Clone)]
pub(crate) struct Sizes {
    /// Images, one behind the other.
    images: usize,
    /// Channels, rows and columns of an image.
    image: [usize; 3],
    /// Channels, rows and columns of a result.
    result: [usize; 3],
    /// Channels of a group of the image, rows and columns of the kernel.
    kernel: [usize; 3],
    convolution: Convolution,
}

fn refused(images: &[usize], kernel: &[usize], remedy: String) -> CkksError {
    CkksError::Shape { operation: CONVOLUTION, left: images.to_vec(), right: kernel.to_vec(), remedy }
}

impl Convolution {
    /// The shape of the result for images of shape `(.., channels, rows, columns)` and a kernel of shape
    /// `(channels of the result, channels / groups, rows, columns)`.
    ///
    /// # Errors
    /// [`CkksError::Shape`] where they do not fit, [`CkksError::OutOfRange`] for a stride, a dilation or a
    /// number of groups that is 0, and for lengths beyond all arrays.
    pub fn shape(&self, images: &[usize], kernel: &[usize]) -> Result<Vec<usize>, CkksError> {
        let sizes = self.sizes(images, kernel)?;
        Ok([&images[..images.len() - 3], &sizes.result[..]].concat())
    }

    /// The convolution of plain images.
    ///
    /// # Errors
    /// Those of [`Convolution::shape`]; [`CkksError::Unsuitable`] for a complex kernel;
    /// [`CkksError::NotFinite`] for a weight.
    pub fn of_numbers(
        &self,
        (images, shape): (&Values, &[usize]),
        kernel: Kernel<'_>,
    ) -> Result<(Values, Vec<usize>), CkksError> {
        let (sizes, weights) = (self.sizes(shape, kernel.shape)?, kernel.weights()?);
        let values = match images {
            Values::Real(numbers) => Values::Real(sizes.sums(numbers, weights)),
            Values::Complex(numbers) => Values::Complex(sizes.sums(numbers, weights)),
        };
        Ok((values, self.shape(shape, kernel.shape)?))
    }

    fn sizes(&self, images: &[usize], kernel: &[usize]) -> Result<Sizes, CkksError> {
        let numbers = [self.stride, self.dilation].concat();
        if numbers.contains(&0) || self.groups == 0 {
            return Err(CkksError::OutOfRange {
                what: "the stride, the dilation or the groups of a convolution",
                value: format!(
                    "stride {:?}, dilation {:?}, groups {}",
                    self.stride, self.dilation, self.groups
                ),
                remedy: "use numbers from 1 on".to_owned(),
            });
        }
        let (&[.., channels, rows, columns], &[outputs, inputs, height, width]) = (images, kernel) else {
            let remedy = "give images of (.., channels, rows, columns) and a kernel of (channels of the result, channels / groups, rows, columns)";
            return Err(refused(images, kernel, remedy.to_owned()));
        };
        let groups = self.groups;
        if inputs.checked_mul(groups) != Some(channels) || !outputs.is_multiple_of(groups) || outputs == 0 {
            let remedy = format!(
                "a kernel for {groups} groups of {channels} channels has shape (a multiple of {groups}, {}, rows, columns)",
                channels / groups
            );
            return Err(refused(images, kernel, remedy));
        }
        let length = |axis: usize, image: usize, kernel: usize| {
            let span = kernel.checked_sub(1)?.checked_mul(self.dilation[axis])?.checked_add(1)?;
            let padded = self.padding[axis].checked_mul(2)?.checked_add(image)?;
            Some(padded.checked_sub(span)? / self.stride[axis] + 1)
        };
        let (Some(down), Some(across)) = (length(0, rows, height), length(1, columns, width)) else {
            let remedy = format!(
                "a kernel with dilation {:?} has no place in images with padding {:?}: add padding, or take a smaller kernel",
                self.dilation, self.padding
            );
            return Err(refused(images, kernel, remedy));
        };
        let sizes = Sizes {
            images: count_of(&images[..images.len() - 3]),
            image: [channels, rows, columns],
            result: [outputs, down, across],
            kernel: [inputs, height, width],
            convolution: *self,
        };
        let terms = [sizes.images, count_of(&sizes.result), count_of(&sizes.kernel)];
        let count = terms.iter().fold(1usize, |product, &own| product.saturating_mul(own));
        if count > MAX_TERMS || count_of(&sizes.image).saturating_mul(sizes.images) > MAX_TERMS {
            return Err(CkksError::OutOfRange {
                what: "the products of a convolution",
                value: count.to_string(),
                remedy: format!("use at most {MAX_TERMS}: convolve fewer images at a time"),
            });
        }
        Ok(sizes)
    }
}

impl Sizes {
    /// The places of the numbers of the images that entry `entry` of the result is a sum of, and the places
    /// of their weights in the kernel.
    fn for_each(&self, entry: usize, mut term: impl FnMut(usize, usize)) {
        let [outputs, down, across] = self.result;
        let [channels, rows, columns] = self.image;
        let [inputs, height, width] = self.kernel;
        let Convolution { stride, padding, dilation, groups } = self.convolution;
        let (rest, x) = (entry / across, entry % across);
        let (rest, y) = (rest / down, rest % down);
        let (image, output) = (rest / outputs, rest % outputs);
        let group = output / (outputs / groups);
        // The pixel behind `first` on one axis for number `index` of the kernel.
        let pixel = |axis: usize, first: usize, index: usize, length: usize| {
            (first * stride[axis] + index * dilation[axis])
                .checked_sub(padding[axis])
                .filter(|&own| own < length)
        };
        for channel in 0..inputs {
            let plane = (image * channels + group * inputs + channel) * rows;
            for i in 0..height {
                let Some(row) = pixel(0, y, i, rows) else { continue };
                for j in 0..width {
                    if let Some(column) = pixel(1, x, j, columns) {
                        let weight = ((output * inputs + channel) * height + i) * width + j;
                        term((plane + row) * columns + column, weight);
                    }
                }
            }
        }
    }

    fn sums<T>(&self, numbers: &[T], weights: &[f64]) -> Vec<T>
    where
        T: Copy + Default + Add<Output = T> + Mul<f64, Output = T>,
    {
        let sum = |entry| {
            let mut sum = T::default();
            self.for_each(entry, |source, weight| sum = sum + numbers[source] * weights[weight]);
            sum
        };
        (0..self.numbers()).map(sum).collect()
    }

    fn numbers(&self) -> usize {
        self.images * count_of(&self.result)
    }
}

/// What does not depend on levels, parameters and data: the maps of one kernel between two layouts, which
/// dry runs and runs share.
#[derive(Debug)]
pub(crate) struct KernelMaps {
    digest: [u8; 32],
    maps: NumberMaps,
    known: KernelNorms,
}

impl Keepable for KernelMaps {
    fn kept_bytes(&self) -> usize {
        self.maps.bytes()
    }
}

/// What a kernel does to numbers, wherever they lie.
#[derive(Debug, Clone, Copy)]
struct KernelNorms {
    norms: MatrixNorms,
    /// The most entries of the result that one number is part of.
    times: usize,
    name: u64,
}

impl KernelNorms {
    fn new(sizes: &Sizes, weights: &[f64]) -> Self {
        let terms = count_of(&sizes.kernel);
        let mut times = vec![0usize; count_of(&sizes.image)];
        let mut columns = vec![Complex64::ZERO; terms];
        // All images are alike.
        let one = Sizes { images: 1, ..sizes.clone() };
        let mut rows = Vec::with_capacity(one.numbers());
        for entry in 0..one.numbers() {
            let mut row = (Complex64::ZERO, 0.0, 0.0);
            one.for_each(entry, |source, weight| {
                let value = weights[weight];
                times[source] += 1;
                columns[weight % terms] += value;
                row = (row.0 + value, row.1 + value.abs(), row.2 + value * value);
            });
            rows.push(row);
        }
        let Convolution { stride, padding, dilation, groups } = sizes.convolution;
        let shape = [&sizes.image[..], &sizes.result, &sizes.kernel, &stride, &padding, &dilation, &[groups]];
        let name =
            shape.concat().into_iter().fold(name_of_all(weights), |name, own| mixed_name(name, own as u64));
        let norms = MatrixNorms::new(name, &rows, &columns, terms);
        Self { norms, times: times.into_iter().max().unwrap_or(1).max(1), name }
    }
}

/// The weights of a convolution: their numbers and their shape, `(channels of the result, channels / groups,
/// rows, columns)`.
#[derive(Debug, Clone, Copy)]
pub struct Kernel<'k> {
    pub(crate) values: &'k Values,
    pub(crate) shape: &'k [usize],
    pub(crate) kept: &'k Byproducts,
}

impl<'k> Kernel<'k> {
    /// The weights, which are real.
    fn weights(&self) -> Result<&'k [f64], CkksError> {
        let Values::Real(weights) = self.values else {
            let reason = "the kernel is complex: convolve with its real and its imaginary part".to_owned();
            return Err(CkksError::Unsuitable { operation: CONVOLUTION, reason });
        };
        if weights.len() != count_of(self.shape) {
            return Err(refused(&[weights.len()], self.shape, "give a weight for each place".to_owned()));
        }
        match weights.iter().enumerate().find(|(_, weight)| !weight.is_finite()) {
            Some((index, &value)) => {
                Err(CkksError::NotFinite { index, value, shape: Some(self.shape.to_vec()) })
            }
            None => Ok(weights),
        }
    }
}

/// The convolution of images with a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) convolution: Convolution,
    pub(crate) kernel: Kernel<'c>,
    /// The images, where they are not the array as it is.
    pub(crate) from: Option<Placement<'c>>,
    /// The array to make of the result, where it is not the result as it is.
    pub(crate) to: Option<Placement<'c>>,
}

impl Call<'_> {
    fn sizes(&self, x: &Ciphertext) -> Result<(Sizes, Vec<usize>), CkksError> {
        let images = self.from.map_or(x.shape(), |from| from.shape);
        let sizes = self.convolution.sizes(images, self.kernel.shape)?;
        let count = count_of(x.shape());
        if let Some(from) = self.from {
            check_places(from, count)?;
        }
        if let Some(to) = self.to {
            check_places(to, sizes.numbers())?;
        }
        let natural = [&images[..images.len() - 3], &sizes.result[..]].concat();
        Ok((sizes, self.to.map_or(natural, |to| to.shape.to_vec())))
    }

    /// The result of a dry run without keys and costs, for recordings, which know no layouts yet.
    ///
    /// # Errors
    /// Those of [`Call::run`] but for missing keys.
    pub(crate) fn outlined(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        check_movable(evaluator, x)?;
        let (sizes, shape) = self.sizes(x)?;
        let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Depth(1))?;
        let below = Level(x.level().0.saturating_sub(1));
        let to = in_lanes(&shape, x.params().degree())?.of_numbers(x.is_complex());
        let known = KernelNorms::new(&sizes, self.kernel.weights()?);
        let kept = x.estimate.clone().gathered_times(known.times, known.name);
        let kept = kept.copied(to.period()).mapped(Along::Columns, &known.norms, (0.0, 0.0));
        let scale = x.params().scale(below);
        let symbol = Ciphertext::symbol_with(x.params(), &shape, to, x.secret(), below, scale)?;
        let symbol = symbol.estimated(|_| kept);
        symbol.check_bound()?;
        Ok(symbol)
    }

    /// The convolution of the images in `x`, whose rows share polynomials. It takes a level.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for shapes that do not fit; [`CkksError::OutOfRange`] for strides and dilations
    /// of 0, and for more than 2048 distances in all polynomials; [`CkksError::NotFinite`] for weights;
    /// [`CkksError::Unsuitable`] for a complex kernel and for shared masks; [`CkksError::Encoding`] for
    /// coefficients; [`CkksError::TooLarge`]; missing keys; level errors.
    pub(crate) fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        check_movable(evaluator, x)?;
        let (sizes, shape) = self.sizes(x)?;
        let weights = self.kernel.weights()?;
        let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Depth(1))?;
        let to =
            in_lanes(&shape, x.params().degree())?.of_numbers(x.is_complex()).with_padding(Padding::Zero);
        let purpose = self.purpose(x.layout(), &to, weights);
        let digest = *purpose.finalize().as_bytes();
        let make = || {
            shared_plan(&purpose, || {
                let maps = NumberMaps::new(x.layout(), &to, |entry, term| {
                    let entry = self.to.map_or(Some(entry), |to| to.places[entry]);
                    let Some(entry) = entry else { return };
                    sizes.for_each(entry, |source, weight| {
                        let source = self.from.map_or(Some(source), |from| from.places[source]);
                        if let (Some(source), true) = (source, weights[weight] != 0.0) {
                            term(source, weights[weight]);
                        }
                    });
                })?;
                Ok(KernelMaps { digest, maps, known: KernelNorms::new(&sizes, weights) })
            })
        };
        // Other arrays of the same weights have them, too, within a budget.
        let maps = self.kernel.kept.get(|own: &Arc<KernelMaps>| own.digest == digest, make)?;
        let KernelNorms { norms, times, name } = maps.known;
        let moved = map_entries(evaluator, x, &to, &maps.maps)?;
        let places = moved.terms as f64;
        let rounding = (moved.rounding.0 * places.sqrt(), moved.rounding.1 * places);
        let period = x.layout().period().max(to.period());
        let kept = x.estimate.clone().gathered_times(times, name).copied(period);
        let kept = kept.mapped(Along::Columns, &norms, rounding);
        let (slots, alike) = (moved.slots, moved.alike);
        let mapped = moved
            .rows
            .rearranged(shape, to)
            .estimated(|own| kept.with_noise_of_rows(own, slots, (alike, to.polynomials())));
        mapped.check_bound()?;
        Ok(mapped)
    }

    /// Names the maps of the call among all maps.
    fn purpose(&self, from: &Layout, to: &Layout, weights: &[f64]) -> Hasher {
        let mut hasher = Hasher::new_derive_key("clathrate maps of a convolution");
        hasher.update(format!("{:?} {from:?} {to:?}", self.convolution).as_bytes());
        hasher.update(format!("{:?}", self.kernel.shape).as_bytes());
        hash_words(&mut hasher, weights.iter().map(|weight| weight.to_bits()));
        for placement in [self.from, self.to] {
            hasher.update(format!("{:?}", placement.map(|own| own.shape)).as_bytes());
            for place in placement.iter().flat_map(|own| own.places) {
                hasher.update(&place.map_or(u64::MAX, |place| place as u64).to_le_bytes());
            }
        }
        hasher
    }
}

/// Refuses places that are not as many as the numbers of their array, beyond `count`, or named twice: errors
/// of numbers that are taken twice would depend on each other without notice.
fn check_places(placement: Placement<'_>, count: usize) -> Result<(), CkksError> {
    let mut taken = vec![false; count];
    let is_new = |place: usize| taken.get_mut(place).is_some_and(|taken| !std::mem::replace(taken, true));
    if placement.places.len() == count_of(placement.shape)
        && placement.places.iter().copied().flatten().all(is_new)
    {
        return Ok(());
    }
    let remedy = format!("give a place below {count} for each number, each place once");
    Err(refused(placement.shape, &[placement.places.len()], remedy))
}
