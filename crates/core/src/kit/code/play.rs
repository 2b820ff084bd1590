//! How a run of any recipe with code problems poses and solves them.

use serde::Deserialize;

use super::{Groups, ProblemConfig};
use crate::{
    archive::ArchiveConfig,
    kit::{ItemConfig, LearningConfig, SamplingConfig},
    prompt::PromptConfig,
};

/// The parameter groups that all recipes with code problems have, for evaluations, in which nobody learns.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Play {
    prompts: PromptConfig,
    pub(crate) problems: ProblemConfig,
    sampling: SamplingConfig,
    learning: LearningConfig,
    items: ItemConfig,
    archive: ArchiveConfig,
}

impl Play {
    pub(crate) fn groups(&self) -> Groups<'_> {
        Groups {
            prompts: &self.prompts,
            problems: &self.problems,
            sampling: &self.sampling,
            learning: &self.learning,
            items: &self.items,
            archive: &self.archive,
            learns: [false; 2],
        }
    }
}
