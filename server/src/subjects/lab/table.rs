//! The table of runs, or of their groups.

use lyceum_core::id::ExperimentId;
use lyceum_store::runs::{self, LastSteps, Run, RunColumn, RunFilter};
use serde::Serialize;
use uuid::Uuid;

use super::column::{self, Column, Value};
use super::group::{By, Group};
use super::parallel::{Coordinates, Parallel};
use super::row::Row;
use super::sort::{self, Head, Sort};
use super::verdicts::headlines;
use super::{RunsFilter, fault};
use crate::api_error::ApiError;
use crate::contract::Listing;
use crate::frame::view::{Pager, View};
use crate::lab::Lab;

#[derive(Serialize)]
pub(super) struct Table {
    #[serde(skip)]
    pub(super) columns: Vec<Column>,
    /// The heads of the built-in columns that sort, by name, and of the chosen ones.
    #[serde(skip)]
    pub(super) heads: Vec<Head>,
    pub(super) items: Vec<Row>,
    /// Runs in groups, if they were asked for; `items` is empty then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) groups: Option<Vec<Group>>,
    #[serde(flatten)]
    pub(super) pager: Pager,
    /// The runs of the page across the chosen columns.
    #[serde(skip)]
    pub(super) parallel: Option<Parallel>,
}

impl Table {
    pub(super) async fn load(lab: &Lab, view: &View, asked: &RunsFilter, ticked: &[Uuid]) -> Result<Self, ApiError> {
        let db = lab.store.pool();
        let last = LastSteps::from(asked.last());
        let columns = Column::parse_all(asked.columns.as_deref().unwrap_or_default()).map_err(fault("columns"))?;
        let conditions = column::parse_all(asked.conditions.as_deref().unwrap_or_default()).map_err(fault("where"))?;
        let sort = Sort::parse(asked.sort.as_deref()).map_err(fault("sort"))?;
        let by = asked.group.as_deref().map(By::parse).transpose().map_err(fault("group"))?;
        let mut asked_for: Vec<(&str, &RunColumn)> = columns.iter().map(|one| ("columns", &one.column)).collect();
        asked_for.extend(conditions.iter().map(|one| ("where", &one.column)));
        asked_for.extend(sort.column().map(|column| ("sort", column)));
        let grouped = by.as_ref().and_then(By::column);
        asked_for.extend(grouped.as_ref().map(|column| ("group", column)));
        sort::refuse_unknown(lab, &asked_for).await?;
        let cursor = asked.cursor.as_deref();
        let listing = Listing::new(&sort.list(asked.last() as u8), asked.limit, cursor, asked.order)?;
        let filter = RunFilter {
            state: asked.state,
            recipe: asked.recipe.clone(),
            experiment: asked.experiment.map(ExperimentId),
            arm: asked.arm.clone(),
            tag: asked.tag.clone(),
            name: asked.name.clone(),
            text: asked.q.clone(),
            conditions,
            last,
        };
        let (items, next, groups) = match &by {
            Some(by) => (Vec::new(), None, Some(by.load(db, view, &filter, &columns).await?)),
            None => {
                let page = listing.page(runs::page(db, &filter, &sort.by(), listing.window()).await?);
                (rows(lab, page.items, &columns, last, ticked).await?, page.next, None)
            }
        };
        let titles: Vec<String> = columns.iter().map(Column::title).collect();
        let drawn: Vec<Coordinates> = items.iter().map(|row| row.coordinates(&columns)).collect();
        Ok(Self {
            parallel: Parallel::of("parallel".to_owned(), &titles, &drawn),
            heads: sort::heads(view, &sort, asked.order, &columns),
            columns,
            items,
            groups,
            pager: view.pager(next),
        })
    }

    pub(super) fn head(&self, name: &str) -> Option<&Head> {
        self.heads.iter().find(|head| head.name == name)
    }

    /// Whether runs are left out of the means of their groups.
    pub(super) fn has_repeats(&self) -> bool {
        self.groups.iter().flatten().any(|group| group.repeats > 0)
    }
}

async fn rows(
    lab: &Lab,
    items: Vec<Run>,
    columns: &[Column],
    last: LastSteps,
    ticked: &[Uuid],
) -> Result<Vec<Row>, ApiError> {
    let db = lab.store.pool();
    let ids: Vec<Uuid> = items.iter().map(|run| run.id).collect();
    let of_columns: Vec<RunColumn> = columns.iter().map(|column| column.column.clone()).collect();
    let (mut values, mut outcomes, costs) =
        futures::try_join!(runs::values(db, &ids, &of_columns, last), runs::outcomes(db, &ids), runs::costs(db, &ids))?;
    let verdicts = headlines(lab, &items.iter().collect::<Vec<_>>(), &outcomes).await?;
    let row = |run: Run| {
        let own = values.remove(&run.id).unwrap_or_else(|| vec![None; columns.len()]);
        let own: Vec<Option<Value>> = own.into_iter().map(|value| value.map(Value::from)).collect();
        let shown = columns.iter().zip(&own).map(|(column, value)| column.value(value));
        Row {
            shown: shown.collect(),
            values: columns.iter().map(|column| column.name.clone()).zip(own).collect(),
            verdict: verdicts.get(&run.id).copied(),
            outcome: outcomes.remove(&run.id),
            worker_seconds: costs.get(&run.id).copied(),
            is_ticked: ticked.contains(&run.id),
            run,
        }
    };
    Ok(items.into_iter().map(row).collect())
}
