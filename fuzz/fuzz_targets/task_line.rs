//! Lines of a file of tasks: a task, which is written and read again as itself, or a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyceum_verifier::program::measure;
use lyceum_verifier::read_line;

fuzz_target!(|line: &[u8]| {
    match read_line(line) {
        Ok(task) => {
            let Ok(written) = serde_json::to_vec(&task) else { panic!("a task is written") };
            assert_eq!(read_line(&written).ok(), Some(task));
        }
        Err(error) => assert!(!error.reason.is_empty()),
    }
    if let Ok(source) = std::str::from_utf8(line) {
        let _ = measure(source);
    }
});
