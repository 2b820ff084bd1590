//! Which files of a repository are meant.

use std::collections::BTreeMap;

use super::Address;

/// Maximum number of files in a message.
const NAMED: usize = 20;

/// Names of splits that mean the same, as in Hugging Face's `datasets`.
const SAME: [&[&str]; 3] =
    [&["train", "training"], &["validation", "valid", "val", "dev"], &["test", "testing", "eval", "evaluation"]];

/// The name does not say which files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unclear {
    /// No file fits.
    #[error("{address} has no {what}: {}", there(.files))]
    None { address: String, what: String, files: Vec<String> },
    /// Several fit.
    #[error("{address} has several files of rows: name one, its folder or a split. There are {}", named(.files))]
    Several { address: String, files: Vec<String> },
}

fn there(files: &[String]) -> String {
    match files.is_empty() {
        true => "it has no files of rows (.jsonl, .json or .parquet, or these as .gz)".to_owned(),
        false => format!("there are {}", named(files)),
    }
}

/// The names of `files`, not too many.
pub(super) fn named(files: &[String]) -> String {
    let mut text = files[..files.len().min(NAMED)].join(", ");
    if let Some(more) = files.len().checked_sub(NAMED).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// Whether the file holds rows.
pub(super) fn is_data(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    // Descriptions of repositories.
    if matches!(name, "dataset_infos.json" | "dataset_info.json" | "dataset_dict.json" | "state.json") {
        return false;
    }
    let name = name.strip_suffix(".gz").unwrap_or(name);
    [".jsonl", ".ndjson", ".json", ".parquet"].iter().any(|end| name.ends_with(end) && name.len() > end.len())
}

/// Those of `names` that hold rows, sorted.
pub(super) fn data_files(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut files: Vec<String> = names.filter(|name| is_data(name)).collect();
    files.sort();
    files
}

/// The files of `address` and `split`, in order: one, or the shards of one.
pub(super) fn choose(
    address: &Address,
    names: impl Iterator<Item = String>,
    split: Option<&str>,
) -> Result<Vec<String>, Unclear> {
    let all = data_files(names);
    let is_inside = |file: &&String| {
        let rest = file.strip_prefix(&address.path);
        address.path.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let is_of_split = |file: &&String| split.is_none_or(|split| has_split(file, split));
    let files: Vec<String> = all.iter().filter(is_inside).filter(is_of_split).cloned().collect();
    let mut sets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in &files {
        sets.entry(without_shard(file)).or_default().push(file.clone());
    }
    match sets.len() {
        0 => Err(Unclear::None {
            address: address.to_string(),
            what: match split {
                Some(split) => format!("files of rows of the split `{split}`"),
                None => "files of rows".to_owned(),
            },
            files: all,
        }),
        1 => Ok(files),
        _ => Err(Unclear::Several { address: address.to_string(), files: sets.into_keys().collect() }),
    }
}

/// Whether the path has the name of the split, as words between other characters.
fn has_split(file: &str, split: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let asked = words(split);
    let is_same = |one: &str, other: &str| {
        one == other || SAME.iter().any(|names| names.contains(&one) && names.contains(&other))
    };
    let found = words(file);
    !asked.is_empty()
        && found.windows(asked.len()).any(|window| window.iter().zip(&asked).all(|(one, other)| is_same(one, other)))
}

/// The name without the number of a shard: `train-00000-of-00002-ab12.parquet` is `train.parquet`.
fn without_shard(file: &str) -> String {
    let Some((before, after)) = file.split_once("-of-") else { return file.to_owned() };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let Some((stem, number)) = before.rsplit_once('-') else { return file.to_owned() };
    let total = digits(after);
    if number.is_empty() || digits(number) != number.len() || total == 0 {
        return file.to_owned();
    }
    // A hash may follow.
    let ending = after[total..].find('.').map_or("", |dot| &after[total + dot..]);
    format!("{stem}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(address: &str, files: &[&str], split: Option<&str>) -> Result<Vec<String>, String> {
        let address = address.parse().unwrap();
        let names = files.iter().map(|name| (*name).to_owned());
        choose(&address, names, split).map_err(|unclear| unclear.to_string())
    }

    const GSM8K: [&str; 6] = [
        ".gitattributes",
        "README.md",
        "main/test-00000-of-00001.parquet",
        "main/train-00000-of-00001.parquet",
        "socratic/test-00000-of-00001.parquet",
        "socratic/train-00000-of-00001.parquet",
    ];

    #[test]
    fn shards_of_one_split_are_read_in_order() {
        let files =
            ["data/train-00001-of-00002-ab.parquet", "data/train-00000-of-00002-cd.parquet", "dataset_infos.json"];
        let both = ["data/train-00000-of-00002-cd.parquet", "data/train-00001-of-00002-ab.parquet"];
        assert_eq!(chosen("a/b", &files, None).unwrap(), both);
        assert_eq!(chosen("a/b", &files, Some("training")).unwrap(), both);
        assert_eq!(chosen("openai/gsm8k/main", &GSM8K, Some("train")).unwrap(), ["main/train-00000-of-00001.parquet"]);
    }

    #[test]
    fn a_choice_that_is_not_clear_is_refused_with_the_list() {
        let said = chosen("openai/gsm8k", &GSM8K, Some("train")).unwrap_err();
        assert!(said.contains("main/train.parquet, socratic/train.parquet"), "{said}");
        let said = chosen("openai/gsm8k/main", &GSM8K, None).unwrap_err();
        assert!(said.contains("main/test.parquet, main/train.parquet"), "{said}");
        let said = chosen("openai/gsm8k", &GSM8K, Some("validation")).unwrap_err();
        assert!(said.contains("no files of rows of the split `validation`: there are main/test-"), "{said}");
        let said = chosen("a/b", &["README.md"], None).unwrap_err();
        assert!(said.contains("it has no files of rows"), "{said}");
    }

    #[test]
    fn the_name_of_a_split_is_a_word() {
        for (file, split, is_it) in [
            ("train.jsonl", "train", true),
            ("data/dev/part.parquet", "validation", true),
            ("training_set.json", "train", true),
            ("trainer.jsonl", "train", false),
            ("train_sft-00000-of-00001.parquet", "train_sft", true),
            ("train_gen.parquet", "train_sft", false),
            ("test.jsonl", "eval", true),
        ] {
            assert_eq!(has_split(file, split), is_it, "{file} {split}");
        }
        assert!(!is_data(".gz") && !is_data("notes.txt") && is_data("a/x.jsonl.gz"));
    }
}
