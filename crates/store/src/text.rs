//! Text that models wrote, made fit for a `text` column.

use std::borrow::Cow;

/// `text` with NUL, the one character that Postgres cannot hold, written as `␀`.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{2400}"))
    } else {
        Cow::Borrowed(text)
    }
}
