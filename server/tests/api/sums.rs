//! Sums that are kept, and what views read of them.

use lyceum_core::id::ExecutionId;
use lyceum_core::statistics::Interval;
use lyceum_store::attempts::{self, AttemptFilter};
use lyceum_store::cross_play::{self, CrossPlayFilter};
use lyceum_store::page::{Order, Window};
use lyceum_store::problems::{self, ProblemFilter, ProblemSort};
use lyceum_store::ratings::{self, StandingFilter};
use lyceum_store::steps::{self, Stretch};
use lyceum_store::{archive, matchups, members, metrics};

use crate::fixtures::filled;
use crate::harness::TestServer;

#[actix_web::test]
async fn sums_are_kept_with_the_rows_that_they_are_over() {
    let server = TestServer::start().await;
    let made = filled(&server, 6).await;
    let db = server.store.pool();
    let all = cross_play::pairs(db, made.run, &CrossPlayFilter::default()).await.expect("pairs");
    assert_eq!((all.len(), all[0].attempts, all[0].solved), (1, 12, 6));
    assert_eq!((all[0].teacher_id, all[0].student_id), (made.teacher.0, made.student.0));
    let by_problem: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT count(*) FILTER (WHERE correct), count(*) FROM attempts WHERE run_id = $1 AND role = 'student' GROUP BY problem_id",
    )
    .bind(made.run.0)
    .fetch_all(db)
    .await
    .expect("attempts");
    let by_problem: Vec<(u64, u64)> =
        by_problem.into_iter().map(|(solved, attempts)| (solved.cast_unsigned(), attempts.cast_unsigned())).collect();
    assert_eq!(all[0].interval(), Interval::clustered(&by_problem, Interval::Z_95), "{by_problem:?}");
    let code_i =
        CrossPlayFilter { problem_type: Some("code_i".to_owned()), width: Some(1), ..CrossPlayFilter::default() };
    assert_eq!(cross_play::pairs(db, made.run, &code_i).await.expect("pairs")[0].attempts, 4);
    assert_eq!(cross_play::types(db, made.run).await.expect("types"), ["code_i", "code_o"]);
    let later = CrossPlayFilter { from: 1, ..CrossPlayFilter::default() };
    assert_eq!(cross_play::pairs(db, made.run, &later).await.expect("pairs"), []);

    let window = Window { limit: 10, after: None, order: Order::Newest };
    let filter = StandingFilter { role: Some(lyceum_core::recipe::Role::Teacher), ..StandingFilter::default() };
    let standings = ratings::standings(db, &filter, &window).await.expect("standings").items;
    assert_eq!((standings.len(), standings[0].lower_bound), (1, 1.0), "25 − 3 × 8");
    assert_eq!(standings[0].base_model.as_deref(), Some("seedling"));
    server.stop().await;
}

#[actix_web::test]
async fn views_read_what_was_written() {
    let server = TestServer::start().await;
    let made = filled(&server, 6).await;
    let db = server.store.pool();
    let run: ExecutionId = made.run;
    let family = members::family(db, run, Some(0), 10).await.expect("a family");
    assert_eq!(family.len(), 2);
    assert_eq!((family[0].metric, family[1].metric), (Some(0.25), None));
    sqlx::query("UPDATE members SET died_step = 0, cause_of_death = 'culled' WHERE id = $1")
        .bind(made.teacher.0)
        .execute(db)
        .await
        .expect("a death");
    assert_eq!(members::lives(db, run).await.expect("lives"), (1, 1));
    let living = members::living(db, run, 10).await.expect("who lives");
    assert_eq!(living.iter().map(|member| member.id).collect::<Vec<_>>(), [made.student.0]);
    sqlx::query("UPDATE members SET died_step = NULL, cause_of_death = NULL WHERE id = $1")
        .bind(made.teacher.0)
        .execute(db)
        .await
        .expect("a life");
    let wins = matchups::wins(db, run).await.expect("wins");
    let won = |id| wins.iter().find(|wins| wins.id == id).map(|wins| (wins.matchups, wins.wins));
    assert_eq!((won(made.teacher.0), won(made.student.0)), (Some((1, 0)), Some((1, 1))));
    let own = members::relative(db, run, made.teacher).await.expect("a member");
    assert_eq!(own.map(|own| own.id), Some(made.teacher.0));
    assert_eq!(family[1].parents.0[0].member_id, made.teacher.0);
    assert_eq!(members::children(db, run, made.teacher, 10).await.expect("children").len(), 1);
    assert_eq!(ratings::history(db, run, None, Stretch::whole(5)).await.expect("ratings").len(), 1);
    assert_eq!(ratings::history(db, run, Some(&[made.student]), Stretch::whole(1)).await.expect("ratings"), []);
    let outcomes = matchups::outcomes(db, run, Stretch::whole(4)).await.expect("outcomes");
    assert_eq!((outcomes[0].matchups, outcomes[0].teacher_wins, outcomes[0].predicted), (1, 0, 0.25));
    // Solve rates of the three valid ones: 0, 1/3 and 2/3.
    let bands = problems::solve_bands(db, run, Stretch::whole(1), 4).await.expect("bands");
    let bands: Vec<(i32, i64)> = bands.iter().map(|band| (band.band, band.problems)).collect();
    assert_eq!(bands, [(0, 1), (2, 1), (3, 1)]);
    assert_eq!(problems::candidates(db, run, 10).await.expect("candidates").len(), 3);
    assert_eq!(archive::map_at(db, run, None).await.expect("a map").len(), 4);
    assert_eq!(archive::growth(db, run, 1).await.expect("growth")[0].new, 4);
    assert_eq!(metrics::sums(db, run, &[1, 0], 0).await.expect("sums"), [None, Some(0.5)]);
    assert_eq!(members::lives(db, run).await.expect("members").0, 2);
    assert_eq!(steps::seconds(db, run).await.expect("seconds"), Vec::<f64>::new());
    server.stop().await;
}

#[actix_web::test]
async fn what_is_rare_is_found_far_down_a_list() {
    let server = TestServer::start().await;
    let made = filled(&server, 6).await;
    let later = filled(&server, 1).await;
    let db = server.store.pool();
    // More of other runs and teachers than a list walks past.
    for statement in [
        "INSERT INTO problems (id, run_id, step, index, type, prompt, proposal, valid, status, reason, program, \"values\", loc)
         SELECT gen_random_uuid(), $1, 1, n, 'code_o', '', '', true, 'ok', '', 'return', '{}', 5 FROM generate_series(1, 9000) n",
        "INSERT INTO attempts (id, run_id, step, problem_id, member_id, version_id, role, sample, text, well_formed, status,
             reason, correct, reward, reward_parts, tokens)
         SELECT gen_random_uuid(), a.run_id, 5, p.id, a.member_id, a.version_id, a.role, n, '', true, 'ok', '', true, 1, '{}', 1
         FROM (SELECT * FROM attempts WHERE run_id = $1 LIMIT 1) a, generate_series(1, 2500) n,
             (SELECT id FROM problems WHERE run_id = $1 AND proposer_id IS NULL LIMIT 1) p",
    ] {
        sqlx::query(statement).bind(later.run.0).execute(db).await.expect("rows");
    }
    sqlx::query("UPDATE problems SET loc = 40 WHERE run_id = $1 AND index < 2")
        .bind(made.run.0)
        .execute(db)
        .await
        .expect("long programs");
    let window = Window { limit: 1, after: None, order: Order::Newest };
    let long = ProblemFilter {
        complexity: [(None, None), (None, None), (Some(39.0), None), (None, None)],
        ..ProblemFilter::default()
    };
    let first = problems::page_of_all_runs(db, &long, &window).await.expect("a page");
    assert_eq!(first.items.iter().map(|found| found.problem.index).collect::<Vec<_>>(), [1]);
    let second = Window { after: first.next, ..window };
    let last = problems::page_of_all_runs(db, &long, &second).await.expect("a page");
    assert_eq!((last.items[0].problem.index, last.next), (0, None));
    let none = problems::page(db, later.run, &long, ProblemSort::Age, &window).await.expect("a page");
    assert_eq!((none.items.len(), none.next), (0, None));
    let words = ProblemFilter { text: Some("return x".to_owned()), valid: Some(false), ..ProblemFilter::default() };
    let found = problems::page_of_all_runs(db, &words, &window).await.expect("a page");
    assert_eq!(found.items[0].run_id, made.run.0);

    let of_teacher = AttemptFilter { proposer: Some(later.teacher), ..AttemptFilter::default() };
    let found = attempts::page(db, later.run, &of_teacher, &window).await.expect("a page");
    assert_eq!((found.items[0].step, found.next.is_some()), (0, true), "two at the only problem");
    for (from, to, steps) in
        [(Some(1), None, vec![5]), (None, Some(4), vec![0]), (Some(1), Some(4), vec![]), (Some(6), None, vec![])]
    {
        let filter = AttemptFilter { from, to, ..AttemptFilter::default() };
        let found = attempts::page(db, later.run, &filter, &window).await.expect("a page").items;
        assert_eq!(found.iter().map(|attempt| attempt.step).collect::<Vec<_>>(), steps, "{from:?} to {to:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn attempts_that_an_evaluation_wrote_later_are_found_by_their_step() {
    let server = TestServer::start().await;
    let made = filled(&server, 6).await;
    let db = server.store.pool();
    for statement in [
        // Steps 1 to 3 of the run itself, then an evaluation at step 1.
        "INSERT INTO attempts (id, run_id, step, problem_id, member_id, version_id, role, sample, text, well_formed, status,
             reason, correct, reward, reward_parts, tokens)
         SELECT gen_random_uuid(), run_id, steps.step, problem_id, member_id, version_id, role, 7, '', true, 'ok', '', true, 1,
             '{}', 1 FROM (SELECT * FROM attempts WHERE run_id = $1 LIMIT 1) a,
             unnest(ARRAY[1, 2, 3, 1]) WITH ORDINALITY steps(step, place) ORDER BY steps.place",
        "WITH e AS (INSERT INTO executions (id, kind, recipe, config, state, step, steps)
             VALUES (gen_random_uuid(), 'evaluation', 'evaluation/cross_play', '{}', 'running', 0, 1) RETURNING id)
         INSERT INTO evaluations (id, run_id, spec) SELECT id, $1, '{\"type\": \"cross_play\", \"step\": 1}' FROM e",
        "UPDATE cross_play SET step = 3 WHERE run_id = $1 AND step = 0 AND type = 'code_i'",
    ] {
        sqlx::query(statement).bind(made.run.0).execute(db).await.expect("rows");
    }
    let window = Window { limit: 20, after: None, order: Order::Newest };
    for (from, to, proposer, member, steps) in [
        (Some(1), None, None, None, vec![1, 3, 2, 1]),
        (Some(1), Some(1), None, None, vec![1, 1]),
        (Some(1), Some(2), Some(made.teacher), None, vec![1, 2, 1]),
        (Some(2), Some(9), Some(made.teacher), None, vec![3, 2]),
        (Some(1), Some(2), None, Some(made.student), vec![1, 2, 1]),
        (Some(3), Some(9), None, Some(made.student), vec![3]),
        (Some(4), Some(9), None, Some(made.student), vec![]),
        (Some(1), Some(3), None, Some(made.teacher), vec![]),
        (Some(1), Some(1), Some(made.teacher), Some(made.student), vec![1, 1]),
    ] {
        let filter = AttemptFilter { from, to, proposer, member, ..AttemptFilter::default() };
        let found = attempts::page(db, made.run, &filter, &window).await.expect("a page").items;
        let found: Vec<i32> = found.iter().map(|attempt| attempt.step).collect();
        assert_eq!(found, steps, "{from:?} to {to:?} of {proposer:?} by {member:?}");
    }
    server.stop().await;
}
