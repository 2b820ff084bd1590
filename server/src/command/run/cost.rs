//! `lyceum run cost`: the compute account of a run (PopuLoRA, Table 2).

use anyhow::{Context as _, bail};
use chrono::{DateTime, Utc};
use lyceum_core::compute::{ComputeAccount, WARM_UP_STEPS, compute_account};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::Client;

/// The account as JSON: the finished steps, extrapolated to all that the run does itself; a fork begins after those that it
/// took over.
pub(super) fn cost(client: &Client, id: Uuid) -> anyhow::Result<Value> {
    let run = client.get(&format!("/api/v1/runs/{id}"))?;
    let mut ended: Vec<(u64, f64)> = Vec::new();
    let mut cursor = None;
    loop {
        let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let page = client.get(&format!("/api/v1/runs/{id}/steps?order=oldest&limit=100{after}"))?;
        ended.extend(page["items"].as_array().into_iter().flatten().filter_map(ended_step));
        cursor = page["next"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    let seconds: Vec<f64> = ended.iter().map(|(_, seconds)| *seconds).collect();
    let last = match ended.last() {
        Some((last, _)) if ended.len() > WARM_UP_STEPS => *last,
        _ => bail!(
            "the first {WARM_UP_STEPS} steps warm up and do not count, and {} of the run have ended",
            ended.len()
        ),
    };
    let updates = client.get(&format!(
        "/api/v1/runs/{id}/metrics?metrics=updates&run_alone=true&from={last}&to={last}&level=0"
    ))?;
    let adapters = updates["rows"][0]["mean"][0]
        .as_f64()
        .context("the run does not say how many adapters a step updates")? as u32;
    let count = |field: &str| run[field].as_u64().unwrap_or(0);
    let steps = u32::try_from(count("steps").saturating_sub(count("forked_at_step"))).unwrap_or(u32::MAX);
    let account = compute_account(&seconds, adapters, steps).context("no step counts")?;
    Ok(told(&account, seconds.len(), adapters))
}

fn told(account: &ComputeAccount, steps: usize, adapters: u32) -> Value {
    json!({
        "steps_counted": steps - WARM_UP_STEPS,
        "adapters": adapters,
        "median_step_seconds": account.median_step_seconds,
        "run_seconds": account.extrapolated_seconds,
        "adapter_steps_per_hour": account.adapter_steps_per_hour,
    })
}

/// The number of a step and its duration in seconds; `None` if it has not ended.
fn ended_step(step: &Value) -> Option<(u64, f64)> {
    let at = |field: &str| step[field].as_str()?.parse::<DateTime<Utc>>().ok();
    let seconds = (at("finished_at")? - at("started_at")?).as_seconds_f64();
    Some((step["step"].as_u64()?, seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_counts_once_it_has_ended() {
        let open = json!({"step": 7, "started_at": "2026-01-01T00:00:00Z", "finished_at": null});
        let ended = json!({"step": 6, "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:05.250Z"});
        assert_eq!((ended_step(&open), ended_step(&ended)), (None, Some((6, 5.25))));
    }

    #[test]
    fn the_account_names_what_it_counted() {
        let account = compute_account(&[9.0, 9.0, 9.0, 9.0, 9.0, 2.0, 4.0], 8, 200).unwrap();
        let told = told(&account, 7, 8);
        assert_eq!(
            (&told["steps_counted"], &told["run_seconds"]),
            (&json!(2), &json!(600.0))
        );
    }
}
