//! Rewards of one's own: Python files that rows of datasets name by digest.

use actix_web::http::StatusCode;
use actix_web::web;
use lyceum_core::artifact::Digest;
use lyceum_core::fault::Fault;
use lyceum_core::id::DatasetId;
use lyceum_core::verify::check_reward;
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
}

impl RequestBody for CreateReward {}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let new = About::new("create_reward", "/rewards")
        .says("Store a reward, which rows of datasets name by its digest. Storing it again is harmless.", "The reward");
    let new = Endpoint::post(new, "datasets", create_reward).takes::<CreateReward>().creates::<StoredReward>();
    let one = About::new("show_reward", "/rewards/{digest}").says("Show a reward.", "The reward");
    let one = Endpoint::get(one, "datasets", show_reward);
    let one = one.name("digest", "SHA-256 of its text, as 64 hexadecimal digits");
    vec![new, one.answers::<StoredReward>()]
}

/// Refuses a dataset, not yet committed, whose rows name a reward that is not stored.
pub(super) async fn check_stored(db: &mut PgConnection, dataset: &Dataset) -> Result<(), ApiError> {
    let Some((index, line, digest)) = rewards::first_missing(db, DatasetId(dataset.id)).await? else { return Ok(()) };
    let place = line.map_or_else(String::new, |line| format!("line {line}: "));
    let detail = format!("{place}field `oracle.file`: {}", rewards::not_stored(&digest));
    Err(ApiError::invalid(vec![Fault::new(format!("/rows/{index}"), detail)]))
}

async fn create_reward(lab: web::Data<Lab>, sent: Document<CreateReward>) -> Result<Answer<StoredReward>, ApiError> {
    let source = sent.value.source;
    let checked = apart(move || check_reward(&source).map(|()| source)).await?;
    let source = checked.map_err(|detail| ApiError::invalid(vec![Fault::new("/source", detail)]))?;
    let stored = rewards::store(lab.store.pool(), source).await?;
    Ok(Answer::with(StatusCode::CREATED, stored))
}

async fn show_reward(lab: web::Data<Lab>, digest: web::Path<String>) -> Result<Answer<StoredReward>, ApiError> {
    // What is no digest is not sent to Postgres, whose texts hold no NUL.
    let known = digest.parse::<Digest>().map_err(|_| StoreError::not_found("reward", &*digest))?;
    Ok(Answer::ok(rewards::find(lab.store.pool(), known).await?))
}
