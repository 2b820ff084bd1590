//! Files that people take for files of rows.

/// What a file is that cannot be read, and what to do with it; `None` if it may be text of JSON.
pub(super) fn told(start: &[u8]) -> Option<String> {
    if let Some(encoding) = encoding(start) {
        return Some(format!(
            "it is {encoding} text: save it as UTF-8, for example with `iconv -f {encoding} -t UTF-8`"
        ));
    }
    let start_text = String::from_utf8_lossy(start);
    let lower = start_text.get(..200).unwrap_or(&start_text).to_ascii_lowercase();
    if lower.starts_with("version https://git-lfs") {
        return Some(
            "it is a Git LFS pointer and not the file itself: fetch it with `git lfs pull`, or download it from the hub"
                .to_owned(),
        );
    }
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        return Some(
            "it is a web page: download the file itself, from the hub's address with `resolve` in it".to_owned(),
        );
    }
    const UNPACK: &str = "unpack it first";
    const CONVERT: &str = "write it as JSON lines or Parquet";
    const KINDS: [(&[u8], &str, &str); 17] = [
        (b"PK\x03\x04", "a ZIP archive or a spreadsheet", UNPACK),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd", UNPACK),
        (b"\xfd7zXZ", "compressed with xz", UNPACK),
        (b"BZh", "compressed with bzip2", UNPACK),
        (b"\x04\x22\x4d\x18", "compressed with LZ4", UNPACK),
        (b"7z\xbc\xaf", "a 7z archive", UNPACK),
        (b"Rar!", "a RAR archive", UNPACK),
        (b"ARROW1", "an Arrow file", CONVERT),
        (b"\xff\xff\xff\xff", "an Arrow stream", CONVERT),
        (b"ORC", "an ORC file", CONVERT),
        (b"Obj\x01", "an Avro file", CONVERT),
        (b"PARE", "an encrypted Parquet file", CONVERT),
        (b"\x89HDF", "an HDF5 file", CONVERT),
        (b"SQLite format 3", "an SQLite database", CONVERT),
        (b"\x80\x04", "a Python pickle, which could run code", CONVERT),
        (b"\x80\x05", "a Python pickle, which could run code", CONVERT),
        (b"<?xml", "XML", CONVERT),
    ];
    let is_tar = start.get(257..262).is_some_and(|magic| magic == b"ustar");
    let known = KINDS.iter().find(|(magic, ..)| start.starts_with(magic)).map(|(_, kind, advice)| (*kind, *advice));
    let known = known.or(is_tar.then_some(("a tar archive", UNPACK)));
    known.map(|(kind, advice)| format!("it is {kind}: {advice}")).or_else(|| {
        let header = header(&start_text)?;
        Some(format!(
            "it is a table of text (CSV or TSV, with the columns `{header}`), and rows are JSON objects on lines: convert \
             it, for example with pandas: `read_csv(FILE).to_json(OUT, orient=\"records\", lines=True)`"
        ))
    })
}

/// The encoding of text that is not UTF-8. Without a mark, JSON is recognised by the zeros next to its first character.
fn encoding(start: &[u8]) -> Option<&'static str> {
    let is_json = |byte: u8| matches!(byte, b'{' | b'[' | b' ' | b'\n' | b'\r');
    match *start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0, 0, 0, last, ..] if is_json(last) => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        [first, 0, 0, 0, ..] if is_json(first) => Some("UTF-32"),
        [first, 0, ..] if is_json(first) => Some("UTF-16LE"),
        [0, first, ..] if is_json(first) => Some("UTF-16BE"),
        _ => None,
    }
}

/// The first line of a text, if it looks like the names of columns.
fn header(text: &str) -> Option<String> {
    const LENGTH: usize = 200;
    let line = text.lines().next()?.trim();
    let is_name = |name: &str| {
        let name = name.trim().trim_matches('"');
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters
                .all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ' ' | '/' | '(' | ')'))
    };
    let is_header = [',', '\t', ';', '|'].iter().any(|mark| line.contains(*mark) && line.split(*mark).all(is_name));
    is_header.then(|| line.chars().take(LENGTH).collect())
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn what_is_no_file_of_rows_is_named() {
        let utf16: Vec<u8> = "{\"a\": 1}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (start, name) in [
            (&b"problem,answer\r\n\"1+1, here\",2\r\n"[..], "`problem,answer`"),
            (b"\"question\";\"final answer\"\n1;2\n", "CSV"),
            (b"a\tb\n", "TSV"),
            (b"\xff\xfe{\0", "UTF-16"),
            (b"\xfe\xff\0{", "UTF-16"),
            (&utf16, "UTF-16LE"),
            (b"\0[\0{", "UTF-16BE"),
            (b"\0\0\xfe\xff\0\0\0{", "UTF-32"),
            (b"\xff\xfe\0\0{\0\0\0", "UTF-32"),
            (b"PK\x03\x04...", "ZIP"),
            (b"\x28\xb5\x2f\xfd..", "zstd"),
            (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
            (b"<!DOCTYPE html><html>", "web page"),
        ] {
            let said = told(start).unwrap_or_default();
            assert!(said.contains(name), "{name}: {said}");
        }
        let tar = [&b"rows.jsonl"[..], &[0; 247], b"ustar\0"].concat();
        assert!(told(&tar).is_some_and(|said| said.contains("a tar archive")));
        for text in ["{\"a\": 1}", "[1, 2]", "", "not JSON", "1,2", "\"a\"", "null", "{", "x"] {
            assert_eq!(told(text.as_bytes()), None, "{text}");
        }
    }
}
