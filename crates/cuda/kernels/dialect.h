// The dialect of the kernels, which compiles as CUDA C++ and, on the host, as plain C++.
//
// A kernel is a function of a block. It runs as *units* (CUDA: threads), which meet at barriers:
//
//     KERNEL(name, units) {
//         ARGUMENTS;                    // the words of the launch, as `args`
//         SHARED(u64, tile);            // memory that the units of a block share
//         EACH_UNIT { .. unit .. }      // work between two barriers, for each unit
//         SYNC;
//         EACH_UNIT { .. }
//     }
//
// Code outside EACH_UNIT is the same for all units of a block. A value that a unit computes lives only within its EACH_UNIT, so values pass from one
// EACH_UNIT to the next in memory. Transforms read shared memory after each barrier anyway, so this costs nothing, and the host can run a block as
// plain loops, fast enough for the tests of all layers.
//
// The host (host.cpp) runs a block as a loop over the units between barriers, or as a thread for each unit with real barriers, for which the thread
// sanitizer reports a missing barrier.
#pragma once

#define DEFAULT_UNITS 256

// Largest number of words that are passed with a launch; longer lists of arguments are passed in memory.
#define INLINE_WORDS 480

#ifdef __CUDACC__

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;

struct Arguments {
    u64 elsewhere; // the address of the words, if there are more than INLINE_WORDS; else 0
    u64 first_row; // added to the block's index in y
    u64 words[INLINE_WORDS];
};

#define DEVICE static __device__ __forceinline__
#define DEVICE_METHOD __device__ __forceinline__
// Registers for one block of 512 units on a multiprocessor, or three of 256.
#define KERNEL(name, units) extern "C" __global__ void __launch_bounds__(units, 768 / units) name(const __grid_constant__ Arguments arguments)
#define ARGUMENTS const u64* const args = arguments.elsewhere ? (const u64*)arguments.elsewhere : arguments.words
#define SHARED(type, name) extern __shared__ u64 shared_memory[]; type* const name = (type*)shared_memory
#define BLOCK_X blockIdx.x
#define BLOCK_Y (blockIdx.y + (u32)arguments.first_row)
#define UNITS blockDim.x
#define EACH_UNIT for (u32 unit = threadIdx.x, once = 1; once; once = 0)
#define SYNC __syncthreads()
#define NOT_UNROLLED _Pragma("unroll 1")
#define PRAGMA(text) _Pragma(#text)
#define UNROLLED(count) PRAGMA(unroll (count))
#define BLOCK_ARGUMENT
#define PASS_BLOCK

DEVICE u64 mul_high(u64 x, u64 y) { return __umul64hi(x, y); }
DEVICE u32 mul_high_short(u32 x, u32 y) { return __umulhi(x, y); }
DEVICE u32 reverse_bits(u32 x) { return __brev(x); }
// A product and a sum that are rounded separately, as the CPU's kernels do.
DEVICE double mul_rounded(double x, double y) { return __dmul_rn(x, y); }
DEVICE double add_rounded(double x, double y) { return __dadd_rn(x, y); }
DEVICE double to_double(u64 x) { return __ull2double_rn(x); }
DEVICE u64 round_to_even(double x) { return (u64)__double2ll_rn(x); }
DEVICE double as_double(u64 bits) { return __longlong_as_double((i64)bits); }
DEVICE u64 as_bits(double x) { return (u64)__double_as_longlong(x); }
DEVICE double fused(double x, double y, double z) { return __fma_rn(x, y, z); }
DEVICE double reciprocal(u64 x) { return __drcp_rn(__ull2double_rn(x)); }
DEVICE u64 to_word(double x) { return __double2ull_rn(x); }

#else

#include <cmath>
#include <cstdint>
#include <cstring>

typedef uint64_t u64;
typedef int64_t i64;
typedef uint32_t u32;

// A block on the host. `first..last` are all units where a loop runs them, and one unit where each unit is a thread.
struct Block {
    u32 x, y, units, first, last;
    u64* shared;
    void (*wait)(void*); // waits at the barrier; null for a loop
    void* barrier;
    const u64* args;
    void sync() const { if (wait) wait(barrier); }
};

#ifndef DROPPED_BARRIER
#define DROPPED_BARRIER -1
#endif

#define DEVICE static inline
#define DEVICE_METHOD inline
#define KERNEL(name, units)                   \
    static const u32 units_of_##name = units; \
    static void name(const Block& block)
#define ARGUMENTS const u64* const args = block.args
#define SHARED(type, name) type* const name = (type*)block.shared
#define BLOCK_X block.x
#define BLOCK_Y block.y
#define UNITS block.units
#define EACH_UNIT for (u32 unit = block.first; unit < block.last; ++unit)
// Tests build without one of the barriers, which are numbered in the order of the text.
#define SYNC do { if (__COUNTER__ != DROPPED_BARRIER) block.sync(); } while (0)
#define NOT_UNROLLED
#define UNROLLED(count)
#define BLOCK_ARGUMENT const Block& block,
#define PASS_BLOCK block,

DEVICE u64 mul_high(u64 x, u64 y) { return (u64)(((unsigned __int128)x * y) >> 64); }
DEVICE u32 mul_high_short(u32 x, u32 y) { return (u32)(((u64)x * y) >> 32); }
DEVICE u32 reverse_bits(u32 x) {
    x = (x >> 16) | (x << 16);
    x = ((x & 0xff00ff00u) >> 8) | ((x & 0x00ff00ffu) << 8);
    x = ((x & 0xf0f0f0f0u) >> 4) | ((x & 0x0f0f0f0fu) << 4);
    x = ((x & 0xccccccccu) >> 2) | ((x & 0x33333333u) << 2);
    return ((x & 0xaaaaaaaau) >> 1) | ((x & 0x55555555u) << 1);
}
// The file is compiled with -ffp-contract=off.
DEVICE double mul_rounded(double x, double y) { return x * y; }
DEVICE double add_rounded(double x, double y) { return x + y; }
DEVICE double to_double(u64 x) { return (double)x; }
DEVICE u64 round_to_even(double x) { return (u64)std::nearbyint(x); }
DEVICE double as_double(u64 bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
DEVICE u64 as_bits(double x) {
    u64 bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
DEVICE double fused(double x, double y, double z) { return std::fma(x, y, z); }
DEVICE double reciprocal(u64 x) { return 1.0 / (double)x; }
DEVICE u64 to_word(double x) { return (u64)x; }

#endif

// Addresses as pointers.
DEVICE const u64* source(u64 address) { return (const u64*)address; }
DEVICE u64* target(u64 address) { return (u64*)address; }

// `i` with its lowest `bits` bits in reverse order.
DEVICE u32 bit_reverse(u32 i, u32 bits) { return bits == 0 ? 0 : reverse_bits(i) >> (32 - bits); }

// For numbers below 2^32, such as numbers of rows: devices divide longer numbers by a subroutine.
DEVICE u32 short_quotient(u64 x, u64 y) { return (u32)x / (u32)y; }
DEVICE u32 short_remainder(u64 x, u64 y) { return (u32)x % (u32)y; }
