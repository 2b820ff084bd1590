//! Matchups of a run: a proposer's problems, attempted by a solver.

use lyceum_store::matchups::{self, MatchupFilter};

use crate::contract::{About, Endpoint, Filter, list_of_run};

impl Filter for MatchupFilter {}

pub(super) fn endpoints() -> [Endpoint; 1] {
    let all = About {
        name: "list_matchups",
        path: "/runs/{id}/matchups",
        summary: "List the matchups of a run.",
        answer: "A page of matchups",
    };
    [list_of_run(all, matchups::page)]
}
