//! `/work/{id}`: an item with its payload, result and errors.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::WorkId;
use lyceum_store::work::{self, TryLog, WorkDetail};
use serde::Serialize;
use serde_json::Value;

use crate::{
    api_error::ApiError,
    frame::{
        layout::{Layout, Section},
        view::View,
    },
    lab::Lab,
};

/// Maximum characters of a payload or a result on the page; the JSON has all.
const SHOWN: usize = 20_000;

#[derive(Debug)]
struct FailedTry {
    attempt: String,
    at: String,
    worker: String,
    kind: String,
    message: String,
}

#[derive(Template, Serialize)]
#[template(path = "work_item.html")]
struct WorkItemPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    work: WorkDetail,
    /// What workers said while they ran it, by try.
    logs: Vec<TryLog>,
    /// What every worker lacks that is present.
    lacks: Option<String>,
}

impl WorkItemPage {
    fn tries(&self) -> Vec<FailedTry> {
        let text = |value: &Value| match value {
            Value::Null => "–".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let errors = self.work.item.errors.as_array();
        errors
            .into_iter()
            .flatten()
            .map(|error| FailedTry {
                attempt: text(&error["attempt"]),
                at: text(&error["at"]),
                worker: text(&error["worker"]),
                kind: text(&error["kind"]),
                message: text(&error["message"]),
            })
            .collect()
    }

    fn payload(&self) -> String {
        serde_json::from_str(self.work.payload.get()).map_or_else(|error| error.to_string(), |value| shown(&value))
    }

    fn result(&self) -> Option<String> {
        self.work.result.as_ref().map(shown)
    }
}

fn shown(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!(
            "{}\n… {} bytes in total; see this page's JSON",
            &text[..end],
            text.len()
        ),
        None => text,
    }
}

#[get("/work/{id}")]
pub(crate) async fn show_work_item(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<WorkId>,
) -> Result<HttpResponse, ApiError> {
    let work = work::find(lab.store.pool(), *id).await?;
    let logs = work::logs(lab.store.pool(), *id).await?;
    let lacks = work::lacks(lab.store.pool(), *id).await?;
    let item = &work.item;
    let title = format!("{} {} of step {}", item.phase, item.chunk, item.step);
    view.show(&WorkItemPage {
        layout: view.layout(title, Section::Work),
        work,
        logs,
        lacks: lacks.map(|lack| lack.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        let text = shown(&Value::String("ü".repeat(SHOWN)));
        assert!(text.contains("40002 bytes in total"), "{}", text.len());
    }
}
