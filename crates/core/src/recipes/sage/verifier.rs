//! What decides whether an answer is correct.

use super::generated::Generated;
use crate::{
    answer::fenced_blocks,
    benchmark::{BenchmarkRow, Question, Submission, code_of, task},
    kit::{
        judge::Given,
        mathematics,
        mathematics::{ANSWER, read_answer},
    },
    prompt::{Answer, PromptSet},
    verify::{Check, ProblemKind},
    work::Completion,
};

/// What decides whether an answer to a task is correct.
#[derive(Clone, Debug)]
pub(super) enum Verifier {
    /// The correct answer to a question of mathematics.
    Answer(String),
    /// Tests that a challenger wrote.
    Generated(Generated),
    /// What a challenger wrote in place of tests.
    Unusable(String),
    /// The tests of a dataset's row.
    Row(Box<BenchmarkRow>),
}

impl Verifier {
    pub(super) fn kind(&self) -> ProblemKind {
        match self {
            Self::Answer(_) => ProblemKind::Math,
            Self::Generated(_) | Self::Unusable(_) | Self::Row(_) => ProblemKind::Code,
        }
    }

    /// The answer, or the tests, as challenger and critic see them.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Answer(text) | Self::Unusable(text) => text,
            Self::Generated(generated) => &generated.tests,
            Self::Row(row) => match &row.oracle {
                Question::Script { test, .. } => test,
                _ => "(not shown: inputs that are compared with a reference program)",
            },
        }
    }

    /// The function under test, if there is one.
    pub(super) fn entry_point(&self) -> Option<&str> {
        match self {
            Self::Answer(_) | Self::Unusable(_) => None,
            Self::Generated(generated) => Some(&generated.entry_point),
            Self::Row(row) => row.oracle.entry_point(),
        }
    }

    /// The answer in a solver's completion: the last box, or the program.
    pub(super) fn read(&self, prompts: &PromptSet, completion: &Completion) -> Answer {
        match self {
            Self::Answer(_) => read_answer(prompts, completion),
            Self::Row(row) => Submission::Response(completion.text.clone()).solution(row),
            Self::Generated(_) | Self::Unusable(_) => {
                let code = code_of(&completion.text, self.entry_point(), None);
                match code.trim().is_empty() {
                    true => Err("there is no program".to_owned()),
                    false => Ok(code),
                }
            }
        }
    }

    /// An answer to be judged; `id` names its task among those of the item.
    pub(super) fn given(&self, id: String, answer: Answer) -> Given {
        if let Self::Answer(gold) = self {
            return mathematics::given(id, gold, answer);
        }
        match answer.and_then(|program| Ok((self.tests(program.clone())?, program))) {
            Ok((check, program)) => Given::checked(id, program, check),
            Err(reason) => Given::unreadable(id, reason),
        }
    }

    fn tests(&self, program: String) -> Result<Check, String> {
        match self {
            Self::Generated(generated) => Ok(generated.check(program)),
            Self::Row(row) => Ok(task(row, String::new(), program)?.check),
            Self::Answer(_) | Self::Unusable(_) => Err("there are no tests".to_owned()),
        }
    }

    /// The format reward of a solver's completion: of its box, however many there are, since solutions box intermediate
    /// results too; or of its blocks of Python, of which one is exact and several are redundant.
    pub(super) fn format(&self, prompts: &PromptSet, completion: &Completion) -> f32 {
        let text = &completion.text;
        if self.kind() == ProblemKind::Math {
            let reading = prompts
                .grammar
                .read(&[ANSWER], text, completion.finish_reason, prompts.opening());
            return reading.score();
        }
        let blocks = fenced_blocks(text).iter().filter(|block| block.is("python")).count();
        match blocks {
            _ if text.trim().is_empty() => 0.5,
            0 => 0.0,
            1 => 1.0,
            _ => 0.5,
        }
    }
}
