//! `/runs.json` is `/runs` in JSON.

use actix_web::{
    Error, HttpMessage as _,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{Uri, uri::PathAndQuery},
    middleware::Next,
};

/// Marks a request whose address asked for JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct AsJson;

/// Removes `.json` from the address of a page and marks the request.
pub(crate) async fn take_suffix<B: MessageBody>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    if let Some(uri) = without_suffix(request.uri()) {
        request.match_info_mut().get_mut().update(&uri);
        request.head_mut().uri = uri;
        request.extensions_mut().insert(AsJson);
    }
    next.call(request).await
}

fn without_suffix(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if ["/api/", "/assets/", "/docs/"]
        .iter()
        .any(|other| path.starts_with(other))
    {
        return None;
    }
    let bare = path.strip_suffix(".json")?;
    let address = match uri.query() {
        Some(query) => format!("{bare}?{query}"),
        None => bare.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(address.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_lose_their_suffix_and_other_addresses_keep_it() {
        let bare = |address: &str| without_suffix(&address.parse().unwrap()).map(|uri| uri.to_string());
        assert_eq!(bare("/runs.json?state=running").as_deref(), Some("/runs?state=running"));
        assert_eq!(bare("/.json").as_deref(), Some("/"));
        assert_eq!(bare("/runs"), None);
        assert_eq!(bare("/api/v1/openapi.json"), None);
    }
}
