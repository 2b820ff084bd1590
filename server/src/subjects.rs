//! What the laboratory has, by subject: what is read of it, its endpoints and its pages.

mod alerts;
mod archive;
mod births;
pub(crate) mod curriculum;
pub(crate) mod difficulty;
pub(crate) mod diversity;
pub(crate) mod geometry;
pub(crate) mod goalposts;
mod held_out;
mod matchups;
mod members;
pub(crate) mod selection;
mod steps;
mod workers;

use crate::contract::Endpoint;

/// The endpoints of all subjects.
pub(crate) fn endpoints() -> impl Iterator<Item = Endpoint> {
    let all = alerts::endpoints().into_iter();
    all.chain(archive::endpoints())
        .chain(births::endpoints())
        .chain(difficulty::endpoints())
        .chain(held_out::endpoints())
        .chain(matchups::endpoints())
        .chain(members::endpoints())
        .chain(steps::endpoints())
        .chain(workers::endpoints())
}
