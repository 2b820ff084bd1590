//! `lyceum openapi`.

use std::process::ExitCode;

use clap::Args;

use super::output::line;

/// Print the description of the REST API (OpenAPI 3.1)
///
/// It is the document that a server shows at /api/v1/openapi.json and as a page at /docs.
#[derive(Args, Debug)]
pub(crate) struct Openapi {}

impl Openapi {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        line(serde_json::to_string_pretty(&crate::openapi::document())?)?;
        Ok(ExitCode::SUCCESS)
    }
}
