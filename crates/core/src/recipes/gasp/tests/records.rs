//! What prompts show, and where problems come from.

use super::*;
use crate::verify::ProblemKind;

#[test]
fn a_lift_comes_from_a_lemma_and_a_lemma_from_a_goalpost() {
    let played = play(&document());
    let mut axes = BTreeMap::new();
    for step in played.of_stage("lemma") {
        for (problem, _) in candidates(&played.steps[step]) {
            let [(goalpost, ParentRelation::Goalpost)] = problem.parents[..] else {
                panic!("{problem:?}");
            };
            let (_, goalpost) = played.problem(goalpost);
            assert!(goalpost.proposer.is_none() && goalpost.index < ROWS);
            assert!(problem.index >= ROWS, "goalposts have the indices before");
            *axes.entry(problem.values["axis"].to_string()).or_insert(0) += 1;
        }
    }
    assert_eq!(axes.len(), 2, "both axes are drawn: {axes:?}");
    for step in played.of_stage("lift") {
        for (problem, _) in candidates(&played.steps[step]) {
            let [(lemma, ParentRelation::Lemma)] = problem.parents[..] else {
                panic!("{problem:?}");
            };
            assert!(played.accepted(step - 1, "lemmas").contains(&lemma));
            let (_, lemma) = played.problem(lemma);
            assert_eq!(problem.values["axis"], lemma.values["axis"], "it inherits the axis");
            let axis = problem.values["axis"].as_str().unwrap();
            assert!(problem.prompt.starts_with(&format!("<lift_{axis}>")), "{}", problem.prompt);
        }
    }
}

#[test]
fn only_lemmas_see_goalposts_and_nobody_sees_a_hidden_pair() {
    let played = play(&document());
    // Goalposts show the first half of 4 pairs, candidates the first 2 of 5, from 10 to 14.
    let of_goalposts = (1..ROWS).flat_map(|number| [format!("70{number}2"), format!("70{number}3")]);
    let of_candidates = ["<in>12", "<in>13", "<in>14"].map(str::to_owned);
    let hidden: Vec<String> = of_goalposts.chain(of_candidates).collect();
    for (step, stage) in played.stages.iter().enumerate() {
        for phase in ["propose", "estimate", "solve"] {
            for prompt in played.prompts(step, phase) {
                assert!(!hidden.iter().any(|pair| prompt.contains(pair)), "{prompt}");
                let sees = prompt.contains("unreachable") || prompt.contains("<in>70");
                assert_eq!(sees, (stage.as_str(), phase) == ("lemma", "propose"), "{stage}/{phase}: {prompt}");
            }
        }
    }
    let of_lemmas = played.of_stage("lemma").into_iter();
    let of_lemmas: Vec<&str> = of_lemmas.flat_map(|step| played.prompts(step, "propose")).collect();
    for shown in ["<msg>unreachable 1<in>7010<out>9<in>7011<out>9<prog>", "<msg>unreachable question<prog>"] {
        assert!(of_lemmas.iter().any(|prompt| prompt.ends_with(shown)), "{shown}");
    }
    let lift = played.prompts(1, "propose")[0];
    assert!(lift.contains("<msg>function of level") && lift.ends_with("<in>10<out>1<in>11<out>1<prog>"), "{lift}");
}

#[test]
fn the_student_is_asked_in_three_formats() {
    let played = play(&with(&[("parameters.iterations", json!(8))]));
    let mut formats: BTreeMap<ProblemKind, u32> = BTreeMap::new();
    for step in played.of_stage("solve") {
        let mut stones = played.accepted(step, "lemmas");
        stones.extend(played.accepted(step, "lifts"));
        let records = &played.steps[step].records;
        assert_eq!(records.attempts.len(), 2 * stones.len(), "each is attempted twice");
        let mut asked: Vec<ProblemId> = Vec::new();
        for attempt in &records.attempts {
            let (_, problem) = played.problem(attempt.problem);
            *formats.entry(problem.kind).or_default() += 1;
            asked.push(match problem.kind {
                ProblemKind::CodeF => problem.id,
                _ => {
                    let [(original, ParentRelation::Original)] = problem.parents[..] else {
                        panic!("{problem:?}");
                    };
                    let (_, of) = played.problem(original);
                    assert_eq!(problem.program, of.program);
                    let input = problem.values["input"].as_str().unwrap();
                    assert!(["10", "11"].contains(&input), "of the shown pairs: {input}");
                    original
                }
            });
        }
        asked.sort_unstable();
        asked.dedup();
        stones.sort_unstable();
        assert_eq!(asked, stones, "every lemma and lift of the iteration is asked");
    }
    assert_eq!(formats.len(), 3, "{formats:?}");
    let total: u32 = formats.values().sum();
    assert!(formats.values().all(|count| (total / 5..total / 2).contains(count)), "{formats:?}");
}

#[test]
fn goalposts_that_are_too_long_or_of_another_kind_end_the_run_with_their_row() {
    let failed = |document: &Value, rows: Vec<Value>| {
        let config = resolved(document).unwrap();
        let mut simulation =
            Simulation::new(&Gasp, &config, players(), Order::Together).unwrap().with_dataset(GOALPOSTS, rows);
        simulation.step().unwrap_err().to_string()
    };
    let long =
        json!({"type": "code_f", "program": "def f(a):\n return a", "message": "x".repeat(600), "pairs": [["1", "1"]]});
    let said = failed(&document(), vec![long.clone(); ROWS as usize]);
    assert!(said.contains("goalpost") && said.contains("above max_prompt_bytes of 400"), "{said}");
    let output = json!({"type": "code_o", "program": "def f(a):\n return a", "input": "1", "output": "1"});
    let said = failed(&document(), vec![output; ROWS as usize]);
    assert!(said.contains("code or code_f is valid"), "{said}");
    // Whether it is drawn or not.
    let mut many = vec![goalposts().next().unwrap(); 100];
    many[99] = long;
    let few = with(&[
        ("parameters.goalposts.rows", json!(100)),
        ("parameters.rounds", json!({"target": 1, "candidates": 2, "max": 1})),
    ]);
    let said = failed(&few, many);
    assert!(said.contains("goalpost 99 takes"), "{said}");
}

#[test]
fn candidates_that_cannot_be_shown_within_the_limit_are_invalid() {
    let played = play(&with(&[("parameters.max_prompt_bytes", json!(118))]));
    let mut long = played.steps.iter().flat_map(candidates).filter(|(problem, _)| !problem.valid);
    assert!(long.any(|(problem, _)| problem.reason.contains("above max_prompt_bytes of 118")));
    for step in 0..played.steps.len() {
        for phase in ["propose", "estimate", "solve"] {
            assert!(played.prompts(step, phase).iter().all(|prompt| prompt.len() <= 118));
        }
    }
}
