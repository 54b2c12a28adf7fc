// Runs the kernels on the host, for tests: blocks one after another, and a block as a loop over its units or as a thread for each unit.
#include "all.cuh"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

typedef void (*Kernel)(const Block&);

struct Entry {
    const char* name;
    Kernel kernel;
    u32 units;
};

#define ENTRY(name) {#name, name, units_of_##name},
const Entry entries[] = {
#include "kernels.list"
};
#undef ENTRY

// A barrier for the threads of a block; std::barrier needs a newer standard library than some systems have.
class Barrier {
  public:
    explicit Barrier(u32 count) : count(count), waiting(0), round(0) {}

    void wait() {
        std::unique_lock<std::mutex> lock(mutex);
        const u64 own = round;
        if (++waiting == count) {
            waiting = 0;
            ++round;
            all.notify_all();
        } else {
            all.wait(lock, [&] { return round != own; });
        }
    }

  private:
    std::mutex mutex;
    std::condition_variable all;
    u32 count, waiting;
    u64 round;
};

void wait_at(void* barrier) { static_cast<Barrier*>(barrier)->wait(); }

} // namespace

extern "C" {

// The number of kernel `name`, or -1.
int clathrate_host_kernel(const char* name) {
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; ++i)
        if (std::strcmp(entries[i].name, name) == 0) return (int)i;
    return -1;
}

// The largest number of units of a block of kernel number `kernel`.
u32 clathrate_host_units(int kernel) { return entries[kernel].units; }

// Runs the blocks `first..last` of a grid of `width` blocks in x, whose rows count from `first_row`. A block has `shared_words` words of shared memory.
// With `threads`, each unit is a thread.
void clathrate_host_launch(int kernel, u64 first, u64 last, u32 width, u32 first_row, u32 units, u64 shared_words, const u64* args, bool threads) {
    // Every block starts with invalid words in shared memory, so that no block can use the results of the previous block.
    std::vector<u64> shared(shared_words);
    for (u64 block = first; block < last; ++block) {
        std::fill(shared.begin(), shared.end(), 0x5ca1ab1e5ca1ab1eull);
        Block whole = {(u32)(block % width), first_row + (u32)(block / width), units, 0, units, shared.data(), nullptr, nullptr, args};
        if (!threads) {
            entries[kernel].kernel(whole);
            continue;
        }
        Barrier barrier(units);
        std::vector<std::thread> workers;
        workers.reserve(units);
        for (u32 unit = 0; unit < units; ++unit) {
            Block own = whole;
            own.first = unit;
            own.last = unit + 1;
            own.wait = wait_at;
            own.barrier = &barrier;
            workers.emplace_back([=] { entries[kernel].kernel(own); });
        }
        for (auto& worker : workers) worker.join();
    }
}
}
