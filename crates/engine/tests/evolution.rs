//! Evolution operators compared with NumPy (`fixtures/make_evolution.py`).

#[path = "evolution/bad_input.rs"]
mod bad_input;
#[path = "evolution/births.rs"]
mod births;
#[path = "evolution/degenerate.rs"]
mod degenerate;
#[path = "evolution/distributions.rs"]
mod distributions;
#[path = "evolution/golden.rs"]
mod golden;
#[path = "evolution/modules.rs"]
mod modules;
#[path = "evolution/svd.rs"]
mod svd;
