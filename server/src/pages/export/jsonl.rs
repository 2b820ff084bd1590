//! JSON lines: one object per row, with all fields.

use lyceum_store::export::{Batch, Column, Field};
use serde::ser::{SerializeMap as _, Serializer as _};
use std::io::{self, Write};

use super::Encoder;

/// Writes JSON lines.
pub(super) struct Jsonl {
    names: Vec<String>,
    lines: Vec<u8>,
}

impl Jsonl {
    pub(super) fn new(fields: &[Field]) -> Self {
        Self {
            names: fields.iter().map(|field| field.name.to_string()).collect(),
            lines: Vec::new(),
        }
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
