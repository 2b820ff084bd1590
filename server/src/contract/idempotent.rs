//! `Idempotency-Key`: a repeated creation happens once and gets the same response.

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderName;
use actix_web::{FromRequest, HttpRequest};
use lyceum_store::idempotency::{self, Known, Used};
use serde::Serialize;
use serde_json::Value;
use sqlx::{PgPool, Postgres, Transaction};
use std::future::{Ready, ready};
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{Answer, Caller};

/// The header of `draft-ietf-httpapi-idempotency-key-header-07`.
const HEADER: &str = "idempotency-key";

/// Marks a repeated response.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The request's key, if any, and its owner.
#[derive(Clone, Debug)]
pub(crate) struct IdempotencyKey {
    token: Uuid,
    key: Option<String>,
}

impl FromRequest for IdempotencyKey {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let caller = Caller::from_request(request, payload).into_inner();
        ready(caller.and_then(|caller| Ok(Self { token: caller.token.id, key: key(request)? })))
    }
}

fn key(request: &HttpRequest) -> Result<Option<String>, ApiError> {
    let Some(value) = request.headers().get(HEADER) else { return Ok(None) };
    match value.to_str() {
        Ok(key) if (1..=255).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err(ApiError::invalid_header(HEADER, "1 to 255 printable ASCII characters are valid, such as a new UUID")),
    }
}

/// A creation in progress.
pub(crate) struct Creation {
    /// The transaction for all its writes.
    pub(crate) tx: Transaction<'static, Postgres>,
    key: IdempotencyKey,
    fingerprint: [u8; 32],
}

/// A creation to carry out, or the response of an earlier one.
pub(crate) enum Begun {
    New(Creation),
    Answered(Answer<Value>),
}

impl IdempotencyKey {
    /// The response of an earlier request with the same key. It is looked for before the request is validated, since what was
    /// valid then may no longer be.
    pub(crate) async fn answer(&self, db: &PgPool, fingerprint: &[u8; 32]) -> Result<Option<Answer<Value>>, ApiError> {
        let Some(name) = &self.key else { return Ok(None) };
        let used = idempotency::find(db, self.token, name, fingerprint).await?;
        used.map(replay).transpose()
    }

    /// Begins the creation requested by the request with this fingerprint.
    pub(crate) async fn begin(self, db: &PgPool, fingerprint: [u8; 32]) -> Result<Begun, ApiError> {
        let Some(name) = &self.key else {
            let tx = db.begin().await?;
            return Ok(Begun::New(Creation { tx, key: self, fingerprint }));
        };
        match idempotency::begin(db, self.token, name, &fingerprint).await? {
            Known::New(tx) => Ok(Begun::New(Creation { tx, key: self, fingerprint })),
            Known::Used(used) => Ok(Begun::Answered(replay(used)?)),
            Known::Running => {
                Err(ApiError::conflict("a request with this Idempotency-Key is in progress; wait for it"))
            }
        }
    }
}

fn replay(used: Used) -> Result<Answer<Value>, ApiError> {
    match used {
        Used::Answered { status, response } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            Ok(Answer::with(status, response).header(REPLAYED, "true"))
        }
        Used::Other => Err(ApiError::unprocessable("this Idempotency-Key was used for another request; use a new one")),
    }
}

impl Creation {
    /// Stores the response with the new resource and commits.
    pub(crate) async fn finish(mut self, body: &impl Serialize, location: &str) -> Result<Answer<Value>, ApiError> {
        let response = serde_json::to_value(body).map_err(|error| ApiError::internal(&error))?;
        if let Some(key) = &self.key.key {
            let status = StatusCode::CREATED.as_u16();
            idempotency::keep(&mut self.tx, self.key.token, key, &self.fingerprint, status, &response).await?;
        }
        self.tx.commit().await?;
        Ok(Answer::created(response, location))
    }
}
