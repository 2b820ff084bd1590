//! How long pages take, as HTML, and what streams of events that are open take in memory.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Instant,
};

use anyhow::Context as _;

use super::milliseconds;

/// Pages; `{}` is the first run, which has half of all problems and the metrics of its members.
const PAGES: [&str; 12] = [
    "/",
    "/experiments",
    "/runs",
    "/runs?state=failed",
    "/runs/new?preset=demo",
    "/runs/{}",
    "/runs/{}/now",
    "/work",
    "/work?run={}&state=failed",
    "/workers",
    "/settings",
    "/runs?name=run%204",
];

/// Prints a line a page, and returns the greatest 95th percentile in milliseconds.
pub(super) fn measure(address: SocketAddr, bearer: &str, rounds: u32) -> anyhow::Result<f64> {
    let agent = ureq::Agent::new_with_defaults();
    let run = "00000000-0000-4000-8000-000000000001";
    println!(
        "{:32} {:>9} {:>9} {:>9} {:>9}",
        "page", "p50 ms", "p95 ms", "max ms", "kB"
    );
    let mut worst: f64 = 0.0;
    for path in PAGES {
        let address = format!("http://{address}{}", path.replace("{}", run));
        let mut times = Vec::new();
        let mut size = 0;
        for _ in 0..rounds {
            let began = Instant::now();
            let request = agent
                .get(&address)
                .header("authorization", bearer)
                .header("accept", "text/html");
            size = request.call()?.body_mut().read_to_vec()?.len();
            times.push(began.elapsed());
        }
        times.sort_unstable();
        let at = |share: f64| milliseconds(times[((times.len() - 1) as f64 * share).round() as usize]);
        println!(
            "{path:32} {:9.2} {:9.2} {:9.2} {:9}",
            at(0.5),
            at(0.95),
            at(1.0),
            size / 1000
        );
        worst = worst.max(at(0.95));
    }
    Ok(worst)
}

/// Opens `streams` streams of events of a running run and says how many MB this process, with the server in it, has before
/// and after.
pub(super) fn open_streams(address: SocketAddr, bearer: &str, streams: usize) -> anyhow::Result<()> {
    let run = "00000000-0000-4000-8000-00000000000a";
    let before = resident_mb()?;
    let request = format!(
        "GET /api/v1/runs/{run}/events HTTP/1.1\r\nhost: {address}\r\nauthorization: {bearer}\r\naccept: text/event-stream\r\n\r\n"
    );
    let mut open = Vec::new();
    for _ in 0..streams {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        let mut beginning = [0; 512];
        let read = stream.read(&mut beginning)?;
        anyhow::ensure!(beginning[..read].starts_with(b"HTTP/1.1 200"), "a stream was refused");
        open.push(stream);
    }
    println!(
        "{streams} open streams: {:.0} MB, before them {before:.0} MB",
        resident_mb()?
    );
    Ok(())
}

fn resident_mb() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .context("no VmRSS in /proc/self/status")?;
    Ok(kib.trim().parse::<f64>()? / 1000.0)
}
