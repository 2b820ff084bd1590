//! Any file of rows as lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek as _};

use flate2::bufread::MultiGzDecoder;

use super::{array::ArrayLines, parquet::ParquetLines};

/// The rows of a file as JSON objects on lines.
pub(crate) type Text<'f> = Box<dyn BufRead + Send + 'f>;

/// The rows of `file`, whatever its format is. Only a line or a page of rows is in memory; Parquet, whose index is at its
/// end, goes through a temporary file.
///
/// # Errors
/// The file cannot be read or is damaged.
pub(crate) fn json_lines<'f>(file: impl Read + Send + 'f) -> io::Result<Text<'f>> {
    let (start, file) = peeked(file)?;
    match start.starts_with(&[0x1f, 0x8b]) {
        true => unpacked(MultiGzDecoder::new(BufReader::new(file))),
        false => unpacked(file),
    }
}

fn unpacked<'f>(file: impl Read + Send + 'f) -> io::Result<Text<'f>> {
    let (start, mut file) = peeked(file)?;
    if start == b"PAR1" {
        let mut spooled = tempfile::tempfile()?;
        io::copy(&mut file, &mut spooled)?;
        return parquet(spooled);
    }
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
    Ok(match text.trim_ascii_start().starts_with(b"[") {
        true => Box::new(BufReader::new(ArrayLines::new(BufReader::new(file)))),
        false => Box::new(BufReader::new(file)),
    })
}

fn parquet<'f>(mut file: File) -> io::Result<Text<'f>> {
    file.rewind()?;
    Ok(Box::new(BufReader::new(ParquetLines::new(file)?)))
}

/// A file of which the start was read already.
type Peeked<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The first four bytes of a file, and all of it.
fn peeked<R: Read>(mut file: R) -> io::Result<(Vec<u8>, Peeked<R>)> {
    let mut start = Vec::new();
    file.by_ref().take(4).read_to_end(&mut start)?;
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
    fn the_format_is_told_by_the_first_bytes() {
        for text in ["{\"a\":1}\n{\"a\":2}", "[{\"a\":1},{\"a\":2}]"] {
            for bytes in [text.as_bytes().to_vec(), packed(text.as_bytes())] {
                let read = lines(&bytes);
                let read: Vec<&str> = read
                    .iter()
                    .map(|line| line.trim())
                    .filter(|line| !line.is_empty())
                    .collect();
                assert_eq!(read, ["{\"a\":1}", "{\"a\":2}"], "{text}");
            }
        }
        assert!(lines(b"").is_empty());
        assert_eq!(lines(b"{}"), ["{}"]);
        let cut = &packed(b"{\"a\":1}")[..12];
        let read: io::Result<Vec<String>> = json_lines(cut).and_then(|text| text.lines().collect());
        assert!(read.is_err());
        assert!(json_lines(&b"PAR1 and nothing else"[..]).is_err());
    }
}
