//! Carrying out plans, once each.

mod carry_out;
mod due;
mod view;

pub use carry_out::{Carried, carry_out};
pub use due::{
    Locked, REFUSED_EVERY, Refusal, Reserved, begin, due, end, give_up, lock, refusal, refuse, reserve, running,
};
pub use view::{ViewCache, wanted};
