//! `lyceum top`: what is running, redrawn.

use std::process::ExitCode;
use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Args;
use console::Term;
use serde_json::Value;

use crate::client::Client;
use crate::command::ServerArgs;
use crate::frame::text::inert;
use crate::settings::CommonArgs;

/// Watch running runs and live workers; end with Ctrl-C
///
/// Without a terminal it prints what there is once.
#[derive(Args, Debug)]
pub(crate) struct Top {
    /// Seconds between two looks
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,

    #[command(flatten)]
    server: ServerArgs,
}

impl Top {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        let term = Term::stdout();
        if !term.is_term() {
            for line in lines(&client, Utc::now())? {
                super::output::line(line)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let mut drawn = 0;
        loop {
            // A server that is away for a moment, as during an upgrade, does not end the watch.
            let lines = lines(&client, Utc::now()).unwrap_or_else(|error| vec![format!("{error:#}")]);
            let (height, width) = term.size();
            term.clear_last_lines(drawn)?;
            drawn = 0;
            for line in lines.iter().take(usize::from(height).saturating_sub(1)) {
                let line = inert(line).replace('\n', "␊");
                term.write_line(&console::truncate_str(&line, usize::from(width), "…"))?;
                drawn += 1;
            }
            std::thread::sleep(Duration::from_secs(self.interval));
        }
    }
}

fn lines(client: &Client, now: DateTime<Utc>) -> anyhow::Result<Vec<String>> {
    let runs = client.items("/api/v1/runs?state=running", 100)?;
    let workers = client.items("/api/v1/workers?alive=true", 100)?;
    let mut lines = vec![format!("{}  {} running, {} workers", now.format("%H:%M:%S UTC"), runs.len(), workers.len())];
    lines.extend(runs.iter().map(|run| of_run(run, now)));
    lines.extend(workers.iter().map(|worker| of_worker(worker, now)));
    Ok(lines)
}

fn of_run(run: &Value, now: DateTime<Utc>) -> String {
    const WIDTH: u64 = 20;
    let (step, steps) = (run["step"].as_u64().unwrap_or(0), run["steps"].as_u64().unwrap_or(0));
    let full = (step * WIDTH).checked_div(steps).unwrap_or(0).min(WIDTH) as usize;
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(WIDTH as usize - full));
    format!(
        "run     {bar} {:>11}  {:>6} problems, {:>6} valid  {:>8} attempts  changed {:>5} ago  {}",
        format!("{step}/{steps}"),
        run["problems"],
        run["valid_problems"],
        run["attempts"],
        since(&run["updated_at"], now),
        run["name"].as_str().unwrap_or_default(),
    )
}

fn of_worker(worker: &Value, now: DateTime<Utc>) -> String {
    let text = |field: &str| worker[field].as_str().unwrap_or_default().to_owned();
    let names = |field: &str| {
        let names = worker[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.collect::<Vec<_>>().join(",")
    };
    let has = [("samples with ", "samplers"), ("trains with ", "trainers")].map(|(what, field)| match names(field) {
        none if none.is_empty() => none,
        names => format!("  {what}{names}"),
    });
    format!(
        "worker  {:9} {}  seen {} ago  {}  takes {}{}",
        text("state"),
        text("device"),
        since(&worker["last_seen"], now),
        text("name"),
        names("kinds"),
        has.concat()
    )
}

fn since(moment: &Value, now: DateTime<Utc>) -> String {
    let moment = moment.as_str().and_then(|moment| moment.parse::<DateTime<Utc>>().ok());
    let seconds = moment.map_or(0, |moment| (now - moment).num_seconds().max(0));
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bar_is_as_full_as_its_run() {
        let now = "2026-01-01T00:02:05Z".parse().unwrap();
        let run = |step| json!({"step": step, "steps": 4, "updated_at": "2026-01-01T00:00:00Z", "name": "n"});
        let full = |step| of_run(&run(step), now).matches('█').count();
        assert_eq!((full(0), full(1), full(4)), (0, 5, 20));
        assert!(of_run(&run(1), now).contains("2 min ago"));
    }

    #[test]
    fn a_worker_says_what_it_takes_and_with_what() {
        let now = "2026-01-01T00:00:05Z".parse().unwrap();
        let mut worker = json!({
            "state": "idle", "device": "cpu", "last_seen": "2026-01-01T00:00:00Z", "name": "n",
            "kinds": ["rollout", "update"], "samplers": ["engine", "served"], "trainers": ["torchrun"]
        });
        assert_eq!(
            of_worker(&worker, now),
            "worker  idle      cpu  seen 5 s ago  n  takes rollout,update  samples with engine,served  trains with torchrun"
        );
        worker["kinds"] = json!(["verify"]);
        worker["samplers"] = json!([]);
        worker["trainers"] = json!([]);
        assert!(of_worker(&worker, now).ends_with("  n  takes verify"));
    }
}
