//! Python's `str`: code points, lone surrogates included.

/// A sequence of code points, stored as generalised UTF-8 (Python's `surrogatepass`): a surrogate takes three bytes,
/// and two consecutive surrogates stay two. Equal strings have equal bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct PyStr(Vec<u8>);

impl PyStr {
    /// Takes generalised UTF-8; `None` if the bytes are invalid.
    #[must_use]
    pub fn from_generalised(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (_, length) = split_code_point(rest)?;
            rest = &rest[length..];
        }
        Some(Self(bytes.to_vec()))
    }

    /// Appends one code point; returns false and does nothing if it is above U+10FFFF.
    pub fn push(&mut self, code_point: u32) -> bool {
        match code_point {
            0..0x80 => self.0.push(code_point as u8),
            0x80..0x800 => self.0.extend([0xC0 | (code_point >> 6) as u8, tail(code_point)]),
            0x800..0x1_0000 => {
                self.0
                    .extend([0xE0 | (code_point >> 12) as u8, tail(code_point >> 6), tail(code_point)]);
            }
            0x1_0000..0x11_0000 => self.0.extend([
                0xF0 | (code_point >> 18) as u8,
                tail(code_point >> 12),
                tail(code_point >> 6),
                tail(code_point),
            ]),
            _ => return false,
        }
        true
    }

    /// Appends a text.
    pub fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Appends another string.
    pub fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// The text, if it contains no surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The bytes in generalised UTF-8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the string is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn code_points(&self) -> impl Iterator<Item = u32> + '_ {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let (code_point, length) = split_code_point(rest)?;
            rest = &rest[length..];
            Some(code_point)
        })
    }
}

impl From<&str> for PyStr {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

fn tail(code_point: u32) -> u8 {
    0x80 | (code_point & 0x3F) as u8
}

fn split_code_point(bytes: &[u8]) -> Option<(u32, usize)> {
    let continued = |at: usize| match bytes.get(at) {
        Some(byte) if byte & 0xC0 == 0x80 => Some(u32::from(byte & 0x3F)),
        _ => None,
    };
    let first = u32::from(*bytes.first()?);
    let (code_point, length, least) = match first {
        0..0x80 => (first, 1, 0),
        0xC0..0xE0 => ((first & 0x1F) << 6 | continued(1)?, 2, 0x80),
        0xE0..0xF0 => ((first & 0xF) << 12 | continued(1)? << 6 | continued(2)?, 3, 0x800),
        0xF0..0xF8 => (
            (first & 0x7) << 18 | continued(1)? << 12 | continued(2)? << 6 | continued(3)?,
            4,
            0x1_0000,
        ),
        _ => return None,
    };
    (code_point >= least && code_point < 0x11_0000).then_some((code_point, length))
}
