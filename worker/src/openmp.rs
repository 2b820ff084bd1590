//! Keeps libtorch's OpenMP threads from spinning while they wait, which would starve everything else on the machine.

use std::os::unix::process::CommandExt;

const SETTINGS: [(&str, &str); 2] = [("GOMP_SPINCOUNT", "0"), ("OMP_WAIT_POLICY", "passive")];

/// Starts the process anew with the settings in its environment, unless they are there (in whatever form the user
/// chose). libgomp reads them as it is loaded, which is before `main`; to set them here would be too late.
pub fn stop_spinning() {
    if SETTINGS.iter().all(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let missing = SETTINGS
        .into_iter()
        .filter(|(name, _)| std::env::var_os(name).is_none());
    // Comes back only if it fails; then the process goes on as it is, slower but right.
    let error = std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .envs(missing)
        .exec();
    eprintln!("warning: libtorch's threads will spin while they wait: {error}");
}
