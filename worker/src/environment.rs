//! Settings of the libraries below libtorch, which read them from the environment as the process starts.

use std::os::unix::process::CommandExt;

const SETTINGS: [(&str, &str); 3] = [
    // OpenMP's threads do not spin while they wait, which would starve everything else on the machine.
    ("GOMP_SPINCOUNT", "0"),
    ("OMP_WAIT_POLICY", "passive"),
    // Up to 512 MiB of freed tensors are kept for the next, in large pages where the kernel grants them: new memory has to be
    // cleared, a page at a time, which took 6 % of an update. One arena, because only the first can keep large blocks.
    (
        "GLIBC_TUNABLES",
        "glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=536870912:\
         glibc.malloc.top_pad=67108864:glibc.malloc.hugetlb=1",
    ),
];

/// Starts the process anew with the settings in its environment, unless they are there (in whatever form the user
/// chose): to make them here would be too late.
pub(crate) fn settle() {
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
    eprintln!("warning: libtorch's threads will spin while they wait, and memory is not kept: {error}");
}
