//! The page that a login returns to.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Maximum bytes of an address.
const LENGTH: usize = 2_000;

/// The address of a page of this server: an absolute path with query and fragment, which no browser takes for another
/// site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LocalAddress(String);

impl LocalAddress {
    /// `address`, if it leads to a page of this server. The login page itself is none.
    pub(super) fn of(address: &str) -> Option<Self> {
        let path = address.split(['?', '#']).next().unwrap_or_default();
        // Browsers read `//host` and `/\host` as other sites, and drop tabs and line ends before they look.
        let is_local = path.starts_with('/')
            && !path.starts_with("//")
            && address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
            && address.len() <= LENGTH;
        let is_page = !["/login", "/logout", "/"].contains(&path) || path == "/" && address.len() > 1;
        (is_local && is_page).then(|| Self(address.to_owned()))
    }

    /// The address.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The address of the login page that returns to this one.
    pub(super) fn login(&self) -> String {
        format!("/login?to={}", utf8_percent_encode(&self.0, NON_ALPHANUMERIC))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_returned_to() {
        for address in [
            "/runs",
            "/runs/1?metrics=a,b&from=2#chart-entropy",
            "/?x=1",
            "/loginx",
            "/runs//x",
            "/runs?to=https://example.org",
        ] {
            assert_eq!(LocalAddress::of(address).map(|local| local.0).as_deref(), Some(address));
        }
        for address in [
            "",
            "/",
            "runs",
            "//example.org",
            "/\\example.org",
            "\\\\example.org",
            "/\t/example.org",
            "/\n/example.org",
            "https://example.org/runs",
            "javascript:alert(1)",
            "/login",
            "/login?to=/login",
            "/logout",
            "/ü",
            "/a b",
        ] {
            assert_eq!(LocalAddress::of(address), None, "{address:?}");
        }
        assert_eq!(LocalAddress::of(&format!("/{}", "x".repeat(LENGTH))), None);
    }

    #[test]
    fn a_query_survives_the_way_through_the_login_page() {
        let local = LocalAddress::of("/runs?tag=a%26b&sort=step").unwrap();
        assert_eq!(local.login(), "/login?to=%2Fruns%3Ftag%3Da%2526b%26sort%3Dstep");
    }
}
