//! The libtorch that was loaded, and the end of a process that has loaded it.

use std::ffi::{c_int, c_void};

use serde::Serialize;

use crate::device::cuda;

/// What libtorch can compute on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Libtorch {
    /// The version of CUDA that it was built for, such as `13.0`; none in a build for CPUs.
    pub cuda: Option<String>,
    /// GPUs that it finds.
    pub gpus: i64,
}

impl Libtorch {
    /// The build of this process.
    pub fn loaded() -> Self {
        // Without its CUDA half libtorch has no version of CUDA, and throws when it is asked for one.
        let has_cuda = cuda::load().is_ok() && tch::utils::has_cudart();
        let cuda = has_cuda.then(|| version(tch::utils::version_cudart()));
        Self { cuda, gpus: tch::Cuda::device_count() }
    }
}

/// CUDA's number of a version, `1000 * major + 10 * minor`.
fn version(number: i64) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// Runs once libtorch is loaded, before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = skip_destructors;

/// Lets the process end without libtorch's destructors. They free memory piece by piece that the system takes back anyway, which
/// takes almost half as long as loading it. Handlers of exit run in reverse order, so this one comes before them.
extern "C" fn skip_destructors() {
    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    extern "C" fn leave(status: c_int, _: *mut c_void) {
        // SAFETY: null means every stream, and `_exit` runs nothing of this process.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(status)
        }
    }
    // SAFETY: the function is of the type that is called, and there as long as the process.
    unsafe { on_exit(leave, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn cudas_numbers_are_read() {
        assert_eq!(version(13_000), "13.0");
        assert_eq!(version(12_080), "12.8");
    }
}
