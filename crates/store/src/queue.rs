#![doc = include_str!("queue/README.md")]

mod apalis_tables;
mod lane;
mod reader;
mod ticket;
mod wake;

pub use apalis_tables::tidy;
pub(crate) use apalis_tables::use_up;
pub use lane::Lane;
pub use reader::{Announcements, Reader, announcements};
pub use ticket::{issue, top_up};

use sqlx::PgPool;

use crate::Result;

/// Brings apalis' schema up to date. Must not run concurrently.
pub(crate) async fn migrate(db: &PgPool) -> Result<()> {
    Ok(apalis_postgres::PostgresStorage::<()>::setup(db).await?)
}
