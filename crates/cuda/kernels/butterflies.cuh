// Butterflies of the transforms in three kinds of arithmetic, which give the same residues:
//
// - words of 64 bits, by Harvey's lazy butterflies with Shoup's quotients, for every modulus: 27 instructions of 32 bits on a device;
// - words of 32 bits, by the same butterflies, for moduli below 2^30: 8 instructions on every device;
// - doubles, for moduli below 2^50, where a device multiplies doubles at half of its full rate: 8 instructions.
//
// `tables.rs` chooses the arithmetic of a modulus by its size and by what the device computes fast.
#pragma once
#include "modular.cuh"

// Values below 4q forward and below 2q inverse.
struct WordButterflies {
    typedef u64 Value;
    u64 q, table;

    DEVICE_METHOD u64 enter(u64 residue) const { return residue; }
    DEVICE_METHOD u64 read(u64 bits) const { return bits; }
    DEVICE_METHOD u64 bits(u64 x) const { return x; }
    DEVICE_METHOD u64 before_forward(u64 x) const { return x; }
    DEVICE_METHOD u64 before_inverse(u64 x) const { return x; }
    DEVICE_METHOD u64 before_third_inverse(u64 x) const { return x; }

    // (a, b) <- (a + b w, a - b w)
    DEVICE_METHOD void forward(u64& a, u64& b, u64 node) const {
        const u64 u = least(a, a - 2 * q), v = mul_lazy(b, load_multiplier(table, node), q);
        a = u + v;
        b = u + 2 * q - v;
    }
    // (a, b) <- (a + b, (a - b) w)
    DEVICE_METHOD void inverse(u64& a, u64& b, u64 node) const {
        const u64 u = a, v = b;
        a = least(u + v, u + v - 2 * q);
        b = mul_lazy(u + 2 * q - v, load_multiplier(table, node), q);
    }
    DEVICE_METHOD u64 leave(u64 x) const { return reduce_once(least(x, x - 2 * q), q); }
    DEVICE_METHOD u64 leave_scaled(u64 x, const Modulus& m) const {
        const Multiplier scale = {m.inverse_degree, m.inverse_degree_quotient};
        return mul_shoup(x, scale, q);
    }
};

// The same in words of 32 bits, which hold values below 4q for q below 2^30. A factor is a word of 64 bits: the quotient floor(value 2^32 / q) in the
// upper half, the value in the lower half.
struct ShortButterflies {
    typedef u32 Value;
    u32 q;
    u64 table;

    // x w in [0, 2q), for any x.
    DEVICE_METHOD u32 product(u32 x, u64 node) const {
        const u64 w = source(table)[node];
        return x * (u32)w - mul_high_short(x, (u32)(w >> 32)) * q;
    }

    DEVICE_METHOD u32 enter(u64 residue) const { return (u32)residue; }
    DEVICE_METHOD u32 read(u64 bits) const { return (u32)bits; }
    DEVICE_METHOD u64 bits(u32 x) const { return x; }
    DEVICE_METHOD u32 before_forward(u32 x) const { return x; }
    DEVICE_METHOD u32 before_inverse(u32 x) const { return x; }
    DEVICE_METHOD u32 before_third_inverse(u32 x) const { return x; }

    DEVICE_METHOD void forward(u32& a, u32& b, u64 node) const {
        const u32 u = least(a, a - 2 * q), v = product(b, node);
        a = u + v;
        b = u + 2 * q - v;
    }
    DEVICE_METHOD void inverse(u32& a, u32& b, u64 node) const {
        const u32 u = a, v = b;
        a = least(u + v, u + v - 2 * q);
        b = product(u + 2 * q - v, node);
    }
    DEVICE_METHOD u64 leave(u32 x) const {
        const u32 y = least(x, x - 2 * q);
        return least(y, y - q);
    }
    DEVICE_METHOD u64 leave_scaled(u32 x, const Modulus& m) const {
        const Multiplier scale = {m.inverse_degree, m.inverse_degree_quotient};
        return mul_shoup(x, scale, m.q);
    }
};

// Signed integers as doubles. A product x w is h + l, its rounded value and the rounding error; t is x w / q rounded to an integer, with an error of at
// most 1/2 + |x| 2^-52. So |h + l - t q| <= (1/2 + |x| 2^-52) q, and the computation is exact while |x| <= 2^51.
//
// Magnitudes in units of q, where settled (centred) values are at most 1/2. Forward, from settled values and for q < 2^50: 1.13, 1.91 and 2.9 after one,
// two and three stages. For q < 2^46, forward transforms settle no values between stages: residues are below 1 at the start and below 11 after 17
// stages, which is less than 2^50. Inverse transforms double the sums: 1 and 2 after two stages. For q < 2^50 the latter is 2^51, so values are settled
// before the third stage; for q < 2^46 they may reach 4.
struct DoubleButterflies {
    typedef double Value;
    double q, reciprocal;
    u64 table;
    bool large; // q is above 2^46

    // x w rounded to an integer, for |x w| up to 2^51: the sum with 1.5 2^52 has no fractional bits.
    static DEVICE_METHOD double whole(double x, double w) { return add_rounded(fused(x, w, 6755399441055744.0), -6755399441055744.0); }
    DEVICE_METHOD double settled(double x) const { return fused(-whole(x, reciprocal), q, x); }
    DEVICE_METHOD double product(double x, double w) const {
        const double t = whole(x, mul_rounded(w, reciprocal)), h = mul_rounded(x, w);
        return add_rounded(fused(-t, q, h), fused(x, w, -h));
    }

    DEVICE_METHOD double enter(u64 residue) const { return to_double(residue); }
    DEVICE_METHOD double read(u64 bits) const { return as_double(bits); }
    DEVICE_METHOD u64 bits(double x) const { return as_bits(x); }
    DEVICE_METHOD double before_forward(double x) const { return large ? settled(x) : x; }
    DEVICE_METHOD double before_inverse(double x) const { return settled(x); }
    DEVICE_METHOD double before_third_inverse(double x) const { return large ? settled(x) : x; }

    DEVICE_METHOD void forward(double& a, double& b, u64 node) const {
        const double u = a, v = product(b, as_double(source(table)[node]));
        a = add_rounded(u, v);
        b = add_rounded(u, -v);
    }
    DEVICE_METHOD void inverse(double& a, double& b, u64 node) const {
        const double u = a, v = b;
        a = add_rounded(u, v);
        b = product(add_rounded(u, -v), as_double(source(table)[node]));
    }
    DEVICE_METHOD u64 leave(double x) const {
        const double y = settled(x);
        return to_word(y < 0.0 ? add_rounded(y, q) : y);
    }
    DEVICE_METHOD u64 leave_scaled(double x, const Modulus& m) const { return leave(product(settled(x), to_double(m.inverse_degree))); }
};
