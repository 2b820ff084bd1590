//! Turns panics of tch back into the errors that they are.
//!
//! A call that takes a number gets it as a `Scalar`, and tch 0.24's `Scalar::drop`, which runs before an `f_` function looks for its
//! error, reads libtorch's pending error itself and unwraps it. So whatever fails in such a call panics, above all when memory
//! runs out. Everything that goes on after an error of libtorch, or names what failed, therefore calls libtorch through
//! [`as_errors`].

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use tch::TchError;

use crate::error::{EngineError, Result};

thread_local! {
    /// How many calls of [`as_errors`] this thread is in.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Runs `pass`; a panic of tch over an error of libtorch is an error, and is not printed. Other panics go on. What `pass` changes
/// must be as good after a panic as after an error.
pub(crate) fn as_errors<T>(pass: impl FnOnce() -> Result<T>) -> Result<T> {
    print_no_errors();
    INSIDE.set(INSIDE.get() + 1);
    let result = panic::catch_unwind(AssertUnwindSafe(pass));
    INSIDE.set(INSIDE.get() - 1);
    result.unwrap_or_else(|panicked| match libtorch_error(panicked.as_ref()) {
        Some(message) => Err(EngineError::Torch(TchError::Torch(message))),
        None => panic::resume_unwind(panicked),
    })
}

/// Keeps the panic hook from printing what [`as_errors`] returns.
fn print_no_errors() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if INSIDE.get() == 0 || libtorch_error(info.payload()).is_none() {
                before(info);
            }
        }));
    });
}

/// The first line of the error of libtorch that `Result::unwrap` panicked with.
fn libtorch_error(panicked: &(dyn Any + Send)) -> Option<String> {
    let message = panicked.downcast_ref::<String>()?;
    let (_, error) = message.split_once("`Result::unwrap()` on an `Err` value: Torch(\"")?;
    let line = error.split("\\n").next().unwrap_or(error);
    Some(line.trim_end_matches("\")").replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::*;

    #[test]
    fn an_error_of_a_call_with_a_number_is_returned_on_one_line() {
        let tensor = Tensor::zeros([2, 2], (Kind::Float, Device::Cpu));
        let fails = || Ok(tensor.f_linalg_norm(2, [7].as_slice(), false, Kind::Double)?);
        let EngineError::Torch(error) = as_errors(fails).unwrap_err() else {
            panic!("another error");
        };
        let told = error.to_string();
        assert!(told.contains("Dimension out of range") && told.lines().count() == 1, "{told}");
    }

    #[test]
    fn another_panic_goes_on() {
        let panicked = panic::catch_unwind(|| as_errors::<()>(|| panic!("something else")));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"something else"));
    }
}
