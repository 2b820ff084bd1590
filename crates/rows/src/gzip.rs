//! Gzip data of one member or several.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The contents of gzip members one after the other. Zeros after the last one are padding; anything else is refused, since
/// it may be rows that were appended.
pub(super) struct Gunzip<R> {
    state: State<R>,
}

enum State<R> {
    Member(Box<GzDecoder<R>>),
    Between(R),
    Ended,
}

impl<R: BufRead> Gunzip<R> {
    pub(super) fn new(packed: R) -> Self {
        let state = State::Member(Box::new(GzDecoder::new(packed)));
        Self { state }
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Ended) {
                State::Member(mut member) => match member.read(out).map_err(damaged)? {
                    0 => State::Between(member.into_inner()),
                    read => {
                        self.state = State::Member(member);
                        return Ok(read);
                    }
                },
                State::Between(mut packed) => {
                    let next = packed.fill_buf()?;
                    match next.first() {
                        None => return Ok(0),
                        Some(0x1f) => State::Member(Box::new(GzDecoder::new(packed))),
                        Some(0) => {
                            let zeros = next.iter().take_while(|byte| **byte == 0).count();
                            packed.consume(zeros);
                            State::Between(packed)
                        }
                        Some(_) => {
                            return Err(io::Error::new(
                                io::ErrorKind::InvalidData,
                                "after its gzip data the file has other bytes, so it is damaged or something was appended \
                                 to it: unpack it (`gzip -dc FILE`), and import the rows that it should have",
                            ));
                        }
                    }
                }
                State::Ended => return Ok(0),
            };
        }
    }
}

fn damaged(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, format!("the gzip data is damaged or cut short: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn packed(text: &str) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    }

    fn unpacked(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        Gunzip::new(bytes).read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn members_and_padding_are_read_and_anything_else_is_refused() {
        let (one, two) = (packed("one\n"), packed("two\n"));
        assert_eq!(unpacked(&[&one[..], &two].concat()).unwrap(), "one\ntwo\n");
        assert_eq!(unpacked(&[&one[..], &[0; 9], &two, &[0; 3]].concat()).unwrap(), "one\ntwo\n");
        let said = unpacked(&[&one[..], b"garbage"].concat()).unwrap_err().to_string();
        assert!(said.contains("after its gzip data"), "{said}");
        for cut in 1..one.len() {
            assert!(unpacked(&one[..cut]).is_err(), "{cut}");
        }
    }
}
