//! `lyceum evaluation goalposts` and `lyceum evaluation frozen-side`.

use anyhow::Context as _;
use clap::{ArgGroup, Args};
use serde::Serialize;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::str::FromStr;
use uuid::Uuid;

use crate::client::Client;
use crate::command::evaluation::create;

/// Let checkpoints of runs attempt hard problems many times, and their untrained bases as often
///
/// The map of what was solved when is at /runs/RUN/goalposts, and for several runs at
/// /compare/goalposts?runs=RUN,RUN. Without --dataset, the problems are the goalposts of the
/// first run, which must be of recipe gasp:
///
///   lyceum evaluation goalposts --run RUN --every 6 --watch
///   lyceum evaluation goalposts --run RUN --run OTHER --step 30 --step 60 --dataset hard
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct Goalposts {
    #[command(flatten)]
    attempts: Attempts,
    /// A run whose checkpoints attempt them; may be repeated
    #[arg(long = "run", required = true, value_name = "RUN")]
    runs: Vec<Uuid>,
    /// The problems: a dataset, by name or id
    #[arg(long, value_name = "DATASET")]
    dataset: Option<String>,
    /// Leave out the attempts of the untrained base that show what is luck
    #[arg(long)]
    no_control: bool,
    /// Wait for the end and print the result; exits with 1 if it failed
    #[arg(long)]
    watch: bool,
}

/// Which checkpoints attempt problems, and how.
#[derive(Args, Debug)]
pub(crate) struct Attempts {
    /// The checkpoint after this many steps; may be repeated
    #[arg(long = "step", value_name = "STEP")]
    steps: Vec<u32>,
    /// Every Nth checkpoint, plus the last [default: only the last]
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u32).range(1..))]
    every: Option<u32>,
    /// Use only this many rows, from the first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rows: Option<u32>,
    /// Attempts of each checkpoint at each problem
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Softmax temperature
    #[arg(long, default_value_t = 0.6)]
    temperature: f64,
    /// Maximum tokens of an attempt [default: that of a suite with rows like these]
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u32>,
    /// The prompt style [default: seedling for problems of self-play, azr for others]
    #[arg(long, value_name = "STYLE")]
    prompts: Option<String>,
    /// The random seed
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

impl Attempts {
    /// The spec of an evaluation.
    pub(crate) fn spec(&self, runs: &[Uuid], dataset: Option<&str>, control: bool) -> Value {
        let climbs = runs.iter().map(|run| {
            let mut climb = json!({ "run": run, "steps": self.steps });
            set(&mut climb, "every", self.every);
            climb
        });
        let mut spec = json!({
            "type": "goalposts",
            "runs": climbs.collect::<Vec<_>>(),
            "control": control,
            "n": self.n,
            "temperature": self.temperature,
        });
        set(&mut spec, "dataset", dataset);
        set(&mut spec, "rows", self.rows);
        set(&mut spec, "max_tokens", self.max_tokens);
        set(&mut spec, "prompts", self.prompts.as_deref());
        spec
    }
}

fn set<T: Into<Value>>(spec: &mut Value, field: &str, value: Option<T>) {
    if let Some(value) = value {
        spec[field] = value.into();
    }
}

impl Goalposts {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        let spec = self.attempts.spec(&self.runs, self.dataset.as_deref(), !self.no_control);
        create(client, &spec, self.attempts.seed, self.watch)
    }
}

/// Let student versions attempt fresh problems of teacher versions: a matrix of solve rates
///
/// Each side has versions of the given steps. Solve rates that rise along the students and
/// fall along the teachers are an arms race. With --student and --teacher, versions can also
/// come from other runs of the same base model:
///
///   lyceum evaluation frozen-side --run RUN --steps 0,10,20,30 --watch
///   lyceum evaluation frozen-side --run RUN --teacher 40 --student 40 --student 40,run=OTHER
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, group = ArgGroup::new("versions").required(true).multiple(true).args(["steps", "students", "teachers"]))]
pub(super) struct FrozenSide {
    /// The run
    #[arg(long)]
    run: Uuid,
    /// Numbers of finished steps, for both sides; 0 are the first weights
    #[arg(long, value_delimiter = ',', value_name = "STEP,..")]
    steps: Vec<u32>,
    /// Students after STEP steps, instead of those of --steps; may be repeated
    #[arg(long = "student", value_name = "STEP[,run=RUN][,member=NAME]")]
    students: Vec<Moment>,
    /// Teachers after STEP steps, instead of those of --steps; may be repeated
    #[arg(long = "teacher", value_name = "STEP[,run=RUN][,member=NAME]")]
    teachers: Vec<Moment>,
    /// Valid problems of each teacher version
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1000))]
    problems: u32,
    /// Attempts of each student version at each problem
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    samples: u32,
    /// Show teachers the run's pool after this many steps
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pool_step: u32,
    /// The random seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Wait for the end and print the result; exits with 1 if it failed
    #[arg(long)]
    watch: bool,
}

impl FrozenSide {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        let spec = json!({
            "type": "frozen_side",
            "run": self.run,
            "steps": self.steps,
            "students": self.students,
            "teachers": self.teachers,
            "problems": self.problems,
            "samples": self.samples,
            "pool_step": self.pool_step,
        });
        create(client, &spec, self.seed, self.watch)
    }
}

/// Members at a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Moment {
    step: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<String>,
}

impl FromStr for Moment {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut parts = text.split(',');
        let step = parts.next().unwrap_or_default();
        let mut moment = Self {
            step: step.parse().with_context(|| format!("`{step}` is not a number of steps"))?,
            run: None,
            member: None,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("run", run)) => {
                    let run = run.parse().with_context(|| format!("`{run}` is not the id of a run"))?;
                    moment.run = Some(run);
                }
                Some(("member", name)) => moment.member = Some(name.to_owned()),
                _ => anyhow::bail!("`{part}` is not run=RUN or member=NAME"),
            }
        }
        Ok(moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_step_of_a_run_and_a_member() {
        let read = |text: &str| text.parse::<Moment>();
        let moment = read("40,run=00000000-0000-0000-0000-000000000001,member=teacher-0").unwrap();
        assert_eq!(moment, Moment { step: 40, run: Some(Uuid::from_u128(1)), member: Some("teacher-0".to_owned()) });
        assert_eq!(read("0").unwrap().step, 0);
        for wrong in ["", "x", "3,run=7", "3,name=a"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
