//! What an operation needs. It stands in the operation's own OpenAPI description, so that what is said and what is
//! enforced cannot differ.

use actix_web::http::Method;
use lyceum_store::tokens::Scope;
use std::collections::HashMap;
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{Operation, ParameterIn},
};

use crate::openapi::operations;

/// What an operation needs of who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// Nothing.
    Nothing,
    /// A token of this scope or a greater one.
    Scope(Scope),
}

/// What is known of an operation.
#[derive(Clone, Copy, Debug)]
struct Known {
    needed: Requirement,
    has_query: bool,
}

/// What every operation needs, by method and pattern.
#[derive(Clone, Debug)]
pub(crate) struct Requirements(HashMap<(Method, String), Known>);

impl Requirements {
    /// Reads them from the document.
    pub(crate) fn of(document: &OpenApi) -> Self {
        let all = operations(document).map(|(method, path, operation)| {
            let known = Known {
                needed: needed(operation),
                has_query: has_query(operation),
            };
            ((method, path.to_owned()), known)
        });
        Self(all.collect())
    }

    /// What `method` of `pattern` needs; none where there is no such operation.
    pub(crate) fn get(&self, method: &Method, pattern: &str) -> Option<Requirement> {
        self.0
            .get(&(method.clone(), pattern.to_owned()))
            .map(|known| known.needed)
    }

    /// Whether `method` of `pattern` is an operation that takes no parameters in its query.
    pub(crate) fn is_without_query(&self, method: &Method, pattern: &str) -> bool {
        self.0
            .get(&(method.clone(), pattern.to_owned()))
            .is_some_and(|known| !known.has_query)
    }

    /// The methods that `pattern` has.
    pub(crate) fn methods(&self, pattern: &str) -> Vec<&str> {
        let mut methods: Vec<&str> = self
            .0
            .keys()
            .filter(|(_, known)| known == pattern)
            .map(|(method, _)| method.as_str())
            .collect();
        methods.sort_unstable();
        methods
    }
}

/// An operation that says nothing needs the most, so that forgetting to say it lets nobody in.
fn needed(operation: &Operation) -> Requirement {
    let Some(security) = &operation.security else {
        return Requirement::Scope(Scope::Admin);
    };
    let named = serde_json::to_value(security).unwrap_or_default();
    let scopes = named
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|way| way.as_object())
        .flat_map(|way| way.values());
    let scopes = scopes
        .filter_map(|names| names.as_array())
        .flatten()
        .filter_map(|name| name.as_str());
    match (security.is_empty(), scopes.filter_map(|name| name.parse().ok()).max()) {
        (true, _) => Requirement::Nothing,
        (false, scope) => Requirement::Scope(scope.unwrap_or(Scope::Admin)),
    }
}

fn has_query(operation: &Operation) -> bool {
    operation.parameters.iter().flatten().any(|parameter| match parameter {
        RefOr::T(parameter) => matches!(parameter.parameter_in, ParameterIn::Query),
        RefOr::Ref(_) => false,
    })
}
