//! Bundles the scripts and styles of `web/` into the build's own folder, from where the server embeds them.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    let web = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../web");
    for part in ["src", "styles", "build.mjs", "package-lock.json", "node_modules/.package-lock.json"] {
        println!("cargo:rerun-if-changed={}", web.join(part).display());
    }
    if !web.join("node_modules/esbuild").exists() {
        fail("the packages of web/ are not installed; run script/bootstrap, or: cd web && npm ci");
    }
    let Some(out) = env::var_os("OUT_DIR") else {
        fail("cargo gave no OUT_DIR");
    };
    let mut bundler = Command::new("node");
    bundler.arg("build.mjs").arg(Path::new(&out).join("web")).current_dir(&web);
    match bundler.status() {
        Ok(status) if status.success() => {}
        Ok(status) => {
            fail(&format!("the scripts and styles of web/ could not be bundled ({status}); esbuild says why above"))
        }
        Err(error) => {
            fail(&format!("node, which bundles web/, could not be run ({error}); script/bootstrap installs it"))
        }
    }
}

/// Ends the build with a line that says what to do.
fn fail(cure: &str) -> ! {
    println!("cargo:warning={cure}");
    eprintln!("{cure}");
    std::process::exit(1)
}
