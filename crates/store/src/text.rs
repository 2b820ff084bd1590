//! Making text from models storable.

use serde::Serialize;
use std::borrow::Cow;

use crate::{Result, StoreError};

/// `text` with NUL, which Postgres cannot store, replaced by `␀`.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{2400}")) } else { Cow::Borrowed(text) }
}

/// `value` for a `json` column, to be bound as text and cast: bound as JSON it would pass through `jsonb`, which
/// refuses `\u0000`.
pub(crate) fn json_text(what: &'static str, value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(StoreError::json(what))
}
