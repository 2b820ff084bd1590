//! Compiles what is called by way of C++, and passes on the path of libtorch: to this crate's own tests as a run path, and to
//! dependent packages as `DEP_LYCEUM_ENGINE_LIBTORCH_LIB`, so that their binaries find libtorch without environment variables.

fn main() {
    println!("cargo:rerun-if-changed=src/device/graph.cpp");
    cc::Build::new().cpp(true).std("c++17").file("src/device/graph.cpp").compile("lyceum_graph");
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    if let Ok(lib) = std::env::var("DEP_TCH_LIBTORCH_LIB") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{lib}");
        println!("cargo:LIBTORCH_LIB={lib}");
    }
}
