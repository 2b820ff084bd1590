//! Pages of runs whose recipes lack some features.

use lyceum_store::tokens::Scope;
use std::collections::BTreeSet;

use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};
use crate::outline::{attributes, outline};
use crate::views::browser;

/// The pages that a page of a run links to: `arms-race` and so on.
async fn links(reader: &Actor, run: &str, page: &str) -> BTreeSet<String> {
    let html = browser(reader).get(&format!("{run}{page}")).await.expect(200).text();
    let links = attributes(&html, "href").into_iter();
    let pages = links.filter_map(|link| Some(link.strip_prefix(&format!("{run}/"))?.to_owned()));
    pages.filter(|page| page.chars().all(|letter| letter == '-' || letter.is_ascii_lowercase())).collect()
}

/// The pages that a run's own page and those of its places link to.
async fn pages(reader: &Actor, run: &str) -> BTreeSet<String> {
    let mut pages = links(reader, run, "").await;
    for page in pages.clone() {
        pages.extend(links(reader, run, &format!("/{page}")).await);
    }
    pages
}

#[actix_web::test]
async fn a_run_has_the_pages_of_its_recipe_s_features() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 2).await;
    let run = format!("/runs/{}", made.run);
    let all = pages(&reader, &run).await;
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
        let lacks: BTreeSet<String> = missing.iter().map(|(page, _)| (*page).to_owned()).collect();
        assert!(all.is_superset(&lacks), "{recipe}: {all:?}");
        assert_eq!(pages(&reader, &run).await, &all - &lacks, "{recipe}");
        for (page, why) in missing {
            let html = browser(&reader).get(&format!("{run}/{page}")).await.expect(404).text();
            assert!(html.contains(why) && html.contains(recipe), "{recipe}/{page}: {html}");
        }
        let population = format!("{run}/population");
        let population = outline(&browser(&reader).get(&population).await.expect(200).text());
        let ratings = population.lines().any(|line| line.contains(" | Lower bound"));
        assert_eq!(ratings, recipe == "no-longer-here", "{recipe}: {population}");
    }
    server.stop().await;
}
