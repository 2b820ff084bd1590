//! Samples match the prompts of `configs/prompts/seedling` and `seedling-gasp`, and the expected answers.

use std::collections::HashSet;

use lyceum_core::problem::Statement;
use lyceum_core::prompt::{PromptSet, ProposalText, Reference};
use lyceum_core::seed;
use lyceum_core::verify::Proposal;
use lyceum_core::work::FinishReason;
use lyceum_curriculum::execute::Candidate;
use lyceum_curriculum::message::message;
use lyceum_curriculum::sample::{Part, Sample, SampleSpec, StoneSpec, StoneTask, TaskKind, TraceSpec, Way, Weights};
use lyceum_curriculum::{Executed, Level};
use lyceum_verifier::ProblemKind;
use minijinja::{Value, context};

const STONES: StoneSpec = StoneSpec { pairs: 5, shown: 2 };

const SPEC: SampleSpec = SampleSpec {
    branches: 3,
    references: 2,
    num_inputs: 6,
    weights: Weights { answer: 1.0, shown_program: 0.1, proposal: 0.9, listed_inputs: 0.2, reference: 0.3 },
    trace: Some(TraceSpec { max_tokens: 60, branches: 2, candidates: 2 }),
    guesses: None,
    stones: Some(STONES),
};

fn executed(source: &str) -> Executed {
    Executed {
        source: source.to_owned(),
        level: Level::ALL[0],
        pairs: (0..8).map(|number| (number.to_string(), format!("[{number},'a b']"))).collect(),
        traces: (0..8).map(|number| Some(format!("r={number}"))).collect(),
        candidates: vec![Candidate {
            source: format!("{source}[1:]"),
            runs: (0..8).map(|_| Some((String::new(), "['a b']".to_owned()))).collect(),
        }],
    }
}

fn text(parts: &[Part]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect()
}

fn write(task: TaskKind, item: u64) -> Sample {
    write_in(Way::Direct, task, item)
}

fn write_in(way: Way<'_>, task: TaskKind, item: u64) -> Sample {
    let (subject, other) = (executed("def f(a):\n return [a,'a b']"), executed("def f(n):\n return [n,'a b']"));
    SPEC.write(task, way, &subject, |_| &other, &mut seed::stream(1, "format", item))
}

#[test]
fn guesses_are_the_answers_of_other_inputs() {
    let guessing = |share: f64| SampleSpec { guesses: Some([share, 0.0, 0.0, 0.0, 0.0]), ..SPEC };
    let subject = executed("def f(a):\n return [a,'a b']");
    let right = |spec: &SampleSpec, way, item| {
        let mut rng = seed::stream(1, "guess", item);
        let sample = spec.write(TaskKind::SolveCodeO, way, &subject, |_| &subject, &mut rng);
        let answers = sample.branches.iter().map(|parts| {
            let (input, answer) = parts.split_first().unwrap();
            let input = input.text.strip_prefix("<in>").and_then(|text| text.strip_suffix("<out>"));
            let answer = text(answer).rsplit("<so>").next().unwrap().to_owned();
            assert!(subject.pairs.iter().any(|(_, output)| answer == format!("{output}<eos>")), "{answer}");
            answer == format!("[{},'a b']<eos>", input.unwrap())
        });
        answers.collect::<Vec<bool>>()
    };
    let all = |share, way| (0..40).flat_map(|item| right(&guessing(share), way, item)).collect::<Vec<_>>();
    assert!(all(1.0, Way::Direct).iter().all(|right| !right));
    assert!(all(0.0, Way::Direct).iter().all(|right| *right));
    let half = all(0.5, Way::Direct);
    let guessed = half.iter().filter(|right| !**right).count();
    assert!((40..80).contains(&guessed), "{guessed} of {}", half.len());
    assert!(all(1.0, Way::Traced(&|_: &str| 1)).iter().all(|right| *right), "steps are never guessed");
}

#[test]
fn proposals_answer_the_templates() {
    let prompts = PromptSet::shipped("seedling").unwrap();
    let mut seen = [false; 3];
    for item in 0..40 {
        for (task, problem) in
            [(TaskKind::ProposeCodeO, ProblemKind::CodeO), (TaskKind::ProposeCodeI, ProblemKind::CodeI)]
        {
            let whole = text(&write(task, item).prefix);
            let (prompt, completion) = whole.rsplit_once("<prog>").unwrap();
            let shown = prompt.split("<ref>").skip(1).map(|reference| {
                let (program, rest) = reference.split_once("<in>").unwrap();
                let (input, output) = rest.split_once("<out>").unwrap();
                Reference { program: program.to_owned(), input: input.to_owned(), output: output.to_owned() }
            });
            let shown: Vec<_> = shown.collect();
            seen[shown.len()] = true;
            assert_eq!(prompts.propose_io(problem, &shown).unwrap().text, format!("{prompt}<prog>"));
            let read =
                prompts.grammar.proposal(problem, completion.strip_suffix("<eos>").unwrap(), FinishReason::Stop, "", 1);
            assert!(matches!(read, Ok(ProposalText::Io { program, .. }) if program == "def f(a):\n return [a,'a b']"));
        }
    }
    assert_eq!(seen, [true; 3], "with none to as many references as the specification says");
}

#[test]
fn function_proposals_list_different_inputs_and_a_message() {
    let prompts = PromptSet::shipped("seedling").unwrap();
    let sample = write(TaskKind::ProposeCodeF, 0);
    let program = "def f(a):\n return [a,'a b']";
    assert_eq!(prompts.propose_function(program, 6).unwrap().text, sample.prefix[0].text);
    let completion = text(&sample.prefix[1..]);
    let read = prompts.grammar.proposal(
        ProblemKind::CodeF,
        completion.strip_suffix("<eos>").unwrap(),
        FinishReason::Stop,
        "",
        6,
    );
    let Ok(ProposalText::Function { mut inputs, message: said }) = read else { panic!("{read:?}") };
    inputs.sort();
    inputs.dedup();
    assert_eq!((inputs.len(), said), (6, message(program)));
}

#[test]
fn solutions_answer_the_templates() {
    let prompts = PromptSet::shipped("seedling").unwrap();
    let program = "def f(a):\n return [a,'a b']";
    for (task, sample) in [TaskKind::SolveCodeO, TaskKind::SolveCodeI].map(|task| (task, write(task, 5))) {
        assert_eq!(sample.branches.len(), 3);
        for branch in &sample.branches {
            assert_eq!((branch[0].weight, branch[1].weight), (0.0, 1.0));
            let prompt = text(&sample.prefix) + &branch[0].text;
            let answer = branch[1].text.strip_suffix("<eos>").unwrap();
            let (input, output, rendered) = match task {
                TaskKind::SolveCodeO => {
                    let input = branch[0].text.trim_start_matches("<in>").trim_end_matches("<out>");
                    (input, answer, prompts.solve(&Statement::Output { program, input }))
                }
                _ => {
                    let output = branch[0].text.trim_start_matches("<out>").trim_end_matches("<in>");
                    (answer, output, prompts.solve(&Statement::Input { program, output }))
                }
            };
            assert_eq!(rendered.unwrap().text, prompt);
            assert_eq!(output, format!("[{input},'a b']"));
        }
    }
    for item in 0..30 {
        let sample = write(TaskKind::SolveCodeF, item);
        let pairs = sample.prefix[0]
            .text
            .trim_end_matches("<prog>")
            .split("<in>")
            .skip(1)
            .map(|pair| pair.split_once("<out>").unwrap());
        let pairs: Vec<_> = pairs.collect();
        assert!((1..=5).contains(&pairs.len()));
        let message = message(program);
        let function = Statement::Function { message: &message, pairs };
        assert_eq!(prompts.solve(&function).unwrap().text, sample.prefix[0].text);
        assert_eq!(sample.prefix[1].text, format!("{program}<eos>"));
    }
}

#[test]
fn traced_solutions_end_with_the_answer_that_the_grammar_reads() {
    let grammar = PromptSet::shipped("seedling").unwrap().grammar;
    let mut wrong = 0;
    for item in 0..20 {
        for (task, problem) in [(TaskKind::SolveCodeO, ProblemKind::CodeO), (TaskKind::SolveCodeI, ProblemKind::CodeI)]
        {
            let traced = write_in(Way::Traced(&str::len), task, item);
            assert_eq!(traced.branches.len(), 2);
            for branch in &traced.branches {
                let completion = text(&branch[1..]);
                let completion = completion.strip_suffix("<eos>").unwrap();
                let answer = grammar.answer(problem, completion, FinishReason::Stop, "").unwrap();
                let number: u32 = branch[0].text.matches(char::is_numeric).next().unwrap().parse().unwrap();
                match problem {
                    ProblemKind::CodeO => {
                        assert_eq!(completion, format!("#r={number}<so>[{number},'a b']"));
                        assert_eq!(answer, format!("[{number},'a b']"));
                    }
                    _ => {
                        assert!(completion.ends_with(&format!("#{number}:r={number};[{number},'a b']<si>{number}")));
                        assert_eq!(answer, number.to_string());
                        wrong += branch.iter().skip(1).filter(|part| part.weight == 0.0).count();
                    }
                }
            }
            // Every letter counts as a token, so that nothing fits.
            let long = |text: &str| 61 * text.len();
            let direct = write_in(Way::Traced(&long), task, item);
            assert!(direct.branches.iter().all(|branch| !text(branch).contains('#')));
        }
    }
    assert!((10..60).contains(&wrong), "{wrong} wrong inputs were tried in 40 answers");
}

#[test]
fn a_traced_program_follows_candidates_that_were_run() {
    let grammar = PromptSet::shipped("seedling").unwrap().grammar;
    let program = "def f(a):\n return [a,'a b']";
    let mut wrong = 0;
    for item in 0..20 {
        // Every word counts as a token.
        let words = |text: &str| text.split(' ').count();
        let parts = write_in(Way::Traced(&words), TaskKind::SolveCodeF, item).prefix;
        let completion = text(&parts[1..]);
        let completion = completion.strip_suffix("<eos>").unwrap();
        let answer = grammar.answer(ProblemKind::CodeF, completion, FinishReason::Stop, "");
        assert_eq!(answer.as_deref(), Ok(program));
        assert!(completion.starts_with("#def f(a):") && completion.ends_with(&format!("<sf>{program}")));
        let candidate = parts.iter().skip(1).find(|part| part.weight == 0.0);
        if let Some(candidate) = candidate {
            assert_eq!(candidate.text, format!("{program}[1:]"));
            assert!(completion.contains("[1:]#['a b']#def f(a):"));
            wrong += 1;
        }
    }
    assert!((5..20).contains(&wrong), "{wrong} of 20 answers try a wrong program first");
}

#[test]
fn stepping_stones_answer_the_templates_with_different_outputs() {
    let prompts = PromptSet::shipped("seedling-gasp").unwrap();
    let mut easier = executed("def f(a):\n return [a,'a b']");
    let harder = executed("def f(n):\n r=[n,'a b']\n return r[::-1]");
    // Five outputs differ, so five pairs can have different ones.
    for (at, pair) in easier.pairs.iter_mut().enumerate() {
        pair.1 = format!("[{},'a b']", at % 5);
    }
    let mut shown_pairs = [0; 4];
    for (task, item) in StoneTask::ALL.into_iter().flat_map(|task| (0..40).map(move |item| (task, item))) {
        let sample = SPEC.write_stone(task, &STONES, &easier, &harder, &mut seed::stream(1, "stones", item));
        let (given, written) = if task.is_lemma() { (&harder, &easier) } else { (&easier, &harder) };
        assert_eq!(sample.prefix.iter().map(|part| part.weight).collect::<Vec<_>>(), [0.0, 0.9, 0.2, 0.9]);
        let (prompt, completion) = (&sample.prefix[0].text, text(&sample.prefix[1..]));
        let pairs: Vec<Value> = prompt
            .trim_end_matches("<prog>")
            .split("<in>")
            .skip(1)
            .map(|pair| {
                let (input, output) = pair.split_once("<out>").unwrap();
                assert!(given.pairs.contains(&(input.to_owned(), output.to_owned())));
                context! { input, output }
            })
            .collect();
        shown_pairs[pairs.len()] += 1;
        let said = message(&given.source);
        let variables = context! { question => said.clone(), message => said, program => given.source.clone(), pairs, num_inputs => 5 };
        assert_eq!(&prompts.render(task.name(), variables).unwrap().text, prompt);
        let completion = completion.strip_suffix("<eos>").unwrap();
        let read = prompts.grammar.posed_function(completion, FinishReason::Stop, "", 5);
        let Ok(Proposal::Function { program, inputs, message: said }) = read else { panic!("{read:?}") };
        assert_eq!((program.as_str(), said), (written.source.as_str(), message(&written.source)));
        let outputs: HashSet<&str> =
            inputs.iter().map(|input| written.pairs.iter().find(|pair| pair.0 == *input).unwrap().1.as_str()).collect();
        assert_eq!((inputs.len(), outputs.len()), (5, 5), "{inputs:?}");
    }
    assert!(shown_pairs[0] == 0 && shown_pairs[2] > 110 && shown_pairs[3] > 0, "{shown_pairs:?}");
}
