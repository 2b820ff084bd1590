//! Requests that nobody would think of, made by Schemathesis from the description: every answer is as described, and none is
//! a 5xx.

use lyceum_store::tokens::Scope;
use std::path::PathBuf;
use std::process::Stdio;
use std::{env, fs};
use tokio::process::Command;

use crate::fixtures::{Filled, filled};
use crate::harness::TestServer;

/// Where Schemathesis is installed, if it is.
fn program() -> Option<PathBuf> {
    env::var_os("SCHEMATHESIS").map(PathBuf::from).filter(|program| program.exists())
}

/// Ids that there are, as Schemathesis is told them: random ones find nothing.
fn known_ids(made: &Filled) -> String {
    format!(
        "[[operations]]\ninclude-path-regex = \"^/api/v1/runs/\"\nparameters = {{ \"path.id\" = \"{}\", \"path.step\" = 0, \
         \"path.member\" = \"{}\", \"path.problem\" = \"{}\" }}\n\n\
         [[operations]]\ninclude-path-regex = \"^/api/v1/work/\"\nparameters = {{ \"path.id\" = \"{}\" }}\n",
        made.run, made.teacher, made.problems[0], made.work
    )
}

#[actix_web::test]
async fn schemathesis_finds_every_answer_as_described() {
    let Some(program) = program() else {
        eprintln!(
            "skipped: Schemathesis is not installed; `pip install schemathesis` and set SCHEMATHESIS to its path"
        );
        return;
    };
    let server = TestServer::start().await;
    let made = filled(&server, 10).await;
    fs::write(server.folder().join("schemathesis.toml"), known_ids(&made)).expect("a file");
    let token = server.actor(Scope::Admin).await.bearer();
    let output = Command::new(program)
        .arg("run")
        .arg(format!("{}/api/v1/openapi.json", server.base()))
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args([
            "--checks",
            "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
            "--phases",
            "examples,coverage,fuzzing",
        ])
        // One worker, Schemathesis' default: two threads that parse Python at once make CPython 3.11 raise
        // "AST constructor recursion depth mismatch".
        .args(["--max-examples", "10", "--seed", "1", "--request-timeout", "30"])
        // A stream of events goes on until its run ends, and revoking tokens at random would end the test's own.
        .args([
            "--exclude-operation-id",
            "watch_run",
            "--exclude-operation-id",
            "watch_evaluation",
            "--exclude-operation-id",
            "revoke_token",
        ])
        .args(["--suppress-health-check", "all", "--no-color"])
        .current_dir(server.folder())
        .env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SCHEMATHESIS_HOOKS", "schemathesis_bodies")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("Schemathesis");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    server.stop().await;
}
