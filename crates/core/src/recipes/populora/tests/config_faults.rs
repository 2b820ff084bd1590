//! Configs that cannot work, and the contents of a resolved one.

use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::{document, resolved};
use crate::config::apply_overrides;

fn faults_of(path: &str, value: Value) -> Vec<(String, String)> {
    let mut document = document(2, 2);
    apply_overrides(&mut document, &BTreeMap::from([(path.to_owned(), value)])).unwrap();
    let faults = resolved(&document).err().map(|faults| faults.0).unwrap_or_default();
    faults.into_iter().map(|fault| (fault.pointer, fault.detail)).collect()
}

#[test]
fn a_config_that_cannot_work_is_refused_at_the_field() {
    for (path, value, pointer, says) in [
        ("parameters.prompts_per_matchup", json!(7), "/parameters/prompts_per_matchup", "multiple of 3"),
        ("parameters.prompts_per_matchup", json!(0), "/parameters/prompts_per_matchup", "at least 1"),
        ("parameters.samples_per_problem", json!(0), "/parameters/samples_per_problem", "at least 1"),
        ("parameters.items.solve", json!(0), "/parameters/items/solve", "at least 1"),
        ("parameters.prompts.set", json!("azrr"), "/parameters/prompts/set", "azr"),
        (
            "parameters.prompts.templates.solve_code_o",
            json!("{{ nothing }}"),
            "/parameters/prompts/templates/solve_code_o",
            "undefined",
        ),
        (
            "parameters.learning.loss.constant_length",
            json!(64),
            "/parameters/learning/loss/constant_length",
            "only the aggregation `constant`",
        ),
        (
            "parameters.learning.loss.aggregation",
            json!("constant"),
            "/parameters/learning/loss/constant_length",
            "a number of tokens is valid",
        ),
        (
            "parameters.learning.loss.importance_cap",
            json!(0.5),
            "/parameters/learning/loss/importance_cap",
            "at least 1",
        ),
        (
            "parameters.learning.loss",
            json!({"importance_cap": 2.0}),
            "/parameters/learning/loss/importance_cap",
            "corrected for twice",
        ),
        (
            "parameters.learning.loss",
            json!({"importance_cap": 2.0, "old_policy": "trainer"}),
            "/parameters/learning/loss/importance_cap",
            "the same numbers in fp32",
        ),
        (
            "parameters",
            json!({"learning": {"mask_truncated": true}, "sampling": {"solve": {"max_tokens": 1}}}),
            "/parameters/learning/mask_truncated",
            "`max_tokens` of its sampling is 1",
        ),
        ("parameters.problems.types", json!([]), "/parameters/problems/types", "[]"),
        ("parameters.problems.types", json!(["code_o", "code_o"]), "/parameters/problems/types", "once"),
        ("parameters.problems.seeds", json!("x"), "/parameters/problems/seeds", "seedling"),
        ("parameters.problems.num_inputs", json!(1), "/parameters/problems/num_inputs", "at least 2"),
        ("parameters.problems.max_prompt_bytes", json!(500), "/parameters/sampling/propose/max_tokens", "at most 12"),
        ("parameters.sampling.solve.max_tokens", json!(999), "/parameters/sampling/solve/max_tokens", "at most 112"),
        ("parameters.sampling.solve.temperature", json!(0.0), "/parameters/sampling/solve/temperature", "more than 0"),
        ("parameters.proposals_per_prompt", json!(100_000), "/parameters/proposals_per_prompt", "at most 1024"),
        ("parameters.prompts_per_matchup", json!(600_000), "/parameters/prompts_per_matchup", "at most 65536"),
        ("parameters.learning.optimizer.minibatches", json!(7), "/parameters/learning/optimizer/minibatches", "1 to 6"),
        ("parameters.learning.optimizer.beta1", json!(1.0), "/parameters/learning/optimizer/beta1", "below 1"),
        ("parameters.learning.optimizer.beta2", json!(1.0), "/parameters/learning/optimizer/beta2", "below 1"),
        ("parameters.learning.optimizer.eps", json!(0.0), "/parameters/learning/optimizer/eps", "more than 0"),
        ("parameters.learning.loss.clip_dual", json!(1.0), "/parameters/learning/loss/clip_dual", "more than 1"),
        ("parameters.sampling.solve.top_p", json!(0.0), "/parameters/sampling/solve/top_p", "more than 0"),
        (
            "parameters.sampling.solve.temperature",
            json!(0.7),
            "/parameters/sampling/solve/temperature",
            "1 is valid unless the role is frozen",
        ),
        ("parameters.sampling.propose.top_k", json!(50), "/parameters/sampling/propose/top_k", "0 is valid"),
        (
            "parameters.sampling.propose.vocabulary_mask",
            json!({"seed": 1, "keep_rate": 0.9}),
            "/parameters/sampling/propose/vocabulary_mask",
            "remove it",
        ),
        ("parameters.sampling.propose.stop", json!(["x", ""]), "/parameters/sampling/propose/stop/1", "empty"),
        (
            "parameters.sampling.propose.vocabulary_mask",
            json!({"seed": 1, "keep_rate": 1.0}),
            "/parameters/sampling/propose/vocabulary_mask",
            "`vocabulary_dropout`",
        ),
        ("parameters.items.gradient_pieces", json!(0), "/parameters/items/gradient_pieces", "at least 1"),
        (
            "parameters.prompts.templates.solve_code_o",
            json!("{{ program|escape }}{{ input }}"),
            "/parameters/prompts/templates/solve_code_o",
            "longer",
        ),
        (
            "parameters.prompts.templates.solve_code_i",
            json!(" "),
            "/parameters/prompts/templates/solve_code_i",
            "nothing",
        ),
        ("parameters.archive.loc", json!([5.0, 5.0]), "/parameters/archive/loc", "range"),
        ("parameters.archive.cells", json!(0), "/parameters/archive/cells", "at least 1"),
        ("parameters.rating.beta", json!(0.0), "/parameters/rating/beta", "more than 0"),
        ("parameters.evolution.operators", json!(["M99"]), "/parameters/evolution/operators/0", "M99"),
        (
            "parameters.evolution.learning_rate.sigma",
            json!(0.0),
            "/parameters/evolution/learning_rate/sigma",
            "numbers above 0",
        ),
        (
            "parameters.evolution.learning_rate",
            json!({"rule": "inherited", "min": 1e-3, "max": 1e-2}),
            "/parameters/evolution/learning_rate/rule",
            "0.001 to 0.01",
        ),
        (
            "parameters.evolution",
            json!({"every": 0, "learning_rate": {"rule": "inherited"}}),
            "/parameters/evolution/learning_rate/rule",
            "\"fixed\" is valid",
        ),
        ("parameters.frozen", json!(["critic"]), "/parameters/frozen/0", "teacher"),
        ("parameters.sample_per_problem", json!(8), "/parameters/sample_per_problem", "samples_per_problem"),
        ("populations.main.members.0.roles", json!(["solver"]), "/populations/main/members/0/roles", "student"),
        (
            "populations.main.members.0.roles",
            json!(["student"]),
            "/populations/main/members",
            "a teacher and a student",
        ),
        ("populations.main.members.0.roles", json!(["teacher", "student"]), "/populations/main/members", "plays alone"),
        ("populations.main.lora.target_modules", json!(["q_prj"]), "/populations/main/lora/target_modules/0", "q_proj"),
        ("populations.other", document(1, 1)["populations"]["main"].clone(), "/populations", "1 population"),
    ] {
        let faults = faults_of(path, value);
        assert!(
            faults.iter().any(|(at, detail)| at == pointer && detail.contains(says)),
            "{path}: {faults:?} does not say `{says}` at {pointer}"
        );
    }
    assert_eq!(faults_of("steps", json!(3)), []);
}

#[test]
fn a_resolved_config_holds_its_templates_with_their_hashes_and_resolves_to_itself() {
    let config = resolved(&document(1, 1)).unwrap();
    let prompts = &config.parameters["prompts"];
    assert_eq!(prompts["templates"]["propose_code_f"], "<pf>{{ program }}<in>");
    let named = |part: &str| Vec::from_iter(prompts[part].as_object().unwrap().keys());
    assert_eq!(named("hashes"), named("templates"));
    let again = resolved(&serde_json::to_value(&config).unwrap()).unwrap();
    assert_eq!(again, config);
}

#[test]
fn frozen_roles_may_sample_as_they_like() {
    let mut document = document(2, 2);
    document["parameters"]["sampling"]["solve"] = json!({"temperature": 0.7, "top_p": 0.9, "max_tokens": 100});
    assert_eq!(resolved(&document).unwrap_err().0.len(), 2);
    document["parameters"]["frozen"] = json!(["student"]);
    resolved(&document).unwrap();
    document["parameters"]["frozen"] = json!(["teacher"]);
    assert_eq!(resolved(&document).unwrap_err().0.len(), 2);
}

#[test]
fn a_gradient_in_pieces_makes_one_optimizer_step() {
    for (field, value) in [("epochs", 2), ("minibatches", 2)] {
        let mut document = document(2, 2);
        document["parameters"]["items"]["gradient_pieces"] = json!(2);
        document["parameters"]["learning"] = json!({"optimizer": {field: value}});
        let faults = resolved(&document).unwrap_err().to_string();
        assert!(faults.contains("/parameters/items/gradient_pieces: 2 pieces"), "{faults}");
    }
}

#[test]
fn an_operator_that_refuses_every_adapter_is_refused() {
    let refused = |rank: u32, k: Option<u32>| {
        let mut document = document(4, 4);
        document["populations"]["main"]["lora"]["r"] = json!(rank);
        document["parameters"]["evolution"]["operators"] = json!(["M6"]);
        if let Some(k) = k {
            document["parameters"]["evolution"]["parameters"] = json!({"M6": {"k": k}});
        }
        resolved(&document).err().map(|faults| faults.to_string())
    };
    assert_eq!(refused(8, Some(7)), None);
    assert_eq!(refused(3, None), None);
    for (rank, k) in [(8, Some(8)), (2, None), (1, None)] {
        let said = refused(rank, k).unwrap();
        assert!(
            said.starts_with("/parameters/evolution/parameters/M6/k: ")
                && said.contains(&format!("from 0 to {}, as the rank of the adapters is {rank}", rank - 1)),
            "{said}"
        );
    }
}
