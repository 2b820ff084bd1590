//! Parquet as JSON lines.

use std::fs::File;
use std::io::{self, Read};

use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::ColumnDescriptor;
use serde_json::{Map, Number, Value};

/// The rows of a Parquet file as JSON objects, one per line. Values keep their types: strings, numbers, booleans, null,
/// lists and structs. Dates, times and decimals become strings, and NaN null.
pub(super) struct ParquetLines {
    rows: RowIter<'static>,
    line: Vec<u8>,
    at: usize,
}

impl ParquetLines {
    /// # Errors
    /// The file is damaged, or has a column that is neither text nor a number.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let reader = SerializedFileReader::new(file).map_err(damaged)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let binary: Vec<String> = schema
            .columns()
            .iter()
            .filter(|column| !is_readable(column))
            .map(|column| format!("`{}` ({})", column.path().string(), kind(column)))
            .collect();
        if !binary.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("rows cannot have columns of this type: {}; write the file without them", binary.join(", ")),
            ));
        }
        if let Some(unreadable) = unreadable_compression(reader.metadata()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, unreadable));
        }
        Ok(Self { rows: RowIter::from_file_into(Box::new(reader)), line: Vec::new(), at: 0 })
    }
}

impl Read for ParquetLines {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            let Some(row) = self.rows.next().transpose().map_err(damaged)? else { return Ok(0) };
            self.line.clear();
            self.at = 0;
            serde_json::to_writer(&mut self.line, &object(&row))?;
            self.line.push(b'\n');
        }
        let read = (&self.line[self.at..]).read(out)?;
        self.at += read;
        Ok(read)
    }
}

fn damaged(error: ParquetError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the Parquet file is damaged: {error}"))
}

/// Whether the crate can read the column as something else than bytes. It panics at what it does not know.
fn is_readable(column: &ColumnDescriptor) -> bool {
    use ConvertedType as C;
    let kind = column.converted_type();
    match column.physical_type() {
        Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE | Physical::INT96 => true,
        Physical::INT32 => {
            !matches!(kind, C::INT_64 | C::UINT_64 | C::TIME_MICROS | C::TIMESTAMP_MILLIS | C::TIMESTAMP_MICROS)
        }
        Physical::INT64 => matches!(
            kind,
            C::NONE | C::INT_64 | C::UINT_64 | C::TIME_MICROS | C::TIMESTAMP_MILLIS | C::TIMESTAMP_MICROS | C::DECIMAL
        ),
        Physical::BYTE_ARRAY => matches!(kind, C::UTF8 | C::ENUM | C::JSON | C::DECIMAL),
        Physical::FIXED_LEN_BYTE_ARRAY => {
            kind == C::DECIMAL || column.logical_type_ref() == Some(&LogicalType::Float16)
        }
    }
}

/// The first column whose compression cannot be undone here.
fn unreadable_compression(metadata: &ParquetMetaData) -> Option<String> {
    let mut columns = metadata.row_groups().iter().flat_map(|group| group.columns());
    columns.find_map(|column| match column.compression() {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) => None,
        other => {
            let name = other.to_string();
            Some(format!(
                "its column `{}` is compressed with {}: write the file again with snappy, zstd or gzip, or uncompressed",
                column.column_path().string(),
                name.split('(').next().unwrap_or(&name)
            ))
        }
    })
}

fn kind(column: &ColumnDescriptor) -> String {
    match (column.physical_type(), column.converted_type()) {
        (Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY, ConvertedType::NONE) => "binary".to_owned(),
        (physical, ConvertedType::NONE) => physical.to_string(),
        (_, converted) => converted.to_string(),
    }
}

fn object(row: &Row) -> Map<String, Value> {
    let fields = row.get_column_iter();
    fields.map(|(name, field)| (name.clone(), value(field))).collect()
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::from(*value),
        Field::Byte(number) => Value::from(*number),
        Field::Short(number) => Value::from(*number),
        Field::Int(number) => Value::from(*number),
        Field::Long(number) => Value::from(*number),
        Field::UByte(number) => Value::from(*number),
        Field::UShort(number) => Value::from(*number),
        Field::UInt(number) => Value::from(*number),
        Field::ULong(number) => Value::from(*number),
        Field::Double(number) => Value::from(*number),
        // As written in its own precision: 0.3 stays 0.3.
        Field::Float(number) => of_text(number.to_string()),
        Field::Float16(number) => of_text(number.to_string()),
        Field::Str(text) => Value::from(text.as_str()),
        Field::Group(row) => Value::Object(object(row)),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        Field::MapInternal(map) => {
            let key = |field: &Field| match value(field) {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let entries = map.entries().iter();
            Value::Object(entries.map(|(name, field)| (key(name), value(field))).collect())
        }
        other => Value::from(other.to_string()),
    }
}

fn of_text(number: String) -> Value {
    number.parse::<Number>().map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests;
