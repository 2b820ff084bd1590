//! The views of a population: on a run with something in it, on one without, with hostile text, and as files.

use lyceum_core::id::ExecutionId;
use lyceum_store::{
    list::{self, CrossPlayFilter, Order, StandingFilter, Stretch, Window},
    token::Scope,
};
use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::{Field, Row},
};
use serde_json::{Value, json};
use std::io::{Cursor, Read as _};
use uuid::Uuid;

use crate::{
    fixtures::{Filled, filled},
    harness::{Actor, TestServer, config},
};

/// Pages of a run, without those of single things.
const OF_RUN: [&str; 11] = [
    "/arms-race",
    "/population",
    "/population?alive=false",
    "/lineage",
    "/cross-play?order=cluster&from=0&to=9",
    "/attempts?correct=true",
    "/archive?x=loc&y=variables&colour=age&step=0&tile=0,0",
    "/problems?sort=hardest",
    "/problems?q=return&type=code_o&valid=true&loc_min=1&solve_rate_max=1",
    "/learnability",
    "/export",
];

fn browser(actor: &Actor) -> Actor {
    actor.clone().with("accept", "text/html")
}

/// Addresses of every page with `made` in it.
fn pages(made: &Filled) -> Vec<String> {
    let run = made.run;
    let mut pages: Vec<String> = OF_RUN.iter().map(|page| format!("/runs/{run}{page}")).collect();
    pages.extend([
        format!("/runs/{run}/members/{}", made.teacher),
        format!("/runs/{run}/members/{}", made.student),
        format!("/runs/{run}/archive?beside={run}"),
        "/problems?q=return".to_owned(),
        format!("/compare?runs={run}"),
        format!("/compare/problems?left={run}&right={run}&step=0&valid=false"),
        "/leaderboard?role=teacher".to_owned(),
    ]);
    pages.extend(
        made.problems
            .iter()
            .map(|problem| format!("/runs/{run}/problems/{problem}")),
    );
    pages
}

#[actix_web::test]
async fn every_page_is_html_and_json() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    for page in pages(&made) {
        let html = browser(&reader).get(&page).await.expect(200);
        assert!(html.header("content-type").starts_with("text/html"), "{page}");
        let text = String::from_utf8(html.body.to_vec()).expect("UTF-8");
        assert!(text.contains("<h1>") && text.contains(".json"), "{page}: {text}");
        assert!(
            !text.contains(" style=") && !text.contains(" onclick="),
            "{page} has what the policy forbids"
        );
        let (path, query) = page.split_once('?').unwrap_or((&page, ""));
        let suffixed = reader.get(&format!("{path}.json?{query}")).await.expect(200).json();
        let accepted = reader
            .clone()
            .with("accept", "application/json")
            .get(&page)
            .await
            .expect(200)
            .json();
        assert_eq!(suffixed, accepted, "{page}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_run_without_a_step_has_every_page() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let body = json!({"config": config(), "name": "empty"});
    let run = writer.post("/api/v1/runs", &body).await.expect(201).json()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let pages = OF_RUN.iter().map(|page| format!("/runs/{run}{page}"));
    let others = [
        format!("/compare?runs={run}"),
        "/compare".to_owned(),
        "/compare/problems".to_owned(),
        "/leaderboard".to_owned(),
        "/problems".to_owned(),
    ];
    for page in pages.chain(others) {
        if page.ends_with("sort=hardest") {
            let html = browser(&writer).get(&page).await.expect(200);
            assert!(
                String::from_utf8_lossy(&html.body).contains("Nothing was proposed yet"),
                "{html:?}"
            );
        }
        browser(&writer).get(&page).await.expect(200);
    }
    for table in ["problems", "attempts", "matchups", "metrics"] {
        let lines = writer
            .get(&format!("/runs/{run}/export/{table}.jsonl"))
            .await
            .expect(200);
        assert!(lines.body.is_empty());
        let rows = writer
            .get(&format!("/runs/{run}/export/{table}.parquet"))
            .await
            .expect(200);
        assert_eq!(
            SerializedFileReader::new(rows.body)
                .expect("Parquet")
                .metadata()
                .file_metadata()
                .num_rows(),
            0
        );
    }
    server.stop().await;
}

#[actix_web::test]
async fn what_is_not_there_gets_a_page_with_its_status_and_a_way_on() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 2).await;
    let (run, nobody) = (made.run, Uuid::nil());
    let addresses = [
        (404, format!("/runs/{nobody}/arms-race")),
        (404, format!("/runs/{nobody}/population")),
        (404, format!("/runs/{nobody}/lineage")),
        (404, format!("/runs/{nobody}/cross-play")),
        (404, format!("/runs/{nobody}/attempts")),
        (404, format!("/runs/{nobody}/archive")),
        (404, format!("/runs/{nobody}/problems")),
        (404, format!("/runs/{nobody}/learnability")),
        (404, format!("/runs/{nobody}/export")),
        (404, format!("/runs/{nobody}/export/problems.jsonl")),
        (404, format!("/runs/{run}/export/secrets.jsonl")),
        (404, format!("/runs/{run}/export/problems.xlsx")),
        (404, format!("/runs/{run}/export.tar.zip")),
        (404, format!("/runs/{run}/members/{nobody}")),
        (404, format!("/runs/{run}/members/{nobody}/adapter.zip")),
        (
            404,
            format!("/runs/{run}/members/{}/adapter.zip?version=7", made.teacher),
        ),
        (404, format!("/runs/{run}/problems/{nobody}")),
        (404, format!("/runs/{run}/archive?beside={nobody}")),
        (404, format!("/compare?runs={nobody}")),
        (404, format!("/compare/problems?left={nobody}")),
        (400, format!("/runs/{run}/lineage?colour=elegance")),
        (400, format!("/runs/{run}/archive?tile=here")),
        (400, format!("/runs/{run}/archive?x=beauty")),
        (400, format!("/runs/{run}/cross-play?from=9&to=3")),
        (400, format!("/runs/{run}/problems?sort=nicest")),
        (400, format!("/runs/{run}/problems?cursor=none")),
        (400, format!("/runs/{run}/problems?colour=red")),
        (400, format!("/runs/{run}/attempts?cursor=none")),
        (400, "/problems?sort=hardest".to_owned()),
        (400, "/leaderboard?role=emperor".to_owned()),
        (400, "/compare?runs=a,b".to_owned()),
        (400, format!("/compare?runs={run}&metrics=elegance")),
    ];
    for (status, address) in addresses {
        let page = browser(&reader).get(&address).await;
        assert_eq!(page.status.as_u16(), status, "{address}: {page:?}");
        let text = String::from_utf8_lossy(&page.body);
        assert!(
            text.contains("<h1>") && text.contains("href=\"/runs\""),
            "{address}: {text}"
        );
        reader.get(&address).await.expect(status).problem();
    }
    server.stop().await;
}

/// Everything that a model could write to harm who reads it, and a megabyte in one line.
fn hostile() -> String {
    let line = "x".repeat(1 << 20);
    format!(
        "</script></pre><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[2J\u{202e}live\u{2066}\u{200b}\"'&{line}"
    )
}

#[actix_web::test]
async fn hostile_text_is_inert_on_every_page() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 3).await;
    let text = hostile();
    sqlx::query(
        "UPDATE problems SET program = $1, prompt = $1, proposal = $1, reason = $1,
         \"values\" = json_build_object('input', $1, 'output', $1), reward_parts = jsonb_build_object($2::text, $2::text)",
    )
    .bind(&text)
    .bind(&text[..200])
    .execute(server.store.pool())
    .await
    .expect("hostile problems");
    sqlx::query(
        "UPDATE attempts SET text = $1, answer = $1, reason = $1, reward_parts = jsonb_build_object($2::text, 1)",
    )
    .bind(&text)
    .bind(&text[..200])
    .execute(server.store.pool())
    .await
    .expect("hostile attempts");
    sqlx::query("UPDATE members SET name = left($1, 66) || id, died_step = 0, cause_of_death = left($1, 66)")
        .bind(&text)
        .execute(server.store.pool())
        .await
        .expect("hostile members");
    for page in pages(&made) {
        let html = browser(&reader).get(&page).await.expect(200);
        let html = String::from_utf8(html.body.to_vec()).expect("UTF-8");
        for forbidden in ["<script>alert", "<img", "\u{1b}"] {
            assert!(!html.contains(forbidden), "{page} lets {forbidden:?} through");
        }
        assert!(html.len() < 1 << 20, "{page} has {} bytes", html.len());
    }
    let problem = format!("/runs/{}/problems/{}", made.run, made.problems[0]);
    let html = browser(&reader).get(&problem).await.expect(200);
    let html = String::from_utf8(html.body.to_vec()).expect("UTF-8");
    assert!(
        html.contains("␛[2J⟨U+202E⟩live⟨U+2066⟩⟨U+200B⟩"),
        "it is shown as what it is"
    );
    assert!(!html.contains('\u{202e}') && html.contains("more letters"));

    let lines = reader
        .get(&format!("/runs/{}/export/problems.jsonl", made.run))
        .await
        .expect(200);
    let rows: Vec<Value> = lines
        .body
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    assert_eq!(rows.len(), 3, "a line is a row, whatever is in it");
    assert_eq!(rows[0]["program"], text, "exports have all of it");
    assert!(!lines.body.contains(&0x1b), "and still no control character");
    server.stop().await;
}

fn object_of(row: &Row) -> Value {
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Str(text) => json!(text),
        Field::Long(number) => json!(number),
        Field::Double(number) => json!(number),
        Field::Bool(yes) => json!(yes),
        other => json!(other.to_string()),
    };
    row.get_column_iter()
        .map(|(name, field)| (name.clone(), value(field)))
        .collect()
}

#[actix_web::test]
async fn everything_is_exported_and_reads_back() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    for (table, rows, columns) in [
        ("problems", 6, 24),
        ("attempts", 12, 17),
        ("matchups", 1, 11),
        ("metrics", 2, 5),
    ] {
        let address = format!("/runs/{}/export/{table}", made.run);
        let lines = reader.get(&format!("{address}.jsonl")).await.expect(200);
        assert!(
            lines
                .header("content-disposition")
                .contains(&format!("filled-{table}.jsonl"))
        );
        let read: Vec<Value> = lines
            .body
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).expect("JSON"))
            .collect();
        assert_eq!(read.len(), rows, "{table}");
        assert_eq!(read[0].as_object().expect("an object").len(), columns, "{table}");
        let parquet = reader.get(&format!("{address}.parquet")).await.expect(200);
        let file = SerializedFileReader::new(parquet.body).expect("Parquet");
        let found: Vec<Value> = file
            .get_row_iter(None)
            .expect("rows")
            .map(|row| object_of(&row.expect("a row")))
            .collect();
        assert_eq!(found.len(), rows, "{table}");
        for (one, other) in read.iter().zip(&found) {
            for (name, value) in one.as_object().expect("an object") {
                if name != "created_at" {
                    assert_eq!(value, &other[name], "{table}.{name}");
                }
            }
        }
    }
    let metrics = reader
        .get(&format!("/runs/{}/export/metrics.jsonl", made.run))
        .await
        .expect(200);
    let first: Value = serde_json::from_slice(metrics.body.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(
        (&first["reward"], &first["solve_rate"]),
        (&json!(0.5), &Value::Null),
        "NaN is null"
    );

    let zip = reader
        .get(&format!("/runs/{}/export.parquet.zip", made.run))
        .await
        .expect(200);
    let mut zip = zip::ZipArchive::new(Cursor::new(zip.body)).expect("a zip");
    let names: Vec<String> = zip
        .file_names()
        .map(|name| name.expect("a name").into_owned())
        .collect();
    assert_eq!(names.len(), 5, "{names:?}");
    let mut card = String::new();
    zip.by_name("filled/README.md")
        .expect("a card")
        .read_to_string(&mut card)
        .expect("text");
    assert!(
        card.starts_with("---\n") && card.contains("data_files: data/attempts/*.parquet"),
        "{card}"
    );
    assert!(
        names.contains(&"filled/data/metrics/train-00000-of-00001.parquet".to_owned()),
        "{names:?}"
    );
    server.stop().await;
}

#[actix_web::test]
async fn an_adapter_comes_as_the_folder_that_peft_loads() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 1).await;
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in [
        ("adapter_config.json", &b"{}"[..]),
        ("adapter_model.safetensors", &[7; 100_000][..]),
    ] {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, bytes).expect("a file");
    }
    let tar = tar.into_inner().expect("a tar");
    let digest = server
        .artifacts
        .put(lyceum_core::artifact::ArtifactKind::Adapter, tar)
        .await
        .expect("an artifact");
    sqlx::query("UPDATE adapter_versions SET artifact = $1 WHERE member_id = $2")
        .bind(digest.to_string())
        .bind(made.teacher.0)
        .execute(server.store.pool())
        .await
        .expect("weights");
    let address = format!("/runs/{}/members/{}/adapter.zip", made.run, made.teacher);
    let zip = reader.get(&format!("{address}?version=0")).await.expect(200);
    assert_eq!(
        zip.header("content-disposition"),
        "attachment; filename=\"teacher-0-v0.zip\""
    );
    let mut zip = zip::ZipArchive::new(Cursor::new(zip.body)).expect("a zip");
    let mut weights = Vec::new();
    zip.by_name("teacher-0-v0/adapter_model.safetensors")
        .expect("weights")
        .read_to_end(&mut weights)
        .expect("bytes");
    assert_eq!(weights, [7; 100_000]);
    zip.by_name("teacher-0-v0/adapter_config.json").expect("a config");

    sqlx::query("UPDATE artifacts SET removed_at = now() WHERE digest = $1")
        .bind(digest.to_string())
        .execute(server.store.pool())
        .await
        .expect("a removal");
    let gone = browser(&reader).get(&address).await.expect(404);
    assert!(
        String::from_utf8_lossy(&gone.body).contains("no longer kept"),
        "{gone:?}"
    );
    let page = browser(&reader)
        .get(&format!("/runs/{}/members/{}", made.run, made.teacher))
        .await
        .expect(200);
    assert!(String::from_utf8_lossy(&page.body).contains("removed"));
    server.stop().await;
}

#[actix_web::test]
async fn sums_are_kept_with_the_rows_that_they_are_over() {
    let server = TestServer::start().await;
    let made = filled(&server, 6).await;
    let db = server.store.pool();
    let all = list::cross_play(db, made.run, &CrossPlayFilter::default())
        .await
        .expect("pairs");
    assert_eq!((all.len(), all[0].attempts, all[0].solved), (1, 12, 6));
    assert_eq!((all[0].teacher_id, all[0].student_id), (made.teacher.0, made.student.0));
    let code_i = CrossPlayFilter {
        problem_type: Some("code_i".to_owned()),
        width: Some(1),
        ..CrossPlayFilter::default()
    };
    assert_eq!(
        list::cross_play(db, made.run, &code_i).await.expect("pairs")[0].attempts,
        4
    );
    assert_eq!(
        list::attempted_types(db, made.run).await.expect("types"),
        ["code_i", "code_o"]
    );
    let later = CrossPlayFilter {
        from: 1,
        ..CrossPlayFilter::default()
    };
    assert_eq!(list::cross_play(db, made.run, &later).await.expect("pairs"), []);

    let window = Window {
        limit: 10,
        after: None,
        order: Order::Newest,
    };
    let filter = StandingFilter {
        role: Some("teacher"),
        ..StandingFilter::default()
    };
    let standings = list::standings(db, &filter, &window).await.expect("standings").items;
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
    let family = list::family(db, run, Some(0), 10).await.expect("a family");
    assert_eq!(family.len(), 2);
    assert_eq!((family[0].metric, family[1].metric), (Some(0.25), None));
    let wins = list::wins(db, run).await.expect("wins");
    let won = |id| {
        wins.iter()
            .find(|wins| wins.id == id)
            .map(|wins| (wins.matchups, wins.wins))
    };
    assert_eq!((won(made.teacher.0), won(made.student.0)), (Some((1, 0)), Some((1, 1))));
    let own = list::relative(db, run, made.teacher).await.expect("a member");
    assert_eq!(own.map(|own| own.id), Some(made.teacher.0));
    assert_eq!(family[1].parents.0[0].member_id, made.teacher.0);
    assert_eq!(
        list::children(db, run, made.teacher, 10).await.expect("children").len(),
        1
    );
    assert_eq!(
        list::rating_history(db, run, None, Stretch::whole(5))
            .await
            .expect("ratings")
            .len(),
        1
    );
    assert_eq!(
        list::rating_history(db, run, Some(&[made.student]), Stretch::whole(1))
            .await
            .expect("ratings"),
        []
    );
    let outcomes = list::matchup_outcomes(db, run, Stretch::whole(4))
        .await
        .expect("outcomes");
    assert_eq!(
        (outcomes[0].matchups, outcomes[0].teacher_wins, outcomes[0].predicted),
        (1, 0, 0.25)
    );
    // Solve rates of the three valid ones: 0, 1/3 and 2/3.
    let bands = list::solve_bands(db, run, Stretch::whole(1), 4).await.expect("bands");
    let bands: Vec<(i32, i64)> = bands.iter().map(|band| (band.band, band.problems)).collect();
    assert_eq!(bands, [(0, 1), (2, 1), (3, 1)]);
    assert_eq!(list::candidates(db, run, 10).await.expect("candidates").len(), 3);
    assert_eq!(list::map_at(db, run, None).await.expect("a map").len(), 4);
    assert_eq!(list::growth(db, run, 1).await.expect("growth")[0].new, 4);
    assert_eq!(
        list::metric_sums(db, run, &[1, 0]).await.expect("sums"),
        [None, Some(0.5)]
    );
    assert_eq!(list::living_members(db, run).await.expect("members"), 2);
    assert_eq!(list::step_seconds(db, run).await.expect("seconds"), Vec::<f64>::new());
    server.stop().await;
}

#[actix_web::test]
async fn a_page_that_follows_a_run_gets_the_points_that_it_lacks() {
    let server = TestServer::start().await;
    let made = filled(&server, 6).await;
    let reader = browser(&server.actor(Scope::Read).await);
    let address = format!("/runs/{}/arms-race", made.run);
    let row = r#"<th scope="row">0</th>"#;
    let whole = reader.get(&address).await.expect(200).text();
    assert!(whole.contains(row) && !whole.contains("data-grows"));
    let follower = reader.clone().with("lyceum-from-step", "1");
    let news = follower.get(&address).await.expect(200).text();
    assert!(news.contains(r#"data-grows="1""#) && !news.contains(row));
    assert!(news.contains("class=\"canvas\""), "a chart without news stays a chart");
    // A header that is no step is none.
    let odd = reader.clone().with("lyceum-from-step", "-1");
    assert!(odd.get(&address).await.expect(200).text().contains(row));
    for view in ["arms-race", "learnability"] {
        let part = async |steps: &str| reader.get(&format!("/runs/{}/{view}?{steps}", made.run)).await;
        part("from=0&to=0").await.expect(200);
        assert!(!part("from=7").await.expect(200).text().contains(row));
        part("from=2&to=1").await.expect(400);
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_page_over_all_runs_goes_on_where_it_stopped_looking() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let one = filled(&server, 60).await;
    let two = filled(&server, 6).await;
    let first = reader.get("/problems.json").await.expect(200).json();
    let items = first["items"].as_array().expect("problems");
    assert_eq!((items.len(), &items[0]["run_id"]), (50, &json!(two.run.0)));
    let next = first["next"].as_str().expect("a next page");
    let second = reader
        .get(&format!("/problems.json?cursor={next}"))
        .await
        .expect(200)
        .json();
    assert_eq!(second["items"].as_array().map(Vec::len), Some(16));
    assert_eq!(second["items"][15]["run_id"], json!(one.run.0));
    assert_eq!(second["next"], Value::Null);
    let found = reader
        .get("/problems.json?type=code_i&valid=true&q=return&sort=oldest")
        .await
        .expect(200)
        .json();
    assert_eq!(found["items"].as_array().map(Vec::len), Some(11));
    server.stop().await;
}
