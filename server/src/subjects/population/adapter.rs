//! `/runs/{id}/members/{member}/adapter.zip`: a member's weights as a PEFT folder.

use actix_web::http::header::{CONTENT_DISPOSITION, ETAG};
use actix_web::{HttpResponse, get, web};
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_store::{StoreError, members, versions};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::{self, BufReader, Read, Seek as _, Write as _};

use crate::api_error::ApiError;
use crate::contract::file_body::{FileWriter, Turn, file_body};
use crate::contract::receive;
use crate::frame::view::Filters;
use crate::lab::Lab;

/// The version of the weights.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdapterFilter {
    /// The version's ordinal; by default the newest.
    #[schemars(range(max = 2_147_483_647))]
    version: Option<u32>,
}

/// A member's adapter as a zip of `adapter_config.json` and `adapter_model.safetensors`.
#[get("/runs/{id}/members/{member}/adapter.zip")]
pub(crate) async fn download_adapter(
    lab: web::Data<Lab>,
    place: web::Path<(ExecutionId, MemberId)>,
    filters: Filters<AdapterFilter>,
) -> Result<HttpResponse, ApiError> {
    let (run, id) = place.into_inner();
    let member = members::find(lab.store.pool(), run, id).await?;
    let version = versions::find(lab.store.pool(), run, id, filters.0.version).await?;
    let digest =
        version.artifact.parse().map_err(|error: lyceum_core::artifact::NotADigest| ApiError::internal(&error))?;
    let gone = || {
        let (name, ordinal) = (&member.name, version.ordinal);
        ApiError::not_found(format!(
            "the weights of version {ordinal} of {name} are no longer kept; the member's page lists those that are"
        ))
    };
    if version.removed {
        return Err(gone());
    }
    let turn = Turn::wait().await?;
    let mut archive = receive::spool().map_err(|error| ApiError::internal(&error))?;
    match lab.artifacts.get_file(digest, &archive).await {
        Ok(_) => {}
        Err(StoreError::NotFound { .. }) => return Err(gone()),
        Err(error) => return Err(error.into()),
    }
    archive.rewind().map_err(|error| ApiError::internal(&error))?;
    let folder = format!("{}-v{}", file_name(&member.name), version.ordinal);
    let name = format!("attachment; filename=\"{folder}.zip\"");
    let body = file_body(turn, move |out| zip_of_tar(BufReader::new(archive), &folder, out))?;
    Ok(HttpResponse::Ok()
        .content_type("application/zip")
        .insert_header((CONTENT_DISPOSITION, name))
        .insert_header((ETAG, format!("\"{digest}\"")))
        .body(body))
}

/// `name` with all characters other than letters, digits, `-` and `_` replaced, for file names.
pub(crate) fn file_name(name: &str) -> String {
    let safe = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '-' || letter == '_' { letter } else { '_' }
    };
    name.chars().map(safe).take(80).collect()
}

/// Stored uncompressed, since weights do not compress.
fn zip_of_tar(archive: impl Read, folder: &str, out: &mut FileWriter) -> io::Result<()> {
    let mut zip = zip::ZipWriter::new_stream(out);
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        zip.start_file(format!("{folder}/{path}"), options)?;
        io::copy(&mut entry, &mut zip)?;
    }
    zip.finish()?.into_inner().flush()
}
