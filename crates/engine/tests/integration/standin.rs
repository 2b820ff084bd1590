//! What the stand-in for CUDA (`script/gpu-standin`) does and tells beyond CUDA.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;

/// Makes the allocation of this number from here on, counted from 1, fail once (0: none). Returns how many there have been.
pub(crate) fn fail_allocation(number: usize) -> usize {
    // SAFETY: the stand-in's function has this signature.
    unsafe { transmute::<*mut c_void, extern "C" fn(usize) -> usize>(function(c"standin_fail_allocation"))(number) }
}

/// Whether this process has a context on the GPU that CUDA counts as `index`.
pub(crate) fn has_context(index: usize) -> bool {
    // SAFETY: the stand-in's function has this signature.
    let answer = unsafe { transmute::<*mut c_void, extern "C" fn(c_int) -> c_int>(function(c"standin_has_context")) };
    answer(index as c_int) != 0
}

/// Calls of this thread so far of `kernels`, `views`, or an operation as the stand-in's log names it.
pub(crate) fn calls(what: &CStr) -> u64 {
    // SAFETY: the stand-in's function has this signature.
    let calls = unsafe { transmute::<*mut c_void, extern "C" fn(*const c_char) -> u64>(function(c"standin_calls")) };
    calls(what.as_ptr())
}

fn function(name: &CStr) -> *mut c_void {
    // SAFETY: the name is NUL-terminated.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    assert!(!found.is_null(), "CUDA is not the stand-in; run this with script/gpu-standin");
    found
}
