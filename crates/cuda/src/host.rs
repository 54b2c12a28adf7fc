//! The host device, for tests: the kernels compiled as C++ and run by this machine's processor.
//!
//! A block runs as a loop over its units between barriers. With [`HostDevice::with_threads`] it runs as one
//! thread for each unit with real barriers, which is slow and meant for small tests.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use clathrate_arith::DeviceError;

use crate::budget::Budget;
use crate::device::{Addressed, Butterflies, Device, Launch, Limits};

unsafe extern "C" {
    fn clathrate_host_kernel(name: *const c_char) -> c_int;
    fn clathrate_host_units(kernel: c_int) -> u32;
    fn clathrate_host_launch(
        kernel: c_int,
        first: u64,
        last: u64,
        width: u32,
        first_row: u32,
        units: u32,
        shared_words: u64,
        args: *const u64,
        threads: bool,
    );
}

/// The contents of new allocations: no kernel may rely on zeroes.
const STALE: u64 = 0xdead_beef_dead_beef;

/// A device on the host, for tests.
#[derive(Debug)]
pub struct HostDevice {
    limits: Limits,
    butterflies: Butterflies,
    threads: bool,
    budget: Budget,
    /// Calls that succeed before the device fails.
    calls_left: AtomicU64,
    /// The memory, by address.
    space: Mutex<HashMap<u64, Vec<u64>>>,
    kernels: Mutex<HashMap<&'static str, HostKernel>>,
    /// The number of launches of each call of [`Addressed::run`].
    runs: Mutex<Vec<usize>>,
}

/// A kernel that was launched.
#[derive(Debug, Clone, Copy)]
struct HostKernel {
    number: c_int,
    /// Largest number of units of a block.
    units: u32,
}

impl Default for HostDevice {
    fn default() -> Self {
        Self {
            limits: Limits { units: 1024, shared_words: 1 << 14, grid_y: 65_535 },
            butterflies: Butterflies { short_words: true, doubles: true },
            threads: false,
            budget: Budget::unlimited(),
            calls_left: AtomicU64::new(u64::MAX),
            space: Mutex::default(),
            kernels: Mutex::default(),
            runs: Mutex::default(),
        }
    }
}

impl HostDevice {
    /// The same device with a thread for each unit of a block.
    #[must_use]
    pub fn with_threads(mut self) -> Self {
        self.threads = true;
        self
    }

    /// The same device with other limits, so that small degrees use the code for large degrees.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same device with other fast arithmetic of butterflies.
    #[must_use]
    pub fn with_butterflies(mut self, butterflies: Butterflies) -> Self {
        self.butterflies = butterflies;
        self
    }

    /// The same device with `bytes` bytes of memory.
    #[must_use]
    pub fn with_memory(self, bytes: u64) -> Self {
        self.set_memory_limit(bytes);
        self
    }

    /// Fails every call after the next `calls` calls; `u64::MAX` for no failures.
    pub fn fail_after(&self, calls: u64) {
        self.calls_left.store(calls, Ordering::Relaxed);
    }

    /// Counts a call, and fails it where `calls_left` is 0.
    fn take_call(&self, call: &'static str) -> Result<(), DeviceError> {
        match self.calls_left.load(Ordering::Relaxed) {
            u64::MAX => Ok(()),
            0 => Err(DeviceError::Failed {
                device: self.name(),
                call,
                reason: "it is gone, as a test asked for".to_owned(),
            }),
            left => {
                self.calls_left.store(left - 1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    fn space(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Vec<u64>>> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of launches of each submission since this method was last called.
    pub fn take_runs(&self) -> Vec<usize> {
        std::mem::take(&mut *self.runs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn kernels(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, HostKernel>> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel of this name.
    fn kernel(&self, name: &'static str) -> Result<HostKernel, DeviceError> {
        let mut known = self.kernels();
        if let Some(kernel) = known.get(name) {
            return Ok(*kernel);
        }
        let text = CString::new(name).expect("names of kernels have no zeroes");
        // SAFETY: the text ends with a zero.
        let number = unsafe { clathrate_host_kernel(text.as_ptr()) };
        if number < 0 {
            return Err(DeviceError::Failed {
                device: self.name(),
                call: "launch",
                reason: format!("there is no kernel `{name}`"),
            });
        }
        // SAFETY: the number is that of a kernel.
        let kernel = HostKernel { number, units: unsafe { clathrate_host_units(number) } };
        known.insert(name, kernel);
        Ok(kernel)
    }
}

impl Device for HostDevice {
    fn name(&self) -> String {
        if self.threads { "host device, a thread for each unit".to_owned() } else { "host device".to_owned() }
    }

    fn memory_kind(&self) -> &'static str {
        "host device"
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn butterflies(&self) -> Butterflies {
        self.butterflies
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.take_call("waiting")
    }

    fn allocated_bytes(&self) -> u64 {
        self.budget.allocated()
    }

    fn set_memory_limit(&self, bytes: u64) {
        self.budget.set_limit(bytes);
    }
}

impl Addressed for HostDevice {
    fn allocate(&self, words: usize) -> Result<u64, DeviceError> {
        self.take_call("allocating memory")?;
        self.budget.take(words as u64 * 8, || self.name())?;
        let memory = vec![STALE; words.max(1)];
        let address = memory.as_ptr() as u64;
        self.space().insert(address, memory);
        Ok(address)
    }

    fn free(&self, address: u64, words: usize) {
        if self.space().remove(&address).is_some() {
            self.budget.give_back(words as u64 * 8);
        }
    }

    fn write(&self, address: u64, words: &[u64]) -> Result<(), DeviceError> {
        self.take_call("copying to the device")?;
        // SAFETY: an address of this device's memory with room for the words, as [`Addressed`] asks of its
        // callers, which are all in this crate.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), address as *mut u64, words.len()) };
        Ok(())
    }

    fn read(&self, words: &mut [u64], address: u64) -> Result<(), DeviceError> {
        self.take_call("copying from the device")?;
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u64, words.as_mut_ptr(), words.len()) };
        Ok(())
    }

    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), DeviceError> {
        self.take_call("copying")?;
        // SAFETY: as in `write`, on both sides.
        unsafe { std::ptr::copy(from as *const u64, to as *mut u64, words) };
        Ok(())
    }

    fn zero(&self, address: u64, words: usize) -> Result<(), DeviceError> {
        self.take_call("overwriting")?;
        // SAFETY: as in `write`.
        unsafe { std::ptr::write_bytes(address as *mut u64, 0, words) };
        Ok(())
    }

    fn launch(&self, launch: &Launch) -> Result<(), DeviceError> {
        let kernel = self.kernel(launch.kernel)?;
        self.take_call(launch.kernel)?;
        let (width, height) = launch.grid;
        let fits = launch.units <= self.limits.units.min(kernel.units)
            && launch.shared_words <= self.limits.shared_words
            && height <= self.limits.grid_y;
        if !fits {
            return Err(DeviceError::Failed {
                device: self.name(),
                call: "launch",
                reason: format!("`{}` exceeds the limits of a block: {launch:?}", launch.kernel),
            });
        }
        let blocks = u64::from(width) * u64::from(height);
        // SAFETY: the kernel is known; the words are those that it reads, with addresses of this device's
        // memory, by the engine's code.
        unsafe {
            clathrate_host_launch(
                kernel.number,
                0,
                blocks,
                width,
                launch.first_row,
                launch.units,
                u64::from(launch.shared_words),
                launch.args.as_ptr(),
                self.threads,
            );
        }
        Ok(())
    }

    fn run(&self, launches: &[Launch]) -> Result<(), DeviceError> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(launches.len());
        launches.iter().try_for_each(|launch| self.launch(launch))
    }
}
