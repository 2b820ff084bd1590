//! JSON request bodies, validated against their schema before use.

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use actix_web::web::{self, Bytes, BytesMut};
use actix_web::{FromRequest, HttpRequest};
use futures::future::LocalBoxFuture;
use lyceum_core::config::{Schema, pointer_token};
use lyceum_core::fault::Fault;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::api_error::ApiError;
use crate::contract::caller::Caller;
use crate::contract::receive::{Pieces, Place};
use crate::lab::{Lab, LabSettings};

/// A type of JSON request body.
pub(crate) trait RequestBody: DeserializeOwned + JsonSchema + Send + 'static {
    /// Its maximum size in bytes.
    fn limit(settings: &LabSettings) -> usize {
        settings.body_limit
    }
}

/// A valid body.
#[derive(Debug)]
pub(crate) struct Document<T> {
    /// The value sent.
    pub(crate) value: T,
    /// Hash of method, address and body, which identifies repeated requests.
    pub(crate) fingerprint: [u8; 32],
    /// Kept while the value is, since it may be large.
    _place: Option<Place>,
}

/// Larger bodies, in bytes, are parsed apart from the threads that serve requests.
const PARSED_APART: usize = 64 << 10;

impl<T: RequestBody> FromRequest for Document<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let lab = request.app_data::<web::Data<Lab>>().ok_or_else(|| ApiError::internal(&"no API"))?;
            let limit = T::limit(&lab.settings);
            let place = match limit > lab.settings.body_limit {
                true => Some(Place::wait(lab, &Caller::extract(&request).await?).await?),
                false => None,
            };
            let bytes = read(Pieces::of(&request, payload, limit, lab.settings.body_pace)?).await?;
            check_type(&request, &["application/json"])?;
            let value = match bytes.len() > PARSED_APART {
                true => {
                    let bytes = bytes.clone();
                    apart(move || parse(&bytes)).await??
                }
                false => parse(&bytes)?,
            };
            let hash = Sha256::new()
                .chain_update(request.method().as_str())
                .chain_update(" ")
                .chain_update(request.uri().to_string())
                .chain_update("\n")
                .chain_update(&bytes);
            Ok(Self { value, fingerprint: hash.finalize().into(), _place: place })
        })
    }
}

/// Refuses a body of no media type in `wanted`.
pub(crate) fn check_type(request: &HttpRequest, wanted: &[&str]) -> Result<(), ApiError> {
    let sent = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let sent = sent.split(';').next().unwrap_or_default().trim();
    if wanted.contains(&sent) { Ok(()) } else { Err(ApiError::unsupported_type(&wanted.join(" or "))) }
}

/// Refuses a body whose declared length exceeds `limit`.
pub(crate) fn check_length(request: &HttpRequest, limit: usize) -> Result<(), ApiError> {
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > limit) { Err(ApiError::too_large(limit)) } else { Ok(()) }
}

/// The body's bytes.
async fn read(mut pieces: Pieces) -> Result<Bytes, ApiError> {
    let mut bytes = BytesMut::new();
    while let Some(piece) = pieces.next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

fn parse<T: RequestBody>(bytes: &[u8]) -> Result<T, ApiError> {
    let document: Value = serde_json::from_slice(bytes).map_err(|error| ApiError::malformed(error.to_string()))?;
    let mut faults = Schema::of::<T>().diagnose(&document);
    find_nul(&document, &mut String::new(), &mut faults);
    if !faults.is_empty() {
        return Err(ApiError::invalid(faults));
    }
    serde_json::from_value(document).map_err(|error| ApiError::invalid(vec![Fault::new("", error.to_string())]))
}

/// The only character Postgres cannot store.
fn find_nul(value: &Value, place: &mut String, faults: &mut Vec<Fault>) {
    let length = place.len();
    match value {
        Value::String(text) if text.contains('\0') => {
            faults.push(Fault::new(place.clone(), "the character U+0000 cannot be stored"));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                place.push_str(&format!("/{index}"));
                find_nul(item, place, faults);
                place.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                place.push('/');
                place.push_str(&pointer_token(name));
                if name.contains('\0') {
                    faults.push(Fault::new(place.clone(), "the character U+0000 cannot be stored"));
                }
                find_nul(field, place, faults);
                place.truncate(length);
            }
        }
        _ => {}
    }
}

/// Concurrent checks.
static AT_ONCE: Semaphore = Semaphore::const_new(2);
/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `check` on a thread of its own. A request that ends while it waits for its turn never runs it; one that ends
/// later keeps its turn until the check is over, which the budgets of templates see to.
///
/// # Errors
/// 503 if it is not its turn in time; 500 if the check panics.
pub(crate) async fn apart<T: Send + 'static>(check: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    let turn = timeout(PATIENCE, AT_ONCE.acquire()).await;
    let turn = turn.map_err(|_| ApiError::unavailable("other configs are being checked; try again"))?;
    let turn = turn.map_err(|error| ApiError::internal(&error))?;
    let checked = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        check()
    });
    checked.await.map_err(|error| ApiError::internal(&error))
}
