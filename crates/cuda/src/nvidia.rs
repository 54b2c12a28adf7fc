//! NVIDIA GPUs. The driver is opened at run time, and compiles the kernels from PTX for its device.
//!
//! Each device has one stream, so copies, launches and frees take effect in the order of the calls. Only
//! [`Addressed::read`] waits.

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_arith::DeviceError;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute};

use crate::budget::Budget;
use crate::device::{Addressed, Butterflies, Device, Launch, Limits};

/// The kernels, made by `scripts/device_kernels.py`.
const PTX: &str = include_str!("../kernels/kernels.ptx");

/// The first CUDA version whose drivers accept the PTX: 1000 times the major version plus 10 times the minor
/// version.
const MIN_DRIVER: c_int = 12_020;

/// The smallest compute capability that is supported.
const MIN_CAPABILITY: (c_int, c_int) = (8, 0);

/// The remedy in messages about a missing or old driver.
const REMEDY: &str =
    "install NVIDIA's driver, version 535 or later, or compute on the processor (device=\"cpu\")";

/// Largest ratio of the throughputs of floats and doubles at which butterflies use doubles. It is 2 on
/// devices for computing, and 32 or 64 on devices for graphics.
const FAST_DOUBLES: c_int = 2;

/// Largest number of words that are passed with a launch; `INLINE_WORDS` of `kernels/dialect.h`.
const INLINE_WORDS: usize = 480;

/// Largest number of words of shared memory that a transform uses: a polynomial of degree 2^14.
const MAX_SHARED_WORDS: u32 = 1 << 14;

/// Largest number of graphs that are kept. If it is exceeded, all graphs are dropped.
const MAX_GRAPHS: usize = 256;

/// Largest number of kernels of a graph. Longer runs, such as those that derive a key, are rare, and their
/// graphs would take memory.
const LONGEST_GRAPH: usize = 128;

/// A kernel of a graph, as the driver takes it.
type NodeParameters = sys::CUDA_KERNEL_NODE_PARAMS_v2;

/// The parameter of every kernel: `struct Arguments` of `kernels/dialect.h`.
#[repr(C)]
struct Arguments {
    elsewhere: u64,
    first_row: u64,
    words: [u64; INLINE_WORDS],
}

/// The arguments of a launch. More than [`INLINE_WORDS`] words are in the device's memory. Dropping the value
/// queues the free of that memory in the stream, behind the launch.
struct StagedArguments<'a> {
    device: &'a NvidiaDevice,
    arguments: Box<Arguments>,
    count: usize,
}

impl StagedArguments<'_> {
    /// The pointer that the driver takes.
    fn pointer(&mut self) -> *mut c_void {
        (&raw mut *self.arguments).cast()
    }
}

impl Drop for StagedArguments<'_> {
    fn drop(&mut self) {
        if self.arguments.elsewhere != 0 {
            self.device.free(self.arguments.elsewhere, self.count);
        }
    }
}

/// An NVIDIA GPU. All engines of a process share one value for each device.
#[derive(Debug)]
pub struct NvidiaDevice {
    name: String,
    kind: &'static str,
    limits: Limits,
    butterflies: Butterflies,
    /// Whether the device reads pageable memory of the host directly, so that drivers may omit staging.
    reads_host_memory: bool,
    handles: Handles,
    kernels: Mutex<HashMap<&'static str, Kernel>>,
    /// The graphs of runs, by the names of the kernels of a run; `None` where kernels are launched one by
    /// one.
    graphs: Mutex<Option<HashMap<Vec<&'static str>, Graph>>>,
    budget: Budget,
    /// The process that opened the device: the driver does not survive a fork.
    process: u32,
}

/// Handles of the driver, which may be used on any thread.
#[derive(Debug)]
struct Handles {
    context: sys::CUcontext,
    stream: sys::CUstream,
    module: sys::CUmodule,
    pool: sys::CUmemoryPool,
}

/// The driver's handle of a kernel.
#[derive(Debug, Clone, Copy)]
struct Kernel(sys::CUfunction);

/// A graph of kernels that run one after another.
#[derive(Debug)]
struct Graph {
    graph: sys::CUgraph,
    runnable: sys::CUgraphExec,
    nodes: Vec<sys::CUgraphNode>,
}

impl Graph {
    /// The graph of these kernels.
    ///
    /// # Safety
    /// The parameters point to arguments of the kernels, and a context is current.
    unsafe fn new(parameters: &[NodeParameters]) -> Result<Self, DriverError> {
        let mut made =
            Self { graph: std::ptr::null_mut(), runnable: std::ptr::null_mut(), nodes: Vec::new() };
        // SAFETY: writes one handle.
        unsafe { sys::cuGraphCreate(&mut made.graph, 0) }.result()?;
        for own in parameters {
            let mut node = std::ptr::null_mut();
            let before = made.nodes.last().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: the graph exists and owns the previous node, and the driver copies the parameters.
            unsafe {
                sys::cuGraphAddKernelNode_v2(&mut node, made.graph, before, made.nodes.len().min(1), own)
            }
            .result()?;
            made.nodes.push(node);
        }
        // SAFETY: the graph is complete.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut made.runnable, made.graph, 0) }.result()?;
        Ok(made)
    }

    /// Sets other arguments and sizes for the kernels, which take effect at the next launch.
    ///
    /// # Safety
    /// As [`Graph::new`]; the kernels are those of the graph, in the same order.
    unsafe fn update(&self, parameters: &[NodeParameters]) -> Result<(), DriverError> {
        self.nodes.iter().zip(parameters).try_for_each(|(&node, own)| {
            // SAFETY: the node is the graph's, and the driver copies the parameters.
            unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.runnable, node, own) }.result()
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: each handle is destroyed once, and the driver lets a running graph end first. An error is
        // ignored: the next call reports it.
        unsafe {
            if !self.runnable.is_null() {
                let _ = sys::cuGraphExecDestroy(self.runnable);
            }
            if !self.graph.is_null() {
                let _ = sys::cuGraphDestroy(self.graph);
            }
        }
    }
}

// SAFETY: as for `Handles` below; a lock is held while a graph is used.
unsafe impl Send for Graph {}

// SAFETY: the driver's handles are not bound to threads; each call makes the context current first.
unsafe impl Send for Handles {}
// SAFETY: as above; the driver serialises what needs it.
unsafe impl Sync for Handles {}
// SAFETY: a function belongs to a module that is never unloaded, and is used on any thread.
unsafe impl Send for Kernel {}

fn missing(reason: impl Into<String>) -> DeviceError {
    DeviceError::Missing { reason: reason.into() }
}

/// The driver's text and name of an error.
fn words(error: DriverError) -> String {
    let text = |found: Result<&std::ffi::CStr, DriverError>| {
        found.map_or_else(|_| format!("{:?}", error.0), |text| text.to_string_lossy().into_owned())
    };
    format!("{} ({})", text(error.error_string()), text(error.error_name()))
}

/// Makes a context current on this thread. Dropping the value restores the previous context, because other
/// libraries of the program use their own.
struct Current;

impl Current {
    fn push(context: sys::CUcontext) -> Result<Self, DriverError> {
        // SAFETY: the context is retained for the life of the process.
        unsafe { sys::cuCtxPushCurrent_v2(context) }.result().map(|()| Self)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let mut context = std::ptr::null_mut();
        // SAFETY: pops the context that `push` pushed. An error is ignored: the next call reports it.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut context) };
    }
}

/// Checks that the driver exists and is new enough.
fn check_driver() -> Result<(), DeviceError> {
    // SAFETY: loads a library; it is NVIDIA's driver or nothing.
    if !unsafe { sys::is_culib_present() } {
        return Err(missing(format!(
            "there is no NVIDIA driver on this machine (libcuda is not found): {REMEDY}"
        )));
    }
    // A driver without a symbol that the bindings know makes them panic.
    let version = catch_unwind(|| {
        result::init()?;
        let mut version = 0;
        // SAFETY: writes one number.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
        Ok(version)
    })
    .map_err(|_| {
        missing(format!("NVIDIA's driver on this machine lacks functions that are needed: {REMEDY}"))
    })?
    .map_err(|error: DriverError| {
        missing(format!("NVIDIA's driver does not start: {}. Check `nvidia-smi`, or {REMEDY}", words(error)))
    })?;
    check_version(version)
}

/// Refuses drivers that do not accept the PTX.
fn check_version(version: c_int) -> Result<(), DeviceError> {
    if version >= MIN_DRIVER {
        return Ok(());
    }
    let shown = |version: c_int| format!("{}.{}", version / 1000, version % 1000 / 10);
    let (has, needs) = (shown(version), shown(MIN_DRIVER));
    Err(missing(format!(
        "NVIDIA's driver on this machine supports CUDA {has}, and {needs} or later is needed: {REMEDY}"
    )))
}

/// Refuses devices that the PTX does not support.
fn check_capability(device: &str, (major, minor): (c_int, c_int)) -> Result<(), DeviceError> {
    if (major, minor) >= MIN_CAPABILITY {
        return Ok(());
    }
    let (least, _) = MIN_CAPABILITY;
    Err(missing(format!(
        "{device} has compute capability {major}.{minor}, and {least}.0 or later is needed (Ampere): compute on the processor (device=\"cpu\")"
    )))
}

/// The number of devices that the driver lists.
///
/// # Errors
/// [`DeviceError::Missing`] where there is no driver or it is too old.
pub fn count() -> Result<usize, DeviceError> {
    check_driver()?;
    let count = result::device::get_count()
        .map_err(|error| missing(format!("NVIDIA's driver lists no devices: {}", words(error))))?;
    Ok(count.max(0) as usize)
}

/// For each device of the driver its name, or the reason why it is not supported. Opens no device.
pub fn list() -> Result<Vec<Result<String, DeviceError>>, DeviceError> {
    let describe = |ordinal: usize| {
        let failed = |error: DriverError| DeviceError::Failed {
            device: format!("cuda:{ordinal}"),
            call: "asking for its name",
            reason: words(error),
        };
        let device = result::device::get(ordinal as c_int).map_err(failed)?;
        let name = format!("cuda:{ordinal}, {}", result::device::get_name(device).map_err(failed)?);
        // SAFETY: the device comes from the driver.
        let number =
            |which: Attribute| unsafe { result::device::get_attribute(device, which) }.map_err(failed);
        let capability = (
            number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        check_capability(&format!("{name},"), capability).map(|()| name)
    };
    Ok((0..count()?).map(describe).collect())
}

impl NvidiaDevice {
    /// Device number `ordinal`. The first call opens it.
    ///
    /// # Errors
    /// [`DeviceError::Missing`] where there is no driver or no such device, or either is too old;
    /// [`DeviceError::Failed`] where a call of the driver fails.
    pub fn open(ordinal: usize) -> Result<Arc<Self>, DeviceError> {
        static OPENED: Mutex<Vec<(usize, Arc<NvidiaDevice>)>> = Mutex::new(Vec::new());
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, device)) = opened.iter().find(|(number, _)| *number == ordinal) {
            return Ok(device.clone());
        }
        let count = count()?;
        if ordinal >= count {
            return Err(missing(match count {
                0 => "NVIDIA's driver finds no device on this machine: compute on the processor (device=\"cpu\")".to_owned(),
                _ => format!("there is no device cuda:{ordinal}: this machine has {count}, so use cuda:0 to cuda:{}", count - 1),
            }));
        }
        let device = catch_unwind(AssertUnwindSafe(|| Self::start(ordinal)))
            .map_err(|_| missing("NVIDIA's driver on this machine lacks functions that are needed: install version 535 or later"))??;
        let device = Arc::new(device);
        opened.push((ordinal, device.clone()));
        Ok(device)
    }

    fn start(ordinal: usize) -> Result<Self, DeviceError> {
        let label = format!("cuda:{ordinal}");
        let failed = |call: &'static str| {
            let device = label.clone();
            move |error: DriverError| DeviceError::Failed { device, call, reason: words(error) }
        };
        let device = result::device::get(ordinal as c_int).map_err(failed("opening the device"))?;
        let name = result::device::get_name(device).map_err(failed("asking for its name"))?;
        let attribute = |which: Attribute| {
            // SAFETY: the device comes from the driver.
            unsafe { result::device::get_attribute(device, which) }
                .map_err(failed("asking for its properties"))
        };
        let capability = (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        check_capability(&format!("{label}, {name},"), capability)?;
        let doubles = attribute(Attribute::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)?;
        let shared =
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.max(0) as u32 / 8;
        let shared_words = (1 << shared.max(1).ilog2()).min(MAX_SHARED_WORDS);
        let grid_y = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?.max(1) as u32;
        // SAFETY: the device comes from the driver; the context is kept for the life of the process.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(failed("starting a context"))?;
        let _current = Current::push(context).map_err(failed("starting a context"))?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking)
            .map_err(failed("creating a stream"))?;
        // Freed memory stays with the process, so that the next allocation needs no system call. SAFETY: the
        // device comes from the driver; the threshold is one word.
        let pool = unsafe {
            let pool =
                result::device::get_default_mem_pool(device).map_err(failed("asking for its memory"))?;
            let mut threshold = u64::MAX;
            let release = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            sys::cuMemPoolSetAttribute(pool, release, (&raw mut threshold).cast())
                .result()
                .map_err(failed("keeping its memory"))?;
            pool
        };
        let text = CString::new(PTX).expect("PTX has no zeroes");
        // SAFETY: the text ends with a zero.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) }
            .map_err(failed("compiling the kernels"))?;
        let kind = if ordinal == 0 { "cuda:0" } else { String::leak(label.clone()) };
        Ok(Self {
            name: format!("{label}, {name}"),
            kind,
            limits: Limits { units: 1024, shared_words, grid_y },
            butterflies: Butterflies { short_words: true, doubles: doubles <= FAST_DOUBLES },
            reads_host_memory: attribute(Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)? != 0,
            handles: Handles { context, stream, module, pool },
            kernels: Mutex::default(),
            graphs: Mutex::default(),
            budget: Budget::unlimited(),
            process: std::process::id(),
        })
    }

    /// Free bytes and total bytes of the device. Memory that this process has freed stays in its pool and
    /// counts as free.
    ///
    /// # Errors
    /// [`DeviceError::Failed`].
    pub fn memory(&self) -> Result<(u64, u64), DeviceError> {
        self.call("asking for its memory", || {
            let (free, total) = result::mem_get_info()?;
            let pooled = |which: sys::CUmemPool_attribute| {
                let mut bytes = 0u64;
                // SAFETY: the pool is this device's; these attributes are one word each.
                unsafe { sys::cuMemPoolGetAttribute(self.handles.pool, which, (&raw mut bytes).cast()) }
                    .result()
                    .map(|()| bytes)
            };
            let reserved = pooled(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
            let used = pooled(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
            Ok((free as u64 + reserved.saturating_sub(used), total as u64))
        })
    }

    /// Refuses calls in a fork of the process that opened the device.
    fn check_process(&self, call: &'static str) -> Result<(), DeviceError> {
        if std::process::id() == self.process {
            return Ok(());
        }
        let reason = "this process is a copy (fork) of the one that opened the device. Start processes afresh (spawn), or open the device after the fork";
        Err(DeviceError::Failed { device: self.name(), call, reason: reason.to_owned() })
    }

    /// Makes the context current and calls the driver.
    fn call<T>(
        &self,
        call: &'static str,
        work: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T, DeviceError> {
        self.check_process(call)?;
        let run = || {
            let _current = Current::push(self.handles.context)?;
            work()
        };
        run().map_err(|error| DeviceError::Failed { device: self.name(), call, reason: words(error) })
    }

    /// The number of graphs that are kept.
    pub fn graphs(&self) -> usize {
        self.graphs.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, HashMap::len)
    }

    /// Allocates bytes that the budget has counted already. If the allocation fails, they are no longer
    /// counted.
    fn allocate_counted(&self, needed: u64) -> Result<u64, DeviceError> {
        let mut full = false;
        let allocated = self.call("allocating memory", || {
            // SAFETY: the stream is this device's.
            unsafe { result::malloc_async(self.handles.stream, needed as usize) }.inspect_err(|error| {
                full = error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
            })
        });
        allocated.or_else(|error| {
            self.budget.give_back(needed);
            if !full {
                return Err(error);
            }
            let (free, total) = self.memory()?;
            Err(DeviceError::OutOfMemory { device: self.name(), needed, free, total, limited: false })
        })
    }

    /// The arguments of a launch in the form that the driver takes.
    fn arguments(&self, launch: &Launch) -> Result<StagedArguments<'_>, DeviceError> {
        let inline =
            Arguments { elsewhere: 0, first_row: u64::from(launch.first_row), words: [0; INLINE_WORDS] };
        let mut staged =
            StagedArguments { device: self, arguments: Box::new(inline), count: launch.args.len() };
        if launch.args.len() > INLINE_WORDS {
            // The limit does not apply to a few kibibytes that are freed after the launch.
            let needed = launch.args.len() as u64 * 8;
            self.budget.take_unlimited(needed);
            staged.arguments.elsewhere = self.allocate_counted(needed)?;
            self.write(staged.arguments.elsewhere, &launch.args)?;
        } else {
            staged.arguments.words[..launch.args.len()].copy_from_slice(&launch.args);
        }
        Ok(staged)
    }

    fn kernel(&self, name: &'static str) -> Result<Kernel, DeviceError> {
        let mut known = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&kernel) = known.get(name) {
            return Ok(kernel);
        }
        let text = CString::new(name).expect("names of kernels have no zeroes");
        let shared = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let kernel = self.call("looking up a kernel", || {
            // SAFETY: the module is loaded and never unloaded.
            unsafe {
                let function = result::module::get_function(self.handles.module, text)?;
                result::function::set_function_attribute(
                    function,
                    shared,
                    self.limits.shared_words as i32 * 8,
                )?;
                Ok(Kernel(function))
            }
        })?;
        known.insert(name, kernel);
        Ok(kernel)
    }
}

impl Device for NvidiaDevice {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn memory_kind(&self) -> &'static str {
        self.kind
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn butterflies(&self) -> Butterflies {
        self.butterflies
    }

    fn finish(&self) -> Result<(), DeviceError> {
        // SAFETY: the stream is this device's.
        self.call("waiting", || unsafe { result::stream::synchronize(self.handles.stream) })
    }

    /// A graph removes most of the idle time between two kernels, which matters where kernels are short.
    fn set_graphs(&self, on: bool) -> Result<(), DeviceError> {
        self.call("dropping graphs", || {
            let mut graphs = self.graphs.lock().unwrap_or_else(PoisonError::into_inner);
            *graphs = if on { Some(graphs.take().unwrap_or_default()) } else { None };
            Ok(())
        })
    }

    fn allocated_bytes(&self) -> u64 {
        self.budget.allocated()
    }

    fn set_memory_limit(&self, bytes: u64) {
        self.budget.set_limit(bytes);
    }
}

impl Addressed for NvidiaDevice {
    fn allocate(&self, words: usize) -> Result<u64, DeviceError> {
        let needed = words.max(1) as u64 * 8;
        self.budget.take(needed, || self.name())?;
        self.allocate_counted(needed)
    }

    fn free(&self, address: u64, words: usize) {
        // SAFETY: the address comes from `allocate`, and its uses precede this call in the stream.
        let freed =
            self.call("freeing memory", || unsafe { result::free_async(address, self.handles.stream) });
        // An error is ignored, because destructors call this: the next call reports it.
        drop(freed);
        self.budget.give_back(words.max(1) as u64 * 8);
    }

    fn write(&self, address: u64, words: &[u64]) -> Result<(), DeviceError> {
        if words.is_empty() {
            return Ok(());
        }
        // SAFETY: an address of this device's memory with room for the words, as [`Addressed`] asks of its
        // callers, which are all in this crate. The words are read before the call returns: drivers stage
        // pageable memory of the host, and where the device reads it directly, the call waits for the stream.
        self.call("copying to the device", || unsafe {
            result::memcpy_htod_async(address, words, self.handles.stream)?;
            if self.reads_host_memory { result::stream::synchronize(self.handles.stream) } else { Ok(()) }
        })
    }

    fn read(&self, words: &mut [u64], address: u64) -> Result<(), DeviceError> {
        if words.is_empty() {
            return Ok(());
        }
        // SAFETY: as in `write`; the words are written before the stream is synchronised, which ends the
        // borrow.
        self.call("copying from the device", || unsafe {
            result::memcpy_dtoh_async(words, address, self.handles.stream)?;
            result::stream::synchronize(self.handles.stream)
        })
    }

    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), DeviceError> {
        if words == 0 {
            return Ok(());
        }
        // SAFETY: as in `write`, on both sides.
        self.call("copying", || unsafe {
            result::memcpy_dtod_async(to, from, words * 8, self.handles.stream)
        })
    }

    fn zero(&self, address: u64, words: usize) -> Result<(), DeviceError> {
        if words == 0 {
            return Ok(());
        }
        // SAFETY: as in `write`.
        self.call("overwriting", || unsafe {
            result::memset_d8_async(address, 0, words * 8, self.handles.stream)
        })
    }

    fn launch(&self, launch: &Launch) -> Result<(), DeviceError> {
        let Kernel(function) = self.kernel(launch.kernel)?;
        let mut arguments = self.arguments(launch)?;
        let mut parameters = [arguments.pointer()];
        let (width, height) = launch.grid;
        self.call(launch.kernel, || {
            // SAFETY: the function is of the loaded module and takes one `Arguments`, which the driver
            // copies; the words are those that the kernel reads, with addresses of this device's memory, by
            // the engine's code.
            unsafe {
                let (grid, block) = ((width, height, 1), (launch.units, 1, 1));
                result::launch_kernel(
                    function,
                    grid,
                    block,
                    launch.shared_words * 8,
                    self.handles.stream,
                    &mut parameters,
                )
            }
        })
    }

    fn run(&self, launches: &[Launch]) -> Result<(), DeviceError> {
        self.check_process("launching")?;
        let kernels =
            launches.iter().map(|launch| self.kernel(launch.kernel)).collect::<Result<Vec<_>, _>>()?;
        let mut held = self.graphs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(graphs) = held.as_mut().filter(|_| (2..=LONGEST_GRAPH).contains(&launches.len())) else {
            drop(held);
            return launches.iter().try_for_each(|launch| self.launch(launch));
        };
        let mut arguments =
            launches.iter().map(|launch| self.arguments(launch)).collect::<Result<Vec<_>, _>>()?;
        let mut pointers: Vec<*mut c_void> = arguments.iter_mut().map(StagedArguments::pointer).collect();
        let node =
            |((launch, &Kernel(func)), pointer): ((&Launch, &Kernel), &mut *mut c_void)| NodeParameters {
                func,
                gridDimX: launch.grid.0,
                gridDimY: launch.grid.1,
                gridDimZ: 1,
                blockDimX: launch.units,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: launch.shared_words * 8,
                kernelParams: pointer,
                extra: std::ptr::null_mut(),
                kern: std::ptr::null_mut(),
                ctx: std::ptr::null_mut(),
            };
        let parameters: Vec<NodeParameters> =
            launches.iter().zip(&kernels).zip(&mut pointers).map(node).collect();
        let names: Vec<&'static str> = launches.iter().map(|launch| launch.kernel).collect();
        let ready = self.call("making a graph", || {
            // SAFETY: the functions are of the loaded module; otherwise as in `launch`. The addresses in
            // `pointers` and what they point to outlive the calls.
            unsafe {
                match graphs.get(&names) {
                    Some(known) => known.update(&parameters),
                    None => {
                        if graphs.len() >= MAX_GRAPHS {
                            graphs.clear();
                        }
                        graphs.insert(names.clone(), Graph::new(&parameters)?);
                        Ok(())
                    }
                }
            }
        });
        let runnable = graphs.get(&names).filter(|_| ready.is_ok()).map(|graph| graph.runnable);
        let Some(runnable) = runnable else {
            // No kernel has run yet, so they are launched one by one. If the device failed, the launches
            // report it.
            self.call("dropping a graph", || {
                graphs.remove(&names);
                Ok(())
            })?;
            drop((held, arguments));
            return launches.iter().try_for_each(|launch| self.launch(launch));
        };
        // SAFETY: the graph exists while the lock is held, and the stream is this device's.
        self.call("running a graph", || unsafe { sys::cuGraphLaunch(runnable, self.handles.stream) }.result())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernels of `kernels.list` and those of the PTX are the same.
    #[test]
    fn all_kernels_are_in_the_ptx() {
        let names = include_str!("../kernels/kernels.list")
            .lines()
            .map(|line| line.trim_start_matches("ENTRY(").trim_end_matches(')'));
        let mut count = 0;
        for name in names {
            assert!(
                PTX.contains(&format!(".entry {name}(")),
                "{name} is not in kernels.ptx: run scripts/device_kernels.py"
            );
            count += 1;
        }
        assert_eq!(PTX.matches(".entry ").count(), count);
        // The versions that drivers from MIN_DRIVER and devices from MIN_CAPABILITY on accept.
        assert!(
            PTX.contains("\n.version 8.2\n.target sm_80\n"),
            "other compilers made kernels.ptx than requirements/cuda.txt names"
        );
    }

    #[test]
    fn drivers_and_devices_that_are_too_old_are_refused_with_both_versions() {
        let reason = |result: Result<(), DeviceError>| result.expect_err("too old").to_string();
        assert!(check_version(MIN_DRIVER).is_ok() && check_version(13_000).is_ok());
        let old = reason(check_version(11_080));
        assert!(
            old.contains("supports CUDA 11.8, and 12.2 or later") && old.contains("version 535"),
            "{old}"
        );
        assert!(check_capability("cuda:0", (8, 0)).is_ok() && check_capability("cuda:0", (10, 3)).is_ok());
        let old = reason(check_capability("cuda:0, a card,", (7, 5)));
        assert!(
            old.starts_with("cuda:0, a card, has compute capability 7.5, and 8.0")
                && old.contains("device=\"cpu\""),
            "{old}"
        );
    }

    #[test]
    fn arguments_fit_what_a_launch_takes() {
        assert!(size_of::<Arguments>() <= 4096);
        let header = include_str!("../kernels/dialect.h");
        assert!(header.contains(&format!("#define INLINE_WORDS {INLINE_WORDS}\n")));
    }

    #[test]
    fn a_machine_without_a_driver_says_so_in_one_sentence_with_a_remedy() {
        match NvidiaDevice::open(0) {
            Ok(device) => assert!(device.name().starts_with("cuda:0, "), "{device:?}"),
            Err(DeviceError::Missing { reason }) => {
                assert!(reason.contains("device=\"cpu\"") && reason.contains("NVIDIA"), "{reason}");
                assert!(!reason.contains('\n'));
            }
            Err(error) => panic!("{error}"),
        }
    }
}
