//! The device that holds the tensors and the precision the model computes in.

use std::sync::OnceLock;

use lyceum_core::work::Dtype;
use tch::kind::Element;
use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};

/// The libtorch kind of a precision.
pub fn kind(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::Fp32 => Kind::Float,
        Dtype::Bf16 => Kind::BFloat16,
    }
}

/// A device and the precision to compute in on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// The device that holds all tensors.
    pub device: Device,
    /// The precision of weights and activations.
    pub dtype: Dtype,
}

impl Placement {
    /// The reference: fp32 on the CPU.
    pub const REFERENCE: Self = Self {
        device: Device::Cpu,
        dtype: Dtype::Fp32,
    };

    /// `asked` is `cpu`, `cuda`, `cuda:N`, or `auto` (the first GPU if there is one, else the CPU).
    pub fn new(asked: &str, dtype: Dtype) -> Result<Self> {
        Ok(Self {
            device: device(asked)?,
            dtype,
        })
    }

    /// libtorch's name of the precision.
    pub fn kind(self) -> Kind {
        kind(self.dtype)
    }
}

/// Sets the number of CPU threads; `None` restores libtorch's default. The number of threads affects the last bits of a
/// result.
pub fn set_threads(threads: Option<u32>) {
    static AT_START: OnceLock<i32> = OnceLock::new();
    let at_start = *AT_START.get_or_init(tch::get_num_threads);
    tch::set_num_threads(
        threads
            .and_then(|threads| i32::try_from(threads).ok())
            .unwrap_or(at_start),
    );
}

/// Numbers of the host as a tensor on `device`. For a GPU they are put into pinned memory first, so that the copy waits for no
/// earlier work.
pub(crate) fn upload<T: Element>(values: &[T], device: Device) -> Result<Tensor> {
    let here = Tensor::f_from_slice(values)?;
    if !device.is_cuda() {
        return Ok(here.f_to_device(device)?);
    }
    // `f_pin_memory` always names the device, which libtorch warns of twice for each tensor.
    Ok(here
        .f_internal_pin_memory(device)?
        .f_to_device_(device, here.kind(), true, false)?)
}

/// Bytes of memory of the GPU that CUDA counts as `index`, in use or not; `None` if CUDA does not tell.
pub(crate) fn memory(index: usize) -> Option<u64> {
    cuda::load().ok()?;
    cuda::memory(index)
}

fn device(asked: &str) -> Result<Device> {
    let refuse = |reason: String| EngineError::Device {
        asked: asked.to_owned(),
        reason,
    };
    let index = match asked {
        "cpu" => return Ok(Device::Cpu),
        "auto" => {
            return Ok(if cuda::load().is_ok() && tch::Cuda::is_available() {
                Device::Cuda(0)
            } else {
                Device::Cpu
            });
        }
        "cuda" => 0,
        other => other
            .strip_prefix("cuda:")
            .and_then(|index| index.parse::<usize>().ok())
            .ok_or_else(|| refuse("use auto, cpu, cuda or cuda:N".to_owned()))?,
    };
    cuda::load().map_err(&refuse)?;
    let count = usize::try_from(tch::Cuda::device_count()).unwrap_or(0);
    if index >= count {
        return Err(refuse(format!("libtorch sees {count} CUDA devices")));
    }
    Ok(Device::Cuda(index))
}

/// libtorch's CUDA half is opened at run time rather than linked, so one binary serves machines with and without a GPU.
pub(crate) mod cuda {
    use std::ffi::{CStr, c_int, c_void};
    use std::mem::transmute;
    use std::sync::OnceLock;

    /// Opens `libtorch_cuda.so` once with global symbols, which registers the CUDA kernels.
    pub(crate) fn load() -> Result<(), String> {
        static LOADED: OnceLock<Result<(), String>> = OnceLock::new();
        LOADED.get_or_init(|| open(c"libtorch_cuda.so")).clone()
    }

    fn open(library: &CStr) -> Result<(), String> {
        // SAFETY: `library` is a NUL-terminated string; the handle is kept open for the life of the process.
        let handle: *mut c_void = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !handle.is_null() {
            return Ok(());
        }
        // SAFETY: dlerror returns NULL or a NUL-terminated string that is valid until the next dl call of this thread.
        let message = unsafe {
            let text = libc::dlerror();
            if text.is_null() {
                "unknown reason".to_owned()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        };
        Err(format!(
            "libtorch_cuda.so cannot be opened ({message}); it must be next to libtorch_cpu.so or on LD_LIBRARY_PATH"
        ))
    }

    /// Bytes of memory of a GPU, by the runtime that libtorch has loaded; tch does not give them.
    pub(super) fn memory(index: usize) -> Option<u64> {
        let index = c_int::try_from(index).ok()?;
        let (get, set, info) = (
            symbol(c"cudaGetDevice")?,
            symbol(c"cudaSetDevice")?,
            symbol(c"cudaMemGetInfo")?,
        );
        // SAFETY: these are the signatures of CUDA's runtime API, whose functions may be called on any thread.
        let (get, set, info) = unsafe {
            (
                transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> c_int>(get),
                transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> c_int>(set),
                transmute::<*mut c_void, unsafe extern "C" fn(*mut usize, *mut usize) -> c_int>(info),
            )
        };
        let (mut before, mut free, mut total) = (0, 0, 0);
        // SAFETY: the pointers are to variables of the types that the functions write. The thread's device is put back.
        let told = unsafe {
            if get(&mut before) != 0 || set(index) != 0 {
                return None;
            }
            let told = info(&mut free, &mut total) == 0;
            set(before);
            told
        };
        told.then_some(total as u64)
    }

    fn symbol(name: &CStr) -> Option<*mut c_void> {
        // SAFETY: `name` is a NUL-terminated string.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}
