//! The interface of a device: memory that only it can address, and launches of kernels by name.
//!
//! Copies and launches take effect in the order of the calls. A launch may return before its kernel has run;
//! [`Addressed::read`] waits.

use std::fmt::Debug;

use clathrate_arith::DeviceError;

/// The arithmetic of butterflies that a device is fast at; the others, and all moduli that are too long for
/// these, take words of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Butterflies {
    /// Words of 32 bits for moduli below 2^30.
    pub short_words: bool,
    /// Doubles for moduli below 2^50.
    pub doubles: bool,
}

/// What one block can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most units of a block.
    pub units: u32,
    /// Most words of shared memory of a block.
    pub shared_words: u32,
    /// Most blocks of a grid in its second direction.
    pub grid_y: u32,
}

/// A launch of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Blocks in x and y.
    pub grid: (u32, u32),
    /// What the kernel counts its blocks in y from: grids that are too high come in several launches.
    pub first_row: u32,
    /// Units of a block.
    pub units: u32,
    /// Words of shared memory of a block.
    pub shared_words: u32,
    /// The words that the kernel reads as `args`: numbers, and addresses of this device's memory.
    pub args: Vec<u64>,
}

impl Launch {
    /// The launches that this one takes where a grid has at most `grid_y` blocks in its second direction.
    pub fn pieces(self, grid_y: u32) -> impl Iterator<Item = Self> {
        let (width, height) = self.grid;
        (0..height).step_by(grid_y.max(1) as usize).map(move |first| Self {
            grid: (width, grid_y.min(height - first)),
            first_row: self.first_row + first,
            ..self.clone()
        })
    }
}

/// A device with memory of its own, which the engines of this crate compute on.
///
/// Only this crate can address the memory or launch a kernel ([`Addressed`]), because both take addresses
/// that nothing checks: elsewhere, safe code cannot read, write or free memory that is not its own. Buffers
/// reach a device by way of [`DeviceEngine`](crate::DeviceEngine).
///
/// ```
/// # #[cfg(feature = "host-device")] {
/// use clathrate_cuda::{Device, HostDevice};
/// let device = HostDevice::default();
/// device.finish().unwrap();
/// assert_eq!(device.allocated_bytes(), 0);
/// # }
/// ```
///
/// The following do not compile, not on a device nor on any type that is one:
///
/// ```compile_fail,E0624
/// use clathrate_cuda::{Device, HostDevice};
/// HostDevice::default().write(8, &[1]).unwrap();
/// ```
/// ```compile_fail,E0624
/// fn store(device: &dyn clathrate_cuda::Device) {
///     device.write(8, &[1]).unwrap();
/// }
/// ```
/// ```compile_fail,E0624
/// fn load(device: &impl clathrate_cuda::Device) {
///     device.read(&mut [0], 8).unwrap();
/// }
/// ```
/// ```compile_fail,E0624
/// fn free(device: &dyn clathrate_cuda::Device) {
///     device.free(8, 1);
/// }
/// ```
/// ```compile_fail,E0603
/// use clathrate_cuda::device::Addressed;
/// ```
/// ```compile_fail,E0603
/// let _ = clathrate_cuda::device::Launch { kernel: "fill", grid: (1, 1), first_row: 0, units: 1, shared_words: 0, args: vec![8] };
/// ```
#[expect(
    private_bounds,
    reason = "only this crate may use addresses of a device, and only its devices are devices"
)]
pub trait Device: Addressed {
    /// Its name for people.
    fn name(&self) -> String;

    /// The kind of its memory; see [`clathrate_arith::Engine::memory_kind`].
    fn memory_kind(&self) -> &'static str;

    /// What one block can have.
    fn limits(&self) -> Limits;

    /// The arithmetic of butterflies that it is fast at.
    fn butterflies(&self) -> Butterflies;

    /// Waits until all that was asked before is done.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn finish(&self) -> Result<(), DeviceError>;

    /// Whether kernels that come together run as one graph, on a device that has graphs.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn set_graphs(&self, on: bool) -> Result<(), DeviceError> {
        let _ = on;
        Ok(())
    }

    /// Bytes that are allocated now.
    fn allocated_bytes(&self) -> u64;

    /// Limits what this process may allocate from now on; `u64::MAX` for all that the device has. What is
    /// allocated stays.
    fn set_memory_limit(&self, bytes: u64);
}

/// What a device does with addresses of its memory. The caller answers for them: an address comes from
/// [`Addressed::allocate`] of this device, is not freed yet, and has room for the words.
pub(crate) trait Addressed: Send + Sync + Debug {
    /// The address of `words` words with any contents; an address that is not 0 for no words.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    fn allocate(&self, words: usize) -> Result<u64, DeviceError>;

    /// Frees what [`Addressed::allocate`] gave.
    fn free(&self, address: u64, words: usize);

    /// Copies words from the host.
    ///
    /// # Errors
    /// [`DeviceError::Failed`], as in the methods below.
    fn write(&self, address: u64, words: &[u64]) -> Result<(), DeviceError>;

    /// Copies words to the host, after all that was asked before.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn read(&self, words: &mut [u64], address: u64) -> Result<(), DeviceError>;

    /// Copies words within the device.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), DeviceError>;

    /// Fills words with zeroes.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn zero(&self, address: u64, words: usize) -> Result<(), DeviceError>;

    /// Runs a kernel, whose words are those that it reads.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn launch(&self, launch: &Launch) -> Result<(), DeviceError>;

    /// Runs kernels one after another; a device may take them as one.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn run(&self, launches: &[Launch]) -> Result<(), DeviceError> {
        launches.iter().try_for_each(|launch| self.launch(launch))
    }
}
