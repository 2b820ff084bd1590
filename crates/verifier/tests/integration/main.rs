//! The sandbox and its judges, attacked and compared with independent implementations.

mod attacks;
mod budget;
mod circumstance;
mod clocks;
mod complexity;
mod containment;
mod crossing;
mod data;
mod differential;
mod exceptions;
mod expressions;
mod forgeries;
mod generated;
mod imported;
mod isolation;
mod library;
mod livecodebench;
mod math;
mod memory;
mod packages;
mod rewards;
mod scripts;
mod seeds;
mod streams;
mod support;
