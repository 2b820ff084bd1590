//! Splits sequences into passes of bounded size and pads them into one tensor.

use std::ops::Range;

use tch::{Device, Tensor};

use crate::config::ModelConfig;
use crate::error::{EngineError, Result};
use crate::unwinding::as_errors;

/// Splits sequences of these lengths, in order, into passes of at most `tokens` tokens including padding; a longer
/// sequence gets a pass of its own. Depends on the lengths only.
pub(crate) fn passes(lengths: &[usize], tokens: usize) -> Vec<Range<usize>> {
    let mut passes = Vec::new();
    let (mut start, mut longest) = (0, 0);
    for (index, &length) in lengths.iter().enumerate() {
        let padded = longest.max(length);
        if index > start && (index - start + 1) * padded > tokens {
            passes.push(start..index);
            (start, longest) = (index, length);
        } else {
            longest = padded;
        }
    }
    if start < lengths.len() {
        passes.push(start..lengths.len());
    }
    passes
}

/// Runs `pass` over the [`passes`] of sequences of these lengths, and joins what it gives for each sequence. When memory runs
/// out, passes of half as many tokens go on from there, whose number `halved` is given. `name` names a sequence in errors.
pub(crate) fn in_passes<T>(
    (lengths, mut tokens): (&[usize], usize),
    device: Device,
    name: &dyn Fn(usize) -> String,
    halved: &mut dyn FnMut(usize),
    pass: impl Fn(Range<usize>) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    let mut results = Vec::with_capacity(lengths.len());
    while results.len() < lengths.len() {
        let done = results.len();
        for range in passes(&lengths[done..], tokens) {
            let range = done + range.start..done + range.end;
            match as_errors(|| pass(range.clone())) {
                Ok(of_pass) => results.extend(of_pass),
                Err(error) if error.is_out_of_memory() => {
                    let longest = lengths[range.clone()].iter().max().copied().unwrap_or(0);
                    if range.len() == 1 {
                        return Err(EngineError::OutOfMemory {
                            device: format!("{device:?}"),
                            detail: format!(
                                "even {} alone, of {longest} ids, does not fit; a shorter one would ({error})",
                                name(range.start)
                            ),
                        });
                    }
                    tokens = (range.len() * longest / 2).max(1);
                    halved(tokens);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(results)
}

/// Refuses an empty list and ids without an embedding.
pub(crate) fn check_ids(ids: &[i64], config: &ModelConfig) -> std::result::Result<(), String> {
    let vocabulary = config.vocab_size;
    if ids.is_empty() {
        return Err("there are no ids; at least one is needed".into());
    }
    match ids.iter().find(|&&id| id < 0 || id >= vocabulary) {
        Some(id) => Err(format!("id {id} is outside the vocabulary of {vocabulary}")),
        None => Ok(()),
    }
}

/// Right-padded ids.
pub(crate) struct Padded {
    /// `[sequences, length]`
    pub(crate) ids: Tensor,
    /// `[sequences]`
    pub(crate) lengths: Tensor,
    pub(crate) length: i64,
}

impl Padded {
    /// Pads with id 0, which no real position sees. The ids must have passed [`check_ids`].
    pub(crate) fn new<S: AsRef<[i64]>>(sequences: &[S], device: Device) -> Result<Self> {
        let lengths: Vec<i64> = sequences.iter().map(|ids| ids.as_ref().len() as i64).collect();
        let length = lengths.iter().copied().max().unwrap_or(0);
        let mut padded = vec![0; sequences.len() * length as usize];
        for (row, ids) in padded.chunks_mut(length.max(1) as usize).zip(sequences) {
            let ids = ids.as_ref();
            row[..ids.len()].copy_from_slice(ids);
        }
        Ok(Self {
            ids: Tensor::f_from_slice(&padded)?.f_view([sequences.len() as i64, length])?.f_to_device(device)?,
            lengths: Tensor::f_from_slice(&lengths)?.f_to_device(device)?,
            length,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::passes;

    proptest! {
        #[test]
        fn passes_cover_everything_once_in_order_within_the_bound(
            lengths in prop::collection::vec(1usize..40, 0..60), tokens in 1usize..200
        ) {
            let passes = passes(&lengths, tokens);
            let covered: Vec<usize> = passes.iter().cloned().flatten().collect();
            prop_assert_eq!(covered, (0..lengths.len()).collect::<Vec<_>>());
            for pass in passes {
                let longest = lengths[pass.clone()].iter().max().copied().unwrap_or(0);
                prop_assert!(pass.len() == 1 || pass.len() * longest <= tokens);
            }
        }
    }
}
