//! Sends alerts to webhooks, signed as in the Standard Webhooks specification (standardwebhooks.com).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{SecondsFormat, Utc};
use hmac::{Hmac, Mac as _};
use lyceum_store::Result;
use lyceum_store::webhooks::{self, Due, Outcome};
use serde_json::json;
use sha2::Sha256;
use sqlx::PgPool;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::http::header::LOCATION;
use ureq::http::{Response, StatusCode};
use ureq::unversioned::transport::DefaultConnector;

use crate::lab::WebhookSettings;
use crate::subjects::alerts::address::{Checked, Policy};

/// Deliveries tried at a time.
const AT_ONCE: i64 = 16;
/// The longest time between two tries.
const LONGEST_RETRY: Duration = Duration::from_secs(3600);
/// Bytes of a response that are kept to tell why a try failed.
const KEPT: u64 = 300;

/// Tries all deliveries that are due.
pub(crate) async fn deliver_due(db: &PgPool, sender: &Arc<Sender>) -> Result<()> {
    let tries = webhooks::due(db, AT_ONCE).await?.into_iter().map(|due| {
        let sender = Arc::clone(sender);
        async move {
            let seq = due.seq;
            let sent = tokio::task::spawn_blocking(move || sender.deliver(&due)).await;
            match sent {
                Ok(outcome) => webhooks::record(db, seq, &outcome).await,
                Err(error) => {
                    tracing::error!(%error, "a delivery broke off");
                    Ok(())
                }
            }
        }
    });
    futures::future::try_join_all(tries).await.map(drop)
}

/// Sends alerts.
#[derive(Debug)]
pub(crate) struct Sender {
    agent: Agent,
    settings: WebhookSettings,
}

impl Sender {
    /// A sender with these settings. It uses no proxy, since that would look names up unchecked.
    pub(crate) fn new(settings: WebhookSettings) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(settings.timeout))
            .user_agent(concat!("lyceum/", env!("CARGO_PKG_VERSION")))
            .build();
        let policy = Policy { private_hosts: settings.private_hosts.clone() };
        Self { agent: Agent::with_parts(config, DefaultConnector::default(), Checked(policy)), settings }
    }

    fn deliver(&self, due: &Due) -> Outcome {
        match self.send(due) {
            Ok(status) => Outcome::Delivered { status: status.as_u16() },
            Err((status, error)) => {
                let status = status.map(|status| status.as_u16());
                let tries = due.tries.cast_unsigned();
                if tries >= self.settings.tries {
                    return Outcome::Failed { status, error };
                }
                Outcome::Again { after: after(self.settings.first_retry, tries), status, error }
            }
        }
    }

    /// Redirects are not followed: they could lead anywhere, and most would drop the message.
    fn send(&self, due: &Due) -> Result<StatusCode, (Option<StatusCode>, String)> {
        let (id, body) = (due.alert_id.to_string(), body(due));
        let timestamp = Utc::now().timestamp();
        let sent = self
            .agent
            .post(&due.url)
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", signature(&due.secret, &id, timestamp, &body))
            .send(&body);
        let response = sent.map_err(|error| match error {
            ureq::Error::Other(cause) => (None, cause.to_string()),
            other => (None, other.to_string()),
        })?;
        let status = response.status();
        if status.is_success() { Ok(status) } else { Err((Some(status), refusal(response))) }
    }
}

/// Time until the next try, after this many.
fn after(first: Duration, tries: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(tries.saturating_sub(1));
    first.saturating_mul(doubled).min(LONGEST_RETRY)
}

fn body(due: &Due) -> String {
    json!({
        "type": due.kind.name(),
        "timestamp": due.created_at.to_rfc3339_opts(SecondsFormat::Secs, true),
        "data": {
            "id": due.alert_id,
            "run": due.run_id,
            "title": due.title,
            "detail": due.detail,
        },
    })
    .to_string()
}

/// The response of a receiver that did not accept the message.
fn refusal(mut response: Response<ureq::Body>) -> String {
    let status = response.status();
    if let Some(to) = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()) {
        return format!("it redirects to {to} with {status}; give the webhook that address");
    }
    let mut text = Vec::new();
    // Its status is enough if the text cannot be read.
    let _ = response.body_mut().as_reader().take(KEPT).read_to_end(&mut text);
    match String::from_utf8_lossy(&text).trim() {
        "" => format!("it responded with {status}"),
        text => format!("it responded with {status}: {text}"),
    }
}

/// Identifies secrets of webhooks.
const PREFIX: &str = "whsec_";

pub(crate) fn new_secret() -> String {
    format!("{PREFIX}{}", STANDARD.encode(rand::random::<[u8; 32]>()))
}

/// The header `webhook-signature` of the message `id`, sent at `timestamp` (in seconds) with this body.
pub(crate) fn signature(secret: &str, id: &str, timestamp: i64, body: &str) -> String {
    let key = secret.strip_prefix(PREFIX).unwrap_or(secret);
    let key = STANDARD.decode(key).unwrap_or_else(|_| key.as_bytes().to_vec());
    let signed = format!("{id}.{timestamp}.{body}");
    // A key of HMAC may have any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else { return String::new() };
    mac.update(signed.as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_ever_further_apart() {
        let first = Duration::from_secs(10);
        let waits: Vec<u64> = (1..=4).map(|tries| after(first, tries).as_secs()).collect();
        assert_eq!(waits, [10, 20, 40, 80]);
        assert_eq!(after(first, 40), LONGEST_RETRY);
    }

    /// The example of the specification.
    #[test]
    fn a_message_is_signed_as_the_specification_says() {
        let found = signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(found, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secrets_differ_and_are_keys() {
        let (one, other) = (new_secret(), new_secret());
        assert_ne!(one, other);
        assert_eq!(STANDARD.decode(one.strip_prefix(PREFIX).unwrap()).unwrap().len(), 32);
    }
}
