//! What cannot work is refused with the field and the cure.

use super::*;

fn fault(document: &Value, pointer: &str) -> String {
    let faults = resolved(document).unwrap_err();
    let found = faults.0.iter().find(|fault| fault.pointer == pointer);
    found.unwrap_or_else(|| panic!("nothing at {pointer}: {faults}")).detail.clone()
}

#[test]
fn values_that_cannot_be_are_refused() {
    for (path, value, pointer, says) in [
        ("rewards.solver.plan", json!(0.3), "rewards/solver", "sum to 1.1000"),
        ("rewards.admitted.quality", json!(0.0), "rewards/admitted", "sum to 0.6667"),
        ("rewards.rejected.format", json!(1.0), "rewards/rejected", "sum to 1.5000"),
        ("rewards.planner.quality", json!(-0.5), "rewards/planner/quality", "-0.5"),
        ("question_threshold", json!(1.2), "question_threshold", "1.2"),
        ("question_threshold", json!(-0.1), "question_threshold", "-0.1"),
        ("plan_threshold", json!(7), "plan_threshold", "7"),
        ("difficulty_samples", json!(0), "difficulty_samples", "0"),
        ("pool_size", json!(0), "pool_size", "0"),
        ("exact_critic", json!(0.4), "exact_critic", "0.4"),
        ("score_scale", json!("five"), "score_scale", "ten"),
        ("frozen", json!(["critic", "teacher"]), "frozen/1", "challenger, planner, solver and critic"),
        ("sampling.solve.temperature", json!(0.7), "sampling/solve/temperature", "1 is valid"),
        ("sampling.challenge.top_p", json!(0.9), "sampling/challenge/top_p", "1 is valid"),
        ("sampling.critique.temperature", json!(0.0), "sampling/critique/temperature", "`frozen`"),
        ("sampling.plan.max_tokens", json!(0), "sampling/plan/max_tokens", "0"),
        ("learning.optimizer.eps", json!(0.0), "learning/optimizer/eps", "more than 0"),
        ("learning.optimizer.minibatches", json!(33), "learning/optimizer/minibatches", "1 to 32"),
        ("prompts.set", json!("rzero"), "prompts/templates/challenge", "sage"),
        ("dataset", json!({"rows": 3}), "dataset", "no dataset is named"),
        ("dataset", json!({"id": DATASET, "name": "mine"}), "dataset/name", "named twice"),
    ] {
        let document = with(&[(&format!("parameters.{path}"), value)]);
        let detail = fault(&document, &format!("/parameters/{pointer}"));
        assert!(detail.contains(says), "{path}: {detail}");
    }
    let of_code = with(&[("parameters.code", json!({})), ("parameters.exact_critic", json!(0.9))]);
    assert!(fault(&of_code, "/parameters/exact_critic").contains("`code`"));
    let frozen_may = with(&[
        ("parameters.frozen", json!(["critic", "solver"])),
        ("parameters.sampling.critique.temperature", json!(0.0)),
        ("parameters.sampling.solve.temperature", json!(0.7)),
        ("parameters.sampling.solve.top_p", json!(0.9)),
    ]);
    resolved(&frozen_may).unwrap();
}

#[test]
fn a_resolved_config_stays_as_it_is() {
    let once = resolved(&document()).unwrap();
    assert_eq!(Sage.resolve(once.clone()).unwrap(), once);
    let parameters = &once.parameters;
    assert_eq!(parameters["question_threshold"], json!(0.7));
    assert_eq!(parameters["rewards"]["solver"], json!({"plan": 0.2, "correct": 0.6, "format": 0.2}));
    let named = |part: &str| Vec::from_iter(parameters["prompts"][part].as_object().unwrap().keys());
    assert_eq!(named("hashes"), named("templates"));
    let uses = Sage.datasets(&once).unwrap();
    assert_eq!(uses.len(), 1);
    assert_eq!(uses[0].kinds, [crate::verify::ProblemKind::Math]);
}

#[test]
fn each_role_is_played_once() {
    let members = |members: Value| with(&[("populations.main.members", members)]);
    let group = |roles: &[&str]| json!({"roles": roles, "count": 1});
    let without_critic = members(json!([group(&["challenger", "planner", "solver"])]));
    let detail = fault(&without_critic, "/populations");
    assert!(detail.contains("nobody plays critic") && detail.contains("roles = [\"critic\"]"), "{detail}");
    let all = group(&["challenger", "planner", "solver", "critic"]);
    let twice = members(json!([all, group(&["solver"])]));
    assert!(fault(&twice, "/populations/main/members/1/roles").contains("solver is played twice"));
    let mut two = all.clone();
    two["count"] = json!(2);
    assert!(fault(&members(json!([two])), "/populations/main/members/0/count").contains("1 is valid"));
    let teacher = members(json!([all, group(&["teacher"])]));
    assert!(fault(&teacher, "/populations/main/members/1/roles").contains("`teacher` is not a role"));

    let idle = altered(of_four(), &[("parameters.planning", json!(false))]);
    let detail = fault(&idle, "/populations/main/members/1/roles");
    assert!(detail.contains("nothing to do"), "{detail}");
    let without = json!([group(&["challenger", "solver"]), group(&["critic"])]);
    let mut unplanned = members(without);
    assert!(fault(&unplanned, "/populations").contains("nobody plays planner"));
    unplanned["parameters"]["planning"] = json!(false);
    resolved(&unplanned).unwrap();

    let mut two = document();
    two["populations"]["other"] = two["populations"]["main"].clone();
    assert!(fault(&two, "/populations").contains("1 population"));
}

#[test]
fn tasks_and_plans_that_leave_no_room_for_an_answer_are_refused() {
    let lengths = |[challenge, plan, solve, critique]: [u32; 4], planning: bool| {
        with(&[
            ("parameters.sampling.challenge.max_tokens", json!(challenge)),
            ("parameters.sampling.plan.max_tokens", json!(plan)),
            ("parameters.sampling.solve.max_tokens", json!(solve)),
            ("parameters.sampling.critique.max_tokens", json!(critique)),
            ("parameters.planning", json!(planning)),
        ])
    };
    resolved(&lengths([200, 200, 112, 112], true)).unwrap();
    for (lengths, field, says) in [
        (lengths([257, 10, 10, 10], true), "challenge", "at most 255 is valid here"),
        (lengths([200, 313, 10, 10], false), "plan", ""),
        (lengths([200, 313, 1, 1], true), "plan", "at most 312 is valid here"),
        (lengths([200, 200, 113, 10], true), "solve", "200 of `sampling.challenge` and 200 of `sampling.plan`"),
        (lengths([200, 200, 10, 113], true), "critique", "at most 112 is valid here"),
        (lengths([200, 200, 313, 10], false), "solve", "at most 312 is valid here"),
    ] {
        if says.is_empty() {
            resolved(&lengths).expect("nobody plans");
            continue;
        }
        let said = fault(&lengths, &format!("/parameters/sampling/{field}/max_tokens"));
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn a_group_that_is_given_in_part_keeps_the_papers_values() {
    let given = |field: &str, value: Value| resolved(&with(&[(field, value)])).unwrap().parameters;
    let learning = given("parameters.learning", json!({"micro_batch_tokens": 8192}));
    assert_eq!(learning["learning"]["optimizer"]["learning_rate"], json!(3e-6));
    let mut roomy = document();
    roomy["populations"]["main"]["base_model"]["name"] = json!("Qwen/Qwen3-4B-Base");
    roomy["parameters"]["sampling"] = json!({"solve": {"stop": ["x"]}});
    let sampling = &resolved(&roomy).unwrap().parameters["sampling"];
    for field in ["challenge", "plan", "solve", "critique"] {
        assert_eq!(sampling[field]["max_tokens"], json!(8192), "{field}");
    }
    roomy["parameters"]["prompts"] = json!({"style": "base"});
    assert_eq!(resolved(&roomy).unwrap().parameters["prompts"]["set"], "sage");
}

#[test]
fn an_instruction_set_of_processors_is_refused_on_a_gpu() {
    let both = with(&[("compute.device", json!("cuda")), ("compute.kernels", json!("amx"))]);
    assert!(fault(&both, "/compute/kernels").contains("`device` is `cuda`"));
    assert!(resolved(&with(&[("compute.device", json!("cpu")), ("compute.kernels", json!("amx"))])).is_ok());
    assert!(fault(&with(&[("compute.kernels", json!("sse"))]), "/compute/kernels").contains("avx512_bf16"));
}
