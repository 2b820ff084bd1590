//! How often studies without an effect show one, by `statistics::Effect`.
//!
//! `cargo run --release -p lyceum-core --features simulation --example decisions -- [TRIALS]` prints the table in docs/STATISTICS.md,
//! with 20,000 trials a cell by default.

use lyceum_core::statistics::trial::Cell;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let trials = std::env::args().nth(1).map_or(Ok(20_000), |argument| argument.parse())?;
    println!("| seeds | variance | over seeds | problems | 0 | 1/4 | 1 | 4 | ∞ |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for seeds in [4, 5, 8, 10] {
        for variance in [1.0, 4.0] {
            for is_two_valued in [false, true] {
                let rows = std::thread::scope(|scope| {
                    let rows = [60, 300, 600]
                        .map(|problems| scope.spawn(move || row(seeds, variance, is_two_valued, problems, trials)));
                    rows.map(|row| row.join())
                });
                for row in rows {
                    println!("{}", row.map_err(|_| "a cell panicked")?);
                }
            }
        }
    }
    Ok(())
}

fn row(seeds: usize, variance: f64, is_two_valued: bool, problems: usize, trials: u32) -> String {
    let shares = [0.0, 0.25, 1.0, 4.0, f64::INFINITY].map(|ratio| {
        let cell = Cell { seeds, problems, ratio, variance, is_two_valued };
        format!("{:.1}", 100.0 * cell.false_decisions(trials, 1))
    });
    let kind = if is_two_valued { "two values" } else { "normal" };
    let variance = if variance > 1.0 { "fourfold" } else { "equal" };
    format!("| {seeds} | {variance} | {kind} | {problems} | {} |", shares.join(" | "))
}
