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
    let all_steps =
        About::new("list_steps", "/runs/{id}/steps").says("List the started steps of a run.", "A page of steps");
    let step = About::new("show_step", "/runs/{id}/steps/{step}").says("Show a step of a run.", "The step");
    let all_members = About::new("list_members", "/runs/{id}/members")
        .says("List the members of a run, each with its newest ratings and weights.", "A page of members");
    let member = About::new("show_member", "/runs/{id}/members/{member}").says("Show a member of a run.", "The member");
    let all_births = About::new("list_births", "/runs/{id}/lineage").says(
        "List the births of a run with the parents' weights, operator and seed, from which each can be \
                  replayed.",
        "A page of births",
    );
    let all_matchups =
        About::new("list_matchups", "/runs/{id}/matchups").says("List the matchups of a run.", "A page of matchups");
    let measurements = About::new("list_held_out", "/runs/{id}/held-out")
        .says("List the measurements of a run's members on held-out rows.", "A page of measurements");
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
