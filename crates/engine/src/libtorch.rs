//! The build of libtorch that was loaded.

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
        Self {
            cuda,
            gpus: tch::Cuda::device_count(),
        }
    }
}

/// CUDA's number of a version, `1000 * major + 10 * minor`.
fn version(number: i64) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
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
