//! Permissions required by operations. They are read from the OpenAPI description, so documentation and enforcement
//! cannot differ.

use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, web};
use lyceum_store::tokens::Scope;
use std::collections::HashMap;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr};

use crate::api_error::ApiError;

/// The permission an operation requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// None.
    Nothing,
    /// A token with this scope or a higher one.
    Scope(Scope),
    /// The same, or a worker's token.
    ScopeOrWorker(Scope),
}

impl Requirement {
    /// Whether a token with `scope` meets it.
    pub(super) fn admits(self, scope: Scope) -> bool {
        match self {
            Self::Nothing => true,
            Self::Scope(least) => scope >= least,
            Self::ScopeOrWorker(least) => scope >= least || scope == Scope::Worker,
        }
    }

    /// The scope that a token needs.
    pub(super) fn scope(self) -> Option<Scope> {
        match self {
            Self::Nothing => None,
            Self::Scope(least) | Self::ScopeOrWorker(least) => Some(least),
        }
    }
}

/// An operation's requirement and parameters.
#[derive(Clone, Copy, Debug)]
struct Known {
    needed: Requirement,
    has_query: bool,
}

/// The requirements of all operations, by method and pattern.
#[derive(Clone, Debug)]
pub(crate) struct Requirements(HashMap<(Method, String), Known>);

impl Requirements {
    /// Reads them from the document.
    pub(crate) fn of(document: &OpenApi) -> Self {
        let all = operations(document).map(|(method, path, operation)| {
            let known = Known { needed: needed(operation), has_query: has_query(operation) };
            ((method, path.to_owned()), known)
        });
        Self(all.collect())
    }

    /// The requirement of `method` on `pattern`; `None` if there is no such operation.
    pub(crate) fn get(&self, method: &Method, pattern: &str) -> Option<Requirement> {
        self.0.get(&(method.clone(), pattern.to_owned())).map(|known| known.needed)
    }

    /// Whether `method` on `pattern` is an operation without query parameters.
    pub(crate) fn is_without_query(&self, method: &Method, pattern: &str) -> bool {
        self.0.get(&(method.clone(), pattern.to_owned())).is_some_and(|known| !known.has_query)
    }

    pub(crate) fn methods(&self, pattern: &str) -> Vec<&str> {
        let mut methods: Vec<&str> =
            self.0.keys().filter(|(_, known)| known == pattern).map(|(method, _)| method.as_str()).collect();
        methods.sort_unstable();
        methods
    }
}

/// An operation without a declared requirement needs the highest scope, so an omission grants nothing.
fn needed(operation: &Operation) -> Requirement {
    let Some(security) = &operation.security else { return Requirement::Scope(Scope::Admin) };
    let named = serde_json::to_value(security).unwrap_or_default();
    let scopes = named.as_array().into_iter().flatten().filter_map(|way| way.as_object()).flat_map(|way| way.values());
    let scopes = scopes.filter_map(|names| names.as_array()).flatten().filter_map(|name| name.as_str());
    let scopes: Vec<Scope> = scopes.filter_map(|name| name.parse().ok()).collect();
    let least = scopes.iter().copied().filter(|scope| *scope != Scope::Worker).max().unwrap_or(Scope::Admin);
    match (security.is_empty(), scopes.contains(&Scope::Worker)) {
        (true, _) => Requirement::Nothing,
        (false, false) => Requirement::Scope(least),
        (false, true) => Requirement::ScopeOrWorker(least),
    }
}

fn has_query(operation: &Operation) -> bool {
    operation.parameters.iter().flatten().any(|parameter| match parameter {
        RefOr::T(parameter) => matches!(parameter.parameter_in, ParameterIn::Query),
        RefOr::Ref(_) => false,
    })
}

/// The response if there is no such endpoint or method.
pub(crate) async fn nothing_here(
    request: HttpRequest,
    requirements: web::Data<Requirements>,
) -> Result<HttpResponse, ApiError> {
    let Some(pattern) = request.match_pattern() else {
        return Err(ApiError::not_found(format!("there is nothing at {}; see /docs", request.path())));
    };
    let mut methods = requirements.methods(&pattern);
    if methods.is_empty() {
        // A page, of which two are also posted to.
        methods = match pattern.as_str() {
            "/login" => vec!["GET", "HEAD", "POST"],
            "/logout" => vec!["POST"],
            _ => vec!["GET", "HEAD"],
        };
    }
    Err(ApiError::method_not_allowed(request.method().as_str(), &methods.join(", ")))
}

/// All operations with their method and path pattern.
fn operations(document: &OpenApi) -> impl Iterator<Item = (Method, &str, &Operation)> {
    document.paths.paths.iter().flat_map(|(path, item)| {
        let methods = [
            (Method::GET, &item.get),
            (Method::PUT, &item.put),
            (Method::POST, &item.post),
            (Method::DELETE, &item.delete),
            (Method::PATCH, &item.patch),
        ];
        methods.into_iter().filter_map(move |(method, operation)| Some((method, path.as_str(), operation.as_ref()?)))
    })
}
