//! How fast all attempts of the largest run are exported, and what memory that takes.

use std::io::Read as _;
use std::net::SocketAddr;
use std::time::Instant;

use super::process::{forget_peak, peak_mb, resident_mb};

const RUN: &str = "00000000-0000-4000-8000-000000000001";

/// Prints a line a form, and returns the least rows a second.
pub(super) fn measure(address: SocketAddr, bearer: &str) -> anyhow::Result<f64> {
    let agent = ureq::Agent::new_with_defaults();
    let rows = agent
        .get(format!("http://{address}/runs/{RUN}.json"))
        .header("authorization", bearer)
        .call()?
        .body_mut()
        .read_json::<serde_json::Value>()?["run"]["attempts"]
        .as_u64()
        .unwrap_or_default();
    println!(
        "{:32} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "export of all attempts", "rows", "seconds", "rows/s", "MB", "memory MB"
    );
    let mut least = f64::INFINITY;
    for form in ["jsonl", "parquet"] {
        let before = resident_mb()?;
        forget_peak()?;
        let began = Instant::now();
        let mut reply = agent
            .get(format!("http://{address}/runs/{RUN}/export/attempts.{form}"))
            .header("authorization", bearer)
            .call()?;
        let mut body = reply.body_mut().with_config().limit(u64::MAX).reader();
        let mut piece = vec![0; 1 << 16];
        let (mut bytes, mut lines) = (0, 0);
        loop {
            let read = body.read(&mut piece)?;
            if read == 0 {
                break;
            }
            bytes += read;
            lines += piece[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        anyhow::ensure!(form != "jsonl" || lines == rows, "{lines} lines for {rows} attempts");
        let seconds = began.elapsed().as_secs_f64();
        let rate = rows as f64 / seconds;
        println!("{form:32} {rows:9} {seconds:9.1} {rate:9.0} {:9.0} {:9.1}", bytes as f64 / 1e6, peak_mb()? - before);
        least = least.min(rate);
    }
    Ok(least)
}
