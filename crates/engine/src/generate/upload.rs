//! Everything that a step needs from the host, in one transfer to the device.

use tch::{Device, Kind, Tensor};

use crate::device::upload;
use crate::error::Result;

/// Numbers being collected. A transfer of its own for each would cost more than what it carries, and on a GPU could wait for
/// all earlier work.
#[derive(Debug, Default)]
pub(super) struct Upload {
    words: Vec<i64>,
}

/// The place of some indices in an upload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Indices {
    start: usize,
    count: usize,
}

/// The place of some fp32 numbers in an upload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    start: usize,
    count: usize,
}

/// What was sent.
#[derive(Debug)]
pub(super) struct Uploaded(Tensor);

impl Upload {
    /// Adds indices.
    pub(super) fn indices(&mut self, values: &[i64]) -> Indices {
        let start = self.words.len();
        self.words.extend(values);
        Indices { start, count: values.len() }
    }

    /// Adds numbers, two to a word.
    pub(super) fn numbers(&mut self, values: &[f32]) -> Numbers {
        let start = self.words.len();
        let word = |pair: &[f32]| {
            let mut bytes = [0; 8];
            for (number, bytes) in pair.iter().zip(bytes.chunks_exact_mut(4)) {
                bytes.copy_from_slice(&number.to_ne_bytes());
            }
            i64::from_ne_bytes(bytes)
        };
        self.words.extend(values.chunks(2).map(word));
        Numbers { start, count: values.len() }
    }

    /// Words collected so far.
    pub(super) fn words(&self) -> i64 {
        self.words.len() as i64
    }

    pub(super) fn send(&self, device: Device) -> Result<Uploaded> {
        Ok(Uploaded(upload(&self.words, device)?))
    }
}

impl Uploaded {
    /// A copy of the first N words, for others to be copied into.
    pub(super) fn first(&self, words: i64) -> Result<Self> {
        let first = Self(self.0.f_narrow(0, 0, words)?.f_empty_like()?);
        first.replace(self)?;
        Ok(first)
    }

    /// Replaces all words by the first ones of `other`.
    pub(super) fn replace(&self, other: &Self) -> Result<()> {
        let first = other.0.f_narrow(0, 0, self.0.size1()?)?;
        self.0.shallow_clone().f_copy_(&first)?;
        Ok(())
    }

    /// Indices, `[count]`.
    pub(super) fn indices(&self, Indices { start, count }: Indices) -> Result<Tensor> {
        Ok(self.0.f_narrow(0, start as i64, count as i64)?)
    }

    /// Numbers as a column, `[count, 1]`.
    pub(super) fn column(&self, Numbers { start, count }: Numbers) -> Result<Tensor> {
        let words = self.0.f_narrow(0, start as i64, count.div_ceil(2) as i64)?;
        let numbers = words.f_view_dtype(Kind::Float)?.f_narrow(0, 0, count as i64)?;
        Ok(numbers.f_unsqueeze(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_together_is_found_again() {
        let mut upload = Upload::default();
        let odd = upload.numbers(&[0.1, -2.0, f32::INFINITY]);
        let ids = upload.indices(&[7, -1, 1 << 40]);
        let even = upload.numbers(&[3.0, 4.5]);
        let none = upload.indices(&[]);
        let sent = upload.send(Device::Cpu).unwrap();
        let column = |numbers| {
            let column = sent.column(numbers).unwrap();
            assert_eq!(column.size()[1], 1);
            Vec::<f32>::try_from(column.view([-1])).unwrap()
        };
        assert_eq!(column(odd), [0.1, -2.0, f32::INFINITY]);
        assert_eq!(column(even), [3.0, 4.5]);
        assert_eq!(Vec::<i64>::try_from(sent.indices(ids).unwrap()).unwrap(), [7, -1, 1 << 40]);
        assert_eq!(sent.indices(none).unwrap().size(), [0]);
    }
}
