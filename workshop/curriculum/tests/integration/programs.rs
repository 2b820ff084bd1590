//! Properties of the generated programs.

use std::collections::{BTreeSet, HashSet};

use lyceum_curriculum::masked::masked_form;
use lyceum_curriculum::{Corpus, CorpusSpec, Level, Program};
use lyceum_verifier::program::measure;
use lyceum_verifier::{ProblemKind, Proposal, Verifier, VerifierConfig};
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{AnyNodeRef, ExprContext};
use ruff_python_parser::parse_module;

fn spec() -> CorpusSpec {
    CorpusSpec { seed: 7, programs: [60; 5], inputs: 10, hold_out_one_in: 5, programs_per_form: 4, traces: true }
}

fn corpus() -> Corpus {
    let verifier = Verifier::start(&VerifierConfig::default()).expect("a sandbox");
    Corpus::generate(&spec(), &verifier, &mut |_| ())
}

#[test]
fn recorded_outputs_are_what_the_verifier_finds_for_each_program_alone() {
    let verifier = Verifier::start(&VerifierConfig::default()).expect("a sandbox");
    let corpus = Corpus::generate(&spec(), &verifier, &mut |_| ());
    let chosen: Vec<_> = corpus.training.iter().step_by(7).collect();
    for level in Level::ALL {
        assert!(chosen.iter().any(|executed| executed.level == level), "level {level} is missing");
    }
    for executed in chosen {
        for (input, output) in executed.pairs.iter().take(2) {
            let proposal =
                Proposal::Io { problem: ProblemKind::CodeO, program: executed.source.clone(), input: input.clone() };
            let verdict = verifier.check("", proposal);
            assert_eq!(verdict.valid, Some(true), "{}\n{input}: {}", executed.source, verdict.reason);
            let found = verdict.output.unwrap_or_default().replace(", ", ",").replace(": ", ":");
            assert_eq!(&found, output, "{}\n{input}", executed.source);
        }
    }
}

#[test]
fn steps_are_recorded_beside_their_runs() {
    let corpus = corpus();
    let written = |executed: &lyceum_curriculum::Executed| executed.traces.iter().flatten().count();
    let traced: usize = corpus.training.iter().map(written).sum();
    let all: usize = corpus.training.iter().map(|executed| executed.pairs.len()).sum();
    assert!(traced * 10 > all * 9, "{traced} of {all} runs have few enough steps");
    let last_of_loop = corpus.training.iter().filter(|executed| {
        let source = &executed.source;
        executed.level == Level::ALL[2] && source.ends_with("return r")
    });
    let mut seen = 0;
    for executed in last_of_loop {
        for ((_, output), steps) in executed.pairs.iter().zip(&executed.traces) {
            // The last value of the result is the output.
            if let Some((_, last)) = steps.as_deref().and_then(|steps| steps.rsplit_once(";r=")) {
                let value = last.split(';').next();
                assert_eq!(value, Some(output.as_str()), "{}", executed.source);
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen} loops were followed to their end");
    assert!(corpus.held_out.iter().all(|executed| executed.traces.is_empty()));
    let with = |executed: &&lyceum_curriculum::Executed| !executed.candidates.is_empty();
    let others: Vec<_> = corpus.training.iter().filter(with).collect();
    assert!(others.len() > 90, "{} programs have candidates", others.len());
    for executed in others {
        let head = |source: &str| source.lines().next().map(str::to_owned);
        for candidate in &executed.candidates {
            assert_ne!(candidate.source, executed.source);
            assert_eq!(head(&candidate.source), head(&executed.source));
            assert_eq!(candidate.runs.len(), executed.pairs.len());
        }
    }
}

#[test]
fn parts_share_no_form_and_repeat_no_source() {
    let corpus = corpus();
    let forms = |part: &[lyceum_curriculum::Executed]| -> HashSet<String> {
        part.iter().map(|executed| masked_form(&executed.source)).collect()
    };
    let (training, held_out) = (forms(&corpus.training), forms(&corpus.held_out));
    assert!(training.is_disjoint(&held_out));
    assert!(training.iter().all(|form| !spec().holds_out(form)) && held_out.iter().all(|form| spec().holds_out(form)));
    assert!(corpus.held_out.len() * 12 > corpus.training.len(), "{} are held out", corpus.held_out.len());
    let sources: Vec<_> = corpus.training.iter().map(|executed| &executed.source).collect();
    assert_eq!(sources.iter().collect::<HashSet<_>>().len(), sources.len());
    for executed in corpus.training.iter().chain(&corpus.held_out) {
        let inputs: HashSet<_> = executed.pairs.iter().map(|(input, _)| input).collect();
        assert_eq!(inputs.len(), executed.pairs.len());
        let outputs: HashSet<_> = executed.pairs.iter().map(|(_, output)| output).collect();
        assert!(outputs.len() * 2 >= executed.pairs.len(), "{}", executed.source);
    }
}

#[test]
fn a_seed_gives_the_same_programs_and_another_seed_others() {
    let sources = |seed| -> Vec<_> { (0..40).map(|item| Program::random(seed, Level::ALL[2], item).source).collect() };
    assert_eq!(sources(1), sources(1));
    assert_ne!(sources(1), sources(2));
}

#[test]
fn every_level_is_larger_than_the_one_before() {
    let means = Level::ALL.map(|level| {
        let mut sums = [0.0; 3];
        for item in 0..300 {
            let program = Program::random(3, level, item);
            let complexity = measure(&program.source).expect("a program that parses");
            let measures = [complexity.cyclomatic, complexity.loc, program.source.len() as u32];
            for (sum, measure) in sums.iter_mut().zip(measures) {
                *sum += f64::from(measure) / 300.0;
            }
        }
        sums
    });
    for pair in means.windows(2) {
        for (easier, harder) in pair[0].iter().zip(pair[1]) {
            assert!(harder > *easier, "{means:?}");
        }
    }
}

#[test]
fn names_are_used_and_constants_are_not_folded() {
    for level in Level::ALL {
        for item in 0..300 {
            let source = Program::random(11, level, item).source;
            let parsed = parse_module(&source).unwrap_or_else(|error| panic!("{source}\n{error}"));
            let mut names = Names::default();
            walk_body(&mut names, &parsed.syntax().body);
            let unused: Vec<_> = names.bound.difference(&names.used).collect();
            assert!(unused.is_empty(), "{unused:?} in\n{source}");
            assert!(!names.folds, "an operator between constants in\n{source}");
        }
    }
}

/// Bound names, read names, and whether an operator has constants on both sides.
#[derive(Default)]
struct Names {
    bound: BTreeSet<String>,
    used: BTreeSet<String>,
    folds: bool,
}

impl<'a> SourceOrderVisitor<'a> for Names {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        match node {
            AnyNodeRef::Parameter(parameter) => {
                self.bound.insert(parameter.name.to_string());
            }
            AnyNodeRef::ExprName(name) if name.ctx == ExprContext::Store => {
                self.bound.insert(name.id.to_string());
            }
            AnyNodeRef::ExprName(name) => {
                self.used.insert(name.id.to_string());
            }
            AnyNodeRef::ExprBinOp(operation) => {
                self.folds |= operation.left.is_literal_expr() && operation.right.is_literal_expr();
            }
            _ => {}
        }
        TraversalSignal::Traverse
    }
}
