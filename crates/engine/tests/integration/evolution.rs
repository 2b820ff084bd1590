//! Evolution operators compared with NumPy (`fixtures/make_evolution.py`).

mod bad_input;
mod births;
mod degenerate;
mod distributions;
mod geometry;
mod golden;
mod modules;
mod svd;
