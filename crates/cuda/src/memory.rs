//! Words in a device's memory, as buffers and packed factors hold them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use clathrate_arith::{DeviceError, DeviceMemory, Rows, RowsMut};

use crate::device::{Device, Launch};

/// The panic message where the memory of another engine is given.
const FOREIGN: &str = "these residues are not in this device's memory: upload them";

/// Words in a device's memory.
pub struct Allocation {
    block: Arc<Block>,
}

/// One allocation of a device's memory, freed when dropped.
pub(crate) struct Block {
    device: Arc<dyn Device>,
    address: u64,
    words: usize,
}

impl Drop for Block {
    fn drop(&mut self) {
        self.device.free(self.address, self.words);
    }
}

/// The value, or a panic with the error, as [`DeviceError`] describes.
pub(crate) fn or_panic<T>(result: Result<T, DeviceError>) -> T {
    result.unwrap_or_else(|error| error.raise())
}

impl Allocation {
    /// Allocates `words` words with unspecified contents.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn try_new(device: &Arc<dyn Device>, words: usize) -> Result<Self, DeviceError> {
        let address = device.allocate(words)?;
        Ok(Self { block: Arc::new(Block { device: device.clone(), address, words }) })
    }

    /// [`Allocation::try_new`] for operations that return no `Result`.
    pub(crate) fn new(device: &Arc<dyn Device>, words: usize) -> Self {
        or_panic(Self::try_new(device, words))
    }

    /// Allocates memory and copies `words` to it.
    pub(crate) fn of(device: &Arc<dyn Device>, words: &[u64]) -> Self {
        let allocation = Self::new(device, words.len());
        or_panic(device.write(allocation.address(), words));
        allocation
    }

    pub(crate) fn zeroed(device: &Arc<dyn Device>, words: usize) -> Self {
        let allocation = Self::new(device, words);
        or_panic(device.zero(allocation.address(), words));
        allocation
    }

    pub(crate) fn address(&self) -> u64 {
        self.block.address
    }

    pub(crate) fn words(&self) -> usize {
        self.block.words
    }

    pub(crate) fn block(&self) -> &Arc<Block> {
        &self.block
    }

    fn device(&self) -> &Arc<dyn Device> {
        &self.block.device
    }

    /// The allocation that `memory` is.
    pub(crate) fn behind(memory: &dyn DeviceMemory) -> &Self {
        memory.as_any().downcast_ref().expect(FOREIGN)
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Allocation({} words, {})", self.words(), self.device().name())
    }
}

impl DeviceMemory for Allocation {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn duplicate(&self) -> Box<dyn DeviceMemory> {
        let copy = Self::new(self.device(), self.words());
        or_panic(self.device().copy(copy.address(), self.address(), self.words()));
        Box::new(copy)
    }

    fn equals(&self, first: usize, other: &dyn DeviceMemory, other_first: usize, words: usize) -> bool {
        let Some(other) = other.as_any().downcast_ref::<Self>() else { return false };
        let flag = Self::zeroed(self.device(), 1);
        let within =
            |own: &Self, first: usize| first.checked_add(words).is_some_and(|end| end <= own.words());
        assert!(within(self, first) && within(other, other_first), "words of both memories");
        let args = vec![
            self.address() + first as u64 * 8,
            other.address() + other_first as u64 * 8,
            words as u64,
            flag.address(),
        ];
        if words > 0 {
            let units = DEFAULT_UNITS.min(self.device().limits().units);
            let grid = ((words as u64).div_ceil(u64::from(units)) as u32, 1);
            or_panic(self.device().launch(&Launch {
                kernel: "compare",
                grid,
                first_row: 0,
                units,
                shared_words: 0,
                args,
            }));
        }
        let mut different = [0];
        or_panic(self.device().read(&mut different, flag.address()));
        different[0] == 0
    }

    fn zeroize(&self) {
        // Runs in destructors of secrets, which must not unwind, so an error is ignored: the memory of a
        // device that failed is lost.
        drop(self.device().zero(self.address(), self.words()));
    }
}

/// Units of a block in kernels whose units do not share memory.
pub(crate) const DEFAULT_UNITS: u32 = 256;

/// The address of the first word of a view. Checks that the view lies within its memory, because a buffer's
/// shape is chosen by its creator.
pub(crate) fn address(x: &Rows<'_>) -> u64 {
    let (memory, first) = x.device().expect(FOREIGN);
    let allocation = Allocation::behind(memory);
    let words = x.rows().checked_mul(x.degree()).and_then(|words| words.checked_add(first));
    assert!(
        words.is_some_and(|words| words <= allocation.words()),
        "a view within its memory of {} words",
        allocation.words()
    );
    allocation.address() + first as u64 * 8
}

/// [`address`] of a writable view.
pub(crate) fn address_mut(x: &RowsMut<'_>) -> u64 {
    address(&x.view())
}
