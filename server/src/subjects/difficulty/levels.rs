//! Answers of a run by the levels of their rows over its steps, and the state of its sampler.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::RowsAsked;
use lyceum_core::recipe::rows::{SamplerState, level_order};
use lyceum_store::dataset_rows::{self, AskedRows};
use lyceum_store::runs::state_at;
use lyceum_store::steps::Stretch;
use lyceum_store::{Store, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;

use crate::frame::format::percent;
use crate::frame::sides::heat;

/// The tag where no sampler chooses by one.
const LEVEL: &str = "level";

/// Answers by the value of their rows' tag, over steps.
#[derive(Serialize)]
pub(super) struct Levels {
    /// The tag.
    pub(super) tag: String,
    /// By step and value.
    asked: Vec<AskedRows>,
    /// Steps per column.
    pub(super) width: u32,
    /// The first step of each column.
    #[serde(skip)]
    pub(super) steps: Vec<i32>,
    #[serde(skip)]
    pub(super) lines: Vec<Line>,
}

/// A value of the tag, and how its rows were answered in each column.
pub(super) struct Line {
    pub(super) value: String,
    pub(super) cells: Vec<Option<Cell>>,
}

pub(super) struct Cell {
    pub(super) class: String,
    /// The share of the column's answers.
    pub(super) share: String,
    /// In words, with the pass rate.
    pub(super) title: String,
}

impl Levels {
    /// None where rows have no such tag.
    pub(super) async fn load(
        store: &Store,
        run: ExecutionId,
        rows: Option<&RowsAsked>,
        steps: Stretch,
    ) -> Result<Option<Self>, StoreError> {
        let Some(rows) = rows else { return Ok(None) };
        let tag = rows.tag.clone().unwrap_or_else(|| LEVEL.to_owned());
        let asked = dataset_rows::asked_by_tag(store.pool(), run, rows.dataset, &tag, steps).await?;
        Ok(asked.iter().any(|one| one.value.is_some()).then(|| Self::of(tag, steps.width, asked)))
    }

    fn of(tag: String, width: u32, asked: Vec<AskedRows>) -> Self {
        let mut steps: Vec<i32> = asked.iter().map(|one| one.step).collect();
        steps.dedup();
        let mut of_column: BTreeMap<i32, i64> = BTreeMap::new();
        let mut of_value: BTreeMap<&Option<String>, BTreeMap<i32, &AskedRows>> = BTreeMap::new();
        for one in &asked {
            *of_column.entry(one.step).or_default() += one.answers;
            of_value.entry(&one.value).or_default().insert(one.step, one);
        }
        let cell = |one: &&AskedRows| {
            let rate = one.correct as f64 / one.answers.max(1) as f64;
            let share = percent(&(one.answers as f64 / of_column[&one.step].max(1) as f64));
            let title = format!("{share} of the answers, {} of them correct", percent(&rate));
            Cell { class: heat(Some(rate), (0.0, 1.0)), share, title }
        };
        let mut lines: Vec<Line> = of_value
            .iter()
            .map(|(value, cells)| Line {
                value: (*value).clone().unwrap_or_else(|| "none".to_owned()),
                cells: steps.iter().map(|step| cells.get(step).map(cell)).collect(),
            })
            .collect();
        lines.sort_by(|a, b| level_order(&a.value, &b.value));
        Self { tag, width, steps, lines, asked }
    }
}

/// The state of the sampler for a member before a step.
#[derive(Serialize)]
pub(super) struct Known {
    pub(super) member: String,
    #[serde(flatten)]
    pub(super) state: SamplerState,
}

impl Known {
    /// Nothing where the sampler remembers nothing, or the step has no state.
    pub(super) async fn load(store: &Store, run: ExecutionId, step: u32) -> Result<Vec<Self>, StoreError> {
        let state = match state_at(store.pool(), run, step).await {
            Err(StoreError::NoSuchStep { .. }) => return Ok(Vec::new()),
            state => state?,
        };
        let states: BTreeMap<String, SamplerState> =
            serde_json::from_value(state.memory["sampler"].clone()).unwrap_or_default();
        Ok(states.into_iter().map(|(member, state)| Self { member, state }).collect())
    }

    /// The rows of a band, by the mean of each row's distribution.
    pub(super) fn rows(&self) -> String {
        let expected = |[right, wrong]: &[f64; 2]| (1.0 + right) / (2.0 + right + wrong);
        let rows = &self.state.rows;
        let inside = rows.values().map(expected).filter(|rate| (0.25..=0.75).contains(rate)).count();
        format!("{} rows, {inside} of them expected to be solved in 25 to 75 % of answers", rows.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_a_column_and_levels_are_in_the_order_of_numbers() {
        let asked =
            |step, value: &str, answers, correct| AskedRows { step, value: Some(value.to_owned()), answers, correct };
        let all = vec![asked(0, "10", 10, 5), asked(0, "9", 30, 30), asked(5, "10", 8, 0)];
        let levels = Levels::of("level".to_owned(), 5, all);
        assert_eq!(levels.steps, [0, 5]);
        let read: Vec<_> = levels
            .lines
            .iter()
            .map(|line| {
                let cells = line.cells.iter().flatten().map(|cell| (cell.share.clone(), cell.class.as_str()));
                (line.value.as_str(), line.cells.len(), cells.collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(
            read,
            [
                ("9", 2, vec![(percent(&0.75), "heat-10")]),
                ("10", 2, vec![(percent(&0.25), "heat-5"), (percent(&1.0), "heat-0")]),
            ]
        );
        let rows = BTreeMap::from([(0, [1.0, 1.0]), (3, [8.0, 0.0])]);
        let state = SamplerState { rows, ..SamplerState::default() };
        assert!(Known { member: "student-0".to_owned(), state }.rows().starts_with("2 rows, 1 of them"));
    }
}
