//! Pages of lists.
//!
//! A page starts after the last key of the previous one (keyset pagination), so it costs the same anywhere in the list,
//! and no row is skipped or repeated while rows are added.

use sqlx::postgres::PgRow;
use sqlx::{Encode, FromRow, PgPool, Postgres, QueryBuilder, Type};

use crate::Result;

/// The position of a row in its list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// The value the list is sorted by, if not by age.
    pub value: Option<f32>,
    /// The row's number, which increases with time.
    pub seq: i64,
}

/// The order of a list by age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

/// A part of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Maximum number of rows.
    pub limit: u32,
    /// The last row of the previous part.
    pub after: Option<Key>,
    pub order: Order,
}

/// A part of a list, and where the next one starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// The key after which the next part starts; `None` at the end.
    pub next: Option<Key>,
}

/// A row with a position.
pub(crate) trait Keyed {
    fn key(&self) -> Key;
}

/// Adds the window over the column `seq` to `query`, which has its WHERE, and runs it.
pub(crate) async fn by_seq<T>(
    db: &PgPool,
    mut query: QueryBuilder<Postgres>,
    seq: &str,
    window: &Window,
) -> Result<Page<T>>
where
    T: Keyed + Send + Unpin + for<'r> FromRow<'r, PgRow>,
{
    order_by_seq(&mut query, seq, window);
    limited(db, query, window).await
}

/// Makes `query`, which has its WHERE, start after the window's key by the column `seq`, in the window's order.
pub(crate) fn order_by_seq(query: &mut QueryBuilder<Postgres>, seq: &str, window: &Window) {
    let (comparison, direction) = directions(window.order);
    if let Some(after) = window.after {
        query.push(format_args!(" AND {seq} {comparison} ")).push_bind(after.seq);
    }
    query.push(format_args!(" ORDER BY {seq} {direction}"));
}

/// The same, by `value` and then `seq`.
pub(crate) fn order_by_value(query: &mut QueryBuilder<Postgres>, (value, seq): (&str, &str), window: &Window) {
    let (comparison, direction) = directions(window.order);
    if let Some(Key { value: Some(last), seq: number }) = window.after {
        query.push(format_args!(" AND ({value}, {seq}) {comparison} ("));
        query.push_bind(last).push(", ").push_bind(number).push(")");
    }
    query.push(format_args!(" ORDER BY {value} {direction}, {seq} {direction}"));
}

fn directions(order: Order) -> (&'static str, &'static str) {
    match order {
        Order::Newest => ("<", "DESC"),
        Order::Oldest => (">", "ASC"),
    }
}

/// Runs `query`, which has its ORDER BY, with the window's limit.
pub(crate) async fn limited<T>(db: &PgPool, mut query: QueryBuilder<Postgres>, window: &Window) -> Result<Page<T>>
where
    T: Keyed + Send + Unpin + for<'r> FromRow<'r, PgRow>,
{
    query.push(" LIMIT ").push_bind(i64::from(window.limit) + 1);
    // Planned anew each time, since the best plan depends on how rare the requested values are: one plan for all values
    // assumes that a tag of every twentieth run is rare, and then sorts thousands of rows.
    let mut items: Vec<T> = query.build_query_as().persistent(false).fetch_all(db).await?;
    let more = items.len() > window.limit as usize;
    items.truncate(window.limit as usize);
    let next = if more { items.last().map(Keyed::key) } else { None };
    Ok(Page { items, next })
}

macro_rules! keyed_by_seq {
    ($($row:ty),*) => {$(
        impl crate::page::Keyed for $row {
            fn key(&self) -> crate::page::Key {
                crate::page::Key { value: None, seq: self.seq }
            }
        }
    )*};
}
pub(crate) use keyed_by_seq;

/// Adds ` AND <condition><value>` if there is a value.
pub(crate) fn and<'q, T>(query: &mut QueryBuilder<Postgres>, condition: &str, value: Option<T>)
where
    T: 'q + Encode<'q, Postgres> + Type<Postgres>,
{
    if let Some(value) = value {
        query.push(format_args!(" AND {condition}")).push_bind(value);
    }
}

/// The LIKE pattern for texts that start with `text`.
pub(crate) fn prefix(text: &str) -> String {
    format!("{}%", literal(&text.to_lowercase()))
}

/// The LIKE pattern for texts with `text` in them.
pub(crate) fn substring(text: &str) -> String {
    format!("%{}%", literal(text))
}

/// A pattern for `text` itself.
fn literal(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_would_read_as_more_is_taken_literally() {
        assert_eq!(prefix("50%_A\\"), "50\\%\\_a\\\\%");
        assert_eq!(substring("50%_A\\"), "%50\\%\\_A\\\\%");
    }
}
