//! The corpus on disk, so that a resumed run uses the same one.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;
use lyceum_curriculum::{Corpus, CorpusSpec};
use lyceum_verifier::Verifier;
use lyceum_worker::progress::progress_bar;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Stored {
    spec: CorpusSpec,
    corpus: Corpus,
}

/// The corpus of a specification: from `corpus.json` in `work` if it was made from the same specification, else
/// generated.
pub(super) fn load_or_generate(spec: &CorpusSpec, work: &Path, verifier: &Verifier) -> anyhow::Result<Corpus> {
    let path = work.join("corpus.json");
    if path.exists() {
        let file = File::open(&path).with_context(|| path.display().to_string())?;
        let stored: Stored =
            serde_json::from_reader(BufReader::new(file)).with_context(|| path.display().to_string())?;
        if stored.spec == *spec {
            return Ok(stored.corpus);
        }
    }
    let bar = progress_bar(spec.programs.iter().sum::<usize>() as u64, "programs");
    let corpus = Corpus::generate(spec, verifier, &mut |kept| bar.set_position(kept as u64));
    bar.finish_and_clear();
    eprintln!(
        "corpus: {} programs to learn from, {} held out",
        corpus.training.len(),
        corpus.held_out.len()
    );
    let partial = path.with_extension("partial");
    let mut file = BufWriter::new(File::create(&partial).with_context(|| partial.display().to_string())?);
    let stored = Stored {
        spec: spec.clone(),
        corpus,
    };
    serde_json::to_writer(&mut file, &stored)?;
    file.flush().with_context(|| partial.display().to_string())?;
    std::fs::rename(&partial, &path).with_context(|| path.display().to_string())?;
    Ok(stored.corpus)
}
