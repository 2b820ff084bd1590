//! Keeps libtorch's OpenMP threads from spinning while they wait, which would starve everything else on the machine.

use std::os::unix::process::CommandExt;

const SETTINGS: [(&str, &str); 2] = [("GOMP_SPINCOUNT", "0"), ("OMP_WAIT_POLICY", "passive")];

/// Re-executes the process with the settings in its environment, unless the user has set them. libgomp reads them when
/// it is loaded, before `main`, so setting them here would be too late.
pub fn stop_spinning() {
    if SETTINGS.iter().all(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let missing = SETTINGS
        .into_iter()
        .filter(|(name, _)| std::env::var_os(name).is_none());
    // Returns only on failure; then the process continues, slower but correct.
    let error = std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .envs(missing)
        .exec();
    eprintln!("warning: libtorch's threads will spin while they wait: {error}");
}
