//! What cannot work is refused with the field and the cure.

use serde::Deserialize as _;

use super::*;
use crate::dataset::Purpose;
use crate::verify::ProblemKind;

fn fault(document: &Value, pointer: &str) -> String {
    let faults = resolved(document).unwrap_err();
    let found = faults.0.iter().find(|fault| fault.pointer == pointer);
    found.unwrap_or_else(|| panic!("nothing at {pointer}: {faults}")).detail.clone()
}

#[test]
fn values_that_cannot_be_are_refused() {
    let real_data = |field: &str, value: Value| {
        let mut given = json!({"dataset": {"id": REAL_DATA, "rows": 8}, "prompts": "seedling", "batch": 4, "n": 2});
        given[field] = value;
        given
    };
    let held_out = json!({"rows": 2, "every": 1});
    for (path, value, pointer, says) in [
        ("rounds.target", json!(0), "rounds/target", "0"),
        ("rounds.candidates", json!(0), "rounds/candidates", "0"),
        ("rounds.max", json!(0), "rounds/max", "0"),
        ("goalposts", json!({"rows": 3}), "goalposts", "--purpose goalposts"),
        ("goalposts", json!({"id": GOALPOSTS, "rows": 0}), "goalposts/rows", "0"),
        ("goalposts", json!({"id": GOALPOSTS, "name": "hard"}), "goalposts/name", "named twice"),
        ("lemma.band", json!([0.7, 0.3]), "lemma/band", "the smaller one first"),
        ("lift.band", json!([0.1, 1.5]), "lift/band", "from 0 to 1"),
        ("lemma.a", json!(0.0), "lemma/a", "more than 0"),
        ("lemma.a", json!(1.0), "lemma/a", "less than 1"),
        ("lift.a", json!(-0.1), "lift/a", "more than 0"),
        ("lift.b", json!(-2.0), "lift/b", "0 or more"),
        ("pairs", json!(2), "pairs", "2"),
        ("shown", json!(0), "shown", "0"),
        ("shown", json!(5), "shown", "1 to 4 is valid"),
        ("trials", json!(0), "trials", "0"),
        ("axes", json!([]), "axes", "1"),
        ("axes", json!(["f", "f"]), "axes", "listed twice"),
        ("axes", json!(["x"]), "axes/0", "io"),
        ("novelty.threshold", json!(1.5), "novelty/threshold", "1.5"),
        ("learn_from", json!("rejected"), "learn_from", "accepted"),
        ("sampling.propose.temperature", json!(0.6), "sampling/propose/temperature", "1 is valid"),
        ("sampling.solve.top_p", json!(0.9), "sampling/solve/top_p", "1 is valid"),
        ("learning.optimizer.eps", json!(0.0), "learning/optimizer/eps", "more than 0"),
        ("prompts.set", json!("seedling"), "prompts/templates/lemma_io", "seedling-gasp"),
        ("real_data", real_data("n", json!(1)), "real_data/n", "at least 2"),
        ("real_data", real_data("batch", json!(9)), "real_data/batch", "1 to 8"),
        ("real_data", real_data("dataset", json!({})), "real_data/dataset", "--purpose training"),
        ("real_data", real_data("prompts", json!("none")), "real_data/prompts", "none"),
        ("real_data", real_data("slices", json!(true)), "real_data/slices", "false is valid"),
        ("real_data", real_data("held_out", held_out), "real_data/held_out", "remove it"),
    ] {
        let document = with(&[(&format!("parameters.{path}"), value)]);
        let detail = fault(&document, &format!("/parameters/{pointer}"));
        assert!(detail.contains(says), "{path}: {detail}");
    }
    let mut without = document();
    without["parameters"].as_object_mut().unwrap().remove("goalposts");
    assert!(resolved(&without).unwrap_err().to_string().contains("goalposts"));
    let mut steps = document();
    steps["steps"] = json!(10);
    assert!(fault(&steps, "/steps").contains("set `steps` to 9"));
}

#[test]
fn templates_of_axes_and_stages_that_are_not_played_are_not_needed() {
    let only = with(&[
        ("parameters.axes", json!(["f"])),
        ("parameters.lifts", json!(false)),
        ("parameters.prompts.templates.lift_f", json!("{{ nothing }}")),
    ]);
    resolved(&only).unwrap();
    let played = with(&[("parameters.prompts.templates.lift_f", json!("{{ nothing }}"))]);
    assert!(fault(&played, "/parameters/prompts/templates/lift_f").contains("undefined"));
    let long = with(&[
        ("parameters.prompts.templates.lift_f", json!("x".repeat(120))),
        ("parameters.max_prompt_bytes", json!(100)),
    ]);
    let detail = fault(&long, "/parameters/max_prompt_bytes");
    assert!(detail.contains("100 is too small: the template lift_f"), "{detail}");
    let stretched = with(&[("parameters.prompts.templates.lift_f", json!("{{ program|escape }}"))]);
    assert!(fault(&stretched, "/parameters/prompts/templates/lift_f").contains("longer than they are"));
}

#[test]
fn a_resolved_config_stays_as_it_is_and_has_the_papers_values() {
    let once = resolved(&document()).unwrap();
    assert_eq!(Gasp.resolve(once.clone()).unwrap(), once);
    assert_eq!(once.steps, 9);
    let parameters = &once.parameters;
    assert_eq!(parameters["lemma"], json!({"band": [0.3, 0.7], "a": 0.5, "b": 5.0}));
    assert_eq!(parameters["lift"], json!({"band": [0.1, 0.5], "a": 0.1, "b": 1.0}));
    assert_eq!((&parameters["trials"], &parameters["pairs"], &parameters["shown"]), (&json!(10), &json!(5), &json!(2)));
    assert_eq!(parameters["novelty"]["threshold"], json!(0.95));
    let named = |part: &str| Vec::from_iter(parameters["prompts"][part].as_object().unwrap().keys());
    assert_eq!(named("hashes"), named("templates"));
    let real_data = json!({"dataset": {"id": REAL_DATA, "rows": 8}, "prompts": "seedling", "batch": 4, "n": 2});
    let config = resolved(&with(&[("parameters.real_data", real_data)])).unwrap();
    assert_eq!(config.steps, 12);
    let uses = Gasp.datasets(&config).unwrap();
    let wanted = [("/parameters/goalposts", Purpose::Goalposts), ("/parameters/real_data/dataset", Purpose::Training)];
    let found: Vec<_> = uses.iter().map(|one| (one.pointer.as_str(), one.purpose)).collect();
    assert_eq!(found, wanted);
    assert_eq!(uses[0].kinds, [ProblemKind::CodeF, ProblemKind::Code]);
    assert!(uses.iter().all(|one| !one.allow_overlap), "overlap with a benchmark is refused");
    let asked = Gasp.rows_asked(&config).unwrap().unwrap();
    assert_eq!((asked.pointer, asked.rows), ("/parameters/real_data", 8));
    assert_eq!(Gasp.rows_asked(&once).unwrap(), None);
}

#[test]
fn each_role_is_played_once() {
    let members = |members: Value| with(&[("populations.main.members", members)]);
    let group = |roles: &[&str], count: u32| json!({"roles": roles, "count": count});
    let alone = members(json!([group(&["teacher"], 1)]));
    assert!(fault(&alone, "/populations").contains("nobody plays student"));
    let twice = members(json!([group(&["teacher", "student"], 1), group(&["student"], 1)]));
    assert!(fault(&twice, "/populations/main/members/1/roles").contains("student is played twice"));
    let two = members(json!([group(&["teacher", "student"], 2)]));
    assert!(fault(&two, "/populations/main/members/0/count").contains("1 is valid"));
    let solver = members(json!([group(&["teacher", "student", "solver"], 1)]));
    assert!(fault(&solver, "/populations/main/members/0/roles").contains("`solver` is not a role"));
    let mut populations = document();
    populations["populations"]["other"] = populations["populations"]["main"].clone();
    assert!(fault(&populations, "/populations").contains("1 population"));
}

#[test]
fn pieces_of_a_gradient_are_checked_for_real_data_too() {
    let real_data = json!({
        "dataset": {"id": REAL_DATA, "rows": 8}, "prompts": "seedling", "batch": 4, "n": 2, "items": {"gradient_pieces": 2},
    });
    let document = with(&[("parameters.real_data", real_data)]);
    resolved(&document).unwrap();
    let mut torchrun = document.clone();
    torchrun["compute"] = json!({"trainer": "torchrun"});
    let said = fault(&torchrun, "/parameters/real_data/items/gradient_pieces");
    assert!(said.contains("`torchrun` (`compute.trainer`)"), "{said}");
    assert_eq!(resolved(&torchrun).unwrap_err().0.len(), 1);
    let mut several = document;
    several["parameters"]["real_data"]["learning"] = json!({"optimizer": {"epochs": 2}});
    let said = fault(&several, "/parameters/real_data/items/gradient_pieces");
    assert!(said.contains("2 epochs of 1 minibatches"), "{said}");
}

#[test]
fn a_group_that_is_given_in_part_keeps_the_papers_values() {
    let resolved = |field: &str, value: Value| resolved(&with(&[(field, value)])).unwrap().parameters;
    let learning = &resolved("parameters.learning", json!({"micro_batch_tokens": 8192}))["learning"];
    assert_eq!(learning["micro_batch_tokens"], 8192);
    assert_eq!(learning["optimizer"]["learning_rate"], json!(1e-6));
    let unbounded = resolved("parameters.learning", json!({"loss": {"clip_dual": null}}));
    assert_eq!(unbounded["learning"]["loss"].get("clip_dual"), Some(&Value::Null), "not the default");
    let parameters = crate::recipes::gasp::Parameters::deserialize(&unbounded).unwrap();
    assert_eq!(parameters.learning.loss.clip_dual, None);
}
