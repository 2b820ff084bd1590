//! Members of a run.

use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_store::members::{self, MemberFilter};
use sqlx::PgPool;

use crate::contract::{About, Endpoint, Filter, list_of_run, show};

impl Filter for MemberFilter {}

pub(super) fn endpoints() -> [Endpoint; 2] {
    let all = About {
        name: "list_members",
        path: "/runs/{id}/members",
        summary: "List the members of a run, each with its newest ratings and weights.",
        answer: "A page of members",
    };
    let one = About {
        name: "show_member",
        path: "/runs/{id}/members/{member}",
        summary: "Show a member of a run.",
        answer: "The member",
    };
    let find = async |db: &PgPool, (run, member): (ExecutionId, MemberId)| members::find(db, run, member).await;
    let one = show(one, "runs", find);
    [
        list_of_run(all, members::page),
        one.id("id", "The run").id("member", "The member"),
    ]
}
