//! Labels of the axes of two arrays and of the sums of their products, as NumPy's `einsum` has them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::arrays::count_of;
use crate::arrays::layout::MAX_AXES;
use crate::error::CkksError;

/// The operation's name in errors.
pub(super) const EINSUM: &str = "a sum of products of encrypted numbers";

/// Maximum of the products in all sums: their places are lists in memory.
const MAX_TERMS: usize = 1 << 23;

/// Refuses sums of more products than [`MAX_TERMS`].
pub(super) fn check_terms(count: usize) -> Result<(), CkksError> {
    if count <= MAX_TERMS {
        return Ok(());
    }
    let (value, remedy) = (count.to_string(), format!("at most {MAX_TERMS}: take the sums in parts"));
    Err(CkksError::OutOfRange { what: "the products of encrypted numbers", value, remedy })
}

/// The labels of two arrays and of a result, such as `ij,jk->ik`, which is a product of matrices. Axes with
/// one label are indexed together; sums are along those that the result does not have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Subscripts {
    pub(super) left: Vec<u8>,
    pub(super) right: Vec<u8>,
    pub(super) result: Vec<u8>,
}

impl fmt::Display for Subscripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [left, right, result] =
            [&self.left, &self.right, &self.result].map(|own| String::from_utf8_lossy(own));
        write!(f, "{left},{right}->{result}")
    }
}

impl From<Subscripts> for String {
    fn from(own: Subscripts) -> Self {
        own.to_string()
    }
}

impl TryFrom<String> for Subscripts {
    type Error = CkksError;

    fn try_from(text: String) -> Result<Self, CkksError> {
        Self::new(&text)
    }
}

impl Subscripts {
    /// The labels that `text` has: letters for each array, with a comma between them, `->` and those of the
    /// result.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for anything else, for labels of the result that no array has or that are
    /// there twice, and for more than 6 axes.
    pub fn new(text: &str) -> Result<Self, CkksError> {
        let refused = || CkksError::OutOfRange {
            what: "the labels of axes",
            value: format!("{text:?}"),
            remedy: format!(
                "use up to {MAX_AXES} letters for each of two arrays, and some of them, each once, for the result, such as \"ij,jk->ik\""
            ),
        };
        let (arrays, result) = text.split_once("->").ok_or_else(refused)?;
        let (left, right) = arrays.split_once(',').ok_or_else(refused)?;
        let own = Self { left: left.into(), right: right.into(), result: result.into() };
        let all = [&own.left, &own.right, &own.result];
        let valid = all.iter().all(|own| own.len() <= MAX_AXES && own.iter().all(u8::is_ascii_alphabetic));
        let known = |label: &u8| own.left.contains(label) || own.right.contains(label);
        let once = |label: &u8| own.result.iter().filter(|other| *other == label).count() == 1;
        if valid && own.result.iter().all(|label| known(label) && once(label)) {
            Ok(own)
        } else {
            Err(refused())
        }
    }

    /// The labels of a product of matrices, stacks of matrices and vectors with these shapes, as NumPy
    /// multiplies them; a factor is read by columns where `by_columns`. `None` for shapes that do not fit.
    pub(crate) fn of_matrices(
        [left, right]: [&[usize]; 2],
        [left_by_columns, right_by_columns]: [bool; 2],
    ) -> Option<Self> {
        if left.is_empty() || right.is_empty() {
            return None;
        }
        let matrix = |axes: usize, labels: [u8; 2], by_columns: bool| {
            let [first, last] = if by_columns { [labels[1], labels[0]] } else { labels };
            if axes > 1 { vec![first, last] } else { vec![b'k'] }
        };
        let stacks = [left, right].map(|shape| &shape[..shape.len().saturating_sub(2)]);
        let depth = stacks[0].len().max(stacks[1].len());
        // An axis of length 1 broadcasts: it has a label of its own.
        let label = |shape: &[usize], other: &[usize], axis: usize, alone: u8| {
            let own = shape[axis];
            let back = shape.len() - axis;
            let broadcasts = own == 1 && other.len() >= back && other[other.len() - back] != 1;
            let place = (depth - back) as u8;
            if broadcasts { alone + place } else { b'p' + place }
        };
        let stack = |own: usize, alone: u8| {
            let (shape, other) = (stacks[own], stacks[1 - own]);
            (0..shape.len()).map(|axis| label(shape, other, axis, alone)).collect::<Vec<_>>()
        };
        let of_left = [stack(0, b'A'), matrix(left.len(), *b"ik", left_by_columns)].concat();
        let of_right = [stack(1, b'F'), matrix(right.len(), *b"kj", right_by_columns)].concat();
        let mut result: Vec<u8> = (0..depth as u8).map(|place| b'p' + place).collect();
        result.extend((left.len() > 1).then_some(b'i'));
        result.extend((right.len() > 1).then_some(b'j'));
        let own = Self { left: of_left, right: of_right, result };
        own.sizes(left, right).ok().map(|_| own)
    }

    /// The same sums for arrays with one more axis in front of each.
    pub(crate) fn of_many(&self) -> Option<Self> {
        let taken = |label: &u8| [&self.left, &self.right].iter().any(|own| own.contains(label));
        let label = (b'a'..=b'z').chain(b'A'..=b'Z').rev().find(|label| !taken(label))?;
        let [left, right, result] =
            [&self.left, &self.right, &self.result].map(|own| [&[label], &own[..]].concat());
        Some(Self { left, right, result })
    }

    /// The same sums of a factor whose axis `i` was the axis `axes[i]` of another array, as sums of that one.
    pub(crate) fn of_permuted(&self, is_right: bool, axes: &[usize]) -> Option<Self> {
        let own = if is_right { &self.right } else { &self.left };
        if own.len() != axes.len() {
            return None;
        }
        let mut labels = own.clone();
        for (&label, &axis) in own.iter().zip(axes) {
            *labels.get_mut(axis)? = label;
        }
        let mut other = self.clone();
        *(if is_right { &mut other.right } else { &mut other.left }) = labels;
        Some(other)
    }

    /// The two matrices of a product of matrices in coefficients: whether left and right change places, and
    /// whether each of the two is read by columns. `None` unless a product of matrices.
    pub(super) fn matrices(&self) -> Option<(bool, [bool; 2])> {
        let ([a, b], [c, d], [row, column]) = (&self.left[..], &self.right[..], &self.result[..]) else {
            return None;
        };
        let exchanged = self.right.contains(row) && !self.left.contains(row);
        let ([a, b], [c, d]) = if exchanged { ([c, d], [a, b]) } else { ([a, b], [c, d]) };
        let inner = if a == row { b } else { a };
        let fits = [a, b].contains(&row)
            && [c, d].contains(&column)
            && [c, d].contains(&inner)
            && inner != row
            && inner != column
            && row != column;
        fits.then_some((exchanged, [b == row, d == inner]))
    }

    /// The length of the axes with each label.
    pub(super) fn sizes(&self, left: &[usize], right: &[usize]) -> Result<BTreeMap<u8, usize>, CkksError> {
        let refused = |remedy: String| CkksError::Shape {
            operation: EINSUM,
            left: left.to_vec(),
            right: right.to_vec(),
            remedy,
        };
        let mut sizes = BTreeMap::new();
        for (labels, shape) in [(&self.left, left), (&self.right, right)] {
            if labels.len() != shape.len() {
                return Err(refused(format!("\"{self}\" has a letter for each axis of its arrays")));
            }
            for (&label, &size) in labels.iter().zip(shape) {
                let known = *sizes.entry(label).or_insert(size);
                if known != size {
                    let label = label as char;
                    return Err(refused(format!(
                        "the axes with the label {label} of \"{self}\" have {known} and {size} numbers: make them as long as each other"
                    )));
                }
            }
        }
        Ok(sizes)
    }

    /// The shape of the result for arrays of these shapes.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for arrays with other axes than the labels, and for axes of different lengths
    /// with one label; [`CkksError::OutOfRange`] for more than 2^23 products.
    pub(crate) fn shape(&self, left: &[usize], right: &[usize]) -> Result<Vec<usize>, CkksError> {
        let sizes = self.sizes(left, right)?;
        check_terms(count_of(&sizes.values().copied().collect::<Vec<_>>()))?;
        Ok(self.result.iter().map(|label| sizes[label]).collect())
    }

    /// The number of products, for arrays of these shapes.
    ///
    /// # Errors
    /// As [`Subscripts::shape`].
    pub(super) fn count(&self, left: &[usize], right: &[usize]) -> Result<usize, CkksError> {
        Ok(count_of(&self.sizes(left, right)?.into_values().collect::<Vec<_>>()))
    }

    /// The shape of the result, and the places of the left and of the right factors of all terms, in the
    /// order that [`Terms`](crate::circuits::linear::in_place::Terms) has them, for arrays of these shapes.
    ///
    /// # Errors
    /// As [`Subscripts::shape`].
    pub(super) fn terms(
        &self,
        left: &[usize],
        right: &[usize],
    ) -> Result<(Vec<usize>, [Vec<usize>; 2]), CkksError> {
        let (shape, sizes) = (self.shape(left, right)?, self.sizes(left, right)?);
        let summed = sizes.keys().filter(|label| !self.result.contains(label));
        let order: Vec<u8> = summed.chain(&self.result).copied().collect();
        let places = |labels: &[u8], shape: &[usize]| placed(&order, labels, shape, &sizes);
        Ok((shape, [places(&self.left, left), places(&self.right, right)]))
    }
}

/// The places in an array with these labels and this shape of all indices of the axes in `order`, the last
/// one first; other axes have the index 0.
pub(super) fn placed(
    order: &[u8],
    labels: &[u8],
    shape: &[usize],
    sizes: &BTreeMap<u8, usize>,
) -> Vec<usize> {
    let step = |label: u8| {
        let axes = labels.iter().enumerate().filter(|(_, own)| **own == label);
        axes.map(|(axis, _)| shape[axis + 1..].iter().product::<usize>()).sum::<usize>()
    };
    let mut places = vec![0];
    for &label in order {
        let step = step(label);
        places =
            places.iter().flat_map(|&first| (0..sizes[&label]).map(move |at| first + at * step)).collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Subscripts {
        Subscripts::new(text).expect(text)
    }

    #[test]
    fn labels_are_read_and_written() {
        for text in ["ij,jk->ik", "i,i->", "ii,ij->j", ",->", "abc,cbd->da"] {
            assert_eq!(of(text).to_string(), text);
        }
        for text in ["ij,jk", "ij->ij", "i1,i->i", "ij,jk->iz", "ij,jk->ii", "abcdefg,a->a", "i,j,k->i"] {
            let error = Subscripts::new(text).expect_err(text).to_string();
            assert!(error.contains("ij,jk->ik"), "{error}");
        }
    }

    #[test]
    fn terms_are_those_of_nested_loops() {
        let (left, right) = ([2, 3], [3, 4]);
        let (shape, terms) = of("ij,jk->ki").terms(&left, &right).expect("shapes fit");
        assert_eq!(shape, [4, 2]);
        let mut expected = [Vec::new(), Vec::new()];
        for j in 0..3 {
            for k in 0..4 {
                for i in 0..2 {
                    expected[0].push(i * 3 + j);
                    expected[1].push(j * 4 + k);
                }
            }
        }
        assert_eq!(terms, expected);
        // A diagonal is one axis.
        assert_eq!(of("ii,j->ij").terms(&[2, 2], &[2]).expect("shapes fit").1[0], [0, 0, 3, 3]);
    }

    #[test]
    fn products_of_matrices_have_the_labels_of_numpy() {
        let labels = |left: &[usize], right: &[usize], by| Subscripts::of_matrices([left, right], by);
        let text = |left: &[usize], right: &[usize], by| labels(left, right, by).map(|own| own.to_string());
        assert_eq!(text(&[2, 3], &[3, 4], [false; 2]).as_deref(), Some("ik,kj->ij"));
        assert_eq!(text(&[3, 2], &[4, 3], [true; 2]).as_deref(), Some("ki,jk->ij"));
        assert_eq!(text(&[3], &[3], [false; 2]).as_deref(), Some("k,k->"));
        assert_eq!(text(&[5, 2, 3], &[3], [false; 2]).as_deref(), Some("pik,k->pi"));
        assert_eq!(text(&[1, 2, 3], &[5, 3, 4], [false; 2]).as_deref(), Some("Aik,pkj->pij"));
        assert_eq!(text(&[2, 3], &[5, 3, 4], [false; 2]).as_deref(), Some("ik,pkj->pij"));
        assert_eq!(text(&[2, 3], &[4, 3], [false; 2]), None);
        assert_eq!(text(&[], &[3], [false; 2]), None);
    }

    #[test]
    fn matrices_in_coefficients_are_found_in_any_order() {
        assert_eq!(of("ij,jk->ik").matrices(), Some((false, [false, false])));
        assert_eq!(of("ji,jk->ik").matrices(), Some((false, [true, false])));
        assert_eq!(of("ij,kj->ik").matrices(), Some((false, [false, true])));
        assert_eq!(of("jk,ij->ik").matrices(), Some((true, [false, false])));
        for text in ["ij,ij->ij", "ij,jk->i", "ii,ij->ij", "ij,kl->ik"] {
            assert_eq!(of(text).matrices(), None, "{text}");
        }
    }

    #[test]
    fn labels_follow_exchanged_axes() {
        assert_eq!(of("pij,pjk->pik").of_permuted(true, &[0, 2, 1]), Some(of("pij,pkj->pik")));
        assert_eq!(of("abc,c->ab").of_permuted(false, &[2, 0, 1]), Some(of("bca,c->ab")));
        assert_eq!(of("ij,jk->ik").of_permuted(true, &[0]), None);
        assert_eq!(of("ij,jk->ik").of_many(), Some(of("Zij,Zjk->Zik")));
    }

    #[test]
    fn lengths_and_counts_are_checked() {
        let error = of("ij,jk->ik").shape(&[2, 3], &[4, 5]).expect_err("3 and 4").to_string();
        assert!(error.contains("label j") && error.contains("3 and 4"), "{error}");
        assert!(of("ij,jk->ik").shape(&[2], &[4, 5]).is_err());
        let error = of("ij,jk->ik").shape(&[1000, 1000], &[1000, 1000]).expect_err("too many").to_string();
        assert!(error.contains("1000000000"), "{error}");
    }
}
