//! Updates by groups of processes: with a stand-in for the interpreter that fails on demand, and with torch itself where
//! `TORCHRUN_PYTHON` names an interpreter that has it (`script/check-torchrun`).

mod faults;
#[cfg(feature = "engine")]
mod golden;
mod killed;
#[cfg(feature = "engine")]
mod real;
mod stage;
