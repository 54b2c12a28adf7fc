// Runs the transforms with a thread for each unit under the thread sanitizer. scripts/sanitize_kernels.py builds it with all barriers, and without each
// one of them in turn.
#include "host.cpp"

#include <cstdio>

// A polynomial of 2^8 words is a matrix of 2^3 rows and 2^5 columns. Tiles have 2^5 words: a row, or 2^2 columns. The values do not matter here.
int main() {
    const u64 log_degree = 8, log_height = 3, log_lanes = 2, degree = 1ull << log_degree, q = 65537;
    std::vector<u64> pairs(2 * degree, 3), powers(degree), x(degree), y(degree);
    for (u64 i = 0; i < degree; ++i) x[i] = i * i % q;
    for (const u64 arithmetic : {BY_WORDS, BY_DOUBLES, BY_SHORT_WORDS}) {
        for (u64& power : powers) power = arithmetic == BY_DOUBLES ? as_bits(3.0) : 3;
        const u64 table = (u64)powers.data();
        const Modulus m = {q, 281470681808895ull, 0, (u64)pairs.data(), (u64)pairs.data(), 1, 0, arithmetic, table, table};
        const u32 units = 8, tiles_of_rows = 1u << log_height, tiles_of_columns = 1u << (log_degree - log_height - log_lanes);
        const auto launch = [&](const char* kernel, u32 tiles, u64 shared_words, const u64* args) {
            clathrate_host_launch(clathrate_host_kernel(kernel), 0, tiles, tiles, 0, units, shared_words, args, true);
        };
        const u64 transform[] = {log_degree, log_height, log_lanes, (u64)&m, (u64)y.data(), (u64)x.data(), 0};
        launch("forward_columns", tiles_of_columns, 32, transform);
        launch("forward_rows", tiles_of_rows, 32, transform);
        launch("inverse_rows", tiles_of_rows, 32, transform);
        launch("inverse_columns", tiles_of_columns, 32, transform);
    }
    std::puts("done");
}
