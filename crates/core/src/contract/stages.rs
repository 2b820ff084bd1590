//! Stages: steps of one purpose in a row, from which the length of a run follows.

use crate::config::{MAX_STEPS, RunConfig};
use crate::fault::Fault;

/// The stage of first steps that reward only form. How many there are depends on what they bring, so no [`Stages`] name it.
pub const WARM_UP: &str = "warm-up";

/// The stages of a run: a list of them, repeated every iteration.
///
/// A recipe builds them from its parameters, settles the config's `steps` by them ([`Stages::settle`]), and asks in which
/// one a step is ([`Stages::at`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stages {
    iterations: u32,
    stages: Vec<(&'static str, u32)>,
}

/// The place of a step among the stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The stage's name.
    pub name: &'static str,
    /// The iteration, from 0.
    pub iteration: u32,
    /// The step within the stage, from 0.
    pub index: u32,
    /// The steps of the stage.
    pub of: u32,
}

impl Stages {
    /// `stages` by name with their steps, in order, `iterations` times. A stage of 0 steps is left out.
    pub fn new(iterations: u32, stages: impl IntoIterator<Item = (&'static str, u32)>) -> Self {
        Self { iterations, stages: stages.into_iter().filter(|(_, steps)| *steps > 0).collect() }
    }

    /// The steps of all iterations.
    pub fn total(&self) -> u64 {
        u64::from(self.iterations).saturating_mul(self.steps_per_iteration())
    }

    pub fn steps_per_iteration(&self) -> u64 {
        self.stages.iter().map(|(_, steps)| u64::from(*steps)).sum()
    }

    /// The place of a step, from 0; `None` after the last one.
    pub fn at(&self, step: u32) -> Option<Stage> {
        let (step, steps) = (u64::from(step), self.steps_per_iteration());
        if step >= self.total() {
            return None;
        }
        let iteration = (step / steps) as u32;
        let mut index = (step % steps) as u32;
        for (name, of) in self.stages.iter().copied() {
            if index < of {
                return Some(Stage { name, iteration, index, of });
            }
            index -= of;
        }
        None
    }

    /// The name of a step's stage; empty after the last step.
    pub fn name_at(&self, step: u32) -> &'static str {
        self.at(step).map_or("", |stage| stage.name)
    }

    /// Writes the number of steps into a config that leaves it out (`steps` is then 0), or compares it with the one given.
    ///
    /// # Errors
    /// Another number was given, or the stages have no steps or too many.
    pub fn settle(&self, config: &mut RunConfig) -> Result<(), Fault> {
        let total = self.total();
        let Some(steps) = u32::try_from(total).ok().filter(|steps| (1..=MAX_STEPS).contains(steps)) else {
            let detail = format!("{self} make {total} steps: 1 to {MAX_STEPS} is valid; change the stages");
            return Err(Fault::new("/steps", detail));
        };
        if config.steps != 0 && config.steps != steps {
            let detail = format!(
                "{} contradicts the stages, {self}, which make {steps} steps: set `steps` to {steps} or leave it out, or change the stages",
                config.steps
            );
            return Err(Fault::new("/steps", detail));
        }
        config.steps = steps;
        Ok(())
    }
}

impl std::fmt::Display for Stages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} × (", self.iterations)?;
        for (place, (name, steps)) in self.stages.iter().enumerate() {
            let sign = if place == 0 { "" } else { " + " };
            write!(f, "{sign}{steps} {name}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r_zero() -> Stages {
        Stages::new(3, [("proposer", 5), ("curriculum", 1), ("off", 0), ("solver", 15)])
    }

    #[test]
    fn every_step_has_its_place() {
        let stages = r_zero();
        assert_eq!(stages.total(), 63);
        let place = |name, iteration, index, of| Some(Stage { name, iteration, index, of });
        assert_eq!(stages.at(0), place("proposer", 0, 0, 5));
        assert_eq!(stages.at(4), place("proposer", 0, 4, 5));
        assert_eq!(stages.at(5), place("curriculum", 0, 0, 1));
        assert_eq!(stages.at(6), place("solver", 0, 0, 15));
        assert_eq!(stages.at(62), place("solver", 2, 14, 15));
        assert_eq!(stages.at(63), None);
        assert_eq!(stages.name_at(63), "");
        let places: Vec<Stage> = (0..63).filter_map(|step| stages.at(step)).collect();
        assert_eq!(places.iter().filter(|stage| stage.index == 0).count(), 9);
    }

    #[test]
    fn steps_are_written_out_or_refused() {
        let mut config = RunConfig::default();
        r_zero().settle(&mut config).unwrap();
        assert_eq!(config.steps, 63);
        r_zero().settle(&mut config).unwrap();
        config.steps = 60;
        let fault = r_zero().settle(&mut config).unwrap_err();
        assert_eq!(
            (fault.pointer.as_str(), fault.detail.as_str()),
            (
                "/steps",
                "60 contradicts the stages, 3 × (5 proposer + 1 curriculum + 15 solver), which make 63 steps: set \
             `steps` to 63 or leave it out, or change the stages"
            )
        );
        for stages in [Stages::new(0, [("lemma", 1)]), Stages::new(1, []), Stages::new(u32::MAX, [("lemma", u32::MAX)])]
        {
            assert_eq!(stages.at(0).is_some(), stages.total() > 0);
            let fault = stages.settle(&mut RunConfig::default()).unwrap_err();
            assert!(fault.detail.contains("1 to 1000000 is valid"), "{}", fault.detail);
        }
    }
}
