//! Runs one item by hand: with the handlers of the queue, but without queue and database.

use std::collections::BTreeMap;

use lyceum_core::named::UnknownName;
use lyceum_core::work::{Outcome, Payload, WorkKey, WorkKind, WrongKind};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::handler::{Artifacts, Context, HandlerError, Handlers};

/// Why an item could not be run by hand.
#[derive(Debug, thiserror::Error)]
pub enum ByHandError {
    /// There is no handler for the item's kind.
    #[error("there is no handler for items of kind {0}")]
    NotServed(WorkKind),
    /// The item's payload is of another kind than the item.
    #[error("a payload of {0}")]
    WrongKind(#[from] WrongKind),
    #[error(transparent)]
    Failed(#[from] HandlerError),
}

impl Item {
    /// Runs the item to its outcome. `progress` is called with the share that is done, from 0 to 1, and the current
    /// activity.
    ///
    /// # Errors
    /// The item cannot be run, or its handler fails.
    pub async fn run(
        self,
        handlers: &Handlers,
        artifacts: Artifacts,
        mut progress: impl FnMut(f32, &str),
    ) -> Result<Outcome, ByHandError> {
        let context = Context::new(self.key, 1, artifacts, CancellationToken::new());
        let mut news = context.watch_progress();
        let mut running = handlers.run(self.kind, self.payload, context).ok_or(ByHandError::NotServed(self.kind))??;
        loop {
            tokio::select! {
                outcome = &mut running => return Ok(outcome?),
                Ok(()) = news.changed() => {
                    let now = news.borrow_and_update().clone();
                    progress(now.share.unwrap_or(0.0), now.note.as_deref().unwrap_or_default());
                }
            }
        }
    }
}

/// An item and its place in its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub kind: WorkKind,
    /// Its place.
    pub key: WorkKey,
    pub payload: Payload,
}

/// Why a text is not an item.
#[derive(Debug, thiserror::Error)]
pub enum ItemError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    /// The text is a server's error response.
    #[error("an error response of the server, not an item: {status} {detail}")]
    ErrorResponse {
        /// The HTTP status.
        status: u16,
        /// The explanation.
        detail: String,
    },
    /// The JSON is something else.
    #[error(
        "neither a response of GET /api/v1/work/{{id}} nor a payload such as {{\"verify\": {{\"tasks\": []}}}}: {0}"
    )]
    NotAnItem(String),
    #[error(transparent)]
    UnknownKind(#[from] UnknownName),
    /// The payload has fields or values that this release does not know.
    #[error(
        "lyceum-worker {} cannot read this {kind} payload: {source}. Use the release that queued it, or a later one",
        env!("CARGO_PKG_VERSION")
    )]
    Unreadable {
        /// The item's kind.
        kind: WorkKind,
        /// The cause.
        source: serde_json::Error,
    },
}

/// The fields of `GET /api/v1/work/{id}` that matter for running; the others describe what became of the item.
#[derive(Deserialize)]
struct Shown<'a> {
    kind: String,
    step: u32,
    phase: String,
    round: u32,
    chunk: u32,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// An error response of the server (RFC 9457).
#[derive(Deserialize)]
struct Problem {
    status: u16,
    title: String,
    #[serde(default)]
    detail: String,
}

impl Item {
    /// Reads a response of `GET /api/v1/work/{id}`, or only its field `payload`.
    ///
    /// # Errors
    /// The text is something else.
    pub fn from_json(text: &str) -> Result<Self, ItemError> {
        // Payloads are parsed from their text: a detour through `Value` may round their numbers.
        let raw: &RawValue = serde_json::from_str(text).map_err(ItemError::NotJson)?;
        let not_an_item = |error: serde_json::Error| ItemError::NotAnItem(error.to_string());
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).map_err(not_an_item)?;
        if fields.contains_key("payload") {
            let shown: Shown<'_> = serde_json::from_str(raw.get()).map_err(not_an_item)?;
            let kind: WorkKind = shown.kind.parse()?;
            return Ok(Self {
                kind,
                key: WorkKey::new(shown.step, shown.phase).round(shown.round).chunk(shown.chunk),
                payload: payload(kind, shown.payload)?,
            });
        }
        if let Ok(Problem { status, title, detail }) = serde_json::from_str(raw.get()) {
            return Err(ItemError::ErrorResponse { status, detail: format!("{title}: {detail}") });
        }
        let mut names = fields.into_keys();
        match (names.next(), names.next()) {
            (Some(name), None) => {
                let kind = name.parse()?;
                Ok(Self { kind, key: WorkKey::new(0, "by-hand"), payload: payload(kind, raw)? })
            }
            _ => Err(ItemError::NotAnItem("there is no field `payload`".to_owned())),
        }
    }
}

fn payload(kind: WorkKind, raw: &RawValue) -> Result<Payload, ItemError> {
    serde_json::from_str(raw.get()).map_err(|source| ItemError::Unreadable { kind, source })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(text: &str) -> String {
        Item::from_json(text).unwrap_err().to_string()
    }

    #[test]
    fn a_response_of_the_server_and_its_payload_alone_are_items() {
        let payload = json!({"verify": {"tasks": []}});
        let alone = Item::from_json(&payload.to_string()).unwrap();
        assert_eq!(alone.kind, WorkKind::Verify);
        let shown = json!({
            "id": "0190a5b0-0000-7000-8000-000000000000", "kind": "verify", "step": 3, "phase": "check", "round": 1,
            "chunk": 2, "state": "done", "payload": payload, "result": null, "inputs": []
        });
        let item = Item::from_json(&shown.to_string()).unwrap();
        assert_eq!(item.key, WorkKey::new(3, "check").round(1).chunk(2));
        assert_eq!(item.payload, alone.payload);
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        assert!(refusal("").starts_with("not JSON"));
        assert!(refusal("<html>").starts_with("not JSON"));
        for other in ["[]", "{}", r#"{"id": 1, "kind": "verify"}"#, r#"{"payload": {}}"#] {
            let said = refusal(other);
            assert!(said.contains("GET /api/v1/work/{id}"), "{other}: {said}");
        }
        assert!(refusal(r#"{"verif": {}}"#).contains("`verif` is not a kind of work"));
        let not_found =
            r#"{"type": "urn:lyceum:problem:not-found", "title": "Not found", "status": 404, "detail": "no"}"#;
        assert_eq!(refusal(not_found), "an error response of the server, not an item: 404 Not found: no");
    }

    #[test]
    fn a_payload_of_a_later_release_is_refused_by_its_field() {
        let said = refusal(r#"{"verify": {"tasks": [], "patience": 3}}"#);
        assert!(said.contains("cannot read this verify payload") && said.contains("`patience`"), "{said}");
    }
}
