//! The CSRF token of a session, as sent in responses and requests.
//!
//! Responses are compressed, and pages repeat parts of their address. An attacker who can make a browser request
//! addresses and sees the lengths of the responses could learn a constant secret letter by letter (BREACH). So every
//! response contains the token under a new mask, and no part of it twice.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::guard::same;

/// `csrf` for one response: a random pad, and the secret combined with it.
pub(crate) fn masked(csrf: &str) -> String {
    let pad: Vec<u8> = csrf.bytes().map(|_| rand::random()).collect();
    let sum: Vec<u8> = pad.iter().zip(csrf.bytes()).map(|(one, other)| one ^ other).collect();
    URL_SAFE_NO_PAD.encode([pad, sum].concat())
}

/// Whether `shown` is `csrf` under some mask.
pub(super) fn shows(shown: &str, csrf: &str) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(shown) else {
        return false;
    };
    let (pad, sum) = bytes.split_at(bytes.len() / 2);
    let found: Vec<u8> = pad.iter().zip(sum).map(|(one, other)| one ^ other).collect();
    pad.len() == sum.len() && same(&found, csrf.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_under_every_mask_and_nothing_else_is() {
        let (one, other) = (masked("secret"), masked("secret"));
        assert_ne!(one, other);
        assert!(shows(&one, "secret") && shows(&other, "secret"));
        for wrong in [
            "secret",
            "",
            "=",
            &masked("secrets"),
            &one[..one.len() - 1],
            &format!("{one}AA"),
        ] {
            assert!(!shows(wrong, "secret"), "{wrong}");
        }
    }
}
