//! Addresses of datasets on the hub.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What is left as it is in a part of a path.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const PATH: &AsciiSet = &PART.remove(b'/');

/// A repository, a folder of it, or a file: `hf://datasets/OWNER/NAME[@REVISION][/PATH]`, where `hf://datasets/` can be
/// left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    owner: String,
    name: String,
    /// `main` if none is given.
    pub(super) revision: String,
    pub(super) path: String,
}

/// The text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a dataset on the hub, such as hf://datasets/OWNER/NAME[@REVISION][/FILE]")]
pub(crate) struct NotAnAddress(String);

impl Address {
    /// `OWNER/NAME`.
    pub(super) fn repository(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// The path, if it is that of a file of rows.
    pub(super) fn file(&self) -> Option<&str> {
        super::choice::is_data(&self.path).then_some(&self.path)
    }

    /// The part of an address of the hub's API after `datasets/`.
    pub(super) fn listed(&self) -> String {
        let revision = utf8_percent_encode(&self.revision, PART);
        format!("{}/{}/revision/{revision}", self.owner, self.name)
    }

    /// The part of a file's address after `datasets/`.
    pub(super) fn resolved(&self, revision: &str, file: &str) -> String {
        let (revision, file) = (utf8_percent_encode(revision, PART), utf8_percent_encode(file, PATH));
        format!("{}/{}/resolve/{revision}/{file}", self.owner, self.name)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hf://datasets/{}/{}", self.owner, self.name)?;
        if self.revision != "main" {
            write!(f, "@{}", utf8_percent_encode(&self.revision, PART))?;
        }
        match self.path.as_str() {
            "" => Ok(()),
            path => write!(f, "/{path}"),
        }
    }
}

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let wrong = || NotAnAddress(text.to_owned());
        let mut parts = text.strip_prefix("hf://datasets/").unwrap_or(text).splitn(3, '/');
        let (Some(owner), Some(name)) = (parts.next(), parts.next()) else { return Err(wrong()) };
        let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
        let revision = percent_decode_str(revision).decode_utf8().map_err(|_| wrong())?;
        let path = parts.next().unwrap_or_default().trim_end_matches('/');
        let is_name = |name: &str| {
            let is_known = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
            !name.is_empty() && !name.starts_with('.') && name.chars().all(is_known)
        };
        let is_path = |path: &str| path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        let is_address = is_name(owner) && is_name(name) && is_path(&revision) && (path.is_empty() || is_path(path));
        match is_address {
            true => Ok(Self {
                owner: owner.to_owned(),
                name: name.to_owned(),
                revision: revision.into_owned(),
                path: path.to_owned(),
            }),
            false => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_repository_a_folder_or_a_file() {
        for (text, revision, path) in [
            ("hf://datasets/openai/gsm8k", "main", ""),
            ("openai/gsm8k/", "main", ""),
            ("openai/gsm8k/main", "main", "main"),
            ("openai/gsm8k@refs%2Fconvert%2Fparquet/main/train", "refs/convert/parquet", "main/train"),
            ("hf://datasets/a/b@v1/data/x y.jsonl", "v1", "data/x y.jsonl"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((&*address.revision, &*address.path), (revision, path), "{text}");
            assert_eq!(address.to_string().parse(), Ok(address));
        }
        let file: Address = "a/b/x?y#z.jsonl".parse().unwrap();
        assert_eq!(file.resolved("refs/pr/1", "x?y#z.jsonl"), "a/b/resolve/refs%2Fpr%2F1/x%3Fy%23z.jsonl");
        for wrong in ["gsm8k", "", "a//b", "../x/y", "a/b/../c", "a/b@/c", "a/b@../c.jsonl", "https://example.org/a"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
