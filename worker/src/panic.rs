//! What a panic says.

use std::any::Any;

/// The message of a panic, if it has one.
pub(crate) fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied())
}
