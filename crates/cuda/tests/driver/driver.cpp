// A stand-in for NVIDIA's driver, for tests of src/nvidia.rs on machines without a GPU: the functions of the driver that nvidia.rs calls, with kernels
// run by this machine's processor. Calls only queue their work in the stream. The work is done when a call waits for the stream or the queue is long,
// so that code which relies on earlier execution fails. Wrong calls are refused with the driver's error codes.
#include "../../kernels/host.cpp"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace {

enum Result { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, NOT_FOUND = 500, LAUNCH_FAILED = 719 };

struct Item {
    std::function<void()> work;
    bool always; // done even after the device has failed
};

std::recursive_mutex all;
std::vector<Item> stream;
std::map<u64, std::unique_ptr<std::vector<u64>>> memory; // allocations whose free has not been executed
std::map<u64, bool> allocated;                           // addresses that may be used in calls
u64 used = 0, most = 0;
u64 calls_left = ~0ull; // calls that succeed before the device fails
thread_local std::vector<void*> contexts;
int context_value, pool_value, stream_value, module_value;

u64 total() {
    const char* text = std::getenv("STAND_IN_MEMORY");
    return text ? std::strtoull(text, nullptr, 10) : 4ull << 30;
}

// Checks that a context is current and that the device has not failed.
int check() {
    if (contexts.empty()) return INVALID_CONTEXT;
    if (calls_left == 0) {
        // The queued work is dropped.
        for (const Item& item : stream)
            if (item.always) item.work();
        stream.clear();
        return LAUNCH_FAILED;
    }
    if (calls_left != ~0ull) --calls_left;
    return SUCCESS;
}

void work_off() {
    for (const Item& item : stream) item.work();
    stream.clear();
}

int put(std::function<void()> work, bool always = false) {
    stream.push_back({std::move(work), always});
    if (stream.size() >= 5000) work_off();
    return SUCCESS;
}

// Whether `bytes` bytes from an address on are allocated.
bool is_there(u64 address, size_t bytes) {
    auto next = allocated.upper_bound(address);
    if (next == allocated.begin()) return false;
    const u64 first = std::prev(next)->first;
    return address + bytes <= first + 8 * memory[first]->size();
}

struct Function {
    std::string name;
    int kernel;
    int shared_bytes;
};

std::map<std::string, std::unique_ptr<Function>> functions;

// `struct Arguments` of kernels/dialect.h on a device.
struct DeviceArguments {
    u64 elsewhere, first_row, words[INLINE_WORDS];
};

struct Work {
    Function* function;
    u32 width, height, units, shared_bytes;
    DeviceArguments arguments;

    int refusal() const {
        const bool fits = function && units >= 1 && units <= clathrate_host_units(function->kernel) && (int)shared_bytes <= function->shared_bytes;
        if (!fits || width < 1 || height < 1 || height > 65535) return INVALID_VALUE;
        return arguments.elsewhere && !is_there(arguments.elsewhere, 8) ? INVALID_VALUE : SUCCESS;
    }
    void run() const {
        const u64* words = arguments.elsewhere ? (const u64*)arguments.elsewhere : arguments.words;
        clathrate_host_launch(function->kernel, 0, (u64)width * height, width, (u32)arguments.first_row, units, shared_bytes / 8, words, false);
    }
};

// CUDA_KERNEL_NODE_PARAMS_v2.
struct NodeParameters {
    Function* function;
    unsigned grid[3], block[3], shared_bytes;
    void** parameters;
    void** extra;
    void* kernel;
    void* context;

    Work work() const { return {function, grid[0], grid[1], block[0], shared_bytes, *(const DeviceArguments*)parameters[0]}; }
};

struct Graph;

struct Node {
    Graph* graph;
    size_t place;
};

struct Graph {
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<Work> work;
};

struct RunnableGraph {
    Graph* of;
    std::vector<Work> work;
};

u64 graphs = 0;         // graphs that exist
u64 graphs_refused = 0; // number of next calls that make or change graphs and fail for lack of memory

} // namespace

extern "C" {

// For tests: fails every call after the next `calls` calls.
void stand_in_fail_after(u64 calls) { calls_left = calls; }
void stand_in_refuse_graphs(u64 calls) { graphs_refused = calls; }
u64 stand_in_graphs() { return graphs; }

int cuInit(unsigned) { return SUCCESS; }
int cuDriverGetVersion(int* version) { return *version = 12040, SUCCESS; }
int cuDeviceGetCount(int* count) { return *count = 1, SUCCESS; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal == 0 ? SUCCESS : INVALID_VALUE; }
int cuDeviceGetName(char* name, int length, int) { return std::snprintf(name, length, "stand-in device"), SUCCESS; }

int cuDeviceGetAttribute(int* value, int attribute, int) {
    switch (attribute) {
        case 6: *value = 65535; break;   // blocks of a grid in y
        case 75: *value = 9; break;      // compute capability
        case 76: *value = 0; break;
        case 87: *value = 2; break;      // floats for a double
        case 88: *value = std::getenv("STAND_IN_READS_HOST") != nullptr; break;
        case 97: *value = 227 << 10; break; // shared memory of a block
        default: return INVALID_VALUE;
    }
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &context_value, SUCCESS; }
int cuCtxPushCurrent_v2(void* context) { return contexts.push_back(context), SUCCESS; }
int cuCtxPopCurrent_v2(void** context) {
    if (contexts.empty()) return INVALID_CONTEXT;
    *context = contexts.back();
    return contexts.pop_back(), SUCCESS;
}
int cuStreamCreate(void** made, unsigned) { return *made = &stream_value, check(); }
int cuDeviceGetDefaultMemPool(void** pool, int) { return *pool = &pool_value, SUCCESS; }
int cuMemPoolSetAttribute(void* pool, int, void*) { return pool == &pool_value ? SUCCESS : INVALID_VALUE; }
int cuMemPoolGetAttribute(void* pool, int attribute, u64* value) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (pool != &pool_value || (attribute != 5 && attribute != 7)) return INVALID_VALUE;
    return *value = attribute == 5 ? most : used, SUCCESS;
}
int cuMemGetInfo_v2(size_t* free, size_t* bytes) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    // The pool keeps its largest size so far.
    return *bytes = total(), *free = total() - most, check();
}
int cuModuleLoadData(void** module, const char* text) {
    if (!std::strstr(text, ".visible .entry")) return INVALID_VALUE;
    return *module = &module_value, check();
}
int cuModuleGetFunction(Function** function, void* module, const char* name) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (module != &module_value) return INVALID_VALUE;
    const int kernel = clathrate_host_kernel(name);
    if (kernel < 0) return NOT_FOUND;
    auto& own = functions[name];
    if (!own) own.reset(new Function{name, kernel, 48 << 10});
    return *function = own.get(), check();
}
int cuFuncSetAttribute(Function* function, int attribute, int value) {
    if (attribute != 8 || value > 227 << 10) return INVALID_VALUE;
    return function->shared_bytes = value, check();
}

int cuMemAllocAsync(u64* address, size_t bytes, void* on) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (on != &stream_value || bytes == 0) return INVALID_VALUE;
    if (const int refused = check()) return refused;
    if (used + bytes > total()) work_off();
    if (used + bytes > total()) return OUT_OF_MEMORY;
    used += bytes;
    most = used > most ? used : most;
    std::unique_ptr<std::vector<u64>> words(new std::vector<u64>((bytes + 7) / 8, 0xdeadbeefdeadbeefull));
    *address = (u64)words->data();
    memory[*address] = std::move(words);
    allocated[*address] = true;
    return SUCCESS;
}
int cuMemFreeAsync(u64 address, void*) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (!allocated.erase(address)) return INVALID_VALUE;
    return put([=] {
        auto& words = *memory[address];
        used -= words.size() * 8;
        // Marks the words, so that a later read of them is noticed.
        std::fill(words.begin(), words.end(), 0xbadf00dbadf00d00ull);
        memory.erase(address);
    }, true);
}
int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, void*) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (!is_there(to, bytes)) return INVALID_VALUE;
    if (const int refused = check()) return refused;
    // A device that reads the host's memory directly reads it when the work is done.
    if (std::getenv("STAND_IN_READS_HOST")) return put([=] { std::memcpy((void*)to, from, bytes); });
    std::vector<char> staged((const char*)from, (const char*)from + bytes);
    return put([=] { std::memcpy((void*)to, staged.data(), bytes); });
}
int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, void*) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (!is_there(from, bytes)) return INVALID_VALUE;
    if (const int refused = check()) return refused;
    return put([=] { std::memcpy(to, (const void*)from, bytes); });
}
int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, void*) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (!is_there(to, bytes) || !is_there(from, bytes)) return INVALID_VALUE;
    if (const int refused = check()) return refused;
    return put([=] { std::memmove((void*)to, (const void*)from, bytes); });
}
int cuMemsetD8Async(u64 to, unsigned char value, size_t bytes, void*) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (!is_there(to, bytes)) return INVALID_VALUE;
    if (const int refused = check()) return refused;
    return put([=] { std::memset((void*)to, value, bytes); });
}
int cuStreamSynchronize(void*) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (const int refused = check()) return refused;
    return work_off(), SUCCESS;
}
int cuLaunchKernel(Function* function, unsigned x, unsigned y, unsigned, unsigned units, unsigned, unsigned, unsigned shared_bytes, void*, void** parameters, void**) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    const Work work = {function, x, y, units, shared_bytes, *(const DeviceArguments*)parameters[0]};
    if (const int refused = work.refusal()) return refused;
    if (const int refused = check()) return refused;
    return put([=] { work.run(); });
}

int cuGraphCreate(Graph** graph, unsigned) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    ++graphs;
    return *graph = new Graph, check();
}
int cuGraphAddKernelNode_v2(Node** node, Graph* graph, Node* const* before, size_t count, const NodeParameters* parameters) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    // Each node depends on the previous one, as launches in a stream do.
    if (count != (graph->nodes.empty() ? 0u : 1u) || (count && before[0] != graph->nodes.back().get())) return INVALID_VALUE;
    if (const int refused = parameters->work().refusal()) return refused;
    graph->work.push_back(parameters->work());
    graph->nodes.emplace_back(new Node{graph, graph->nodes.size()});
    return *node = graph->nodes.back().get(), check();
}
int cuGraphInstantiateWithFlags(RunnableGraph** runnable, Graph* graph, unsigned long long) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (graphs_refused) return --graphs_refused, OUT_OF_MEMORY;
    return *runnable = new RunnableGraph{graph, graph->work}, check();
}
int cuGraphExecKernelNodeSetParams_v2(RunnableGraph* runnable, Node* node, const NodeParameters* parameters) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (node->graph != runnable->of) return INVALID_VALUE;
    if (graphs_refused) return --graphs_refused, OUT_OF_MEMORY;
    if (const int refused = parameters->work().refusal()) return refused;
    return runnable->work[node->place] = parameters->work(), check();
}
int cuGraphLaunch(RunnableGraph* runnable, void*) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    if (const int refused = check()) return refused;
    const std::vector<Work> work = runnable->work;
    return put([=] {
        for (const Work& own : work) own.run();
    });
}
int cuGraphExecDestroy(RunnableGraph* runnable) { return delete runnable, SUCCESS; }
int cuGraphDestroy(Graph* graph) {
    const std::lock_guard<std::recursive_mutex> lock(all);
    --graphs;
    return delete graph, SUCCESS;
}

int cuGetErrorName(int result, const char** text) { return *text = result == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR", SUCCESS; }
int cuGetErrorString(int result, const char** text) {
    static thread_local char buffer[64];
    std::snprintf(buffer, sizeof buffer, "the stand-in refuses with %d", result);
    return *text = buffer, SUCCESS;
}
}
