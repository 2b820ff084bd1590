//! The server's log (`docs/LOGGING.md`).

mod request;
mod terminal;

pub(crate) use request::log_request;
pub(crate) use terminal::{PROGRESS, start_brief};
