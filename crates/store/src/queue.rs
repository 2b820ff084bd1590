//! Word that there is work. The queue (apalis on Postgres) carries tickets, each of which lets a worker's slot look for
//! one item; which item it gets is decided by the work table ([`crate::work`]). So what the queue loses, delivers twice or
//! delivers to the wrong worker costs a look and no item, and priority, fairness and requirements are one query's affair.

mod lane;
mod tick;
mod ticket;

pub use lane::Lane;
pub use tick::Tick;
pub use ticket::{Ticket, hand_back, issue, issue_later, tidy, top_up};
