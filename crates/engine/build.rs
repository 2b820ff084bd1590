//! Hands the place of libtorch on: to this crate's own tests as a run path, and to packages that depend on it as
//! `DEP_LYCEUM_ENGINE_LIBTORCH_LIB`, so that what they build finds libtorch with no environment set.

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    if let Ok(lib) = std::env::var("DEP_TCH_LIBTORCH_LIB") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{lib}");
        println!("cargo:LIBTORCH_LIB={lib}");
    }
}
