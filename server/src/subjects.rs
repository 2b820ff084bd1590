//! What the laboratory has, by subject: what is read of it, its endpoints and its pages.

pub(crate) mod difficulty;
mod held_out;
mod matchups;

use crate::contract::Endpoint;

/// The endpoints of all subjects.
pub(crate) fn endpoints() -> impl Iterator<Item = Endpoint> {
    let all = [
        difficulty::rows(),
        difficulty::over_time(),
        held_out::list(),
        matchups::list(),
    ];
    all.into_iter()
}
