//! What all endpoints of the API have in common: an endpoint is declared once, for router, description and permission alike.
//! `docs/API-DESIGN.md` has the rules. Knows nothing of what is listed and shown.

mod answer;
pub(crate) mod bounds;
mod endpoint;
mod list;
mod page;
pub(crate) mod query;
mod schema;

pub(crate) use answer::{Answer, check_if_match, csv, csv_of, is_known};
pub(crate) use endpoint::{About, Endpoint, Format};
pub(crate) use list::{All, Filter, list_of_run};
pub(crate) use page::{DEFAULT_LIMIT, Listing, Order, Page};
pub(crate) use query::Query;
pub(crate) use schema::{bound, query, query_parameters};
