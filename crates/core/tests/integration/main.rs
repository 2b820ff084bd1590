//! The crate as those see it who use it: golden values, simulations, and what recipes plan.

mod datasets;
mod defaults;
mod diversity;
mod experiments;
mod golden;
mod metrics;
mod payloads;
mod ratings;
mod selection;
mod simulation;
