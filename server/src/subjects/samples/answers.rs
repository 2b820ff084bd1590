//! Answers to a problem, equal ones together.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

use crate::frame::format::{value, words};
use crate::frame::text::{Excerpt, SHOWN, excerpt, inert};

/// An answer as it was given.
pub(super) struct Given {
    /// Who gave it, such as a member or a checkpoint.
    pub(super) by: String,
    /// Whether it is right; none for what is neither right nor wrong, such as a plan.
    pub(super) correct: Option<bool>,
    /// The answer found in the text.
    pub(super) answer: Option<String>,
    pub(super) text: String,
    /// Why it is right or wrong.
    pub(super) reason: String,
    pub(super) reward: Option<f64>,
    /// The parts of the reward by name.
    pub(super) parts: Value,
}

/// Equal answers.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// Who gave it, each once.
    by: Vec<String>,
    count: usize,
    pub(super) correct: Option<bool>,
    answer: Option<String>,
    /// The first text with this answer.
    text: String,
    /// Other texts with the same answer, each once.
    other_texts: Vec<String>,
    reason: String,
    /// The mean reward.
    reward: Option<f64>,
    /// The means of its parts.
    reward_parts: BTreeMap<String, f64>,
}

/// Groups equal answers: those with the same verdict and the same answer found or, if none was found, the same text. The
/// most frequent come first.
pub(super) fn grouped(given: impl IntoIterator<Item = Given>) -> Vec<Answer> {
    let mut groups: Vec<(Vec<Given>, usize)> = Vec::new();
    for (place, one) in given.into_iter().enumerate() {
        let is_equal = |other: &Given| {
            let is_same = match (&one.answer, &other.answer) {
                (None, None) => one.text == other.text,
                (found, other) => found == other,
            };
            is_same && one.correct == other.correct
        };
        match groups.iter_mut().find(|(group, _)| is_equal(&group[0])) {
            Some((group, _)) => group.push(one),
            None => groups.push((vec![one], place)),
        }
    }
    groups.sort_by_key(|(group, place)| (usize::MAX - group.len(), *place));
    groups.into_iter().filter_map(|(group, _)| Answer::of(group)).collect()
}

impl Answer {
    fn of(group: Vec<Given>) -> Option<Self> {
        let count = group.len();
        let mut by: Vec<String> = Vec::new();
        let mut other_texts: Vec<String> = Vec::new();
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for one in &group {
            if !by.contains(&one.by) {
                by.push(one.by.clone());
            }
            if one.text != group[0].text && !other_texts.contains(&one.text) {
                other_texts.push(one.text.clone());
            }
            for (name, part) in one.parts.as_object().into_iter().flatten() {
                let (sum, count) = sums.entry(name.clone()).or_default();
                (*sum, *count) = (*sum + part.as_f64().unwrap_or_default(), *count + 1.0);
            }
        }
        let rewards: Vec<f64> = group.iter().filter_map(|one| one.reward).collect();
        let first = group.into_iter().next()?;
        Some(Self {
            by,
            count,
            correct: first.correct,
            answer: first.answer,
            text: first.text,
            other_texts,
            reason: first.reason,
            reward: (!rewards.is_empty()).then(|| rewards.iter().sum::<f64>() / rewards.len() as f64),
            reward_parts: sums.into_iter().map(|(name, (sum, count))| (name, sum / count)).collect(),
        })
    }

    pub(super) fn by(&self) -> String {
        inert(&self.by.join(", "))
    }

    /// How many there are, if there are several.
    pub(super) fn times(&self) -> Option<usize> {
        (self.count > 1).then_some(self.count)
    }

    /// The answer found, unless it is the whole text.
    pub(super) fn answer(&self) -> Option<Excerpt> {
        let answer = self.answer.as_deref()?;
        (answer.trim() != self.text.trim()).then(|| excerpt(answer, SHOWN))
    }

    pub(super) fn text(&self) -> Excerpt {
        excerpt(&self.text, SHOWN)
    }

    pub(super) fn other_texts(&self) -> Vec<Excerpt> {
        self.other_texts.iter().map(|text| excerpt(text, SHOWN)).collect()
    }

    pub(super) fn reason(&self) -> Option<Excerpt> {
        (!self.reason.is_empty()).then(|| excerpt(&self.reason, SHOWN))
    }

    /// Its reward and the parts of it, in a line; empty without a reward.
    pub(super) fn reward(&self) -> String {
        let Some(reward) = self.reward else { return String::new() };
        let parts = self.reward_parts.iter().map(|(name, part)| format!("{} {}", inert(&words(name)), value(part)));
        let all: Vec<String> = std::iter::once(format!("reward {}", value(&reward))).chain(parts).collect();
        all.join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn given(by: &str, answer: Option<&str>, text: &str, correct: bool, reward: f64) -> Given {
        Given {
            by: by.to_owned(),
            correct: Some(correct),
            answer: answer.map(str::to_owned),
            text: text.to_owned(),
            reason: String::new(),
            reward: Some(reward),
            parts: json!({"format": reward}),
        }
    }

    #[test]
    fn equal_answers_are_one_and_the_most_frequent_comes_first() {
        let answers = grouped([
            given("a", Some("1"), "so 1", false, 0.0),
            given("a", Some("2"), "it is 2", true, 1.0),
            given("b", Some("2"), "2", true, 0.5),
            given("b", Some("2"), "it is 2", true, 0.0),
            given("b", None, "?", false, 0.0),
            given("b", None, "??", false, 0.0),
        ]);
        let found: Vec<_> = answers.iter().map(|one| (one.text.as_str(), one.count)).collect();
        assert_eq!(found, [("it is 2", 3), ("so 1", 1), ("?", 1), ("??", 1)]);
        let first = &answers[0];
        assert_eq!((first.by(), first.reward()), ("a, b".to_owned(), "reward 0.5 · format 0.5".to_owned()));
        assert_eq!(first.other_texts, ["2"]);
    }

    #[test]
    fn a_right_and_a_wrong_answer_are_never_equal() {
        let answers = grouped([given("a", Some("1"), "1", false, 0.0), given("a", Some("1"), "1", true, 0.0)]);
        assert_eq!(answers.len(), 2);
    }
}
