//! Rewards of one's own: Python files that rows of datasets name by digest.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use lyceum_core::artifact::Digest;
use lyceum_core::fault::Fault;
use lyceum_core::id::DatasetId;
use lyceum_core::verify::{check_reward, secret_in};
use lyceum_store::StoreError;
use lyceum_store::datasets::Dataset;
use lyceum_store::rewards::{self, StoredReward};
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody, apart};
use crate::contract::{About, Answer, Endpoint};
use crate::lab::Lab;

/// A reward to store.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateReward {
    /// A Python file with `score(prompt, completion, row)`.
    source: String,
    /// Store it even if a text in it looks like a secret. Everybody who has a token of this server can read it.
    #[serde(default)]
    allow_secrets: bool,
}

impl RequestBody for CreateReward {}

const DIGEST: &str = "SHA-256 of its text, as 64 hexadecimal digits";

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let new = About::new("create_reward", "/rewards")
        .says("Store a reward, which rows of datasets name by its digest. Storing it again is harmless.", "The reward");
    let new = Endpoint::post(new, "datasets", create_reward).takes::<CreateReward>().creates::<StoredReward>();
    let one = About::new("show_reward", "/rewards/{digest}").says("Show a reward.", "The reward");
    let one = Endpoint::get(one, "datasets", show_reward);
    let one = one.name("digest", DIGEST);
    let removal = About::new("delete_reward", "/rewards/{digest}").says(
        "Remove a reward's text. Its digest stays, so runs and rows that name it say that it was removed.",
        "Removed",
    );
    let removal = Endpoint::delete(removal, "datasets", delete_reward).name("digest", DIGEST);
    vec![new, one.answers::<StoredReward>(), removal.answers_nothing()]
}

/// Refuses a dataset, not yet committed, whose rows name a reward that is not stored.
pub(super) async fn check_stored(db: &mut PgConnection, dataset: &Dataset) -> Result<(), ApiError> {
    let Some((index, line, digest)) = rewards::first_missing(db, DatasetId(dataset.id)).await? else { return Ok(()) };
    let place = line.map_or_else(String::new, |line| format!("line {line}: "));
    let detail = format!("{place}field `oracle.file`: {}", rewards::not_stored(&digest));
    Err(ApiError::invalid(vec![Fault::new(format!("/rows/{index}"), detail)]))
}

async fn create_reward(lab: web::Data<Lab>, sent: Document<CreateReward>) -> Result<Answer<StoredReward>, ApiError> {
    let CreateReward { source, allow_secrets } = sent.value;
    let checked = apart(move || {
        check_reward(&source)?;
        match secret_in(&source) {
            Some((line, name)) if !allow_secrets => Err(format!(
                "line {line}: {name} looks like a secret, and everybody who has a token of this server can read a reward: remove it, \
                 or store it all the same with `allow_secrets` (`--yes` on the command line)"
            )),
            _ => Ok(source),
        }
    });
    let source = checked.await?.map_err(|detail| ApiError::invalid(vec![Fault::new("/source", detail)]))?;
    let stored = rewards::store(lab.store.pool(), source).await?;
    Ok(Answer::with(StatusCode::CREATED, stored))
}

async fn show_reward(lab: web::Data<Lab>, digest: web::Path<String>) -> Result<Answer<StoredReward>, ApiError> {
    Ok(Answer::ok(rewards::find(lab.store.pool(), known(&digest)?).await?))
}

async fn delete_reward(lab: web::Data<Lab>, digest: web::Path<String>) -> Result<HttpResponse, ApiError> {
    rewards::remove(lab.store.pool(), known(&digest)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// What is no digest is not sent to Postgres, whose texts hold no NUL.
fn known(digest: &str) -> Result<Digest, ApiError> {
    Ok(digest.parse::<Digest>().map_err(|_| StoreError::not_found("reward", digest))?)
}
