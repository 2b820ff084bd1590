//! Carrying out plans, once each.

mod begun;
mod carry_out;
mod due;
mod records;
mod refusal;
mod reserve;
mod view;

pub use begun::{begin, end, give_up};
pub use carry_out::{Carried, carry_out};
pub use due::{Locked, due, lock, running};
pub use refusal::{REFUSED_EVERY, Refusal, refusal, refuse};
pub use reserve::{Reserved, reserve};
pub use view::{ViewCache, wanted};
