//! What is recorded follows from what was said.

use super::*;

/// Rewards computed again from the rows, as from an export.
fn assert_rewards(played: &Played, score: impl Fn(&str) -> f32) -> [usize; 2] {
    let mut counted = [0, 0];
    for (number, step) in played.steps.iter().enumerate() {
        let outcomes: BTreeMap<ProblemId, _> =
            step.records.outcomes.iter().map(|outcome| (outcome.problem, outcome)).collect();
        let mut scores: BTreeMap<String, f32> = BTreeMap::new();
        for (key, rollout) in played.rollouts(number, "critique-question") {
            for request in &rollout.requests {
                let said = played.attempt(key, &request.id).unwrap();
                assert_eq!((said.role, said.correct), (Role::Critic, false));
                assert!(said.reason.starts_with("score of the question"));
                assert_near(said.reward, format(&said.text, &["score"]), said);
                scores.insert(request.id.clone(), score(&said.text));
            }
        }
        let proposed = step.records.problems.iter().filter(|problem| problem.proposer.is_some());
        for problem in proposed {
            let outcome = outcomes[&problem.id];
            let r_f = format(&problem.proposal, &["question", "type", "answer"]);
            let s_q = scores.get(&(problem.index - ROWS).to_string()).copied().unwrap_or(0.0);
            let answers = step.records.attempts.iter();
            let answers: Vec<&AttemptRecord> =
                answers.filter(|attempt| attempt.problem == problem.id && attempt.reward_parts == json!({})).collect();
            assert_eq!(answers.len(), if problem.valid { 4 } else { 0 });
            let joins = problem.valid && s_q >= 0.7;
            let wanted = if joins {
                let wrong = answers.iter().filter(|attempt| !attempt.correct).count();
                (s_q + wrong as f32 / 4.0 + r_f) / 3.0
            } else {
                (s_q + r_f) / 2.0
            };
            assert_near(outcome.reward, wanted, &(problem, outcome));
            assert_near(parts(&outcome.reward_parts), outcome.reward, outcome);
            assert_eq!(outcome.reward_parts.get("difficulty").is_some(), joins);
            counted[usize::from(joins)] += 1;
        }
    }
    counted
}

#[test]
fn challenges_earn_what_the_paper_says() {
    let played = play(&document());
    let [rejected, joined] = assert_rewards(&played, score);
    assert!(rejected > 10 && joined > 5, "{rejected} rejected, {joined} joined");
    assert_eq!(rejected + joined, 4 * 12);
    let ten = play(&with(&[("parameters.score_scale", json!("ten"))]));
    assert_rewards(&ten, |text| match score(text) {
        // 1 is the worst score, and 0 is none.
        one if text.contains("<score>1<") || text.contains("<score>1/") => one - 1.0,
        _ if text.contains("<score>0") => 0.5,
        other => other,
    });
}

#[test]
fn plans_are_shown_exactly_where_their_score_is_high_enough() {
    let played = play(&with(&[("parameters.tasks", json!(40))]));
    let mut seen = BTreeMap::new();
    for number in 0..played.steps.len() {
        for (key, rollout) in played.rollouts(number, "solve") {
            let asked = |phase: &str| WorkKey::new(key.step, phase).chunk(key.chunk);
            for request in &rollout.requests {
                let plan = played.attempt(&asked("plan"), &request.id).unwrap();
                let critique = played.attempt(&asked("critique-plan"), &request.id);
                let answer = played.attempt(key, &request.id).unwrap();
                assert_eq!((plan.role, answer.role), (Role::Planner, Role::Solver));
                assert_eq!(critique.is_some(), plan.well_formed, "what cannot be read is not scored");
                let s_p = critique.map_or(0.0, |critique| score(&critique.text));
                let Prompt::Text(prompt) = &request.prompt else { panic!() };
                let is_shown = s_p >= 0.3;
                assert_eq!(prompt.contains("<use>"), is_shown, "{s_p}: {prompt}");
                if is_shown {
                    let text = plan.answer.as_ref().unwrap();
                    assert!(prompt.ends_with(&format!("<use>{text}<go>")), "{prompt}");
                }
                let r_f = format(&plan.text, &["plan"]);
                assert_near(plan.reward, (s_p + r_f) / 2.0, plan);
                let boxed = f32::from(u8::from(answer.text.contains("\\boxed{")));
                let correct = f32::from(u8::from(answer.correct));
                let shown = if is_shown { s_p } else { 0.0 };
                assert_near(answer.reward, 0.2 * shown + 0.6 * correct + 0.2 * boxed, answer);
                for row in [plan, answer] {
                    assert_near(parts(&row.reward_parts), row.reward, row);
                }
                let tenths = critique.map(|critique| critique.answer.clone());
                *seen.entry((tenths, is_shown)).or_insert(0) += 1;
            }
        }
    }
    let of = |answer: &str, is_shown| seen.contains_key(&(Some(Some(answer.to_owned())), is_shown));
    assert!(of("2", false) || of("3", false), "{seen:?}");
    assert!(of("7", true) && of("8", true), "{seen:?}");
    assert!(seen.contains_key(&(Some(None), true)), "0.5 without a number is enough");
}

#[test]
fn only_tasks_that_joined_are_shown_planned_and_solved() {
    for pool_size in [65_536, 3] {
        let played = play(&with(&[("parameters.pool_size", json!(pool_size))]));
        let mut joined: Vec<ProblemId> = Vec::new();
        let mut used_joined = 0;
        let seeds: BTreeSet<ProblemId> = played
            .steps
            .iter()
            .flat_map(|step| &step.records.problems)
            .filter(|problem| problem.proposer.is_none())
            .map(|problem| problem.id)
            .collect();
        for step in &played.steps {
            let newest = |joined: &[ProblemId]| joined.iter().rev().take(pool_size).copied().collect::<BTreeSet<_>>();
            let known = newest(&joined);
            let mut proposed: Vec<_> = step.records.problems.iter().collect();
            proposed.retain(|problem| problem.proposer.is_some());
            proposed.sort_by_key(|problem| problem.index);
            let rewarded = |id: &ProblemId| {
                let mut outcomes = step.records.outcomes.iter();
                outcomes.any(|outcome| outcome.problem == *id && outcome.reward_parts.get("difficulty").is_some())
            };
            for problem in &proposed {
                let [(reference, _)] = problem.parents[..] else { panic!() };
                assert!(seeds.contains(&reference) || known.contains(&reference));
                used_joined += u32::from(known.contains(&reference));
            }
            joined.extend(proposed.iter().map(|problem| problem.id).filter(rewarded));
            let known = newest(&joined);
            let planned = step.records.attempts.iter();
            for attempt in planned.filter(|attempt| attempt.role == Role::Planner) {
                assert!(seeds.contains(&attempt.problem) || known.contains(&attempt.problem));
            }
            assert_eq!(metric(step, "pool_size"), (ROWS as usize + known.len()) as f64);
        }
        assert!(used_joined > 0 && joined.len() > 3, "{used_joined} of {}", joined.len());
        assert!(seeds.len() <= ROWS as usize);
    }
}

#[test]
fn without_planning_the_solver_answers_directly() {
    let played = play(&with(&[("parameters.planning", json!(false))]));
    assert!(played.work.keys().all(|key| !["plan", "critique-plan"].contains(&key.phase.as_str())));
    for (number, step) in played.steps.iter().enumerate() {
        for (key, rollout) in played.rollouts(number, "solve") {
            for request in &rollout.requests {
                let answer = played.attempt(key, &request.id).unwrap();
                let boxed = f32::from(u8::from(answer.text.contains("\\boxed{")));
                let correct = f32::from(u8::from(answer.correct));
                assert_near(answer.reward, (correct + boxed) / 2.0, answer);
                assert_eq!(answer.reward_parts.as_object().unwrap().len(), 2);
            }
        }
        assert!(metric(step, "plan_score").is_nan() && metric(step, "planner_reward").is_nan());
        assert!(metric(step, "planned_pass_rate").is_nan());
        assert_eq!(metric(step, "unplanned_pass_rate"), metric(step, "pass_rate"));
    }
}

#[test]
fn rows_of_four_members_are_about_their_own_roles() {
    let played = play(&of_four());
    let step = &played.steps[1];
    let names: BTreeMap<_, _> = played.steps[0].records.members.iter().map(|row| (row.id, row.name.as_str())).collect();
    let place = |name: &str| Sage.metric_names().iter().position(|known| *known == name).unwrap();
    for (metric, role) in [
        ("challenger_reward", "challenger-0"),
        ("admitted_share", "challenger-0"),
        ("planner_reward", "planner-0"),
        ("pass_rate", "solver-0"),
        ("question_score", "critic-0"),
        ("critic_reward", "critic-0"),
    ] {
        for row in &step.records.metrics {
            let has_value = !row.values[place(metric)].is_nan();
            let is_its_own = row.member.is_none_or(|member| names[&member] == role);
            assert_eq!(has_value, is_its_own, "{metric} of {:?}", row.member);
        }
    }
    for attempt in &step.records.attempts {
        assert_eq!(names[&attempt.solver.0], format!("{}-0", attempt.role.name()));
    }
}

#[test]
fn a_task_that_leaves_no_room_for_plan_and_answer_is_not_valid() {
    // 512 positions: 285 of the template, 96 of a plan and 96 of an answer leave 35 for the question.
    let frame = "<solve><use><go>".len();
    let template = format!("<solve>{}{{{{ question }}}}<use>{{{{ plan }}}}<go>", "x".repeat(285 - frame));
    let document = with(&[("parameters.prompts.templates.solve_with_plan", json!(template))]);
    let long = |document: &Value| -> Vec<bool> {
        let played = play(document);
        let problems = played.steps.iter().flat_map(|step| &step.records.problems);
        let posed = problems.filter(|problem| problem.proposer.is_some());
        posed
            .filter(|problem| problem.valid || problem.reason.starts_with("too long: the prompt `solve_with_plan`"))
            .map(|problem| problem.valid)
            .collect()
    };
    let found = long(&document);
    assert!(found.contains(&false), "some are too long");
    assert!(long(&altered(document, &[("parameters.planning", json!(false))])).iter().all(|valid| *valid));
}

/// The questions of the simulation cannot be evaluated, so an exact critic scores them 0, or 1 by chance.
#[test]
fn scores_of_an_exact_critic_decide_what_joins() {
    for auc in [1.0, 0.5] {
        let played = play(&with(&[("parameters.exact_critic", json!(auc))]));
        for (number, step) in played.steps.iter().enumerate() {
            let joined = metric(step, "admitted_share");
            assert_eq!(joined > 0.0, auc < 1.0, "{joined} of step {number} with {auc}");
            let scores = metric(step, "question_score");
            assert_eq!(scores > 0.0, auc < 1.0, "{scores}");
        }
    }
}
