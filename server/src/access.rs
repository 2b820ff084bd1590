//! Access control: bearer tokens for programs, cookie sessions for browsers, and security headers.

mod guard;
mod headers;
mod host;
mod login;
mod requirement;
mod share;

pub(crate) use guard::{FailedLogins, guard};
pub(crate) use headers::{answer_head, compress, harden, leave_as_it_is, say_json_is_private};
pub(crate) use host::check_host;
pub(crate) use login::{login_form, login_post, logout};
pub(crate) use requirement::{Requirements, nothing_here};
pub(crate) use share::open_share;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// `prefix` followed by 256 random bits.
pub fn new_secret(prefix: &str) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()))
}
