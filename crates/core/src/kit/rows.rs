//! Dataset rows as problems, shared by recipes that learn from a fixed set (RLVR, the real-data stage of GASP).

mod answer;
mod draws;
mod groups;
mod held_out;
mod judge;
mod metrics;
mod question;
mod reward;
mod sampler;

pub use self::answer::Answer;
pub use self::draws::{Draws, in_epochs};
pub use self::groups::{DynamicSampling, GroupFilter};
pub(crate) use self::groups::{drop_groups, groups};
pub use self::held_out::{HeldOut, Measured};
pub(crate) use self::judge::JUDGE;
pub use self::judge::JudgeConfig;
pub(crate) use self::metrics::{
    HasRowAnswers, Outcomes, Recorded, all_metrics, metrics, of_groups, records, row_answers,
};
pub(crate) use self::question::FIT;
pub use self::question::{Asking, Fitted, PlacedRow, Question};
pub use self::reward::{Reward, RewardConfig, SolutionReward};
pub use self::sampler::{Band, Batch, Sampler, SamplerState, Staircase, Weighted, level_order};
pub use crate::contract::RowsAsked;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::{Draft, Learner, LearningConfig, Member, Sequence};
use crate::advantage::{AdvantageConfig, Sampled};
use crate::benchmark::{OwnOracle, PromptStyle};
use crate::contract::{PlanError, RunState, StepView};
use crate::dataset::{DatasetRef, DatasetUse, Purpose, TestPolicy};
use crate::fault::Fault;
use crate::id::DatasetId;

/// A step being planned, with rows of a dataset as its problems.
pub struct Rows<'a> {
    pub draft: Draft<'a>,
    /// How rows are rendered as prompts, and answers read.
    style: Arc<PromptStyle>,
    /// What scores answers in place of what rows name themselves.
    oracle: Option<&'a OwnOracle>,
}

impl<'a> Rows<'a> {
    /// A step of these members, with the prompt style called `style`.
    pub fn new(run: &'a RunState, view: &'a StepView, style: &str, members: Vec<Member>) -> Result<Self, PlanError> {
        let shipped = || match PromptStyle::shipped(style) {
            Ok(style) => Ok(style.strict().whole()),
            Err(error) => Err(PlanError::Other(error.to_string())),
        };
        Ok(Self { draft: Draft::new(run, view, members), style: view.once("style", shipped)?, oracle: None })
    }

    /// The same step, in which `oracle`, if there is one, scores answers in place of what rows name themselves.
    #[must_use]
    pub fn judged_by(self, oracle: Option<&'a OwnOracle>) -> Self {
        Self { oracle, ..self }
    }

    /// The first `members` members, each with its own answers that are learned from, and their advantages.
    pub fn learners(
        &self,
        members: usize,
        answers: &[Answer],
        learning: &LearningConfig,
        advantages: &AdvantageConfig,
    ) -> Vec<Learner> {
        let members = self.draft.members.iter().take(members).enumerate();
        let learner = members.map(|(place, member)| {
            let own = answers.iter().filter(|answer| answer.member == place && !answer.is_dropped);
            let sequences: Vec<Sequence> = own.map(|answer| answer.sequence.clone()).collect();
            let mut batch: Vec<((), Sampled)> = sequences.iter().map(|sequence| ((), sequence.sampled)).collect();
            learning.alter(&mut batch, self.draft.run, &member.name);
            Learner { member: place, advantages: advantages.advantages(&batch), sequences, ..Learner::default() }
        });
        learner.collect()
    }
}

/// Rows to learn from, or to work towards. A submitted config names the dataset by `id` or by `name`; the config of a run has the `id`, and `rows`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainingSet {
    /// The dataset, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<DatasetId>,
    /// The dataset, by its name; replaced by its id when the run is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub name: Option<String>,
    /// How many of its rows, from the first; left out, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub rows: Option<u32>,
    /// Allow rows that ask what an imported benchmark asks. Scores on that benchmark then mean nothing.
    #[serde(default)]
    pub allow_overlap: bool,
    /// Use rows whose tests have not been checked, or are bad.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_unchecked: bool,
    /// Leave out rows with bad tests: `rows` counts the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_out_bad_rows: bool,
}

impl TrainingSet {
    /// Refuses a dataset that is named twice or not at all; `pointer` is that of the set in the config.
    pub fn faults(&self, pointer: &str) -> Vec<Fault> {
        self.faults_for(Purpose::Training, pointer)
    }

    /// The same for a dataset of another purpose.
    pub fn faults_for(&self, purpose: Purpose, pointer: &str) -> Vec<Fault> {
        match (self.id, &self.name) {
            (Some(_), None) | (None, Some(_)) => Vec::new(),
            (None, None) => vec![Fault::new(
                pointer,
                format!(
                    "no dataset is named: `name` or `id` is needed, and `lyceum dataset list --purpose {purpose}` shows both"
                ),
            )],
            (Some(id), Some(name)) => vec![Fault::new(
                format!("{pointer}/name"),
                format!("the dataset is named twice, as `{name}` and by the id {id}: set one of the two to null"),
            )],
        }
    }

    /// What the config at `pointer` asks of the dataset, whose problems may be of any kind; none before its faults are
    /// mended.
    pub fn usage(&self, pointer: &str) -> Option<DatasetUse> {
        let dataset = match (self.id, &self.name) {
            (Some(id), _) => DatasetRef::Id(id),
            (None, Some(name)) => DatasetRef::Name(name.clone()),
            (None, None) => return None,
        };
        Some(DatasetUse {
            pointer: pointer.to_owned(),
            dataset,
            purpose: Purpose::Training,
            kinds: &[],
            rows: self.rows,
            reward: None,
            allow_overlap: self.allow_overlap,
            tests: TestPolicy { allow_unchecked: self.allow_unchecked, leave_out_bad_rows: self.leave_out_bad_rows },
            tag: None,
        })
    }

    /// The dataset and the number of rows used, in the config of a run.
    ///
    /// # Errors
    /// The config was not submitted, so its dataset has not been looked up.
    pub fn settled(&self) -> Result<(DatasetId, u32), PlanError> {
        let unsettled = || PlanError::Other("the dataset to learn from has not been looked up".to_owned());
        self.id.zip(self.rows).ok_or_else(unsettled)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn set(document: &Value) -> TrainingSet {
        TrainingSet::deserialize(document).unwrap()
    }

    #[test]
    fn a_dataset_is_named_once() {
        let id = DatasetId(Uuid::from_u128(7));
        let by_id = set(&json!({"id": id, "rows": 3}));
        let by_name = set(&json!({"name": "mine"}));
        assert_eq!(by_id.settled().unwrap(), (id, 3));
        assert!(by_name.settled().unwrap_err().to_string().contains("looked up"));
        let asked = |set: &TrainingSet| set.usage("/parameters/dataset").unwrap().dataset;
        assert_eq!(asked(&by_id), DatasetRef::Id(id));
        assert_eq!(asked(&by_name), DatasetRef::Name("mine".to_owned()));
        assert!(by_id.faults("").is_empty() && by_name.faults("").is_empty());

        let twice = set(&json!({"id": id, "name": "mine"})).faults("/d");
        assert_eq!(twice[0].pointer, "/d/name");
        assert!(twice[0].detail.contains("set one of the two to null"), "{twice:?}");
        let none = set(&json!({"rows": 3}));
        assert!(none.faults("/d")[0].detail.contains("lyceum dataset list"));
        assert_eq!(none.usage("/d"), None);
    }

    #[test]
    fn a_config_of_before_names_reads_and_writes_the_same() {
        let stored = json!({"id": Uuid::from_u128(7), "rows": 3, "allow_overlap": false});
        assert_eq!(serde_json::to_value(set(&stored)).unwrap(), stored);
    }
}
