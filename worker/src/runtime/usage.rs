//! What the worker takes of its machine: processor time and memory of it and the processes that it started, and its GPU.

use lyceum_store::workers::Usage;
use nvml_wrapper::{Device, Nvml};
use procfs::process::all_processes;
use std::collections::HashMap;
use std::time::Instant;

/// Measures from one report to the next.
pub(super) struct Meter {
    /// None on machines without NVIDIA's driver.
    nvml: Option<Nvml>,
    /// When the last report was made, and the processor time until then in ticks.
    last: Option<(Instant, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Process {
    id: i32,
    parent: i32,
    /// Processor time of it and of its children that have ended, in ticks.
    ticks: u64,
    /// Resident memory, in bytes.
    memory: u64,
}

impl Meter {
    /// A meter of this process.
    pub(super) fn new(has_gpu: bool) -> Self {
        Self { nvml: has_gpu.then(Nvml::init).and_then(Result::ok), last: None }
    }

    /// The usage since the last call; none the first time, and where the system does not tell.
    pub(super) fn read(&mut self) -> Option<Usage> {
        let own = i32::try_from(std::process::id()).ok()?;
        let (ticks, memory_bytes) = tree(own, &processes()?);
        let now = Instant::now();
        let (before, ticks_before) = self.last.replace((now, ticks))?;
        let seconds = now.duration_since(before).as_secs_f64();
        let used = ticks.saturating_sub(ticks_before) as f64 / procfs::ticks_per_second() as f64;
        let gpu = self.nvml.as_ref().and_then(|nvml| gpu_of(nvml, own));
        Some(Usage {
            cores: used / seconds.max(1e-3),
            memory_bytes,
            gpu_share: gpu.as_ref().and_then(share),
            gpu_memory_bytes: gpu.and_then(|gpu| Some(gpu.memory_info().ok()?.used)),
        })
    }
}

/// All processes that can be read.
fn processes() -> Option<Vec<Process>> {
    let page = procfs::page_size();
    let read = |process: procfs::ProcResult<procfs::process::Process>| {
        let stat = process.ok()?.stat().ok()?;
        let ended = u64::try_from(stat.cutime + stat.cstime).unwrap_or_default();
        Some(Process {
            id: stat.pid,
            parent: stat.ppid,
            ticks: stat.utime + stat.stime + ended,
            memory: stat.rss * page,
        })
    };
    // Processes end while they are listed.
    Some(all_processes().ok()?.filter_map(read).collect())
}

/// Processor time and memory of `root` and its descendants.
fn tree(root: i32, all: &[Process]) -> (u64, u64) {
    let mut left: HashMap<i32, &Process> = all.iter().map(|process| (process.id, process)).collect();
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process.id);
    }
    let mut waiting = vec![root];
    let (mut ticks, mut memory) = (0, 0);
    while let Some(id) = waiting.pop() {
        // Each counts once, whatever the list says of its parents.
        if let Some(process) = left.remove(&id) {
            ticks += process.ticks;
            memory += process.memory;
            waiting.extend(children.remove(&id).unwrap_or_default());
        }
    }
    (ticks, memory)
}

/// The GPU that this process computes on, or the only one: in a container it may not be among the processes that the driver lists.
fn gpu_of(nvml: &Nvml, own: i32) -> Option<Device<'_>> {
    let count = nvml.device_count().ok()?;
    let mut all: Vec<Device<'_>> = (0..count).filter_map(|place| nvml.device_by_index(place).ok()).collect();
    let is_ours = |device: &Device<'_>| {
        let running = device.running_compute_processes().unwrap_or_default();
        running.iter().any(|process| i64::from(process.pid) == i64::from(own))
    };
    match all.iter().position(is_ours) {
        Some(place) => Some(all.swap_remove(place)),
        None => all.pop().filter(|_| all.is_empty()),
    }
}

fn share(gpu: &Device<'_>) -> Option<f64> {
    Some(f64::from(gpu.utilization_rates().ok()?.gpu) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_itself_and_all_that_it_started() {
        let process = |id, parent, ticks, memory| Process { id, parent, ticks, memory };
        let all = [
            process(1, 0, 1000, 1000),
            process(10, 1, 1, 10),
            process(11, 10, 2, 20),
            process(12, 11, 4, 40),
            process(20, 1, 100, 100),
        ];
        assert_eq!(tree(10, &all), (7, 70));
        assert_eq!(tree(99, &all), (0, 0), "it has ended");
        // Numbers of processes are used again, so a list that was not read at once may have a circle.
        let circle = [process(2, 3, 1, 1), process(3, 2, 1, 1)];
        assert_eq!(tree(2, &circle), (2, 2));
    }

    #[test]
    fn this_process_has_memory_and_took_time() {
        let mut meter = Meter::new(false);
        assert_eq!(meter.read(), None, "there is nothing to compare with yet");
        let began = procfs::process::Process::myself().unwrap().stat().unwrap();
        let ticks = || {
            let now = procfs::process::Process::myself().unwrap().stat().unwrap();
            now.utime + now.stime - began.utime - began.stime
        };
        while ticks() < 2 {
            std::hint::black_box((0..10_000).sum::<u64>());
        }
        let usage = meter.read().unwrap();
        assert!(usage.cores > 0.0 && usage.memory_bytes > 1_000_000, "{usage:?}");
        assert_eq!((usage.gpu_share, usage.gpu_memory_bytes), (None, None));
    }
}
