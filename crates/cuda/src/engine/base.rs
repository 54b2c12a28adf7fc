//! The engine's state, and methods that all operations share.

use std::sync::Arc;

use clathrate_arith::{ArithError, Buffer, Meter, Modulus, Pass};

use crate::device::Device;
use crate::memory::Allocation;
use crate::queue::Queued;

use super::tables::Tables;
use super::tiling::Tiling;

/// Computes on a device.
#[derive(Debug)]
pub struct DeviceEngine {
    /// The device, whose launches `queue` may hold back.
    pub(super) device: Arc<dyn Device>,
    pub(super) queue: Arc<Queued>,
    pub(super) degree: usize,
    pub(super) moduli: Vec<Modulus>,
    pub(super) tables: Tables,
    pub(super) tiling: Tiling,
    /// The meter that counts passes over rows, if any.
    pub(super) meter: Option<Arc<Meter>>,
}

impl DeviceEngine {
    /// An engine for rows of `degree` words under `moduli`.
    ///
    /// # Errors
    /// [`ArithError`] where the degree or a modulus is unusable.
    pub fn new(device: Arc<dyn Device>, degree: usize, moduli: &[u64]) -> Result<Self, ArithError> {
        Self::with_queue(Arc::new(Queued::new(device)), degree, moduli)
    }

    pub(super) fn with_queue(queue: Arc<Queued>, degree: usize, moduli: &[u64]) -> Result<Self, ArithError> {
        let device: Arc<dyn Device> = queue.clone();
        let moduli = moduli.iter().map(|&q| Modulus::new(q)).collect::<Result<Vec<_>, _>>()?;
        let tables = Tables::new(&device, &moduli, degree)?;
        let tiling = Tiling::new(degree.trailing_zeros(), device.limits().shared_words);
        Ok(Self { device, queue, degree, moduli, tables, tiling, meter: None })
    }

    /// The same engine, reporting the passes that it launches to `meter`.
    #[must_use]
    pub fn with_meter(mut self, meter: Option<Arc<Meter>>) -> Self {
        self.meter = meter;
        self
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    pub(super) fn log_degree(&self) -> u32 {
        self.degree.trailing_zeros()
    }

    /// A buffer with unspecified contents.
    pub(super) fn fresh(&self, rows: usize) -> Buffer {
        Buffer::on_device(Box::new(Allocation::new(&self.device, rows * self.degree)), rows, self.degree)
    }

    /// Reports `rows` passes to the meter, if any.
    pub(super) fn count(&self, pass: Pass, rows: usize) {
        if let Some(meter) = &self.meter {
            meter.add(pass, rows);
        }
    }

    /// The first arguments of kernels that process a complete view: the number of words, and log2 of the
    /// words of a row.
    pub(super) fn rowwise(&self, rows: usize, degree: usize) -> [u64; 2] {
        [(rows * degree) as u64, u64::from(degree.trailing_zeros())]
    }
}
