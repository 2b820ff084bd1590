//! `lyceum openapi`.

use std::process::ExitCode;

use clap::Args;

use super::output::line;

/// Print the description of the REST API (OpenAPI 3.1)
///
/// The same document as at /api/v1/openapi.json, which /docs shows as a page.
#[derive(Args, Debug)]
pub(crate) struct Openapi {}

impl Openapi {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        line(serde_json::to_string_pretty(&crate::openapi::document())?)?;
        Ok(ExitCode::SUCCESS)
    }
}
