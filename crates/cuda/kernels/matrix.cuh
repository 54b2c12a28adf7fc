// Products of a plain matrix with rows of residues.
#pragma once
#include "modular.cuh"

// Rows of the product that a unit computes at a time, so that a residue is read once for all of them.
#define PRODUCT_ROWS 4

// out[i] <- sum_j left[i][j] right[j] mod q. Entries of `left` are signed words, row after row; each operand has `rows` rows.
// left, rows of the product, inner, log_degree, table, rows, count, moduli.., addresses of out.., addresses of right..
KERNEL(combine, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 word = (u64)BLOCK_X * UNITS + unit, log_degree = args[3], inner = args[2], results = args[1];
        if (word < args[5] << log_degree) {
            const Modulus m = load_modulus(args[4], args[7 + short_remainder(word >> log_degree, args[6])]);
            const u64* const outs = args + 7 + args[6];
            const u64* const rights = outs + results;
            const u64 first = (u64)BLOCK_Y * PRODUCT_ROWS;
            Wide sums[PRODUCT_ROWS];
            for (u32 k = 0; k < PRODUCT_ROWS; ++k) sums[k] = {0, 0};
            for (u64 j = 0; j < inner; ++j) {
                const u64 u = source(rights[j])[word];
                for (u32 k = 0; k < PRODUCT_ROWS; ++k) {
                    if (first + k >= results) continue;
                    const u64 entry = source(args[0])[(first + k) * inner + j], negative = 0 - (entry >> 63);
                    const u64 magnitude = reduce_word((entry ^ negative) - negative, m);
                    add_term(sums[k], j, negative ? negate_mod(magnitude, m.q) : magnitude, u, m);
                }
            }
            for (u32 k = 0; k < PRODUCT_ROWS; ++k)
                if (first + k < results) target(outs[first + k])[word] = reduce_wide(sums[k], m);
        }
    }
}

// out[i] <- sum_r left[r][positions[i]] right[r], the left factors being single polynomials.
// positions, results, inner, log_degree, table, rows, count, moduli.., addresses of out.., addresses of right.., addresses of left..
KERNEL(combine_coefficients, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 word = (u64)BLOCK_X * UNITS + unit, log_degree = args[3], inner = args[2], results = args[1];
        if (word < args[5] << log_degree) {
            const u64 row = short_remainder(word >> log_degree, args[6]);
            const Modulus m = load_modulus(args[4], args[7 + row]);
            const u64* const outs = args + 7 + args[6];
            const u64* const rights = outs + results;
            const u64* const lefts = rights + inner;
            const u64 first = (u64)BLOCK_Y * PRODUCT_ROWS;
            Wide sums[PRODUCT_ROWS];
            for (u32 k = 0; k < PRODUCT_ROWS; ++k) sums[k] = {0, 0};
            for (u64 j = 0; j < inner; ++j) {
                const u64 u = source(rights[j])[word];
                for (u32 k = 0; k < PRODUCT_ROWS; ++k) {
                    if (first + k >= results) continue;
                    const u64 position = source(args[0])[first + k];
                    add_term(sums[k], j, source(lefts[j])[(row << log_degree) | position], u, m);
                }
            }
            for (u32 k = 0; k < PRODUCT_ROWS; ++k)
                if (first + k < results) target(outs[first + k])[word] = reduce_wide(sums[k], m);
        }
    }
}

// sum <- sum + (high 2^64 + low) w mod 2^128.
DEVICE void add_wide_product(Wide& sum, u64 low, u64 high, u64 w) {
    const u64 product = low * w, carry = mul_high(low, w);
    sum.low += product;
    sum.high += carry + high * w + (sum.low < product);
}

// The fractions of residues: row r of the matrix, column c <- sum_i centred(u_i) unit_i mod 2^128, two words (low, high).
// `polys` polynomials of `sources` rows hold `lanes` rows of the matrix each.
// out, log_degree, lanes, sources, polys, then (q, unit low, unit high).., addresses of polynomials..
KERNEL(fractions, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit, log_degree = args[1], lanes = args[2], sources = args[3];
        if (index < args[4] << log_degree) {
            const u64 poly = index >> log_degree, word = index & ((1ull << log_degree) - 1), columns = short_quotient(1ull << log_degree, lanes);
            const u64* const x = source(args[5 + 3 * sources + poly]);
            Wide sum = {0, 0};
            for (u64 i = 0; i < sources; ++i) {
                const u64* const own = args + 5 + 3 * i;
                const u64 u = x[(i << log_degree) | word];
                if (u > own[0] / 2) {
                    // A negative residue multiplies the negated unit.
                    const u64 low = 0 - own[1], high = ~own[2] + (own[1] == 0);
                    add_wide_product(sum, low, high, own[0] - u);
                } else {
                    add_wide_product(sum, own[1], own[2], u);
                }
            }
            u64* const to = target(args[0]) + 2 * ((poly * lanes + short_remainder(word, lanes)) * columns + short_quotient(word, lanes));
            to[0] = sum.low;
            to[1] = sum.high;
        }
    }
}

// Row r of the product, column c: the sum of left[r][j] fraction[j][c] modulo 1, rounded down to 64 bits, times Q' modulo each target. Rows beyond
// those of the matrix are zero.
// left, fractions, rows of the matrix, inner, log_degree, lanes, table, targets, polys, then (modulus, floor(Q' / 2^64), Q' mod 2^64).., addresses of out..
KERNEL(combine_fractions, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit, log_degree = args[4], lanes = args[5], targets = args[7], inner = args[3];
        if (index < args[8] << log_degree) {
            const u64 poly = index >> log_degree, word = index & ((1ull << log_degree) - 1), columns = short_quotient(1ull << log_degree, lanes);
            const u64 row = poly * lanes + short_remainder(word, lanes), column = short_quotient(word, lanes);
            Wide sum = {0, 0};
            if (row < args[2]) {
                for (u64 j = 0; j < inner; ++j) {
                    const u64* const fraction = source(args[1]) + 2 * (j * columns + column);
                    const u64 entry = source(args[0])[row * inner + j], negative = entry >> 63;
                    const u64 magnitude = negative ? 0 - entry : entry;
                    const u64 low = negative ? 0 - fraction[0] : fraction[0];
                    const u64 high = negative ? ~fraction[1] + (fraction[0] == 0) : fraction[1];
                    add_wide_product(sum, low, high, magnitude);
                }
            }
            u64* const out = target(args[9 + 3 * targets + poly]);
            for (u64 t = 0; t < targets; ++t) {
                const u64* const own = args + 9 + 3 * t;
                const Modulus m = load_modulus(args[6], own[0]);
                const Wide whole = {sum.high * own[1], mul_high(sum.high, own[1])};
                const u64 value = add_mod(reduce_wide(whole, m), reduce_word(mul_high(sum.high, own[2]), m), m.q);
                out[(t << log_degree) | word] = row < args[2] ? value : 0;
            }
        }
    }
}
