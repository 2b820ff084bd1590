//! Guessers: baselines that answer without understanding, to compare pass rates with.

use std::collections::HashMap;

use lyceum_curriculum::Executed;
use lyceum_curriculum::message::message;
use lyceum_verifier::ProblemKind;

/// Guesses the answer from the pairs that the solver may see and the problem's program; `None` if it has no guess.
pub(super) type Guess<'a> = Box<dyn Fn(&[(String, String)], &Executed) -> Option<String> + 'a>;

/// Guessers based on the training programs.
pub(super) struct Guessers<'a> {
    /// The commonest output by first character, which indicates the type.
    commonest: HashMap<char, &'a str>,
    by_message: HashMap<String, &'a str>,
}

impl<'a> Guessers<'a> {
    pub(super) fn new(training: &'a [Executed]) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for (_, output) in training.iter().flat_map(|executed| &executed.pairs) {
            *counts.entry(output).or_default() += 1;
        }
        let mut ordered: Vec<(&str, usize)> = counts.into_iter().collect();
        ordered.sort_by_key(|&(output, count)| (std::cmp::Reverse(count), output));
        let mut commonest = HashMap::new();
        for (output, _) in ordered {
            commonest.entry(kind(output)).or_insert(output);
        }
        let by_message = training
            .iter()
            .map(|executed| (message(&executed.source), executed.source.as_str()))
            .collect();
        Self { commonest, by_message }
    }

    /// The guessers of a type, by name.
    pub(super) fn of(&self, problem: ProblemKind) -> Vec<(&'static str, Guess<'_>)> {
        match problem {
            ProblemKind::CodeO => vec![
                (
                    "the commonest output of the right type",
                    Box::new(|shown, _| {
                        let (_, output) = shown.first()?;
                        self.commonest.get(&kind(output)).map(|output| (*output).to_owned())
                    }),
                ),
                (
                    "the input",
                    Box::new(|shown, _| shown.first().map(|(input, _)| input.clone())),
                ),
            ],
            ProblemKind::CodeI => vec![(
                "another input of the right types",
                Box::new(|shown, executed| {
                    let (asked, _) = shown.first()?;
                    let at = executed.pairs.iter().position(|(input, _)| input == asked)?;
                    let other = (at + 1) % executed.pairs.len();
                    executed.pairs.get(other).map(|(input, _)| input.clone())
                }),
            )],
            _ => vec![(
                "a training program with the same message",
                Box::new(|_, executed| {
                    self.by_message
                        .get(&message(&executed.source))
                        .map(|source| (*source).to_owned())
                }),
            )],
        }
    }
}

/// A character that identifies the type of an output.
fn kind(output: &str) -> char {
    match output.chars().next() {
        Some(first) if first.is_ascii_digit() || first == '-' => '0',
        // A list of strings counts as a different type from a list of integers.
        Some('[') if output.contains(['\'', '"']) => '\'',
        Some('\'' | '"') => 's',
        Some(other) => other,
        None => ' ',
    }
}
