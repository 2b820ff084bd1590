//! A task's story: its critique, answers without a plan, and each time that it was planned and solved (SAGE, Figure 4).

use lyceum_core::recipe::{Gates, SCORE_OF_PLAN, SCORE_OF_QUESTION, Side};
use lyceum_store::attempts::Attempt;

use crate::frame::format::value;

/// A part of the story.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    /// Its title; empty for a run without a critic.
    pub(super) title: String,
    /// How it ended; may be empty.
    pub(super) outcome: String,
    pub(super) attempts: Vec<&'a Attempt>,
}

/// What an attempt adds to the story.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Critique,
    /// An answer that estimates the difficulty.
    Estimate,
    Plan,
    PlanCritique,
    /// An answer that is learned from.
    Solve,
    Other,
}

impl Act {
    fn of(attempt: &Attempt) -> Self {
        match attempt.role.side() {
            Side::Judges if attempt.reason.starts_with(SCORE_OF_QUESTION) => Self::Critique,
            Side::Judges if attempt.reason.starts_with(SCORE_OF_PLAN) => Self::PlanCritique,
            Side::Plans => Self::Plan,
            Side::Solves if is_rewarded(attempt) => Self::Solve,
            Side::Solves => Self::Estimate,
            _ => Self::Other,
        }
    }

    /// Whether it goes on with a scene whose last act is `last`.
    fn continues(self, last: Self) -> bool {
        match self {
            Self::Estimate | Self::Other => last == self,
            Self::PlanCritique => last == Self::Plan,
            Self::Solve => matches!(last, Self::Plan | Self::PlanCritique),
            Self::Critique | Self::Plan => false,
        }
    }
}

fn is_rewarded(attempt: &Attempt) -> bool {
    attempt.reward_parts.as_object().is_some_and(|parts| !parts.is_empty())
}

/// The scenes of attempts in the order in which they were written. Without gates there is one, without a title.
pub(super) fn scenes<'a>(attempts: &'a [Attempt], gates: Option<&Gates>) -> Vec<Scene<'a>> {
    let Some(gates) = gates else {
        return vec![Scene { title: String::new(), outcome: String::new(), attempts: attempts.iter().collect() }];
    };
    let scenes = attempts.chunk_by(|last, next| last.step == next.step && Act::of(next).continues(Act::of(last)));
    scenes.map(|attempts| scene(attempts, gates)).collect()
}

fn scene<'a>(attempts: &'a [Attempt], gates: &Gates) -> Scene<'a> {
    let find = |act: Act| attempts.iter().find(|attempt| Act::of(attempt) == act);
    let (step, first) = attempts.first().map_or((0, Act::Other), |first| (first.step, Act::of(first)));
    let (title, outcome) = match first {
        Act::Critique => ("critique of the question", critique(find(Act::Critique), gates)),
        Act::Estimate => ("answers without a plan, for its difficulty", solved(attempts)),
        Act::Plan => ("planned and solved", planned(find(Act::PlanCritique), find(Act::Solve), gates)),
        Act::PlanCritique => ("critique of a plan", String::new()),
        Act::Solve => ("solved without a plan", solved(attempts)),
        Act::Other => ("other attempts", String::new()),
    };
    Scene { title: format!("Step {step}: {title}"), outcome, attempts: attempts.iter().collect() }
}

fn critique(attempt: Option<&Attempt>, gates: &Gates) -> String {
    let score = gates.score(attempt.and_then(|attempt| attempt.answer.as_deref()));
    let threshold = value(&gates.question);
    let shown = value(&f64::from(score));
    match gates.admits(score) {
        true => format!("Its score is {shown}: high enough to join the growing set, if its answer can be checked."),
        false => format!("Its score is {shown}, below {threshold}: it does not join the growing set."),
    }
}

fn planned(critique: Option<&Attempt>, answer: Option<&Attempt>, gates: &Gates) -> String {
    let verdict = match answer {
        Some(answer) if answer.correct => " The answer is correct.",
        Some(_) => " The answer is wrong.",
        None => "",
    };
    let Some(critique) = critique else {
        return format!("The plan cannot be read, so the solver did not see it.{verdict}");
    };
    let score = gates.score(critique.answer.as_deref());
    let shown = value(&f64::from(score));
    match (gates.shows(score), gates.plan) {
        (true, _) => format!("The plan's score is {shown}: the solver saw it.{verdict}"),
        (false, threshold) => {
            let threshold = value(&threshold.unwrap_or(1.0));
            format!("The plan's score is {shown}, below {threshold}: the solver did not see it.{verdict}")
        }
    }
}

fn solved(attempts: &[Attempt]) -> String {
    let correct = attempts.iter().filter(|attempt| attempt.correct).count();
    format!("{correct} of {} correct.", attempts.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::recipe::{Role, ScoreScale};
    use lyceum_core::verify::Status;
    use serde_json::{Value, json};
    use uuid::Uuid;

    fn attempt(step: i32, role: Role, reason: &str, answer: Option<&str>, parts: Value) -> Attempt {
        Attempt {
            id: Uuid::nil(),
            seq: 0,
            step,
            problem_id: Uuid::nil(),
            member_id: Uuid::nil(),
            version_id: Uuid::nil(),
            role,
            sample: 0,
            text: String::new(),
            answer: answer.map(str::to_owned),
            reading: None,
            well_formed: answer.is_some(),
            status: Status::Ok,
            reason: reason.to_owned(),
            correct: answer == Some("3"),
            reward: 0.0,
            reward_parts: parts,
            tokens: 1,
            evaluation_id: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn each_drawing_of_a_task_is_a_scene() {
        let gates = Gates { question: 0.7, plan: Some(0.3), scale: ScoreScale::Ten };
        let parts = || json!({"format": 1.0});
        let attempts = [
            attempt(2, Role::Critic, SCORE_OF_QUESTION, Some("8"), parts()),
            attempt(2, Role::Solver, "", Some("3"), json!({})),
            attempt(2, Role::Solver, "", Some("4"), json!({})),
            attempt(5, Role::Planner, "", Some("first add"), parts()),
            attempt(5, Role::Critic, SCORE_OF_PLAN, Some("3"), parts()),
            attempt(5, Role::Solver, "", Some("4"), parts()),
            attempt(5, Role::Planner, "there is no <plan>", None, parts()),
            attempt(5, Role::Solver, "", Some("3"), parts()),
            attempt(7, Role::Planner, "", Some("add"), parts()),
            attempt(7, Role::Critic, SCORE_OF_PLAN, Some("4"), parts()),
            attempt(7, Role::Solver, "", Some("3"), parts()),
        ];
        let scenes = super::scenes(&attempts, Some(&gates));
        let told: Vec<(usize, &str, &str)> =
            scenes.iter().map(|scene| (scene.attempts.len(), scene.title.as_str(), scene.outcome.as_str())).collect();
        assert_eq!(
            told,
            [
                (
                    1,
                    "Step 2: critique of the question",
                    "Its score is 0.7778: high enough to join the growing set, if its answer can be checked."
                ),
                (2, "Step 2: answers without a plan, for its difficulty", "1 of 2 correct."),
                (
                    3,
                    "Step 5: planned and solved",
                    "The plan's score is 0.2222, below 0.3: the solver did not see it. The answer is wrong."
                ),
                (
                    2,
                    "Step 5: planned and solved",
                    "The plan cannot be read, so the solver did not see it. The answer is correct."
                ),
                (
                    3,
                    "Step 7: planned and solved",
                    "The plan's score is 0.3333: the solver saw it. The answer is correct."
                ),
            ]
        );
        let plain = super::scenes(&attempts, None);
        assert_eq!((plain.len(), plain[0].attempts.len(), plain[0].title.as_str()), (1, 11, ""));
    }
}
