//! Imported adapters: which archives are read, what is refused, and runs that begin with one.

use actix_web::http::Method;
use flate2::Compression;
use flate2::write::GzEncoder;
use lyceum_core::id::{ExecutionId, MemberId, VersionId};
use lyceum_models::peft::AdapterFiles;
use lyceum_store::artifact;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::io::{Cursor, Write as _};
use zip::write::SimpleFileOptions;

use crate::ancestors::{born, faults, id_of, request};
use crate::harness::{Actor, Reply, TestServer};

const CONFIG: &str = "adapter_config.json";
const WEIGHTS: &str = "adapter_model.safetensors";

/// A file of an archive.
type Part<'a> = (&'a str, &'a [u8]);

fn config(base: &str) -> Value {
    json!({
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base, "r": 1, "lora_alpha": 2,
        "target_modules": ["q_proj"], "bias": "none", "use_dora": false, "peft_version": "0.21.2",
    })
}

/// Weights of rank 1 for `layers` layers of the seedling, whose q projection has 128 inputs and outputs.
fn weights(layers: u32) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for layer in 0..layers {
        for (factor, shape) in [("A", [1, 128]), ("B", [128, 1])] {
            let start = data.len();
            data.extend((0..128).flat_map(|at| (f64::from(layer * 128 + at) as f32 / 1024.0).to_le_bytes()));
            let key = format!("base_model.model.model.layers.{layer}.self_attn.q_proj.lora_{factor}.weight");
            header.insert(key, json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}));
        }
    }
    let mut text = Value::Object(header).to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    [&(text.len() as u64).to_le_bytes()[..], &text, &data].concat()
}

fn tar(parts: &[Part<'_>]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in parts {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        // Names that the crate itself would refuse to write.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        archive.append(&header, *bytes).expect("an entry");
    }
    archive.into_inner().expect("a tar")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("a write");
    packed.finish().expect("gzip")
}

fn zip(parts: &[Part<'_>]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).expect("an entry");
        zip.write_all(bytes).expect("a write");
    }
    zip.finish().expect("a zip").into_inner()
}

async fn import(writer: &Actor, name: &str, archive: Vec<u8>) -> Reply {
    let writer = writer.clone().with("content-type", "application/octet-stream");
    let path = format!("/api/v1/adapters?name={name}&source=a%20test");
    writer.send(Method::POST, &path, Some(archive)).await
}

#[actix_web::test]
async fn an_adapter_is_one_artifact_however_it_is_packed() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (config, weights) = (config("seedling").to_string().into_bytes(), weights(6));
    let (flat, nested) = (
        [(CONFIG, config.as_slice()), (WEIGHTS, weights.as_slice())],
        [
            ("expert/README.md", &b"of others"[..]),
            ("expert/training_args.bin", b"a pickle"),
            ("expert/adapter_model.safetensors", &weights),
            ("expert/adapter_config.json", &config),
            ("expert/checkpoint-1/adapter_config.json", b"deeper"),
        ],
    );
    let mut digests = Vec::new();
    for (name, archive) in [
        ("tar", tar(&flat)),
        ("dotted", tar(&[("./adapter_config.json", &config), ("./adapter_model.safetensors", &weights)])),
        ("gzip", gzip(&tar(&nested))),
        ("zip", zip(&nested)),
        ("deep", zip(&[("a/b/adapter_config.json", &config), ("a/b/adapter_model.safetensors", &weights)])),
        ("checkpoints", tar(&[("c-1/adapter_config.json", b"{}"), (CONFIG, &config), (WEIGHTS, &weights)])),
    ] {
        let made = import(&writer, name, archive).await.expect(201).json();
        assert_eq!(made["lora"], json!({"r": 1, "lora_alpha": 2.0, "target_modules": ["q_proj"], "use_rslora": false}));
        assert_eq!((&made["base_model"]["name"], &made["source"]), (&json!("seedling"), &json!("a test")));
        assert_eq!(made["base_model"]["revision"].as_str().map(str::len), Some(64));
        digests.push(made["artifact"].as_str().expect("a digest").to_owned());
    }
    digests.dedup();
    let [digest] = digests.as_slice() else { panic!("{digests:?}") };
    let stored = server.artifacts.get(digest.parse().expect("a digest")).await.expect("an artifact");
    let stored = AdapterFiles::from_archive("stored", &stored).expect("an adapter");
    assert!(stored.weights == weights, "bit for bit");

    let taken = import(&writer, "zip", zip(&flat)).await.expect(409);
    assert_eq!(taken.problem(), "taken");
    let all = writer.get("/api/v1/adapters").await.expect(200).json();
    let names: Vec<&str> =
        all["items"].as_array().expect("items").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["checkpoints", "deep", "zip", "gzip", "dotted", "tar"]);
    let one = format!("/api/v1/adapters/{}", all["items"][0]["id"].as_str().expect("an id"));
    assert_eq!(writer.get(&one).await.expect(200).json()["name"], "checkpoints");
    writer.delete(&one).await.expect(204);
    writer.get(&one).await.expect(404);
    server.stop().await;
}

#[actix_web::test]
async fn archives_that_are_no_adapter_or_not_for_the_base_are_refused() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (own, weights) = (config("seedling").to_string().into_bytes(), weights(6));
    let five = self::weights(5);
    let with = |field: &str, value: Value| {
        let mut config = config("seedling");
        config[field] = value;
        config.to_string().into_bytes()
    };
    let both = |config: &[u8], weights: &[u8]| tar(&[(CONFIG, config), (WEIGHTS, weights)]);
    let long = vec![b' '; 70_000];
    for (archive, pointer, says) in [
        (b"no archive".to_vec(), "", "no complete tar, tar.gz or zip"),
        (gzip(b"no tar"), "", "no complete tar, tar.gz or zip"),
        (b"PK\x03\x04no zip".to_vec(), "", "the zip cannot be read"),
        (tar(&[(CONFIG, &own)]), "", "has no adapter_model.safetensors"),
        (tar(&[(WEIGHTS, &weights)]), "", "has no adapter_config.json"),
        (tar(&[(CONFIG, &own), ("adapter_model.bin", b"pickle")]), "", "a pickle, which could run code"),
        (tar(&[("../adapter_config.json", &own), (WEIGHTS, &weights)]), "", "only names below it"),
        (zip(&[("a/../../adapter_config.json", &own), (WEIGHTS, &weights)]), "", "only names below it"),
        (tar(&[("/adapter_config.json", &own), (WEIGHTS, &weights)]), "", "only names below it"),
        (
            tar(&[("a/adapter_config.json", &own), ("b/adapter_config.json", &own), (WEIGHTS, &weights)]),
            "",
            "the second",
        ),
        (tar(&[(CONFIG, &own), ("adapters.safetensors", &weights)]), "", "of mlx-lm, not of peft"),
        (both(br#"{"fine_tune_type": "lora"}"#, &weights), "/adapter_config.json", "of mlx-lm, not of peft"),
        (both(&own, b"version https://git-lfs.github.com/spec/v1"), "/adapter_model.safetensors", "Git LFS"),
        (gzip(&both(&long, &weights)), "", "more than 65536 bytes"),
        (gzip(&both(&own, &vec![0; 30_000])), "", "more than 20000 bytes"),
        (both(b"{", &weights), "/adapter_config.json", "not the expected JSON"),
        (both(&with("use_dora", json!(true)), &weights), "/adapter_config.json", "`use_dora`"),
        (both(&with("base_model_name_or_path", json!("/root/m")), &weights), "/adapter_config.json", "(--base)"),
        (both(&own, &five), "/adapter_model.safetensors", "is missing"),
        (both(&own, b"weights"), "/adapter_model.safetensors", "not a complete safetensors file"),
    ] {
        let reply = import(&writer, "bad", archive).await.expect(422).json();
        assert_eq!(reply["errors"][0]["pointer"], pointer, "{says}: {reply}");
        let detail = reply["errors"][0]["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(says), "{says}: {detail}");
    }
    import(&writer, "large", vec![0; 30_000]).await.expect(413);
    let named = writer.clone().with("content-type", "application/gzip");
    let other = "/api/v1/adapters?name=other&base_model=seedling-math";
    let archive = gzip(&both(&with("base_model_name_or_path", json!("/root/m")), &weights));
    let made = named.send(Method::POST, other, Some(archive)).await.expect(201).json();
    assert_eq!(made["base_model"]["name"], "seedling-math");
    server.stop().await;
}

#[actix_web::test]
async fn members_begin_with_an_adapter_and_what_they_learned_is_imported_again() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let config = config("seedling").to_string().into_bytes();
    let archive = tar(&[(CONFIG, &config), (WEIGHTS, &weights(6))]);
    let expert = import(&writer, "expert", archive).await.expect(201).json();
    let digest = expert["artifact"].as_str().and_then(|digest| digest.parse().ok()).expect("a digest");
    let lora = &expert["lora"];
    let begin = async |from: Value| {
        let asked = request(&from, lora);
        writer.post("/api/v1/runs", &asked).await.expect(201).json()
    };
    let run = begin(json!({"adapter": "expert"})).await;
    let from = &run["config"]["populations"]["main"]["members"][1]["from"];
    assert_eq!(*from, json!({"adapter": expert["id"], "artifact": digest}));
    begin(json!({"adapter": expert["id"]})).await;
    for (from, lora, says) in [
        (json!({"adapter": "novice"}), lora, "there is no adapter `novice`"),
        (
            json!({"adapter": "expert"}),
            &json!({"r": 2, "lora_alpha": 2.0, "target_modules": ["q_proj"]}),
            "adapter `expert` has the shape r 1",
        ),
    ] {
        let found = faults(&writer, "/api/v1/runs", &request(&from, lora)).await;
        assert_eq!(found[0].0, "/config/populations/main/members/1/from/adapter");
        assert!(found[0].1.contains(says), "{found:?}");
    }

    let run = id_of(&run);
    let id: VersionId = expert["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let student = born(&server, run, id, digest).await;
    let birth = writer.get(&format!("/api/v1/runs/{run}/lineage")).await.expect(200).json();
    let birth = &birth["items"][0];
    assert_eq!((&birth["ancestor"], &birth["parents"]), (&json!("adapter expert"), &json!([])));
    let exported = async |run: ExecutionId, member: MemberId| {
        let address = format!("/runs/{run}/members/{member}/adapter.zip");
        writer.get(&address).await.expect(200).body.to_vec()
    };
    let again = import(&writer, "again", exported(run, student).await).await.expect(201).json();
    assert_eq!(again["artifact"], expert["artifact"], "bit for bit");

    for adapter in [&expert, &again] {
        let id = adapter["id"].as_str().expect("an id");
        writer.delete(&format!("/api/v1/adapters/{id}")).await.expect(204);
        sqlx::query("UPDATE artifacts SET created_at = now() - interval '1 day'")
            .execute(server.store.pool())
            .await
            .expect("a day");
        let removed = artifact::collect(&server.artifacts, 100).await.expect("a collection");
        assert_eq!(removed, 0, "an adapter or a run holds the weights");
    }
    server.stop().await;
}
