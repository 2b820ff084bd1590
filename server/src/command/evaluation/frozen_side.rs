//! `lyceum evaluation frozen-side`.

use std::process::ExitCode;
use std::str::FromStr;

use anyhow::Context as _;
use clap::{ArgGroup, Args};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::create;
use crate::client::Client;

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
            step: step
                .parse()
                .with_context(|| format!("`{step}` is not a number of steps"))?,
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
        assert_eq!(
            moment,
            Moment {
                step: 40,
                run: Some(Uuid::from_u128(1)),
                member: Some("teacher-0".to_owned()),
            }
        );
        assert_eq!(read("0").unwrap().step, 0);
        for wrong in ["", "x", "3,run=7", "3,name=a"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
