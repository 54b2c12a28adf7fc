//! The interface of a device: memory that only it can address, and launches of kernels by name.
//!
//! Copies and launches take effect in the order of the calls. A launch may return before its kernel has run; [`Device::read`] waits.

use std::fmt::Debug;

use clathrate_arith::DeviceError;

/// The arithmetic of butterflies that a device is fast at; the others, and all moduli that are too long for these, take words of 64 bits.
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
pub struct Launch {
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

/// A device with memory of its own.
pub trait Device: Send + Sync + Debug {
    /// Its name for people.
    fn name(&self) -> String;

    /// The kind of its memory; see [`clathrate_arith::Engine::memory_kind`].
    fn memory_kind(&self) -> &'static str;

    /// What one block can have.
    fn limits(&self) -> Limits;

    /// The arithmetic of butterflies that it is fast at.
    fn butterflies(&self) -> Butterflies;

    /// The address of `words` words with any contents; an address that is not 0 for no words.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    fn allocate(&self, words: usize) -> Result<u64, DeviceError>;

    /// Frees what [`Device::allocate`] gave.
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

    /// Waits until all that was asked before is done.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn finish(&self) -> Result<(), DeviceError>;

    /// Runs a kernel.
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

    /// Whether kernels that come together ([`Device::run`]) run as one graph, on a device that has graphs.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    fn set_graphs(&self, on: bool) -> Result<(), DeviceError> {
        let _ = on;
        Ok(())
    }

    /// Bytes that are allocated now.
    fn allocated_bytes(&self) -> u64;

    /// Limits what this process may allocate from now on; `u64::MAX` for all that the device has. What is allocated stays.
    fn set_memory_limit(&self, bytes: u64);
}
