//! Headers and bodies of all responses: security headers, caching, compression, and none of a body for `HEAD`.

use actix_web::Error;
use actix_web::body::{BodySize, EitherBody, MessageBody, None as NoBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{self, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use actix_web::middleware::{Compress, Next};

/// Only this server's own files are loaded, and nothing inline runs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// Adds the headers to every response.
pub(crate) async fn harden<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let mut response = next.call(request).await?;
    for (name, value) in HEADERS {
        // What a page sets itself is stricter.
        if !response.headers().contains_key(name) {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
    }
    forget_identity(&mut response);
    Ok(response)
}

/// Keeps responses that needed a token out of shared caches; browsers revalidate with their ETag.
pub(crate) async fn say_json_is_private<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let mut response = next.call(request).await?;
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.contains("json") && !response.headers().contains_key(CACHE_CONTROL) {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    Ok(response)
}

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
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("identity"));
    }
    Ok(response)
}

/// Removes the mark set by [`leave_as_it_is`], which is not an encoding for clients.
pub(super) fn forget_identity<B>(response: &mut ServiceResponse<B>) {
    if response.headers().get(CONTENT_ENCODING).is_some_and(|coding| coding == "identity") {
        response.headers_mut().remove(CONTENT_ENCODING);
    }
}

/// Answers `HEAD` like `GET`, without the body. Must be outside any middleware that looks at the method.
pub(crate) async fn answer_head<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, NoBody>>, Error> {
    if request.method() != Method::HEAD {
        return Ok(next.call(request).await?.map_into_left_body());
    }
    request.head_mut().method = Method::GET;
    let mut response = next.call(request).await?;
    if let BodySize::Sized(length) = response.response().body().size() {
        response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    }
    Ok(response.map_body(|_, _| EitherBody::right(NoBody::new())))
}
