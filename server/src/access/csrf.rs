//! The secret that a session shows with every change, as answers and requests carry it.
//!
//! Answers are compressed, and pages repeat what their address says. Who can make a browser ask for addresses and sees how long
//! the answers are could find out a secret that is the same in all of them, letter by letter (BREACH). So each answer has it
//! under a new mask, and no part of it stands there twice.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::guard::same;

/// `csrf` for one answer: a random pad, and the secret added to it.
pub(crate) fn masked(csrf: &str) -> String {
    let pad: Vec<u8> = csrf.bytes().map(|_| rand::random()).collect();
    let sum: Vec<u8> = pad.iter().zip(csrf.bytes()).map(|(one, other)| one ^ other).collect();
    URL_SAFE_NO_PAD.encode([pad, sum].concat())
}

/// Whether `shown` is `csrf` under any mask.
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
