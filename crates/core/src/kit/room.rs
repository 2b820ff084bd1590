//! Room in a context for what models write into the prompts of others. Only the contexts of well-known bases are known here
//! ([`context_length`]), and what a chat template adds to a prompt is not counted.

use crate::fault::Fault;
use crate::footprint::context_length;
use crate::prompt::{PromptError, PromptSet, Size, Template};
use crate::work::Sampling;

/// Completions: their group in the parameters, such as `vote.sampling`, and how they are sampled.
pub(crate) type Group<'c> = (&'c str, &'c Sampling);

/// The fault of answers that have no room in the context of `base` if completions of the groups `shown` are in the prompt
/// and all are as long as they may be.
pub(crate) fn room_fault(base: &str, answers: Group<'_>, shown: &[Group<'_>]) -> Option<Fault> {
    let context = context_length(base)?;
    let lengths = shown.iter().map(|(_, sampling)| sampling.max_tokens);
    let before = lengths.fold(0, u32::saturating_add);
    let needed = before.saturating_add(answers.1.max_tokens);
    if needed <= context {
        return None;
    }
    let field = |(group, sampling): &Group<'_>| format!("{} of `{group}`", sampling.max_tokens);
    let shown: Vec<String> = shown.iter().map(field).collect();
    let cure = match context.saturating_sub(before) {
        0 => "lower the others first".to_owned(),
        most => format!("at most {most} is valid here"),
    };
    let detail = format!(
        "{} after {}, which its prompts show, are {needed} together, beyond the {context} positions of {base}: {cure}",
        answers.1.max_tokens,
        shown.join(" and ")
    );
    let pointer = format!("/parameters/{}/max_tokens", answers.0.replace('.', "/"));
    Some(Fault::new(pointer, detail))
}

/// Texts of one completion, each by the name that templates have for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'t> {
    pub(crate) texts: &'t [(&'t str, &'t str)],
    /// The tokens of the completion.
    pub(crate) tokens: u32,
}

/// The room for texts in the prompts that show them to members of a base.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    base: String,
    context: usize,
    prompts: Vec<Shown>,
}

/// A prompt that shows texts.
#[derive(Clone, Debug)]
struct Shown {
    template: &'static str,
    size: Size,
    /// Tokens that must be left.
    besides: u32,
}

impl Room {
    /// Room for anything; `None` for a base whose context is not known.
    pub(crate) fn of(base: &str) -> Option<Self> {
        Some(Self { base: base.to_owned(), context: context_length(base)? as usize, prompts: Vec::new() })
    }

    /// Less so much that prompts of `template` leave tokens for the answer, and for other texts that they show.
    pub(crate) fn showing(
        mut self,
        prompts: &PromptSet,
        template: &Template,
        numbers: &[(&str, u64)],
        besides: u32,
    ) -> Result<Self, PromptError> {
        self.prompts.push(Shown { template: template.name, size: prompts.measure(template, numbers)?, besides });
        Ok(self)
    }

    /// Why texts may be too long. They take no more tokens than they have bytes, and no more than they were written with.
    pub(crate) fn misfit(&self, written: Written<'_>) -> Option<String> {
        self.prompts.iter().find_map(|shown| {
            let prompt = shown.tokens(written);
            let needed = prompt + shown.besides as usize;
            (needed > self.context).then(|| {
                format!(
                    "too long: the prompt `{}` with it may take {prompt} tokens and needs {} more, beyond the {} positions of {}",
                    shown.template, shown.besides, self.context, self.base
                )
            })
        })
    }
}

impl Shown {
    /// The most tokens of the prompt with these texts.
    fn tokens(&self, written: Written<'_>) -> usize {
        let (mut copies, mut bytes) = (0, 0);
        for (name, text) in written.texts {
            if let Some(growth) = self.size.growth(name) {
                copies = growth.max(copies);
                bytes += text.len();
            }
        }
        self.size.base() + copies * bytes.min(written.tokens as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{PromptConfig, Variable};

    const SHOW: Template = Template {
        name: "solve",
        doc: "Shows a question.",
        variables: &[Variable::text("question", "1 + 1"), Variable::text("hint", "add")],
    };

    fn sampling(max_tokens: u32) -> Sampling {
        Sampling { max_tokens, ..Sampling::default() }
    }

    #[test]
    fn completions_that_are_shown_to_others_leave_room_for_the_answer() {
        let fault = |base, shown: u32, answer: u32| {
            room_fault(base, ("vote.sampling", &sampling(answer)), &[("proposer.sampling", &sampling(shown))])
        };
        assert_eq!(fault("seedling-math", 412, 100), None);
        assert_eq!(fault("unknown", 4096, 4096), None);
        let found = fault("seedling-math", 412, 101).unwrap();
        assert_eq!(found.pointer, "/parameters/vote/sampling/max_tokens");
        assert_eq!(
            found.detail,
            "101 after 412 of `proposer.sampling`, which its prompts show, are 513 together, beyond the 512 positions of \
         seedling-math: at most 100 is valid here"
        );
        assert!(fault("seedling", 512, 1).unwrap().detail.ends_with("lower the others first"));
        assert!(fault("seedling", u32::MAX, u32::MAX).is_some());
    }

    #[test]
    fn texts_that_may_be_too_long_are_told() {
        let config = PromptConfig {
            set: "seedling-math".to_owned(),
            templates: [("solve".to_owned(), "Solve {{ question }} ({{ hint }}): ".to_owned())].into(),
            ..PromptConfig::default()
        };
        let prompts =
            PromptSet::compile(&config.resolve_for("", &[SHOW], |_| true, &|_, _, _| Ok(())).unwrap()).unwrap();
        assert!(Room::of("unknown").is_none());
        // 11 bytes of the template's own.
        let room = Room::of("seedling").unwrap().showing(&prompts, &SHOW, &[], 401).unwrap();
        let misfit = |question: usize, hint: usize, tokens: u32| {
            let (question, hint) = ("q".repeat(question), "h".repeat(hint));
            let texts = [("question", question.as_str()), ("hint", &hint), ("unused", &question)];
            room.misfit(Written { texts: &texts, tokens })
        };
        assert_eq!(misfit(60, 40, 1000), None);
        assert_eq!(misfit(600, 400, 100), None, "as many tokens as it was written with");
        let found = misfit(61, 40, 101).unwrap();
        assert_eq!(
            found,
            "too long: the prompt `solve` with it may take 112 tokens and needs 401 more, beyond the 512 positions of seedling"
        );
    }
}
