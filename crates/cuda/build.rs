//! Compiles the kernels as C++ for the host device, where that feature is on.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    #[cfg(feature = "host-device")]
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file("kernels/host.cpp")
        // Kernels stay fast in test builds, and sums of products of doubles are rounded as the CPU's are.
        .opt_level(3)
        .flag("-ffp-contract=off")
        .flag("-Wall")
        .flag("-Wextra")
        .compile("clathrate_kernels");
}
