//! Pages of runs whose recipes lack some features.

use lyceum_store::tokens::Scope;

use crate::{
    fixtures::filled,
    harness::{Actor, TestServer},
    views::browser,
};

/// The tabs of a run.
async fn tabs(reader: &Actor, run: &str) -> Vec<String> {
    let html = browser(reader).get(run).await.expect(200).text();
    let (_, tabs) = html.split_once("<nav class=\"tabs\"").expect("tabs");
    let (tabs, _) = tabs.split_once("</nav>").expect("an end");
    let labels = tabs.split("</a>").filter_map(|link| link.rsplit_once('>'));
    labels
        .map(|(_, label)| label.to_owned())
        .filter(|label| !label.trim().is_empty())
        .collect()
}

#[actix_web::test]
async fn a_run_has_the_pages_of_its_recipe_s_features() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 2).await;
    let run = format!("/runs/{}", made.run);
    assert_eq!(tabs(&reader, &run).await.len(), 14);
    for (recipe, missing) in [
        (
            "azr",
            vec![
                ("arms-race", "rating"),
                ("lineage", "evolve"),
                ("cross-play", "attempt"),
                ("difficulty", "dataset"),
                ("curriculum", "critic"),
                ("diversity", "iteration"),
                ("candidates", "lemmas"),
                ("goalposts", "compare/goalposts"),
            ],
        ),
        (
            "rlvr",
            vec![
                ("arms-race", "rating"),
                ("lineage", "evolve"),
                ("cross-play", "attempt"),
                ("archive", "archive"),
                ("curriculum", "critic"),
                ("diversity", "iteration"),
                ("candidates", "lemmas"),
                ("goalposts", "compare/goalposts"),
            ],
        ),
        (
            "sage",
            vec![
                ("arms-race", "rating"),
                ("lineage", "evolve"),
                ("cross-play", "attempt"),
                ("archive", "archive"),
                ("difficulty", "dataset"),
                ("diversity", "iteration"),
                ("candidates", "lemmas"),
                ("goalposts", "compare/goalposts"),
            ],
        ),
        (
            "gasp",
            vec![
                ("arms-race", "rating"),
                ("lineage", "evolve"),
                ("cross-play", "attempt"),
                ("archive", "archive"),
                ("difficulty", "dataset"),
                ("curriculum", "critic"),
                ("diversity", "iteration"),
            ],
        ),
        ("no-longer-here", vec![]),
    ] {
        sqlx::query("UPDATE executions SET recipe = $1")
            .bind(recipe)
            .execute(server.store.pool())
            .await
            .expect("another recipe");
        let tabs = tabs(&reader, &run).await;
        assert_eq!(tabs.len(), 14 - missing.len(), "{recipe}: {tabs:?}");
        for (page, why) in missing {
            let html = browser(&reader).get(&format!("{run}/{page}")).await.expect(404).text();
            assert!(html.contains(why) && html.contains(recipe), "{recipe}/{page}: {html}");
        }
        let population = browser(&reader)
            .get(&format!("{run}/population"))
            .await
            .expect(200)
            .text();
        assert_eq!(
            population.contains("Lower bound"),
            recipe == "no-longer-here",
            "{recipe}"
        );
    }
    server.stop().await;
}
