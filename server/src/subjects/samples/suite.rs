//! The problems of a suite that a run was measured on, and the answers of its checkpoints to one of them.

use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_store::benchmarks::{self, RowAnswer, RowChange, RunResult};
use lyceum_store::datasets;
use serde_json::Value;
use sqlx::PgPool;
use std::collections::BTreeMap;

use super::answers::{Given, grouped};
use super::{Change, Checkpoint, Facet, Item, Open, Part, SamplesFilter, Shown};
use crate::api_error::ApiError;
use crate::frame::format;
use crate::frame::text::inert;
use crate::frame::view::View;

/// Problems of the list.
const ITEMS: usize = 100;

pub(super) async fn load(
    view: &View,
    db: &PgPool,
    run: ExecutionId,
    result: &RunResult,
    asked: &SamplesFilter,
) -> Result<Shown, ApiError> {
    let number = |name: &str, text: &Option<String>| -> Result<Option<i32>, ApiError> {
        let Some(text) = text else { return Ok(None) };
        let valid = || format!("`{text}` is no row: a number from 0 to {} is valid", result.rows - 1);
        let read = text.parse().ok().filter(|row| (0..result.rows).contains(row));
        read.map(Some).ok_or_else(|| ApiError::invalid_query(vec![(name.to_owned(), valid())]))
    };
    let (opened, after) = (number("open", &asked.open)?, number("cursor", &asked.cursor)?);
    let rows = benchmarks::row_changes(db, result).await?;
    let fits = |row: &&RowChange| {
        let agrees = |asked: &Option<String>, own: &Option<String>| asked.is_none() || asked == own;
        agrees(&asked.kind, &row.kind)
            && agrees(&asked.level, &row.level)
            && asked.change.is_none_or(|change| Change::of(row) == Some(change))
    };
    let mut listed = rows.iter().filter(fits).filter(|row| after.is_none_or(|after| row.row > after));
    let page: Vec<&RowChange> = listed.by_ref().take(ITEMS).collect();
    let next = listed.next().and(page.last()).map(|last| last.row.to_string());
    let opened = opened.or(page.first().map(|first| first.row));
    let item = |row: &&RowChange| Item {
        open: row.row.to_string(),
        label: name(row),
        facts: facts(row),
        address: view.with_open(&row.row.to_string()),
        is_open: opened == Some(row.row),
    };
    let open = match opened.and_then(|opened| rows.iter().find(|row| row.row == opened)) {
        Some(row) => Some(open(db, run, result, row).await?),
        None => None,
    };
    Ok(Shown { facets: facets(view, &rows), items: page.iter().map(item).collect(), next, open })
}

fn name(row: &RowChange) -> String {
    let task = row.task_id.as_deref();
    task.map_or_else(|| format!("Row {}", row.row), inert)
}

fn facts(row: &RowChange) -> String {
    let now = format::percent(&row.after);
    let solved = match row.before {
        Some(before) => format!("{} → {now}", format::percent(&before)),
        None => now,
    };
    let level = row.level.as_deref().map(|level| format!("level {}", inert(level)));
    let facts = row.kind.as_deref().map(inert).into_iter().chain(level).chain([solved]);
    facts.collect::<Vec<_>>().join(" · ")
}

fn facets(view: &View, rows: &[RowChange]) -> Vec<Facet> {
    let any = (None, "any".to_owned(), Some(rows.len()));
    let changes = Change::ALL.map(|change| {
        let count = rows.iter().filter(|row| Change::of(row) == Some(change)).count();
        (Some(change.name().to_owned()), change.label().to_owned(), Some(count))
    });
    let values = |of: fn(&RowChange) -> Option<&String>| {
        let mut counts: BTreeMap<(u64, &String), usize> = BTreeMap::new();
        for value in rows.iter().filter_map(of) {
            // Levels that are numbers are in their order.
            *counts.entry((value.parse().unwrap_or(u64::MAX), value)).or_default() += 1;
        }
        let option = |((_, value), count): ((u64, &String), usize)| (Some(value.clone()), inert(value), Some(count));
        let options: Vec<_> = counts.into_iter().map(option).collect();
        // Where all are alike, there is nothing to choose.
        match options.len() {
            0 | 1 => Vec::new(),
            _ => std::iter::once(any.clone()).chain(options).collect(),
        }
    };
    vec![
        Facet::of(view, "Since the base", "change", std::iter::once(any.clone()).chain(changes)),
        Facet::of(view, "Type", "type", values(|row| row.kind.as_ref())),
        Facet::of(view, "Level", "level", values(|row| row.level.as_ref())),
    ]
}

/// A row with the answers of all checkpoints.
async fn open(db: &PgPool, run: ExecutionId, result: &RunResult, row: &RowChange) -> Result<Open, ApiError> {
    let answers = benchmarks::row_answers(db, run, result, &[row.row], None).await?;
    let question = match row.dataset_id {
        Some(dataset) => datasets::questions(db, DatasetId(dataset), &[row.row]).await?.pop(),
        None => None,
    };
    let last = answers.iter().rev().find(|answer| answer.step.is_some());
    let more = last.map(|answer| {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("suite", &answer.sample.suite)
            .append_pair("task", &answer.sample.task_id)
            .finish();
        let evaluation = answer.evaluation_id;
        (format!("/evaluations/{evaluation}?{query}#samples"), "In its evaluation")
    });
    Ok(Open {
        title: name(row),
        more,
        prompt: question
            .map(|(_, text)| Part { name: "question".to_owned(), text, is_shown: true, is_program: false })
            .into_iter()
            .collect(),
        checkpoints: checkpoints(&answers),
        answers: grouped(answers.into_iter().map(given)),
    })
}

fn given(answer: RowAnswer) -> Given {
    Given {
        by: match answer.step {
            Some(step) => format!("step {step}"),
            None => "base".to_owned(),
        },
        correct: Some(answer.sample.correct),
        answer: answer.sample.solution,
        text: answer.sample.text,
        reason: answer.sample.reason,
        reward: None,
        parts: Value::Null,
    }
}

/// How many of the answers of every checkpoint are right; the base is first.
fn checkpoints(answers: &[RowAnswer]) -> Vec<Checkpoint> {
    let mut by_step: BTreeMap<Option<i32>, Checkpoint> = BTreeMap::new();
    for answer in answers {
        let checkpoint = by_step.entry(answer.step).or_insert(Checkpoint { step: answer.step, correct: 0, count: 0 });
        checkpoint.count += 1;
        checkpoint.correct += usize::from(answer.sample.correct);
    }
    by_step.into_values().collect()
}
