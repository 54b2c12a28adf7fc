// Runs the transforms with a thread for each unit, for the thread sanitizer: scripts/sanitize_kernels.py builds it with every barrier, and without one of them.
#include "host.cpp"

#include <cstdio>

// A row of 2^8 words in tiles of 2^5: 2^3 rows of 2^5 columns, and columns in tiles of 2^2 lanes. Which numbers are transformed does not matter here.
int main() {
    const u64 log_degree = 8, log_height = 3, log_lanes = 2, degree = 1ull << log_degree, q = 65537;
    std::vector<u64> pairs(2 * degree, 3), powers(degree), x(degree), y(degree);
    for (u64 i = 0; i < degree; ++i) {
        powers[i] = as_bits(3.0);
        x[i] = i * i % q;
    }
    for (int with_doubles = 0; with_doubles < 2; ++with_doubles) {
        const u64 address = (u64)powers.data();
        const Modulus m = {q, 281470681808895ull, 0, (u64)pairs.data(), (u64)pairs.data(), 1, 0, with_doubles ? address : 0, with_doubles ? address : 0};
        const u64 args[] = {log_degree, log_height, log_lanes, (u64)&m, (u64)y.data(), (u64)x.data(), 0};
        const u32 units = 8, tiles_of_rows = 1u << log_height, tiles_of_columns = 1u << (log_degree - log_height - log_lanes);
        clathrate_host_launch(clathrate_host_kernel("forward_columns"), 0, tiles_of_columns, tiles_of_columns, 0, units, 32, args, true);
        clathrate_host_launch(clathrate_host_kernel("forward_rows"), 0, tiles_of_rows, tiles_of_rows, 0, units, 32, args, true);
        clathrate_host_launch(clathrate_host_kernel("inverse_rows"), 0, tiles_of_rows, tiles_of_rows, 0, units, 32, args, true);
        clathrate_host_launch(clathrate_host_kernel("inverse_columns"), 0, tiles_of_columns, tiles_of_columns, 0, units, 32, args, true);
    }
    std::puts("done");
}
