//! Lyceum's server: settings, the command line, and supervision of the processes on one machine.

pub mod access;
mod api_error;
mod base_weights;
pub mod cli;
mod client;
mod command;
mod contract;
pub mod coordinator;
pub mod database;
pub mod doctor;
mod estimate;
mod events;
mod frame;
mod hub;
mod hub_push;
pub mod lab;
pub mod log;
pub mod openapi;
mod rows_asked;
pub mod serve;
pub mod settings;
mod subjects;
pub mod supervise;
pub mod token;
mod tracker;
mod vocabulary;

pub use frame::text::inert;

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    /// What the files of a room may import besides the room itself.
    const ROOMS: [(&str, &[&str]); 5] = [
        ("api_error", &[]),
        ("lab", &["events"]),
        ("contract", &["api_error", "lab"]),
        ("frame", &["api_error", "contract", "lab"]),
        ("access", &["api_error", "contract", "frame", "lab"]),
    ];

    #[test]
    fn a_room_imports_only_what_is_below_it() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for (room, below) in ROOMS {
            let mut files = vec![source.join(format!("{room}.rs"))];
            files_in(&source.join(room), &mut files);
            for path in files {
                for import in imports(&fs::read_to_string(&path).unwrap()) {
                    let is_allowed = import == room || below.contains(&import.as_str());
                    assert!(is_allowed, "{} imports crate::{import}", path.display());
                }
            }
        }
    }

    fn files_in(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => files_in(&path, files),
                false => files.push(path),
            }
        }
    }

    #[test]
    fn imports_are_read_with_and_without_braces() {
        let text = "use crate::{\n    a::{b, c},\n    d,\n    e::f,\n};\nuse crate::g;\ncrate::h::i(x, {y});";
        assert_eq!(imports(text), ["a", "d", "e", "g", "h"]);
    }

    /// The modules of this crate that `text` names.
    fn imports(text: &str) -> Vec<String> {
        let mut names = Vec::new();
        for rest in text.split("crate::").skip(1) {
            let (mut depth, mut is_start) = (0, true);
            for part in rest.split_inclusive(|letter: char| !letter.is_alphanumeric() && letter != '_') {
                let (name, end) = part.split_at(part.len() - 1);
                if is_start && !name.is_empty() {
                    names.push(name.to_owned());
                    is_start = false;
                }
                match end {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    "," => is_start = depth == 1,
                    _ => {}
                }
                if depth == 0 && (end == "}" || !name.is_empty()) {
                    break;
                }
            }
        }
        names
    }
}
