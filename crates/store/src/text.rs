//! Text that models wrote, made fit for a `text` column.

use serde::Serialize;
use std::borrow::Cow;

use crate::{Result, StoreError};

/// `text` with NUL, the one character that Postgres cannot hold, written as `␀`.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{2400}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// `value` for a `json` column, to be bound as text and cast: bound as JSON it would pass through `jsonb`, which does not
/// take `\u0000`.
pub(crate) fn json_text(what: &'static str, value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(StoreError::json(what))
}
