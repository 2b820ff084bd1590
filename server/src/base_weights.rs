//! The weights behind the names of base models. A run keeps their digest, so it never goes on with others: members are
//! adapters of the weights that they were trained on.

use lyceum_core::config::{PopulationConfig, RunConfig, pointer_token};
use lyceum_core::fault::Fault;
use lyceum_core::work::BaseModel;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::estimate::{bases_here, folder_of};

/// Weights larger than this are not read: a digest would take longer than a request may. Their revision on the hub can be
/// given in the config.
const LARGEST: u64 = 256 << 20;

/// Writes the digest of its weights into a base without one, if they are on this machine.
pub(crate) fn name(base: &mut BaseModel) {
    if base.revision.is_none() {
        base.revision = digest_of(&base.name);
    }
}

/// Writes the digests of the weights on this machine into a config without them. Workers check them.
pub(crate) fn name_weights(config: &mut RunConfig) {
    for population in config.populations.values_mut() {
        name(&mut population.base_model);
    }
}

/// Why a run of `config` cannot go on here, if the weights on this machine are not those that it began with.
pub(crate) fn changed(config: &RunConfig) -> Vec<Fault> {
    let of = |(name, population): (&String, &PopulationConfig)| {
        let base = &population.base_model;
        let begun = base.revision.as_ref().filter(|revision| is_digest(revision))?;
        let here = digest_of(&base.name).filter(|here| here != begun)?;
        let detail = format!(
            "the weights of `{}` are not those that this run began with: their SHA-256 is {here}, not {begun}; {}",
            base.name,
            cure(begun)
        );
        Some(Fault::new(pointer(name), detail))
    };
    config.populations.iter().filter_map(of).collect()
}

/// Populations of a fork whose base has other weights than in the run that it is forked from.
pub(crate) fn replaced(origin: &RunConfig, fork: &RunConfig) -> Vec<Fault> {
    let of = |(name, population): (&String, &PopulationConfig)| {
        let (old, new) = (&origin.populations.get(name)?.base_model, &population.base_model);
        let detail = format!("a fork keeps the base of its run, {}; {} has other weights", text(old), text(new));
        (!is_same(old, new)).then(|| Fault::new(pointer(name), detail))
    };
    fork.populations.iter().filter_map(of).collect()
}

/// Whether two bases have the same weights, as far as is known.
pub(crate) fn is_same(one: &BaseModel, other: &BaseModel) -> bool {
    match (&one.revision, &other.revision) {
        (Some(one), Some(other)) => one == other,
        _ => one.name == other.name,
    }
}

/// What refusals call a base.
pub(crate) fn text(base: &BaseModel) -> String {
    match &base.revision {
        Some(revision) => format!("`{}` with weights {revision}", base.name),
        None => format!("`{}`", base.name),
    }
}

fn pointer(population: &str) -> String {
    format!("/populations/{}/base_model", pointer_token(population))
}

/// What to do about weights that are not where they were.
fn cure(digest: &str) -> String {
    match bases_here().into_iter().find(|name| digest_of(name).as_deref() == Some(digest)) {
        Some(name) => format!("`{name}` has them: fork the run with that name as `base_model.name`, or move them back"),
        None => "put those weights back to go on".to_owned(),
    }
}

fn is_digest(revision: &str) -> bool {
    revision.len() == 64
}

/// SHA-256 of the weights of a model on this machine, as workers compute it.
fn digest_of(name: &str) -> Option<String> {
    digest(&folder_of(name)?).ok().flatten()
}

/// SHA-256 of a folder's weight files in the order of their names; `None` without any, or if they are too large.
fn digest(folder: &Path) -> io::Result<Option<String>> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut bytes = 0;
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            bytes += path.metadata()?.len();
            files.push(path);
        }
    }
    if files.is_empty() || bytes > LARGEST {
        return Ok(None);
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        io::copy(&mut File::open(file)?, &mut hash)?;
    }
    Ok(Some(format!("{:x}", hash.finalize())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Presets;
    use lyceum_core::recipe::Registry;

    fn config(name: &str, revision: Option<&str>) -> RunConfig {
        let document = Presets::new(None).get("demo").unwrap().config;
        let mut config = lyceum_core::config::resolve(&document, &Registry::shipped()).unwrap();
        let population = config.populations.get_mut("main").unwrap();
        population.base_model = BaseModel { name: name.to_owned(), revision: revision.map(str::to_owned) };
        config
    }

    #[test]
    fn a_run_keeps_the_digest_of_its_weights_and_no_other_weights_go_on() {
        let mut named = config("seedling", None);
        name_weights(&mut named);
        let digest = named.populations["main"].base_model.revision.clone().unwrap();
        assert!(is_digest(&digest));
        assert!(changed(&named).is_empty());

        let other = "0".repeat(64);
        let faults = changed(&config("seedling", Some(&other)));
        assert_eq!(faults[0].pointer, "/populations/main/base_model");
        for told in ["`seedling`", &digest, &other, "put those weights back"] {
            assert!(faults[0].detail.contains(told), "{faults:?}");
        }
        for unknown in [config("not-here", Some(&other)), config("seedling", Some("main")), config("seedling", None)] {
            assert!(changed(&unknown).is_empty(), "nothing is known of its weights");
        }
    }

    #[test]
    fn a_fork_may_rename_its_base_but_not_replace_it() {
        let (one, other) = ("1".repeat(64), "2".repeat(64));
        let origin = config("seedling", Some(&one));
        assert!(replaced(&origin, &origin).is_empty());
        assert!(replaced(&origin, &config("seedling-1", Some(&one))).is_empty());
        for wrong in [config("seedling", Some(&other)), config("Qwen/Qwen2.5-0.5B", None)] {
            let faults = replaced(&origin, &wrong);
            assert!(faults[0].detail.contains("keeps the base of its run, `seedling`"), "{faults:?}");
        }
        assert_eq!(replaced(&config("seedling", None), &config("other", None)).len(), 1);
    }
}
