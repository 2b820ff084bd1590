//! The room for prompts in a base's context, counted with its tokenizer.

use lyceum_core::fault::Fault;
use tokenizers::Tokenizer;

use crate::estimate::{context_of, folder_of};

/// A base on this machine, asked for answers of at most so many tokens.
pub(super) struct Room {
    tokenizer: Tokenizer,
    context: u64,
    max_tokens: u64,
}

/// The tokens of a row's prompt, and the row's place.
pub(super) type Length = (u64, u32);

impl Room {
    /// `None` if the base's context or tokenizer is not on this machine.
    pub(super) fn of(base: &str, max_tokens: u32) -> Option<Self> {
        let context = context_of(base)?;
        let tokenizer = Tokenizer::from_file(folder_of(base)?.join("tokenizer.json")).ok()?;
        Some(Self {
            tokenizer,
            context,
            max_tokens: max_tokens.into(),
        })
    }

    /// The longest of the prompts for which there is no room. A conversation is counted without what the chat template
    /// adds, so a worker may still find one that this finds to fit.
    pub(super) fn longest(&self, prompts: &[(u32, String)]) -> Option<Length> {
        let room = self.context.saturating_sub(self.max_tokens);
        prompts
            .iter()
            // A token has at least one byte.
            .filter(|(_, prompt)| prompt.len() as u64 > room)
            .filter_map(|(place, prompt)| {
                let tokens = self.tokenizer.encode_fast(prompt.as_str(), false).ok()?.len() as u64;
                (tokens > room).then_some((tokens, *place))
            })
            .max()
    }

    /// The fault of the longest prompt; `pointer` is that of the rows' group in the config.
    pub(super) fn fault(&self, pointer: &str, base: &str, (tokens, place): Length) -> Fault {
        let Self {
            context, max_tokens, ..
        } = self;
        let longest = format!("row {place} has the longest prompt, {tokens} tokens");
        if tokens < *context {
            let valid = context - tokens;
            let detail = format!(
                "{longest}, which leaves no room for {max_tokens} of an answer in the context of `{base}`, {context}: 1 to {valid} is valid"
            );
            return Fault::new(format!("{pointer}/sampling/max_tokens"), detail);
        }
        let detail = format!(
            "{longest}, beyond the context of `{base}`, {context}: import the rows again with a smaller `max_question_bytes`"
        );
        Fault::new(format!("{pointer}/dataset"), detail)
    }
}
