//! The errors of this crate.

use thiserror::Error;

use crate::text::counted;

/// Errors of the arithmetic layer; each names the numbers and the remedy.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ArithError {
    /// A modulus outside the supported range.
    #[error("modulus {value} is not usable: it must be odd, at least 3 and below 2^61")]
    InvalidModulus {
        /// The offending value.
        value: u64,
    },
    /// A degree that is not a power of two in the supported range.
    #[error("degree {degree} is not supported: use a power of two from 1 to 2^17")]
    InvalidDegree {
        /// The offending degree.
        degree: usize,
    },
    /// The modulus has no primitive root of the order that the degree needs.
    #[error(
        "modulus {modulus} has no primitive {order}-th root of unity: it must be a prime congruent to 1 mod {order}"
    )]
    NoRootOfUnity {
        /// The modulus.
        modulus: u64,
        /// The order asked for, 2 * degree.
        order: usize,
    },
    /// The prime search ran out of candidates.
    #[error(
        "{} of {} congruent to 1 mod {step} asked for, only {found} exist: use other sizes or a smaller degree",
        counted(*wanted, "prime"),
        counted(*bits, "bit")
    )]
    NotEnoughPrimes {
        /// Primes found.
        found: usize,
        /// Primes asked for.
        wanted: usize,
        /// Their size.
        bits: u32,
        /// Their residue step, 2 * degree.
        step: u64,
    },
    /// A Galois element that is even or out of range.
    #[error("Galois element {element} is not usable at degree {degree}: it must be odd and below {}", 2 * degree)]
    InvalidGaloisElement {
        /// The offending element.
        element: usize,
        /// The ring degree.
        degree: usize,
    },
    /// A forced instruction set this machine does not have.
    #[error("instruction set {isa} was asked for, but this machine has {available}")]
    IsaUnavailable {
        /// What was asked for.
        isa: String,
        /// What the machine has.
        available: String,
    },
    /// A thread pool could not be built.
    #[error("a pool of {} could not be started: {reason}", counted(*threads, "thread"))]
    ThreadPool {
        /// Threads asked for.
        threads: usize,
        /// The operating system's reason.
        reason: String,
    },
    /// Two shapes that do not fit.
    #[error("{what}: expected {expected}, got {got}")]
    Shape {
        /// What was compared.
        what: &'static str,
        /// The expected count.
        expected: usize,
        /// The count given.
        got: usize,
    },
    /// A value beyond what an exact computation admits.
    #[error("{what} is {value}, at most {limit} is allowed: scale it down, or reduce it first")]
    TooLarge {
        /// Which value.
        what: &'static str,
        /// Its magnitude.
        value: u64,
        /// The largest magnitude allowed.
        limit: u64,
    },
}

/// The system has no memory for an array of the host.
///
/// Operations on residues return no `Result`, so this error, like [`DeviceError`], is the payload of a panic
/// ([`OutOfMemory::raise`]). The bindings and the command line catch the panic and report the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the system has no memory for {} more: use fewer arrays or keys at a time, or a lower degree, or free some", counted(*bytes, "byte"))]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub bytes: u64,
}

impl OutOfMemory {
    /// Ends the operation; the panic hook is not called.
    pub fn raise(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }
}

/// Why a device could not do what was asked of it.
///
/// Operations of an engine return no `Result`, so an engine of a device raises this error as the payload of a
/// panic ([`DeviceError::raise`]). The bindings and the command line catch the panic and report the error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// Not enough memory.
    #[error(
        "{device} has no room for {needed} bytes: {free} of {} are free. {} fewer arrays or keys at a time, a lower degree, or the processor (device=\"cpu\")",
        if *limited { format!("the {total} bytes that its memory limit allows") } else { format!("its {total} bytes") },
        if *limited { "Raise the limit (set_device_memory_limit, CLATHRATE_DEVICE_MEMORY_LIMIT), or use" } else { "Use" }
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
        /// All bytes of the device, or of the limit.
        total: u64,
        /// Whether the limit that was set, and not the device's memory, was exceeded.
        limited: bool,
    },
    /// The device or its driver is missing.
    #[error("{reason}")]
    Missing {
        /// What is missing, and the remedy.
        reason: String,
    },
    /// A call of the driver failed.
    #[error("{device}: {call} failed: {reason}. What is in the host's memory and in files is unharmed")]
    Failed {
        /// The device.
        device: String,
        /// The call.
        call: &'static str,
        /// What the driver said.
        reason: String,
    },
}

impl DeviceError {
    /// Ends the operation; the panic hook is not called.
    pub fn raise(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }
}
