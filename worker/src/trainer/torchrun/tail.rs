//! The end of what a group writes to standard error.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are kept.
const KEPT: usize = 6000;

/// The last bytes of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    /// Reads a stream to its end.
    pub(super) fn follow(&self, mut stream: impl Read) {
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut chunk) {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&chunk[..count]);
            let over = kept.len().saturating_sub(KEPT);
            kept.drain(..over);
        }
    }

    /// What was read last, from the start of a line if it was cut.
    pub(super) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        match text.split_once('\n') {
            Some((_, rest)) if kept.len() >= KEPT => rest.trim().to_owned(),
            _ => text.trim().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_in_whole_lines() {
        let tail = Tail::default();
        tail.follow("one\ntwo\n".as_bytes());
        assert_eq!(tail.text(), "one\ntwo");
        let many: String = (0..5000).map(|line| format!("line {line}\n")).collect();
        tail.follow(many.as_bytes());
        let text = tail.text();
        assert!(text.len() <= KEPT && text.starts_with("line ") && text.ends_with("line 4999"));
    }
}
