//! Several files of rows read one after the other.

use std::io::{self, Read};

use super::Text;

/// The lines of several files, each opened when it is its turn.
pub struct Joined<'f, I> {
    files: I,
    current: Option<Text<'f>>,
    /// Whether what was read so far ends in the middle of a line.
    is_open: bool,
}

impl<'f, I: Iterator<Item = io::Result<Text<'f>>>> Joined<'f, I> {
    /// Those of `files`, in order.
    pub fn new(files: I) -> Self {
        Self { files, current: None, is_open: false }
    }
}

impl<'f, I: Iterator<Item = io::Result<Text<'f>>>> Read for Joined<'f, I> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(file) = &mut self.current {
                let read = file.read(out)?;
                if read > 0 {
                    self.is_open = out[read - 1] != b'\n';
                    return Ok(read);
                }
                self.current = None;
                if self.is_open {
                    self.is_open = false;
                    out[0] = b'\n';
                    return Ok(1);
                }
            }
            match self.files.next() {
                Some(file) => self.current = Some(file?),
                None => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_file_stays_a_line() {
        let files = ["a\nb", "", "c\n", "d"].map(|text| Ok(Box::new(text.as_bytes()) as Text<'_>));
        let mut text = String::new();
        Joined::new(files.into_iter()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\nb\nc\nd\n");
    }
}
