//! What holds for every operation, taken from the description, so that a new operation is covered by itself.

use actix_web::http::Method;
use lyceum_server::openapi::document;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::harness::{Actor, BODY_LIMIT, IMPORT_LIMIT, Reply, TestServer};
use crate::login::session_of;

struct Operation {
    method: Method,
    path: String,
    /// The scope that it needs; none for one that everybody may use.
    scope: Option<Scope>,
    /// Whether a worker's token does as well.
    is_for_workers: bool,
    has_path_parameter: bool,
    /// A valid body, where it takes JSON.
    json: Option<Value>,
    /// Whether it takes a body that is not JSON.
    takes_bytes: bool,
    required_query: String,
}

impl Operation {
    fn address(&self, id: &str) -> String {
        let mut address = String::new();
        let mut rest = self.path.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').expect("a closing brace");
            address.push_str(before);
            address.push_str(match (name, id) {
                ("digest", "unknown") => "0000000000000000000000000000000000000000000000000000000000000000",
                ("step", "unknown") => "7",
                ("name", "unknown") => "unknown",
                (_, "unknown") => "00000000-0000-4000-8000-000000000000",
                (_, malformed) => malformed,
            });
            rest = after;
        }
        address + rest + &self.required_query
    }

    async fn by(&self, actor: &Actor) -> Reply {
        self.at(actor, &self.address("unknown"), self.body()).await
    }

    async fn at(&self, actor: &Actor, address: &str, body: Option<Vec<u8>>) -> Reply {
        actor.send(self.method.clone(), address, body).await
    }

    fn body(&self) -> Option<Vec<u8>> {
        match &self.json {
            Some(body) => Some(body.to_string().into_bytes()),
            None => self.takes_bytes.then(|| b"bytes".to_vec()),
        }
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

fn operations() -> Vec<Operation> {
    let document = serde_json::to_value(document()).expect("JSON");
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("methods") {
            let scopes: Vec<Scope> = operation["security"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|way| way["token"][0].as_str())
                .map(|scope| scope.parse().expect("a scope"))
                .collect();
            let content = &operation["requestBody"]["content"];
            let schema = &content["application/json"]["schema"];
            let required = operation["parameters"].as_array().into_iter().flatten();
            let required = required.filter(|parameter| parameter["in"] == "query" && parameter["required"] == true);
            let value = |parameter: &Value| {
                let name = parameter["name"].as_str().expect("a name").to_owned();
                let choices = parameter["schema"]["enum"].as_array();
                let choice = choices.and_then(|choices| choices.first()?.as_str());
                format!("{name}={}", choice.unwrap_or("adapter"))
            };
            let query: Vec<String> = required.map(value).collect();
            operations.push(Operation {
                method: Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method"),
                path: path.clone(),
                scope: scopes.iter().copied().find(|scope| *scope != Scope::Worker),
                is_for_workers: scopes.contains(&Scope::Worker),
                has_path_parameter: path.contains('{'),
                json: (!schema.is_null()).then(|| least(schema, &document)),
                takes_bytes: content["application/octet-stream"].is_object(),
                required_query: if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) },
            });
        }
    }
    assert!(!operations.is_empty(), "the description names no operation");
    operations
}

/// The least value that `schema` describes.
fn least(schema: &Value, document: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.trim_start_matches('#')).expect("a schema");
        return least(schema, document);
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    if let Some(first) = schema["oneOf"].as_array().and_then(|variants| variants.first()) {
        return least(first, document);
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => schema["minimum"].clone().as_i64().map_or(json!(0), |least| json!(least)),
        Some("array") => match schema["minItems"].as_u64() {
            Some(1..) => json!([least(&schema["items"], document)]),
            _ => json!([]),
        },
        Some("string") => json!("x"),
        Some("boolean") => json!(false),
        _ => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            required.map(|name| (name.to_owned(), least(&schema["properties"][name], document))).collect()
        }
    }
}

fn scopes_below(scope: Scope) -> impl Iterator<Item = Scope> {
    Scope::ALL.into_iter().filter(move |lesser| *lesser < scope)
}

#[actix_web::test]
async fn nobody_gets_in_without_a_token_or_with_a_wrong_one() {
    let server = TestServer::start().await;
    let anonymous = server.anonymous();
    let guesser = server.anonymous().with("authorization", "Bearer lyc_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let basic = server.anonymous().with("authorization", "Basic YWRtaW46YWRtaW4=");
    let cookie = server.anonymous().with("cookie", "lyceum_session=guess");
    for operation in operations() {
        for nobody in [&anonymous, &guesser, &basic, &cookie] {
            let reply = operation.by(nobody).await;
            if operation.scope.is_some() {
                assert_eq!(reply.status, 401, "{operation}: {reply:?}");
                assert!(reply.header("www-authenticate").starts_with("Bearer"), "{operation}");
            } else {
                assert_eq!(reply.status, 200, "{operation}: {reply:?}");
            }
        }
    }
    anonymous.get("/api/v1/nothing").await.expect(401);
    anonymous.get("/nothing").await.expect(401);
    server.stop().await;
}

#[actix_web::test]
async fn a_scope_that_is_too_small_is_refused() {
    let server = TestServer::start().await;
    for operation in operations() {
        let Some(needed) = operation.scope else { continue };
        for lesser in scopes_below(needed).filter(|lesser| *lesser != Scope::Worker || !operation.is_for_workers) {
            let reply = operation.by(&server.actor(lesser).await).await;
            assert_eq!(
                (reply.status.as_u16(), reply.problem().as_str()),
                (403, "forbidden"),
                "{operation} with {lesser}"
            );
        }
        let reply = operation.by(&server.actor(needed).await).await;
        assert!(!matches!(reply.status.as_u16(), 401 | 403), "{operation} with {needed}: {reply:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_worker_reads_what_items_need_and_writes_artifacts_and_nothing_else() {
    let server = TestServer::start().await;
    let worker = server.actor(Scope::Worker).await;
    let mut open: Vec<String> = Vec::new();
    for operation in operations().into_iter().filter(|operation| operation.scope.is_some()) {
        let status = operation.by(&worker).await.status.as_u16();
        assert_eq!(status != 403, operation.is_for_workers, "{operation}: {status}");
        if operation.is_for_workers {
            open.push(operation.to_string());
        }
    }
    open.sort();
    assert_eq!(
        open,
        ["GET /api/v1/artifacts/{digest}", "GET /api/v1/datasets/{id}/rows", "PUT /api/v1/artifacts/{digest}"]
    );
    for page in ["/", "/runs", "/runs.json", "/settings"] {
        worker.get(page).await.expect(403);
    }
    let form = server.anonymous().with("content-type", "application/x-www-form-urlencoded");
    let body = format!("token={}", worker.bearer()).into_bytes();
    form.send(Method::POST, "/login", Some(body)).await.expect(403);
    server.stop().await;
}

#[actix_web::test]
async fn a_session_that_shows_no_csrf_token_changes_nothing() {
    let server = TestServer::start().await;
    let admin = server.actor(Scope::Admin).await;
    let (browser, csrf) = session_of(&server, &admin).await;
    for operation in operations().iter().filter(|operation| operation.method != Method::GET) {
        let reply = operation.by(&browser).await;
        assert_eq!((reply.status.as_u16(), reply.problem().as_str()), (403, "csrf"), "{operation}");
        let wrong = operation.by(&browser.clone().with("x-csrf-token", "guess")).await;
        assert_eq!(wrong.status, 403, "{operation}");
        let right = operation.by(&browser.clone().with("x-csrf-token", csrf.as_str())).await;
        assert!(!matches!(right.status.as_u16(), 401 | 403), "{operation}: {right:?}");
        // One of the operations creates a token; none of them ends the session.
    }
    server.stop().await;
}

#[actix_web::test]
async fn what_does_not_exist_is_not_found() {
    let server = TestServer::start().await;
    let admin = server.actor(Scope::Admin).await;
    for operation in operations().iter().filter(|operation| operation.has_path_parameter) {
        let malformed = operation.at(&admin, &operation.address("no-such-id"), operation.body()).await;
        assert_eq!((malformed.status.as_u16(), malformed.problem().as_str()), (404, "not-found"), "{operation}");
        if operation.method != Method::PUT {
            let unknown = operation.by(&admin).await;
            assert_eq!((unknown.status.as_u16(), unknown.problem().as_str()), (404, "not-found"), "{operation}");
        }
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_body_is_refused_that_is_too_large_no_json_of_another_type_or_has_unknown_fields() {
    let server = TestServer::start().await;
    let admin = server.actor(Scope::Admin).await;
    let text = admin.clone().with("content-type", "text/plain");
    for operation in operations() {
        let address = operation.address("unknown");
        if operation.body().is_some() {
            let limit = if operation.path.ends_with("/datasets/import") { IMPORT_LIMIT } else { BODY_LIMIT };
            let large = operation.at(&admin, &address, Some(vec![b' '; limit + 1])).await;
            assert_eq!((large.status.as_u16(), large.problem().as_str()), (413, "too-large"), "{operation}");
            assert!(large.json()["detail"].as_str().is_some_and(|said| said.contains(&limit.to_string())));
        }
        let Some(body) = &operation.json else { continue };
        for malformed in ["", "{", "{\"a\": 1,}", "nul", "\u{fffd}"] {
            let reply = operation.at(&admin, &address, Some(malformed.as_bytes().to_vec())).await;
            assert_eq!(
                (reply.status.as_u16(), reply.problem().as_str()),
                (400, "malformed"),
                "{operation}: {malformed}"
            );
        }
        let reply = operation.at(&text, &address, operation.body()).await;
        assert_eq!(reply.status, 415, "{operation}: {reply:?}");
        let mut unknown = body.clone();
        unknown["no_such_field"] = json!(1);
        unknown["nor_this"] = json!(2);
        let reply = operation.at(&admin, &address, Some(unknown.to_string().into_bytes())).await;
        assert_eq!((reply.status.as_u16(), reply.problem().as_str()), (422, "invalid"), "{operation}");
        for field in ["/no_such_field", "/nor_this"] {
            assert!(reply.places().contains(&field.to_owned()), "{operation} does not name {field}: {reply:?}");
        }
        for other in ["[]", "7", "null", "\"text\""] {
            let reply = operation.at(&admin, &address, Some(other.as_bytes().to_vec())).await;
            assert_eq!(reply.status, 422, "{operation} takes {other}: {reply:?}");
        }
    }
    server.stop().await;
}

#[actix_web::test]
async fn unknown_parameters_are_refused_by_name() {
    let server = TestServer::start().await;
    let admin = server.actor(Scope::Admin).await;
    for operation in operations().iter().filter(|operation| operation.scope.is_some()) {
        let address = operation.address("unknown");
        let address = format!("{address}{}no_such_parameter=1", if address.contains('?') { "&" } else { "?" });
        let reply = operation.at(&admin, &address, operation.body()).await;
        assert_eq!((reply.status.as_u16(), reply.problem().as_str()), (400, "invalid-parameter"), "{operation}");
        assert!(reply.places().contains(&"no_such_parameter".to_owned()), "{operation}: {reply:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn another_method_hears_which_there_are() {
    let server = TestServer::start().await;
    let admin = server.actor(Scope::Admin).await;
    for (page, allowed) in [("/runs", "GET, HEAD"), ("/login", "GET, HEAD, POST")] {
        let reply = admin.send(Method::PUT, page, None).await;
        assert_eq!((reply.status.as_u16(), reply.header("allow")), (405, allowed), "{reply:?}");
    }
    let nowhere = admin.send(Method::PUT, "/nowhere", None).await;
    assert_eq!(nowhere.status, 404, "{nowhere:?}");
    for operation in operations().iter().filter(|operation| operation.scope.is_some()) {
        let reply = admin.send(Method::OPTIONS, &operation.address("unknown"), None).await;
        assert_eq!(reply.status, 405, "{operation}: {reply:?}");
        assert!(reply.header("allow").split(", ").any(|method| method == operation.method.as_str()), "{operation}");
    }
    admin.get("/api/v1/nothing").await.expect(404);
    server.stop().await;
}
