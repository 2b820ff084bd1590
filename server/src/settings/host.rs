//! Addresses and names of the server, checked where they are set.

use actix_web::http::Uri;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// An address under which browsers and workers reach the server, such as `https://lab.example`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct PublicUrl {
    text: String,
    host: String,
}

impl PublicUrl {
    /// The host's name in it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is encrypted.
    pub fn is_https(&self) -> bool {
        self.text.starts_with("https://")
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused =
            || format!("`{text}` is not the address of a server: one such as https://lab.example:8443 is valid");
        let uri: Uri = text.parse().map_err(|_| refused())?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        let has_path = uri.path().len() > 1 || uri.query().is_some();
        match uri.host() {
            Some(host) if is_http && !has_user && !has_path && !host.is_empty() => {
                Ok(Self { text: text.trim_end_matches('/').to_owned(), host: host.to_ascii_lowercase() })
            }
            _ => Err(refused()),
        }
    }
}

impl TryFrom<String> for PublicUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The name of a host, without scheme, port or wildcard.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct HostName(String);

impl HostName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_label = |label: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            !label.is_empty() && label.len() <= 63 && label.bytes().all(plain)
        };
        match text.trim_end_matches('.').split('.').all(is_label) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!(
                "`{text}` is not the name of a host: one such as lab.example, without scheme and port, is valid"
            )),
        }
    }
}

impl TryFrom<String> for HostName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_checked() {
        let host = |text: &str| text.parse::<PublicUrl>().map(|url| (url.to_string(), url.host().to_owned()));
        let of = |url: &str, host: &str| Ok((url.to_owned(), host.to_owned()));
        assert_eq!(host("https://Lab.example:8443/"), of("https://Lab.example:8443", "lab.example"));
        assert_eq!(host("http://10.0.0.1:7654"), of("http://10.0.0.1:7654", "10.0.0.1"));
        for text in [
            "",
            "lab.example",
            "javascript:alert(1)",
            "ftp://x",
            "http://a b",
            "http://",
            "http://me@x",
            "http://x/lyceum",
            "http://x/?a=1",
        ] {
            assert!(host(text).unwrap_err().contains("https://lab.example:8443"), "{text}");
        }
        for name in ["lab", "lab.example", "lab.example.", "my_host", "10.0.0.1"] {
            assert_eq!(name.parse::<HostName>().unwrap().as_str(), name);
        }
        for name in ["", "*", "*.example", "http://x", "x:80", "a b", "a..b"] {
            assert!(name.parse::<HostName>().unwrap_err().contains("lab.example"), "{name}");
        }
    }
}
