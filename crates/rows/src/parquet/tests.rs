use super::*;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// A file with rows of every kind of value, or without columns of bytes.
fn written(schema: &str, compression: Compression, fill: impl FnOnce(&mut SerializedFileWriter<&File>)) -> File {
    let file = tempfile::tempfile().unwrap();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = SerializedFileWriter::new(&file, schema, Arc::new(properties)).unwrap();
    fill(&mut writer);
    writer.close().unwrap();
    file
}

const EVERYTHING: &str = "message row {
    optional binary text (UTF8);
    optional int64 whole;
    optional double share;
    optional float rate;
    optional boolean is;
    optional group list (LIST) { repeated group list { optional binary element (UTF8); } }
    optional group nested { optional binary inner (UTF8); }
}";

fn fill(writer: &mut SerializedFileWriter<&File>) {
    let texts = |texts: &[&str]| texts.iter().map(|text| ByteArray::from(*text)).collect::<Vec<_>>();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values = texts(&["a \"b\"\n", "é"]);
    column.typed::<ByteArrayType>().write_batch(&values, Some(&[1, 1]), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[i64::MAX], Some(&[1, 0]), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[0.1, f64::NAN], Some(&[1, 1]), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<FloatType>().write_batch(&[0.3, 2.0], Some(&[1, 1]), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<BoolType>().write_batch(&[true], Some(&[1, 0]), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values = texts(&["x", "y"]);
    let (definitions, repetitions) = ([3, 3, 1], [0, 1, 0]);
    column.typed::<ByteArrayType>().write_batch(&values, Some(&definitions), Some(&repetitions)).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&texts(&["deep"]), Some(&[2, 0]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
}

fn lines(file: File) -> io::Result<Vec<Value>> {
    let mut text = String::new();
    ParquetLines::new(file)?.read_to_string(&mut text)?;
    Ok(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn values_keep_their_types_in_every_codec() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(GzipLevel::default()),
    ] {
        let rows = lines(written(EVERYTHING, compression, fill)).unwrap();
        let first = serde_json::json!({
            "text": "a \"b\"\n", "whole": i64::MAX, "share": 0.1, "rate": 0.3, "is": true, "list": ["x", "y"],
            "nested": {"inner": "deep"},
        });
        let second = serde_json::json!({
            "text": "é", "whole": null, "share": null, "rate": 2.0, "is": null, "list": [], "nested": null,
        });
        assert_eq!(rows.len(), 2, "{compression:?}");
        assert_eq!(rows[0], first, "{compression:?}");
        for (name, value) in second.as_object().unwrap() {
            let is_same =
                rows[1][name] == *value || rows[1][name].as_f64().is_some_and(|read| Some(read) == value.as_f64());
            assert!(is_same, "{name}: {} {value}", rows[1][name]);
        }
    }
}

/// The file was written by Arrow with LZ4; the other codecs are only named in it.
#[test]
fn other_codecs_are_refused_by_name() {
    const LZ4: &[u8] = include_bytes!("lz4.parquet");
    // The codec follows the column's path: 7 is LZ4_RAW, 4 is BROTLI, 3 is LZO.
    let place = LZ4.windows(9).position(|bytes| bytes == b"problem\x15\x0e").unwrap() + 8;
    for (codec, name) in [(0x0e, "LZ4"), (0x08, "BROTLI"), (0x06, "LZO")] {
        let mut bytes = LZ4.to_vec();
        bytes[place] = codec;
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &bytes).unwrap();
        let said = lines(file).unwrap_err().to_string();
        assert!(said.contains("`problem`") && said.contains(name) && !said.contains("damaged"), "{said}");
    }
}

#[test]
fn bytes_are_refused_by_the_name_of_their_column() {
    let schema = "message row {
        optional binary text (UTF8);
        optional group image { optional binary bytes; }
        optional int32 wait (TIME_MILLIS);
    }";
    let error = lines(written(schema, Compression::SNAPPY, |_| {})).unwrap_err().to_string();
    assert!(error.contains("`image.bytes` (binary)") && !error.contains("wait"), "{error}");
}

#[test]
fn a_damaged_file_is_an_error() {
    use std::io::{Seek as _, SeekFrom, Write as _};
    let mut file = written(EVERYTHING, Compression::SNAPPY, fill);
    let length = file.metadata().unwrap().len();
    for at in (4..length).step_by(7) {
        let mut byte = [0];
        file.seek(SeekFrom::Start(at)).unwrap();
        file.read_exact(&mut byte).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&[!byte[0]]).unwrap();
        let copy = file.try_clone().unwrap();
        // It may still be readable, or end in a panic of the library, which the import reports as damage.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lines(copy).map_or(0, |rows| rows.len())));
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&byte).unwrap();
    }
    file.set_len(length - 8).unwrap();
    assert!(lines(file).unwrap_err().to_string().contains("damaged"));
}
