//! Values that hide secrets: strings that must not be displayed, and addresses of databases with their passwords.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// An address such as `postgres://lyceum:secret@db.example/lyceum`, displayed with `***` for the password.
#[derive(Clone, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct DatabaseUrl(String);

/// The text is not the address of a Postgres database.
#[derive(Debug, thiserror::Error)]
#[error("not the address of a Postgres database; it looks like postgres://user:password@host:5432/database")]
pub struct NotADatabaseUrl;

impl DatabaseUrl {
    /// The address with its password.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for DatabaseUrl {
    type Err = NotADatabaseUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        sqlx::postgres::PgConnectOptions::from_str(text).map_err(|_| NotADatabaseUrl)?;
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        if matches!(scheme, Some("postgres" | "postgresql")) { Ok(Self(text.to_owned())) } else { Err(NotADatabaseUrl) }
    }
}

impl TryFrom<String> for DatabaseUrl {
    type Error = NotADatabaseUrl;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&redacted(&self.0))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The password is between the first colon and the last `@` of the authority, or in the parameter `password`.
fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "***".to_owned() };
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let rest = match rest.rsplit_once('@') {
        Some((account, host)) => match account.split_once(':') {
            Some((user, _)) => format!("{user}:***@{host}"),
            None => format!("{account}@{host}"),
        },
        None => rest.to_owned(),
    };
    let query = query.map_or_else(String::new, |query| {
        let shown = |pair: &str| match pair.split_once('=') {
            Some((key, _)) if key.contains("password") => format!("{key}=***"),
            _ => pair.to_owned(),
        };
        format!("?{}", query.split('&').map(shown).collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{rest}{query}")
}

/// A secret, displayed as `***`.
#[derive(Clone, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}

impl std::str::FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(secret: &str) -> Result<Self, Self::Err> {
        Ok(Self(secret.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let shown = |text: &str| format!("{:?}", text.parse::<DatabaseUrl>().unwrap());
        assert_eq!(shown("postgres://me:p:w%40@db:5432/lyceum"), "postgres://me:***@db:5432/lyceum");
        assert_eq!(
            shown("postgresql://me@db/lyceum?password=pw&sslmode=require"),
            "postgresql://me@db/lyceum?password=***&sslmode=require"
        );
        assert_eq!(
            shown("postgres://lyceum@localhost/lyceum?host=%2Ftmp"),
            "postgres://lyceum@localhost/lyceum?host=%2Ftmp"
        );
    }

    #[test]
    fn other_addresses_are_refused() {
        for text in ["", "lyceum", "mysql://db/lyceum", "/var/run/postgresql"] {
            assert!(text.parse::<DatabaseUrl>().is_err(), "{text}");
        }
    }
}
