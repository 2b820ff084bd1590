//! Every fault of a request at once.

use actix_web::http::StatusCode;
use lyceum_core::fault::{Fault, Faults};

use super::{FieldFault, Problem};

impl Problem {
    /// Faults of the body.
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

    /// Faults of the query: each with the parameter's name.
    pub(crate) fn invalid_query(faults: Vec<(String, String)>) -> Self {
        Self::invalid_parameters("The query is not valid", faults)
    }

    /// A fault of a header.
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
                Some(place) => format!("{place}: {}", only.detail),
            },
            all => format!("{} faults were found", all.len()),
        };
        Self {
            errors,
            ..Self::new(status, kind, title, detail)
        }
    }
}

impl From<Faults> for Problem {
    fn from(faults: Faults) -> Self {
        Self::invalid(faults.0)
    }
}
