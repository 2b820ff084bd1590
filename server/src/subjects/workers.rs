//! Processes that do the work.

use lyceum_store::workers::{self, WorkerFilter};

use crate::contract::{About, Endpoint, Filter, list, show};

impl Filter for WorkerFilter {}

pub(super) fn endpoints() -> [Endpoint; 2] {
    let all = About {
        name: "list_workers",
        path: "/workers",
        summary: "List workers.",
        answer: "A page of workers",
    };
    let one = About {
        name: "show_worker",
        path: "/workers/{id}",
        summary: "Show a worker.",
        answer: "The worker",
    };
    [
        list(all, "workers", workers::page),
        show(one, "workers", workers::find).id("id", "The worker"),
    ]
}
