//! Rows of a dataset in a run that learns from them: what is kept and shown is what counting the answers says.

use lyceum_core::id::{ExecutionId, MemberId, PopulationId, ProblemId, VersionId, WorkId};
use lyceum_core::recipe::{
    HeldOutRecord, MemberRecord, Plan, ProblemRecord, Records, Role, RowAnswersRecord, VersionRecord,
};
use lyceum_core::seed::stream;
use lyceum_core::verify::ProblemKind;
use lyceum_core::work::WorkKey;
use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use rand::Rng as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::fixtures::population_record;
use crate::harness::{Actor, TestServer, config};
use crate::outline::{assert_reads_like, attributes};
use crate::views::browser;

const STEPS: u32 = 7;
const ROWS: u32 = 9;

/// Answers to a row in a step, and how many of them are correct.
type Answers = BTreeMap<(u32, u32), (u32, u32)>;

/// Some rows a step, each with four answers of which some are correct; row 8 is never asked, row 7 never solved.
fn drawn() -> Answers {
    let mut answers = Answers::new();
    for step in 0..STEPS {
        let mut random = stream(11, "rows", u64::from(step));
        for row in 0..ROWS - 1 {
            if random.random_bool(0.5) {
                let correct = if row == 7 { 0 } else { random.random_range(0..=4) };
                answers.insert((step, row), (4, correct));
            }
        }
    }
    answers
}

pub(crate) fn problem_of(run: ExecutionId, row: u32) -> ProblemId {
    ProblemId::of(WorkId::of(run, &WorkKey::new(0, "rows")), &row.to_string(), 0)
}

pub(crate) fn problem(run: ExecutionId, row: u32) -> ProblemRecord {
    ProblemRecord {
        values: json!({"question": format!("<b>{row}</b>?"), "answer": "1"}),
        ..ProblemRecord::new(problem_of(run, row), row, ProblemKind::Math)
    }
}

/// A member, so that measurements refer to something.
async fn member(server: &TestServer, run: ExecutionId) -> (Records, (MemberId, VersionId)) {
    let artifact = server
        .artifacts
        .put(lyceum_core::artifact::ArtifactKind::Adapter, b"weights".to_vec())
        .await
        .expect("an artifact");
    let (population, id) = (PopulationId::of(run, "main"), MemberId::of(run, "solver-0"));
    let records = Records {
        populations: vec![population_record(population)],
        members: vec![MemberRecord { id, population, name: "solver-0".to_owned(), roles: vec![Role::Solver] }],
        versions: vec![VersionRecord {
            id: VersionId::of(id, 0),
            member: id,
            ordinal: 0,
            artifact,
            optimizer: None,
            learning_rate: None,
        }],
        ..Records::default()
    };
    (records, (id, VersionId::of(id, 0)))
}

/// Carries out a run with these answers, each plan twice.
async fn carried_out(server: &TestServer, run: ExecutionId, answers: &Answers) {
    let (mut records, solver) = member(server, run).await;
    for step in 0..STEPS {
        let of_step = answers.range((step, 0)..(step + 1, 0));
        records.row_answers = of_step
            .map(|(&(_, row), &(answers, correct))| RowAnswersRecord {
                problem: problem_of(run, row),
                row,
                answers,
                correct,
            })
            .collect();
        records.problems = records.row_answers.iter().map(|one| problem(run, one.row)).collect();
        records.held_out = vec![HeldOutRecord { solver, first_row: ROWS, n: 2, correct: vec![step % 3, 0] }];
        let mut tx = server.store.pool().begin().await.expect("a transaction");
        let locked = plan::lock(&mut tx, run).await.expect("a lock").expect("a due run");
        let mut plan = Plan { records: std::mem::take(&mut records), ..Plan::default() };
        plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("a plan");
        plan.finish = Some(locked.state.next("", &json!({})).expect("a state"));
        plan::carry_out(&mut tx, &locked, &plan, 0.0).await.expect("an end");
        tx.commit().await.expect("a commit");
    }
}

/// A run with the answers of [`drawn`].
async fn filled(server: &TestServer) -> (Actor, ExecutionId) {
    let writer = server.actor(Scope::Write).await;
    let mut config = config();
    config["steps"] = json!(STEPS);
    let made = writer.post("/api/v1/runs", &json!({ "config": config })).await.expect(201).json();
    let run = ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"));
    carried_out(server, run, &drawn()).await;
    (writer, run)
}

/// All pages of a list.
async fn all(reader: &Actor, address: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = reader.get(&format!("{address}&limit=2{cursor}")).await.expect(200).json();
        items.extend(page["items"].as_array().expect("items").clone());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

fn rows_of(items: &[Value]) -> Vec<u64> {
    items.iter().filter_map(|item| item["row"].as_u64()).collect()
}

#[actix_web::test]
async fn difficulty_is_counted_from_each_row_s_latest_answers() {
    let server = TestServer::start().await;
    let (reader, run) = filled(&server).await;
    let answers = drawn();
    for width in [1, 3] {
        let points = STEPS.div_ceil(width);
        let body = reader.get(&format!("/api/v1/runs/{run}/difficulty?points={points}")).await.expect(200).json();
        assert_eq!(body["width"], json!(width.max((STEPS + 1).div_ceil(points))));
        for item in body["items"].as_array().expect("items") {
            let width = body["width"].as_u64().expect("a width") as u32;
            let end = item["step"].as_u64().expect("a step") as u32 + width;
            let mut counts = [0, 0, 0];
            for row in 0..ROWS {
                let mut asked = answers.range(..(end, 0)).filter(|((_, one), _)| *one == row);
                if let Some((_, (answers, correct))) = asked.next_back() {
                    counts[usize::from(*correct > 0) + usize::from(correct == answers)] += 1;
                }
            }
            assert_eq!(
                counts.map(|count| json!(count)),
                [&item["never"], &item["sometimes"], &item["always"]].map(Clone::clone),
                "before step {end}"
            );
        }
    }
    let part = reader.get(&format!("/api/v1/runs/{run}/difficulty?from=3&to=4&format=csv")).await.expect(200).text();
    let lines: Vec<&str> = part.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "step,never,sometimes,always"));
    assert!(lines[1].starts_with("3,") && lines[2].starts_with("4,"), "{part}");
    server.stop().await;
}

#[actix_web::test]
async fn rows_are_listed_with_when_they_were_first_solved() {
    let server = TestServer::start().await;
    let (reader, run) = filled(&server).await;
    let answers = drawn();
    let address = format!("/api/v1/runs/{run}/rows");
    let listed = all(&reader, &format!("{address}?sort=row")).await;
    let mut first_solved = BTreeMap::new();
    for item in &listed {
        let row = item["row"].as_u64().expect("a row") as u32;
        let own: Vec<_> = answers.iter().filter(|((_, one), _)| *one == row).collect();
        let step = |place: usize| json!(own[place].0.0);
        let solved = own.iter().find(|(_, (_, correct))| *correct > 0).map(|((step, _), _)| *step);
        first_solved.insert(row, solved);
        let last = own.len() - 1;
        let sums = own.iter().fold((0, 0), |sums, (_, (answers, correct))| (sums.0 + answers, sums.1 + correct));
        let wanted = json!({
            "row": row,
            "problem_id": problem_of(run, row).0,
            "first_asked": step(0),
            "last_asked": step(last),
            "first_solved": solved,
            "latest_answers": own[last].1.0,
            "latest_correct": own[last].1.1,
            "answers": sums.0,
            "correct": sums.1,
        });
        assert_eq!(*item, wanted);
        let kept: (i32, f32) = sqlx::query_as("SELECT attempts, solve_rate FROM problems WHERE id = $1")
            .bind(problem_of(run, row).0)
            .fetch_one(server.store.pool())
            .await
            .expect("a problem");
        assert_eq!((kept.0 as u32, (kept.1 * kept.0 as f32).round() as u32), sums);
    }
    assert_eq!(rows_of(&listed), (0..u64::from(ROWS) - 1).collect::<Vec<_>>(), "row 8 was never asked");
    let of = async |query: &str| rows_of(&all(&reader, &format!("{address}?{query}")).await);
    assert_eq!(of("solved=false").await, [7]);
    let solved = first_solved.iter().filter(|(_, step)| step.is_some_and(|step| (1..=3).contains(&step)));
    let solved: Vec<u64> = solved.map(|(row, _)| u64::from(*row)).collect();
    assert_eq!(of("first_solved_from=1&first_solved_to=3").await, solved);
    let mut by_step: Vec<(u32, u64)> =
        first_solved.iter().map(|(row, step)| (step.unwrap_or(u32::MAX), u64::from(*row))).collect();
    by_step.sort_unstable();
    let by_step: Vec<u64> = by_step.into_iter().map(|(_, row)| row).collect();
    assert_eq!(of("sort=first_solved").await, by_step);
    assert_eq!(of("sort=last_solved").await, by_step.iter().rev().copied().collect::<Vec<_>>());
    let (mut hard, easy) = (of("sort=hardest").await, of("sort=easiest").await);
    assert_eq!(hard[0], 7);
    hard.reverse();
    assert_eq!(hard, easy);
    let mut parts = Vec::new();
    for latest in ["never", "sometimes", "always"] {
        parts.extend(of(&format!("latest={latest}")).await);
    }
    parts.sort_unstable();
    assert_eq!(parts, rows_of(&listed));

    let reply = reader.get(&format!("{address}?format=csv&limit=3")).await.expect(200);
    let link = reply.header("link").to_owned();
    assert!(link.contains("format=csv") && link.contains("cursor="), "{link}");
    let text = reply.text();
    assert_eq!(text.lines().count(), 4);
    assert!(text.starts_with("row,problem_id,first_asked,"), "{text}");
    server.stop().await;
}

#[actix_web::test]
async fn measurements_on_held_out_rows_are_listed() {
    let server = TestServer::start().await;
    let (reader, run) = filled(&server).await;
    let items = all(&reader, &format!("/api/v1/runs/{run}/held-out?order=oldest")).await;
    assert_eq!(items.len(), STEPS as usize);
    assert_eq!(
        (&items[5]["step"], &items[5]["correct"], &items[5]["n"], &items[5]["first_row"]),
        (&json!(5), &json!([2, 0]), &json!(2), &json!(ROWS))
    );
    let lines = async |table: &str| -> Vec<Value> {
        let address = format!("/runs/{run}/export/{table}.jsonl");
        let text = reader.get(&address).await.expect(200).text();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let exported = lines("held_out").await;
    assert_eq!((exported.len(), &exported[5]["correct"]), (STEPS as usize, &json!("[2,0]")));
    assert_eq!(lines("row_answers").await.len(), drawn().len());
    server.stop().await;
}

#[actix_web::test]
async fn the_page_shows_the_rows_and_links_to_their_problems() {
    let server = TestServer::start().await;
    let (reader, run) = filled(&server).await;
    let page = format!("/runs/{run}/difficulty");
    let html = browser(&reader).get(&page).await.expect(200).text();
    assert_reads_like("difficulty.of-rows-asked-again", &html);
    let address = |row| format!("/runs/{run}/problems/{}", problem_of(run, row));
    assert!(attributes(&html, "href").contains(&address(3)), "{html}");
    let shown = async |query: &str| {
        let body = reader.get(&format!("{page}.json?{query}")).await.expect(200).json();
        rows_of(body["items"].as_array().expect("rows"))
    };
    assert_eq!(shown("solved=false&first_solved_from=2").await, Vec::<u64>::new());
    assert_eq!(shown("solved=false").await, [7]);
    let never = browser(&reader).get(&format!("{page}?solved=false")).await.expect(200).text();
    let links = attributes(&never, "href");
    assert!(links.contains(&address(7)) && !links.contains(&address(3)), "{links:?}");
    let body = reader.get(&format!("{page}.json?sort=hardest")).await.expect(200).json();
    assert_eq!(body["items"][0]["row"], json!(7));
    assert_eq!(body["windows"].as_array().map(Vec::len), Some(STEPS as usize));
    server.stop().await;
}
