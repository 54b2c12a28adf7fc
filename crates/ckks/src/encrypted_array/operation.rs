//! The operations of encrypted arrays as data: what a program has in its nodes.
//!
//! A variant has the arguments of the method of the same name. The arrays and the plain numbers that an
//! operation takes are the operands of its node, in the order in which the method takes them.

use serde::{Deserialize, Serialize};

use super::Subscripts;
use crate::arrays::Encoding;
use crate::circuits::linear::Convolution;
use crate::circuits::polynomial::PolynomialBasis;

/// Axes as NumPy counts them; all of them if absent.
type Axes = Option<Vec<i64>>;

/// An interval, lower end first.
type Interval = (f64, f64);

/// The number of a list of places in the graph that the operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlacesId(pub usize);

/// A [`Placement`](crate::circuits::linear::Placement).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredPlacement {
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// The place of each of its numbers.
    pub places: PlacesId,
}

/// A method of [`EncryptedArray`](super::EncryptedArray), with its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // The methods document their arguments.
pub enum ArrayOperation {
    Add,
    Sub,
    SubFrom,
    Negate,
    Mul,
    Div,
    Power {
        exponent: u64,
    },
    Multiply {
        rescale: bool,
    },
    Rescale,
    Cleared,
    ClearPadding,
    Conjugate,
    RealPart,
    ImaginaryPart,
    Rotate {
        steps: i64,
    },
    RepeatColumn {
        columns: usize,
    },
    WithBound {
        bound: Option<f64>,
    },
    ChosenFrom {
        share: f64,
    },
    Converted {
        to: Encoding,
        levels: Option<usize>,
    },
    InSlots,
    Bootstrap,
    Polynomial {
        basis: PolynomialBasis,
        domain: Interval,
    },
    Sum {
        axes: Axes,
        keepdims: bool,
    },
    Mean {
        axes: Axes,
        keepdims: bool,
    },
    Variance {
        axes: Axes,
        ddof: i64,
        keepdims: bool,
    },
    Product {
        axes: Axes,
        keepdims: bool,
    },
    SumRows,
    Dot,
    TimesVector,
    LeftMultiply {
        weight_scale: Option<f64>,
    },
    MapRows {
        row_first: bool,
    },
    Einsum {
        subscripts: Subscripts,
    },
    Transposed,
    Permuted {
        axes: Vec<usize>,
    },
    Mapped {
        shape: Vec<usize>,
        sources: PlacesId,
    },
    Convolved {
        convolution: Convolution,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<StoredPlacement>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<StoredPlacement>,
    },
    Pick {
        rows: Option<Vec<usize>>,
        single: bool,
        columns: Option<(usize, usize)>,
    },
    PickColumn {
        rows: Option<Vec<usize>>,
        single: bool,
        column: usize,
    },
    PickEntry {
        place: usize,
    },
    PickEntries {
        places: (usize, usize),
    },
    Reshaped {
        shape: Vec<usize>,
    },
    Gathered {
        shape: Vec<usize>,
        sources: PlacesId,
    },
    Concatenate,
    JoinColumns,
    PadColumns {
        before: usize,
        after: usize,
    },
    Smooth {
        function: String,
        error: Option<f64>,
        domain: Option<Interval>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<f64>,
    },
    Std {
        axes: Axes,
        ddof: i64,
        keepdims: bool,
        error: Option<f64>,
        domain: Interval,
    },
    Norm {
        axes: Axes,
        keepdims: bool,
        error: Option<f64>,
        domain: Interval,
    },
    Softmax {
        error: Option<f64>,
        bound: Option<f64>,
    },
    Sign {
        margin: f64,
        error: Option<f64>,
        bound: Option<f64>,
    },
    Absolute {
        error: Option<f64>,
        bound: Option<f64>,
    },
    Relu {
        error: Option<f64>,
        bound: Option<f64>,
    },
    Maximum {
        error: Option<f64>,
        bound: Option<f64>,
    },
    Minimum {
        error: Option<f64>,
        bound: Option<f64>,
    },
}

impl ArrayOperation {
    /// The name of the function that is approximated, if the operation is one.
    pub(crate) fn function_name(&self) -> Option<&str> {
        match self {
            Self::Smooth { function, .. } => Some(function),
            Self::Std { .. } => Some("std"),
            Self::Norm { .. } => Some("norm"),
            Self::Softmax { .. } => Some("softmax"),
            Self::Sign { .. } => Some("sign"),
            Self::Absolute { .. } => Some("absolute"),
            Self::Relu { .. } => Some("relu"),
            Self::Maximum { .. } => Some("maximum"),
            Self::Minimum { .. } => Some("minimum"),
            _ => None,
        }
    }

    /// The error that a function of real numbers is approximated to, if it is stated.
    pub(crate) fn error(&self) -> Option<f64> {
        self.clone().error_mut().and_then(|error| *error)
    }

    /// The error that a function of real numbers is approximated to, to be changed; within, `None` where the
    /// caller did not state one.
    pub(crate) fn error_mut(&mut self) -> Option<&mut Option<f64>> {
        match self {
            Self::Smooth { error, .. }
            | Self::Std { error, .. }
            | Self::Norm { error, .. }
            | Self::Softmax { error, .. }
            | Self::Sign { error, .. }
            | Self::Absolute { error, .. }
            | Self::Relu { error, .. }
            | Self::Maximum { error, .. }
            | Self::Minimum { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The axes that the operation reduces, to be changed; within, `None` for all of them.
    pub(crate) fn axes_mut(&mut self) -> Option<&mut Axes> {
        match self {
            Self::Sum { axes, .. }
            | Self::Mean { axes, .. }
            | Self::Variance { axes, .. }
            | Self::Product { axes, .. }
            | Self::Std { axes, .. }
            | Self::Norm { axes, .. } => Some(axes),
            _ => None,
        }
    }

    /// Whether each number of the result is computed from one number of each of two operands.
    pub(crate) fn is_entrywise_of_two(&self) -> bool {
        matches!(
            self,
            Self::Add
                | Self::Sub
                | Self::SubFrom
                | Self::Mul
                | Self::Div
                | Self::Multiply { .. }
                | Self::Maximum { .. }
                | Self::Minimum { .. }
        )
    }

    /// The lists of places that the operation names.
    pub(crate) fn lists(&self) -> Vec<PlacesId> {
        let mut own = self.clone();
        own.lists_mut().into_iter().map(|list| *list).collect()
    }

    /// The lists of places that the operation names, to be changed.
    pub(crate) fn lists_mut(&mut self) -> Vec<&mut PlacesId> {
        match self {
            Self::Mapped { sources, .. } | Self::Gathered { sources, .. } => vec![sources],
            Self::Convolved { from, to, .. } => {
                from.iter_mut().chain(to).map(|own| &mut own.places).collect()
            }
            _ => Vec::new(),
        }
    }
}
