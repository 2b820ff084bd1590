//! The end of a process that has loaded libtorch.

use std::ffi::{c_int, c_void};

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
