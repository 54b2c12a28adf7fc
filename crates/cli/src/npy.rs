//! Arrays from and to `.npy` files: all numeric types of NumPy except extended floats, C and Fortran order,
//! up to six axes.
//!
//! `npyz` parses files. This module first checks what `npyz` does not: the length and nesting of the header,
//! the product of the shape, and that the file holds exactly the bytes that dtype and shape need. No
//! allocation depends on a size that a file only claims.

use clathrate_arith::text::counted;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use clathrate_ckks::arrays::layout::MAX_AXES;
use clathrate_ckks::file::FileError;
use clathrate_ckks::keys::Values;
use npyz::half::f16;
use npyz::{DType, Deserialize, NpyFile, NpyHeader, Order, TypeChar, WriterBuilder};
use num_complex::{Complex32, Complex64};
use thiserror::Error;

use crate::streams;

/// Longest header, as in NumPy itself.
const HEADER_LIMIT_BYTES: usize = 10_000;
/// Largest number of opening brackets in a header: arrays of numbers have two.
const BRACKET_LIMIT: usize = 32;
const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// An array in row-major order.
#[derive(Debug, PartialEq)]
pub(crate) struct Array {
    /// The shape, of at most six axes.
    pub shape: Vec<usize>,
    /// The numbers.
    pub values: Values,
    /// Whether the type is an integer type or bool.
    pub whole: bool,
}

/// Errors of `.npy` files.
#[derive(Debug, Error)]
pub(crate) enum ArrayError {
    /// Another kind of file.
    #[error("not an .npy file: write it with numpy.save")]
    NotNpy,
    /// A header that cannot be read.
    #[error("the .npy header cannot be read ({reason}): write the file again with numpy.save")]
    Header {
        /// What is wrong.
        reason: String,
    },
    /// A dtype without a number, or one that is not supported.
    #[error(
        "dtype {dtype} is not supported: use bool, integers of 8 to 64 bits, float16, float32, float64, complex64 or complex128"
    )]
    Dtype {
        /// The type that the file states.
        dtype: String,
    },
    /// More axes than an encrypted array has.
    #[error("the array has {axes} axes {shape:?}: use at most {MAX_AXES}, e.g. array.reshape(rows, -1)")]
    Axes {
        /// The number of axes.
        axes: usize,
        /// The shape.
        shape: Vec<u64>,
    },
    /// Too few or too many bytes.
    #[error("the array of shape {shape:?} needs {} of data, the file has {found}: write it again", counted(*expected, "byte"))]
    Length {
        /// The shape.
        shape: Vec<u64>,
        /// Bytes needed.
        expected: u64,
        /// Bytes in the file.
        found: u64,
    },
    /// A stream with bytes after the array.
    #[error("the stream goes on after the array of shape {shape:?}, which has {} of data: write one array alone", counted(*expected, "byte"))]
    Longer {
        /// The shape.
        shape: Vec<u64>,
        /// Bytes of data.
        expected: u64,
    },
    /// A stream that states a size beyond the free memory.
    #[error("the array of shape {shape:?} has {}, and only {} are free: send fewer rows, or write it to a file", counted(*expected, "byte"), counted(*free, "byte"))]
    Memory {
        /// The shape.
        shape: Vec<u64>,
        /// Bytes of data.
        expected: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Complex numbers where real ones are needed.
    #[error("the matrix is complex: weights are real")]
    ComplexWeights,
    /// The operating system refused.
    #[error("cannot {action} the file: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// Reading failed, or an element is not what its dtype says.
    #[error("the array cannot be read: {0}")]
    Data(#[from] io::Error),
}

/// Reads the array at `path`.
///
/// # Errors
/// [`ArrayError::Io`] for errors of the operating system; other kinds for the contents of the file.
pub(crate) fn read(path: &Path) -> Result<Array, ArrayError> {
    let io = |action, source| ArrayError::Io { action, source };
    if let Some(stream) = streams::input(path).map_err(|source| io("open", source))? {
        return parse(BufReader::new(stream), None);
    }
    let about = std::fs::metadata(path).map_err(|source| io("open", source))?;
    if !about.is_file() {
        return Err(io("read", io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    let file = File::open(path).map_err(|source| io("open", source))?;
    parse(BufReader::new(file), Some(about.len()))
}

/// Reads an array from a file of `total` bytes, or from a stream of unknown length, of which at most the
/// array and one more byte are read.
pub(crate) fn parse(mut source: impl Read, total: Option<u64>) -> Result<Array, ArrayError> {
    let head = read_head(&mut source)?;
    let header = NpyHeader::from_reader(&head[..]).map_err(|error| header_error(error.to_string()))?;
    let shape = header.shape().to_vec();
    let dtype = header.dtype();
    let unsupported = || ArrayError::Dtype { dtype: dtype.descr().chars().take(60).collect() };
    let (kind, item_bytes) = match &dtype {
        DType::Plain(plain) => (plain.type_char(), plain.size_field()),
        _ => return Err(unsupported()),
    };
    if shape.len() > MAX_AXES {
        return Err(ArrayError::Axes { axes: shape.len(), shape });
    }
    let expected =
        shape.iter().try_fold(item_bytes, |bytes, &axis| bytes.checked_mul(axis)).unwrap_or(u64::MAX);
    let readable = matches!(
        (kind, item_bytes),
        (TypeChar::Bool, 1)
            | (TypeChar::Int | TypeChar::Uint, 1 | 2 | 4 | 8)
            | (TypeChar::Float, 2 | 4 | 8)
            | (TypeChar::Complex, 8 | 16)
    );
    if !readable {
        return Err(unsupported());
    }
    match total.map(|total| total.saturating_sub(head.len() as u64)) {
        Some(found) if found != expected => return Err(ArrayError::Length { shape, expected, found }),
        Some(_) => {}
        None => {
            let free = streams::free_memory();
            if expected > free {
                return Err(ArrayError::Memory { shape, expected, free });
            }
        }
    }
    // The file holds these bytes, or they fit the free memory, so the sizes fit a usize.
    let shape: Vec<usize> = shape.iter().map(|&axis| axis as usize).collect();
    let order = header.order();
    let mut source = source.take(expected.saturating_add(1));
    let npy = NpyFile::with_header(header, &mut source);
    let values = values(npy, (kind, item_bytes), &shape, order);
    let found = expected.saturating_add(1) - source.limit();
    let values = match values {
        Err(ArrayError::Data(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            let shape = header_shape(&shape);
            return Err(ArrayError::Length { shape, expected, found });
        }
        other => other?,
    };
    if source.read(&mut [0])? > 0 {
        return Err(ArrayError::Longer { shape: header_shape(&shape), expected });
    }
    let whole = matches!(kind, TypeChar::Bool | TypeChar::Int | TypeChar::Uint);
    Ok(Array { shape, values, whole })
}

fn header_shape(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|&axis| axis as u64).collect()
}

/// Reads the numbers, whose type `kind` and the bytes of an item give.
fn values(
    npy: NpyFile<impl Read>,
    (kind, item_bytes): (TypeChar, u64),
    shape: &[usize],
    order: Order,
) -> Result<Values, ArrayError> {
    Ok(match (kind, item_bytes) {
        (TypeChar::Bool, _) => Values::Real(elements(npy, shape, order, |x: bool| f64::from(u8::from(x)))?),
        (TypeChar::Int, 1) => Values::Real(elements(npy, shape, order, |x: i8| f64::from(x))?),
        (TypeChar::Int, 2) => Values::Real(elements(npy, shape, order, |x: i16| f64::from(x))?),
        (TypeChar::Int, 4) => Values::Real(elements(npy, shape, order, |x: i32| f64::from(x))?),
        // Integers beyond 2^53 are rounded, as NumPy rounds them.
        (TypeChar::Int, _) => Values::Real(elements(npy, shape, order, |x: i64| x as f64)?),
        (TypeChar::Uint, 1) => Values::Real(elements(npy, shape, order, |x: u8| f64::from(x))?),
        (TypeChar::Uint, 2) => Values::Real(elements(npy, shape, order, |x: u16| f64::from(x))?),
        (TypeChar::Uint, 4) => Values::Real(elements(npy, shape, order, |x: u32| f64::from(x))?),
        (TypeChar::Uint, _) => Values::Real(elements(npy, shape, order, |x: u64| x as f64)?),
        (TypeChar::Float, 2) => Values::Real(elements(npy, shape, order, |x: f16| f64::from(x))?),
        (TypeChar::Float, 4) => Values::Real(elements(npy, shape, order, |x: f32| f64::from(x))?),
        (TypeChar::Float, _) => Values::Real(elements(npy, shape, order, |x: f64| x)?),
        (_, 8) => Values::Complex(elements(npy, shape, order, |x: Complex32| {
            Complex64::new(x.re.into(), x.im.into())
        })?),
        _ => Values::Complex(elements(npy, shape, order, |x: Complex64| x)?),
    })
}

fn header_error(reason: impl Into<String>) -> ArrayError {
    // A hostile header must not put control characters into a message.
    let printable = |c: char| if c.is_control() { '?' } else { c };
    ArrayError::Header { reason: reason.into().chars().take(200).map(printable).collect() }
}

/// Magic, version and header text, with the checks that the parser omits.
fn read_head(source: &mut impl Read) -> Result<Vec<u8>, ArrayError> {
    let mut head = Vec::new();
    let mut take = |count: usize, head: &mut Vec<u8>| -> Result<(), ArrayError> {
        let start = head.len();
        source.by_ref().take(count as u64).read_to_end(head)?;
        if head.len() - start == count { Ok(()) } else { Err(header_error("the file ends inside it")) }
    };
    take(10, &mut head).map_err(|_| ArrayError::NotNpy)?;
    if !head.starts_with(MAGIC) {
        return Err(ArrayError::NotNpy);
    }
    let length = match head[6] {
        1 => usize::from(u16::from_le_bytes([head[8], head[9]])),
        2 | 3 => {
            take(2, &mut head)?;
            u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize
        }
        other => return Err(header_error(format!("format version {other}"))),
    };
    if length > HEADER_LIMIT_BYTES {
        return Err(header_error(format!("it claims {length} bytes, above {HEADER_LIMIT_BYTES}")));
    }
    let start = head.len();
    take(length, &mut head)?;
    let text = std::str::from_utf8(&head[start..]).map_err(|_| header_error("it is not text"))?;
    if text.chars().filter(|c| "([{".contains(*c)).count() > BRACKET_LIMIT {
        return Err(header_error("it is nested too deeply"));
    }
    // The parser multiplies the axes without a check. There must be exactly one `shape`, so that it uses the
    // axes that are checked here.
    if text.matches("shape").count() > 1 || text.contains('\\') {
        return Err(header_error("it says more than an array's header does"));
    }
    let shape = text
        .split_once("shape")
        .and_then(|(_, rest)| rest.split_once('('))
        .and_then(|(_, rest)| rest.split_once(')'));
    let axes = shape
        .ok_or_else(|| header_error("it has no shape"))?
        .0
        .split(',')
        .map(str::trim)
        .filter(|axis| !axis.is_empty());
    let product = axes
        .map(|axis| axis.trim_end_matches('L').parse::<u64>().ok().map(|n| n.max(1)))
        .try_fold(1u64, |product, axis| product.checked_mul(axis?));
    if product.is_none_or(|product| product >> 56 != 0) {
        return Err(header_error("its shape is no shape, or has too many entries"));
    }
    Ok(head)
}

/// The elements in row-major order, converted.
fn elements<T: Deserialize, U: Copy>(
    npy: NpyFile<impl Read>,
    shape: &[usize],
    order: Order,
    convert: impl Fn(T) -> U,
) -> Result<Vec<U>, ArrayError> {
    let data = npy.data::<T>().map_err(|error| header_error(error.to_string()))?;
    let stored: Vec<U> = data.map(|element| element.map(&convert)).collect::<Result<_, _>>()?;
    if order == Order::Fortran && !shape.contains(&0) {
        // The first axis counts the elements of the file one by one.
        let mut places = vec![0];
        for (axis, &length) in shape.iter().enumerate() {
            let step: usize = shape[..axis].iter().product();
            places = places.iter().flat_map(|&first| (0..length).map(move |at| first + at * step)).collect();
        }
        return Ok(places.into_iter().map(|place: usize| stored[place]).collect());
    }
    Ok(stored)
}

/// Writes an array as float64 or complex128 in C order. A regular file at `path` is replaced completely or
/// not at all. Returns the length in bytes.
///
/// # Errors
/// [`FileError::Io`].
pub(crate) fn write(path: &Path, shape: &[usize], values: &Values) -> Result<u64, FileError> {
    let mut output = streams::create(path, false)?;
    let mut target = BufWriter::new(&mut output);
    let shape: Vec<u64> = shape.iter().map(|&axis| axis as u64).collect();
    match values {
        Values::Real(values) => write_elements(&mut target, &shape, values),
        Values::Complex(values) => write_elements(&mut target, &shape, values),
    }
    .and_then(|()| target.flush())
    .map_err(|source| FileError::Io { path: path.to_owned(), action: "write", source })?;
    drop(target);
    output.commit()
}

fn write_elements<T: npyz::AutoSerialize + Copy>(
    target: impl Write,
    shape: &[u64],
    values: &[T],
) -> io::Result<()> {
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(target).begin_nd()?;
    writer.extend(values.iter().copied())?;
    writer.finish()
}
