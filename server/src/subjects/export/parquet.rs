//! Parquet: one row group per batch, so that only a batch is in memory. All columns are optional.

use lyceum_store::export::{Batch, Column, Field, Kind};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use super::Encoder;

/// Writes Parquet.
pub(super) struct Parquet {
    writer: SerializedFileWriter<Written>,
    written: Written,
}

/// Written bytes that have not been taken yet.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn take(&self) -> Vec<u8> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Parquet {
    pub(super) fn new(fields: &[Field]) -> io::Result<Self> {
        let columns = fields.iter().map(column).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        let schema = Type::group_type_builder("row").with_fields(columns).build();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let written = Written::default();
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let writer = SerializedFileWriter::new(written.clone(), schema, Arc::new(properties));
        Ok(Self { writer: writer.map_err(io::Error::other)?, written })
    }

    fn write(&mut self, batch: &Batch) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in &batch.columns {
            let Some(mut writer) = group.next_column()? else { break };
            match column {
                Column::Text(values) => write_column::<ByteArrayType, _>(&mut writer, values, |text: &String| {
                    ByteArray::from(text.as_str())
                })?,
                Column::Int(values) => write_column::<Int64Type, _>(&mut writer, values, |number| *number)?,
                Column::Float(values) => write_column::<DoubleType, _>(&mut writer, values, |number| *number)?,
                Column::Bool(values) => write_column::<BoolType, _>(&mut writer, values, |yes| *yes)?,
                Column::Time(values) => {
                    write_column::<Int64Type, _>(&mut writer, values, |time| time.timestamp_micros())?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }
}

impl Encoder for Parquet {
    fn batch(&mut self, batch: &Batch, out: &mut dyn Write) -> io::Result<()> {
        self.write(batch).map_err(io::Error::other)?;
        out.write_all(&self.written.take())
    }

    fn finish(self: Box<Self>, out: &mut dyn Write) -> io::Result<()> {
        let Self { writer, written } = *self;
        writer.close().map_err(io::Error::other)?;
        out.write_all(&written.take())
    }
}

fn column(field: &Field) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match field.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Int => (Physical::INT64, None),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Bool => (Physical::BOOLEAN, None),
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
    };
    let column = Type::primitive_type_builder(&field.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(column))
}

/// Writes the present values, and for each row whether it has one.
fn write_column<T: DataType, V>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[Option<V>],
    convert: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.iter().flatten().map(convert).collect();
    writer.typed::<T>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}
