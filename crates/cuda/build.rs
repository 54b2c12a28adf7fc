//! Compiles the kernels as C++ for the host device, where that feature is on.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    #[cfg(feature = "host-device")]
    host_device();
}

#[cfg(feature = "host-device")]
fn host_device() {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .file("kernels/host.cpp")
        // Kernels stay fast in test builds, and sums of products of doubles are rounded as the CPU's are.
        .opt_level(3)
        .flag("-ffp-contract=off")
        .flag("-Wall")
        .flag("-Wextra");
    // For scripts/sanitize_kernels.py: `address` watches every access of the kernels.
    println!("cargo::rerun-if-env-changed=CLATHRATE_SANITIZE");
    if let Ok(sanitizer) = std::env::var("CLATHRATE_SANITIZE") {
        let flag = format!("-fsanitize={sanitizer}");
        build.flag(&flag);
        // The C compiler links no libraries of its own for Rust.
        println!("cargo::rustc-link-arg=-l{}san", if sanitizer == "thread" { "t" } else { "a" });
    }
    build.compile("clathrate_kernels");
}
