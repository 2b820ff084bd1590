//! Lists of runs.

use lyceum_core::id::ExperimentId;
use sqlx::{PgPool, QueryBuilder};

use super::{
    Run,
    row::{COLUMNS, FROM},
};
use crate::{
    Result,
    executions::State,
    page::{Key, Page, Window, and, by_seq, limited, order_by_value, prefix},
};

/// Selects runs.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// In this state.
    pub state: Option<State>,
    /// Of this recipe.
    pub recipe: Option<String>,
    /// Of this experiment.
    pub experiment: Option<ExperimentId>,
    /// Of this arm.
    pub arm: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// Whose name starts with this, ignoring case.
    pub name: Option<String>,
}

/// How a list of runs is sorted. Values other than age are descending if the window is newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunSort {
    /// By age.
    #[default]
    Age,
    /// By current step.
    Step,
    /// By number of valid problems.
    ValidProblems,
    /// By number of occupied cells of the archive.
    Cells,
}

impl RunSort {
    /// The column and its value. Counts are compared as cursors hold them.
    fn value(self) -> Option<(&'static str, ValueOf)> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "Postgres rounds the same counts to the same type"
        )]
        match self {
            Self::Age => None,
            Self::Step => Some(("e.step::real", |run| run.step as f32)),
            Self::ValidProblems => Some(("r.valid_problems::real", |run| run.valid_problems as f32)),
            Self::Cells => Some(("r.cells::real", |run| run.cells as f32)),
        }
    }
}

/// A run's value in the column by which a list is sorted.
type ValueOf = fn(&Run) -> f32;

/// Runs that fit `filter`, sorted.
pub async fn page(db: &PgPool, filter: &RunFilter, sort: RunSort, window: &Window) -> Result<Page<Run>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} {FROM} WHERE e.kind = 'run'"));
    and(&mut query, "e.state = ", filter.state);
    and(&mut query, "e.recipe = ", filter.recipe.clone());
    and(&mut query, "r.experiment_id = ", filter.experiment.map(|id| id.0));
    and(&mut query, "r.arm = ", filter.arm.clone());
    and(&mut query, "r.tags @> ", filter.tag.clone().map(|tag| vec![tag]));
    and(&mut query, "lower(r.name) LIKE ", filter.name.as_deref().map(prefix));
    let Some((column, value)) = sort.value() else {
        return by_seq(db, query, "e.seq", window).await;
    };
    order_by_value(&mut query, (column, "e.seq"), window);
    let mut page: Page<Run> = limited(db, query, window).await?;
    let last = page.items.last().map(value);
    page.next = page.next.map(|key| Key { value: last, ..key });
    Ok(page)
}
