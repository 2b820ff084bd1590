//! A run without models, sandbox, database or clock: scripted players of known skill carry out the work that a recipe
//! plans.
//!
//! With known skill it can show what no real run can: whether ratings order the members, whether pairing finds balanced
//! matchups, whether evolution replaces the weak.

mod driver;
mod player;

pub use driver::{Order, Simulation, SimulationError, Step};
pub use player::{Players, Skill};
