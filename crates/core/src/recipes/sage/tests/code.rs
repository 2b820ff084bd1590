//! Tasks of code: a specification with tests, and programs that are judged by them.

use super::*;
use crate::problem::Values;
use crate::verify::{Check, Oracle, ProblemKind, Tests};

/// Seeds of both domains, in turns.
fn seeds() -> impl Iterator<Item = Value> {
    rows().enumerate().map(|(number, row)| match number % 2 {
        0 => row,
        _ => json!({
            "task_id": format!("code/{number}"),
            "question": format!("write f so that it returns 1, number {number} at level 0"),
            "oracle": {"type": "script", "entry_point": "f", "test": "assert f(0) == 1"},
        }),
    })
}

/// The run of [`document`] with tasks of code, and prompts for them that the players of the simulator know.
fn of_code() -> Value {
    let mut document = with(&[("parameters.code", json!({"min_tests": 2})), ("steps", json!(6))]);
    document["parameters"]["prompts"]["templates"] = json!({
        "challenge_code": "<pose-code>{{ question }}<is>{{ tests }}<go>",
        "plan_code": "<devise>{{ question }}<go>",
        "solve_code": "<write>{{ entry_point }}: {{ question }}<go>",
        "solve_with_plan_code": "<write>{{ entry_point }}: {{ question }}<use>{{ plan }}<go>",
        "critique_question_code": "<judge>{{ question }}<is>1<go>",
        "critique_plan_code": "<judge>{{ question }}<use>{{ plan }}<go>",
    });
    document
}

fn played() -> Played {
    play_on(&of_code(), players(), Order::Shuffled(2), seeds())
}

/// The tests that an item runs, by the program that they run on.
fn tests<'p>(played: &'p Played, phase: &'p str) -> impl Iterator<Item = (&'p Tests, &'p str)> {
    let items = played.work.iter().filter(move |(key, _)| key.phase == phase);
    let tasks = items.filter_map(|(_, payload)| match payload {
        Payload::Verify(verify) => Some(&verify.tasks),
        _ => None,
    });
    tasks.flatten().filter_map(|task| match &task.check {
        Check::Tests(tests) => match &tests.oracle {
            Oracle::Script { test, .. } => Some((tests, test.as_str())),
            _ => None,
        },
        _ => None,
    })
}

#[test]
fn tests_join_only_if_they_refuse_an_empty_function() {
    let played = played();
    let mut checked = 0;
    for (tests, _) in tests(&played, "check") {
        assert_eq!(tests.program, "def f(*args, **kwargs):\n    pass\n");
        assert_eq!(tests.entry_point.as_deref(), Some("f"));
        checked += 1;
    }
    let problems = played.steps.iter().flat_map(|step| &step.records.problems);
    let posed: Vec<_> =
        problems.filter(|problem| problem.proposer.is_some() && problem.kind == ProblemKind::Code).collect();
    let reasons: BTreeSet<&str> = posed.iter().map(|problem| problem.reason.as_str()).collect();
    assert_eq!(
        reasons.into_iter().collect::<Vec<_>>(),
        [
            "",
            "1 of at least 2 assertions, each on a line that begins with `assert`",
            "the tests pass on a function in which there is nothing"
        ]
    );
    for problem in &posed {
        let tests = problem.values["tests"].as_str().unwrap();
        assert_eq!(problem.valid, tests == "assert f(1) == 1\nassert f(1) == 1\nassert f(1) == 1", "{problem:?}");
    }
    assert!(checked > 5 && posed.len() > checked, "{checked} of {}", posed.len());
}

#[test]
fn programs_are_judged_by_the_tests_that_were_posed_and_by_the_seeds_own() {
    let played = played();
    let mut by_test: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, test) in tests(&played, "grade") {
        *by_test.entry(test).or_default() += 1;
    }
    assert!(by_test.contains_key("assert f(0) == 1"), "of a seed: {by_test:?}");
    assert!(by_test.len() == 2, "and of a task that joined: {by_test:?}");
    let mut counted = [0, 0];
    for (number, step) in played.steps.iter().enumerate() {
        for (key, rollout) in played.rollouts(number, "solve") {
            for request in &rollout.requests {
                let Prompt::Text(shown) = &request.prompt else { panic!("a text") };
                let said = played.attempt(key, &request.id).unwrap();
                if shown.starts_with("<write>f: ") {
                    assert_eq!(said.correct, said.text.contains("return 1"), "{said:?}");
                    let blocks = said.text.matches("```python").count();
                    let wanted = if blocks == 1 { 0.2 } else { 0.0 };
                    if !said.text.is_empty() && blocks < 2 {
                        assert_near(said.reward_parts["format"].as_f64().unwrap() as f32, wanted, said);
                    }
                    counted[usize::from(said.correct)] += 1;
                }
            }
        }
        assert!(step.records.attempts.iter().any(|attempt| attempt.role == Role::Critic));
    }
    assert!(counted.iter().all(|count| *count > 3), "{counted:?}");
}

#[test]
fn what_a_code_task_needs_is_in_its_row() {
    let played = played();
    let problems = played.steps.iter().flat_map(|step| &step.records.problems);
    let valid = problems.filter(|problem| problem.valid && problem.proposer.is_some());
    let mut kinds = BTreeSet::new();
    for problem in valid {
        kinds.insert(problem.kind);
        match serde_json::from_value(problem.values.clone()).unwrap() {
            Values::Math { .. } => assert_eq!(problem.kind, ProblemKind::Math),
            Values::Code { entry_point, tests, .. } => {
                assert_eq!((problem.kind, entry_point.as_deref()), (ProblemKind::Code, Some("f")));
                assert!(tests.is_some());
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(kinds.len(), 2, "both domains join");
}

#[test]
fn code_in_any_order_of_completion() {
    let rows = |order| -> Vec<String> {
        let played = play_on(&of_code(), players(), order, seeds());
        let mut rows: Vec<String> = played
            .steps
            .iter()
            .flat_map(|step| &step.records.attempts)
            .map(|row| serde_json::to_string(row).unwrap())
            .collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(rows(Order::Together), rows(Order::Shuffled(9)));
}

#[test]
fn code_needs_its_prompts_and_says_which_datasets_it_takes() {
    let mut without = of_code();
    without["parameters"]["prompts"]["templates"] = json!({});
    let faults = resolved(&without).unwrap_err();
    let pointers: BTreeSet<&str> = faults.0.iter().map(|fault| fault.pointer.as_str()).collect();
    assert!(pointers.contains("/parameters/prompts/templates/solve_code"), "{faults}");
    assert_eq!(pointers.len(), 6, "{faults}");
    let kinds = |document: &Value| Sage.datasets(&resolved(document).unwrap()).unwrap()[0].kinds;
    assert_eq!(kinds(&of_code()), [ProblemKind::Math, ProblemKind::Code]);
    assert_eq!(kinds(&document()), [ProblemKind::Math]);
    let sage = altered(of_code(), &[("parameters.prompts", json!({"set": "sage"}))]);
    assert!(resolved(&sage).is_ok(), "the shipped prompts have both domains");
    let none = altered(of_code(), &[("parameters.code.min_tests", json!(0))]);
    assert!(resolved(&none).unwrap_err().to_string().contains("/parameters/code/min_tests"));
}

#[test]
fn challengers_are_told_how_many_tests_are_needed() {
    for (given, wanted) in [(json!({}), 3), (json!({"min_tests": 5}), 5)] {
        let mut document = with(&[("parameters.code", given), ("steps", json!(1))]);
        document["populations"]["main"]["base_model"]["name"] = json!("large");
        document["parameters"]["prompts"] = json!({"set": "sage", "style": "base"});
        let played = play_on(&document, players(), Order::Together, seeds());
        let mut shown = 0;
        for (_, rollout) in played.rollouts(0, "challenge") {
            let prompts = rollout.requests.iter().map(|request| request.prompt.text());
            for prompt in prompts.filter(|prompt| prompt.contains("Python assertions")) {
                assert!(prompt.contains(&format!("at least {wanted} of them")), "{prompt}");
                assert_eq!(prompt.matches("assert name(arguments) == value\n").count(), wanted);
                shown += 1;
            }
        }
        assert!(shown > 0);
        let posed = played.steps[0].records.problems.iter().filter(|problem| problem.proposer.is_some());
        let told = posed.filter(|problem| problem.prompt.contains(&format!("at least {wanted} of them")));
        assert_eq!(told.count(), shown, "the rows have the prompts that were shown");
    }
}
