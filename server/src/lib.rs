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
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// What the files of a room may import besides the room itself.
    const ROOMS: [(&str, &[&str]); 6] = [
        ("api_error", &[]),
        ("lab", &["events"]),
        ("contract", &["api_error", "lab"]),
        ("frame", &["api_error", "contract", "lab"]),
        ("access", &["api_error", "contract", "frame", "lab"]),
        ("coordinator", &["lab", "log"]),
    ];

    /// The subjects that import others, and which. Each imports earlier ones alone, so there are no cycles; one that imports none
    /// is not listed.
    const SUBJECTS: [(&str, &[&str]); 15] = [
        ("goalposts", &["datasets"]),
        ("evaluations", &["benchmarks", "datasets", "goalposts"]),
        ("runs", &["datasets", "evaluations"]),
        ("curriculum", &["runs"]),
        ("run", &["benchmarks", "evaluations", "runs", "samples"]),
        ("selection", &["run"]),
        ("problems", &["curriculum"]),
        ("difficulty", &["problems"]),
        ("population", &["evaluations", "geometry", "problems", "selection"]),
        ("export", &["population"]),
        ("lab", &["run"]),
        ("comparison", &["lab", "population", "problems"]),
        ("diversity", &["comparison"]),
        ("experiments", &["goalposts", "lab"]),
        ("sweeps", &["experiments", "runs"]),
    ];

    #[test]
    fn a_room_imports_only_what_is_below_it() {
        for (room, below) in ROOMS {
            for (path, text) in files_of(room) {
                for import in imports(&text) {
                    let import = import.split("::").next().unwrap();
                    let is_allowed = import == room || below.contains(&import);
                    assert!(is_allowed, "{} imports crate::{import}", path.display());
                }
            }
        }
    }

    #[test]
    fn a_subject_imports_only_those_that_it_is_listed_with() {
        let mut known = BTreeSet::new();
        for (path, text) in files_of("subjects") {
            let Ok(inside) = path.strip_prefix(source().join("subjects")) else { continue };
            let first = inside.iter().next().unwrap().to_str().unwrap();
            let subject = first.trim_end_matches(".rs").to_owned();
            let listed = SUBJECTS.iter().find(|(name, _)| *name == subject).map_or(&[][..], |(_, below)| below);
            for import in imports(&text) {
                if let Some(other) = import.strip_prefix("subjects::").and_then(|rest| rest.split("::").next()) {
                    let is_allowed = other == subject || listed.contains(&other);
                    assert!(is_allowed, "{} imports crate::{import}", path.display());
                }
            }
            known.insert(subject);
        }
        for (place, (subject, below)) in SUBJECTS.iter().enumerate() {
            for other in *below {
                assert!(known.contains(*other), "{subject} may import {other}, which is no subject");
                let later = SUBJECTS[place..].iter().any(|(name, _)| name == other);
                assert!(!later, "{subject} may import {other}, which is not before it");
            }
        }
    }

    #[test]
    fn imports_are_read_with_and_without_braces() {
        let text = "use crate::{\n    a::{b, c::{d, e as f}},\n    g,\n};\nuse crate::h::i;\ncrate::j::k(x, {y});";
        assert_eq!(imports(text), ["a::b", "a::c::d", "a::c::e", "g", "h::i", "j::k"]);
    }

    fn source() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
    }

    /// The files of a room with their texts.
    fn files_of(room: &str) -> Vec<(PathBuf, String)> {
        let mut files = vec![source().join(format!("{room}.rs"))];
        let mut folders = vec![source().join(room)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        let read = |path: PathBuf| (fs::read_to_string(&path).unwrap(), path);
        files.into_iter().map(read).map(|(text, path)| (path, text)).collect()
    }

    /// The paths within this crate that `text` names.
    fn imports(text: &str) -> Vec<String> {
        let mut paths = Vec::new();
        for rest in text.split("crate::").skip(1) {
            read_tree(rest, "", &mut paths);
        }
        paths
    }

    /// Reads a path or a tree of paths, all of which begin with `prefix`; returns what follows it.
    fn read_tree<'t>(text: &'t str, prefix: &str, paths: &mut Vec<String>) -> &'t str {
        let text = text.trim_start();
        if let Some(mut rest) = text.strip_prefix('{') {
            while !rest.is_empty() && !rest.starts_with('}') {
                rest = read_tree(rest, prefix, paths);
                // A name that follows `as`, and the comma.
                rest = rest.trim_start_matches(|letter| !matches!(letter, ',' | '}'));
                rest = rest.trim_start_matches(',').trim_start();
            }
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '*';
        let (name, rest) = text.split_at(text.find(|letter| !is_name(letter)).unwrap_or(text.len()));
        match rest.strip_prefix("::") {
            Some(rest) => read_tree(rest, &format!("{prefix}{name}::"), paths),
            None => {
                paths.push(format!("{prefix}{name}"));
                rest
            }
        }
    }
}
