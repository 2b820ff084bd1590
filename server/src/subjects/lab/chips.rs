//! The filters of the table as chips: each can be removed by a link, and one is added by typing `field=value`, a condition on a
//! column, or words to search for.

use lyceum_core::fault::nearest;
use lyceum_store::executions::State;
use lyceum_store::experiments::{self, ExperimentFilter};
use lyceum_store::page::{Order, Window};
use lyceum_store::{benchmarks, runs};
use std::collections::BTreeSet;

use super::RunsFilter;
use super::column::Column;
use super::sort::leaves;
use crate::api_error::ApiError;
use crate::frame::view::View;
use crate::lab::Lab;

/// Fields that are equal to something.
const FIELDS: [&str; 6] = ["state", "recipe", "tag", "experiment", "arm", "name"];
/// Experiments that are offered.
const EXPERIMENTS: u32 = 50;

/// A filter that is on.
pub(super) struct Chip {
    pub(super) text: String,
    /// The address of the table without it.
    pub(super) without: String,
}

/// What is on in the address. `experiment`: the name of the filter's experiment.
pub(super) fn chips(view: &View, asked: &RunsFilter, experiment: Option<&str>) -> Vec<Chip> {
    let of = |name: &str, text: String| Chip { text, without: view.with(&[(name, None)]) };
    let fields = [
        ("state", asked.state.map(|state| state.name().to_owned())),
        ("recipe", asked.recipe.clone()),
        ("tag", asked.tag.clone()),
        ("experiment", experiment.map(str::to_owned)),
        ("arm", asked.arm.clone()),
        ("name", asked.name.clone()),
    ];
    let fields = fields.into_iter();
    let mut chips: Vec<Chip> =
        fields.filter_map(|(name, value)| Some(of(name, format!("{name}={}", crate::inert(&value?))))).collect();
    chips.extend(asked.q.as_ref().map(|words| of("q", format!("“{}”", crate::inert(words)))));
    for (name, list, before) in [("where", &asked.conditions, ""), ("columns", &asked.columns, "column ")] {
        let all = split(list.as_deref().unwrap_or_default());
        chips.extend(all.iter().map(|one| {
            let others: Vec<&str> = all.iter().filter(|other| *other != one).copied().collect();
            let others = others.join(",");
            Chip {
                text: format!("{before}{}", crate::inert(one)),
                without: view.with(&[(name, Some(others.as_str()).filter(|rest| !rest.is_empty()))]),
            }
        }));
    }
    chips.extend(asked.group.as_ref().map(|by| of("group", format!("by {}", crate::inert(by)))));
    chips
}

fn split(list: &str) -> Vec<&str> {
    list.split(',').map(str::trim).filter(|one| !one.is_empty()).collect()
}

/// What there is to complete with.
#[derive(Default)]
pub(super) struct Known {
    pub(super) filters: Vec<String>,
    pub(super) columns: Vec<String>,
}

impl Known {
    /// None for whoever has only a link to the page.
    pub(super) async fn load(lab: &Lab, view: &View) -> Result<Self, ApiError> {
        if view.caller.has_only_a_link {
            return Ok(Self::default());
        }
        let db = lab.store.pool();
        let newest = Window { limit: EXPERIMENTS, after: None, order: Order::Newest };
        let any = ExperimentFilter::default();
        let (tags, experiments, suites, config, parts) = futures::try_join!(
            runs::tags(db),
            experiments::page(db, &any, &newest),
            benchmarks::measured_suites(db),
            runs::newest_config(db),
            runs::reward_parts(db)
        )?;
        let recipes = lab.registry.recipes();
        let metrics: BTreeSet<String> = recipes
            .flat_map(|recipe| recipe.metric_names())
            .map(str::to_owned)
            .chain(parts)
            .map(|name| format!("metrics.{name}"))
            .collect();
        let shipped = lyceum_core::benchmark::shipped_suites().iter().map(|suite| suite.name.clone());
        let suites: BTreeSet<String> = suites.into_iter().chain(shipped).collect();
        let mut fields = Vec::new();
        if let Some(config) = config {
            leaves(&config, String::new(), &mut fields);
        }
        let of_suites =
            suites.iter().flat_map(|suite| ["benchmarks", "difference"].map(|kind| format!("{kind}.{suite}")));
        let columns: Vec<String> = (metrics.into_iter().chain(["sampler".to_owned()]))
            .chain(of_suites)
            .chain(fields.iter().map(|field| format!("config.{field}")))
            .collect();
        let values = State::ALL
            .iter()
            .map(|state| format!("state={}", state.name()))
            .chain(lab.registry.names().map(|name| format!("recipe={name}")))
            .chain(tags.iter().map(|tag| format!("tag={tag}")))
            .chain(experiments.items.iter().map(|one| format!("experiment={}", one.name)));
        let filters = values.chain(columns.iter().map(|name| match name.starts_with("config.") || name == "sampler" {
            true => format!("{name}="),
            false => format!("{name}>="),
        }));
        Ok(Self { filters: filters.collect(), columns })
    }
}

/// The address of the table with one more filter.
///
/// # Errors
/// What is wrong with it, and what is valid.
pub(super) async fn with(view: &View, lab: &Lab, text: &str) -> Result<String, ApiError> {
    let fault = |detail: String| Err(ApiError::invalid_query(vec![("filter".to_owned(), detail)]));
    let text = text.trim();
    let Some(place) = text.find(['!', '<', '>', '=']) else {
        return Ok(view.with(&[("filter", None), ("q", Some(text))]));
    };
    let (name, value) = (text[..place].trim(), text[place..].trim_start_matches('=').trim());
    if FIELDS.contains(&name) && text[place..].starts_with('=') {
        let db = lab.store.pool();
        let value = match name {
            "experiment" => match experiments::named(db, value).await? {
                Some(id) => id.to_string(),
                None => {
                    return fault(format!("there is no experiment `{value}`; the field offers those that exist"));
                }
            },
            "recipe" if lab.registry.get(value).is_err() => {
                let known: Vec<&str> = lab.registry.names().collect();
                return fault(match nearest(value, known.iter().copied()) {
                    Some(near) => format!("there is no recipe `{value}`; did you mean `{near}`?"),
                    None => format!("there is no recipe `{value}`; valid are {}", known.join(", ")),
                });
            }
            _ => value.to_owned(),
        };
        return Ok(view.with(&[("filter", None), (name, Some(&value))]));
    }
    if Column::parse(name).is_err() {
        return fault(match nearest(name, FIELDS) {
            Some(near) => format!("`{name}` is no field to filter by; did you mean `{near}`?"),
            None => format!(
                "`{name}` is no field to filter by; valid are {} and the name of a column, such as `metrics.solve_rate>=0.5`",
                FIELDS.join(", ")
            ),
        });
    }
    let all = view.parameter("where").into_iter().chain([text.to_owned()]).collect::<Vec<_>>().join(",");
    Ok(view.with(&[("filter", None), ("where", Some(&all))]))
}

/// The address of the table with one more column.
pub(super) fn with_column(view: &View, name: &str) -> String {
    let all = view.parameter("columns").into_iter().chain([name.trim().to_owned()]).collect::<Vec<_>>().join(",");
    view.with(&[("column", None), ("columns", Some(&all))])
}
