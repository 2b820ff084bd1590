//! The order of the table, and the links in its head that change it.

use lyceum_store::runs::{RunColumn, RunSort};

use super::column::Column;
use crate::{contract::Order, frame::view::View};

/// What the table is sorted by.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sort {
    /// The built-in columns.
    Age,
    Step,
    ValidProblems,
    Cells,
    /// A chosen one.
    Column(Column),
}

/// The built-in columns that sort, by their names in addresses.
static BUILT_IN: [(&str, Sort); 4] = [
    ("age", Sort::Age),
    ("step", Sort::Step),
    ("valid_problems", Sort::ValidProblems),
    ("cells", Sort::Cells),
];

impl Sort {
    /// The order of this name; by age if there is none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(name: Option<&str>) -> Result<Self, String> {
        let Some(name) = name else { return Ok(Self::Age) };
        if let Some((_, sort)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Ok(sort.clone());
        }
        let known: Vec<String> = BUILT_IN.iter().map(|(name, _)| format!("`{name}`")).collect();
        let known = known.join(", ");
        Column::parse(name)
            .map(Self::Column)
            .map_err(|_| format!("`{name}` is not a column to sort by; valid are {known} and the name of a column, such as `metrics.solve_rate`"))
    }

    /// The name of the list in its cursors. `last`: which of the means a metric is sorted by.
    pub(super) fn list(&self, last: u8) -> String {
        match self {
            Self::Age => "runs".to_owned(),
            Self::Column(column) => format!("runs.{}.{last}", column.name),
            built_in => format!("runs.{}", built_in.name()),
        }
    }

    /// For the store.
    pub(super) fn by(&self) -> RunSort {
        match self {
            Self::Age => RunSort::Age,
            Self::Step => RunSort::Step,
            Self::ValidProblems => RunSort::ValidProblems,
            Self::Cells => RunSort::Cells,
            Self::Column(column) => RunSort::Column(column.column.clone()),
        }
    }

    /// The chosen column.
    pub(super) fn column(&self) -> Option<&RunColumn> {
        match self {
            Self::Column(column) => Some(&column.column),
            _ => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Column(column) => &column.name,
            built_in => BUILT_IN
                .iter()
                .find(|(_, sort)| sort == built_in)
                .map_or("age", |(name, _)| *name),
        }
    }
}

/// The head of a column.
#[derive(Clone, Debug)]
pub(super) struct Head {
    /// The column's name in addresses.
    pub(super) name: String,
    /// The words of the head.
    pub(super) title: String,
    /// The address of the table sorted by it, in the other direction if it is already.
    pub(super) address: String,
    /// `ascending` or `descending`, if the table is sorted by it.
    pub(super) sorted: Option<&'static str>,
    /// Whether it has numbers.
    pub(super) is_number: bool,
    /// Whether it is a column of one's choice.
    pub(super) is_chosen: bool,
}

/// The heads of all columns that sort.
pub(super) fn heads(view: &View, sort: &Sort, order: Option<Order>, columns: &[Column]) -> Vec<Head> {
    let is_ascending = order == Some(Order::Oldest);
    let head = |name: &str, title: String, is_chosen: bool, is_number: bool| {
        let is_sorted = sort.name() == name;
        let turned = (is_sorted && !is_ascending).then_some("oldest");
        let sort = Some(name).filter(|name| *name != "age");
        Head {
            name: name.to_owned(),
            title,
            address: view.with(&[("sort", sort), ("order", turned)]),
            sorted: is_sorted.then_some(if is_ascending { "ascending" } else { "descending" }),
            is_number,
            is_chosen,
        }
    };
    let titles = ["Created", "Step", "Valid problems", "Cells"];
    let built_in = BUILT_IN
        .iter()
        .zip(titles)
        .map(|((name, _), title)| head(name, title.to_owned(), false, *name != "age"));
    let chosen = columns
        .iter()
        .map(|column| head(&column.name, column.title(), true, true));
    built_in.chain(chosen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_names_of_their_own() {
        assert_eq!(Sort::parse(None), Ok(Sort::Age));
        for (name, sort) in &BUILT_IN {
            assert_eq!(Sort::parse(Some(name)), Ok(sort.clone()));
            assert_eq!(sort.name(), *name);
        }
        let metric = Sort::parse(Some("metrics.entropy")).unwrap();
        assert_eq!(
            (metric.list(0), metric.name()),
            ("runs.metrics.entropy.0".to_owned(), "metrics.entropy")
        );
        assert_ne!(metric.list(0), metric.list(1), "a cursor is of one of the means");
        let said = Sort::parse(Some("entropy")).unwrap_err();
        assert!(
            said.contains("`entropy`") && said.contains("`valid_problems`"),
            "{said}"
        );
    }
}
