//! libtorch's CUDA half. It is opened at run time rather than linked, so one binary serves machines with and without a GPU.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::mem::transmute;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::cuda;

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
        if text.is_null() { "unknown reason".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    };
    Err(format!(
        "libtorch_cuda.so cannot be opened ({message}); it must be next to libtorch_cpu.so or on LD_LIBRARY_PATH"
    ))
}

/// Bytes of a GPU's memory that nothing uses now, by the runtime that libtorch has loaded; tch does not give them. The thread
/// stays on this device: to put another one back would create a context there, which takes memory.
pub(super) fn free_memory(index: usize) -> Option<u64> {
    let index = c_int::try_from(index).ok()?;
    let (set, info) = (symbol(libc::RTLD_DEFAULT, c"cudaSetDevice")?, symbol(libc::RTLD_DEFAULT, c"cudaMemGetInfo")?);
    let (mut free, mut total) = (0, 0);
    // SAFETY: these are the signatures of CUDA's runtime API, whose functions may be called on any thread, and the pointers are
    // to variables of the types that they write.
    let told = unsafe {
        let set = transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> c_int>(set);
        let info = transmute::<*mut c_void, unsafe extern "C" fn(*mut usize, *mut usize) -> c_int>(info);
        set(index) == 0 && info(&mut free, &mut total) == 0
    };
    told.then_some(free as u64)
}

/// A GPU's name, by the driver, which counts as the runtime does and names the parts of a GPU that is divided (MIG).
pub(super) fn name(index: usize) -> Option<String> {
    let index = c_int::try_from(index).ok()?;
    // SAFETY: the name is NUL-terminated. The handle is kept open, as libtorch keeps its own.
    let driver = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if driver.is_null() {
        return None;
    }
    let (init, get, name) =
        (symbol(driver, c"cuInit")?, symbol(driver, c"cuDeviceGet")?, symbol(driver, c"cuDeviceGetName")?);
    let mut device: c_int = 0;
    let mut text = [0_u8; 256];
    // SAFETY: these are the signatures of CUDA's driver API. The text has the length that is passed, and the driver ends it with
    // NUL within it.
    let told = unsafe {
        let init = transmute::<*mut c_void, unsafe extern "C" fn(c_uint) -> c_int>(init);
        let get = transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int, c_int) -> c_int>(get);
        let name = transmute::<*mut c_void, unsafe extern "C" fn(*mut u8, c_int, c_int) -> c_int>(name);
        init(0) == 0 && get(&mut device, index) == 0 && name(text.as_mut_ptr(), text.len() as c_int, device) == 0
    };
    let text = CStr::from_bytes_until_nul(&text).ok().filter(|_| told)?;
    Some(text.to_string_lossy().into_owned())
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: `library` is an open one or the pseudo-handle of all, and `name` is NUL-terminated.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// What was free on each GPU when it was first chosen, before anything of this process was on it.
static FREE: Mutex<BTreeMap<usize, Option<u64>>> = Mutex::new(BTreeMap::new());

static LIMIT: OnceLock<u64> = OnceLock::new();

/// Limits what is planned with on any GPU, in bytes. The first limit stays.
pub fn limit_memory(bytes: u64) {
    LIMIT.get_or_init(|| bytes);
}

/// Bytes that this process may take of the GPU that CUDA counts as `index`: what was free when it was chosen, other processes
/// having the rest, but no more than the limit. `None` if neither is known.
pub fn memory(index: usize) -> Option<u64> {
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).get(&index).copied();
    least(free.flatten(), LIMIT.get().copied())
}

/// To be called when a GPU is chosen.
pub(super) fn note(index: usize) {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    free.entry(index).or_insert_with(|| cuda::free_memory(index));
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use super::{least, memory};

    #[test]
    fn the_less_of_what_is_free_and_the_limit_counts() {
        assert_eq!(least(Some(80), Some(35)), Some(35));
        assert_eq!(least(Some(20), Some(35)), Some(20));
        assert_eq!(least(None, Some(35)), Some(35));
        assert_eq!(least(Some(80), None), Some(80));
    }

    #[test]
    fn nothing_is_known_of_a_gpu_that_was_not_chosen() {
        assert_eq!(memory(77), None);
    }
}
