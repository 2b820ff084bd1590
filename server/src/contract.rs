//! What all endpoints of the API have in common: an endpoint is declared once, for router, description and permission alike.
//! `docs/API-DESIGN.md` has the rules. Knows nothing of what is listed, shown and done.

mod answer;
pub(crate) mod bounds;
pub(crate) mod caller;
pub(crate) mod document;
mod endpoint;
pub(crate) mod file_body;
pub(crate) mod idempotent;
mod list;
mod page;
pub(crate) mod query;
pub(crate) mod receive;
mod schema;

pub(crate) use answer::{Answer, check_if_match, csv, csv_of, is_known};
pub(crate) use caller::{Caller, TraceId};
pub(crate) use endpoint::{About, Endpoint, Format, act, delete, show};
pub(crate) use list::{All, Asked, Filter, list, list_of_run, list_within};
pub(crate) use page::{DEFAULT_LIMIT, Listing, Order};
pub(crate) use query::Query;
pub(crate) use schema::query_parameters;
