//! How a problem came about, and why an answer is right or wrong, in the words of the page.

use lyceum_core::id::{ExecutionId, ProblemId};
use lyceum_core::problem::Values;
use lyceum_core::recipe::ParentRelation;
use lyceum_store::problems;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;
use sqlx::PgPool;
use std::borrow::Cow;
use std::collections::HashMap;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::text::{Excerpt, excerpt};

/// Characters of a text in the chain.
const TEXT: usize = 240;

/// A problem of the chain.
#[derive(Debug, Serialize)]
pub(super) struct Link {
    pub(super) id: Uuid,
    /// What it is: `goalpost`, `lemma`, `lift` or `question`.
    pub(super) role: &'static str,
    /// Its place in the run; none if it was deleted.
    pub(super) step: Option<i32>,
    pub(super) index: Option<i32>,
    /// Its question or message.
    #[serde(skip)]
    pub(super) text: Option<Excerpt>,
    #[serde(skip)]
    pub(super) program: Option<Excerpt>,
    pub(super) solve_rate: Option<f32>,
}

/// How new a candidate was when it was proposed.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Novelty {
    /// Along what its difficulty differs from that of its parent.
    pub(super) axis: Option<String>,
    /// The highest cosine similarity to another one.
    pub(super) similarity: Option<f64>,
    pub(super) nearest: Option<Uuid>,
}

/// The chain that ends with a problem; empty if it was made from no other.
pub(super) async fn chain(db: &PgPool, run: ExecutionId, problem: ProblemId) -> Result<Vec<Link>, ApiError> {
    let ancestors = problems::chain(db, problem).await?;
    if ancestors.len() < 2 {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = ancestors.iter().map(|one| one.id).collect();
    let found = problems::by_ids(db, run, &ids).await?;
    let found: HashMap<Uuid, problems::Problem> = found.into_iter().map(|problem| (problem.id, problem)).collect();
    let values: HashMap<Uuid, Value> = problems::values(db, &ids).await?.into_iter().collect();
    let mut before = None;
    let links = ancestors.into_iter().map(|one| {
        let role = role(one.relation, before);
        before = one.relation;
        let problem = found.get(&one.id);
        let of = values.get(&one.id).unwrap_or(&Value::Null);
        let text = of["question"].as_str().or(of["message"].as_str());
        Link {
            id: one.id,
            role,
            step: problem.map(|problem| problem.step),
            index: problem.map(|problem| problem.index),
            text: text.map(|text| excerpt(text, TEXT)),
            program: problem.and_then(|problem| Some(excerpt(problem.program.as_deref()?, TEXT))),
            solve_rate: problem.and_then(|problem| problem.solve_rate),
        }
    });
    Ok(links.collect())
}

/// What a problem is, by what it is for the next one and what the one before is for it.
fn role(for_next: Option<ParentRelation>, of_before: Option<ParentRelation>) -> &'static str {
    match (for_next, of_before) {
        (Some(ParentRelation::Goalpost), _) => "goalpost",
        (Some(ParentRelation::Lemma), _) | (_, Some(ParentRelation::Goalpost)) => "lemma",
        (_, Some(ParentRelation::Lemma)) => "lift",
        (_, Some(ParentRelation::Original)) => "question",
        _ => "problem",
    }
}

/// What a problem's values say of its novelty; `None` if they say nothing.
pub(super) fn novelty(values: Option<&Value>) -> Option<Novelty> {
    let values = values?;
    let found = Novelty {
        axis: values["axis"].as_str().map(str::to_owned),
        similarity: values["similarity"].as_f64(),
        nearest: values["nearest"].as_str().and_then(|id| id.parse().ok()),
    };
    (found.axis.is_some() || found.similarity.is_some()).then_some(found)
}

/// `reason` with the number that the page gives to an input. Verdicts count the pairs that a solver does not see, from 0;
/// the page counts all inputs, from 1.
pub(super) fn numbered_as_shown<'a>(reason: &'a str, values: Option<&Value>) -> Cow<'a, str> {
    let told = reason
        .strip_prefix("pair ")
        .and_then(|rest| rest.split_once(':'))
        .and_then(|(pair, why)| Some((pair.parse::<usize>().ok()?, why)));
    let shown = values.and_then(|values| match Values::deserialize(values).ok()? {
        Values::Function { shown, .. } => Some(shown),
        _ => None,
    });
    match (told, shown) {
        (Some((pair, why)), Some(shown)) => Cow::Owned(format!("input {}:{why}", shown.saturating_add(pair) + 1)),
        _ => Cow::Borrowed(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_chain_goes_from_the_goalpost_over_lemma_and_lift_to_the_question() {
        use ParentRelation::{Goalpost, Lemma, Original};
        let relations = [Some(Goalpost), Some(Lemma), Some(Original), None];
        let befores = [None, Some(Goalpost), Some(Lemma), Some(Original)];
        let roles: Vec<_> = relations.into_iter().zip(befores).map(|(next, before)| role(next, before)).collect();
        assert_eq!(roles, ["goalpost", "lemma", "lift", "question"]);
        // A lemma that is asked in another form.
        assert_eq!(role(Some(Original), Some(Goalpost)), "lemma");
    }

    #[test]
    fn values_of_other_recipes_have_no_novelty() {
        assert_eq!(novelty(Some(&json!({"message": "add"}))), None);
        assert_eq!(novelty(None), None);
        let id = Uuid::from_u128(7);
        let found = novelty(Some(&json!({"axis": "io", "similarity": 0.97, "nearest": id}))).unwrap();
        assert_eq!((found.axis.as_deref(), found.similarity, found.nearest), (Some("io"), Some(0.97), Some(id)));
    }

    #[test]
    fn a_hidden_pair_has_the_number_of_its_input() {
        let function =
            json!({"inputs": ["1", "2", "3", "4"], "outputs": ["1", "2", "3", "4"], "message": "", "shown": 2});
        let of = |reason, values: &Value| numbered_as_shown(reason, Some(values)).into_owned();
        assert_eq!(of("pair 0: expected 3, got 4", &function), "input 3: expected 3, got 4");
        assert_eq!(of("pair 1: it took too long", &function), "input 4: it took too long");
        for reason in ["pair x: y", "pairs differ", "it took too long", ""] {
            assert_eq!(of(reason, &function), reason);
        }
        assert_eq!(of("pair 0: x", &json!({"input": "1"})), "pair 0: x");
        assert_eq!(numbered_as_shown("pair 0: x", None), "pair 0: x");
    }
}
