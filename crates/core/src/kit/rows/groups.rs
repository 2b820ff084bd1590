//! Which groups of answers are learned from, and until when rows are asked for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::Answer;
use crate::advantage::has_signal;

/// Groups of answers that are generated and not learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupFilter {
    /// Those whose answers all earned the same, and whose advantages are 0. The loss is then a mean over the others, so a
    /// step is as large with few of them as with many.
    NoSignal,
}

/// Dynamic sampling (DAPO, arXiv 2503.14476, section 3.2): rows are asked until `batch` groups have answers that earned
/// differently, and only those are learned from. A round asks as many rows as are lacking. After the last round the step
/// learns from what there is, and a member without any such group does not learn in it. The tokens of the others count as generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicSampling {
    /// Maximum number of rounds in which a step asks rows.
    #[schemars(range(min = 2, max = 32))]
    pub max_rounds: u32,
}

/// The groups of a member, in the order in which their rows were drawn, and whether their answers earned differently.
pub(crate) fn groups(answers: &[Answer], member: usize) -> Vec<(u32, bool)> {
    let mut rewards: BTreeMap<u32, Vec<f32>> = BTreeMap::new();
    for answer in answers.iter().filter(|answer| answer.member == member) {
        rewards.entry(answer.sequence.sampled.group).or_default().push(answer.sequence.sampled.reward);
    }
    rewards.into_iter().map(|(group, rewards)| (group, has_signal(&rewards))).collect()
}

/// Marks a member's answers that are not learned from: those of groups without a signal and, of the others, those after the
/// first `most`.
pub(crate) fn drop_groups(answers: &mut [Answer], member: usize, most: usize) {
    let differing = groups(answers, member).into_iter().filter(|(_, differs)| *differs);
    let kept: Vec<u32> = differing.map(|(group, _)| group).take(most).collect();
    for answer in answers.iter_mut().filter(|answer| answer.member == member) {
        answer.is_dropped = kept.binary_search(&answer.sequence.sampled.group).is_err();
    }
}
