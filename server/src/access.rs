//! Access control: bearer tokens for programs, cookie sessions for browsers, and security headers.

mod caller;
mod compression;
mod csrf;
mod failed_logins;
mod guard;
mod head;
mod headers;
mod host;
mod local_address;
mod login;
mod requirement;
mod secret;
mod share;

pub use caller::Caller;
pub(crate) use compression::{compress, leave_as_it_is};
pub(crate) use csrf::masked;
pub(crate) use failed_logins::FailedLogins;
pub(crate) use guard::guard;
pub(crate) use head::answer_head;
pub(crate) use headers::{harden, say_json_is_private};
pub(crate) use host::check_host;
pub(crate) use login::{login_form, login_post, logout};
pub(crate) use requirement::Requirements;
pub use secret::new_secret;
pub(crate) use share::open_share;
