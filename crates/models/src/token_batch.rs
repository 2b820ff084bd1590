//! Ids and log-probabilities of a rollout, in the form the update reads.

use std::collections::HashMap;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use crate::error::{ModelError, Result};

/// The generated tokens of some requests.
///
/// Stored as a safetensors file: `ids` `[tokens]` I32 holds each request's prompt followed by its samples, `logprobs`
/// `[tokens]` F32 is 0 for prompts, and so is `sampling_logprobs` `[tokens]` F32, which only batches with a vocabulary
/// mask have; the metadata `requests` is the list of `{id, prompt, samples}` with the lengths.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenBatch {
    /// The requests by index.
    pub requests: Vec<RequestTokens>,
}

/// One request with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTokens {
    /// The request's id.
    pub id: String,
    /// Ids of its prompt.
    pub prompt: Vec<i64>,
    /// Its samples by index.
    pub samples: Vec<SampleTokens>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SampleTokens {
    /// The generated ids.
    pub ids: Vec<i64>,
    /// Log-probability of each id under the model itself, unmasked, at temperature 1.
    pub logprobs: Vec<f32>,
    /// Log-probability of each id under the distribution that it was drawn from; empty if it was not masked. Updates do
    /// not read it.
    pub sampling_logprobs: Vec<f32>,
}

#[derive(Serialize, Deserialize)]
struct Lengths {
    id: String,
    prompt: usize,
    samples: Vec<usize>,
}

const REQUESTS: &str = "requests";
const SAMPLING: &str = "sampling_logprobs";

impl TokenBatch {
    /// Whether its tokens were drawn under a vocabulary mask.
    fn is_masked(&self) -> bool {
        let mut samples = self.requests.iter().flat_map(|request| &request.samples);
        samples.any(|sample| !sample.sampling_logprobs.is_empty())
    }

    /// The request called `id`.
    pub fn request(&self, id: &str) -> Option<&RequestTokens> {
        self.requests.iter().find(|request| request.id == id)
    }

    /// The file's bytes. The same batch gives the same bytes.
    ///
    /// # Errors
    /// An id that does not fit in 32 bits.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let fault = |reason: String| ModelError::Tokens(format!("tokens cannot be stored: {reason}"));
        let is_masked = self.is_masked();
        let (mut ids, mut logprobs, mut sampling, mut lengths) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut push = |tokens: &[i64], scores: [Option<&[f32]>; 2]| -> Result<()> {
            for id in tokens {
                let id = i32::try_from(*id).map_err(|_| fault(format!("id {id}")))?;
                ids.extend(id.to_le_bytes());
            }
            for (bytes, scores) in [&mut logprobs, &mut sampling].into_iter().zip(scores) {
                match scores {
                    Some(scores) => bytes.extend(scores.iter().flat_map(|score| score.to_le_bytes())),
                    None => bytes.extend(std::iter::repeat_n(0, 4 * tokens.len())),
                }
            }
            Ok(())
        };
        for request in &self.requests {
            push(&request.prompt, [None, None])?;
            for sample in &request.samples {
                let masked = is_masked.then_some(sample.sampling_logprobs.as_slice());
                push(&sample.ids, [Some(&sample.logprobs), masked])?;
            }
            lengths.push(Lengths {
                id: request.id.clone(),
                prompt: request.prompt.len(),
                samples: request.samples.iter().map(|sample| sample.ids.len()).collect(),
            });
        }
        if ids.len() != logprobs.len() || ids.len() != sampling.len() {
            return Err(fault("a sample's numbers of ids and log-probabilities differ".to_owned()));
        }
        let tokens = ids.len() / 4;
        let view = |dtype, bytes| TensorView::new(dtype, vec![tokens], bytes).map_err(|error| fault(error.to_string()));
        let mut views = vec![("ids", view(Dtype::I32, &ids)?), ("logprobs", view(Dtype::F32, &logprobs)?)];
        if is_masked {
            views.push((SAMPLING, view(Dtype::F32, &sampling)?));
        }
        let lengths = serde_json::to_string(&lengths).map_err(|error| fault(error.to_string()))?;
        let metadata = HashMap::from([(REQUESTS.to_owned(), lengths)]);
        safetensors::serialize(views, Some(metadata)).map_err(|error| fault(error.to_string()))
    }

    /// Reads the output of [`TokenBatch::to_bytes`].
    ///
    /// # Errors
    /// Malformed bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let fault = |reason: &str| ModelError::Tokens(format!("not a batch of tokens: {reason}"));
        let said = |error: safetensors::SafeTensorError| fault(&error.to_string());
        let file = SafeTensors::deserialize(bytes).map_err(said)?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(said)?;
        let lengths = header.metadata().as_ref().and_then(|metadata| metadata.get(REQUESTS));
        let lengths = lengths.ok_or_else(|| fault("it has no `requests`"))?;
        let lengths: Vec<Lengths> = serde_json::from_str(lengths).map_err(|error| fault(&error.to_string()))?;
        let words = |name: &str, dtype: Dtype| -> Result<Vec<[u8; 4]>> {
            let tensor = file.tensor(name).map_err(said)?;
            if tensor.dtype() != dtype {
                return Err(fault(&format!("`{name}` is {:?}", tensor.dtype())));
            }
            Ok(tensor.data().as_chunks().0.to_vec())
        };
        let (ids, logprobs) = (words("ids", Dtype::I32)?, words("logprobs", Dtype::F32)?);
        let is_masked = file.names().contains(&SAMPLING);
        let sampling = if is_masked { words(SAMPLING, Dtype::F32)? } else { Vec::new() };
        let mut at = 0;
        let mut take = |count: usize| -> Result<(Vec<i64>, Vec<f32>, Vec<f32>)> {
            let range = at..at + count;
            at += count;
            let masked = if is_masked { range.clone() } else { 0..0 };
            let (Some(ids), Some(scores), Some(masked)) =
                (ids.get(range.clone()), logprobs.get(range), sampling.get(masked))
            else {
                return Err(fault("it holds fewer tokens than `requests` declares"));
            };
            let floats = |words: &[[u8; 4]]| words.iter().map(|word| f32::from_le_bytes(*word)).collect();
            Ok((ids.iter().map(|word| i64::from(i32::from_le_bytes(*word))).collect(), floats(scores), floats(masked)))
        };
        let mut requests = Vec::with_capacity(lengths.len());
        for request in lengths {
            let (prompt, ..) = take(request.prompt)?;
            let samples = request.samples.into_iter().map(|length| {
                let (ids, logprobs, sampling_logprobs) = take(length)?;
                Ok(SampleTokens { ids, logprobs, sampling_logprobs })
            });
            requests.push(RequestTokens { id: request.id, prompt, samples: samples.collect::<Result<_>>()? });
        }
        Ok(Self { requests })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> TokenBatch {
        let sample = |ids: &[i64]| SampleTokens {
            ids: ids.to_vec(),
            logprobs: ids.iter().map(|id| -0.125 * *id as f32).collect(),
            sampling_logprobs: Vec::new(),
        };
        TokenBatch {
            requests: vec![
                RequestTokens { id: "a".to_owned(), prompt: vec![1, 2], samples: vec![sample(&[3]), sample(&[])] },
                RequestTokens { id: "\"b\" é".to_owned(), prompt: vec![151_935], samples: vec![sample(&[4, 5, 6])] },
            ],
        }
    }

    #[test]
    fn a_batch_comes_back_as_it_was_and_twice_the_same() {
        let bytes = batch().to_bytes().unwrap();
        assert_eq!(TokenBatch::from_bytes(&bytes).unwrap(), batch());
        assert_eq!(batch().to_bytes().unwrap(), bytes);
        let mut masked = batch();
        for sample in masked.requests.iter_mut().flat_map(|request| &mut request.samples) {
            sample.sampling_logprobs = sample.ids.iter().map(|id| -0.0625 * *id as f32).collect();
        }
        let both = masked.to_bytes().unwrap();
        assert_eq!(TokenBatch::from_bytes(&both).unwrap(), masked);
        assert!(TokenBatch::from_bytes(&both[..both.len() - 4]).is_err());
        masked.requests[0].samples[0].sampling_logprobs.clear();
        assert!(masked.to_bytes().is_err());
        let empty = TokenBatch::default();
        assert_eq!(TokenBatch::from_bytes(&empty.to_bytes().unwrap()).unwrap(), empty);
    }

    #[test]
    fn what_is_cut_or_other_is_refused() {
        let bytes = batch().to_bytes().unwrap();
        for end in [0, 7, bytes.len() / 2, bytes.len() - 1] {
            assert!(TokenBatch::from_bytes(&bytes[..end]).is_err());
        }
        let mut short = batch();
        short.requests[0].samples[0].logprobs.clear();
        assert!(short.to_bytes().is_err());
        let mut large = batch();
        large.requests[0].prompt[0] = 1 << 40;
        assert!(large.to_bytes().unwrap_err().to_string().contains("id 1099511627776"));
    }
}
