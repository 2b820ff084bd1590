//! The viewer of a page, the address and format requested, and the page or the error in response.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, CACHE_CONTROL, HeaderValue, VARY};
use actix_web::http::uri::PathAndQuery;
use actix_web::http::{Method, Uri};
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpMessage as _, HttpRequest, HttpResponse, Responder as _, web};
use askama::Template;
use lyceum_store::tokens::Scope;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::{Ready, ready};

use crate::api_error::ApiError;
use crate::contract::{Answer, Caller, TraceId, query};
use crate::frame::address::PageAddress;
use crate::frame::figure::Figure;
use crate::frame::layout::{Assets, Layout, Section, accepts, theme_of};
use crate::frame::shared;

/// The first step wanted in a page's charts, for viewers that have the earlier points.
const FROM_STEP: &str = "lyceum-from-step";
/// What is encoded in the values of parameters. Ids stay as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-');

/// A request for a page.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) caller: Caller,
    pub(crate) theme: &'static str,
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

/// The links from a part of a list to others.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pager {
    /// The cursor of the next part, if there is one.
    next: Option<String>,
    #[serde(skip)]
    pub(crate) next_page: Option<String>,
    /// None on the first page.
    #[serde(skip)]
    pub(crate) first_page: Option<String>,
}

/// Whether the request asked for JSON.
pub(crate) fn wants_json(request: &HttpRequest) -> bool {
    request.extensions().get::<AsJson>().is_some()
        || (accepts(request, "application/json") && !accepts(request, "text/html"))
}

impl View {
    /// The frame of a page called `title`.
    pub(crate) fn layout(&self, title: impl Into<String>, section: Section) -> Layout {
        Layout::new(self, title, section)
    }

    /// Whether the viewer may make changes.
    pub(crate) fn may_write(&self) -> bool {
        self.caller.token.scope >= Scope::Write
    }

    /// Whether the page is requested as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.as_json
    }

    /// The page in the requested format.
    pub(crate) fn show<P: Template + Serialize>(&self, page: &P) -> Result<HttpResponse, ApiError> {
        let mut response = if self.as_json {
            Answer::ok(page).respond_to(&self.request)
        } else {
            let html = page.render().map_err(|error| ApiError::internal(&error))?;
            let html = match self.request.extensions().get::<PageAddress>() {
                Some(shared) => shared::without_links_elsewhere(&html, shared, self.request.uri())
                    .map_err(|error| ApiError::internal(&error))?,
                None => html,
            };
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
        figures.into_iter().map(|figure| Figure { from, width, ..figure }).collect()
    }

    pub(crate) fn request(&self) -> &HttpRequest {
        &self.request
    }

    /// The value of a parameter of the address, if it is not empty.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let parameters = self.parameters();
        parameters.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The address of this page with these parameters, or without those that have no value, from the beginning of its
    /// list.
    pub(crate) fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let is_kept = |name: &str| name != "cursor" && !changes.iter().any(|(changed, _)| *changed == name);
        let kept = self.parameters().into_iter().filter(|(name, _)| is_kept(name));
        let added = changes.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())));
        let encoded = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
        let pairs: Vec<String> = kept.chain(added).map(|(name, value)| format!("{name}={}", encoded(&value))).collect();
        match pairs.is_empty() {
            true => self.request.path().to_owned(),
            false => format!("{}?{}", self.request.path(), pairs.join("&")),
        }
    }

    /// The address of this page, at the same place of its list, with the parameter `open`.
    pub(crate) fn with_open(&self, open: &str) -> String {
        let cursor = self.parameter("cursor");
        self.with(&[("cursor", cursor.as_deref()), ("open", Some(open))])
    }

    /// The parameters of the address but for `others` and the place in the list, for the hidden fields of a form.
    pub(crate) fn kept(&self, others: &[&str]) -> Vec<(String, String)> {
        let is_kept = |name: &str| name != "cursor" && !others.contains(&name);
        self.parameters().into_iter().filter(|(name, _)| is_kept(name)).collect()
    }

    /// The parameters of the address that have a value.
    fn parameters(&self) -> Vec<(String, String)> {
        let pairs = web::Query::<Vec<(String, String)>>::from_query(self.request.query_string());
        let pairs = pairs.map(web::Query::into_inner).unwrap_or_default();
        pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The links of a list whose next part has the cursor `next`.
    pub(crate) fn pager(&self, next: Option<String>) -> Pager {
        Pager {
            next_page: next.as_deref().map(|next| self.with_cursor(Some(next))),
            first_page: self.parameter("cursor").map(|_| self.with_cursor(None)),
            next,
        }
    }

    /// The address of this page with `cursor` and its other parameters.
    fn with_cursor(&self, cursor: Option<&str>) -> String {
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
    pub(crate) fn origin(&self) -> String {
        let connection = self.request.connection_info();
        format!("{}://{}", connection.scheme(), connection.host().replace('\'', ""))
    }

    /// The shell command that gets this page's JSON.
    pub(crate) fn curl(&self) -> String {
        let query = match self.request.query_string() {
            "" => String::new(),
            query => format!("?{}", query.replace('\'', "%27")),
        };
        let path = self.request.path().replace('\'', "%27");
        format!("curl -H \"Authorization: Bearer $TOKEN\" '{}{path}.json{query}'", self.origin(),)
    }
}

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
    let mut kept: Vec<String> = Vec::new();
    for pair in given {
        // The ticked boxes of a form each send the parameter once more.
        let ticked = pair.strip_prefix("overlay=");
        match (ticked, kept.iter_mut().find(|other| other.starts_with("overlay="))) {
            (Some(more), Some(other)) => other.push_str(&format!(",{more}")),
            _ => kept.push(pair.to_owned()),
        }
    }
    kept.join("&")
}

/// Marks a request whose address asked for JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsJson;

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
    if ["/api/", "/assets/", "/docs/"].iter().any(|other| path.starts_with(other)) {
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

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    error: &'a ApiError,
    /// The page without its parameters, if those may be at fault.
    bare: Option<String>,
    trace: Option<String>,
    known: bool,
    /// The page that the viewer's link shows, if that is all that the viewer may see.
    shared: Option<String>,
    theme: &'static str,
    assets: Assets,
}

/// Turns errors into pages for browsers, which follow links to files of the API, too.
pub(crate) async fn show_errors<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let request_is_for_page =
        matches!(*request.method(), Method::GET | Method::HEAD) && accepts(request.request(), "text/html");
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
    let trace = request.extensions().get::<TraceId>().map(|trace| trace.as_str().to_owned());
    let known = request.extensions().get::<Caller>().is_some();
    let shared = request.extensions().get::<PageAddress>().map(PageAddress::address);
    let page = ErrorPage {
        error,
        bare: (!request.query_string().is_empty()).then(|| request.path().to_owned()),
        trace,
        known,
        shared,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_left_empty_are_left_out() {
        assert_eq!(without_empty("state=&name=a&tag=&order"), "name=a");
        assert_eq!(without_empty("from=2&smoothing=0.5&log=1&members=0&pins=a,b&only=pins"), "from=2");
        assert_eq!(without_empty(""), "");
        assert_eq!(without_empty("overlay=a&q=b&overlay=c"), "overlay=a,c&q=b");
    }

    #[test]
    fn pages_lose_their_suffix_and_other_addresses_keep_it() {
        let bare = |address: &str| without_suffix(&address.parse().unwrap()).map(|uri| uri.to_string());
        assert_eq!(bare("/runs.json?state=running").as_deref(), Some("/runs?state=running"));
        assert_eq!(bare("/.json").as_deref(), Some("/"));
        assert_eq!(bare("/runs"), None);
        assert_eq!(bare("/api/v1/openapi.json"), None);
    }
}
