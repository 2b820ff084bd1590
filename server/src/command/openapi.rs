//! `lyceum openapi`.

use std::process::ExitCode;

use clap::Args;

use super::output::json;

/// Print the description of the REST API (OpenAPI 3.1)
///
/// The same document as at /api/v1/openapi.json, which /docs shows as a page.
#[derive(Args, Debug)]
pub(crate) struct Openapi {}

impl Openapi {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        json(&crate::openapi::document())?;
        Ok(ExitCode::SUCCESS)
    }
}
