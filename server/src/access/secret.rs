//! Random secrets.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// `prefix` followed by 256 random bits.
pub fn new_secret(prefix: &str) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()))
}
