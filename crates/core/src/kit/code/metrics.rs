//! Metrics of recipes that play with code problems.

mod charts;
mod measures;
mod scope;

pub(crate) use self::scope::Tally;

use self::{
    measures::measures,
    scope::{Scope, Scoped},
};
use crate::{
    contract::{Metric, MetricRecord, Role, Side, metric},
    id::MemberId,
};

/// The metrics, in the order of their values.
pub(crate) fn metrics() -> Vec<Metric> {
    metric::metrics(&measures())
}

impl Tally<'_> {
    /// The run's row and one row per member; members are given by position, the role their metrics are about, and
    /// identifier.
    pub(crate) fn records(&self, members: impl IntoIterator<Item = (usize, Role, MemberId)>) -> Vec<MetricRecord> {
        let members = members.into_iter().map(|(place, role, id)| {
            let scope = match role.side() {
                Side::Solves => Scope::Student(place),
                _ => Scope::Teacher(place),
            };
            (Some(id), Scoped::new(self, scope))
        });
        let run = (None, Scoped::new(self, Scope::Run));
        metric::records(&measures(), members.chain([run]))
    }
}
