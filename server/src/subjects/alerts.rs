//! What somebody may want to know at once.

use lyceum_store::alerts::{self, AlertFilter};

use crate::contract::{About, Endpoint, Filter, list};

impl Filter for AlertFilter {}

pub(super) fn endpoints() -> [Endpoint; 1] {
    let all = About {
        name: "list_alerts",
        path: "/alerts",
        summary: "List alerts of the last thirty days.",
        answer: "A page of alerts",
    };
    [list(all, "alerts", alerts::page)]
}
