//! Signatures of what is sent to webhooks, as in the Standard Webhooks specification (standardwebhooks.com).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// Identifies secrets of webhooks.
const PREFIX: &str = "whsec_";

pub(crate) fn new_secret() -> String {
    format!("{PREFIX}{}", STANDARD.encode(rand::random::<[u8; 32]>()))
}

/// The header `webhook-signature` of the message `id`, sent at `timestamp` (in seconds) with this body.
pub(super) fn signature(secret: &str, id: &str, timestamp: i64, body: &str) -> String {
    let key = secret.strip_prefix(PREFIX).unwrap_or(secret);
    let key = STANDARD.decode(key).unwrap_or_else(|_| key.as_bytes().to_vec());
    let signed = format!("{id}.{timestamp}.{body}");
    // A key of HMAC may have any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else {
        return String::new();
    };
    mac.update(signed.as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
