//! An offline run of Weights & Biases, as `wandb sync` uploads it and `wandb leet` shows it.

use chrono::{DateTime, Utc};
use lyceum_store::executions::State;
use lyceum_store::runs::RunDetail;
use prost::Message;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::tracker::StepScalars;

/// `wandb_internal.Record`, as far as it is used.
#[derive(Clone, PartialEq, Message)]
struct Record {
    #[prost(int64, tag = "1")]
    num: i64,
    #[prost(oneof = "Content", tags = "2, 3, 17, 18, 21")]
    content: Option<Content>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Content {
    #[prost(message, tag = "2")]
    History(History),
    #[prost(message, tag = "3")]
    Summary(Items),
    #[prost(message, tag = "17")]
    Run(Run),
    #[prost(message, tag = "18")]
    Exit(Exit),
    #[prost(message, tag = "21")]
    Header(Header),
}

#[derive(Clone, PartialEq, Message)]
struct Header {
    #[prost(message, optional, tag = "1")]
    version_info: Option<VersionInfo>,
}

#[derive(Clone, PartialEq, Message)]
struct VersionInfo {
    #[prost(string, tag = "1")]
    producer: String,
    #[prost(string, tag = "2")]
    min_consumer: String,
}

#[derive(Clone, PartialEq, Message)]
struct Run {
    #[prost(string, tag = "1")]
    run_id: String,
    #[prost(string, tag = "3")]
    project: String,
    #[prost(message, optional, tag = "4")]
    config: Option<Items>,
    #[prost(string, tag = "6")]
    run_group: String,
    #[prost(string, tag = "8")]
    display_name: String,
    #[prost(string, tag = "9")]
    notes: String,
    #[prost(string, repeated, tag = "10")]
    tags: Vec<String>,
    #[prost(message, optional, tag = "17")]
    start_time: Option<Time>,
}

/// `google.protobuf.Timestamp`.
#[derive(Clone, PartialEq, Message)]
struct Time {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// `ConfigRecord` and `SummaryRecord`, which have the same fields.
#[derive(Clone, PartialEq, Message)]
struct Items {
    #[prost(message, repeated, tag = "1")]
    update: Vec<Item>,
}

/// `HistoryItem`, `ConfigItem` and `SummaryItem`.
#[derive(Clone, PartialEq, Message)]
struct Item {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "16")]
    value_json: String,
}

#[derive(Clone, PartialEq, Message)]
struct History {
    #[prost(message, repeated, tag = "1")]
    item: Vec<Item>,
    #[prost(message, optional, tag = "2")]
    step: Option<HistoryStep>,
}

#[derive(Clone, PartialEq, Message)]
struct HistoryStep {
    #[prost(int64, tag = "1")]
    num: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Exit {
    #[prost(int32, tag = "1")]
    exit_code: i32,
    #[prost(int32, tag = "2")]
    runtime: i32,
}

/// An offline run being written.
pub(crate) struct WandbRun<W> {
    log: TransactionLog<W>,
    records: i64,
    started: DateTime<Utc>,
    newest: BTreeMap<String, Value>,
}

/// Where the file of a run belongs, relative to the folder in which `wandb sync` is called.
pub(crate) fn path(run: &RunDetail) -> String {
    let (id, started) = (run.run.id.simple(), run.run.created_at.format("%Y%m%d_%H%M%S"));
    format!("wandb/offline-run-{started}-{id}/run-{id}.wandb")
}

impl<W: Write> WandbRun<W> {
    /// Begins with the run's name, config, tags and note.
    pub(crate) fn begin(out: W, run: &RunDetail) -> io::Result<Self> {
        let started = run.run.created_at;
        let mut wandb = Self { log: TransactionLog::begin(out)?, records: 0, started, newest: BTreeMap::new() };
        wandb.append(Content::Header(Header {
            version_info: Some(VersionInfo {
                producer: concat!("lyceum ", env!("CARGO_PKG_VERSION")).to_owned(),
                min_consumer: "0.70.0".to_owned(),
            }),
        }))?;
        let config = run.config.as_object().into_iter().flatten();
        wandb.append(Content::Run(Run {
            run_id: run.run.id.simple().to_string(),
            project: "lyceum".to_owned(),
            config: Some(Items { update: config.map(|(key, value)| item(key, value)).collect() }),
            run_group: run.run.experiment.clone().unwrap_or_default(),
            display_name: run.run.name.clone(),
            notes: run.note.clone(),
            tags: run.run.tags.clone(),
            start_time: Some(Time {
                seconds: started.timestamp(),
                nanos: started.timestamp_subsec_nanos().cast_signed(),
            }),
        }))?;
        Ok(wandb)
    }

    /// Adds a step: the run's values by their names, a member's as `MEMBER/NAME`.
    pub(crate) fn step(&mut self, step: &StepScalars) -> io::Result<()> {
        let mut values = BTreeMap::new();
        for scalars in &step.of {
            for (name, value) in &scalars.values {
                let key = match &scalars.member {
                    Some(member) => format!("{member}/{name}"),
                    None => name.clone(),
                };
                values.insert(key, Value::from(*value));
            }
        }
        let runtime = (step.at - self.started).as_seconds_f64().max(0.0);
        values.insert("_step".to_owned(), step.step.into());
        values.insert("_runtime".to_owned(), runtime.into());
        values.insert("_timestamp".to_owned(), (step.at.timestamp_micros() as f64 / 1e6).into());
        let history = History {
            item: values.iter().map(|(key, value)| item(key, value)).collect(),
            step: Some(HistoryStep { num: step.step }),
        };
        self.append(Content::History(history))?;
        self.newest.append(&mut values);
        Ok(())
    }

    /// Ends with the newest values, and with how the run ended if it has.
    pub(crate) fn finish(mut self, run: &RunDetail) -> io::Result<()> {
        let newest = std::mem::take(&mut self.newest);
        self.append(Content::Summary(Items { update: newest.iter().map(|(key, value)| item(key, value)).collect() }))?;
        if let Some(ended) = run.run.finished_at {
            let completed = run.run.state == State::Completed;
            self.append(Content::Exit(Exit {
                exit_code: i32::from(!completed),
                runtime: i32::try_from((ended - self.started).num_seconds()).unwrap_or(i32::MAX),
            }))?;
        }
        Ok(())
    }

    fn append(&mut self, content: Content) -> io::Result<()> {
        let record = Record { num: self.records, content: Some(content) };
        self.records += 1;
        self.log.append(&record.encode_to_vec())
    }
}

fn item(key: &str, value: &Value) -> Item {
    Item { key: key.to_owned(), value_json: value.to_string() }
}

const BLOCK: usize = 32_768;
const HEADER: usize = 7;

/// What part of a record a piece is.
#[derive(Clone, Copy)]
enum Piece {
    Full = 1,
    First = 2,
    Middle = 3,
    Last = 4,
}

/// A log being written.
pub(super) struct TransactionLog<W> {
    out: W,
    /// Bytes of the current block.
    used: usize,
}

impl<W: Write> TransactionLog<W> {
    /// Begins with what tells such a file from others.
    pub(super) fn begin(mut out: W) -> io::Result<Self> {
        out.write_all(b":W&B\xe1\xbe\x00")?;
        Ok(Self { out, used: HEADER })
    }

    /// Adds a record.
    pub(super) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let mut rest = record;
        let mut first = true;
        loop {
            let room = BLOCK - self.used;
            if room < HEADER {
                self.out.write_all(&[0; HEADER][..room])?;
                self.used = 0;
                continue;
            }
            let (piece, after) = rest.split_at(rest.len().min(room - HEADER));
            let kind = match (first, after.is_empty()) {
                (true, true) => Piece::Full,
                (true, false) => Piece::First,
                (false, false) => Piece::Middle,
                (false, true) => Piece::Last,
            };
            self.write(kind, piece)?;
            (rest, first) = (after, false);
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn write(&mut self, kind: Piece, piece: &[u8]) -> io::Result<()> {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&[kind as u8]);
        sum.update(piece);
        self.out.write_all(&sum.finalize().to_le_bytes())?;
        self.out.write_all(&(piece.len() as u16).to_le_bytes())?;
        self.out.write_all(&[kind as u8])?;
        self.out.write_all(piece)?;
        self.used = (self.used + HEADER + piece.len()) % BLOCK;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a log, by LevelDB's rules.
    fn read(log: &[u8]) -> Vec<Vec<u8>> {
        let (mut at, mut records) = (HEADER, Vec::new());
        let (mut open, mut is_open) = (Vec::new(), false);
        while at < log.len() {
            if BLOCK - at % BLOCK < HEADER {
                at += BLOCK - at % BLOCK;
                continue;
            }
            let length = usize::from(u16::from_le_bytes([log[at + 4], log[at + 5]]));
            let (kind, data) = (log[at + 6], &log[at + HEADER..at + HEADER + length]);
            assert!(at % BLOCK + HEADER + length <= BLOCK, "a piece crosses a block");
            let sum = u32::from_le_bytes(log[at..at + 4].try_into().unwrap());
            assert_eq!(sum, crc32fast::hash(&[&[kind], data].concat()));
            assert_eq!(is_open, kind == 3 || kind == 4, "a record begins once");
            is_open = kind == 2 || kind == 3;
            // The first piece is empty where a block has just room for its header.
            open.extend_from_slice(data);
            if !is_open {
                records.push(std::mem::take(&mut open));
            }
            at += HEADER + length;
        }
        records
    }

    #[test]
    fn records_of_any_length_are_read_back() {
        // One that fills its block but for fewer bytes than a header, exactly, and one that takes several blocks.
        let first = BLOCK - HEADER - HEADER;
        for length in [1, first - 9, first - 7, first - 6, first - 1, first, first + 1, 3 * BLOCK] {
            let records = vec![vec![1; length], vec![2; 40], vec![3; 40_000]];
            let mut log = Vec::new();
            let mut writer = TransactionLog::begin(&mut log).unwrap();
            for record in &records {
                writer.append(record).unwrap();
            }
            assert_eq!(read(&log), records, "{length}");
        }
    }
}
