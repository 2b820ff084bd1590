//! How many answers an item generates: few enough that nobody who needs the worker for another base waits long.

use std::collections::BTreeSet;
use std::fs;

use lyceum_core::recipe::{BenchmarkSubject, SuiteSlice};
use lyceum_store::{StoreError, benchmarks};
use sqlx::PgConnection;

use crate::estimate::folder_of;

/// The answers of an item. Every step of generation reads all weights, whatever the number of answers, so fewer would hardly end
/// sooner; on an accelerator the most do not take much longer either. Neither was measured.
const LEAST: u32 = 8;
const MOST: u32 = 64;
/// The seconds that an item should take at the pace of a large one. A smaller one takes up to three times as long: each step reads all
/// weights, and the longest answer decides how many there are. Of 16 such answers two items took 56 and 73 seconds instead of 29.
const SECONDS: f64 = 20.0;
/// Bytes of weights times generated tokens a second, on two CPU cores: with 1.26 GB of Qwen2.5-Coder-0.5B, 64 answers to GSM8K took 116
/// seconds for 18,467 tokens.
const BYTES_A_SECOND: f64 = 2e11;
/// The share of the most tokens of an answer that one usually has; there it was 0.56.
const USUAL: f64 = 0.5;

/// The most answers of an item, by the base and the suite that take longest. A base generates as fast as when it was last
/// measured, on this suite if it was; before it ever was, as fast as weights of its size do on two cores. What is not known
/// here is not expected to be slow.
pub(super) async fn samples_per_item(
    db: &mut PgConnection,
    suites: &[SuiteSlice],
    subjects: &[BenchmarkSubject],
) -> Result<u32, StoreError> {
    if benchmarks::has_accelerator(&mut *db).await? {
        return Ok(MOST);
    }
    let bases: BTreeSet<&str> = subjects.iter().map(|subject| subject.base_model.name.as_str()).collect();
    let mut slowest = 0_f64;
    for base in bases {
        for slice in suites {
            let tokens = USUAL * f64::from(slice.protocol.max_tokens);
            let seconds = match benchmarks::pace(&mut *db, base, slice.name()).await? {
                Some(pace) if pace.is_of_suite => pace.seconds_per_answer,
                Some(pace) => tokens * pace.seconds_per_token,
                None => tokens * bytes(base) as f64 / BYTES_A_SECOND,
            };
            slowest = slowest.max(seconds);
        }
    }
    Ok(fitting(slowest))
}

fn fitting(seconds: f64) -> u32 {
    ((SECONDS / seconds) as u32).clamp(LEAST, MOST)
}

/// The size of a base's weights, if they are on this machine; 0 otherwise.
fn bytes(base: &str) -> u64 {
    let files = folder_of(base).and_then(|folder| fs::read_dir(folder).ok());
    let weights = files
        .into_iter()
        .flatten()
        .flatten()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "safetensors"));
    weights.filter_map(|file| fs::metadata(file.path()).ok()).map(|file| file.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_takes_a_third_of_a_minute_at_the_pace_of_a_large_one_unless_it_has_the_fewest_answers() {
        let expected = [(0.0, 64), (0.1, 64), (1.0, 20), (2.0, 10), (10.0, 8), (f64::INFINITY, 8)];
        for (seconds, answers) in expected {
            assert_eq!(fitting(seconds), answers, "{seconds}");
        }
    }
}
