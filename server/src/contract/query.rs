//! Parameters of addresses: unknown ones are refused, and all faults of a query are reported at once.

use actix_web::dev::Payload;
use actix_web::error::PathError;
use actix_web::web::PathConfig;
use actix_web::{Error, FromRequest, HttpRequest};
use lyceum_core::config::parse_query;
use lyceum_core::fault::Fault;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::future::{Ready, ready};

use crate::api_error::ApiError;

/// Valid parameters.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + 'static> FromRequest for Query<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(parse(request.query_string()).map(Self))
    }
}

/// Parses `query`, the part of an address after `?`.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema + 'static>(query: &str) -> Result<T, ApiError> {
    let named = |fault: Fault| {
        let name = fault.pointer.strip_prefix('/').unwrap_or_default();
        (name.replace("~1", "/").replace("~0", "~"), fault.detail)
    };
    parse_query(query).map_err(|faults| ApiError::invalid_query(faults.0.into_iter().map(named).collect()))
}

/// A malformed id is reported as 404.
pub(crate) fn malformed_path() -> PathConfig {
    PathConfig::default().error_handler(|error: PathError, request: &HttpRequest| -> Error {
        ApiError::not_found(format!("{} is not a valid address: {error}", request.path())).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Asked {
        limit: Option<u32>,
    }

    #[test]
    fn a_fault_names_its_parameter() {
        assert_eq!(parse::<Asked>("limit=5").unwrap().limit, Some(5));
        let said = serde_json::to_value(parse::<Asked>("a/b~=1").unwrap_err()).unwrap();
        assert_eq!(said["errors"][0]["parameter"], "a/b~", "{said}");
    }
}
