//! Where artifacts are kept.

use serde::Deserialize;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A folder, or a bucket with the S3 API.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ArtifactPlace {
    /// A folder on this machine or a network share.
    Folder(PathBuf),
    Bucket {
        /// Its name.
        bucket: String,
        /// Prefix of all names in it; may be empty.
        prefix: String,
    },
}

/// Why a text is not a valid place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArtifactPlaceError {
    /// The text is empty.
    #[error("the place of the artifacts is empty; it has to be a folder or s3://BUCKET/PREFIX")]
    Empty,
    /// No bucket after `s3://`.
    #[error("`{0}` names no bucket; it has to be s3://BUCKET or s3://BUCKET/PREFIX")]
    NoBucket(String),
    /// Another scheme.
    #[error("artifacts cannot be kept at `{0}`; it has to be a folder or s3://BUCKET/PREFIX")]
    Scheme(String),
}

impl FromStr for ArtifactPlace {
    type Err = ArtifactPlaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(ArtifactPlaceError::Empty);
        }
        let Some(rest) = text.strip_prefix("s3://") else {
            return match text.contains("://") {
                true => Err(ArtifactPlaceError::Scheme(text.to_owned())),
                false => Ok(Self::Folder(text.into())),
            };
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(ArtifactPlaceError::NoBucket(text.to_owned()));
        }
        Ok(Self::Bucket { bucket: bucket.to_owned(), prefix: prefix.trim_end_matches('/').to_owned() })
    }
}

impl TryFrom<String> for ArtifactPlace {
    type Error = ArtifactPlaceError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for ArtifactPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Bucket { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::Bucket { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_a_bucket_with_a_prefix() {
        let bucket =
            |bucket: &str, prefix: &str| ArtifactPlace::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() };
        for (text, place, shown) in [
            ("/var/lib/a", ArtifactPlace::Folder("/var/lib/a".into()), "/var/lib/a"),
            ("s3", ArtifactPlace::Folder("s3".into()), "s3"),
            ("s3://lab", bucket("lab", ""), "s3://lab"),
            ("s3://lab/", bucket("lab", ""), "s3://lab"),
            ("s3://lab/runs/a/", bucket("lab", "runs/a"), "s3://lab/runs/a"),
        ] {
            let parsed: ArtifactPlace = text.parse().expect("a place");
            assert_eq!((&parsed, parsed.to_string().as_str()), (&place, shown));
        }
        for text in ["", "s3://", "s3:///runs", "gs://lab/runs", "https://lab"] {
            assert!(text.parse::<ArtifactPlace>().is_err(), "{text}");
        }
    }
}
