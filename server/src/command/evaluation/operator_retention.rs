//! `lyceum evaluation operator-retention`.

use std::process::ExitCode;
use std::str::FromStr;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::retention::RetentionResult;
use serde_json::{Value, json};
use uuid::Uuid;

use super::begin;
use crate::client::Client;
use crate::command::evaluation::wait;
use crate::command::output::document;

/// Make children by evolution operators, train them further, and compare them with their parents
///
/// Parents have learned one task each by runs of `rlvr`; the children learn their parents' tasks further with the same
/// settings. Prints the evaluation's id (`lyceum evaluation show ID --format csv` has every point), and with --watch the
/// recovery R = (child - base) / (parent - base) after each measured step, where 1 is the parent and * marks children
/// within two standard errors of it:
///
///   lyceum evaluation operator-retention --parent RUN/solver-0 --parent RUN/solver-1 --snapshot 25 --steps 20 --watch
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct OperatorRetention {
    /// A parent: a run, and the name of a member unless it has only one; mutations change the first, crossovers mix two
    #[arg(long = "parent", required = true, value_name = "RUN[/MEMBER]")]
    parents: Vec<ParentArg>,
    /// Make children of the weights after this many steps; may be repeated
    #[arg(long = "snapshot", required = true, value_name = "STEP")]
    snapshots: Vec<u32>,
    /// An operator such as X1, or init for a fresh adapter; may be repeated [default: all for which there are parents]
    #[arg(long = "operator", value_name = "NAME")]
    operators: Vec<String>,
    /// Steps of retraining
    #[arg(long, default_value_t = 40)]
    steps: u32,
    /// Steps between measurements
    #[arg(long, default_value_t = 5)]
    every: u32,
    /// Rows of each task to measure on
    #[arg(long, default_value_t = 64)]
    rows: u32,
    /// Answers to each of these rows
    #[arg(long, default_value_t = 4)]
    n: u32,
    /// Children of each operator
    #[arg(long, default_value_t = 1)]
    seeds: u32,
    /// The random seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Wait for the end and print the recovery; exits with 1 if it failed
    #[arg(long)]
    watch: bool,
}

#[derive(Clone, Debug)]
struct ParentArg(Value);

impl FromStr for ParentArg {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (run, member) = match text.split_once('/') {
            Some((run, member)) => (run, Some(member)),
            None => (text, None),
        };
        let run: Uuid = run.parse()?;
        Ok(Self(match member {
            Some(member) => json!({"run": run, "member": member}),
            None => json!({ "run": run }),
        }))
    }
}

impl OperatorRetention {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        let parents: Vec<Value> = self.parents.into_iter().map(|parent| parent.0).collect();
        let spec = json!({
            "type": "operator_retention",
            "parents": parents,
            "snapshots": self.snapshots,
            "operators": self.operators,
            "steps": self.steps,
            "every": self.every,
            "rows": self.rows,
            "n": self.n,
            "seeds": self.seeds,
        });
        let id = begin(client, &spec, self.seed)?;
        if self.watch {
            let result = serde_json::from_value(wait(client, &id)?).context("the result has no curves")?;
            document(&table(&result))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A line for each operator, snapshot and task.
fn table(result: &RetentionResult) -> String {
    let mut text = format!("{:12} {:>8} {:12}", "OPERATOR", "SNAPSHOT", "TASK");
    let steps = result.children.first().map_or(&[][..], |child| child.points.as_slice());
    for point in steps {
        text.push_str(&format!(" {:>13}", point.step));
    }
    for child in &result.children {
        let task = result.tasks.get(child.task).map_or("", |task| task.name.as_str());
        text.push_str(&format!("\n{:12} {:>8} {task:12}", child.operator, child.snapshot));
        for point in &child.points {
            let cell = match point.recovery {
                Some(recovery) => {
                    let mark = if recovery.is_recovered() { '*' } else { ' ' };
                    format!("{:.2} ± {:.2}{mark}", recovery.value, recovery.standard_error)
                }
                None => "-".to_owned(),
            };
            text.push_str(&format!(" {cell:>13}"));
        }
    }
    text
}
