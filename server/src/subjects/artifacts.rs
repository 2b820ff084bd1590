//! Artifacts over HTTP, for workers on machines without access to the artifact store.

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, ETAG};
use actix_web::{HttpRequest, HttpResponse, web};
use lyceum_core::artifact::{ArtifactKind, Digest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::contract::caller::Caller;
use crate::contract::file_body::{Turn, whole_file};
use crate::contract::receive::{self, Pieces, Place, unwritten};
use crate::contract::{About, Answer, Endpoint, Query, is_known};
use crate::lab::Lab;

/// The kind of an artifact.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteArtifactQuery {
    /// `adapter`, `optimizer`, `tokens`, `gradient` or `samples`.
    kind: ArtifactKind,
}

/// A written artifact.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WrittenArtifact {
    /// SHA-256 of its content: its name.
    #[schema(value_type = String)]
    digest: Digest,
    /// Its size in bytes.
    bytes: usize,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let read = About::new("read_artifact", "/artifacts/{digest}").says("Read an artifact.", "Its bytes");
    let read = Endpoint::get(read, "artifacts", read_artifact);
    let read = read.name("digest", "SHA-256 of its bytes, as 64 hexadecimal digits");
    let read = read.answers_bytes("application/octet-stream").or_worker();
    let write = About::new("write_artifact", "/artifacts/{digest}").says(
        "Write an artifact. Writing an existing one is harmless; one that nothing references is removed after \
                  an hour.",
        "It is kept",
    );
    let write = Endpoint::put(write, "artifacts", write_artifact);
    let write = write.name("digest", "SHA-256 of its bytes, as 64 hexadecimal digits").query::<WriteArtifactQuery>();
    let write = write.takes_file(None, &["application/octet-stream"]).creates::<WrittenArtifact>().or_worker();
    vec![read, write]
}

async fn read_artifact(
    request: HttpRequest,
    lab: web::Data<Lab>,
    digest: web::Path<String>,
) -> Result<HttpResponse, ApiError> {
    let digest = named(&digest)?;
    let turn = Turn::of_artifact().await?;
    // Read to its end first, since a damaged one must not look like one that is there.
    let file = receive::spool().map_err(unwritten)?;
    let bytes = lab.artifacts.get_file(digest, &file).await?;
    let etag = format!("\"{digest}\"");
    if is_known(&request, &etag) {
        return Ok(HttpResponse::NotModified().insert_header((ETAG, etag)).finish());
    }
    Ok(HttpResponse::Ok()
        .content_type("application/octet-stream")
        .insert_header((ETAG, etag))
        .insert_header((CACHE_CONTROL, "private, max-age=31536000, immutable"))
        .body(whole_file(turn, file, bytes)))
}

async fn write_artifact(
    request: HttpRequest,
    caller: Caller,
    lab: web::Data<Lab>,
    digest: web::Path<String>,
    query: Query<WriteArtifactQuery>,
    payload: web::Payload,
) -> Result<Answer<WrittenArtifact>, ApiError> {
    let wanted = named(&digest)?;
    let _place = Place::wait(&lab, &caller).await?;
    let limit = lab.settings.artifact_limit;
    let pieces = Pieces::of(&request, payload.into_inner(), limit, lab.settings.body_pace)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let seen = |piece: &[u8]| {
        hash.update(piece);
        bytes += piece.len();
    };
    let file = pieces.into_file(seen).await?;
    let found = Digest(hash.finalize().into());
    if found != wanted {
        return Err(ApiError::unprocessable(format!("the content's hash is {found}, not {wanted}; send it again")));
    }
    lab.artifacts.put_file(query.0.kind, found, &file, bytes as u64).await?;
    Ok(Answer::with(StatusCode::CREATED, WrittenArtifact { digest: found, bytes }))
}

fn named(digest: &str) -> Result<Digest, ApiError> {
    digest.parse().map_err(|error: lyceum_core::artifact::NotADigest| ApiError::not_found(error.to_string()))
}
