//! Compression of complete text responses. `docs/SECURITY.md` says why this leaks nothing.

use actix_web::{
    Error,
    body::{BodySize, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue},
    middleware::{Compress, Next},
};

/// Smaller responses, in bytes, are not compressed.
const LEAST: u64 = 1000;

/// Compresses with an encoding the client accepts.
pub(crate) fn compress() -> Compress {
    Compress::default()
}

/// Exempts event streams, generated files and compressed content from compression. Must be inside [`compress`].
pub(crate) async fn leave_as_it_is<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let mut response = next.call(request).await?;
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_text = kind.starts_with("text/html") || kind.contains("json") && !kind.contains("ndjson");
    let is_long = matches!(response.response().body().size(), BodySize::Sized(LEAST..));
    let is_compressed = response.headers().contains_key(CONTENT_ENCODING);
    if !(is_compressed || is_text && is_long) {
        response
            .headers_mut()
            .insert(CONTENT_ENCODING, HeaderValue::from_static("identity"));
    }
    Ok(response)
}

/// Removes the mark set by [`leave_as_it_is`], which is not an encoding for clients.
pub(super) fn forget_identity<B>(response: &mut ServiceResponse<B>) {
    if response
        .headers()
        .get(CONTENT_ENCODING)
        .is_some_and(|coding| coding == "identity")
    {
        response.headers_mut().remove(CONTENT_ENCODING);
    }
}
