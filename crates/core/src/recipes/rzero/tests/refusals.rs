//! What cannot work is refused with the field and the cure.

use super::*;

fn fault(document: &Value, pointer: &str) -> String {
    let faults = resolved(document).unwrap_err();
    let found = faults.0.iter().find(|fault| fault.pointer == pointer);
    found.unwrap_or_else(|| panic!("nothing at {pointer}: {faults}")).detail.clone()
}

#[test]
fn values_that_cannot_be_are_refused() {
    let dropout = |field: &str, value: Value| {
        let mut dropout = json!({"keep_rate": 0.8});
        dropout[field] = value;
        dropout
    };
    for (path, value, pointer, says) in [
        ("vocabulary_dropout", dropout("keep_rate", json!(0.0)), "vocabulary_dropout/keep_rate", "more than 0"),
        ("vocabulary_dropout", dropout("keep_rate", json!(1.5)), "vocabulary_dropout/keep_rate", "at most 1"),
        ("vocabulary_dropout", dropout("keep_rate", Value::Null), "vocabulary_dropout/keep_rate", "a number"),
        ("vocabulary_dropout", dropout("anneal_to", json!(0.7)), "vocabulary_dropout/anneal_to", "`keep_rate` (0.8)"),
        (
            "vocabulary_dropout",
            dropout("protected_texts", json!(["x", ""])),
            "vocabulary_dropout/protected_texts/1",
            "empty",
        ),
        ("uncertainty.band", json!([0.7, 0.3]), "uncertainty/band", "smaller one first"),
        ("curriculum.band", json!([0.3, 1.3]), "curriculum/band", "from 0 to 1"),
        ("vote.samples", json!(1), "vote/samples", "at least 2"),
        ("proposer.n", json!(1), "proposer/n", "reinforce_plus_plus"),
        ("solver.n", json!(1), "solver/n", "reinforce_plus_plus"),
        ("proposer.prompts", json!(4096), "proposer/prompts", "8192"),
        ("proposer.sampling.temperature", json!(0.7), "proposer/sampling/temperature", "1 is valid"),
        ("solver.sampling.top_p", json!(0.9), "solver/sampling/top_p", "1 is valid"),
        (
            "proposer.sampling.vocabulary_mask",
            json!({"seed": 1, "keep_rate": 0.9}),
            "proposer/sampling/vocabulary_mask",
            "`vocabulary_dropout`",
        ),
        ("vote.sampling.temperature", json!(0.0), "vote/sampling/temperature", "more than 0"),
        ("solver.learning.optimizer.eps", json!(0.0), "solver/learning/optimizer/eps", "more than 0"),
        ("prompts.set", json!("seedling"), "prompts/templates/propose", "propose"),
        ("labels", json!("gold"), "labels", "stated"),
    ] {
        let document = with(&[(&format!("parameters.{path}"), value)]);
        let detail = fault(&document, &format!("/parameters/{pointer}"));
        assert!(detail.contains(says), "{path}: {detail}");
    }
    let frozen_may = with(&[
        ("parameters.vote.sampling", json!({"temperature": 0.7, "top_p": 0.9, "top_k": 20, "max_tokens": 96})),
        ("parameters.proposer.n", json!(1)),
        ("parameters.advantages.estimator", json!("reinforce_plus_plus")),
    ]);
    resolved(&frozen_may).unwrap();
}

#[test]
fn steps_follow_from_the_stages() {
    assert_eq!(resolved(&document()).unwrap().steps, 12);
    let contradicted = with(&[("steps", json!(10))]);
    assert!(fault(&contradicted, "/steps").contains("2 proposer + 1 curriculum + 2 solver + 1 diversity"));
    let resolved_once = resolved(&document()).unwrap();
    assert_eq!(RZero.resolve(resolved_once.clone()).unwrap(), resolved_once);
}

#[test]
fn each_role_is_played_in_one_population() {
    let population = |members: Value| {
        json!({
            "base_model": {"name": "a"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": members,
        })
    };
    let group = |role: &str| json!([{"roles": [role], "count": 1}]);
    let of = |populations: Value| {
        let mut document = document();
        document["populations"] = populations;
        document
    };
    let alone = of(json!({"p": population(group("proposer"))}));
    assert!(fault(&alone, "/populations").contains("nobody plays solver"));
    let three = of(json!({
        "p": population(group("proposer")), "s": population(group("solver")), "t": population(group("solver")),
    }));
    assert!(fault(&three, "/populations").contains("p, s, t"));
    let both = of(json!({"p": population(json!([{"roles": ["proposer", "solver"], "count": 1}]))}));
    assert!(fault(&both, "/populations/p/members/0/roles").contains("one role"));
    let mixed = json!([{"roles": ["proposer"], "count": 1}, {"roles": ["solver"], "count": 1}]);
    let twice = of(json!({"p": population(mixed), "s": population(group("solver"))}));
    assert!(fault(&twice, "/populations/s/members").contains("one population"));

    let mut cross = of(json!({"p": population(group("proposer")), "s": population(group("solver"))}));
    cross["populations"]["s"]["base_model"]["name"] = json!("b");
    cross["parameters"]["vocabulary_dropout"] = json!({"keep_rate": 0.9, "protected_ids": [3]});
    let detail = fault(&cross, "/parameters/vocabulary_dropout/protected_ids");
    assert!(detail.contains("a and b") && detail.contains("`protected_texts`"), "{detail}");
    cross["parameters"]["vocabulary_dropout"] = json!({"keep_rate": 0.9, "protected_texts": ["0"]});
    resolved(&cross).unwrap();
}

#[test]
fn a_served_sampler_has_no_vocabulary_dropout() {
    let dropout = ("parameters.vocabulary_dropout", json!({"keep_rate": 0.8}));
    let served = ("compute.sampler", json!("served"));
    let said = fault(&with(&[dropout.clone(), served.clone()]), "/parameters/vocabulary_dropout");
    assert!(said.contains("`compute.sampler`") && said.contains("`engine`"), "{said}");
    for alone in [dropout, served] {
        resolved(&with(&[alone])).unwrap();
    }
}

#[test]
fn questions_that_leave_no_room_for_an_answer_are_refused() {
    for (group, shown) in [("vote", "proposer"), ("vote", "curriculum"), ("solver", "curriculum")] {
        let lengths = |answer: u32| {
            with(&[
                (&format!("parameters.{group}.sampling.max_tokens"), json!(answer)),
                (&format!("parameters.{shown}.sampling.max_tokens"), json!(300)),
            ])
        };
        resolved(&lengths(212)).unwrap();
        let said = fault(&lengths(213), &format!("/parameters/{group}/sampling/max_tokens"));
        assert!(
            said.contains(&format!("300 of `{shown}.sampling`")) && said.contains("at most 212 is valid here"),
            "{said}"
        );
    }
    let proposer = with(&[
        ("parameters.proposer.sampling.max_tokens", json!(300)),
        ("parameters.solver.sampling.max_tokens", json!(400)),
    ]);
    resolved(&proposer).unwrap();
}

#[test]
fn a_group_that_is_given_in_part_keeps_the_papers_values() {
    let mut document = document();
    document["populations"]["main"]["base_model"]["name"] = json!("Qwen/Qwen3-4B-Base");
    document["parameters"] = json!({
        "proposer": {"learning": {"micro_batch_tokens": 8192}},
        "solver": {"learning": {"loss": {"entropy": 0.1}}, "sampling": {"stop": ["\n\n"]}},
        "vote": {"sampling": {"max_tokens": 2048}},
        "curriculum": {"sampling": {"max_tokens": 2048}},
    });
    let given = resolved(&document).unwrap().parameters;
    document["parameters"] = json!({});
    let mut whole = resolved(&document).unwrap().parameters;
    for (pointer, value) in [
        ("/proposer/learning/micro_batch_tokens", json!(8192)),
        ("/solver/learning/loss/entropy", json!(0.1)),
        ("/solver/sampling/stop", json!(["\n\n"])),
        ("/vote/sampling/max_tokens", json!(2048)),
        ("/curriculum/sampling/max_tokens", json!(2048)),
    ] {
        *whole.pointer_mut(pointer).unwrap() = value;
    }
    assert_eq!(given, whole);
    for (pointer, value) in [
        ("/proposer/learning/optimizer/learning_rate", json!(1e-6)),
        ("/proposer/learning/optimizer/minibatches", json!(32)),
        ("/solver/learning/loss/clip_high", json!(0.3)),
        ("/vote/sampling/top_k", json!(40)),
        ("/curriculum/sampling/top_p", json!(0.95)),
    ] {
        assert_eq!(given.pointer(pointer), Some(&value), "{pointer}");
    }
    document["parameters"] = json!({"proposer": {"learning": {"optimizer": {"learnin_rate": 1.0}}}});
    let said = fault(&document, "/parameters/proposer/learning/optimizer/learnin_rate");
    assert!(said.contains("did you mean `learning_rate`"), "{said}");
}
