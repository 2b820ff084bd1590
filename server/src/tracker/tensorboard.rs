//! TensorBoard event files: a folder for the run, and one for each member, so that their curves are drawn together.

use prost::Message;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write};

use crate::tracker::StepScalars;

/// `tensorflow.Event`, as far as it is used.
#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

/// `tensorflow.Summary`.
#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Value>,
}

/// `tensorflow.Summary.Value`.
#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
    #[prost(message, optional, tag = "8")]
    tensor: Option<Tensor>,
    #[prost(message, optional, tag = "9")]
    metadata: Option<Metadata>,
}

/// `tensorflow.TensorProto` of one text.
#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(int32, tag = "1")]
    dtype: i32,
    #[prost(bytes = "vec", repeated, tag = "8")]
    string_val: Vec<Vec<u8>>,
}

/// `tensorflow.SummaryMetadata`.
#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(message, optional, tag = "1")]
    plugin_data: Option<PluginData>,
}

#[derive(Clone, PartialEq, Message)]
struct PluginData {
    #[prost(string, tag = "1")]
    plugin_name: String,
}

/// `DT_STRING`.
const STRING: i32 = 7;
/// The folder of the run's own curves.
const RUN: &str = "run";

/// Event files being written. They are interleaved in a temporary file, since there may be more of them than a process
/// may have open.
pub(crate) struct TensorBoard {
    scratch: BufWriter<File>,
    end: u64,
    /// Where the parts of each file are: offset and length.
    files: BTreeMap<String, Vec<(u64, usize)>>,
    started: f64,
}

impl TensorBoard {
    /// Begins with the run's config as a text.
    pub(crate) fn new(scratch: File, started: f64, config: &str) -> io::Result<Self> {
        let mut board = Self { scratch: BufWriter::new(scratch), end: 0, files: BTreeMap::new(), started };
        // The text plugin shows Markdown, in which indented lines are code.
        let config: String = config.lines().map(|line| format!("    {line}\n")).collect();
        let text = Value {
            tag: "config".to_owned(),
            tensor: Some(Tensor { dtype: STRING, string_val: vec![config.into_bytes()] }),
            metadata: Some(Metadata { plugin_data: Some(PluginData { plugin_name: "text".to_owned() }) }),
            ..Value::default()
        };
        board.write(RUN, started, 0, vec![text])?;
        Ok(board)
    }

    /// Adds a step.
    pub(crate) fn step(&mut self, step: &StepScalars) -> io::Result<()> {
        let at = step.at.timestamp_micros() as f64 / 1e6;
        for scalars in &step.of {
            let values = scalars.values.iter().map(|(name, value)| Value {
                tag: name.clone(),
                simple_value: Some(*value as f32),
                ..Value::default()
            });
            let folder = scalars.member.as_deref().unwrap_or(RUN);
            self.write(folder, at, step.step, values.collect())?;
        }
        Ok(())
    }

    fn write(&mut self, folder: &str, wall_time: f64, step: i64, value: Vec<Value>) -> io::Result<()> {
        let mut bytes = Vec::new();
        if !self.files.contains_key(folder) {
            bytes.extend(record(&self.first_event().encode_to_vec()));
        }
        let event = Event { wall_time, step, summary: Some(Summary { value }), ..Event::default() };
        bytes.extend(record(&event.encode_to_vec()));
        self.scratch.write_all(&bytes)?;
        self.files.entry(folder.to_owned()).or_default().push((self.end, bytes.len()));
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn first_event(&self) -> Event {
        Event { wall_time: self.started, file_version: Some("brain.Event:2".to_owned()), ..Event::default() }
    }

    /// Passes each file to `each`, as folder, file name and a function that writes it.
    pub(crate) fn finish<W: Write>(
        self,
        out: &mut W,
        mut begin: impl FnMut(&mut W, &str, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        // TensorBoard takes files with `tfevents` in their name.
        let name = format!("events.out.tfevents.{:010}.lyceum", self.started as u64);
        let mut scratch = self.scratch.into_inner().map_err(io::IntoInnerError::into_error)?;
        let mut part = Vec::new();
        for (folder, parts) in &self.files {
            begin(out, folder, &name)?;
            for (offset, length) in parts {
                part.resize(*length, 0);
                scratch.seek(SeekFrom::Start(*offset))?;
                scratch.read_exact(&mut part)?;
                out.write_all(&part)?;
            }
        }
        Ok(())
    }
}

pub(super) fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(data.len() + 16);
    record.extend_from_slice(&length);
    record.extend_from_slice(&masked_crc(&length).to_le_bytes());
    record.extend_from_slice(data);
    record.extend_from_slice(&masked_crc(data).to_le_bytes());
    record
}

/// Masked as TensorFlow does it, so that the checksum of data that holds a checksum remains useful.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As TensorBoard's own writer has it: `RecordWriter.write(b"abc")`.
    #[test]
    fn a_record_is_that_of_tensorboards_writer() {
        let expected = "0300000000000000b099490e6162636e57f121";
        let hex: String = record(b"abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
