//! An [`arith::Engine`](clathrate_arith::Engine) for GPUs: the residues are in the memory of a device.
//!
//! The layers, lowest first:
//!
//! - `kernels/*.cuh`: the kernels, in CUDA C++ that also compiles as plain C++ on the host
//!   (`kernels/dialect.h`);
//! - [`device`]: the interface of a device: memory, copies, launches. Methods that take addresses are private
//!   to this crate;
//! - `budget`: counts and limits the memory of a device that a process allocates;
//! - [`nvidia`] (feature `driver`): NVIDIA GPUs;
//! - [`host`] (feature `host-device`): the kernels on this machine's processor, for tests;
//! - `queue`: collects the launches of an operation and submits them together;
//! - [`memory`]: words in a device's memory, which buffers and packed factors hold;
//! - [`engine`]: the operations of the engine interface as launches.
//!
//! Every operation gives the same bits as on the CPU engine, except for
//! [`Engine::combine_fractions`](clathrate_arith::Engine::combine_fractions): its last bits depend on the
//! order of floating-point sums on the CPU, and it is exact modulo 2^128 on a device.
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
