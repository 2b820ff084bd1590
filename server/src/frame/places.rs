//! The pages of a run, in the four places of its navigation.

use lyceum_core::recipe::Capabilities;
use uuid::Uuid;

use crate::frame::layout::Link;

/// A page of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    /// Verdict, held-out accuracy, and what has changed since the base.
    Result,
    /// Scores on benchmarks.
    Benchmarks,
    /// Every metric as a curve.
    Metrics,
    /// Solve rates, and signs of exhausted problems.
    Learnability,
    /// Problems with the answers to them.
    Samples,
    Problems,
    Attempts,
    /// Rows of the dataset by how often they are solved.
    Difficulty,
    /// Candidates for lemmas and lifts.
    Candidates,
    /// Problems of median complexity.
    Picks,
    /// Members.
    Population,
    /// Births and deaths.
    Lineage,
    /// Ratings and matchups.
    ArmsRace,
    /// Proposers by solvers.
    CrossPlay,
    /// The map of problems.
    Archive,
    /// The growing set, and the critic that decides what joins it.
    Curriculum,
    /// How much the questions of an iteration differ.
    Diversity,
    /// Goalposts by when they came into reach.
    Goalposts,
    /// Files, which the menu leads to.
    Export,
}

/// What a researcher asks of a run, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Result,
    Metrics,
    Samples,
    /// Of a recipe without births, what it has instead.
    Population,
}

/// A page in the navigation.
struct Declared {
    tab: Tab,
    place: Place,
    /// Its address, with `{run}` for the run's id.
    address: &'static str,
    label: &'static str,
    /// Whether a recipe has something to show there.
    is_present: fn(Capabilities) -> bool,
    /// Why it has nothing, if it has not.
    absence: &'static str,
}

impl Declared {
    const fn new(tab: Tab, place: Place, address: &'static str, label: &'static str) -> Self {
        Self { tab, place, address, label, is_present: |_| true, absence: "" }
    }

    const fn only_if(self, is_present: fn(Capabilities) -> bool, absence: &'static str) -> Self {
        Self { is_present, absence, ..self }
    }

    fn link(&self, run: Uuid, current: bool) -> Link {
        Link { address: self.address.replace("{run}", &run.to_string()), label: self.label, current }
    }
}

/// By place; the first page of a place is the one that its tab opens.
const PAGES: [Declared; 18] = {
    use Place::{Metrics, Population, Result, Samples};
    [
        Declared::new(Tab::Result, Result, "/runs/{run}", "Summary"),
        Declared::new(Tab::Benchmarks, Result, "/runs/{run}/benchmarks", "Benchmarks"),
        Declared::new(Tab::Metrics, Metrics, "/runs/{run}/metrics", "Curves"),
        Declared::new(Tab::Learnability, Metrics, "/runs/{run}/learnability", "Learnability"),
        Declared::new(Tab::Samples, Samples, "/runs/{run}/samples", "Browse"),
        Declared::new(Tab::Problems, Samples, "/runs/{run}/problems", "Problems"),
        Declared::new(Tab::Attempts, Samples, "/runs/{run}/attempts", "Attempts"),
        Declared::new(Tab::Difficulty, Samples, "/runs/{run}/difficulty", "Difficulty").only_if(
            |recipe| recipe.repeats,
            "its problems are not rows of a dataset, which are asked again and again",
        ),
        Declared::new(Tab::Candidates, Samples, "/runs/{run}/candidates", "Candidates")
            .only_if(|recipe| recipe.has_goalposts, "it makes no lemmas and lifts"),
        // Side by side with another run's.
        Declared::new(Tab::Picks, Samples, "/compare/picks?left={run}", "Picks")
            .only_if(|recipe| recipe.programs, "its problems are not programs"),
        Declared::new(Tab::Population, Population, "/runs/{run}/population", "Members"),
        Declared::new(Tab::Lineage, Population, "/runs/{run}/lineage", "Lineage")
            .only_if(|recipe| recipe.evolves, "its members do not evolve: none is born or dies after the first step"),
        Declared::new(Tab::ArmsRace, Population, "/runs/{run}/arms-race", "Arms race")
            .only_if(|recipe| recipe.rates, "its members play no matchups and have no ratings"),
        Declared::new(Tab::CrossPlay, Population, "/runs/{run}/cross-play", "Cross-play")
            .only_if(|recipe| recipe.crosses, "its members do not attempt each other's problems"),
        Declared::new(Tab::Archive, Population, "/runs/{run}/archive", "Archive")
            .only_if(|recipe| recipe.archives, "it keeps no archive of its problems"),
        Declared::new(Tab::Curriculum, Population, "/runs/{run}/curriculum", "Curriculum")
            .only_if(|recipe| recipe.admits, "no critic decides which problems join a growing set"),
        Declared::new(Tab::Diversity, Population, "/runs/{run}/diversity", "Diversity").only_if(
            |recipe| recipe.measures_diversity,
            "it does not measure how much the questions of an iteration differ",
        ),
        Declared::new(Tab::Goalposts, Population, "/runs/{run}/goalposts", "Goalposts").only_if(
            |recipe| recipe.has_goalposts,
            "it does not work towards goalposts; `/compare/goalposts` has the map of runs that were measured on some",
        ),
    ]
};

impl Tab {
    /// Why a run whose recipe has these capabilities lacks the page; `None` if it has it.
    pub(crate) fn absence(self, recipe: Capabilities) -> Option<&'static str> {
        let lacking = PAGES.iter().find(|page| page.tab == self && !(page.is_present)(recipe));
        lacking.map(|page| page.absence)
    }

    /// Whether this is what a recipe without births has in place of a population.
    fn replaces_population(self) -> bool {
        matches!(self, Self::Curriculum | Self::Diversity | Self::Goalposts)
    }
}

/// The navigation of a run's page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Navigation {
    /// The four places.
    pub(crate) places: Vec<Link>,
    /// The pages of the place that is open.
    pub(crate) pages: Vec<Link>,
}

impl Navigation {
    /// The navigation of `run`, whose recipe has these capabilities; `open` is shown.
    pub(crate) fn of(run: Uuid, open: Tab, recipe: Capabilities) -> Self {
        let mut navigation = Self::default();
        for place in [Place::Result, Place::Metrics, Place::Samples, Place::Population] {
            let present = |page: &&Declared| page.place == place && (page.is_present)(recipe);
            let mut pages: Vec<&Declared> = PAGES.iter().filter(present).collect();
            if !recipe.evolves {
                pages.sort_by_key(|page| !page.tab.replaces_population());
            }
            let is_open = pages.iter().any(|page| page.tab == open);
            let link = |page: &&Declared| page.link(run, page.tab == open);
            if is_open {
                navigation.pages = pages.iter().map(link).collect();
            }
            navigation.places.extend(pages.first().map(|first| Link {
                label: match first.tab {
                    Tab::Result => "Result",
                    Tab::Metrics => "Metrics",
                    Tab::Samples => "Samples",
                    Tab::Population => "Population",
                    _ => first.label,
                },
                ..first.link(run, is_open)
            }));
        }
        navigation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::recipe::Registry;

    fn labels(links: &[Link]) -> Vec<&'static str> {
        links.iter().map(|link| link.label).collect()
    }

    fn of(recipe: &str, open: Tab) -> Navigation {
        let registry = Registry::shipped();
        Navigation::of(Uuid::nil(), open, registry.get(recipe).unwrap().capabilities())
    }

    #[test]
    fn the_fourth_place_is_named_for_what_the_recipe_has() {
        for (recipe, fourth) in [
            ("populora", "Population"),
            ("azr", "Population"),
            ("sage", "Curriculum"),
            ("rzero", "Diversity"),
            ("gasp", "Goalposts"),
        ] {
            let navigation = of(recipe, Tab::Result);
            assert_eq!(labels(&navigation.places), ["Result", "Metrics", "Samples", fourth], "{recipe}");
            assert_eq!(labels(&navigation.pages), ["Summary", "Benchmarks"], "{recipe}");
        }
        let sage = of("sage", Tab::Population);
        assert_eq!(labels(&sage.pages)[..2], ["Curriculum", "Members"]);
        assert!(sage.places[3].current && sage.places[3].address.ends_with("/curriculum"));
    }

    #[test]
    fn every_recipe_that_has_a_page_leads_to_it() {
        for recipe in Registry::shipped().recipes() {
            for page in &PAGES {
                let navigation = of(recipe.name(), page.tab);
                let is_led_to = navigation.pages.iter().any(|link| link.current);
                let is_absent = page.tab.absence(recipe.capabilities()).is_some();
                assert_ne!(is_led_to, is_absent, "{:?} of {}", page.tab, recipe.name());
            }
        }
        let export = of("populora", Tab::Export);
        assert!(export.pages.is_empty() && export.places.iter().all(|link| !link.current));
    }
}
