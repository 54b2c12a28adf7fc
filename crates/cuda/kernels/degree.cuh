// Changes of the degree. In Eval form they are stages of the transform (`arith::kernels::components`). In Coeff form a component consists of every g-th
// coefficient; components are in bit-reversed order.
#pragma once
#include "modular.cuh"

#define MOST_PARTS 8

// One or more rounds of joining in Eval form: each output row is joined from G = 1 << log_parts rows of `1 << log_small` words.
// out, table, log_small, log_parts, negative twist, rows, then for each row (modulus, address of part 0, ..)
KERNEL(join_eval, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit;
        const u32 log_small = (u32)args[2], log_parts = (u32)args[3], parts = 1u << log_parts;
        if (index < args[5] << log_small) {
            const u64 row = index >> log_small, j = index & ((1ull << log_small) - 1);
            const u64* const own = args + 6 + row * (parts + 1);
            const Modulus m = load_modulus(args[1], own[0]);
            const u64 table = args[4] ? m.inverse : m.forward;
            u64 x[MOST_PARTS];
            for (u32 p = 0; p < parts; ++p) x[p] = source(own[1 + p])[j];
            // Joins neighbours in place: results have 2, 4, .. words for each j.
            for (u32 length = 1; length < parts; length *= 2) {
                for (u32 first = 0; first < parts; first += 2 * length) {
                    u64 joined[MOST_PARTS];
                    for (u32 k = 0; k < length; ++k) {
                        const u64 place = j * length + k;
                        const Multiplier w = load_multiplier(table, ((u64)length << log_small) + place);
                        const u64 even = x[first + k], odd = mul_shoup(x[first + length + k], w, m.q);
                        joined[2 * k] = add_mod(even, odd, m.q);
                        joined[2 * k + 1] = sub_mod(even, odd, m.q);
                    }
                    for (u32 k = 0; k < 2 * length; ++k) x[first + k] = joined[k];
                }
            }
            u64* const to = target(args[0]) + (((row << log_small) + j) << log_parts);
            for (u32 p = 0; p < parts; ++p) to[p] = x[p];
        }
    }
}

// The inverse of join_eval.
// x, table, log_small, log_parts, negative twist, rows, then for each row (modulus, 1 / parts, its quotient, address of part 0, ..)
KERNEL(split_eval, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit;
        const u32 log_small = (u32)args[2], log_parts = (u32)args[3], parts = 1u << log_parts;
        if (index < args[5] << log_small) {
            const u64 row = index >> log_small, j = index & ((1ull << log_small) - 1);
            const u64* const own = args + 6 + row * (parts + 3);
            const Modulus m = load_modulus(args[1], own[0]);
            const Multiplier scale = {own[1], own[2]};
            const u64 table = args[4] ? m.forward : m.inverse;
            const u64* const from = source(args[0]) + (((row << log_small) + j) << log_parts);
            u64 x[MOST_PARTS];
            for (u32 p = 0; p < parts; ++p) x[p] = from[p];
            for (u32 length = parts / 2; length > 0; length /= 2) {
                for (u32 first = 0; first < parts; first += 2 * length) {
                    u64 split[MOST_PARTS];
                    for (u32 k = 0; k < length; ++k) {
                        const u64 place = j * length + k;
                        const Multiplier w = load_multiplier(table, ((u64)length << log_small) + place);
                        const u64 u = x[first + 2 * k], v = x[first + 2 * k + 1];
                        split[k] = add_mod(u, v, m.q);
                        split[length + k] = mul_shoup(sub_mod(u, v, m.q), w, m.q);
                    }
                    for (u32 k = 0; k < 2 * length; ++k) x[first + k] = split[k];
                }
            }
            for (u32 p = 0; p < parts; ++p) target(own[3 + p])[j] = mul_shoup(x[p], scale, m.q);
        }
    }
}

// Coefficient `gap j + r` of a row is coefficient j of the part whose place, bit-reversed, is r; with the negative twist, the part that is multiplied
// by X^-(gap - r).
// out, log_degree, log_gap, negative twist, table, rows, count, then moduli.., then for each row the addresses of its parts..
KERNEL(join_coeff, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit;
        const u32 log_degree = (u32)args[1], log_gap = (u32)args[2];
        if (index < args[5] << log_degree) {
            const u64 row = index >> log_degree, gap = 1ull << log_gap, i = index & ((1ull << log_degree) - 1);
            const u64* const parts = args + 7 + args[6] + (row << log_gap);
            const u64 r = i & (gap - 1), j = i >> log_gap;
            u64 value;
            if (args[3] && r != 0) {
                // X^-(gap - r) Y^(j + 1) = X^(gap j + r). For the last j, Y^(j + 1) = -1, with word 0.
                const u64 small = 1ull << (log_degree - log_gap);
                const u64* const part = source(parts[bit_reverse((u32)(gap - r), log_gap)]);
                value = j + 1 < small ? part[j + 1] : negate_mod(part[0], load_modulus(args[4], args[7 + short_remainder(row, args[6])]).q);
            } else {
                value = source(parts[bit_reverse((u32)r, log_gap)])[j];
            }
            target(args[0])[index] = value;
        }
    }
}

// The inverse of join_coeff: writes each word of x to its part.
// x, log_degree, log_gap, negative twist, table, rows, count, then moduli.., then for each row the addresses of its parts..
KERNEL(split_coeff, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit;
        const u32 log_degree = (u32)args[1], log_gap = (u32)args[2];
        if (index < args[5] << log_degree) {
            const u64 row = index >> log_degree, gap = 1ull << log_gap, i = index & ((1ull << log_degree) - 1);
            const u64* const parts = args + 7 + args[6] + (row << log_gap);
            const u64 r = i & (gap - 1), j = i >> log_gap, value = source(args[0])[index];
            if (args[3] && r != 0) {
                const u64 small = 1ull << (log_degree - log_gap);
                u64* const part = target(parts[bit_reverse((u32)(gap - r), log_gap)]);
                if (j + 1 < small) part[j + 1] = value;
                else part[0] = negate_mod(value, load_modulus(args[4], args[7 + short_remainder(row, args[6])]).q);
            } else {
                target(parts[bit_reverse((u32)r, log_gap)])[j] = value;
            }
        }
    }
}

// Joins samples of a small degree to polynomials in Coeff form. Every part holds as many rows as out, row after row.
// out, log_degree, log_gap, words of out, then the addresses of the parts..
KERNEL(join_samples, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit;
        const u32 log_degree = (u32)args[1], log_gap = (u32)args[2];
        if (index < args[3]) {
            const u64 row = index >> log_degree, i = index & ((1ull << log_degree) - 1);
            const u64 r = i & ((1ull << log_gap) - 1), j = i >> log_gap;
            const u64* const part = source(args[4 + bit_reverse((u32)r, log_gap)]);
            target(args[0])[index] = part[(row << (log_degree - log_gap)) + j];
        }
    }
}

// out[q] <- sum_(p, c) X^(k brv(p) - brv(c)) parts[p][q k + c](X^(k g)): joined as samples, then every k neighbours with the negative twist.
// out, log_degree, log_gap (g), log_neighbours (k), table, words of out, count, moduli.., addresses of the parts..
KERNEL(join_masks, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit;
        const u32 log_degree = (u32)args[1], log_gap = (u32)args[2], log_k = (u32)args[3];
        if (index < args[5]) {
            const u64 row = index >> log_degree, basis = args[6], poly = short_quotient(row, basis), modulus = short_remainder(row, basis);
            const u64 i = index & ((1ull << log_degree) - 1);
            // The exponent i is k e - below, with `below` less than k. Where k e = n, X^n = -1.
            const u64 k = 1ull << log_k, below = (k - (i & (k - 1))) & (k - 1);
            u64 e = (i + below) >> log_k;
            const u32 log_e = log_degree - log_k;
            const bool wraps = e >> log_e;
            if (wraps) e = 0;
            const u32 log_small = log_e - log_gap;
            const u64 p = bit_reverse((u32)(e & ((1ull << log_gap) - 1)), log_gap), j = e >> log_gap, c = bit_reverse((u32)below, log_k);
            const u64 part_row = (poly * k + c) * basis + modulus;
            const u64 value = source(args[7 + basis + p])[(part_row << log_small) + j];
            target(args[0])[index] = wraps ? negate_mod(value, load_modulus(args[4], args[7 + modulus]).q) : value;
        }
    }
}

// out <- x(X^gap).
// out, x, words of out, log_degree, log_gap, Eval form
KERNEL(repeat, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit;
        if (index < args[2]) {
            const u64 gap_mask = (1ull << args[4]) - 1;
            const u64 value = source(args[1])[index >> args[4]];
            target(args[0])[index] = args[5] || (index & gap_mask) == 0 ? value : 0;
        }
    }
}

// Component 0 of each row of x: in Eval form the means of `gap` neighbours, in Coeff form every gap-th coefficient.
// out, x, words of out, log_small, log_gap, Eval form, table, count, then (modulus, 1 / gap, its quotient)..
KERNEL(first_component, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit;
        if (index < args[2]) {
            const u64* const from = source(args[1]) + (index << args[4]);
            if (args[5]) {
                const u64* const own = args + 8 + 3 * (short_remainder(index >> args[3], args[7]));
                const u64 q = load_modulus(args[6], own[0]).q;
                const Multiplier w = {own[1], own[2]};
                u64 sum = 0;
                for (u64 k = 0; k < 1ull << args[4]; ++k) sum = add_mod(sum, from[k], q);
                target(args[0])[index] = mul_shoup(sum, w, q);
            } else {
                target(args[0])[index] = from[0];
            }
        }
    }
}

// Swaps word c of row t of x[r] with word r of row t of x[c], for c > r: BLOCK_Y is the row t.
// log_degree, then addresses..
KERNEL(transpose, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 index = (u64)BLOCK_X * UNITS + unit, log_degree = args[0];
        if (index < 1ull << (2 * log_degree)) {
            const u64 r = index >> log_degree, c = index & ((1ull << log_degree) - 1), row = (u64)BLOCK_Y << log_degree;
            if (c > r) {
                u64* const x = target(args[1 + r]) + row + c;
                u64* const y = target(args[1 + c]) + row + r;
                const u64 word = *x;
                *x = *y;
                *y = word;
            }
        }
    }
}
