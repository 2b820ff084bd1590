//! The description of the API is kept, so that a change of it is seen.

use lyceum_server::openapi::document;
use std::path::Path;
use std::{env, fs};

#[test]
fn the_description_is_the_one_that_is_kept() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/openapi.json");
    let now = format!("{}\n", serde_json::to_string_pretty(&document()).expect("JSON"));
    if env::var_os("UPDATE_OPENAPI").is_some() {
        fs::write(&kept, &now).expect("the file");
    }
    let before = fs::read_to_string(&kept).unwrap_or_default();
    assert!(
        before == now,
        "the API has changed; look at the difference after `lyceum openapi > server/tests/api/openapi.json`, or \
         with UPDATE_OPENAPI=1 in the environment of this test"
    );
}

#[test]
fn every_operation_says_what_it_is_and_who_may() {
    let document = serde_json::to_value(document()).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = std::collections::HashSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let id = operation["operationId"].as_str().expect("an id").to_owned();
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            assert!(operation["tags"].as_array().is_some_and(|tags| tags.len() == 1), "{method} {path} has no tag");
            assert!(operation["security"].is_array(), "{method} {path} does not say who may");
            assert!(ids.insert(id.clone()), "{id} names two operations");
        }
    }
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let text = document.to_string();
    for reference in
        text.split("\"#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap_or_default())
    {
        assert!(schemas.contains_key(reference), "{reference} is referred to and not described");
    }
}
