//! Clathrate's second engine: an [`arith::Engine`](clathrate_arith::Engine) whose residues are in the memory
//! of a device.
//!
//! The layers, lowest first:
//!
//! - `kernels/*.cuh`: the kernels, in CUDA C++ that is plain C++ on the host, too (`kernels/dialect.h`), one
//!   file for each idea;
//! - [`device`]: what a device must do: memory, copies, launches. Whatever takes an address is this crate's
//!   alone;
//! - `budget`: how much memory of a device is allocated, and may be;
//! - [`nvidia`] (feature `driver`): devices of NVIDIA's;
//! - [`host`] (feature `host-device`): the kernels on this machine's processor, for tests;
//! - `queue`: launches that are held back, to be given to a device as one;
//! - [`memory`]: words in a device's memory, as the engine seam takes them;
//! - [`engine`]: the operations of the seam as launches.
//!
//! Every operation gives the bits of the CPU's engine, but for
//! [`Engine::combine_fractions`](clathrate_arith::Engine::combine_fractions), whose last bits depend on the
//! order of floating-point sums there, and which is exact modulo 2^128 here.
#![warn(unnameable_types)]

#[cfg(any(feature = "driver", feature = "host-device"))]
mod budget;
pub mod device;
pub mod engine;
#[cfg(feature = "host-device")]
pub mod host;
pub mod memory;
#[cfg(feature = "driver")]
pub mod nvidia;
mod queue;

pub use device::{Butterflies, Device, Limits};
pub use engine::DeviceEngine;
#[cfg(feature = "host-device")]
pub use host::HostDevice;
#[cfg(feature = "driver")]
pub use nvidia::NvidiaDevice;
