// Operations on one word at a time. Rows follow one another, `1 << log_degree` words each, and row r has modulus `moduli[r % count]`.
#pragma once
#include "modular.cuh"

#define WORD_INDEX ((u64)BLOCK_X * UNITS + unit)

// out, x, y, words, log_degree, table, count, moduli..
#define ELEMENTWISE(name, expression)                                                    \
    KERNEL(name, DEFAULT_UNITS) {                                                        \
        ARGUMENTS;                                                                       \
        EACH_UNIT {                                                                      \
            const u64 i = WORD_INDEX;                                                    \
            if (i < args[3]) {                                                           \
                const u64 row = short_remainder(i >> args[4], args[6]);                        \
                const Modulus m = load_modulus(args[5], args[7 + row]);                  \
                const u64 x = source(args[1])[i], y = args[2] ? source(args[2])[i] : 0;  \
                target(args[0])[i] = expression;                                         \
            }                                                                            \
        }                                                                                \
    }

ELEMENTWISE(add, add_mod(x, y, m.q))
ELEMENTWISE(sub, sub_mod(x, y, m.q))
ELEMENTWISE(negate, ((void)y, negate_mod(x, m.q)))

// x <- x y, where the rows of y repeat.
// x, words, y, rows of y, log_degree, table, count, moduli..
KERNEL(mul, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = WORD_INDEX;
        if (i < args[1]) {
            const u64 row = i >> args[4], repeated = short_remainder(row, args[3]);
            const u64 j = (repeated << args[4]) | (i & ((1ull << args[4]) - 1));
            const Modulus m = load_modulus(args[5], args[7 + short_remainder(row, args[6])]);
            target(args[0])[i] = mul_mod(target(args[0])[i], source(args[2])[j], m);
        }
    }
}

// x <- x w, with a multiplier for each modulus.
// x, words, log_degree, table, count, then (modulus, value, quotient)..
KERNEL(mul_constants, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = WORD_INDEX;
        if (i < args[1]) {
            const u64* const own = args + 5 + 3 * short_remainder(i >> args[2], args[4]);
            const Multiplier w = {own[1], own[2]};
            target(args[0])[i] = mul_shoup(target(args[0])[i], w, load_modulus(args[3], own[0]).q);
        }
    }
}

// x <- x + y w. Polynomials of y have `count` rows, those of x `each` rows, at least as many.
// x, y, words of y, log_degree, table, count, each, then (modulus, value, quotient)..
KERNEL(add_mul_constants, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = WORD_INDEX;
        if (i < args[2]) {
            const u64 row = i >> args[3], poly = short_quotient(row, args[5]), own_row = short_remainder(row, args[5]);
            const u64* const own = args + 7 + 3 * own_row;
            const Multiplier w = {own[1], own[2]};
            const u64 q = load_modulus(args[4], own[0]).q;
            u64* const x = target(args[0]) + (((poly * args[6] + own_row) << args[3]) | (i & ((1ull << args[3]) - 1)));
            *x = add_mod(*x, mul_shoup(source(args[1])[i], w, q), q);
        }
    }
}

// Row i of out <- constants[i % count].
// out, words, log_degree, count, constants..
KERNEL(fill, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = WORD_INDEX;
        if (i < args[1]) target(args[0])[i] = args[4 + short_remainder(i >> args[2], args[3])];
    }
}

// Row to[i] of out <- row from[i] of x.
// out, x, rows, log_degree, then (to, from)..
KERNEL(copy_rows, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = WORD_INDEX;
        if (i < args[2] << args[3]) {
            const u64* const own = args + 4 + 2 * (i >> args[3]);
            const u64 word = i & ((1ull << args[3]) - 1);
            target(args[0])[(own[0] << args[3]) | word] = source(args[1])[(own[1] << args[3]) | word];
        }
    }
}

// out[r] <- values mod the modulus of row r, for signed words.
// out, values, words of out, log_degree, table, moduli..
KERNEL(reduce_signed, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = WORD_INDEX;
        if (i < args[2]) {
            const Modulus m = load_modulus(args[4], args[5 + (i >> args[3])]);
            const u64 value = source(args[1])[i & ((1ull << args[3]) - 1)];
            // Values may be secrets or errors, so the sign is applied by a mask and not by a branch.
            const u64 negative = 0 - (value >> 63);
            const u64 magnitude = reduce_word((value ^ negative) - negative, m);
            target(args[0])[i] = (negate_mod(magnitude, m.q) & negative) | (magnitude & ~negative);
        }
    }
}

// Sets *flag to 1 where words of x and y differ.
// x, y, words, flag
KERNEL(compare, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = WORD_INDEX;
        if (i < args[2] && source(args[0])[i] != source(args[1])[i]) *(volatile u64*)args[3] = 1;
    }
}

// out[o] <- sum_t left_t right_t, element by element, for each output row o of `rows` moduli.
// out, rows, log_degree, table, outputs, then for each row (modulus, row of the right factors), then for each output its first term and, at the end,
// the number of terms, then (left, right)..
KERNEL(dot_products, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = WORD_INDEX, rows = args[1], log_degree = args[2], outputs = args[4];
        if (i < (outputs * rows) << log_degree) {
            const u64 row = short_remainder(i >> log_degree, rows), output = short_quotient(i >> log_degree, rows), word = i & ((1ull << log_degree) - 1);
            const u64 right_row = args[6 + 2 * row];
            const Modulus m = load_modulus(args[3], args[5 + 2 * row]);
            const u64* const starts = args + 5 + 2 * rows;
            const u64* const terms = starts + outputs + 1;
            Wide sum = {0, 0};
            for (u64 t = starts[output]; t < starts[output + 1]; ++t) {
                const u64 x = source(terms[2 * t])[(row << log_degree) | word];
                add_term(sum, t - starts[output], x, source(terms[2 * t + 1])[(right_row << log_degree) | word], m);
            }
            target(args[0])[i] = reduce_wide(sum, m);
        }
    }
}
