//! The file of an experiment.

use lyceum_core::config::{Schema, from_toml};
use lyceum_core::fault::{Fault, Faults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

use crate::subjects::experiments::stopping::Stopping;
use crate::subjects::sweeps::expand::MAX_RUNS;

/// What `script/results` reads in such a file besides, to measure and to judge the runs.
const OF_STUDIES: [&str; 10] = [
    "measure",
    "try",
    "training",
    "sampled",
    "goalposts",
    "operators",
    "outcomes",
    "comparisons",
    "claims",
    "claims_of",
];

/// A planned experiment.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SweepPlan {
    /// The experiment's name.
    #[schemars(length(min = 1, max = 200))]
    pub(crate) title: String,
    /// Its description.
    #[serde(default)]
    #[schemars(length(max = 20_000))]
    pub(crate) description: String,
    /// The seeds of every arm.
    #[schemars(length(min = 1, max = MAX_RUNS))]
    pub(crate) seeds: Vec<u64>,
    /// The base model of the population `main`, in every arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500))]
    pub(crate) base: Option<String>,
    /// Values that override every config, by dotted path.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) common: BTreeMap<String, Value>,
    /// What is compared, by name.
    #[schemars(length(min = 1, max = 1000))]
    pub(crate) arms: BTreeMap<String, Arm>,
    /// Fields of the config by dotted path, each with the values that it takes; every combination is a run of its own.
    #[serde(default)]
    #[schema(value_type = Object)]
    #[schemars(length(max = 20))]
    pub(crate) grid: BTreeMap<String, Vec<Value>>,
    /// How many runs are in progress at once; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub(crate) concurrency: Option<u32>,
    /// How long all of it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<Budget>,
    /// When there are enough seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopping: Option<Stopping>,
}

/// An arm: runs that differ by the grid and by seed.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arm {
    /// A preset, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preset: Option<String>,
    /// Or a run config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) config: Option<Map<String, Value>>,
    /// Values that override the config, by dotted path.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) overrides: BTreeMap<String, Value>,
}

/// A time, in hours and minutes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// Hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100_000.0))]
    hours: Option<f64>,
    /// Minutes, added to the hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100_000.0))]
    minutes: Option<f64>,
}

impl Budget {
    pub(crate) fn seconds(self) -> f64 {
        3600.0 * self.hours.unwrap_or(0.0) + 60.0 * self.minutes.unwrap_or(0.0)
    }
}

/// Where a plan was found in a request: its faults are told there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// TOML in `/file`.
    File,
    /// An object in `/plan`.
    Plan,
}

impl Source {
    /// The pointer of the plan.
    pub(crate) fn pointer(self) -> &'static str {
        match self {
            Self::File => "/file",
            Self::Plan => "/plan",
        }
    }
}

/// A plan, and what of its file is for `script/results` alone.
pub(crate) struct Read {
    pub(crate) plan: SweepPlan,
    pub(crate) unused: Vec<String>,
}

impl SweepPlan {
    /// The plan in a TOML file.
    ///
    /// # Errors
    /// Every fault of the file.
    pub(crate) fn from_toml(text: &str) -> Result<Read, Faults> {
        let document: Value = from_toml(text).map_err(|error| {
            let place = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            Faults(vec![Fault::new(Source::File.pointer(), format!("line {place} is not TOML: {}", error.message()))])
        })?;
        Self::from_value(document, Source::File)
    }

    /// The plan in `document`.
    ///
    /// # Errors
    /// Every fault of the document.
    pub(crate) fn from_value(mut document: Value, source: Source) -> Result<Read, Faults> {
        let unused = without_study(&mut document);
        let at = |fault: Fault| Fault::new(format!("{}{}", source.pointer(), fault.pointer), fault.detail);
        let faults = Schema::of::<Self>().diagnose(&document);
        Faults(faults.into_iter().map(at).collect()).or(())?;
        let plan: Self = serde_json::from_value(document)
            .map_err(|error| Faults(vec![Fault::new(source.pointer(), error.to_string())]))?;
        Faults(plan.faults().into_iter().map(at).collect()).or(Read { plan, unused })
    }

    /// What no schema says.
    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.arms.is_empty() {
            faults.push(Fault::new("/arms", "there is no arm: give at least one, such as [arms.NAME] with a `preset`"));
        }
        for (name, arm) in &self.arms {
            let at = format!("/arms/{}", lyceum_core::config::pointer_token(name));
            match (&arm.preset, &arm.config) {
                (None, None) => faults.push(Fault::new(at, "an arm needs a `preset` or a `config`")),
                (Some(_), Some(_)) => faults.push(Fault::new(at, "an arm has a `preset` or a `config`, not both")),
                _ => {}
            }
        }
        for (field, values) in &self.grid {
            let at = format!("/grid/{}", lyceum_core::config::pointer_token(field));
            if field == "seed" {
                faults.push(Fault::new(at, "seeds are given by `seeds`, not by the grid"));
            } else if values.is_empty() {
                faults.push(Fault::new(at, "a field of the grid needs at least one value"));
            } else if let Some(twice) =
                values.iter().enumerate().find_map(|(place, value)| values[..place].contains(value).then_some(value))
            {
                faults.push(Fault::new(at, format!("{twice} is listed twice: give each value once")));
            }
        }
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = self.seeds.iter().find(|seed| !seen.insert(**seed)) {
            faults.push(Fault::new("/seeds", format!("{twice} is listed twice: give each seed once")));
        }
        if self.budget.is_some_and(|budget| budget.seconds() <= 0.0) {
            faults.push(Fault::new("/budget", "a budget needs `hours` or `minutes` above 0"));
        }
        faults
    }
}

/// Removes what only `script/results` reads: its tables, and arms that are measured rather than run. Returns their names.
fn without_study(document: &mut Value) -> Vec<String> {
    let Some(fields) = document.as_object_mut() else { return Vec::new() };
    let mut unused: Vec<String> = Vec::new();
    for name in OF_STUDIES {
        if fields.shift_remove(name).is_some() {
            unused.push(name.to_owned());
        }
    }
    if let Some(arms) = fields.get_mut("arms").and_then(Value::as_object_mut) {
        let matched: Vec<String> =
            arms.iter().filter(|(_, arm)| arm.get("matches").is_some()).map(|(name, _)| name.clone()).collect();
        for name in matched {
            arms.shift_remove(&name);
            unused.push(format!("arms.{name}"));
        }
        for arm in arms.values_mut().filter_map(Value::as_object_mut) {
            arm.shift_remove("try");
        }
    }
    unused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<Fault> {
        SweepPlan::from_toml(text).err().map(|faults| faults.0).unwrap_or_default()
    }

    #[test]
    fn every_committed_experiment_is_a_plan() {
        let folder = format!("{}/../configs/experiments", env!("CARGO_MANIFEST_DIR"));
        let mut read = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let found = SweepPlan::from_toml(&text);
            assert!(found.is_ok(), "{}: {:?}", path.display(), found.err());
            read += 1;
        }
        assert!(read >= 9, "only {read} files");
    }

    #[test]
    fn what_is_for_measuring_alone_is_named() {
        let text =
            "title = 'a'\nseeds = [1]\n[arms.x]\npreset = 'demo'\n[arms.y]\nmatches = 'x'\n[measure]\nproblems = 3\n";
        let read = SweepPlan::from_toml(text).ok().unwrap();
        assert_eq!(read.unused, ["measure", "arms.y"]);
        assert_eq!(read.plan.arms.keys().collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn faults_say_where_they_are_and_what_is_valid() {
        let places = |text: &str| faults(text).into_iter().map(|fault| fault.pointer).collect::<Vec<_>>();
        let arm = "[arms.x]\npreset = 'demo'\n";
        assert_eq!(places(&format!("title = 'a'\nseeds = [1, 1]\n{arm}")), ["/file/seeds"]);
        assert_eq!(places("title = 'a'\nseeds = [1]\n[arms.x]\n"), ["/file/arms/x"]);
        assert_eq!(
            places(&format!("title = 'a'\nseeds = [1]\n{arm}[grid]\nseed = [1]\n'a.b' = []\nc = [2, 2]\n")),
            ["/file/grid/a.b", "/file/grid/c", "/file/grid/seed"]
        );
        assert_eq!(places(&format!("title = 'a'\nseeds = [1]\n{arm}[budget]\n")), ["/file/budget"]);
        let typo = faults(&format!("title = 'a'\nseeds = [1]\nconcurency = 2\n{arm}"));
        assert!(typo[0].pointer.starts_with("/file") && typo[0].detail.contains("concurrency"), "{typo:?}");
        let broken = faults("title = 'a'\nseeds = [1\n");
        assert!(broken[0].detail.contains("line"), "{broken:?}");
    }
}
