//! The viewer of a page and the requested format.

use actix_web::{
    FromRequest, HttpMessage as _, HttpRequest, HttpResponse, Responder as _,
    dev::Payload,
    http::header::{CACHE_CONTROL, HeaderValue, VARY},
    web,
};
use askama::Template;
use lyceum_store::tokens::Scope;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use std::future::{Ready, ready};

use super::{
    figure::Figure,
    layout::{Layout, Section, accepts, theme_of},
    suffix::AsJson,
};
use crate::{access::Caller, api_error::ApiError, contract::Answer};

/// The first step wanted in a page's charts, for viewers that have the earlier points.
const FROM_STEP: &str = "lyceum-from-step";

/// A request for a page.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) caller: Caller,
    pub(super) theme: &'static str,
    request: HttpRequest,
    as_json: bool,
}

impl FromRequest for View {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let caller = Caller::from_request(request, payload).into_inner();
        ready(caller.map(|caller| Self {
            caller,
            theme: theme_of(request),
            as_json: wants_json(request),
            request: request.clone(),
        }))
    }
}

/// Whether the request asked for JSON.
pub(super) fn wants_json(request: &HttpRequest) -> bool {
    request.extensions().get::<AsJson>().is_some()
        || (accepts(request, "application/json") && !accepts(request, "text/html"))
}

impl View {
    /// The frame of a page called `title`.
    pub(crate) fn layout(&self, title: impl Into<String>, section: Section) -> Layout {
        Layout::new(self, title, section)
    }

    /// Whether the viewer may make changes.
    pub(super) fn may_write(&self) -> bool {
        self.caller.token.scope >= Scope::Write
    }

    /// The page in the requested format.
    pub(crate) fn show<P: Template + Serialize>(&self, page: &P) -> Result<HttpResponse, ApiError> {
        let mut response = if self.as_json {
            Answer::ok(page).respond_to(&self.request)
        } else {
            let html = page.render().map_err(|error| ApiError::internal(&error))?;
            HttpResponse::Ok().content_type("text/html; charset=utf-8").body(html)
        };
        let headers = response.headers_mut();
        headers.insert(VARY, HeaderValue::from_static("accept, cookie, lyceum-from-step"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        Ok(response)
    }

    /// Charts over steps, without the points the viewer already has. A point over `width` steps is sent again until it
    /// is complete.
    pub(crate) fn news(&self, figures: Vec<Figure>, width: u32) -> Vec<Figure> {
        let asked = self.request.headers().get(FROM_STEP);
        let from = asked
            .and_then(|value| value.to_str().ok()?.parse::<u32>().ok())
            .map(|step| f64::from(step - step % width.max(1)));
        figures
            .into_iter()
            .map(|figure| Figure { from, width, ..figure })
            .collect()
    }

    pub(crate) fn request(&self) -> &HttpRequest {
        &self.request
    }

    /// The value of a parameter of the address, if it is not empty.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let parameters = self.parameters();
        parameters
            .into_iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    /// The address of this page with these parameters, or without those that have no value, from the beginning of its
    /// list.
    pub(super) fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let is_kept = |name: &str| name != "cursor" && !changes.iter().any(|(changed, _)| *changed == name);
        let kept = self.parameters().into_iter().filter(|(name, _)| is_kept(name));
        let added = changes
            .iter()
            .filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())));
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs: Vec<String> = kept
            .chain(added)
            .map(|(name, value)| format!("{name}={}", encoded(&value)))
            .collect();
        match pairs.is_empty() {
            true => self.request.path().to_owned(),
            false => format!("{}?{}", self.request.path(), pairs.join("&")),
        }
    }

    /// The parameters of the address that have a value.
    fn parameters(&self) -> Vec<(String, String)> {
        let pairs = web::Query::<Vec<(String, String)>>::from_query(self.request.query_string());
        let pairs = pairs.map(web::Query::into_inner).unwrap_or_default();
        pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The address of this page with `cursor` and its other parameters.
    pub(crate) fn with_cursor(&self, cursor: Option<&str>) -> String {
        let kept = self
            .request
            .query_string()
            .split('&')
            .filter(|pair| {
                !pair.starts_with("cursor=") && pair.split_once('=').is_some_and(|(_, value)| !value.is_empty())
            })
            .map(str::to_owned);
        let pairs: Vec<String> = kept.chain(cursor.map(|cursor| format!("cursor={cursor}"))).collect();
        match pairs.is_empty() {
            true => self.request.path().to_owned(),
            false => format!("{}?{}", self.request.path(), pairs.join("&")),
        }
    }

    /// The server's address as seen by the browser, safe within shell quotes.
    pub(super) fn origin(&self) -> String {
        let connection = self.request.connection_info();
        format!("{}://{}", connection.scheme(), connection.host().replace('\'', ""))
    }

    /// The shell command that gets this page's JSON.
    pub(super) fn curl(&self) -> String {
        let query = match self.request.query_string() {
            "" => String::new(),
            query => format!("?{}", query.replace('\'', "%27")),
        };
        let path = self.request.path().replace('\'', "%27");
        format!(
            "curl -H \"Authorization: Bearer $TOKEN\" '{}{path}.json{query}'",
            self.origin(),
        )
    }
}
