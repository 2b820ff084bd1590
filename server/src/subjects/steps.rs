//! Steps of a run.

use lyceum_core::id::ExecutionId;
use lyceum_store::{page::Window, steps};
use sqlx::PgPool;

use crate::contract::{About, All, Endpoint, list_of_run, show};

pub(super) fn endpoints() -> [Endpoint; 2] {
    let all = About {
        name: "list_steps",
        path: "/runs/{id}/steps",
        summary: "List the started steps of a run.",
        answer: "A page of steps",
    };
    let one = About {
        name: "show_step",
        path: "/runs/{id}/steps/{step}",
        summary: "Show a step of a run.",
        answer: "The step",
    };
    let page = async |db: &PgPool, run: ExecutionId, _: &All, window: &Window| steps::page(db, run, window).await;
    let find = async |db: &PgPool, (run, step): (ExecutionId, u32)| steps::find(db, run, step).await;
    let one = show(one, "runs", find);
    [
        list_of_run(all, page),
        one.id("id", "The run").number("step", "The step, from 0"),
    ]
}
