//! Adapters that were made elsewhere, which members may begin with: `/adapters`.

mod archive;

use actix_web::{HttpRequest, HttpResponse, get, web};
use askama::Template;
use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::fault::Fault;
use lyceum_core::work::{BaseModel, LoraShape};
use lyceum_models::ModelConfig;
use lyceum_models::peft::{AdapterFiles, CONFIG, Refusal};
use lyceum_store::adapters::{self, Adapter, NewAdapter};
use lyceum_store::artifact::digest_of;
use lyceum_store::page::Window;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::fs::File;
use std::io::{BufWriter, Seek as _, Write as _};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::base_weights;
use crate::contract::caller::Caller;
use crate::contract::document::{check_length, check_type};
use crate::contract::receive::{self, Pieces, Place, unwritten};
use crate::contract::{About, All, Answer, Asked, Endpoint, Query, bounds, delete, list, show};
use crate::estimate::folder_of;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;

/// Imports that hold an adapter in memory at once.
static AT_ONCE: Semaphore = Semaphore::const_new(1);
/// Media types of archives. Which of them one is, the first bytes tell.
const TYPES: [&str; 4] = ["application/x-tar", "application/gzip", "application/zip", "application/octet-stream"];

/// What the adapter is called, and its base.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImportAdapterQuery {
    /// The adapter's name, which must be unique.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Its base, as populations name it; by default `base_model_name_or_path` of its configuration.
    #[schemars(length(min = 1, max = 200))]
    base_model: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    source: String,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let import = About::new("import_adapter", "/adapters")
        .says("Import a PEFT adapter, which members of new runs may begin with.", "The adapter");
    let import = Endpoint::post(import, "adapters", import_adapter).query::<ImportAdapterQuery>();
    let import = import.takes_file(Some("The archive"), &TYPES).creates::<Adapter>();
    let more = "The body is a tar, tar.gz or zip of `adapter_config.json` and `adapter_model.safetensors`, at the top or in one \
        folder; other files in it are ignored. `adapter.zip` of a member is such an archive.";
    let import = import.describe(more);
    let all = About::new("list_adapters", "/adapters").says("List imported adapters.", "A page of adapters");
    let all = list(all, "adapters", async |db: &PgPool, _: &All, window: &Window| adapters::page(db, window).await);
    let one = About::new("show_adapter", "/adapters/{id}").says("Show an imported adapter.", "The adapter");
    let find = async |db: &PgPool, id: Uuid| adapters::find(db, id).await;
    let one = show(one, "adapters", find).id("id", "The adapter");
    let removal = About::new("delete_adapter", "/adapters/{id}")
        .says("Delete an imported adapter. Runs that began with it keep its weights.", "It is gone");
    let removal = delete(removal, "adapters", find, async |db: &PgPool, id: Uuid| adapters::remove(db, id).await);
    vec![import, all, one, removal.id("id", "The adapter").if_match()]
}

#[derive(Template, Serialize)]
#[template(path = "adapters.html")]
struct AdaptersPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<Adapter>,
    #[serde(flatten)]
    pager: Pager,
}

#[get("/adapters")]
pub(super) async fn show_adapters(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<Asked<All>>,
) -> Result<HttpResponse, ApiError> {
    let listing = filters.0.listing("adapters")?;
    let page = listing.page(adapters::page(lab.store.pool(), listing.window()).await?);
    view.show(&AdaptersPage {
        layout: view.layout("Adapters", Section::Adapters),
        items: page.items,
        pager: view.pager(page.next),
    })
}

async fn import_adapter(
    request: HttpRequest,
    caller: Caller,
    lab: web::Data<Lab>,
    query: Query<ImportAdapterQuery>,
    payload: web::Payload,
) -> Result<Answer<Adapter>, ApiError> {
    let asked = query.0;
    let limit = AdapterFiles::LARGEST.min(lab.settings.artifact_limit);
    check_length(&request, limit)?;
    check_type(&request, &TYPES)?;
    let _place = Place::wait(&lab, &caller).await?;
    let pieces = Pieces::of(&request, payload.into_inner(), limit, lab.settings.body_pace)?;
    let archive = pieces.into_file(|_| ()).await?;
    let _permit = AT_ONCE.acquire().await.map_err(|error| ApiError::internal(&error))?;
    let base_model = asked.base_model.clone();
    let read = tokio::task::spawn_blocking(move || Adopted::read(archive, limit, base_model));
    let adopted = read.await.map_err(|error| ApiError::internal(&error))??;
    let artifact = adopted.artifact;
    lab.artifacts.put_file(ArtifactKind::Adapter, artifact, &adopted.file, adopted.bytes).await?;
    let new = NewAdapter {
        name: &asked.name,
        base_model: &adopted.base_model,
        lora: &adopted.lora,
        artifact,
        source: &asked.source,
    };
    let made = adapters::create(lab.store.pool(), &new).await?;
    let location = format!("/api/v1/adapters/{}", made.id);
    Ok(Answer::created(made, &location))
}

/// A checked adapter, as the artifact that it becomes.
struct Adopted {
    file: File,
    artifact: Digest,
    bytes: u64,
    base_model: BaseModel,
    lora: LoraShape,
}

impl Adopted {
    /// Takes a while.
    fn read(archive: File, limit: usize, base_model: Option<String>) -> Result<Self, ApiError> {
        let refused = |(file, reason): Refusal| ApiError::invalid(vec![Fault::new(format!("/{file}"), reason)]);
        let files = archive::read(archive, limit)?;
        let named = match base_model {
            Some(name) => name,
            None => files.base_model().map_err(refused)?.unwrap_or_default(),
        };
        let mut base_model = BaseModel { name: named, revision: None };
        if let Some(fault) = base_model.name_fault() {
            let detail = format!("`base_model_name_or_path`: {fault}; or give `base_model` (--base) in its place");
            return Err(refused((CONFIG, detail)));
        }
        base_weights::name(&mut base_model);
        // Workers compare an adapter with a base that is not on this machine.
        let base = folder_of(&base_model.name).map(|folder| ModelConfig::from_folder(&folder));
        let base = base.transpose().map_err(|error| ApiError::unprocessable(error.to_string()))?;
        let (files, lora) = files.adopted(&base_model.name, base.as_ref()).map_err(refused)?;
        let (file, artifact, bytes) = written(&files)?;
        Ok(Self { file, artifact, bytes, base_model, lora })
    }
}

/// The artifact of an adapter in a file, with its digest and size.
fn written(files: &AdapterFiles) -> Result<(File, Digest, u64), ApiError> {
    let mut out = BufWriter::new(receive::spool().map_err(unwritten)?);
    files.write_archive(&mut out).map_err(|error| ApiError::internal(&error))?;
    out.flush().map_err(unwritten)?;
    let mut file = out.into_inner().map_err(|error| unwritten(error.into_error()))?;
    file.rewind().map_err(unwritten)?;
    let (digest, bytes) = digest_of(&mut file).map_err(unwritten)?;
    Ok((file, digest, bytes))
}
