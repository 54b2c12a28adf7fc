// Packed factors, such as switching keys. In a device's memory each slot (group, term, column) of a row is a *plane*: its residues of `bits` bits
// each, one after another, so that units with neighbouring coefficients read neighbouring words, and a product reads each word of a key once. The
// planes of one row follow one another, group by group, term by term. (The host's layout interleaves slots for vector registers.)
#pragma once
#include "modular.cuh"

// A row of factors: the address of its first plane, the words of a plane, and the bits of a residue.
struct PackedRow {
    u64 address, plane, bits;
};

// Residue i of a slot. Has no branch, so that several loads are in flight: it reads the next word even where the residue ends before it. Every plane
// is followed by a word that may be read.
DEVICE u64 unpack(const PackedRow& row, u64 slot, u64 i) {
    const u64 at = i * row.bits, shift = at & 63;
    const u64* const words = source(row.address) + slot * row.plane + (at >> 6);
    return (words[0] >> shift | words[1] << 1 << (63 - shift)) & (~0ull >> (64 - row.bits));
}

// One word of a plane, from `residue(i)` for all coefficients i of which it holds bits.
template <class Residue> DEVICE u64 pack_word(u64 word, u64 bits, u64 degree, const Residue& residue) {
    if (bits == 64) return residue(word);
    u64 value = 0;
    for (u64 i = short_quotient(word * 64, bits); i < degree && i * bits < (word + 1) * 64; ++i) {
        const u64 at = i * bits;
        value |= at >= word * 64 ? residue(i) << (at - word * 64) : residue(i) >> (word * 64 - at);
    }
    return value;
}

// The sum of several rows of residues, as an argument of `pack_word`.
struct SumOfRows {
    const u64* parts; // addresses
    u64 count, offset, q;
    DEVICE_METHOD u64 operator()(u64 i) const {
        u64 sum = 0;
        for (u64 p = 0; p < count; ++p) sum = add_mod(sum, source(parts[p])[offset + i], q);
        return sum;
    }
};

// The sum of several slots of a row, as an argument of `pack_word`.
struct SumOfSlots {
    const u64* slots;
    u64 count, columns, column;
    PackedRow row;
    u64 q;
    DEVICE_METHOD u64 operator()(u64 i) const {
        u64 sum = 0;
        for (u64 p = 0; p < count; ++p) sum = add_mod(sum, unpack(row, slots[p] * columns + column, i), q);
        return sum;
    }
};

// Slot BLOCK_Y of a group <- the sum of its parts, for one row of the factors.
// address of the group's planes, plane, bits, degree, q, offset of the row in the parts, slots, then starts (slots + 1), then addresses..
KERNEL(pack_sums, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 word = (u64)BLOCK_X * UNITS + unit, plane = args[1], slot = BLOCK_Y, slots = args[6];
        if (word < plane) {
            const u64* const starts = args + 7;
            const SumOfRows sum = {starts + slots + 1 + starts[slot], starts[slot + 1] - starts[slot], args[5], args[4]};
            target(args[0])[slot * plane + word] = pack_word(word, args[2], args[3], sum);
        }
    }
}

// Term short_quotient(BLOCK_Y, columns) of out <- the sum of terms of the source, for one row. Both have one group and equally many columns.
// address of out's planes, plane, bits, degree, q, source's address, plane, bits, columns, terms, then starts (terms + 1), then terms..
KERNEL(sum_packed, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 word = (u64)BLOCK_X * UNITS + unit, plane = args[1], columns = args[8];
        if (word < plane) {
            const u64* const starts = args + 10;
            const u64 term = short_quotient(BLOCK_Y, columns);
            const PackedRow row = {args[5], args[6], args[7]};
            const SumOfSlots sum = {starts + args[9] + 1 + starts[term], starts[term + 1] - starts[term], columns, short_remainder(BLOCK_Y, columns), row, args[4]};
            target(args[0])[BLOCK_Y * plane + word] = pack_word(word, args[2], args[3], sum);
        }
    }
}

// Row c of out <- the sum of terms of column first + c, for one row of the factors.
// out, words between rows of out, degree, q, source's address (of the group), plane, bits, columns, first, terms, then terms..
KERNEL(unpack_sums, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = (u64)BLOCK_X * UNITS + unit;
        if (i < args[2]) {
            const PackedRow row = {args[4], args[5], args[6]};
            const SumOfSlots sum = {args + 10, args[9], args[7], args[8] + BLOCK_Y, row, args[3]};
            target(args[0])[BLOCK_Y * args[1] + i] = sum(i);
        }
    }
}

// Largest number of columns that a unit sums at a time; their sums share one reading of the left factors.
#define COLUMNS_TOGETHER 4

// A launch bound that leaves registers for only two blocks of DEFAULT_UNITS on a multiprocessor: several loads in flight per unit, which need
// registers, are faster than more units.
#define PRODUCT_UNITS 512

// The sums of one group's products for `COUNT` columns from column `first` on, at coefficient i of one row.
struct FactorProducts {
    const u64* xs; // addresses of rows
    u64 terms, columns, slot, place; // slot: of the first factor; place: of the coefficient in the left factors
    PackedRow row;

    template <u32 COUNT> DEVICE_METHOD void sum(Wide* sums, u64 first, u64 i, const Modulus& m) const {
        for (u32 p = 0; p < COUNT; ++p) sums[p] = {0, 0};
        for (u64 begin = 0; begin < terms; begin += LAZY_TERMS) {
            const u64 end = least(begin + LAZY_TERMS, terms);
            // Loads do not wait for the sums, so several terms are in flight.
            UNROLLED(COUNT <= 2 ? 4 : 2)
            for (u64 t = begin; t < end; ++t) {
                const u64 x = source(xs[t])[place];
                for (u32 p = 0; p < COUNT; ++p) add_product(sums[p], x, unpack(row, slot + t * columns + first + p, i));
            }
            for (u32 p = 0; p < COUNT; ++p) sums[p] = {reduce_wide(sums[p], m), 0};
        }
    }
};

// out[g columns + p] <- sum_t xs[t] factors[group g, t, p], for row BLOCK_Y of `rows`, over polynomials of `each` rows in out.
// out, log_degree, table, rows, each, terms, terms of the factors, columns, groups, then for each row (modulus, address, plane, bits, row in out, row in xs), then
// groups.., then addresses of xs..
KERNEL(factor_products, PRODUCT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = (u64)BLOCK_X * UNITS + unit, log_degree = args[1];
        if (i < 1ull << log_degree) {
            const u64 terms = args[5], columns = args[7], groups = args[8];
            const u64* const own = args + 9 + 6 * BLOCK_Y;
            const u64* const group = args + 9 + 6 * args[3];
            const u64* const xs = group + groups;
            const Modulus m = load_modulus(args[2], own[0]);
            const PackedRow row = {own[1], own[2], own[3]};
            for (u64 g = 0; g < groups; ++g) {
                const FactorProducts products = {xs, terms, columns, group[g] * args[6] * columns, (own[5] << log_degree) | i, row};
                for (u64 first = 0; first < columns; first += COLUMNS_TOGETHER) {
                    Wide sums[COLUMNS_TOGETHER] = {};
                    const u64 count = least(columns - first, (u64)COLUMNS_TOGETHER);
                    if (count == 1) products.sum<1>(sums, first, i, m);
                    else if (count == 2) products.sum<2>(sums, first, i, m);
                    else if (count == 3) products.sum<3>(sums, first, i, m);
                    else products.sum<4>(sums, first, i, m);
                    for (u32 p = 0; p < COLUMNS_TOGETHER; ++p)
                        if (p < count) target(args[0])[(((g * columns + first + p) * args[4] + own[4]) << log_degree) | i] = sums[p].low;
                }
            }
        }
    }
}

// Largest number of polynomials of an input that a unit sums at a time.
#define POLYS_TOGETHER 4

// out[p] <- sum_t xs[t][p] plaintexts[t], for one sum, row BLOCK_Y of `rows`; a plaintext's degree is that of out divided by 1 << log_gap.
// out, log_degree, table, rows, polys, terms, log_gap, then for each row (modulus, address, plane, bits), then for each term (address of the input, rows of
// its polynomials)..
KERNEL(plaintext_products, DEFAULT_UNITS) {
    ARGUMENTS;
    EACH_UNIT {
        const u64 i = (u64)BLOCK_X * UNITS + unit, log_degree = args[1];
        if (i < 1ull << log_degree) {
            const u64 rows = args[3], polys = args[4], terms = args[5], r = BLOCK_Y;
            const u64* const own = args + 7 + 4 * r;
            const u64* const inputs = args + 7 + 4 * rows;
            const Modulus m = load_modulus(args[2], own[0]);
            const PackedRow row = {own[1], own[2], own[3]};
            for (u64 first = 0; first < polys; first += POLYS_TOGETHER) {
                Wide sums[POLYS_TOGETHER];
                for (u32 p = 0; p < POLYS_TOGETHER; ++p) sums[p] = {0, 0};
                u64 added = 0;
                for (u64 t = 0; t < terms; ++t) {
                    const u64 each = inputs[2 * t + 1];
                    // The input is zero modulo primes beyond its rows.
                    if (r >= each) continue;
                    const u64 y = unpack(row, t, i >> args[6]);
                    for (u32 p = 0; p < POLYS_TOGETHER; ++p)
                        if (first + p < polys) add_term(sums[p], added, source(inputs[2 * t])[(((first + p) * each + r) << log_degree) | i], y, m);
                    added += 1;
                }
                for (u32 p = 0; p < POLYS_TOGETHER; ++p)
                    if (first + p < polys) target(args[0])[(((first + p) * rows + r) << log_degree) | i] = reduce_wide(sums[p], m);
            }
        }
    }
}
