//! Measures that several recipes record: of answers, of updates, of cost.

mod answers;
mod cost;
mod learning;

pub(crate) use self::{
    answers::{
        Answered, HasAnswers, format_rate, mean_entropy, mean_reward, no_signal_share, of_prompts, pass_rate,
        response_length,
    },
    cost::{Costs, HasCosts, halvings, of_cost, seconds, tokens},
    learning::{HasUpdates, UPDATES, policy, updates},
};
