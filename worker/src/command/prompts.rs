//! `lyceum-worker prompts`: tries a prompt set on a model.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;
use lyceum_core::benchmark::reader::RowReader;
use lyceum_core::benchmark::{BenchmarkRow, suite};
use lyceum_core::dataset::problem;
use lyceum_core::kit::code::shipped_seeds;
use lyceum_core::prompt::{AnswerReading, PromptConfig, PromptSet, Reference, Templates};
use lyceum_core::prompt_trial::{Amounts, Case, Found, Tally, cases, set_of};
use lyceum_core::recipe::Registry;
use lyceum_core::verify::{ProblemKind, Proposal, Task};
use lyceum_core::work::{FinishReason, Sampling};
use lyceum_engine::generate::{GenerationEvent, GenerationOptions, GenerationRequest, Generator};
use lyceum_models::Texts;
use lyceum_verifier::{Verdict, Verifier};
use lyceum_worker::lines::read_lines;
use lyceum_worker::pool::PoolArgs;
use lyceum_worker::progress::progress_bar;
use serde_json::Value;

use super::loading::ModelArgs;

/// Try a prompt set on a model: what it answers and proposes, and how much of that can be read
///
/// Every kind of question and proposal of the recipe that the set has is asked as a run asks it
/// and read by the set's grammar; problems of code, and answers to questions whose answer is known,
/// are checked in the sandbox. A table shows the shares that are readable, valid, right and cut at
/// the limit; some texts follow, with what was read in them.
///
///   lyceum-worker prompts --model Qwen/Qwen2.5-Coder-0.5B-Instruct --dtype bf16
///
/// `own` are valid proposals that are not copies of what their prompt shows. To write a set of
/// your own, copy a folder of configs/prompts, edit it and try it with --templates; then put its
/// templates into your run's config, under `parameters.prompts.templates`.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Prompts {
    /// The recipe whose questions and proposals are asked.
    #[arg(long, value_name = "NAME", default_value = "populora", value_parser = ["azr", "gasp", "populora", "rzero", "sage"])]
    recipe: String,
    /// The shipped set to start from [default: instruct for azr and populora, else that of the recipe's name].
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// Folder of templates (NAME.jinja) that replace the set's.
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    /// Which rules read answers: strict or flexible.
    #[arg(long, value_name = "RULES", default_value_t = AnswerReading::Flexible)]
    reading: AnswerReading,
    #[command(flatten)]
    model: ModelArgs,
    /// Completions of each kind.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    n: u32,
    /// Only templates whose name contains this, such as `solve` or `code_o`.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// File of problems to put to the model, one JSON object per line, as in configs/datasets [default: held-out-seedling, or
    /// held-out-seedling-math for questions of mathematics].
    #[arg(long, value_name = "ROWS.jsonl")]
    rows: Option<PathBuf>,
    /// Leave out problems above this level.
    #[arg(long, value_name = "LEVEL", default_value_t = 3)]
    max_level: u32,
    /// The shipped seeds that proposers are shown some of: azr or seedling.
    #[arg(long, value_name = "NAME", default_value = "azr")]
    seeds: String,
    /// Earlier problems that a proposer is shown.
    #[arg(long, value_name = "N", default_value_t = 2)]
    references: usize,
    /// Inputs of a `code_f` proposal.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..))]
    num_inputs: u8,
    /// Sampling temperature; 0 is greedy.
    #[arg(long, value_name = "T", default_value_t = 1.0)]
    temperature: f64,
    /// Longest answer, in tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 256)]
    max_answer: u32,
    /// Longest proposal, in tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 384)]
    max_proposal: u32,
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Texts to show of each kind.
    #[arg(long, value_name = "N", default_value_t = 5)]
    show: usize,
    #[command(flatten)]
    pool: PoolArgs,
}

/// A completion as it was read.
struct Answered<'c> {
    case: &'c Case,
    text: String,
    tokens: usize,
    finish: FinishReason,
    found: Result<(Found, Option<Verdict>), String>,
}

impl Prompts {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let templates = Registry::shipped().get(&self.recipe)?.templates();
        let (name, set) = self.set(&templates)?;
        let rows = self.rows(templates.all.iter().any(|template| template.name == "solve"))?;
        let verifier = Verifier::start(&self.pool.config())?;
        let earlier = self.earlier(&verifier)?;
        let amounts = Amounts {
            cases: self.n as usize,
            references: self.references,
            num_inputs: usize::from(self.num_inputs),
            seed: self.seed,
        };
        let mut cases = cases(&set, &templates, &rows, &earlier, amounts)?;
        cases.retain(|case| case.template.contains(&self.only));
        ensure!(!cases.is_empty(), "the set {name} has no template of {} that is named `…{}…`", self.recipe, self.only);
        let answered = self.answered(&set, &cases, &verifier)?;
        let names: Vec<&str> = templates.all.iter().map(|template| template.name).collect();
        print!("{}", report(&names, &answered, self.show));
        Ok(())
    }

    fn set(&self, recipe: &Templates) -> anyhow::Result<(String, PromptSet)> {
        let mut templates = BTreeMap::new();
        if let Some(folder) = &self.templates {
            for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "jinja") {
                    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                    templates.insert(name, text);
                }
            }
            ensure!(!templates.is_empty(), "{} has no file NAME.jinja", folder.display());
        }
        let is_code = matches!(self.recipe.as_str(), "azr" | "populora");
        let default = if is_code { "instruct" } else { &self.recipe };
        let name = self.set.clone().unwrap_or_else(|| default.to_owned());
        let config = PromptConfig { set: name.clone(), reading: self.reading, templates, ..PromptConfig::default() };
        let set = set_of(config, recipe).map_err(|faults| {
            let lines: Vec<String> =
                faults.iter().map(|fault| format!("  {}: {}", fault.pointer, fault.detail)).collect();
            anyhow::anyhow!("the set {name} cannot be used for {}:\n{}", self.recipe, lines.join("\n"))
        })?;
        Ok((name, set))
    }

    /// The problems for solvers, of mathematics or of code.
    fn rows(&self, of_mathematics: bool) -> anyhow::Result<Vec<BenchmarkRow>> {
        let shipped = match of_mathematics {
            true => include_str!("../../../configs/datasets/held-out-seedling-math.jsonl"),
            false => include_str!("../../../configs/datasets/held-out-seedling.jsonl"),
        };
        let lines: Vec<Value> = match &self.rows {
            Some(path) => read_lines(path)?,
            None => shipped.lines().map(serde_json::from_str).collect::<Result<_, _>>()?,
        };
        let mathematics = RowReader::of(suite("held-out-seedling-math")?);
        let is_easy = |line: &Value| line["level"].as_u64().is_none_or(|level| level <= u64::from(self.max_level));
        let rows = (0..).zip(lines).filter(|(_, line)| is_easy(line));
        rows.map(|(place, line)| {
            let read = match of_mathematics {
                true => mathematics.read(line.to_string().as_bytes(), place),
                false => problem(place, &line),
            };
            read.map_err(|reason| anyhow::anyhow!("line {}: {reason}", place + 1))
        })
        .collect()
    }

    /// The shipped seeds with their outputs.
    fn earlier(&self, verifier: &Verifier) -> anyhow::Result<Vec<Reference>> {
        let seeds = shipped_seeds(&self.seeds);
        let seeds = seeds.with_context(|| format!("--seeds {}: azr and seedling are valid", self.seeds))?;
        let seeds: Vec<(String, String)> =
            seeds.into_iter().filter_map(|seed| Some((seed.snippet, seed.input?))).collect();
        let tasks = seeds.iter().map(|(program, input)| {
            let proposal = Proposal::Io { problem: ProblemKind::CodeO, program: program.clone(), input: input.clone() };
            Task { id: String::new(), check: proposal.into() }
        });
        let outputs: Vec<Option<String>> =
            verifier.judge_all(tasks.collect::<Vec<_>>()).map(|verdict| verdict.output).collect();
        let earlier = seeds.into_iter().zip(outputs);
        Ok(earlier
            .filter_map(|((program, input), output)| Some(Reference { program, input, output: output? }))
            .collect())
    }

    fn answered<'c>(
        &self,
        set: &PromptSet,
        cases: &'c [Case],
        verifier: &Verifier,
    ) -> anyhow::Result<Vec<Answered<'c>>> {
        let folder = self.model.folder()?;
        let loaded = self.model.load()?;
        let texts = Texts::load(&folder.display().to_string(), &folder, &loaded.model.config)?;
        // Counted within each template, so that --only leaves the draws of the others as they are.
        let mut of_template: BTreeMap<&str, u64> = BTreeMap::new();
        let requests = (0_u64..).zip(cases).map(|(place, case)| {
            let draw = of_template.entry(case.template).and_modify(|draw| *draw += 1).or_default();
            let path = format!("prompts/{}", case.template);
            Ok(GenerationRequest {
                id: place.to_string(),
                prompt: texts.ids(&case.prompt)?,
                adapter: None,
                n: 1,
                sampling: Sampling {
                    temperature: self.temperature,
                    max_tokens: if case.is_question() { self.max_answer } else { self.max_proposal },
                    stop: if case.is_question() { set.grammar.solver_stops() } else { Vec::new() },
                    ..Sampling::default()
                },
                seed: lyceum_core::seed::derive(self.seed, &path, *draw),
            })
        });
        let requests = requests.collect::<anyhow::Result<Vec<_>>>()?;
        let options = GenerationOptions::fitting(&loaded.model, None, &requests, None);
        let generator = Generator { model: &loaded.model, population: None, tokenizer: texts.tokenizer() };
        let bar = progress_bar(requests.len() as u64, "completions");
        let generated = generator.generate(&requests, &options, &mut |event| {
            if let GenerationEvent::Progress { finished, tokens, .. } = event {
                bar.set_position(finished as u64);
                bar.set_message(format!("{tokens} tokens"));
            }
        })?;
        bar.finish_and_clear();
        let mut read = Vec::new();
        for (case, result) in cases.iter().zip(generated.results) {
            for completion in result.completions {
                let text = completion.text.unwrap_or_default();
                let found = case.read(set, read.len().to_string(), &text, completion.finish_reason);
                read.push((case, text, completion.ids.len(), completion.finish_reason, found));
            }
        }
        let tasks: Vec<_> = read.iter().filter_map(|(.., found)| found.as_ref().ok()?.task.clone()).collect();
        let mut verdicts = verifier.judge_all(tasks);
        read.into_iter()
            .map(|(case, text, tokens, finish, found)| {
                let found = match found {
                    Ok(found) => {
                        let verdict = found.task.is_some().then(|| verdicts.next().context("a verdict is missing"));
                        Ok((found, verdict.transpose()?))
                    }
                    Err(reason) => Err(reason),
                };
                Ok(Answered { case, text, tokens, finish, found })
            })
            .collect()
    }
}

/// The table, then some texts of each kind.
fn report(templates: &[&str], answered: &[Answered<'_>], show: usize) -> String {
    let mut table = format!(
        "{:<16} {:>5} {:>9} {:>8} {:>6} {:>6} {:>6} {:>5} {:>7}\n",
        "template", "n", "readable", "by form", "valid", "own", "right", "cut", "tokens"
    );
    let mut texts = String::new();
    for &template in templates {
        let own: Vec<&Answered<'_>> = answered.iter().filter(|one| one.case.template == template).collect();
        if own.is_empty() {
            continue;
        }
        let mut tally = Tally::default();
        for one in &own {
            let found = one.found.as_ref().ok().map(|(found, verdict)| (found, verdict.as_ref()));
            tally.count(one.case, one.tokens, one.finish == FinishReason::Length, found);
        }
        let n = tally.completions;
        let percent = |count: usize| format!("{:.0} %", 100.0 * count as f64 / n as f64);
        let is_proposal = own[0].case.is_proposal();
        let of = |count: usize, is_shown: bool| if is_shown { percent(count) } else { "–".to_owned() };
        table.push_str(&format!(
            "{template:<16} {n:>5} {:>9} {:>8} {:>6} {:>6} {:>6} {:>5} {:>7.0}\n",
            percent(tally.readable),
            percent(tally.by_form),
            of(tally.valid, is_proposal),
            of(tally.own, is_proposal),
            of(tally.right, own[0].case.is_question()),
            percent(tally.cut),
            tally.tokens as f64 / n as f64
        ));
        for (level, (answers, right)) in &tally.levels {
            table.push_str(&format!(
                "  level {level:<8} {answers:>5} {:>44}\n",
                format!("{:.0} %", 100.0 * *right as f64 / *answers as f64)
            ));
        }
        for one in own.iter().take(show) {
            texts.push_str(&format!(
                "\n--- {template}, {} tokens: {}\n{}\n",
                one.tokens,
                said(one),
                one.text.trim_end()
            ));
        }
    }
    table + &texts
}

/// How a completion was read, and the verdict on it.
fn said(one: &Answered<'_>) -> String {
    match &one.found {
        Err(reason) => format!("not readable: {reason}"),
        Ok((_, None)) => "readable".to_owned(),
        Ok((found, Some(verdict))) => {
            let rule = found.rule.map(|rule| format!("read by {rule}, ")).unwrap_or_default();
            let copy = if found.is_copy { ", a copy of what the prompt shows" } else { "" };
            let is_good = verdict.correct.or(verdict.valid) == Some(true);
            let verdict = match (is_good, one.case.is_proposal()) {
                (true, true) => "valid".to_owned(),
                (true, false) => "right".to_owned(),
                (false, true) => format!("invalid ({})", verdict.reason),
                (false, false) => format!("wrong ({})", verdict.reason),
            };
            format!("{rule}{verdict}{copy}")
        }
    }
}
