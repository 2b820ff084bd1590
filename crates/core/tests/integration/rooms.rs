//! The rooms of planning import one another one way: contract ← kit ← recipes ← evaluations.

use std::fs;
use std::path::{Path, PathBuf};

const ROOMS: [&str; 4] = ["contract", "kit", "recipes", "evaluations"];

/// The files of a room, apart from tests.
fn files(room: &Path) -> Vec<PathBuf> {
    let mut found = vec![room.with_extension("rs")];
    let mut folders = vec![room.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if !is_test && path.is_file() {
                found.push(path);
            }
        }
    }
    found
}

/// The modules of the crate whose names follow `crate::`, alone or in braces, before any inline tests.
fn imported(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let Some(group) = rest.strip_prefix('{') else {
            found.extend(rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next());
            continue;
        };
        let mut depth = 0;
        let mut names = group.split_inclusive([',', '{', '}']);
        while depth >= 0
            && let Some(name) = names.next()
        {
            if depth == 0 {
                let module = name.trim().split([':', ',', '{', '}', ' ']).next();
                found.extend(module.filter(|module| !module.is_empty()));
            }
            depth += name.matches('{').count() as i32 - name.matches('}').count() as i32;
        }
    }
    found
}

#[test]
fn rooms_import_earlier_rooms_alone() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (place, room) in ROOMS.iter().enumerate() {
        for path in files(&core.join(room)) {
            let text = fs::read_to_string(&path).unwrap();
            for module in imported(&text) {
                assert!(
                    !ROOMS[place + 1..].contains(&module) && !["recipe", "evaluation"].contains(&module),
                    "{} imports {module}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn imports_are_found_alone_and_in_groups() {
    let text = "use crate::{\n    contract::{Plan, phase::{GRADE, SOLVE}},\n    kit,\n};\nuse super::Step;\nfn f() { crate::recipes::azr() }";
    assert_eq!(imported(text), ["contract", "kit", "recipes"]);
}
