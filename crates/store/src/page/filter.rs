//! Optional conditions.

use sqlx::{Encode, Postgres, QueryBuilder, Type};

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
