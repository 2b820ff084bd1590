//! Conditions that are only there when they are asked for.

use sqlx::{Encode, Postgres, QueryBuilder, Type};

/// Adds ` AND <condition><value>` where there is a value.
pub(super) fn and<'q, T>(query: &mut QueryBuilder<Postgres>, condition: &str, value: Option<T>)
where
    T: 'q + Encode<'q, Postgres> + Type<Postgres>,
{
    if let Some(value) = value {
        query.push(format_args!(" AND {condition}")).push_bind(value);
    }
}
