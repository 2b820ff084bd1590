//! Lets the built worker find libtorch with no environment set: where it was found at build time, or beside the
//! project. `LD_LIBRARY_PATH` still comes first, so a carried binary runs on the libtorch of another machine. Packages
//! that depend on the worker's library are told the place too, as `DEP_LYCEUM_WORKER_LIBTORCH_LIB`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(lib) = std::env::var("DEP_LYCEUM_ENGINE_LIBTORCH_LIB") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{lib}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../../.libtorch/lib");
        println!("cargo:LIBTORCH_LIB={lib}");
    }
}
