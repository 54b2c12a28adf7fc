// Base conversion and the last step of a division by a modulus. Source: `arith::conversion`; [klss, sec. 2.2, Eqs. (3), (4)].
#pragma once
#include "modular.cuh"

// The tables of a conversion (`conversion_tables` writes them): numbers of sources and targets, 1 if centred, 0; then for each source (modulus, factor,
// its quotient, 1 / modulus as a double); then for each target its modulus and a weight for each column (each source, then z if centred).
#define CONVERSION_HEAD 4
#define SOURCE_WORDS 4

// The columns of a conversion at one coefficient: the scaled sources y_i, then z if centred, `stride` words apart.
DEVICE void scale_sources(u64* columns, u64 stride, const u64* x, u64 log_degree, u64 word, const u64* tables, u64 table) {
    const u64 sources = tables[0];
    double fraction = 0.0;
    for (u64 i = 0; i < sources; ++i) {
        const u64* const own = tables + CONVERSION_HEAD + SOURCE_WORDS * i;
        const Multiplier w = {own[1], own[2]};
        const u64 y = mul_shoup(x[(i << log_degree) | word], w, load_modulus(table, own[0]).q);
        columns[i * stride] = y;
        // Sums in the order of the sources, as on the CPU, so that all engines round alike.
        fraction = add_rounded(fraction, mul_rounded(to_double(y), as_double(own[3])));
    }
    if (tables[2]) columns[sources * stride] = round_to_even(fraction);
}

// Target `t` at one coefficient.
DEVICE u64 weighted_sum(const u64* columns, u64 stride, const u64* tables, u64 t, u64 table) {
    const u64 count = tables[0] + tables[2];
    const u64* const own = tables + CONVERSION_HEAD + SOURCE_WORDS * tables[0] + t * (count + 1);
    const Modulus m = load_modulus(table, own[0]);
    Wide sum = {0, 0};
    NOT_UNROLLED
    for (u64 j = 0; j < count; ++j) add_term(sum, j, columns[j * stride], own[1 + j], m);
    return reduce_wide(sum, m);
}

// The kernels below work on word `BLOCK_X UNITS + unit` of row BLOCK_Y of a list: log_degree, table, then the entries of each row.
#define LISTED_ROW(size)                                                     \
    const u64 word = (u64)BLOCK_X * UNITS + unit, log_degree = args[0];      \
    const u64* const own = args + 2 + size * (u64)BLOCK_Y;                   \
    if (word >= 1ull << log_degree) continue

// Stores the columns of a conversion, so that several launches share them: column j is row j of out.
// (out, x, tables)..
KERNEL(prepare_columns, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        LISTED_ROW(3);
        scale_sources(target(own[0]) + word, 1ull << log_degree, source(own[1]), log_degree, word, source(own[2]), args[1]);
    }
}

// A target of a conversion, minus a row y if y is given.
// (columns, tables, target, out, y)..
KERNEL(convert_columns, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        LISTED_ROW(5);
        const u64* const tables = source(own[1]);
        u64 value = weighted_sum(source(own[0]) + word, 1ull << log_degree, tables, own[2], args[1]);
        if (own[4]) {
            const u64 modulus = tables[CONVERSION_HEAD + SOURCE_WORDS * tables[0] + own[2] * (tables[0] + tables[2] + 1)];
            value = sub_mod(value, source(own[4])[word], load_modulus(args[1], modulus).q);
        }
        target(own[3])[word] = value;
    }
}

// out <- x w.
// (out, x, modulus, value, quotient)..
KERNEL(scale_rows, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        LISTED_ROW(5);
        const Multiplier w = {own[3], own[4]};
        target(own[0])[word] = mul_shoup(source(own[1])[word], w, load_modulus(args[1], own[2]).q);
    }
}

// out <- (out - y) w, or out w without y.
// (out, y, modulus, value, quotient)..
KERNEL(quotients, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        LISTED_ROW(5);
        const u64 q = load_modulus(args[1], own[2]).q;
        const Multiplier w = {own[3], own[4]};
        u64 value = target(own[0])[word];
        if (own[1]) value += q - source(own[1])[word];
        target(own[0])[word] = mul_shoup(value, w, q);
    }
}
