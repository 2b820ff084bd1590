//! Options of commands that use the sandbox.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lyceum_verifier::{Comparison, Limits, Namespaces, Package, VerifierConfig};

/// Options of the pool, shared by all commands that use the sandbox.
#[derive(Debug, Args)]
pub struct PoolArgs {
    /// Tasks to judge in parallel [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Interpreter for the programs [default: $LYCEUM_PYTHON, else .venv/bin/python here or above, else python3].
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// CPU time per call of a program, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    cpu_seconds: f64,
    /// Wall-clock limit per call, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    wall_seconds: f64,
    /// Address space of a program, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    memory_mib: u64,
    /// Compare values by type too: 1 is not True, 0.0 is not -0.0, NaN is NaN.
    #[arg(long)]
    strict: bool,
    /// Run without namespaces, as on machines that deny them.
    #[arg(long)]
    no_namespaces: bool,
    /// Packages that programs may import besides the standard library: numpy, sympy; separated by commas. They must be
    /// installed for the interpreter.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', env = "LYCEUM_PACKAGES")]
    packages: Vec<Package>,
    /// Continue even if the self-test finds that programs are not contained.
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
    /// The pool configuration of these options.
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
            namespaces: if self.no_namespaces { Namespaces::Never } else { Namespaces::Auto },
            comparison: if self.strict { Comparison::Strict } else { Comparison::Python },
            packages: self.packages.clone(),
            insecure: self.insecure,
        }
    }
}
