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
pub(crate) use endpoint::{About, Endpoint, Format, show};
pub(crate) use list::{All, Filter, list, list_of_run};
pub(crate) use page::{DEFAULT_LIMIT, Listing, Order, Page};
pub(crate) use query::Query;
pub(crate) use schema::{bound, query, query_parameters};

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    #[test]
    fn the_contract_imports_errors_alone() {
        let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/contract");
        for file in fs::read_dir(room).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let imports = text
                .split("crate::")
                .skip(1)
                .filter(|rest| !rest.starts_with("contract::"));
            for import in imports {
                assert!(
                    import.starts_with("api_error::"),
                    "{} imports crate::{import:.40}",
                    path.display()
                );
            }
        }
    }
}
