//! `lyceum-worker verify`: judges tasks from a file, or tries the tests of a file of rows.

mod rows;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lyceum_verifier::{Status, Task, Verdict, Verifier, read_line};
use lyceum_worker::pool::PoolArgs;
use rows::RowsArgs;

/// The maximum length of a line. A longer one gets a verdict that says so.
const MAX_LINE: u64 = 64 << 20;

/// Judge proposals, answers and programs: one line of JSON in, one verdict out, in order
///
/// A task has an `id` and a `kind`:
///
///   {"id":"a","kind":"propose","type":"code_o","program":"def f(x): return x+1","input":"1"}
///   {"id":"b","kind":"solve","type":"code_o","program":"def f(x): return x+1","input":"1","answer":"2"}
///   {"id":"c","kind":"tests","program":"..","entry_point":"add","test":"def check(candidate): .."}
///   {"id":"d","kind":"math","gold":"\\frac{1}{2}","answer":"0.5"}
///
/// With --rows, tries the tests of each row of a file instead: an empty program must fail them, and
/// the row's canonical solution must pass. Bad rows are printed by line, or written to --out as JSON;
/// exits with 1 if there are any.
///
///   lyceum-worker verify --rows train.parquet --format kodcode
///
/// docs/VERIFIER.md lists every kind with its fields. Programs run in a sandbox. A self-test
/// attacks it once at startup; if an attack succeeds, nothing is judged.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Verify {
    /// File of tasks, one JSON object per line; `-` for standard input.
    #[arg(long = "in", value_name = "TASKS.jsonl", required_unless_present = "rows")]
    input: Option<PathBuf>,
    /// File for the verdicts, one JSON object per line; `-` for standard output.
    #[arg(long = "out", value_name = "VERDICTS.jsonl", required_unless_present = "rows")]
    output: Option<PathBuf>,
    #[command(flatten)]
    rows: RowsArgs,
    #[command(flatten)]
    pool: PoolArgs,
}

impl Verify {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match (&self.rows.rows, &self.input, &self.output) {
            (Some(rows), _, output) => self.rows.run(rows, output.as_deref(), &self.verifier()?),
            (None, Some(input), Some(output)) => self.judge(input, output),
            // The command line has refused it.
            _ => anyhow::bail!("--in and --out are needed, or --rows"),
        }
    }

    fn verifier(&self) -> anyhow::Result<Verifier> {
        let verifier = Verifier::start(&self.pool.config())?;
        eprintln!(
            "Python {}, {} at once, confined by: {}",
            verifier.interpreter().version,
            verifier.jobs(),
            verifier.layers()
        );
        Ok(verifier)
    }

    fn judge(&self, from: &Path, to: &Path) -> anyhow::Result<()> {
        let (mut input, size): (Box<dyn BufRead>, Option<u64>) = if from.as_os_str() == "-" {
            (Box::new(io::stdin().lock()), None)
        } else {
            let file = File::open(from).with_context(|| format!("cannot read {}", from.display()))?;
            let size = file.metadata().map(|metadata| metadata.len()).ok();
            (Box::new(BufReader::new(file)), size)
        };
        let mut output: Box<dyn io::Write> = if to.as_os_str() == "-" {
            Box::new(io::stdout().lock())
        } else {
            let file = File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
            Box::new(BufWriter::new(file))
        };
        let verifier = self.verifier()?;
        let progress = progress_bar(size);
        let mut failure = None;
        let lines = std::iter::from_fn(|| {
            let (line, length) = match read_bounded(&mut input) {
                Ok(line) => line?,
                Err(error) => {
                    failure = Some(error);
                    return None;
                }
            };
            progress.inc(length);
            Some(line)
        });
        for verdict in verifier.judge_lines(lines) {
            serde_json::to_writer(&mut output, &verdict)?;
            output.write_all(b"\n")?;
        }
        output.flush().with_context(|| format!("cannot write {}", to.display()))?;
        progress.finish_and_clear();
        match failure {
            None => Ok(()),
            Some(error) => Err(error).with_context(|| format!("cannot read {}", from.display())),
        }
    }
}

/// One line and its length in bytes; empty lines are skipped.
type Line = (Result<Task, Verdict>, u64);

fn read_bounded(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut length = 0;
    loop {
        let mut line = Vec::new();
        let taken = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? as u64;
        length += taken;
        if taken == 0 {
            return Ok(None);
        }
        if taken == MAX_LINE && !line.ends_with(b"\n") {
            length += skip_line(input)?;
            let reason = format!("the line is longer than {MAX_LINE} bytes");
            return Ok(Some((Err(Verdict::bare(None, Status::Malformed, reason)), length)));
        }
        if !line.trim_ascii().is_empty() {
            let task = read_line(&line).map_err(|error| Verdict::bare(error.id, Status::Malformed, error.reason));
            return Ok(Some((task, length)));
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let part = input.fill_buf()?;
        let (length, is_end) = match part.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (part.len(), part.is_empty()),
        };
        input.consume(length);
        skipped += length as u64;
        if is_end {
            return Ok(skipped);
        }
    }
}

/// A progress bar over the bytes of the input, on stderr if that is a terminal.
fn progress_bar(size: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::stderr());
    let template = if size.is_some() {
        "{wide_bar} {bytes}/{total_bytes} of tasks, {eta} left"
    } else {
        "{spinner} {bytes} of tasks, {elapsed}"
    };
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
