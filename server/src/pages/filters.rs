//! Filters in a page's address.

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::future::{Ready, ready};

use crate::{api_error::ApiError, contract::query};

/// Parameters of a page's address. Forms send all their fields, so empty ones are ignored.
#[derive(Debug)]
pub(crate) struct Filters<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + 'static> FromRequest for Filters<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(query::parse(&without_empty(request.query_string())).map(Self))
    }
}

/// How curves are drawn, which `web/src/settings.ts` and `web/src/pins.ts` keep in the address and only the browser reads.
const DRAWING: [&str; 5] = ["smoothing", "log", "members", "pins", "only"];

fn without_empty(query: &str) -> String {
    let counts = |(name, value): (&str, &str)| !value.is_empty() && !DRAWING.contains(&name);
    let given = query.split('&').filter(|pair| pair.split_once('=').is_some_and(counts));
    given.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_left_empty_are_left_out() {
        assert_eq!(without_empty("state=&name=a&tag=&order"), "name=a");
        assert_eq!(
            without_empty("from=2&smoothing=0.5&log=1&members=0&pins=a,b&only=pins"),
            "from=2"
        );
        assert_eq!(without_empty(""), "");
    }
}
