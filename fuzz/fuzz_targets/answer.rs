//! What a model wrote, searched for its answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyceum_core::answer::last_boxed;

fuzz_target!(|text: &str| {
    if let Some(inside) = last_boxed(text) {
        let (start, end) = (text.as_ptr() as usize, inside.as_ptr() as usize);
        assert!(end >= start && end + inside.len() <= start + text.len(), "an answer is a part of the text");
        assert_eq!(inside, inside.trim());
    }
});
