//! The interface of a device: memory that only it can address, and launches of kernels by name.
//!
//! Copies and launches take effect in the order of the calls. A launch may return before its kernel has run;
//! [`Addressed::read`] waits.

use std::fmt::Debug;

use clathrate_arith::DeviceError;

/// The arithmetic in which a device computes butterflies fast. All other butterflies use words of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Butterflies {
    /// Words of 32 bits for moduli below 2^30.
    pub short_words: bool,
    /// Doubles for moduli below 2^50.
    pub doubles: bool,
}

/// The limits of blocks and grids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of units (threads) of a block.
    pub units: u32,
    /// Largest number of words of shared memory of a block.
    pub shared_words: u32,
    /// Largest number of blocks of a grid in y.
    pub grid_y: u32,
}

/// A launch of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Blocks in x and y.
    pub grid: (u32, u32),
    /// The row at which the kernel starts to count its blocks in y: a grid that is too high takes several
    /// launches.
    pub first_row: u32,
    /// Units of a block.
    pub units: u32,
    /// Words of shared memory of a block.
    pub shared_words: u32,
    /// The words that the kernel reads as `args`: numbers, and addresses of this device's memory.
    pub args: Vec<u64>,
}

impl Launch {
    /// This launch, divided into launches of at most `grid_y` blocks in y.
    pub fn pieces(self, grid_y: u32) -> impl Iterator<Item = Self> {
        let (width, height) = self.grid;
        (0..height).step_by(grid_y.max(1) as usize).map(move |first| Self {
            grid: (width, grid_y.min(height - first)),
            first_row: self.first_row + first,
            ..self.clone()
        })
    }
}

/// A device with a separate memory, on which the engines of this crate compute.
///
/// Only this crate can address the memory or launch a kernel ([`Addressed`]), because addresses are not
/// checked and safe code elsewhere must not reach memory that it does not own. Other crates use a device
/// through [`DeviceEngine`](crate::DeviceEngine).
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
/// The following do not compile, neither on a device nor on any type that implements this trait:
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
    /// The name to be shown to users.
    fn name(&self) -> String;

    /// The kind of the device's memory; see [`clathrate_arith::Engine::memory_kind`].
    fn memory_kind(&self) -> &'static str;

    /// The limits of blocks and grids.
    fn limits(&self) -> Limits;

    /// The arithmetic in which the device computes butterflies fast.
    fn butterflies(&self) -> Butterflies;

    /// Waits until all copies and launches called before are done.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn finish(&self) -> Result<(), DeviceError>;

    /// Sets whether kernels that are submitted together run as one graph, on a device that has graphs.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn set_graphs(&self, on: bool) -> Result<(), DeviceError> {
        let _ = on;
        Ok(())
    }

    /// Bytes that this process has allocated.
    fn allocated_bytes(&self) -> u64;

    /// Limits the bytes that this process may have allocated; `u64::MAX` sets no limit. Existing allocations
    /// stay.
    fn set_memory_limit(&self, bytes: u64);
}

/// The operations of a device on addresses of its memory. The caller guarantees that an address comes from
/// [`Addressed::allocate`] of this device, is not yet freed, and has room for the words.
pub(crate) trait Addressed: Send + Sync + Debug {
    /// Allocates `words` words with unspecified contents. Returns an address other than 0, for 0 words too.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    fn allocate(&self, words: usize) -> Result<u64, DeviceError>;

    /// Frees an allocation of [`Addressed::allocate`].
    fn free(&self, address: u64, words: usize);

    /// Copies words from the host.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn write(&self, address: u64, words: &[u64]) -> Result<(), DeviceError>;

    /// Copies words to the host, after all copies and launches called before.
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

    /// Runs a kernel. The caller guarantees that the arguments are those that the kernel reads.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn launch(&self, launch: &Launch) -> Result<(), DeviceError>;

    /// Runs kernels one after another; a device may run them as one graph.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn run(&self, launches: &[Launch]) -> Result<(), DeviceError> {
        launches.iter().try_for_each(|launch| self.launch(launch))
    }
}
