// The inner products of key switching: digits, extended, transformed and multiplied with packed factors where they lie.
//
// A block takes one tile of one row of the results, for all digits one after another: the last pass of a digit's transform stays in shared memory, where its
// products with all columns are added to sums. So a digit is written once, by the pass over columns, and not at all where a polynomial fits one tile; and each
// residue of a key is read once.
#pragma once
#include "factors.cuh"
#include "transform.cuh"

// How a digit comes, with the words that follow:
#define RESIDUES 0  // residues in Eval form (address, factor, its quotient): no transform
#define PASSED 1    // what the pass over columns left (address)
#define CONVERTED 2 // a target of a base conversion (columns, tables, target)
#define SCALED 3    // coefficients (address, factor, its quotient)
#define DIGIT_ENTRY 4

struct Digit {
    const u64* entry;
    u64 log_degree, table, q;

    DEVICE_METHOD u64 operator()(u64 place) const {
        if (entry[0] == CONVERTED) return weighted_sum(source(entry[1]) + place, 1ull << log_degree, source(entry[2]), entry[3], table);
        const u64 x = source(entry[1])[place];
        if (entry[0] == PASSED) return x;
        const Multiplier w = {entry[2], entry[3]};
        return mul_prepared(x, w, q);
    }
};

// The sums of a tile, two words each, one sum behind the other in shared memory. A unit has the same words of the tile throughout.
struct Sums {
    u64* memory;
    u64 words, columns, groups;
    const u64* group;
    PackedRow row;
    u64 factor_terms;

    DEVICE_METHOD u64 count() const { return columns * groups; }
    DEVICE_METHOD Wide get(u64 s, u64 i) const {
        const Wide sum = {memory[2 * s * words + i], memory[(2 * s + 1) * words + i]};
        return sum;
    }
    DEVICE_METHOD void set(u64 s, u64 i, Wide sum) const {
        memory[2 * s * words + i] = sum.low;
        memory[(2 * s + 1) * words + i] = sum.high;
    }
    // Adds the products of x, number `term`, with the factors at `place`.
    DEVICE_METHOD void add(u64 term, u64 i, u64 place, u64 x, const Modulus& m) const {
        u64 s = 0;
        for (u64 g = 0; g < groups; ++g) {
            const u64 slot = (group[g] * factor_terms + term) * columns;
            for (u64 p = 0; p < columns; ++p, ++s) {
                Wide sum = get(s, i);
                add_term(sum, term, x, unpack(row, slot + p, place), m);
                set(s, i, sum);
            }
        }
    }
};

// Where the last pass of a digit leaves it: in the sums.
struct ToSums {
    const Sums& sums;
    u64 term;
    const Modulus& m;
    DEVICE_METHOD void operator()(u32 i, u64 place, u64 x) const { sums.add(term, i, place, x, m); }
};

// out[g columns + p] <- sum_t digit[t] factors[group g, t, p], for row BLOCK_Y of `rows`, over polynomials of `each` rows in out.
// log_degree, log_height, table, out, rows, each, terms, terms of the factors, columns, groups, then for each row (modulus, address, plane, bits, row in out), then
// groups.., then for each row the digits of all terms.
KERNEL(gadget_rows, ROW_UNITS) {
    ARGUMENTS;
    const u32 log_degree = (u32)args[0], log_height = (u32)args[1];
    const u64 table = args[2], rows = args[4], each = args[5], terms = args[6], columns = args[8], groups = args[9];
    const u64* const own = args + 10 + 5 * (u64)BLOCK_Y;
    const u64* const group = args + 10 + 5 * rows;
    const u64* const entries = group + groups + DIGIT_ENTRY * terms * (u64)BLOCK_Y;
    const Modulus m = load_modulus(table, own[0]);
    SHARED(u64, data);
    const Tile tile = tile_of_rows(log_degree, log_height, BLOCK_X);
    const Sums sums = {data + tile.words, tile.words, columns, groups, group, {own[1], own[2], own[3]}, args[7]};
    const Wide zero = {0, 0};
    EACH_UNIT {
        for (u32 i = unit; i < tile.words; i += UNITS)
            for (u64 s = 0; s < sums.count(); ++s) sums.set(s, i, zero);
    }
    NOT_UNROLLED
    for (u64 t = 0; t < terms; ++t) {
        const Digit digit = {entries + DIGIT_ENTRY * t, log_degree, table, m.q};
        const ToSums leave = {sums, t, m};
        if (digit.entry[0] == RESIDUES) {
            EACH_UNIT {
                for (u32 i = unit; i < tile.words; i += UNITS) leave(i, tile.place(i), digit(tile.place(i)));
            }
        } else {
            forward_with(PASS_BLOCK data, tile, m, digit, leave, digit.entry[0] != PASSED, true);
        }
    }
    EACH_UNIT {
        for (u32 i = unit; i < tile.words; i += UNITS)
            for (u64 s = 0; s < sums.count(); ++s)
                target(args[3])[((s * each + own[4]) << log_degree) | tile.place(i)] = reduce_wide(sums.get(s, i), m);
    }
}
