//! A regenerated sample is compared with the recorded one, bit by bit.

use crate::contract::Planner as _;
use crate::id::ExecutionId;
use uuid::Uuid;

use super::*;
use crate::contract::WorkState;
use crate::id::{ProblemId, WorkId};
use crate::work::{
    BaseModel, Completion, FinishReason, Generated, Outcome, Prompt, RolloutPayload, RolloutRequest, RolloutResult,
    Sampling, TokenDifference,
};

fn request(id: &str, n: u32) -> RolloutRequest {
    RolloutRequest::new(id.to_owned(), Prompt::Text("a \0 b".to_owned()), n, u64::MAX)
}

fn payload() -> RolloutPayload {
    RolloutPayload {
        requests: vec![request("3", 1), request("7", 2)],
        keep_tokens: true,
        ..RolloutPayload::new(
            BaseModel { name: "tiny".to_owned(), revision: None },
            Default::default(),
            Sampling::default(),
        )
    }
}

fn result(texts: [&str; 3]) -> RolloutResult {
    let completion = |text: &str| Completion {
        text: text.to_owned(),
        finish_reason: FinishReason::Stop,
        tokens: 4,
        entropy: Some(0.125),
        mask_mismatch: None,
    };
    let generated = |id: &str, texts: &[&str]| Generated {
        id: id.to_owned(),
        completions: texts.iter().map(|text| completion(text)).collect(),
    };
    RolloutResult {
        generated: vec![generated("3", &texts[..1]), generated("7", &texts[1..])],
        ..RolloutResult::default()
    }
}

fn config() -> RunConfig {
    let parameters = RegenerateParameters {
        run: ExecutionId(Uuid::from_u128(1)),
        step: 4,
        attempt: None,
        problem: ProblemId(Uuid::from_u128(2)),
        item: WorkId(Uuid::from_u128(3)),
        request: "7".to_owned(),
        sample: 1,
        payload: serde_json::to_string(&payload()).unwrap(),
        recorded: serde_json::to_string(&result(["one", "two", "x = \0 1"])).unwrap(),
    };
    let config = RunConfig {
        recipe: RegenerateEvaluation.name().to_owned(),
        parameters: serde_json::to_value(parameters).unwrap(),
        ..RunConfig::default()
    };
    RegenerateEvaluation.resolve(config).unwrap()
}

/// What the evaluation finds when its item has this result.
fn found(again: RolloutResult) -> RegenerateResult {
    let run = RegenerateEvaluation.begin(ExecutionId(Uuid::from_u128(9)), &config()).unwrap();
    let mut view = StepView::default();
    let plan = RegenerateEvaluation.plan(&run, &view).unwrap();
    assert!(plan.finish.is_none() && plan.result.is_none());
    assert_eq!(plan.work[0].payload, payload().into(), "the item is run as it was");
    view.work.insert(plan.work[0].key.clone(), WorkState::Done(Outcome::Rollout(again)));
    let plan = RegenerateEvaluation.plan(&run, &view).unwrap();
    assert!(plan.finish.unwrap().completed);
    serde_json::from_value(plan.result.unwrap()).unwrap()
}

#[test]
fn an_equal_sample_is_equal_and_the_others_of_its_item_are_counted() {
    let mut again = result(["one", "other", "x = \0 1"]);
    let same = TokenDifference::default();
    again.compared = Some(vec![vec![same], vec![same, same]]);
    let found = found(again);
    assert!(found.equal);
    assert_eq!((found.samples, found.equal_samples), (3, 2));
    assert_eq!((found.first_difference, found.logprob_difference), (None, Some(0.0)));
    assert_eq!(found.again.text, "x = \u{2400} 1");
    let csv = found.to_csv();
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

#[test]
fn the_first_difference_is_shown() {
    let mut again = result(["one", "two", "x = 2"]);
    let other = TokenDifference { first_token: Some(2), logprob: 0.5 };
    again.compared = Some(vec![vec![TokenDifference::default()], vec![other, other]]);
    let found = found(again);
    assert!(!found.equal);
    let first = found.first_difference.unwrap();
    assert_eq!((first.character, first.token), (4, Some(2)));
    assert_eq!(found.logprob_difference, Some(0.5));
}

#[test]
fn without_the_recorded_tokens_entropy_still_tells() {
    let mut again = result(["one", "two", "x = \0 1"]);
    let found_equal = found(again.clone());
    assert_eq!((found_equal.equal, found_equal.logprob_difference), (true, None));
    again.generated[1].completions[1].entropy = Some(0.126);
    let found = found(again);
    assert_eq!((found.equal, found.first_difference), (false, None));
}

#[test]
fn a_result_of_other_requests_is_refused() {
    let run = RegenerateEvaluation.begin(ExecutionId(Uuid::from_u128(9)), &config()).unwrap();
    let mut view = StepView::default();
    let key = RegenerateEvaluation.plan(&run, &view).unwrap().work[0].key.clone();
    view.work.insert(key, WorkState::Done(Outcome::Rollout(RolloutResult::default())));
    assert!(RegenerateEvaluation.plan(&run, &view).is_err());
    let mut config = config();
    config.parameters["payload"] = "{}".into();
    let faults = RegenerateEvaluation.resolve(config).unwrap_err();
    assert_eq!(faults.0[0].pointer, "/parameters/payload");
}
