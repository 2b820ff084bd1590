//! Raises what is to be alerted of.

use lyceum_store::alerts::{AlertKind, Candidate, NewAlert, candidates, raise};

use super::collapse::Watch;
use crate::{api_error::ApiError, lab::Lab};

/// Raises every alert that is due.
pub(super) async fn raise_all(lab: &Lab, collapses: &mut Watch) -> Result<(), ApiError> {
    let db = lab.store.pool();
    for found in candidates(db).await? {
        let (title, detail) = told(&found);
        let new = NewAlert {
            kind: found.kind,
            subject: found.subject,
            occurrence: &found.occurrence,
            run: found.run,
            title: &title,
            detail: &detail,
            only: None,
        };
        raise(db, &new).await?;
    }
    collapses.look(lab).await
}

/// An alert in a few words, and more about it.
fn told(found: &Candidate) -> (String, String) {
    let name = &found.name;
    let at = found.step.map_or(String::new(), |step| format!(" at step {step}"));
    match found.kind {
        AlertKind::Failed => (
            format!("{name} failed"),
            format!(
                "It failed{at}: {}",
                found.error.as_deref().unwrap_or("no cause is known")
            ),
        ),
        AlertKind::Stalled => (
            format!("{name} is stalled"),
            format!("Nothing has moved for a minute{at}. Is a worker running?"),
        ),
        AlertKind::Completed => (format!("{name} completed"), "All its steps have ended.".to_owned()),
        AlertKind::WorkerLost => (
            format!("The worker {name} is lost"),
            "It was not heard from for a minute; its items went back to the queue.".to_owned(),
        ),
        AlertKind::Collapsing => (format!("{name} is collapsing"), String::new()),
        AlertKind::Test => ("A test".to_owned(), String::new()),
    }
}
