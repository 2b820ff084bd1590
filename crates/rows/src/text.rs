//! Any file of rows as lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek as _};

use super::array::ArrayLines;
use super::foreign;
use super::gzip::Gunzip;
use super::object::{ObjectLines, has_open_line};
use super::parquet::ParquetLines;

/// Bytes at the start of a file that tell what it is.
const START: u64 = 64 << 10;
/// Bytes of white space before the rows.
const MAX_WHITE_SPACE: u64 = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The rows of a file as JSON objects on lines.
pub type Text<'f> = Box<dyn BufRead + Send + 'f>;

/// The rows of `file`, whatever its format is. Only a line or a page of rows is in memory; Parquet, whose index is at its
/// end, goes through a temporary file.
///
/// # Errors
/// The file cannot be read, is damaged, or is of another kind.
pub fn json_lines<'f>(file: impl Read + Send + 'f) -> io::Result<Text<'f>> {
    let (start, file) = peeked(file)?;
    if start.starts_with(&[0x1f, 0x8b]) { unpacked(Gunzip::new(BufReader::new(file))) } else { unpacked(file) }
}

fn unpacked<'f>(file: impl Read + Send + 'f) -> io::Result<Text<'f>> {
    let (start, mut file) = peeked(file)?;
    if start.starts_with(b"PAR1") {
        let mut spooled = tempfile::tempfile()?;
        io::copy(&mut file, &mut spooled)?;
        return parquet(spooled);
    }
    let mut file = BufReader::new(file);
    if start.starts_with(BYTE_ORDER_MARK) {
        file.read_exact(&mut [0; BYTE_ORDER_MARK.len()])?;
    }
    let blank = leading_white_space(&mut file)?;
    let (start, file) = peeked(file)?;
    if let Some(told) = foreign::told(&start) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, told));
    }
    let file = BufReader::new(file);
    Ok(match start.first() {
        Some(b'[') => Box::new(BufReader::new(ArrayLines::new(file))),
        _ if has_open_line(&start) => Box::new(BufReader::new(ObjectLines::new(file))),
        // Lines keep their numbers, and what is unpacked its length.
        _ => Box::new(BufReader::new(Cursor::new(blank).chain(file))),
    })
}

/// Takes the white space at the start of a file, up to a limit. More of it is left to those who count what a file unpacks to.
fn leading_white_space(file: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut taken = Vec::new();
    let mut file = file.take(MAX_WHITE_SPACE);
    loop {
        let piece = file.fill_buf()?;
        let blank = piece.len() - piece.trim_ascii_start().len();
        taken.extend_from_slice(&piece[..blank]);
        let is_over = blank < piece.len() || piece.is_empty();
        file.consume(blank);
        if is_over {
            return Ok(taken);
        }
    }
}

fn parquet<'f>(mut file: File) -> io::Result<Text<'f>> {
    file.rewind()?;
    Ok(Box::new(BufReader::new(ParquetLines::new(file)?)))
}

/// A file of which the start was read already.
type Peeked<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The start of a file, and all of it.
fn peeked<R: Read>(mut file: R) -> io::Result<(Vec<u8>, Peeked<R>)> {
    let mut start = Vec::new();
    file.by_ref().take(START).read_to_end(&mut start)?;
    Ok((start.clone(), Cursor::new(start).chain(file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn lines(bytes: &[u8]) -> Vec<String> {
        json_lines(bytes).unwrap().lines().map(Result::unwrap).collect()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn marks_and_white_space_before_the_rows_count_for_nothing() {
        for start in ["", "\u{feff}", "\n \r\n\t", "\u{feff}\n\n"] {
            for text in ["[{\"a\":1},{\"a\":2}]", "{\n\"a\":1\n}\n{\n\"a\":2\n}"] {
                let read: Vec<serde_json::Value> = lines(format!("{start}{text}").as_bytes())
                    .iter()
                    .filter(|line| !line.trim().is_empty())
                    .map(|line| serde_json::from_str(line).unwrap())
                    .collect();
                assert_eq!(read, [serde_json::json!({"a": 1}), serde_json::json!({"a": 2})], "{start:?} {text}");
            }
        }
        let long = format!("{}[{{\"a\":1}}]", " \n".repeat(100_000));
        assert!(lines(long.as_bytes()).iter().any(|line| line.trim() == "{\"a\":1}"));
        let numbered = lines(b"\n\n{\"a\":1}\n");
        assert_eq!(numbered.iter().position(|line| line == "{\"a\":1}"), Some(2));
    }

    #[test]
    fn other_files_are_refused_by_name() {
        for (bytes, name) in [(&b"problem,answer\n1,2\n"[..], "CSV"), (b"\xff\xfe{\0}\0", "UTF-16")] {
            for bytes in [bytes.to_vec(), packed(bytes)] {
                let said = json_lines(&bytes[..]).err().map(|error| error.to_string()).unwrap_or_default();
                assert!(said.contains(name), "{said}");
            }
        }
    }

    #[test]
    fn the_format_is_told_by_the_first_bytes() {
        for text in ["{\"a\":1}\n{\"a\":2}", "[{\"a\":1},{\"a\":2}]"] {
            for bytes in [text.as_bytes().to_vec(), packed(text.as_bytes())] {
                let read = lines(&bytes);
                let read: Vec<&str> = read.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
                assert_eq!(read, ["{\"a\":1}", "{\"a\":2}"], "{text}");
            }
        }
        assert!(lines(b"").is_empty());
        assert!(lines(b"\xef\xbb\xbf").is_empty());
        assert_eq!(lines(b"{}"), ["{}"]);
        let cut = &packed(b"{\"a\":1}")[..12];
        let read: io::Result<Vec<String>> = json_lines(cut).and_then(|text| text.lines().collect());
        assert!(read.is_err());
        assert!(json_lines(&b"PAR1 and nothing else"[..]).is_err());
    }
}
