// The negacyclic transform, natural order to bit-reversed order.
//
// A polynomial of degree n is a matrix of `1 << log_height` rows and `n >> log_height` columns. The first `log_height` stages of the forward transform
// work on columns, the others on rows, which are contiguous. A pass loads a tile into shared memory, computes its stages there, up to three between two
// barriers, and stores it. A polynomial that fits one tile needs only the pass over rows. The first pass of a forward transform may compute a base
// conversion as its input, so that extended digits are not stored before they are transformed.
#pragma once
#include "butterflies.cuh"
#include "conversion.cuh"

// The stages of a tile of `1 << log_rows` rows and `1 << log_lanes` columns, each of which is transformed. The first stage has `1 << first` blocks in
// the polynomial; the tile is block number `tile` of them.
struct Stages {
    u32 log_rows, log_lanes, first;
    u32 tile;
};

// The places of the values that a unit transforms in K stages from stage t of the tile on.
template <int K> struct Group {
    u64* base;
    u64 step;
    u32 block;

    DEVICE_METHOD Group(u64* data, const Stages& s, u32 t, u32 group) {
        const u32 lane = group & ((1u << s.log_lanes) - 1), index = group >> s.log_lanes, log_stride = s.log_rows - t - K;
        block = index >> log_stride;
        base = data + (((((block << K) << log_stride) + (index & ((1u << log_stride) - 1))) << s.log_lanes) | lane);
        step = 1ull << (log_stride + s.log_lanes);
    }
    // The node of the first butterfly of stage t + i.
    DEVICE_METHOD u64 node(const Stages& s, u32 t, int i) const {
        return (1ull << (s.first + t + i)) + ((u64)s.tile << (t + i)) + ((u64)block << i);
    }
};

template <int K, class A> DEVICE void forward_group(u64* data, const Stages& s, u32 t, u32 group, const A& a) {
    const Group<K> g(data, s, t, group);
    typename A::Value x[1 << K];
    for (int m = 0; m < 1 << K; ++m) x[m] = a.before_forward(a.read(g.base[m * g.step]));
    for (int i = 0; i < K; ++i) {
        const int half = 1 << (K - 1 - i);
        for (int m = 0; m < 1 << K; ++m)
            if (!(m & half)) a.forward(x[m], x[m | half], g.node(s, t, i) + (m >> (K - i)));
    }
    for (int m = 0; m < 1 << K; ++m) g.base[m * g.step] = a.bits(x[m]);
}

// The same stages of the inverse transform, the last of them first.
template <int K, class A> DEVICE void inverse_group(u64* data, const Stages& s, u32 t, u32 group, const A& a) {
    const Group<K> g(data, s, t, group);
    typename A::Value x[1 << K];
    for (int m = 0; m < 1 << K; ++m) x[m] = a.before_inverse(a.read(g.base[m * g.step]));
    for (int i = K - 1; i >= 0; --i) {
        const int half = 1 << (K - 1 - i);
        if (K - 1 - i == 2)
            for (int m = 0; m < 1 << K; ++m) x[m] = a.before_third_inverse(x[m]);
        for (int m = 0; m < 1 << K; ++m)
            if (!(m & half)) a.inverse(x[m], x[m | half], g.node(s, t, i) + (m >> (K - i)));
    }
    for (int m = 0; m < 1 << K; ++m) g.base[m * g.step] = a.bits(x[m]);
}

template <class A> DEVICE void forward_tile(BLOCK_ARGUMENT u64* data, const Stages& s, const A& a) {
    for (u32 t = 0; t < s.log_rows;) {
        const u32 left = s.log_rows - t, stages = left >= 3 ? 3 : left;
        const u32 groups = 1u << (s.log_rows + s.log_lanes - stages);
        EACH_UNIT {
            for (u32 group = unit; group < groups; group += UNITS) {
                if (stages == 3) forward_group<3>(data, s, t, group, a);
                else if (stages == 2) forward_group<2>(data, s, t, group, a);
                else forward_group<1>(data, s, t, group, a);
            }
        }
        SYNC;
        t += stages;
    }
}

template <class A> DEVICE void inverse_tile(BLOCK_ARGUMENT u64* data, const Stages& s, const A& a) {
    for (u32 t = s.log_rows; t > 0;) {
        const u32 stages = t >= 3 ? 3 : t;
        const u32 groups = 1u << (s.log_rows + s.log_lanes - stages);
        t -= stages;
        EACH_UNIT {
            for (u32 group = unit; group < groups; group += UNITS) {
                if (stages == 3) inverse_group<3>(data, s, t, group, a);
                else if (stages == 2) inverse_group<2>(data, s, t, group, a);
                else inverse_group<1>(data, s, t, group, a);
            }
        }
        SYNC;
    }
}

// The tile that a block transforms, and the places of its words in the polynomial.
struct Tile {
    Stages stages;
    u32 words, log_degree, log_height;
    u64 start;
    bool columns;

    DEVICE_METHOD u64 place(u32 i) const {
        const u32 lanes = stages.log_lanes;
        return columns ? ((u64)(i >> lanes) << (log_degree - log_height)) + start + (i & ((1u << lanes) - 1)) : start + i;
    }
};

DEVICE Tile tile_of_rows(u32 log_degree, u32 log_height, u32 block) {
    const u32 log_words = log_degree - log_height;
    const Tile tile = {{log_words, 0, log_height, block}, 1u << log_words, log_degree, log_height, (u64)block << log_words, false};
    return tile;
}

DEVICE Tile tile_of_columns(u32 log_degree, u32 log_height, u32 log_lanes, u32 block) {
    const Tile tile = {{log_height, log_lanes, 0, 0}, 1u << (log_height + log_lanes), log_degree, log_height, (u64)block << log_lanes, true};
    return tile;
}

// An input of a pass: the words of a row.
struct Row {
    const u64* words;
    DEVICE_METHOD u64 operator()(u64 place) const { return words[place]; }
};

// An input of a pass: a target of a base conversion, minus a row y if y is given.
struct Converted {
    const u64* columns;
    const u64* tables;
    u64 log_degree, target, table;
    const u64* y;
    u64 q;
    DEVICE_METHOD u64 operator()(u64 place) const {
        const u64 value = weighted_sum(columns + place, 1ull << log_degree, tables, target, table);
        return y ? sub_mod(value, y[place], q) : value;
    }
};

// A pass of the forward transform. The first pass reads residues, the last pass writes residues.
template <class A, class Load>
DEVICE void forward_pass(BLOCK_ARGUMENT u64* data, const Tile& tile, const A& a, const Load& load, u64* to, bool first, bool last) {
    EACH_UNIT {
        for (u32 i = unit; i < tile.words; i += UNITS) {
            const u64 x = load(tile.place(i));
            data[i] = first ? a.bits(a.enter(x)) : x;
        }
    }
    SYNC;
    forward_tile(PASS_BLOCK data, tile.stages, a);
    EACH_UNIT {
        for (u32 i = unit; i < tile.words; i += UNITS) to[tile.place(i)] = last ? a.leave(a.read(data[i])) : data[i];
    }
}

template <class A>
DEVICE void inverse_pass(BLOCK_ARGUMENT u64* data, const Tile& tile, const A& a, const Modulus& m, const u64* from, u64* to, bool first, bool last) {
    EACH_UNIT {
        for (u32 i = unit; i < tile.words; i += UNITS) {
            const u64 x = from[tile.place(i)];
            data[i] = first ? a.bits(a.enter(x)) : x;
        }
    }
    SYNC;
    inverse_tile(PASS_BLOCK data, tile.stages, a);
    EACH_UNIT {
        for (u32 i = unit; i < tile.words; i += UNITS) to[tile.place(i)] = last ? a.leave_scaled(a.read(data[i]), m) : data[i];
    }
}

DEVICE DoubleButterflies doubles(const Modulus& m, u64 table) {
    const DoubleButterflies a = {to_double(m.q), reciprocal(m.q), table, m.q >> 46 != 0};
    return a;
}

template <class Load>
DEVICE void forward_with(BLOCK_ARGUMENT u64* data, const Tile& tile, const Modulus& m, const Load& load, u64* to, bool first, bool last) {
    if (m.butterflies == BY_DOUBLES) {
        forward_pass(PASS_BLOCK data, tile, doubles(m, m.forward_factors), load, to, first, last);
    } else if (m.butterflies == BY_SHORT_WORDS) {
        const ShortButterflies a = {(u32)m.q, m.forward_factors};
        forward_pass(PASS_BLOCK data, tile, a, load, to, first, last);
    } else {
        const WordButterflies a = {m.q, m.forward};
        forward_pass(PASS_BLOCK data, tile, a, load, to, first, last);
    }
}

DEVICE void inverse_with(BLOCK_ARGUMENT u64* data, const Tile& tile, const Modulus& m, const u64* from, u64* to, bool first, bool last) {
    if (m.butterflies == BY_DOUBLES) {
        inverse_pass(PASS_BLOCK data, tile, doubles(m, m.inverse_factors), m, from, to, first, last);
    } else if (m.butterflies == BY_SHORT_WORDS) {
        const ShortButterflies a = {(u32)m.q, m.inverse_factors};
        inverse_pass(PASS_BLOCK data, tile, a, m, from, to, first, last);
    } else {
        const WordButterflies a = {m.q, m.inverse};
        inverse_pass(PASS_BLOCK data, tile, a, m, from, to, first, last);
    }
}

// Arguments of the kernels below: log_degree, log_height, log_lanes, table, then the entries of each row. A block works on tile BLOCK_X of row BLOCK_Y.
#define TRANSFORM_ROW(size)                                                            \
    const u64* const own = args + 4 + size * (u64)BLOCK_Y;                             \
    const u32 log_degree = (u32)args[0], log_height = (u32)args[1];                    \
    const Modulus m = load_modulus(args[3], own[size - 1]);                            \
    u64* const to = target(own[0]);                                                    \
    SHARED(u64, data)

// Largest number of units of a block, as in `transform.rs`.
#define ROW_UNITS 512
#define COLUMN_UNITS 256

// (out, x, modulus)..
KERNEL(forward_columns, COLUMN_UNITS) {
    ARGUMENTS;
    TRANSFORM_ROW(3);
    const Row load = {source(own[1])};
    forward_with(PASS_BLOCK data, tile_of_columns(log_degree, log_height, (u32)args[2], BLOCK_X), m, load, to, true, false);
}

KERNEL(forward_rows, ROW_UNITS) {
    ARGUMENTS;
    TRANSFORM_ROW(3);
    const Row load = {source(own[1])};
    forward_with(PASS_BLOCK data, tile_of_rows(log_degree, log_height, BLOCK_X), m, load, to, log_height == 0, true);
}

KERNEL(inverse_rows, ROW_UNITS) {
    ARGUMENTS;
    TRANSFORM_ROW(3);
    inverse_with(PASS_BLOCK data, tile_of_rows(log_degree, log_height, BLOCK_X), m, source(own[1]), to, true, log_height == 0);
}

KERNEL(inverse_columns, COLUMN_UNITS) {
    ARGUMENTS;
    TRANSFORM_ROW(3);
    inverse_with(PASS_BLOCK data, tile_of_columns(log_degree, log_height, (u32)args[2], BLOCK_X), m, source(own[1]), to, false, true);
}

// First passes of rows that are converted: (out, columns, tables, target, y, modulus)..
#define CONVERTED_ROW                                                                  \
    TRANSFORM_ROW(6);                                                                  \
    const Converted load = {source(own[1]), source(own[2]), log_degree, own[3], args[3], own[4] ? source(own[4]) : nullptr, m.q}

KERNEL(converted_columns, COLUMN_UNITS) {
    ARGUMENTS;
    CONVERTED_ROW;
    forward_with(PASS_BLOCK data, tile_of_columns(log_degree, log_height, (u32)args[2], BLOCK_X), m, load, to, true, false);
}

KERNEL(converted_rows, ROW_UNITS) {
    ARGUMENTS;
    CONVERTED_ROW;
    forward_with(PASS_BLOCK data, tile_of_rows(log_degree, log_height, BLOCK_X), m, load, to, log_height == 0, true);
}
