//! `HEAD`: the response of `GET` without its body (RFC 9110, section 9.3.2).

use actix_web::{
    Error,
    body::{BodySize, EitherBody, MessageBody, None as NoBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{Method, header},
    middleware::Next,
};

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
