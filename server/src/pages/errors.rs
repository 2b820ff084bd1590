//! The error page for browsers.

use actix_web::{
    Error, HttpMessage as _, HttpResponse,
    body::{EitherBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{Method, header},
    middleware::Next,
};
use askama::Template;

use super::{
    layout::{Assets, accepts, theme_of},
    view::wants_json,
};
use crate::{access::Caller, api_error::ApiError, log::TraceId};

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    error: &'a ApiError,
    /// The page without its parameters, if those may be at fault.
    bare: Option<String>,
    trace: Option<String>,
    known: bool,
    theme: &'static str,
    assets: Assets,
}

/// Turns errors into pages for browsers that requested a page.
pub(crate) async fn show_errors<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let request_is_for_page = matches!(*request.method(), Method::GET | Method::HEAD)
        && !request.path().starts_with("/api/")
        && accepts(request.request(), "text/html")
        && !wants_json(request.request());
    let response = next.call(request).await?;
    if !request_is_for_page {
        return Ok(response.map_into_left_body());
    }
    let shown = response
        .response()
        .error()
        .and_then(|error| error.as_error::<ApiError>())
        .and_then(|error| page(&response, error));
    match shown {
        Some(page) => Ok(response.into_response(page).map_into_right_body()),
        None => Ok(response.map_into_left_body()),
    }
}

fn page<B>(response: &ServiceResponse<B>, error: &ApiError) -> Option<HttpResponse> {
    let request = response.request();
    // Reading cookies writes to the request's extensions, so they must not be borrowed meanwhile.
    let theme = theme_of(request);
    let trace = request
        .extensions()
        .get::<TraceId>()
        .map(|trace| trace.as_str().to_owned());
    let known = request.extensions().get::<Caller>().is_some();
    let page = ErrorPage {
        error,
        bare: (!request.query_string().is_empty()).then(|| request.path().to_owned()),
        trace,
        known,
        theme,
        assets: Assets,
    };
    let html = page.render().ok()?;
    Some(
        HttpResponse::build(error.status())
            .content_type("text/html; charset=utf-8")
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .body(html),
    )
}
