//! The database: the installed Postgres, or the configured one.

use std::time::SystemTime;

use lyceum_postgres::Binaries;
use lyceum_store::migrations::Schema;
use sqlx::{Connection as _, PgConnection};

use super::{Finding, ask};
use crate::database;
use crate::settings::DatabaseUrl;

/// Required by the queue's tables.
const EXTENSIONS: [&str; 2] = ["hstore", "pgcrypto"];
/// Leases last seconds, so clocks must not differ by more than this.
const LARGEST_SKEW_SECONDS: f64 = 2.0;

pub(super) async fn examine(url: Option<&DatabaseUrl>) -> Vec<Finding> {
    match url {
        Some(url) => named(url).await,
        None => installed(),
    }
}

fn installed() -> Vec<Finding> {
    let binaries = match Binaries::newest() {
        Ok(binaries) => binaries,
        Err(error) => return vec![Finding::error(&error)],
    };
    let folder = binaries.folder();
    let found = Finding::good(format!("Postgres {} in {}", binaries.version(), folder.display()));
    let shared = ask(folder.join("pg_config"), &["--sharedir"]);
    let Some(shared) = shared else { return vec![found] };
    let missing: Vec<_> = EXTENSIONS
        .into_iter()
        .filter(|name| !std::path::Path::new(&shared).join(format!("extension/{name}.control")).exists())
        .collect();
    vec![found, extensions(&missing)]
}

async fn named(url: &DatabaseUrl) -> Vec<Finding> {
    if let Err(error) = database::check(url).await {
        return vec![Finding::error(&error)];
    }
    let mut findings = vec![Finding::good(format!("the database at {url} responds"))];
    match facts(url).await {
        Ok(facts) => {
            let missing: Vec<_> = facts.missing.iter().map(String::as_str).collect();
            findings.push(extensions(&missing));
            findings.push(clock(facts.skew));
            findings.push(schema(&facts.schema));
        }
        Err(error) => findings.push(Finding::bad(format!("the database at {url}: {error}"), "see its log")),
    }
    findings
}

struct Facts {
    /// The extensions that it lacks.
    missing: Vec<String>,
    /// How many seconds its clock is ahead of this machine's.
    skew: f64,
    schema: Schema,
}

async fn facts(url: &DatabaseUrl) -> anyhow::Result<Facts> {
    let mut connection = PgConnection::connect(url.expose()).await?;
    let missing =
        "SELECT name FROM unnest($1::text[]) name WHERE name NOT IN (SELECT name FROM pg_available_extensions)";
    let missing =
        sqlx::query_scalar(missing).bind(EXTENSIONS.map(str::to_owned).to_vec()).fetch_all(&mut connection).await?;
    let before = seconds_now();
    let clock = "SELECT extract(epoch FROM clock_timestamp())::float8";
    let theirs: f64 = sqlx::query_scalar(clock).fetch_one(&mut connection).await?;
    let skew = theirs - f64::midpoint(before, seconds_now());
    Ok(Facts { missing, skew, schema: Schema::of(&mut connection).await? })
}

fn schema(schema: &Schema) -> Finding {
    match schema {
        Schema::Current => Finding::good("the database's schema is this release's"),
        Schema::Behind(1) => Finding::good("the database lacks one migration, which the next start applies"),
        Schema::Behind(missing) => {
            Finding::good(format!("the database lacks {missing} migrations, which the next start applies"))
        }
        Schema::Expanded { release } => Finding::lacking(
            format!("release {release} has added to the database's schema; this release can still use it"),
            format!("install release {release} here as well"),
        ),
        Schema::Contracted { release } => Finding::bad(
            format!("release {release} has migrated the database, and this release can no longer use it"),
            format!("install release {release}, or restore the dump that was taken before the upgrade"),
        ),
    }
}

fn extensions(missing: &[&str]) -> Finding {
    if missing.is_empty() {
        return Finding::good(format!("Postgres' extensions {} are available", EXTENSIONS.join(" and ")));
    }
    let what = format!("Postgres' extensions {} are not installed", missing.join(" and "));
    Finding::bad(what, "install postgresql-contrib for the server's version on its machine")
}

fn clock(skew: f64) -> Finding {
    let what = format!("the database's clock is {skew:+.1} s off this machine's");
    if skew.abs() < LARGEST_SKEW_SECONDS {
        Finding::good(what)
    } else {
        Finding::bad(what, "synchronize both with NTP")
    }
}

fn seconds_now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests_with_database {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn clocks_may_differ_a_little() {
        assert_eq!(clock(-0.3).verdict, Verdict::Good);
        assert!(matches!(clock(4.0).verdict, Verdict::Bad { .. }));
    }

    #[tokio::test]
    async fn a_live_database_is_judged() {
        let database = lyceum_postgres::TestCluster::shared().await.unwrap().database().await.unwrap();
        let url = database.url().parse().unwrap();
        let facts = facts(&url).await.unwrap();
        assert_eq!(facts.missing, [""; 0]);
        assert!(facts.skew.abs() < 1.0, "the same clock: {}", facts.skew);
        assert!(matches!(facts.schema, Schema::Behind(missing) if missing > 50), "{:?}", facts.schema);
    }
}
