// The negacyclic transform, natural order to bit-reversed order, by Harvey's lazy butterflies: values below 4q forward and below 2q inverse.
//
// A row is a matrix of `1 << log_height` rows and as many columns as remain. The first `log_height` stages of the forward transform work on columns, the others on
// rows, which are contiguous. A pass loads a tile into shared memory, does all its stages there, up to three for each barrier, and stores it. A
// polynomial that fits one tile takes the pass over rows alone.
#pragma once
#include "modular.cuh"

// The stages of a tile: `1 << log_rows` rows of `lanes` columns, of which it transforms the rows; it is tile number `tile` of its first stage, which
// has `1 << first` blocks in the whole row.
struct Stages {
    u32 log_rows, log_lanes, first;
    u32 tile;
};

// K stages from stage `t` of the tile on, for the group of 2^K values that a unit works on.
template <int K> DEVICE void forward_group(u64* data, const Stages& s, u32 t, u32 group, u64 table, u64 q) {
    const u32 lane = group & ((1u << s.log_lanes) - 1), index = group >> s.log_lanes;
    const u32 log_stride = s.log_rows - t - K;
    const u32 block = index >> log_stride, offset = index & ((1u << log_stride) - 1);
    u64* const base = data + (((((block << K) << log_stride) + offset) << s.log_lanes) | lane);
    const u64 step = 1ull << (log_stride + s.log_lanes), two_q = 2 * q;
    u64 x[1 << K];
    for (int m = 0; m < 1 << K; ++m) x[m] = base[m * step];
    for (int i = 0; i < K; ++i) {
        const int half = 1 << (K - 1 - i);
        const u64 node = (1ull << (s.first + t + i)) + ((u64)s.tile << (t + i)) + ((u64)block << i);
        for (int m = 0; m < 1 << K; ++m) {
            if (m & half) continue;
            const u64 u = least(x[m], x[m] - two_q);
            const u64 v = mul_lazy(x[m | half], load_multiplier(table, node + (m >> (K - i))), q);
            x[m] = u + v;
            x[m | half] = u + two_q - v;
        }
    }
    for (int m = 0; m < 1 << K; ++m) base[m * step] = x[m];
}

// The same stages of the inverse transform, the last of them first.
template <int K> DEVICE void inverse_group(u64* data, const Stages& s, u32 t, u32 group, u64 table, u64 q) {
    const u32 lane = group & ((1u << s.log_lanes) - 1), index = group >> s.log_lanes;
    const u32 log_stride = s.log_rows - t - K;
    const u32 block = index >> log_stride, offset = index & ((1u << log_stride) - 1);
    u64* const base = data + (((((block << K) << log_stride) + offset) << s.log_lanes) | lane);
    const u64 step = 1ull << (log_stride + s.log_lanes), two_q = 2 * q;
    u64 x[1 << K];
    for (int m = 0; m < 1 << K; ++m) x[m] = base[m * step];
    for (int i = K - 1; i >= 0; --i) {
        const int half = 1 << (K - 1 - i);
        const u64 node = (1ull << (s.first + t + i)) + ((u64)s.tile << (t + i)) + ((u64)block << i);
        for (int m = 0; m < 1 << K; ++m) {
            if (m & half) continue;
            const u64 u = x[m], v = x[m | half];
            x[m] = least(u + v, u + v - two_q);
            x[m | half] = mul_lazy(u + two_q - v, load_multiplier(table, node + (m >> (K - i))), q);
        }
    }
    for (int m = 0; m < 1 << K; ++m) base[m * step] = x[m];
}

DEVICE void forward_tile(BLOCK_ARGUMENT u64* data, const Stages& s, u64 table, u64 q) {
    for (u32 t = 0; t < s.log_rows;) {
        const u32 left = s.log_rows - t, stages = left >= 3 ? 3 : left;
        const u32 groups = 1u << (s.log_rows + s.log_lanes - stages);
        EACH_UNIT {
            for (u32 group = unit; group < groups; group += UNITS) {
                if (stages == 3) forward_group<3>(data, s, t, group, table, q);
                else if (stages == 2) forward_group<2>(data, s, t, group, table, q);
                else forward_group<1>(data, s, t, group, table, q);
            }
        }
        SYNC;
        t += stages;
    }
}

DEVICE void inverse_tile(BLOCK_ARGUMENT u64* data, const Stages& s, u64 table, u64 q) {
    for (u32 t = s.log_rows; t > 0;) {
        const u32 stages = t >= 3 ? 3 : t;
        const u32 groups = 1u << (s.log_rows + s.log_lanes - stages);
        t -= stages;
        EACH_UNIT {
            for (u32 group = unit; group < groups; group += UNITS) {
                if (stages == 3) inverse_group<3>(data, s, t, group, table, q);
                else if (stages == 2) inverse_group<2>(data, s, t, group, table, q);
                else inverse_group<1>(data, s, t, group, table, q);
            }
        }
        SYNC;
    }
}

// Most units of a block; `transform.rs` keeps to them.
#define ROW_UNITS 1024
#define COLUMN_UNITS 512

// All kernels here: log_degree, log_height, log_lanes, table, then (out, x, modulus) for each row. A block works on tile BLOCK_X of row BLOCK_Y.
#define TRANSFORM_ROW                                                                  \
    const u64* const own = args + 4 + 3 * (u64)BLOCK_Y;                                \
    const u32 log_degree = (u32)args[0], log_height = (u32)args[1];                    \
    const Modulus m = load_modulus(args[3], own[2]);                                   \
    const u64* const from = source(own[1]);                                            \
    u64* const to = target(own[0]);                                                    \
    SHARED(u64, tile)

#define TILE_OF_ROWS                                                                   \
    TRANSFORM_ROW;                                                                     \
    const u32 log_words = log_degree - log_height, words = 1u << log_words;            \
    const u64 start = (u64)BLOCK_X << log_words;                                       \
    const Stages stages = {log_words, 0, log_height, BLOCK_X}

#define TILE_OF_COLUMNS                                                                \
    TRANSFORM_ROW;                                                                     \
    const u32 log_lanes = (u32)args[2], words = 1u << (log_height + log_lanes);        \
    const u64 start = (u64)BLOCK_X << log_lanes;                                       \
    const Stages stages = {log_height, log_lanes, 0, 0}

#define COLUMN_PLACE(i) (((u64)((i) >> log_lanes) << (log_degree - log_height)) + start + ((i) & ((1u << log_lanes) - 1)))

KERNEL(forward_columns, COLUMN_UNITS) {
    ARGUMENTS;
    TILE_OF_COLUMNS;
    EACH_UNIT {
        for (u32 i = unit; i < words; i += UNITS) tile[i] = from[COLUMN_PLACE(i)];
    }
    SYNC;
    forward_tile(PASS_BLOCK tile, stages, m.forward, m.q);
    EACH_UNIT {
        for (u32 i = unit; i < words; i += UNITS) to[COLUMN_PLACE(i)] = tile[i];
    }
}

KERNEL(forward_rows, ROW_UNITS) {
    ARGUMENTS;
    TILE_OF_ROWS;
    EACH_UNIT {
        for (u32 i = unit; i < words; i += UNITS) tile[i] = from[start + i];
    }
    SYNC;
    forward_tile(PASS_BLOCK tile, stages, m.forward, m.q);
    EACH_UNIT {
        for (u32 i = unit; i < words; i += UNITS) to[start + i] = reduce_once(least(tile[i], tile[i] - 2 * m.q), m.q);
    }
}

KERNEL(inverse_rows, ROW_UNITS) {
    ARGUMENTS;
    TILE_OF_ROWS;
    const Multiplier scale = {m.inverse_degree, m.inverse_degree_quotient};
    EACH_UNIT {
        for (u32 i = unit; i < words; i += UNITS) tile[i] = from[start + i];
    }
    SYNC;
    inverse_tile(PASS_BLOCK tile, stages, m.inverse, m.q);
    EACH_UNIT {
        // Without a pass over columns, this one is the last.
        for (u32 i = unit; i < words; i += UNITS) to[start + i] = log_height == 0 ? mul_prepared(tile[i], scale, m.q) : tile[i];
    }
}

KERNEL(inverse_columns, COLUMN_UNITS) {
    ARGUMENTS;
    TILE_OF_COLUMNS;
    const Multiplier scale = {m.inverse_degree, m.inverse_degree_quotient};
    EACH_UNIT {
        for (u32 i = unit; i < words; i += UNITS) tile[i] = from[COLUMN_PLACE(i)];
    }
    SYNC;
    inverse_tile(PASS_BLOCK tile, stages, m.inverse, m.q);
    EACH_UNIT {
        for (u32 i = unit; i < words; i += UNITS) to[COLUMN_PLACE(i)] = mul_prepared(tile[i], scale, m.q);
    }
}
