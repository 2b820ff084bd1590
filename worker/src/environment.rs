//! What libtorch reads from the environment.

use std::os::unix::process::CommandExt;

/// OpenMP's threads must not spin while they wait, which would starve everything else on the machine. cuDNN's attention makes
/// a plan for every new shape, and while tokens are generated the shape changes with each of them, so others come first. CUDA
/// counts GPUs from the fastest unless told to count as `nvidia-smi` does. A cache that grows layer by layer leaves gaps that
/// nothing fits into, unless the allocator can extend what it has.
const SETTINGS: [(&str, &str); 5] = [
    ("GOMP_SPINCOUNT", "0"),
    ("OMP_WAIT_POLICY", "passive"),
    ("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1"),
    ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
];

/// Re-executes the process with the settings in its environment, unless the user has set them. They are read when the
/// libraries are loaded, before `main`, so setting them here would be too late.
pub fn prepare() {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    // The allocator's settings have a second name, which counts only without the first.
    let is_given = |name: &str| is_set(name) || name == "PYTORCH_CUDA_ALLOC_CONF" && is_set("PYTORCH_ALLOC_CONF");
    let missing: Vec<_> = SETTINGS.into_iter().filter(|(name, _)| !is_given(name)).collect();
    if missing.is_empty() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    // Returns only on failure; then the process continues, slower but correct.
    let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).envs(missing).exec();
    eprintln!("warning: libtorch's threads will spin while they wait: {error}");
}
