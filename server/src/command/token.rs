//! `lyceum token`.

use std::process::ExitCode;

use chrono::Utc;
use clap::{Args, Subcommand};
use lyceum_postgres::PrivatePostgres;
use lyceum_store::tokens::Scope;
use lyceum_store::{Store, tokens};
use uuid::Uuid;

use super::output::{line, remark};
use crate::contract::bounds;
use crate::database;
use crate::settings::{CommonArgs, DatabaseArgs, DatabaseUrl, Sources};
use crate::supervise::DataFolder;

/// Create, list and revoke access tokens, directly in the database
///
/// The database is that of DATABASE_URL, by default the private one of the data folder, whether `lyceum up` is running
/// or not. So access to the machine always gives access to Lyceum.
#[derive(Args, Debug)]
pub(crate) struct Token {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a token and print it; it cannot be shown again
    Create {
        /// Its name, of 1 to 200 characters
        #[arg(value_parser = token_name)]
        name: String,
        /// Its scope: read, write (includes read), admin (includes both), or worker (reads what items need and writes
        /// artifacts, nothing else)
        #[arg(long, default_value = "write")]
        scope: Scope,
        /// Days until it expires [default: never]
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
        expires_in: Option<u32>,
    },
    /// List all tokens, without their secrets
    List,
    /// Revoke a token and end its sessions
    Revoke {
        /// The token's id, from `lyceum token list`
        id: Uuid,
    },
}

fn token_name(text: &str) -> Result<String, String> {
    let length = text.chars().count();
    match (1..=bounds::NAME).contains(&length) {
        true => Ok(text.to_owned()),
        false => Err(format!("it has {length} characters: 1 to {} are valid", bounds::NAME)),
    }
}

impl Token {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let sources = Sources::read(common)?;
        let database = self.database.resolve(&sources.file)?;
        super::runtime()?.block_on(async {
            let given = match database.url {
                Some(url) => Some(url),
                None => PrivatePostgres::running(&sources.data).map(|url| url.parse()).transpose()?,
            };
            if let Some(url) = given {
                return act(self.action, database::open(&url, 2).await?).await;
            }
            let folder = DataFolder::open(&sources.data)?;
            let postgres = PrivatePostgres::start(folder.path()).await?;
            let url: DatabaseUrl = postgres.url().parse()?;
            let acted = async { act(self.action, database::open(&url, 2).await?).await }.await;
            postgres.stop().await;
            acted
        })
    }
}

async fn act(action: Action, store: Store) -> anyhow::Result<ExitCode> {
    match action {
        Action::Create { name, scope, expires_in } => {
            let expires_at = expires_in.map(|days| Utc::now() + chrono::Duration::days(i64::from(days)));
            let (secret, token) = crate::token::create(store.pool(), &name, scope, expires_at).await?;
            remark(format_args!(
                "Created the token `{name}` ({}) with scope {scope}; it is shown only once:",
                token.id
            ));
            line(secret.expose())?;
        }
        Action::List => {
            line(format_args!("{:36}  {:5}  {:16}  {:16}  NAME", "ID", "SCOPE", "LAST USED", "ENDS"))?;
            for token in tokens::list(store.pool()).await? {
                let minute = |time: chrono::DateTime<Utc>| time.format("%Y-%m-%d %H:%M").to_string();
                let used = token.last_used_at.map_or_else(|| "never".to_owned(), minute);
                let ends = match (token.revoked_at, token.expires_at) {
                    (Some(_), _) => "revoked".to_owned(),
                    (None, Some(ends)) => minute(ends),
                    (None, None) => "never".to_owned(),
                };
                line(format_args!("{:36}  {:5}  {used:16}  {ends:16}  {}", token.id, token.scope.name(), token.name))?;
            }
        }
        Action::Revoke { id } => {
            tokens::revoke(store.pool(), id).await?;
            eprintln!("Revoked {id}.");
        }
    }
    store.pool().close().await;
    Ok(ExitCode::SUCCESS)
}
