//! Which answers are compressed: texts that are made whole. `docs/SECURITY.md` says why that gives nothing away.

use actix_web::{
    Error,
    body::{BodySize, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue},
    middleware::{Compress, Next},
};

/// Bytes below which an answer is sent as it is.
const LEAST: u64 = 1000;

/// Compresses by what the client accepts.
pub(crate) fn compress() -> Compress {
    Compress::default()
}

/// Keeps streams of events, files that are made while they are sent, and what is compressed already from being compressed. Goes
/// inside [`compress`].
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

/// Takes away the mark that [`leave_as_it_is`] set: it is no coding to tell clients of.
pub(super) fn forget_identity<B>(response: &mut ServiceResponse<B>) {
    if response
        .headers()
        .get(CONTENT_ENCODING)
        .is_some_and(|coding| coding == "identity")
    {
        response.headers_mut().remove(CONTENT_ENCODING);
    }
}
