//! What libtorch reads from the environment.

use std::os::unix::process::CommandExt;

/// OpenMP's threads must not spin while they wait, which would starve everything else on the machine. cuDNN's attention makes
/// a plan for every new shape, and while tokens are generated the shape changes with each of them, so others come first.
const SETTINGS: [(&str, &str); 3] = [
    ("GOMP_SPINCOUNT", "0"),
    ("OMP_WAIT_POLICY", "passive"),
    ("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1"),
];

/// Re-executes the process with the settings in its environment, unless the user has set them. They are read when the
/// libraries are loaded, before `main`, so setting them here would be too late.
pub fn prepare() {
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
