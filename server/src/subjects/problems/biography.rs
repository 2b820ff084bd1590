//! `/runs/{id}/problems/{problem}`: the history of a problem.

mod chain;
mod story;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::arithmetic::{Judgement, judge};
use lyceum_core::id::{ExecutionId, ProblemId};
use lyceum_core::problem::{Part, Values, parts};
use lyceum_core::recipe::{Gates, ParentRelation, Role, Side};
use lyceum_core::verify::ProblemKind;
use lyceum_store::attempts::{self, Answers, Attempt, AttemptFilter, MeanReward};
use lyceum_store::members;
use lyceum_store::problems::{self, ProblemParent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

use self::chain::{Link, Novelty, chain, novelty, numbered_as_shown};
use self::story::{Scene, scenes};
use crate::api_error::ApiError;
use crate::contract::{Listing, Order};
use crate::frame::format::counted;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::{names, solves};
use crate::frame::steps::MEMBERS;
use crate::frame::text::{Excerpt, SHOWN, excerpt};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;
use crate::subjects::curriculum;

/// Maximum characters of a name that models or recipes chose.
const NAME: usize = 200;
/// Relatives shown on each side.
const RELATIVES: usize = 50;

/// The position in the list of attempts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BiographyFilter {
    cursor: Option<String>,
}

#[derive(Template, Serialize)]
#[template(path = "problems/biography.html")]
struct ProblemPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    problem: problems::Problem,
    relations: Vec<ProblemParent>,
    attempts: Vec<Attempt>,
    /// All answers to it, and how many are right. Its own count is left out for a dataset's row, which nobody is
    /// rewarded for.
    answers: Answers,
    /// What attempts earned by role, in a run whose critic's scores decide what enters the curriculum.
    rewards: Vec<MeanReward>,
    #[serde(flatten)]
    pager: Pager,
    /// From the goalpost to this problem, in a run that works towards goalposts; empty elsewhere.
    chain: Vec<Link>,
    novelty: Option<Novelty>,
    /// The problems that inspired it, and those it inspired.
    #[serde(skip)]
    before: Vec<Relative>,
    #[serde(skip)]
    after: Vec<Relative>,
    #[serde(skip)]
    gates: Option<Gates>,
    #[serde(skip)]
    names: HashMap<Uuid, String>,
}

/// A problem that inspired this one, or was inspired by it.
struct Relative {
    id: Uuid,
    relation: ParentRelation,
    /// `None` if it is in another run or was deleted.
    problem: Option<problems::Problem>,
}

impl Relative {
    fn program(&self) -> Option<Excerpt> {
        let program = self.problem.as_ref()?.program.as_deref()?;
        Some(excerpt(program, 400))
    }
}

/// A part of the problem.
struct Shown {
    name: String,
    /// `None` if it is in the dataset's row only.
    text: Option<Excerpt>,
    /// Whether solvers see it: `shown` or `hidden`; empty for a problem that nobody may attempt.
    to_solver: &'static str,
}

impl Shown {
    fn of(part: Part<'_>, valid: bool) -> Self {
        Self {
            name: part.name.into_owned(),
            text: part.text.map(|text| excerpt(text, SHOWN)),
            to_solver: match (valid, part.shown) {
                (false, _) => "",
                (true, true) => "shown",
                (true, false) => "hidden",
            },
        }
    }
}

/// What a role's attempts earned.
struct RoleRewards {
    role: Role,
    count: i64,
    mean: f64,
    parts: Vec<RewardPart>,
}

struct RewardPart {
    name: String,
    value: String,
}

impl ProblemPage {
    fn name_of(&self, id: &Uuid) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| crate::frame::format::id(id))
    }

    /// The name of the part that has a card of its own.
    fn lead(&self) -> &'static str {
        let has_program = self.problem.program.is_some();
        let has_question = self.problem.values.as_ref().is_some_and(|values| values["question"].is_string());
        if has_question && !has_program { "question" } else { "program" }
    }

    /// Whether it is a question that others of its iteration can be compared with.
    fn has_neighbours(&self) -> bool {
        self.run.capabilities.measures_diversity && self.problem.valid && self.lead() == "question"
    }

    fn lead_part(&self) -> Option<Shown> {
        self.parts().into_iter().find(|part| part.name == self.lead())
    }

    /// The other parts.
    fn values(&self) -> Vec<Shown> {
        let all = self.parts().into_iter();
        all.filter(|part| part.name != self.lead()).collect()
    }

    fn parts(&self) -> Vec<Shown> {
        let problem = &self.problem;
        let values = problem.values.as_ref().unwrap_or(&Value::Null);
        parts_of_problem(problem.problem_type, problem.valid, problem.program.as_deref(), values)
    }

    fn prompt(&self) -> Option<Excerpt> {
        let prompt = self.problem.prompt.as_deref().filter(|prompt| !prompt.is_empty())?;
        Some(excerpt(prompt, SHOWN))
    }

    fn proposal(&self) -> Option<Excerpt> {
        let proposal = self.problem.proposal.as_deref().filter(|text| !text.is_empty())?;
        Some(excerpt(proposal, SHOWN))
    }

    fn reason(&self) -> Excerpt {
        excerpt(&self.problem.reason, SHOWN)
    }

    /// Relatives not shown.
    fn more_before(&self) -> usize {
        let all = self.relations.iter().filter(|one| one.problem_id == self.problem.id);
        all.count().saturating_sub(RELATIVES)
    }

    fn more_after(&self) -> usize {
        let all = self.relations.iter().filter(|one| one.parent_id == self.problem.id);
        all.count().saturating_sub(RELATIVES)
    }

    /// The share of the answers that are right, and how many there are.
    fn solve_rate(&self) -> Option<(f64, String)> {
        let (rate, count) = match self.problem.solve_rate {
            Some(rate) => (f64::from(rate), i64::from(self.problem.attempts)),
            None => (self.answers.share_correct()?, self.answers.count),
        };
        Some((rate, counted(&count, "attempt")))
    }

    /// Whether an attempt is an answer, rather than a plan or a judgement.
    fn is_answer(&self, attempt: &Attempt) -> bool {
        solves(&attempt.role)
    }

    /// The story that the attempts shown tell.
    fn scenes(&self) -> Vec<Scene<'_>> {
        scenes(&self.attempts, self.gates.as_ref())
    }

    fn found_in(&self, attempt: &Attempt) -> &'static str {
        match attempt.role.side() {
            Side::Plans => "Plan",
            Side::Judges => "Score",
            Side::Solves | Side::Proposes => "Parsed answer",
        }
    }

    /// Whether a member's stated answer is right, for an arithmetic question in a run with a critic; only for people.
    fn truth(&self) -> Option<String> {
        self.problem.proposer_id.and(self.gates)?;
        let Values::Math { question, answer } = Values::deserialize(self.problem.values.as_ref()?).ok()? else {
            return None;
        };
        match judge(&question, &answer) {
            Judgement::Right => Some("right".to_owned()),
            Judgement::Wrong { value } => Some(format!("wrong: it is {value}")),
            Judgement::Unknown(why) => Some(format!("unknown: {why}")),
        }
    }

    /// The mean rewards of attempts by role, with their parts.
    fn rewards_by_role(&self) -> Vec<RoleRewards> {
        let whole = self.rewards.iter().filter(|one| one.part.is_none());
        let role = |whole: &MeanReward| {
            let parts = self.rewards.iter().filter(|one| one.role == whole.role);
            let part = |one: &MeanReward| {
                Some(RewardPart {
                    name: excerpt(&crate::frame::format::words(one.part.as_deref()?), NAME).text,
                    value: crate::frame::format::value(&one.mean),
                })
            };
            RoleRewards {
                role: whole.role,
                count: whole.count,
                mean: whole.mean,
                parts: parts.filter_map(part).collect(),
            }
        };
        whole.map(role).collect()
    }

    fn reward_parts(&self) -> Vec<RewardPart> {
        parts_of(self.problem.reward_parts.as_ref().unwrap_or(&Value::Null))
    }

    fn parts_of(&self, attempt: &Attempt) -> Vec<RewardPart> {
        parts_of(&attempt.reward_parts)
    }

    fn text_of(&self, attempt: &Attempt) -> Excerpt {
        excerpt(&attempt.text, SHOWN)
    }

    fn answer_of(&self, attempt: &Attempt) -> Option<Excerpt> {
        Some(excerpt(attempt.answer.as_deref()?, SHOWN))
    }

    fn reason_of(&self, attempt: &Attempt) -> Excerpt {
        excerpt(&numbered_as_shown(&attempt.reason, self.problem.values.as_ref()), SHOWN)
    }
}

/// The history of a problem.
#[get("/runs/{id}/problems/{problem}")]
pub(crate) async fn show_problem(
    view: View,
    lab: web::Data<Lab>,
    place: web::Path<(ExecutionId, ProblemId)>,
    filters: Filters<BiographyFilter>,
) -> Result<HttpResponse, ApiError> {
    let (id, problem_id) = place.into_inner();
    let db = lab.store.pool();
    let cursor = filters.0.cursor.as_deref();
    let listing = Listing::new("attempts", None, cursor, Some(Order::Oldest))?;
    let run = RunFrame::load(&lab, id, Tab::Problems).await?;
    let problem = problems::find(db, id, problem_id).await?;
    let relations = problems::parents(db, problem_id).await?;
    let filter = AttemptFilter { problem: Some(problem_id), evaluations: true, ..AttemptFilter::default() };
    let page = listing.page(attempts::page(db, id, &filter, listing.window()).await?);
    let gates = curriculum::gates(&lab, &run.detail);
    let rewards = match gates {
        Some(_) => attempts::mean_rewards(db, problem_id).await?,
        None => Vec::new(),
    };
    let (before, after) = relatives(&lab, id, problem_id, &relations).await?;
    view.show(&ProblemPage {
        layout: view
            .layout(format!("Problem {} of step {} · {}", problem.index, problem.step, run.run().name), Section::Runs),
        names: names(members::names(db, id, MEMBERS).await?),
        chain: if run.capabilities.has_goalposts { chain(db, id, problem_id).await? } else { Vec::new() },
        novelty: novelty(problem.values.as_ref()),
        before,
        after,
        attempts: page.items,
        answers: attempts::answers(db, problem_id).await?,
        rewards,
        gates,
        pager: view.pager(page.next),
        problem,
        relations,
        run,
    })
}

async fn relatives(
    lab: &Lab,
    run: ExecutionId,
    problem: ProblemId,
    relations: &[ProblemParent],
) -> Result<(Vec<Relative>, Vec<Relative>), ApiError> {
    let of = |before: bool| {
        let other = move |relation: &ProblemParent| match before {
            true => (relation.problem_id == problem.0).then_some(relation.parent_id),
            false => (relation.parent_id == problem.0).then_some(relation.problem_id),
        };
        let named = relations.iter().filter_map(move |relation| Some((other(relation)?, relation.relation)));
        named.take(RELATIVES).collect::<Vec<_>>()
    };
    let (before, after) = (of(true), of(false));
    let ids: Vec<Uuid> = before.iter().chain(&after).map(|(id, _)| *id).collect();
    let found = problems::by_ids(lab.store.pool(), run, &ids).await?;
    let found: HashMap<Uuid, problems::Problem> = found.into_iter().map(|problem| (problem.id, problem)).collect();
    let relative = |(id, relation): (Uuid, ParentRelation)| Relative { id, relation, problem: found.get(&id).cloned() };
    Ok((before.into_iter().map(relative).collect(), after.into_iter().map(relative).collect()))
}

/// The parts of a problem, as core tells them apart. Values of an unknown form are listed by name.
fn parts_of_problem(kind: ProblemKind, valid: bool, program: Option<&str>, values: &Value) -> Vec<Shown> {
    if let Ok(values) = Values::deserialize(values) {
        let parts = parts(kind, program, &values);
        return parts.into_iter().map(|part| Shown::of(part, valid)).collect();
    }
    let shown = |(name, value): (&String, &Value)| Shown {
        name: excerpt(name, NAME).text,
        text: Some(excerpt(&text_of(value), SHOWN)),
        to_solver: "",
    };
    values.as_object().into_iter().flatten().map(shown).collect()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn parts_of(parts: &Value) -> Vec<RewardPart> {
    let part = |(name, value): (&String, &Value)| RewardPart {
        name: excerpt(&crate::frame::format::words(name), NAME).text,
        value: value
            .as_f64()
            .map_or_else(|| excerpt(&text_of(value), NAME).text, |number| crate::frame::format::value(&number)),
    };
    parts.as_object().into_iter().flatten().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(kind: ProblemKind, valid: bool, program: Option<&str>, values: Value) -> Vec<(String, &'static str)> {
        parts_of_problem(kind, valid, program, &values).into_iter().map(|part| (part.name, part.to_solver)).collect()
    }

    #[test]
    fn the_parts_of_every_kind_are_those_of_core() {
        let rows = |named: &[(&str, &'static str)]| -> Vec<(String, &'static str)> {
            named.iter().map(|(name, seen)| ((*name).to_owned(), *seen)).collect()
        };
        let io = json!({"input": "1", "output": "2"});
        let program = Some("def f(a): return a + 1");
        assert_eq!(
            seen(ProblemKind::CodeO, true, program, io.clone()),
            rows(&[("program", "shown"), ("input", "shown"), ("output", "hidden")])
        );
        assert_eq!(
            seen(ProblemKind::CodeI, true, program, io.clone()),
            rows(&[("program", "shown"), ("output", "shown"), ("input", "hidden")])
        );
        assert_eq!(seen(ProblemKind::CodeI, false, program, io)[0].1, "", "nobody may attempt it");
        let function = json!({"inputs": ["1", "2"], "outputs": ["3", "4"], "message": "m", "shown": 1});
        assert_eq!(
            seen(ProblemKind::CodeF, true, program, function),
            rows(&[
                ("message", "shown"),
                ("input 1", "shown"),
                ("output 1", "shown"),
                ("program", "hidden"),
                ("input 2", "hidden"),
                ("output 2", "hidden"),
            ])
        );
        let question = json!({"question": "1 + 1?", "answer": "2"});
        assert_eq!(seen(ProblemKind::Math, true, None, question), rows(&[("question", "shown"), ("answer", "hidden")]));
        let code = json!({"question": "Add.", "canonical": "def add(a, b): return a + b", "entry_point": "add"});
        assert_eq!(
            seen(ProblemKind::Code, true, None, code),
            rows(&[("entry point", "shown"), ("question", "shown"), ("solution", "hidden"), ("tests", "hidden"),])
        );
    }

    #[test]
    fn values_of_an_unknown_form_are_listed() {
        assert_eq!(seen(ProblemKind::CodeF, true, None, Value::Null), []);
        let odd = json!({"input": [1, 2]});
        assert_eq!(seen(ProblemKind::CodeO, true, None, odd), [("input".to_owned(), "")]);
    }
}
