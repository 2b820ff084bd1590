//! The family tree of a run.

use lyceum_core::id::ExecutionId;
use lyceum_store::{births, page::Window};
use sqlx::PgPool;

use crate::contract::{About, All, Endpoint, list_of_run};

pub(super) fn endpoints() -> [Endpoint; 1] {
    let all = About {
        name: "list_births",
        path: "/runs/{id}/lineage",
        summary: "List the births of a run with the parents' weights, operator and seed, from which each can be replayed.",
        answer: "A page of births",
    };
    let read = async |db: &PgPool, run: ExecutionId, _: &All, window: &Window| births::page(db, run, window).await;
    [list_of_run(all, read)]
}
