//! Measurements of a run's members on rows of its dataset that it does not learn from.

use lyceum_core::id::ExecutionId;
use lyceum_store::{held_out, page::Window};
use sqlx::PgPool;

use crate::contract::{About, All, Endpoint, list_of_run};

pub(super) fn endpoints() -> [Endpoint; 1] {
    let all = About {
        name: "list_held_out",
        path: "/runs/{id}/held-out",
        summary: "List the measurements of a run's members on held-out rows.",
        answer: "A page of measurements",
    };
    let read = async |db: &PgPool, run: ExecutionId, _: &All, window: &Window| held_out::page(db, run, window).await;
    [list_of_run(all, read)]
}
