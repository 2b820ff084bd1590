//! The difference between two rollouts of the same requests, token by token.

use lyceum_core::work::TokenDifference;
use lyceum_models::token_batch::{SampleTokens, TokenBatch};

/// For each request and sample of `again`, its difference from `earlier`.
///
/// # Errors
/// The batches have other requests or other numbers of samples.
pub(super) fn differences(earlier: &TokenBatch, again: &TokenBatch) -> Result<Vec<Vec<TokenDifference>>, String> {
    let lengths = |batch: &TokenBatch| -> Vec<(String, usize)> {
        let requests = batch.requests.iter();
        requests
            .map(|request| (request.id.clone(), request.samples.len()))
            .collect()
    };
    if lengths(earlier) != lengths(again) {
        return Err("the rollout to compare with has other requests".to_owned());
    }
    let pairs = earlier.requests.iter().zip(&again.requests);
    let of_request = pairs.map(|(earlier, again)| {
        let samples = earlier.samples.iter().zip(&again.samples);
        samples.map(|(earlier, again)| difference(earlier, again)).collect()
    });
    Ok(of_request.collect())
}

fn difference(earlier: &SampleTokens, again: &SampleTokens) -> TokenDifference {
    let pairs = earlier.ids.iter().zip(&again.ids);
    let common = pairs.take_while(|(one, other)| one == other).count();
    let scores = earlier.logprobs.iter().zip(&again.logprobs).take(common);
    TokenDifference {
        first_token: (common < earlier.ids.len().max(again.ids.len())).then_some(common as u32),
        logprob: scores.map(|(one, other)| (one - other).abs()).fold(0.0, f32::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_models::token_batch::RequestTokens;

    fn batch(samples: &[&[i64]], shift: f32) -> TokenBatch {
        let sample = |ids: &&[i64]| SampleTokens {
            ids: ids.to_vec(),
            logprobs: ids.iter().map(|id| shift - *id as f32).collect(),
            sampling_logprobs: Vec::new(),
        };
        TokenBatch {
            requests: vec![RequestTokens {
                id: "0".to_owned(),
                prompt: vec![1],
                samples: samples.iter().map(sample).collect(),
            }],
        }
    }

    #[test]
    fn the_first_token_that_differs_is_found_and_later_ones_do_not_count() {
        let earlier = batch(&[&[1, 2, 3], &[1, 2], &[4]], 0.0);
        let again = batch(&[&[1, 2, 3], &[1, 2, 5], &[6]], 0.25);
        let found = differences(&earlier, &again).unwrap();
        let told: Vec<_> = found[0].iter().map(|one| (one.first_token, one.logprob)).collect();
        assert_eq!(told, [(None, 0.25), (Some(2), 0.25), (Some(0), 0.0)]);
        assert!(differences(&earlier, &batch(&[&[1]], 0.0)).is_err());
    }
}
