//! JSON objects over several lines as lines, one per object.

use std::io::{self, BufRead, Read};

use lyceum_core::benchmark::reader::LONGEST_LINE;

/// Whether a text of JSON objects has its first one on several lines: a line ends within it, and the next does not begin
/// another. So a line of which the end is missing stays a faulty line.
pub(super) fn has_open_line(start: &[u8]) -> bool {
    let mut nesting = Nesting::default();
    let Some(end) = start.iter().position(|byte| *byte == b'\n') else { return false };
    start[..end].iter().for_each(|byte| nesting.read(*byte));
    let next = start[end..].trim_ascii_start().first();
    start.starts_with(b"{") && nesting.depth > 0 && !nesting.is_string && next.is_some_and(|next| *next != b'{')
}

/// How deep a byte is in a JSON text.
#[derive(Default)]
struct Nesting {
    depth: usize,
    is_string: bool,
    is_escaped: bool,
}

impl Nesting {
    fn read(&mut self, byte: u8) {
        if self.is_string {
            self.is_string = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => self.is_string = true,
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Writes each object on a line of its own, without parsing it: line breaks in it become spaces.
pub(super) struct ObjectLines<R> {
    text: R,
    line: Vec<u8>,
    at: usize,
    count: u64,
}

impl<R: BufRead> ObjectLines<R> {
    pub(super) fn new(text: R) -> Self {
        Self { text, line: Vec::new(), at: 0, count: 0 }
    }

    /// Reads the next object, or what stands between two of them.
    fn next(&mut self) -> io::Result<()> {
        let mut nesting = Nesting::default();
        self.line.clear();
        (self.at, self.count) = (0, self.count + 1);
        loop {
            let piece = self.text.fill_buf()?;
            if piece.is_empty() {
                return match nesting.depth {
                    0 => Ok(()),
                    _ => Err(self.fault("does not end: the file is cut short, or a brace is missing")),
                };
            }
            for (at, byte) in piece.iter().enumerate() {
                let was_deep = nesting.depth > 0;
                nesting.read(*byte);
                match byte {
                    b'\n' | b'\r' if was_deep => self.line.push(b' '),
                    // White space between objects.
                    byte if self.line.is_empty() && byte.is_ascii_whitespace() => {}
                    byte => self.line.push(*byte),
                }
                let ends = if was_deep { nesting.depth == 0 } else { *byte == b'\n' && !self.line.is_empty() };
                if ends {
                    if was_deep {
                        self.line.push(b'\n');
                    }
                    self.text.consume(at + 1);
                    return Ok(());
                }
            }
            let read = piece.len();
            self.text.consume(read);
            if self.line.len() as u64 > LONGEST_LINE {
                return Err(self.fault(&format!("is longer than {} MiB, the maximum for a row", LONGEST_LINE >> 20)));
            }
        }
    }

    fn fault(&self, what: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("JSON object {} {what}", self.count))
    }
}

impl<R: BufRead> Read for ObjectLines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() && !out.is_empty() {
            self.next()?;
        }
        let read = (&self.line[self.at..]).read(out)?;
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn lines(text: &str) -> io::Result<Vec<String>> {
        let mut read = String::new();
        ObjectLines::new(io::BufReader::with_capacity(7, text.as_bytes())).read_to_string(&mut read)?;
        Ok(read.lines().map(str::to_owned).collect())
    }

    proptest! {
        #[test]
        fn pretty_objects_are_the_lines(
            rows in prop::collection::vec(prop::collection::btree_map("[a\\\\\"{}]{0,4}", "[a\\\\\"\\[\\]{},\n é]{0,8}", 0..3), 0..5),
            between in "[ \n]{0,3}",
        ) {
            let rows: Vec<Value> = rows.into_iter().map(|row| json!({"row": row, "list": [1, {}]})).collect();
            let text: Vec<String> = rows.iter().map(|row| serde_json::to_string_pretty(row).unwrap()).collect();
            let read: Vec<Value> = lines(&text.join(&between)).unwrap().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            prop_assert_eq!(read, rows);
        }
    }

    #[test]
    fn what_is_no_object_stays_a_line_and_what_is_cut_short_is_refused() {
        assert_eq!(lines("{\n}\nnonsense, and\n{\n\"a\": 1}").unwrap(), ["{ }", "nonsense, and", "{ \"a\": 1}"]);
        let said = lines("{\n}\n{\n\"a\": {").unwrap_err().to_string();
        assert!(said.contains("object 2"), "{said}");
    }

    #[test]
    fn objects_on_single_lines_are_told_from_objects_over_several() {
        for text in ["{\n \"a\": 1\n}", "{\"a\": [\n1]}", "{ \n\n}"] {
            assert!(has_open_line(text.as_bytes()), "{text}");
        }
        // The second of these has a faulty line.
        for text in ["{\"a\": 1}\n{}", "{\"a\": \n{\"a\": 1}\n", "{\"a\": 1}", "{\"a\n", ""] {
            assert!(!has_open_line(text.as_bytes()), "{text}");
        }
    }
}
