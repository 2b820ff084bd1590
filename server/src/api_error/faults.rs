//! Errors that list every fault of a request.

use actix_web::http::StatusCode;
use lyceum_core::fault::{Fault, Faults};

use super::{ApiError, FieldFault};

impl ApiError {
    /// 422: the body has these faults.
    pub(crate) fn invalid(faults: Vec<Fault>) -> Self {
        let errors = faults.into_iter().map(|fault| FieldFault {
            pointer: Some(fault.pointer),
            parameter: None,
            detail: fault.detail,
        });
        Self::with_errors(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
            "The body is not valid",
            errors.collect(),
        )
    }

    /// 400: the query has these faults, each with the parameter's name.
    pub(crate) fn invalid_query(faults: Vec<(String, String)>) -> Self {
        Self::invalid_parameters("The query is not valid", faults)
    }

    /// 400: a header is not valid.
    pub(crate) fn invalid_header(name: &str, detail: impl Into<String>) -> Self {
        Self::invalid_parameters("A header is not valid", vec![(name.to_owned(), detail.into())])
    }

    fn invalid_parameters(title: &'static str, faults: Vec<(String, String)>) -> Self {
        let errors = faults.into_iter().map(|(parameter, detail)| FieldFault {
            pointer: None,
            parameter: Some(parameter),
            detail,
        });
        Self::with_errors(StatusCode::BAD_REQUEST, "invalid-parameter", title, errors.collect())
    }

    fn with_errors(status: StatusCode, kind: &str, title: &'static str, errors: Vec<FieldFault>) -> Self {
        let detail = match errors.as_slice() {
            [only] => match only.pointer.as_deref().or(only.parameter.as_deref()) {
                None | Some("") => only.detail.clone(),
                Some(field) => format!("{field}: {}", only.detail),
            },
            all => format!("{} faults were found", all.len()),
        };
        Self {
            errors,
            ..Self::new(status, kind, title, detail)
        }
    }
}

impl From<Faults> for ApiError {
    fn from(faults: Faults) -> Self {
        Self::invalid(faults.0)
    }
}
