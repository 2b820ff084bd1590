//! `/runs/{id}/export`: all data of a run, as a folder for Hugging Face's `datasets`.

mod parquet;
mod trackers;

use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::export::{Batch, Batches, Column, Field, Table};
use lyceum_store::runs::RunDetail;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer as _};
use sqlx::PgPool;
use std::io::{self, Write};
use strum::VariantArray as _;

use self::trackers::Tracker;
use crate::api_error::ApiError;
use crate::contract::file_body::{FileWriter, Turn, file_body};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::view::View;
use crate::lab::Lab;
use crate::subjects::population::adapter::file_name;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
enum Format {
    Parquet,
    Jsonl,
}

impl Format {
    fn name(self) -> &'static str {
        self.into()
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Jsonl => "application/x-ndjson",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }

    fn of(name: &str) -> Result<Self, ApiError> {
        let found = Self::VARIANTS.iter().copied().find(|format| format.name() == name);
        found.ok_or_else(|| ApiError::not_found(format!("there is no export as `{name}`; there are parquet and jsonl")))
    }
}

/// A table in the page's list.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    /// What a row is.
    about: &'static str,
    /// None if no count is kept.
    rows: Option<i64>,
    columns: usize,
}

#[derive(Template, Serialize)]
#[template(path = "export.html")]
struct ExportPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    tables: Vec<Listed>,
    formats: &'static [Format],
}

/// The tables of a run.
#[get("/runs/{id}/export")]
pub(crate) async fn show_export(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<HttpResponse, ApiError> {
    let run = RunFrame::load(&lab, *id, Tab::Export).await?;
    let kept = run.run();
    let rows = |table: Table| match table {
        Table::Problems => Some(kept.problems),
        Table::Attempts => Some(kept.attempts),
        Table::Matchups => Some(kept.matchups),
        _ => None,
    };
    let listed = |table: Table| Listed {
        name: table.name(),
        about: table.about(),
        rows: rows(table),
        columns: table.fields(&run.detail.metrics).len(),
    };
    view.show(&ExportPage {
        layout: view.layout(format!("Export · {}", kept.name), Section::Runs),
        tables: Table::ALL.into_iter().map(listed).collect(),
        formats: Format::VARIANTS,
        run,
    })
}

/// A table of a run.
#[get("/runs/{id}/export/{table}.{format}")]
pub(crate) async fn export_table(
    lab: web::Data<Lab>,
    place: web::Path<(ExecutionId, String, String)>,
) -> Result<HttpResponse, ApiError> {
    let (id, table, format) = place.into_inner();
    let run = lyceum_store::runs::find(lab.store.pool(), id).await?;
    let table = Table::ALL.into_iter().find(|one| one.name() == table).ok_or_else(|| {
        ApiError::not_found(format!(
            "there is no table `{table}` to export; there are {}",
            Table::ALL.map(Table::name).join(", ")
        ))
    })?;
    let format = Format::of(&format)?;
    let name = format!("{}-{}.{}", file_name(&run.run.name), table.name(), format.name());
    let source = Source::of(&lab, &run);
    let body = file_body(Turn::wait().await?, move |out| source.write(table, format, out).map(drop))?;
    Ok(HttpResponse::Ok()
        .content_type(format.content_type())
        .insert_header((CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
        .body(body))
}

/// All tables of a run with a card, or its curves for another tool, as a zip archive.
#[get("/runs/{id}/export.{format}.zip")]
pub(crate) async fn export_run(
    lab: web::Data<Lab>,
    place: web::Path<(ExecutionId, String)>,
) -> Result<HttpResponse, ApiError> {
    let (id, format) = place.into_inner();
    let run = lyceum_store::runs::find(lab.store.pool(), id).await?;
    let folder = file_name(&run.run.name);
    let disposition = format!("attachment; filename=\"{folder}-{format}.zip\"");
    let source = Source::of(&lab, &run);
    let body = match Tracker::of(&format) {
        Some(tracker) => {
            file_body(Turn::wait().await?, move |out| tracker.zip(&source.db, &source.runtime, &folder, &run, out))?
        }
        None => {
            let format = Format::of(&format).map_err(|_| {
                ApiError::not_found(format!(
                    "there is no export as `{format}`; there are parquet, jsonl, tensorboard and wandb"
                ))
            })?;
            file_body(Turn::wait().await?, move |out| zip(&source, format, &folder, &run, out))?
        }
    };
    Ok(HttpResponse::Ok().content_type("application/zip").insert_header((CONTENT_DISPOSITION, disposition)).body(body))
}

/// The card comes last because it lists only tables with rows: `datasets` cannot infer the columns of an empty file.
fn zip(source: &Source, format: Format, folder: &str, run: &RunDetail, out: &mut FileWriter) -> io::Result<()> {
    let mut zip = zip::ZipWriter::new_stream(out);
    // Parquet is compressed already, and JSON lines are sent as fast as they can be read.
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    let mut written = Vec::new();
    for table in Table::ALL {
        let name = format!("{folder}/data/{}/train-00000-of-00001.{}", table.name(), format.name());
        zip.start_file(name, options)?;
        if source.write(table, format, &mut zip)? > 0 {
            written.push(table);
        }
    }
    zip.start_file(format!("{folder}/README.md"), options)?;
    let card = card(run, format.name(), &written).map_err(io::Error::other)?;
    zip.write_all(card.as_bytes())?;
    zip.finish()?.into_inner().flush()
}

/// The source of a run's rows.
struct Source {
    db: PgPool,
    run: ExecutionId,
    metrics: Vec<String>,
    runtime: tokio::runtime::Handle,
}

/// Writes rows in a format.
trait Encoder {
    /// Adds some rows.
    fn batch(&mut self, batch: &Batch, out: &mut dyn Write) -> io::Result<()>;
    /// Writes the end of the file.
    fn finish(self: Box<Self>, out: &mut dyn Write) -> io::Result<()>;
}

impl Source {
    fn of(lab: &Lab, run: &RunDetail) -> Self {
        Self {
            db: lab.store.pool().clone(),
            run: ExecutionId(run.run.id),
            metrics: run.metrics.clone(),
            runtime: tokio::runtime::Handle::current(),
        }
    }

    /// Writes a table and returns its number of rows. Blocks.
    fn write(&self, table: Table, format: Format, out: &mut dyn Write) -> io::Result<usize> {
        let fields: Vec<Field> = table.fields(&self.metrics);
        let mut encoder: Box<dyn Encoder> = match format {
            Format::Jsonl => Box::new(Jsonl::new(&fields)),
            Format::Parquet => Box::new(parquet::Parquet::new(&fields)?),
        };
        let mut rows = 0;
        let mut batches = Batches::of(&self.db, self.run, table, &self.metrics);
        while let Some(batch) = self.runtime.block_on(batches.next()).map_err(io::Error::other)? {
            encoder.batch(&batch, out)?;
            rows += batch.rows;
        }
        encoder.finish(out)?;
        Ok(rows)
    }
}

#[derive(Template)]
#[template(path = "dataset_card.md", escape = "none")]
struct Card<'a> {
    name: String,
    run: &'a RunDetail,
    format: &'a str,
    tables: &'a [Table],
    base_models: String,
    config: String,
}

/// The card of `run` with files in `format`, listing those `tables` that have rows.
pub(crate) fn card(run: &RunDetail, format: &str, tables: &[Table]) -> Result<String, askama::Error> {
    let populations = run.config["populations"].as_object().into_iter().flatten();
    let bases = populations.filter_map(|(_, population)| population["base_model"]["name"].as_str());
    let card = Card {
        // For a Markdown heading and a quoted YAML string.
        name: one_line(&run.run.name),
        format,
        tables,
        base_models: one_line(&bases.collect::<Vec<_>>().join(", ")),
        config: serde_json::to_string_pretty(&run.config).unwrap_or_default(),
        run,
    };
    card.render()
}

/// `text` without characters that end a line, a quoted string or Markdown.
fn one_line(text: &str) -> String {
    let text = crate::frame::text::inert(text);
    text.chars().map(|letter| if "\n\t\"\\`<>[]".contains(letter) { ' ' } else { letter }).collect()
}

/// Writes JSON lines.
pub(crate) struct Jsonl {
    names: Vec<String>,
    lines: Vec<u8>,
}

impl Jsonl {
    pub(crate) fn new(fields: &[Field]) -> Self {
        Self { names: fields.iter().map(|field| field.name.to_string()).collect(), lines: Vec::new() }
    }
}

impl Encoder for Jsonl {
    fn batch(&mut self, batch: &Batch, out: &mut dyn Write) -> io::Result<()> {
        self.lines.clear();
        for row in 0..batch.rows {
            let mut serializer = serde_json::Serializer::new(&mut self.lines);
            let mut object = serializer.serialize_map(Some(self.names.len()))?;
            for (name, column) in self.names.iter().zip(&batch.columns) {
                match column {
                    Column::Text(values) => object.serialize_entry(name, &values[row])?,
                    Column::Int(values) => object.serialize_entry(name, &values[row])?,
                    Column::Float(values) => object.serialize_entry(name, &values[row])?,
                    Column::Bool(values) => object.serialize_entry(name, &values[row])?,
                    Column::Time(values) => object.serialize_entry(name, &values[row])?,
                }
            }
            object.end()?;
            self.lines.push(b'\n');
        }
        out.write_all(&self.lines)
    }

    fn finish(self: Box<Self>, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
