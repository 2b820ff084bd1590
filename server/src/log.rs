//! What the server says about requests: see `docs/LOGGING.md`.

mod request;
mod trace;

pub(crate) use request::log_request;
pub use trace::TraceId;
