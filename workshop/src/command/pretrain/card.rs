//! The model card: how the weights were made and what they can do.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use lyceum_curriculum::Corpus;

use super::config::{Architecture, Phase, PretrainConfig};
use super::curriculum::Curriculum;
use super::figures::{Band, Evaluation, OwnProblems, Proposals, Ways};
use super::programs::Programs;
use super::training::Totals;

/// Writes `README.md` into a model folder.
pub(super) fn write(
    config: &PretrainConfig<Programs>,
    corpus: &Corpus,
    evaluation: &Evaluation,
    folder: &Path,
) -> anyhow::Result<()> {
    let path = folder.join("README.md");
    std::fs::write(&path, text(config, corpus, evaluation)?).with_context(|| path.display().to_string())
}

fn text(
    config: &PretrainConfig<Programs>,
    corpus: &Corpus,
    evaluation: &Evaluation,
) -> Result<String, std::fmt::Error> {
    let formats = match config.samples.stones {
        Some(_) => "the formats of `configs/prompts/seedling` and `configs/prompts/seedling-gasp`",
        None => "the format of `configs/prompts/seedling`",
    };
    let mut card = format!(
        "---\nlicense: apache-2.0\nlibrary_name: transformers\npipeline_tag: text-generation\ntags: [code, \
         self-play]\n---\n\n\
         # Seedling\n\n\
         A small base model (Qwen2 architecture) that proposes and solves problems about small Python programs, as a \
         start for self-play. \
         It knows {formats} and nothing else: it cannot follow instructions.\n\n\
         With `transformers`, load the tokenizer as `PreTrainedTokenizerFast`: `AutoTokenizer` of version 5 gives \
         every Qwen2 model the \
         pre-tokenizer of Qwen2, whatever its files say.\n\n",
    );
    made(&mut card, config, corpus, evaluation)?;
    let measured = &config.evaluation;
    writeln!(
        card,
        "## What it can do\n\nMeasured at temperature 1 with `lyceum-workshop pretrain --config FILE --evaluate DIR`, \
         {} proposals of each type and \
         {} held-out programs of each level; all figures are in `evaluation.json`. What is wanted stands beside \
         each.\n",
        measured.proposals, measured.held_out
    )?;
    proposals(&mut card, &evaluation.proposals)?;
    own(&mut card, evaluation)?;
    held_out(&mut card, evaluation)?;
    stones(&mut card, evaluation)?;
    ways(&mut card, evaluation)?;
    shortfalls(&mut card, evaluation)?;
    Ok(card)
}

fn made(
    card: &mut String,
    config: &PretrainConfig<Programs>,
    corpus: &Corpus,
    evaluation: &Evaluation,
) -> std::fmt::Result {
    writeln!(card, "## What made it\n")?;
    writeln!(card, "Nothing but generated programs: no text from elsewhere is in it.\n")?;
    size(card, &config.model, evaluation.parameters)?;
    writeln!(
        card,
        "- {} programs to learn from, each with {} inputs and the outputs that the verifier found; {} programs held \
         out by their renamed, \
         constant-masked form.",
        corpus.training.len(),
        config.corpus.inputs,
        corpus.held_out.len()
    )?;
    trained(card, config, evaluation.training.as_ref())?;
    if let Some(shares) = config.samples.guesses {
        writeln!(
            card,
            "- Some of the direct answers that it was shown for `code_o` and `code_i` are guesses, right for another input of the \
             same program: {} at levels 1 to 5.",
            shares.map(percent).join(", ")
        )?;
    }
    writeln!(card)
}

/// The line about the model's size.
pub(super) fn size(card: &mut String, model: &Architecture, parameters: usize) -> std::fmt::Result {
    writeln!(
        card,
        "- {parameters} parameters: {} layers of width {}, {} heads, MLP of width {}; the weights are stored in bf16.",
        model.num_hidden_layers, model.hidden_size, model.num_attention_heads, model.intermediate_size
    )
}

/// The lines about training, and about answers with steps.
pub(super) fn trained<C: Curriculum>(
    card: &mut String,
    config: &PretrainConfig<C>,
    training: Option<&Totals>,
) -> std::fmt::Result {
    if let Some(training) = training {
        trainings(card, training)?;
    }
    writeln!(
        card,
        "- The last training ran on {} ({} threads, {}), seed {}.",
        config.compute.device, config.compute.threads, config.compute.precision, config.seed
    )?;
    let phases: Vec<String> = config.phases.iter().filter_map(phase_with_steps).collect();
    if !phases.is_empty() {
        writeln!(
            card,
            "- It was shown two ways to answer, directly and with its steps first. Samples with steps: {}.",
            phases.join("; ")
        )?;
    }
    Ok(())
}

/// A phase and the shares of its samples that have steps, if any have.
fn phase_with_steps<T: std::fmt::Display + Ord>(phase: &Phase<T>) -> Option<String> {
    let tasks = phase.tasks.iter().filter(|(_, share)| share.trace > 0.0);
    let shares: Vec<String> = tasks.map(|(task, share)| format!("{task} {}", percent(share.trace))).collect();
    let text = format!("{} in the {} steps of phase `{}`", shares.join(", "), phase.steps, phase.name);
    (!shares.is_empty()).then_some(text)
}

/// The trainings one after another, each from the weights of the one before.
fn trainings(card: &mut String, training: &Totals) -> std::fmt::Result {
    let mut start = "from random weights".to_owned();
    if let Some(origin) = &training.from {
        if let Some(training) = &origin.training {
            trainings(card, training)?;
        }
        start = format!("`--from {}` (SHA-256 {})", origin.model, origin.sha256);
    }
    writeln!(
        card,
        "- `lyceum-workshop pretrain --config {}`, {start}: {} steps, {:.1} million tokens, {:.0} minutes, weighted loss {:.3} \
         at the end.",
        training.config.as_deref().unwrap_or("FILE"),
        training.steps,
        training.tokens as f64 / 1e6,
        training.seconds / 60.0,
        training.loss
    )
}

/// A share in per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn proposals(card: &mut String, proposals: &[Proposals]) -> std::fmt::Result {
    writeln!(
        card,
        "### Proposals\n\n| type | references | asked | valid (80 %) | distinct (80 %) | verbatim from training (under 10 %) | AST depth | lines |\n\
         |---|---|---|---|---|---|---|---|"
    )?;
    for row in proposals {
        writeln!(
            card,
            "| {} | {} | {} | {} | {} | {} | {:.1} | {:.1} |",
            row.problem,
            row.references,
            row.asked,
            percent(row.valid),
            percent(row.distinct),
            percent(row.verbatim),
            row.ast_depth,
            row.loc
        )?;
    }
    writeln!(
        card,
        "\n\"Verbatim\" counts programs of code_o and code_i; a code_f proposal is about a program that was shown, \
         so there it counts \
         proposals all of whose inputs stand beside that program in training.\n"
    )
}

fn own(card: &mut String, evaluation: &Evaluation) -> std::fmt::Result {
    writeln!(
        card,
        "### Its own valid proposals\n\n| type | problems | passed | never | sometimes (code_o, code_i 40 %, code_f \
         20 %) | always |\n|---|---|---|---|---|---|"
    )?;
    for (problem, figures) in &evaluation.own {
        let OwnProblems { problems, passed, never, sometimes, always, .. } = figures;
        writeln!(
            card,
            "| {problem} | {problems} | {} | {} | {} | {} |",
            percent(*passed),
            percent(*never),
            percent(*sometimes),
            percent(*always)
        )?;
    }
    let samples = evaluation.own.values().map(|figures| figures.samples).max().unwrap_or(0);
    writeln!(card, "\nOver {samples} answers to each.\n")
}

fn held_out(card: &mut String, evaluation: &Evaluation) -> std::fmt::Result {
    writeln!(
        card,
        "### Held-out problems\n\nThe lowest band should pass at 30 to 75 %, the highest below 20 %, and all at \
         least 10 points above the best \
         guesser; where a single level is not, it is listed below.\n\n| type | level | problems | passed | in the format | best guesser |\n|---|---|---|---|---|---|"
    )?;
    for (problem, bands) in &evaluation.held_out {
        for band in bands {
            let (name, guessed) = best_guesser(band);
            writeln!(
                card,
                "| {problem} | {} | {} | {} | {} | {} ({name}) |",
                band.level,
                band.problems,
                percent(band.passed),
                percent(band.well_formed),
                percent(guessed)
            )?;
        }
        let all = all_levels(bands);
        let (name, guessed) = best_guesser(&all);
        writeln!(
            card,
            "| {problem} | all | {} | {} | {} | {} ({name}) |",
            all.problems,
            percent(all.passed),
            percent(all.well_formed),
            percent(guessed)
        )?;
    }
    writeln!(card)
}

fn stones(card: &mut String, evaluation: &Evaluation) -> std::fmt::Result {
    if evaluation.stones.is_empty() {
        return Ok(());
    }
    writeln!(
        card,
        "### Stepping stones\n\nFrom held-out programs: lemmas from those of levels 3 to 5, lifts from those of levels 1 to 3. \
         Each valid one is attempted ten times, from two of its pairs. \"In the band\" are the shares of all that a run of \
         GASP would accept for their pass rate: lemmas solved 3 to 7 times, lifts 1 to 5 times.\n\n\
         | task | asked | in the format | valid | passed | in the band |\n|---|---|---|---|---|---|"
    )?;
    for (task, of) in &evaluation.stones {
        writeln!(
            card,
            "| {task} | {} | {} | {} | {} | {} |",
            of.asked,
            percent(of.well_formed),
            percent(of.valid),
            percent(of.passed),
            percent(of.in_band)
        )?;
    }
    writeln!(card)
}

fn ways(card: &mut String, evaluation: &Evaluation) -> std::fmt::Result {
    let Some(any) = evaluation.ways.values().next() else { return Ok(()) };
    writeln!(
        card,
        "### Two ways to answer\n\nProblems for development, {} of each type: the last held-out programs of each level. Greedy \
         answers, and {} to each problem at temperature 1. \"With steps\" are the answers that begin with steps.\n\n\
         | type | greedy | greedy, levels 1 to 5 | pass@1 | pass@{} | with steps | of those right | levels 1 to 5 | of the \
         others right | tokens, greedy | tokens |\n|---|---|---|---|---|---|---|---|---|---|---|",
        any.problems, any.samples, any.samples
    )?;
    for (problem, of) in &evaluation.ways {
        let Ways {
            greedy, sampled, solved_by_any, traced, traced_passed, direct_passed, greedy_tokens, tokens, ..
        } = of;
        writeln!(
            card,
            "| {problem} | {} | {} | {} | {} | {} | {} | {} | {} | {greedy_tokens:.1} | {tokens:.1} |",
            percent(*greedy),
            levels(&of.greedy_by_level),
            percent(*sampled),
            percent(*solved_by_any),
            percent(*traced),
            percent(*traced_passed),
            levels(&of.traced_passed_by_level),
            percent(*direct_passed),
        )?;
    }
    writeln!(card)
}

/// Shares of the levels, in whole per cent.
fn levels(shares: &[f64; 5]) -> String {
    shares.map(|share| format!("{:.0}", 100.0 * share)).join(", ")
}

/// All levels together, each problem counted once, with the guessers that could guess at every level.
fn all_levels(bands: &[Band]) -> Band {
    let problems: usize = bands.iter().map(|band| band.problems).sum();
    let mean = |of: &dyn Fn(&Band) -> f64| {
        let sum: f64 = bands.iter().map(|band| band.problems as f64 * of(band)).sum();
        if problems == 0 { 0.0 } else { sum / problems as f64 }
    };
    let everywhere = |name: &str| bands.iter().all(|band| band.guessers.contains_key(name));
    let names = bands.first().into_iter().flat_map(|band| band.guessers.keys());
    Band {
        level: 0,
        problems,
        passed: mean(&|band| band.passed),
        well_formed: mean(&|band| band.well_formed),
        guessers: names
            .filter(|name| everywhere(name))
            .map(|name| (name.clone(), mean(&|band| band.guessers[name])))
            .collect(),
    }
}

fn best_guesser(band: &Band) -> (&str, f64) {
    band.guessers
        .iter()
        .map(|(name, &passed)| (name.as_str(), passed))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .unwrap_or(("none", 0.0))
}

/// Every figure that misses its target.
fn shortfalls(card: &mut String, evaluation: &Evaluation) -> std::fmt::Result {
    let mut short = Vec::new();
    for row in &evaluation.proposals {
        let name = format!("{} proposals with {} references", row.problem, row.references);
        if row.valid < 0.8 {
            short.push(format!("{name}: {} valid", percent(row.valid)));
        }
        if row.distinct < 0.8 {
            short.push(format!("{name}: {} distinct", percent(row.distinct)));
        }
        if row.verbatim >= 0.1 {
            short.push(format!("{name}: {} verbatim", percent(row.verbatim)));
        }
    }
    for (problem, figures) in &evaluation.own {
        let wanted = if problem == "code_f" { 0.2 } else { 0.4 };
        if figures.sometimes < wanted {
            short.push(format!("own {problem}: {} solved sometimes", percent(figures.sometimes)));
        }
    }
    for (problem, bands) in &evaluation.held_out {
        if let Some(lowest) = bands.first().filter(|band| !(0.3..=0.75).contains(&band.passed)) {
            short.push(format!("held-out {problem}, lowest band: {} passed", percent(lowest.passed)));
        }
        if let Some(highest) = bands.last().filter(|band| band.passed >= 0.2) {
            short.push(format!("held-out {problem}, highest band: {} passed", percent(highest.passed)));
        }
        let all = all_levels(bands);
        for (band, of) in
            bands.iter().map(|band| (band, format!("level {}", band.level))).chain([(&all, "all levels".to_owned())])
        {
            let above = band.passed - best_guesser(band).1;
            if above < 0.1 {
                short.push(format!("held-out {problem}, {of}: {:.1} points above the best guesser", 100.0 * above));
            }
        }
    }
    writeln!(card, "### What falls short\n")?;
    if short.is_empty() {
        return writeln!(card, "Nothing of the above.");
    }
    short.iter().try_for_each(|line| writeln!(card, "- {line}"))
}
