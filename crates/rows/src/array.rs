//! A JSON array as lines, one per element.

use std::io::{self, BufRead, Read};

/// Writes each element of a JSON array on a line of its own, without parsing the elements: line breaks between tokens
/// become spaces, and commas between elements line breaks.
pub(super) struct ArrayLines<R> {
    array: R,
    depth: usize,
    is_string: bool,
    is_escaped: bool,
}

impl<R: BufRead> ArrayLines<R> {
    pub(super) fn new(array: R) -> Self {
        Self { array, depth: 0, is_string: false, is_escaped: false }
    }

    fn written(&mut self, byte: u8) -> u8 {
        if self.is_string {
            self.is_string = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            return byte;
        }
        match byte {
            b'"' => self.is_string = true,
            b'[' | b'{' => {
                self.depth += 1;
                if self.depth == 1 {
                    return b' ';
                }
            }
            b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return b'\n';
                }
            }
            b',' if self.depth == 1 => return b'\n',
            b'\n' | b'\r' => return b' ',
            _ => {}
        }
        byte
    }
}

impl<R: BufRead> Read for ArrayLines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.array.read(out)?;
        if read == 0 && self.depth > 0 && !out.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the JSON array does not end: the file is cut short",
            ));
        }
        for byte in &mut out[..read] {
            *byte = self.written(*byte);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn lines(array: &str) -> io::Result<Vec<Value>> {
        let mut text = String::new();
        ArrayLines::new(array.as_bytes()).read_to_string(&mut text)?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        Ok(lines.map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a\\\\\"\\[\\]{},\n é]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a\\\\\",]{0,4}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn elements_are_the_lines(elements in prop::collection::vec(value(), 0..5), is_pretty: bool) {
            let array = Value::from(elements.clone());
            let text = if is_pretty { serde_json::to_string_pretty(&array) } else { serde_json::to_string(&array) };
            prop_assert_eq!(lines(&text.unwrap()).unwrap(), elements);
        }
    }

    #[test]
    fn an_array_that_is_cut_short_is_refused() {
        assert!(lines("[{\"a\": 1}, {\"a\"").is_err());
        assert!(lines("[").is_err());
        assert!(lines("[]").unwrap().is_empty());
    }
}
