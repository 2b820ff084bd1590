//! What a config says of a run of R-Zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UncertaintyConfig;
use crate::advantage::AdvantageConfig;
use crate::contract::Stages;
use crate::kit::config::{MAX_BATCH, MAX_SAMPLES};
use crate::kit::{Band, ItemConfig, LearningConfig};
use crate::prompt::PromptConfig;
use crate::vocabulary_dropout::VocabularyDropout;
use crate::work::{Observer, Optimizer, PolicyLoss, Sampling};

/// The stage in which proposers learn.
pub(super) const PROPOSER: &str = "proposer";
/// The stage that generates questions.
pub(super) const CURRICULUM: &str = "curriculum";
/// The stage in which solvers learn.
pub(super) const SOLVER: &str = "solver";
/// The stage that measures the curriculum's diversity.
pub(super) const DIVERSITY: &str = "diversity";

/// What a config says of a run of R-Zero. The defaults are those of vocabulary dropout (arXiv 2604.03472, section 5.1);
/// what that paper leaves out is as in R-Zero's code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// How often the stages are repeated (T).
    #[schemars(range(min = 1, max = 1000))]
    pub iterations: u32,
    /// The prompts: the templates `propose` and `solve`. `rzero` is for models that follow instructions,
    /// `seedling-math` for the small base of this name.
    pub prompts: PromptConfig,
    /// The stage in which proposers learn and solvers are frozen.
    pub proposer: ProposerStage,
    /// The stage in which proposers generate questions to learn from.
    pub curriculum: Curriculum,
    /// The stage in which solvers learn and proposers are frozen.
    pub solver: SolverStage,
    /// How solvers vote on a question.
    pub vote: VoteConfig,
    /// What proposals earn.
    pub uncertainty: UncertaintyConfig,
    /// Which answer to a question is right.
    pub labels: Labels,
    /// Hides a random part of the vocabulary from each batch of proposals; left out, nothing is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vocabulary_dropout: Option<VocabularyDropout>,
    /// How diversity is measured.
    pub diversity: DiversityConfig,
    /// How rewards become advantages: GRPO by default.
    pub advantages: AdvantageConfig,
    /// Whether the KL divergence is to each member's version at the start of a stage, as with a trainer that is started
    /// anew for every stage (R-Zero's code), rather than to `loss.kl_reference`.
    pub kl_to_stage_start: bool,
    /// Whether optimizers start anew in every stage, as in R-Zero's code.
    pub restart_optimizers: bool,
    /// How a step is cut into items of work. A `propose` item is a batch of vocabulary dropout.
    pub items: ItemConfig,
}

/// The stage in which proposers learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProposerStage {
    /// Steps of the stage.
    #[schemars(range(min = 1))]
    pub steps: u32,
    /// Prompts of each proposer in a step. They are all the same; samples of one are compared with one another.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub prompts: u32,
    /// Proposals for each prompt (G).
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub n: u32,
    /// How they are sampled.
    pub sampling: Sampling,
    /// How proposers learn.
    pub learning: LearningConfig,
}

/// The stage that generates questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Curriculum {
    /// Proposals, over all proposers.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub questions: u32,
    /// How they are sampled.
    pub sampling: Sampling,
    /// Questions are learned from if the share of answers that agree with the majority is within this band.
    pub band: Band,
}

/// The stage in which solvers learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SolverStage {
    /// Steps of the stage.
    #[schemars(range(min = 1))]
    pub steps: u32,
    /// Questions that each solver answers in a step; all of them if the curriculum has fewer.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub questions: u32,
    /// Answers to each question.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub n: u32,
    /// How they are sampled.
    pub sampling: Sampling,
    /// How much of the reward is for the format rather than for the right answer: 0 in arXiv 2604.03472, 0.1 in R-Zero's
    /// code.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub format_weight: f32,
    /// How solvers learn. The minibatches are those of a step with all `questions`; a step with fewer has as many fewer.
    pub learning: LearningConfig,
}

/// How solvers vote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VoteConfig {
    /// Answers of a frozen solver to each question (M). Answers that cannot be read vote for nothing but are counted.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub samples: u32,
    /// How they are sampled.
    pub sampling: Sampling,
}

/// Which answer to a question is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Labels {
    /// The one that its proposer states (arXiv 2604.03472, section 4.2).
    #[default]
    Stated,
    /// The majority's (R-Zero).
    Majority,
}

/// How diversity is measured (arXiv 2604.03472, section 5.1 and appendix E.3). Questions are embedded with the
/// proposers' base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiversityConfig {
    /// A question is new if its cosine distance to every question of earlier iterations is larger than this.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub novelty_distance: f64,
    /// The most questions of the cumulative Vendi score; more are sampled down to this.
    #[schemars(range(min = 1, max = 100_000))]
    pub cumulative: u32,
    /// Also measures epiplexity, with this observer of the proposers' base. Left out, it is not measured, since training
    /// an observer takes far longer than the rest of the stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epiplexity: Option<Observer>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            iterations: 5,
            prompts: PromptConfig { set: "rzero".to_owned(), ..PromptConfig::default() },
            proposer: ProposerStage::default(),
            curriculum: Curriculum::default(),
            solver: SolverStage::default(),
            vote: VoteConfig::default(),
            uncertainty: UncertaintyConfig::default(),
            labels: Labels::default(),
            vocabulary_dropout: None,
            diversity: DiversityConfig::default(),
            advantages: AdvantageConfig::default(),
            kl_to_stage_start: true,
            restart_optimizers: true,
            items: ItemConfig::default(),
        }
    }
}

impl Default for ProposerStage {
    fn default() -> Self {
        Self {
            steps: 5,
            prompts: 512,
            n: 4,
            sampling: sampling(),
            // Global batch of 16 prompts.
            learning: learning(32),
        }
    }
}

impl Default for Curriculum {
    fn default() -> Self {
        Self { questions: 8000, sampling: Sampling { top_p: 0.95, ..sampling() }, band: Band([0.3, 0.7]) }
    }
}

impl Default for SolverStage {
    fn default() -> Self {
        Self {
            steps: 15,
            questions: 512,
            n: 5,
            sampling: sampling(),
            format_weight: 0.0,
            // Global batch of 8 questions.
            learning: learning(64),
        }
    }
}

impl Default for VoteConfig {
    fn default() -> Self {
        Self { samples: 10, sampling: Sampling { top_k: 40, ..sampling() } }
    }
}

impl Default for DiversityConfig {
    fn default() -> Self {
        Self { novelty_distance: 0.3, cumulative: 2000, epiplexity: None }
    }
}

fn sampling() -> Sampling {
    Sampling { max_tokens: 4096, ..Sampling::default() }
}

/// AdamW, KL and clips as in section 5.1 and R-Zero's code.
fn learning(minibatches: u32) -> LearningConfig {
    LearningConfig {
        loss: PolicyLoss { clip_high: 0.3, kl: 1e-2, ..PolicyLoss::default() },
        optimizer: Optimizer { learning_rate: 1e-6, weight_decay: 1e-2, minibatches, ..Optimizer::default() },
        ..LearningConfig::default()
    }
}

impl SolverStage {
    /// How solvers learn in a step of `questions` questions: in as many fewer minibatches, so that each keeps its size. The
    /// global batch of section 5.1 is a number of questions, however many the curriculum has.
    pub(super) fn learning_from(&self, questions: u32) -> LearningConfig {
        let mut learning = self.learning.clone();
        let minibatches = u64::from(learning.optimizer.minibatches) * u64::from(questions);
        let minibatches = minibatches.div_ceil(u64::from(self.questions.max(1)));
        learning.optimizer.minibatches = u32::try_from(minibatches).unwrap_or(u32::MAX).max(1);
        learning
    }
}

impl Parameters {
    /// The stages, from which the number of steps follows.
    pub(super) fn stages(&self) -> Stages {
        let stages = [(PROPOSER, self.proposer.steps), (CURRICULUM, 1), (SOLVER, self.solver.steps), (DIVERSITY, 1)];
        Stages::new(self.iterations, stages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minibatches_keep_their_size_whatever_the_curriculum_has() {
        let stage = SolverStage::default();
        let minibatches = |questions: u32| stage.learning_from(questions).optimizer.minibatches;
        // 512 questions in 64 minibatches of 8.
        for (questions, expected) in [(512, 64), (511, 64), (100, 13), (10, 2), (8, 1), (1, 1), (0, 1)] {
            assert_eq!(minibatches(questions), expected, "{questions} questions");
        }
        let mut once = SolverStage::default();
        once.learning.optimizer.minibatches = 1;
        assert_eq!(once.learning_from(100), once.learning);
    }
}
