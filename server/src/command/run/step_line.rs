//! A step of a run in one line.

use chrono::DateTime;
use serde_json::Value;

/// What a watcher is told of a finished step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StepLine {
    /// The line.
    pub(super) text: String,
    /// The step's wall-clock time, in seconds.
    pub(super) seconds: Option<f64>,
    /// Adapters that were updated.
    pub(super) updates: Option<f64>,
}

/// The line for `step` (of `/runs/{id}/steps/{step}`) and `metrics` (of `/runs/{id}/metrics`). Metrics that the recipe does not
/// have are left out.
pub(super) fn step_line(step: &Value, metrics: &Value) -> StepLine {
    let metric = |name: &str| -> Option<f64> {
        let place = metrics["metrics"].as_array()?.iter().position(|known| known == name)?;
        metrics["rows"][0]["mean"][place].as_f64()
    };
    let seconds = seconds(step);
    let mut text = format!("step {:>4}", step["step"].as_u64().unwrap_or(0));
    let mut say = |part: String| {
        text.push_str("  ");
        text.push_str(&part);
    };
    if let (Some(valid), Some(proposals)) = (metric("valid_problems"), metric("proposals")) {
        match valid {
            0.0 => say(format!("none of {proposals} proposals valid")),
            _ => say(format!("{valid:>3} of {proposals} proposals valid")),
        }
    }
    if let Some(rate) = metric("solve_rate") {
        say(format!("{:>3.0} % solved", 100.0 * rate));
    }
    if let Some(share) = metric("learnable_share") {
        say(format!("{:>3.0} % learnable", 100.0 * share));
    }
    if let Some(share) = metric("teacher_wins") {
        say(format!("teachers won {:>3.0} %", 100.0 * share));
    }
    if let Some(coverage) = metric("coverage") {
        say(format!("coverage {:.2} %", 100.0 * coverage));
    }
    if let Some(births) = metric("births").filter(|births| *births > 0.0) {
        say(format!("{births} born"));
    }
    if let Some(seconds) = seconds {
        say(format!("{seconds:.1} s"));
    }
    StepLine {
        text,
        seconds,
        updates: metric("updates"),
    }
}

fn seconds(step: &Value) -> Option<f64> {
    let time = |field: &str| DateTime::parse_from_rfc3339(step[field].as_str()?).ok();
    let took = time("finished_at")? - time("started_at")?;
    Some(took.as_seconds_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_step_is_told_in_a_line_and_what_there_is_not_is_left_out() {
        let step = json!({
            "step": 12, "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:05.250Z"
        });
        let names = [
            "proposals",
            "valid_problems",
            "solve_rate",
            "coverage",
            "teacher_wins",
            "updates",
            "births",
        ];
        let metrics = json!({ "metrics": names, "rows": [{"mean": [24.0, 21.0, 0.434, 0.0312, 0.5, 4.0, 0.0]}] });
        let line = step_line(&step, &metrics);
        let wanted = "step   12   21 of 24 proposals valid   43 % solved  teachers won  50 %  coverage 3.12 %  5.2 s";
        assert_eq!(line.text, wanted);
        assert_eq!((line.seconds, line.updates), (Some(5.25), Some(4.0)));

        let nothing = json!({ "metrics": names, "rows": [{"mean": [24.0, 0.0, null, 0.0, 0.0, 2.0, 0.0]}] });
        let line = step_line(&json!({"step": 0}), &nothing).text;
        assert_eq!(
            line,
            "step    0  none of 24 proposals valid  teachers won   0 %  coverage 0.00 %"
        );
        assert_eq!(step_line(&json!({"step": 3}), &json!({})).text, "step    3");
    }
}
