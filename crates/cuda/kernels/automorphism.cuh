// Automorphisms X -> X^g and products with powers of X.
#pragma once
#include "modular.cuh"

// In Eval form, slot i holds the value at psi^(2 brv(i) + 1), so slot i of the image is the slot of x whose exponent is that exponent times g.
// out, x, words, log_degree, g
KERNEL(automorphism_eval, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = (u64)BLOCK_X * UNITS + unit;
        if (i < args[2]) {
            const u32 log_degree = (u32)args[3], mask = (2u << log_degree) - 1, word = (u32)i & (mask >> 1);
            const u32 exponent = ((2 * bit_reverse(word, log_degree) + 1) * (u32)args[4]) & mask;
            target(args[0])[i] = source(args[1])[(i >> log_degree << log_degree) | bit_reverse(exponent >> 1, log_degree)];
        }
    }
}

// In Coeff form, coefficient j of the image is coefficient j / g of x, with the sign of X^n = -1. 1 / g is the inverse modulo 2n.
// out, x, words, log_degree, inverse of g, table, count, moduli..
KERNEL(automorphism_coeff, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = (u64)BLOCK_X * UNITS + unit;
        if (i < args[2]) {
            const u32 log_degree = (u32)args[3], mask = (2u << log_degree) - 1, word = (u32)i & (mask >> 1);
            const u32 exponent = (word * (u32)args[4]) & mask;
            const u64 value = source(args[1])[(i >> log_degree << log_degree) | (exponent & (mask >> 1))];
            const u64 q = load_modulus(args[5], args[7 + short_remainder(i >> log_degree, args[6])]).q;
            target(args[0])[i] = exponent >> log_degree ? negate_mod(value, q) : value;
        }
    }
}

// x X^power in Coeff form, `power` below 2n.
// out, x, words, log_degree, power, table, count, moduli..
KERNEL(mul_monomial, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = (u64)BLOCK_X * UNITS + unit;
        if (i < args[2]) {
            const u32 log_degree = (u32)args[3], mask = (2u << log_degree) - 1, word = (u32)i & (mask >> 1);
            const u32 exponent = (word - (u32)args[4]) & mask;
            const u64 value = source(args[1])[(i >> log_degree << log_degree) | (exponent & (mask >> 1))];
            const u64 q = load_modulus(args[5], args[7 + short_remainder(i >> log_degree, args[6])]).q;
            target(args[0])[i] = exponent >> log_degree ? negate_mod(value, q) : value;
        }
    }
}
