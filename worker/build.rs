//! Lets the worker find libtorch without any environment variable: where it was at build time, or next to the project.
//! `LD_LIBRARY_PATH` takes precedence, so a copied binary can use another machine's libtorch. Packages that depend on
//! the worker's library get the path as `DEP_LYCEUM_WORKER_LIBTORCH_LIB`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(lib) = std::env::var("DEP_LYCEUM_ENGINE_LIBTORCH_LIB") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{lib}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../../.libtorch/lib");
        println!("cargo:LIBTORCH_LIB={lib}");
    }
}
