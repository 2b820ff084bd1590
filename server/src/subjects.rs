//! What the laboratory has, by subject: what is read of it, its endpoints and its pages.

pub(crate) mod alerts;
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
mod tokens;
mod views;
pub(crate) mod work;
pub(crate) mod workers;

use actix_web::web::ServiceConfig;

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
        .chain(tokens::endpoints())
        .chain(views::endpoints())
        .chain(work::endpoints())
        .chain(workers::endpoints())
}

/// The pages of all subjects.
pub(crate) fn pages(config: &mut ServiceConfig) {
    config
        .service(alerts::page::show_alerts)
        .service(difficulty::page::show_difficulty)
        .service(views::open_view)
        .service(views::show_views)
        .service(work::pages::show_queue)
        .service(work::pages::show_work_item)
        .service(workers::show_all_workers)
        .service(workers::show_one_worker);
}
