// Arithmetic modulo one odd modulus below 2^61, with the formulas of the CPU's specification (`arith::modulus`).
//
// Residues are words of 64 bits, reduced by Shoup's and Barrett's methods; transforms may use doubles (`butterflies.cuh`).
#pragma once
#include "dialect.h"

// One modulus of an engine; `Tables` in `tables.rs` writes it.
struct Modulus {
    u64 q;
    u64 barrett_high; // floor(2^128 / q)
    u64 barrett_low;
    u64 forward; // the address of n pairs (power, quotient) in bit-reversed order
    u64 inverse;
    u64 inverse_degree; // 1 / n, and its quotient
    u64 inverse_degree_quotient;
    u64 butterflies; // the arithmetic of the butterflies: BY_WORDS, BY_DOUBLES or BY_SHORT_WORDS
    u64 forward_factors; // the address of n powers for that arithmetic; unused for BY_WORDS, which reads the pairs above
    u64 inverse_factors;
};

#define BY_WORDS 0
#define BY_DOUBLES 1
#define BY_SHORT_WORDS 2

// A factor with its quotient floor(value 2^64 / q).
struct Multiplier {
    u64 value, quotient;
};

// A number of 128 bits, such as a sum of products.
struct Wide {
    u64 low, high;
};

// Number of terms, a power of two, after which a sum of products of residues is reduced: each product is below 2^122.
#define LAZY_TERMS 32

DEVICE u64 least(u64 x, u64 y) { return x < y ? x : y; }
DEVICE u32 least(u32 x, u32 y) { return x < y ? x : y; }

// [0, 2q) -> [0, q)
DEVICE u64 reduce_once(u64 x, u64 q) { return least(x, x - q); }

DEVICE u64 add_mod(u64 x, u64 y, u64 q) { return reduce_once(x + y, q); }

DEVICE u64 sub_mod(u64 x, u64 y, u64 q) {
    const u64 difference = x - y;
    return least(difference, difference + q);
}

DEVICE u64 negate_mod(u64 x, u64 q) { return reduce_once(q - x, q); }

// x w mod q in [0, 2q), for any x.
DEVICE u64 mul_lazy(u64 x, Multiplier w, u64 q) { return x * w.value - mul_high(x, w.quotient) * q; }

// x w mod q, for any x.
DEVICE u64 mul_shoup(u64 x, Multiplier w, u64 q) { return reduce_once(mul_lazy(x, w, q), q); }

// x mod q, for any x.
DEVICE u64 reduce_word(u64 x, const Modulus& m) { return reduce_once(x - mul_high(x, m.barrett_high) * m.q, m.q); }

// The sum below 2^128 modulo q.
DEVICE u64 reduce_wide(Wide x, const Modulus& m) {
    const u64 carry = mul_high(x.low, m.barrett_low);
    const u64 a_low = x.low * m.barrett_high;
    const u64 a = a_low + carry;
    const u64 a_high = mul_high(x.low, m.barrett_high) + (a < a_low);
    const u64 b_low = x.high * m.barrett_low;
    const u64 b = b_low + a;
    const u64 b_high = mul_high(x.high, m.barrett_low) + (b < b_low);
    const u64 quotient = x.high * m.barrett_high + a_high + b_high;
    return reduce_once(x.low - quotient * m.q, m.q);
}

DEVICE void add_product(Wide& sum, u64 x, u64 y) {
    const u64 low = x * y;
    sum.low += low;
    sum.high += mul_high(x, y) + (sum.low < low);
}

DEVICE u64 mul_mod(u64 x, u64 y, const Modulus& m) {
    const Wide product = {x * y, mul_high(x, y)};
    return reduce_wide(product, m);
}

// Adds term number `index` to a sum of any number of products of reduced residues. The caller starts from zero and reduces the sum by `reduce_wide`.
DEVICE void add_term(Wide& sum, u64 index, u64 x, u64 y, const Modulus& m) {
    if ((index & (LAZY_TERMS - 1)) == LAZY_TERMS - 1) {
        sum.low = reduce_wide(sum, m);
        sum.high = 0;
    }
    add_product(sum, x, y);
}

DEVICE Modulus load_modulus(u64 table, u64 index) { return ((const Modulus*)table)[index]; }

DEVICE Multiplier load_multiplier(u64 table, u64 index) { return ((const Multiplier*)table)[index]; }
