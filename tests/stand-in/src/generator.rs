//! The engine behind the server, on a thread of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{Context as _, Result};
use lyceum_core::work::Dtype;
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, GenerationResult, Generator as Completing};
use lyceum_engine::peft::read_population;
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, Placement, Population};
use tokio::sync::oneshot;

/// What the thread is asked, and where its answer goes.
enum Call {
    Load(String, PathBuf, oneshot::Sender<Result<()>>),
    Complete(Option<String>, Box<GenerationRequest>, oneshot::Sender<Result<GenerationResult>>),
}

/// The engine.
pub(super) struct Generator {
    calls: Sender<Call>,
    pub(super) longest: i64,
}

struct Loaded {
    model: Model,
    tokenizer: Tokenizer,
    adapters: BTreeMap<String, Population>,
}

impl Generator {
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let (calls, received) = channel();
        let (ready, longest) = channel();
        let folder = folder.to_owned();
        std::thread::Builder::new().name("stand-in".to_owned()).spawn(move || {
            lyceum_engine::set_threads(Some(1));
            match Loaded::read(&folder) {
                Ok(mut loaded) => {
                    ready.send(Ok(loaded.model.config.max_position_embeddings)).ok();
                    loaded.run(&received);
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        })?;
        let longest = longest.recv().context("the generator has ended")??;
        Ok(Self { calls, longest })
    }

    /// Reads an adapter as it is now.
    pub(super) async fn load(&self, name: &str, folder: &Path) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.calls.send(Call::Load(name.to_owned(), folder.to_owned(), reply)).ok();
        answer.await.context("the generator has ended")?
    }

    pub(super) async fn complete(&self, adapter: Option<&str>, request: GenerationRequest) -> Result<GenerationResult> {
        let (reply, answer) = oneshot::channel();
        let call = Call::Complete(adapter.map(str::to_owned), Box::new(request), reply);
        self.calls.send(call).ok();
        answer.await.context("the generator has ended")?
    }
}

impl Loaded {
    fn read(folder: &Path) -> Result<Self> {
        let model = Model::load(folder, Placement::new("cpu", Dtype::Fp32)?)?;
        Ok(Self { tokenizer: Tokenizer::load(folder, &model.config)?, model, adapters: BTreeMap::new() })
    }

    /// Completes all requests that wait, those of one adapter together.
    fn run(&mut self, calls: &Receiver<Call>) {
        while let Ok(first) = calls.recv() {
            let mut waiting: BTreeMap<Option<String>, Vec<_>> = BTreeMap::new();
            for call in std::iter::once(first).chain(calls.try_iter()) {
                match call {
                    Call::Load(name, folder, reply) => drop(reply.send(self.load(name, folder))),
                    Call::Complete(name, request, reply) => waiting.entry(name).or_default().push((*request, reply)),
                }
            }
            for (name, waiting) in waiting {
                let (requests, replies): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
                match self.complete(name.as_deref(), &requests) {
                    Ok(results) => {
                        results.into_iter().zip(replies).for_each(|(result, reply)| drop(reply.send(Ok(result))))
                    }
                    Err(error) => {
                        replies.into_iter().for_each(|reply| drop(reply.send(Err(anyhow::anyhow!("{error:#}")))))
                    }
                }
            }
        }
    }

    fn load(&mut self, name: String, folder: PathBuf) -> Result<()> {
        let device = self.model.placement.device;
        let population = read_population(&[folder], &self.model.config, device)?;
        self.adapters.insert(name, population);
        Ok(())
    }

    fn complete(&self, name: Option<&str>, requests: &[GenerationRequest]) -> Result<Vec<GenerationResult>> {
        let population = match name {
            Some(name) => Some(self.adapters.get(name).context("the adapter is not loaded")?),
            None => None,
        };
        let completing = Completing { model: &self.model, population, tokenizer: Some(&self.tokenizer) };
        let generated = completing.generate(requests, &GenerationOptions::default(), &mut |_| {})?;
        Ok(generated.results)
    }
}
