//! Notes of runs and descriptions of experiments are Markdown, and nothing else is.

use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::harness::TestServer;

const NOTE: &str = "# Why\n\n**Because** of [this](https://example.org/a) and [that](javascript:alert(1)).\n\n\
                    <img src=x onerror=alert(1)>";

#[actix_web::test]
async fn a_note_is_shown_as_markdown_and_never_as_markup_of_its_own() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = json!({"preset": "small", "name": "one", "note": NOTE});
    let run = writer.post("/api/v1/runs", &run).await.expect(201).json();
    let experiment = json!({"name": "two", "description": NOTE});
    let experiment = writer.post("/api/v1/experiments", &experiment).await.expect(201).json();
    let id = |made: &serde_json::Value| made["id"].as_str().expect("an id").to_owned();
    let browser = writer.clone().with("accept", "text/html");
    for page in [format!("/runs/{}", id(&run)), format!("/experiments/{}", id(&experiment))] {
        let html = browser.get(&page).await.expect(200).text();
        assert!(html.contains("<strong>Because</strong>"), "{page}: {html}");
        let link = "<a href=\"https://example.org/a\" rel=\"noopener noreferrer nofollow\">this</a> and that.";
        assert!(html.contains(link), "{page}: {html}");
        assert!(!html.contains("<img") && !html.contains("href=\"javascript"), "{page}: {html}");
    }
    server.stop().await;
}
