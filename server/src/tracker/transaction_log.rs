//! The container of W&B's `.wandb` files: records cut into blocks as in LevelDB's log, with a CRC-32 of W&B's own.

use std::io::{self, Write};

const BLOCK: usize = 32_768;
const HEADER: usize = 7;

/// What part of a record a piece is.
#[derive(Clone, Copy)]
enum Piece {
    Full = 1,
    First = 2,
    Middle = 3,
    Last = 4,
}

/// A log being written.
pub(super) struct TransactionLog<W> {
    out: W,
    /// Bytes of the current block.
    used: usize,
}

impl<W: Write> TransactionLog<W> {
    /// Begins with what tells such a file from others.
    pub(super) fn begin(mut out: W) -> io::Result<Self> {
        out.write_all(b":W&B\xe1\xbe\x00")?;
        Ok(Self { out, used: HEADER })
    }

    /// Adds a record.
    pub(super) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let mut rest = record;
        let mut first = true;
        loop {
            let room = BLOCK - self.used;
            if room < HEADER {
                self.out.write_all(&[0; HEADER][..room])?;
                self.used = 0;
                continue;
            }
            let (piece, after) = rest.split_at(rest.len().min(room - HEADER));
            let kind = match (first, after.is_empty()) {
                (true, true) => Piece::Full,
                (true, false) => Piece::First,
                (false, false) => Piece::Middle,
                (false, true) => Piece::Last,
            };
            self.write(kind, piece)?;
            (rest, first) = (after, false);
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn write(&mut self, kind: Piece, piece: &[u8]) -> io::Result<()> {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&[kind as u8]);
        sum.update(piece);
        self.out.write_all(&sum.finalize().to_le_bytes())?;
        self.out.write_all(&(piece.len() as u16).to_le_bytes())?;
        self.out.write_all(&[kind as u8])?;
        self.out.write_all(piece)?;
        self.used = (self.used + HEADER + piece.len()) % BLOCK;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a log, by LevelDB's rules.
    fn read(log: &[u8]) -> Vec<Vec<u8>> {
        let (mut at, mut records) = (HEADER, Vec::new());
        let (mut open, mut is_open) = (Vec::new(), false);
        while at < log.len() {
            if BLOCK - at % BLOCK < HEADER {
                at += BLOCK - at % BLOCK;
                continue;
            }
            let length = usize::from(u16::from_le_bytes([log[at + 4], log[at + 5]]));
            let (kind, data) = (log[at + 6], &log[at + HEADER..at + HEADER + length]);
            assert!(at % BLOCK + HEADER + length <= BLOCK, "a piece crosses a block");
            let sum = u32::from_le_bytes(log[at..at + 4].try_into().unwrap());
            assert_eq!(sum, crc32fast::hash(&[&[kind], data].concat()));
            assert_eq!(is_open, kind == 3 || kind == 4, "a record begins once");
            is_open = kind == 2 || kind == 3;
            // The first piece is empty where a block has just room for its header.
            open.extend_from_slice(data);
            if !is_open {
                records.push(std::mem::take(&mut open));
            }
            at += HEADER + length;
        }
        records
    }

    #[test]
    fn records_of_any_length_are_read_back() {
        // One that fills its block but for fewer bytes than a header, exactly, and one that takes several blocks.
        let first = BLOCK - HEADER - HEADER;
        for length in [
            1,
            first - 9,
            first - 7,
            first - 6,
            first - 1,
            first,
            first + 1,
            3 * BLOCK,
        ] {
            let records = vec![vec![1; length], vec![2; 40], vec![3; 40_000]];
            let mut log = Vec::new();
            let mut writer = TransactionLog::begin(&mut log).unwrap();
            for record in &records {
                writer.append(record).unwrap();
            }
            assert_eq!(read(&log), records, "{length}");
        }
    }
}
