//! `lyceum dataset import`.

use anyhow::Context as _;
use clap::Args;
use clap::builder::PossibleValuesParser;
use lyceum_core::dataset::{MapField, OracleKind, row_formats};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;

use crate::client::Client;
use crate::command::dataset::after_import;
use crate::command::dataset::row_file::{RowFile, bar};
use crate::command::output::{json_line, line, remark};
use crate::command::reward;

const EXAMPLES: &str = "\
Examples:
  lyceum dataset import problems.jsonl --purpose training
  lyceum dataset import train.parquet --purpose training --format math
  lyceum dataset import hf://datasets/openai/gsm8k/main --split train \\
      --purpose training --format gsm8k
  lyceum dataset import rows.jsonl.gz --purpose training \\
      --oracle math --map question=problem --map gold=answer
  lyceum dataset import rows.jsonl --purpose training --reward reward.py --map answer=answer
";

/// Import a file of rows, all or none, and print the dataset's id
///
/// The file is one JSON object per line or over several, a JSON array of objects or Parquet; all but the last also as gzip. Without
/// --format or --map its rows are in Lyceum's own form: a row of training, goalposts or a benchmark has `task_id`,
/// `question` and an `oracle` that judges answers, or is a self-play problem: `type` (code_o, code_i, code_f) with
/// `program`, `input` and `output`, or with `program`, `message` and `pairs`. A seed has `snippet` with `input`, or with
/// `inputs` and `message`.
///
/// Every row is checked, and nothing is imported if one is wrong, or more than --skip-bad allows; faults are reported by
/// line. Afterwards the command
/// reports how many rows it read and left out, and other datasets with the same questions. Tests of programs are then tried
/// on a worker (`lyceum dataset check`), for which it waits.
#[derive(Args, Debug)]
#[command(after_long_help = tables())]
pub(super) struct Import {
    /// The file, or `hf://datasets/OWNER/NAME[@REVISION][/FILE]` on the Hugging Face hub (HF_ENDPOINT, HF_TOKEN)
    file: String,
    /// The purpose of its rows
    #[arg(long, value_parser = crate::command::dataset::purposes())]
    purpose: String,
    /// How its rows are read: one of the formats below, or `suite` for the own file of --suite [default: lyceum]
    #[arg(long, conflicts_with = "map")]
    format: Option<String>,
    /// What judges the answers, for rows that are read by --map
    #[arg(long, requires = "map", value_parser = oracles())]
    oracle: Option<String>,
    /// The column of a field (see below); may be repeated. A dot leads into a column, as in `reward_model.ground_truth`
    #[arg(long, value_name = "FIELD=COLUMN")]
    map: Vec<String>,
    /// Score answers with this reward, a Python file with `score(prompt, completion, row)`: it is stored, and --oracle is
    /// `python` with it. Without --map, the question is in the column `question`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "oracle"])]
    reward: Option<PathBuf>,
    /// Store the reward even if a text in it looks like a secret
    #[arg(long, requires = "reward")]
    yes: bool,
    /// The split of a repository on the hub, such as train
    #[arg(long)]
    split: Option<String>,
    /// The suite its rows belong to; required for benchmarks
    #[arg(long)]
    suite: Option<String>,
    /// Leave out rows whose question has fewer bytes
    #[arg(long, value_name = "N")]
    min_question_bytes: Option<u32>,
    /// Leave out rows whose question has more bytes
    #[arg(long, value_name = "N")]
    max_question_bytes: Option<u32>,
    /// Keep rows that ask what an earlier row asks [default: only in benchmarks]
    #[arg(long)]
    keep_duplicates: bool,
    /// Skip unreadable rows, up to this percentage, and report why
    #[arg(long, value_name = "N%", value_parser = percent)]
    skip_bad: Option<u8>,
    /// Only read and check; print the first rows as they would be stored
    #[arg(long)]
    dry_run: bool,
    /// Do not wait until a worker has tried the tests of its rows
    #[arg(long)]
    no_wait: bool,
    /// The dataset's name [default: the format or purpose and the start of the file's checksum]
    #[arg(long)]
    name: Option<String>,
    /// The file's release [default: the hub's commit, else the file's checksum]
    #[arg(long)]
    revision: Option<String>,
}

impl Import {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<()> {
        let mut columns = self.columns()?;
        let mut oracle = self.oracle.clone();
        if let Some(file) = &self.reward {
            columns.entry("question").or_insert_with(|| "question".to_owned());
            columns.insert("reward", reward::add(client, file, self.yes)?);
            oracle = Some(OracleKind::Python.name().to_owned());
        }
        if oracle.is_none() && !columns.is_empty() {
            anyhow::bail!("--map needs --oracle or --reward: what judges the answers");
        }
        let map = (!columns.is_empty()).then(|| serde_json::to_string(&columns)).transpose()?;
        let file = RowFile::open(&self.file, self.split.as_deref())?;
        let mut options = Vec::new();
        let mut option = |name, value: Option<String>| options.extend(value.map(|value| (name, value)));
        let stem = self.format.clone().unwrap_or_else(|| self.purpose.clone());
        option("format", self.format);
        option("oracle", oracle);
        option("map", map);
        option("min_question_bytes", self.min_question_bytes.map(|bytes| bytes.to_string()));
        option("max_question_bytes", self.max_question_bytes.map(|bytes| bytes.to_string()));
        option("keep_duplicates", self.keep_duplicates.then(|| true.to_string()));
        option("skip_bad", self.skip_bad.map(|percent| percent.to_string()));
        option("dry_run", self.dry_run.then(|| true.to_string()));
        let upload = Upload {
            name: self.name.unwrap_or_else(|| file.name(&stem)),
            purpose: &self.purpose,
            suite: self.suite.as_deref(),
            source: file.source.clone(),
            revision: self.revision.unwrap_or_else(|| file.revision()),
            options,
            no_wait: self.no_wait,
        };
        upload.send(&file.unpacked()?, client)
    }

    /// The columns by field.
    fn columns(&self) -> anyhow::Result<BTreeMap<&str, String>> {
        let mut columns = BTreeMap::new();
        for pair in &self.map {
            let (field, column) = pair
                .split_once('=')
                .with_context(|| format!("--map {pair}: write FIELD=COLUMN, such as question=problem"))?;
            if columns.insert(field, column.to_owned()).is_some() {
                anyhow::bail!("--map names the column of `{field}` twice");
            }
        }
        Ok(columns)
    }
}

/// A percentage, such as `5%` or `5`.
fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse();
    let percent = number.ok().filter(|percent| *percent <= 100);
    percent.ok_or_else(|| "0% to 100% are valid, without a fraction".to_owned())
}

fn oracles() -> PossibleValuesParser {
    PossibleValuesParser::new(OracleKind::ALL.map(OracleKind::name))
}

/// Examples, the formats and the fields of a map, for the help text.
fn tables() -> String {
    let mut text = format!("{EXAMPLES}\nFormats:\n");
    // Writing to a string cannot fail.
    for format in row_formats() {
        let _ = writeln!(text, "  {:14} {}", format.name, format.source);
    }
    text.push_str("\nFields of a map, by kind of oracle (* needed):\n");
    for field in &MapField::ALL {
        let oracles = field.oracles.iter().map(|oracle| match field.needed.contains(oracle) {
            true => format!("{oracle}*"),
            false => oracle.to_string(),
        });
        let oracles = match field.oracles.len() == OracleKind::ALL.len() {
            true => "all".to_owned(),
            false => oracles.collect::<Vec<_>>().join(" "),
        };
        let _ = writeln!(text, "  {:12} {oracles:22} {}", field.name, field.about);
    }
    text
}

/// The description of an uploaded dataset.
pub(in crate::command) struct Upload<'a> {
    pub(in crate::command) name: String,
    pub(in crate::command) purpose: &'a str,
    pub(in crate::command) suite: Option<&'a str>,
    pub(in crate::command) source: String,
    pub(in crate::command) revision: String,
    /// Other parameters of the import.
    pub(in crate::command) options: Vec<(&'static str, String)>,
    /// Whether not to wait for the check of its tests.
    pub(in crate::command) no_wait: bool,
}

impl Upload<'_> {
    /// Sends `rows`, one per line, prints the dataset's id, and reports what was left out, harmful overlaps and bad tests.
    pub(in crate::command) fn send(&self, rows: &File, client: &Client) -> anyhow::Result<()> {
        let bar = bar(Some(rows.metadata()?.len()));
        let made = client.post_file(&self.path(), "application/x-ndjson", &mut bar.wrap_read(rows));
        bar.finish_and_clear();
        let made = made?;
        told(&made["report"]).iter().for_each(remark);
        // The answer of a dry run.
        if let Some(rows) = made["rows"].as_array() {
            return rows.iter().try_for_each(json_line);
        }
        line(made["id"].as_str().context("the server's response has no id")?)?;
        for overlap in made["overlaps"].as_array().into_iter().flatten() {
            if let Some(warning) = warning(self.purpose, overlap) {
                remark(format_args!("warning: {warning}"));
            }
        }
        after_import(&made, client, self.no_wait)
    }

    fn path(&self) -> String {
        let mut query = vec![
            ("purpose", self.purpose),
            ("name", &self.name),
            ("source", &self.source),
            ("revision", &self.revision),
        ];
        query.extend(self.suite.map(|suite| ("suite", suite)));
        query.extend(self.options.iter().map(|(name, value)| (*name, value.as_str())));
        let encoded =
            query.iter().map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
        format!("/api/v1/datasets/import?{}", encoded.collect::<Vec<_>>().join("&"))
    }
}

/// The report of an import in words: one line, and one for each reason of rows that cannot be read.
fn told(report: &Value) -> Vec<String> {
    let count = |field: &str| report[field].as_u64().unwrap_or_default();
    let dropped: Vec<String> = [
        ("duplicates", "that ask what an earlier row asks"),
        ("too_short", "with too short a question"),
        ("too_long", "with too long a question"),
        ("bad", "that cannot be read"),
    ]
    .iter()
    .map(|(field, why)| (count(field), why))
    .filter(|(count, _)| *count > 0)
    .map(|(count, why)| format!("{count} {why}"))
    .collect();
    let kept = format!("{} rows read, {} kept", count("read"), count("kept"));
    let mut lines = vec![match dropped.is_empty() {
        true => kept,
        false => format!("{kept}; left out: {}", dropped.join(", ")),
    }];
    let reasons = report["reasons"].as_array().into_iter().flatten();
    lines.extend(reasons.map(|reason| {
        let detail = reason["detail"].as_str().unwrap_or_default();
        format!("  line {}: {detail} (rows: {})", reason["line"], reason["rows"])
    }));
    lines
}

/// The warning about an overlap of rows for `purpose` with another dataset. Overlaps among benchmarks, or among
/// training data, are harmless.
fn warning(purpose: &str, overlap: &Value) -> Option<String> {
    let text = |field: &str| overlap[field].as_str().unwrap_or_default();
    let (rows, name, other) = (&overlap["rows"], text("name"), text("purpose"));
    match (purpose == "benchmark", other == "benchmark") {
        (true, false) => Some(format!(
            "{rows} rows have the same questions as the dataset `{name}` (for {other}): scores of models trained on it are meaningless"
        )),
        (false, true) => Some(format!(
            "{rows} rows have the same questions as the benchmark `{name}`: its scores are meaningless for models trained on them"
        )),
        _ => None,
    }
}
