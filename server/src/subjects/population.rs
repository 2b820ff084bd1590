//! The steps of a run, and its population: members, births, matchups, and measurements on rows that it does not learn from.

pub(crate) mod adapter;
pub(super) mod arms_race;
pub(super) mod cross_play;
pub(crate) mod lineage;
pub(super) mod member;
pub(crate) mod page;

use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_store::matchups::{self, MatchupFilter};
use lyceum_store::members::{self, MemberFilter};
use lyceum_store::page::Window;
use lyceum_store::{births, held_out, steps};
use sqlx::PgPool;

use crate::contract::{About, All, Endpoint, Filter, list_of_run, show};

impl Filter for MatchupFilter {}

impl Filter for MemberFilter {}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let all_steps = About {
        name: "list_steps",
        path: "/runs/{id}/steps",
        summary: "List the started steps of a run.",
        answer: "A page of steps",
    };
    let step = About {
        name: "show_step",
        path: "/runs/{id}/steps/{step}",
        summary: "Show a step of a run.",
        answer: "The step",
    };
    let all_members = About {
        name: "list_members",
        path: "/runs/{id}/members",
        summary: "List the members of a run, each with its newest ratings and weights.",
        answer: "A page of members",
    };
    let member = About {
        name: "show_member",
        path: "/runs/{id}/members/{member}",
        summary: "Show a member of a run.",
        answer: "The member",
    };
    let all_births = About {
        name: "list_births",
        path: "/runs/{id}/lineage",
        summary: "List the births of a run with the parents' weights, operator and seed, from which each can be \
                  replayed.",
        answer: "A page of births",
    };
    let all_matchups = About {
        name: "list_matchups",
        path: "/runs/{id}/matchups",
        summary: "List the matchups of a run.",
        answer: "A page of matchups",
    };
    let measurements = About {
        name: "list_held_out",
        path: "/runs/{id}/held-out",
        summary: "List the measurements of a run's members on held-out rows.",
        answer: "A page of measurements",
    };
    let steps_of = async |db: &PgPool, run: ExecutionId, _: &All, window: &Window| steps::page(db, run, window).await;
    let births_of = async |db: &PgPool, run: ExecutionId, _: &All, window: &Window| births::page(db, run, window).await;
    let measured =
        async |db: &PgPool, run: ExecutionId, _: &All, window: &Window| held_out::page(db, run, window).await;
    let find_step = async |db: &PgPool, (run, step): (ExecutionId, u32)| steps::find(db, run, step).await;
    let find_member = async |db: &PgPool, (run, member): (ExecutionId, MemberId)| members::find(db, run, member).await;
    let step = show(step, "runs", find_step).id("id", "The run");
    let member = show(member, "runs", find_member).id("id", "The run");
    vec![
        list_of_run(all_steps, steps_of),
        step.number("step", "The step, from 0"),
        list_of_run(all_members, members::page),
        member.id("member", "The member"),
        list_of_run(all_births, births_of),
        list_of_run(all_matchups, matchups::page),
        list_of_run(measurements, measured),
    ]
}
