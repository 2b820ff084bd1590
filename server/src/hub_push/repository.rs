//! Repositories of the hub.

/// What a repository has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Weights.
    Model,
    /// Tables.
    Dataset,
}

impl Kind {
    /// Its name in the hub's API.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Dataset => "dataset",
        }
    }

    /// Its name in paths of the hub's API.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Dataset => "datasets",
        }
    }

    /// What is before a repository's name in its own address.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Model => "",
            Self::Dataset => "datasets/",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    pub(super) kind: Kind,
    pub(super) owner: String,
    pub(super) short: String,
}

impl Repository {
    /// The repository called `name`.
    ///
    /// # Errors
    /// It is not the name of a repository.
    pub(crate) fn parse(kind: Kind, name: &str) -> anyhow::Result<Self> {
        let is_part = |part: &str| {
            (1..=96).contains(&part.len())
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
                && !part.starts_with(['-', '.'])
                && !part.ends_with(['-', '.'])
                && !part.contains("..")
                && !part.contains("--")
        };
        match name.split_once('/') {
            Some((owner, short)) if is_part(owner) && is_part(short) => {
                Ok(Self { kind, owner: owner.to_owned(), short: short.to_owned() })
            }
            _ => anyhow::bail!(
                "`{name}` is not a repository: OWNER/NAME is valid, each of letters, digits, `-`, `_` and `.`, such as me/my-adapter"
            ),
        }
    }

    /// Owner and name.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.owner, self.short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_an_owner_and_a_name() {
        let parsed = Repository::parse(Kind::Model, "me/my-adapter_1.0").unwrap();
        assert_eq!(parsed.name(), "me/my-adapter_1.0");
        for wrong in ["", "me", "me/", "/x", "a/b/c", "me/..", "me/x y", "me/-x", "me/x?y", "me/a--b"] {
            let said = Repository::parse(Kind::Model, wrong).unwrap_err().to_string();
            assert!(said.contains("OWNER/NAME"), "{wrong}: {said}");
        }
    }
}
