//! Arithmetic questions: their values, their samples, and what is held out.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;

use lyceum_core::arithmetic::{Expression, Judgement, Operator, formula, judge, read_question};
use lyceum_core::prompt::{Field, PromptSet};
use lyceum_core::seed;
use lyceum_core::work::FinishReason;
use lyceum_curriculum::arithmetic::{
    Exercise, MARKERS, Quality, SampleSpec, Source, Task, Weights, Writer, plan, plan_value, tokenizer_json,
};
use lyceum_curriculum::{Level, Sample};
use lyceum_verifier::literal::parse_literal;
use lyceum_verifier::value::Value;
use lyceum_verifier::{Check, ProblemKind, Proposal, Verifier, VerifierConfig};
use minijinja::context;
use tokenizers::Tokenizer;

const SPEC: SampleSpec = SampleSpec {
    trace_tokens: 400,
    score_noise: 0.0,
    weights: Weights { prompt: 0.1, question: 0.5, steps: 0.9, answer: 1.0, plan: 0.8, score: 0.7 },
};

fn source() -> Source {
    Source { seed: 3, hold_out_one_in: 8 }
}

fn exercises(level: Level, count: u64) -> Vec<Exercise> {
    let mut rng = seed::stream(1, "exercises", level.number().into());
    (0..count).map(|_| Exercise::draw(level, &mut rng)).collect()
}

fn text(sample: &Sample) -> String {
    sample.prefix.iter().map(|part| part.text.as_str()).collect()
}

/// A Python expression of exact fractions.
fn python(expression: &Expression) -> String {
    match expression {
        Expression::Number(number) => format!("F({},{})", number.numer(), number.denom()),
        Expression::Operation(operator, sides) => {
            let sign = match operator {
                Operator::Add => "+",
                Operator::Subtract => "-",
                Operator::Multiply => "*",
                Operator::Divide => "/",
                Operator::Remainder => "%",
            };
            format!("({}{sign}{})", python(&sides[0]), python(&sides[1]))
        }
    }
}

#[test]
fn the_values_of_questions_are_those_of_python() {
    let verifier = Verifier::start(&VerifierConfig::default()).expect("a verifier");
    let drawn: Vec<Exercise> = Level::ALL.into_iter().flat_map(|level| exercises(level, 800)).collect();
    let tasks = drawn.chunks(100).map(|chunk| {
        let mut program = "from fractions import Fraction as F\ndef f(_):\n return [".to_owned();
        for exercise in chunk {
            let _ = write!(program, "str({}),", python(&exercise.expression));
        }
        program.push(']');
        lyceum_verifier::Task {
            id: String::new(),
            check: Check::Propose(Proposal::Io { problem: ProblemKind::CodeO, program, input: "0".to_owned() }),
        }
    });
    let verdicts: Vec<_> = verifier.judge_all(tasks.collect::<Vec<_>>()).collect();
    let values = verdicts.iter().flat_map(|verdict| {
        let output = verdict.output.as_deref().unwrap_or_else(|| panic!("{verdict:?}"));
        let Ok(Value::List(values)) = parse_literal(output) else { panic!("{output}") };
        values
    });
    let values: Vec<String> = values.map(|value| value.to_string().trim_matches('\'').to_owned()).collect();
    assert_eq!(values.len(), drawn.len());
    for (exercise, value) in drawn.iter().zip(values) {
        let read = read_question(&exercise.question).unwrap_or_else(|reason| panic!("{}: {reason}", exercise.question));
        let found = read.value().map(|value| value.to_string());
        assert_eq!(found.as_ref(), Some(&value), "{}", exercise.question);
        assert_eq!(exercise.answer(), value);
        assert_eq!(judge(&exercise.question, &value), Judgement::Right);
    }
}

#[test]
fn what_was_meant_is_what_is_read() {
    for exercise in Level::ALL.into_iter().flat_map(|level| exercises(level, 1500)) {
        let read = read_question(&exercise.question).unwrap_or_else(|reason| panic!("{}: {reason}", exercise.question));
        assert_eq!(read.value(), Some(exercise.value), "{}", exercise.question);
        assert_eq!(read.form(), exercise.expression.form(), "{}", exercise.question);
        let planned = plan(&exercise.expression).expect("a plan").join(";");
        assert_eq!(plan_value(&planned), Some(exercise.value), "{planned}");
        let steps = lyceum_curriculum::arithmetic::steps(&exercise.expression).expect("steps");
        for step in steps.split(';').filter(|step| !step.is_empty()) {
            let (left, right) = step.split_once('=').unwrap_or_else(|| panic!("{steps}"));
            let value = |text: &str| formula(text, &[]).and_then(|formula| formula.value());
            assert!(value(left).is_some() && value(left) == value(right), "{step} in {steps}");
        }
    }
}

/// A prompt as a worker renders it.
fn rendered(task: Task, variables: &BTreeMap<&str, &str>) -> String {
    let prompts = PromptSet::shipped("seedling-math").unwrap();
    let get = |name: &str| variables.get(name).copied().unwrap_or_default();
    let variables = context! { question => get("question"), answer => get("answer"), plan => get("plan") };
    prompts.render(task.name(), variables).unwrap().text
}

#[test]
fn every_sample_is_a_rendered_prompt_and_a_completion_that_the_grammar_reads() {
    let (source, prompts) = (source(), PromptSet::shipped("seedling-math").unwrap());
    let writer = Writer::new(&source, &SPEC).unwrap();
    let mut qualities = BTreeSet::new();
    for (task, level) in Task::ALL.into_iter().flat_map(|task| Level::ALL.map(|level| (task, level))) {
        let mut rng = seed::stream(5, task.name(), level.number().into());
        for item in 0..80 {
            let steps: Option<&dyn Fn(&str) -> usize> = if item % 2 == 0 { Some(&str::len) } else { None };
            let sample = writer.write(task, level, steps, &mut rng).unwrap();
            let prompt = sample.prefix[0].text.clone();
            let whole = text(&sample);
            let completion = whole[prompt.len()..].strip_suffix("<eos>").expect("an end");
            let fields: &[Field] = match task {
                Task::Propose => &[Field::last("question"), Field::boxed("answer")],
                Task::Challenge => &[Field::last("question"), Field::last("type"), Field::last("answer")],
                Task::Solve | Task::SolveWithPlan => &[Field::boxed("answer")],
                Task::Plan => &[Field::last("plan")],
                Task::CritiqueQuestion | Task::CritiquePlan => &[Field::first("score")],
            };
            let read = prompts.grammar.read(fields, completion, FinishReason::Stop, prompts.opening());
            assert_eq!(read.score(), 1.0, "{whole}");
            let field = |name: &str| read.text(name).unwrap().to_owned();
            let shown = prompt.trim_end_matches("<go>").split_once('>').map_or("", |(_, shown)| shown);
            let (question, about) = shown.split_once("<is>").or(shown.split_once("<use>")).unwrap_or((shown, ""));
            let variables = BTreeMap::from([("question", question), ("answer", about), ("plan", about)]);
            assert_eq!(rendered(task, &variables), prompt, "{task}");
            match task {
                Task::Propose => assert_eq!(judge(&field("question"), &field("answer")), Judgement::Right, "{whole}"),
                Task::Challenge => {
                    assert_eq!(judge(&field("question"), &field("answer")), Judgement::Right, "{whole}");
                    assert_eq!(judge(question, about), Judgement::Right, "{whole}");
                    assert_eq!(field("type"), "math");
                }
                Task::Solve => {
                    assert_eq!(judge(question, &field("answer")), Judgement::Right, "{whole}");
                    assert!(steps.is_some() || completion.starts_with("\\boxed{"), "{whole}");
                }
                Task::SolveWithPlan => {
                    assert_eq!(judge(question, &field("answer")), Judgement::Right, "{whole}");
                    assert_eq!(plan_value(about), read_question(question).unwrap().value(), "{whole}");
                }
                Task::Plan => {
                    assert_eq!(plan_value(&field("plan")), read_question(question).unwrap().value(), "{whole}");
                }
                Task::CritiqueQuestion | Task::CritiquePlan => {
                    let quality = Quality::of_score(field("score").parse().unwrap());
                    let is_sound = match task {
                        Task::CritiqueQuestion => judge(question, about) == Judgement::Right,
                        _ => plan_value(about) == read_question(question).unwrap().value(),
                    };
                    assert_eq!(is_sound, quality == Quality::Sound, "{whole}");
                    qualities.insert((task, quality));
                }
            }
        }
    }
    assert_eq!(qualities.len(), 6, "every critic sees every quality");
}

#[test]
fn steps_that_do_not_fit_are_left_out() {
    let source = source();
    let short = SampleSpec { trace_tokens: 30, ..SPEC };
    let writer = Writer::new(&source, &short).unwrap();
    let mut rng = seed::stream(5, "short", 0);
    let mut with_steps = 0;
    for _ in 0..200 {
        let sample = writer.write(Task::Solve, Level::ALL[1], Some(&str::len), &mut rng).unwrap();
        let answer: usize = sample.prefix[1..].iter().map(|part| part.text.len()).sum();
        with_steps += usize::from(sample.prefix.len() == 3);
        assert!(sample.prefix.len() == 2 || answer <= 30);
    }
    assert!((20..180).contains(&with_steps), "{with_steps} of 200 show steps");
}

#[test]
fn a_critic_with_noise_is_sometimes_wrong() {
    let source = source();
    let noisy = SampleSpec { score_noise: 0.3, ..SPEC };
    let writer = Writer::new(&source, &noisy).unwrap();
    let mut rng = seed::stream(5, "noise", 0);
    let mut wrong = 0;
    for _ in 0..600 {
        let sample = writer.write(Task::CritiqueQuestion, Level::ALL[0], None, &mut rng).unwrap();
        let whole = text(&sample);
        let (question, rest) = whole.trim_start_matches("<judge>").split_once("<is>").unwrap();
        let (answer, rest) = rest.split_once("<go><score>").unwrap();
        let score = rest.trim_end_matches("</score><eos>").parse().unwrap();
        let is_sound = judge(question, answer) == Judgement::Right;
        wrong += usize::from(is_sound != (Quality::of_score(score) == Quality::Sound));
    }
    // Half of the labels drawn again change whether it is sound.
    assert!((50..140).contains(&wrong), "{wrong} of 600 scores are wrong");
}

#[test]
fn a_seed_gives_the_same_samples_and_another_seed_others() {
    let source = source();
    let writer = Writer::new(&source, &SPEC).unwrap();
    let drawn = |seed| -> Vec<Sample> {
        let mut rng = seed::stream(seed, "samples", 0);
        let tasks = Task::ALL.into_iter().cycle().take(70);
        tasks.map(|task| writer.write(task, Level::ALL[2], None, &mut rng).unwrap()).collect()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn held_out_questions_never_occur_in_training() {
    let source = source();
    let writer = Writer::new(&source, &SPEC).unwrap();
    let mut held_out = HashSet::new();
    for level in Level::ALL {
        let mut rng = seed::stream(9, "held-out", level.number().into());
        for _ in 0..400 {
            held_out.insert(source.held_out(level, &mut rng).expression.form());
        }
    }
    let mut met = 0;
    for (task, level) in Task::ALL.into_iter().flat_map(|task| Level::ALL.map(|level| (task, level))) {
        let mut rng = seed::stream(9, task.name(), level.number().into());
        for _ in 0..200 {
            let whole = text(&writer.write(task, level, None, &mut rng).unwrap());
            for piece in whole.split(['<', '>']) {
                if let Ok(read) = read_question(piece)
                    && read.operations() > 0
                {
                    // A critic's question may have its words in another order.
                    let is_spoilt = task == Task::CritiqueQuestion;
                    assert!(is_spoilt || !source.holds_out(&read), "{whole}");
                    assert!(is_spoilt || !held_out.contains(&read.form()), "{whole}");
                    met += 1;
                }
            }
        }
    }
    assert!(met > 6000, "{met} questions were read");
}

#[test]
fn harder_levels_have_more_operations_and_all_wordings_occur() {
    let operations =
        |level: Level| -> usize { exercises(level, 600).iter().map(|exercise| exercise.expression.operations()).sum() };
    let of: Vec<usize> = Level::ALL.into_iter().map(operations).collect();
    assert!(of[0] == 600 && of[1] > 900 && of[2] > of[0] && of[3] > of[0] && of[4] > of[2], "{of:?}");
    let all: String = Level::ALL
        .into_iter()
        .flat_map(|level| exercises(level, 3000))
        .map(|exercise| exercise.question.to_lowercase() + " ")
        .collect();
    use lyceum_core::arithmetic::wording as words;
    let wordings = words::PHRASES.iter().chain(words::TASKS).chain(words::CHAIN_LINKS).map(|wording| wording.pattern);
    let patterns = wordings
        .chain(words::ASKS.iter().copied())
        .chain(words::CHAIN_ENDS.iter().copied())
        .chain(words::CHAIN_STARTS.iter().copied())
        .chain(words::STORY_STARTS.iter().copied())
        .chain(words::STORY_CHANGES.iter().map(|(pattern, _)| *pattern));
    for pattern in patterns {
        let mut pieces = pattern.split('{').map(|piece| piece.split('}').next_back().unwrap_or(""));
        assert!(pieces.all(|piece| all.contains(&piece.to_lowercase())), "{pattern}");
    }
}

#[test]
fn the_tokenizer_knows_the_words_and_keeps_digits_apart() {
    let json = tokenizer_json();
    let vocabulary = json["model"]["vocab"].as_array().expect("a list");
    let distinct: HashSet<_> = vocabulary.iter().map(|piece| piece[0].to_string()).collect();
    assert_eq!(distinct.len(), vocabulary.len());
    assert!((400..=480).contains(&vocabulary.len()), "{} pieces", vocabulary.len());
    let tokenizer = Tokenizer::from_bytes(json.to_string()).expect("a tokenizer");
    let tokens = |text: &str| tokenizer.encode(text, false).expect("any text").get_tokens().to_vec();
    for marker in MARKERS {
        assert_eq!(tokens(marker), [marker]);
    }
    assert_eq!(
        tokens("<solve>What is 34 plus (5 * 12)?<go>\\boxed{94}<eos>"),
        [
            "<solve>", "What", " is", " ", "3", "4", " plus", " ", "(", "5", " * ", "1", "2", ")", "?", "<go>",
            "\\boxed{", "9", "4", "}", "<eos>"
        ]
    );
    let mut pieces = [0; 5];
    for level in Level::ALL {
        for exercise in exercises(level, 300) {
            let found = tokens(&exercise.question);
            assert!(found.iter().all(|token| token.chars().filter(char::is_ascii_digit).count() <= 1), "{found:?}");
            let spelled: Vec<&String> = found.iter().filter(|token| token.len() == 1 && token.as_str() > "@").collect();
            let is_variable = |token: &&String| ["x", "y", "n", "k", "a"].contains(&token.as_str());
            assert!(spelled.iter().all(is_variable), "{} is spelled letter by letter: {found:?}", exercise.question);
            pieces[usize::from(level.number()) - 1] += found.len();
            let ids = tokenizer.encode(exercise.question.as_str(), false).expect("any text");
            assert_eq!(tokenizer.decode(ids.get_ids(), true).expect("its own ids"), exercise.question);
        }
    }
    assert!(pieces[0] < 20 * 300 && pieces[4] < 70 * 300, "{pieces:?}");
}
