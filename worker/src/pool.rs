//! The options of commands that judge in the sandbox.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lyceum_verifier::{Comparison, Limits, Namespaces, VerifierConfig};

/// How the pool is made; the same for every command that judges.
#[derive(Debug, Args)]
pub struct PoolArgs {
    /// Tasks to judge at once [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Interpreter for the programs [default: $LYCEUM_PYTHON, else .venv/bin/python here or above, else python3].
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// CPU time for each call of a program, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    cpu_seconds: f64,
    /// Wall-clock backstop for each call, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    wall_seconds: f64,
    /// Address space of a program, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    memory_mib: u64,
    /// Compare values by type too: 1 is not True, 0.0 is not -0.0, NaN is NaN.
    #[arg(long)]
    strict: bool,
    /// Do without namespaces, as on a machine that refuses them.
    #[arg(long)]
    no_namespaces: bool,
    /// Judge although the self-test found that programs are not contained.
    #[arg(long)]
    insecure: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.01..=86_400.0).contains(&value) => Ok(value),
        _ => Err("not a number of seconds from 0.01 to 86400".to_owned()),
    }
}

impl PoolArgs {
    /// The pool that these options describe.
    pub fn config(&self) -> VerifierConfig {
        let default = VerifierConfig::default();
        VerifierConfig {
            jobs: self.jobs.map_or(default.jobs, usize::from),
            python: self.python.clone(),
            limits: Limits {
                cpu: Duration::from_secs_f64(self.cpu_seconds),
                wall: Duration::from_secs_f64(self.wall_seconds),
                memory: self.memory_mib << 20,
            },
            namespaces: if self.no_namespaces {
                Namespaces::Never
            } else {
                Namespaces::Auto
            },
            comparison: if self.strict {
                Comparison::Strict
            } else {
                Comparison::Python
            },
            insecure: self.insecure,
        }
    }
}
