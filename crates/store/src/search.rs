//! What has a name or an id that begins with some text: runs, experiments, members, problems, evaluations and datasets.

use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;
use crate::page::{prefix, substring};

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize)]
pub struct Found {
    /// `run`, `experiment`, `member`, `problem`, `evaluation` or `dataset`.
    pub kind: String,
    pub id: Uuid,
    /// Its name; of a problem or an evaluation, its type.
    pub name: String,
    /// The run of a member or a problem, and its name.
    pub run_id: Option<Uuid>,
    pub run_name: Option<String>,
}

/// The newest with `text` in their names, or at the beginning of their ids; those whose name begins with it first. At most
/// `each` of a kind. Names of members are found only by their beginning, since there are many.
pub async fn search(db: &PgPool, text: &str, each: u32) -> Result<Vec<Found>> {
    let (low, high) = ids_from(text).unzip();
    Ok(sqlx::query_as(
        "(SELECT 'run' AS kind, r.id, r.name, NULL::uuid AS run_id, NULL AS run_name FROM runs r JOIN executions e ON e.id = r.id
          WHERE r.name ILIKE $1 OR r.id BETWEEN $3 AND $4
          ORDER BY lower(r.name) LIKE $2 DESC, e.seq DESC LIMIT $5)
         UNION ALL
         (SELECT 'experiment', id, name, NULL, NULL FROM experiments WHERE name ILIKE $1 OR id BETWEEN $3 AND $4
          ORDER BY lower(name) LIKE $2 DESC, seq DESC LIMIT $5)
         UNION ALL
         (SELECT 'member', m.id, m.name, r.id, r.name FROM members m JOIN runs r ON r.id = m.run_id
          WHERE lower(m.name) LIKE $2 OR m.id BETWEEN $3 AND $4 ORDER BY m.seq DESC LIMIT $5)
         UNION ALL
         (SELECT 'problem', p.id, p.type, r.id, r.name FROM problems p JOIN runs r ON r.id = p.run_id
          WHERE p.id BETWEEN $3 AND $4 ORDER BY p.id LIMIT $5)
         UNION ALL
         (SELECT 'evaluation', v.id, v.spec->>'type', r.id, r.name FROM evaluations v LEFT JOIN runs r ON r.id = v.run_id
          WHERE v.id BETWEEN $3 AND $4 ORDER BY v.id LIMIT $5)
         UNION ALL
         (SELECT 'dataset', id, name, NULL, NULL FROM datasets WHERE name ILIKE $1 OR id BETWEEN $3 AND $4
          ORDER BY lower(name) LIKE $2 DESC, seq DESC LIMIT $5)",
    )
    .bind(substring(text))
    .bind(prefix(text))
    .bind(low)
    .bind(high)
    .bind(i64::from(each))
    .fetch_all(db)
    .await?)
}

/// The first and the last id that begin with `text`, if ids can; shorter beginnings than four digits are no ids.
fn ids_from(text: &str) -> Option<(Uuid, Uuid)> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    let is_beginning = (4..=32).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let filled = |with: char| {
        let all: String = digits.chars().chain(std::iter::repeat(with)).take(32).collect();
        Uuid::parse_str(&all).ok()
    };
    is_beginning.then(|| filled('0').zip(filled('f'))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_known_by_its_beginning() {
        let whole = Uuid::parse_str("0190a1b2-c3d4-7000-8000-00000000000f").unwrap();
        for beginning in ["0190", "0190A1B2-c3", "0190a1b2c3d470008000", &whole.to_string()] {
            let (low, high) = ids_from(beginning).unwrap();
            assert!(low <= whole && whole <= high, "{beginning}");
        }
        assert_eq!(ids_from(&whole.to_string()), Some((whole, whole)));
        for other in ["", "019", "run 1", "0190a1b2-c3d4-7000-8000-00000000000f0"] {
            assert_eq!(ids_from(other), None, "{other}");
        }
    }
}
