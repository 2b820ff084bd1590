//! `Idempotency-Key`: a creation that is asked for again answers as it did, and happens once.

use actix_web::{FromRequest, HttpRequest, dev::Payload, http::StatusCode, http::header::HeaderName};
use lyceum_store::idempotency::{self, Known};
use serde::Serialize;
use serde_json::Value;
use sqlx::{PgPool, Postgres, Transaction};
use std::future::{Ready, ready};
use uuid::Uuid;

use super::answer::Answer;
use crate::{access::Caller, api_error::ApiError};

/// The header of `draft-ietf-httpapi-idempotency-key-header-07`.
const HEADER: &str = "idempotency-key";

/// Says on a repeated answer that it is one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The key that a request was sent with, if any, and whose it is.
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
        ready(caller.and_then(|caller| {
            Ok(Self {
                token: caller.token.id,
                key: key(request)?,
            })
        }))
    }
}

fn key(request: &HttpRequest) -> Result<Option<String>, ApiError> {
    let Some(value) = request.headers().get(HEADER) else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if (1..=255).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err(ApiError::invalid_header(
            HEADER,
            "1 to 255 printable ASCII characters are valid, such as a new UUID",
        )),
    }
}

/// A creation under way.
pub(crate) struct Creation {
    /// Everything is written in this.
    pub(crate) tx: Transaction<'static, Postgres>,
    key: IdempotencyKey,
    fingerprint: [u8; 32],
}

/// Either a creation to carry out, or what it answered before.
pub(crate) enum Begun {
    New(Creation),
    Answered(Answer<Value>),
}

impl IdempotencyKey {
    /// Begins a creation that the request `fingerprint` asks for.
    pub(crate) async fn begin(self, db: &PgPool, fingerprint: [u8; 32]) -> Result<Begun, ApiError> {
        let Some(name) = &self.key else {
            let tx = db.begin().await?;
            return Ok(Begun::New(Creation {
                tx,
                key: self,
                fingerprint,
            }));
        };
        match idempotency::begin(db, self.token, name, &fingerprint).await? {
            Known::New(tx) => Ok(Begun::New(Creation {
                tx,
                key: self,
                fingerprint,
            })),
            Known::Answered { status, response } => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
                Ok(Begun::Answered(Answer::with(status, response).header(REPLAYED, "true")))
            }
            Known::Other => Err(ApiError::unprocessable(
                "this Idempotency-Key was used for another request; use a new one",
            )),
            Known::Running => Err(ApiError::conflict(
                "a request with this Idempotency-Key is under way; wait for it",
            )),
        }
    }
}

impl Creation {
    /// Keeps the answer with what was made, and makes both visible.
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
