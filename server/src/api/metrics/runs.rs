//! Running runs in the text format of Prometheus. They are written out by hand: a recorder would keep the labels of runs
//! for as long as the server runs.

use lyceum_store::gauges::{self, RunGauge};
use sqlx::PgPool;
use std::fmt::Write as _;

use crate::api_error::ApiError;

/// Running runs that are told of, which bounds the labels.
const RUNS: i64 = 50;

/// The lines about running runs.
pub(super) async fn render(db: &PgPool) -> Result<String, ApiError> {
    Ok(lines(&gauges::running_runs(db, RUNS).await?))
}

fn lines(runs: &[RunGauge]) -> String {
    let mut text = String::new();
    let mut family = |name: &str, about: &str, value: &dyn Fn(&RunGauge) -> f64| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} gauge");
        for run in runs {
            let _ = writeln!(text, "{name}{{{}}} {}", labels(run), value(run));
        }
    };
    family("lyceum_run_step", "Current step of a running run.", &|run| {
        f64::from(run.step)
    });
    family("lyceum_run_steps", "Number of steps of a running run.", &|run| {
        f64::from(run.steps)
    });
    family(
        "lyceum_run_quiet_seconds",
        "Time since anything last happened to a running run.",
        &|run| run.quiet_seconds,
    );
    let name = "lyceum_run_metric";
    let _ = writeln!(
        text,
        "# HELP {name} A metric of a running run in its last step.\n# TYPE {name} gauge"
    );
    for run in runs {
        let known = run
            .metrics
            .iter()
            .zip(&run.values)
            .filter(|(_, value)| value.is_finite());
        for (metric, value) in known {
            let _ = writeln!(text, "{name}{{{},metric=\"{}\"}} {value}", labels(run), escaped(metric));
        }
    }
    text
}

fn labels(run: &RunGauge) -> String {
    format!(
        "run=\"{}\",name=\"{}\",recipe=\"{}\"",
        run.id,
        escaped(&run.name),
        escaped(&run.recipe)
    )
}

/// A value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_run_is_told_with_its_metrics_and_its_name_breaks_no_line() {
        let run = RunGauge {
            id: Uuid::nil(),
            name: "a \"quoted\"\nname\\".to_owned(),
            recipe: "azr".to_owned(),
            step: 3,
            steps: 10,
            quiet_seconds: 1.5,
            metrics: vec!["solve_rate".to_owned(), "entropy".to_owned()],
            values: vec![0.25, f64::NAN],
        };
        let text = lines(&[run]);
        let labels = format!(
            "run=\"{}\",name=\"a \\\"quoted\\\"\\nname\\\\\",recipe=\"azr\"",
            Uuid::nil()
        );
        assert!(text.contains(&format!("lyceum_run_step{{{labels}}} 3\n")), "{text}");
        assert!(
            text.contains(&format!("lyceum_run_metric{{{labels},metric=\"solve_rate\"}} 0.25\n")),
            "{text}"
        );
        assert!(!text.contains("entropy"));
    }
}
